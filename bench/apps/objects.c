/* Programs on a heap, for applications. See objects.h. */
#include "objects.h"

#include <stdlib.h>

#include "bench/harness/heap.h"

int bench_objects_check(const bench_objects *objects, clump_status status, const char *what,
                        bench_error *error) {
    return status == CLUMP_OK ? 0 : bench_error_clump(error, what, objects->clump, status);
}

int bench_objects_check_rows(bench_objects *objects, cl_mem rows, uint32_t row_count,
                             bench_error *error) {
    uint32_t misplaced = 0;
    if (bench_buffer_read(&objects->buffers, rows, row_count * sizeof misplaced, sizeof misplaced,
                          &misplaced, error)) {
        return -1;
    }
    return misplaced
               ? bench_error_set(error, "%u cells do not lie in whole rows of the heap", misplaced)
               : 0;
}

/* ---- Lifetime -------------------------------------------------------------------------------- */

/* An order moves the objects of a class into free blocks, so it needs room for them twice. */
static uint64_t find_enough(const bench_objects_desc *desc) {
    const clump_compactor_desc *compaction = desc->world->compaction;
    const clump_compact_desc *how = compaction ? compaction->compact : NULL;
    int is_ordered = how && how->order != CLUMP_ORDER_ANY;
    return is_ordered ? 2 * desc->enough : desc->enough;
}

static int create_heap(bench_objects *objects, const bench_objects_desc *desc, bench_error *error) {
    const bench_world_desc *world = desc->world;
    bench_heap_desc heap = {.clump = world->clump,
                            .file = desc->schema_text ? NULL : desc->schema,
                            .text = desc->schema_text,
                            .bytes = world->heap_bytes ? world->heap_bytes : find_enough(desc),
                            .block_rows = world->block_rows,
                            .buffers = world->buffers};
    return bench_heap_create(&heap, &objects->heap, error);
}

static int create_program(bench_objects *objects, const bench_objects_desc *desc,
                          bench_error *error) {
    if (desc->count > BENCH_OBJECTS_KERNELS_MAX) {
        return bench_error_set(error, "%s: %u kernels, but there is room for %d", desc->file,
                               desc->count, BENCH_OBJECTS_KERNELS_MAX);
    }
    bench_program_desc program = {.clump = desc->world->clump,
                                  .heap = objects->heap,
                                  .file = desc->file,
                                  .before = desc->before,
                                  .options = desc->options,
                                  .uses_random123 = desc->uses_random123,
                                  .checked = desc->world->checked,
                                  .tuning = &desc->world->tuning,
                                  .names = desc->names,
                                  .count = desc->count};
    return bench_program_create(&program, &objects->program, objects->kernels, error);
}

static int create_compacting(bench_objects *objects, const bench_objects_desc *desc,
                             bench_error *error) {
    const clump_compactor_desc *wanted = desc->world->compaction;
    clump_compactor_desc compaction = {.size = sizeof compaction};
    clump_compact_desc how = {.size = sizeof how};
    if (wanted) {
        compaction = *wanted;
        if (wanted->compact) how = *wanted->compact;
        compaction.compact = &how;
        if (desc->key_kernel && how.order == CLUMP_ORDER_FIELD) {
            how.order = CLUMP_ORDER_KEY;
            how.order_field = NULL;
            how.key_kernel = objects->kernels[desc->key_kernel];
        }
    }
    int result = bench_compacting_create(&objects->compacting, objects->clump, objects->heap,
                                         desc->compacted, wanted ? &compaction : NULL,
                                         desc->world->merge, error);
    objects->compacting.enough = find_enough(desc);
    return result;
}

int bench_objects_create(const bench_objects_desc *desc, bench_objects *objects,
                         bench_error *error) {
    const bench_world_desc *world = desc->world;
    *objects = (bench_objects){.clump = world->clump,
                               .names = desc->names,
                               .kernel_count = desc->count,
                               .buffers = {.context = world->context, .queue = world->queue}};
    return create_heap(objects, desc, error) || create_program(objects, desc, error) ||
                   create_compacting(objects, desc, error)
               ? -1
               : 0;
}

void bench_objects_release(bench_objects *objects) {
    bench_buffers_release(&objects->buffers);
    for (uint32_t i = 0; i < BENCH_OBJECTS_KERNELS_MAX; i++) {
        clump_kernel_destroy(objects->kernels[i]);
    }
    clump_program_destroy(objects->program);
    bench_compacting_destroy(&objects->compacting);
    clump_heap_destroy(objects->heap);
    *objects = (bench_objects){.kernel_count = 0};
}

/* ---- Arguments and commands ------------------------------------------------------------------ */

static int set(bench_objects *objects, unsigned kernel, cl_uint index, size_t bytes,
               const void *value, bench_error *error) {
    return bench_objects_check(objects,
                               clump_kernel_set_arg(objects->kernels[kernel], index, bytes, value),
                               objects->names[kernel], error);
}

int bench_objects_set(bench_objects *objects, const bench_arg *args, size_t count,
                      bench_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (set(objects, args[i].kernel, args[i].index, args[i].bytes, args[i].value, error)) {
            return -1;
        }
    }
    return 0;
}

int bench_objects_set_common(bench_objects *objects, cl_uint index, size_t bytes, const void *value,
                             bench_error *error) {
    for (unsigned kernel = 0; kernel < objects->kernel_count; kernel++) {
        if (set(objects, kernel, index, bytes, value, error)) {
            return -1;
        }
    }
    return 0;
}

int bench_objects_do_all(bench_objects *objects, unsigned kernel, cl_event *event,
                         bench_error *error) {
    clump_sync sync = {.event = event};
    return bench_objects_check(
        objects, clump_heap_do_all(objects->heap, objects->kernels[kernel], event ? &sync : NULL),
        objects->names[kernel], error);
}

int bench_objects_do_new(bench_objects *objects, const char *class_name, uint64_t count,
                         unsigned kernel, bench_error *error) {
    uint64_t made = 0;
    clump_status status = count ? clump_heap_do_new(objects->heap, objects->kernels[kernel],
                                                    class_name, count, &made, NULL)
                                : CLUMP_OK;
    if (status != CLUMP_OK) {
        return bench_objects_check(objects, status, objects->names[kernel], error);
    }
    return made == count
               ? 0
               : bench_error_set(error, "the heap has room for %llu of %llu objects of %s",
                                 (unsigned long long)made, (unsigned long long)count, class_name);
}

/* ---- For bench_world_ops --------------------------------------------------------------------- */

void bench_objects_destroy(void *world) {
    if (world) {
        bench_objects_release(world);
    }
    free(world);
}

int bench_objects_finish(void *world, bench_error *error) {
    bench_objects *objects = world;
    return bench_objects_check(objects, clump_heap_take_errors(objects->heap, NULL),
                               "the steps so far", error);
}

bench_compacting *bench_objects_get_compacting(void *world) {
    return &((bench_objects *)world)->compacting;
}
