/* Structs that begin with their size (docs/design.md#names): what holds of each call that takes one,
 * and of each that fills one.
 *
 * Read first: include/clump/status.h. Read next: tests/fault/core/fault_sized.c.
 */
#ifndef TESTS_SIZED_H
#define TESTS_SIZED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/status.h"

/* A call with a struct of this type. */
typedef struct sized_case {
    const char *type, *call_name;
    size_t bytes;
    const void *good; /* a struct that the call takes; NULL: the call fills it */
    clump_status (*call)(void *given, clump_error *error); /* what it makes is gone again */
} sized_case;

#define SIZED_TAKEN(type, good, call)                                                              \
    { #type, #call, sizeof(type), 1 ? (good) : (type *)0, call }
#define SIZED_TOLD(type, call)                                                                     \
    { #type, #call, sizeof(type), NULL, call }

enum { SIZED_TAIL = 24, SIZED_GUARD = 16 };
#define SIZED_POISON 0xee

static char sized_words[512 + CLUMP_ERROR_MESSAGE_BYTES];

static const char *sized_wrong(const sized_case *c, const char *what, const char *words) {
    snprintf(sized_words, sizeof sized_words, "%s in %s: %s: %s", c->type, c->call_name, what,
             words);
    return sized_words;
}

/* The struct of that size, the members, zeros, and what no call may touch. */
static void sized_set(const sized_case *c, unsigned char *at, size_t size) {
    memset(at, SIZED_POISON, c->bytes + SIZED_TAIL + SIZED_GUARD);
    if (c->good) memcpy(at, c->good, c->bytes);
    if (c->good) memset(at + c->bytes, 0, SIZED_TAIL);
    memcpy(at, &size, sizeof size);
}

/* It is refused, in words, and is as it was. */
static const char *sized_refused(const sized_case *c, unsigned char *at, const char *why) {
    const size_t all = c->bytes + SIZED_TAIL + SIZED_GUARD;
    clump_error error = {0};
    unsigned char *before = malloc(all);
    memcpy(before, at, all);
    const clump_status status = c->call(at, &error);
    const int is_same = memcmp(before, at, all) == 0;
    free(before);
    if (status != CLUMP_ERR_USAGE) return sized_wrong(c, why, clump_status_name(status));
    if (!is_same) return sized_wrong(c, why, "it was written to");
    if (!strstr(error.message, c->type) || !strstr(error.message, why))
        return sized_wrong(c, why, error.message);
    return NULL;
}

/* It is taken, and its size stays; `size` bytes of it may change if the call fills it. */
static const char *sized_accepted(const sized_case *c, unsigned char *at, size_t size) {
    const size_t may = c->good ? 0 : size, all = c->bytes + SIZED_TAIL + SIZED_GUARD;
    clump_error error = {0};
    unsigned char *before = malloc(all);
    memcpy(before, at, all);
    const clump_status status = c->call(at, &error);
    const int is_same = memcmp(before + may, at + may, all - may) == 0;
    const int is_told = memcmp(before + sizeof size, at + sizeof size, may) != 0;
    const int has_size = memcmp(before, at, sizeof size) == 0;
    free(before);
    if (status) return sized_wrong(c, "is refused", error.message);
    if (!has_size) return sized_wrong(c, "the size", "was written to");
    if (!is_same) return sized_wrong(c, "bytes beyond the size", "were written to");
    if (!c->good && !is_told) return sized_wrong(c, "nothing", "was told");
    for (size_t i = c->bytes; !c->good && i < size; i++)
        if (at[i]) return sized_wrong(c, "bytes that the library does not know", "are not zero");
    return NULL;
}

/* NULL, or what does not hold of the call. is_unchanged: whether all is as it was before. */
static const char *sized_check(const sized_case *c, int (*is_unchanged)(void)) {
    const size_t sizes[] = {0, sizeof(size_t), c->bytes - 1, 4097, SIZE_MAX};
    unsigned char *at = malloc(c->bytes + SIZED_TAIL + SIZED_GUARD);
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !wrong; i++) {
        sized_set(c, at, sizes[i]);
        wrong = sized_refused(c, at, "Set .size = sizeof");
    }
    if (!wrong && c->good) {
        sized_set(c, at, c->bytes + SIZED_TAIL);
        at[c->bytes + SIZED_TAIL - 1] = 1;
        wrong = sized_refused(c, at, "was built for a newer");
    }
    if (!wrong && !is_unchanged())
        wrong = sized_wrong(c, "a call that was refused", "did something");
    for (size_t size = c->bytes; size <= c->bytes + SIZED_TAIL && !wrong; size += SIZED_TAIL) {
        sized_set(c, at, size);
        wrong = sized_accepted(c, at, size);
    }
    free(at);
    return wrong;
}

#endif
