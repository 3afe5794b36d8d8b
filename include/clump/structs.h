/* Objects as C structs on the host. The calls read all objects of a class, or chosen objects, into
 * an array of structs, write them from one, or make objects from one. Other calls read and write
 * their arrays of run-time length.
 *
 * A clump_struct_desc has the offset of each field in the struct. `clump-schema --emit-c FILE`
 * makes the struct and its description from a schema. To use a struct of another form, describe it
 * by hand:
 *
 *   typedef struct body { float x, y; uint32_t neighbour[4]; } body;
 *   static const clump_struct_field body_fields[] = {
 *       {"x", offsetof(body, x)}, {"y", offsetof(body, y)}, {"neighbour", offsetof(body,
 *       neighbour)}};
 *   static const clump_struct_desc body_desc = {sizeof body_desc, "Body", sizeof(body), 3,
 *                                                body_fields};
 *
 * A field uses element_bytes of the struct (schema.h). A vector of 3 has 4 elements, as cl_float3
 * has. A bool uses 1 byte, and a reference 4, as a clump_ref does. The elements of an array follow
 * each other. An array `a` with `max` (schema.h) has `max` elements in the struct, and a field
 * a_length. clump_heap_read_field() and clump_heap_write_field() describe the elements beyond the
 * length. A description may name some of the fields, in any order, including inherited ones.
 * Offsets need no alignment.
 *
 * Each call costs one launch for each named field, a few launches to find or verify the objects,
 * one transfer of all structs, and a buffer of their size on the device. clump_heap_new_structs()
 * also costs a launch for each other field. Other objects, and other fields of objects that existed
 * before, do not change. A call that fails because of its arguments reads and writes nothing.
 *
 * Threads: as for the heap.
 * Read first: heap.h.
 */
#ifndef CLUMP_STRUCTS_H
#define CLUMP_STRUCTS_H

#include "clump/heap.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The place of a field in a struct of the host. */
typedef struct clump_struct_field {
    const char *name; /* of a field of the class or of a base, each at most once */
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
 * clump_heap_read_refs(), or chosen objects.
 *   refs     [in, optional]   `capacity` references to live objects of the class, which are read,
 *                             at most 2^31. NULL: all objects
 *   structs  [out, optional]  room for `capacity`. Bytes that no field covers become 0. NULL: the
 *                             call only counts
 *   count    [out, optional]  number of objects, even if they do not fit
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the objects do not fit. The call writes nothing to `structs`
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_REFERENCE  a reference does not name such an object: the error says which
 *   CLUMP_ERR_USAGE      a field twice, not within the struct, or an array that grows, or no
 *                        `structs` for chosen objects
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_read_structs(clump_heap *heap, const clump_struct_desc *desc,
                                               const clump_ref *refs, void *structs,
                                               uint64_t capacity, uint64_t *count);

/* METHOD. Write all live objects, where `count` must be their number, or the objects that `count`
 * references name. If several structs are for one object, it is undefined which one is written.
 * Blocks: yes.
 * Returns the statuses of clump_heap_read_structs(), except CLUMP_ERR_TOO_SMALL. Fails with
 * CLUMP_ERR_USAGE also if the count is wrong, a length is more than the `max` of its array, or a
 * field belongs to an array that grows. A call that fails because of its arguments writes
 * nothing. */
CLUMP_API clump_status clump_heap_write_structs(clump_heap *heap, const clump_struct_desc *desc,
                                                const clump_ref *refs, const void *structs,
                                                uint64_t count);

/* METHOD. Make `count` objects of a class that is not abstract, as clump_heap_do_new() does. If not
 * all fit, it makes objects from the first structs. Fields that are not named become 0 or null. If
 * the class had objects when the last list was made, a small number of new ones uses reserved
 * slots, as in kernels. The cost then does not depend on the size of the heap, and the new objects
 * have no defined order by address.
 *   refs  [out, optional]  references to the objects, in the order of the structs. Room for
 *                          `count`. Those from `made` on are not written
 *   made  [out, optional]  number of objects made. The others are reported as OUT_OF_MEMORY
 *                          (clump_heap_take_errors())
 * Blocks: yes.
 * Returns the statuses of clump_heap_read_structs(), except CLUMP_ERR_TOO_SMALL and
 * CLUMP_ERR_REFERENCE. Fails with CLUMP_ERR_USAGE also for an abstract class, more than 2^31
 * objects, or a length that is more than the `max` of its array. After CLUMP_ERR_CL and
 * CLUMP_ERR_HOST_MEMORY, the objects may exist with undefined contents. */
CLUMP_API clump_status clump_heap_new_structs(clump_heap *heap, const clump_struct_desc *desc,
                                              const void *structs, uint64_t count, clump_ref *refs,
                                              uint64_t *made);

/* METHOD. Read an array of run-time length of all live objects of the class and its subclasses, in
 * the order of clump_heap_read_refs(), or of chosen objects. All elements follow each other in
 * `values`: object i has elements offsets[i] .. offsets[i + 1] - 1. This is the layout of Arrow's
 * LargeList.
 *   refs      [in, optional]   `objects` references to live objects of the class, at most 2^31.
 *                              NULL: all objects
 *   objects   [in]             number of references, or of all live objects
 *   offsets   [out]            room for `objects` + 1. offsets[0] is 0, and the last one the number
 *                              of all elements
 *   bytes     of one element, `sizeof *values`: the field's element_bytes
 *   values    [out, optional]  room for `capacity` elements. NULL, with a capacity of 0: the call
 *                              only reads the offsets
 * Blocks: yes. Costs 2 launches, of an array that grows 4 or 5, a few more to find or verify the
 * objects, transfers of 4 and 8 bytes an object (16 and 8), and one of the elements in use.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL  the elements do not fit. The call writes the offsets, and nothing to
 *                        `values`
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_REFERENCE  a reference does not name such an object: the error says which
 *   CLUMP_ERR_USAGE      a field of another kind, `bytes` wrong, or `objects` is not the
 *                        number of all objects
 *   CLUMP_ERR_CORRUPT    an array was overwritten
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_read_arrays(clump_heap *heap, const char *class_name,
                                              const char *field, const clump_ref *refs,
                                              uint64_t objects, uint64_t *offsets, size_t bytes,
                                              void *values, uint64_t capacity);

/* METHOD. Write such arrays, with their lengths. The parameters are the same as for
 * clump_heap_read_arrays(). If several references name one object, its array with `max` may get the
 * length of one array, and the elements of another. An array that grows and has too little room
 * gets new memory. The heap needs room for it beside the old memory, which is freed at the end.
 *   offsets  [in]  `objects` + 1, which do not descend. The first one need not be 0. Elements
 *                  before it, and from the last one on, are not read
 *   values   [in]  `count` elements. May be NULL if `count` is 0
 * Blocks: yes. Costs the same, and of arrays that grow 2 launches more for new memory. The first
 * such call for a heap compiles a kernel.
 * Returns the same statuses, except CLUMP_ERR_TOO_SMALL, or:
 *   CLUMP_ERR_DEVICE_MEMORY  the heap has no raw memory for arrays that grow
 *   CLUMP_ERR_USAGE          also: offsets descend or are more than `count`, an array would be
 *                            longer than its `max`, or several references name one object with an
 *                            array that grows
 * A call that fails because of its arguments, or for want of room, writes nothing. */
CLUMP_API clump_status clump_heap_write_arrays(clump_heap *heap, const char *class_name,
                                               const char *field, const clump_ref *refs,
                                               uint64_t objects, const uint64_t *offsets,
                                               size_t bytes, const void *values, uint64_t count);

/* The format of a table. */
typedef enum clump_table_format {
    /* comma-separated values: a line of names (x, at.x, w[2], wide.s11), then a line for each
     * object. A decimal point in every locale. References and booleans are numbers. Elements beyond
     * the length of an array are empty: "1,2,,2" are w[0], w[1], w[2] and w_length of an array with
     * `max` 3 */
    CLUMP_TABLE_CSV,
    /* a NumPy array with a structured dtype (`.npy`, version 1.0, `numpy.load()`). References are
     * uint32, vectors of 3 have 4 components as in OpenCL. Elements beyond the length of an array
     * are 0 */
    CLUMP_TABLE_NPY
} clump_table_format;

/* METHOD. Write all objects of the class and its subclasses as a table, with all fields of the
 * class, in the order of clump_heap_read_refs(). An array `a` that grows is only a_length there:
 * clump_heap_read_arrays() reads the elements in the same order.
 *   write  [in]  gets the whole text, in one part, with `user`. Not called if the call fails before
 * Blocks: yes. The host has all objects twice for a while.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_NOT_FOUND    no such class
 *   CLUMP_ERR_USAGE        no `write`, an unknown format, or a class without fields
 *   CLUMP_ERR_UNSUPPORTED  too many fields for a header of .npy
 *   CLUMP_ERR_IO           `write` returned an error
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_heap_write_table(clump_heap *heap, const char *class_name,
                                              clump_table_format format, clump_write_fn write,
                                              void *user);

#ifdef __cplusplus
}
#endif
#endif
