/* Saved heaps as bytes: a stream to or from a file or functions of the program, pieces with
 * checksums, the head. Nothing here knows a device. docs/internals/save.md has the format.
 *
 * May use: core, schema. save.c and load.c, which use the heap too, build on this.
 *
 * Invariant: whatever is read, nothing is used before its checksum and its limits were compared,
 * and memory grows with what was read, not with what it says.
 *
 * Read first: clump/save.h. Read next: stream.c, pieces.c, head.c, saved.c.
 */
#ifndef CLUMPI_FORMAT_H
#define CLUMPI_FORMAT_H

#include "clump/save.h"
#include "core/memory.h"

/* ---- stream.c ---- */

typedef struct clumpi_stream {
    const clump_allocator *allocator;
    clump_error *error;
    const char *path; /* NULL: functions */
    char *place;      /* a file that is written: the path behind the links of `path` */
    char *part;       /* its name until it is whole */
    int file;         /* -1: none is open */
    int (*write)(void *user, const void *data, size_t bytes);
    size_t (*read)(void *user, void *data, size_t bytes);
    void *user;
    uint64_t bytes;  /* read or written so far */
    uint64_t chain;  /* checksum of the last head of a piece (pieces.c) */
    uint32_t pieces; /* so far */
    int level;       /* of zstd, by which pieces are packed; 0: they are not */
    uint8_t *packed; /* a piece as it is stored, if it is packed */
    size_t packed_room;
    clump_progress_fn progress;
    uint64_t done, all; /* of the values, in bytes */
} clumpi_stream;

/* CONSTRUCTOR. Check what the desc says, and open the file. After a failure it is closed. `call` is
 * for messages. */
clump_status clumpi_stream_create(clumpi_stream *s, const clump_save_desc *desc, const char *call,
                                  const clump_allocator *allocator, clump_error *error);
clump_status clumpi_stream_open(clumpi_stream *s, const clump_load_desc *desc, const char *call,
                                const clump_allocator *allocator, clump_error *error);
/* DESTRUCTOR. A file that was written and not put in place is removed. */
void clumpi_stream_close(clumpi_stream *s);

clump_status clumpi_stream_write(clumpi_stream *s, const void *data, size_t bytes);
/* All of them, or CLUMP_ERR_FORMAT: it is cut off. */
clump_status clumpi_stream_read(clumpi_stream *s, void *data, size_t bytes);

/* A file that was written: bring it to the disk, and put it in place of what has its name. */
clump_status clumpi_stream_commit(clumpi_stream *s);
/* A file that was read must end here. */
clump_status clumpi_stream_expect_end(clumpi_stream *s);

/* The name for messages. */
const char *clumpi_stream_name(const clumpi_stream *s);
/* So many bytes of values more: tell the program. */
clump_status clumpi_stream_progress(clumpi_stream *s, uint64_t bytes);

/* ---- pieces.c ---- */

/* The second has arrays that grow. A file has the least version that has what is in it. */
#define CLUMPI_SAVE_VERSION 2u
#define CLUMPI_SAVE_VERSION_ARRAYS 3u
#define CLUMPI_PIECE_LEAST 4096u
#define CLUMPI_PIECE_MOST (64u << 20)
#define CLUMPI_PIECE_DEFAULT (16u << 20)

#define CLUMPI_KIND(a, b, c, d)                                                                    \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
enum {
    CLUMPI_KIND_HEAD = CLUMPI_KIND('H', 'E', 'A', 'D'),
    CLUMPI_KIND_VALUES = CLUMPI_KIND('V', 'A', 'L', 'S'),
    CLUMPI_KIND_ELEMENTS = CLUMPI_KIND('E', 'L', 'E', 'M'),
    CLUMPI_KIND_REGISTERED = CLUMPI_KIND('R', 'E', 'F', 'S'),
    CLUMPI_KIND_HANDLES = CLUMPI_KIND('H', 'N', 'D', 'L'),
    CLUMPI_KIND_END = CLUMPI_KIND('E', 'N', 'D', ' ')
};

/* Before the content of each piece. 32 bytes. */
typedef struct clumpi_piece {
    uint32_t kind;
    uint32_t number;  /* of the piece, from 0 on */
    uint32_t bytes;   /* of its content */
    uint32_t stored;  /* that the file has of them: the same, or fewer if zstd packed them */
    uint64_t content; /* checksum of what is stored (cl/save/hash.h) */
    uint64_t chain;   /* of the words before, seeded with that of the head of the piece before */
} clumpi_piece;

/* Pieces of values and references are packed, those that become smaller. */
clump_status clumpi_pieces_pack(clumpi_stream *s, int level);

/* What stands before the first piece. */
clump_status clumpi_begin_write(clumpi_stream *s, uint32_t version);
clump_status clumpi_begin_read(clumpi_stream *s);

/* sums: of the content's chunks, if somebody has computed them; or NULL. */
clump_status clumpi_piece_write(clumpi_stream *s, uint32_t kind, const void *content,
                                uint32_t bytes, const uint64_t *sums);
/* The next piece, which must be of that kind and size. */
clump_status clumpi_piece_read(clumpi_stream *s, uint32_t kind, void *content, uint32_t bytes);
/* The same in two steps, for a caller who computes the sums elsewhere: the content is not to be
 * used before they were compared. */
typedef struct clumpi_fetched {
    clumpi_piece piece;
    uint64_t at; /* byte of the stream at which it begins */
    int is_open; /* 1: its checksum was not compared yet */
} clumpi_fetched;
clump_status clumpi_piece_fetch(clumpi_stream *s, uint32_t kind, void *content, uint32_t bytes,
                                clumpi_fetched *fetched);
clump_status clumpi_piece_compare(clumpi_stream *s, clumpi_fetched *fetched, const uint64_t *sums);
/* The same of any size up to `most`. *content is the caller's to free, or NULL. */
clump_status clumpi_piece_read_any(clumpi_stream *s, uint32_t kind, uint32_t most,
                                   uint8_t **content, uint32_t *bytes);
/* The last piece. */
clump_status clumpi_end_write(clumpi_stream *s);
clump_status clumpi_end_read(clumpi_stream *s);

/* ---- zstd.c, if the library was built with it ---- */

int clumpi_zstd_level_most(void); /* 0: there is no zstd */
size_t clumpi_zstd_room(size_t bytes);
/* Bytes that it takes in `packed`, which has room for clumpi_zstd_room(); 0: it failed. */
size_t clumpi_zstd_pack(int level, const void *data, size_t bytes, void *packed, size_t room);
/* 1 if it is `bytes` when it is unpacked. */
int clumpi_zstd_unpack(const void *packed, size_t packed_bytes, void *data, size_t bytes);

/* ---- head.c ---- */

#define CLUMPI_REGISTERED_MOST 65536u                   /* buffers */
#define CLUMPI_ARRAYS_MOST 65536u                       /* of all classes with objects */
#define CLUMPI_ARRAY_BYTES_MOST (UINT64_C(1) << 36)     /* raw memory of one: of a heap */
#define CLUMPI_OBJECTS_MOST (UINT64_C(0xffffffff) - 64) /* numbers plus 1 have 32 bits */
#define CLUMPI_HANDLE_NONE UINT32_MAX /* in the piece of handles: the number is not in use */

struct clump_saved {
    clump_allocator allocator;
    clump_schema *schema; /* its own, unless it is to be written */
    uint32_t piece_bytes;
    uint32_t handles;                         /* numbers 1 .. handles were given out */
    uint32_t registered;                      /* buffers */
    uint64_t objects;                         /* of all classes */
    uint64_t counts[CLUMP_CLASSES_MAX + 1];   /* by class id: objects of exactly this class */
    uint64_t reserved[CLUMP_CLASSES_MAX + 1]; /* by class id: of clump_heap_reserve() */
    uint64_t *registered_counts;              /* references of each buffer; NULL if there is none */
    clump_saved_array *arrays; /* that grow, in the order of the columns; NULL if there is none */
    uint32_t array_count;
    clump_saved_info info; /* of one that was read: of the members above */
};

clump_status clumpi_head_write(clumpi_stream *s, const clump_saved *saved);
/* Fills `saved`, which is all zero before; the caller clears it, also after a failure. */
clump_status clumpi_head_read(clumpi_stream *s, clump_saved *saved);
void clumpi_saved_clear(clump_saved *saved);

/* ---- saved.c ---- */

/* The columns in the order of the file: of each class that has objects, by id, its own fields, then
 * those of its base. In the place of a_memory of an array that grows, the file has the elements in
 * raw memory, of all objects one after the other. */
typedef struct clumpi_saved_column {
    clump_class_info class_info;
    clump_field_info field;
    uint32_t kind;        /* of its pieces: CLUMPI_KIND_VALUES or CLUMPI_KIND_ELEMENTS */
    uint32_t bytes;       /* the field of an object, an array whole; or an element */
    uint32_t piece_count; /* objects, or elements, that a piece has at most, at least 1 */
    uint64_t count;       /* objects, or elements */
    uint32_t array;       /* of elements: their number in clump_saved.arrays */
    uint32_t arrays;      /* private: such columns so far */
    uint32_t owner, next; /* private: the class whose fields come, and which of them */
} clumpi_saved_column;

/* Begin with one that is all zero. 0: there is no other. */
int clumpi_saved_next(const clump_saved *saved, clumpi_saved_column *column);
/* Of the array that grows whose columns are read. */
typedef struct clumpi_saved_lengths {
    uint32_t
        *outside; /* by object: its length, then, with the capacity, its elements in raw memory */
    size_t room;
    uint64_t elements, capacity; /* the sums of what came */
} clumpi_saved_lengths;

/* CLUMP_OK if a field of a class of the schema is not a part of an array, or no array has a length
 * beyond its room. Of an array that grows the lengths are kept. values: of `count` objects, from
 * object number `from` on. */
clump_status clumpi_saved_check_lengths(clumpi_stream *s, clumpi_saved_lengths *l,
                                        const clump_schema *schema, uint32_t class_id,
                                        const clump_field_info *f, uint64_t from,
                                        const void *values, uint32_t count);
/* CLUMP_OK if the lengths sum up to what the head says of the array. */
clump_status clumpi_saved_check_sums(clumpi_stream *s, const clumpi_saved_lengths *l,
                                     const clump_saved *saved, const clumpi_saved_column *column);
/* Columns of elements; the class and the array of one. */
uint32_t clumpi_saved_count_arrays(const clump_saved *saved);
void clumpi_saved_name_array(const clump_saved *saved, const clumpi_saved_column *column,
                             clump_saved_array *array);
uint64_t clumpi_saved_value_bytes(const clump_saved *saved);
/* Bytes of the largest piece of words or values that there is, at least CLUMPI_PIECE_LEAST. */
uint32_t clumpi_saved_piece_most(const clump_saved *saved);
/* References of a buffer, or handles, in the next piece, if so many are left. */
uint32_t clumpi_saved_words_at_once(const clump_saved *saved, uint64_t left);

/* Who reads a saved heap. */
typedef struct clumpi_saved_reader {
    const char *call; /* for messages */
    /* NULL, or gets the head before the parts. Returns 0; another number ends the reading as in
     * clump_saved_fn. */
    int (*begin)(void *user, const clump_saved *saved);
    clump_saved_fn take; /* NULL, or gets the parts */
    /* 1: a part has elements of several objects; `from` and `count` are of elements */
    int elements_together;
    void *user;
} clumpi_saved_reader;
/* What clump_saved_read() does. */
clump_status clumpi_saved_read(const clump_load_desc *desc, const clumpi_saved_reader *reader,
                               const clump_allocator *allocator, clump_error *error);

#endif
