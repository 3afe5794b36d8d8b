/* Which accessors of a user's source read their field: these get another name, so that a checked
 * program can look whether the field was written before. An accessor is an lvalue, so what becomes
 * of it only the text around it tells.
 *
 * An accessor reads unless it stands on the left of `=`, or its address is taken. Where that cannot
 * be seen (in the body of a macro, in an argument of a macro of the user, in parentheses of its
 * own, in a file that is included) it keeps its name, and nothing is looked for: what is told is
 * right, not all is told. Lines stay as they are.
 *
 * Read first: heap.h, emit.c.
 */
#include <string.h>

#include "heap/heap.h"
#include "heap/words.h"

#define DEPTH_MAX 64u /* of parentheses; within more, nothing is looked for */

typedef struct marking {
    clumpi_text *text;
    const clump_schema *schema;
    const char *source, *at, *done; /* what is before `done` is in the text */
    char before, before_that;       /* the last characters that are no space */
    const char *word;               /* the last word, if nothing but space came after it, */
    size_t word_bytes;              /* of so many bytes; else 0 */
    uint32_t depth;
    struct {
        int is_macro; /* arguments of a macro of the user */
        int is_group; /* no word before it */
    } open[DEPTH_MAX];
} marking;

/* Behind the bracket that closes the one at `at`; NULL: there is none. */
static const char *skip_brackets(const char *at) {
    uint32_t depth = 0;
    while (*at) {
        const char *next = clumpi_skip_one(at);
        if (next != at) {
            at = next;
            continue;
        }
        if (*at == '"' || *at == '\'') {
            at = clumpi_skip_literal(at);
            continue;
        }
        if (*at == '(' || *at == '[') depth++;
        if ((*at == ')' || *at == ']') && --depth == 0) return at + 1;
        at++;
    }
    return NULL;
}

/* Does the source define a macro of that name, or is it one of the library's that use the lvalue or
 * address of what they are given? */
static int is_macro(const marking *m, const char *word, size_t bytes) {
    static const char *const of_library[] = {"CLUMP_COMBINE", "CLUMP_ATOMIC_", "CLUMP_PUBLISH",
                                             "CLUMP_OBSERVE"};
    for (size_t i = 0; i < sizeof of_library / sizeof *of_library; i++)
        if (strncmp(word, of_library[i], strlen(of_library[i])) == 0) return 1;
    for (const char *at = m->source; (at = strchr(at, '#')) != NULL;) {
        at = clumpi_skip_space(at + 1);
        if (strncmp(at, "define", 6) != 0) continue;
        at = clumpi_skip_space(at + 6);
        if (strncmp(at, word, bytes) == 0 && !clumpi_is_word(at[bytes])) return 1;
    }
    return 0;
}

/* Is it the accessor of a field that can be judged? */
static int is_accessor(const marking *m, const char *word, size_t bytes) {
    char name[2 * CLUMP_NAME_BYTES_MAX + 2];
    if (bytes >= sizeof name) return 0;
    memcpy(name, word, bytes);
    name[bytes] = 0;
    const clump_class_info *c;
    clump_field_info f;
    return clumpi_member_find(m->schema, name, &c, &f) == CLUMPI_MEMBER_FIELD &&
           (f.type == CLUMP_TYPE_REF || f.element_bytes >= 4);
}

/* Is the accessor, whose arguments begin at `arguments`, read? */
static int is_read(const marking *m, const char *arguments) {
    for (uint32_t i = 0; i < m->depth; i++)
        if (m->open[i].is_macro) return 0;
    if (m->before == '&' && m->before_that != '&') return 0;
    const char *at = skip_brackets(arguments);
    if (!at) return 0;
    for (at = clumpi_skip_space(at);; at = clumpi_skip_space(at)) {
        if (*at == '.') {
            at = clumpi_skip_space(at + 1);
            while (clumpi_is_word(*at)) at++;
        } else if (*at == '[') {
            at = skip_brackets(at);
            if (!at) return 0;
        } else {
            break;
        }
    }
    if (at[0] == '=' && at[1] != '=') return 0;
    int is_group = m->depth && m->open[m->depth - 1].is_group;
    return !(*at == ')' && m->before == '(' && is_group);
}

static void copy_up_to(marking *m, const char *to) {
    clumpi_text_append_bytes(m->text, m->done, (size_t)(to - m->done));
    m->done = to;
}

static void take_word(marking *m) {
    const char *end = m->at;
    while (clumpi_is_word(*end)) end++;
    m->word = m->at;
    m->word_bytes = (size_t)(end - m->at);
    const char *arguments = clumpi_skip_space(end);
    if (*arguments == '(' && is_accessor(m, m->word, m->word_bytes) && is_read(m, arguments)) {
        copy_up_to(m, m->at);
        clumpi_text_append(m->text, CLUMPI_READ_PREFIX);
    }
    m->before_that = m->before;
    m->before = 'a';
    m->at = end;
}

static int take_sign(marking *m) { /* 0: too many parentheses, or too few */
    if (*m->at == '(') {
        if (m->depth == DEPTH_MAX) return 0;
        m->open[m->depth].is_group = !m->word_bytes;
        m->open[m->depth].is_macro = m->word_bytes && is_macro(m, m->word, m->word_bytes);
        m->depth++;
    }
    if (*m->at == ')' && m->depth-- == 0) return 0;
    m->before_that = m->before;
    m->before = *m->at++;
    m->word_bytes = 0;
    return 1;
}

void clumpi_reads_mark(clumpi_text *text, const clump_schema *schema, const char *source) {
    marking m = {.text = text, .schema = schema, .source = source, .at = source, .done = source};
    int at_line_begin = 1, is_right = 1;
    while (*m.at && is_right) {
        const char *next = clumpi_skip_one(m.at);
        if (next != m.at) {
            at_line_begin |= *m.at == '\n';
            m.at = next;
        } else if (*m.at == '#' && at_line_begin) {
            m.at = clumpi_skip_directive(m.at);
        } else if (*m.at == '"' || *m.at == '\'') {
            m.at = clumpi_skip_literal(m.at);
            m.before_that = m.before;
            m.before = '"';
            m.word_bytes = 0;
        } else {
            at_line_begin = 0;
            if (clumpi_is_word(*m.at))
                take_word(&m);
            else
                is_right = take_sign(&m);
        }
    }
    copy_up_to(&m, m.at + strlen(m.at));
}
