/* The comparison of two snapshots.
 *
 * Read first: graph.h.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static int takes_part(const graph_rules *r, uint32_t id) {
    return !r->part || r->part[id];
}

/* Can the field refer to an object of a class that takes part? */
static int is_looked_at(const world *w, const graph_rules *r, const clump_field_info *field) {
    for (uint32_t id = field->ref_class; id <= w->classes[field->ref_class].last; id++)
        if (w->k[id].rows && takes_part(r, id)) return 1;
    return 0;
}

clump_ref *find_moves(const snapshot *a, const snapshot *b) {
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

void same_graph(const snapshot *a, const snapshot *b, const graph_rules *r, graph_counts *c) {
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

void same_enumeration(const snapshot *s) {
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
        CHECK_OK(w->f, clump_heap_read_field(w->heap, w->classes[id].name, "tag", 0, sizeof *tags,
                                             tags, count, NULL));
        for (uint32_t n = 0; n < count; n++)
            WORLD_CHECK(w, tags[n] == tag_of(s, from + n), "tag %u of %s is wrong", n,
                        w->classes[id].name);
    }
    free(refs);
}

int same_slots(const snapshot *a, const snapshot *b) {
    const world *w = a->w;
    uint32_t blocks = w->h->block_end - w->h->first_block, from = w->h->first_block;
    return memcmp(state_at(w, a->image, from), state_at(w, b->image, from),
                  blocks * sizeof(uint32_t)) == 0 &&
           memcmp(bits_at(w, a->image, from * w->h->block_granules),
                  bits_at(w, b->image, from * w->h->block_granules),
                  (size_t)blocks * w->h->block_granules * sizeof(uint64_t)) == 0;
}
