/* Which fields a piece of a program uses, and how: by the accessors in its tokens, and in those of
 * the functions that it calls. What is not known is refused; what can be understood in two ways is
 * taken for the worse one.
 *
 * Read first: fuse.h, expand.c. The accessors: heap/emit.c.
 */
#include <stdio.h>
#include <string.h>

#include "fuse/fuse.h"

#define DEPTH_MAX 16u   /* of calls within calls */
#define CALLS_MAX 2000u /* that are followed, of all kernels */

typedef struct scan {
    clumpi_reading *r;
    clumpi_tokens t; /* expanded */
    const clumpi_code_rules *rules;
    clumpi_token own[8]; /* names of the loop's object here */
    size_t own_count;
    clumpi_touches *touches;
    uint32_t depth; /* of calls */
} scan;

static const clumpi_token *at(const scan *s, size_t i) {
    static const clumpi_token none = {"", 0, 0, CLUMPI_TOKEN_SIGN};
    return i < s->t.count ? &s->t.all[i] : &none; /* also before the first, i = -1 */
}

static int is(const scan *s, size_t i, const char *text) {
    return clumpi_token_is(at(s, i), text);
}

static int is_one_of(const clumpi_token *t, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (clumpi_token_is(t, words[i])) return 1;
    return 0;
}
#define IS_ONE_OF(t, words) is_one_of((t), (words), sizeof(words) / sizeof *(words))

static int begins(const clumpi_token *t, const char *prefix) {
    size_t bytes = strlen(prefix);
    return t->bytes >= bytes && memcmp(t->at, prefix, bytes) == 0;
}

static int is_assignment(const clumpi_token *t) {
    static const char *const signs[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    return IS_ONE_OF(t, signs);
}

static int is_step(const clumpi_token *t) {
    return clumpi_token_is(t, "++") || clumpi_token_is(t, "--");
}

static int is_keyword(const clumpi_token *t) {
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    return t->kind == CLUMPI_TOKEN_WORD && clumpi_reserved_word(clumpi_token_text(t, name)) != NULL;
}

/* ---- Names that the schema makes ---- */

static clumpi_member member_of(const scan *s, const clumpi_token *word, clump_field_info *f) {
    const size_t prefix = sizeof CLUMPI_READ_PREFIX - 1;
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    clumpi_token t = *word;
    if (t.bytes >= sizeof name) return CLUMPI_MEMBER_NONE;
    if (begins(&t, CLUMPI_READ_PREFIX)) {
        t.at += prefix;
        t.bytes -= (uint32_t)prefix;
    }
    clumpi_token_text(&t, name);
    const clump_class_info *c;
    return clumpi_member_find(s->r->schema, name, &c, f);
}

/* ---- The loop's own object ---- */

static int is_own_name(const scan *s, const clumpi_token *t) {
    if (t->kind != CLUMPI_TOKEN_WORD) return 0;
    for (size_t i = 0; i < s->own_count; i++)
        if (clumpi_token_same(&s->own[i], t)) return 1;
    return 0;
}

/* `self`, in parentheses or cast or not. */
static int is_own(const scan *s, clumpi_range e) {
    clump_field_info f;
    while (e.begin < e.end &&
           (is(s, e.begin, "(") ||
            (is(s, e.begin + 1, "(") && member_of(s, at(s, e.begin), &f) == CLUMPI_MEMBER_CAST))) {
        size_t open = e.begin + !is(s, e.begin, "(");
        if (clumpi_token_close(&s->t, open, e.end) != e.end - 1) return 0;
        e.begin = open + 1;
        e.end--;
    }
    return e.end == e.begin + 1 && is_own_name(s, at(s, e.begin));
}

/* The bracket in which `i` stands; SIZE_MAX: none. */
static size_t bracket_around(const scan *s, size_t i) {
    for (size_t depth = 0; i-- > 0;) {
        const clumpi_token *t = at(s, i);
        if (t->kind != CLUMPI_TOKEN_SIGN || t->bytes != 1) continue;
        if (clumpi_token_closes(t)) depth++;
        if (clumpi_token_opens(t) && depth-- == 0) return i;
    }
    return SIZE_MAX;
}

/* Is `i` the parenthesis of a call? */
static int is_call(const scan *s, size_t i) {
    static const char *const loops[] = {"CLUMP_FOR_WHOLE_CLASS"};
    const clumpi_token *name = at(s, i - 1);
    return is(s, i, "(") && name->kind == CLUMPI_TOKEN_WORD && !IS_ONE_OF(name, loops) &&
           (!is_keyword(name) || begins(name, "CLUMP") || begins(name, "clump"));
}

/* Is the `&` at `i` one that takes an address? What may be a cast before it counts as one. */
static int is_address(const scan *s, size_t i) {
    const clumpi_token *before = at(s, i - 1);
    if (before->kind == CLUMPI_TOKEN_WORD) return is_keyword(before);
    if (before->kind == CLUMPI_TOKEN_NUMBER || before->kind == CLUMPI_TOKEN_LITERAL) return 0;
    if (is(s, i - 1, "]") || is_step(before)) return 0;
    if (!is(s, i - 1, ")")) return 1;
    size_t open = bracket_around(s, i - 1);
    for (size_t k = open + 1; k < i - 1; k++)
        if (at(s, k)->kind != CLUMPI_TOKEN_WORD && !is(s, k, "*")) return 0;
    return !is_call(s, open);
}

/* A name, or *has_member a member of it, in parentheses or not: the tokens from *l to *r. */
static void find_whole(const scan *s, size_t *l, size_t *r, int *has_member) {
    *has_member = 0;
    for (;;) {
        int is_group = is(s, *l - 1, "(") && is(s, *r + 1, ")") && !is_call(s, *l - 1);
        if (!is_group && !is(s, *r + 1, ".")) return;
        *has_member |= is(s, *r + 1, ".");
        *l -= (size_t)is_group;
        *r += is_group ? 1 : 2;
    }
}

/* Is that changed here, or may it be, through its address? */
static int is_changed(const scan *s, size_t l, size_t r) {
    return is_assignment(at(s, r + 1)) || is_step(at(s, r + 1)) || is_step(at(s, l - 1)) ||
           (is(s, l - 1, "&") && is_address(s, l - 1));
}

/* Its name may stand only where its value is taken, so that it names the same object everywhere. */
static void check_own_use(scan *s, size_t i) {
    static const char *const before[] = {"=", "==", "!=", "return", "?", ":"};
    static const char *const after[] = {";", ")", ",", ":", "==", "!="};
    size_t l = i, r = i;
    int is_member, is_value;
    find_whole(s, &l, &r, &is_member);
    size_t around = bracket_around(s, l);
    if (is_member)
        is_value = !is_changed(s, l, r);
    else if (around != SIZE_MAX && is_call(s, around))
        is_value =
            (is(s, l - 1, "(") || is(s, l - 1, ",")) && (is(s, r + 1, ")") || is(s, r + 1, ","));
    else
        is_value = IS_ONE_OF(at(s, l - 1), before) && IS_ONE_OF(at(s, r + 1), after);
    if (is_value) return;
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    clumpi_refuse(s->r, at(s, i),
                  "%s, the object that the loop visits, may be declared again or changed here",
                  clumpi_token_text(at(s, i), name));
}

/* ---- Fields ---- */

static void touch(scan *s, const clump_field_info *f, uint32_t ways, uint32_t line) {
    clumpi_touches *all = s->touches;
    clumpi_touch *t = NULL;
    if (s->r->status) return;
    for (size_t i = 0; i < all->count && !t; i++)
        if (all->all[i].class_id == f->class_id && strcmp(all->all[i].field, f->name) == 0)
            t = &all->all[i];
    if (!t) {
        if (!clumpi_grow(&s->r->context->allocator, &all->all, &all->capacity, all->count + 1,
                         sizeof *t)) {
            clumpi_reading_no_room(s->r);
            return;
        }
        t = &all->all[all->count++];
        *t = (clumpi_touch){.class_id = f->class_id, .field = f->name};
    }
    for (uint32_t way = 0; way < CLUMPI_WAYS; way++)
        if ((ways & ~t->ways) >> way & 1u) t->lines[way] = line;
    t->ways |= ways;
}

/* Do the parentheses around an lvalue only group? */
static int is_group(const scan *s, size_t open) {
    static const char *const words[] = {"return", "else", "do", "case"};
    const clumpi_token *before = at(s, open - 1);
    return is(s, open, "(") && (before->kind != CLUMPI_TOKEN_WORD || IS_ONE_OF(before, words));
}

/* How the lvalue from `left` to `right`, one end included, is used: READ and WRITE of the own
 * object, or both of others where its address is taken. */
static uint32_t use_of(const scan *s, size_t left, size_t right) {
    const uint32_t both = CLUMPI_OWN_READ | CLUMPI_OWN_WRITE;
    for (;;) {
        while (is(s, right + 1, ".") || is(s, right + 1, "["))
            right = is(s, right + 1, ".") ? right + 2
                                          : clumpi_token_close(&s->t, right + 1, s->t.count);
        if ((is(s, left - 1, "&") && is_address(s, left - 1)) ||
            (is(s, left - 1, "(") && begins(at(s, left - 2), "CLUMP_ATOMIC_")))
            return CLUMPI_OTHER_READ | CLUMPI_OTHER_WRITE;
        if (is_step(at(s, left - 1)) || is_step(at(s, right + 1)) || is(s, right + 1, "->"))
            return both;
        if (is_assignment(at(s, right + 1))) return is(s, right + 1, "=") ? CLUMPI_OWN_WRITE : both;
        if (!is(s, right + 1, ")") || !is_group(s, left - 1)) return CLUMPI_OWN_READ;
        left--;
        right++;
    }
}

static void scan_field(scan *s, size_t i, clumpi_member kind, const clump_field_info *f) {
    size_t close = clumpi_token_close(&s->t, i + 1, s->t.count);
    clumpi_range list = {i + 2, close}, object = {0, 0};
    clumpi_next_argument(&s->t, &list, &object);
    uint32_t ways = kind == CLUMPI_MEMBER_FIELD    ? use_of(s, i, close)
                    : kind == CLUMPI_MEMBER_LENGTH ? CLUMPI_OWN_READ
                                                   : CLUMPI_OWN_READ | CLUMPI_OWN_WRITE;
    if (s->rules->is_pure) {
        clumpi_refuse(s->r, at(s, i), "the field %s is used before the loop", f->name);
        return;
    }
    if (!is_own(s, object)) ways = (ways & 3u) << 2 | (ways & ~3u);
    touch(s, f, ways, at(s, i)->line);
}

/* ---- Functions ---- */

typedef struct function {
    clumpi_range parameters, body;
} function;

/* A function that the source defines; 0: none, or several. */
static int find_function(const clumpi_reading *r, const clumpi_token *name, function *f) {
    size_t found = 0, count = r->code.count;
    for (size_t i = 0; i + 1 < count; i++) {
        const clumpi_token *t = &r->code.all[i];
        if (clumpi_token_is(t, "{")) i = clumpi_token_close(&r->code, i, count);
        if (t->kind != CLUMPI_TOKEN_WORD || !clumpi_token_is(t + 1, "(")) continue;
        size_t close = clumpi_token_close(&r->code, i + 1, count);
        int is_it = clumpi_token_same(t, name) && close + 1 < count &&
                    clumpi_token_is(&r->code.all[close + 1], "{");
        if (is_it) {
            size_t end = clumpi_token_close(&r->code, close + 1, count);
            *f = (function){{i + 2, close}, {close + 1, end + (end < count)}};
            found++;
        }
        i = close;
    }
    return found == 1;
}

static void scan_all(scan *s);

/* The last word of a parameter. */
static int parameter_name(const clumpi_tokens *t, clumpi_range p, clumpi_token *name) {
    while (p.end > p.begin && t->all[p.end - 1].kind != CLUMPI_TOKEN_WORD) p.end--;
    if (p.end > p.begin) *name = t->all[p.end - 1];
    return p.end > p.begin;
}

/* Can a function write to a buffer through this parameter? */
static int writes_through(const clumpi_tokens *t, clumpi_range p) {
    int is_global = 0, is_pointer = 0, is_const = 0;
    for (size_t i = p.begin; i < p.end; i++) {
        is_global |=
            clumpi_token_is(&t->all[i], "__global") || clumpi_token_is(&t->all[i], "global");
        is_pointer |= clumpi_token_is(&t->all[i], "*") || clumpi_token_is(&t->all[i], "[");
        is_const |= clumpi_token_is(&t->all[i], "const") && !is_pointer;
    }
    return is_global && !is_const;
}

/* A call at `i` in `s`, whose arguments name the loop's object where `own` does. */
static void scan_parameters(scan *s, size_t i, scan *callee, const function *f) {
    clumpi_tokens parameters = {0};
    clumpi_expand(s->r, f->parameters, CLUMPI_EXPAND_IN_PLACE, &parameters);
    clumpi_range list = {0, parameters.count}, one;
    clumpi_range given = {i + 2, clumpi_token_close(&s->t, i + 1, s->t.count)}, argument;
    while (!s->r->status && clumpi_next_argument(&parameters, &list, &one)) {
        clumpi_token name;
        int is_given = clumpi_next_argument(&s->t, &given, &argument);
        if (one.end == one.begin + 1 && clumpi_token_is(&parameters.all[one.begin], "CLUMP_HEAP"))
            clumpi_refuse(s->r, at(s, i), "a function is called that may make or free objects");
        if (writes_through(&parameters, one)) s->touches->writes_buffers = 1;
        if (is_given && is_own(s, argument) && parameter_name(&parameters, one, &name) &&
            callee->own_count < sizeof callee->own / sizeof *callee->own)
            callee->own[callee->own_count++] = name;
    }
    clumpi_free(&s->r->context->allocator, parameters.all);
}

static void scan_function(scan *s, size_t i, const function *f) {
    clumpi_code_rules rules = {.is_pure = s->rules->is_pure};
    scan callee = {.r = s->r, .rules = &rules, .touches = s->touches, .depth = s->depth + 1};
    if (callee.depth > DEPTH_MAX || ++s->r->calls > CALLS_MAX) {
        clumpi_refuse(s->r, at(s, i),
                      "its functions call each other more than %u deep, or %u times", DEPTH_MAX,
                      CALLS_MAX);
        return;
    }
    if (i < s->t.count) scan_parameters(s, i, &callee, f);
    clumpi_expand(s->r, f->body, CLUMPI_EXPAND_IN_PLACE, &callee.t);
    scan_all(&callee);
    clumpi_free(&s->r->context->allocator, callee.t.all);
}

/* Built-in functions whose result depends on the work-item, or that do more than compute one. */
static int is_barred_builtin(const clumpi_token *t) {
    static const char *const prefixes[] = {
        "get_",        "barrier",  "mem_fence", "read_",     "write_",   "work_group_",
        "sub_group_",  "async_",   "wait_",     "prefetch",  "printf",   "atomic_work_item",
        "atomic_flag", "enqueue_", "retain_",   "release_",  "create_",  "set_",
        "capture_",    "commit_",  "reserve_",  "is_valid_", "ndrange_", "kernel_",
        "to_",         "CLK_",     "CL_",       "cl_khr_",   "cles_khr_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(t, prefixes[i])) return 1;
    return 0;
}

static int is_effect(const clumpi_token *t) {
    return begins(t, "atom") || begins(t, "CLUMP_ATOMIC_") || begins(t, "vstore");
}

static void scan_call(scan *s, size_t i) {
    static const char *const of_library[] = {
        "CLUMP_FOR_WHOLE_CLASS", "CLUMP_SUM",         "CLUMP_MIN", "CLUMP_MAX",
        "clump_random",          "clump_random_float"};
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    const clumpi_token *t = at(s, i);
    clump_field_info field;
    function f;
    clumpi_member kind = member_of(s, t, &field);
    clumpi_token_text(t, name);
    int is_word = is_keyword(t) && !begins(t, "CLUMP") && !begins(t, "clump"); /* if, or a type */
    if (kind == CLUMPI_MEMBER_FIELD || kind == CLUMPI_MEMBER_LENGTH ||
        kind == CLUMPI_MEMBER_APPEND) {
        scan_field(s, i, kind, &field);
    } else if (kind >= CLUMPI_MEMBER_MAKE) {
        clumpi_refuse(s->r, t, "%s() makes or frees objects or memory", name);
    } else if (!kind && !IS_ONE_OF(t, of_library) && find_function(s->r, t, &f)) {
        if (s->rules->is_pure) clumpi_refuse(s->r, t, "%s() is called before the loop", name);
        scan_function(s, i, &f);
    } else if (!kind && !IS_ONE_OF(t, of_library) &&
               (is_barred_builtin(t) ||
                !(is_word || begins(t, "CLUMP_ATOMIC_") || clumpi_reserved_builtin(name)) ||
                (s->rules->is_pure && is_effect(t)))) {
        clumpi_refuse(
            s->r, t,
            "the effect of %s() is not known, or depends on the work-item or the order of loops",
            name);
    }
}

/* ---- Other words ---- */

static void check_kept(scan *s, size_t i) {
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    size_t l = i, r = i, k = 0;
    int has_member;
    while (k < s->rules->kept_count && !clumpi_token_same(&s->rules->kept[k], at(s, i))) k++;
    if (k == s->rules->kept_count) return;
    find_whole(s, &l, &r, &has_member);
    /* What it points to may change. */
    int is_element =
        !has_member && (is(s, r + 1, "[") || (is(s, l - 1, "*") && !is_step(at(s, r + 1))));
    if (!is_element && is_changed(s, l, r))
        clumpi_refuse(s->r, at(s, i), "its loop changes %s for the objects that it visits later",
                      clumpi_token_text(at(s, i), name));
}

/* clump_heap is only handed on. */
static void check_heap_use(scan *s, size_t i) {
    function f;
    if (is(s, i - 1, "(") && (is(s, i + 1, ",") || is(s, i + 1, ")")) &&
        find_function(s->r, at(s, i - 2), &f))
        return;
    clumpi_refuse(
        s->r, at(s, i),
        "clump_heap is used other than as the first argument of a function of the source");
}

static void scan_word(scan *s, size_t i) {
    static const char *const barred[] = {"goto",  "asm",     "__asm", "__asm__",
                                         "local", "__local", "pipe"};
    static const char *const spaces[] = {"__global", "__constant", "__private", "global"};
    char name[CLUMPI_TOKEN_TEXT_BYTES];
    const clumpi_token *t = at(s, i);
    int is_call_here = is(s, i + 1, "(");
    if (is(s, i - 1, ".") || is(s, i - 1, "->")) return;
    if (is_own_name(s, t)) check_own_use(s, i);
    check_kept(s, i);
    if (clumpi_token_is(t, "clump_heap")) {
        check_heap_use(s, i);
        return;
    }
    if (IS_ONE_OF(t, barred) || (s->rules->is_kernel && clumpi_token_is(t, "return")) ||
        (begins(t, "__") && !IS_ONE_OF(t, spaces)))
        clumpi_refuse(s->r, t, "it contains \"%s\"", clumpi_token_text(t, name));
    if ((clumpi_token_is(t, "__global") || clumpi_token_is(t, "global")) &&
        !is(s, i + 1, "const") && !is(s, i - 1, "const"))
        s->touches->writes_buffers = 1;
    if (is_call_here) {
        scan_call(s, i);
    } else if (begins(t, "CLUMP") || begins(t, "clump")) {
        clumpi_refuse(s->r, t, "it contains \"%s\"", clumpi_token_text(t, name));
    }
}

static int is_pragma(const clumpi_token *t) {
    uint32_t i = 1;
    while (i < t->bytes && (t->at[i] == ' ' || t->at[i] == '\t')) i++;
    return strncmp(t->at + i, "pragma", 6) == 0;
}

static void scan_all(scan *s) {
    for (size_t i = 0; i < s->t.count && !s->r->status; i++) {
        const clumpi_token *t = at(s, i);
        if (t->kind == CLUMPI_TOKEN_WORD) scan_word(s, i);
        if (t->kind == CLUMPI_TOKEN_DIRECTIVE && !is_pragma(t))
            clumpi_refuse(s->r, t, "its code has a line of the preprocessor");
        if (s->rules->is_pure && (is_step(t) || (is_assignment(t) && !clumpi_token_is(t, "="))))
            clumpi_refuse(s->r, t, "a variable is changed before the loop");
    }
}

clump_status clumpi_touches_add(clumpi_reading *r, clumpi_range part,
                                const clumpi_code_rules *rules, clumpi_touches *touches) {
    scan s = {.r = r, .rules = rules, .touches = touches};
    if (rules->self) s.own[s.own_count++] = *rules->self;
    if (!clumpi_expand(r, part, CLUMPI_EXPAND_MOVED, &s.t)) scan_all(&s);
    clumpi_free(&r->context->allocator, s.t.all);
    return r->status;
}

clump_status clumpi_touches_add_combiner(clumpi_reading *r, clumpi_range part,
                                         clumpi_touches *touches) {
    static const char *const of_library[] = {"CLUMP_SUM", "CLUMP_MIN", "CLUMP_MAX"};
    const clumpi_code_rules rules = {0};
    const clumpi_token *name = &r->code.all[part.begin];
    char text[CLUMPI_TOKEN_TEXT_BYTES];
    scan s = {.r = r, .rules = &rules, .touches = touches};
    function f;
    if (part.end != part.begin + 1 || name->kind != CLUMPI_TOKEN_WORD)
        return clumpi_refuse(r, NULL, "the third argument of CLUMP_REDUCE is not a name");
    if (IS_ONE_OF(name, of_library)) return CLUMP_OK;
    if (clumpi_reserved_builtin(clumpi_token_text(name, text)) && !is_barred_builtin(name))
        return CLUMP_OK;
    if (clumpi_macro_find(r, name) || !find_function(r, name, &f))
        return clumpi_refuse(
            r, name, "%s, the operation of its CLUMP_REDUCE, is not a function of the source",
            text);
    scan_function(&s, SIZE_MAX, &f);
    return r->status;
}
