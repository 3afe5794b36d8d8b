/* The public device API with lanes that fall apart in every way: all kernels of lanes/kernels.clh,
 * on heaps that are half full to full, by each path of the device code on each machine of
 * lanes_machine.h. Each run is compared with the scalar path, one work-item after the other.
 *
 * Without arguments: all. protocol_lanes SEEDS [KERNEL [SEED]]: so many heaps and inputs for each
 * case, one kernel only, one of the inputs only.
 */
#include "tests/protocol/lanes_machine.h"

extern const lanes_path lanes_scalar, lanes_warps, lanes_warps32, lanes_warps_alone,
    lanes_subgroups;

typedef struct test_case {
    const char *kernel;
    uint32_t items, group_items, full, rotate, retries;
    uint64_t seed;
} test_case;

typedef struct outcome {
    uint32_t made[CLASSES_MAX], nulls[CLASSES_MAX], freed[CLASSES_MAX], refused, null_count;
    uint32_t fields; /* of all objects, added up */
} outcome;

static uint32_t input[ITEMS_MAX * 8u], objects[OWNED_GRANULES * 64u], object_count;
#define ALL_SEEDS UINT64_MAX
static uint64_t compared, exhausted; /* runs with room for all, and others */

/* ---- Heaps ---- */

/* Fill a block with objects of a class; of each 100 slots, `full`, and some rows not at all. */
static void fill_block(uint32_t block, uint32_t class_id, uint32_t full, uint32_t empty_rows) {
    clumpi_view v = tiny_view(&m.heap);
    uint32_t live = 0;
    for (uint32_t row = 0; row < v.classes[class_id].rows; row++) {
        uint32_t granule = tiny_granule(&m.heap, block, class_id, row);
        uint64_t bits = 0;
        uint32_t is_empty = empty_rows && random_below(4) == 0;
        for (uint32_t slot = 0; slot < 64 && !is_empty; slot++)
            bits |= (uint64_t)(random_below(100) < full) << slot;
        *tiny_bits(&m.heap, granule) = m.owned[granule] = bits;
        live += clumpi_popcount64(bits);
    }
    v.states[block] = live ? class_id << CLUMPI_CLASS_SHIFT | live : 0;
}

/* Slots of the block's empty rows. */
static uint32_t empty_room(uint32_t block, uint32_t class_id) {
    uint32_t slots = 0;
    for (uint32_t row = 0; row < tiny_view(&m.heap).classes[class_id].rows; row++)
        slots += *tiny_bits(&m.heap, tiny_granule(&m.heap, block, class_id, row)) ? 0 : 64;
    return slots;
}

/* Reserve some or all of the free slots of some blocks. */
static void reserve(void) {
    static tiny_spec spec;
    tiny_heap *h = &m.heap;
    clumpi_view v = tiny_view(h);
    memset(&spec, 0, sizeof spec);
    spec.first_block = h->first_block;
    spec.per_row = h->per_row;
    v.header->stripes = 1 + random_below(TINY_STRIPES);
    uint32_t part = random_below(4), holes = 0;
    uint32_t closed[TINY_CLASSES + 1][TINY_STRIPES] = {
        0}; /* a row that is not whole was the last */
    for (uint32_t b = 0; b < h->blocks; b++) {
        uint32_t state = v.states[h->first_block + b], live = clumpi_credits_of_state(state);
        uint32_t class_id = live ? clumpi_class_of_state(state) : 1 + random_below(h->class_count);
        uint32_t room = v.classes[class_id].capacity - live, empty = random_below(4);
        if (empty) empty = empty_room(h->first_block + b, class_id) > 0;
        if (empty) room = empty_room(h->first_block + b, class_id);
        uint32_t slots = random_below(empty ? 8 : 2) ? room : random_below(room + 1);
        uint32_t stripe = random_below(v.header->stripes);
        if (empty && closed[class_id][stripe]) continue;
        if (random_below(4) < part || !slots || spec.reserved_count == TINY_RESERVED) continue;
        if (!empty && holes + slots > 6u * 64u)
            continue; /* the list has room for so many rows of both stripes */
        holes += empty ? 0 : slots;
        closed[class_id][stripe] |= empty && slots % 64u;
        spec.reserved[spec.reserved_count].stripe = stripe;
        spec.reserved[spec.reserved_count].block = b;
        spec.reserved[spec.reserved_count].class_id = class_id;
        spec.reserved[spec.reserved_count].slots = slots;
        spec.reserved[spec.reserved_count++].empty = empty != 0;
    }
    v.header->at_stripes = LANES_STRIPES_AT;
    h->at_lists = LANES_LISTS_AT;
    for (uint32_t c = 1; c <= h->class_count; c++)
        if (!tiny_reserve(h, &spec, c)) fail("what is reserved for class %u does not fit", c);
}

/* Some objects are where slots are reserved, as if others had been freed. */
static void take_reserved(void) {
    tiny_heap *h = &m.heap;
    for (uint32_t c = 1; c <= h->class_count; c++) {
        const clumpi_class *k = &tiny_view(h).classes[c];
        for (uint32_t s = 0; s < k->reserved.stripes; s++) {
            const clumpi_stripe *stripe = tiny_stripes(h, c) + s;
            for (uint32_t at = stripe->next; at < stripe->limit; at += 1 + random_below(32)) {
                uint32_t ref = tiny_reserved_slot(h, &k->reserved, s, at),
                         row = random_below(k->rows);
                uint32_t granule = tiny_granule(h, (ref >> 6) / h->block_granules, c, row);
                uint64_t live = m.owned[granule];
                if (!live) continue;
                m.owned[granule] = *tiny_bits(h, granule) &= ~(live & (0 - live));
                m.owned[ref >> 6] = *tiny_bits(h, ref >> 6) |= 1ul << (ref & 63u);
            }
        }
    }
}

/* For paths without reservations: the same objects, but all slots that were reserved are free. */
static void unreserve(void) {
    tiny_heap *h = &m.heap;
    clumpi_view v = tiny_view(h);
    for (uint32_t b = h->first_block; b < h->first_block + h->blocks; b++) {
        v.states[b] = (v.states[b] & ~CLUMPI_STRIPED) - tiny_reserved_of_all(h, b);
        if (!clumpi_credits_of_state(v.states[b])) v.states[b] = 0;
    }
    for (uint32_t c = 1; c <= h->class_count; c++) {
        memset(tiny_stripes(h, c), 0, TINY_STRIPES * sizeof(clumpi_stripe));
        memset(h->limits[c - 1], 0, sizeof h->limits[c - 1]);
        v.classes[c].reserved.left = 0;
    }
}

static void make_heap(const lanes_path *path, uint32_t full) {
    tiny_heap *h = &m.heap;
    memset(h, 0, sizeof *h);
    memset(m.owned, 0, sizeof m.owned);
    h->per_row = 64;
    h->bytes = LANES_HEAP_BYTES;
    memcpy(h->image + TINY_HEADER_AT * CLUMPI_UNIT, lanes_header, sizeof lanes_header);
    clumpi_view v = tiny_view(h);
    h->first_block = v.header->first_block;
    h->blocks = v.header->block_end - h->first_block;
    h->block_granules = v.header->block_granules;
    h->class_count = v.header->class_count;
    for (uint32_t b = 0; b < h->first_block; b++)
        v.states[b] = CLUMPI_RESERVED << CLUMPI_CLASS_SHIFT;
    for (uint32_t c = 1; c <= h->class_count; c++) {
        v.classes[c].row_granules = lanes_classes[c].row_granules;
        v.classes[c].rows = lanes_classes[c].rows;
        v.classes[c].capacity = lanes_classes[c].capacity;
        v.classes[c].last = lanes_classes[c].last;
    }
    uint32_t empty_rows = full < 95 && random_below(2);
    for (uint32_t b = 0; b < h->blocks; b++) {
        if (random_below(100) >= full || (full == 100 && b == 0 && random_below(2))) continue;
        uint32_t class_id = 1 + random_below(h->class_count), as_full = random_below(2);
        fill_block(h->first_block + b, class_id, full == 100 || as_full ? full : random_below(100),
                   empty_rows);
    }
    reserve();
    take_reserved();
    if (path->word_bits != 64) unreserve();
    tiny_make_hints(h);
}

/* The list of rows, as cl/heap/enumerate.cl leaves it. */
static void make_list(void) {
    tiny_heap *h = &m.heap;
    clumpi_view v = tiny_view(h);
    uint *begin = (uint *)(void *)(h->image + v.header->at_list_begin * CLUMPI_UNIT);
    uint *rows = (uint *)(void *)(h->image + v.header->at_list_rows * CLUMPI_UNIT);
    ulong *masks = (ulong *)(void *)(h->image + v.header->at_list_masks * CLUMPI_UNIT);
    uint32_t count = 0;
    object_count = 0;
    for (uint32_t c = 1; c <= h->class_count; c++) {
        begin[c] = count;
        for (uint32_t b = h->first_block; b < h->first_block + h->blocks; b++) {
            for (uint32_t row = 0;
                 clumpi_class_of_state(v.states[b]) == c && row < v.classes[c].rows; row++) {
                uint32_t granule = tiny_granule(h, b, c, row);
                uint64_t bits = *tiny_bits(h, granule);
                if (!bits) continue;
                rows[count] = granule;
                masks[count++] = bits;
                for (; bits; bits &= bits - 1)
                    objects[object_count++] = granule << 6 | clumpi_lowest64(bits);
            }
        }
    }
    begin[h->class_count + 1] = count;
}

/* ---- Inputs ---- */

enum { NEIGHBOURS, SHUFFLED, TWICE, PATTERNS };

/* References to objects for the words 0 and 1 of each work-item: neighbours in their rows, in any
 * order, or the same ones for several lanes; some null. first .. last: classes. */
static void choose_objects(uint32_t pattern, uint32_t first, uint32_t last) {
    static uint32_t chosen[OWNED_GRANULES * 64u];
    uint32_t count = 0, nulls = random_below(3);
    for (uint32_t i = 0; i < object_count; i++)
        if (class_of(objects[i]) >= first && class_of(objects[i]) <= last)
            chosen[count++] = objects[i];
    for (uint32_t i = count; pattern != NEIGHBOURS && i > 1; i--) {
        uint32_t other = random_below(i), kept = chosen[i - 1];
        chosen[i - 1] = chosen[other];
        chosen[other] = kept;
    }
    uint32_t at = count > 512 ? random_below(count - 512) : 0;
    for (uint32_t i = 0; i < ITEMS_MAX; i++)
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t from = pattern == TWICE ? at + random_below(40) : at++;
            input[8 * i + k] = from < count && random_below(8) >= nulls ? chosen[from] : 0;
        }
    m.racy = pattern == TWICE;
}

static void make_input(const test_case *c) {
    for (uint32_t i = 0; i < ITEMS_MAX * 8u; i++) input[i] = random_below(UINT32_MAX);
    uint32_t pattern = random_below(PATTERNS), all = m.heap.class_count;
    m.racy = 0;
    if (strcmp(c->kernel, "frees") == 0) choose_objects(pattern, 1, 2);
    if (strcmp(c->kernel, "frees_by_base") == 0) choose_objects(pattern, 2, 2);
    if (strcmp(c->kernel, "frees_by_class") == 0) choose_objects(pattern, 1, all);
    if (strcmp(c->kernel, "sums") == 0) choose_objects(TWICE, 2, 2);
    if (strcmp(c->kernel, "free_then_new") == 0) choose_objects(random_below(2), 1, 2);
}

/* ---- Checks ---- */

static void check_end(outcome *o) {
    tiny_heap *h = &m.heap;
    char text[200];
    memset(o, 0, sizeof *o);
    memcpy(o->made, m.made, sizeof m.made);
    memcpy(o->nulls, m.nulls, sizeof m.nulls);
    memcpy(o->freed, m.freed, sizeof m.freed);
    o->refused = m.refused;
    if (m.failure[0]) return;
    if (!tiny_check(h, text, sizeof text)) fail("%s", text);
    for (uint32_t g = h->first_block * h->block_granules; g < OWNED_GRANULES; g++)
        if (*tiny_bits(h, g) != m.owned[g])
            fail("granule %u: %lx are live, the work-items own %lx", g, *tiny_bits(h, g),
                 (ulong)m.owned[g]);
    for (uint32_t at = h->first_block * h->block_granules * tiny_view(h).header->granule_bytes;
         at < h->bytes; at += 4)
        o->fields += (at + 1u) * *(const uint32_t *)(const void *)(h->image + at);
    uint32_t freed = 0;
    for (uint32_t c = 1; c <= h->class_count; c++) {
        o->null_count += m.nulls[c];
        freed += m.freed[c];
        if (m.nulls[c] && m.roomy[c])
            fail("null for class %u, though blocks %lx had room all the time", c,
                 (ulong)m.roomy[c]);
    }
    for (uint32_t c = 1; c <= h->class_count; c++)
        if (m.nulls[c] && !freed && tiny_room_of_class(h, c))
            fail("null for class %u, but there is room at the end", c);
    m.thieves += (uint64_t)tiny_took_back(h);
    const clumpi_error *e = tiny_view(h).header->errors;
    if (e[CLUMPI_ERROR_OUT_OF_MEMORY].count != o->null_count)
        fail("%u times out of memory were reported, %u nulls given",
             e[CLUMPI_ERROR_OUT_OF_MEMORY].count, o->null_count);
    const clumpi_error *none = &e[CLUMPI_ERROR_OUT_OF_MEMORY];
    if (none->count && (none->ref != 0 || none->class_id > h->class_count ||
                        !m.nulls[none->class_id] || none->work_item >= m.count))
        fail("out of memory was reported for class %u, reference %08x", none->class_id, none->ref);
    uint32_t refused = e[CLUMPI_ERROR_DOUBLE_FREE].count + e[CLUMPI_ERROR_BAD_REFERENCE].count;
    if (refused != m.refused) fail("%u frees were refused, should be %u", refused, m.refused);
}

/* Both paths had room for everything: then they do the same. */
static void compare(const test_case *c, const outcome *scalar, const outcome *o) {
    compared += !scalar->null_count && !o->null_count;
    exhausted += scalar->null_count || o->null_count;
    int one_class = strcmp(c->kernel, "one_if") == 0 || strcmp(c->kernel, "trips") == 0;
    for (uint32_t k = 1; k <= m.heap.class_count && !m.failure[0]; k++) {
        int same_room = !scalar->null_count && !o->null_count;
        if ((same_room || one_class) && scalar->made[k] != o->made[k])
            fail("%u objects of class %u, the scalar path makes %u", o->made[k], k,
                 scalar->made[k]);
        if (same_room && scalar->freed[k] != o->freed[k])
            fail("%u objects of class %u freed, by the scalar path %u", o->freed[k], k,
                 scalar->freed[k]);
    }
    if (strcmp(c->kernel, "sums") == 0 && scalar->fields != o->fields)
        fail("the fields of the objects have the sum %u, by the scalar path %u", o->fields,
             scalar->fields);
    if (!scalar->null_count && !o->null_count && scalar->refused != o->refused)
        fail("%u frees refused, by the scalar path %u", o->refused, scalar->refused);
}

static void run(const test_case *c, const lanes_path *path, int machine, uint32_t patience,
                outcome *o) {
    m.random = c->seed * 2654435761u + c->full;
    memset(m.made, 0, sizeof m.made);
    memset(m.nulls, 0, sizeof m.nulls);
    memset(m.freed, 0, sizeof m.freed);
    m.refused = 0;
    m.failure[0] = 0;
    make_heap(path, c->full);
    make_list();
    make_input(c);
    m.random += (uint64_t)machine << 40 | (uint64_t)patience << 32;
    m.patience = patience;
    path->tune(c->rotate, c->retries);
    launch(path, c->kernel, machine, c->items, c->group_items, input);
    check_end(o);
}

/* ---- All ---- */

static const struct {
    const lanes_path *path;
    int machine;
    uint32_t patience;
} ways[] = {
    {&lanes_scalar, ANY, 0},       {&lanes_warps, LOCKSTEP, 0},  {&lanes_warps, MERGED, 0},
    {&lanes_warps, ANY, 0},        {&lanes_warps, ANY, 14},      {&lanes_warps, SUBSET, 4},
    {&lanes_warps, SUBSET, 15},    {&lanes_warps, APART, 0},     {&lanes_warps, APART, 12},
    {&lanes_warps, ALONE, 0},      {&lanes_warps, ITEMS, 0},     {&lanes_warps32, ANY, 8},
    {&lanes_warps32, LOCKSTEP, 0}, {&lanes_warps32, APART, 0},   {&lanes_subgroups, LOCKSTEP, 0},
    {&lanes_subgroups, MERGED, 0}, {&lanes_subgroups, ALONE, 0},
};

static int run_case(const test_case *c) {
    outcome scalar, o;
    run(c, &lanes_scalar, ITEMS, 0, &scalar);
    const char *path = lanes_scalar.name, *machine = machine_names[ITEMS];
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !m.failure[0]; i++) {
        path = ways[i].path->name;
        machine = machine_names[ways[i].machine];
        run(c, ways[i].path, ways[i].machine, ways[i].patience, &o);
        compare(c, &scalar, &o);
    }
    if (m.failure[0])
        printf(
            "FAULT: %s\n  (kernel %s, %s, %s; %u items in groups of %u, %u%% full, rotate %u, "
            "retries %u, seed %lu)\n",
            m.failure, c->kernel, path, machine, c->items, c->group_items, c->full, c->rotate,
            c->retries, (ulong)c->seed);
    if (m.failure[0]) print_trace();
    return !m.failure[0];
}

/* One kernel on heaps and work-groups of several sizes. */
static int run_kernel(uint32_t kernel, uint32_t seeds, uint64_t only) {
    static const uint32_t sizes[][2] = {{32, 32}, {64, 64}, {128, 64}, {128, 128}, {48, 48}};
    static const uint32_t fulls[] = {50, 80, 95, 99, 100};
    for (uint32_t i = 0; i < 25 * seeds; i++) {
        const uint32_t *size = sizes[i % 5];
        uint64_t seed = (uint64_t)kernel << 32 | i;
        test_case c = {.kernel = lanes_scalar.kernels[kernel].name,
                       .items = size[0],
                       .group_items = size[1],
                       .full = fulls[i / 5 % 5],
                       .rotate = i % 8 != 0,
                       .retries = i % 3 ? 8 : 1,
                       .seed = seed};
        if ((only == ALL_SEEDS || only == seed) && !run_case(&c)) return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    if (!routine_supported()) return 77;
    uint32_t seeds = argc > 1                ? (uint32_t)strtoul(argv[1], NULL, 10)
                     : getenv("CLUMP_SHORT") ? 1
                                             : 3;
    uint64_t only = argc > 3 ? strtoul(argv[3], NULL, 10) : ALL_SEEDS;
    for (uint32_t k = 0; k < lanes_scalar.kernel_count; k++)
        if ((argc < 3 || strcmp(lanes_scalar.kernels[k].name, argv[2]) == 0) &&
            !run_kernel(k, seeds, only))
            return 1;
    printf(
        "%lu runs, in %lu something was taken back; in %lu comparisons there was room for all "
        "objects, in %lu not\n"
        "%lu operations, %lu of them on lanes; lanes together, on average:",
        (ulong)m.runs, (ulong)m.thieves, (ulong)compared, (ulong)exhausted, (ulong)m.operations,
        (ulong)m.lane_operations);
    for (int i = 0; i < MACHINES; i++)
        printf(" %s %.1f", machine_names[i], (double)m.met[i] / (double)max(1, m.meetings[i]));
    printf("\n");
    return 0;
}
