/* The geometry of a heap: granule, block, capacity of each class, places of the metadata.
 *
 * Granule S. A row of class T takes 64 * size(T) bytes, rounded up to k_T granules, and every
 * granule has 8 bytes of bitmap (in a checked heap more). S is the multiple of 64 bytes that makes
 * both together cost least, for the class that loses most by rounding; and at least bytes / 2^26,
 * so that 26 bits can number all granules.
 *
 * Block G. A block has G granules and holds floor(G / k_T) rows of T, at most 64. G grows from what
 * the wished number of rows of the smallest class needs until the tail that no row fits in is at
 * most 3% for every class, or as small as any G up to twice that size makes it.
 *
 * Invariants: header.first_block * G * S >= metadata; k_T >= 1; 1 <= rows_T <= 64 for concrete T.
 *
 * Read first: cl/core/layout.h, cl/heap/layout.h; for raw memory raw.c. The scratch of compaction
 * lies in the heap's buffer too, so that its layout is known here: cl/compact/layout.h.
 */
#include <stdio.h>
#include <string.h>

#include "cl/compact/layout.h"
#include "heap/heap.h"

#define REF_GRANULES (1ull << 26)

_Static_assert(sizeof(clumpi_header) % 128 == 0, "the class table begins where the header ends");

/* Row sizes of the concrete classes and of raw memory, in 64-byte units: size(T) bytes * 64 slots /
 * 64. There is room for all classes of a schema and for all sizes, of which there are four for each
 * doubling: fill_classes() refuses what is too much for a heap. */
typedef struct row_sizes {
    uint32_t count;
    uint32_t units[CLUMPI_CLASS_IDS + 4 * 32];
    uint32_t smallest, largest;
    int align_128; /* some field has elements of 128 bytes, so granules must be multiples of 128 */
    /* bytes of metadata for each granule: the bitmap; in a checked heap the last frees, too */
    uint32_t beside;
} row_sizes;

#define LAST_FREE_BYTES (UINT64_C(2) * CLUMP_ROW_SLOTS * sizeof(clumpi_u32))

/* A forwarding reference must fit where an object was. */
static uint32_t slot_bytes(const clump_class_info *info) {
    return info->object_bytes < sizeof(clump_ref) ? sizeof(clump_ref) : info->object_bytes;
}

static void find_row_sizes(const clump_schema *schema, row_sizes *rows) {
    memset(rows, 0, sizeof *rows);
    rows->smallest = UINT32_MAX;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        clump_class_info info = *clump_schema_get_info(schema)->classes[id];
        for (uint32_t f = 0; f < info.field_count; f++) {
            const clump_field_info *field = clump_schema_get_info(schema)->classes[id]->fields[f];
            if (field->element_bytes > 64) rows->align_128 = 1;
        }
        if (info.is_abstract) continue;
        uint32_t units = slot_bytes(&info);
        rows->units[rows->count++] = units;
        if (units < rows->smallest) rows->smallest = units;
        if (units > rows->largest) rows->largest = units;
    }
}

/* Sizes of raw memory, beside the classes. They do not make blocks larger than these want them. */
static void add_raw_sizes(row_sizes *rows, uint64_t bytes, uint32_t block_rows) {
    if (rows->smallest > CLUMPI_RAW_UNIT) rows->smallest = CLUMPI_RAW_UNIT;
    uint64_t block_bytes =
        block_rows ? (uint64_t)block_rows * rows->smallest * CLUMPI_UNIT : bytes / 1024;
    uint32_t units = clumpi_raw_units_wanted(block_bytes, rows->smallest);
    for (uint32_t i = 0; i < clumpi_raw_class_count(units); i++)
        rows->units[rows->count++] = clumpi_raw_slot_units(i) * CLUMPI_RAW_UNIT;
    if (units * CLUMPI_RAW_UNIT > rows->largest) rows->largest = units * CLUMPI_RAW_UNIT;
}

static uint32_t divide_up(uint64_t a, uint32_t b) {
    return (uint32_t)((a + b - 1) / b);
}

/* Worst share, in 1/10000, that rounding rows to granules of `s` units wastes for any class, and
 * the share of what there is beside them. */
static uint32_t granule_cost(const row_sizes *rows, uint32_t s) {
    uint32_t worst = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t taken = (uint64_t)divide_up(rows->units[i], s) * s;
        uint32_t waste = (uint32_t)((taken - rows->units[i]) * 10000 / taken);
        if (waste > worst) worst = waste;
    }
    return worst + rows->beside * 10000 / (s * CLUMPI_UNIT);
}

static uint32_t choose_granule(const row_sizes *rows, uint64_t bytes) {
    uint32_t step = rows->align_128 ? 2 : 1;
    uint64_t least = (bytes + REF_GRANULES * CLUMPI_UNIT - 1) / (REF_GRANULES * CLUMPI_UNIT);
    uint32_t from = (uint32_t)((least + step - 1) / step * step);
    if (from < step) from = step;
    uint32_t to = rows->largest > from ? rows->largest : from;
    /* What is beside a granule must be less than it, or nothing is left for objects: most is, at
     * twice as much. */
    uint32_t enough = divide_up(UINT64_C(2) * rows->beside, CLUMPI_UNIT * step) * step;
    if (to < enough) to = enough;
    uint32_t best = from, best_cost = UINT32_MAX;
    for (uint64_t s = from; s <= to; s += step) {
        uint32_t cost = granule_cost(rows, (uint32_t)s);
        if (cost <= best_cost) {
            best = (uint32_t)s;
            best_cost = cost;
        }
    }
    return best;
}

/* Worst share, in 1/1000, of a block of g granules that no row of some class can use. */
static uint32_t tail_waste(const row_sizes *rows, uint32_t s, uint32_t g) {
    uint32_t worst = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t k = divide_up(rows->units[i], s), n = g / k;
        if (n > CLUMPI_ROWS_MAX) n = CLUMPI_ROWS_MAX;
        uint32_t waste = (uint32_t)((uint64_t)(g - n * k) * 1000 / g);
        if (waste > worst) worst = waste;
    }
    return worst;
}

/* Rows of the smallest class that a block should have, when the user left it open: about a thousand
 * blocks in a heap, so that small heaps stay flexible and large ones open blocks rarely. */
static uint32_t default_rows(const row_sizes *rows, uint64_t bytes) {
    uint64_t row_bytes = (uint64_t)rows->smallest * CLUMPI_UNIT;
    uint64_t wanted = bytes / 1024 / row_bytes;
    return wanted < 1 ? 1 : wanted > CLUMPI_ROWS_MAX ? CLUMPI_ROWS_MAX : (uint32_t)wanted;
}

static uint32_t choose_block(const row_sizes *rows, uint32_t s, uint32_t wanted_rows) {
    uint32_t k_small = divide_up(rows->smallest, s), k_large = divide_up(rows->largest, s);
    uint32_t from = wanted_rows * k_small;
    if (from < k_large) from = k_large;
    /* Beyond 64 rows of the smallest class the rest of a block would be lost to it. */
    uint32_t to = from * 2, best = from, best_waste = UINT32_MAX;
    for (uint32_t g = from; g <= to && best_waste > 30; g++) {
        uint32_t waste = tail_waste(rows, s, g);
        if (waste < best_waste) {
            best = g;
            best_waste = waste;
        }
    }
    return best;
}

/* The reciprocal of g = block_granules, or the granules of a segment, for numbers of 26 bits: with
 * s = floor(log2(g)), one less for powers of two, m = floor(2^(32+s) / g) + 1 fits in 32 bits, and
 *     its error, at most g, does not show
 * below 2^31. */
static void find_reciprocal(uint32_t g, clumpi_u32 *reciprocal, clumpi_u32 *shift) {
    uint32_t s = 0;
    while (UINT64_C(2) << s < g) s++;
    *shift = g == 1 ? UINT32_MAX : s;
    *reciprocal = g == 1 ? 0 : (uint32_t)((UINT64_C(1) << (32 + s)) / g + 1);
}

/* After the null row, which has a row's place for each class: a null reference can be of an
 * abstract one, too. */
uint32_t clumpi_header_at(const clump_schema *schema) {
    uint32_t largest = 0;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        clump_class_info info = *clump_schema_get_info(schema)->classes[id];
        if (slot_bytes(&info) > largest) largest = slot_bytes(&info);
    }
    return (largest + 1) / 2 * 2; /* 128-byte lines */
}

/* The rows of a class with slots of so many bytes. */
static void fill_rows(clumpi_geometry *g, clumpi_class *c, uint32_t bytes) {
    c->row_granules = divide_up((uint64_t)bytes * CLUMPI_ROW_SLOTS, g->header.granule_bytes);
    c->rows = g->header.block_granules / c->row_granules;
    if (c->rows > CLUMPI_ROWS_MAX) c->rows = CLUMPI_ROWS_MAX;
    c->capacity = c->rows * CLUMP_ROW_SLOTS;
    if (c->rows > g->header.block_rows_max) g->header.block_rows_max = c->rows;
}

/* The two classes of runs (cl/core/runs.clh): of rows, then of blocks. */
#define RAW_RUN_CLASSES 2
static void fill_runs(clumpi_geometry *g) {
    clumpi_header *h = &g->header;
    uint64_t block_bytes = (uint64_t)h->granule_bytes * h->block_granules;
    clumpi_class *rows = &g->classes[++h->class_count], *blocks = &g->classes[++h->class_count];
    rows->last = h->class_count - 1;
    blocks->last = h->class_count;
    rows->is_runs = blocks->is_runs = 1;
    rows->slot_bytes = h->raw_units * CLUMPI_RAW_UNIT / 4;
    fill_rows(g, rows, rows->slot_bytes);
    h->mark_rows = rows->rows;
    blocks->slot_bytes =
        (uint32_t)(block_bytes / CLUMPI_ROW_SLOTS / CLUMPI_RAW_UNIT) * CLUMPI_RAW_UNIT;
    blocks->row_granules = h->block_granules;
    blocks->rows = 1;
    blocks->capacity = CLUMP_ROW_SLOTS;
}

/* The classes of the schema; then, if it is wanted, those of raw memory. Returns 0: they are too
 * many. */
static int fill_classes(const clump_schema *schema, int has_raw, clumpi_geometry *g) {
    clumpi_header *h = &g->header;
    h->class_count = clump_schema_get_info(schema)->class_count;
    for (uint32_t id = 1; id <= h->class_count; id++) {
        clump_class_info info = *clump_schema_get_info(schema)->classes[id];
        g->classes[id].last = info.last;
        if (clumpi_schema_can_become(schema, id)) {
            g->classes[id].became_base =
                CLUMP_ROW_SLOTS * clumpi_schema_class(schema, id)->became_at;
            g->classes[id].became_stride = sizeof(clump_ref);
        }
        if (!info.is_abstract) fill_rows(g, &g->classes[id], slot_bytes(&info));
    }
    h->first_raw = h->class_count + 1;
    if (g->frames) h->class_count++;
    if (h->class_count >= CLUMPI_RESERVED) return 0;
    if (g->frames) {
        clumpi_class *c = &g->classes[h->class_count];
        c->last = h->class_count;
        c->is_away = c->rows = 1;
        c->row_granules = h->block_granules;
        c->capacity = CLUMP_ROW_SLOTS;
    }
    if (has_raw) {
        uint64_t block_bytes = (uint64_t)h->granule_bytes * h->block_granules;
        h->raw_units = clumpi_raw_units_of(block_bytes);
        uint32_t count = clumpi_raw_class_count(h->raw_units);
        if (h->class_count + count + RAW_RUN_CLASSES >= CLUMPI_RESERVED) return 0;
        for (uint32_t i = 0; i < count; i++) {
            clumpi_class *c = &g->classes[++h->class_count];
            c->last = h->class_count;
            c->slot_bytes = clumpi_raw_slot_units(i) * CLUMPI_RAW_UNIT;
            fill_rows(g, c, c->slot_bytes);
        }
        fill_runs(g);
        h->raw_most = (uint32_t)(g->bytes / 4 / CLUMPI_RAW_UNIT);
    }
    h->capacity_max = h->block_rows_max * CLUMP_ROW_SLOTS;
    return 1;
}

/* Lay `bytes` at the end of what is placed so far; returns where, in units, on a 128-byte line. */
static uint32_t place(uint64_t *end_units, uint64_t bytes) {
    uint64_t at = (*end_units + 1) / 2 * 2;
    *end_units = at + (bytes + CLUMPI_UNIT - 1) / CLUMPI_UNIT;
    return (uint32_t)at;
}

static uint64_t max64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* From header.at_scan on, in turn: calls of the heap (cl/heap/layout.h) and compaction's plans.
 * `end` grows to the end of what takes most. */
static void place_scratch(clumpi_header *h, uint32_t reduce_groups, uint64_t *end) {
    h->reduce_groups = reduce_groups;
    const uint64_t sets = h->class_count + 1;
    const uint64_t of_calls[] = {
        h->scan_groups * (sets * sizeof(clumpi_list_tally) + sizeof(clumpi_list_chunk)),
        h->scan_groups * sizeof(clumpi_new_supply),    /* do-new; a ranking needs less */
        CLUMPI_STRIPES * sizeof(clumpi_taking),        /* taking */
        (uint64_t)reduce_groups * CLUMPI_REDUCE_BYTES, /* reduction */
        CLUMPI_STATS_BYTES(h->class_count),
        CLUMPI_CHECK_BYTES(h->class_count),
        sizeof(clumpi_repair),
    };
    const uint64_t begin = *end;
    h->at_scan = h->at_plans = place(end, sets * sizeof(clumpi_class_plan));
    uint64_t planned = *end, tallied = *end;
    h->at_plan_counts = place(&planned, h->scan_groups * sets * sizeof(clumpi_block_counts));
    h->at_plan_histograms = place(&planned, sets * (h->capacity_max + 1) * sizeof(clumpi_u32));
    h->at_tallies =
        place(&tallied, (uint64_t)reduce_groups * CLUMPI_TALLIES * sizeof(clumpi_tally));
    *end = max64(planned, tallied);
    for (size_t i = 0; i < sizeof of_calls / sizeof *of_calls; i++) {
        uint64_t one = begin;
        place(&one, of_calls[i]);
        *end = max64(*end, one);
    }
}

/* Stripes for each class: not more than one for each four blocks, nor in sum more than a 256th of
 * the heap. */
static uint32_t stripes_of(const clumpi_header *h, uint32_t blocks) {
    uint64_t bytes = (uint64_t)blocks * h->block_granules * h->granule_bytes;
    uint64_t stripes = CLUMPI_STRIPES;
    while (stripes > 1 && (stripes > blocks / 4 ||
                           stripes * (h->class_count + 1) * sizeof(clumpi_stripe) > bytes / 256))
        stripes /= 2;
    return (uint32_t)stripes;
}

/* Where the reservations are, and what each class's says of it. */
static void place_reservations(clumpi_geometry *g, uint32_t blocks, uint64_t *end) {
    clumpi_header *h = &g->header;
    h->stripes = stripes_of(h, blocks);
    h->slots_rows = blocks * h->block_rows_max;
    h->slots_holes =
        h->slots_rows / 4 * (CLUMP_ROW_SLOTS / CLUMPI_HOLES); /* a quarter of all slots, at most */
    h->at_stripes = place(end, ((uint64_t)h->class_count + 1) * h->stripes * sizeof(clumpi_stripe));
    h->at_slots = place(end, ((uint64_t)h->slots_rows + h->slots_holes) * sizeof(clumpi_u32));
    h->at_striped = place(end, (uint64_t)blocks * sizeof(clumpi_striped));
    for (uint32_t c = 0; c <= h->class_count; c++) {
        clumpi_reservation *r = &g->classes[c].reserved;
        r->at_stripes =
            h->at_stripes + c * h->stripes * (uint32_t)(sizeof(clumpi_stripe) / CLUMPI_UNIT);
        r->at_slots = h->at_slots;
        r->at_rows = h->at_list_rows;
        r->at_masks = h->at_list_masks;
        r->stripes = h->stripes;
    }
}

/* The generation takes the bits above a plain reference, 16 at most. Of less than 2 nobody has
 * anything. */
static void find_generations(clumpi_geometry *g, uint32_t blocks) {
    clumpi_checks *c = &g->checked;
    uint64_t slots = (uint64_t)blocks * g->header.block_granules * CLUMP_ROW_SLOTS;
    uint32_t bits = 16;
    while (slots > UINT64_C(1) << bits) bits++;
    c->ref_mask = UINT32_MAX;
    c->ref_shift = c->generations = c->at_generations = 0;
    if (!g->has_generations || bits > 30) return;
    c->ref_shift = bits;
    c->ref_mask = (UINT32_C(1) << bits) - 1;
    c->generations = UINT32_MAX >> bits;
}

/* A clumpi_checks, and what it leads to: the ring, a word pair for each slot and for each cell of
 * raw memory, the gaps. */
static void place_checked(clumpi_geometry *g, uint32_t blocks, uint64_t *end) {
    clumpi_header *h = &g->header;
    h->at_checked = place(end, sizeof(clumpi_checks));
    g->checked.at_events = place(end, (uint64_t)g->checked.events * sizeof(clumpi_event));
    g->checked.at_freed = place(end, (uint64_t)blocks * h->block_granules * LAST_FREE_BYTES);
    find_generations(g, blocks);
    if (g->checked.generations)
        g->checked.at_generations =
            place(end, (uint64_t)blocks * h->block_granules * CLUMP_ROW_SLOTS * sizeof(uint16_t));
    if (h->raw_units)
        g->checked.at_pieces = place(end, (uint64_t)blocks * h->block_granules * h->granule_bytes /
                                              CLUMPI_PIECE_CELL * 2 * sizeof(clumpi_u32));
    g->checked.at_gaps =
        place(end, (uint64_t)g->checked.gaps[h->class_count + 1] * sizeof(clumpi_gap));
}

/* Blocks of a segment, at least 1: clumpi_geometry_compute() refuses a buffer that has not even
 * room for that. */
static uint32_t segment_blocks(const clumpi_header *h, uint64_t bytes) {
    uint64_t blocks = bytes / ((uint64_t)h->granule_bytes * h->block_granules);
    uint64_t most = REF_GRANULES / h->block_granules;
    return (uint32_t)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* Metadata for `blocks` blocks in all; returns its size in bytes. */
static uint64_t place_metadata(clumpi_geometry *g, uint32_t blocks, uint32_t columns,
                               uint32_t reduce_groups, clumpi_extras extras) {
    clumpi_header *h = &g->header;
    uint64_t end = h->self_at + sizeof(clumpi_header) / CLUMPI_UNIT; /* the class table follows */
    uint32_t words = blocks, total = 0, level = 0;
    do {
        words = divide_up(words, 32);
        h->hint_level[level] = total;
        h->hint_count[level++] = words;
        total += words;
    } while (words > 1);
    h->hint_levels = level;
    h->hint_words = (total + 31) / 32 * 32;
    uint64_t rows = (uint64_t)blocks * h->block_rows_max, sets = h->class_count + 1;
    h->at_classes = place(&end, sets * sizeof(clumpi_class));
    if (extras.segment_bytes || g->frames) {
        g->segment_blocks = g->frames ? 1 : segment_blocks(h, extras.segment_bytes);
        uint32_t count = divide_up(blocks, g->segment_blocks);
        h->at_segments = place(&end, count * sizeof(clumpi_u64));
    }
    h->at_states = place(&end, (uint64_t)blocks * 4);
    h->at_bits = place(&end, (uint64_t)blocks * h->block_granules * 8);
    h->at_hints = place(&end, sets * h->hint_words * 4);
    h->at_list_begin = place(&end, (sets + 2) * 4);
    h->at_list_full = place(&end, sets * 4);
    h->at_list_reserved = place(&end, (sets + 2) * 4);
    h->at_list_rows = place(&end, rows * 4);
    h->at_list_masks = place(&end, rows * 8);
    h->at_list_index = place(&end, rows * 4);
    place_reservations(g, blocks, &end);
    h->at_columns = place(&end, (uint64_t)columns * sizeof(clumpi_column));
    h->at_block_plans = place(&end, (uint64_t)blocks * sizeof(clumpi_block_plan));
    h->at_plan_list = place(&end, (uint64_t)blocks * sizeof(clumpi_u32));
    h->at_moved = place(&end, ((uint64_t)blocks + 31) / 32 * 4);
    if (h->mark_rows)
        h->at_marks = place(&end, (uint64_t)blocks * h->mark_rows * 16 + clumpi_run_notes_bytes(h));
    if (extras.watched) h->at_watch = place(&end, (uint64_t)blocks * h->block_granules * 8);
    if (g->checked.events) place_checked(g, blocks, &end);
    h->at_chunks = h->at_list_rows;
    place_scratch(h, reduce_groups, &end);
    return end * CLUMPI_UNIT;
}

/* What to tell a user whose heap is too small. */
static clump_status too_small(const clump_schema *schema, const clumpi_geometry *g, uint64_t needed,
                              clump_error *error) {
    clump_class_info largest = {.name = "", .object_bytes = 0}, info;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        info = *clump_schema_get_info(schema)->classes[id];
        if (!info.is_abstract && info.object_bytes > largest.object_bytes) largest = info;
    }
    int is_raw = g->header.raw_units * CLUMPI_RAW_UNIT > largest.object_bytes;
    uint64_t row = is_raw ? g->header.raw_units * CLUMPI_RAW_UNIT : largest.object_bytes;
    return clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY,
                       "a heap of %llu bytes is too small: metadata and one block of %llu bytes "
                       "(for 64 %s%s, %llu bytes) need %llu bytes",
                       (unsigned long long)g->bytes,
                       (unsigned long long)g->header.granule_bytes * g->header.block_granules,
                       is_raw ? "requests for raw memory" : "objects of class ",
                       is_raw ? "" : largest.name, (unsigned long long)row * 64,
                       (unsigned long long)needed);
}

clump_status clumpi_geometry_compute(const clump_schema *schema, uint64_t bytes,
                                     uint32_t block_rows, uint32_t scan_groups,
                                     uint32_t reduce_groups, clumpi_extras extras,
                                     clumpi_geometry *g, clump_error *error) {
    row_sizes rows;
    const uint64_t resident = bytes;
    find_row_sizes(schema, &rows);
    memset(g, 0, sizeof *g);
    bytes += extras.evictable_bytes;
    g->frames = extras.evictable_bytes != 0; /* how many follows */
    g->bytes = bytes;
    clumpi_header *h = &g->header;
    if (extras.raw && bytes > CLUMPI_RAW_BYTES_MAX)
        return clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY,
                           "a heap of %llu bytes with raw memory is too large: its handles have 32 "
                           "bits and count units of %u bytes, so at most %llu bytes are possible",
                           (unsigned long long)bytes, CLUMPI_RAW_UNIT,
                           (unsigned long long)CLUMPI_RAW_BYTES_MAX);
    if (extras.raw) add_raw_sizes(&rows, bytes, block_rows);
    if (bytes > REF_GRANULES * rows.largest * CLUMPI_UNIT)
        return clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY,
                           "a heap of %llu bytes is too large for 32-bit references: with this "
                           "schema at most %llu bytes can be used",
                           (unsigned long long)bytes,
                           (unsigned long long)(REF_GRANULES * rows.largest * CLUMPI_UNIT));
    rows.beside = 8 + (extras.events ? (uint32_t)LAST_FREE_BYTES : 0) +
                  (extras.generations ? CLUMP_ROW_SLOTS * (uint32_t)sizeof(uint16_t) : 0);
    uint32_t s = choose_granule(&rows, bytes);
    uint32_t wanted = block_rows ? block_rows : default_rows(&rows, bytes);
    h->magic = CLUMPI_MAGIC;
    h->self_at = clumpi_header_at(schema);
    h->granule_bytes = s * CLUMPI_UNIT;
    h->block_granules = choose_block(&rows, s, wanted);
    find_reciprocal(h->block_granules, &h->block_reciprocal, &h->block_shift);
    h->scan_groups = scan_groups;
    h->epoch = 1; /* 0 is what `exhausted` starts with */
    if (!fill_classes(schema, extras.raw, g))
        return clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY,
                           "a heap with raw memory: its %u sizes and the %u classes of the schema "
                           "are more than %u, the most that a heap can have",
                           clumpi_raw_class_count(h->raw_units) + RAW_RUN_CLASSES, h->class_count,
                           CLUMPI_RESERVED - 1);
    uint32_t columns = clumpi_columns_build(schema, g, NULL);
    g->checked.events = extras.events;
    g->has_generations = extras.generations;
    if (extras.events) clumpi_gaps_build(schema, g, NULL);
    uint64_t block_bytes = (uint64_t)h->granule_bytes * h->block_granules;
    uint64_t blocks = bytes / block_bytes;
    uint64_t metadata =
        place_metadata(g, (uint32_t)(blocks ? blocks : 1), columns, reduce_groups, extras);
    uint64_t first = (metadata + block_bytes - 1) / block_bytes;
    if (first >= blocks) {
        /* The metadata grows with the blocks, so look for the number at which one is left. */
        for (int i = 0; i < 100 && first >= blocks; i++) {
            blocks = first + 1;
            metadata = place_metadata(g, (uint32_t)blocks, columns, reduce_groups, extras);
            first = (metadata + block_bytes - 1) / block_bytes;
        }
        return too_small(schema, g, blocks * block_bytes, error);
    }
    if (g->frames) g->frames = (uint32_t)(resident / block_bytes);
    if (extras.evictable_bytes && g->frames < first + 2)
        return clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY,
                           "a heap of %llu bytes with evictable_bytes %llu is too small: the "
                           "metadata need %llu, and two blocks of %llu are needed besides",
                           (unsigned long long)resident, (unsigned long long)extras.evictable_bytes,
                           (unsigned long long)(first * block_bytes),
                           (unsigned long long)block_bytes);
    if (g->segment_blocks && !g->frames &&
        (extras.segment_bytes < block_bytes || first >= g->segment_blocks)) {
        char checks[48] = "";
        if (extras.events) { /* without them it would have so much less */
            g->checked.events = 0;
            metadata -= place_metadata(g, (uint32_t)blocks, columns, reduce_groups, extras);
            snprintf(checks, sizeof checks, " (%llu of them for its checks)",
                     (unsigned long long)metadata);
        }
        return clumpi_fail(error, CLUMP_ERR_DEVICE_MEMORY,
                           "a heap of %llu bytes in buffers of at most %llu: the first buffer must "
                           "have room for the metadata, %llu bytes%s, and a block of %llu. Set "
                           "buffer_bytes to %llu or more, or to 0 for one buffer",
                           (unsigned long long)bytes, (unsigned long long)extras.segment_bytes,
                           (unsigned long long)(first * block_bytes), checks,
                           (unsigned long long)block_bytes,
                           (unsigned long long)((first + 1) * block_bytes));
    }
    if (g->segment_blocks)
        find_reciprocal(g->segment_blocks * h->block_granules, &h->segment_reciprocal,
                        &h->segment_shift);
    h->first_block = (uint32_t)first;
    h->block_end = (uint32_t)blocks;
    g->bytes = blocks * block_bytes;
    return CLUMP_OK;
}
