/* A live heap gets another schema: fields are added and dropped, classes change between `soa` and
 * `aos`, blocks become wider or narrower, and all objects stay.
 *
 * The heap gets new memory, laid out by the new schema. The device copies the objects into it, each
 * field from its old place to its new one, and rewrites references at the same time. Then the old
 * memory is released. The values do not pass through the host.
 *
 *   clump_heap *  The same. Registered buffers, handles, compactors, collectors, watched handles,
 *                 checks and the numbers of clump_heap_reserve() stay.
 *   objects       The same. Each class has the same order in clump_heap_read_refs() as before.
 *   references    New, in fields, registered buffers and handles. References in other places become
 *                 invalid: register their buffers (refs.h), or make handles.
 *   the buffer    New, and the schema as well: clump_heap_get_info() returns them.
 *   programs      Old. A launch of a kernel for the old schema fails with CLUMP_ERR_USAGE. Make a
 *                 program for the heap after the conversion. If a compactor has a key_kernel, or a
 *                 collector a finaliser, make a new one with the new kernel.
 *
 * To change a schema in a running program, call therefore clump_heap_convert(),
 * clump_program_create() and clump_program_get_kernel(). An added field is 0 or null in all
 * objects. A kernel of the new program can set other values.
 *
 * These heaps cannot be converted: heaps with `raw`, with evictable_bytes, and of several buffers.
 * docs/guide/limits.md lists the calls that each kind of heap refuses. For a heap of several
 * buffers, use clump_heap_save() and clump_heap_load().
 *
 * Threads: as for the heap.
 *
 * Read first: heap.h, refs.h. save.h does the same for heaps in files.
 */
#ifndef CLUMP_CONVERT_H
#define CLUMP_CONVERT_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options of clump_heap_convert(). */
typedef struct clump_convert_desc {
    size_t size;                /* sizeof(clump_convert_desc) */
    const clump_schema *schema; /* required, copied. It may be the heap's own */
    uint64_t bytes;             /* device memory of the new heap. 0: as much as the heap has now */
    uint32_t block_rows;        /* as in clump_heap_desc. 0: chosen from `bytes` */
} clump_convert_desc;

/* Results of a conversion. */
typedef struct clump_convert_report {
    size_t size; /* sizeof(clump_convert_report) */
    uint64_t objects;
    /* references in fields that named no live object of the field's class, and references in
     * registered buffers and handles that named no live object. They are null now */
    uint64_t dangling;
    /* Lost: fields of objects that the new schema lacks. Gained: fields that only the new schema
     * has. These are 0 or null in all objects. A field counts once, also if several classes inherit
     * it. */
    uint32_t fields_lost;
    uint32_t fields_gained;
} clump_convert_report;

/* METHOD. Convert a heap to another schema. The rules are the same as for clump_heap_load():
 *
 *   matched     Classes and fields are matched by name. A field that the new class (with its bases)
 *               lacks is left out. A field that the old class lacks is 0 or null. A class may have
 *               gained or lost bases and subclasses. Its fields may have another order, may be in
 *               other classes of its bases (hot fields separate from cold ones), and may be `soa`
 *               or `aos`, packed or not.
 *   refused     A field of another type, width or number of elements. Objects of a class that the
 *               new schema lacks or has as an abstract one. A reference to an object that the new
 *               field cannot refer to. The error names class and field.
 *   arrays      An array that grows keeps its length, capacity and elements. If the new class lacks
 *               it, its raw memory is freed. A new one is empty. Containers are made of such
 *               arrays, so they keep working. A map whose keys are references has to be made anew.
 *   references  In elements of arrays as in fields. In registered buffers, the call reads the same
 *               references as compaction does. It nulls references that name no live object,
 *               whatever null_dangling is, because they would name another object afterwards.
 *
 * These are not kept: data learnt about the demand, and the events of a checked heap (checked.h).
 * Call clump_heap_take_errors() before to get the errors of kernels.
 *   desc    [in]
 *   report  [out, optional]
 * Device memory during the call: both heaps, 4 bytes for each granule of the old one, and 8 for
 * each registered reference. With arrays that grow, up to 8 MiB more. Without them the number of
 * launches does not depend on the number of objects.
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE          no schema, a heap with `raw`, errors of kernels that were not fetched,
 *                            or a reason of clump_heap_create() for the new heap
 *   CLUMP_ERR_SCHEMA         the schemas do not fit
 *   CLUMP_ERR_DEVICE_MEMORY  too many objects or arrays for `bytes`, or the device lacks memory for
 *                            both heaps, or the new one would need several buffers
 *   CLUMP_ERR_UNSUPPORTED    a heap of several buffers or with evictable_bytes, or a field type
 *                            that the device lacks
 *   CLUMP_ERR_CORRUPT, CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL
 * After a failure the heap, its schema and all references are as before. If the device stops
 * working at the very end, registered references may be undefined. */
CLUMP_API clump_status clump_heap_convert(clump_heap *heap, const clump_convert_desc *desc,
                                          clump_convert_report *report);

#ifdef __cplusplus
}
#endif
#endif
