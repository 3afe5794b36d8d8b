/* A network of queues with everything at once: arrays that grow, a hash map, garbage collection, a
 * checkpoint and a run that resumes from it. The host computes the same network with plain arrays,
 * and compares each customer, both in the run without a break and in the resumed run. */
#include <clump/all.h>
#include <clump/quick.h>

#include "kernels.h" /* queues.cl */

enum {
    STATIONS = 1000,
    WAYS = 5, /* from a station. 0: home */
    STEPS = 240,
    CHECKPOINT = 130, /* saved before this step */
    PERIOD = 40,      /* steps between two collections */
    LEAST = 3,        /* customers of a way that is not forgotten */
    SHOWN = 32        /* customers of a queue that the host compares */
};

static const char schema[] =
    "class Network { ref Station stations[*]; ref Ways ways; }\n"
    "class Station {\n"
    "    uint number;\n"
    "    uint served;                  // customers so far\n"
    "    uint coming;                  // customers who come in this step\n"
    "    uint waited;                  // length of the queue before they come\n"
    "    ref Customer done;            // was served in this step\n"
    "    ref Customer queue[*] inline 2;\n"
    "}\n"
    "class Customer { uint id; uint work; uint visits; uint way; }\n"
    "class Ways { ref Way heads[*]; }  // a map: from a station and a way to a number of "
    "customers\n"
    "class Way { uint key; uint value; ref Way next; uint erased; }\n";

/* ---- With plain arrays ----------------------------------------------------------------------- */

typedef struct customer {
    uint32_t id, visits, work, waiting; /* as kernel `show` returns them */
} customer;

static struct {
    customer queue[STATIONS][SHOWN];
    uint32_t length[STATIONS], served[STATIONS], ways[STATIONS][WAYS];
} model;

static uint32_t random_of(uint32_t id, uint32_t visits) {
    uint32_t x = id * 2654435761u ^ visits * 2246822519u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

/* Inserts by number among the customers who came in this step. */
static void model_arrive(uint32_t station, uint32_t from, customer who) {
    customer *queue = model.queue[station];
    uint32_t k = model.length[station]++;
    if (k == SHOWN) fprintf(stderr, "a queue is too long for the model\n"), exit(1);
    for (; k > from && queue[k - 1].id > who.id; k--) queue[k] = queue[k - 1];
    queue[k] = who;
}

static void model_step(uint32_t step) {
    static struct {
        customer who;
        uint32_t to;
    } moves[STATIONS];
    static uint32_t waited[STATIONS];
    uint32_t count = 0;
    for (uint32_t s = 0; s < STATIONS; s++) {
        customer *first = model.queue[s];
        if (model.length[s] && --first->work == 0) {
            uint32_t drawn = random_of(first->id, ++first->visits), way = drawn % WAYS;
            first->work = 1 + drawn / 64 % 4;
            model.served[s]++;
            if (way) {
                moves[count].who = *first;
                moves[count++].to = (s * 7 + way * 77) % STATIONS;
                model.ways[s][way]++;
            }
            memmove(first, first + 1, --model.length[s] * sizeof *first);
        }
        waited[s] = model.length[s];
    }
    for (uint32_t m = 0; m < count; m++)
        model_arrive(moves[m].to, waited[moves[m].to], moves[m].who);
    for (uint32_t s = 0; s < STATIONS; s++) {
        uint32_t id = step * STATIONS + s;
        if (random_of(id, 0) % 20 == 0)
            model_arrive(s, waited[s], (customer){id, 0, 1 + id % 4, 0});
    }
    if (step % PERIOD == PERIOD - 1)
        for (uint32_t *w = model.ways[0]; w < model.ways[STATIONS]; w++)
            if (*w < LEAST) *w = 0;
}

/* ---- With a heap ----------------------------------------------------------------------------- */

typedef struct network {
    clump_quick q;
    cl_mem root; /* a reference to the Network, from which the collection starts */
    clump_refs *registered;
} network;

static clump_kernel *kernel(network *n, const char *name) {
    return clump_program_get_kernel(n->q.program, name);
}

static void do_all(network *n, clump_kernel *what) {
    CLUMP_CHECK(&n->q, clump_heap_do_all(n->q.heap, what, NULL));
}

static void do_new(network *n, const char *name, const char *class_name, uint64_t count) {
    CLUMP_CHECK(
        &n->q, clump_heap_do_new(n->q.heap, clump_kernel_with(kernel(n, name), CLUMP_ARGS(n->root)),
                                 class_name, count, NULL, NULL));
}

static void open_network(network *n, uint64_t bytes) {
    char options[128];
    cl_int code;
    snprintf(options, sizeof options, "-DSTATIONS=%du -DWAYS=%du -DSHOWN=%du -DLEAST=%du", STATIONS,
             WAYS, SHOWN, LEAST);
    clump_quick_desc desc = {.schema = schema,
                             .source = (const char *)kernels,
                             .heap = {.bytes = bytes},
                             .program = {.options = options}};
    CLUMP_CHECK(&n->q, clump_quick_open(&n->q, &desc));
    clump_ref null = 0;
    n->root = clCreateBuffer(n->q.cl, CL_MEM_COPY_HOST_PTR, sizeof null, &null, &code);
    CLUMP_CHECK(n->q.cl, code);
    clump_refs_desc refs = {.size = sizeof refs, .buffer = n->root, .count = 1};
    CLUMP_CHECK(&n->q, clump_refs_create(n->q.heap, &refs, &n->registered, NULL));
}

static void close_network(network *n) {
    clReleaseMemObject(n->root);
    clump_quick_close(&n->q);
}

/* Each PERIOD steps rare ways are forgotten and customers who went home are freed. */
static uint64_t run(network *n, uint32_t from, uint32_t to) {
    uint64_t gone = 0;
    for (cl_uint step = from; step < to; step++) {
        do_all(n, clump_kernel_with(kernel(n, "serve"), CLUMP_ARGS(n->root)));
        do_all(n, clump_kernel_with(kernel(n, "make_room"), CLUMP_ARGS(step)));
        do_all(n, clump_kernel_with(kernel(n, "move"), CLUMP_ARGS(n->root)));
        do_all(n, kernel(n, "sort_arrivals"));
        if (step % PERIOD < PERIOD - 1) continue;
        clump_collect_report report = {.size = sizeof report};
        do_all(n, clump_kernel_with(kernel(n, "forget"), CLUMP_ARGS(n->root)));
        do_all(n, clump_kernel_with(kernel(n, "tidy"), CLUMP_ARGS(n->root)));
        CLUMP_CHECK(&n->q, clump_heap_collect(n->q.heap, NULL, &report, NULL));
        gone += report.dead;
    }
    CLUMP_CHECK(&n->q, clump_heap_take_errors(n->q.heap, NULL)); /* there was always room */
    return gone;
}

/* Compares each customer in each queue, and each way. Returns the number of differences. */
static int compare(network *n, const char *what) {
    static customer queues[STATIONS][SHOWN];
    static uint32_t ways[STATIONS][WAYS];
    uint64_t customers, expected = 0;
    int wrong = 0;
    cl_int code;
    cl_mem to_queues = clCreateBuffer(n->q.cl, 0, sizeof queues, NULL, &code);
    CLUMP_CHECK(n->q.cl, code);
    cl_mem to_ways = clCreateBuffer(n->q.cl, 0, sizeof ways, NULL, &code);
    CLUMP_CHECK(n->q.cl, code);
    do_all(n, clump_kernel_with(kernel(n, "show"), CLUMP_ARGS(n->root, to_queues, to_ways)));
    CLUMP_CHECK(n->q.queue, clEnqueueReadBuffer(n->q.queue, to_queues, CL_TRUE, 0, sizeof queues,
                                                queues, 0, NULL, NULL));
    CLUMP_CHECK(n->q.queue, clEnqueueReadBuffer(n->q.queue, to_ways, CL_TRUE, 0, sizeof ways, ways,
                                                0, NULL, NULL));
    CLUMP_CHECK(&n->q, clump_heap_read_count(n->q.heap, "Customer", &customers));
    clReleaseMemObject(to_queues);
    clReleaseMemObject(to_ways);
    for (uint32_t s = 0; s < STATIONS; s++) {
        expected += model.length[s];
        for (uint32_t i = 0; i < model.length[s]; i++) model.queue[s][i].waiting = model.length[s];
        wrong += memcmp(queues[s], model.queue[s], model.length[s] * sizeof(customer)) != 0 ||
                 (model.length[s] == 0 && queues[s][0].waiting != 0);
        wrong += memcmp(ways[s], model.ways[s], sizeof *ways) != 0;
    }
    printf("%s: %d customers, %d differences\n", what, (int)customers, wrong);
    return wrong + (customers != expected);
}

int main(void) {
    const clump_save_desc to = {.size = sizeof to, .path = "network.clump"};
    const clump_load_desc from = {.size = sizeof from, .path = "network.clump"};
    network n;
    open_network(&n, 16 << 20);
    do_new(&n, "make_network", "Network", 1);
    do_new(&n, "make_stations", "Station", STATIONS);
    uint64_t gone = run(&n, 0, CHECKPOINT);
    CLUMP_CHECK(&n.q, clump_heap_save(n.q.heap, &to, NULL));
    gone += run(&n, CHECKPOINT, STEPS);
    printf("%d customers went home\n", (int)gone);
    for (uint32_t step = 0; step < STEPS; step++) model_step(step);
    int wrong = compare(&n, "without a break");
    close_network(&n);

    open_network(&n, 8 << 20); /* a heap of another size */
    CLUMP_CHECK(&n.q, clump_heap_load(n.q.heap, &from, NULL));
    run(&n, CHECKPOINT, STEPS);
    wrong += compare(&n, "resumed");
    close_network(&n);
    return wrong != 0;
}
