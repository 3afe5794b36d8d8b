/* The live set by a marker of the tests' own, and what a collection must make of a case.
 *
 * Read first: collect_core.h.
 */
#include <stdlib.h>
#include <string.h>

#include "collect_core.h"

/* ---- The marker ------------------------------------------------------------------------------ */

typedef struct marker {
    gc_case *c;
    uint32_t *list; /* numbers of objects that were reached; `done` of them are scanned */
    uint32_t count, done;
} marker;

static void reach(marker *m, clump_ref ref, uint32_t class_id) {
    const snapshot *s = m->c->before;
    uint32_t target = live_class(s, ref);
    if (!target || (class_id && !is_a(s->w, target, class_id))) return;
    uint32_t n = number_of(s, ref);
    if (m->c->live[n]) return;
    m->c->live[n] = 1;
    m->list[m->count++] = n;
}

static void reach_root(marker *m, clump_ref ref) {
    m->c->roots += ref != 0;
    m->c->dangling += ref && !live_class(m->c->before, ref);
    reach(m, ref, 0);
}

static void scan_object(marker *m, uint32_t n) {
    const snapshot *s = m->c->before;
    const world *w = s->w;
    for (uint32_t id = s->class_id[n]; id; id = w->classes[id].base)
        for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++) {
            const clump_field_info *field = &w->fields[i];
            if (field->type != CLUMP_TYPE_REF || field->weak) continue;
            for (uint32_t e = 0; e < elements(field); e++) {
                clump_ref ref = word_at(s, s->refs[n], field, e);
                m->c->read++;
                m->c->followed += ref != 0;
                reach(m, ref, field->ref_class);
            }
        }
}

static void mark_all(gc_case *c) {
    const world *w = c->w;
    const snapshot *s = c->before;
    marker m = {.c = c, .list = malloc((s->count + 1) * sizeof *m.list)};
    c->live = calloc(s->count + 1, 1);
    assert_true(m.list && c->live);
    for (uint32_t i = 0; i < c->single_count; i++) reach_root(&m, c->singles[i]);
    for (uint32_t i = 0; i < c->held_count; i++) reach_root(&m, c->held[i]);
    for (uint32_t i = 0; i < c->counted; i++) reach_root(&m, c->packed[i]);
    for (uint32_t i = 0; i < c->count; i++) reach_root(&m, c->strided[i * STRIDE]);
    for (uint32_t i = 0; i < c->class_count; i++) {
        uint32_t id = cl_fixture_class_id(w->heap, c->classes[i]);
        for (uint32_t n = s->start[id]; n < s->start[w->classes[id].last + 1]; n++) {
            c->roots++;
            reach(&m, s->refs[n], 0);
        }
    }
    while (m.done < m.count) scan_object(&m, m.list[m.done++]);
    c->live_count = m.count;
    free(m.list);
}

/* ---- What is expected ------------------------------------------------------------------------ */

int names_live(const gc_case *c, clump_ref ref, uint32_t class_id) {
    uint32_t target = live_class(c->before, ref);
    if (!target || (class_id && !is_a(c->w, target, class_id))) return 0;
    return c->live[number_of(c->before, ref)];
}

static void expect_weak(gc_case *c, uint32_t n) {
    const world *w = c->w;
    clump_ref ref = c->before->refs[n];
    for (uint32_t id = c->before->class_id[n]; id; id = w->classes[id].base)
        for (uint32_t i = w->own[id]; i < w->own[id + 1]; i++)
            for (uint32_t e = 0; w->fields[i].weak && e < elements(&w->fields[i]); e++) {
                clump_ref to = word_at(c->before, ref, &w->fields[i], e);
                if (!to || names_live(c, to, w->fields[i].ref_class)) continue;
                put_word(c->after, ref, &w->fields[i], e, 0);
                c->nulled++;
            }
}

void retag(const gc_case *c, snapshot *s) {
    const world *w = c->w;
    uint32_t *rank = calloc(c->before->count + 2, sizeof *rank), next = 0;
    assert_non_null(rank);
    for (uint32_t n = 0; n < c->before->count; n++)
        if (c->live[n]) {
            next++;
            if (w->tag[c->before->class_id[n]] >= 0) rank[tag_of(c->before, n)] = next;
        }
    for (uint32_t n = 0; n < s->count; n++) {
        if (w->tag[s->class_id[n]] < 0) continue;
        uint32_t tag = tag_of(s, n);
        put_word(s, s->refs[n], &w->fields[w->tag[s->class_id[n]]], 0,
                 tag <= c->before->count ? rank[tag] : 0);
    }
    free(rank);
}

void case_expect(gc_case *c) {
    const world *w = c->w;
    mark_all(c);
    c->after = snapshot_new(w, c->before->image);
    uint32_t blocks = 0;
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++)
        blocks += block_class(w, c->before->image, b) != 0;
    for (uint32_t n = 0; n < c->before->count; n++) {
        if (c->live[n])
            expect_weak(c, n);
        else
            put_free(w, c->after->image, c->before->refs[n]);
    }
    for (uint32_t i = 0; i < c->counted; i++)
        c->nulled += c->weak[i] && !names_live(c, c->weak[i], 0);
    decode(c->after);
    retag(c, c->after);
    c->blocks_freed = blocks;
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++)
        c->blocks_freed -= block_class(w, c->after->image, b) != 0;
}

void case_drop(gc_case *c) {
    snapshot_drop(c->before);
    snapshot_drop(c->after);
    free(c->live);
    free(c->packed);
    free(c->strided);
    free(c->weak);
    memset(c, 0, sizeof *c);
}
