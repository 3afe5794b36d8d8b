/* What tests of saving and loading share: a file in memory, a heap with something of everything,
 * and the comparison of two heaps, which sees the objects as the host does, by
 * clump_heap_read_refs() and clump_heap_read_field().
 *
 * Read first: include/clump/save.h, cl_fixture.h.
 */
#ifndef SAVED_HEAP_H
#define SAVED_HEAP_H

#include "cl_fixture.h"

/* A file in memory, for `write` and `read`. */
typedef struct memory_file {
    uint8_t *data;
    size_t bytes, room; /* of data; allocated */
    size_t at;          /* that was read so far */
    size_t most;        /* a write beyond this fails, with 28; 0: none does */
} memory_file;
int memory_write(void *file, const void *data, size_t bytes);
size_t memory_read(void *file, void *data, size_t bytes);
void memory_release(memory_file *file);

/* The heap as bytes, in pieces of so many (0: as many as is usual); to be released. */
memory_file saved_bytes(const cl_fixture *f, clump_heap *heap, uint32_t piece_bytes);
/* Load them from their begin on. */
clump_status load_bytes(clump_heap *heap, memory_file *file, clump_load_report *report);
/* The same, which must fail because of the heap's schema, with both texts in the message. */
void load_bytes_refused(const cl_fixture *f, clump_heap *heap, memory_file *file,
                        const char *const texts[2]);

/* Fields of all types, arrays, structs, bases, references of each kind. */
extern const char saved_schema[];

/* Make about `objects` objects of its classes with random values, free some, and let fields refer
 * to the others and to nobody. Same seed, same device, same heap. */
void saved_fill(const cl_fixture *f, clump_heap *heap, uint32_t seed, uint32_t objects);

/* References of all objects by number: class by class. *refs is the caller's to free(). */
uint32_t saved_refs(const cl_fixture *f, clump_heap *heap, clump_ref **refs);
/* The number of a reference among these; UINT32_MAX for null, and UINT32_MAX - 1 for one that is
 * not there. */
uint32_t saved_number(const clump_ref *refs, uint32_t count, clump_ref ref);

/* Fails the test unless both have equal objects in an equal order. Their schemas are equal. */
void saved_compare(const cl_fixture *f, clump_heap *a, const cl_fixture *g, clump_heap *b);

#endif
