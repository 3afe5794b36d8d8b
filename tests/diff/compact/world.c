/* Worlds, the parts of an image, snapshots.
 *
 * Read first: world.h.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

uint32_t draw(world *w, uint32_t below) {
    return test_random(&w->random, below);
}

/* ---- Worlds ---------------------------------------------------------------------------------- */

static world *world_of(cl_fixture *f, clump_heap *heap, uint64_t seed) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = f;
    w->heap = heap;
    w->schema = clump_heap_get_schema(heap);
    w->h = &clumpi_heap_geometry(heap)->header;
    w->k = clumpi_heap_geometry(heap)->classes;
    w->class_count = clump_schema_get_class_count(w->schema);
    uint32_t fields = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        w->classes[id].size = sizeof w->classes[id];
        clump_schema_get_class(w->schema, id, &w->classes[id]);
        w->own[id] = fields;
        assert_true(fields + w->classes[id].field_count <= WORLD_FIELDS_MAX);
        w->tag[id] = w->classes[id].base ? w->tag[w->classes[id].base] : -1;
        for (uint32_t i = 0; i < w->classes[id].field_count; i++) {
            w->fields[fields].size = sizeof w->fields[fields];
            clump_schema_get_field(w->schema, id, i, &w->fields[fields]);
            if (strcmp(w->fields[fields].name, "tag") == 0) w->tag[id] = (int)fields;
            fields++;
        }
    }
    w->own[w->class_count + 1] = fields;
    w->bytes = clump_heap_get_layout(heap)->bytes;
    w->pristine = malloc(w->bytes);
    assert_non_null(w->pristine);
    cl_fixture_heap_read(heap, w->pristine);
    w->random = seed;
    return w;
}

world *world_open(cl_fixture *f, const char *schema, uint32_t blocks, uint32_t block_rows,
                  uint64_t seed) {
    return world_of(f, cl_fixture_heap_of_blocks(f, schema, blocks, block_rows), seed);
}

void world_close(world *w) {
    clump_heap_destroy(w->heap);
    free(w->pristine);
    free(w);
}

uint32_t elements(const clump_field_info *field) {
    return field->count ? field->count : 1;
}

int is_a(const world *w, uint32_t class_id, uint32_t base) {
    return class_id >= base && class_id <= w->classes[base].last;
}

uint32_t find_field(const world *w, const char *class_name, const char *name) {
    uint32_t id = cl_fixture_class_id(w->heap, class_name);
    for (; id; id = w->classes[id].base)
        for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++)
            if (strcmp(w->fields[i].name, name) == 0) return i;
    fail_msg("no field %s.%s", class_name, name);
    return 0;
}

/* ---- The parts of an image ------------------------------------------------------------------- */

uint32_t *words_at(const world *w, uint8_t *image, uint32_t units) {
    return (uint32_t *)(image + (uint64_t)units * CLUMPI_UNIT);
}

uint32_t *state_at(const world *w, uint8_t *image, uint32_t block) {
    return words_at(w, image, w->h->at_states) + block;
}

uint64_t *bits_at(const world *w, uint8_t *image, uint32_t granule) {
    return (uint64_t *)(image + (uint64_t)w->h->at_bits * CLUMPI_UNIT) + granule;
}

uint32_t block_class(const world *w, uint8_t *image, uint32_t block) {
    return *state_at(w, image, block) >> CLUMPI_CLASS_SHIFT;
}

uint32_t block_credits(const world *w, uint8_t *image, uint32_t block) {
    return *state_at(w, image, block) & CLUMPI_CREDIT_MASK;
}

uint32_t block_of(const world *w, clump_ref ref) {
    uint32_t block = (ref >> 6) / w->h->block_granules;
    return block >= w->h->first_block && block < w->h->block_end ? block : 0;
}

uint32_t live_class(const snapshot *s, clump_ref ref) {
    const world *w = s->w;
    uint32_t block = block_of(w, ref), id = block ? block_class(w, s->image, block) : 0;
    if (!id) return 0;
    uint32_t at = (ref >> 6) - block * w->h->block_granules;
    if (at % w->k[id].row_granules || at / w->k[id].row_granules >= w->k[id].rows) return 0;
    return *bits_at(w, s->image, ref >> 6) >> (ref & 63) & 1 ? id : 0;
}

uint8_t *value_at(const snapshot *s, clump_ref ref, const clump_field_info *field,
                  uint32_t element) {
    return s->image + (uint64_t)(ref >> 6) * s->w->h->granule_bytes + field->base_bytes +
           (ref & 63) * field->stride_bytes + element * field->step_bytes;
}

uint32_t word_at(const snapshot *s, clump_ref ref, const clump_field_info *field,
                 uint32_t element) {
    uint32_t word;
    memcpy(&word, value_at(s, ref, field, element), sizeof word);
    return word;
}

void put_word(const snapshot *s, clump_ref ref, const clump_field_info *field, uint32_t element,
              uint32_t word) {
    memcpy(value_at(s, ref, field, element), &word, sizeof word);
}

uint32_t number_of(const snapshot *s, clump_ref ref) {
    uint64_t below = *bits_at(s->w, s->image, ref >> 6) & ((UINT64_C(1) << (ref & 63)) - 1);
    return s->first[ref >> 6] + (uint32_t)__builtin_popcountll(below);
}

uint32_t tag_of(const snapshot *s, uint32_t number) {
    return word_at(s, s->refs[number], &s->w->fields[s->w->tag[s->class_id[number]]], 0);
}

/* The only loop over live objects: numbers them. */
void decode(snapshot *s) {
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

snapshot *snapshot_new(const world *w, const uint8_t *image) {
    snapshot *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->w = w;
    s->image = malloc(w->bytes);
    assert_non_null(s->image);
    if (image) {
        memcpy(s->image, image, w->bytes);
    } else {
        cl_fixture_heap_read(w->heap, s->image);
        decode(s);
    }
    return s;
}

snapshot *snapshot_take(const world *w) {
    return snapshot_new(w, NULL);
}

void snapshot_drop(snapshot *s) {
    if (!s) return;
    free(s->image);
    free(s->first);
    free(s->refs);
    free(s->class_id);
    free(s);
}

void snapshot_put(world *w, snapshot *s) {
    clumpi_header *header = (clumpi_header *)words_at(w, s->image, w->h->self_at);
    header->epoch = ++w->epoch; /* nothing is known to be exhausted */
    cl_fixture_heap_write(w->heap, s->image);
    clump_heap_touch(w->heap);
}
