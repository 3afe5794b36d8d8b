/* Between the machine (lanes_machine.h) and a path of the device code (lanes/path.c): what a
 * work-item is, the operations at which it stops, and the kernels that a path has. */
#ifndef CLUMP_TESTS_LANES_PATH_H
#define CLUMP_TESTS_LANES_PATH_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* Same as hosted_site, which a path's own copy of hosted.h defines. */
typedef struct lanes_site {
    uint32_t order;
    int line;
    const char *function;
} lanes_site;

/* ---- Work-items ---- */

/* What a work-item can see of itself. */
typedef struct lanes_item {
    uint32_t global, items, local, group_items, group, lane;
    uint32_t line, calls; /* of the kernel's source; calls of the device API begun so far */
    uint64_t history;     /* of branches taken and operations passed */
} lanes_item;

extern lanes_item *lanes_me; /* who runs */

enum {
    LANES_MEMORY,
    /* NVIDIA: what is named in the mask waits for each other. */
    LANES_HERE,
    LANES_READ,
    LANES_WITH,
    LANES_OR,
    LANES_ADD,
    LANES_SYNC,
    /* Sub-groups: who is there, with structured control flow. */
    LANES_BALLOT,
    LANES_FIRST
};

uint64_t lanes_memory(int kind, void *cell, uint64_t value, uint64_t expected, lanes_site *site);
uint64_t lanes_meet_others(int kind, uint64_t mask, uint64_t value, uint32_t from,
                           const lanes_site *site);

static inline uint64_t lanes_more(uint64_t history, uint64_t x) {
    return (history ^ (x + 0x9e3779b97f4a7c15ul)) * 0xd6e8feb86659fd93ul;
}
static inline int lanes_branch(int taken, uint32_t place) {
    lanes_me->history = lanes_more(lanes_me->history, 2 * place + (uint32_t)taken);
    return taken;
}

/* ---- What kernels tell ---- */

uint32_t lanes_touch(uint32_t id); /* a field of the object is used; returns 0 */
uint32_t lanes_made(uint32_t id, uint32_t class_id);
void lanes_freeing(uint32_t id, uint32_t first, uint32_t last);

/* ---- Paths ---- */

typedef struct lanes_kernel {
    const char *name;
    void (*body)(unsigned char *heap, const uint32_t *in);
} lanes_kernel;

typedef struct lanes_path {
    const char *name;
    uint32_t width;     /* lanes of a warp or sub-group; 1: all alone */
    uint32_t word_bits; /* of the bitmaps */
    const lanes_kernel *kernels;
    uint32_t kernel_count;
    void (*tune)(uint32_t rotate, uint32_t retries);
} lanes_path;

#endif
