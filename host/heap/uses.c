/* What a kernel may do to the heap, by its text: the classes that it goes over, those that it
 * changes, and whether it asks for slots. So a launch gets a list only if it needs one.
 *
 * A source is cut into pieces, its functions and its macros. A kernel may use each word of its own
 * piece, and of each piece that one of these words names, in whatever way it stands there.
 *
 * Invariant: what is not understood is taken for a loop that makes objects. So are words of the
 * library and of the schema that the tables here do not have, files that are included, and words
 * that a macro puts together.
 *
 * Read first: program.h, words.h.
 */
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/program.h"
#include "heap/words.h"

const clumpi_classes clumpi_classes_all = {{~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u}};
_Static_assert(sizeof clumpi_classes_all.bits * 8 == CLUMPI_CLASS_IDS, "a bit for each class");

void clumpi_classes_add(clumpi_classes *set, const clumpi_classes *more) {
    for (size_t i = 0; i < sizeof set->bits / sizeof *set->bits; i++) set->bits[i] |= more->bits[i];
}

int clumpi_classes_meet(const clumpi_classes *a, const clumpi_classes *b) {
    for (size_t i = 0; i < sizeof a->bits / sizeof *a->bits; i++)
        if (a->bits[i] & b->bits[i]) return 1;
    return 0;
}

/* With those below it, or without. */
static void add_class(clumpi_classes *set, const clump_class_info *c, int with_below) {
    for (uint32_t id = c->id; id <= (with_below ? c->last : c->id); id++)
        set->bits[id / 32] |= UINT32_C(1) << id % 32;
}

/* ---- Names that the schema makes ------------------------------------------------------------- */

static int is_one_of(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) return 1;
    return 0;
}
#define IS_ONE_OF(word, words) is_one_of((word), (words), sizeof(words) / sizeof *(words))

#define BECOME "become_"

static clumpi_member member_of_rest(const clump_schema *schema, const char *rest) {
    static const char *const tests[] = {"null", "is_null", "is_live", "class_of", "CLASS"};
    static const char *const makes[] = {"new", "group_new", "new_of"};
    if (IS_ONE_OF(rest, tests)) return CLUMPI_MEMBER_TEST;
    if (IS_ONE_OF(rest, makes)) return CLUMPI_MEMBER_MAKE;
    if (strcmp(rest, "free") == 0) return CLUMPI_MEMBER_FREE;
    if (schema->become_count && strcmp(rest, "follow") == 0) return CLUMPI_MEMBER_TEST;
    if (strncmp(rest, BECOME, strlen(BECOME)) == 0 &&
        clump_schema_find_class(schema, rest + strlen(BECOME)))
        return CLUMPI_MEMBER_BECOME;
    const int is_test = strncmp(rest, "is_", 3) == 0, is_cast = strncmp(rest, "as_", 3) == 0;
    /* Else it is a member of a class whose own name goes on so. */
    if (!(is_test || is_cast) || !clump_schema_find_class(schema, rest + 3))
        return CLUMPI_MEMBER_NONE;
    return is_test ? CLUMPI_MEMBER_TEST : CLUMPI_MEMBER_CAST;
}

/* Of an array of run-time length. */
static clumpi_member member_of_array(const clump_schema *schema, uint32_t id, const char *rest,
                                     clump_field_info *f) {
    const char *last = strrchr(rest, '_');
    char name[2 * CLUMP_NAME_BYTES_MAX + 2];
    if (!last) return CLUMPI_MEMBER_NONE;
    snprintf(name, sizeof name, "%.*s", (int)(last - rest), rest);
    if (!clumpi_take_field(clump_schema_find_field(schema, id, name), f) || !f->array)
        return CLUMPI_MEMBER_NONE;
    if (strcmp(last, "_length") == 0 || strcmp(last, "_capacity") == 0) return CLUMPI_MEMBER_LENGTH;
    return strcmp(last, "_append") == 0 ? CLUMPI_MEMBER_APPEND : CLUMPI_MEMBER_CHANGE;
}

/* Has the word the name of the class and an underscore before the rest? */
static const char *rest_after(const char *word, const clump_class_info *c) {
    const size_t length = strlen(c->name);
    return strncmp(word, c->name, length) == 0 && word[length] == '_' ? word + length + 1 : NULL;
}

clumpi_member clumpi_member_find(const clump_schema *schema, const char *name,
                                 const clump_class_info **c, clump_field_info *f) {
    const clump_schema_info *all = clump_schema_get_info(schema);
    for (uint32_t id = 1; id <= all->class_count; id++) {
        *c = all->classes[id];
        const char *rest = rest_after(name, *c);
        if (!rest) continue;
        if (clumpi_take_field(clump_schema_find_field(schema, id, rest), f) && !f->part)
            return CLUMPI_MEMBER_FIELD;
        clumpi_member member = member_of_array(schema, id, rest, f);
        if (!member) member = member_of_rest(schema, rest);
        if (member) return member;
    }
    return CLUMPI_MEMBER_NONE;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

typedef struct piece {
    const char *name; /* where it stands; of a piece with several names one piece for each */
    size_t name_bytes;
    const char *begin, *end;
    int is_seen;
} piece;

typedef struct source {
    const clump_program *program;
    piece *all;
    size_t count, capacity;
    int is_odd;  /* it cannot be cut, or does what is not known */
    int is_full; /* no host memory */
    clumpi_uses uses;
} source;

static size_t word_bytes(const char *at) {
    size_t bytes = 0;
    while (clumpi_is_word(at[bytes])) bytes++;
    return bytes;
}

static int is_word_text(const char *at, size_t bytes, const char *text) {
    return bytes == strlen(text) && memcmp(at, text, bytes) == 0;
}

static void add_piece(source *s, const char *name, const char *begin, const char *end) {
    if (!clumpi_grow(&s->program->context->allocator, &s->all, &s->capacity, s->count + 1,
                     sizeof *s->all)) {
        s->is_odd = s->is_full = 1;
        return;
    }
    s->all[s->count++] = (piece){name, word_bytes(name), begin, end, 0};
}

/* The next word or sign at or after `at`, before `end`; `end` if there is none. */
static const char *next_of(const char *at, const char *end) {
    while (at < end) {
        const char *next = clumpi_skip_one(at);
        if (next == at && (*at == '"' || *at == '\'')) next = clumpi_skip_literal(at);
        if (next == at) return at;
        at = next;
    }
    return end;
}

static const char *after(const char *at) {
    return clumpi_is_word(*at) ? at + word_bytes(at) : at + 1;
}

static int is_called(const char *word, const char *end) {
    const char *next = next_of(after(word), end);
    return next < end && *next == '(';
}

static int is_of_attribute(const char *word) {
    static const char *const words[] = {"__attribute__", "attribute", "reqd_work_group_size",
                                        "work_group_size_hint", "vec_type_hint"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word_text(word, word_bytes(word), words[i])) return 1;
    return 0;
}

/* A function from `begin` to `end`, whose body begins at `body`. Which of the words before a
 * bracket is its name is not looked for. */
static void add_function(source *s, const char *begin, const char *body, const char *end) {
    for (const char *at = next_of(begin, body); at < body; at = next_of(after(at), body))
        if (clumpi_is_word(*at) && is_called(at, body) && !is_of_attribute(at))
            add_piece(s, at, begin, end);
}

/* A preprocessor line. */
static void take_directive(source *s, const char *at, const char *end) {
    const char *word = clumpi_skip_space(at + 1);
    if (is_word_text(word, word_bytes(word), "define")) {
        const char *name = clumpi_skip_space(word + word_bytes(word));
        add_piece(s, name, name + word_bytes(name), end);
    } else if (is_word_text(word, word_bytes(word), "include")) {
        s->is_odd = 1;
    }
}

const char *clumpi_odd_text(const char *text) {
    static const char *const odd[] = {"<%", "%>", "%:", "??"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (strstr(text, odd[i])) return strstr(text, odd[i]);
    for (const char *at = text; (at = strchr(at, '\\')) != NULL; at++) {
        const char *next = at + 1 + (at[1] == '\r');
        if (*next == '\n' && at > text && clumpi_is_word(at[-1]) && clumpi_is_word(next[1]))
            return at;
    }
    return NULL;
}

static void cut(source *s) {
    const char *at = s->program->source + s->program->user_at, *const end = at + strlen(at);
    s->is_odd = clumpi_odd_text(at) != NULL;
    const char *begin = at, *body = at;
    int depth = 0, at_line_begin = 1;
    while (at < end && !s->is_odd) {
        const char *next = clumpi_skip_one(at);
        if (next != at) {
            at_line_begin |= *at == '\n';
            at = next;
            continue;
        }
        if (*at == '#' && at_line_begin) {
            next = clumpi_skip_directive(at);
            take_directive(s, at, next);
            if (depth == 0) begin = next;
        } else if (*at == '"' || *at == '\'') {
            next = clumpi_skip_literal(at);
        } else {
            next = after(at);
        }
        at_line_begin = 0;
        if (*at == '{' && depth++ == 0) body = at;
        if (*at == '}' && --depth == 0) add_function(s, begin, body, next);
        if ((*at == '}' || *at == ';') && depth == 0) begin = next;
        s->is_odd |= depth < 0;
        at = next;
    }
    s->is_odd |= depth != 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* The classes of raw memory come after those of the schema. */
static void change_raw(source *s) {
    for (uint32_t id = clump_schema_get_info(s->program->schema)->class_count + 1;
         id < CLUMPI_CLASS_IDS; id++)
        s->uses.changes.bits[id / 32] |= UINT32_C(1) << id % 32;
}

/* CLUMP_FOR_EACH and others that go over the objects of the class that they name first. */
static void take_loop(source *s, const char *word, const char *end) {
    const char *at = next_of(after(word), end);
    if (at < end && *at == '(') at = next_of(at + 1, end);
    char name[CLUMP_NAME_BYTES_MAX + 1];
    const size_t bytes = at < end ? word_bytes(at) : 0;
    if (!bytes || bytes >= sizeof name) {
        s->is_odd = 1;
        return;
    }
    memcpy(name, at, bytes);
    name[bytes] = 0;
    const clump_class_info *c = clump_schema_find_class(s->program->schema, name);
    if (c)
        add_class(&s->uses.loops, c, 1);
    else
        s->is_odd = 1; /* the parameter of a macro */
}

static void take_of_library(source *s, const char *word, const char *at, const char *end) {
    static const char *const nothing[] = {"clump_heap",    "CLUMP_HEAP",  "CLUMP_HEAP_NO_ALLOC",
                                          "CLUMP_NUMBERS", "clump_ref",   "clump_raw_at",
                                          "clump_raw_of",  "CLUMP_FENCE", "CLUMP_PUBLISH",
                                          "CLUMP_OBSERVE", "CLUMP_MIN",   "clump_usable_size",
                                          "CLUMP_MAX",     "CLUMP_SUM",   "clump_random_float",
                                          "clump_random",  "CLUMP_REDUCE"};
    static const char *const asks[] = {"clump_malloc", "clump_calloc", "clump_realloc",
                                       "clump_aligned_alloc"};
    static const char *const loops[] = {"CLUMP_FOR_EACH", "CLUMP_FOR_EACH_NUMBERED",
                                        "CLUMP_FOR_WHOLE_CLASS", "CLUMP_AT"};
    if (strcmp(word, "CLUMP_REDUCE") == 0 || strcmp(word, "CLUMP_NUMBERS") == 0)
        s->uses.is_ordered = 1;
    if (IS_ONE_OF(word, nothing) || strncmp(word, "CLUMP_ATOMIC_", 13) == 0) return;
    if (IS_ONE_OF(word, loops)) {
        s->uses.is_ordered |= strcmp(word, "CLUMP_FOR_EACH") != 0;
        take_loop(s, at, end);
    } else if (IS_ONE_OF(word, asks) || strcmp(word, "clump_free") == 0) {
        s->uses.asks |= strcmp(word, "clump_free") != 0;
        s->uses.frees |= strcmp(word, "clump_free") == 0 || strcmp(word, "clump_realloc") == 0;
        change_raw(s);
    } else {
        s->is_odd = 1;
    }
}

static void take_of_schema(source *s, const char *word, int is_piece, int is_call) {
    const clump_schema_info *all = clump_schema_get_info(s->program->schema);
    const clump_class_info *c;
    clump_field_info f;
    const clumpi_member member = clumpi_member_find(s->program->schema, word, &c, &f);
    if (member >= CLUMPI_MEMBER_MAKE || member == CLUMPI_MEMBER_APPEND) {
        s->uses.asks |= member != CLUMPI_MEMBER_FREE;
        s->uses.frees |= member != CLUMPI_MEMBER_MAKE;
        s->uses.becomes |= member == CLUMPI_MEMBER_BECOME;
        if (member == CLUMPI_MEMBER_MAKE)
            add_class(&s->uses.changes, c, strcmp(rest_after(word, c), "new_of") == 0);
        else if (member == CLUMPI_MEMBER_BECOME)
            add_class(
                &s->uses.changes,
                clump_schema_find_class(s->program->schema, rest_after(word, c) + strlen(BECOME)),
                0);
        if (member != CLUMPI_MEMBER_MAKE) change_raw(s); /* the memory of arrays */
        if (member == CLUMPI_MEMBER_FREE || member == CLUMPI_MEMBER_BECOME)
            add_class(&s->uses.changes, c, 1);
    }
    if (member || is_piece || clump_schema_find_class(s->program->schema, word)) return;
    /* A macro made the function, or a parameter of one stands for it. */
    s->is_odd |= is_call && !clumpi_reserved_word(word) && !clumpi_reserved_builtin(word);
    for (uint32_t id = 1; id <= all->class_count; id++)
        s->is_odd |= rest_after(word, all->classes[id]) != NULL;
}

static void take_piece(source *s, piece p);

static void take_word(source *s, const char *at, const char *end) {
    const size_t bytes = word_bytes(at);
    char word[2 * CLUMP_NAME_BYTES_MAX + 2];
    int is_piece = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->all[i].name_bytes != bytes || memcmp(s->all[i].name, at, bytes) != 0) continue;
        is_piece = 1;
        if (s->all[i].is_seen) continue;
        s->all[i].is_seen = 1; /* so this ends, with functions that name each other, too */
        take_piece(s, s->all[i]);
    }
    if (bytes >= sizeof word) {
        s->is_odd |= !is_piece;
        return;
    }
    memcpy(word, at, bytes);
    word[bytes] = 0;
    if (strncmp(word, "clump", 5) == 0 || strncmp(word, "CLUMP", 5) == 0)
        take_of_library(s, word, at, end);
    else
        take_of_schema(s, word, is_piece, is_called(at, end) && !is_of_attribute(at));
}

static void take_piece(source *s, piece p) {
    for (const char *at = next_of(p.begin, p.end); at < p.end && !s->is_odd;
         at = next_of(after(at), p.end)) {
        if (clumpi_is_word(*at)) take_word(s, at, p.end);
        s->is_odd |= at[0] == '#' && at[1] == '#';
    }
}

/* The options define macros. */
static void take_options(source *s) {
    const char *options = s->program->options;
    s->is_odd |= strstr(options, "-include") != NULL;
    for (const char *at = options; (at = strstr(at, "-D")) != NULL;) {
        at += 2;
        const size_t name = word_bytes(at);
        const int is_own = strncmp(at, "CLUMP", 5) == 0; /* append_tuning() */
        const char *end = at + strcspn(at, " \t\n");
        if (!is_own && name && at[name] == '=')
            take_piece(s, (piece){at, name, at + name + 1, end, 0});
        at = end;
    }
}

clump_status clumpi_uses_of(const clump_program *p, const char *kernel, clumpi_uses *uses) {
    source s = {.program = p, .is_odd = p->made_for.checks != 0};
    if (!s.is_odd) cut(&s);
    int is_found = 0;
    for (size_t i = 0; i < s.count; i++)
        is_found |= is_word_text(s.all[i].name, s.all[i].name_bytes, kernel);
    s.is_odd |= !is_found; /* a macro made its name */
    if (!s.is_odd) take_options(&s);
    if (!s.is_odd) take_word(&s, kernel, kernel + strlen(kernel));
    clumpi_free(&p->context->allocator, s.all);
    *uses = s.is_odd ? (clumpi_uses){1, 1, 1, 1, clumpi_classes_all, clumpi_classes_all} : s.uses;
    return s.is_full ? clumpi_fail(&p->context->error, CLUMP_ERR_HOST_MEMORY,
                                   "no host memory to read the text of kernel %s", kernel)
                     : CLUMP_OK;
}
