/* The library held against the model. */
#include "client.h"

#include <math.h>

/* ---- After each operation -------------------------------------------------------------------- */

/* Null must mean no room. */
static void justify_nulls(client *c, const heap_model *h, int class,
                          const clump_class_stats *before, uint32_t free_before) {
    const clump_class_stats *s = &h->classes[c->classes[class].id - 1];
    const expectation *x = &c->expect;
    uint64_t asked = 0, left = s->slots - s->objects;
    if (!x->frees && (h->stats.free_blocks || left))
        complain(c,
                 "%llu nulls for %llu requests of K%d, nothing was freed, but %u free blocks and "
                 "%llu free slots of it are left",
                 (ull)x->nulls[class], (ull)x->asked[class], class, h->stats.free_blocks,
                 (ull)left);
    if (!x->frees || !before->blocks) return; /* without a block its capacity is not known */
    for (int k = 0; k < c->class_count; k++) asked += x->asked[k];
    uint64_t room = before->slots - before->objects + before->slots / before->blocks * free_before;
    if (room >= asked)
        complain(c, "%llu nulls for %llu requests of K%d, but there was room for %llu",
                 (ull)x->nulls[class], (ull)x->asked[class], class, (ull)room);
}

static void compare_stats(client *c, heap_model *h) {
    uint64_t objects = 0, slots = 0, blocks = h->stats.free_blocks;
    for (int k = 0; k < c->class_count; k++) {
        const clump_class_stats *s = &h->classes[c->classes[k].id - 1];
        uint32_t exact = 0;
        for (uint32_t n = 0; n < h->count; n++) exact += h->objects[n].class == k;
        if (s->objects != exact)
            complain(c, "%llu objects of K%d, expected %u", (ull)s->objects, k, exact);
        double f = s->slots ? 1 - (double)s->objects / (double)s->slots : 0;
        if (s->active_blocks > s->blocks || s->slots < s->objects ||
            fabs(f - s->fragmentation) > 1e-9)
            complain(c, "statistics of K%d contradict each other", k);
        objects += s->objects;
        slots += s->slots;
        blocks += s->blocks;
    }
    same_number(c, "objects of the heap", h->stats.objects, objects);
    same_number(c, "slots of the heap", h->stats.slots, slots);
    same_number(c, "blocks of the heap", h->stats.blocks, blocks + h->stats.raw_blocks);
    uint64_t raw_bytes = 0;
    const uint64_t rests = h->stats.raw_blocks * h->block_rest;
    for (uint32_t i = 0; i < h->raw_count; i++) raw_bytes += h->raws[i].bytes;
    if (h->stats.raw_bytes + rests < raw_bytes ||
        (!h->raw_count && !c->array_count && h->stats.raw_bytes))
        complain(c, "%llu bytes of raw memory, expected %llu in %u", (ull)h->stats.raw_bytes,
                 (ull)raw_bytes, h->raw_count);
}

/* One event for each null, and for each free or access that must be refused. */
static void compare_reports(client *c, heap_model *h) {
    const expectation *x = &c->expect;
    clump_device_report r = {.size = sizeof r};
    uint64_t nulls = 0, pages = 0; /* reports of pages that vectors did not get */
    for (int k = 0; k < c->class_count; k++) nulls += x->nulls[k];
    nulls += x->raw_nulls;
    clump_status status = clump_heap_take_errors(h->heap, &r);
    uint64_t doubles = r.errors[CLUMP_DEVICE_DOUBLE_FREE].count;
    uint64_t bad = r.errors[CLUMP_DEVICE_BAD_REFERENCE].count;
    if (x->page_nulls_most)
        pages = r.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count + r.errors[CLUMP_DEVICE_BAD_SIZE].count -
                nulls - x->bad_sizes;
    if (pages < x->page_nulls_least || pages > x->page_nulls_most)
        complain(c, "%llu reports of pages of vectors, expected %llu to %llu", (ull)pages,
                 (ull)x->page_nulls_least, (ull)x->page_nulls_most);
    const int is_told = nulls || x->refused || x->accesses || x->bad_sizes || x->not_noted || pages;
    CHECK_STATUS(&c->on, status, is_told ? CLUMP_ERR_DEVICE : CLUMP_OK);
    if (!x->page_nulls_most) {
        same_number(c, "reports of OUT_OF_MEMORY", r.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count,
                    nulls);
        same_number(c, "reports of BAD_SIZE", r.errors[CLUMP_DEVICE_BAD_SIZE].count, x->bad_sizes);
    }
    same_number(c, "reports of RETRY_BOUND", r.errors[CLUMP_DEVICE_RETRY_BOUND].count, 0);
    same_number(c, "reports of WRONG_LAUNCH", r.errors[CLUMP_DEVICE_WRONG_LAUNCH].count,
                x->not_noted);
    same_number(c, "reports of BAD_ACCESS", r.errors[CLUMP_DEVICE_BAD_ACCESS].count, x->accesses);
    same_number(c, "reports of DOUBLE_FREE and BAD_REFERENCE", doubles + bad, x->refused);
    if (doubles < x->double_least || bad < x->bad_least)
        complain(c, "%llu double frees and %llu bad references, expected at least %llu and %llu",
                 (ull)doubles, (ull)bad, (ull)x->double_least, (ull)x->bad_least);
    compare_findings(c, h, &r);
    c->sum.nulls += nulls + pages;
    c->sum.refused += x->refused + x->accesses;
}

void settle(client *c, heap_model *h) {
    clump_class_stats before[CLASSES_MAX] = {{.size = sizeof *before}};
    uint32_t free_before = h->stats.free_blocks;
    memcpy(before, h->classes, sizeof before);
    compare_reports(c, h);
    CHECK_OK(&c->on, clump_heap_read_stats(h->heap, &h->stats, h->classes, CLASSES_MAX));
    compare_stats(c, h);
    for (int k = 0; k < c->class_count; k++)
        if (c->expect.nulls[k]) justify_nulls(c, h, k, &before[c->classes[k].id - 1], free_before);
    if (c->expect.raw_slot_nulls && h->stats.free_blocks)
        complain(c, "%llu nulls for raw memory, but %u free blocks are left",
                 (ull)c->expect.raw_slot_nulls, h->stats.free_blocks);
    CHECK_OK(&c->on, clump_heap_check(h->heap));
    memset(&c->expect, 0, sizeof c->expect);
}

/* ---- After every few ------------------------------------------------------------------------- */

void compare_element(client *c, heap_model *h, const field_model *f, uint32_t e, object_model *o,
                     const uint8_t *found) {
    uint32_t *word = &o->words[f->at + e], is, used = f->bytes;
    if (f->type == CLUMP_TYPE_REF) {
        memcpy(&is, found, sizeof is);
        if (*word == LOOSE) *word = is;
        if (is != *word)
            complain(c, "K%d.%s[%u] of tag %u at %08x is %08x, expected %08x", o->class, f->name, e,
                     o->tag, o->ref, is, *word);
        return;
    }
    uint8_t expected[8 * WIDTH_MAX];
    if (f->held)
        memcpy(expected, &o->words[f->at + e * f->bytes / 4], f->bytes);
    else
        put_value(f, e, o->tag, *word, expected);
    if (f->width == 3) used = used / 4 * 3; /* the rest of a 3-vector is nobody's */
    if (memcmp(found, expected, used) != 0)
        complain(c, "K%d.%s[%u] of tag %u at %08x is wrong", o->class, f->name, e, o->tag, o->ref);
}

/* What a class declares, of its objects and those of its subclasses. */
static void compare_fields(client *c, heap_model *h, int class, const clump_ref *refs,
                           uint32_t count, uint8_t *values) {
    const class_model *k = &c->classes[class];
    for (uint32_t i = k->first_own; i < k->field_count; i++) {
        const field_model *f = &c->fields[k->fields[i]];
        for (uint32_t e = 0; e < f->elements && f->number + 1 != c->left_out; e++) {
            CHECK_OK(&c->on, clump_heap_read_field(h->heap, k->name, f->name, e, f->bytes, values,
                                                   h->count + 1u, NULL));
            for (uint32_t n = 0; n < count; n++)
                compare_element(c, h, f, e, object_at(h, refs[n]), values + (size_t)n * f->bytes);
        }
    }
    c->sum.compared += count;
}

/* The objects of a class and those below it, which must be those of the model, and their tags. */
static uint32_t compare_list(client *c, heap_model *h, int class, clump_ref *refs, uint32_t *tags) {
    uint64_t count = 0;
    const char *name = c->classes[class].name;
    CHECK_OK(&c->on, clump_heap_read_refs(h->heap, name, refs, h->count, &count));
    same_number(c, "objects in the list of a class", count, count_of(c, h, class));
    CHECK_OK(&c->on,
             clump_heap_read_field(h->heap, name, "tag", 0, sizeof *tags, tags, count, NULL));
    for (uint32_t n = 0; n < count; n++) {
        const object_model *o = object_at(h, refs[n]);
        if (!o || !is_a(c, o->class, class))
            complain(c, "%08x is listed as a K%d, and is none", refs[n], class);
        if (refs[n] != o->ref) complain(c, "%08x is listed, expected %08x", refs[n], o->ref);
        if (tags[n] != o->tag)
            complain(c, "the tag of %08x is %u, expected %u", refs[n], tags[n], o->tag);
    }
    return (uint32_t)count;
}

static void compare_checksum(client *c, heap_model *h) {
    uint32_t sum = 0;
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    CHECK_OK(&c->on,
             clump_heap_reduce(h->heap, c->kernels[KERNEL_checksum], sizeof sum, &sum, sync));
    end_sync(c, &u);
    same_number(c, "checksum by a kernel", sum, checksum_of(c, h));
}

void compare_values(client *c, heap_model *h) {
    clump_ref *refs = must_alloc((h->count + 1) * sizeof *refs);
    uint32_t *tags = must_alloc((h->count + 1) * sizeof *tags);
    uint8_t *values = must_alloc((size_t)(h->count + 1) * 8 * WIDTH_MAX);
    for (int k = 0; k < c->class_count; k++) {
        uint32_t count = compare_list(c, h, k, refs, tags);
        compare_fields(c, h, k, refs, count, values);
    }
    free(values);
    free(tags);
    free(refs);
    compare_outside(c, h);
}

void compare_all(client *c, heap_model *h) {
    compare_values(c, h);
    compare_raw(c, h);
    compare_arrays(c, h);
    compare_checksum(c, h);
}

/* ---- After a compaction ---------------------------------------------------------------------- */

/* 1 + number of the object that has a tag. */
typedef struct tagged {
    uint32_t tag, number;
} tagged;

static int compare_tags(const void *a, const void *b) {
    uint32_t x = ((const tagged *)a)->tag, y = ((const tagged *)b)->tag;
    return (x > y) - (x < y);
}

/* Objects of one class and those below it, wherever they are now. */
static void find_class(client *c, heap_model *h, int class, const tagged *order, clump_ref *to) {
    clump_ref *refs = must_alloc((h->count + 1) * sizeof *refs);
    uint32_t *tags = must_alloc((h->count + 1) * sizeof *tags);
    uint64_t count = 0;
    const char *name = c->classes[class].name;
    CHECK_OK(&c->on, clump_heap_read_refs(h->heap, name, refs, h->count, &count));
    same_number(c, "objects in the list of a class", count, count_of(c, h, class));
    CHECK_OK(&c->on,
             clump_heap_read_field(h->heap, name, "tag", 0, sizeof *tags, tags, count, NULL));
    for (uint32_t i = 0; i < count; i++) {
        const tagged key = {tags[i], 0},
                     *found = bsearch(&key, order, h->count, sizeof *order, compare_tags);
        uint32_t number = found ? found->number : 0;
        if (!number) complain(c, "%08x has tag %u, which no object had", refs[i], tags[i]);
        if (!is_a(c, h->objects[number - 1].class, class))
            complain(c, "%08x is listed as a K%d, and its tag %u is none", refs[i], class, tags[i]);
        if (to[number - 1] && to[number - 1] != refs[i])
            complain(c, "tag %u is at %08x and at %08x", tags[i], to[number - 1], refs[i]);
        to[number - 1] = refs[i];
    }
    free(tags);
    free(refs);
}

void find_again(client *c, heap_model *h, clump_ref *to) {
    tagged *order = must_alloc((h->count + 1) * sizeof *order);
    for (uint32_t n = 0; n < h->count; n++) order[n] = (tagged){h->objects[n].tag, n + 1};
    qsort(order, h->count, sizeof *order, compare_tags);
    memset(to, 0, h->count * sizeof *to);
    for (int k = 0; k < c->class_count; k++) find_class(c, h, k, order, to);
    for (uint32_t n = 0; n < h->count; n++)
        if (!to[n] || (to[n] & h->plain) >= h->references)
            complain(c, "tag %u, which was at %08x, is gone", h->objects[n].tag, h->objects[n].ref);
    free(order);
}
