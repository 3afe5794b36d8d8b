/* Kernels of a population (population.h), compiled after hash.clh. Entry e of the table `ids`
 * holds the reference of a living object, or 0, and object and entry know each other: the tag is e
 * + 1, and the last word of the payload its complement. So two objects that share a byte of either
 * are found.
 *
 * KINDS(X) stands for X(0) X(1) ... up to the classes that there are, and WORDS_k for the length
 * of the payload of class k; the host sets both.
 */
#define KINDS_1(X) X(0)
#define KINDS_2(X) KINDS_1(X) X(1)
#define KINDS_3(X) KINDS_2(X) X(2)
#define KINDS_4(X) KINDS_3(X) X(3)

/* An object of class `kind`; all of a warp ask at the same time. */
static Thing make(CLUMP_HEAP, uint kind, uint tag) {
    Thing made = Thing_new_of(Thing0_CLASS + kind);
    if (Thing_is_null(made)) return made;
    Thing_tag(made) = tag;
#define MARK(k)                                                                                    \
    if (kind == k##u) {                                                                            \
        Thing##k self = {made.id};                                                                 \
        Thing##k##_payload(self, WORDS_##k - 1) = ~tag;                                            \
    }
    KINDS(MARK)
#undef MARK
    return made;
}

/* Entries first .. end - 1, one for each work-item: an object dies with the probability die / 2^32
 * (0xffffffff: surely), and an empty entry asks for an object if `born`. */
__kernel void population_step(CLUMP_HEAP, __global uint *ids, uint first, uint end, uint seed,
                              uint die, uint born) {
    if (get_global_id(0) >= end - first) return;
    uint entry = first + (uint)get_global_id(0);
    uint dice = bench_hash(entry, seed);
    Thing thing = {ids[entry]};
    if (Thing_is_null(thing)) {
        if (born) ids[entry] = make(clump_heap, bench_hash(dice, seed) % KIND_COUNT, entry + 1u).id;
    } else if (dice <= die && die) {
        Thing_free(thing);
        ids[entry] = 0u;
    }
}

/* Tallies over all entries: [0] freed and [1] made since the references were `before`, [2] not the
 * object that it should be, [4 + k] objects of class k. An entry that changed hands without an
 * empty step between did both. */
__kernel void population_verify(CLUMP_HEAP_NO_ALLOC, __global const uint *ids,
                                __global const uint *before, uint entries, __global uint *tallies) {
    uint freed = 0u, made = 0u, bad = 0u, count[4] = {0u, 0u, 0u, 0u};
    for (uint entry = (uint)get_global_id(0); entry < entries; entry += (uint)get_global_size(0)) {
        Thing thing = {ids[entry]};
        uint changed = before[entry] != thing.id;
        freed += changed && before[entry];
        made += changed && thing.id;
        if (Thing_is_null(thing)) continue;
        uint kind = Thing_class_of(thing), good = 0u;
#define VERIFY(k)                                                                                  \
    if (kind == Thing##k##_CLASS) {                                                                \
        Thing##k self = Thing_as_Thing##k(thing);                                                  \
        good = Thing##k##_payload(self, WORDS_##k - 1) == ~(entry + 1u);                           \
        count[k]++;                                                                                \
    }
        KINDS(VERIFY)
#undef VERIFY
        bad += !good || Thing_tag(thing) != entry + 1u;
    }
    atomic_add(&tallies[0], freed);
    atomic_add(&tallies[1], made);
    atomic_add(&tallies[2], bad);
    for (uint k = 0u; k < 4u; k++) atomic_add(&tallies[4u + k], count[k]);
}

/* Of a do-new. */
#define INIT(k)                                                                                    \
    __kernel void population_init##k(CLUMP_HEAP) {                                                 \
        CLUMP_FOR_EACH_NEW(Thing##k, self, number) {                                               \
            Thing##k##_tag(self) = number;                                                         \
            Thing##k##_payload(self, WORDS_##k - 1) = ~number;                                     \
        }                                                                                          \
    }
KINDS(INIT)

__kernel void population_clear(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Thing, self) {
        Thing_free(self);
    }
}

/* The sum of the tags. */
__kernel void population_sum(CLUMP_HEAP_NO_ALLOC) {
    ulong sum = 0ul;
    CLUMP_FOR_EACH(Thing, self) {
        sum += Thing_tag(self);
    }
    CLUMP_REDUCE(ulong, sum, CLUMP_SUM);
}
