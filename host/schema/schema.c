/* Building a schema, asking it, copying it.
 *
 * The two declare functions here check what can be checked about one declaration alone. Checks that
 * need the whole wait for clumpi_schema_seal() in seal.c.
 *
 * Invariant: a call that fails leaves the declarations as they were; so all memory that it needs is
 * taken before anything is written. Read first: schema.h.
 */
#include "schema/schema.h"

#include <stdio.h>
#include <string.h>

/* ---- Types ----------------------------------------------------------------------------------- */

#define WIDTH_COUNT 6
#define VECTOR_NAMES(name)                                                                         \
    { name, name "2", name "3", name "4", name "8", name "16" }

static const uint32_t widths[WIDTH_COUNT] = {1, 2, 3, 4, 8, 16};

/* By clump_type. */
static const struct {
    uint32_t bytes;
    char kind;
    const char *c_type;
    const char *names[WIDTH_COUNT];
} types[] = {
#define TYPE(id, name, c_type, kind) {sizeof(c_type), kind, #c_type, VECTOR_NAMES(name)},
    CLUMP_TYPE_LIST(TYPE)
#undef TYPE
};
#define TYPE_COUNT (sizeof types / sizeof *types)

/* How many of `widths` the type has: numbers have vectors. */
static size_t width_count(size_t type) {
    return strchr("iuf", types[type].kind) ? WIDTH_COUNT : 1;
}

const char *clumpi_type_name(clump_type type, uint32_t width) {
    if ((uint32_t)type >= TYPE_COUNT) return "?";
    for (size_t i = 0; i < width_count(type); ++i)
        if (widths[i] == (width ? width : 1)) return types[type].names[i];
    return "?";
}

const char *clumpi_type_words(const clump_field_info *field, char text[CLUMPI_TYPE_BYTES]) {
    char count[24] = "";
    if (field->array == CLUMP_ARRAY_BOUNDED)
        snprintf(count, sizeof count, "[*] max %u", field->count);
    else if (field->array == CLUMP_ARRAY_GROWING)
        snprintf(count, sizeof count, field->count ? "[*] inline %u" : "[*]", field->count);
    else if (field->count)
        snprintf(count, sizeof count, "[%u]", field->count);
    snprintf(text, CLUMPI_TYPE_BYTES, "%s%s", clumpi_type_name(field->type, field->width), count);
    return text;
}

int clumpi_type_from_name(const char *name, clump_type *type, uint32_t *width) {
    for (uint32_t t = 0; t < TYPE_COUNT; ++t) {
        if (types[t].kind == 'r') continue; /* "ref" is a word of the grammar */
        for (size_t i = 0; i < width_count(t); ++i) {
            if (strcmp(types[t].names[i], name) != 0) continue;
            *type = (clump_type)t;
            *width = widths[i];
            return 1;
        }
    }
    return 0;
}

uint32_t clumpi_type_bytes(clump_type type, uint32_t width) {
    return types[type].bytes * (width == 3 ? 4 : width);
}

char clumpi_type_kind(clump_type type) {
    return types[type].kind;
}

const char *clumpi_type_in_c(clump_type type) {
    return types[type].kind == 'r' ? "clump_ref" : types[type].c_type;
}

/* ---- Life ------------------------------------------------------------------------------------ */

int clumpi_schema_allocator_is_whole(const clump_allocator *allocator) {
    if (!allocator) return 1;
    int given = !!allocator->allocate + !!allocator->reallocate + !!allocator->release;
    return given == 0 || given == 3;
}

clump_status clumpi_schema_create(const clump_allocator *allocator, clump_schema **schema,
                                  clump_error *error) {
    if (schema) *schema = NULL;
    if (!schema || !clumpi_schema_allocator_is_whole(allocator))
        return clumpi_fail(
            error, CLUMP_ERR_USAGE, "clumpi_schema_create needs %s",
            schema ? "all functions of an allocator, or none" : "a pointer for the schema");
    clump_allocator resolved = clumpi_allocator_resolve(allocator);
    clump_schema *s = clumpi_alloc(&resolved, sizeof *s);
    if (!s) return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a schema");
    s->allocator = resolved;
    *schema = s;
    return CLUMP_OK;
}

void clumpi_schema_drop_decls(clump_schema *schema) {
    clumpi_free(&schema->allocator, schema->class_decls);
    clumpi_free(&schema->allocator, schema->field_decls);
    clumpi_free(&schema->allocator, schema->become_decls);
    clumpi_index_free(&schema->allocator, &schema->class_names);
    clumpi_index_free(&schema->allocator, &schema->field_names);
    schema->class_decls = NULL;
    schema->field_decls = NULL;
    schema->become_decls = NULL;
    schema->become_decl_count = schema->become_decl_capacity = 0;
    schema->class_decl_count = schema->class_decl_capacity = 0;
    schema->field_decl_count = schema->field_decl_capacity = 0;
}

void clump_schema_destroy(clump_schema *schema) {
    if (!schema) return;
    clump_allocator allocator = schema->allocator;
    clumpi_schema_drop_decls(schema);
    clumpi_free(&allocator, schema->classes);
    clumpi_free(&allocator, schema->fields);
    clumpi_free(&allocator, schema->becomes);
    clumpi_free(&allocator, schema->class_list);
    clumpi_free(&allocator, schema->field_list);
    clumpi_free(&allocator, schema->names);
    clumpi_free(&allocator, schema);
}

/* ---- Declaring ------------------------------------------------------------------------------- */

/* Append a name to the pool, in which there is room for it. NULL is the empty name at 0. */
static uint32_t put_name(clump_schema *s, const char *name) {
    if (!name) return 0;
    uint32_t at = (uint32_t)s->names_bytes;
    size_t bytes = strlen(name) + 1;
    memcpy(s->names + at, name, bytes);
    s->names_bytes += bytes;
    return at;
}

/* Room in the pool for so many names of checked length. */
static int reserve_names(clump_schema *s, uint32_t count) {
    size_t needed = s->names_bytes + (size_t)count * (CLUMP_NAME_BYTES_MAX + 1) + 1;
    if (!clumpi_grow(&s->allocator, &s->names, &s->names_capacity, needed, 1)) return 0;
    if (!s->names_bytes) s->names[s->names_bytes++] = 0;
    return 1;
}

static int reserve_class(clump_schema *s) {
    return clumpi_grow(&s->allocator, &s->class_decls, &s->class_decl_capacity,
                       s->class_decl_count + 1, sizeof *s->class_decls) &&
           reserve_names(s, 2) &&
           clumpi_index_reserve(&s->allocator, &s->class_names, s->class_decl_count + 1);
}

static int reserve_fields(clump_schema *s, uint32_t more) {
    return clumpi_grow(&s->allocator, &s->field_decls, &s->field_decl_capacity,
                       s->field_decl_count + more, sizeof *s->field_decls) &&
           reserve_names(s, more + 1) && /* one: the class referred to */
           clumpi_index_reserve(&s->allocator, &s->field_names, s->field_decl_count + more);
}

static uint32_t hash_name(const char *name) {
    return clumpi_hash_bytes(CLUMPI_HASH_START, name, strlen(name));
}

static uint32_t hash_field(uint32_t class_index, const char *name) {
    char key[2] = {(char)(class_index & 0xff), (char)(class_index >> 8)};
    return clumpi_hash_bytes(clumpi_hash_bytes(CLUMPI_HASH_START, key, 2), name, strlen(name));
}

uint32_t clumpi_schema_find_decl(const clump_schema *s, const char *name) {
    uint32_t hash = hash_name(name), i;
    size_t probe = 0;
    while ((i = clumpi_index_next(&s->class_names, hash, &probe)) != CLUMPI_NONE)
        if (strcmp(s->names + s->class_decls[i].name_at, name) == 0) break;
    return i;
}

static uint32_t find_field_decl(const clump_schema *s, uint32_t class_index, const char *name) {
    uint32_t hash = hash_field(class_index, name), i;
    size_t probe = 0;
    while ((i = clumpi_index_next(&s->field_names, hash, &probe)) != CLUMPI_NONE)
        if (s->field_decls[i].class_index == class_index &&
            strcmp(s->names + s->field_decls[i].name_at, name) == 0)
            break;
    return i;
}

clump_status clumpi_schema_declare_class(clump_schema *s, const clumpi_class_desc *desc,
                                         const clumpi_class_places *places) {
    const clumpi_class_places at = *places;
    clump_status status = clumpi_name_check(&s->error, 1, desc->name, at.name);
    if (!status && desc->base)
        status = clumpi_name_check_shape(&s->error, "base class", desc->base, at.base);
    if (status) return status;
    uint32_t line = at.name.line, column = at.name.column;
    if (clumpi_schema_find_decl(s, desc->name) != CLUMPI_NONE)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, line, column,
                              "class \"%s\" is declared twice", desc->name);
    if (s->class_decl_count == CLUMP_CLASSES_MAX)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, line, column,
                              "class \"%s\" is one too many: a schema has at most %d classes",
                              desc->name, CLUMP_CLASSES_MAX);
    if (!reserve_class(s))
        return clumpi_fail(&s->error, CLUMP_ERR_HOST_MEMORY, "no memory for class \"%s\"",
                           desc->name);
    uint32_t index = (uint32_t)s->class_decl_count++;
    s->class_decls[index] = (clumpi_class_decl){.name_at = put_name(s, desc->name),
                                                .base_at = put_name(s, desc->base),
                                                .is_abstract = !!desc->is_abstract,
                                                .layout = desc->layout,
                                                .places = at};
    clumpi_index_put(&s->class_names, hash_name(desc->name), index);
    return CLUMP_OK;
}

clump_status clumpi_schema_declare_become(clump_schema *s, uint32_t class_index, const char *name,
                                          clumpi_text_place place) {
    clump_status status = clumpi_name_check_shape(&s->error, "class", name, place);
    if (status) return status;
    for (size_t i = 0; i < s->become_decl_count; i++)
        if (s->become_decls[i].class_index == class_index &&
            strcmp(s->names + s->become_decls[i].name_at, name) == 0)
            return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                                  "class \"%s\" becomes class \"%s\" twice",
                                  s->names + s->class_decls[class_index].name_at, name);
    if (s->become_decl_count == CLUMP_FIELDS_MAX)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                              "class \"%s\" is one too many after \"becomes\": a schema has at "
                              "most %d in all",
                              name, CLUMP_FIELDS_MAX);
    if (!clumpi_grow(&s->allocator, &s->become_decls, &s->become_decl_capacity,
                     s->become_decl_count + 1, sizeof *s->become_decls) ||
        !reserve_names(s, 1))
        return clumpi_fail(&s->error, CLUMP_ERR_HOST_MEMORY, "no memory for class \"%s\"", name);
    s->become_decls[s->become_decl_count++] =
        (clumpi_become_decl){class_index, put_name(s, name), place};
    return CLUMP_OK;
}

/* Type, width, referred class and count of a field whose name is fine. */
static clump_status check_field_type(clump_schema *s, const clumpi_field_desc *desc,
                                     const clumpi_field_places *at) {
    if (desc->ref_class) {
        clump_status status =
            clumpi_name_check_shape(&s->error, "referenced class", desc->ref_class, at->ref);
        if (status) return status;
    }
    if (desc->packed && !desc->count)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, at->name.line, at->name.column,
                              "field \"%s\" is packed, but only an array can be packed",
                              desc->name);
    uint32_t bytes = clumpi_type_bytes(desc->type, desc->width ? desc->width : 1);
    if (desc->count > CLUMP_OBJECT_BYTES_MAX / bytes)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, at->count.line, at->count.column,
                              "array \"%s\" is too large: %u elements of %u bytes, but an object "
                              "has at most %d bytes",
                              desc->name, (unsigned)desc->count, (unsigned)bytes,
                              CLUMP_OBJECT_BYTES_MAX);
    return CLUMP_OK;
}

/* The fields of an array of run-time length, after itself. */
#define PARTS_MOST 3u
static const struct {
    const char *suffix;
    clump_array_part part;
} parts[PARTS_MOST] = {{"_length", CLUMP_PART_LENGTH},
                       {"_capacity", CLUMP_PART_CAPACITY},
                       {"_memory", CLUMP_PART_MEMORY}};

static uint32_t part_count(const clumpi_field_desc *desc) {
    return desc->array == CLUMP_ARRAY_GROWING ? 3 : desc->array == CLUMP_ARRAY_BOUNDED ? 1 : 0;
}

const clump_field_info *clumpi_schema_array_of(const clump_schema *schema, uint32_t class_id,
                                               const clump_field_info *f) {
    char name[CLUMP_NAME_BYTES_MAX + 1];
    for (uint32_t i = 0; i < PARTS_MOST; i++) {
        if (parts[i].part != f->part) continue;
        snprintf(name, sizeof name, "%s", f->name);
        name[strlen(name) - strlen(parts[i].suffix)] = '\0';
        return clump_schema_find_field(schema, class_id, name);
    }
    return NULL;
}

const clump_field_info *clumpi_schema_part(const clump_schema *schema,
                                           const clump_field_info *array, clump_array_part part) {
    const clump_class_info *owner = clump_schema_get_info(schema)->classes[array->class_id];
    uint32_t index = 0;
    while (strcmp(owner->fields[index]->name, array->name) != 0) index++;
    return owner->fields[index + (uint32_t)part];
}

const clump_field_info *clumpi_schema_find_too_long(const clump_schema *schema, uint32_t class_id,
                                                    const clump_field_info *f, const void *lengths,
                                                    uint64_t stride, uint64_t count,
                                                    uint32_t *length) {
    const clump_field_info *array = clumpi_schema_array_of(schema, class_id, f);
    if (!array || array->array != CLUMP_ARRAY_BOUNDED) return NULL;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(length, (const uint8_t *)lengths + i * stride, sizeof *length);
        if (*length > array->count) return array;
    }
    return NULL;
}

/* What holds for arrays of run-time length, beside what holds for all arrays. */
static clump_status check_array(clump_schema *s, const clumpi_field_desc *desc,
                                const clumpi_field_places *at) {
    const size_t most = CLUMP_NAME_BYTES_MAX - strlen("_capacity");
    uint32_t line = at->name.line, column = at->name.column;
    if (desc->array == CLUMP_ARRAY_FIXED) return CLUMP_OK;
    if (desc->weak)
        return clumpi_fail_at(
            &s->error, CLUMP_ERR_SCHEMA, line, column,
            "array \"%s\" has weak references and a run-time length: only fields, "
            "and arrays of fixed length, can have weak references",
            desc->name);
    if (desc->array == CLUMP_ARRAY_BOUNDED && !desc->count)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, at->count.line, at->count.column,
                              "array \"%s\" has room for 0 elements, but at least 1 is needed",
                              desc->name);
    if (strlen(desc->name) > most)
        return clumpi_fail_at(
            &s->error, CLUMP_ERR_SCHEMA, line, column,
            "the name of array \"%s\" is too long: with a run-time length at most "
            "%zu bytes are allowed, for fields such as \"a_capacity\" of an array "
            "\"a\"",
            desc->name, most);
    return CLUMP_OK;
}

/* Put a field whose checks are done, and for which there is room. */
static void put_field(clump_schema *s, const clumpi_field_decl *decl, const char *name,
                      const char *ref_class) {
    uint32_t index = (uint32_t)s->field_decl_count++;
    s->field_decls[index] = *decl;
    s->field_decls[index].name_at = put_name(s, name);
    s->field_decls[index].ref_at = put_name(s, ref_class);
    clumpi_index_put(&s->field_names, hash_field(decl->class_index, name), index);
}

/* Can the class have one more field of this name? is_part: an array of run-time length has it. */
static clump_status check_new_field(clump_schema *s, uint32_t class_index, const char *name,
                                    int is_part, const clumpi_field_places *places) {
    const char *class_name = s->names + s->class_decls[class_index].name_at;
    uint32_t line = places->name.line, column = places->name.column;
    uint32_t other = find_field_decl(s, class_index, name);
    if (other == CLUMPI_NONE) return CLUMP_OK;
    if (is_part || s->field_decls[other].part)
        return clumpi_fail_at(
            &s->error, CLUMP_ERR_SCHEMA, line, column,
            "class \"%s\" would have two fields \"%s\": one of them is part of an "
            "array of run-time length",
            class_name, name);
    return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, line, column,
                          "field \"%s\" is declared twice in class \"%s\"", name, class_name);
}

clump_status clumpi_schema_declare_field(clump_schema *s, uint32_t class_index,
                                         const clumpi_field_desc *desc,
                                         const clumpi_field_places *places) {
    char names[PARTS_MOST][CLUMP_NAME_BYTES_MAX + 1];
    clump_status status = clumpi_name_check(&s->error, 0, desc->name, places->name);
    if (!status) status = check_field_type(s, desc, places);
    if (!status) status = check_array(s, desc, places);
    if (!status) status = check_new_field(s, class_index, desc->name, 0, places);
    const uint32_t more = status ? 0 : part_count(desc);
    for (uint32_t i = 0; i < more && !status; i++) {
        snprintf(names[i], sizeof names[i], "%s%s", desc->name, parts[i].suffix);
        status = clumpi_name_check(&s->error, 0, names[i], places->name);
        if (!status) status = check_new_field(s, class_index, names[i], 1, places);
    }
    if (status) return status;
    if (s->field_decl_count + more >= CLUMP_FIELDS_MAX)
        return clumpi_fail_at(&s->error, CLUMP_ERR_SCHEMA, places->name.line, places->name.column,
                              "field \"%s\" of class \"%s\" is one too many: a schema has at most "
                              "%d fields",
                              desc->name, s->names + s->class_decls[class_index].name_at,
                              CLUMP_FIELDS_MAX);
    if (!reserve_fields(s, 1 + more))
        return clumpi_fail(&s->error, CLUMP_ERR_HOST_MEMORY, "no memory for field \"%s\"",
                           desc->name);
    put_field(s,
              &(clumpi_field_decl){.class_index = class_index,
                                   .type = desc->type,
                                   .width = desc->width ? desc->width : 1,
                                   .count = desc->count,
                                   .packed = !!desc->packed,
                                   .weak = !!desc->weak,
                                   .array = desc->array,
                                   .places = *places},
              desc->name, desc->ref_class);
    for (uint32_t i = 0; i < more; i++)
        put_field(s,
                  &(clumpi_field_decl){.class_index = class_index,
                                       .type = CLUMP_TYPE_UINT,
                                       .width = 1,
                                       .part = parts[i].part,
                                       .places = *places},
                  names[i], NULL);
    return CLUMP_OK;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

const clumpi_class_entry *clumpi_schema_class(const clump_schema *schema, uint32_t id) {
    return schema && id - 1 < schema->class_count ? &schema->classes[id - 1] : NULL;
}

const clump_class_info *clumpi_class_info(const clump_schema *schema, uint32_t id) {
    const clumpi_class_entry *c = clumpi_schema_class(schema, id);
    return c ? &c->info : NULL;
}

const clump_field_info *clumpi_field_info(const clump_schema *schema, uint32_t class_id,
                                          uint32_t index) {
    const clump_class_info *c = clumpi_class_info(schema, class_id);
    return c && index < c->field_count ? c->fields[index] : NULL;
}

const clump_class_info *clump_schema_find_class(const clump_schema *schema, const char *name) {
    for (uint32_t id = 1; schema && name && id <= schema->class_count; ++id)
        if (strcmp(schema->classes[id - 1].info.name, name) == 0)
            return &schema->classes[id - 1].info;
    return NULL;
}

const clumpi_field_entry *clumpi_schema_find_field(const clump_schema *schema, uint32_t class_id,
                                                   const char *name) {
    const clumpi_class_entry *c = clumpi_schema_class(schema, class_id);
    for (; c; c = clumpi_schema_class(schema, c->info.base)) {
        const clumpi_field_entry *own = schema->fields + (c->info.field_count ? c->first_field : 0);
        for (uint32_t i = 0; i < c->info.field_count; ++i)
            if (strcmp(own[i].info.name, name) == 0) return &own[i];
    }
    return NULL;
}

const clump_field_info *clumpi_schema_find_array(const clump_schema *schema, int growing) {
    for (uint32_t i = 0; i < schema->field_count; ++i) {
        const clump_field_info *f = &schema->fields[i].info;
        if (f->array == CLUMP_ARRAY_GROWING || (f->array && !growing)) return f;
    }
    return NULL;
}

int clumpi_schema_can_become(const clump_schema *schema, uint32_t id) {
    return clumpi_schema_class(schema, id)->became_at != CLUMPI_NONE;
}

int clumpi_schema_can_become_below(const clump_schema *schema, const clump_class_info *c) {
    for (uint32_t id = c->id; id <= c->last; id++)
        if (clumpi_schema_can_become(schema, id)) return 1;
    return 0;
}

const char *clumpi_schema_field_class(const clump_schema *schema, const clump_field_info *field) {
    return schema->classes[field->class_id - 1].info.name;
}

static const clump_class_info no_class = {.name = ""};

const clump_schema_info *clump_schema_get_info(const clump_schema *schema) {
    static const clump_class_info *const none[] = {&no_class};
    static const clump_schema_info nothing = {0, none};
    return schema && schema->info.classes ? &schema->info : &nothing;
}

const clump_field_info *clump_schema_find_field(const clump_schema *schema, uint32_t class_id,
                                                const char *name) {
    const clumpi_field_entry *f = name ? clumpi_schema_find_field(schema, class_id, name) : NULL;
    return f ? &f->info : NULL;
}

int clumpi_schema_list(clump_schema *s) {
    const clump_class_info **classes =
        clumpi_alloc(&s->allocator, (s->class_count + 1) * sizeof *classes);
    const clump_field_info **fields = clumpi_alloc(&s->allocator, s->field_count * sizeof *fields);
    if (!classes || !fields) {
        clumpi_free(&s->allocator, classes);
        clumpi_free(&s->allocator, fields);
        return 0;
    }
    classes[0] = &no_class;
    for (uint32_t i = 0; i < s->field_count; i++) fields[i] = &s->fields[i].info;
    for (uint32_t id = 1; id <= s->class_count; id++) {
        clumpi_class_entry *c = &s->classes[id - 1];
        c->info.fields = fields + (c->info.field_count ? c->first_field : 0);
        classes[id] = &c->info;
    }
    s->class_list = classes;
    s->field_list = fields;
    s->info = (clump_schema_info){s->class_count, classes};
    return 1;
}

/* ---- Copying --------------------------------------------------------------------------------- */

/* A copy of `bytes` bytes, or NULL. */
static void *copy_memory(const clump_allocator *a, const void *from, size_t bytes) {
    void *copy = clumpi_alloc(a, bytes);
    if (copy && bytes) memcpy(copy, from, bytes);
    return copy;
}

clump_status clumpi_schema_create_empty(const clump_allocator *allocator, clump_schema **schema) {
    clump_status status = clumpi_schema_create(allocator, schema, NULL);
    if (status) return status;
    clump_schema *s = *schema;
    s->classes = clumpi_alloc(&s->allocator, 0);
    s->fields = clumpi_alloc(&s->allocator, 0);
    if (s->classes && s->fields && clumpi_schema_list(s)) return CLUMP_OK;
    clump_schema_destroy(s);
    *schema = NULL;
    return CLUMP_ERR_HOST_MEMORY;
}

clump_status clumpi_schema_copy(const clump_schema *schema, const clump_allocator *allocator,
                                clump_schema **copy) {
    if (copy) *copy = NULL;
    if (!copy || !schema || !schema->classes) return CLUMP_ERR_USAGE;
    clump_schema *made;
    clump_status status = clumpi_schema_create(allocator, &made, NULL);
    if (status) return status;
    const clump_allocator *a = &made->allocator;
    made->names = copy_memory(a, schema->names, schema->names_bytes);
    made->classes = copy_memory(a, schema->classes, schema->class_count * sizeof *made->classes);
    made->fields = copy_memory(a, schema->fields, schema->field_count * sizeof *made->fields);
    made->becomes = copy_memory(a, schema->becomes, schema->become_count * sizeof *made->becomes);
    if (!made->names || !made->classes || !made->fields || !made->becomes) {
        clump_schema_destroy(made);
        return CLUMP_ERR_HOST_MEMORY;
    }
    made->names_bytes = made->names_capacity = schema->names_bytes;
    made->class_count = schema->class_count;
    made->field_count = schema->field_count;
    made->become_count = schema->become_count;
    made->prefix = schema->prefix;
    made->gap = schema->gap;
    for (uint32_t i = 0; i < made->class_count; ++i) {
        clumpi_class_entry *c = &made->classes[i];
        c->info.name = made->names + (c->info.name - schema->names);
        if (c->base_name) c->base_name = made->names + (c->base_name - schema->names);
    }
    for (uint32_t i = 0; i < made->field_count; ++i) {
        clump_field_info *field = &made->fields[i].info;
        field->name = made->names + (field->name - schema->names);
    }
    if (!clumpi_schema_list(made)) {
        clump_schema_destroy(made);
        return CLUMP_ERR_HOST_MEMORY;
    }
    *copy = made;
    return CLUMP_OK;
}

int clumpi_next_field(clumpi_field_walk *walk, clump_field_info *field) {
    while (walk->class_id) {
        const clump_class_info *c = clump_schema_get_info(walk->schema)->classes[walk->class_id];
        if (walk->next < c->field_count) {
            *field = *c->fields[walk->next++];
            return 1;
        }
        walk->class_id = c->base;
        walk->next = 0;
    }
    return 0;
}

int clumpi_next_ref(clumpi_field_walk *walk, clump_field_info *field) {
    while (clumpi_next_field(walk, field))
        if (field->type == CLUMP_TYPE_REF) return 1;
    return 0;
}
