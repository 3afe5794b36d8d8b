/* The OpenCL C of random programs, and what its operations give.
 *
 * Read first: heap_source.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap_source.h"

/* ---- What the kernels should give ------------------------------------------------------------ */

/* A component as the number that goes into checksums. */
static uint32_t component_word(clump_type type, const uint8_t *place) {
    uint64_t bits = 0;
    uint32_t bytes = model_component_bytes(type);
    memcpy(&bits, place, bytes);
    return (uint32_t)bits ^ (uint32_t)(bits >> 32);
}

uint32_t heap_object_sum(const model *m, const model_object *object, uint32_t level) {
    uint32_t sum = 0;
    for (uint32_t id = level; id; id = m->classes[id].base) {
        for (uint32_t f = m->own_fields[id]; f < m->own_fields[id + 1]; f++) {
            const clump_field_info *info = &m->fields[f].info;
            if (info->type == CLUMP_TYPE_REF) continue;
            uint32_t bytes = model_component_bytes(info->type);
            for (uint32_t e = 0; e < m->fields[f].elements; e++)
                for (uint32_t c = 0; c < info->width; c++) {
                    const uint8_t *place = model_value(m, object, f, e);
                    sum += test_hash(component_word(info->type, place + c * bytes) + f * 31 + c);
                }
        }
    }
    return sum;
}

uint32_t heap_object_casts(const model *m, const model_object *object, uint32_t level) {
    uint32_t sum = test_hash(object->class_id);
    for (uint32_t id = level + 1; id <= m->classes[level].last; id++)
        if (model_is_a(m, object->class_id, id)) sum += test_hash(1000 + id);
    return sum;
}

uint32_t heap_free_view(const model *m, uint32_t class_id) {
    while (m->classes[class_id].base) class_id = m->classes[class_id].base;
    return class_id;
}

/* ---- Text ------------------------------------------------------------------------------------ */

typedef struct heap_text {
    char *data;
    size_t bytes, room;
} heap_text;

static void __attribute__((format(printf, 2, 3))) put(heap_text *t, const char *format, ...) {
    va_list args;
    if (t->bytes + 4096 > t->room) {
        t->room = 2 * t->room + 65536;
        t->data = realloc(t->data, t->room);
        assert_non_null(t->data);
    }
    va_start(args, format);
    t->bytes += (size_t)vsnprintf(t->data + t->bytes, 4096, format, args);
    va_end(args);
}

/* Fill and checksum of the class's own fields, then the base's. */
static void put_class(heap_text *t, const model *m, uint32_t id) {
    const clump_class_info *c = &m->classes[id];
    heap_text sum = {0};
    put(t, "void fill_%u(CLUMP_HEAP_NO_ALLOC, %s r, uint salt) {\n", id, c->name);
    put(&sum, "uint sum_%u(CLUMP_HEAP_NO_ALLOC, %s r) {\n    uint s = 0;\n", id, c->name);
    for (uint32_t f = m->own_fields[id]; f < m->own_fields[id + 1]; f++) {
        const model_field *field = &m->fields[f];
        const char *index = field->info.count ? ", e" : "";
        if (field->info.type == CLUMP_TYPE_REF) {
            put(t, "    for (uint e = 0; e < %u; e++) %s_%s(r%s) = %s_null;\n", field->elements,
                c->name, field->info.name, index, m->classes[field->info.ref_class].name);
            continue;
        }
        const char *type = model_type_name(field->info.type, 1);
        if (field->info.type == CLUMP_TYPE_BOOL) type = "uchar";
        put(t,
            "    for (uint e = 0; e < %u; e++) for (uint c = 0; c < %u; c++)\n"
            "        ((__global %s *)&%s_%s(r%s))[c] = V_%s(word(salt, %u, e, c));\n",
            field->elements, field->info.width, type, c->name, field->info.name, index,
            model_type_name(field->info.type, 1), f);
        put(&sum,
            "    for (uint e = 0; e < %u; e++) for (uint c = 0; c < %u; c++)\n"
            "        s += hash(W_%s(((__global %s *)&%s_%s(r%s))[c]) + %uu + c);\n",
            field->elements, field->info.width, model_type_name(field->info.type, 1), type, c->name,
            field->info.name, index, f * 31);
    }
    if (c->base) {
        const char *base = m->classes[c->base].name;
        put(t, "    fill_%u(clump_heap, %s_as_%s(r), salt);\n", c->base, c->name, base);
        put(&sum, "    s += sum_%u(clump_heap, %s_as_%s(r));\n", c->base, c->name, base);
    }
    put(t, "}\n%s    return s;\n}\n", sum.data);
    free(sum.data);
}

static void put_casts(heap_text *t, const model *m, uint32_t id) {
    const char *name = m->classes[id].name;
    put(t,
        "uint casts_%u(CLUMP_HEAP_NO_ALLOC, %s r) {\n"
        "    uint s = %s_is_live(r) ? hash(%s_class_of(r)) : 0u;\n",
        id, name, name, name);
    for (uint32_t d = id + 1; d <= m->classes[id].last; d++) {
        const char *sub = m->classes[d].name;
        put(t,
            "    if (%s_is_%s(r)) s += hash(1000u + %s_CLASS);\n"
            "    if (%s_as_%s(r).id != (%s_is_%s(r) ? r.id : 0u)) s = 0;\n",
            name, sub, sub, name, sub, name, sub);
    }
    put(t, "    return s;\n}\n");
}

static void put_ops(heap_text *t, const model *m, const heap_names *names) {
    put(t, "void link(CLUMP_HEAP_NO_ALLOC, uint field, uint id, uint e, uint target) {\n");
    for (uint32_t f = 0; f < m->field_count; f++) {
        const clump_field_info *info = &m->fields[f].info;
        if (info->type != CLUMP_TYPE_REF) continue;
        const char *name = m->classes[info->class_id].name;
        put(t, "    if (field == %u) { %s r = {id}; %s q = {target}; %s_%s(r%s) = q; }\n", f, name,
            m->classes[info->ref_class].name, name, info->name, info->count ? ", e" : "");
    }
    put(t,
        "}\n__kernel void ops(CLUMP_HEAP, uint n, uint per_item, __global const uint8 *ops,\n"
        "                  __global uint *out) {\n"
        "    uint me = (uint)get_global_id(0);\n"
        "    if (me >= n) return;\n"
        "    for (uint i = me * per_item; i < (me + 1) * per_item; i++) {\n"
        "        uint8 op = ops[i];\n"
        "        uint kind = op.s0, class_id = op.s1, id = op.s2, arg = op.s3, o = 0;\n"
        "        if (kind == %d) link(clump_heap, op.s4, id, op.s5, arg);\n",
        HEAP_OP_LINK);
    for (uint32_t i = 0; i < names->made_count; i++)
        put(t,
            "        if (kind == %d && class_id == %u) { %s r = %s_new(); o = r.id;\n"
            "            if (o) fill_%u(clump_heap, r, arg); }\n",
            HEAP_OP_NEW, names->made[i], m->classes[names->made[i]].name,
            m->classes[names->made[i]].name, names->made[i]);
    put(t, "        switch (class_id) {\n");
    for (uint32_t id = 1; id <= m->class_count; id++) {
        const char *name = m->classes[id].name;
        put(t,
            "        case %u: { %s r = {id};\n"
            "            if (kind == %d) fill_%u(clump_heap, r, arg);\n"
            "            if (kind == %d) o = sum_%u(clump_heap, r);\n"
            "            if (kind == %d) o = casts_%u(clump_heap, r);\n",
            id, name, HEAP_OP_FILL, id, HEAP_OP_SUM, id, HEAP_OP_CAST, id);
        if (!m->classes[id].base)
            put(t, "            if (kind == %d) %s_free(r);\n", HEAP_OP_FREE, name);
        put(t, "            break; }\n");
    }
    put(t, "        }\n        out[i] = o;\n    }\n}\n");
}

/* In the kernel of a do-new: the loop over a root and all below it. Each class fills its own
 * objects. */
static void put_fresh(heap_text *t, const model *m, uint32_t root) {
    const clump_class_info *r = &m->classes[root];
    if (r->base) return;
    put(t,
        "    if (class_id >= %uu && class_id <= %uu) CLUMP_FOR_EACH_NEW(%s, any, i) {\n"
        "        out[i] = any.id;\n        switch (class_id) {\n",
        root, r->last, r->name);
    for (uint32_t id = root; id <= r->last; id++)
        if (!m->classes[id].is_abstract)
            put(t,
                "        case %u: { %s r = {any.id}; fill_%u(clump_heap, r, hash(i ^ salt)); "
                "break; }\n",
                id, m->classes[id].name, id);
    put(t, "        }\n    }\n");
}

static void put_loops(heap_text *t, const model *m, const heap_names *names) {
    put(t, "__kernel void visit(CLUMP_HEAP_NO_ALLOC, uint class_id, uint salt) {\n");
    for (uint32_t i = 0; i < names->seen_count; i++)
        put(t,
            "    if (class_id == %u) CLUMP_FOR_EACH(%s, self)\n"
            "        fill_%u(clump_heap, self, hash(self.id ^ salt));\n",
            names->seen[i], m->classes[names->seen[i]].name, names->seen[i]);
    const char *child = m->classes[names->made[0]].name;
    put(t,
        "}\nvoid breed_one(CLUMP_HEAP, uint id, uint number, uint breed, __global uint *out) {\n"
        "    if (number %% 32u >= breed) return;\n"
        "    %s r = %s_new();\n"
        "    out[id] = r.id;\n"
        "    if (r.id) fill_%u(clump_heap, r, id);\n}\n",
        child, child, names->made[0]);
    put(t,
        "__kernel void change(CLUMP_HEAP, uint salt, uint cull, uint breed,\n"
        "                     __global uint *out) {\n");
    const char *name = m->classes[names->changed].name;
    put(t,
        "    CLUMP_FOR_EACH(%s, self) {\n"
        "        uint number = hash(self.id ^ salt);\n"
        "        breed_one(clump_heap, self.id, number, breed, out);\n"
        "        if (number / 32u %% 8u >= cull) continue;\n"
        "        %s_free(self);\n    }\n",
        name, name);
    put(t, "}\n__kernel void fresh(CLUMP_HEAP, uint class_id, uint salt, __global uint *out) {\n");
    for (uint32_t id = 1; id <= m->class_count; id++) put_fresh(t, m, id);
    put(t, "}\n");
}

/* Spread the choices over the classes; abstract ones are looped over as well. */
static void choose_names(const model *m, heap_names *names) {
    memset(names, 0, sizeof *names);
    uint32_t concrete[CLUMP_CLASSES_MAX], count = 0;
    for (uint32_t id = 1; id <= m->class_count; id++)
        if (!m->classes[id].is_abstract) concrete[count++] = id;
    for (uint32_t i = 0; i < HEAP_MADE_MAX && i < count; i++)
        names->made[names->made_count++] = concrete[i * count / HEAP_MADE_MAX];
    if (count < HEAP_MADE_MAX)
        for (uint32_t i = 0; i < count; i++) names->made[i] = concrete[i];
    for (uint32_t i = 0; i < HEAP_SEEN_MAX && i < m->class_count; i++)
        names->seen[names->seen_count++] =
            1 + (m->class_count < HEAP_SEEN_MAX ? i : i * m->class_count / HEAP_SEEN_MAX);
    names->changed = 1; /* a root, so with subclasses if there are any */
}

char *heap_source(const model *m, heap_names *names) {
    heap_text t = {0};
    choose_names(m, names);
    put(&t,
        "uint hash(uint x) {\n"
        "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u;\n"
        "    return x ^ (x >> 16);\n}\n"
        "uint word(uint salt, uint f, uint e, uint c) {\n"
        "    return hash(salt ^ hash(f << 20 ^ e << 4 ^ c));\n}\n"
        "#define V_bool(w) ((uchar)((w) & 1u))\n"
        "#define V_float(w) ((float)((w) & 0xffffffu))\n"
        "#define V_double(w) ((double)(w) * 0.25)\n"
        "#define V_ulong(w) ((ulong)(w) << 32 | ((w) ^ 0x5bd1e995u))\n"
        "#define V_long(w) ((long)V_ulong(w))\n"
        "#define W_bool(v) ((uint)(v))\n"
        "#define W_float(v) as_uint(v)\n"
        "#define W_double(v) W_ulong(as_ulong(v))\n"
        "#define W_ulong(v) ((uint)(v) ^ (uint)((ulong)(v) >> 32))\n"
        "#define W_long(v) W_ulong((ulong)(v))\n");
    static const char *const small[] = {"char", "uchar", "short", "ushort", "int", "uint"};
    static const char *const wide[] = {"uchar", "uchar", "ushort", "ushort", "uint", "uint"};
    for (int i = 0; i < 6; i++)
        put(&t, "#define V_%s(w) ((%s)(w))\n#define W_%s(v) ((uint)(%s)(v))\n", small[i], small[i],
            small[i], wide[i]);
    for (uint32_t id = 1; id <= m->class_count; id++) {
        put_class(&t, m, id);
        put_casts(&t, m, id);
    }
    put_ops(&t, m, names);
    put_loops(&t, m, names);
    return t.data;
}
