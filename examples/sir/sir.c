/* An epidemic (SIR with immunity that ends): agents change their class without dying.
 *
 * All references to a person lead to where the person was when the launch began, so each day all
 * people see the states of the day before, without a second array. */
#include <clump/clump.h>
#include <clump/quick.h>

enum { PEOPLE = 20000, FRIENDS = 4, DAYS = 60 };
enum { SUSCEPTIBLE, INFECTED, RECOVERED };

static const char schema[] =
    "abstract class Person { uint id; ref Person friends[4]; }\n"
    "class Susceptible : Person becomes Infected { }\n"
    "class Infected : Person becomes Recovered { uint days; }\n"
    "class Recovered : Person becomes Susceptible { uint days; }\n";

static const char kernels[] =
    "uint draw(uint id, uint day) {\n"
    "    uint x = id * 2654435761u + day * 40503u;\n"
    "    x = (x ^ x >> 16) * 0x85ebca6bu;\n"
    "    x = (x ^ x >> 13) * 0xc2b2ae35u;\n"
    "    return x ^ x >> 16;\n"
    "}\n"
    "__kernel void arrive(CLUMP_HEAP, __global uint *people) {\n"
    "    CLUMP_FOR_EACH_NEW(Susceptible, self, i) {\n"
    "        Susceptible_id(self) = i;\n"
    "        people[i] = self.id;\n"
    "    }\n"
    "}\n"
    "__kernel void meet(CLUMP_HEAP_NO_ALLOC, __global const uint *people, uint count) {\n"
    "    CLUMP_FOR_EACH(Person, self)\n"
    "        for (uint j = 0; j < 4; j++) {\n"
    "            Person friend = {people[draw(Person_id(self), 1000 + j) % count]};\n"
    "            Person_friends(self, j) = friend;\n"
    "        }\n"
    "}\n"
    "__kernel void live(CLUMP_HEAP, uint day) {\n"
    "    CLUMP_FOR_EACH(Susceptible, self) {\n"
    "        uint id = Susceptible_id(self), sick = day == 0 && id < 10 ? 5 : 0;\n"
    "        for (uint j = 0; j < 4; j++) sick += Person_is_Infected(Susceptible_friends(self, "
    "j));\n"
    "        if (draw(id, day) % 10 >= 2 * sick) continue;\n"
    "        Infected now = Susceptible_become_Infected(self);\n"
    "        if (!Infected_is_null(now)) Infected_days(now) = 3 + id % 3; // null: no room\n"
    "    }\n"
    "    CLUMP_FOR_EACH(Infected, self) {\n"
    "        if (Infected_days(self)-- > 0) continue;\n"
    "        uint id = Infected_id(self);\n"
    "        Recovered now = Infected_become_Recovered(self);\n"
    "        if (!Recovered_is_null(now)) Recovered_days(now) = 20 + id % 7;\n"
    "    }\n"
    "    CLUMP_FOR_EACH(Recovered, self)\n"
    "        if (Recovered_days(self)-- == 0) Recovered_become_Susceptible(self);\n"
    "}\n"
    "__kernel void tell(CLUMP_HEAP_NO_ALLOC, __global uint *state, __global uint *friends) {\n"
    "    CLUMP_FOR_EACH(Person, self) {\n"
    "        uint id = Person_id(self);\n"
    "        state[id] = Person_is_Infected(self) ? 1 : Person_is_Recovered(self) ? 2 : 0;\n"
    "        for (uint j = 0; j < 4; j++) friends[id * 4 + j] = Person_id(Person_friends(self, "
    "j));\n"
    "    }\n"
    "}\n";

/* ---- Plain C ---- */

static uint32_t state[PEOPLE], before[PEOPLE], left[PEOPLE];

static uint32_t draw(uint32_t id, uint32_t day) {
    uint32_t x = id * 2654435761u + day * 40503u;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

static uint32_t friend_of(uint32_t id, uint32_t j) {
    return draw(id, 1000 + j) % PEOPLE;
}

static void live_person(uint32_t id, uint32_t day) {
    uint32_t sick = day == 0 && id < 10 ? 5 : 0;
    if (before[id] == SUSCEPTIBLE) {
        for (uint32_t j = 0; j < FRIENDS; j++) sick += before[friend_of(id, j)] == INFECTED;
        if (draw(id, day) % 10 >= 2 * sick) return;
        state[id] = INFECTED;
        left[id] = 3 + id % 3;
    } else if (left[id]-- == 0) {
        state[id] = before[id] == INFECTED ? RECOVERED : SUSCEPTIBLE;
        left[id] = 20 + id % 7;
    }
}

static void live_all(uint32_t day, uint64_t count[3]) {
    for (uint32_t id = 0; id < PEOPLE; id++) before[id] = state[id];
    for (uint32_t id = 0; id < PEOPLE; id++) live_person(id, day);
    for (uint32_t id = 0; id < PEOPLE; id++) count[state[id]]++;
}

/* ---- */

static cl_mem make_buffer(const clump_quick *q, size_t bytes) {
    cl_int code;
    cl_mem buffer = clCreateBuffer(q->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    CLUMP_CHECK(q->cl, code);
    return buffer;
}

/* The state of each person, and the people that its references lead to. */
static uint32_t compare_people(clump_quick *q) {
    static uint32_t states[PEOPLE], friends[PEOPLE * FRIENDS];
    cl_mem told = make_buffer(q, sizeof states), of = make_buffer(q, sizeof friends);
    clump_kernel *tell = clump_program_get_kernel(q->program, "tell");
    uint32_t wrong = 0;
    CLUMP_CHECK(q, clump_heap_do_all(q->heap, clump_kernel_with(tell, CLUMP_ARGS(told, of)), NULL));
    CLUMP_CHECK(q->queue, clEnqueueReadBuffer(q->queue, told, CL_TRUE, 0, sizeof states, states, 0,
                                              NULL, NULL));
    CLUMP_CHECK(q->queue, clEnqueueReadBuffer(q->queue, of, CL_TRUE, 0, sizeof friends, friends, 0,
                                              NULL, NULL));
    for (uint32_t id = 0; id < PEOPLE; id++) {
        wrong += states[id] != state[id];
        for (uint32_t j = 0; j < FRIENDS; j++)
            wrong += friends[id * FRIENDS + j] != friend_of(id, j);
    }
    clReleaseMemObject(told);
    clReleaseMemObject(of);
    return wrong;
}

int main(void) {
    static const char *const names[] = {"Susceptible", "Infected", "Recovered"};
    clump_quick q;
    uint32_t people = PEOPLE, wrong = 0;
    uint64_t made;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source = kernels}));
    clump_kernel *arrive = clump_program_get_kernel(q.program, "arrive");
    clump_kernel *meet = clump_program_get_kernel(q.program, "meet");
    clump_kernel *live = clump_program_get_kernel(q.program, "live");
    cl_mem table = make_buffer(&q, PEOPLE * sizeof(uint32_t));
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, clump_kernel_with(arrive, CLUMP_ARGS(table)),
                                      "Susceptible", PEOPLE, &made, NULL));
    CLUMP_CHECK(
        &q, clump_heap_do_all(q.heap, clump_kernel_with(meet, CLUMP_ARGS(table, people)), NULL));
    printf("day  susceptible  infected  recovered\n");
    for (uint32_t day = 0; day < DAYS; day++) {
        uint64_t count[3] = {0}, expected[3] = {0};
        CLUMP_CHECK(&q, clump_heap_do_all(q.heap, clump_kernel_with(live, CLUMP_ARGS(day)), NULL));
        live_all(day, expected);
        for (int i = 0; i < 3; i++) {
            CLUMP_CHECK(&q, clump_heap_read_count(q.heap, names[i], &count[i]));
            wrong += count[i] != expected[i];
        }
        if (day % 6 == 5)
            printf("%3u  %11u  %8u  %9u\n", day, (unsigned)count[0], (unsigned)count[1],
                   (unsigned)count[2]);
    }
    wrong += compare_people(&q);
    printf("%u differences to plain C\n", wrong);
    clReleaseMemObject(table);
    clump_quick_close(&q);
    return wrong != 0;
}
