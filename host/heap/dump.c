/* A heap as JSON. docs/guide/seeing-the-heap.md documents the format.
 *
 * Invariant: all numbers of a dump but those of live objects by place come from one reading of the
 * states of the blocks, so they agree with each other, whatever stands in a damaged heap.
 *
 * Read first: include/clump/heap.h, heap.h, cl/core/layout.h (states).
 */
#include "heap/heap.h"

/* Blocks by fill: the first has those up to a tenth full, the last those fuller than nine
 * tenths. */
#define BINS 10u

typedef struct tally {
    uint64_t used; /* slots */
    uint32_t blocks, active;
    uint32_t bins[BINS];
} tally;

typedef struct dump {
    clump_heap *heap;
    clumpi_text text;
    clumpi_u32 *states;              /* of the usable blocks */
    tally tallies[CLUMPI_CLASS_IDS]; /* by class; 0: free blocks */
    uint32_t damaged;                /* blocks */
    clump_live *live;                /* of a checked heap */
    uint64_t live_count;
} dump;

static uint32_t used_of(clumpi_u32 state) {
    return state & CLUMPI_CREDIT_MASK;
}

/* The class that a state names, 0: free; CLUMPI_RESERVED: the state is no possible one. */
static uint32_t class_of(const clumpi_geometry *g, clumpi_u32 state) {
    uint32_t id = state >> CLUMPI_CLASS_SHIFT;
    if (id > g->header.class_count) return CLUMPI_RESERVED;
    return used_of(state) > (id ? g->classes[id].capacity : 0) ? CLUMPI_RESERVED : id;
}

/* ---- Gathering ------------------------------------------------------------------------------- */

static clump_status read_states(dump *d) {
    clump_heap *heap = d->heap;
    const clumpi_header *h = &heap->geometry.header;
    uint32_t blocks = heap->info.block_count;
    d->states = clumpi_alloc(&heap->context->allocator, blocks * sizeof *d->states);
    if (!d->states)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for a dump of %u blocks", blocks);
    clump_status status = clumpi_unreserve(heap, NULL);
    if (status) return status;
    return clumpi_read(
        heap->context, heap->info.buffer,
        (uint64_t)h->at_states * CLUMPI_UNIT + h->first_block * (uint64_t)sizeof *d->states,
        blocks * (uint64_t)sizeof *d->states, d->states);
}

static void count(dump *d) {
    const clumpi_geometry *g = &d->heap->geometry;
    for (uint32_t b = 0; b < d->heap->info.block_count; b++) {
        uint32_t id = class_of(g, d->states[b]), used = used_of(d->states[b]);
        tally *t = &d->tallies[id];
        if (id == CLUMPI_RESERVED) {
            d->damaged++;
            continue;
        }
        t->blocks++;
        if (!id) continue;
        t->used += used;
        t->active += used < g->classes[id].capacity;
        t->bins[used ? (used * BINS - 1) / g->classes[id].capacity : 0]++;
    }
}

static clump_status read_live(dump *d) {
    clump_heap *heap = d->heap;
    clump_status status = clump_heap_read_live(heap, NULL, 0, &d->live_count);
    if (status || !d->live_count) return status;
    d->live = clumpi_alloc(&heap->context->allocator, d->live_count * sizeof *d->live);
    if (!d->live)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for a dump of live objects at %llu places",
                           (unsigned long long)d->live_count);
    return clump_heap_read_live(heap, d->live, d->live_count, &d->live_count);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void append_number(dump *d, const char *name, uint64_t value) {
    clumpi_text_append(&d->text, "\"%s\": %llu, ", name, (unsigned long long)value);
}

static void append_fragmentation(dump *d, uint64_t used, uint64_t slots) {
    clumpi_text_append(&d->text, "\"fragmentation\": ");
    clumpi_text_append_share(&d->text, slots ? 1.0 - (double)used / (double)slots : 0.0);
}

static void append_class(dump *d, uint32_t id, const char *separator) {
    const clumpi_class *c = &d->heap->geometry.classes[id];
    const tally *t = &d->tallies[id];
    uint64_t slots = (uint64_t)t->blocks * c->capacity;
    clump_class_info info = {.object_bytes = c->slot_bytes};
    int is_raw = id > clumpi_object_classes(d->heap);
    if (!is_raw) info = *clump_schema_get_info(d->heap->schema)->classes[id];
    clumpi_text_append(&d->text, "%s    {\"id\": %u, \"name\": ", separator, id);
    clumpi_text_append_json(&d->text, c->is_runs ? "(raw runs)" : clumpi_class_name(d->heap, id));
    clumpi_text_append(&d->text, ", \"raw\": %s, ", is_raw ? "true" : "false");
    append_number(d, "object_bytes", info.object_bytes);
    append_number(d, "capacity", c->capacity);
    append_number(d, "objects", t->used);
    append_number(d, "slots", slots);
    append_number(d, "blocks", t->blocks);
    append_number(d, "active_blocks", t->active);
    append_fragmentation(d, t->used, slots);
    for (uint32_t i = 0; i < BINS; i++)
        clumpi_text_append(&d->text, i ? ", %u" : ", \"fill\": [%u", t->bins[i]);
    clumpi_text_append(&d->text, "]}");
}

static void append_head(dump *d) {
    const clump_heap *heap = d->heap;
    const clump_heap_info *l = &heap->info;
    uint64_t objects = 0, slots = 0, raw_blocks = 0, raw_bytes = 0;
    for (uint32_t id = 1; id <= heap->geometry.header.class_count; id++) {
        const tally *t = &d->tallies[id];
        const clumpi_class *c = &heap->geometry.classes[id];
        int is_raw = id > clumpi_object_classes(heap);
        objects += is_raw ? 0 : t->used;
        slots += is_raw ? 0 : (uint64_t)t->blocks * c->capacity;
        raw_blocks += is_raw ? t->blocks : 0;
        raw_bytes += is_raw ? t->used * c->slot_bytes : 0;
    }
    clumpi_text_append(&d->text, "{\n  \"format\": \"clump heap 1\",\n  ");
    append_number(d, "bytes", l->bytes);
    append_number(d, "metadata_bytes", l->metadata_bytes);
    append_number(d, "granule_bytes", l->granule_bytes);
    append_number(d, "block_granules", l->block_granules);
    append_number(d, "first_block", l->first_block);
    clumpi_text_append(&d->text, "\n  ");
    append_number(d, "blocks", l->block_count);
    append_number(d, "free_blocks", d->tallies[0].blocks);
    append_number(d, "damaged_blocks", d->damaged);
    append_number(d, "raw_blocks", raw_blocks);
    append_number(d, "raw_bytes", raw_bytes);
    append_number(d, "objects", objects);
    append_number(d, "slots", slots);
    append_fragmentation(d, objects, slots);
}

static void append_classes(dump *d) {
    const char *separator = "\n";
    clumpi_text_append(&d->text, ",\n  \"classes\": [");
    for (uint32_t id = 1; id <= d->heap->geometry.header.class_count; id++) {
        if (id > clumpi_object_classes(d->heap) && !d->tallies[id].blocks) continue;
        append_class(d, id, separator);
        separator = ",\n";
    }
    clumpi_text_append(&d->text, "\n  ]");
}

static void append_live(dump *d) {
    for (uint64_t i = 0; i < d->live_count; i++) {
        const clump_live *l = &d->live[i];
        clumpi_text_append(&d->text,
                           i ? ",\n    {\"class\": " : ",\n  \"live\": [\n    {\"class\": ");
        clumpi_text_append_json(&d->text, l->class_name);
        clumpi_text_append(&d->text, ", \"kernel\": ");
        clumpi_text_append_json(&d->text, l->place.kernel);
        clumpi_text_append(&d->text, ", \"program\": ");
        clumpi_text_append_json(&d->text, l->place.program);
        clumpi_text_append(&d->text, ", \"line\": %u, \"objects\": %llu}", l->place.line,
                           (unsigned long long)l->objects);
    }
    if (d->live_count) clumpi_text_append(&d->text, "\n  ]");
}

/* Two arrays, which take less than pairs. */
static void append_blocks(dump *d) {
    const clumpi_geometry *g = &d->heap->geometry;
    uint32_t blocks = d->heap->info.block_count;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t id = class_of(g, d->states[b]);
        clumpi_text_append(&d->text, b ? "," : ",\n  \"block_class\": [");
        if (id == CLUMPI_RESERVED)
            clumpi_text_append_bytes(&d->text, "null", 4);
        else
            clumpi_text_append(&d->text, "%u", id);
    }
    for (uint32_t b = 0; b < blocks; b++)
        clumpi_text_append(
            &d->text, b ? ",%u" : "],\n  \"block_used\": [%u",
            class_of(g, d->states[b]) == CLUMPI_RESERVED ? 0 : used_of(d->states[b]));
    clumpi_text_append(&d->text, "]\n}\n");
}

clump_status clump_heap_dump(clump_heap *heap, clump_write_fn write, void *user) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    if (!write)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_dump needs a function that receives the text");
    dump *d = clumpi_alloc(&c->allocator, sizeof *d);
    if (!d) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a dump");
    d->heap = heap;
    d->text.allocator = &c->allocator;
    clump_status status = clumpi_heap_enter(heap);
    if (!status && heap->checks) status = read_live(d);
    if (!status) status = read_states(d);
    if (!status) {
        count(d);
        append_head(d);
        append_classes(d);
        append_live(d);
        append_blocks(d);
    }
    status = clumpi_text_write(&d->text, status, "clump_heap_dump", write, user, &c->error);
    clumpi_free(&c->allocator, d->live);
    clumpi_free(&c->allocator, d->states);
    clumpi_free(&c->allocator, d);
    return status;
}
