/* Names in schemas: quoting them in messages, guessing what was meant, which may be used, the hash
 * index, and the check that all identifiers which a schema generates are different.
 *
 * A class C generates for kernels the identifiers C, C_new, C_free, C_null, C_CLASS, C_is_null,
 * C_is_live, C_class_of, C_group_new, C_new_of; C_is_D and C_as_D for every D that is C, a base or
 * a subclass of it; C_become_D for every D that it "becomes", and C_follow if a class on its line
 * of inheritance does; C_f for every field f that it declares or inherits; and for an array a of
 * run-time length C_a_length, C_a_capacity, C_a_resize, C_a_reserve, C_a_append, C_a_trim,
 * C_a_adopt and C_a_release. Underscores do not separate unambiguously: field b_c of class A and
 * field c of class A_b are the same A_b_c.
 *
 * Invariant: after clumpi_names_check_generated() returned CLUMP_OK no two of these are equal and
 * none is a name that OpenCL C declares itself.
 * Read first: schema.h.
 */
#include <stdio.h>
#include <string.h>

#include "schema/schema.h"

/* ---- Hash index ------------------------------------------------------------------------------ */

uint32_t clumpi_hash_bytes(uint32_t hash, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* First slot of a hash. The low bits of FNV-1a alone would keep similar names close together. */
static size_t first_slot(uint32_t hash) {
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    hash ^= hash >> 12;
    return hash;
}

int clumpi_index_reserve(const clump_allocator *a, clumpi_index *index, size_t entries) {
    if (entries <= index->slots / 2) return 1;
    clumpi_index grown = {NULL, 16};
    while (grown.slots / 2 < entries) grown.slots *= 2;
    grown.entries = clumpi_alloc(a, grown.slots * sizeof *grown.entries);
    if (!grown.entries) return 0;
    for (size_t i = 0; i < index->slots; ++i)
        if (index->entries[i].value_plus_1)
            clumpi_index_put(&grown, index->entries[i].hash, index->entries[i].value_plus_1 - 1);
    clumpi_index_free(a, index);
    *index = grown;
    return 1;
}

void clumpi_index_put(clumpi_index *index, uint32_t hash, uint32_t value) {
    size_t slot = first_slot(hash);
    while (index->entries[slot & (index->slots - 1)].value_plus_1) ++slot;
    index->entries[slot & (index->slots - 1)] = (struct clumpi_index_entry){hash, value + 1};
}

uint32_t clumpi_index_next(const clumpi_index *index, uint32_t hash, size_t *probe) {
    if (!index->slots) return CLUMPI_NONE;
    for (;;) { /* ends at an empty slot: half of them are */
        size_t slot = (first_slot(hash) + (*probe)++) & (index->slots - 1);
        const struct clumpi_index_entry *entry = &index->entries[slot];
        if (!entry->value_plus_1) return CLUMPI_NONE;
        if (entry->hash == hash) return entry->value_plus_1 - 1;
    }
}

void clumpi_index_free(const clump_allocator *a, clumpi_index *index) {
    clumpi_free(a, index->entries);
    *index = (clumpi_index){NULL, 0};
}

/* ---- Quoting and guessing -------------------------------------------------------------------- */

const char *clumpi_quote(char out[CLUMPI_QUOTE_BYTES], const char *text, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    size_t shown = bytes <= CLUMP_NAME_BYTES_MAX ? bytes : CLUMP_NAME_BYTES_MAX - 4, n = 0;
    out[n++] = '"';
    for (size_t i = 0; i < shown; ++i) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            out[n++] = '\\';
            out[n++] = (char)c;
        } else if (c >= 0x20 && c < 0x7f) {
            out[n++] = (char)c;
        } else {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        }
    }
    memcpy(out + n, shown < bytes ? "...\"" : "\"", shown < bytes ? 5 : 2);
    return out;
}

const char *clumpi_quote_name(char out[CLUMPI_QUOTE_BYTES], const char *name) {
    return clumpi_quote(out, name, strlen(name));
}

static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* 'a' for 'A', so that a wrong case costs nothing. */
static int fold(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`. */
static uint32_t distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    uint32_t rows[3][CLUMP_NAME_BYTES_MAX + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (uint32_t j = 0; j <= b_bytes; ++j) row[j] = j;
    for (uint32_t i = 1; i <= a_bytes; ++i) {
        uint32_t *spare = before;
        before = above;
        above = row;
        row = spare;
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; ++j) {
            uint32_t replaced = above[j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
            row[j] = min_u32(replaced, 1 + min_u32(above[j], row[j - 1]));
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                row[j] = min_u32(row[j], before[j - 2] + 1);
        }
    }
    return row[b_bytes];
}

void clumpi_guess_offer(clumpi_guess *guess, const char *candidate) {
    size_t wanted_bytes = strlen(guess->wanted), bytes = strlen(candidate);
    if (wanted_bytes > CLUMP_NAME_BYTES_MAX || bytes > CLUMP_NAME_BYTES_MAX) return;
    size_t shorter = wanted_bytes < bytes ? wanted_bytes : bytes;
    size_t longer = wanted_bytes < bytes ? bytes : wanted_bytes;
    if (longer - shorter > 2 || shorter < 2) return;
    uint32_t d = distance(guess->wanted, wanted_bytes, candidate, bytes);
    if (d > (shorter < 6 ? 1u : 2u) || (guess->best && guess->distance <= d)) return;
    guess->best = candidate;
    guess->distance = d;
}

const char *clumpi_guess_text(const clumpi_guess *guess, char out[CLUMPI_QUOTE_BYTES]) {
    out[0] = 0;
    if (guess->best) snprintf(out, CLUMPI_QUOTE_BYTES, "; did you mean \"%s\"?", guess->best);
    return out;
}

/* ---- Which names may be used ----------------------------------------------------------------- */

/* What every class generates; the suffix stands after the class's name. */
static const char *const fixed_suffixes[] = {
    "",         "_new",     "_free",     "_null",      "_CLASS",
    "_is_null", "_is_live", "_class_of", "_group_new", "_new_of",
};
#define FIXED_COUNT (sizeof fixed_suffixes / sizeof *fixed_suffixes)

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

clump_status clumpi_name_check_shape(clump_error *error, const char *kind, const char *name,
                                     clumpi_text_place place) {
    char quote[CLUMPI_QUOTE_BYTES];
    size_t bytes = strlen(name);
    if (!bytes)
        return clumpi_fail_at(error, CLUMP_ERR_SCHEMA, place.line, place.column,
                              "the %s name is empty", kind);
    size_t good = is_letter(name[0]) ? 1 : 0;
    while (good && good < bytes && (is_letter(name[good]) || is_digit(name[good]))) ++good;
    if (good < bytes)
        return clumpi_fail_at(
            error, CLUMP_ERR_SCHEMA, place.line, place.column,
            "%s name %s is not an identifier: it needs a letter or _, then letters, digits and _",
            kind, clumpi_quote(quote, name, bytes));
    if (bytes > CLUMP_NAME_BYTES_MAX)
        return clumpi_fail_at(error, CLUMP_ERR_SCHEMA, place.line, place.column,
                              "%s name %s is too long: at most %d bytes are allowed", kind,
                              clumpi_quote(quote, name, bytes), CLUMP_NAME_BYTES_MAX);
    return CLUMP_OK;
}

clump_status clumpi_name_check(clump_error *error, int is_class, const char *name,
                               clumpi_text_place place) {
    const char *kind = is_class ? "class" : "field";
    clump_status status = clumpi_name_check_shape(error, kind, name, place);
    if (status) return status;
    const char *reason = clumpi_reserved_word(name);
    if (!reason && is_class) reason = clumpi_reserved_builtin(name);
    if (reason)
        return clumpi_fail_at(error, CLUMP_ERR_SCHEMA, place.line, place.column,
                              "%s name \"%s\" is reserved: %s", kind, name, reason);
    for (size_t i = 1; !is_class && i < FIXED_COUNT; ++i)
        if (strcmp(name, fixed_suffixes[i] + 1) == 0)
            return clumpi_fail_at(error, CLUMP_ERR_SCHEMA, place.line, place.column,
                                  "field name \"%s\" is reserved: every class C generates C_%s "
                                  "itself, and the field would also",
                                  name, name);
    return CLUMP_OK;
}

/* ---- Generated names ------------------------------------------------------------------------- */

/* Origins below FIXED_COUNT are indices into fixed_suffixes. */
enum {
    ORIGIN_CLASS = 0,
    ORIGIN_FIELD = FIXED_COUNT,
    ORIGIN_IS,
    ORIGIN_AS,
    ORIGIN_BECOME,
    ORIGIN_FOLLOW,
    ORIGIN_ARRAY
};

/* Origins from ORIGIN_ARRAY on are indices into this: what an array of run-time length generates.
 * Most have a field for the first. */
static const char *const array_suffixes[] = {"_capacity", "_resize", "_reserve", "_append",
                                             "_trim",     "_adopt",  "_release"};
#define ARRAY_COUNT (sizeof array_suffixes / sizeof *array_suffixes)

typedef struct generated {
    uint16_t class_id; /* whose name it begins with */
    uint16_t origin;
    /* ORIGIN_FIELD, _ARRAY: index of the field; ORIGIN_IS, _AS, _BECOME: id of the other class */
    uint32_t other;
} generated;

/* Longest: class, "_become_", class. */
#define GENERATED_BYTES (2 * CLUMP_NAME_BYTES_MAX + 9)

typedef struct naming {
    const clump_allocator *allocator;
    clump_error *error;
    const clumpi_class_entry *classes;
    uint32_t class_count;
    const clumpi_field_entry *fields;
    const clumpi_become *becomes;
    uint32_t become_count;
    generated *names; /* of the group at hand */
    size_t name_count, name_capacity;
    clumpi_index set;                  /* of `names` */
    uint32_t group[CLUMP_CLASSES_MAX]; /* by id - 1: the class that stands for the group */
} naming;

static int is_of_field(const generated *g) {
    return g->origin == ORIGIN_FIELD || g->origin >= ORIGIN_ARRAY;
}

static const char *suffix_of(const naming *n, const generated *g, const char **middle,
                             const char **last) {
    *middle = g->origin == ORIGIN_IS       ? "_is_"
              : g->origin == ORIGIN_AS     ? "_as_"
              : g->origin == ORIGIN_BECOME ? "_become_"
                                           : "_";
    *last = g->origin >= ORIGIN_ARRAY ? array_suffixes[g->origin - ORIGIN_ARRAY] : "";
    if (is_of_field(g)) return n->fields[g->other].info.name;
    if (g->origin == ORIGIN_FOLLOW) return "follow";
    if (g->origin > ORIGIN_FIELD) return n->classes[g->other - 1].info.name;
    *middle = "";
    return fixed_suffixes[g->origin];
}

static const char *render(const naming *n, const generated *g, char out[GENERATED_BYTES]) {
    const char *middle, *last, *suffix = suffix_of(n, g, &middle, &last);
    snprintf(out, GENERATED_BYTES, "%s%s%s%s", n->classes[g->class_id - 1].info.name, middle,
             suffix, last);
    return out;
}

/* Where the name comes from, for a message. */
static const char *describe(const naming *n, const generated *g, char *out, size_t bytes) {
    const char *class_name = n->classes[g->class_id - 1].info.name;
    if (is_of_field(g)) {
        const clump_field_info *field = &n->fields[g->other].info;
        int inherited = field->class_id != g->class_id;
        snprintf(out, bytes, "field \"%s\" of class \"%s\"%s%s%s", field->name,
                 n->classes[field->class_id - 1].info.name, inherited ? " (inherited by \"" : "",
                 inherited ? class_name : "", inherited ? "\")" : "");
    } else if (g->origin == ORIGIN_FOLLOW || g->origin == ORIGIN_BECOME) {
        snprintf(out, bytes, "\"becomes\" at class \"%s\"", class_name);
    } else if (g->origin > ORIGIN_FIELD) {
        snprintf(out, bytes, "the %s of class \"%s\" to the related class \"%s\"",
                 g->origin == ORIGIN_IS ? "test" : "cast", class_name,
                 n->classes[g->other - 1].info.name);
    } else if (g->origin == ORIGIN_CLASS) {
        snprintf(out, bytes, "class \"%s\"", class_name);
    } else {
        snprintf(out, bytes, "C%s of class \"%s\"", fixed_suffixes[g->origin], class_name);
    }
    return out;
}

static clumpi_text_place place_of(const naming *n, const generated *g) {
    return is_of_field(g) ? n->fields[g->other].place : n->classes[g->class_id - 1].place;
}

static int is_before(clumpi_text_place a, clumpi_text_place b) {
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

static clump_status fail_collision(const naming *n, const generated *a, const generated *b) {
    char name[GENERATED_BYTES], first[4 * CLUMP_NAME_BYTES_MAX], second[4 * CLUMP_NAME_BYTES_MAX];
    if (a->origin == ORIGIN_FIELD && b->origin == ORIGIN_FIELD && a->class_id == b->class_id) {
        const clumpi_field_entry *base = &n->fields[a->other], *own = &n->fields[b->other];
        /* A base has a smaller id than its subclasses. */
        if (base->info.class_id > own->info.class_id) {
            base = &n->fields[b->other];
            own = &n->fields[a->other];
        }
        return clumpi_fail_at(n->error, CLUMP_ERR_SCHEMA, own->place.line, own->place.column,
                              "field \"%s\" of class \"%s\" hides the field that class \"%s\" "
                              "declares",
                              own->info.name, n->classes[own->info.class_id - 1].info.name,
                              n->classes[base->info.class_id - 1].info.name);
    }
    clumpi_text_place place = place_of(n, a), other = place_of(n, b);
    if (is_before(place, other)) place = other; /* blame what was written last */
    return clumpi_fail_at(n->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                          "the generated name \"%s\" has two origins: %s, and %s",
                          render(n, a, name), describe(n, a, first, sizeof first),
                          describe(n, b, second, sizeof second));
}

/* Names such as native_sin: class "native" with a field "sin". */
static clump_status check_builtin(const naming *n, const generated *g) {
    char name[GENERATED_BYTES], origin[4 * CLUMP_NAME_BYTES_MAX];
    const char *reason = clumpi_reserved_word(render(n, g, name));
    if (!reason) reason = clumpi_reserved_builtin(name);
    if (!reason) return CLUMP_OK;
    clumpi_text_place place = place_of(n, g);
    return clumpi_fail_at(n->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                          "the generated name \"%s\" is reserved: %s. It comes from %s", name,
                          reason, describe(n, g, origin, sizeof origin));
}

static clump_status add_name(naming *n, uint32_t class_id, uint32_t origin, uint32_t other,
                             uint32_t class_hash) {
    generated added = {(uint16_t)class_id, (uint16_t)origin, other};
    const char *middle, *last, *suffix = suffix_of(n, &added, &middle, &last);
    uint32_t hash = clumpi_hash_bytes(class_hash, middle, strlen(middle));
    hash = clumpi_hash_bytes(hash, suffix, strlen(suffix));
    hash = clumpi_hash_bytes(hash, last, strlen(last));
    size_t probe = 0;
    for (uint32_t i; (i = clumpi_index_next(&n->set, hash, &probe)) != CLUMPI_NONE;) {
        char mine[GENERATED_BYTES], theirs[GENERATED_BYTES];
        if (strcmp(render(n, &added, mine), render(n, &n->names[i], theirs)) == 0)
            return fail_collision(n, &n->names[i], &added);
    }
    clumpi_index_put(&n->set, hash, (uint32_t)n->name_count);
    n->names[n->name_count++] = added;
    return CLUMP_OK;
}

/* The names of a field, for a class that has it. */
static clump_status add_field_names(naming *n, uint32_t id, uint32_t field, uint32_t hash) {
    const clump_field_info *f = &n->fields[field].info;
    clump_status status = add_name(n, id, ORIGIN_FIELD, field, hash);
    for (uint32_t i = f->array == CLUMP_ARRAY_BOUNDED ? 0 : 1;
         f->array && i < ARRAY_COUNT && !status; ++i)
        status = add_name(n, id, ORIGIN_ARRAY + i, field, hash);
    return status;
}

/* Is the other class this one, a base or a subclass of it? */
static int is_in_line(const naming *n, uint32_t id, uint32_t other) {
    return (other >= id && other <= n->classes[id - 1].info.last) ||
           (id >= other && id <= n->classes[other - 1].info.last);
}

static clump_status add_become_names(naming *n, uint32_t id, uint32_t hash) {
    int is_followed = 0;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < n->become_count && !status; ++i) {
        is_followed |= is_in_line(n, id, n->becomes[i].from);
        if (n->becomes[i].from == id)
            status = add_name(n, id, ORIGIN_BECOME, n->becomes[i].to, hash);
    }
    return is_followed && !status ? add_name(n, id, ORIGIN_FOLLOW, 0, hash) : status;
}

static clump_status add_class_names(naming *n, uint32_t id) {
    const clump_class_info *class_info = &n->classes[id - 1].info;
    uint32_t hash =
        clumpi_hash_bytes(CLUMPI_HASH_START, class_info->name, strlen(class_info->name));
    size_t first = n->name_count;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < FIXED_COUNT && !status; ++i) status = add_name(n, id, i, 0, hash);
    for (uint32_t origin = ORIGIN_IS; origin <= ORIGIN_AS; ++origin) {
        for (uint32_t other = n->classes[id - 1].info.base; other && !status;
             other = n->classes[other - 1].info.base)
            status = add_name(n, id, origin, other, hash);
        for (uint32_t other = id; other <= class_info->last && !status; ++other)
            status = add_name(n, id, origin, other, hash);
    }
    for (uint32_t owner = id; owner && !status; owner = n->classes[owner - 1].info.base) {
        const clumpi_class_entry *c = &n->classes[owner - 1];
        for (uint32_t i = 0; i < c->info.field_count && !status; ++i)
            status = add_field_names(n, id, c->first_field + i, hash);
    }
    if (!status) status = add_become_names(n, id, hash);
    if (status || !clumpi_reserved_builtin_below(class_info->name)) return status;
    for (size_t i = first; i < n->name_count && !status; ++i)
        status = check_builtin(n, &n->names[i]);
    return status;
}

static size_t count_class_names(const naming *n, uint32_t id) {
    const clumpi_class_entry *c = &n->classes[id - 1];
    size_t count = FIXED_COUNT + 2 * ((size_t)c->depth + 1 + c->info.last - id);
    if (n->become_count) count++;
    for (uint32_t i = 0; i < n->become_count; ++i) count += n->becomes[i].from == id;
    for (uint32_t owner = id; owner; owner = n->classes[owner - 1].info.base) {
        const clumpi_class_entry *o = &n->classes[owner - 1];
        count += o->info.field_count;
        for (uint32_t i = 0; i < o->info.field_count; ++i)
            if (n->fields[o->first_field + i].info.array) count += ARRAY_COUNT;
    }
    return count;
}

/* A name of one class can equal a name of another only if one class's name begins with the other's
 * and an underscore. So classes fall into groups by the shortest class name that theirs begins
 * with, and one small set per group does; this is what keeps many classes with many inherited
 * fields (a million names) cheap. */
static int find_groups(naming *n) {
    clumpi_index by_name = {NULL, 0};
    if (!clumpi_index_reserve(n->allocator, &by_name, n->class_count)) return 0;
    for (uint32_t i = 0; i < n->class_count; ++i) {
        const char *name = n->classes[i].info.name;
        clumpi_index_put(&by_name, clumpi_hash_bytes(CLUMPI_HASH_START, name, strlen(name)), i);
    }
    for (uint32_t i = 0; i < n->class_count; ++i) {
        const char *name = n->classes[i].info.name;
        n->group[i] = CLUMPI_NONE;
        for (size_t bytes = 1; n->group[i] == CLUMPI_NONE; ++bytes) {
            if (name[bytes] && name[bytes] != '_') continue;
            size_t probe = 0; /* ends at the latest with the class itself */
            for (uint32_t j;
                 (j = clumpi_index_next(&by_name, clumpi_hash_bytes(CLUMPI_HASH_START, name, bytes),
                                        &probe)) != CLUMPI_NONE &&
                 n->group[i] == CLUMPI_NONE;)
                if (strncmp(n->classes[j].info.name, name, bytes) == 0 &&
                    !n->classes[j].info.name[bytes])
                    n->group[i] = j;
        }
    }
    clumpi_index_free(n->allocator, &by_name);
    return 1;
}

static clump_status check_group(naming *n, uint32_t group) {
    size_t count = 0;
    for (uint32_t id = 1; id <= n->class_count; ++id)
        if (n->group[id - 1] == group) count += count_class_names(n, id);
    if (!count) return CLUMP_OK;
    int grown = clumpi_grow(n->allocator, &n->names, &n->name_capacity, count, sizeof *n->names);
    clumpi_index_free(n->allocator, &n->set); /* a set of the right size is the cheapest to clear */
    if (!grown || !clumpi_index_reserve(n->allocator, &n->set, count))
        return clumpi_fail(n->error, CLUMP_ERR_HOST_MEMORY, "no memory to compare generated names");
    n->name_count = 0;
    for (uint32_t id = 1; id <= n->class_count; ++id) {
        if (n->group[id - 1] != group) continue;
        clump_status status = add_class_names(n, id);
        if (status) return status;
    }
    return CLUMP_OK;
}

clump_status clumpi_names_check_generated(const clump_allocator *a, clump_error *error,
                                          const clumpi_class_entry *classes, uint32_t class_count,
                                          const clumpi_field_entry *fields,
                                          const clumpi_become *becomes, uint32_t become_count) {
    naming n = {.allocator = a,
                .error = error,
                .classes = classes,
                .class_count = class_count,
                .fields = fields,
                .becomes = becomes,
                .become_count = become_count};
    clump_status status = CLUMP_OK;
    if (!find_groups(&n))
        status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no memory to compare generated names");
    for (uint32_t group = 0; group < class_count && !status; ++group)
        status = check_group(&n, group);
    clumpi_index_free(a, &n.set);
    clumpi_free(a, n.names);
    return status;
}
