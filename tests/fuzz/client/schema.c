/* Random schemas: up to six classes that inherit from each other, with fields of every type.
 *
 * A class comes after its base, so that a base's words stand in front in object_model.words. Every
 * class without a base declares the field `tag`.
 */
#include "client.h"
#include "model.h"

int is_a(const client *c, int class, int base) {
    while (class >= 0 && class != base) class = c->classes[class].base;
    return class >= 0;
}

int class_of_id(const client *c, uint32_t id) {
    for (int k = 0; k < c->class_count; k++)
        if (c->classes[k].id == id) return k;
    return NO_CLASS;
}

int draw_class(client *c) {
    return (int)below(c, (uint32_t)c->drawn_classes);
}

int draw_any_class(client *c) {
    return (int)below(c, (uint32_t)c->class_count);
}

int draw_concrete(client *c) {
    int class = draw_class(c);
    while (c->classes[class].is_abstract) class = draw_class(c);
    return class;
}

int draw_field(client *c, int references) {
    uint32_t found[FIELDS_MAX], count = 0;
    for (uint32_t i = 0; i < c->drawn_fields; i++)
        if ((c->fields[i].type == CLUMP_TYPE_REF) == (references != 0)) found[count++] = i;
    return count ? (int)found[below(c, count)] : -1;
}

int is_scalar_uint(const field_model *f) {
    return f->type == CLUMP_TYPE_UINT && f->width == 1 && !f->count;
}

static clump_type draw_type(client *c) {
    static const clump_type few[] = {CLUMP_TYPE_UINT, CLUMP_TYPE_FLOAT, CLUMP_TYPE_INT};
    if (chance(c, 45)) return CLUMP_TYPE_REF;
    if (chance(c, 40)) return few[below(c, 3)];
    clump_type type = (clump_type)below(c, CLUMP_TYPE_REF);
    int has_double = (c->on.capabilities->features & CLUMP_FEATURE_FP64) != 0;
    return type == CLUMP_TYPE_DOUBLE && !has_double ? CLUMP_TYPE_FLOAT : type;
}

void draw_element(client *c, field_model *f) {
    static const uint32_t widths[] = {2, 3, 4, 8, 16};
    f->width = 1;
    f->type = draw_type(c);
    if (f->type == CLUMP_TYPE_REF) {
        f->target = draw_class(c);
        f->weak = chance(c, 30);
    } else if (f->type != CLUMP_TYPE_BOOL && chance(c, 20)) {
        f->width = widths[below(c, 5)];
    }
    f->bytes = model_component_bytes(f->type) * (f->width == 3 ? 4 : f->width);
}

static void draw_one_field(client *c, int owner) {
    class_model *k = &c->classes[owner];
    field_model *f = &c->fields[c->field_count];
    *f = (field_model){.number = c->field_count++, .owner = owner, .target = NO_CLASS};
    draw_element(c, f);
    if (chance(c, 30)) f->count = 1 + below(c, ELEMENTS_MAX);
    f->packed = f->count && chance(c, 40);
    f->elements = f->count ? f->count : 1;
    snprintf(f->name, sizeof f->name, "f%u", f->number);
    f->at = k->words;
    k->words += f->elements;
    k->fields[k->field_count++] = f->number;
}

static void draw_one_class(client *c, int number) {
    class_model *k = &c->classes[number];
    k->base = number && chance(c, 45) ? (int)below(c, (uint32_t)number) : NO_CLASS;
    k->is_abstract = number + 1 < c->drawn_classes && chance(c, 15); /* the last one never */
    k->is_aos = chance(c, 30);
    snprintf(k->name, sizeof k->name, "K%d", number);
    if (k->base >= 0) {
        const class_model *base = &c->classes[k->base];
        k->words = base->words;
        k->field_count = base->field_count;
        memcpy(k->fields, base->fields, sizeof k->fields);
    }
    k->first_own = k->field_count;
    uint32_t own = chance(c, 10) ? 0 : 1 + below(c, OWN_FIELDS_MAX);
    for (; own > 0; own--) draw_one_field(c, number);
}

static void write_field(client *c, const field_model *f) {
    text *t = &c->schema_text;
    if (f->type == CLUMP_TYPE_REF)
        text_append(t, "    %sref %s %s", f->weak ? "weak " : "", c->classes[f->target].name,
                    f->name);
    else
        text_append(t, "    %s %s", model_type_name(f->type, f->width), f->name);
    if (f->count) text_append(t, "[%u]%s", f->count, f->packed ? " packed" : "");
    text_append(t, ";\n");
}

static void write_class(client *c, const class_model *k) {
    text *t = &c->schema_text;
    text_append(t, "%s%sclass %s", k->is_abstract ? "abstract " : "", k->is_aos ? "aos " : "",
                k->name);
    if (k->base >= 0) text_append(t, " : %s", c->classes[k->base].name);
    write_becomes(c, t, (int)(k - c->classes));
    text_append(t, " {\n");
    if (k->base < 0) text_append(t, "    uint tag;\n");
    for (uint32_t i = k->first_own; i < k->field_count; i++)
        write_field(c, &c->fields[k->fields[i]]);
    for (uint32_t i = 0; i < c->array_count; i++)
        if (&c->classes[c->arrays[i].element.owner] == k)
            write_array(c, &c->schema_text, &c->arrays[i], c->arrays[i].element.packed);
    text_append(t, "}\n");
}

/* A field of the child that can hold its parent. */
static int find_link(const client *c) {
    const class_model *child = &c->classes[c->roles.child];
    for (uint32_t i = 0; i < child->field_count; i++) {
        const field_model *f = &c->fields[child->fields[i]];
        if (f->target >= 0 && is_a(c, c->roles.parent, f->target)) return (int)f->number;
    }
    return -1;
}

static void draw_roles(client *c) {
    roles *r = &c->roles;
    r->each = draw_concrete(c);
    r->pair[0] = draw_concrete(c);
    r->pair[1] = draw_concrete(c);
    r->group = draw_concrete(c);
    r->parent = draw_class(c);
    r->child = draw_concrete(c);
    r->child_link = find_link(c);
    r->freed = draw_class(c);
    r->looked_at = draw_class(c);
    r->derived = r->looked_at;
    for (int k = 0; k < c->class_count; k++) /* a class below it, if there is one */
        if (is_a(c, k, r->looked_at)) r->derived = k;
    r->crowd = draw_class(c);
    r->buried = draw_class(c);
    r->counted = draw_class(c);
}

static void ask_library(client *c) {
    for (int k = 0; k < c->class_count; k++) {
        const clump_class_info *info = clump_schema_find_class(c->schema, c->classes[k].name);
        c->classes[k].id = info->id;
    }
    for (uint32_t i = 0; i < c->field_count; i++) {
        const field_model *f = &c->fields[i];
        clump_field_info info =
            *clump_schema_find_field(c->schema, c->classes[f->owner].id, f->name);
        same_number(c, "bytes of an element", info.element_bytes, f->bytes);
        same_number(c, "weak field", info.weak != 0, f->weak != 0);
    }
}

static void parse_schema(client *c) {
    clump_error error;
    const clump_allocator allocator = account_allocator(c->account);
    if (clump_schema_parse(c->schema_text.at, c->schema_text.length, &allocator, &c->schema,
                           &error))
        complain(c, "clump_schema_parse: %s", error.message);
}

void draw_schema(client *c) {
    c->class_count =
        chance(c, 15) ? 1 + (int)below(c, 2) : 3 + (int)below(c, DRAWN_CLASSES_MAX - 2);
    c->drawn_classes = c->class_count;
    for (int k = 0; k < c->class_count; k++) draw_one_class(c, k);
    c->drawn_fields = c->field_count;
    if (c->seed % ARRAYS_EVERY == 0) draw_arrays(c);
    c->drawn_arrays = c->array_count;
    draw_becomes(c);
    draw_containers(c);
    for (int k = 0; k < c->class_count; k++) write_class(c, &c->classes[k]);
    draw_roles(c);
    parse_schema(c);
    ask_library(c);
}
