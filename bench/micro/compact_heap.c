/* The heap that compact-synthetic and the figures compact. See compact_heap.h. */
#include "compact_heap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/heap.h"

#define OBJECT_BYTES 32u
#define CLASS_COUNT 3u /* Node, A, B */

/* Kernels in the order in which they are created. */
#define KERNEL_LIST(X)                                                                             \
    X(make_a)                                                                                      \
    X(make_b)                                                                                      \
    X(link_a)                                                                                      \
    X(link_b)                                                                                      \
    X(thin_a)                                                                                      \
    X(free_all)                                                                                    \
    X(verify_a)                                                                                    \
    X(verify_b)                                                                                    \
    X(count_moves)

typedef enum kernel_id {
#define KERNEL_ENUM(name) KERNEL_##name,
    KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_COUNT
} kernel_id;

/* What verify_a and verify_b count; a ulong4 on the device. */
typedef struct census {
    cl_ulong objects, numbers, wrong, damaged;
} census;

struct compact_heap {
    const bench_env *env;
    uint32_t objects, seed;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem places_a, places_b; /* number to reference, while the heap is built */
    cl_mem moves;              /* per number of A, or NULL */
    uint32_t class_a;
    int has_objects;
    census a, b; /* right after the heap was built */
};

static int fail(const compact_heap *h, const char *what, clump_status status, bench_error *error) {
    return bench_error_clump(error, what, h->env->clump, status);
}

static int create_heap(compact_heap *h, const compact_heap_desc *desc, bench_error *error) {
    uint64_t bytes = desc->heap_bytes;
    if (bytes == 0) { /* bitmaps and lists beside the objects */
        uint64_t classes = desc->has_copy_room ? 3 : 2;
        bytes = classes * h->objects * OBJECT_BYTES * 9 / 8 + (32u << 20);
    }
    bench_heap_desc heap = {.clump = h->env->clump,
                            .file = "bench/micro/compact.schema",
                            .bytes = bytes,
                            .block_rows = desc->block_rows,
                            .buffers = desc->buffers};
    if (bench_heap_create(&heap, &h->heap, error)) return -1;
    const clump_class_info *info =
        clump_schema_find_class(clump_heap_get_info(h->heap)->schema, "A");
    h->class_a = info ? info->id : 0;
    return info ? 0 : fail(h, "class A", CLUMP_ERR_NOT_FOUND, error);
}

static int create_buffer(compact_heap *h, cl_mem *buffer, bench_error *error) {
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(h->env->context, CL_MEM_READ_WRITE,
                             (size_t)h->objects * sizeof(cl_uint), NULL, &code);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a buffer of references", code);
}

static int create_kernels(compact_heap *h, bench_error *error) {
    static const char *const names[] = {
#define KERNEL_NAME(name) #name,
        KERNEL_LIST(KERNEL_NAME)
#undef KERNEL_NAME
    };
    static const char *const before[] = {"bench/micro/compact_draw.clh", NULL};
    bench_program_desc desc = {.clump = h->env->clump,
                               .heap = h->heap,
                               .file = "bench/micro/compact.cl",
                               .before = before,
                               .names = names,
                               .count = KERNEL_COUNT};
    return bench_program_create(&desc, &h->program, h->kernels, error);
}

static int set(compact_heap *h, kernel_id kernel, uint32_t index, size_t bytes, const void *value,
               bench_error *error) {
    clump_status status = clump_kernel_set_arg(h->kernels[kernel], index, bytes, value);
    return status == CLUMP_OK ? 0 : fail(h, "setting an argument", status, error);
}

/* Arguments that stay; see the kernels' parameters. */
static int set_constants(compact_heap *h, bench_error *error) {
    static const struct {
        kernel_id kernel;
        uint32_t seed, objects; /* their indices; 0 objects: none */
    } numbers[] = {{KERNEL_link_a, 1, 2},
                   {KERNEL_link_b, 1, 2},
                   {KERNEL_thin_a, 0, 0},
                   {KERNEL_verify_a, 0, 1},
                   {KERNEL_verify_b, 0, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        kernel_id kernel = numbers[i].kernel;
        uint32_t objects = numbers[i].objects;
        if (set(h, kernel, numbers[i].seed, sizeof h->seed, &h->seed, error) ||
            (objects && set(h, kernel, objects, sizeof h->objects, &h->objects, error))) {
            return -1;
        }
    }
    if (set(h, KERNEL_make_a, 0, sizeof h->places_a, &h->places_a, error) ||
        set(h, KERNEL_make_b, 0, sizeof h->places_b, &h->places_b, error) ||
        set(h, KERNEL_link_a, 0, sizeof h->places_b, &h->places_b, error) ||
        set(h, KERNEL_link_b, 0, sizeof h->places_a, &h->places_a, error)) {
        return -1;
    }
    if (!h->moves) return 0;
    return set(h, KERNEL_count_moves, 0, sizeof h->places_a, &h->places_a, error) ||
                   set(h, KERNEL_count_moves, 1, sizeof h->moves, &h->moves, error)
               ? -1
               : 0;
}

int compact_heap_create(const compact_heap_desc *desc, compact_heap **heap, bench_error *error) {
    *heap = NULL;
    compact_heap *h = calloc(1, sizeof *h);
    if (!h) return bench_error_set(error, "host memory ran out");
    h->env = desc->env;
    h->objects = desc->objects;
    h->seed = desc->seed;
    if (create_heap(h, desc, error) || create_buffer(h, &h->places_a, error) ||
        create_buffer(h, &h->places_b, error) ||
        (desc->counts_moves && create_buffer(h, &h->moves, error)) || create_kernels(h, error) ||
        set_constants(h, error)) {
        compact_heap_destroy(h);
        return -1;
    }
    *heap = h;
    return 0;
}

void compact_heap_destroy(compact_heap *h) {
    if (!h) return;
    for (int i = 0; i < KERNEL_COUNT; i++) clump_kernel_destroy(h->kernels[i]);
    clump_program_destroy(h->program);
    clump_heap_destroy(h->heap);
    if (h->places_a) clReleaseMemObject(h->places_a);
    if (h->places_b) clReleaseMemObject(h->places_b);
    if (h->moves) clReleaseMemObject(h->moves);
    free(h);
}

clump_heap *compact_heap_get(compact_heap *h) {
    return h->heap;
}

/* ---- Building -------------------------------------------------------------------------------- */

static int run(compact_heap *h, kernel_id kernel, const char *what, bench_error *error) {
    clump_status status = clump_heap_do_all(h->heap, h->kernels[kernel], NULL);
    return status == CLUMP_OK ? 0 : fail(h, what, status, error);
}

static int make(compact_heap *h, const char *class_name, kernel_id kernel, bench_error *error) {
    uint64_t made = 0;
    clump_status status =
        clump_heap_do_new(h->heap, h->kernels[kernel], class_name, h->objects, &made, NULL);
    if (status != CLUMP_OK) return fail(h, "making the objects", status, error);
    if (made == h->objects) return 0;
    return bench_error_set(error, "the heap has room for %" PRIu64 " of %u objects of class %s",
                           made, h->objects, class_name);
}

static int take_census(compact_heap *h, census *a, census *b, bench_error *error) {
    clump_status status =
        clump_heap_reduce(h->heap, h->kernels[KERNEL_verify_a], sizeof *a, a, NULL);
    if (status == CLUMP_OK) {
        status = clump_heap_reduce(h->heap, h->kernels[KERNEL_verify_b], sizeof *b, b, NULL);
    }
    return status == CLUMP_OK ? 0 : fail(h, "verifying the objects", status, error);
}

static int clear_moves(compact_heap *h, bench_error *error) {
    cl_uint zero = 0;
    cl_int code = clEnqueueFillBuffer(h->env->queue, h->moves, &zero, sizeof zero, 0,
                                      (size_t)h->objects * sizeof zero, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "clearing the counts of moves", code);
}

static int build(compact_heap *h, cl_ulong dead_below, bench_error *error) {
    cl_uint dead_is_null = 0;
    if (set(h, KERNEL_thin_a, 1, sizeof dead_below, &dead_below, error) ||
        set(h, KERNEL_verify_a, 2, sizeof dead_below, &dead_below, error) ||
        set(h, KERNEL_verify_b, 2, sizeof dead_below, &dead_below, error) ||
        set(h, KERNEL_verify_b, 3, sizeof dead_is_null, &dead_is_null, error) ||
        (h->has_objects && run(h, KERNEL_free_all, "freeing the objects", error))) {
        return -1;
    }
    h->has_objects = 1;
    if (make(h, "A", KERNEL_make_a, error) || make(h, "B", KERNEL_make_b, error) ||
        run(h, KERNEL_link_a, "linking", error) || run(h, KERNEL_link_b, "linking", error) ||
        run(h, KERNEL_thin_a, "thinning out", error)) {
        return -1;
    }
    return h->moves ? clear_moves(h, error) : 0;
}

/* That the heap is what it should be before anything is compacted, so that what is found wrong
 * afterwards is the compaction's doing. */
static int inspect(compact_heap *h, double dead, bench_error *error) {
    double share = dead / 100;
    double expected = (double)h->objects * (1 - share);
    double spread = 6 * sqrt((double)h->objects * share * (1 - share)) + 1;
    clump_status status = clump_heap_take_errors(h->heap, NULL);
    if (status != CLUMP_OK) return fail(h, "building the heap", status, error);
    if (take_census(h, &h->a, &h->b, error)) return -1;
    if (h->a.wrong || h->b.wrong || h->a.damaged || h->b.damaged || h->b.objects != h->objects ||
        fabs((double)h->a.objects - expected) > spread) {
        return bench_error_set(error,
                               "the heap was built wrongly: %" PRIu64 " A for about %.0f, %" PRIu64
                               " B for %u, %" PRIu64 " wrong references, %" PRIu64
                               " damaged objects",
                               h->a.objects, expected, h->b.objects, h->objects,
                               h->a.wrong + h->b.wrong, h->a.damaged + h->b.damaged);
    }
    return 0;
}

int compact_heap_build(compact_heap *h, double dead, bench_error *error) {
    return build(h, compact_heap_below(dead), error) || inspect(h, dead, error) ? -1 : 0;
}

/* ---- Compacting and verifying ---------------------------------------------------------------- */

int compact_heap_compact(compact_heap *h, const clump_compact_desc *desc, const bench_merge *merge,
                         clump_compact_report *report, double *wall_us, bench_error *error) {
    static const char *const classes[] = {"A"};
    clump_compact_desc of_a = *desc;
    of_a.classes = classes;
    of_a.class_count = 1;
    cl_int code = clFinish(h->env->queue); /* the clock is to see nothing else */
    if (code != CL_SUCCESS) return bench_error_cl(error, "clFinish", code);
    double start_us = bench_now_us();
    clump_status status = bench_merge_compact(h->heap, &of_a, merge, report, NULL);
    if (wall_us) *wall_us = bench_now_us() - start_us;
    return status == CLUMP_OK ? 0 : fail(h, "compacting", status, error);
}

static int compare_census(const char *class_name, const census *before, const census *after,
                          bench_error *error) {
    if (after->wrong || after->damaged) {
        bench_error_set(error,
                        "of %" PRIu64 " %s, %" PRIu64 " refer to a wrong object and %" PRIu64
                        " have wrong contents",
                        after->objects, class_name, after->wrong, after->damaged);
        return 1;
    }
    if (before->objects != after->objects || before->numbers != after->numbers) {
        bench_error_set(error,
                        "there are %" PRIu64 " %s with numbers of sum %016" PRIx64
                        " instead of %" PRIu64 " of %016" PRIx64,
                        after->objects, class_name, after->numbers, before->objects,
                        before->numbers);
        return 1;
    }
    return 0;
}

/* A status of the library that says that the heap is not what it should be, or that the call
 * failed. */
static int judge(const compact_heap *h, const char *what, clump_status status, bench_error *error) {
    if (status == CLUMP_OK) return 0;
    fail(h, what, status, error);
    return status == CLUMP_ERR_CORRUPT || status == CLUMP_ERR_DEVICE ? 1 : -1;
}

int compact_heap_verify(compact_heap *h, const clump_compact_desc *moved, bench_error *error) {
    census a, b;
    cl_uint dead_is_null = moved && moved->null_dangling;
    int result = judge(h, "the fetch of errors", clump_heap_take_errors(h->heap, NULL), error);
    if (result == 0) {
        result = judge(h, "the heap check", clump_heap_check(h->heap), error);
    }
    if (result) return result;
    if (set(h, KERNEL_verify_b, 3, sizeof dead_is_null, &dead_is_null, error) ||
        take_census(h, &a, &b, error)) {
        return -1;
    }
    result = compare_census("A", &h->a, &a, error);
    return result ? result : compare_census("B", &h->b, &b, error);
}

int compact_heap_verify_left(compact_heap *h, uint64_t a_left, uint64_t b_left,
                             bench_error *error) {
    census a, b;
    int result = judge(h, "the heap check", clump_heap_check(h->heap), error);
    if (result) return result;
    if (take_census(h, &a, &b, error)) return -1;
    census a_expected = {a_left, a.numbers, 0, 0}, b_expected = {b_left, b.numbers, 0, 0};
    result = compare_census("A", &a_expected, &a, error);
    return result ? result : compare_census("B", &b_expected, &b, error);
}

int compact_heap_read_places(compact_heap *h, clump_ref *places, bench_error *error) {
    cl_int code = clEnqueueReadBuffer(h->env->queue, h->places_a, CL_TRUE, 0,
                                      (size_t)h->objects * sizeof *places, places, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading references", code);
}

/* ---- Fill levels ----------------------------------------------------------------------------- */

/* The capacity of a block of A, 0 if there is none. */
static int find_capacity(compact_heap *h, uint32_t *capacity, bench_error *error) {
    clump_class_stats classes[CLASS_COUNT] = {{.size = sizeof *classes}};
    clump_status status = clump_heap_read_stats(h->heap, NULL, classes, CLASS_COUNT);
    if (status != CLUMP_OK) return fail(h, "the statistics", status, error);
    const clump_class_stats *a = &classes[h->class_a - 1];
    *capacity = a->blocks ? (uint32_t)(a->slots / a->blocks) : 0;
    return 0;
}

static int read_refs(compact_heap *h, clump_ref **refs, uint64_t *count, bench_error *error) {
    clump_status status = clump_heap_read_count(h->heap, "A", count);
    if (status != CLUMP_OK) return fail(h, "the count", status, error);
    *refs = malloc((*count + 1) * sizeof **refs);
    if (!*refs) return bench_error_set(error, "host memory ran out for references");
    status = clump_heap_read_refs(h->heap, "A", *refs, *count, count);
    return status == CLUMP_OK ? 0 : fail(h, "the enumeration", status, error);
}

/* Count the objects of each block, then the blocks of each count. */
static int count_blocks(const clump_heap_info *layout, const clump_ref *refs, uint64_t count,
                        compact_fill *fill, bench_error *error) {
    size_t blocks = (size_t)layout->first_block + layout->block_count;
    uint32_t *objects_in = calloc(blocks, sizeof *objects_in);
    fill->blocks_of = calloc((size_t)fill->capacity + 1, sizeof *fill->blocks_of);
    if (!objects_in || !fill->blocks_of) {
        free(objects_in);
        return bench_error_set(error, "host memory ran out for fill levels");
    }
    int bad = 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t block = (refs[i] >> 6) / layout->block_granules;
        if (block >= blocks || ++objects_in[block] > fill->capacity) bad = 1;
    }
    for (size_t block = 0; !bad && block < blocks; block++) {
        fill->blocks_of[objects_in[block]] += objects_in[block] > 0;
        fill->blocks += objects_in[block] > 0;
    }
    free(objects_in);
    fill->objects = count;
    return bad ? bench_error_set(error,
                                 "an enumerated reference leads outside of the heap, or a "
                                 "block has more objects than slots")
               : 0;
}

int compact_heap_fill(compact_heap *h, compact_fill *fill, bench_error *error) {
    clump_ref *refs = NULL;
    uint64_t count = 0;
    memset(fill, 0, sizeof *fill);
    int result = find_capacity(h, &fill->capacity, error) || read_refs(h, &refs, &count, error) ||
                         count_blocks(clump_heap_get_info(h->heap), refs, count, fill, error)
                     ? -1
                     : 0;
    free(refs);
    if (result) compact_fill_release(fill);
    return result;
}

void compact_fill_release(compact_fill *fill) {
    free(fill->blocks_of);
    fill->blocks_of = NULL;
}

double compact_fill_fragmentation(const compact_fill *fill) {
    double slots = (double)fill->blocks * fill->capacity;
    return slots > 0 ? 1 - (double)fill->objects / slots : 0;
}

uint64_t compact_fill_moves_minimum(const compact_fill *fill, double slack) {
    if (fill->blocks == 0) return 0;
    double slots = (double)fill->objects + ceil((double)fill->objects * slack);
    double wanted = ceil(slots / fill->capacity);
    uint32_t keep = wanted < fill->blocks ? (uint32_t)wanted : fill->blocks;
    uint64_t stay = 0;
    for (uint32_t n = fill->capacity; n > 0 && keep > 0; n--) {
        uint32_t taken = fill->blocks_of[n] < keep ? fill->blocks_of[n] : keep;
        stay += (uint64_t)taken * n;
        keep -= taken;
    }
    return fill->objects - stay;
}

uint32_t compact_fill_candidates(const compact_fill *fill, uint32_t n) {
    uint32_t candidates = 0;
    for (uint32_t objects = 1; objects <= fill->capacity; objects++) {
        if ((uint64_t)objects * (n + 1) <= (uint64_t)n * fill->capacity) {
            candidates += fill->blocks_of[objects];
        }
    }
    return candidates;
}

/* ---- Counting moves -------------------------------------------------------------------------- */

static int add_counts(compact_heap *h, uint64_t *counts, size_t size, bench_error *error) {
    cl_uint *moves = malloc((size_t)h->objects * sizeof *moves);
    if (!moves) return bench_error_set(error, "host memory ran out for the counts of moves");
    cl_int code = clEnqueueReadBuffer(h->env->queue, h->moves, CL_TRUE, 0,
                                      (size_t)h->objects * sizeof *moves, moves, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        free(moves);
        return bench_error_cl(error, "reading the counts of moves", code);
    }
    memset(counts, 0, size * sizeof *counts);
    for (uint32_t i = 0; i < h->objects; i++) {
        counts[moves[i] < size ? moves[i] : size - 1]++;
    }
    counts[0] -= h->objects - h->a.objects; /* the dead never move */
    free(moves);
    return 0;
}

int compact_heap_count_moves(compact_heap *h, uint64_t *counts, size_t size, bench_error *error) {
    if (run(h, KERNEL_count_moves, "counting moves", error)) return -1;
    return counts ? add_counts(h, counts, size, error) : 0;
}
