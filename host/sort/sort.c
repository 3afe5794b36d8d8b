/* Sorting pairs of a key and a value on the device: the launches of cl/sort/sort.cl.
 *
 * Invariant: nothing is read back; a pass that has nothing to do finds that out on the device.
 *
 * Read first: core/core.h, cl/sort/layout.h, cl/sort/sort.cl.
 */
#include "sort/sort.h"

#include <stddef.h>

static const char *const kernel_files[] = {
    "cl/core/layout.h", "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/scan.clh", "cl/sort/layout.h",    "cl/sort/sort.cl"};
static const char *const kernel_names[] = {CLUMPI_SORT_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_sort_library = CLUMPI_LIBRARY(NULL, NULL);

#define KEY_BITS 32u

typedef struct sort_state {
    clump_context *context;
    cl_mem keys, values;             /* the caller's */
    cl_mem keys_2, values_2, tables; /* taken while it runs */
    clumpi_u32 count, groups, bits;  /* bits: of a digit */
} sort_state;

static clump_status launch(const sort_state *s, clumpi_kernel_id id, size_t groups,
                           const clumpi_arg *args, uint32_t arg_count) {
    size_t local = s->context->sizes.scan_local;
    return clumpi_run_kernel(s->context, id, groups * local, local, args, arg_count, NULL);
}

/* A kernel with all buffers and a number: of the pass, or of all passes. */
static clump_status launch_all(const sort_state *s, clumpi_kernel_id id, const clumpi_u32 *number) {
    const clumpi_arg args[] = {{sizeof(cl_mem), &s->keys},   {sizeof(cl_mem), &s->values},
                               {sizeof(cl_mem), &s->keys_2}, {sizeof(cl_mem), &s->values_2},
                               {sizeof(cl_mem), &s->tables}, {sizeof s->count, &s->count},
                               {sizeof *number, number}};
    return launch(s, id, s->groups, args, sizeof args / sizeof *args);
}

static clump_status run_pass(const sort_state *s, clumpi_u32 pass) {
    const clumpi_arg count[] = {{sizeof(cl_mem), &s->keys},   {sizeof(cl_mem), &s->keys_2},
                                {sizeof(cl_mem), &s->tables}, {sizeof s->count, &s->count},
                                {sizeof pass, &pass},         {sizeof s->bits, &s->bits}};
    const clumpi_arg prefix[] = {
        {sizeof(cl_mem), &s->tables}, {sizeof s->groups, &s->groups}, {sizeof s->bits, &s->bits}};
    clump_status status =
        launch(s, CLUMPI_SORT_KERNEL(sort_count), s->groups, count, sizeof count / sizeof *count);
    if (!status)
        status = launch(s, CLUMPI_SORT_KERNEL(sort_prefix), (size_t)1 << s->bits, prefix,
                        sizeof prefix / sizeof *prefix);
    if (status) return status;
    if (s->context->sizes.scan_local == 1)
        return launch_all(s, CLUMPI_SORT_KERNEL(sort_deal), &pass);
    return launch_all(s, CLUMPI_SORT_KERNEL(sort_scatter), &pass);
}

static clump_status sort(sort_state *s) {
    clump_context *c = s->context;
    uint64_t bytes = (uint64_t)s->count * sizeof(clumpi_u32);
    clump_status status = clumpi_buffer_create(c, bytes, "a sort", &s->keys_2);
    if (!status) status = clumpi_buffer_create(c, bytes, "a sort", &s->values_2);
    if (!status)
        status = clumpi_buffer_create(c, clumpi_sort_table_at(s->bits, s->groups, 2), "a sort",
                                      &s->tables);
    if (!status)
        status = clumpi_clear(c, s->tables, offsetof(clumpi_sort_head, turn), sizeof(clumpi_u32));
    const clumpi_u32 passes = KEY_BITS / s->bits;
    for (clumpi_u32 pass = 0; pass < passes && !status; pass++) status = run_pass(s, pass);
    if (!status) status = launch_all(s, CLUMPI_SORT_KERNEL(sort_finish), &passes);
    return status;
}

clump_status clumpi_sort_pairs(clump_context *c, cl_mem keys, cl_mem values, uint32_t count) {
    if (count < 2) return CLUMP_OK;
    const clumpi_launch_sizes *sizes = &c->sizes;
    const size_t tile = sizes->scan_local * CLUMPI_SORT_ITEMS;
    size_t groups = sizes->scan_groups, tiles = (count - 1) / tile + 1;
    /* As many groups as run side by side, so that they hide each other's waiting. */
    size_t most = (size_t)c->capabilities.compute_units * 8;
    if (sizes->scan_local > 1 && groups < most) groups = most;
    if (groups > tiles) groups = tiles;
    sort_state s = {.context = c,
                    .keys = keys,
                    .values = values,
                    .count = count,
                    .groups = (clumpi_u32)groups,
                    .bits = sizes->scan_local == 1 ? CLUMPI_SORT_BITS_ONE : CLUMPI_SORT_BITS};
    clump_status status = sort(&s);
    clumpi_buffer_release(c, &s.keys_2);
    clumpi_buffer_release(c, &s.values_2);
    clumpi_buffer_release(c, &s.tables);
    return status;
}
