/* Heaps for benchmarks. See heap.h. */
#include "heap.h"

#include <string.h>

#include "bench/bench_files.h"

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
    if (clump_schema_parse(text, bytes, NULL, &schema, &detail) != CLUMP_OK) {
        return bench_error_set(error, "%s, line %u: %s", name, detail.line, detail.message);
    }
    clump_heap_desc heap_desc = {.context = desc->clump,
                                 .schema = schema,
                                 .bytes = desc->bytes,
                                 .block_rows = desc->block_rows};
    clump_status status = clump_heap_create(&heap_desc, heap);
    clump_schema_destroy(schema);
    return status == CLUMP_OK ? 0 : bench_error_clump(error, "the heap", desc->clump, status);
}
