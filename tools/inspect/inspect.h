/* clump-inspect: what is known of a heap at one moment, read from a file, and the ways to show it.
 *
 * Invariant: what read_snapshot() returned fits together: ids of classes are 1 .. 254 and rise,
 * both arrays have an entry for each block, no block names a class that is not there, and none has
 * more slots taken than its class has. So nothing that shows a snapshot checks that again.
 *
 * Read first: docs/guide/seeing-the-heap.md. Read next: snapshot.c, main.c; of saved heaps graph.h.
 */
#ifndef INSPECT_H
#define INSPECT_H

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>

enum { BINS = 10, IDS = 255 };

typedef struct class_entry {
    const char *name;
    int is_raw, is_abstract;
    uint32_t id, capacity;
    uint64_t object_bytes, objects;
    uint64_t slots, blocks, active_blocks; /* 0 in a saved heap, like the rest */
    double fragmentation;
    uint64_t fill[BINS];
} class_entry;

typedef struct live_entry {
    const char *class_name, *kernel, *program; /* kernel, program: NULL if not known */
    uint64_t line, objects;
} live_entry;

typedef struct snapshot {
    const char *path;
    cJSON *dump; /* owns the texts; NULL: it is a saved heap */
    struct clump_saved *saved;
    uint64_t bytes, metadata_bytes, granule_bytes, block_granules, first_block;
    uint64_t blocks, free_blocks, damaged_blocks, raw_blocks, raw_bytes, objects, slots;
    double fragmentation;
    class_entry classes[IDS];
    uint32_t class_count;
    live_entry *live;
    uint32_t live_count;
    const cJSON *block_class, *block_used; /* the first entry of each array */
} snapshot;

/* Words about a file, on stderr. Returns 0. */
int complain(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read a dump or a saved heap, told by what the file begins with. Returns 1; or 0 with words on
 * stderr, and nothing to free. */
int read_snapshot(const char *path, snapshot *s);
void free_snapshot(snapshot *s);

/* Tables on standard output. */
void show_tables(const snapshot *s);
void show_difference(const snapshot *a, const snapshot *b);

/* A page that draws the blocks of all dumps, one after the other. Returns 1; or 0 with words on
 * stderr. */
int write_page(const char *path, const snapshot *dumps, size_t count);

/* A picture, as PNG, that draws the blocks of all dumps, one below the other, each with its legend.
 * Likewise. */
int write_picture(const char *path, const snapshot *dumps, size_t count);

#endif
