/* One collection, held against what is expected.
 *
 * Read first: collect_core.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect_core.h"
#include "diff/compact/graph.h"

void same_number(const world *w, const char *what, uint64_t found, uint64_t expected) {
    WORLD_CHECK(w, found == expected, "%s: %llu, expected %llu", what, (unsigned long long)found,
                (unsigned long long)expected);
}

static void check_report(const gc_case *c, const clump_collect_desc *d,
                         const clump_collect_report *r) {
    const world *w = c->w;
    double sum = 0;
    same_number(w, "live", r->live, c->live_count);
    same_number(w, "dead", r->dead, c->before->count - c->live_count);
    same_number(w, "roots", r->roots, c->roots);
    same_number(w, "dangling roots", r->roots_dangling, c->dangling);
    same_number(w, "blocks freed", r->blocks_freed, c->blocks_freed);
    same_number(w, "weak references nulled", r->weak_nulled, d->only_mark ? 0 : c->nulled);
    /* Each object is scanned once. */
    same_number(w, "references read", r->refs_read, c->read);
    same_number(w, "references followed", r->refs_followed, c->followed);
    for (int i = 0; i < CLUMP_COLLECT_PHASE_COUNT; i++) sum += r->us[i];
    WORLD_CHECK(w, fabs(sum - r->total_us) <= 1e-9 * sum, "the sum of times is %g, not %g",
                r->total_us, sum);
    WORLD_CHECK(w, r->us[CLUMP_COLLECT_SWEEP] > 0 && r->launches > 2 && r->readbacks > 0,
                "nothing took time, or nothing was launched");
    WORLD_CHECK(w, r->floor_bytes >= 4 * c->read, "floor_bytes is %llu",
                (unsigned long long)r->floor_bytes);
    WORLD_CHECK(w, r->narrow_levels <= r->levels && r->queue_peak <= c->before->count,
                "%u narrow levels of %u, peak %u", r->narrow_levels, r->levels, r->queue_peak);
    if (d->tuning && d->tuning->narrow == CLUMP_NEVER)
        same_number(w, "narrow levels", r->narrow_levels, 0);
    /* Objects that found the queue full are taken up by refills where it is alone, as AUTO has it
     * on GPUs, and by sweeps elsewhere. */
    int by_queue =
        d->engine == CLUMP_MARK_QUEUE ||
        (d->engine == CLUMP_MARK_AUTO &&
         clumpi_heap_context(w->heap)->capabilities.personality == CLUMP_PERSONALITY_GPU);
    same_number(w, by_queue ? "sweeps" : "refills", by_queue ? r->sweeps : r->refills, 0);
    if (d->engine == CLUMP_MARK_HOST)
        same_number(w, "device levels", r->narrow_levels + r->sweeps + r->engine_changes, 0);
}

/* All dead objects of a class, each once. */
static void check_dead(const gc_case *c, const clump_ref *dead, uint32_t room,
                       const char *class_name) {
    const world *w = c->w;
    const snapshot *s = c->before;
    uint32_t first = class_name ? cl_fixture_class_id(w->heap, class_name) : 1, expected = 0;
    uint32_t last = class_name ? w->classes[first].last : w->class_count;
    uint8_t *seen = calloc(s->count + 1, 1);
    assert_non_null(seen);
    for (uint32_t n = s->start[first]; n < s->start[last + 1]; n++) expected += !c->live[n];
    same_number(w, "dead on the list", dead[0], expected);
    for (uint32_t i = 0; i < expected && i < room; i++) {
        uint32_t id = live_class(s, dead[1 + i]);
        WORLD_CHECK(w, id >= first && id <= last, "%08x on the list of the dead was no object",
                    dead[1 + i]);
        uint32_t n = number_of(s, dead[1 + i]);
        WORLD_CHECK(w, !c->live[n] && !seen[n], "%08x is on the list, but %s", dead[1 + i],
                    seen[n] ? "twice" : "it lives");
        seen[n] = 1;
    }
    free(seen);
}

/* What a reference outside is afterwards: objects are known by their tags. */
static void check_outside(const gc_case *c, const snapshot *now, clump_ref was, clump_ref is,
                          int weak) {
    const world *w = c->w;
    if (!names_live(c, was, 0)) {
        WORLD_CHECK(w, is == (weak ? 0 : was), "a%s reference %08x outside is now %08x",
                    weak ? " weak" : "", was, is);
        return;
    }
    uint32_t id = live_class(now, is);
    WORLD_CHECK(w, id == live_class(c->before, was), "%08x outside is %08x, which is no object",
                was, is);
    if (w->tag[id] < 0) return;
    /* Tags of `now` are new, those of `after` too, and there the object is where it was. */
    WORLD_CHECK(w, tag_of(now, number_of(now, is)) == tag_of(c->after, number_of(c->after, was)),
                "%08x outside is %08x, which is another object", was, is);
}

typedef struct outside {
    cl_mem packed, strided, weak, counted;
    clump_refs *refs[3];
    clump_handle handles[4];
} outside;

static void outside_open(const gc_case *c, outside *o) {
    const world *w = c->w;
    memset(o, 0, sizeof *o);
    for (uint32_t i = 0; i < c->held_count; i++)
        CHECK_OK(w->f, clump_heap_create_handle(w->heap, c->held[i], &o->handles[i]));
    if (!c->count) return;
    o->packed = cl_fixture_buffer(w->f, c->packed, c->count * 4);
    o->strided = cl_fixture_buffer(w->f, c->strided, c->count * STRIDE * 4);
    o->weak = cl_fixture_buffer(w->f, c->weak, c->count * 4);
    const uint32_t counted[] = {c->counted, c->count + 7}; /* the second is no limit */
    o->counted = cl_fixture_buffer(w->f, counted, sizeof counted);
    clump_refs_desc packed = {
        .size = sizeof packed, .buffer = o->packed, .count = c->count, .counted = o->counted};
    clump_refs_desc strided = {.size = sizeof strided,
                               .buffer = o->strided,
                               .stride = STRIDE * 4,
                               .count = c->count,
                               .counted = o->counted,
                               .counted_at = 4};
    clump_refs_desc weak = {.size = sizeof weak,
                            .buffer = o->weak,
                            .count = c->count,
                            .weak = 1,
                            .counted = o->counted};
    CHECK_OK(w->f, clump_refs_create(w->heap, &packed, &o->refs[0], NULL));
    CHECK_OK(w->f, clump_refs_create(w->heap, &weak, &o->refs[1], NULL));
    CHECK_OK(w->f, clump_refs_create(w->heap, &strided, &o->refs[2], NULL));
}

static void outside_close(const gc_case *c, outside *o, const snapshot *now, int only_mark) {
    const world *w = c->w;
    for (uint32_t i = 0; i < c->held_count; i++) {
        clump_ref is;
        CHECK_OK(w->f, clump_heap_read_handle(w->heap, o->handles[i], &is));
        check_outside(c, now, c->held[i], is, 0);
        CHECK_OK(w->f, clump_heap_destroy_handle(w->heap, o->handles[i]));
    }
    if (!c->count) return;
    for (int i = 0; i < 3; i++) clump_refs_destroy(o->refs[i]);
    clump_ref *is = malloc(c->count * STRIDE * 4);
    assert_non_null(is);
    cl_fixture_read(w->f, o->packed, is, c->count * 4);
    for (uint32_t i = 0; i < c->counted; i++) check_outside(c, now, c->packed[i], is[i], 0);
    const uint32_t rest = (c->count - c->counted) * 4; /* bytes that nothing may look at */
    WORLD_CHECK(w, !memcmp(is + c->counted, c->packed + c->counted, rest), "too many rewritten");
    cl_fixture_read(w->f, o->weak, is, c->count * 4);
    for (uint32_t i = 0; i < c->counted; i++)
        if (!only_mark) check_outside(c, now, c->weak[i], is[i], 1);
    WORLD_CHECK(w, !memcmp(is + c->counted, c->weak + c->counted, rest), "too many nulled");
    if (only_mark) WORLD_CHECK(w, !memcmp(is, c->weak, c->count * 4), "weak references changed");
    cl_fixture_read(w->f, o->strided, is, c->count * STRIDE * 4);
    for (uint32_t i = 0; i < c->count * STRIDE; i++) {
        if (i % STRIDE == 0)
            check_outside(c, now, c->strided[i], is[i], 0);
        else
            WORLD_CHECK(w, is[i] == c->strided[i], "what is between references has changed");
    }
    free(is);
    clReleaseMemObject(o->counted);
    clReleaseMemObject(o->packed);
    clReleaseMemObject(o->strided);
    clReleaseMemObject(o->weak);
}

clump_collect_report case_run(gc_case *c, const clump_collect_desc *options) {
    world *w = c->w;
    clump_collect_desc d = *options;
    clump_collect_report report = {.size = sizeof report};
    clump_compact_report compacted = {.size = sizeof compacted};
    outside o;
    snapshot_put(w, c->before);
    outside_open(c, &o);
    d.roots = c->singles;
    d.root_count = c->single_count;
    d.root_classes = c->classes;
    d.root_class_count = c->class_count;
    uint32_t room = c->before->count / 2 + 1;
    /* Words behind the list, which is too short for all, show who writes there. */
    enum { GUARDS = 2 };
    clump_ref *dead = calloc(room + 1 + GUARDS, sizeof *dead);
    assert_non_null(dead);
    cl_mem around = cl_fixture_buffer(w->f, dead, (room + 1 + GUARDS) * sizeof *dead);
    cl_buffer_region region = {0, (room + 1) * sizeof *dead};
    cl_int code;
    d.dead =
        clCreateSubBuffer(around, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    CHECK_CL(code);
    d.compact_report = &compacted;
    memset(&report, 0xee, sizeof report);
    report.size = sizeof report;
    CHECK_OK(w->f, clump_heap_collect(w->heap, &d, &report, NULL));
    clReleaseMemObject(d.dead);
    cl_fixture_read(w->f, around, dead, (room + 1 + GUARDS) * sizeof *dead);
    clReleaseMemObject(around);
    for (uint32_t i = 0; i < GUARDS; i++) same_number(w, "a guard", dead[room + 1 + i], 0);
    check_report(c, &d, &report);
    check_dead(c, dead, room, d.dead_class);
    free(dead);
    CHECK_HEAP(w->f, w->heap);
    snapshot *now = snapshot_take(w);
    if (d.only_mark) {
        WORLD_CHECK(w, same_slots(c->before, now), "only_mark has freed objects");
        WORLD_CHECK(w, now->count == c->before->count, "objects are missing");
        for (uint32_t n = 0; n < now->count; n++) {
            uint64_t at = (uint64_t)(now->refs[n] >> 6) * w->h->granule_bytes;
            WORLD_CHECK(w, !memcmp(now->image + at, c->before->image + at, w->h->granule_bytes),
                        "only_mark has changed a field");
        }
        snapshot_drop(now);
        now = snapshot_new(w, c->after->image); /* for what is outside: nothing moved */
        decode(now);
    } else {
        same_number(w, "objects left", now->count, c->live_count);
        same_enumeration(now);
        if (!d.compact) WORLD_CHECK(w, same_slots(c->after, now), "others than expected are left");
        retag(c, now);
        graph_counts counts;
        graph_rules rules = {.part = NULL};
        same_graph(c->after, now, &rules, &counts);
    }
    if (d.compact) same_number(w, "objects compacted", compacted.objects, c->live_count);
    outside_close(c, &o, now, d.only_mark);
    snapshot_drop(now);
    return report;
}
