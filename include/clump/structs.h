/* Objects as C structs on the host: all objects of a class, or chosen ones, read into an array of
 * structs or written from one, and objects made from one.
 *
 * A clump_struct_desc says where in the struct each field lies. `clump-schema --emit-c FILE` makes
 * the struct and its description from a schema; a struct of one's own is described by hand:
 *
 *   typedef struct body { float x, y; uint32_t neighbour[4]; } body;
 *   static const clump_struct_field body_fields[] = {
 *       {"x", offsetof(body, x)}, {"y", offsetof(body, y)}, {"neighbour", offsetof(body,
 *       neighbour)}};
 *   static const clump_struct_desc body_desc = {sizeof body_desc, "Body", sizeof(body), 3,
 *                                                body_fields};
 *
 * A field takes element_bytes of the struct (schema.h): a 3-vector takes 4 elements, as cl_float3
 * does, a bool 1 byte, and a reference 4, as a clump_ref does. The elements of an array stand one
 * after the other. A description may name some of the fields, in any order, inherited ones too.
 * Offsets need no alignment.
 *
 * Each call takes one launch for each field named, one transfer of all structs, and a buffer on the
 * device of their size. Other objects, and fields that are not named, are left as they are. Where a
 * call fails because of its arguments, nothing was read or written.
 *
 * Threads: as for the heap. Read first: heap.h.
 */
#ifndef CLUMP_STRUCTS_H
#define CLUMP_STRUCTS_H

#include "clump/heap.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a field of a class lies in a struct of the host. */
typedef struct clump_struct_field {
    const char *name; /* of a field of the class or of a base; each at most once */
    uint32_t offset;  /* of its first element, bytes */
} clump_struct_field;

/* A struct of the host for the objects of a class. */
typedef struct clump_struct_desc {
    size_t size; /* sizeof(clump_struct_desc) */
    const char *class_name;
    uint32_t bytes; /* sizeof the struct: the distance from one to the next */
    uint32_t field_count;
    const clump_struct_field *fields;
} clump_struct_desc;

/* METHOD. Read all live objects of the class and its subclasses, in the order of
 * clump_heap_read_refs(), or chosen ones.
 *   refs      [in, optional]   `capacity` references of live objects of the class: these are read.
 *                              NULL: all objects
 *   structs   [out, optional]  room for `capacity`; bytes that no field covers become 0. NULL: only
 *                              the count is asked for
 *   count     [out, optional]  how many objects there are, also where there is no room for them
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL more objects than room, nothing is written;
 * CLUMP_ERR_NOT_FOUND no such class or field; CLUMP_ERR_REFERENCE a reference names no such object,
 * and the error says which; CLUMP_ERR_USAGE: a field twice, not within the struct, or of an array
 * of run-time length, or no place; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_read_structs(clump_heap *heap, const clump_struct_desc *desc,
                                               const clump_ref *refs, void *structs,
                                               uint64_t capacity, uint64_t *count);

/* METHOD. Write all of them, where `count` must be the number of live objects; or those that
 * `count` references name. Which one of several structs for one object is written is not defined.
 * Blocks: yes. Returns as above; CLUMP_ERR_USAGE also if the count is wrong. Nothing is written
 * where a call fails because of its arguments. */
CLUMP_API clump_status clump_heap_write_structs(clump_heap *heap, const clump_struct_desc *desc,
                                                const clump_ref *refs, const void *structs,
                                                uint64_t count);

/* METHOD. Make `count` objects of a class that is not abstract, as clump_heap_do_new() does: as
 * many as there is room for, the first of the structs. Fields that are not named become 0, and
 * null.
 *   refs  [out, optional]  references of the objects, in the order of the structs; room for `count`
 *   made  [out, optional]  how many; for the others OUT_OF_MEMORY is reported
 *                          (clump_heap_take_errors())
 * Blocks: yes. Returns as clump_heap_read_structs(); CLUMP_ERR_USAGE: an abstract class, or more
 * than 2^31 objects. After CLUMP_ERR_CL and CLUMP_ERR_HOST_MEMORY the objects may be there, with
 * undefined contents. */
CLUMP_API clump_status clump_heap_new_structs(clump_heap *heap, const clump_struct_desc *desc,
                                              const void *structs, uint64_t count, clump_ref *refs,
                                              uint64_t *made);

/* How a table is written. */
typedef enum clump_table_format {
    /* comma-separated values: a line of names (x, at.x, w[2], wide.s11), then a line for each
     * object; a point in every locale; references and booleans are numbers */
    CLUMP_TABLE_CSV,
    /* a NumPy array with a structured dtype (`.npy`, version 1.0; `numpy.load()`): references are
     * uint32, 3-vectors have 4 components as in OpenCL */
    CLUMP_TABLE_NPY
} clump_table_format;

/* METHOD. All objects of the class and its subclasses, with all fields of the class, in the order
 * of clump_heap_read_refs(), as a table.
 *   write  [in]  gets the whole text, in one part, with `user`; is not called if the call fails
 *                before
 * Blocks: yes; the host has all objects twice for a while. Returns CLUMP_OK; CLUMP_ERR_NOT_FOUND;
 * CLUMP_ERR_USAGE: no
 * `write`, no such format, or a class without fields or with an array of run-time length;
 * CLUMP_ERR_UNSUPPORTED: too many fields for a header of .npy; CLUMP_ERR_IO `write` said so;
 * CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_write_table(clump_heap *heap, const char *class_name,
                                              clump_table_format format, clump_write_fn write,
                                              void *user);

#ifdef __cplusplus
}
#endif
#endif
