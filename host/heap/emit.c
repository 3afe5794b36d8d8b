/* The OpenCL C that a schema generates: types, field accessors, new, free, tests and casts.
 *
 * cl/api/device_api.clh documents what comes out here. Classes come in the order of
 * their ids, and the fields of each in the order of its schema, inherited ones first.
 *
 * Read first: include/clump/schema.h, cl/api/device_api.clh.
 */
#include "heap/heap.h"

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

/* Names that the generated code uses inside begin with clumpi_ (users' names may not), and carry
 * class ids instead of names, so that no class name can collide with them or with another's.
 *
 * Accessor of field `f` for references to class `c`, which declares or inherits it. */
static void emit_field(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                       const clump_field_info *f) {
    int array = f->count > 0;
    clumpi_text_append(t, "#define %s_%s(clumpi_r%s) (*(__global ", c->name, f->name,
                       array ? ", clumpi_i" : "");
    append_type(t, schema, f);
    clumpi_text_append(t, " *)CLUMPI_FIELD(clump_heap, clumpi_id_%u(clump_heap, clumpi_r), %uu",
                       c->id, f->base_bytes);
    if (array) clumpi_text_append(t, " + (uint)(clumpi_i) * %uu", f->step_bytes);
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

/* Between class `c` and each of its bases: up-cast, test, down-cast. */
static void emit_casts(clumpi_text *t, const clump_schema *schema, const clump_class_info *c) {
    clump_class_info b;
    for (uint32_t id = c->base; id; id = b.base) {
        clump_schema_get_class(schema, id, &b);
        clumpi_text_append(
            t,
            "static inline %s %s_as_%s(%s clumpi_r) {\n"
            "    %s clumpi_b = {clumpi_r.id};\n    return clumpi_b;\n}\n"
            "static inline uint clumpi_test_%u_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
            "    return CLUMPI_CLASS_OF(clump_heap, clumpi_r.id, %uu, %uu) - %uu <= %uu;\n}\n",
            b.name, c->name, b.name, c->name, b.name, b.id, c->id, b.name, b.id, b.last, c->id,
            c->last - c->id);
        clumpi_text_append(
            t,
            "static inline %s clumpi_cast_%u_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
            "    %s clumpi_d = {clumpi_test_%u_%u(clump_heap, clumpi_r) ? clumpi_r.id : 0u};\n"
            "    return clumpi_d;\n}\n"
            "#define %s_is_%s(clumpi_r) clumpi_test_%u_%u(clump_heap, clumpi_r)\n"
            "#define %s_as_%s(clumpi_r) clumpi_cast_%u_%u(clump_heap, clumpi_r)\n",
            c->name, b.id, c->id, b.name, c->name, b.id, c->id, b.name, c->name, b.id, c->id,
            b.name, c->name, b.id, c->id);
    }
}

/* What every class has: null, tests, free. */
static void emit_tests(clumpi_text *t, const clump_class_info *c) {
    const char *n = c->name;
    uint32_t id = c->id, span = c->last - c->id;
    clumpi_text_append(t,
                       "#define %s_null ((%s){0u})\n"
                       "static inline uint %s_is_null(%s clumpi_r) { return clumpi_r.id == 0u; }\n"
                       "static inline uint clumpi_id_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
                       "    (void)clump_heap;\n"
                       "    return CLUMPI_ID(clump_heap, clumpi_r.id, %uu, %uu);\n}\n",
                       n, n, n, n, id, n, id, c->last);
    clumpi_text_append(t,
                       "static inline uint clumpi_class_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
                       "    return CLUMPI_CLASS_OF(clump_heap, clumpi_r.id, %uu, %uu);\n}\n"
                       "#define %s_class_of(clumpi_r) clumpi_class_%u(clump_heap, clumpi_r)\n"
                       "static inline uint clumpi_live_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
                       "    return clumpi_live_class(clump_heap, clumpi_r.id) - %uu <= %uu;\n}\n"
                       "#define %s_is_live(clumpi_r) clumpi_live_%u(clump_heap, clumpi_r)\n",
                       id, n, id, c->last, n, id, id, n, id, span, n, id);
    clumpi_text_append(t,
                       "static inline void clumpi_free_%u(CLUMP_HEAP, %s clumpi_r) {\n"
                       "    clumpi_unwatch(clump_heap, clumpi_r.id, %uu, %uu);\n"
                       "    clumpi_free(clump_heap, %uu, %uu, clumpi_r.id);\n}\n"
                       "#define %s_free(clumpi_r) clumpi_free_%u(CLUMPI_CHANGING_HEAP, clumpi_r)\n",
                       id, n, id, c->last, id, c->last, n, id);
}

/* What concrete classes have besides: two ways to make an object. */
static void emit_new(clumpi_text *t, const clump_class_info *c) {
    const char *n = c->name;
    uint32_t id = c->id;
    clumpi_text_append(t,
                       "static inline %s clumpi_new_%u(CLUMP_HEAP) {\n"
                       "    %s clumpi_r = {clumpi_new(clump_heap, %uu)};\n"
                       "    return clumpi_r;\n}\n"
                       "#define %s_new() clumpi_new_%u(CLUMPI_CHANGING_HEAP)\n",
                       n, id, n, id, n, id);
    clumpi_text_append(t,
                       "static inline %s clumpi_group_new_%u(CLUMP_HEAP, uint clumpi_want) {\n"
                       "    %s clumpi_none = {0};\n"
                       "    return clumpi_want ? clumpi_new_%u(clump_heap) : clumpi_none;\n}\n"
                       "#define %s_group_new(clumpi_want) "
                       "clumpi_group_new_%u(CLUMPI_CHANGING_HEAP, clumpi_want)\n",
                       n, id, n, id, n, id);
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
        clumpi_text_append(t, "\n/* class %s: %u bytes an object, %u objects a block */\n\n",
                           c.name, c.object_bytes, g->classes[id].capacity);
        emit_tests(t, &c);
        if (!c.is_abstract) emit_new(t, &c);
        emit_casts(t, schema, &c);
        emit_fields(t, schema, &c);
    }
}
