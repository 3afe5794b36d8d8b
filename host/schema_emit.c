/* The OpenCL C that a schema generates: types, field accessors, new, free, tests and casts.
 *
 * cl/device_api.clh documents what comes out here. One line per accessor, in the order of the schema,
 * so that the dump of a program reads like the schema itself.
 *
 * Read first: include/clump/schema.h, cl/device_api.clh.
 */
#include "internal.h"

/* OpenCL C type of an element as a field holds it. */
static void append_type(clumpi_text *t, const clump_schema *schema, const clump_field_info *f) {
    if (f->type == CLUMP_TYPE_REF) {
        clump_class_info target;
        clump_schema_get_class(schema, f->ref_class, &target);
        clumpi_text_append(t, "%s", target.name);
    } else if (f->type == CLUMP_TYPE_BOOL) {
        clumpi_text_append(t, "uchar");
    } else {
        clumpi_text_append(t, "%s", clump_type_name(f->type, f->width));
    }
}

/* Accessor of field `f`, declared in `f->class_id`, for references to class `c`. */
static void emit_field(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                       const clump_field_info *f) {
    int array = f->count > 0;
    clumpi_text_append(t, "#define %s_%s(r%s) (*(__global ", c->name, f->name, array ? ", i" : "");
    append_type(t, schema, f);
    clumpi_text_append(t, " *)clumpi_address(clump_heap, clumpi_id_%s(r), %uu", c->name,
                       f->base_bytes);
    if (array) clumpi_text_append(t, " + (uint)(i) * %uu", f->step_bytes);
    clumpi_text_append(t, ", %uu))\n", f->stride_bytes);
}

static void emit_fields(clumpi_text *t, const clump_schema *schema, const clump_class_info *c) {
    clump_class_info chain[CLUMP_CLASSES_MAX];
    uint32_t depth = 0;
    for (uint32_t id = c->id; id; id = chain[depth++].base)
        clump_schema_get_class(schema, id, &chain[depth]);
    while (depth-- > 0) {
        for (uint32_t i = 0; i < chain[depth].field_count; i++) {
            clump_field_info f;
            clump_schema_get_field(schema, chain[depth].id, i, &f);
            emit_field(t, schema, c, &f);
        }
    }
}

static void emit_type(clumpi_text *t, const clump_class_info *c) {
    clumpi_text_append(t,
                       "typedef struct %s { uint id; } %s;\n"
                       "#define %s_CLASS %uu\n"
                       "#define clumpi_last_%s %uu\n",
                       c->name, c->name, c->name, c->id, c->name, c->last);
}

static void emit_casts(clumpi_text *t, const clump_schema *schema, const clump_class_info *c) {
    clump_class_info b;
    for (uint32_t id = c->base; id; id = b.base) {
        clump_schema_get_class(schema, id, &b);
        clumpi_text_append(
            t,
            "static inline %s %s_as_%s(%s r) { %s b = {r.id}; return b; }\n"
            "static inline uint clumpi_test_%s_%s(__global const uchar *heap, %s r) {\n"
            "    return clumpi_block_class(heap, r.id) - %uu <= %uu;\n}\n"
            "static inline %s clumpi_cast_%s_%s(__global const uchar *heap, %s r) {\n"
            "    %s d = {clumpi_test_%s_%s(heap, r) ? r.id : 0u};\n    return d;\n}\n"
            "#define %s_is_%s(r) clumpi_test_%s_%s(clump_heap, r)\n"
            "#define %s_as_%s(r) clumpi_cast_%s_%s(clump_heap, r)\n",
            b.name, c->name, b.name, c->name, b.name,            /* up-cast */
            b.name, c->name, b.name, c->id, c->last - c->id,     /* test */
            c->name, b.name, c->name, b.name, c->name, b.name, c->name, /* cast */
            b.name, c->name, b.name, c->name, b.name, c->name, b.name, c->name);
    }
}

static void emit_functions(clumpi_text *t, const clump_class_info *c, const clumpi_class *k) {
    const char *n = c->name;
    clumpi_text_append(
        t,
        "static inline uint clumpi_id_of_%s(__global const uchar *heap, %s r) {\n"
        "    (void)heap;\n    return CLUMPI_ID(heap, r.id, %uu, %uu);\n}\n"
        "#define clumpi_id_%s(r) clumpi_id_of_%s(clump_heap, r)\n"
        "#define %s_null ((%s){0u})\n"
        "static inline uint %s_is_null(%s r) { return r.id == 0u; }\n"
        "static inline uint clumpi_class_of_%s(__global const uchar *heap, %s r) {\n"
        "    return clumpi_block_class(heap, r.id);\n}\n"
        "#define %s_class_of(r) clumpi_class_of_%s(clump_heap, r)\n"
        "static inline uint clumpi_is_live_%s(__global const uchar *heap, %s r) {\n"
        "    return clumpi_live_class(heap, r.id) - %uu <= %uu;\n}\n"
        "#define %s_is_live(r) clumpi_is_live_%s(clump_heap, r)\n"
        "static inline void clumpi_free_%s(__global uchar *heap, %s r) {\n"
        "    clumpi_view v = clumpi_view_of(heap, CLUMPI_HEADER_AT);\n"
        "    clumpi_free(&v, %uu, %uu, r.id);\n}\n"
        "#define %s_free(r) clumpi_free_%s(clump_heap, r)\n",
        n, n, c->id, c->last, n, n, n, n, n, n, n, n, n, n, n, n, c->id, c->last - c->id, n, n, n,
        n, c->id, c->last, n, n);
    if (c->is_abstract) return;
    clumpi_text_append(
        t,
        "#define clumpi_shape_%s {%uu, %uu, %uu, %uu, %uu}\n"
        "static inline %s clumpi_new_%s(__global uchar *heap) {\n"
        "    clumpi_view v = clumpi_view_of(heap, CLUMPI_HEADER_AT);\n"
        "    clumpi_shape shape = clumpi_shape_%s;\n"
        "    %s r = {clumpi_new(&v, shape)};\n    return r;\n}\n"
        "#define %s_new() clumpi_new_%s(clump_heap)\n"
        "static inline %s clumpi_group_new_%s(__global uchar *heap, uint want,\n"
        "                                     __local clumpi_group *scratch) {\n"
        "    clumpi_view v = clumpi_view_of(heap, CLUMPI_HEADER_AT);\n"
        "    clumpi_shape shape = clumpi_shape_%s;\n"
        "    %s r = {clumpi_group_new(&v, shape, want, scratch)};\n    return r;\n}\n"
        "#define %s_group_new(want) clumpi_group_new_%s(clump_heap, want, &clump_group_scratch)\n",
        n, c->id, c->last, k->row_granules, k->rows, k->capacity, n, n, n, n, n, n, n, n, n, n, n,
        n);
}

void clumpi_schema_emit(clumpi_text *t, const clump_schema *schema, const clumpi_geometry *g) {
    uint32_t count = clump_schema_get_class_count(schema);
    clump_class_info c;
    clumpi_text_append(t, "\n/* ---- References, one type per class ---- */\n\n");
    for (uint32_t id = 1; id <= count; id++) {
        clump_schema_get_class(schema, id, &c);
        emit_type(t, &c);
    }
    for (uint32_t id = 1; id <= count; id++) {
        clump_schema_get_class(schema, id, &c);
        clumpi_text_append(t, "\n/* ---- class %s: %u bytes an object, %u objects a block ---- */\n\n",
                           c.name, c.object_bytes, g->classes[id].capacity);
        emit_functions(t, &c, &g->classes[id]);
        emit_casts(t, schema, &c);
        emit_fields(t, schema, &c);
    }
}
