/* Sealing a schema: ids in depth-first order, references by id, the layout of rows, final checks.
 *
 * A row of class T holds 64 objects in 64 * object_bytes(T) bytes, the base's part first:
 *
 *     byte 0                64 * object_bytes(base)                    64 * object_bytes(T)
 *     | fields of the base  | [word] [pad] own fields                  |
 *       word: of a class that "becomes" others and has no base that does: 64 references to the
 *       objects that its objects became (cl/api/become.clh)
 *                             soa:  64 x f0 | 64 x f1[0] | 64 x f1[1] | [pad] 64 x f2 | ...
 *                             aos:  64 x struct { f0; f1[2]; f2; }
 *
 * Element i of the field in slot n stands at base_bytes + n * stride_bytes + i * step_bytes.
 *
 * Invariant: sealing works on new arrays and installs them at the end, so a schema that cannot be
 * sealed is as before. Element sizes are powers of two up to 128 and base offsets are multiples of
 * 64, so only elements of 128 bytes (double16, long16, ulong16) ever need a pad byte per object.
 * Read first: schema.h.
 */
#include <stdio.h>
#include <string.h>

#include "schema/refusals.h"
#include "schema/schema.h"

/* What is being made. Decl indices count in declaration order, ids depth-first from 1. */
typedef struct sealing {
    clump_schema *schema;
    uint32_t class_count, field_count, become_count;
    clumpi_class_entry *classes; /* by id - 1 */
    clumpi_field_entry *fields;
    clumpi_become *becomes;
    uint32_t base_decl[CLUMP_CLASSES_MAX]; /* by decl: decl of its base, or CLUMPI_NONE */
    uint32_t id_of[CLUMP_CLASSES_MAX];     /* by decl; 0: not numbered */
    uint32_t decl_of[CLUMP_CLASSES_MAX];   /* by id - 1 */
} sealing;

static const char *decl_name(const sealing *w, uint32_t decl) {
    return w->schema->names + w->schema->class_decls[decl].name_at;
}

static clump_status fail_unknown(const sealing *w, clumpi_text_place place, const char *kind,
                                 const char *of, const char *name) {
    clumpi_guess guess = {.wanted = name};
    for (uint32_t i = 0; i < w->class_count; ++i) clumpi_guess_offer(&guess, decl_name(w, i));
    char hint[CLUMPI_QUOTE_BYTES];
    return clumpi_fail_at(&w->schema->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                          "%s \"%s\" %s class \"%s\", which is not declared%s", kind, of,
                          strcmp(kind, "class") != 0 ? "refers to" : "has as its base", name,
                          clumpi_guess_text(&guess, hint));
}

static clump_status find_bases(sealing *w) {
    for (uint32_t i = 0; i < w->class_count; ++i) {
        const clumpi_class_decl *decl = &w->schema->class_decls[i];
        w->base_decl[i] = CLUMPI_NONE;
        if (!decl->base_at) continue;
        const char *base = w->schema->names + decl->base_at;
        w->base_decl[i] = clumpi_schema_find_decl(w->schema, base);
        if (w->base_decl[i] == CLUMPI_NONE)
            return fail_unknown(w, decl->places.base, "class", decl_name(w, i), base);
    }
    return CLUMP_OK;
}

/* Class `decl` was not reached from any class without base. */
static clump_status fail_cycle(const sealing *w, uint32_t decl) {
    for (uint32_t i = 0; i < w->class_count; ++i) decl = w->base_decl[decl]; /* now on the cycle */
    uint32_t first = decl;
    for (uint32_t at = w->base_decl[decl]; at != decl; at = w->base_decl[at])
        if (at < first) first = at;
    char path[6 * (CLUMP_NAME_BYTES_MAX + 4) + 16];
    int n = snprintf(path, sizeof path, "\"%s\"", decl_name(w, first));
    uint32_t at = first;
    for (int shown = 0; shown < 5; ++shown) {
        at = w->base_decl[at];
        n += snprintf(path + n, sizeof path - (size_t)n, " : \"%s\"", decl_name(w, at));
        if (at == first) break;
    }
    if (at != first) snprintf(path + n, sizeof path - (size_t)n, " : ...");
    clumpi_text_place place = w->schema->class_decls[first].places.base;
    return clumpi_fail_at(&w->schema->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                          "class \"%s\" is its own base: %s", decl_name(w, first), path);
}

/* Give ids depth-first, subclasses in the order of their declaration. No recursion: the depth of
 * inheritance is the user's. */
static clump_status number_classes(sealing *w) {
    enum { ROOT = CLUMP_CLASSES_MAX }; /* stands for the base of classes without base */
    uint32_t first_child[CLUMP_CLASSES_MAX + 1], sibling[CLUMP_CLASSES_MAX];
    for (uint32_t i = 0; i <= ROOT; ++i) first_child[i] = CLUMPI_NONE;
    for (uint32_t i = w->class_count; i-- > 0;) {
        uint32_t base = w->base_decl[i] == CLUMPI_NONE ? ROOT : w->base_decl[i];
        sibling[i] = first_child[base];
        first_child[base] = i;
    }
    uint32_t next_id = 1;
    for (uint32_t at = first_child[ROOT]; at != CLUMPI_NONE;) {
        w->decl_of[next_id - 1] = at;
        w->id_of[at] = next_id++;
        if (first_child[at] != CLUMPI_NONE) {
            at = first_child[at];
            continue;
        }
        while (at != CLUMPI_NONE && sibling[at] == CLUMPI_NONE) at = w->base_decl[at];
        if (at != CLUMPI_NONE) at = sibling[at];
    }
    for (uint32_t i = 0; i < w->class_count; ++i)
        if (!w->id_of[i]) return fail_cycle(w, i);
    return CLUMP_OK;
}

static void fill_classes(sealing *w) {
    for (uint32_t id = 1; id <= w->class_count; ++id) {
        uint32_t decl_index = w->decl_of[id - 1], base = w->base_decl[decl_index];
        const clumpi_class_decl *decl = &w->schema->class_decls[decl_index];
        clumpi_class_entry *c = &w->classes[id - 1];
        c->info.name = w->schema->names + decl->name_at;
        c->info.id = id;
        c->info.base = base == CLUMPI_NONE ? 0 : w->id_of[base];
        c->info.last = id;
        c->info.is_abstract = decl->is_abstract;
        c->info.layout = decl->layout;
        c->place = decl->places.name;
        if (!c->info.base) continue;
        c->base_name = w->classes[c->info.base - 1].info.name;
        c->depth = w->classes[c->info.base - 1].depth + 1;
    }
    for (uint32_t id = w->class_count; id > 0; --id) { /* subclasses before their base */
        const clump_class_info *info = &w->classes[id - 1].info;
        if (info->base && w->classes[info->base - 1].info.last < info->last)
            w->classes[info->base - 1].info.last = info->last;
    }
}

/* Bring the fields together by class. They may have been declared in any order of classes. */
static clump_status fill_fields(sealing *w) {
    const clump_schema *s = w->schema;
    for (uint32_t i = 0; i < w->field_count; ++i)
        ++w->classes[w->id_of[s->field_decls[i].class_index] - 1].info.field_count;
    uint32_t first = 0;
    for (uint32_t id = 1; id <= w->class_count; ++id) {
        w->classes[id - 1].first_field = first;
        first += w->classes[id - 1].info.field_count;
        w->classes[id - 1].info.field_count = 0; /* counts up again below */
    }
    for (uint32_t i = 0; i < w->field_count; ++i) {
        const clumpi_field_decl *decl = &s->field_decls[i];
        clumpi_class_entry *c = &w->classes[w->id_of[decl->class_index] - 1];
        clumpi_field_entry *field = &w->fields[c->first_field + c->info.field_count++];
        field->place = decl->places.name;
        field->info =
            (clump_field_info){.name = s->names + decl->name_at,
                               .class_id = c->info.id,
                               .type = decl->type,
                               .width = decl->width,
                               .count = decl->count,
                               .packed = decl->packed,
                               .weak = decl->weak,
                               .array = decl->array,
                               .part = decl->part,
                               .element_bytes = clumpi_type_bytes(decl->type, decl->width),
                               .type_name = clumpi_type_name(decl->type, decl->width)};
        if (!decl->ref_at) continue;
        uint32_t target = clumpi_schema_find_decl(s, s->names + decl->ref_at);
        if (target == CLUMPI_NONE)
            return fail_unknown(w, decl->places.ref, "field", field->info.name,
                                s->names + decl->ref_at);
        field->info.ref_class = w->id_of[target];
    }
    return CLUMP_OK;
}

/* Which classes become which, and the first of each line of inheritance that does. */
static clump_status fill_becomes(const sealing *w) {
    const clump_schema *s = w->schema;
    for (uint32_t i = 0; i < w->become_count; ++i) {
        const clumpi_become_decl *decl = &s->become_decls[i];
        const uint32_t line = decl->place.line, column = decl->place.column;
        const char *name = s->names + decl->name_at;
        clumpi_class_entry *from = &w->classes[w->id_of[decl->class_index] - 1];
        uint32_t target = clumpi_schema_find_decl(s, name);
        if (target == CLUMPI_NONE)
            return fail_unknown(w, decl->place, "\"becomes\" of class", from->info.name, name);
        const clumpi_class_entry *to = &w->classes[w->id_of[target] - 1];
        if (to == from || to->info.is_abstract)
            return clumpi_fail_at(
                &w->schema->error, CLUMP_ERR_SCHEMA, line, column,
                to == from ? "class \"%s\" cannot become class \"%s\", which is itself"
                           : "class \"%s\" cannot become class \"%s\", which is abstract",
                from->info.name, name);
        w->becomes[i] = (clumpi_become){from->info.id, to->info.id};
    }
    return CLUMP_OK;
}

static int is_declared_to_become(const sealing *w, uint32_t id) {
    for (uint32_t i = 0; i < w->become_count; ++i)
        if (w->becomes[i].from == id) return 1;
    return 0;
}

/* ---- Layout ---------------------------------------------------------------------------------- */

static uint32_t round_up(uint32_t bytes, uint32_t align) { /* a power of two */
    return (bytes + align - 1) & ~(align - 1);
}

/* Offset at or after `offset`, in bytes of an object, whose place in a row is a multiple of
 * `align`. */
static uint32_t align_offset(uint32_t offset, uint32_t align) {
    return align > CLUMP_ROW_SLOTS ? round_up(offset, align / CLUMP_ROW_SLOTS) : offset;
}

/* Bytes of the field in one object. At most CLUMP_OBJECT_BYTES_MAX: declaring it checked. */
static uint32_t field_bytes(const clump_field_info *field) {
    return field->element_bytes * clumpi_elements(field);
}

static clump_status fail_too_large(const sealing *w, const clumpi_class_entry *c,
                                   clumpi_text_place place, const char *field, uint32_t bytes) {
    uint32_t inherited = c->info.base ? w->classes[c->info.base - 1].info.object_bytes : 0;
    return clumpi_fail_at(&w->schema->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                          "class \"%s\" is too large: up to field \"%s\" an object needs %u bytes "
                          "(of which %u are inherited), but at most %d are allowed",
                          c->info.name, field, (unsigned)bytes, (unsigned)inherited,
                          CLUMP_OBJECT_BYTES_MAX);
}

/* Own fields of a soa class from byte `offset` of the object. */
static clump_status lay_out_soa(const sealing *w, clumpi_class_entry *c, uint32_t offset) {
    for (uint32_t i = 0; i < c->info.field_count; ++i) {
        clumpi_field_entry *field = &w->fields[c->first_field + i];
        uint32_t element = field->info.element_bytes, bytes = field_bytes(&field->info);
        if (bytes) offset = align_offset(offset, element);
        field->info.base_bytes = CLUMP_ROW_SLOTS * offset;
        field->info.stride_bytes = field->info.packed ? bytes : element;
        if (field->info.count)
            field->info.step_bytes = field->info.packed ? element : CLUMP_ROW_SLOTS * element;
        offset += bytes + w->schema->gap;
        if (offset > CLUMP_OBJECT_BYTES_MAX)
            return fail_too_large(w, c, field->place, field->info.name, offset);
    }
    c->info.object_bytes = offset;
    return CLUMP_OK;
}

/* The same for an aos class: its own fields form a C struct. */
static clump_status lay_out_aos(const sealing *w, clumpi_class_entry *c, uint32_t offset) {
    clumpi_field_entry *own = w->fields + c->first_field;
    uint32_t align = 1, bytes = 0;
    for (uint32_t i = 0; i < c->info.field_count; ++i)
        if (field_bytes(&own[i].info) && own[i].info.element_bytes > align)
            align = own[i].info.element_bytes;
    if (c->info.field_count) offset = align_offset(offset, align);
    for (uint32_t i = 0; i < c->info.field_count; ++i) {
        if (field_bytes(&own[i].info)) bytes = round_up(bytes, own[i].info.element_bytes);
        own[i].info.base_bytes = CLUMP_ROW_SLOTS * offset + bytes;
        if (own[i].info.count) own[i].info.step_bytes = own[i].info.element_bytes;
        bytes += field_bytes(&own[i].info);
        if (i + 1 == c->info.field_count) bytes = round_up(bytes, align);
        if (offset + bytes > CLUMP_OBJECT_BYTES_MAX)
            return fail_too_large(w, c, own[i].place, own[i].info.name, offset + bytes);
    }
    for (uint32_t i = 0; i < c->info.field_count; ++i) own[i].info.stride_bytes = bytes;
    c->info.object_bytes = offset + bytes + (bytes ? w->schema->gap : 0);
    return CLUMP_OK;
}

static clump_status lay_out(const sealing *w) {
    for (uint32_t id = 1; id <= w->class_count; ++id) {
        clumpi_class_entry *c = &w->classes[id - 1];
        uint32_t inherited = w->schema->prefix + (w->schema->prefix ? w->schema->gap : 0);
        c->align = 1;
        c->became_at = CLUMPI_NONE;
        if (c->info.base) {
            inherited = w->classes[c->info.base - 1].info.object_bytes;
            c->align = w->classes[c->info.base - 1].align;
            c->became_at = w->classes[c->info.base - 1].became_at;
        }
        if (c->became_at == CLUMPI_NONE && is_declared_to_become(w, id)) {
            c->became_at = inherited;
            inherited += (uint32_t)sizeof(uint32_t) + w->schema->gap;
            if (inherited > CLUMP_OBJECT_BYTES_MAX)
                return clumpi_fail_at(
                    &w->schema->error, CLUMP_ERR_SCHEMA, c->place.line, c->place.column,
                    "class \"%s\" is too large: with the %u bytes for \"becomes\" an object needs "
                    "%u bytes, but at most %d are allowed",
                    c->info.name, (unsigned)sizeof(uint32_t), (unsigned)inherited,
                    CLUMP_OBJECT_BYTES_MAX);
        }
        for (uint32_t i = 0; i < c->info.field_count; ++i)
            if (field_bytes(&w->fields[c->first_field + i].info) &&
                w->fields[c->first_field + i].info.element_bytes > c->align)
                c->align = w->fields[c->first_field + i].info.element_bytes;
        clump_status status = c->info.layout == CLUMP_LAYOUT_AOS ? lay_out_aos(w, c, inherited)
                                                                 : lay_out_soa(w, c, inherited);
        if (status) return status;
        c->own_bytes = c->info.object_bytes - inherited;
        if (!c->info.is_abstract && !c->info.object_bytes)
            return clumpi_fail_at(
                &w->schema->error, CLUMP_ERR_SCHEMA, c->place.line, c->place.column,
                "class \"%s\" has no bytes. Add a field, or make it abstract", c->info.name);
    }
    return CLUMP_OK;
}

clump_status clumpi_schema_spread(clump_schema *schema, uint32_t prefix, uint32_t gap) {
    const sealing w = {.schema = schema,
                       .class_count = schema->class_count,
                       .field_count = schema->field_count,
                       .become_count = schema->become_count,
                       .classes = schema->classes,
                       .fields = schema->fields,
                       .becomes = schema->becomes};
    schema->prefix = prefix;
    schema->gap = gap;
    return lay_out(&w);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static clump_status check_concrete(const sealing *w) {
    clumpi_text_place place = {0, 0};
    for (uint32_t i = 0; i < w->class_count; ++i)
        if (!w->schema->class_decls[i].is_abstract) return CLUMP_OK;
    if (w->class_count) place = w->schema->class_decls[0].places.name;
    return clumpi_fail_at(&w->schema->error, CLUMP_ERR_SCHEMA, place.line, place.column,
                          w->class_count ? "all classes are abstract, so no objects can be made"
                                         : "the schema has no classes");
}

static clump_status seal(sealing *w) {
    clump_status status = check_concrete(w);
    if (!status) status = find_bases(w);
    if (!status) status = number_classes(w);
    if (status) return status;
    const clump_allocator *a = &w->schema->allocator;
    w->classes = clumpi_alloc(a, w->class_count * sizeof *w->classes);
    w->fields = clumpi_alloc(a, w->field_count * sizeof *w->fields);
    w->becomes = clumpi_alloc(a, w->become_count * sizeof *w->becomes);
    if (!w->classes || !w->fields || !w->becomes)
        return clumpi_fail(&w->schema->error, CLUMP_ERR_HOST_MEMORY,
                           "no memory to seal the schema");
    fill_classes(w);
    status = fill_fields(w);
    if (!status) status = fill_becomes(w);
    if (!status)
        status = clumpi_names_check_generated(a, &w->schema->error, w->classes, w->class_count,
                                              w->fields, w->becomes, w->become_count);
    if (!status) status = lay_out(w);
    return status;
}

clump_status clumpi_schema_seal(clump_schema *schema) {
    if (!schema) return CLUMP_ERR_USAGE;
    if (schema->classes) return CLUMP_OK;
    sealing w = {.schema = schema,
                 .class_count = (uint32_t)schema->class_decl_count,
                 .field_count = (uint32_t)schema->field_decl_count,
                 .become_count = (uint32_t)schema->become_decl_count};
    clump_status status = seal(&w);
    if (status) {
        clumpi_free(&schema->allocator, w.classes);
        clumpi_free(&schema->allocator, w.fields);
        clumpi_free(&schema->allocator, w.becomes);
        return status;
    }
    schema->classes = w.classes;
    schema->class_count = w.class_count;
    schema->fields = w.fields;
    schema->field_count = w.field_count;
    schema->becomes = w.becomes;
    schema->become_count = w.become_count;
    if (!clumpi_schema_list(schema)) {
        clumpi_free(&schema->allocator, w.classes);
        clumpi_free(&schema->allocator, w.fields);
        clumpi_free(&schema->allocator, w.becomes);
        schema->classes = NULL;
        schema->fields = NULL;
        schema->becomes = NULL;
        schema->class_count = schema->field_count = schema->become_count = 0;
        return clumpi_fail(&schema->error, CLUMP_ERR_HOST_MEMORY, "no memory to seal the schema");
    }
    clumpi_schema_drop_decls(schema);
    schema->error = (clump_error){.status = CLUMP_OK}; /* look-ups do not change it any more */
    return CLUMP_OK;
}
