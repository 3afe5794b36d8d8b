/* Planting faults: patched copies of the device sources. Used by *_planted.c. */
#ifndef CLUMP_TESTS_PLANTED_H
#define CLUMP_TESTS_PLANTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct edit {
    const char *file, *from, *to;
} edit;

typedef struct fault {
    const char *name;
    edit edits[2];
} fault;

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1u << 17);
    if (!f || !text) abort();
    if (fread(text, 1, (1u << 17) - 1u, f) == 0) abort();
    fclose(f);
    return text;
}

/* The end of `from` at the beginning of `text`, NULL if `text` goes on differently. Blanks and ends
 * of lines do not count, so that planted faults outlive a formatter. */
static const char *past(const char *text, const char *from) {
    static const char blanks[] = " \n";
    for (;;) {
        from += strspn(from, blanks);
        if (!*from) return text;
        text += strspn(text, blanks);
        if (*text++ != *from++) return NULL;
    }
}

/* Replace what must occur exactly once. Returns the new text, NULL if it does not. */
static char *replace(char *text, const edit *e) {
    const char *at = NULL, *end = NULL;
    for (const char *c = text; *c; c++) {
        const char *found = *c == ' ' || *c == '\n' ? NULL : past(c, e->from);
        if (found && at) return NULL;
        if (found) at = c, end = found;
    }
    if (!at) return NULL;
    size_t size = strlen(text) + strlen(e->to) + 1;
    char *result = malloc(size);
    if (!result) abort();
    snprintf(result, size, "%.*s%s%s", (int)(at - text), text, e->to, end);
    free(text);
    return result;
}

/* Write the patched sources to folder/cl. */
static int write_sources(const char *folder, const fault *f, const char *const *copied,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/cl/%s", CLUMP_SOURCE_DIR, copied[i]);
        char *text = read_text(path);
        for (size_t k = 0; f && k < 2 && f->edits[k].file; k++) {
            if (strcmp(f->edits[k].file, copied[i]) != 0) continue;
            text = replace(text, &f->edits[k]);
            if (!text) {
                printf("%s: its text is not in %s exactly once\n", f->name, copied[i]);
                return 0;
            }
        }
        snprintf(path, sizeof path, "%s/cl/%s", folder, copied[i]);
        FILE *out = fopen(path, "wb");
        if (!out || fputs(text, out) < 0 || fclose(out) != 0) abort();
        free(text);
    }
    return 1;
}

/* Is this one of the faults that a test has to find? With CLUMP_SHORT in the environment one in
 * eight is; that the others still fit the sources is seen then, too. Returns 0 if it is not, and
 * adds 1 to `misfits` if it does not fit. */
static int is_tried(const char *folder, const fault *f, size_t number, const char *const *copied,
                    size_t count, size_t *misfits) {
    if (!getenv("CLUMP_SHORT") || number % 8 == 7) return 1;
    *misfits += !write_sources(folder, f, copied, count);
    return 0;
}

/* Exit status of a shell command; -1: it did not end by itself. */
static int shell(const char *command) {
    int status = system(command);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
