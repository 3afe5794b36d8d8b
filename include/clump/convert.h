/* A live heap gets another schema: fields are added and dropped, classes go from `soa` to `aos` and
 * back, blocks become wider or narrower, and all objects stay what they are.
 *
 * The heap gets new memory, laid out by the new schema. The device copies the objects into it, each
 * field from where the old schema has it to where the new one has it, and rewrites references on
 * the way. Then the old memory is released. The values do not pass through the host.
 *
 *   clump_heap *   the same    registered buffers, handles, compactors, collectors, watched
 *                              handles, checks and the numbers of
 *                              clump_heap_reserve() are those of the heap as before
 *   objects        the same    class by class in the order of clump_heap_read_refs(), which they
 *                              have again afterwards
 *   references     new         in fields, registered buffers and handles. Those that the program
 *                              keeps elsewhere name nobody: register their buffers (refs.h), or
 *                              make handles
 *   the buffer     new         and the schema, too: clump_heap_get_info() tells them
 *   programs       for the schema they were made for. Launching a kernel of the old one fails with
 *                  CLUMP_ERR_USAGE. Make a program for
 *                              the heap after the conversion; a key_kernel or a finaliser of a
 *                              compactor or collector needs a new one with it
 *
 * A change of a schema in a running program is therefore: clump_heap_convert(),
 * clump_program_create(), clump_program_get_kernel(). A field that was added is 0, and null, in all
 * objects; a kernel of the new program sets it where it is to be something else.
 *
 * Not converted are heaps with raw memory, with arrays of run-time length in the old schema or in
 * the new one, with evictable_bytes, and of several buffers: docs/guide/limits.md has the list of
 * all kinds of heaps and the calls that they refuse. A heap of several buffers gets another schema
 * by clump_heap_save() and clump_heap_load().
 *
 * Threads: as for the heap.
 *
 * Read first: heap.h, refs.h. save.h has the same for heaps in files.
 */
#ifndef CLUMP_CONVERT_H
#define CLUMP_CONVERT_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the heap becomes. */
typedef struct clump_convert_desc {
    size_t size;                /* sizeof(clump_convert_desc) */
    const clump_schema *schema; /* required; copied. It may be the heap's own */
    uint64_t bytes;      /* all device memory the heap takes then; 0: as many as it has now */
    uint32_t block_rows; /* as in clump_heap_desc; 0: chosen from `bytes` */
} clump_convert_desc;

/* What became of it. */
typedef struct clump_convert_report {
    size_t size; /* sizeof(clump_convert_report) */
    uint64_t objects;
    /* references that named no live object of the field's class, or in registered buffers and
     * handles no live object: null now */
    uint64_t dangling;
    /* Fields that objects had and the new schema lacks; fields that only the new schema has: 0, and
     * null, in all objects. A field counts once, however many classes inherit it. */
    uint32_t fields_lost;
    uint32_t fields_gained;
} clump_convert_report;

/* METHOD. Give a heap another schema. The rules are those of clump_heap_load():
 *
 *   matched     Classes and fields are matched by name. A field that the new class (with its bases)
 *               does not have is left out; one that the old class did not have is 0, and null. A
 *               class may have gained or lost bases and subclasses, and its fields may stand in
 *               another order, in other classes of its bases (hot fields apart from cold ones), as
 *               `soa` or as `aos`, packed or not.
 *   refused     a field of another type, width or number of elements; objects of a class that the
 *               new schema does not have, or has as an abstract one; a reference to an object that
 *               the new field cannot refer to. The error names class and field.
 *   references  In registered buffers those are looked at that compaction looks at, and one that
 *               names no live object becomes null, whatever null_dangling says: left as it was it
 *               would name another object.
 *
 * Not kept: what was learnt of the demand; of a checked heap (checked.h) its events. What kernels
 * reported has to be fetched before, with clump_heap_take_errors().
 *   desc    [in]
 *   report  [out, optional]
 * Device memory: for the time of the call both heaps, 4 bytes for each granule of the old one, and
 * 8 for each registered reference. The number of launches does not depend on the number of objects.
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE no schema, a heap with `raw` or a schema, old or
 * new, with arrays of run-time length, with `max` too; errors of kernels that were not fetched;
 * what clump_heap_create() says of the new heap; CLUMP_ERR_SCHEMA the schemas do not fit;
 * CLUMP_ERR_DEVICE_MEMORY too many objects for `bytes`, or the device has no room for both heaps,
 * or the new one would need several buffers; CLUMP_ERR_UNSUPPORTED a heap of several buffers or
 * with evictable_bytes, or a field type the device lacks; CLUMP_ERR_CORRUPT; CLUMP_ERR_HOST_MEMORY;
 * CLUMP_ERR_BUILD; CLUMP_ERR_CL. After a failure the heap, its schema and all references are as
 * before; if the device gives up at the very end, registered references may be undefined. */
CLUMP_API clump_status clump_heap_convert(clump_heap *heap, const clump_convert_desc *desc,
                                          clump_convert_report *report);

#ifdef __cplusplus
}
#endif
#endif
