/* A program's source as tokens, and the macros that it and the build options define.
 *
 * What makes tokens otherwise than they look is refused: digraphs, trigraphs, lines that are
 * continued outside of macros, included files.
 *
 * Read first: fuse.h.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fuse/fuse.h"

clump_status clumpi_refuse(clumpi_reading *r, const clumpi_token *where, const char *format, ...) {
    if (r->status) return r->status;
    char words[CLUMP_ERROR_MESSAGE_BYTES / 2], place[96] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (where && where->line)
        snprintf(place, sizeof place, " (%.64s:%u)", r->program->name, where->line);
    if (r->kernel)
        return r->status = clumpi_fail(&r->context->error, CLUMP_ERR_USAGE,
                                       "kernel %s cannot be fused%s: %s", r->kernel, place, words);
    return r->status = clumpi_fail(&r->context->error, CLUMP_ERR_USAGE,
                                   "kernels of this program cannot be fused%s: %s", place, words);
}

clump_status clumpi_reading_no_room(clumpi_reading *r) {
    if (!r->status)
        r->status = clumpi_fail(&r->context->error, CLUMP_ERR_HOST_MEMORY,
                                "no host memory to read the program of fused kernels");
    return r->status;
}

int clumpi_token_is(const clumpi_token *t, const char *text) {
    return strlen(text) == t->bytes && memcmp(t->at, text, t->bytes) == 0;
}

int clumpi_token_same(const clumpi_token *a, const clumpi_token *b) {
    return a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

const char *clumpi_token_text(const clumpi_token *t, char name[CLUMPI_TOKEN_TEXT_BYTES]) {
    size_t bytes = t->bytes < CLUMPI_TOKEN_TEXT_BYTES ? t->bytes : CLUMPI_TOKEN_TEXT_BYTES - 1;
    memcpy(name, t->at, bytes);
    name[bytes] = 0;
    return name;
}

int clumpi_tokens_add(clumpi_reading *r, clumpi_tokens *tokens, clumpi_token t) {
    if (!clumpi_grow(&r->context->allocator, &tokens->all, &tokens->capacity, tokens->count + 1,
                     sizeof t)) {
        clumpi_reading_no_room(r);
        return 0;
    }
    tokens->all[tokens->count++] = t;
    return 1;
}

int clumpi_token_opens(const clumpi_token *t) {
    return t->kind == CLUMPI_TOKEN_SIGN && t->bytes == 1 && strchr("([{", *t->at) != NULL;
}

int clumpi_token_closes(const clumpi_token *t) {
    return t->kind == CLUMPI_TOKEN_SIGN && t->bytes == 1 && strchr(")]}", *t->at) != NULL;
}

size_t clumpi_token_close(const clumpi_tokens *tokens, size_t open, size_t end) {
    size_t depth = 0;
    for (size_t i = open; i < end; i++) {
        depth += (size_t)clumpi_token_opens(&tokens->all[i]);
        if (clumpi_token_closes(&tokens->all[i]) && --depth == 0) return i;
    }
    return end;
}

int clumpi_next_argument(const clumpi_tokens *tokens, clumpi_range *list, clumpi_range *argument) {
    if (list->begin >= list->end) return 0;
    size_t at = list->begin;
    while (at < list->end && !clumpi_token_is(&tokens->all[at], ",")) {
        if (clumpi_token_opens(&tokens->all[at])) at = clumpi_token_close(tokens, at, list->end);
        if (at < list->end) at++;
    }
    *argument = (clumpi_range){list->begin, at};
    list->begin = at + (at < list->end);
    return 1;
}

/* ---- Statements ---- */

static size_t after_brackets(const clumpi_tokens *tokens, size_t at, size_t end) {
    if (at >= end || !clumpi_token_opens(&tokens->all[at])) return at;
    at = clumpi_token_close(tokens, at, end);
    return at < end ? at + 1 : end;
}

static int is_word_of(const clumpi_token *t, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (clumpi_token_is(t, words[i])) return 1;
    return 0;
}

size_t clumpi_statement_end(const clumpi_tokens *tokens, size_t at, size_t end) {
    static const char *const heads[] = {"for", "while", "switch", "if", "CLUMP_FOR_WHOLE_CLASS"};
    while (at < end && tokens->all[at].kind == CLUMPI_TOKEN_DIRECTIVE) at++;
    if (at >= end) return end;
    if (clumpi_token_is(&tokens->all[at], "{")) return after_brackets(tokens, at, end);
    if (is_word_of(&tokens->all[at], heads, sizeof heads / sizeof *heads)) {
        int is_if = clumpi_token_is(&tokens->all[at], "if");
        at = clumpi_statement_end(tokens, after_brackets(tokens, at + 1, end), end);
        if (is_if && at < end && clumpi_token_is(&tokens->all[at], "else"))
            at = clumpi_statement_end(tokens, at + 1, end);
        return at;
    }
    if (clumpi_token_is(&tokens->all[at], "do")) at = clumpi_statement_end(tokens, at + 1, end);
    while (at < end && !clumpi_token_is(&tokens->all[at], ";"))
        at = clumpi_token_opens(&tokens->all[at]) ? after_brackets(tokens, at, end) : at + 1;
    return at < end ? at + 1 : end;
}

/* ---- Reading characters ---- */

typedef struct cursor {
    clumpi_reading *r;
    const char *at;
    uint32_t line;
    int in_directive; /* its lines may be continued */
} cursor;

static int is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static clumpi_token here(const cursor *c) {
    return (clumpi_token){c->at, 0, c->line, CLUMPI_TOKEN_SIGN};
}

/* White space and comments; in a directive up to the end of the line. */
static void skip_space(cursor *c) {
    for (;;) {
        if (c->at[0] == '\\' && (c->at[1] == '\n' || (c->at[1] == '\r' && c->at[2] == '\n'))) {
            const char *next = strchr(c->at, '\n') + 1;
            clumpi_token t = here(c);
            if (!c->in_directive || (is_word(c->at[-1]) && is_word(*next)))
                clumpi_refuse(
                    c->r, &t,
                    "a line is continued by a backslash outside of a macro, or within a word");
            c->at = next;
            c->line++;
        } else if (c->at[0] == '/' && c->at[1] == '/') {
            c->at += strcspn(c->at, "\n");
        } else if (c->at[0] == '/' && c->at[1] == '*') {
            const char *end = strstr(c->at + 2, "*/");
            end = end ? end + 2 : c->at + strlen(c->at);
            for (; c->at < end; c->at++) c->line += *c->at == '\n';
        } else if (*c->at == '\n' && !c->in_directive) {
            c->line++;
            c->at++;
        } else if (*c->at != '\n' && isspace((unsigned char)*c->at)) {
            c->at++;
        } else {
            return;
        }
    }
}

static uint32_t literal_bytes(const char *at) {
    const char *end = at + 1;
    while (*end && *end != *at && *end != '\n') end += end[0] == '\\' && end[1] ? 2 : 1;
    return (uint32_t)(end - at) + (*end == *at);
}

static uint32_t number_bytes(const char *at) {
    const char *end = at;
    while (is_word(*end) || *end == '.' || (strchr("+-", *end) && *end && strchr("eEpP", end[-1])))
        end++;
    return (uint32_t)(end - at);
}

static uint32_t sign_bytes(const char *at) {
    static const char *const signs[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                        "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                        "*=",  "/=",  "%=",  "&=", "^=", "|=", "##"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(at, signs[i], strlen(signs[i])) == 0) return (uint32_t)strlen(signs[i]);
    return 1;
}

/* The next token; one without bytes at the end of the text, or of the directive. */
static clumpi_token next_token(cursor *c) {
    static const char *const odd[] = {"<%", "%>", "<:", ":>", "%:", "??"};
    skip_space(c);
    clumpi_token t = here(c);
    if (!*c->at || *c->at == '\n') return t;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (strncmp(c->at, odd[i], 2) == 0)
            clumpi_refuse(c->r, &t, "the source has \"%s\"", odd[i]);
    if (isdigit((unsigned char)*c->at) || (*c->at == '.' && isdigit((unsigned char)c->at[1]))) {
        t.kind = CLUMPI_TOKEN_NUMBER;
        t.bytes = number_bytes(c->at);
    } else if (is_word(*c->at)) {
        t.kind = CLUMPI_TOKEN_WORD;
        while (is_word(c->at[t.bytes])) t.bytes++;
    } else if (*c->at == '"' || *c->at == '\'') {
        t.kind = CLUMPI_TOKEN_LITERAL;
        t.bytes = literal_bytes(c->at);
    } else {
        t.bytes = sign_bytes(c->at);
    }
    c->at += t.bytes;
    return t;
}

/* ---- Macros ---- */

/* Numbers may be defined in several ways, as under #ifndef: whichever holds, no field comes of
 * it. */
static int is_number(const clumpi_reading *r, const clumpi_macro *m) {
    return !m->is_function && m->body.end == m->body.begin + 1 &&
           r->replacements.all[m->body.begin].kind == CLUMPI_TOKEN_NUMBER;
}

static void add_macro(clumpi_reading *r, clumpi_macro m) {
    clumpi_macro *old = clumpi_macro_find(r, &m.name);
    if (old) {
        old->is_doubtful |= m.is_doubtful || !is_number(r, old) || !is_number(r, &m);
        return;
    }
    if (!clumpi_grow(&r->context->allocator, &r->macros, &r->macro_capacity, r->macro_count + 1,
                     sizeof m)) {
        clumpi_reading_no_room(r);
        return;
    }
    r->macros[r->macro_count++] = m;
}

static clumpi_range rest_of_line(cursor *c) {
    clumpi_range range = {c->r->replacements.count, 0};
    for (clumpi_token t;
         (t = next_token(c)).bytes && clumpi_tokens_add(c->r, &c->r->replacements, t);)
        continue;
    range.end = c->r->replacements.count;
    return range;
}

/* After the word `define`. */
static void read_define(cursor *c) {
    clumpi_macro m = {.name = next_token(c), .line = c->line};
    if (*c->at == '(') {
        m.is_function = 1;
        c->at++;
        m.parameters.begin = c->r->replacements.count;
        for (clumpi_token t; (t = next_token(c)).bytes && !clumpi_token_is(&t, ")");) {
            if (clumpi_token_is(&t, ",")) continue;
            m.is_doubtful |= t.kind != CLUMPI_TOKEN_WORD;
            if (!clumpi_tokens_add(c->r, &c->r->replacements, t)) return;
        }
        m.parameters.end = c->r->replacements.count;
    }
    m.body = rest_of_line(c);
    if (strncmp(m.name.at, "CLUMP", 5) == 0 || strncmp(m.name.at, "clump", 5) == 0)
        clumpi_refuse(c->r, &m.name, "the source defines a macro with a name of the library");
    add_macro(c->r, m);
}

static void read_directive(cursor *c) {
    static const char *const harmless[] = {"pragma", "line", "error", "warning"};
    static const char *const conditions[] = {"if", "ifdef", "ifndef", "elif", "else", "endif"};
    clumpi_token all = here(c), word;
    c->in_directive = 1;
    c->at++;
    word = next_token(c);
    if (clumpi_token_is(&word, "define")) {
        read_define(c);
    } else if (clumpi_token_is(&word, "undef")) {
        add_macro(c->r, (clumpi_macro){.name = next_token(c), .is_doubtful = 1, .line = c->line});
    } else if (word.bytes && !is_word_of(&word, harmless, sizeof harmless / sizeof *harmless) &&
               !is_word_of(&word, conditions, sizeof conditions / sizeof *conditions)) {
        char name[CLUMPI_TOKEN_TEXT_BYTES];
        clumpi_refuse(c->r, &all, "the source has the line #%s, which cannot be read here",
                      clumpi_token_text(&word, name));
    }
    while (next_token(c).bytes) continue;
    c->in_directive = 0;
    all.kind = CLUMPI_TOKEN_DIRECTIVE;
    all.bytes = (uint32_t)(c->at - all.at);
    int is_definition = clumpi_token_is(&word, "define") || clumpi_token_is(&word, "undef");
    if (!is_definition) clumpi_tokens_add(c->r, &c->r->code, all);
}

/* -D of the build. */
static void read_options(clumpi_reading *r) {
    for (const char *at = r->program->options; *at;) {
        while (isspace((unsigned char)*at)) at++;
        size_t bytes = strcspn(at, " \t\n");
        if (strncmp(at, "-D", 2) == 0) {
            cursor c = {r, at + 2, 0, 1};
            clumpi_macro m = {.name = next_token(&c)};
            m.is_doubtful = *c.at && !isspace((unsigned char)*c.at) && *c.at != '=';
            m.body.begin = r->replacements.count;
            if (*c.at == '=') c.at++;
            while (*c.at && !isspace((unsigned char)*c.at) &&
                   clumpi_tokens_add(r, &r->replacements, next_token(&c)))
                continue;
            m.body.end = r->replacements.count;
            add_macro(r, m);
            bytes = (size_t)(c.at - at) + strcspn(c.at, " \t\n");
        }
        at += bytes;
    }
}

clump_status clumpi_reading_open(clumpi_reading *r) {
    cursor c = {r, r->program->source + r->program->user_at, 1, 0};
    int at_line_begin = 1;
    for (uint32_t line = 0; !r->status;) {
        skip_space(&c);
        at_line_begin |= c.line != line;
        line = c.line;
        if (!*c.at) break;
        if (*c.at == '#' && at_line_begin)
            read_directive(&c);
        else
            clumpi_tokens_add(r, &r->code, next_token(&c));
        at_line_begin = 0;
    }
    if (!r->status) read_options(r);
    return r->status;
}

void clumpi_reading_close(clumpi_reading *r) {
    const clump_allocator *a = &r->context->allocator;
    clumpi_free(a, r->code.all);
    clumpi_free(a, r->replacements.all);
    clumpi_free(a, r->macros);
}
