/* Programs of the library that are compiled like a user's, for one heap: their code is generated
 * from its schema, or is compiled for its geometry. None of them changes the class of an object.
 *
 * Read first: heap.h, program.h.
 */
#include "heap/heap.h"

typedef struct own {
    clumpi_attachment base;
    clump_program *program;
    clump_kernel *kernel; /* NULL until it was made */
} own;

static void release(clumpi_attachment *base, clump_context *c) {
    own *o = (own *)base;
    clumpi_kernel_release(o->kernel);
    clump_program_destroy(o->program);
    clumpi_free(&c->allocator, o);
}

static clump_status make(clump_heap *heap, own *o, const char *file, const char *name) {
    clump_context *c = heap->context;
    clumpi_text source = {.allocator = &c->allocator};
    clumpi_source_append(&source, &file, 1);
    clump_status status = source.failed ? clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                                                      "no host memory for a program")
                                        : CLUMP_OK;
    clump_program_destroy(o->program); /* of a call that failed */
    o->program = NULL;
    if (!status)
        status = clump_program_create(&(clump_program_desc){.size = sizeof(clump_program_desc),
                                                            .heap = heap,
                                                            .source = source.data,
                                                            .name = file},
                                      &o->program, NULL);
    if (!status) status = clump_kernel_create(o->program, name, &o->kernel, NULL);
    /* It names what only the library calls, so it was taken for one that uses everything. A launch
     * would settle references, and forget the list that its caller may be at work with. */
    if (!status) o->kernel->uses.becomes = 0;
    clumpi_free(&c->allocator, source.data);
    return status;
}

clump_status clumpi_own_kernel(clump_heap *heap, const void *key, const char *file,
                               const char *name, clump_kernel **kernel) {
    own *o = clumpi_heap_keep(heap, key, sizeof *o, release);
    if (!o)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for kernel %s", name);
    const clump_status status = o->kernel ? CLUMP_OK : make(heap, o, file, name);
    *kernel = o->kernel;
    return status;
}
