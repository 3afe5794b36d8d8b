/* A kernel that is one loop, taken apart: parameters, what stands before the loop, its class, its
 * body, its reduction.
 *
 * Read first: fuse.h, touches.c.
 */
#include <string.h>

#include "fuse/fuse.h"

typedef struct kernel_parts {
    clumpi_range head, parameters, body; /* body: without its braces */
} kernel_parts;

/* ---- File scope ---- */

/* A declaration at file scope, up to its end: may it be a variable that kernels write, or a type
 * for a pointer to memory that they share? */
static void check_declaration(clumpi_reading *r, clumpi_range part) {
    clumpi_tokens t = {0};
    size_t words = 0, after = 0;
    int has_call = 0, has_brace = 0, is_constant = 0, is_type = 0, is_global = 0;
    clumpi_expand(r, part, CLUMPI_EXPAND_ROUGHLY, &t);
    for (size_t i = 0; i < t.count; i++) {
        const clumpi_token *one = &t.all[i];
        has_call |= clumpi_token_is(one, "(");
        has_brace |= clumpi_token_is(one, "{");
        if (clumpi_token_is(one, "=")) break;
        if (clumpi_token_opens(one)) {
            after = 0;
            i = clumpi_token_close(&t, i, t.count);
            continue;
        }
        is_constant |= clumpi_token_is(one, "__constant") || clumpi_token_is(one, "constant");
        is_type |= clumpi_token_is(one, "typedef");
        is_global |= clumpi_token_is(one, "__global") || clumpi_token_is(one, "global");
        words += one->kind == CLUMPI_TOKEN_WORD;
        after += one->kind == CLUMPI_TOKEN_WORD;
    }
    int is_tagged = t.count && (clumpi_token_is(t.all, "struct") ||
                                clumpi_token_is(t.all, "union") || clumpi_token_is(t.all, "enum"));
    int is_declared_type = is_tagged && (has_brace ? !after : words == 2);
    if (t.count &&
        (is_type ? is_global : !has_call && !is_constant && !is_declared_type && words > 1))
        clumpi_refuse(r, t.all,
                      "at file scope, a variable or a type for global memory is declared");
    clumpi_free(&r->context->allocator, t.all);
}

/* Find the kernel, and look at all declarations on the way. */
static int find_kernel(clumpi_reading *r, const char *name, kernel_parts *k) {
    const clumpi_tokens *code = &r->code;
    size_t found = 0, begin = 0, open = 0, close = 0;
    for (size_t i = 0; i < code->count && !r->status; i++) {
        const clumpi_token *t = &code->all[i];
        if (t->kind == CLUMPI_TOKEN_DIRECTIVE && i == begin) begin = i + 1;
        if (clumpi_token_is(t, "__kernel") || clumpi_token_is(t, "kernel")) begin = i;
        if (clumpi_token_is(t, ";")) {
            check_declaration(r, (clumpi_range){begin, i});
            begin = i + 1;
            open = close = 0;
        }
        if (clumpi_token_is(t, "(")) {
            open = i;
            i = close = clumpi_token_close(code, i, code->count);
        }
        if (!clumpi_token_is(t, "{")) continue;
        size_t end = clumpi_token_close(code, i, code->count);
        if (close && close + 1 == i && code->all[begin].kind == CLUMPI_TOKEN_WORD && open > begin) {
            int is_kernel = clumpi_token_is(&code->all[begin], "__kernel") ||
                            clumpi_token_is(&code->all[begin], "kernel");
            if (is_kernel && end < code->count && clumpi_token_is(&code->all[open - 1], name)) {
                *k = (kernel_parts){{begin, open - 1}, {open + 1, close}, {i + 1, end}};
                found++;
            }
            begin = end + 1;
            open = close = 0;
        }
        i = end;
    }
    return found == 1;
}

/* ---- Parameters ---- */

static void add_parameter(clumpi_reading *r, clumpi_loop *loop, clumpi_range part) {
    static const char *const barred[] = {"local", "__local", "sampler_t", "pipe"};
    const clumpi_token *t = loop->tokens.all;
    clumpi_loop_parameter p = {.all = part, .name = part.end - 1};
    char text[CLUMPI_TOKEN_TEXT_BYTES];
    if (part.end < part.begin + 2 || t[p.name].kind != CLUMPI_TOKEN_WORD) {
        clumpi_refuse(r, part.begin < part.end ? &t[part.begin] : NULL,
                      "a parameter does not end in its name");
        return;
    }
    for (size_t i = part.begin; i < p.name; i++) {
        p.is_const |= clumpi_token_is(&t[i], "const") && !p.is_pointer;
        p.is_const |= clumpi_token_is(&t[i], "__constant") || clumpi_token_is(&t[i], "constant");
        p.is_pointer |= clumpi_token_is(&t[i], "*");
        for (size_t k = 0; k < sizeof barred / sizeof *barred; k++)
            if (clumpi_token_is(&t[i], barred[k]) || strncmp(t[i].at, "image", 5) == 0) {
                clumpi_refuse(r, &t[i], "a parameter is \"%s\"", clumpi_token_text(&t[i], text));
                return;
            }
    }
    if (!clumpi_grow(&r->context->allocator, &loop->parameters, &loop->parameter_capacity,
                     loop->parameter_count + 1, sizeof p)) {
        clumpi_reading_no_room(r);
        return;
    }
    loop->parameters[loop->parameter_count++] = p;
    clumpi_tokens_add(r, &loop->kept, t[p.name]);
}

static void read_parameters(clumpi_reading *r, clumpi_loop *loop, clumpi_range part) {
    clumpi_expand(r, part, CLUMPI_EXPAND_MOVED, &loop->tokens);
    clumpi_range list = {0, loop->tokens.count}, one;
    if (r->status) return;
    if (!clumpi_next_argument(&loop->tokens, &list, &one) || one.end != one.begin + 1 ||
        !clumpi_token_is(&loop->tokens.all[one.begin], "CLUMP_HEAP_NO_ALLOC")) {
        clumpi_refuse(
            r, NULL,
            "its first parameter is not CLUMP_HEAP_NO_ALLOC, so it may make or free objects");
        return;
    }
    while (!r->status && clumpi_next_argument(&loop->tokens, &list, &one)) {
        if (clumpi_token_is(&loop->tokens.all[one.begin], "CLUMP_NUMBERS"))
            clumpi_refuse(r, NULL, "it has CLUMP_NUMBERS");
        else
            add_parameter(r, loop, one);
    }
}

/* ---- The body ---- */

/* Nothing may leave the loop: `inside` a loop or switch of its own, break is for that. Returns
 * where the statement ends. */
static size_t check_jumps(clumpi_reading *r, const clumpi_tokens *t, size_t at, size_t end,
                          int inside) {
    while (at < end && t->all[at].kind == CLUMPI_TOKEN_DIRECTIVE) at++;
    if (at >= end || r->status) return end;
    size_t stop = clumpi_statement_end(t, at, end);
    const clumpi_token *head = &t->all[at];
    int is_loop = clumpi_token_is(head, "for") || clumpi_token_is(head, "while") ||
                  clumpi_token_is(head, "switch") || clumpi_token_is(head, "CLUMP_FOR_WHOLE_CLASS");
    if (clumpi_token_is(head, "{")) {
        for (at++; at + 1 < stop;) at = check_jumps(r, t, at, stop - 1, inside);
    } else if (is_loop || clumpi_token_is(head, "if")) {
        at = check_jumps(r, t, clumpi_token_close(t, at + 1, end) + 1, end, inside || is_loop);
        if (!is_loop && at < stop) check_jumps(r, t, at + 1, end, inside); /* else */
    } else if (clumpi_token_is(head, "do")) {
        check_jumps(r, t, at + 1, end, 1);
    } else {
        /* A label, `case 1: break;`, is part of its statement. */
        for (; at < stop && !inside; at++)
            if (clumpi_token_is(&t->all[at], "break"))
                clumpi_refuse(r, &t->all[at], "break leaves the loop");
    }
    return stop;
}

static void read_body(clumpi_reading *r, clumpi_loop *loop, int is_last) {
    clumpi_tokens expanded = {0};
    const clumpi_code_rules rules = {.self = &loop->self,
                                     .kept = loop->kept.all,
                                     .kept_count = is_last ? 0 : loop->kept.count,
                                     .is_kernel = 1};
    clumpi_expand(r, loop->body, CLUMPI_EXPAND_MOVED, &expanded);
    if (!r->status && clumpi_statement_end(&expanded, 0, expanded.count) != expanded.count)
        clumpi_refuse(r, &r->code.all[loop->body.begin],
                      "a macro hides where the body of its loop ends");
    for (size_t at = 0; at < expanded.count && !r->status;)
        at = check_jumps(r, &expanded, at, expanded.count, 0);
    clumpi_free(&r->context->allocator, expanded.all);
    if (!r->status) clumpi_touches_add(r, loop->body, &rules, &loop->touches);
}

/* The names that the declaration declares: what its initialisers use is none. */
static void add_declared(clumpi_reading *r, clumpi_range part, clumpi_tokens *names) {
    const clumpi_token *t = r->code.all;
    for (size_t i = part.begin; i + 1 < part.end; i++) {
        int is_end = clumpi_token_is(&t[i + 1], ";") || clumpi_token_is(&t[i + 1], ",") ||
                     clumpi_token_is(&t[i + 1], "=") || clumpi_token_is(&t[i + 1], "[");
        if (t[i].kind == CLUMPI_TOKEN_WORD && is_end) clumpi_tokens_add(r, names, t[i]);
        if (clumpi_token_opens(&t[i])) i = clumpi_token_close(&r->code, i, part.end);
        if (i < part.end && clumpi_token_is(&t[i], "="))
            while (i + 1 < part.end && !clumpi_token_is(&t[i + 1], ","))
                i = clumpi_token_opens(&t[i + 1]) ? clumpi_token_close(&r->code, i + 1, part.end)
                                                  : i + 1;
    }
}

/* A pointer that is declared could be moved on. */
static int declares_pointer(const clumpi_reading *r, clumpi_range part) {
    int is_type = 1;
    for (size_t i = part.begin; i < part.end; i++) {
        if (clumpi_token_is(&r->code.all[i], "*") &&
            (is_type || clumpi_token_is(&r->code.all[i - 1], ",")))
            return 1;
        is_type &= !clumpi_token_is(&r->code.all[i], "=");
    }
    return 0;
}

/* What stands before the loop of a kernel that is not the last comes to stand in the loop:
 * constants only. */
static void read_before(clumpi_reading *r, clumpi_loop *loop, size_t end, int is_last) {
    const clumpi_code_rules rules = {.is_pure = !is_last, .is_kernel = 1};
    size_t at = loop->before.begin;
    while (at < loop->before.end && !r->status) {
        clumpi_range one = {at, clumpi_statement_end(&r->code, at, end)};
        if (!is_last && (!clumpi_token_is(&r->code.all[at], "const") || declares_pointer(r, one)))
            clumpi_refuse(
                r, &r->code.all[at],
                "only numbers whose declarations begin with const may be declared before its loop");
        add_declared(r, one, &loop->kept);
        at = one.end;
    }
    if (at != loop->before.end)
        clumpi_refuse(r, &r->code.all[loop->before.end], "its loop is part of a statement");
    clumpi_touches_add(r, loop->before, &rules, &loop->touches);
}

/* CLUMP_REDUCE(type, value, combine); */
static void read_reduction(clumpi_reading *r, clumpi_loop *loop, clumpi_range rest) {
    const clumpi_code_rules rules = {.is_kernel = 1};
    const clumpi_token *t = &r->code.all[rest.begin];
    size_t close = clumpi_token_close(&r->code, rest.begin + 1, rest.end);
    size_t end = close + 1;
    if (end < rest.end && clumpi_token_is(&r->code.all[end], ";")) end++;
    if (!clumpi_token_is(t, "CLUMP_REDUCE") || end != rest.end) {
        clumpi_refuse(r, t, "only a CLUMP_REDUCE may follow its loop");
        return;
    }
    clumpi_range list = {rest.begin + 2, close}, type, value, combine;
    if (!clumpi_next_argument(&r->code, &list, &type) ||
        !clumpi_next_argument(&r->code, &list, &value) ||
        !clumpi_next_argument(&r->code, &list, &combine) || list.begin != list.end) {
        clumpi_refuse(r, t, "CLUMP_REDUCE needs three arguments");
        return;
    }
    loop->reduce = rest;
    clumpi_touches_add(r, type, &rules, &loop->touches);
    clumpi_touches_add(r, value, &rules, &loop->touches);
    clumpi_touches_add_combiner(r, combine, &loop->touches);
}

static size_t find_loop(const clumpi_reading *r, clumpi_range body) {
    for (size_t i = body.begin; i < body.end; i++) {
        if (clumpi_token_is(&r->code.all[i], "CLUMP_FOR_EACH")) return i;
        if (clumpi_token_is(&r->code.all[i], "{")) i = clumpi_token_close(&r->code, i, body.end);
    }
    return body.end;
}

static int find_class(clumpi_reading *r, const clumpi_token *name, clump_class_info *info) {
    for (uint32_t id = 1; clumpi_take_class(clumpi_class_info(r->schema, id), info); id++)
        if (clumpi_token_is(name, info->name)) return 1;
    return 0;
}

static void take_apart(clumpi_reading *r, clumpi_loop *loop, const kernel_parts *k, int is_last) {
    const clumpi_tokens *code = &r->code;
    size_t at = find_loop(r, k->body), close = at + 1;
    if (at < k->body.end) close = clumpi_token_close(code, at + 1, k->body.end);
    if (close >= k->body.end || close != at + 5 || !clumpi_token_is(&code->all[at + 3], ",")) {
        clumpi_refuse(r, NULL, "its own text has no CLUMP_FOR_EACH(Class, self)");
        return;
    }
    loop->self = code->all[at + 4];
    if (!find_class(r, &code->all[at + 2], &loop->class_info) ||
        clumpi_macro_find(r, &loop->self)) {
        clumpi_refuse(r, &code->all[at], "its CLUMP_FOR_EACH does not name a class and an object");
        return;
    }
    loop->before = (clumpi_range){k->body.begin, at};
    loop->body = (clumpi_range){close + 1, clumpi_statement_end(code, close + 1, k->body.end)};
    if (loop->body.begin == k->body.end) {
        clumpi_refuse(r, &code->all[at], "its loop has no body");
        return;
    }
    if (!is_last && clumpi_token_is(&code->all[loop->body.end], "CLUMP_REDUCE"))
        clumpi_refuse(r, &code->all[loop->body.end], "it reduces, so it must be the last one");
    read_before(r, loop, k->body.end, is_last);
    read_body(r, loop, is_last);
    if (!r->status && loop->body.end < k->body.end)
        read_reduction(r, loop, (clumpi_range){loop->body.end, k->body.end});
}

clump_status clumpi_loop_open(clumpi_reading *r, clumpi_loop *loop, const char *kernel,
                              int is_last) {
    kernel_parts k = {{0, 0}, {0, 0}, {0, 0}};
    *loop = (clumpi_loop){.kernel = kernel};
    r->kernel = kernel;
    if (!find_kernel(r, kernel, &k))
        return clumpi_refuse(r, NULL,
                             "the source does not have exactly one kernel of this name, or a macro "
                             "or a condition makes the kernel");
    for (size_t i = k.head.begin; i < k.head.end; i++)
        if (clumpi_token_is(&r->code.all[i], "__attribute__"))
            return clumpi_refuse(r, &r->code.all[i], "it has an attribute");
    read_parameters(r, loop, k.parameters);
    if (!r->status) take_apart(r, loop, &k, is_last);
    return r->status;
}

void clumpi_loop_close(clumpi_reading *r, clumpi_loop *loop) {
    const clump_allocator *a = &r->context->allocator;
    clumpi_free(a, loop->tokens.all);
    clumpi_free(a, loop->parameters);
    clumpi_free(a, loop->kept.all);
    clumpi_free(a, loop->touches.all);
    *loop = (clumpi_loop){0};
}
