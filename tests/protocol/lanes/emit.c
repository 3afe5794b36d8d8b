/* lanes_emit SCHEMA BYTES BLOCK_ROWS: prints what a program for a heap of that many bytes gets from
 * its schema, and the heap's header and class table, as C. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "heap/heap.h"

int main(int argc, char **argv) {
    clump_schema *schema = NULL;
    clumpi_geometry g;
    clump_error error;
    if (argc != 4 || clump_schema_parse_file(argv[1], NULL, &schema, &error) != CLUMP_OK) return 1;
    if (clumpi_geometry_compute(schema, strtoul(argv[2], NULL, 10),
                                (uint32_t)strtoul(argv[3], NULL, 10), 1, 1, (clumpi_extras){0}, &g,
                                &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const clumpi_header *h = &g.header;
    printf("#ifdef LANES_GEOMETRY\n#define LANES_HEAP_BYTES %" PRIu64
           "u\n"
           "#define LANES_GRANULES %uu\n"
           "static const unsigned LANES_GEOMETRY[] = {",
           g.bytes, h->block_end * h->block_granules);
    for (size_t i = 0; i < sizeof *h / 4; i++) printf("%uu,", ((const uint32_t *)h)[i]);
    printf(
        "};\nstatic const struct { unsigned row_granules, rows, capacity, last; } "
        "LANES_CLASSES[] = {");
    for (uint32_t id = 0; id <= h->class_count; id++)
        printf("{%u,%u,%u,%u},", g.classes[id].row_granules, g.classes[id].rows,
               g.classes[id].capacity, g.classes[id].last);
    clump_allocator allocator = clumpi_allocator_resolve(NULL);
    clumpi_text text = {.allocator = &allocator};
    clumpi_schema_emit(&text, schema, &g, 0);
    printf(
        "};\n#elif defined(LANES_LAYOUT)\n"
        "#define CLUMPI_HEADER_AT %uu\n#define CLUMPI_GRANULE_BYTES %uul\n"
        "#define CLUMPI_LAYOUT_BLOCK_GRANULES %uu\n#else\n%s#endif\n",
        h->self_at, h->granule_bytes, h->block_granules, text.failed ? "" : text.data);
    clump_schema_destroy(schema);
    clumpi_free(&allocator, text.data);
    return text.failed;
}
