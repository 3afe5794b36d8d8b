/* Collection: a marker of the client's own says what must stay. */
#include "client.h"

enum { ROOTS_MAX = 12 };

/* What is asked for, and what must come of it. */
typedef struct collection {
    client *c;
    heap_model *h;
    clump_collect_desc desc;
    clump_mark_tuning tuning;
    clump_ref roots[ROOTS_MAX];
    const char *class_names[CLASSES_MAX];
    int classes[CLASSES_MAX];
    int dead_class; /* NO_CLASS: all */
    uint32_t dead_room;
    compaction compaction;
    /* By number of the object; `list` has those that were reached, `done` of them looked
     * through. */
    uint8_t *live;
    uint32_t *list, count, done;
    uint64_t root_count, dangling, read, followed, nulled;
} collection;

/* ---- The marker ------------------------------------------------------------------------------ */

static void reach(collection *g, clump_ref ref, int class) {
    if (!names(g->c, g->h, ref, class)) return;
    uint32_t n = (uint32_t)(object_at(g->h, ref) - g->h->objects);
    if (g->live[n]) return;
    g->live[n] = 1;
    g->list[g->count++] = n;
}

static void reach_root(collection *g, clump_ref ref) {
    g->root_count += ref != 0;
    g->dangling += ref && !object_at(g->h, ref);
    reach(g, ref, NO_CLASS);
}

static clump_ref reach_outside(void *user, clump_ref ref, outside_rules rules) {
    if (!rules.weak) reach_root(user, ref);
    return ref;
}

static void look_through(collection *g, const object_model *o) {
    const class_model *k = &g->c->classes[o->class];
    for (uint32_t i = 0; i < k->field_count; i++) {
        const field_model *f = &g->c->fields[k->fields[i]];
        if (f->type != CLUMP_TYPE_REF || f->weak) continue;
        for (uint32_t e = 0; e < f->elements; e++) {
            clump_ref ref = o->words[f->at + e];
            g->read++;
            g->followed += ref != 0;
            reach(g, ref, f->target);
        }
    }
    for (uint32_t i = 0; i < g->c->array_count; i++) {
        const array_model *a = &g->c->arrays[i];
        const uint32_t length = o->lengths[i];
        if (a->element.type != CLUMP_TYPE_REF || !has_array(g->c, o, i)) continue;
        g->read += length > a->inside ? length : a->inside; /* those in the object in any case */
        for (uint32_t e = 0; e < length; e++) {
            g->followed += o->elements[i][e] != 0;
            reach(g, o->elements[i][e], a->element.target);
        }
    }
}

static void mark(collection *g) {
    const clump_collect_desc *d = &g->desc;
    for (uint64_t i = 0; i < d->root_count; i++) reach_root(g, g->roots[i]);
    for (uint32_t i = 0; i < d->root_class_count; i++)
        for (uint32_t n = 0; n < g->h->count; n++) {
            if (!is_a(g->c, g->h->objects[n].class, g->classes[i])) continue;
            g->root_count++;
            reach(g, g->h->objects[n].ref, NO_CLASS);
        }
    change_outside(g->h, reach_outside, g);
    while (g->done < g->count) look_through(g, &g->h->objects[g->list[g->done++]]);
}

/* ---- What is asked for ----------------------------------------------------------------------- */

static void draw_roots(collection *g) {
    client *c = g->c;
    g->desc.roots = g->roots;
    g->desc.root_count = chance(c, 60) ? below(c, ROOTS_MAX + 1) : 0;
    for (uint64_t i = 0; i < g->desc.root_count; i++)
        g->roots[i] = draw_reference(c, g->h, draw_any_class(c));
    g->desc.root_classes = g->class_names;
    g->desc.root_class_count = chance(c, 70) ? 1 + below(c, 2) : 0;
    for (uint32_t i = 0; i < g->desc.root_class_count; i++) {
        g->classes[i] = draw_any_class(c);
        g->class_names[i] = c->classes[g->classes[i]].name;
    }
    /* Containers stay more often than other objects: the work of many operations is in them. */
    for (int k = c->drawn_classes; k < c->class_count; k++) {
        if (g->desc.root_class_count == CLASSES_MAX || !chance(c, 60)) continue;
        g->classes[g->desc.root_class_count] = k;
        g->class_names[g->desc.root_class_count++] = c->classes[k].name;
    }
}

static void draw_marking(collection *g) {
    client *c = g->c;
    clump_collect_desc *d = &g->desc;
    clump_mark_tuning *t = &g->tuning;
    d->tuning = t;
    d->engine = (clump_mark_engine)below(c, CLUMP_MARK_HOST + 1);
    t->offsets = (clump_mark_offsets)below(c, 2);
    if (chance(c, 30)) d->queue_room = logarithmic(c, 64, 4096);
    if (chance(c, 30)) t->narrow = chance(c, 50) ? CLUMP_NEVER : 1 + below(c, 1024);
    if (chance(c, 30)) t->wide = chance(c, 50) ? CLUMP_NEVER : 1 + below(c, 8);
    if (chance(c, 20)) t->groups = 1;
    t->stay = chance(c, 30);
    d->only_mark = chance(c, 20);
}

/* The list of the dead, and who looks at them before they go. */
static void draw_burial(collection *g) {
    client *c = g->c;
    clump_collect_desc *d = &g->desc;
    g->dead_class = NO_CLASS;
    if (chance(c, 50)) return;
    if (chance(c, 60)) {
        g->dead_class = chance(c, 50) ? c->roles.buried : draw_any_class(c);
        d->dead_class = c->classes[g->dead_class].name;
    }
    g->dead_room = chance(c, 30) ? 1 + below(c, 50) : g->h->count + 1;
    if (g->dead_room > OUT_WORDS) g->dead_room = OUT_WORDS;
    d->dead = cl_fixture_buffer(&c->on, NULL, (g->dead_room + 1) * sizeof(clump_ref));
    if (g->dead_class != c->roles.buried || d->only_mark) return;
    d->finaliser = c->kernels[KERNEL_bury];
    CHECK_OK(&c->on, clump_kernel_set_arg(d->finaliser, 1, sizeof c->out_buffer, &c->out_buffer));
    SET_NUMBERS(c, d->finaliser, 2, g->dead_room);
    fill_out(c, g->dead_room, UNTOUCHED);
}

static void describe(const collection *g) {
    const clump_collect_desc *d = &g->desc;
    const clump_mark_tuning *t = &g->tuning;
    note(g->c, "engine %d, offsets %d, queue_room %u, narrow %u, wide %u, groups %u, stay %d",
         (int)d->engine, (int)t->offsets, d->queue_room, t->narrow, t->wide, t->groups, t->stay);
    note(g->c, ", %u roots", (uint32_t)d->root_count);
    for (uint32_t i = 0; i < d->root_class_count; i++) note(g->c, ", %s", g->class_names[i]);
    if (d->only_mark) note(g->c, ", only_mark");
    if (d->dead) note(g->c, ", dead of %s", d->dead_class ? d->dead_class : "all classes");
    if (d->finaliser) note(g->c, ", finaliser");
    if (d->compact) note(g->c, ", then compact");
}

static void collection_open(collection *g, client *c, heap_model *h) {
    *g = (collection){.c = c, .h = h, .desc = {.size = sizeof g->desc}};
    g->live = must_alloc(h->count + 1);
    g->list = must_alloc((h->count + 1) * sizeof *g->list);
}

static void collection_close(collection *g) {
    if (g->desc.dead) clReleaseMemObject(g->desc.dead);
    free(g->live);
    free(g->list);
}

/* ---- What must come of it -------------------------------------------------------------------- */

/* Does a reference name an object that stays? */
static int names_live(const collection *g, clump_ref ref, int class) {
    return names(g->c, g->h, ref, class) && g->live[object_at(g->h, ref) - g->h->objects];
}

static void null_weak_fields(collection *g) {
    client *c = g->c;
    for (uint32_t n = 0; n < g->h->count; n++) {
        object_model *o = &g->h->objects[n];
        const class_model *k = &c->classes[o->class];
        for (uint32_t i = 0; i < k->field_count && g->live[n]; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && f->weak; e++) {
                uint32_t *word = &o->words[f->at + e];
                if (!*word || names_live(g, *word, f->target)) continue;
                g->nulled++;
                if (!g->desc.only_mark) *word = 0;
            }
        }
    }
}

static clump_ref null_weak_outside(void *user, clump_ref ref, outside_rules rules) {
    collection *g = user;
    if (!rules.weak || !ref || names_live(g, ref, NO_CLASS)) return ref;
    g->nulled++;
    return g->desc.only_mark ? ref : 0;
}

/* All dead objects of the class, each once; and what the finaliser read of them. */
static void compare_dead(const collection *g) {
    client *c = g->c;
    const heap_model *h = g->h;
    uint32_t expected = 0;
    if (!g->desc.dead) return;
    clump_ref *dead = must_alloc((g->dead_room + 1) * sizeof *dead);
    uint8_t *seen = must_alloc(h->count + 1);
    cl_fixture_read(&c->on, g->desc.dead, dead, (g->dead_room + 1) * sizeof *dead);
    if (g->desc.finaliser) read_out(c, g->dead_room);
    for (uint32_t n = 0; n < h->count; n++)
        expected += !g->live[n] &&
                    (g->dead_class == NO_CLASS || is_a(c, h->objects[n].class, g->dead_class));
    same_number(c, "dead on the list", dead[0], expected);
    for (uint32_t i = 0; i < expected && i < g->dead_room; i++) {
        const object_model *o = object_at(h, dead[1 + i]);
        if (!o || g->live[o - h->objects] || seen[o - h->objects]++ ||
            (g->dead_class != NO_CLASS && !is_a(c, o->class, g->dead_class)))
            complain(c, "%08x is on the list of the dead, and should not be, or is twice",
                     dead[1 + i]);
        if (g->desc.finaliser) same_number(c, "tag read by a finaliser", c->out[i], o->tag);
    }
    free(seen);
    free(dead);
}

static void bury_model(collection *g) {
    heap_model *h = g->h;
    clump_ref *gone = must_alloc((h->count + 1) * sizeof *gone);
    uint32_t count = 0;
    for (uint32_t n = 0; n < h->count; n++)
        if (!g->live[n]) gone[count++] = h->objects[n].ref;
    for (uint32_t i = 0; i < count; i++) remove_object(g->c, h, gone[i]);
    g->c->sum.dead += count;
    free(gone);
}

static void compare_report(const collection *g, const clump_collect_report *p, uint64_t objects) {
    client *c = g->c;
    same_number(c, "live", p->live, g->count);
    same_number(c, "dead", p->dead, objects - g->count);
    same_number(c, "roots", p->roots, g->root_count);
    same_number(c, "dangling roots", p->roots_dangling, g->dangling);
    same_number(c, "references read", p->refs_read, g->read);
    same_number(c, "references followed", p->refs_followed, g->followed);
    same_number(c, "weak references nulled", p->weak_nulled, g->desc.only_mark ? 0 : g->nulled);
}

/* The blocks of raw memory that arrays of the dead had are not reported. */
static uint32_t blocks_of_classes(const client *c, const heap_model *h) {
    uint32_t blocks = 0;
    for (int k = 0; k < c->class_count; k++)
        blocks += (uint32_t)h->classes[c->classes[k].id - 1].blocks;
    return blocks;
}

/* The collection was made: the model follows, and everything is compared. */
static void follow_collection(collection *g, const clump_collect_report *report) {
    client *c = g->c;
    heap_model *h = g->h;
    uint64_t objects = h->count;
    const uint32_t blocks = blocks_of_classes(c, h);
    mark(g);
    null_weak_fields(g);
    change_outside(h, null_weak_outside, g);
    compare_dead(g);
    if (report) compare_report(g, report, objects);
    if (!g->desc.only_mark) bury_model(g);
    c->sum.weak_nulled += g->desc.only_mark ? 0 : g->nulled;
    if (g->desc.compact) {
        /* Statistics in between are not to be had; those before the collection serve nobody. */
        for (int k = 0; k < c->class_count; k++) {
            clump_class_stats *s = &h->classes[c->classes[k].id - 1];
            s->objects = 0;
            for (uint32_t n = 0; n < h->count; n++) s->objects += h->objects[n].class == k;
        }
        follow_compaction(c, h, &g->compaction, NULL);
        return;
    }
    name_all(c, h);
    settle(c, h);
    if (report && !g->desc.only_mark)
        same_number(c, "blocks freed", report->blocks_freed, blocks - blocks_of_classes(c, h));
    compare_all(c, h);
}

/* ---- Operations ------------------------------------------------------------------------------ */

void collect(client *c, heap_model *h) {
    collection g;
    clump_collect_report report = {.size = sizeof report};
    int wants_report = chance(c, 75);
    collection_open(&g, c, h);
    draw_roots(&g);
    draw_marking(&g);
    draw_burial(&g);
    if (!g.desc.only_mark && chance(c, 25)) {
        draw_compaction(c, &g.compaction, 0, 0);
        g.desc.compact = &g.compaction.desc;
        note(c, "; ");
    }
    describe(&g);
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    CHECK_OK(&c->on, clump_heap_collect(h->heap, &g.desc, wants_report ? &report : NULL, sync));
    end_sync(c, &u);
    follow_collection(&g, wants_report ? &report : NULL);
    collection_close(&g);
}

/* A collector that is asked a few times; the second time at the latest it collects. */
void collect_when_due(client *c, heap_model *h) {
    clump_collector *collector;
    collection g;
    collection_open(&g, c, h);
    draw_roots(&g);
    describe(&g);
    clump_collector_desc desc = {
        .size = sizeof desc, .heap = h->heap, .collect = &g.desc, .fill = 0.5};
    desc.every = 1 + below(c, 2);
    desc.out_of_memory = chance(c, 30); /* no null since the reports were fetched */
    desc.growth = below(c, 3) / 10.0;
    CHECK_OK(&c->on, clump_collector_create(&desc, &collector, NULL));
    for (uint32_t i = 1, ran = 0; i <= 2 && !ran; i++) {
        int collected = 0;
        clump_collect_report report = {.size = sizeof report};
        sync_use u;
        CHECK_OK(&c->on, clump_collector_tick(collector, &collected, &report, begin_sync(c, &u)));
        end_sync(c, &u);
        ran = collected != 0;
        if (i == 2 || desc.every == 1) same_number(c, "collections on demand", ran, 1);
        if (ran) follow_collection(&g, &report);
    }
    clump_collector_destroy(collector);
    collection_close(&g);
}
