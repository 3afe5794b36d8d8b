/* Heaps of graphs. See heap.h. */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/heap.h"

#define REF_KINDS 13
#define PAD_KINDS 4
#define KINDS ((size_t)REF_KINDS * PAD_KINDS)
#define SCHEMA_BYTES (KINDS * 160 + 64)
#define SOURCE_BYTES (KINDS * 1536)
static const uint32_t ref_kinds[REF_KINDS] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 1024};
static const uint32_t pad_kinds[PAD_KINDS] = {0, 24, 96, 480};

/* Of a class: its nodes, and where they begin in the list of all nodes by class. */
typedef struct kind {
    uint32_t refs, pad, count, first;
} kind;

struct mark_heap {
    const bench_env *env;
    const mark_graph *graph;
    clump_heap *heap;
    clump_program *program;
    kind kinds[KINDS];
    uint32_t *by_kind; /* nodes */
    cl_mem list, place, offset, target, roots, wrong;
    clump_refs *registered;
};

static size_t kind_of(const mark_graph *g, uint32_t node) {
    uint32_t refs = g->offset[node + 1] - g->offset[node], size = g->size[node];
    size_t r = 0, p = 0;
    while (ref_kinds[r] < refs) r++;
    while (p + 1 < PAD_KINDS && 4 + 4 * ref_kinds[r] + pad_kinds[p] < size) p++;
    return r * PAD_KINDS + p;
}

static int sort_nodes(mark_heap *h, bench_error *error) {
    const mark_graph *g = h->graph;
    h->by_kind = malloc((size_t)g->nodes * sizeof *h->by_kind);
    if (!h->by_kind) return bench_error_set(error, "host memory ran out for a heap");
    for (size_t k = 0; k < KINDS; k++)
        h->kinds[k] = (kind){.refs = ref_kinds[k / PAD_KINDS], .pad = pad_kinds[k % PAD_KINDS]};
    for (uint32_t i = 0; i < g->nodes; i++) h->kinds[kind_of(g, i)].count++;
    uint32_t at = 0, next[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        next[k] = h->kinds[k].first = at;
        at += h->kinds[k].count;
    }
    for (uint32_t i = 0; i < g->nodes; i++) h->by_kind[next[kind_of(g, i)]++] = i;
    return 0;
}

/* Schema and kernels. */
static void write_texts(const mark_heap *h, char schema[SCHEMA_BYTES], char source[SOURCE_BYTES]) {
    const size_t bytes = SOURCE_BYTES;
    size_t a = (size_t)snprintf(schema, SCHEMA_BYTES, "abstract class Node { uint node; }\n"),
           b = 0;
    for (size_t k = 0; k < KINDS; k++) {
        const kind *c = &h->kinds[k];
        char name[32], refs[48] = "", pad[48] = "";
        if (!c->count) continue;
        snprintf(name, sizeof name, "N_%u_%u", c->refs, c->pad);
        if (c->refs) snprintf(refs, sizeof refs, "ref Node to[%u];", c->refs);
        if (c->pad) snprintf(pad, sizeof pad, "uint pad[%u];", c->pad / 4);
        a += (size_t)snprintf(schema + a, SCHEMA_BYTES - a, "class %s : Node { %s %s }\n", name,
                              refs, pad);
        b += (size_t)snprintf(
            source + b, bytes - b,
            "__kernel void make_%s(CLUMP_HEAP, __global const uint *list, __global uint *place,\n"
            "                      uint first) {\n"
            "    CLUMP_FOR_EACH_NEW(%s, self, i) {\n"
            "        %s_node(self) = list[first + i];\n"
            "        place[list[first + i]] = self.id;\n"
            "    }\n"
            "}\n"
            "__kernel void link_%s(CLUMP_HEAP_NO_ALLOC, __global const uint *place,\n"
            "                      __global const uint *offset, __global const uint *target,\n"
            "                      __global uint *wrong, uint verify) {\n"
            "    CLUMP_FOR_EACH(%s, self) {\n"
            "        uint node = %s_node(self), begin = offset[node], end = offset[node + 1];\n"
            "        if (verify && place[node] != self.id) atomic_inc(wrong);\n",
            name, name, name, name, name, name);
        if (c->refs)
            b += (size_t)snprintf(
                source + b, bytes - b,
                "        for (uint e = 0; e < %uu; e++) {\n"
                "            Node to;\n"
                "            to.id = begin + e < end ? place[target[begin + e]] : 0u;\n"
                "            if (!verify) %s_to(self, e) = to;\n"
                "            else if (%s_to(self, e).id != to.id) atomic_inc(wrong);\n"
                "        }\n",
                c->refs, name, name);
        b += (size_t)snprintf(source + b, bytes - b,
                              "        (void)begin; (void)end; (void)target;\n    }\n}\n");
    }
}

static int make_buffer(const mark_heap *h, const void *data, uint64_t bytes, cl_mem *buffer,
                       bench_error *error) {
    cl_int code = CL_SUCCESS;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);
    if (bytes < 4) flags = CL_MEM_READ_WRITE; /* an empty graph has no edges */
    *buffer = clCreateBuffer(h->env->context, flags, bytes < 4 ? 4 : bytes,
                             bytes < 4 ? NULL : (void *)(uintptr_t)data, &code);
    return code ? bench_error_cl(error, "a buffer of the graph", code) : 0;
}

static uint64_t row_bytes(const kind *c) {
    return 64 * (4 + 4 * (uint64_t)c->refs + c->pad);
}

/* A block holds a row of the largest class and at most 64 rows of any. */
static uint64_t heap_bytes(const mark_heap *h) {
    uint64_t bytes = UINT64_C(16) << 20, block = UINT64_C(64) << 10;
    for (size_t k = 0; k < KINDS; k++)
        if (h->kinds[k].count && row_bytes(&h->kinds[k]) > block) block = row_bytes(&h->kinds[k]);
    block += block / 4; /* what rounding to granules may cost */
    for (size_t k = 0; k < KINDS; k++) {
        const kind *c = &h->kinds[k];
        uint64_t rows = block / 2 / row_bytes(c) < 64 ? block / 2 / row_bytes(c) : 64;
        if (c->count) bytes += (c->count / 64 / (rows ? rows : 1) + 2) * block;
    }
    return bytes + bytes / 8;
}

static int create(mark_heap *h, uint64_t bytes, bench_error *error) {
    const mark_graph *g = h->graph;
    char schema[SCHEMA_BYTES], source[SOURCE_BYTES];
    if (sort_nodes(h, error)) return -1;
    write_texts(h, schema, source);
    bench_heap_desc desc = {
        .clump = h->env->clump, .text = schema, .bytes = bytes ? bytes : heap_bytes(h)};
    if (bench_heap_create(&desc, &h->heap, error)) return -1;
    clump_program_desc program = {
        .size = sizeof program, .heap = h->heap, .source = source, .name = "heap.c"};
    clump_status status = clump_program_create(&program, &h->program, NULL);
    if (status) return bench_error_clump(error, "the heap's kernels", h->env->clump, status);
    return make_buffer(h, h->by_kind, (uint64_t)g->nodes * 4, &h->list, error) ||
                   make_buffer(h, NULL, (uint64_t)g->nodes * 4, &h->place, error) ||
                   make_buffer(h, g->offset, ((uint64_t)g->nodes + 1) * 4, &h->offset, error) ||
                   make_buffer(h, g->target, g->edges * 4, &h->target, error) ||
                   make_buffer(h, NULL, ((uint64_t)g->roots + 1) * 4, &h->roots, error) ||
                   make_buffer(h, NULL, 4, &h->wrong, error)
               ? -1
               : 0;
}

int mark_heap_create(const bench_env *env, const mark_graph *graph, uint64_t bytes,
                     mark_heap **heap, bench_error *error) {
    mark_heap *h = *heap = calloc(1, sizeof *h);
    if (!h) return bench_error_set(error, "host memory ran out for a heap");
    h->env = env;
    h->graph = graph;
    if (create(h, bytes, error) == 0) return 0;
    mark_heap_destroy(h);
    *heap = NULL;
    return -1;
}

void mark_heap_destroy(mark_heap *h) {
    if (!h) return;
    cl_mem buffers[] = {h->list, h->place, h->offset, h->target, h->roots, h->wrong};
    clump_program_destroy(h->program);
    clump_heap_destroy(h->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    free(h->by_kind);
    free(h);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static clump_status set_buffers(clump_kernel *k, const cl_mem *buffers, uint32_t count) {
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < count && !status; i++)
        status = clump_kernel_set_arg(k, i, sizeof buffers[i], &buffers[i]);
    return status;
}

static int make_kind(mark_heap *h, const kind *c, bench_error *error) {
    char class_name[32], name[48];
    clump_kernel *k = NULL;
    uint64_t made = 0;
    cl_mem buffers[] = {h->list, h->place};
    snprintf(class_name, sizeof class_name, "N_%u_%u", c->refs, c->pad);
    snprintf(name, sizeof name, "make_%s", class_name);
    clump_status status = clump_kernel_create(h->program, name, &k, NULL);
    if (!status) status = set_buffers(k, buffers, 2);
    if (!status) status = clump_kernel_set_arg(k, 2, sizeof c->first, &c->first);
    if (!status) status = clump_heap_do_new(h->heap, k, class_name, c->count, &made, NULL);
    clump_kernel_destroy(k);
    if (status) return bench_error_clump(error, name, h->env->clump, status);
    if (made == c->count) return 0;
    return bench_error_set(error,
                           "only %llu of %u objects of class %s found room: set a larger heap_mb",
                           (unsigned long long)made, c->count, class_name);
}

static int link_kind(mark_heap *h, const kind *c, uint32_t verify, bench_error *error) {
    char name[48];
    clump_kernel *k = NULL;
    cl_mem buffers[] = {h->place, h->offset, h->target, h->wrong};
    snprintf(name, sizeof name, "link_N_%u_%u", c->refs, c->pad);
    clump_status status = clump_kernel_create(h->program, name, &k, NULL);
    if (!status) status = set_buffers(k, buffers, 4);
    if (!status) status = clump_kernel_set_arg(k, 4, sizeof verify, &verify);
    if (!status) status = clump_heap_do_all(h->heap, k, NULL);
    clump_kernel_destroy(k);
    return status ? bench_error_clump(error, name, h->env->clump, status) : 0;
}

static int link_all(mark_heap *h, uint32_t verify, uint32_t *wrong, bench_error *error) {
    *wrong = 0;
    cl_int code =
        clEnqueueWriteBuffer(h->env->queue, h->wrong, CL_TRUE, 0, 4, wrong, 0, NULL, NULL);
    if (code) return bench_error_cl(error, "the heap's links", code);
    for (size_t k = 0; k < KINDS; k++)
        if (h->kinds[k].count && link_kind(h, &h->kinds[k], verify, error)) return -1;
    code = clEnqueueReadBuffer(h->env->queue, h->wrong, CL_TRUE, 0, 4, wrong, 0, NULL, NULL);
    return code ? bench_error_cl(error, "the heap's links", code) : 0;
}

/* References to the roots, into a buffer that is registered. */
static int put_roots(mark_heap *h, bench_error *error) {
    const mark_graph *g = h->graph;
    uint32_t *place = malloc(((size_t)g->nodes + 1) * 4),
             *refs = malloc(((size_t)g->roots + 1) * 4);
    cl_int code = place && refs ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    if (!code)
        code = clEnqueueReadBuffer(h->env->queue, h->place, CL_TRUE, 0, (size_t)g->nodes * 4, place,
                                   0, NULL, NULL);
    for (uint32_t i = 0; i < g->roots && !code; i++) refs[i] = place[g->root[i]];
    if (!code && g->roots)
        code = clEnqueueWriteBuffer(h->env->queue, h->roots, CL_TRUE, 0, (size_t)g->roots * 4, refs,
                                    0, NULL, NULL);
    free(place);
    free(refs);
    if (code) return bench_error_cl(error, "the roots", code);
    clump_refs_desc desc = {.size = sizeof desc, .buffer = h->roots, .count = g->roots};
    if (!g->roots) return 0;
    clump_status status = clump_refs_create(h->heap, &desc, &h->registered, NULL);
    return status ? bench_error_clump(error, "the roots", h->env->clump, status) : 0;
}

int mark_heap_build(mark_heap *h, bench_error *error) {
    uint32_t wrong;
    for (size_t k = 0; k < KINDS; k++)
        if (h->kinds[k].count && make_kind(h, &h->kinds[k], error)) return -1;
    return link_all(h, 0, &wrong, error) || put_roots(h, error) ? -1 : 0;
}

clump_heap *mark_heap_get(const mark_heap *h) {
    return h->heap;
}

static int compare(const mark_heap *h, const uint32_t *live, const uint32_t *left, uint64_t count,
                   bench_error *error) {
    const mark_graph *g = h->graph;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < g->nodes; i++) expected += (uint64_t)mark_is_live(live, i);
    for (uint64_t i = 0; i < count; i++)
        if (left[i] >= g->nodes || !mark_is_live(live, left[i]))
            return bench_error_set(error, "node %u is left, which nothing leads to", left[i]), 1;
    if (count == expected) return 0;
    bench_error_set(error, "%llu objects are left, %llu are live", (unsigned long long)count,
                    (unsigned long long)expected);
    return 1;
}

int mark_heap_verify(mark_heap *h, const uint32_t *live, bench_error *error) {
    uint64_t count = 0;
    uint32_t wrong = 0;
    clump_status status = clump_heap_check(h->heap);
    if (!status) status = clump_heap_read_count(h->heap, "Node", &count);
    uint32_t *left = malloc((count + 1) * sizeof *left);
    if (!left) return bench_error_set(error, "host memory ran out for the check");
    if (!status)
        status = clump_heap_read_field(h->heap, "Node", "node", 0, sizeof *left, left, count, NULL);
    int result = status ? bench_error_clump(error, "the check", h->env->clump, status)
                        : compare(h, live, left, count, error);
    free(left);
    if (result || link_all(h, 1, &wrong, error)) return result ? result : -1;
    if (!wrong) return 0;
    bench_error_set(error, "%u references of objects that are left are wrong", wrong);
    return 1;
}
