/* Random heaps: blocks, objects, and references of all kinds between them.
 *
 * Read first: world.h.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

void put_hints(const world *w, uint8_t *image) {
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
    *state_at(w, image, block) = id << CLUMPI_CLASS_SHIFT | credits;
    uint32_t left = credits;
    for (uint32_t slot = 0; slot < k->capacity; slot++) {
        if (draw(w, k->capacity - slot) >= left) continue;
        left--;
        uint32_t granule = block * w->h->block_granules + slot / 64 * k->row_granules;
        *bits_at(w, image, granule) |= UINT64_C(1) << slot % 64;
    }
}

void put_free(const world *w, uint8_t *image, clump_ref ref) {
    uint32_t block = block_of(w, ref), id = block_class(w, image, block);
    uint32_t credits = block_credits(w, image, block);
    *bits_at(w, image, ref >> 6) &= ~(UINT64_C(1) << (ref & 63));
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

clump_ref random_bits(world *w, const snapshot *s) {
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

snapshot *world_put(world *w, const uint32_t *ids, const uint32_t *credits, const fill *how) {
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

snapshot *world_fill(world *w, const fill *how) {
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
