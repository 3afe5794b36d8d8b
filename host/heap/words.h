/* The text of a program, word by word: what is no word is skipped.
 *
 * Read first: program.h.
 */
#ifndef CLUMPI_WORDS_H
#define CLUMPI_WORDS_H

#include <ctype.h>
#include <string.h>

static inline int clumpi_is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment or white space that begins at `at`; `at` itself if none does. */
static inline const char *clumpi_skip_one(const char *at) {
    if (isspace((unsigned char)*at)) return at + 1;
    if (at[0] == '\\' && at[1] == '\n') return at + 2;
    if (at[0] == '/' && at[1] == '/') return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    return at;
}

static inline const char *clumpi_skip_space(const char *at) {
    for (const char *next; (next = clumpi_skip_one(at)) != at; at = next) continue;
    return at;
}

static inline const char *clumpi_skip_literal(const char *at) {
    const char quote = *at++;
    while (*at && *at != quote && *at != '\n') at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* Behind a preprocessor line, with the lines that continue it. */
static inline const char *clumpi_skip_directive(const char *at) {
    while (*at && *at != '\n') at += at[0] == '\\' && at[1] == '\n' ? 2 : 1;
    return at;
}

#endif
