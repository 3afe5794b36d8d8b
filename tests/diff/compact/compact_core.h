/* Heaps written by the host, bit by bit, and what compaction must make of them.
 *
 * A *world* is a heap with its facts. A *snapshot* is a copy of its buffer, decoded on the host:
 * all live objects in the order of enumeration. world_fill() makes a snapshot of random blocks,
 * objects and references and writes it into the heap, hints and counters included, so that any fill
 * level of any block is at hand without a kernel, and the same heap can be written twice.
 *
 * same_graph() compares the snapshots of before and after: objects are known by a field `tag` that
 * no two share. Objects without one, for which tags would be too large, are known by the
 * references that lead to them, and those that nobody refers to by their number and values.
 *
 * Read first: cl/core/layout.h, include/clump/compact.h.
 */
#ifndef COMPACT_CORE_H
#define COMPACT_CORE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/heap.h"

#define WORLD_FIELDS_MAX 256

typedef struct world {
    cl_fixture *f;
    clump_heap *heap;
    const clump_schema *schema;
    const clumpi_header *h;
    const clumpi_class *k; /* by id */
    uint32_t class_count;
    clump_class_info classes[CLUMP_CLASSES_MAX + 1];
    uint32_t own[CLUMP_CLASSES_MAX + 2]; /* fields own[id] .. own[id + 1] - 1 */
    clump_field_info fields[WORLD_FIELDS_MAX];
    int tag[CLUMP_CLASSES_MAX + 1]; /* number of the field `tag`, or -1 */
    uint8_t *pristine;              /* the buffer of the empty heap */
    uint64_t bytes;
    uint64_t random;
    uint32_t epoch;
    char label[128]; /* what is being tried, for messages */
} world;

typedef struct snapshot {
    const world *w;
    uint8_t *image;
    uint32_t *first; /* per granule: number of the first object of the row */
    uint32_t count;
    clump_ref *refs; /* by class and address */
    uint8_t *class_id;
    uint32_t start[CLUMP_CLASSES_MAX + 2]; /* objects of class id: start[id] .. start[id + 1] - 1 */
} snapshot;

#define WORLD_FAIL(w, ...)                                                                         \
    do {                                                                                           \
        print_error("%s:\n    ", (w)->label);                                                      \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        fail();                                                                                    \
    } while (0)
#define WORLD_CHECK(w, condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition)) WORLD_FAIL(w, __VA_ARGS__);                                              \
    } while (0)

static uint32_t draw(world *w, uint32_t below) {
    return test_random(&w->random, below);
}

/* ---- Worlds ---------------------------------------------------------------------------------- */

static world *world_of(cl_fixture *f, clump_heap *heap, uint64_t seed) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = f;
    w->heap = heap;
    w->schema = clump_heap_get_schema(heap);
    w->h = &heap->geometry.header;
    w->k = heap->geometry.classes;
    w->class_count = clump_schema_get_class_count(w->schema);
    uint32_t fields = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        clump_schema_get_class(w->schema, id, &w->classes[id]);
        w->own[id] = fields;
        assert_true(fields + w->classes[id].field_count <= WORLD_FIELDS_MAX);
        w->tag[id] = w->classes[id].base ? w->tag[w->classes[id].base] : -1;
        for (uint32_t i = 0; i < w->classes[id].field_count; i++) {
            clump_schema_get_field(w->schema, id, i, &w->fields[fields]);
            if (strcmp(w->fields[fields].name, "tag") == 0) w->tag[id] = (int)fields;
            fields++;
        }
    }
    w->own[w->class_count + 1] = fields;
    w->bytes = clump_heap_get_layout(heap)->bytes;
    w->pristine = malloc(w->bytes);
    assert_non_null(w->pristine);
    cl_fixture_read(f, clump_heap_get_buffer(heap), w->pristine, w->bytes);
    w->random = seed;
    return w;
}

static world *world_open(cl_fixture *f, const char *schema, uint32_t blocks, uint32_t block_rows,
                         uint64_t seed) {
    return world_of(f, cl_fixture_heap_of_blocks(f, schema, blocks, block_rows), seed);
}

static void world_close(world *w) {
    clump_heap_destroy(w->heap);
    free(w->pristine);
    free(w);
}

static uint32_t elements(const clump_field_info *field) {
    return field->count ? field->count : 1;
}

static int is_a(const world *w, uint32_t class_id, uint32_t base) {
    return class_id >= base && class_id <= w->classes[base].last;
}

static uint32_t find_field(const world *w, const char *class_name, const char *name) {
    uint32_t id = cl_fixture_class_id(w->heap, class_name);
    for (; id; id = w->classes[id].base)
        for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++)
            if (strcmp(w->fields[i].name, name) == 0) return i;
    fail_msg("no field %s.%s", class_name, name);
    return 0;
}

/* ---- The parts of an image ------------------------------------------------------------------- */

static uint32_t *words_at(const world *w, uint8_t *image, uint32_t units) {
    return (uint32_t *)(image + (uint64_t)units * CLUMPI_UNIT);
}

static uint32_t *state_at(const world *w, uint8_t *image, uint32_t block) {
    return words_at(w, image, w->h->at_states) + block;
}

static uint64_t *bits_at(const world *w, uint8_t *image, uint32_t granule) {
    return (uint64_t *)(image + (uint64_t)w->h->at_bits * CLUMPI_UNIT) + granule;
}

static clumpi_class *class_at(const world *w, uint8_t *image, uint32_t id) {
    return (clumpi_class *)words_at(w, image, w->h->at_classes) + id;
}

static uint32_t block_class(const world *w, uint8_t *image, uint32_t block) {
    return *state_at(w, image, block) >> CLUMPI_CLASS_SHIFT;
}

static uint32_t block_credits(const world *w, uint8_t *image, uint32_t block) {
    return *state_at(w, image, block) & CLUMPI_CREDIT_MASK;
}

/* The block that a reference leads into; 0 if it is none that can hold objects. */
static uint32_t block_of(const world *w, clump_ref ref) {
    uint32_t block = (ref >> 6) / w->h->block_granules;
    return block >= w->h->first_block && block < w->h->block_end ? block : 0;
}

/* Class of the live object that a reference names, or 0. */
static uint32_t live_class(const snapshot *s, clump_ref ref) {
    const world *w = s->w;
    uint32_t block = block_of(w, ref), id = block ? block_class(w, s->image, block) : 0;
    if (!id) return 0;
    uint32_t at = (ref >> 6) - block * w->h->block_granules;
    if (at % w->k[id].row_granules || at / w->k[id].row_granules >= w->k[id].rows) return 0;
    return *bits_at(w, s->image, ref >> 6) >> (ref & 63) & 1 ? id : 0;
}

static uint8_t *value_at(const snapshot *s, clump_ref ref, const clump_field_info *field,
                         uint32_t element) {
    return s->image + (uint64_t)(ref >> 6) * s->w->h->granule_bytes + field->base_bytes +
           (ref & 63) * field->stride_bytes + element * field->step_bytes;
}

static uint32_t word_at(const snapshot *s, clump_ref ref, const clump_field_info *field,
                        uint32_t element) {
    uint32_t word;
    memcpy(&word, value_at(s, ref, field, element), sizeof word);
    return word;
}

static void put_word(const snapshot *s, clump_ref ref, const clump_field_info *field,
                     uint32_t element, uint32_t word) {
    memcpy(value_at(s, ref, field, element), &word, sizeof word);
}

/* Number of a live object. */
static uint32_t number_of(const snapshot *s, clump_ref ref) {
    uint64_t below = *bits_at(s->w, s->image, ref >> 6) & ((UINT64_C(1) << (ref & 63)) - 1);
    return s->first[ref >> 6] + (uint32_t)__builtin_popcountll(below);
}

static uint32_t tag_of(const snapshot *s, uint32_t number) {
    return word_at(s, s->refs[number], &s->w->fields[s->w->tag[s->class_id[number]]], 0);
}

/* The only loop over live objects: numbers them. */
static void decode(snapshot *s) {
    const world *w = s->w;
    uint32_t granules = w->h->block_end * w->h->block_granules, room = 0;
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++)
        room += block_credits(w, s->image, b);
    free(s->first);
    free(s->refs);
    free(s->class_id);
    s->first = calloc(granules, sizeof *s->first);
    s->refs = calloc(room + 1, sizeof *s->refs);
    s->class_id = malloc(room + 1);
    assert_true(s->first && s->refs && s->class_id);
    s->count = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        s->start[id] = s->count;
        for (uint32_t b = w->h->first_block; b < w->h->block_end; b++) {
            if (block_class(w, s->image, b) != id) continue;
            for (uint32_t row = 0; row < w->k[id].rows; row++) {
                uint32_t granule = b * w->h->block_granules + row * w->k[id].row_granules;
                uint64_t bits = *bits_at(w, s->image, granule);
                s->first[granule] = s->count;
                for (; bits; bits &= bits - 1) {
                    assert_true(s->count < room);
                    s->class_id[s->count] = (uint8_t)id;
                    s->refs[s->count++] = granule << 6 | (uint32_t)__builtin_ctzll(bits);
                }
            }
        }
    }
    s->start[w->class_count + 1] = s->count;
}

static snapshot *snapshot_new(const world *w, const uint8_t *image) {
    snapshot *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->w = w;
    s->image = malloc(w->bytes);
    assert_non_null(s->image);
    if (image) {
        memcpy(s->image, image, w->bytes);
    } else {
        cl_fixture_read(w->f, clump_heap_get_buffer(w->heap), s->image, w->bytes);
        decode(s);
    }
    return s;
}

/* What is in the heap now. */
static snapshot *snapshot_take(const world *w) {
    return snapshot_new(w, NULL);
}

static void snapshot_drop(snapshot *s) {
    if (!s) return;
    free(s->image);
    free(s->first);
    free(s->refs);
    free(s->class_id);
    free(s);
}

/* Write a snapshot into the heap. */
static void snapshot_put(world *w, snapshot *s) {
    clumpi_header *header = (clumpi_header *)words_at(w, s->image, w->h->self_at);
    header->epoch = ++w->epoch; /* nothing is known to be exhausted */
    cl_fixture_write(w->f, clump_heap_get_buffer(w->heap), s->image, w->bytes);
    clump_heap_touch(w->heap);
}

/* ---- Random heaps ---------------------------------------------------------------------------- */

typedef struct fill {
    uint32_t used;      /* percent of the blocks that are in use */
    uint32_t low, high; /* percent of their slots, drawn for each; one slot at least */
    uint32_t full;      /* percent of them that are full all the same */
    uint32_t dangling;  /* percent of references that are any bits; as many are null */
    const char *only;   /* the class of all, or NULL */
} fill;

static void put_hints(const world *w, uint8_t *image) {
    const clumpi_header *h = w->h;
    uint32_t *hints = words_at(w, image, h->at_hints);
    for (uint32_t set = 0; set <= w->class_count; set++) {
        uint32_t *words = hints + (uint64_t)set * h->hint_words;
        memset(words, 0, h->hint_words * sizeof *words);
        for (uint32_t b = h->first_block; b < h->block_end; b++) {
            uint32_t id = block_class(w, image, b);
            if (id == set && (!set || block_credits(w, image, b) < w->k[id].capacity))
                words[h->hint_level[0] + b / 32] |= 1u << b % 32;
        }
        for (uint32_t l = 1; l < h->hint_levels; l++)
            for (uint32_t i = 0; i < h->hint_count[l - 1]; i++)
                if (words[h->hint_level[l - 1] + i])
                    words[h->hint_level[l] + i / 32] |= 1u << i % 32;
    }
}

/* A block of a class with so many objects, its slots drawn. */
static void put_block(world *w, uint8_t *image, uint32_t block, uint32_t id, uint32_t credits) {
    const clumpi_class *k = &w->k[id];
    clumpi_class *counters = class_at(w, image, id);
    *state_at(w, image, block) = id << CLUMPI_CLASS_SHIFT | credits;
    counters->blocks++;
    counters->active += credits < k->capacity;
    uint32_t left = credits;
    for (uint32_t slot = 0; slot < k->capacity; slot++) {
        if (draw(w, k->capacity - slot) >= left) continue;
        left--;
        uint32_t granule = block * w->h->block_granules + slot / 64 * k->row_granules;
        *bits_at(w, image, granule) |= UINT64_C(1) << slot % 64;
    }
}

/* Take an object away, as a free would; hints are left as they were. */
static void put_free(const world *w, uint8_t *image, clump_ref ref) {
    uint32_t block = block_of(w, ref), id = block_class(w, image, block);
    uint32_t credits = block_credits(w, image, block);
    clumpi_class *counters = class_at(w, image, id);
    *bits_at(w, image, ref >> 6) &= ~(UINT64_C(1) << (ref & 63));
    counters->active += credits == w->k[id].capacity && credits > 1;
    counters->active -= credits == 1 && credits < w->k[id].capacity;
    counters->blocks -= credits == 1;
    *state_at(w, image, block) = credits == 1 ? 0 : id << CLUMPI_CLASS_SHIFT | (credits - 1);
}

static void put_noise(world *w, uint8_t *image) {
    uint64_t from = (uint64_t)w->h->first_block * w->h->block_granules * w->h->granule_bytes;
    uint64_t to = (uint64_t)w->h->block_end * w->h->block_granules * w->h->granule_bytes;
    for (uint64_t x = w->random | 1; from < to; from += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(image + from, &x, 8);
    }
}

/* A reference that names an object of a class, or null if there is none. */
static clump_ref random_live(world *w, const snapshot *s, uint32_t class_id) {
    uint32_t from = s->start[class_id], count = s->start[w->classes[class_id].last + 1] - from;
    return count ? s->refs[from + draw(w, count)] : 0;
}

/* Bits of every kind that a reference field can hold after its object was freed, or by mistake. It
 * may happen to name an object of the right class. */
static clump_ref random_bits(world *w, const snapshot *s) {
    uint32_t blocks = w->h->block_end - w->h->first_block;
    uint32_t block = w->h->first_block + draw(w, blocks), id = block_class(w, s->image, block);
    uint32_t granule = block * w->h->block_granules;
    switch (draw(w, 6)) {
    case 0: return draw(w, UINT32_MAX);
    case 1: return (granule + draw(w, w->h->block_granules)) << 6 | draw(w, 64);
    case 2: return draw(w, w->h->first_block * w->h->block_granules * 64); /* metadata */
    case 3: return (w->h->block_end * w->h->block_granules + draw(w, 99)) << 6 | draw(w, 64);
    default: /* a slot of a row: freed, or of any class, or in a free block */
        if (id) granule += draw(w, w->k[id].rows) * w->k[id].row_granules;
        return granule << 6 | draw(w, 64);
    }
}

/* A reference field of an object, or a place to put a reference to an untagged object in. */
typedef struct holder {
    clump_ref ref;
    uint32_t field, element;
} holder;

/* All reference fields get bits; a plain `bool` gets 0 or 1, as the language has it. */
static void put_references(world *w, snapshot *s, const fill *how) {
    holder *holders = NULL;
    uint32_t count = 0, room = 0;
    for (uint32_t n = 0; n < s->count; n++) {
        for (uint32_t id = s->class_id[n]; id; id = w->classes[id].base) {
            for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++) {
                const clump_field_info *field = &w->fields[i];
                for (uint32_t e = 0; e < elements(field); e++) {
                    if (field->type == CLUMP_TYPE_BOOL) *value_at(s, s->refs[n], field, e) &= 1;
                    if (field->type != CLUMP_TYPE_REF) continue;
                    clump_ref target = random_live(w, s, field->ref_class);
                    uint32_t kind = draw(w, 100);
                    if (kind < how->dangling)
                        target = random_bits(w, s);
                    else if (kind < 2 * how->dangling)
                        target = 0;
                    else if (kind % 10 == 0 && is_a(w, s->class_id[n], field->ref_class))
                        target = s->refs[n]; /* itself */
                    else if (kind % 10 == 1 && n && is_a(w, s->class_id[n - 1], field->ref_class))
                        target = s->refs[n - 1];
                    put_word(s, s->refs[n], field, e, target);
                    if (w->tag[s->class_id[n]] < 0 || w->tag[field->ref_class] >= 0) continue;
                    if (count == room) {
                        room = 2 * room + 1024;
                        holders = realloc(holders, room * sizeof *holders);
                        assert_non_null(holders);
                    }
                    holders[count++] = (holder){s->refs[n], i, e};
                }
            }
        }
        if (w->tag[s->class_id[n]] >= 0)
            put_word(s, s->refs[n], &w->fields[w->tag[s->class_id[n]]], 0, n + 1);
    }
    /* Most untagged objects get somebody who refers to them, and to them alone as a rule. */
    for (uint32_t n = 0; n < s->count; n++) {
        if (w->tag[s->class_id[n]] >= 0) continue;
        for (int i = 0; i < 4 && count; i++) {
            uint32_t at = draw(w, count);
            const clump_field_info *field = &w->fields[holders[at].field];
            if (!is_a(w, s->class_id[n], field->ref_class)) continue;
            put_word(s, holders[at].ref, field, holders[at].element, s->refs[n]);
            holders[at] = holders[--count];
            break;
        }
    }
    free(holders);
}

/* Blocks with these classes and credits (0: free), in the order of addresses. */
static snapshot *world_put(world *w, const uint32_t *ids, const uint32_t *credits,
                           const fill *how) {
    snapshot *s = snapshot_new(w, w->pristine);
    put_noise(w, s->image);
    for (uint32_t i = 0; i < w->h->block_end - w->h->first_block; i++)
        if (ids[i] && credits[i]) put_block(w, s->image, w->h->first_block + i, ids[i], credits[i]);
    put_hints(w, s->image);
    decode(s);
    put_references(w, s, how);
    snapshot_put(w, s);
    CHECK_HEAP(w->f, w->heap);
    return s;
}

/* A random heap; returns its snapshot. */
static snapshot *world_fill(world *w, const fill *how) {
    uint32_t blocks = w->h->block_end - w->h->first_block, concrete[CLUMP_CLASSES_MAX] = {0},
             count = 0;
    uint32_t *ids = calloc(2 * blocks, sizeof *ids), *credits = ids + blocks;
    for (uint32_t id = 1; id <= w->class_count; id++)
        if (w->k[id].rows) concrete[count++] = id;
    for (uint32_t i = 0; i < blocks; i++) {
        if (draw(w, 100) >= how->used) continue;
        ids[i] = how->only ? cl_fixture_class_id(w->heap, how->only) : concrete[draw(w, count)];
        uint32_t capacity = w->k[ids[i]].capacity, low = capacity * how->low / 100;
        uint32_t high = capacity * how->high / 100;
        credits[i] = draw(w, 100) < how->full ? capacity : low + draw(w, high - low + 1);
        if (!credits[i]) credits[i] = 1;
    }
    snapshot *s = world_put(w, ids, credits, how);
    free(ids);
    return s;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

/* What a host can know of a compaction from before and after. */
typedef struct graph_counts {
    uint64_t moved, bytes_moved;  /* objects that are elsewhere */
    uint64_t examined, rewritten; /* references, as in clump_compact_report */
    uint64_t dangling;            /* of the examined: that name no object */
    uint64_t dangling_sources;    /* of which: into blocks that gave up objects */
} graph_counts;

typedef struct graph_rules {
    const uint8_t *part;   /* by class id: takes part; NULL: all */
    const uint8_t *source; /* by block: objects moved out of it; NULL: blocks that were freed */
    int null_dangling;
    int passes; /* 1: there were several, so a slot that was filled by one may be left by the next:
                   dangling references that happened to lead there may have followed */
} graph_rules;

static int takes_part(const graph_rules *r, uint32_t id) {
    return !r->part || r->part[id];
}

/* Can the field refer to an object of a class that takes part? */
static int is_looked_at(const world *w, const graph_rules *r, const clump_field_info *field) {
    for (uint32_t id = field->ref_class; id <= w->classes[field->ref_class].last; id++)
        if (w->k[id].rows && takes_part(r, id)) return 1;
    return 0;
}

/* Where each object of `a` is in `b`, by number; 0 if that cannot be known. */
static clump_ref *find_moves(const snapshot *a, const snapshot *b) {
    const world *w = a->w;
    clump_ref *to = calloc(a->count + 1, sizeof *to), *by_tag = calloc(a->count + 2, sizeof *to);
    assert_true(to && by_tag);
    for (uint32_t n = 0; n < b->count; n++) {
        if (w->tag[b->class_id[n]] < 0) continue;
        uint32_t tag = tag_of(b, n);
        WORLD_CHECK(w, tag && tag <= a->count, "%08x has tag %u, which no object had", b->refs[n],
                    tag);
        WORLD_CHECK(w, !by_tag[tag], "tag %u is at %08x and at %08x", tag, by_tag[tag], b->refs[n]);
        by_tag[tag] = b->refs[n];
    }
    for (uint32_t n = 0; n < a->count; n++) {
        if (w->tag[a->class_id[n]] < 0) continue;
        to[n] = by_tag[tag_of(a, n)];
        WORLD_CHECK(w, to[n], "object %u of class %s at %08x is gone", tag_of(a, n),
                    w->classes[a->class_id[n]].name, a->refs[n]);
    }
    free(by_tag);
    /* Untagged ones, through those that refer to them. */
    for (uint32_t n = 0; n < a->count; n++) {
        if (w->tag[a->class_id[n]] < 0) continue;
        for (uint32_t id = a->class_id[n]; id; id = w->classes[id].base) {
            for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++) {
                const clump_field_info *field = &w->fields[i];
                if (field->type != CLUMP_TYPE_REF || w->tag[field->ref_class] >= 0) continue;
                for (uint32_t e = 0; e < elements(field); e++) {
                    clump_ref old = word_at(a, a->refs[n], field, e);
                    uint32_t target = live_class(a, old);
                    if (!target || !is_a(w, target, field->ref_class)) continue;
                    clump_ref now = word_at(b, to[n], field, e);
                    clump_ref *known = &to[number_of(a, old)];
                    WORLD_CHECK(w, !*known || *known == now,
                                "%08x is at %08x for some and at %08x for others", old, *known,
                                now);
                    *known = now;
                }
            }
        }
    }
    return to;
}

/* Untagged objects that nobody refers to: as many of each value as before, by their first byte. */
static void same_unknown(const snapshot *a, const snapshot *b, const clump_ref *to,
                         const uint8_t *taken, uint32_t id) {
    const world *w = a->w;
    const clump_field_info *field = &w->fields[w->own[id]];
    int64_t tally[256] = {0};
    for (uint32_t n = a->start[id]; n < a->start[id + 1]; n++)
        if (!to[n]) tally[*value_at(a, a->refs[n], field, 0)]++;
    for (uint32_t n = b->start[id]; n < b->start[id + 1]; n++)
        if (!taken[n]) tally[*value_at(b, b->refs[n], field, 0)]--;
    for (uint32_t i = 0; i < 256; i++)
        WORLD_CHECK(w, !tally[i], "values of objects of class %s have changed",
                    w->classes[id].name);
}

/* A dangling reference, for which there are rules. */
static void same_dangling(const snapshot *a, const snapshot *b, uint32_t n, uint32_t i, uint32_t e,
                          clump_ref now, const graph_rules *r, graph_counts *c) {
    const world *w = a->w;
    const clump_field_info *field = &w->fields[i];
    clump_ref old = word_at(a, a->refs[n], field, e);
    uint32_t block = block_of(w, old), id = block ? block_class(w, a->image, block) : 0;
    int looked = is_looked_at(w, r, field);
    if (looked) {
        int source = r->source ? r->source[block] : id && !block_class(w, b->image, block);
        c->dangling++;
        c->dangling_sources += block && id && source;
    }
    if (r->passes && !r->null_dangling && id && is_a(w, id, field->ref_class)) return;
    clump_ref expected = looked && r->null_dangling ? 0 : old;
    WORLD_CHECK(w, now == expected,
                "%s.%s[%u] of %08x dangled (%08x, into a block of %s): it is "
                "%08x, expected %08x",
                w->classes[a->class_id[n]].name, field->name, e, a->refs[n], old,
                id ? w->classes[id].name : "nothing", now, expected);
}

static void same_field(const snapshot *a, const snapshot *b, const clump_ref *to, uint32_t n,
                       uint32_t i, const graph_rules *r, graph_counts *c) {
    const world *w = a->w;
    const clump_field_info *field = &w->fields[i];
    uint32_t used = field->element_bytes; /* 3-vectors have a pad */
    if (field->width == 3) used = used / 4 * 3;
    for (uint32_t e = 0; e < elements(field); e++) {
        const uint8_t *was = value_at(a, a->refs[n], field, e), *is = value_at(b, to[n], field, e);
        if (field->type != CLUMP_TYPE_REF) {
            WORLD_CHECK(w, memcmp(was, is, used) == 0, "%s.%s[%u] of %08x, now %08x, is wrong",
                        w->classes[a->class_id[n]].name, field->name, e, a->refs[n], to[n]);
            continue;
        }
        clump_ref old = word_at(a, a->refs[n], field, e), now = word_at(b, to[n], field, e);
        uint32_t target = live_class(a, old);
        if (old && is_looked_at(w, r, field)) c->examined++;
        if (!target || !is_a(w, target, field->ref_class)) {
            if (old)
                same_dangling(a, b, n, i, e, now, r, c);
            else
                WORLD_CHECK(w, !now, "%s.%s[%u] of %08x was null and is %08x",
                            w->classes[a->class_id[n]].name, field->name, e, a->refs[n], now);
            continue;
        }
        clump_ref expected = to[number_of(a, old)];
        WORLD_CHECK(w, now == expected,
                    "%s.%s[%u] of %08x, now at %08x, was %08x (a %s, now at %08x) and is %08x",
                    w->classes[a->class_id[n]].name, field->name, e, a->refs[n], to[n], old,
                    w->classes[target].name, expected, now);
        c->rewritten += now != old;
    }
}

/* The graph after is the graph before, field for field. */
static void same_graph(const snapshot *a, const snapshot *b, const graph_rules *r,
                       graph_counts *c) {
    const world *w = a->w;
    memset(c, 0, sizeof *c);
    for (uint32_t id = 1; id <= w->class_count; id++)
        WORLD_CHECK(w, a->start[id + 1] - a->start[id] == b->start[id + 1] - b->start[id],
                    "class %s had %u objects and has %u", w->classes[id].name,
                    a->start[id + 1] - a->start[id], b->start[id + 1] - b->start[id]);
    clump_ref *to = find_moves(a, b);
    uint8_t *taken = calloc(b->count + 1, 1);
    assert_non_null(taken);
    for (uint32_t n = 0; n < a->count; n++) {
        if (!to[n]) continue;
        WORLD_CHECK(w, live_class(b, to[n]) == a->class_id[n],
                    "the %s of %08x is said to be at %08x, where there is none",
                    w->classes[a->class_id[n]].name, a->refs[n], to[n]);
        WORLD_CHECK(w, !taken[number_of(b, to[n])], "two objects are at %08x", to[n]);
        taken[number_of(b, to[n])] = 1;
        WORLD_CHECK(w, takes_part(r, a->class_id[n]) || to[n] == a->refs[n],
                    "%08x of class %s, which takes no part, is at %08x", a->refs[n],
                    w->classes[a->class_id[n]].name, to[n]);
        if (to[n] != a->refs[n]) {
            c->moved++;
            c->bytes_moved += w->classes[a->class_id[n]].object_bytes;
        }
        for (uint32_t id = a->class_id[n]; id; id = w->classes[id].base)
            for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++) same_field(a, b, to, n, i, r, c);
    }
    for (uint32_t id = 1; id <= w->class_count; id++)
        if (w->tag[id] < 0 && w->k[id].rows) same_unknown(a, b, to, taken, id);
    free(taken);
    free(to);
}

/* What clump_heap_read_refs() says is what the image holds. */
static void same_enumeration(const snapshot *s) {
    const world *w = s->w;
    clump_ref *refs = malloc((s->count + 1) * sizeof *refs);
    assert_non_null(refs);
    for (uint32_t id = 1; id <= w->class_count; id = w->classes[id].last + 1) {
        uint32_t from = s->start[id], count = s->start[w->classes[id].last + 1] - from;
        uint64_t found = 0;
        CHECK_OK(w->f, clump_heap_read_refs(w->heap, w->classes[id].name, refs, count, &found));
        WORLD_CHECK(w, found == count && memcmp(refs, s->refs + from, count * sizeof *refs) == 0,
                    "the enumeration of %s is not what is there", w->classes[id].name);
        if (w->tag[id] < 0 || w->fields[w->tag[id]].class_id != id) continue;
        uint32_t *tags = refs;
        CHECK_OK(w->f, clump_heap_read_field(w->heap, w->classes[id].name, "tag", 0, tags, count));
        for (uint32_t n = 0; n < count; n++)
            WORLD_CHECK(w, tags[n] == tag_of(s, from + n), "tag %u of %s is wrong", n,
                        w->classes[id].name);
    }
    free(refs);
}

/* Where objects are: states and bitmaps alone. */
static int same_slots(const snapshot *a, const snapshot *b) {
    const world *w = a->w;
    uint32_t blocks = w->h->block_end - w->h->first_block, from = w->h->first_block;
    return memcmp(state_at(w, a->image, from), state_at(w, b->image, from),
                  blocks * sizeof(uint32_t)) == 0 &&
           memcmp(bits_at(w, a->image, from * w->h->block_granules),
                  bits_at(w, b->image, from * w->h->block_granules),
                  (size_t)blocks * w->h->block_granules * sizeof(uint64_t)) == 0;
}

/* ---- What a planner should do ---------------------------------------------------------------- */

typedef struct class_plan {
    uint32_t blocks, open; /* allocated; of which not full */
    uint64_t objects, slots;
    uint32_t *credits; /* of the blocks, the fullest first */
} class_plan;

static int compare_credits(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static inline class_plan plan_of(const snapshot *s, uint32_t id) {
    const world *w = s->w;
    class_plan p = {0};
    p.credits = malloc((w->h->block_end - w->h->first_block + 1) * sizeof *p.credits);
    assert_non_null(p.credits);
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++) {
        if (block_class(w, s->image, b) != id) continue;
        uint32_t credits = block_credits(w, s->image, b);
        p.credits[p.blocks++] = credits;
        p.open += credits < w->k[id].capacity;
        p.objects += credits;
        p.slots += w->k[id].capacity;
    }
    qsort(p.credits, p.blocks, sizeof *p.credits, compare_credits);
    return p;
}

/* Moves that leave the `keep` fullest blocks. */
static inline uint64_t plan_moves(const class_plan *p, uint64_t keep) {
    uint64_t moves = 0;
    for (uint64_t i = keep; i < p->blocks; i++) moves += p->credits[i];
    return moves;
}

/* Blocks at most n / (n + 1) full. */
static inline uint32_t plan_candidates(const class_plan *p, uint32_t capacity, uint32_t n) {
    uint32_t candidates = 0;
    for (uint32_t i = 0; i < p->blocks; i++)
        candidates += (uint64_t)p->credits[i] * (n + 1) <= (uint64_t)capacity * n;
    return candidates;
}

#endif
