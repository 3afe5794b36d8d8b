/* Heaps written by the host, bit by bit.
 *
 * A *world* is a heap with its facts. A *snapshot* is a copy of its buffer, decoded on the host:
 * all live objects in the order of enumeration. world_fill() makes a snapshot of random blocks,
 * objects and references and writes it into the heap, hints and counters included, so that any fill
 * level of any block is at hand without a kernel, and the same heap can be written twice.
 *
 * Objects are known by a field `tag` that no two share. Those without one, for which tags would be
 * too large, are known by the references that lead to them.
 *
 * All functions fail the running test if they cannot do what they should.
 * Read first: cl/core/layout.h. Read next: graph.h.
 */
#ifndef WORLD_H
#define WORLD_H

#include "cl_fixture.h"
#include "heap/access.h"

#define WORLD_FIELDS_MAX 256

typedef struct world {
    cl_fixture *f;
    clump_heap *heap;
    const clump_schema *schema;
    const clumpi_header *h;
    const clumpi_class *k; /* by id */
    uint32_t class_count;
    clump_class_info classes[CLUMP_CLASSES_MAX + 1];
    uint32_t own[CLUMP_CLASSES_MAX + 2]; /* fields own[id] .. own[id + 1] - 1 */
    clump_field_info fields[WORLD_FIELDS_MAX];
    int tag[CLUMP_CLASSES_MAX + 1]; /* number of the field `tag`, or -1 */
    uint8_t *pristine;              /* the buffer of the empty heap */
    uint64_t bytes;
    uint64_t random;
    uint32_t epoch;
    char label[128]; /* what is being tried, for messages */
} world;

typedef struct snapshot {
    const world *w;
    uint8_t *image;
    uint32_t *first; /* per granule: number of the first object of the row */
    uint32_t count;
    clump_ref *refs; /* by class and address */
    uint8_t *class_id;
    uint32_t start[CLUMP_CLASSES_MAX + 2]; /* objects of class id: start[id] .. start[id + 1] - 1 */
} snapshot;

#define WORLD_FAIL(w, ...)                                                                         \
    do {                                                                                           \
        print_error("%s:\n    ", (w)->label);                                                      \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        fail();                                                                                    \
    } while (0)
#define WORLD_CHECK(w, condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition)) WORLD_FAIL(w, __VA_ARGS__);                                              \
    } while (0)

/* A random number below `below`. */
uint32_t draw(world *w, uint32_t below);

/* ---- Worlds (world.c) ------------------------------------------------------------------------ */

/* CONSTRUCTOR, DESTRUCTOR. blocks: that can hold objects. */
world *world_open(cl_fixture *f, const char *schema, uint32_t blocks, uint32_t block_rows,
                  uint64_t seed);
void world_close(world *w);

/* Elements of a field, and whether a class is another or derived from it. */
uint32_t elements(const clump_field_info *field);
int is_a(const world *w, uint32_t class_id, uint32_t base);

/* Number of a field in world.fields, by name; it may be inherited. */
uint32_t find_field(const world *w, const char *class_name, const char *name);

/* ---- The parts of an image (world.c) --------------------------------------------------------- */

/* What is at an offset in units; the state of a block; the bitmap of a granule; the entry of a
 * class. */
uint32_t *words_at(const world *w, uint8_t *image, uint32_t units);
uint32_t *state_at(const world *w, uint8_t *image, uint32_t block);
uint64_t *bits_at(const world *w, uint8_t *image, uint32_t granule);
uint32_t block_class(const world *w, uint8_t *image, uint32_t block);
uint32_t block_credits(const world *w, uint8_t *image, uint32_t block);

/* The block that a reference leads into; 0 if it is none that can hold objects. */
uint32_t block_of(const world *w, clump_ref ref);

/* Class of the live object that a reference names, or 0. */
uint32_t live_class(const snapshot *s, clump_ref ref);

/* An element of a field: where it is, and as a word. */
uint8_t *value_at(const snapshot *s, clump_ref ref, const clump_field_info *field,
                  uint32_t element);
uint32_t word_at(const snapshot *s, clump_ref ref, const clump_field_info *field, uint32_t element);
void put_word(const snapshot *s, clump_ref ref, const clump_field_info *field, uint32_t element,
              uint32_t word);

/* Number of a live object; the tag of an object by number. */
uint32_t number_of(const snapshot *s, clump_ref ref);
uint32_t tag_of(const snapshot *s, uint32_t number);

/* ---- Snapshots (world.c) --------------------------------------------------------------------- */

/* CONSTRUCTOR. A copy of an image, which decode() has to number; NULL: of what is in the heap
 * now. */
snapshot *snapshot_new(const world *w, const uint8_t *image);

/* CONSTRUCTOR. What is in the heap now. */
snapshot *snapshot_take(const world *w);

/* DESTRUCTOR. NULL is allowed. */
void snapshot_drop(snapshot *s);

/* Number the live objects anew. */
void decode(snapshot *s);

/* Write a snapshot into the heap. */
void snapshot_put(world *w, snapshot *s);

/* ---- Random heaps (world_fill.c) ------------------------------------------------------------- */

typedef struct fill {
    uint32_t used;      /* percent of the blocks that are in use */
    uint32_t low, high; /* percent of their slots, drawn for each; one slot at least */
    uint32_t full;      /* percent of them that are full all the same */
    uint32_t dangling;  /* percent of references that are any bits; as many are null */
    const char *only;   /* the class of all, or NULL */
} fill;

/* Make the hints of an image what its blocks say. */
void put_hints(const world *w, uint8_t *image);

/* Take an object away, as a free would; hints are left as they were. */
void put_free(const world *w, uint8_t *image, clump_ref ref);

/* Bits of every kind that a reference field can hold after its object was freed, or by mistake. It
 * may happen to name an object of the right class. */
clump_ref random_bits(world *w, const snapshot *s);

/* Write blocks with these classes and credits (0: free), in the order of addresses. */
snapshot *world_put(world *w, const uint32_t *ids, const uint32_t *credits, const fill *how);

/* Write a random heap; returns its snapshot. */
snapshot *world_fill(world *w, const fill *how);

#endif
