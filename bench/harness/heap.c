/* Heaps, programs and statistics for benchmarks. See heap.h. */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_files.h"
#include "source.h"

int bench_heap_create(const bench_heap_desc *desc, clump_heap **heap, bench_error *error) {
    const char *text = desc->text, *name = desc->file ? desc->file : "the schema";
    size_t bytes = text ? strlen(text) : 0;
    clump_schema *schema = NULL;
    clump_error detail = {0};
    *heap = NULL;
    if (desc->file) {
        const clumpi_cl_file *file = bench_file_find(desc->file);
        if (!file) {
            return bench_error_set(error, "%s is not embedded in this program", desc->file);
        }
        text = file->data;
        bytes = file->bytes;
    }
    if (text && clump_schema_parse(text, bytes, NULL, &schema, &detail) != CLUMP_OK) {
        return bench_error_set(error, "%s, line %u: %s", name, detail.line, detail.message);
    }
    const clump_checked_desc checked = {.size = sizeof checked,
                                        .without = CLUMP_CHECK_ALL & ~desc->checks};
    clump_heap_desc heap_desc = {
        .size = sizeof heap_desc,
        .context = desc->clump,
        .schema = schema,
        .raw = desc->raw,
        .bytes = desc->bytes,
        .evictable_bytes = desc->evictable_bytes,
        .block_rows = desc->block_rows,
        .buffer_bytes = desc->buffers > 1 ? desc->bytes / desc->buffers + 1 : 0,
        .errors_on_request = 1, /* the checks of each benchmark take them; some fill the heap */
        .checked = desc->checks ? &checked : NULL};
    clump_status status = clump_heap_create(&heap_desc, heap, NULL);
    clump_schema_destroy(schema);
    return status == CLUMP_OK ? 0 : bench_error_clump(error, "the heap", desc->clump, status);
}

void bench_add_random123(char *options, size_t bytes) {
    const char *headers = getenv("RANDOM123_INCLUDE_DIR");
    size_t at = strlen(options);
#ifdef CLUMP_RANDOM123_INCLUDE_DIR
    headers = headers ? headers : CLUMP_RANDOM123_INCLUDE_DIR;
#endif
    snprintf(options + at, bytes - at, headers ? " -I %s" : "%s", headers ? headers : "");
}

int bench_program_create(const bench_program_desc *desc, clump_program **program,
                         clump_kernel **kernels, bench_error *error) {
    char options[1024], *source = bench_load_source(desc->before, desc->file, error);
    if (!source) {
        return -1;
    }
    snprintf(options, sizeof options, "%s", desc->options ? desc->options : "");
    if (desc->uses_random123) {
        bench_add_random123(options, sizeof options);
    }
    clump_program_desc program_desc = {.size = sizeof program_desc,
                                       .heap = desc->heap,
                                       .source = source,
                                       .name = desc->file,
                                       .options = options,
                                       .checked = desc->checked,
                                       .tuning = desc->tuning};
    clump_status status = clump_program_create(&program_desc, program, NULL);
    free(source);
    if (status != CLUMP_OK) {
        return bench_error_clump(error, desc->file, desc->clump, status);
    }
    for (uint32_t i = 0; i < desc->count; i++) {
        status = clump_kernel_create(*program, desc->names[i], &kernels[i], NULL);
        if (status != CLUMP_OK) {
            return bench_error_clump(error, desc->names[i], desc->clump, status);
        }
    }
    return 0;
}

int bench_heap_stats(clump_context *clump, clump_heap *heap, const char *const *names,
                     uint32_t count, clump_heap_stats *stats, clump_class_stats *classes,
                     bench_error *error) {
    const clump_schema *schema = clump_heap_get_info(heap)->schema;
    uint32_t capacity = clump_schema_get_info(schema)->class_count;
    clump_class_stats *all = calloc(capacity, sizeof *all);
    if (!all) {
        return bench_error_set(error, "host memory ran out for statistics");
    }
    if (capacity) all[0].size = sizeof *all;
    clump_status status = clump_heap_read_stats(heap, stats, all, capacity);
    int result = status == CLUMP_OK ? 0 : bench_error_clump(error, "the statistics", clump, status);
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        const clump_class_info *info = clump_schema_find_class(schema, names[i]);
        if (info) {
            classes[i] = all[info->id - 1];
        } else {
            result = bench_error_set(error, "the schema has no class %s", names[i]);
        }
    }
    free(all);
    return result;
}
