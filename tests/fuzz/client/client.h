/* A random client of the public API, held against a model on the host.
 *
 * A *round* draws a context, a schema, up to three heaps with one program, and a sequence of
 * operations. Every operation says what must come of it; what kernels report, statistics and the
 * heap check are compared after each, and everything that a heap holds after every few. A round
 * depends on its seed alone, but for what the device leaves open: which work-item gets which slot,
 * and who gets nothing where there is not enough.
 *
 *   schema.c      random classes and fields        outside.c    registered buffers and handles
 *   source.c      the kernels of a round           moving.c     compaction
 *   model.c       what the heaps must hold         collecting.c collection
 *   launches.c    kernels that make, free, write   pooled.c     a pool beside the heaps: its
 *                 regions,
 *   numbers.c     objects by number                pool_calls.c all other calls on it,
 *   upkeep.c      what changes nothing             pool_thread.c another thread's
 *   host_access.c fields from the host             verify.c     everything compared
 *   copying.c     fields to and from buffers       room.c       how many objects fit, and in what
 *   saving.c      a heap saved, and loaded into another
 *   extracting.c  objects that leave a heap and come into another
 *   becoming.c    objects that change their class
 *   evicting.c    blocks that leave the device, and come back
 *   converting.c  a heap with another schema, and back
 *   checks.c      checked heaps                raw.c        raw memory beside the objects
 *   arrays.c      arrays of run-time length
 *   containers.c  maps, vectors and grids of cl/api: their classes; maps.c, vectors.c, grids.c:
 *                 each of them
 *   operations.c  the list of operations           round.c      what a round has, from begin to end
 *   memory.c      that it does not grow            watchdog.c   operations that do not end
 *   messages.c    what is printed of a failure     main.c       rounds, on one thread or several
 *
 * Objects are known by a field `tag` that no two of a round share. Values of all other fields are
 * hashes of the tag, of a number called *salt*, and of the place, so that the model keeps a salt
 * where the heap keeps a value.
 *
 * Several threads each run rounds of their own, in one process; a `client` belongs to one thread.
 *
 * Read first: include/clump/clump.h, tests/support/cl_fixture.h.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdatomic.h>

#include "account.h"
#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"

enum {
    DRAWN_CLASSES_MAX = 6,
    CLASSES_MAX = DRAWN_CLASSES_MAX + 5, /* and those of containers */
    OWN_FIELDS_MAX = 4,
    FIELDS_MAX = CLASSES_MAX * OWN_FIELDS_MAX,
    ELEMENTS_MAX = 4,
    WIDTH_MAX = 16,
    CODES_PER_FIELD = ELEMENTS_MAX * WIDTH_MAX,
    HEAPS_MAX = 3,
    ITEMS_MAX = 6000, /* work-items of a launch that makes objects, before rounding up */
    OUT_WORDS = 2 * (ITEMS_MAX + 256) + 2,
    GRAVES = 128,
    OUTSIDES_MAX = 4,
    HANDLES_MAX = 100, /* more than the library's first buffer of handles has room for */
    REGIONS_MAX = 32,
    TIMELINE_MAX = 100, /* commands */
    RAWS_MAX = 2000,
    GIVEN_MAX = 8,    /* parameters of a kernel */
    ARRAYS_EVERY = 4, /* seeds: each of these has arrays of run-time length */
    EVICTS_EVERY =
        4, /* likewise, of which 1 is left: heaps of more than memory, where that can be */
    DRAWN_ARRAYS_MAX = 3,
    ARRAYS_MAX = DRAWN_ARRAYS_MAX + 4, /* and those of containers */
    ARRAY_CODES = 200                  /* numbers of fields between the hashes of two arrays */
};

#define NEVER_WRITTEN 0xfffafffau /* what checked heaps take for that in 4 bytes, */
#define NEVER_WRITTEN_REF 61u     /* and in a reference */
#define FIRST_TAG 2u              /* checksums have 0 for null and 1 for dangling references */
#define LOOSE 0xfffffffeu     /* in the place of a reference: whatever is found there is right */
#define UNTOUCHED 0xffffffffu /* of an output that no work-item has written */
#define NO_CLASS (-1)

typedef unsigned long long ull;

typedef struct text {
    char *at;
    size_t length, room;
} text;

/* ---- Schema ---------------------------------------------------------------------------------- */

typedef struct field_model {
    char name[16];
    clump_type type;
    uint32_t number;   /* among all fields of the schema */
    uint32_t width;    /* 1 for scalars */
    uint32_t count;    /* 0 for a plain field */
    uint32_t elements; /* 1 for a plain field */
    uint32_t bytes;    /* of an element */
    int packed, weak;
    int target; /* class referred to, or NO_CLASS */
    int owner;  /* class that declares it */
    /* a container keeps its values, which are no hashes: words are as the heap has them */
    int held;
    uint32_t at; /* its first word in object_model.words */
} field_model;

/* An array of run-time length. */
typedef struct array_model {
    field_model element; /* its name, type, owner and target; `number` is for hashes */
    clump_array kind;
    uint32_t inside; /* elements in the object */
} array_model;

typedef struct class_model {
    char name[16];
    int base; /* NO_CLASS: none */
    int is_abstract, is_aos;
    uint32_t id;                              /* as the library says */
    uint32_t words;                           /* of object_model.words */
    uint32_t fields[FIELDS_MAX], field_count; /* numbers; inherited ones first, without the tag */
    uint32_t first_own;                       /* fields[first_own] is the first of its own */
} class_model;

/* Classes that kernels of a round are about. */
typedef struct roles {
    int each, pair[2], group, parent, child, freed, looked_at, derived, crowd, buried, counted;
    int child_link; /* field of the child that can hold the parent, or -1 */
} roles;

/* Objects of one class can become objects of another. */
typedef struct become_model {
    int from, to;
} become_model;

/* ---- Model ----------------------------------------------------------------------------------- */

typedef struct object_model {
    uint32_t tag;
    clump_ref ref;
    int class;
    uint32_t *words; /* for each element of each field its salt, or the reference that it holds */
    uint32_t lengths[ARRAYS_MAX];
    uint32_t *elements[ARRAYS_MAX]; /* of arrays of references, and of those of containers */
} object_model;

/* Raw memory. */
typedef struct raw_model {
    uint32_t handle, bytes, tag;
} raw_model;

/* A registered buffer of references. */
typedef struct outside {
    clump_refs *refs; /* NULL: this place is not in use */
    clump_refs_desc desc;
    uint32_t *image; /* all words of the buffer */
    uint32_t words;
    uint32_t limit; /* references that are looked at */
    uint32_t turn;  /* the number of its registration */
} outside;

typedef struct heap_model {
    clump_heap *heap;
    uint64_t bytes;
    uint32_t blocks;     /* at least so many */
    uint32_t block_rest; /* bytes of a block that 64 slots of raw memory do not fill */
    uint32_t references; /* no reference is as large */
    object_model *objects;
    uint32_t count, room;
    int got_room;        /* by the last operation, perhaps */
    int pooled;          /* its memory is the pool's */
    int watches;         /* handles of objects that were freed read null */
    uint32_t plain;      /* the bits of a reference that are no generation: checked.h */
    uint64_t events;     /* allocations and frees by kernels and do-news */
    int has_structs;     /* 1: the host made objects, by no kernel */
    uint64_t leaks;      /* objects that its end told */
    uint32_t *number_at; /* by reference without generation: 1 + number of the object there */
    clump_ref graves[GRAVES];
    uint32_t grave_count;                   /* so far */
    clump_heap_stats stats;                 /* after the last operation */
    clump_class_stats classes[CLASSES_MAX]; /* by id - 1 */
    outside outsides[OUTSIDES_MAX];
    uint32_t registrations; /* so far */
    struct {
        clump_handle handle;
        clump_ref ref;
    } handles[HANDLES_MAX];
    uint32_t handle_count;
    raw_model raws[RAWS_MAX];
    uint32_t raw_count;
    struct block_model *blocks_known; /* by block, see evicting.c; NULL: nothing is ever evicted */
    object_model *away;               /* objects that are */
    uint32_t away_count, away_room, away_blocks;
} heap_model;

/* What must come of the operation at hand. */
typedef struct expectation {
    uint64_t asked[CLASSES_MAX], nulls[CLASSES_MAX];
    uint64_t refused;                 /* double frees and bad references together */
    uint64_t double_least, bad_least; /* of which certainly */
    uint64_t accesses;                /* by bad references, in checked programs */
    int frees;                        /* 1: a kernel that made objects freed others */
    uint64_t raw_nulls;               /* of requests for raw memory, */
    uint64_t raw_slot_nulls;          /* of which for sizes that slots have */
    uint64_t bad_sizes;               /* arrays longer than one can be */
    uint64_t not_noted;               /* bodies, in a grid */
    uint64_t page_nulls_least,
        page_nulls_most; /* reports, of both kinds, beside these: vectors.c, becoming.c */
} expectation;

typedef struct region_model {
    clump_allocation allocation; /* 0: none */
    uint32_t words, salt;
    int movable;
    uint32_t pins;
    void *mapped;
} region_model;

/* A thread that uses the same pool: see pool_thread.c. */
typedef struct pool_thread pool_thread;

/* name, weight */
#define OPERATION_LIST(X)                                                                          \
    X(do_new, 8)                                                                                   \
    X(new_each, 8)                                                                                 \
    X(new_two, 8)                                                                                  \
    X(new_group, 6)                                                                                \
    X(new_loop, 10)                                                                                \
    X(free_some, 10)                                                                               \
    X(free_listed, 6)                                                                              \
    X(set_by_kernel, 6)                                                                            \
    X(link_by_kernel, 14)                                                                          \
    X(look_at, 5)                                                                                  \
    X(crowd_together, 2)                                                                           \
    X(number_all, 3)                                                                               \
    X(make_structs, 4)                                                                             \
    X(copy_structs, 3)                                                                             \
    X(write_fields, 6)                                                                             \
    X(set_one_field, 6)                                                                            \
    X(get_one_field, 4)                                                                            \
    X(count_and_list, 4)                                                                           \
    X(copy_to_buffer, 5)                                                                           \
    X(copy_from_buffer, 5)                                                                         \
    X(ask_room, 3)                                                                                 \
    X(ask_bytes, 2)                                                                                \
    X(misuse, 3)                                                                                   \
    X(register_buffer, 8)                                                                          \
    X(unregister_buffer, 4)                                                                        \
    X(write_buffer, 4)                                                                             \
    X(make_handles, 8)                                                                             \
    X(drop_handles, 4)                                                                             \
    X(compact, 14)                                                                                 \
    X(compact_when_due, 3)                                                                         \
    X(collect, 12)                                                                                 \
    X(collect_when_due, 2)                                                                         \
    X(raw_make, 20)                                                                                \
    X(raw_free, 12)                                                                                \
    X(raw_resize, 8)                                                                               \
    X(change_arrays, 14)                                                                           \
    X(append_to_arrays, 10)                                                                        \
    X(link_arrays, 8)                                                                              \
    X(work_on_map, 20)                                                                             \
    X(keep_map, 10)                                                                                \
    X(append_to_vectors, 16)                                                                       \
    X(keep_vector, 10)                                                                             \
    X(set_grid, 5)                                                                                 \
    X(note_grid, 10)                                                                               \
    X(look_near, 10)                                                                               \
    X(reserve_slots, 4)                                                                            \
    X(repair_heap, 2)                                                                              \
    X(become_others, 30)                                                                           \
    X(look_inside, 2)                                                                              \
    X(save_and_load, 4)                                                                            \
    X(move_objects, 4)                                                                             \
    X(evict_blocks, 16)                                                                            \
    X(fetch_blocks, 24)                                                                            \
    X(convert_and_back, 4)                                                                         \
    X(renew_heap, 1)                                                                               \
    X(renew_program, 1)                                                                            \
    X(change_queue, 5)                                                                             \
    X(use_pool, 4)                                                                                 \
    X(hold_regions, 3)                                                                             \
    X(step_pool, 4)                                                                                \
    X(limit_pool, 2)                                                                               \
    X(look_at_pool, 2)

typedef enum operation_name {
#define OPERATION_ENUM(name, weight) OPERATION_##name,
    OPERATION_LIST(OPERATION_ENUM)
#undef OPERATION_ENUM
        OPERATIONS
} operation_name;

typedef struct totals {
    ull rounds, operations;
    ull requests, nulls, frees, refused, moves, raw_moves, dead, weak_nulled, pool_moves, became,
        compared;
    ull times[OPERATIONS];
    double took[OPERATIONS]; /* seconds, comparisons included */
    account_sums most; /* that the library had, without what heaps and pools are asked to have */
} totals;

#define KERNEL_LIST(X)                                                                             \
    X(make)                                                                                        \
    X(each)                                                                                        \
    X(two)                                                                                         \
    X(group)                                                                                       \
    X(loop)                                                                                        \
    X(drop)                                                                                        \
    X(free_list)                                                                                   \
    X(set)                                                                                         \
    X(link)                                                                                        \
    X(checksum)                                                                                    \
    X(look)                                                                                        \
    X(crowd)                                                                                       \
    X(keys)                                                                                        \
    X(bury)                                                                                        \
    X(number)                                                                                      \
    X(become)                                                                                      \
    X(raw_make)                                                                                    \
    X(raw_free)                                                                                    \
    X(raw_resize)                                                                                  \
    X(raw_look)                                                                                    \
    X(array_change)                                                                                \
    X(array_append)                                                                                \
    X(array_link)                                                                                  \
    X(array_look)                                                                                  \
    X(map_keep)                                                                                    \
    X(map_work)                                                                                    \
    X(map_tidy)                                                                                    \
    X(vector_keep)                                                                                 \
    X(vector_append)                                                                               \
    X(vector_look)                                                                                 \
    X(grid_keep)                                                                                   \
    X(grid_key)                                                                                    \
    X(grid_note)                                                                                   \
    X(grid_look)
typedef enum kernel_name {
#define KERNEL_ENUM(name) KERNEL_##name,
    KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNELS
} kernel_name;

/* The classes, fields and arrays of containers. A class is NO_CLASS where the round has no such
 * container. */
typedef struct container_parts {
    int map, word, vector, page, cells;
    int body;    /* the class whose objects the grid has, */
    int body_at; /* and its field that their places depend on, or -1 */
    uint32_t key, value, next, erased;
    uint32_t first, filling, growing, pages;
    uint32_t origin, scale, count;
    uint32_t heads, items, starts, sorted; /* arrays */
} container_parts;

typedef struct client {
    cl_fixture on;              /* its queue is the one that calls are on now */
    cl_command_queue queues[2]; /* the one that it was opened with, and another */
    cl_context shared;          /* with clients of other threads; NULL: none */
    account *account;
    clump_personality personality;
    uint64_t seed, random;
    uint32_t step, operations;            /* done; to do */
    atomic_ullong deadline;               /* see watchdog.c */
    uint64_t resident;                    /* see memory_watch_process() */
    uint64_t piece_most;                  /* bytes that a piece of what was saved can have had */
    text schema_text, source, facts, log; /* the last two are for messages */
    class_model classes[CLASSES_MAX];
    int class_count;
    field_model fields[FIELDS_MAX];
    uint32_t field_count;
    array_model arrays[ARRAYS_MAX];
    uint32_t array_count; /* 0: the round has none */
    /* of these: what operations of all kinds make, free and write. The others are */
    int drawn_classes;
    uint32_t drawn_fields, drawn_arrays; /* those of containers, which their calls alone change */
    container_parts parts;
    roles roles;
    become_model becomes[2]; /* the second one, if there is one, leads back */
    uint32_t become_count;
    uint32_t block_rows;
    int evicts; /* all heaps have room for more objects than memory */
    int raw;    /* all heaps have raw memory beside the classes, and kernels ask for it */
    clump_checked_desc checked; /* of all heaps; `without` all checks: they are not checked */
    /* percentage of heaps that watch handles; the layout of checked ones tells */
    uint32_t watching;
    cl_fixture_build build;
    size_t local;  /* of launches with sizes of our own */
    int own_sizes; /* 1: loops over objects get such launches, too */
    clump_schema *schema;
    clump_program *program;
    int wanted[KERNELS];              /* 0: the round goes without it, */
    clump_kernel *kernels[KERNELS];   /* which is NULL */
    int is_kept[KERNELS];             /* 1: it is the program's, which ends it */
    cl_mem given[KERNELS][GIVEN_MAX]; /* parameters that stay: buffers; NULL: it is a number */
    cl_mem out_buffer, list_buffer;
    uint32_t *out, *list;
    heap_model heaps[HEAPS_MAX];
    uint32_t heap_count, turn; /* turn: the heap of the operation at hand */
    uint32_t next_tag;
    clump_pool *pool;            /* NULL: none */
    cl_command_queue pool_queue; /* the context's, or one of the pool's own */
    cl_command_queue side_queue; /* of the client, for the contents of regions */
    pool_thread *beside;         /* NULL: none */
    region_model regions[REGIONS_MAX];
    expectation expect;
    uint32_t left_out;       /* 1 + number of a field that the heap does not have now; 0: none */
    uint32_t array_left_out; /* the same of an array */
    totals sum;
} client;

/* ---- messages.c ------------------------------------------------------------------------------ */

/* Once, before the first round: a crash, or an end of the program in a round, prints the round. */
void begin_messages(void);
/* The round of this thread is the one to print; NULL: none. */
void begin_work(client *c);
void print_round(client *c);

void text_append(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(text *t);

/* What the operation at hand does, for messages. */
void note(client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something is wrong: print what, and all that is needed to see it again, and end the program. */
_Noreturn void complain(client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `found` must be `expected`. */
void same_number(client *c, const char *what, uint64_t found, uint64_t expected);

/* ---- watchdog.c ------------------------------------------------------------------------------ */

/* A thread looks at `count` clients each second until the process ends. When an operation of one
 * takes longer than PATIENCE, it prints the round and ends the program with 1. */
enum { PATIENCE = 240 }; /* seconds, the compilation of kernels included */
void begin_watchdog(client *clients, uint32_t count);
void watch_step(client *c); /* an operation begins, or a part of one that has a kernel of its own */
void watch_pause(client *c); /* nothing is under way */

/* ---- memory.c -------------------------------------------------------------------------------- */

void memory_step(client *c); /* after an operation: what the library holds is within its bounds */
/* After an operation: after a third of a round resident memory is hardly more than it was at most
 * by then, in this round or in earlier ones of the thread. It may be less in a round that compiles
 * nothing. */
void memory_watch_process(client *c);
void memory_end(client *c); /* after everything was destroyed: it holds nothing */
void memory_print(const totals *sum);

/* ---- round.c --------------------------------------------------------------------------------- */

int open_round(client *c, uint64_t seed, uint32_t operations); /* 0, or what main() should return */
void close_round(client *c);
void make_program(client *c); /* and its kernels */
void end_kernels(client *c);

void *must_alloc(size_t bytes); /* zeros */
double seconds(void);

uint32_t below(client *c, uint32_t n); /* a number below n; 0 for n = 0 */
int chance(client *c, uint32_t percent);
uint32_t logarithmic(client *c, double low, double high);
uint32_t draw_salt(client *c);

/* ---- schema.c -------------------------------------------------------------------------------- */

void draw_schema(client *c);
int is_a(const client *c, int class, int base);
int class_of_id(const client *c, uint32_t id);
int draw_class(client *c);     /* abstract ones, too, and none of a container */
int draw_any_class(client *c); /* those of containers, too */
int draw_concrete(client *c);
int draw_field(client *c, int references); /* number of a field, or -1 if there is none */
int is_scalar_uint(const field_model *f);
void draw_element(client *c, field_model *f); /* type, width, bytes, and class referred to */

/* ---- source.c -------------------------------------------------------------------------------- */

void write_source(client *c);

/* The hash of the kernels. `share` of 256 are picked. */
int picks(uint32_t tag, uint32_t salt, uint32_t share);
uint32_t children_of(uint32_t tag, uint32_t salt, uint32_t share, uint32_t most);

/* The value of an element under a salt, as the host reads it; and the words that checksums have of
 * the values of a component. */
void put_value(const field_model *f, uint32_t element, uint32_t tag, uint32_t salt, uint8_t *value);
uint32_t sum_of_value(const field_model *f, uint32_t element, uint32_t tag, uint32_t salt);
uint32_t checksum_of(const client *c, const heap_model *h);
uint32_t crowd_of(const client *c, const heap_model *h, int class);

/* ---- model.c --------------------------------------------------------------------------------- */

void model_open(client *c, heap_model *h);
void measure_heap(heap_model *h); /* what of the model depends on the heap's layout */
void model_close(heap_model *h);
object_model *object_at(const heap_model *h, clump_ref ref); /* NULL: none */
/* The same, but an earlier object in the slot will do. */
object_model *object_in_slot(const heap_model *h, clump_ref ref);
/* Objects moved or were collected: what a reference is then that no object has. */
clump_ref dangling_after(const heap_model *h, clump_ref ref);
/* The same, where none moved; a reference has the generation then that its object has. */
void name_all(client *c, heap_model *h);
/* 1 if the reference names a live object of the class; NO_CLASS: of any. */
int names(const client *c, const heap_model *h, clump_ref ref, int class);
void add_object(client *c, heap_model *h, int class, clump_ref ref, uint32_t tag, uint32_t salt);
void remove_object(client *c, heap_model *h, clump_ref ref);
uint32_t count_of(const client *c, const heap_model *h, int class); /* with subclasses */
clump_ref draw_live(client *c, heap_model *h, int class);           /* 0: none was found */
clump_ref draw_reference(client *c, heap_model *h, int class);      /* live, null, or any bits */
uint32_t block_of(const heap_model *h, clump_ref ref);
int block_is_free(const heap_model *h, clump_ref ref);

/* ---- checks.c -------------------------------------------------------------------------------- */

void draw_checks(client *c);
int has_check(const client *c, clump_check check); /* 1: the round's heaps have it */
int tells_accesses(const client *c);               /* 1: those by wrong references are reported */
int tells_bounds(const client *c);                 /* 1: those beyond the length of an array */
/* What checks found must be what was expected, and no more. */
void compare_findings(client *c, heap_model *h, const clump_device_report *r);
/* What a checked heap tells on demand. */
void look_at_checks(client *c, heap_model *h);
void look_at_failed_load(client *c, heap_model *h, uint32_t objects);
/* There were so many events more. */
void take_events(client *c, heap_model *h, uint64_t least, uint64_t most);
void adopt_events(client *c, heap_model *h); /* after a call that makes all objects anew */
/* Destroy a heap; it tells what is left in it. */
void end_heap(client *c, heap_model *h);

/* ---- raw.c ----------------------------------------------------------------------------------- */

void compare_raw(client *c, heap_model *h); /* all bytes of all raw memory */

/* ---- arrays.c -------------------------------------------------------------------------------- */

void draw_arrays(client *c); /* once there are classes */
void write_array(const client *c, text *t, const array_model *a, int packed);
int has_array(const client *c, const object_model *o, uint32_t array);
int is_ref_array(const client *c, uint32_t array);
/* New elements of an array of references are null. */
void set_length(const client *c, object_model *o, uint32_t array, uint32_t length);
void end_arrays(object_model *o);
void compare_arrays(client *c, heap_model *h);
void compare_arrays_by_host(client *c, heap_model *h);
/* also in another schema */ /* all elements, and that no memory is lost */

/* ---- becoming.c ------------------------------------------------------------------------------ */

void draw_becomes(client *c); /* once there are classes and arrays */
void write_becomes(const client *c, text *t, int class);
void write_become(client *c);

/* ---- containers.c ---------------------------------------------------------------------------- */

void draw_containers(client *c); /* once there are classes and arrays */
void write_containers(client *c);
void set_container_args(client *c);
int has_container(const client *c, operation_name name); /* what the operation is on */

/* An object of the class, now and then a new one, which is empty then; NULL: there is none, and no
 * room for one. */
object_model *draw_container(client *c, heap_model *h, int class, int *is_new);
/* One call by one work-item, on the container `ref`: what a kernel that keeps maps, vectors or
 * grids lists. Returns what it did. */
enum { KEEP_HEADS };
enum { KEEP_MAKE, KEEP_RESERVE, KEEP_CLEAR, KEEP_TRIM };
enum { KEEP_CELLS, KEEP_SORTED };
uint32_t keep_container(client *c, heap_model *h, kernel_name kernel, uint32_t what, clump_ref ref,
                        uint32_t n);

uint32_t *words_of(const client *c, object_model *o, uint32_t field);
/* What the heap has becomes what the model has: a field of all objects of its class, an array of
 * one object. */
void adopt_field(client *c, heap_model *h, uint32_t field);
void adopt_array(client *c, heap_model *h, object_model *o, uint32_t array);

void write_map(client *c);
void write_vector(client *c);
void write_grid(client *c);

/* ---- host_access.c --------------------------------------------------------------------------- */

int draw_class_with(client *c, const field_model *f); /* through which it is reached */
/* A new value for an element of an object: what goes into the model; and as the host has it. */
uint32_t draw_word(client *c, heap_model *h, const field_model *f);
void put_word(const field_model *f, uint32_t element, const object_model *o, uint32_t word,
              uint8_t *value);
/* The objects of a class, which must be as many as in the model. */
uint32_t list_class(client *c, heap_model *h, int class, clump_ref *refs);

/* ---- verify.c -------------------------------------------------------------------------------- */

void compare_element(client *c, heap_model *h, const field_model *f, uint32_t element,
                     object_model *o, const uint8_t *found);

/* After each operation: reports of kernels, statistics, the heap's own check. */
void settle(client *c, heap_model *h);
/* All objects and all their fields, what is outside, and checksums by a kernel. */
void compare_all(client *c, heap_model *h);
void compare_values(client *c, heap_model *h); /* without kernels of the round */
/* Objects were moved: to[number] gets where each object is now, found by its tag. */
void find_again(client *c, heap_model *h, clump_ref *to);

/* ---- outside.c ------------------------------------------------------------------------------- */

void compare_outside(client *c, heap_model *h);
void close_outside(client *c, heap_model *h);
/* References beyond those that are looked at became null. */
void clear_uncounted(heap_model *h);

/* What a reference outside becomes: `follow` is called for each that is looked at, and for each
 * handle, and returns the new one. */
typedef struct outside_rules {
    int null_dangling; /* as registered; handles have 1 */
    int weak;
} outside_rules;
typedef clump_ref follow_outside(void *user, clump_ref ref, outside_rules rules);
void change_outside(heap_model *h, follow_outside *follow, void *user);

/* ---- moving.c -------------------------------------------------------------------------------- */

typedef struct compaction {
    clump_compact_desc desc;
    bench_merge merge; /* factor 0: the planner */
    const char *class_names[CLASSES_MAX];
    int selected[CLASSES_MAX];
    uint32_t salt;            /* of the keys */
    const object_model *grid; /* its cells are the keys */
} compaction;

/* with_orders: may be one that moves everything. */
void draw_compaction(client *c, compaction *x, int with_orders, int may_merge);
/* Compact, and follow. Returns 0 where the order did not fit, so that nothing has moved. */
int compact_as(client *c, heap_model *h, const compaction *x);
uint32_t cell_of(const client *c, const object_model *grid, const object_model *body); /* grids.c */
/* The heap was compacted: the model follows, and everything is compared. report may be NULL. */
void follow_compaction(client *c, heap_model *h, const compaction *x,
                       const clump_compact_report *report);

/* ---- evicting.c ------------------------------------------------------------------------------ */

void open_blocks(client *c, heap_model *h);
void close_blocks(heap_model *h);
int is_away(const heap_model *h, clump_ref ref); /* 1: its block is evicted */
void bring_back(client *c, heap_model *h);
void refuse_while_away(client *c, heap_model *h);

/* ---- pooled.c -------------------------------------------------------------------------------- */

void open_pool(client *c);
void close_pool(client *c);
cl_command_queue make_queue(client *c);

/* Pools keep errors of their own. */
void expect_of_pool(client *c, clump_status found, clump_status expected, const char *call);
#define POOL_OK(c, call) expect_of_pool((c), (call), CLUMP_OK, #call)

region_model *draw_region(client *c); /* in use; NULL: none was found */
void compare_region(client *c, const region_model *r);
void compare_regions(client *c);
void unmap_region(client *c, region_model *r);
void drop_region(client *c, region_model *r); /* whoever holds it lets go first */
/* A step: CLUMP_ERR_USAGE is right, too, while another thread may make one. */
void step(client *c, const clump_defrag_desc *desc, clump_defrag_report *report,
          const clump_sync *sync);

/* ---- pool_thread.c --------------------------------------------------------------------------- */

void begin_pool_thread(client *c);
uint64_t end_pool_thread(client *c); /* returns the allocations that it leaves */
/* It does nothing in between. Without one these do nothing. */
void pause_pool_thread(client *c);
void resume_pool_thread(client *c);

/* ---- operations.c ---------------------------------------------------------------------------- */

typedef void operation(client *c, heap_model *h);

#define OPERATION_DECLARE(name, weight) operation name;
OPERATION_LIST(OPERATION_DECLARE)
#undef OPERATION_DECLARE

/* One random operation on a random heap, and what is compared after it. */
void operate(client *c);
void print_operations(const totals *sum); /* how often each ran, and for how long */

/* Make the heap of `h`, empty. */
void make_heap(client *c, heap_model *h);
void make_heap_like(client *c, heap_model *h); /* that watches handles as the one before did */

/* ---- launches.c ------------------------------------------------------------------------------ */

/* A buffer as a parameter that stays, if the round has the kernel. */
void give_buffer(client *c, kernel_name kernel, uint32_t index, cl_mem buffer);

/* Set the numbers as parameters from `first` on. */
void set_numbers(client *c, clump_kernel *kernel, uint32_t first, uint32_t count,
                 const uint32_t *values);
#define SET_NUMBERS(c, kernel, first, ...)                                                         \
    set_numbers((c), (kernel), (first), sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t),        \
                (uint32_t[]){__VA_ARGS__})

/* How many objects to ask for; tags for them, of which the first is returned; and what one request
 * got. */
uint32_t how_many(client *c, const heap_model *h, int class);
uint32_t take_tags(client *c, uint32_t count);
void take_answer(client *c, heap_model *h, int class, clump_ref ref, uint32_t tag, uint32_t salt);

/* Now and then a call waits for an event and gives another. */
typedef struct sync_use {
    cl_event before, after;
    clump_sync sync;
} sync_use;
const clump_sync *begin_sync(client *c, sync_use *u); /* NULL: without */
void end_sync(client *c, sync_use *u);

/* A launch of n work-items, rounded up. */
void launch_items(client *c, heap_model *h, clump_kernel *kernel, uint32_t n);

void drop_class(client *c, heap_model *h, int class); /* all its objects are freed */
void do_new_of(client *c, heap_model *h, int class, uint32_t n);

void fill_out(client *c, uint32_t words, uint32_t value);
void read_out(client *c, uint32_t words);

#endif
