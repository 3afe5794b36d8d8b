/* Objects that change their class in kernels, compared with a model in C.
 *
 * People are S, I, R, or Big, which is an S, or Long, which is an I. Each has a number, and what it
 * does in a round follows from number and seed, so that the model does the same: it becomes another,
 * once or several times in a launch, is freed by the reference to its old place or its new one, or
 * stays. References to people are in fields of each class, weak ones, in arrays of run-time length,
 * in a registered buffer and in handles. All people have a log, an array that grows: it stays with
 * them. Those of S and Long have one that ends when they become another class. After each round
 * every field of every object, and each of these references, is what the model says. Between rounds
 * objects are made, freed, compacted, collected. No raw memory is left in the end. All of it is done
 * in a checked heap again, which finds nothing.
 *
 *   diff_become                what CTest runs
 *   diff_become ROUNDS [SEED]  longer, and other people
 *
 * Read first: cl/api/become.clh, cl/compact/settle.cl, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/checked.h"
#include "heap/program.h"
#include "saved_heap.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 8, first_seed;
static int is_checked;       /* the heaps of this world */
static int launches;         /* kernels that were enqueued */
static int fails_in;         /* the number of the launch from here on that fails; 0: none */
static cl_kernel looked_for; /* whether it was enqueued: */
static int was_enqueued;

/* MANY: references of a holder. The first has HUGE, which is more than a chunk of rewriting. */
enum {
    PEOPLE = 2500,
    HOLDERS = 70,
    MANY = 41,
    HUGE = 5003,
    HANDLES = 40,
    MORE = 60000,
    LOG = 12,
    FAULTS = 20
};
enum { DEAD, S, BIG, I, LONG, R };

static const char schema_text[] =
    "abstract class Person { uint id; ref Person friend; ushort tag[3]; float3 place; float8 row; "
    "uint log[*] inline 2; }\n"
    "class S : Person becomes I { uint age; ref Person seen[*]; uint was; uint kept[*]; }\n"
    "class Big : S becomes S { ulong extra; }\n"
    "aos class I : Person becomes R, S, Long { uchar few; ulong weight; ref Person source; }\n"
    "class Long : I { uint length; ulong more[*] inline 1; }\n"
    "class R : Person becomes S { float4 wide[2]; ulong4 wider; bool flags[5] packed; uint list[*] "
    "max 3; }\n"
    "class Holder { uint number; ref Person p; ref S s; weak ref I i; ref Person many[*]; }\n";

static const char source[] =
    "uint mix(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16);\n"
    "}\n"
    "void begin(CLUMP_HEAP_NO_ALLOC, Person p, uint id, __global uint *table) {\n"
    "    Person_id(p) = id;\n"
    "    Person_friend(p) = Person_null;\n"
    "    for (uint i = 0; i < 3u; i++) Person_tag(p, i) = (ushort)(id * 3u + i);\n"
    "    Person_place(p) = (float3)((float)id, 1.0f, -(float)id);\n"
    "    Person_row(p) = (float8)((float)id) + (float8)(0, 1, 2, 3, 4, 5, 6, 7);\n"
    "    table[id] = p.id;\n"
    "}\n"
    "void begin_log(CLUMP_HEAP, Person p, uint id, __global uint *wrong) {\n"
    "    if (Person_log_resize(p, id % 7u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "    for (uint i = 0; i < Person_log_length(p); i++) Person_log(p, i) = id * 10u + i;\n"
    "}\n"
    "void add_log(CLUMP_HEAP, Person p, uint x, __global uint *wrong) {\n"
    "    uint n = Person_log_length(p);\n"
    "    if (n == LOG) return;\n"
    "    if (Person_log_resize(p, n + 1u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "    else Person_log(p, n) = x;\n"
    "}\n"
    "__kernel void make_s(CLUMP_HEAP, __global uint *table, __global const uint *ids,\n"
    "                     __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH_NEW(S, self, n) {\n"
    "        begin(clump_heap, S_as_Person(self), ids[n], table);\n"
    "        S_age(self) = ids[n] + 1u;\n"
    "        if (ids[n] < PEOPLE) {\n"
    "            begin_log(clump_heap, S_as_Person(self), ids[n], wrong);\n"
    "            if (S_seen_resize(self, ids[n] % 5u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "        }\n"
    "        if (!Big_is_null(S_as_Big(self))) Big_extra(S_as_Big(self)) = (ulong)ids[n] << 33;\n"
    "    }\n"
    "}\n"
    "__kernel void make_i(CLUMP_HEAP, __global uint *table, __global const uint *ids,\n"
    "                     __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH_NEW(I, self, n) {\n"
    "        begin(clump_heap, I_as_Person(self), ids[n], table);\n"
    "        if (ids[n] < PEOPLE) begin_log(clump_heap, I_as_Person(self), ids[n], wrong);\n"
    "        I_few(self) = 5; I_weight(self) = ids[n]; I_source(self) = Person_null;\n"
    "    }\n"
    "}\n"
    "__kernel void make_r(CLUMP_HEAP, __global uint *table, __global const uint *ids,\n"
    "                     __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH_NEW(R, self, n) {\n"
    "        begin(clump_heap, R_as_Person(self), ids[n], table);\n"
    "        R_wide(self, 0) = R_wide(self, 1) = (float4)(2.0f);\n"
    "        R_wider(self) = (ulong4)(2ul);\n"
    "        for (uint i = 0; i < 5u; i++) R_flags(self, i) = 1;\n"
    "        R_list_append(self, ids[n]);\n"
    "        if (ids[n] < PEOPLE) begin_log(clump_heap, R_as_Person(self), ids[n], wrong);\n"
    "    }\n"
    "}\n"
    "__kernel void make_holders(CLUMP_HEAP, __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH_NEW(Holder, self, n) {\n"
    "        Holder_number(self) = n;\n"
    "        Holder_p(self) = Person_null;\n"
    "        Holder_s(self) = S_null;\n"
    "        Holder_i(self) = I_null;\n"
    "        if (Holder_many_resize(self, n ? MANY : HUGE) != CLUMP_DONE) atomic_inc(wrong);\n"
    "    }\n"
    "}\n"
    "Person pick(__global const uint *table, uint x) {\n"
    "    Person p = {table[mix(x) % PEOPLE]};\n"
    "    return p;\n"
    "}\n"
    "__kernel void link(CLUMP_HEAP_NO_ALLOC, __global const uint *table, uint seed) {\n"
    "    CLUMP_FOR_EACH(Person, p) {\n"
    "        Person_friend(p) = pick(table, seed + Person_id(p));\n"
    "        if (Person_is_I(p)) I_source(Person_as_I(p)) = Person_friend(p);\n"
    "        S s = Person_as_S(p);\n"
    "        uint seen = S_is_null(s) ? 0u : S_seen_length(s);\n"
    "        for (uint j = 0; j < seen; j++)\n"
    "            S_seen(s, j) = pick(table, seed + 7u * S_id(s) + j);\n"
    "    }\n"
    "    CLUMP_FOR_EACH(Holder, h) {\n"
    "        uint at = seed + 100000u * (Holder_number(h) + 1u), n = Holder_many_length(h);\n"
    "        Holder_p(h) = pick(table, at);\n"
    "        Holder_s(h) = Person_as_S(pick(table, at + 1u));\n"
    "        Holder_i(h) = Person_as_I(pick(table, at + 2u));\n"
    "        for (uint j = 0; j < n; j++) Holder_many(h, j) = pick(table, at + 3u + j);\n"
    "    }\n"
    "}\n"
    /* What the calls tell of an object that became another. */
    "void look(CLUMP_HEAP, Person old, Person new, uint is_s, __global uint *wrong) {\n"
    "    if (Person_is_live(old) || !Person_is_live(new) || old.id == new.id) atomic_inc(wrong);\n"
    "    if (Person_follow(old).id != new.id || Person_follow(new).id != new.id) "
    "atomic_inc(wrong + 1);\n"
    "    S s = {old.id};\n"
    "    if (is_s && (S_is_live(s) || !S_is_null(S_follow(s)))) atomic_inc(wrong + 2);\n"
    "    if (Person_id(old) != Person_id(new)) atomic_inc(wrong + 3);\n"
    "    uint n = Person_log_length(old);\n"
    "    if (n != Person_log_length(new) || Person_log_memory(old) != Person_log_memory(new)) "
    "atomic_inc(wrong + 15);\n"
    "    for (uint i = 0; i < n; i++)\n"
    "        if (Person_log(old, i) != Person_log(new, i)) atomic_inc(wrong + 15);\n"
    "    if (is_s && (S_seen_length(s) || S_seen_memory(s))) atomic_inc(wrong + 16);\n"
    /* No call changes the array of an old place. */
    "    if (Person_log_append(old, 1u) != CLUMP_NO_ROOM || Person_log_release(old) ||\n"
    "        Person_log_resize(old, 40u) != CLUMP_MISUSED || Person_log_adopt(old, "
    "Person_log_memory(old), 2u) != CLUMP_MISUSED ||\n"
    "        Person_log_reserve(old, 40u) != CLUMP_MISUSED || Person_log_length(old) != n) "
    "atomic_inc(wrong + 17);\n"
    "    Person_log_trim(old);\n"
    "    if (Person_log_memory(old) != Person_log_memory(new)) atomic_inc(wrong + 18);\n"
    "}\n"
    "__kernel void live(CLUMP_HEAP, __global uint *table, uint seed, __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH(S, self) {\n"
    "        uint id = S_id(self), h = mix(seed + id), act = h % 12u;\n"
    "        Person old = S_as_Person(self);\n"
    "        I n = I_null;\n"
    /* Memory of an array of references becomes that of an array of numbers. */
    "        for (uint i = 0; i < S_kept_length(self); i++)\n"
    "            if (S_kept(self, i) != S_was(self)) atomic_inc(wrong + 19);\n"
    "        if (act < 6u && act != 3u) {\n"
    "            n = S_become_I(self);\n"
    "            if (I_is_null(n)) atomic_inc(wrong + 4);\n"
    "            else look(clump_heap, old, I_as_Person(n), 1u, wrong);\n"
    "        }\n"
    "        if (act == 0u) {\n"
    "            I_weight(n) = h;\n"
    "            add_log(clump_heap, I_as_Person(n), h, wrong);\n"
    "        }\n"
    "        if (act == 1u || act == 3u) Person_free(old);\n"
    "        if (act == 2u) {\n"
    "            R r = I_become_R(n);\n"
    "            R_flags(r, 3) = 1;\n"
    "            if (Person_follow(old).id != r.id) atomic_inc(wrong + 5);\n"
    "        }\n"
    "        if (act == 4u) {\n"
    "            I_free(n);\n"
    "            if (S_is_live(self)) atomic_inc(wrong + 6);\n"
    "        }\n"
    "        if (act == 5u) {\n"
    "            if (!I_is_null(S_become_I(self))) atomic_inc(wrong + 7);\n"
    "            S s = I_become_S(n);\n"
    "            if (S_follow(self).id != s.id) atomic_inc(wrong + 8);\n"
    "            if (S_seen_length(s)) atomic_inc(wrong + 16);\n"
    "            if (S_seen_resize(s, 2u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "            S_seen(s, 1u) = old;\n"
    "        }\n"
    "        if (act == 1u || act == 3u || act == 4u) table[id] = 0u;\n"
    "        Big big = act == 6u ? S_as_Big(self) : Big_null;\n"
    "        if (!Big_is_null(big)) {\n"
    "            S s = Big_become_S(big);\n"
    "            if (S_is_null(s)) atomic_inc(wrong + 13);\n"
    "            uint n = S_seen_length(s);\n"
    "            __global uint *p = (__global uint *)S_seen_release(s);\n"
    "            if (p && S_kept_adopt(s, p, n) != CLUMP_DONE) atomic_inc(wrong);\n"
    "            if (S_kept_resize(s, 4u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "            if (S_seen_resize(s, 5u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "            S_was(s) = self.id;\n"
    "            for (uint i = 0; i < 4u; i++) S_kept(s, i) = self.id;\n"
    "        }\n"
    "    }\n"
    "    CLUMP_FOR_EACH(I, self) {\n"
    "        uint id = I_id(self), h = mix(seed + id), act = h % 12u;\n"
    "        if (act == 0u || act == 1u) R_list_append(I_become_R(self), h);\n"
    "        if (act == 2u) S_age(I_become_S(self)) = h;\n"
    "        if (act == 3u) I_become_R(S_become_I(I_become_S(self)));\n"
    "        if (act == 4u) { I_free(self); table[id] = 0u; }\n"
    "        if (act == 5u) {\n"
    "            uint was = I_is_Long(self);\n"
    "            Long n = I_become_Long(self);\n"
    "            if (was != (n.id == self.id)) atomic_inc(wrong + 14);\n"
    "            if (!was) {\n"
    "                Long_length(n) = h;\n"
    "                if (Long_more_resize(n, 3u) != CLUMP_DONE) atomic_inc(wrong);\n"
    "                Long_more(n, 2u) = h;\n"
    "            }\n"
    "            else if (Long_more_length(n) != 3u) atomic_inc(wrong + 16);\n"
    "        }\n"
    "    }\n"
    "    CLUMP_FOR_EACH(R, self) {\n"
    "        uint id = R_id(self), h = mix(seed + id), act = h % 12u;\n"
    "        if (act == 3u) add_log(clump_heap, R_as_Person(self), h, wrong);\n"
    "        if (act < 3u) R_become_S(self);\n"
    "    }\n"
    "}\n"
    /* All work-items want the same people, in the same order. frees: whether one of them frees those of
     * even number. */
    "__kernel void fight(CLUMP_HEAP, __global uint *table, __global uint *wins, uint frees) {\n"
    "    uint me = (uint)get_global_id(0), items = (uint)get_global_size(0);\n"
    "    for (uint id = 0; id < PEOPLE; id++) {\n"
    "        Person p = {table[id]};\n"
    "        S s = {p.id};\n"
    "        if (frees && me == id / 2u % items && (id & 1u) == 0u) {\n"
    "            if (!S_is_null(Person_as_S(p))) Person_free(p);\n"
    "            continue;\n"
    "        }\n"
    "        I n = S_become_I(s);\n"
    "        if (I_is_null(n)) continue;\n"
    "        if (!frees || (id & 1u)) I_weight(n) = 77u;\n" /* others may have freed it */
    "        atomic_inc(wins + id);\n"
    "    }\n"
    "}\n"
    "__kernel void without_room(CLUMP_HEAP, __global uint *wins, __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH(S, self) {\n"
    "        uint age = S_age(self), id = S_id(self);\n"
    "        I n = S_become_I(self);\n"
    "        if (!I_is_null(n)) { wins[id] = 1u; I_weight(n) = 78u; continue; }\n"
    "        wins[id] = 2u;\n"
    "        if (!S_is_live(self) || S_follow(self).id != self.id || S_age(self) != age) "
    "atomic_inc(wrong + 9);\n"
    "    }\n"
    "}\n"
    /* Without a loop, so that it can be launched without the library. */
    "__kernel void by_reference(CLUMP_HEAP, __global const uint *table, __global const uint *ids, "
    "uint count) {\n"
    "    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {\n"
    "        Person p = {table[ids[i]]};\n"
    "        I_weight(S_become_I(Person_as_S(p))) = 79u;\n"
    "    }\n"
    "}\n"
    "__kernel void none(CLUMP_HEAP, __global uint *wrong) {\n"
    "    if (get_global_id(0)) return;\n"
    "    if (!I_is_null(S_become_I(S_null)) || !Person_is_null(Person_follow(Person_null)) || "
    "S_is_live(S_null)) atomic_inc(wrong + 10);\n"
    "    Person_free(Person_null);\n"
    "    S one = S_new();\n"
    "    Person p = S_as_Person(one), q = {Person_new_of(I_CLASS).id};\n"
    "    if (!Person_is_live(p) || !Person_is_live(q)) atomic_inc(wrong + 11);\n"
    "    S_free(one);\n"
    "    if (!I_is_null(S_become_I(one)) || !S_is_null(S_follow(one))) atomic_inc(wrong + 12);\n"
    "    Person_free(q);\n"
    "}\n"
    "__kernel void drop_people(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Person, self) Person_free(self);\n"
    "}\n"
    "__kernel void drop_more(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(R, self) if (R_id(self) >= PEOPLE) R_free(self);\n"
    "    CLUMP_FOR_EACH(I, self) if (I_id(self) >= PEOPLE) I_free(self);\n"
    "}\n";

typedef struct person {
    int is;                  /* DEAD, S, ... */
    uint32_t friend, source; /* number + 1; 0: null; UNKNOWN */
    uint32_t age, length;
    uint64_t extra, weight;
    uint32_t few, flags, list, listed; /* flags: bits */
    float wide;
    uint32_t log[LOG], logged, seen[5], seen_count; /* seen: as friend */
} person;
#define UNKNOWN 0xffffffffu

typedef struct holder {
    uint32_t p, s, i, many[HUGE]; /* as person.friend */
} holder;

static struct {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make_s, *make_i, *make_r, *make_holders, *link, *live, *fight, *without_room,
        *none, *drop_more, *drop_people, *by_reference;
    cl_mem table, ids, wrong, wins;
    clump_refs *registered;
    uint64_t raw_bytes; /* of the holders */
    person people[PEOPLE];
    holder holders[HOLDERS];
    clump_handle handles[HANDLES];
    uint32_t handle_of[HANDLES]; /* number + 1; 0: unknown */
} w;

/* ---- The model ---- */

static int is_in(int class_of, int is) {
    return is == class_of || (class_of == S && is == BIG) || (class_of == I && is == LONG);
}

/* The own fields of what an object became. */
static void become(person *p, int to) {
    p->is = to;
    p->age = p->length = p->few = p->flags = p->list = p->listed = 0;
    p->extra = p->weight = 0;
    p->source = 0;
    p->wide = 0;
    p->seen_count = 0;
}

static void log_one(person *p, uint32_t x) {
    if (p->logged < LOG) p->log[p->logged++] = x;
}

/* How often each has moved, and whether it died, in the launch at hand. */
static uint8_t moved[PEOPLE], died[PEOPLE];

static void settle_one(uint32_t *ref, int class_of) {
    if (*ref == 0 || *ref == UNKNOWN) return;
    const uint32_t id = *ref - 1;
    if (died[id])
        *ref = UNKNOWN;
    else if (moved[id] && class_of && !is_in(class_of, w.people[id].is))
        *ref = 0;
}

static void settle(void) {
    for (uint32_t i = 0; i < PEOPLE; i++) {
        settle_one(&w.people[i].friend, 0);
        settle_one(&w.people[i].source, 0);
        for (uint32_t j = 0; j < w.people[i].seen_count; j++) settle_one(&w.people[i].seen[j], 0);
    }
    for (uint32_t h = 0; h < HOLDERS; h++) {
        settle_one(&w.holders[h].p, 0);
        settle_one(&w.holders[h].s, S);
        settle_one(&w.holders[h].i, I);
        for (uint32_t j = 0; j < (h ? MANY : HUGE); j++) settle_one(&w.holders[h].many[j], 0);
    }
    for (uint32_t i = 0; i < HANDLES; i++) {
        settle_one(&w.handle_of[i], 0);
        if (w.handle_of[i] == UNKNOWN) w.handle_of[i] = 0;
    }
    memset(moved, 0, sizeof moved);
    memset(died, 0, sizeof died);
}

static void change(uint32_t id, int to) {
    become(&w.people[id], to);
    moved[id] = 1;
}

static void end(uint32_t id) {
    w.people[id].is = DEAD;
    died[id] = 1;
}

static void step_model(uint32_t seed) {
    for (uint32_t id = 0; id < PEOPLE; id++) {
        person *p = &w.people[id];
        const uint32_t h = test_hash(seed + id), act = h % 12;
        switch (p->is) {
        case S:
        case BIG:
            if (act == 0) {
                change(id, I);
                p->weight = h;
                log_one(p, h);
            }
            if (act == 2) {
                change(id, R);
                p->flags = 1 << 3;
            }
            if (act == 5) {
                change(id, S);
                p->seen_count = 2;
                p->seen[0] = 0;
                p->seen[1] = id + 1;
            }
            if (act == 1 || act == 3 || act == 4) end(id);
            if (act == 6 && p->is == BIG) {
                p->is = S;
                p->extra = 0;
                p->seen_count = 5;
                memset(p->seen, 0, sizeof p->seen);
                moved[id] = 1;
            }
            break;
        case I:
        case LONG:
            if (act == 0 || act == 1) {
                change(id, R);
                p->list = 1;
                p->listed = h;
            }
            if (act == 2) {
                change(id, S);
                p->age = h;
            }
            if (act == 3) change(id, R);
            if (act == 4) end(id);
            if (act == 5 && p->is == I) {
                p->is = LONG;
                p->length = h;
                moved[id] = 1;
            }
            break;
        case R:
            if (act < 3) change(id, S);
            if (act == 3) log_one(p, h);
            break;
        default: break;
        }
    }
    settle();
}

static uint32_t pick(uint32_t x, int class_of) {
    const uint32_t id = test_hash(x) % PEOPLE;
    if (w.people[id].is == DEAD || (class_of && !is_in(class_of, w.people[id].is))) return 0;
    return id + 1;
}

static void link_model(uint32_t seed) {
    for (uint32_t id = 0; id < PEOPLE; id++) {
        w.people[id].friend = pick(seed + id, 0);
        if (is_in(I, w.people[id].is)) w.people[id].source = w.people[id].friend;
        for (uint32_t j = 0; j < w.people[id].seen_count && w.people[id].is != DEAD; j++)
            w.people[id].seen[j] = pick(seed + 7 * id + j, 0);
    }
    for (uint32_t h = 0; h < HOLDERS; h++) {
        const uint32_t at = seed + 100000 * (h + 1);
        w.holders[h].p = pick(at, 0);
        w.holders[h].s = pick(at + 1, S);
        w.holders[h].i = pick(at + 2, I);
        for (uint32_t j = 0; j < (h ? MANY : HUGE); j++) w.holders[h].many[j] = pick(at + 3 + j, 0);
    }
}

/* ---- Comparing ---- */

typedef struct found {
    clump_ref ref;
    uint32_t id;
} found;

static found all[PEOPLE];
static uint64_t all_count;

static int by_ref(const void *a, const void *b) {
    const found *x = a, *y = b;
    return (x->ref > y->ref) - (x->ref < y->ref);
}

/* The reference leads to the person that the model says. */
static void check_ref(clump_ref ref, uint32_t expected, const char *what, uint32_t of) {
    const found key = {ref, 0};
    const found *is = bsearch(&key, all, all_count, sizeof *all, by_ref);
    const uint32_t number = ref == 0 ? 0 : is ? is->id + 1 : UNKNOWN;
    if (expected != UNKNOWN && number != expected)
        fail_msg("%s of %u: leads to %d, and should to %d", what, of, (int)number - 1,
                 (int)expected - 1);
}

static void *read_field(const char *class_name, const char *field, uint32_t index, size_t bytes,
                        uint64_t count) {
    static _Alignas(16) uint8_t values[4][PEOPLE * 32];
    static int turn;
    void *to = values[turn++ % 4];
    CHECK_OK(f, clump_heap_read_field(w.heap, class_name, field, index, bytes, to, count, NULL));
    return to;
}

/* Objects of a class and those below it, and the numbers of these. */
static uint64_t read_class(const char *class_name, uint32_t ids[PEOPLE]) {
    uint64_t count = 0;
    CHECK_OK(f, clump_heap_read_count(w.heap, class_name, &count));
    assert_true(count <= PEOPLE);
    memcpy(ids, read_field(class_name, "id", 0, 4, count), count * 4);
    return count;
}

static uint64_t count_model(int class_of) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < PEOPLE; i++) count += is_in(class_of, w.people[i].is);
    return count;
}

#define EXPECT(what, id, found, expected)                                                          \
    do {                                                                                           \
        if ((found) != (expected))                                                                 \
            fail_msg("%s of %u is %llu, and should be %llu", what, id,                             \
                     (unsigned long long)(found), (unsigned long long)(expected));                 \
    } while (0)

static void check_people(void) {
    static clump_ref refs[PEOPLE];
    static uint32_t ids[PEOPLE];
    uint64_t count = all_count = read_class("Person", ids);
    assert_int_equal(count, count_model(S) + count_model(I) + count_model(R));
    CHECK_OK(f, clump_heap_read_refs(w.heap, "Person", refs, count, &all_count));
    for (uint64_t i = 0; i < count; i++) all[i] = (found){refs[i], ids[i]};
    qsort(all, count, sizeof *all, by_ref);
    const clump_ref *friends = read_field("Person", "friend", 0, 4, count);
    for (uint64_t i = 0; i < count; i++) {
        assert_true(ids[i] < PEOPLE);
        check_ref(friends[i], w.people[ids[i]].friend, "friend", ids[i]);
    }
    const float(*places)[4] = read_field("Person", "place", 0, 16, count);
    for (uint32_t e = 0; e < 3; e++) {
        const uint16_t *tags = read_field("Person", "tag", e, 2, count);
        const float parts[] = {1, 1, -1};
        for (uint64_t i = 0; i < count; i++) {
            EXPECT("tag", ids[i], tags[i], (uint16_t)(ids[i] * 3 + e));
            assert_true(places[i][e] == (e == 1 ? 1.0f : parts[e] * (float)ids[i]));
        }
    }
    const float(*rows)[8] = read_field("Person", "row", 0, 32, count);
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t e = 0; e < 8; e++) assert_true(rows[i][e] == (float)(ids[i] + e));
    cl_fixture_read(f, w.table, refs, sizeof refs);
    for (uint32_t id = 0; id < PEOPLE; id++)
        check_ref(refs[id], w.people[id].is == DEAD ? 0 : id + 1, "the table", id);
}

static void check_classes(void) {
    static uint32_t ids[PEOPLE];
    uint64_t count = read_class("S", ids);
    assert_int_equal(count, count_model(S));
    const uint32_t *age = read_field("S", "age", 0, 4, count);
    for (uint64_t i = 0; i < count; i++) {
        assert_true(is_in(S, w.people[ids[i]].is));
        EXPECT("age", ids[i], age[i], w.people[ids[i]].age);
    }
    count = read_class("Big", ids);
    assert_int_equal(count, count_model(BIG));
    const uint64_t *extra = read_field("Big", "extra", 0, 8, count);
    for (uint64_t i = 0; i < count; i++) EXPECT("extra", ids[i], extra[i], w.people[ids[i]].extra);
    count = read_class("I", ids);
    assert_int_equal(count, count_model(I));
    const uint64_t *weight = read_field("I", "weight", 0, 8, count);
    const uint8_t *few = read_field("I", "few", 0, 1, count);
    const clump_ref *sources = read_field("I", "source", 0, 4, count);
    for (uint64_t i = 0; i < count; i++) {
        EXPECT("weight", ids[i], weight[i], w.people[ids[i]].weight);
        EXPECT("few", ids[i], few[i], w.people[ids[i]].few);
        check_ref(sources[i], w.people[ids[i]].source, "source", ids[i]);
    }
    count = read_class("Long", ids);
    assert_int_equal(count, count_model(LONG));
    const uint32_t *long_length = read_field("Long", "length", 0, 4, count);
    for (uint64_t i = 0; i < count; i++)
        EXPECT("length", ids[i], long_length[i], w.people[ids[i]].length);
    count = read_class("R", ids);
    assert_int_equal(count, count_model(R));
    for (uint32_t e = 0; e < 5; e++) {
        const uint8_t *flags = read_field("R", "flags", e, 1, count);
        const float(*wide)[4] = read_field("R", "wide", e % 2, 16, count);
        for (uint64_t i = 0; i < count; i++) {
            EXPECT("flags", ids[i], flags[i], w.people[ids[i]].flags >> e & 1);
            assert_true(wide[i][e % 4] == w.people[ids[i]].wide);
        }
    }
    const uint64_t(*wider)[4] = read_field("R", "wider", 0, 32, count);
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t e = 0; e < 4; e++)
            EXPECT("wider", ids[i], wider[i][e], (uint64_t)w.people[ids[i]].wide);
    const uint32_t *length = read_field("R", "list_length", 0, 4, count);
    const uint32_t *list = read_field("R", "list", 0, 4, count);
    for (uint64_t i = 0; i < count; i++) {
        EXPECT("length", ids[i], length[i], w.people[ids[i]].list);
        if (length[i]) EXPECT("list", ids[i], list[i], w.people[ids[i]].listed);
    }
}

/* The log of each, and who was seen. */
static void check_arrays(void) {
    static uint32_t ids[PEOPLE], values[PEOPLE * LOG];
    static uint64_t offsets[PEOPLE + 1];
    for (int is_seen = 0; is_seen < 2; is_seen++) {
        const char *class_name = is_seen ? "S" : "Person", *field = is_seen ? "seen" : "log";
        const uint64_t count = read_class(class_name, ids);
        CHECK_OK(f, clump_heap_read_arrays(w.heap, class_name, field, NULL, count, offsets,
                                           sizeof *values, values, PEOPLE * LOG));
        for (uint64_t i = 0; i < count; i++) {
            const person *p = &w.people[ids[i]];
            EXPECT(field, ids[i], offsets[i + 1] - offsets[i], is_seen ? p->seen_count : p->logged);
            for (uint64_t at = offsets[i]; at < offsets[i + 1]; at++)
                if (is_seen)
                    check_ref(values[at], p->seen[at - offsets[i]], field, ids[i]);
                else
                    EXPECT(field, ids[i], values[at], p->log[at - offsets[i]]);
        }
    }
}

static void check_outside(void) {
    static clump_ref refs[HUGE];
    uint64_t count = 0;
    uint32_t numbers[HOLDERS];
    CHECK_OK(f, clump_heap_read_count(w.heap, "Holder", &count));
    assert_int_equal(count, HOLDERS);
    clump_ref holders[HOLDERS], p[HOLDERS], s[HOLDERS], i[HOLDERS];
    CHECK_OK(f, clump_heap_read_refs(w.heap, "Holder", holders, HOLDERS, &count));
    memcpy(numbers, read_field("Holder", "number", 0, 4, HOLDERS), sizeof numbers);
    memcpy(p, read_field("Holder", "p", 0, 4, HOLDERS), sizeof p);
    memcpy(s, read_field("Holder", "s", 0, 4, HOLDERS), sizeof s);
    memcpy(i, read_field("Holder", "i", 0, 4, HOLDERS), sizeof i);
    for (uint32_t h = 0; h < HOLDERS; h++) {
        const holder *m = &w.holders[numbers[h]];
        check_ref(p[h], m->p, "p", numbers[h]);
        check_ref(s[h], m->s, "s", numbers[h]);
        check_ref(i[h], m->i, "i", numbers[h]);
        const uint64_t length = numbers[h] ? MANY : HUGE;
        CHECK_OK(f, clump_heap_read_object_array(w.heap, "Holder", "many", holders[h], sizeof *refs,
                                                 refs, HUGE, &count));
        assert_int_equal(count, length);
        for (uint32_t j = 0; j < length; j++) check_ref(refs[j], m->many[j], "many", numbers[h]);
    }
    for (uint32_t k = 0; k < HANDLES; k++) {
        if (!w.handle_of[k]) continue;
        CHECK_OK(f, clump_heap_read_handle(w.heap, w.handles[k], &refs[0]));
        check_ref(refs[0], w.handle_of[k], "handle", k);
    }
}

/* A checked heap finds nothing, and no error is left. */
static void check_findings(void) {
    static clump_finding findings[64];
    uint64_t count;
    if (!is_checked) return;
    CHECK_OK(f, clump_heap_take_findings(w.heap, findings, 64, &count, NULL));
    if (count) fail_msg("%u findings, the first: %s", (unsigned)count, findings[0].text);
    CHECK_OK(f, clump_heap_take_errors(w.heap, NULL));
}

static void check_all(void) {
    uint32_t wrong[FAULTS];
    CHECK_HEAP(f, w.heap);
    check_findings();
    cl_fixture_read(f, w.wrong, wrong, sizeof wrong);
    for (uint32_t i = 0; i < FAULTS; i++)
        if (wrong[i]) fail_msg("a kernel found fault %u, %u times", i, wrong[i]);
    check_people();
    check_classes();
    check_arrays();
    check_outside();
}

/* ---- The world ---- */

static void make(int class_of, uint32_t most) {
    static const char *const names[] = {"", "S", "Big", "I", "Long", "R"};
    static uint32_t ids[PEOPLE];
    clump_kernel *const k = class_of == I ? w.make_i : class_of == R ? w.make_r : w.make_s;
    uint32_t count = 0;
    uint64_t made;
    for (uint32_t id = 0; id < PEOPLE && count < most; id++) {
        person *p = &w.people[id];
        if (p->is != DEAD) continue;
        ids[count++] = id;
        become(p, class_of);
        p->friend = 0;
        p->logged = id % 7;
        for (uint32_t i = 0; i < p->logged; i++) p->log[i] = id * 10 + i;
        if (is_in(S, class_of)) {
            p->age = id + 1;
            p->seen_count = id % 5;
            memset(p->seen, 0, sizeof p->seen);
        }
        if (class_of == BIG) p->extra = (uint64_t)id << 33;
        if (class_of == I) {
            p->few = 5;
            p->weight = id;
        }
        if (class_of == R) {
            p->wide = 2;
            p->flags = 31;
            p->list = 1;
            p->listed = id;
        }
    }
    if (!count) return;
    cl_fixture_write(f, w.ids, ids, count * sizeof *ids);
    CHECK_OK(f, clump_heap_do_new(w.heap, k, names[class_of], count, &made, NULL));
    assert_int_equal(made, count);
}

static void make_handles(void) {
    for (uint32_t k = 0; k < HANDLES; k++) {
        const uint32_t id = k * 53 % PEOPLE;
        clump_ref ref;
        if (w.handle_of[k]) continue;
        if (w.handles[k]) CHECK_OK(f, clump_heap_destroy_handle(w.heap, w.handles[k]));
        w.handles[k] = 0;
        if (w.people[id].is == DEAD) continue;
        CHECK_CL(clEnqueueReadBuffer(f->queue, w.table, CL_TRUE, id * 4, 4, &ref, 0, NULL, NULL));
        CHECK_OK(f, clump_heap_create_handle(w.heap, ref, &w.handles[k]));
        w.handle_of[k] = id + 1;
    }
}

/* With room for guards, and for blocks that are less full on GPUs. */
static uint64_t heap_bytes(void) {
    return UINT64_C(4) << (is_checked ? 21 : 20);
}

static clump_heap *another(void) {
    const clump_checked_desc checked = {.size = sizeof checked};
    return cl_fixture_heap_as(f, schema_text,
                              &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                 .bytes = heap_bytes(),
                                                 .block_rows = 2,
                                                 .checked = is_checked ? &checked : NULL});
}

static int open_world(void **state) {
    memset(&w, 0, sizeof w);
    w.heap = another();
    char options[160];
    snprintf(options, sizeof options, "-DPEOPLE=%uu -DHOLDERS=%uu -DMANY=%uu -DHUGE=%uu -DLOG=%uu",
             PEOPLE, HOLDERS, MANY, HUGE, LOG);
    w.program = cl_fixture_program(f, w.heap, source, options, NULL);
    w.table = cl_fixture_buffer(f, NULL, PEOPLE * 4);
    w.ids = cl_fixture_buffer(f, NULL, PEOPLE * 4);
    w.wins = cl_fixture_buffer(f, NULL, PEOPLE * 4);
    w.wrong = cl_fixture_buffer(f, NULL, FAULTS * 4);
    w.make_s = cl_fixture_kernel(f, w.program, "make_s");
    w.make_i = cl_fixture_kernel(f, w.program, "make_i");
    w.make_r = cl_fixture_kernel(f, w.program, "make_r");
    w.make_holders = cl_fixture_kernel(f, w.program, "make_holders");
    w.link = cl_fixture_kernel(f, w.program, "link");
    w.live = cl_fixture_kernel(f, w.program, "live");
    w.fight = cl_fixture_kernel(f, w.program, "fight");
    w.without_room = cl_fixture_kernel(f, w.program, "without_room");
    w.none = cl_fixture_kernel(f, w.program, "none");
    w.drop_more = cl_fixture_kernel(f, w.program, "drop_more");
    w.drop_people = cl_fixture_kernel(f, w.program, "drop_people");
    w.by_reference = cl_fixture_kernel(f, w.program, "by_reference");
    SET_ARG(f, w.by_reference, 0, w.table);
    SET_ARG(f, w.by_reference, 1, w.ids);
    clump_kernel *const makes[] = {w.make_s, w.make_i, w.make_r};
    for (int i = 0; i < 3; i++) {
        SET_ARG(f, makes[i], 0, w.table);
        SET_ARG(f, makes[i], 1, w.ids);
        SET_ARG(f, makes[i], 2, w.wrong);
    }
    SET_ARG(f, w.make_holders, 0, w.wrong);
    SET_ARG(f, w.link, 0, w.table);
    SET_ARG(f, w.live, 0, w.table);
    SET_ARG(f, w.live, 2, w.wrong);
    SET_ARG(f, w.fight, 0, w.table);
    SET_ARG(f, w.fight, 1, w.wins);
    SET_ARG(f, w.without_room, 0, w.wins);
    SET_ARG(f, w.without_room, 1, w.wrong);
    SET_ARG(f, w.none, 0, w.wrong);
    const clump_refs_desc desc = {.size = sizeof desc, .buffer = w.table, .count = PEOPLE};
    CHECK_OK(f, clump_refs_create(w.heap, &desc, &w.registered, NULL));
    uint64_t made;
    CHECK_OK(f, clump_heap_do_new(w.heap, w.make_holders, "Holder", HOLDERS, &made, NULL));
    assert_int_equal(made, HOLDERS);
    w.raw_bytes = cl_fixture_raw_bytes(f, w.heap);
    return 0;
}

static int open_checked_world(void **state) {
    is_checked = 1;
    return open_world(state);
}

static int close_world(void **state) {
    clump_kernel *const kernels[] = {w.make_s, w.make_i,    w.make_r,      w.make_holders,
                                     w.link,   w.live,      w.fight,       w.without_room,
                                     w.none,   w.drop_more, w.drop_people, w.by_reference};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) clump_kernel_destroy(kernels[i]);
    cl_mem buffers[] = {w.table, w.ids, w.wins, w.wrong};
    clump_program_destroy(w.program);
    clump_heap_destroy(w.heap);
    for (size_t i = 0; i < 4; i++) CHECK_CL(clReleaseMemObject(buffers[i]));
    return 0;
}

/* ---- Tests ---- */

static void link_all(uint32_t seed) {
    SET_ARG(f, w.link, 1, seed);
    CHECK_OK(f, clump_heap_do_all(w.heap, w.link, NULL));
    link_model(seed);
}

static void tidy(uint32_t round) {
    static const char *const holders[] = {"Holder"};
    if (round % 3 == 1)
        CHECK_OK(
            f, clump_heap_compact(w.heap, &(clump_compact_desc){.size = sizeof(clump_compact_desc)},
                                  NULL, NULL));
    if (round % 3 == 2) /* the table keeps all people alive */
        CHECK_OK(f, clump_heap_collect(w.heap,
                                       &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                             .root_classes = holders,
                                                             .root_class_count = 1},
                                       NULL, NULL));
}

static void random_rounds(void **state) {
    make(S, 700);
    make(BIG, 200);
    make(I, 500);
    make(R, 500);
    check_all();
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t seed = first_seed + round * 7919;
        if (round % 2 == 0) link_all(seed + 5);
        make_handles();
        SET_ARG(f, w.live, 1, seed);
        CHECK_OK(f, clump_heap_do_all(w.heap, w.live, NULL));
        step_model(seed);
        check_all();
        tidy(round);
        check_all();
        make(round % 2 ? S : BIG, 60);
        make(I, 50);
        make(R, 40);
    }
}

static void live_once(void) {
    SET_ARG(f, w.live, 1, first_seed);
    CHECK_OK(f, clump_heap_do_all(w.heap, w.live, NULL));
    step_model(first_seed);
}

/* Only the holders have raw memory. */
static void nothing_left(void **state) {
    uint64_t count;
    for (int i = 0; i < 3; i++) {
        make(BIG, 200);
        make(I, 200);
        live_once();
    }
    const uint64_t all_bytes = cl_fixture_raw_bytes(f, w.heap);
    CHECK_OK(f, clump_heap_do_all(w.heap, w.drop_people, NULL));
    CHECK_OK(f, clump_heap_read_count(w.heap, "Person", &count));
    assert_int_equal(count, 0);
    assert_true(all_bytes > w.raw_bytes);
    assert_int_equal(cl_fixture_raw_bytes(f, w.heap), w.raw_bytes);
    CHECK_HEAP(f, w.heap);
    for (uint32_t id = 0; id < PEOPLE; id++) end(id);
    settle();
    static const clump_ref table[PEOPLE];
    cl_fixture_write(f, w.table, table, sizeof table);
}

static void expect_wins(uint32_t frees) {
    static uint32_t wins[PEOPLE];
    static const uint32_t zeros[PEOPLE];
    link_all(first_seed + 17 + frees);
    make_handles();
    cl_fixture_write(f, w.wins, zeros, sizeof zeros);
    SET_ARG(f, w.fight, 2, frees);
    CHECK_OK(f, clump_heap_launch(w.heap, w.fight, 64, 4, NULL));
    cl_fixture_read(f, w.wins, wins, sizeof wins);
    for (uint32_t id = 0; id < PEOPLE; id++) {
        const int is_wanted = is_in(S, w.people[id].is), is_freed = frees && id % 2 == 0;
        if (wins[id] > (uint32_t)is_wanted || (is_wanted && !is_freed && !wins[id]))
            fail_msg("%u work-items changed the class of %u", wins[id], id);
        if (!is_wanted) continue;
        change(id, I);
        w.people[id].weight = 77;
        if (is_freed) end(id);
    }
    /* freed by others than the table's */
    static clump_ref table[PEOPLE];
    cl_fixture_read(f, w.table, table, sizeof table);
    for (uint32_t id = 0; id < PEOPLE; id++)
        if (w.people[id].is == DEAD) table[id] = 0;
    cl_fixture_write(f, w.table, table, sizeof table);
    settle();
    check_all();
}

static void one_wins(void **state) {
    make(S, 300);
    expect_wins(0);
    live_once();
    make(S, 300);
    expect_wins(1);
}

static void no_room(void **state) {
    static const uint32_t zeros[PEOPLE];
    static uint32_t wins[PEOPLE];
    clump_device_report report = {.size = sizeof report};
    uint32_t nulls = 0;
    uint64_t made = 0;
    cl_mem ids = cl_fixture_buffer(f, NULL, MORE * 4), table = w.table;
    uint32_t *const others = malloc(MORE * 4);
    for (uint32_t i = 0; i < MORE; i++) others[i] = PEOPLE;
    cl_fixture_write(f, ids, others, MORE * 4);
    free(others);
    cl_mem none = cl_fixture_buffer(f, NULL, (PEOPLE + 1) * 4);
    make(S, 400);
    clump_kernel *const fill[] = {w.make_r, w.make_i};
    for (int i = 0; i < 2; i++) {
        SET_ARG(f, fill[i], 0, none);
        SET_ARG(f, fill[i], 1, ids);
        CHECK_OK(f, clump_heap_do_new(w.heap, fill[i], i ? "I" : "R", MORE, &made, NULL));
        assert_true(made < MORE);
        SET_ARG(f, fill[i], 0, table);
        SET_ARG(f, fill[i], 1, w.ids);
        assert_int_equal(clump_heap_take_errors(w.heap, NULL), CLUMP_ERR_DEVICE);
    }
    cl_fixture_write(f, w.wins, zeros, sizeof zeros);
    CHECK_OK(f, clump_heap_do_all(w.heap, w.without_room, NULL));
    cl_fixture_read(f, w.wins, wins, sizeof wins);
    for (uint32_t id = 0; id < PEOPLE; id++) {
        if (!wins[id]) continue;
        assert_true(is_in(S, w.people[id].is));
        nulls += wins[id] == 2;
        if (wins[id] == 2) continue;
        change(id, I);
        w.people[id].weight = 78;
    }
    settle();
    assert_true(nulls > 0);
    assert_int_equal(clump_heap_take_errors(w.heap, &report), CLUMP_ERR_DEVICE);
    assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, nulls);
    CHECK_OK(f, clump_heap_do_all(w.heap, w.drop_more, NULL));
    check_all();
    CHECK_CL(clReleaseMemObject(ids));
    CHECK_CL(clReleaseMemObject(none));
}

static void no_object(void **state) {
    CHECK_OK(f, clump_heap_launch(w.heap, w.none, 64, 64, NULL));
    check_all();
}

/* ---- Other heaps ---- */

/* All people of the heap that are S become I: none of its objects is taken for one that changed. */
static void turn_all(clump_heap *heap) {
    uint64_t all_s, all_i, count;
    CHECK_OK(f, clump_heap_read_count(heap, "S", &all_s));
    CHECK_OK(f, clump_heap_read_count(heap, "I", &all_i));
    assert_true(all_s > 0);
    CHECK_OK(f, clump_heap_do_all(heap, w.without_room, NULL));
    CHECK_OK(f, clump_heap_read_count(heap, "S", &count));
    assert_int_equal(count, 0);
    CHECK_OK(f, clump_heap_read_count(heap, "I", &count));
    assert_int_equal(count, all_s + all_i);
    CHECK_HEAP(f, heap);
}

static void saved_and_loaded(void **state) {
    live_once();
    make(S, 100);
    expect_wins(0); /* nobody dies, so that no reference dangles */
    make(BIG, 50);
    memory_file file = saved_bytes(f, w.heap, 0);
    clump_heap *heap = another();
    const clump_load_desc desc = {
        .size = sizeof desc, .read = memory_read, .user = &file, .without_registered = 1};
    CHECK_OK(f, clump_heap_load(heap, &desc, NULL));
    static const char *const fields[][2] = {
        {"Person", "id"}, {"Big", "extra"}, {"I", "weight"}, {"R", "list_length"}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t count, loaded;
        const size_t bytes = i == 1 || i == 2 ? 8 : 4;
        CHECK_OK(f, clump_heap_read_count(w.heap, fields[i][0], &count));
        CHECK_OK(f, clump_heap_read_count(heap, fields[i][0], &loaded));
        assert_int_equal(count, loaded);
        const void *here = read_field(fields[i][0], fields[i][1], 0, bytes, count);
        void *there = malloc(count * bytes + 1);
        CHECK_OK(f, clump_heap_read_field(heap, fields[i][0], fields[i][1], 0, bytes, there, count,
                                          NULL));
        assert_memory_equal(here, there, count * bytes);
        free(there);
    }
    turn_all(heap);
    memory_release(&file);
    clump_heap_destroy(heap);
    check_all();
}

static void extracted(void **state) {
    static const char *const people[] = {"Person", "Holder"};
    clump_extract *taken;
    live_once();
    make(S, 100);
    clump_heap *heap = another();
    const clump_extract_desc desc = {.size = sizeof desc, .classes = people, .class_count = 2};
    CHECK_OK(f, clump_heap_extract(w.heap, &desc, &taken, NULL));
    CHECK_OK(f, clump_heap_insert(heap, taken, NULL));
    clump_extract_destroy(taken);
    turn_all(heap);
    clump_heap_destroy(heap);
    check_all();
}

/* Structs of the host, and a schema in which other classes become others. */
static void converted(void **state) {
    static const char plain[] = "class A { uint id; } class B { uint id; ulong b; ref A a; }",
                      next[] =
                          "class A becomes B { uint id; uint more; } "
                          "class B becomes A { uint id; ulong b; ref A a; }",
                      text[] =
                          "__kernel void turn(CLUMP_HEAP) {\n"
                          "    CLUMP_FOR_EACH(A, a) A_become_B(a);\n"
                          "    CLUMP_FOR_EACH(B, b) B_become_A(b);\n"
                          "}\n";
    uint32_t ids[100] = {0};
    clump_schema *schema;
    clump_heap *heap = cl_fixture_heap(f, plain, UINT64_C(4) << 20, 2);
    if (clump_heap_get_info(heap)->buffer_blocks) {
        clump_heap_destroy(heap);
        skip(); /* only heaps in one buffer are converted */
    }
    clump_struct_field id = {"id", 0};
    clump_struct_desc of = {sizeof of, "A", 4, 1, &id};
    CHECK_OK(f, clump_heap_new_structs(heap, &of, ids, 100, NULL, NULL));
    CHECK_OK(f, clump_schema_parse(next, strlen(next), NULL, &schema, NULL));
    CHECK_OK(f,
             clump_heap_convert(
                 heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
                 NULL));
    clump_schema_destroy(schema);
    of.class_name = "B";
    CHECK_OK(f, clump_heap_new_structs(heap, &of, ids, 70, NULL, NULL));
    clump_program *program = cl_fixture_program(f, heap, text, NULL, NULL);
    clump_kernel *turn = cl_fixture_kernel(f, program, "turn");
    for (int i = 0; i < 5; i++) {
        uint64_t a, b;
        CHECK_OK(f, clump_heap_do_all(heap, turn, NULL));
        CHECK_OK(f, clump_heap_read_count(heap, "A", &a));
        CHECK_OK(f, clump_heap_read_count(heap, "B", &b));
        assert_int_equal(a, i % 2 ? 100 : 70);
        assert_int_equal(b, i % 2 ? 70 : 100);
        CHECK_HEAP(f, heap);
    }
    clump_kernel_destroy(turn);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

/* The arrays that grow are made anew, by a kernel of the library that changes no classes. What the
 * conversion keeps in the new memory for references outside is then still there. */
static void converted_with_arrays(void **state) {
    clump_convert_desc desc = {.size = sizeof desc,
                               .schema = clump_heap_get_info(w.heap)->schema,
                               .bytes = heap_bytes(),
                               .block_rows = 2};
    if (clump_heap_get_info(w.heap)->buffer_blocks) skip();
    make(S, 300);
    live_once();
    link_all(first_seed + 29);
    make_handles();
    CHECK_OK(f, clump_heap_convert(w.heap, &desc, NULL));
    check_all();
    live_once();
    check_all();
}

/* ---- Commands ---- */

/* The event of a launch is that of the last command behind it. */
static void events(void **state) {
    cl_int code;
    cl_event gate = clCreateUserEvent(f->context, &code), done;
    cl_command_type type;
    static clump_ref table[PEOPLE];
    CHECK_CL(code);
    make(S, 300);
    SET_ARG(f, w.live, 1, first_seed);
    CHECK_OK(f,
             clump_heap_do_all(w.heap, w.live,
                               &(clump_sync){.wait_count = 1, .wait_list = &gate, .event = &done}));
    CHECK_CL(clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    assert_int_not_equal(type,
                         CL_COMMAND_NDRANGE_KERNEL); /* NVIDIA's marker has a type of its own */
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK_CL(clWaitForEvents(1, &done));
    step_model(first_seed);
    cl_fixture_read(f, w.table, table, sizeof table);
    check_all();
    CHECK_CL(clReleaseEvent(gate));
    CHECK_CL(clReleaseEvent(done));
}

/* A kernel that the program launches: the next call on the heap settles, also one that prepares
 * another such kernel, or that ends the registration of a buffer. */
static void by_hand(void **state) {
    static uint32_t ids[PEOPLE];
    static clump_ref before[PEOPLE], after[PEOPLE];
    const size_t global = 64;
    for (int ends = 0; ends < 2; ends++) {
        uint32_t count = 0;
        make(S, 300);
        for (uint32_t id = 0; id < PEOPLE; id++)
            if (is_in(S, w.people[id].is) && id % 3) ids[count++] = id;
        cl_fixture_write(f, w.ids, ids, sizeof ids);
        cl_fixture_read(f, w.table, before, sizeof before);
        cl_mem copy = cl_fixture_buffer(f, before, sizeof before);
        clump_refs *refs;
        CHECK_OK(f, clump_refs_create(
                        w.heap,
                        &(clump_refs_desc){
                            .size = sizeof(clump_refs_desc), .buffer = copy, .count = PEOPLE},
                        &refs, NULL));
        SET_ARG(f, w.by_reference, 2, count);
        CHECK_OK(f, clump_heap_set_kernel(w.heap, w.by_reference->kernel));
        CHECK_CL(clFinish(f->queue)); /* it may be out of order */
        CHECK_CL(clEnqueueNDRangeKernel(f->queue, w.by_reference->kernel, 1, NULL, &global, &global,
                                        0, NULL, NULL));
        CHECK_CL(clFinish(f->queue));
        clump_heap_touch(w.heap);
        if (ends)
            clump_refs_destroy(refs);
        else
            CHECK_OK(f, clump_heap_set_kernel(w.heap, w.by_reference->kernel));
        CHECK_CL(clFinish(f->queue));
        cl_fixture_read(f, copy, after, sizeof after);
        if (!ends) clump_refs_destroy(refs);
        clReleaseMemObject(copy);
        for (uint32_t id = 0, i = 0; id < PEOPLE; id++) {
            const int changes = i < count && ids[i] == id;
            assert_int_equal(after[id] != before[id], changes);
            i += (uint32_t)changes;
        }
        for (uint32_t i = 0; i < count; i++) {
            change(ids[i], I);
            w.people[ids[i]].weight = 79;
        }
        settle();
        check_all();
    }
}

static cl_int CL_API_CALL enqueue(cl_command_queue q, cl_kernel kernel, cl_uint n, const size_t *o,
                                  const size_t *global, const size_t *local, cl_uint waits,
                                  const cl_event *list, cl_event *event) {
    launches++;
    if (fails_in && --fails_in == 0) return CL_OUT_OF_RESOURCES;
    was_enqueued |= kernel == looked_for;
    return clEnqueueNDRangeKernel(q, kernel, n, o, global, local, waits, list, event);
}

/* One command of a launch fails, each in turn. If it is behind the kernel, the next call on the heap
 * settles. */
static void commands_fail(void **state) {
    clump_status status = CLUMP_ERR_CL;
    int after = 0;
    looked_for = w.live->kernel;
    for (int n = 1; status; n++) {
        make(S, 100);
        SET_ARG(f, w.live, 1, first_seed);
        was_enqueued = 0;
        fails_in = n;
        status = clump_heap_do_all(w.heap, w.live, NULL);
        fails_in = 0;
        if (status) assert_int_equal(status, CLUMP_ERR_CL);
        after += status && was_enqueued;
        if (was_enqueued) step_model(first_seed);
        check_all();
    }
    assert_true(after >= 5);
}

static int launches_of(clump_kernel *k) {
    CHECK_OK(f, clump_heap_do_all(w.heap, k, NULL));
    const int before = launches;
    CHECK_OK(f, clump_heap_do_all(w.heap, k, NULL));
    return launches - before;
}

/* Only launches of kernels that change classes have more commands, and only programs of such heaps
 * more code. */
static void costs(void **state) {
    uint64_t count;
    static const char plain[] = "class A { uint id; }";
    make(S, 10);
    assert_int_equal(launches_of(w.link), 1);
    link_model(first_seed);
    link_all(first_seed);
    assert_true(launches_of(w.drop_more) <= 3);
    CHECK_OK(f, clump_heap_read_count(w.heap, "Person", &count));
    assert_true(launches_of(w.without_room) >= 3 + 4);
    clump_heap *heap = cl_fixture_heap(f, plain, UINT64_C(4) << 20, 2);
    clump_program *program =
        cl_fixture_program(f, heap, "__kernel void k(CLUMP_HEAP) {}", NULL, NULL);
    assert_null(strstr(clump_program_get_info(program)->source, "clumpi_unchanged_class"));
    assert_non_null(strstr(clump_program_get_info(w.program)->source, "clumpi_unchanged_class"));
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

static void refused(void **state) {
    cl_fixture_expect_build(f, schema_text,
                            "__kernel void k(CLUMP_HEAP_NO_ALLOC) {\n"
                            "    CLUMP_FOR_EACH(S, s) S_become_I(s);\n"
                            "}\n",
                            NULL, "CLUMP_HEAP_NO_ALLOC");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rounds),    cmocka_unit_test(one_wins),
        cmocka_unit_test(no_room),          cmocka_unit_test(no_object),
        cmocka_unit_test(events),           cmocka_unit_test(by_hand),
        cmocka_unit_test(saved_and_loaded), cmocka_unit_test(extracted),
        cmocka_unit_test(converted),        cmocka_unit_test(converted_with_arrays),
        cmocka_unit_test(commands_fail),    cmocka_unit_test(costs),
        cmocka_unit_test(nothing_left),     cmocka_unit_test(refused)};
    const struct CMUnitTest checked_tests[] = {
        cmocka_unit_test(random_rounds), cmocka_unit_test(one_wins),
        cmocka_unit_test(no_room),       cmocka_unit_test(no_object),
        cmocka_unit_test(by_hand),       cmocka_unit_test(saved_and_loaded),
        cmocka_unit_test(extracted),     cmocka_unit_test(converted_with_arrays),
        cmocka_unit_test(commands_fail), cmocka_unit_test(nothing_left)};
    const clump_cl_functions cl = {.size = sizeof cl, .EnqueueNDRangeKernel = enqueue};
    if (argc > 1) rounds = (uint32_t)strtoul(argv[1], NULL, 0);
    if (argc > 2) first_seed = (uint32_t)strtoul(argv[2], NULL, 0);
    int status = cl_fixture_open(f, &(cl_fixture_desc){.cl = &cl});
    if (status) return status;
    status = cmocka_run_group_tests(tests, open_world, close_world);
    if (cl_fixture_each(1) == 1) /* fault_checked_become has kernels for GPUs, too */
        status += cmocka_run_group_tests(checked_tests, open_checked_world, close_world);
    cl_fixture_close(f);
    return status;
}
