/* Heaps filled to the last slot, emptied, and freed wrongly: what diff_fill.c and diff_features.c
 * run.
 *
 * Read first: tests/support/cl_fixture.h.
 */
#ifndef FILL_CORE_H
#define FILL_CORE_H

#include "cl_fixture.h"

/* The concrete classes of the heap. */
enum { FILL_CLASSES = 4 };
extern const char *const fill_classes[FILL_CLASSES];

typedef struct fill_test {
    cl_fixture *f;
    clump_heap *heap;
    clump_program *program;
    int collective; /* group_new is tried too */
    clump_kernel *fill, *group, *drop, *fresh, *swap;
    uint64_t random;
} fill_test;

/* CONSTRUCTOR. how may be NULL. */
void fill_open(fill_test *t, cl_fixture *f, uint32_t blocks, uint32_t block_rows,
               const cl_fixture_build *how);

/* DESTRUCTOR. */
void fill_close(fill_test *t);

/* n work-items want an object each; refs[i] is what they got. how: 0 new, 1 group_new, 2 both in
 * turn by group; the last two for Small only. */
void fill_make(fill_test *t, const char *name, uint32_t how, uint32_t n, uint32_t *refs);

/* n work-items free a reference each, as a reference to the class. */
void fill_free(fill_test *t, const char *name, uint32_t n, const uint32_t *refs);

/* The class has exactly these live objects, and all else is well too. Sorts the references. */
void fill_expect(fill_test *t, const char *name, uint32_t n, uint32_t *refs);

/* Fill, free some, fill the holes; empty in two launches, the last as the base class. */
void fill_and_empty(fill_test *t, const char *name, uint32_t *refs);

/* Holes in the blocks of one class, another class gets all free blocks, then the holes fill. */
void fill_side_by_side(fill_test *t, const char *first, const char *second, uint32_t *refs,
                       uint32_t *others);

/* Do-new fills heaps of one class with holes, again and again. */
void fill_by_do_new(fill_test *t, const char *name, uint32_t *refs);

/* Freed blocks serve other classes in the kernel that freed them. */
void fill_swap(fill_test *t, uint32_t *refs, uint32_t *others);

/* Objects freed twice, in one kernel and in two. */
void fill_double_free(fill_test *t, const char *name, uint32_t *refs);

/* References to what is no object of the class, freed one by one. */
void fill_garbage(fill_test *t);

#endif
