/* Merging, the baseline: as many passes as its rule allows, the same end by each rewrite.
 *
 * Read first: trial.h.
 */
#include <math.h>
#include <string.h>

#include "trial.h"

static cl_fixture *const f = &trial_fixture;

/* Passes that remove all but k1 of d candidates, at most (ISMM 3.6), with a little room for what
 * is left when groups do not come out even. */
static double most_passes(uint32_t d, uint32_t k1, uint32_t n) {
    if (d <= k1 || d < 2) return 0;
    return ceil(log((double)d / (k1 ? k1 : 1)) / log((n + 1.0) / n)) + 2;
}

static int more_passes; /* 1: any number of passes will do */

static void check_merge(const trial *t) {
    const world *w = t->w;
    uint32_t n = t->merge->factor, k1 = t->merge->retain;
    double passes = 0;
    uint64_t bytes_least = UINT64_MAX, bytes_most = 0;
    for (uint32_t id = 1; id <= w->class_count; id++) {
        if (!t->part[id] || !w->k[id].rows) continue;
        class_plan a = plan_of(t->before, id), b = plan_of(t->after, id);
        uint32_t d = plan_candidates(&a, w->k[id].capacity, n);
        uint32_t left = plan_candidates(&b, w->k[id].capacity, n);
        WORLD_CHECK(w, left <= k1 + n, "class %s: %u of %u candidates are left",
                    w->classes[id].name, left, d);
        WORLD_CHECK(w, a.blocks - b.blocks <= (d > k1 ? d - k1 : 0),
                    "class %s had %u candidates and lost %u blocks", w->classes[id].name, d,
                    a.blocks - b.blocks);
        passes += most_passes(d, k1, n);
        if (w->classes[id].object_bytes < bytes_least) bytes_least = w->classes[id].object_bytes;
        if (w->classes[id].object_bytes > bytes_most) bytes_most = w->classes[id].object_bytes;
        free(a.credits);
        free(b.credits);
    }
    for (uint32_t b = w->h->first_block; b < w->h->block_end; b++) {
        uint32_t was = block_class(w, t->before->image, b), is = block_class(w, t->after->image, b);
        WORLD_CHECK(w, is == was || !is, "block %u was opened", b);
    }
    const clump_compact_report *r = &t->report;
    WORLD_CHECK(w, more_passes || r->passes <= passes, "%u passes, at most %g expected", r->passes,
                passes);
    WORLD_CHECK(w,
                r->moves >= t->counts.moved && (r->moves != 0) == (r->passes != 0) &&
                    (r->blocks_freed != 0) == (r->passes != 0),
                "%llu moves, %llu objects moved, "
                "%u passes, %u blocks freed",
                (unsigned long long)r->moves, (unsigned long long)t->counts.moved, r->passes,
                r->blocks_freed);
    WORLD_CHECK(w,
                r->bytes_moved >= r->moves * bytes_least && r->bytes_moved <= r->moves * bytes_most,
                "%llu moves of %llu bytes", (unsigned long long)r->moves,
                (unsigned long long)r->bytes_moved);
    WORLD_CHECK(w,
                r->refs_rewritten >= t->counts.rewritten && r->refs_examined >= r->refs_rewritten,
                "%llu references rewritten, expected at least %llu",
                (unsigned long long)r->refs_rewritten, (unsigned long long)t->counts.rewritten);
    if (t->desc.null_dangling && r->passes)
        equal(t, "references dangling", r->refs_dangling, t->counts.dangling);
}

/* Candidates by turns from the states and from a bitmap. */
static void merge_in(int which, uint32_t n, uint32_t retain, size_t fill_number,
                     bench_merge_rewrite rewrite) {
    trial t;
    world *w = enter(which);
    bench_merge merge = {.factor = n,
                         .retain = retain,
                         .rewrite = rewrite,
                         .candidates = (bench_merge_candidates)((n + retain + which) % 2)};
    clump_compact_desc desc = {.size = sizeof desc, .null_dangling = fill_number == 2};
    w->random += n + fill_number * 7919;
    LABEL(w, "merge, %s, n = %u, k1 = %u, rewrite %d, fill %zu", worlds[which].name, n, retain,
          (int)rewrite, fill_number);
    snapshot_drop(world_fill(w, &fills[fill_number]));
    trial_merge(&t, w, &desc, &merge);
    check_merge(&t);
    trial_done(&t);
    trial_again(w, &desc, &merge);
}

static void merge_all(bench_merge_rewrite rewrite) {
    static const uint32_t factors[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        merge_in(NARROW, factors[i], 0, (size_t)i, rewrite);
        merge_in(NARROW, factors[i], 3, 1, rewrite);
        merge_in(NARROW, factors[i], 8, 0, rewrite);
        merge_in(WIDE, factors[i], 0, (size_t)i, rewrite);
        merge_in(HUGE_OBJECTS, factors[i], 0, 1, rewrite);
        merge_in(MANY_BLOCKS, factors[i], i == 1 ? 16 : 0, (size_t)i, rewrite);
    }
    merge_in(MANY_CLASSES, 1, 0, 1, rewrite);
    merge_in(NARROW, 63, 0, 0, rewrite); /* capacity - 1: every block that is not full */
    merge_in(NARROW, 1, 0, 4, rewrite);
    merge_in(NARROW, 1, 0, 5, rewrite);
    merge_in(NARROW, 1, 0, 7, rewrite);
    merge_in(ONE_BLOCK, 1, 0, 0, rewrite);
}

static void merge_forward(void **state) {
    merge_all(BENCH_REWRITE_FORWARD);
}

static void merge_recompute_global(void **state) {
    merge_all(BENCH_REWRITE_GLOBAL);
}

static void merge_recompute_shared(void **state) {
    if (f->capabilities->local_bytes < 48 << 10) skip(); /* the largest factor needs more */
    merge_all(BENCH_REWRITE_SHARED);
}

/* One pass a call does in the end what one call does. */
static void merge_passes(void **state) {
    for (int i = 0; i < 6; i++) {
        trial t, step;
        world *w = enter(i % 2 ? NARROW : WIDE);
        bench_merge merge = {.factor = i < 2 ? 1 : 3, .rewrite = (bench_merge_rewrite)(i / 2)};
        LABEL(w, "merge pass by pass, n = %u, rewrite %d", merge.factor, (int)merge.rewrite);
        w->random += (uint64_t)i;
        snapshot *start = world_fill(w, &(fill){.used = 100, .low = 0, .high = 60, .full = 5});
        trial_merge(&t, w, NULL, &merge);
        check_merge(&t);
        snapshot_put(w, start);
        merge.candidates = BENCH_CANDIDATES_BITMAP; /* finds the same */
        trial_merge(&step, w, NULL, &merge);
        check_merge(&step);
        equal(&t, "moves by a bitmap", step.report.moves, t.report.moves);
        equal(&t, "passes by a bitmap", step.report.passes, t.report.passes);
        WORLD_CHECK(w, same_slots(step.after, t.after), "not the slots of a call without a bitmap");
        trial_done(&step);
        snapshot_put(w, start);
        snapshot_drop(start);
        uint64_t moves = 0;
        uint32_t passes = 0, freed = 0;
        merge.max_passes = 1;
        do {
            trial_merge(&step, w, NULL, &merge);
            WORLD_CHECK(w, step.report.passes <= 1, "%u passes", step.report.passes);
            check_references(&step);
            moves += step.report.moves;
            passes += step.report.passes;
            freed += step.report.blocks_freed;
            if (step.report.passes) trial_done(&step);
        } while (step.report.passes);
        equal(&t, "moves of all passes", moves, t.report.moves);
        equal(&t, "passes", passes, t.report.passes);
        equal(&t, "blocks freed", freed, t.report.blocks_freed);
        WORLD_CHECK(w, same_slots(step.after, t.after), "not the slots of one call");
        trial_done(&step);
        trial_done(&t);
    }
}

/* Records of few sources fit in local memory: more passes, but the same in the end. */
static void merge_few_records(void **state) {
    trial t;
    world *w = enter(NARROW);
    bench_merge merge = {.factor = 1};
    LABEL(w, "merge, all records");
    snapshot *start = world_fill(w, &fills[1]);
    trial_merge(&t, w, NULL, &merge);
    check_merge(&t);
    uint32_t passes = t.report.passes;
    trial_done(&t);
    for (int i = 0; i < 2; i++) {
        LABEL(w, "merge, few records, n = %d", i + 1);
        snapshot_put(w, start);
        merge.factor = (uint32_t)i + 1;
        merge.rewrite = BENCH_REWRITE_SHARED;
        trial_merge(&t, w, NULL, &merge);
        more_passes = 1;
        check_merge(&t);
        more_passes = 0;
        WORLD_CHECK(w, t.report.passes > passes, "%u passes, and %u with all records",
                    t.report.passes, passes);
        trial_done(&t);
        trial_again(w, NULL, &merge);
    }
    merge.factor = 60;
    CHECK_STATUS(f, bench_merge_compact(w->heap, NULL, &merge, NULL, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(clump_context_get_error(f->clump)->message, "local memory"));
    snapshot_drop(start);
}

/* Subsets of classes, and n = 1: F is less than a half in all but one block. */
static void merge_subset(void **state) {
    static const char *const names[] = {"Mid", "Tiny"};
    trial t;
    world *w = enter(NARROW);
    clump_compact_desc desc = {.size = sizeof desc, .classes = names, .class_count = 2};
    LABEL(w, "merge, subset");
    snapshot_drop(world_fill(w, &fills[1]));
    trial_merge(&t, w, &desc, &merging);
    check_merge(&t);
    trial_done(&t);
}

/* ---- Main ------------------------------------------------------------------------------------ */

/* A device that says it has little local memory. */
#define LITTLE_LOCAL 8192u

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t bytes,
                                          void *value, size_t *needed) {
    cl_int code = clGetDeviceInfo(device, name, bytes, value, needed);
    if (!code && value && name == CL_DEVICE_LOCAL_MEM_SIZE) *(cl_ulong *)value = LITTLE_LOCAL;
    return code;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge_forward),          cmocka_unit_test(merge_recompute_global),
        cmocka_unit_test(merge_recompute_shared), cmocka_unit_test(merge_passes),
        cmocka_unit_test(merge_subset),
    };
    const struct CMUnitTest narrow_words[] = {
        cmocka_unit_test(merge_subset),
    };
    const struct CMUnitTest little_local[] = {
        cmocka_unit_test(merge_few_records),
    };
#define LINKED(name, result, parameters) .name = cl##name,
    clump_cl_functions functions = {sizeof functions, CLUMP_CL_FUNCTION_LIST(LINKED)};
#undef LINKED
    functions.GetDeviceInfo = get_device_info;
    const cl_fixture_desc little = {.cl = &functions};
    const trial_group groups[] = {
        TRIAL_GROUP("merging", tests, TRIAL_AS_IS),
        TRIAL_GROUP("32-bit words", narrow_words, TRIAL_NARROW_WORDS),
        TRIAL_GROUP("little local memory", little_local, .how = &little),
    };
    return TRIAL_MAIN(groups);
}
