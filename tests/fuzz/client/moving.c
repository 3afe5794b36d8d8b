/* Compaction: objects are found again by their tags, and every reference must have followed. */
#include "client.h"

/* ---- What is asked for ----------------------------------------------------------------------- */

static void select_classes(client *c, compaction *x) {
    uint32_t count = chance(c, 60) ? 0 : 1 + below(c, 2);
    for (uint32_t i = 0; i < count; i++) {
        int class = draw_any_class(c);
        x->class_names[i] = c->classes[class].name;
        for (int k = 0; k < c->class_count; k++) x->selected[k] |= is_a(c, k, class);
    }
    for (int k = 0; k < c->class_count && !count; k++) x->selected[k] = 1;
    x->desc.classes = count ? x->class_names : NULL;
    x->desc.class_count = count;
}

static void draw_merge(client *c, compaction *x) {
    bench_merge *m = &x->merge;
    m->factor = 1 + below(c, 4);
    m->retain = below(c, 3);
    m->max_passes = below(c, 3);
    m->rewrite = (bench_merge_rewrite)below(c, BENCH_REWRITE_SHARED + 1);
}

static void draw_planner(client *c, compaction *x, int with_orders) {
    clump_compact_desc *d = &x->desc;
    if (with_orders && chance(c, 45)) {
        d->order = (clump_compact_order)(CLUMP_ORDER_ADDRESS + below(c, 3));
        if (d->order == CLUMP_ORDER_FIELD) d->order_field = "tag";
        if (d->order == CLUMP_ORDER_KEY) d->key_kernel = c->kernels[KERNEL_keys];
        SET_NUMBERS(c, c->kernels[KERNEL_keys], 1, x->salt);
        return;
    }
    if (chance(c, 25)) d->slack = below(c, 101) / 100.0;
    if (chance(c, 20))
        d->max_moves = logarithmic(c, 1, 2000);
    else if (chance(c, 15))
        d->max_us = logarithmic(c, 1, 3000);
}

void draw_compaction(client *c, compaction *x, int with_orders, int may_merge) {
    *x = (compaction){.desc = {.size = sizeof x->desc}, .salt = draw_salt(c)};
    select_classes(c, x);
    x->desc.null_dangling = chance(c, 30);
    if (may_merge && chance(c, 35))
        draw_merge(c, x);
    else
        draw_planner(c, x, with_orders);
    const clump_compact_desc *d = &x->desc;
    note(c, "%s", x->merge.factor ? "merge" : "planner");
    if (d->class_count) note(c, ", %s", d->classes[0]);
    if (d->class_count > 1) note(c, " and %s", d->classes[1]);
    if (d->null_dangling) note(c, ", null_dangling");
    if (x->merge.factor)
        note(c, ", factor %u, retain %u, max_passes %u, rewrite %d", x->merge.factor,
             x->merge.retain, x->merge.max_passes, (int)x->merge.rewrite);
    else
        note(c, ", order %d, slack %g, max_moves %llu, max_us %g", (int)d->order, d->slack,
             (ull)d->max_moves, d->max_us);
}

/* An order needs free blocks for each class in turn. */
static int order_fits(const client *c, const heap_model *h, const compaction *x) {
    uint64_t free_blocks = h->stats.free_blocks;
    for (uint32_t id = 1; id <= (uint32_t)c->class_count; id++) {
        const clump_class_stats *s = &h->classes[id - 1];
        if (!s->objects || !x->selected[class_of_id(c, id)]) continue;
        uint64_t capacity = s->slots / s->blocks, needed = (s->objects + capacity - 1) / capacity;
        if (needed > free_blocks) return 0;
        free_blocks += s->blocks - needed;
    }
    return 1;
}

/* ---- What must come of it -------------------------------------------------------------------- */

/* What is known of a run from before and after. */
typedef struct course {
    client *c;
    heap_model *h;
    const compaction *x;
    clump_ref *to;    /* by number of the object before */
    int looked;       /* dangling references outside were looked at */
    int loose;        /* a slot that was left may have been filled again in the same run */
    uint64_t objects; /* that take part */
    uint64_t moved, bytes_moved;
    uint64_t examined, rewritten, dangling; /* in objects */
    uint64_t outside_examined, outside_rewritten, outside_dangling;
} course;

/* Abstract classes count, too: what a field of theirs names is no object, and is looked at. */
static int can_name_selected(const course *r, const field_model *f) {
    for (int k = 0; k < r->c->class_count; k++)
        if (r->x->selected[k] && is_a(r->c, k, f->target)) return 1;
    return 0;
}

static uint32_t number_of(const heap_model *h, clump_ref ref) {
    return (uint32_t)(object_at(h, ref) - h->objects);
}

static clump_ref follow_inside(course *r, const field_model *f, clump_ref ref) {
    int looked_at = can_name_selected(r, f);
    if (!ref) return 0;
    r->examined += looked_at;
    if (names(r->c, r->h, ref, f->target)) {
        uint32_t number = number_of(r->h, ref);
        r->rewritten += r->to[number] != r->h->objects[number].ref;
        return r->to[number];
    }
    if (!looked_at) return dangling_after(r->h, ref);
    r->dangling++;
    return r->x->desc.null_dangling ? 0 : r->loose ? LOOSE : dangling_after(r->h, ref);
}

static clump_ref follow_one_outside(void *user, clump_ref ref, outside_rules rules) {
    course *r = user;
    if (!ref) return 0;
    r->outside_examined++;
    if (names(r->c, r->h, ref, NO_CLASS)) {
        uint32_t number = number_of(r->h, ref);
        r->outside_rewritten += r->to[number] != r->h->objects[number].ref;
        return r->to[number];
    }
    r->outside_dangling++;
    if (rules.null_dangling && r->looked) return 0;
    return rules.null_dangling || r->loose ? LOOSE : dangling_after(r->h, ref);
}

static void follow_all(course *r) {
    client *c = r->c;
    heap_model *h = r->h;
    for (uint32_t n = 0; n < h->count; n++) {
        object_model *o = &h->objects[n];
        const class_model *k = &c->classes[o->class];
        for (uint32_t i = 0; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && f->type == CLUMP_TYPE_REF; e++)
                o->words[f->at + e] = follow_inside(r, f, o->words[f->at + e]);
        }
        for (uint32_t i = 0; i < c->array_count; i++)
            for (uint32_t e = 0; is_ref_array(c, i) && o->elements[i] && e < o->lengths[i]; e++)
                o->elements[i][e] = follow_inside(r, &c->arrays[i].element, o->elements[i][e]);
    }
    change_outside(h, follow_one_outside, r);
}

/* In a checked heap it has some bytes more than its schema says. */
static uint32_t object_bytes(const course *r, int class) {
    clump_class_info info;
    const clump_schema *schema = clump_heap_get_info(r->h->heap)->schema;
    info = *clump_schema_get_info(schema)->classes[r->c->classes[class].id];
    return info.object_bytes;
}

/* Objects of classes that take no part stay where they are. */
static void move_all(course *r) {
    client *c = r->c;
    heap_model *h = r->h;
    for (uint32_t n = 0; n < h->count; n++) {
        const object_model *o = &h->objects[n];
        if (r->to[n] == o->ref) continue;
        if (!r->x->selected[o->class])
            complain(c, "tag %u of K%d, which takes no part, went from %08x to %08x", o->tag,
                     o->class, o->ref, r->to[n]);
        r->moved++;
        r->bytes_moved += object_bytes(r, o->class);
    }
    for (uint32_t n = 0; n < h->count; n++) h->number_at[h->objects[n].ref & h->plain] = 0;
    for (uint32_t n = 0; n < h->count; n++) {
        h->objects[n].ref = r->to[n];
        h->number_at[r->to[n] & h->plain] = n + 1;
    }
}

static void compare_course(const course *r, const clump_compact_report *p, uint64_t blocks_before,
                           uint64_t blocks_after) {
    client *c = r->c;
    const clump_compact_desc *d = &r->x->desc;
    int step = d->max_moves || d->max_us > 0;
    same_number(c, "objects that take part", p->objects, r->objects);
    same_number(c, "blocks before", p->blocks_before, blocks_before);
    same_number(c, "blocks freed", p->blocks_freed, blocks_before - blocks_after);
    if (r->x->merge.factor) {
        if (p->moves < r->moved || p->refs_rewritten < r->rewritten)
            complain(c, "fewer moves or references rewritten than there were");
    } else {
        same_number(c, "moves", p->moves, r->moved);
        same_number(c, "bytes moved", p->bytes_moved, r->bytes_moved);
        if (!step) same_number(c, "moves left", p->moves_left, 0);
    }
    if (r->x->merge.factor || d->order != CLUMP_ORDER_ANY) return;
    same_number(c, "references outside examined", p->outside_examined, r->outside_examined);
    same_number(c, "references outside rewritten", p->outside_rewritten, r->outside_rewritten);
    same_number(c, "references outside dangling", p->outside_dangling, r->outside_dangling);
    same_number(c, "references rewritten", p->refs_rewritten, r->rewritten);
    if (p->moves || d->null_dangling)
        same_number(c, "references examined", p->refs_examined, r->examined);
    if (d->null_dangling) same_number(c, "references dangling", p->refs_dangling, r->dangling);
}

/* What raw memory is in use stays in use. Only the planner frees blocks of it. */
static void compare_raw_moves(client *c, const clump_heap_stats *was, const clump_heap_stats *is,
                              const clump_compact_report *p) {
    same_number(c, "bytes of raw memory after a compaction", is->raw_bytes, was->raw_bytes);
    same_number(c, "blocks of raw memory freed", p->raw_blocks_freed,
                was->raw_blocks - is->raw_blocks);
    if (p->raw_blocks_pinned > is->raw_blocks || p->raw_bytes_pinned > is->raw_bytes)
        complain(c, "more raw memory is pinned than there is");
    if (p->raw_moves == 0) same_number(c, "bytes of raw memory moved", p->raw_bytes_moved, 0);
    c->sum.raw_moves += p->raw_moves;
}

/* A full run of the planner leaves the fewest blocks that can hold the objects. */
static void compare_blocks(client *c, const heap_model *h, const compaction *x) {
    const clump_compact_desc *d = &x->desc;
    if (x->merge.factor || d->slack > 0 || d->max_moves || d->max_us > 0) return;
    for (int k = 0; k < c->class_count; k++) {
        const clump_class_stats *s = &h->classes[c->classes[k].id - 1];
        if (!x->selected[k] || !s->blocks) continue;
        uint64_t capacity = s->slots / s->blocks;
        same_number(c, "blocks of a class after the planner", s->blocks,
                    (s->objects + capacity - 1) / capacity);
    }
}

/* The list of a class is in the order of its keys, subclasses behind each other. */
static void compare_order(client *c, heap_model *h, const compaction *x) {
    const clump_compact_desc *d = &x->desc;
    uint32_t last[CLASSES_MAX] = {0};
    if (d->order != CLUMP_ORDER_FIELD && d->order != CLUMP_ORDER_KEY) return;
    clump_ref *refs = must_alloc((h->count + 1) * sizeof *refs);
    for (int k = 0; k < c->class_count; k++) {
        uint64_t count;
        if (!x->selected[k] || c->classes[k].is_abstract) continue;
        CHECK_OK(&c->on, clump_heap_read_refs(h->heap, c->classes[k].name, refs, h->count, &count));
        for (uint64_t i = 0; i < count; i++) {
            const object_model *o = object_at(h, refs[i]);
            uint32_t key = d->order_field ? o->tag : test_hash(o->tag ^ x->salt);
            if (o->class != k) continue;
            if (x->grid) key = cell_of(c, x->grid, o);
            if (key < last[k]) complain(c, "objects of K%d are not in their order", k);
            last[k] = key;
        }
    }
    free(refs);
}

void follow_compaction(client *c, heap_model *h, const compaction *x,
                       const clump_compact_report *report) {
    course r = {.c = c, .h = h, .x = x, .to = must_alloc((h->count + 1) * sizeof *r.to)};
    uint64_t before = 0, after = 0;
    uint32_t classes = 0;
    for (int k = 0; k < c->class_count; k++) {
        const clump_class_stats *s = &h->classes[c->classes[k].id - 1];
        before += x->selected[k] ? s->blocks : 0;
        r.objects += x->selected[k] ? s->objects : 0;
        classes += x->selected[k] && s->objects;
    }
    int ordered = x->desc.order != CLUMP_ORDER_ANY;
    r.looked = !ordered || x->desc.null_dangling || r.objects;
    r.loose = x->merge.factor || (ordered && classes > 1);
    const clump_heap_stats was = h->stats;
    find_again(c, h, r.to);
    follow_all(&r);
    move_all(&r);
    settle(c, h);
    for (int k = 0; k < c->class_count; k++)
        after += x->selected[k] ? h->classes[c->classes[k].id - 1].blocks : 0;
    if (report) compare_course(&r, report, before, after);
    if (report) compare_raw_moves(c, &was, &h->stats, report);
    compare_blocks(c, h, x);
    compare_order(c, h, x);
    compare_all(c, h);
    c->sum.moves += r.moved;
    free(r.to);
}

/* ---- Operations ------------------------------------------------------------------------------ */

int compact_as(client *c, heap_model *h, const compaction *x) {
    clump_compact_report report = {.size = sizeof report};
    int wants_report = chance(c, 75);
    memset(&report, 0xee, sizeof report);
    report.size = sizeof report;
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    clump_status status = bench_merge_compact(h->heap, &x->desc, x->merge.factor ? &x->merge : NULL,
                                              wants_report ? &report : NULL, sync);
    end_sync(c, &u);
    if (x->desc.order != CLUMP_ORDER_ANY && !order_fits(c, h, x)) {
        note(c, " (does not fit)");
        CHECK_STATUS(&c->on, status, CLUMP_ERR_DEVICE_MEMORY);
        name_all(c, h);
        compare_all(c, h);
        return 0;
    }
    CHECK_OK(&c->on, status);
    follow_compaction(c, h, x, wants_report ? &report : NULL);
    return 1;
}

void compact(client *c, heap_model *h) {
    compaction x;
    draw_compaction(c, &x, 1, 1);
    compact_as(c, h, &x);
}

/* A compactor that is asked a few times. */
void compact_when_due(client *c, heap_model *h) {
    compaction x;
    clump_compactor *compactor;
    draw_compaction(c, &x, 0, 1);
    clump_compactor_desc desc = {.size = sizeof desc, .heap = h->heap, .compact = &x.desc};
    uint32_t kind = below(c, 4);
    if (kind == 0) desc.every = 1 + below(c, 3);
    if (kind == 1) desc.candidates = 1 + below(c, 4);
    desc.automatic = kind == 2;
    if (kind == 3) desc.share = (1 + below(c, 50)) / 100.0;
    if (desc.automatic && chance(c, 50)) desc.cost_limit = (1 + below(c, 100)) / 100.0;
    note(c, ", every %u, candidates %u, share %g, automatic %d", desc.every, desc.candidates,
         desc.share, desc.automatic);
    CHECK_OK(&c->on, clump_compactor_create(&desc, &compactor, NULL));
    if (x.merge.factor) CHECK_OK(&c->on, bench_merge_compactor(compactor, &x.merge));
    for (uint32_t i = 1; i <= 3; i++) {
        int ran = 0;
        clump_compact_report report = {.size = sizeof report};
        sync_use u;
        CHECK_OK(&c->on, clump_compactor_tick(compactor, &ran, &report, begin_sync(c, &u)));
        end_sync(c, &u);
        if (desc.every) same_number(c, "due by its number", (uint64_t)ran, i % desc.every == 0);
        if (ran) follow_compaction(c, h, &x, &report);
    }
    clump_compactor_destroy(compactor);
}
