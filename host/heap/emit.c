/* The OpenCL C that a schema generates: types, field accessors, new, free, tests and casts.
 *
 * cl/api/device_api.clh documents what comes out here. Classes come in the order of
 * their ids, and the fields of each in the order of its schema, inherited ones first.
 *
 * Read first: include/clump/schema.h, cl/api/device_api.clh.
 */
#include <stdio.h>

#include "heap/heap.h"

/* OpenCL C type of an element as a field holds it. */
static void append_type(clumpi_text *t, const clump_schema *schema, const clump_field_info *f) {
    if (f->type == CLUMP_TYPE_REF) {
        const clump_class_info *target = clump_schema_get_info(schema)->classes[f->ref_class];
        clumpi_text_append(t, "%s", target->name);
    } else if (f->type == CLUMP_TYPE_BOOL) {
        clumpi_text_append(t, "uchar");
    } else {
        clumpi_text_append(t, "%s", f->type_name);
    }
}

/* Names that the generated code uses inside begin with clumpi_ (users' names may not), and carry
 * class ids instead of names, so that no class name can collide with them or with another's.
 *
 * Accessor of field `f` for references to class `c`, which declares or inherits it. */
static void emit_plain_field(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
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

/* What CLUMPI_FIELD_MUST_HAVE asks for: the elements that each object has. */
static void emit_count(clumpi_text *t, const clump_class_info *c, const clump_field_info *f) {
    if (f->count || f->array)
        clumpi_text_append(t, "#define clumpi_count_%s_%s %uu\n", c->name, f->name,
                           f->array ? 0 : f->count);
}

/* What clumpi_checked_read() compares: bytes of an element, 1 for a reference; 0: nothing, since
 * all values of so few bytes are usual. */
static uint32_t judged(const clump_field_info *f) {
    if (f->type == CLUMP_TYPE_REF) return 1;
    return f->element_bytes >= 4 ? f->element_bytes : 0;
}

/* The same for a checked heap; `prefix` and `read`: of the accessor for what is read
 * (read_accessors.c). */
static void emit_checked_field(clumpi_text *t, const clump_schema *schema,
                               const clump_class_info *c, const clump_field_info *f,
                               const char *prefix, uint32_t read) {
    int array = f->count > 0;
    clumpi_text_append(t, "#define %s%s_%s(clumpi_r%s) (*(__global ", prefix, c->name, f->name,
                       array ? ", clumpi_i" : "");
    append_type(t, schema, f);
    clumpi_text_append(t,
                       " *)clumpi_checked_%s(clump_heap, clumpi_bare_%u(clumpi_r), %uu, "
                       "(uint)__LINE__, %uu, %uu, %uu",
                       array ? "element" : "field", c->id, c->id << 8 | c->last, f->base_bytes,
                       f->stride_bytes, read);
    if (array) clumpi_text_append(t, ", (ulong)(clumpi_i), %uu, %uu", f->step_bytes, f->count);
    clumpi_text_append(t, "))\n");
}

/* ---- Arrays of run-time length: cl/api/arrays.clh ---- */

/* Number `index` of the fields of class `owner`, which is an array: its layout, and its append(),
 * which knows the type. */
static void emit_array(clumpi_text *t, const clump_schema *schema, uint32_t owner, uint32_t index) {
    clump_field_info f, length, next = {0};
    f = *clump_schema_get_info(schema)->classes[owner]->fields[index];
    length = *clump_schema_get_info(schema)->classes[owner]->fields[index + 1];
    uint32_t step = 0;
    if (f.array == CLUMP_ARRAY_GROWING) {
        next = *clump_schema_get_info(schema)->classes[owner]->fields[index + 2];
        step = next.base_bytes - length.base_bytes;
    }
    clumpi_text_append(
        t,
        "#define clumpi_array_%u_%u ((clumpi_array){%uu, %uu, %uu, %uu, %uu, %uu, %uu, "
        "%uu, %uu, %uu, %uu})\n",
        owner, index, owner, length.base_bytes, length.stride_bytes, step, f.base_bytes,
        f.stride_bytes, f.step_bytes, f.count, f.element_bytes, f.array == CLUMP_ARRAY_BOUNDED,
        f.type == CLUMP_TYPE_REF);
    clumpi_text_append(t,
                       "static inline uint clumpi_append_%u_%u(CLUMPI_HEAP_ANY, uint clumpi_id, ",
                       owner, index);
    append_type(t, schema, &f);
    clumpi_text_append(t,
                       " clumpi_x) {\n"
                       "    uint clumpi_i = clumpi_array_claim(clump_heap, clumpi_id, "
                       "clumpi_array_capacity(clump_heap, clumpi_id, clumpi_array_%u_%u), "
                       "clumpi_array_%u_%u);\n"
                       "    if (clumpi_i != CLUMP_NO_ROOM)\n        *(__global ",
                       owner, index, owner, index);
    append_type(t, schema, &f);
    clumpi_text_append(t,
                       " *)clumpi_array_at(clump_heap, clumpi_id, clumpi_i, clumpi_array_%u_%u) = "
                       "clumpi_x;\n    return clumpi_i;\n}\n",
                       owner, index);
}

/* The arrays of objects of exactly a class, one after the other. */
typedef struct array_walk {
    const clump_schema *schema;
    uint32_t owner, next; /* the class, then its bases; field of it */
} array_walk;

/* The next array: *index is its number among the fields of class f->class_id. Returns 0 after the
 * last. */
static int next_array(array_walk *w, clump_field_info *f, uint32_t *index) {
    while (w->owner) {
        const clump_class_info *c = clump_schema_get_info(w->schema)->classes[w->owner];
        while (w->next < c->field_count) {
            *f = *clump_schema_get_info(w->schema)->classes[w->owner]->fields[*index = w->next++];
            if (f->array) return 1;
        }
        w->owner = c->base;
        w->next = 0;
    }
    return 0;
}

/* Has an object of exactly the class such an array? growing: with elements in raw memory. */
static int has_array(const clump_schema *schema, uint32_t id, int growing) {
    clump_field_info f;
    uint32_t index;
    for (array_walk w = {schema, id, 0}; next_array(&w, &f, &index);)
        if (!growing || f.array == CLUMP_ARRAY_GROWING) return 1;
    return 0;
}

/* The same for the class or a subclass. */
static int has_array_below(const clump_schema *schema, const clump_class_info *c, int growing) {
    if (!clumpi_schema_find_array(schema, growing)) return 0;
    for (uint32_t id = c->id; id <= c->last; id++)
        if (has_array(schema, id, growing)) return 1;
    return 0;
}

static void emit_begin_case(clumpi_text *t, const clump_schema *schema, uint32_t id) {
    clump_field_info f;
    uint32_t index;
    if (!has_array(schema, id, 0)) return;
    clumpi_text_append(t, "    case %uu:\n", id);
    for (array_walk w = {schema, id, 0}; next_array(&w, &f, &index);)
        clumpi_text_append(
            t, "        clumpi_array_begin(clump_heap, clumpi_id, clumpi_array_%u_%u);\n",
            f.class_id, index);
    clumpi_text_append(t, "        break;\n");
}

static void emit_end_cases(clumpi_text *t, const clump_schema *schema, uint32_t id) {
    clump_field_info f;
    uint32_t index, count = 0;
    for (array_walk w = {schema, id, 0}; next_array(&w, &f, &index);)
        if (f.array == CLUMP_ARRAY_GROWING)
            clumpi_text_append(t, "        case %uu: clumpi_a = clumpi_array_%u_%u; break;\n",
                               id * CLUMP_FIELDS_MAX + count++, f.class_id, index);
}

/* For an object of exactly the class, which was made. clumpi_slot_make() of a checked heap does
 * that. */
static void emit_arrays_begin(clumpi_text *t, const clump_schema *schema) {
    clumpi_text_append(t,
                       "static inline void clumpi_arrays_begin(__global uchar *clump_heap, uint "
                       "clumpi_class, uint clumpi_id) {\n    switch (clumpi_class) {\n");
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++)
        emit_begin_case(t, schema, id);
    clumpi_text_append(t, "    default: break;\n    }\n}\n");
}

/* For an object of exactly the class, which is about to be freed, or was changed: then clumpi_old
 * is 1 + the class whose arrays the object has in its new place, too. Those of subclasses end. A
 * class has a larger id than its bases, and the loop begins with the arrays of subclasses. */
static void emit_arrays_end(clumpi_text *t, const clump_schema *schema) {
    if (!clumpi_schema_find_array(schema, 1)) return;
    /* An array at a time, so that the code that frees one stands once. */
    clumpi_text_append(
        t,
        "CLUMPI_CALLED void clumpi_arrays_end(__global uchar *clump_heap, uint clumpi_class, "
        "uint clumpi_id, uint clumpi_old) {\n"
        "    for (uint clumpi_n = 0; clumpi_n < %uu; clumpi_n++) {\n"
        "        clumpi_array clumpi_a;\n"
        "        switch (clumpi_class * %uu + clumpi_n) {\n",
        CLUMP_FIELDS_MAX, CLUMP_FIELDS_MAX);
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++)
        emit_end_cases(t, schema, id);
    clumpi_text_append(t,
                       "        default: return;\n        }\n"
                       "        if (clumpi_a.class_id < clumpi_old) return;\n"
                       "        if (clumpi_old) *clumpi_array_word(clump_heap, clumpi_id, 1, "
                       "clumpi_a) = 0;\n"
                       "        clumpi_array_end(clump_heap, clumpi_id, clumpi_a);\n    }\n}\n");
}

static void emit_arrays(clumpi_text *t, const clump_schema *schema, int checked) {
    clump_field_info f;
    if (!clumpi_schema_find_array(schema, 0)) return;
    clumpi_text_append(t, "\n/* ---- Arrays of run-time length ---- */\n\n");
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++)
        for (uint32_t i = 0; clumpi_take_field(clumpi_field_info(schema, id, i), &f); i++)
            if (f.array) emit_array(t, schema, id, i);
    if (!checked) emit_arrays_begin(t, schema);
    emit_arrays_end(t, schema);
}

/* The object that an accessor of an array was called for. */
#define OBJECT_BYTES 160
typedef struct array_object {
    char read[OBJECT_BYTES];                                 /* to look at the array */
    char changed[OBJECT_BYTES + sizeof "clumpi_in_place()"]; /* to change it */
} array_object;

static array_object object_of(const clump_schema *schema, const clump_class_info *c,
                              const clump_field_info *f, int checked) {
    array_object o;
    if (checked)
        snprintf(o.read, sizeof o.read,
                 "clumpi_checked_array(clump_heap, clumpi_bare_%u(clumpi_r), %uu, (uint)__LINE__, "
                 "%uu)",
                 c->id, c->id << 8 | c->last, f->base_bytes);
    else
        snprintf(o.read, sizeof o.read, "clumpi_id_%u(clump_heap, clumpi_r)", c->id);
    const int can_become = clumpi_schema_can_become_below(schema, c);
    snprintf(o.changed, sizeof o.changed, can_become ? "clumpi_in_place(clump_heap, %s)" : "%s",
             o.read);
    return o;
}

/* The memory of an array as a pointer, taken over and given up. */
static void emit_owned_memory(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                              const clump_field_info *f, uint32_t index, const array_object *o) {
    static const char *const calls[][2] = {{"memory", "outside"}, {"release", "release"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        clumpi_text_append(t, "#define %s_%s_%s(clumpi_r) ((__global ", c->name, f->name,
                           calls[i][0]);
        append_type(t, schema, f);
        clumpi_text_append(t, " *)clumpi_array_%s(clump_heap, %s, clumpi_array_%u_%u))\n",
                           calls[i][1], i ? o->changed : o->read, f->class_id, index);
    }
    clumpi_text_append(t,
                       "#define %s_%s_adopt(clumpi_r, clumpi_p, clumpi_n) "
                       "clumpi_array_adopt(CLUMPI_CHANGING_HEAP, %s, (clumpi_p), "
                       "(ulong)(clumpi_n), clumpi_array_%u_%u)\n",
                       c->name, f->name, o->changed, f->class_id, index);
}

/* The accessor of an element; `prefix` and `read`: as of emit_checked_field(). */
static void emit_array_element(clumpi_text *t, const clump_schema *schema,
                               const clump_class_info *c, const clump_field_info *f, uint32_t index,
                               const char *prefix, uint32_t read, int checked) {
    clumpi_text_append(t, "#define %s%s_%s(clumpi_r, clumpi_i) (*(__global ", prefix, c->name,
                       f->name);
    append_type(t, schema, f);
    if (checked)
        clumpi_text_append(t,
                           " *)clumpi_checked_array_at(clump_heap, clumpi_bare_%u(clumpi_r), %uu, "
                           "(uint)__LINE__, %uu, (ulong)(clumpi_i), clumpi_array_%u_%u))\n",
                           c->id, c->id << 8 | c->last, read, f->class_id, index);
    else
        clumpi_text_append(t,
                           " *)clumpi_array_at(clump_heap, clumpi_id_%u(clump_heap, clumpi_r), "
                           "(clumpi_index)(clumpi_i), clumpi_array_%u_%u))\n",
                           c->id, f->class_id, index);
}

/* Accessors of array `index` of class `owner` for references to class `c`. */
static void emit_array_field(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                             const clump_field_info *f, uint32_t index, int checked) {
    const array_object o = object_of(schema, c, f, checked);
    const struct {
        const char *name, *parameter, *of_checked, *heap, *object, *argument;
    } calls[] = {{"length", "", "array_", "clump_heap", o.read, ""},
                 {"capacity", "", "array_", "clump_heap", o.read, ""},
                 {"resize", ", clumpi_n", "checked_array_", "CLUMPI_CHANGING_HEAP", o.changed,
                  ", (ulong)(clumpi_n)"},
                 {"reserve", ", clumpi_n", "array_", "CLUMPI_CHANGING_HEAP", o.changed,
                  ", (ulong)(clumpi_n)"},
                 {"trim", "", "array_", "CLUMPI_CHANGING_HEAP", o.changed, ""}};
    emit_array_element(t, schema, c, f, index, "", 0, checked);
    if (checked)
        emit_array_element(t, schema, c, f, index, CLUMPI_READ_PREFIX,
                           f->type == CLUMP_TYPE_REF ? 0 : judged(f), checked);
    clumpi_text_append(t,
                       "#define %s_%s_append(clumpi_r, clumpi_x) clumpi_append_%u_%u(clump_heap, "
                       "%s, (clumpi_x))\n"
                       "#define clumpi_array_of_%s_%s clumpi_array_%u_%u\n",
                       c->name, f->name, f->class_id, index, o.changed, c->name, f->name,
                       f->class_id, index);
    if (f->array == CLUMP_ARRAY_GROWING) emit_owned_memory(t, schema, c, f, index, &o);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        clumpi_text_append(
            t, "#define %s_%s_%s(clumpi_r%s) clumpi_%s%s(%s, %s%s, clumpi_array_%u_%u)\n", c->name,
            f->name, calls[i].name, calls[i].parameter, checked ? calls[i].of_checked : "array_",
            calls[i].name, calls[i].heap, calls[i].object, calls[i].argument, f->class_id, index);
}

static void emit_field(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                       const clump_field_info *f, uint32_t index, int checked) {
    if (f->part) return;
    emit_count(t, c, f);
    if (f->array) {
        emit_array_field(t, schema, c, f, index, checked);
        return;
    }
    if (!checked) {
        emit_plain_field(t, schema, c, f);
        return;
    }
    emit_checked_field(t, schema, c, f, "", 0);
    emit_checked_field(t, schema, c, f, CLUMPI_READ_PREFIX, judged(f));
}

static void emit_fields(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                        int checked) {
    clump_class_info chain[CLUMP_CLASSES_MAX];
    uint32_t depth = 0;
    for (uint32_t id = c->id; id; id = chain[depth++].base)
        chain[depth] = *clump_schema_get_info(schema)->classes[id];
    while (depth-- > 0) {
        for (uint32_t i = 0; i < chain[depth].field_count; i++) {
            clump_field_info f =
                *clump_schema_get_info(schema)->classes[chain[depth].id]->fields[i];
            emit_field(t, schema, c, &f, i, checked);
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

/* In a checked program what can be wrong is told the line of the user's source where it is
 * called. */
typedef struct line_texts {
    const char *parameter, *handed_on, *here;
} line_texts;

static line_texts lines_of(int checked) {
    static const line_texts without = {"", "", ""};
    static const line_texts with = {", uint clumpi_line", ", clumpi_line", ", (uint)__LINE__"};
    return checked ? with : without;
}

/* Between class `c` and each of its bases: up-cast, test, down-cast. */
static void emit_casts(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                       int checked) {
    const line_texts line = lines_of(checked);
    clump_class_info b;
    for (uint32_t id = c->base; id; id = b.base) {
        b = *clump_schema_get_info(schema)->classes[id];
        clumpi_text_append(
            t,
            "static inline %s %s_as_%s(%s clumpi_r) {\n"
            "    %s clumpi_b = {clumpi_r.id};\n    return clumpi_b;\n}\n"
            "static inline uint clumpi_test_%u_%u(CLUMPI_HEAP_ANY, %s clumpi_r%s) {\n"
            "    return CLUMPI_CLASS_OF(clump_heap, clumpi_r.id, %uu, %uu%s) - %uu <= %uu;\n}\n",
            b.name, c->name, b.name, c->name, b.name, b.id, c->id, b.name, line.parameter, b.id,
            b.last, line.handed_on, c->id, c->last - c->id);
        clumpi_text_append(
            t,
            "static inline %s clumpi_cast_%u_%u(CLUMPI_HEAP_ANY, %s clumpi_r%s) {\n"
            "    %s clumpi_d = {clumpi_test_%u_%u(clump_heap, clumpi_r%s) ? clumpi_r.id : 0u};\n"
            "    return clumpi_d;\n}\n"
            "#define %s_is_%s(clumpi_r) clumpi_test_%u_%u(clump_heap, clumpi_r%s)\n"
            "#define %s_as_%s(clumpi_r) clumpi_cast_%u_%u(clump_heap, clumpi_r%s)\n",
            c->name, b.id, c->id, b.name, line.parameter, c->name, b.id, c->id, line.handed_on,
            b.name, c->name, b.id, c->id, line.here, b.name, c->name, b.id, c->id, line.here);
    }
}

/* ---- Objects that change their class: cl/api/become.clh ---- */

/* One field of a new object: `what` is CLUMPI_CARRY or CLUMPI_ZERO. */
static void emit_carry(clumpi_text *t, const char *what, const clump_field_info *f) {
    static const struct {
        uint32_t bytes;
        const char *type;
    } units[] = {{16, "uint4"}, {8, "uint2"}, {4, "uint"}, {2, "ushort"}, {1, "uchar"}};
    size_t u = 0;
    while (f->element_bytes % units[u].bytes) u++;
    clumpi_text_append(t, "    %s(%s, %uu, %uu, %uu, %uu, %uu);\n", what, units[u].type,
                       f->base_bytes, f->stride_bytes, f->step_bytes, clumpi_elements(f),
                       f->element_bytes / units[u].bytes);
}

/* The nearest class that both are or are derived from; 0: there is none. */
static uint32_t common_class(const clump_schema *schema, uint32_t a, uint32_t b) {
    while (a && !(b >= a && b <= clumpi_class_info(schema, a)->last))
        a = clumpi_class_info(schema, a)->base;
    return a;
}

static void emit_become(clumpi_text *t, const clump_schema *schema, const clump_class_info *from,
                        const clump_class_info *to, int checked) {
    const line_texts line = lines_of(checked);
    const uint32_t common = common_class(schema, from->id, to->id);
    clump_field_info f;
    clumpi_text_append(t,
                       "static inline %s clumpi_become_%u_%u(CLUMP_HEAP, %s clumpi_r%s) {\n"
                       "    %s clumpi_d = {0u};\n"
                       "    uint clumpi_is = %s(clump_heap, clumpi_r.id);\n"
                       "    if (clumpi_is - %uu > %uu) return clumpi_d;\n",
                       to->name, from->id, to->id, from->name, line.parameter, to->name,
                       checked ? "clumpi_checked_unchanged" : "clumpi_unchanged_class", from->id,
                       from->last - from->id);
    if (common == from->id)
        clumpi_text_append(t,
                           "    if (clumpi_is - %uu <= %uu) {\n"
                           "        clumpi_d.id = clumpi_r.id;\n        return clumpi_d;\n    }\n",
                           to->id, to->last - to->id);
    const char *plain = checked ? "clumpi_checked_plain(clump_heap, " : "(";
    clumpi_text_append(t,
                       "    clumpi_d = clumpi_new_%u(clump_heap%s);\n"
                       "    if (clumpi_d.id == 0u) return clumpi_d;\n"
                       "    const uint clumpi_from = %sclumpi_r.id), clumpi_to = %sclumpi_d.id);\n",
                       to->id, line.handed_on, plain, plain);
    for (clumpi_field_walk w = {.schema = schema, .class_id = to->id}; clumpi_next_field(&w, &f);)
        if (clumpi_elements(&f))
            emit_carry(t,
                       common >= f.class_id && common <= clumpi_class_info(schema, f.class_id)->last
                           ? "CLUMPI_CARRY"
                           : "CLUMPI_ZERO",
                       &f);
    clumpi_text_append(
        t, "    clumpi_d.id = clumpi_%s(clump_heap, clumpi_r.id%s, %uu, clumpi_d.id, %uu%s);\n",
        checked ? "checked_become" : "become", checked ? ", clumpi_is" : "", from->id, to->id,
        line.handed_on);
    if (has_array_below(schema, from, 1))
        clumpi_text_append(t,
                           "    if (clumpi_d.id)\n"
                           "        clumpi_arrays_end(clump_heap, clumpi_is, clumpi_from, %uu);\n",
                           common + 1);
    if (checked)
        clumpi_text_append(
            t,
            "    if (clumpi_d.id)\n"
            "        clumpi_checked_left(clump_heap, clumpi_is, clumpi_from, clumpi_line);\n");
    clumpi_text_append(
        t,
        "    return clumpi_d;\n}\n"
        "#define %s_become_%s(clumpi_r) clumpi_become_%u_%u(CLUMPI_CHANGING_HEAP, clumpi_r%s)\n",
        from->name, to->name, from->id, to->id, line.here);
}

static void emit_becomes(clumpi_text *t, const clump_schema *schema, int checked) {
    for (uint32_t i = 0; i < schema->become_count; i++)
        emit_become(t, schema, clumpi_class_info(schema, schema->becomes[i].from),
                    clumpi_class_info(schema, schema->becomes[i].to), checked);
}

/* The functions of checked_become.clh pass on what knows the work-item. */
#define HOME_OF(checked) ((checked) ? "clumpi_home_for(clump_heap, CLUMPI_ITEM)" : "clump_heap")

static void emit_follow(clumpi_text *t, const clump_class_info *c, int checked) {
    clumpi_text_append(t,
                       "static inline %s clumpi_follow_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
                       "    %s clumpi_d = {clumpi_%sfollow(%s, clumpi_r.id, %uu, %uu)};\n"
                       "    return clumpi_d;\n}\n"
                       "#define %s_follow(clumpi_r) clumpi_follow_%u(clump_heap, clumpi_r)\n",
                       c->name, c->id, c->name, c->name, checked ? "checked_" : "",
                       HOME_OF(checked), c->id, c->last, c->name, c->id);
}

/* What every class has: null, tests, free. */
static void emit_tests(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                       int checked) {
    const line_texts line = lines_of(checked);
    const char *n = c->name;
    uint32_t id = c->id, span = c->last - c->id;
    const int can_become = clumpi_schema_can_become_below(schema, c);
    clumpi_text_append(t,
                       "#define %s_null ((%s){0u})\n"
                       "static inline uint %s_is_null(%s clumpi_r) { return clumpi_r.id == 0u; }\n",
                       n, n, n, n);
    if (checked)
        clumpi_text_append(
            t, "static inline uint clumpi_bare_%u(%s clumpi_r) { return clumpi_r.id; }\n", id, n);
    else
        clumpi_text_append(t,
                           "static inline uint clumpi_id_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
                           "    (void)clump_heap;\n"
                           "    return CLUMPI_ID(clump_heap, clumpi_r.id, %uu, %uu);\n}\n",
                           id, n, id, c->last);
    clumpi_text_append(t,
                       "static inline uint clumpi_class_%u(CLUMPI_HEAP_ANY, %s clumpi_r%s) {\n"
                       "    return CLUMPI_CLASS_OF(clump_heap, clumpi_r.id, %uu, %uu%s);\n}\n"
                       "#define %s_class_of(clumpi_r) clumpi_class_%u(clump_heap, clumpi_r%s)\n"
                       "static inline uint clumpi_live_%u(CLUMPI_HEAP_ANY, %s clumpi_r) {\n"
                       "    return %s(clump_heap, clumpi_r.id) - %uu <= %uu;\n}\n"
                       "#define %s_is_live(clumpi_r) clumpi_live_%u(clump_heap, clumpi_r)\n",
                       id, n, line.parameter, id, c->last, line.handed_on, n, id, line.here, id, n,
                       checked && can_become ? "clumpi_checked_unchanged"
                       : checked             ? "clumpi_checked_is_live"
                       : can_become          ? "clumpi_unchanged_class"
                                             : "clumpi_live_class",
                       id, span, n, id);
    if (can_become) emit_follow(t, c, checked);
    const char *object = checked ? "clumpi_id" : "clumpi_r.id";
    char arrays[192] = "";
    if (has_array_below(schema, c, 1))
        snprintf(arrays, sizeof arrays,
                 "    uint clumpi_class = clumpi_live_class(clump_heap, %s);\n"
                 "    if (clumpi_class - %uu <= %uu) clumpi_arrays_end(clump_heap, clumpi_class, "
                 "%s, 0u);\n",
                 object, id, span, object);
    char place[128] = "";
    if (can_become)
        snprintf(place, sizeof place,
                 "    clumpi_r.id = clumpi_%sfree_place(%s, clumpi_r.id, %uu, %uu);\n",
                 checked ? "checked_" : "", HOME_OF(checked), id, c->last);
    if (checked)
        clumpi_text_append(
            t,
            "static inline void clumpi_free_%u(CLUMP_HEAP, %s clumpi_r, uint clumpi_line) {\n"
            "%s"
            "    uint clumpi_id = clumpi_checked_claim(clump_heap, clumpi_r.id, %uu, "
            "clumpi_line);\n"
            "    if (!clumpi_id) return;\n"
            "%s"
            "    clumpi_checked_free(clump_heap, clumpi_id, %uu);\n}\n"
            "#define %s_free(clumpi_r) clumpi_free_%u(CLUMPI_CHANGING_HEAP, clumpi_r, "
            "(uint)__LINE__)\n",
            id, n, place, id << 8 | c->last, arrays, id << 8 | c->last, n, id);
    else
        clumpi_text_append(
            t,
            "static inline void clumpi_free_%u(CLUMP_HEAP, %s clumpi_r) {\n"
            "%s"
            "    clumpi_unwatch(clump_heap, clumpi_r.id, %uu, %uu);\n"
            "%s"
            "    clumpi_free(clump_heap, %uu, %uu, clumpi_r.id);\n}\n"
            "#define %s_free(clumpi_r) clumpi_free_%u(CLUMPI_CHANGING_HEAP, clumpi_r)\n",
            id, n, place, id, c->last, arrays, id, c->last, n, id);
}

/* What concrete classes have besides: two ways to make an object. */
static void emit_new(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                     int checked) {
    const line_texts line = lines_of(checked);
    const char *n = c->name;
    uint32_t id = c->id;
    char arrays[80] = "";
    if (!checked && has_array(schema, id, 0))
        snprintf(arrays, sizeof arrays, "    clumpi_arrays_begin(clump_heap, %uu, clumpi_r.id);\n",
                 id);
    char word[128] = ""; /* clumpi_slot_make() of a checked heap does that, too */
    if (!checked && clumpi_schema_can_become(schema, id))
        snprintf(
            word, sizeof word,
            "    if (clumpi_r.id)\n"
            "        *(__global uint *)clumpi_address(clump_heap, clumpi_r.id, %uu, 4u) = 0u;\n",
            CLUMP_ROW_SLOTS * clumpi_schema_class(schema, id)->became_at);
    clumpi_text_append(t,
                       "static inline %s clumpi_new_%u(CLUMP_HEAP%s) {\n"
                       "    %s clumpi_r = {clumpi_%snew(clump_heap, %uu%s)};\n"
                       "%s%s"
                       "    return clumpi_r;\n}\n"
                       "#define %s_new() clumpi_new_%u(CLUMPI_CHANGING_HEAP%s)\n",
                       n, id, line.parameter, n, checked ? "checked_" : "", id, line.handed_on,
                       arrays, word, n, id, line.here);
    clumpi_text_append(t,
                       "static inline %s clumpi_group_new_%u(CLUMP_HEAP, uint clumpi_want%s) {\n"
                       "    %s clumpi_none = {0};\n"
                       "    return clumpi_want ? clumpi_new_%u(clump_heap%s) : clumpi_none;\n}\n"
                       "#define %s_group_new(clumpi_want) "
                       "clumpi_group_new_%u(CLUMPI_CHANGING_HEAP, (clumpi_want) ? 1u : 0u%s)\n",
                       n, id, line.parameter, n, id, line.handed_on, n, id, line.here);
}

/* What classes with subclasses have besides: an object of a class that the kernel chooses. */
static void emit_new_of(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                        int checked) {
    const line_texts line = lines_of(checked);
    const char *arrays =
        !checked && has_array_below(schema, c, 0)
            ? "    clumpi_arrays_begin(clump_heap, clumpi_class_id, clumpi_r.id);\n"
            : "";
    const char *word = !checked && clumpi_schema_can_become_below(schema, c)
                           ? "    clumpi_unbecome(clump_heap, clumpi_class_id, clumpi_r.id);\n"
                           : "";
    clumpi_text_append(t,
                       "static inline %s clumpi_new_of_%u(CLUMP_HEAP, uint clumpi_class_id%s) {\n"
                       "    %s clumpi_r = {0};\n"
                       "    if (clumpi_can_make(clump_heap, clumpi_class_id, %uu, %uu))\n"
                       "        clumpi_r.id = clumpi_%snew(clump_heap, clumpi_class_id%s);\n"
                       "%s%s"
                       "    return clumpi_r;\n}\n"
                       "#define %s_new_of(clumpi_class_id) "
                       "clumpi_new_of_%u(CLUMPI_CHANGING_HEAP, clumpi_class_id%s)\n",
                       c->name, c->id, line.parameter, c->name, c->id, c->last,
                       checked ? "checked_" : "", line.handed_on, arrays, word, c->name, c->id,
                       line.here);
}

/* What CLUMP_DISPATCH consists of: a case for each concrete class that is `c` or below it. */
static void emit_cases(clumpi_text *t, const clump_schema *schema, const clump_class_info *c) {
    clumpi_text_append(
        t, "#define clumpi_cases_%s(clumpi_call, clumpi_result, clumpi_name, clumpi_args)",
        c->name);
    for (uint32_t id = c->id; id <= c->last; id++) {
        const clump_class_info *d = clump_schema_get_info(schema)->classes[id];
        if (d->is_abstract) continue;
        clumpi_text_append(t,
                           " case %uu: { %s self = {clumpi_id}; "
                           "clumpi_call(clumpi_result, clumpi_name##%s clumpi_args); break; }",
                           id, d->name, d->name);
    }
    clumpi_text_append(t, "\n");
}

/* What CLUMP_FOR_EACH_BY_CLASS consists of: a loop for each of them. */
static void emit_loops(clumpi_text *t, const clump_schema *schema, const clump_class_info *c) {
    clumpi_text_append(t, "#define clumpi_loops_%s(clumpi_name, clumpi_args) do {", c->name);
    for (uint32_t id = c->id; id <= c->last; id++) {
        const clump_class_info *d = clump_schema_get_info(schema)->classes[id];
        if (d->is_abstract) continue;
        clumpi_text_append(t, " CLUMPI_FOR_EACH_OF(%s) { (void)clumpi_name##%s clumpi_args; }",
                           d->name, d->name);
    }
    clumpi_text_append(t, " } while (0)\n");
}

void clumpi_schema_emit(clumpi_text *t, const clump_schema *schema, const clumpi_geometry *g,
                        int checked) {
    uint32_t count = clump_schema_get_info(schema)->class_count;
    clump_class_info c;
    clumpi_text_append(t, "\n/* ---- References, one type per class ---- */\n\n");
    for (uint32_t id = 1; id <= count; id++) {
        c = *clump_schema_get_info(schema)->classes[id];
        emit_type(t, &c);
    }
    emit_arrays(t, schema, checked);
    for (uint32_t id = 1; id <= count; id++) {
        c = *clump_schema_get_info(schema)->classes[id];
        clumpi_text_append(t, "\n/* class %s: %u bytes an object, %u objects a block */\n\n",
                           c.name, c.object_bytes, g->classes[id].capacity);
        emit_tests(t, schema, &c, checked);
        if (!c.is_abstract) emit_new(t, schema, &c, checked);
        if (c.last > c.id) emit_new_of(t, schema, &c, checked);
        emit_casts(t, schema, &c, checked);
        emit_cases(t, schema, &c);
        emit_loops(t, schema, &c);
        emit_fields(t, schema, &c, checked);
    }
    emit_becomes(t, schema, checked);
}
