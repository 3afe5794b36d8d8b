/* What the heaps must hold: objects by reference. */
#include "client.h"

void measure_heap(heap_model *h) {
    const clump_heap_info *layout = clump_heap_get_info(h->heap);
    const uint32_t block_bytes = layout->block_granules * layout->granule_bytes;
    const uint64_t in_blocks = (uint64_t)(layout->first_block + layout->block_count) *
                               layout->block_granules,
                   in_memory = layout->bytes / layout->granule_bytes;
    h->block_rest = block_bytes % (16 * CLUMP_ROW_SLOTS); /* statistics leave it out */
    h->references = (uint32_t)((in_blocks > in_memory ? in_blocks : in_memory) * CLUMP_ROW_SLOTS);
    h->plain = UINT32_MAX / (clump_heap_get_info(h->heap)->generations + 1);
}

void model_open(client *c, heap_model *h) {
    measure_heap(h);
    open_blocks(c, h);
    h->number_at = must_alloc(h->references * sizeof *h->number_at);
    h->count = h->grave_count = h->raw_count = 0;
    h->events = h->leaks = 0;
    h->has_structs = 0;
    h->stats.size = sizeof h->stats;
    h->classes[0].size = sizeof h->classes[0];
    CHECK_OK(&c->on, clump_heap_read_stats(h->heap, &h->stats, h->classes, CLASSES_MAX));
}

void model_close(heap_model *h) {
    for (uint32_t n = 0; n < h->count; n++) {
        free(h->objects[n].words);
        end_arrays(&h->objects[n]);
    }
    free(h->objects);
    free(h->number_at);
    close_blocks(h);
    h->objects = NULL;
    h->number_at = NULL;
    h->count = h->room = 0;
}

object_model *object_in_slot(const heap_model *h, clump_ref ref) {
    const clump_ref plain = ref & h->plain;
    uint32_t number = plain < h->references ? h->number_at[plain] : 0;
    return number ? &h->objects[number - 1] : NULL;
}

/* A reference may do without its generation. */
object_model *object_at(const heap_model *h, clump_ref ref) {
    object_model *o = object_in_slot(h, ref);
    return o && (o->ref == ref || (ref & h->plain) == ref) ? o : NULL;
}

/* Generations were taken away and given back. Which one a slot without an object has, nobody
 * knows. */
clump_ref dangling_after(const heap_model *h, clump_ref ref) {
    const clump_heap_info *layout = clump_heap_get_info(h->heap);
    uint32_t block = block_of(h, ref);
    if (h->plain == UINT32_MAX || block < layout->first_block) return ref;
    return block - layout->first_block < layout->block_count ? LOOSE : ref;
}

static clump_ref name_one(void *user, clump_ref ref, outside_rules rules) {
    const heap_model *h = user;
    const object_model *o = object_at(h, ref);
    (void)rules;
    return o ? o->ref : dangling_after(h, ref);
}

void name_all(client *c, heap_model *h) {
    for (uint32_t n = 0; n < h->count; n++) {
        const class_model *k = &c->classes[h->objects[n].class];
        for (uint32_t i = 0; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            uint32_t *words = &h->objects[n].words[f->at];
            for (uint32_t e = 0; e < f->elements && f->type == CLUMP_TYPE_REF; e++)
                words[e] = name_one(h, words[e], (outside_rules){0});
        }
        for (uint32_t i = 0; i < c->array_count; i++) {
            uint32_t *elements = is_ref_array(c, i) ? h->objects[n].elements[i] : NULL;
            for (uint32_t e = 0; elements && e < h->objects[n].lengths[i]; e++)
                elements[e] = name_one(h, elements[e], (outside_rules){0});
        }
    }
    change_outside(h, name_one, h);
}

int names(const client *c, const heap_model *h, clump_ref ref, int class) {
    const object_model *o = object_at(h, ref);
    return o && (class == NO_CLASS || is_a(c, o->class, class));
}

void add_object(client *c, heap_model *h, int class, clump_ref ref, uint32_t tag, uint32_t salt) {
    if ((ref & h->plain) >= h->references) complain(c, "%08x is no reference of this heap", ref);
    const object_model *there = object_in_slot(h, ref);
    if (there) complain(c, "a new K%d is at %08x, where a live K%d is", class, ref, there->class);
    if (is_away(h, ref))
        complain(c, "a new K%d is at %08x, in a block that is evicted", class, ref);
    for (uint32_t i = 0; i < GRAVES && i < h->grave_count && h->plain != UINT32_MAX; i++)
        if (h->graves[i] == ref) complain(c, "%08x names a new object, and one that is gone", ref);
    if (h->count == h->room) {
        h->room = 2 * h->room + 1024;
        h->objects = realloc(h->objects, h->room * sizeof *h->objects);
        assert_non_null(h->objects);
    }
    const class_model *k = &c->classes[class];
    object_model *o = &h->objects[h->count++];
    *o = (object_model){.tag = tag, .ref = ref, .class = class};
    o->words = must_alloc((k->words + 1) * sizeof *o->words);
    for (uint32_t i = 0; i < k->field_count; i++) {
        const field_model *f = &c->fields[k->fields[i]];
        for (uint32_t e = 0; e < f->elements && f->type != CLUMP_TYPE_REF; e++)
            o->words[f->at + e] = salt;
    }
    h->number_at[ref & h->plain] = h->count;
}

void remove_object(client *c, heap_model *h, clump_ref ref) {
    object_model *o = object_at(h, ref);
    if (!o) complain(c, "%08x was freed, where the model has no object", ref);
    free(o->words);
    end_arrays(o);
    h->number_at[ref & h->plain] = 0;
    h->graves[h->grave_count++ % GRAVES] = o->ref;
    for (uint32_t i = 0; i < h->handle_count && h->watches; i++)
        if (h->handles[i].ref == ref) h->handles[i].ref = 0;
    *o = h->objects[--h->count];
    if (o < h->objects + h->count) h->number_at[o->ref & h->plain] = (uint32_t)(o - h->objects) + 1;
}

uint32_t count_of(const client *c, const heap_model *h, int class) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < h->count; n++) count += is_a(c, h->objects[n].class, class);
    return count;
}

clump_ref draw_live(client *c, heap_model *h, int class) {
    for (int i = 0; i < 20 && h->count; i++) {
        const object_model *o = &h->objects[below(c, h->count)];
        if (is_a(c, o->class, class)) return o->ref;
    }
    return 0;
}

/* Bits of every kind that a reference can have. LOOSE means something else here. */
static clump_ref draw_bits(client *c, heap_model *h) {
    uint32_t graves = h->grave_count < GRAVES ? h->grave_count : GRAVES;
    clump_ref ref = 0;
    if (h->away_count && chance(c, 40)) return h->away[below(c, h->away_count)].ref;
    switch (below(c, 4)) {
    case 0: ref = draw_salt(c); break;
    case 1: ref = below(c, h->references); break;
    case 2: ref = h->count ? h->objects[below(c, h->count)].ref : 0; break; /* of any class */
    default: ref = graves ? h->graves[below(c, graves)] : 0;
    }
    return ref >= LOOSE || ref == NEVER_WRITTEN_REF ? 0 : ref;
}

clump_ref draw_reference(client *c, heap_model *h, int class) {
    uint32_t kind = below(c, 100);
    if (kind < 15) return draw_bits(c, h);
    return kind < 22 ? 0 : draw_live(c, h, class);
}

uint32_t block_of(const heap_model *h, clump_ref ref) {
    return ((ref & h->plain) >> 6) / clump_heap_get_info(h->heap)->block_granules;
}

int block_is_free(const heap_model *h, clump_ref ref) {
    const clump_heap_info *layout = clump_heap_get_info(h->heap);
    uint32_t block = block_of(h, ref);
    if (block < layout->first_block || block - layout->first_block >= layout->block_count) return 0;
    clump_ref first = (block * layout->block_granules) << 6;
    for (uint32_t i = 0; i < layout->block_granules * CLUMP_ROW_SLOTS; i++)
        if (object_at(h, first + i)) return 0;
    return 1;
}
