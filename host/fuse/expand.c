/* The macros of a program, expanded as the preprocessor does, so that what code touches is seen
 * where a macro hides it.
 *
 * Macros that paste tokens, that have several definitions, or that are defined after their use are
 * refused.
 *
 * Read first: fuse.h, tokens.c.
 */
#include <string.h>

#include "fuse/fuse.h"

#define TOKENS_MAX 1000000u /* of an expanded part */

clumpi_macro *clumpi_macro_find(clumpi_reading *r, const clumpi_token *name) {
    for (size_t i = 0; i < r->macro_count; i++)
        if (clumpi_token_same(&r->macros[i].name, name)) return &r->macros[i];
    return NULL;
}

static void expand(clumpi_reading *r, const clumpi_tokens *from, clumpi_range part, uint32_t line,
                   clumpi_tokens *to);

/* Why the macro cannot be expanded; NULL: it can. */
static const char *find_oddity(const clumpi_reading *r, const clumpi_macro *m, uint32_t line) {
    int depth = 0;
    if (m->is_doubtful) return "has several definitions, or a variable number of parameters";
    if (m->line > line) return "is defined after its name is used";
    for (size_t i = m->body.begin; i < m->body.end; i++) {
        const clumpi_token *t = &r->replacements.all[i];
        if (*t->at == '#') return "uses # or ##";
        depth += clumpi_token_opens(t) - clumpi_token_closes(t);
    }
    return depth ? "has brackets that do not match" : NULL;
}

/* Is it expanded where it stands on this line? */
static int is_expanded(clumpi_reading *r, const clumpi_macro *m, uint32_t line) {
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    if (m->is_active || (m->line > line && r->expansion == CLUMPI_EXPAND_IN_PLACE)) return 0;
    const char *oddity = find_oddity(r, m, line);
    if (oddity && r->expansion != CLUMPI_EXPAND_ROUGHLY)
        clumpi_refuse(r, &(clumpi_token){.line = line}, "the macro %s %s",
                      clumpi_token_text(&m->name, name), oddity);
    return !oddity;
}

/* The argument for parameter number `index` of a call; 0: there is none. */
static int argument_of(const clumpi_tokens *from, clumpi_range list, size_t index,
                       clumpi_range *argument) {
    *argument = (clumpi_range){list.begin, list.begin};
    for (size_t i = 0; i <= index; i++)
        if (!clumpi_next_argument(from, &list, argument)) return index == 0;
    return 1;
}

static size_t parameter_of(const clumpi_reading *r, const clumpi_macro *m, const clumpi_token *t) {
    size_t i = m->parameters.begin;
    while (i < m->parameters.end && !clumpi_token_same(&r->replacements.all[i], t)) i++;
    return i - m->parameters.begin;
}

/* The call's body, with its arguments, expanded themselves, in place of the parameters. */
static void substitute(clumpi_reading *r, const clumpi_macro *m, const clumpi_tokens *from,
                       clumpi_range list, uint32_t line, clumpi_tokens *to) {
    size_t parameters = m->parameters.end - m->parameters.begin;
    for (size_t i = m->body.begin; i < m->body.end && !r->status; i++) {
        clumpi_token t = r->replacements.all[i];
        size_t index = t.kind == CLUMPI_TOKEN_WORD ? parameter_of(r, m, &t) : parameters;
        clumpi_range argument;
        if (index == parameters) {
            clumpi_tokens_add(r, to, t);
        } else if (argument_of(from, list, index, &argument)) {
            expand(r, from, argument, line, to);
        } else {
            char name[CLUMPI_TOKEN_TEXT_BYTES];
            clumpi_refuse(r, &(clumpi_token){.line = line}, "the macro %s has too few arguments",
                          clumpi_token_text(&m->name, name));
        }
    }
}

/* A call of a macro with parameters, whose arguments are `list`. */
static void expand_call(clumpi_reading *r, size_t macro, const clumpi_tokens *from,
                        clumpi_range list, uint32_t line, clumpi_tokens *to) {
    clumpi_tokens body = {0};
    substitute(r, &r->macros[macro], from, list, line, &body);
    r->macros[macro].is_active = 1;
    expand(r, &body, (clumpi_range){0, body.count}, line, to);
    r->macros[macro].is_active = 0;
    clumpi_free(&r->context->allocator, body.all);
}

/* line 0: that of the tokens. */
static void expand(clumpi_reading *r, const clumpi_tokens *from, clumpi_range part, uint32_t line,
                   clumpi_tokens *to) {
    for (size_t i = part.begin; i < part.end && !r->status; i++) {
        clumpi_token t = from->all[i];
        if (line) t.line = line;
        clumpi_macro *m = t.kind == CLUMPI_TOKEN_WORD ? clumpi_macro_find(r, &t) : NULL;
        int is_call =
            m && m->is_function && i + 1 < part.end && clumpi_token_is(&from->all[i + 1], "(");
        if (to->count > TOKENS_MAX)
            clumpi_refuse(r, &t, "its macros make more than %u tokens", TOKENS_MAX);
        if (!m || (m->is_function && !is_call) || !is_expanded(r, m, t.line)) {
            clumpi_tokens_add(r, to, t);
            continue;
        }
        if (is_call) {
            size_t close = clumpi_token_close(from, i + 1, part.end);
            if (close == part.end)
                clumpi_refuse(r, &t, "the closing bracket of a macro's arguments is missing");
            expand_call(r, (size_t)(m - r->macros), from, (clumpi_range){i + 2, close}, t.line, to);
            i = close;
        } else {
            m->is_active = 1;
            expand(r, &r->replacements, m->body, t.line, to);
            m->is_active = 0;
        }
    }
}

clump_status clumpi_expand(clumpi_reading *r, clumpi_range part, clumpi_expansion how,
                           clumpi_tokens *to) {
    r->expansion = how;
    expand(r, &r->code, part, 0, to);
    return r->status;
}
