/* The heap of compact-synthetic, to be marked. See synthetic.h. */
#include "synthetic.h"

#include <stdlib.h>

#include "bench/micro/compact_draw.clh"
#include "bench/micro/compact_heap.h"

struct mark_synthetic {
    const bench_env *env;
    const mark_graph *graph;
    uint32_t objects, living; /* living: A */
    uint32_t *number;         /* of an A, by node */
    compact_heap *heap;
    cl_mem roots;
    clump_refs *registered;
};

static int number_nodes(mark_synthetic *h, const mark_synthetic_desc *d, bench_error *error) {
    uint64_t dead_below = compact_heap_below(d->dead);
    h->living = d->graph->nodes - d->objects;
    h->number = malloc(((size_t)h->living + 1) * sizeof *h->number);
    if (!h->number) return bench_error_set(error, "host memory ran out for a heap");
    for (uint32_t i = 0, node = 0; i < d->objects && node < h->living; i++)
        if (!dies(i, d->seed, dead_below)) h->number[node++] = i;
    return 0;
}

static int put_roots(mark_synthetic *h, bench_error *error) {
    const mark_graph *g = h->graph;
    size_t bytes = (size_t)g->roots * sizeof(clump_ref);
    if (!g->roots) return 0;
    clump_ref *places = malloc((size_t)h->objects * sizeof *places), *refs = malloc(bytes);
    cl_int code = CL_SUCCESS;
    int result = places && refs ? compact_heap_read_places(h->heap, places, error)
                                : bench_error_set(error, "host memory ran out for roots");
    for (uint32_t i = 0; i < g->roots && !result; i++) refs[i] = places[h->number[g->root[i]]];
    if (!result)
        h->roots = clCreateBuffer(h->env->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
                                  refs, &code);
    free(places);
    free(refs);
    if (result) return result;
    if (code) return bench_error_cl(error, "the roots", code);
    clump_refs_desc desc = {.size = sizeof desc, .buffer = h->roots, .count = g->roots};
    clump_status status = clump_refs_create(compact_heap_get(h->heap), &desc, &h->registered, NULL);
    return status ? bench_error_clump(error, "the roots", h->env->clump, status) : 0;
}

int mark_synthetic_create(const mark_synthetic_desc *desc, mark_synthetic **heap,
                          bench_error *error) {
    mark_synthetic *h = *heap = calloc(1, sizeof *h);
    if (!h) return bench_error_set(error, "host memory ran out for a heap");
    h->env = desc->env;
    h->graph = desc->graph;
    h->objects = desc->objects;
    compact_heap_desc of_heap = {.env = desc->env,
                                 .objects = desc->objects,
                                 .seed = desc->seed,
                                 .heap_bytes = desc->heap_bytes};
    if (!number_nodes(h, desc, error) && !compact_heap_create(&of_heap, &h->heap, error) &&
        !compact_heap_build(h->heap, desc->dead, error) && !put_roots(h, error)) {
        return 0;
    }
    mark_synthetic_destroy(h);
    *heap = NULL;
    return -1;
}

void mark_synthetic_destroy(mark_synthetic *h) {
    if (!h) return;
    compact_heap_destroy(h->heap);
    if (h->roots) clReleaseMemObject(h->roots);
    free(h->number);
    free(h);
}

clump_heap *mark_synthetic_get(const mark_synthetic *h) {
    return compact_heap_get(h->heap);
}

/* That exactly those of the nodes `from` .. `end` - 1 are left that live: left[number] of the class
 * says which are. */
static int compare(const mark_synthetic *h, const char *class_name, uint32_t from, uint32_t end,
                   const uint8_t *left, const uint32_t *live, bench_error *error) {
    for (uint32_t node = from; node < end; node++) {
        uint32_t number = node < h->living ? h->number[node] : node - h->living;
        if (left[number] == mark_is_live(live, node)) continue;
        bench_error_set(error, "%s number %u is %s, and something leads to it: %s", class_name,
                        number, left[number] ? "left" : "gone", left[number] ? "no" : "yes");
        return 1;
    }
    return 0;
}

/* Read the numbers of a class: *count of them. Those that are there twice, or that no object has,
 * count once too few below. */
static int verify_class(const mark_synthetic *h, const char *class_name, uint32_t from,
                        uint32_t end, const uint32_t *live, uint64_t *count, bench_error *error) {
    clump_heap *heap = compact_heap_get(h->heap);
    clump_status status = clump_heap_read_count(heap, class_name, count);
    uint32_t *numbers = malloc((*count + 1) * sizeof *numbers);
    uint8_t *left = calloc((size_t)h->objects + 1, 1);
    int result = numbers && left ? 0 : bench_error_set(error, "host memory ran out for the check");
    if (!result && !status && *count)
        status = clump_heap_read_field(heap, class_name, "number", 0, sizeof *numbers, numbers,
                                       *count, NULL);
    if (!result && status) result = bench_error_clump(error, "the check", h->env->clump, status);
    uint64_t known = 0, expected = 0;
    for (uint64_t i = 0; i < *count && !result; i++) {
        if (numbers[i] >= h->objects) continue;
        known += !left[numbers[i]];
        left[numbers[i]] = 1;
    }
    for (uint32_t node = from; node < end; node++) expected += (uint64_t)mark_is_live(live, node);
    if (!result) result = compare(h, class_name, from, end, left, live, error);
    if (!result && (known != *count || known != expected)) {
        bench_error_set(error, "%llu %s are left, with %llu numbers; %llu are live",
                        (unsigned long long)*count, class_name, (unsigned long long)known,
                        (unsigned long long)expected);
        result = 1;
    }
    free(numbers);
    free(left);
    return result;
}

int mark_synthetic_verify(mark_synthetic *h, const uint32_t *live, bench_error *error) {
    uint64_t a = 0, b = 0;
    int result = verify_class(h, "A", 0, h->living, live, &a, error);
    if (!result) result = verify_class(h, "B", h->living, h->graph->nodes, live, &b, error);
    return result ? result : compact_heap_verify_left(h->heap, a, b, error);
}
