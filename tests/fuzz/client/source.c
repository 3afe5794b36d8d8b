/* The kernels of a round, and what they compute, once more on the host.
 *
 * For each class K: init_K() sets all fields of a new object, set_K() the values that K itself
 * declares, clear_K() its references, sum_K() hashes what K itself declares.
 */
#include "client.h"
#include "model.h"

/* ---- On the host ----------------------------------------------------------------------------- */

int picks(uint32_t tag, uint32_t salt, uint32_t share) {
    return (test_hash(tag ^ salt) & 255u) < share;
}

uint32_t children_of(uint32_t tag, uint32_t salt, uint32_t share, uint32_t most) {
    return picks(tag, salt, share) ? 1 + (test_hash(tag ^ salt) >> 8) % most : 0;
}

static uint32_t bits_of(uint32_t tag, uint32_t salt, uint32_t code) {
    uint32_t bits = test_hash(tag ^ test_hash(salt + code));
    return bits == NEVER_WRITTEN ? 0 : bits;
}

static uint32_t mark_of(uint32_t tag, uint32_t code, uint32_t bits) {
    return test_hash(bits ^ test_hash(tag * 31u + code));
}

static uint32_t code_of(const field_model *f, uint32_t element, uint32_t component) {
    return f->number * CODES_PER_FIELD + element * WIDTH_MAX + component;
}

/* One component; returns its bytes. */
static uint32_t put_component(clump_type type, uint32_t bits, uint8_t *to) {
    uint64_t twice = (uint64_t)bits << 32 | (uint32_t)~bits;
    float single = (float)(bits >> 8);
    double wide = (double)bits;
    switch (type) {
    case CLUMP_TYPE_BOOL: *to = bits & 1; return 1;
    case CLUMP_TYPE_CHAR:
    case CLUMP_TYPE_UCHAR: *to = (uint8_t)bits; return 1;
    case CLUMP_TYPE_SHORT:
    case CLUMP_TYPE_USHORT: memcpy(to, &(uint16_t){(uint16_t)bits}, 2); return 2;
    case CLUMP_TYPE_LONG:
    case CLUMP_TYPE_ULONG: memcpy(to, &twice, 8); return 8;
    case CLUMP_TYPE_FLOAT: memcpy(to, &single, 4); return 4;
    case CLUMP_TYPE_DOUBLE: memcpy(to, &wide, 8); return 8;
    case CLUMP_TYPE_INT:
    case CLUMP_TYPE_UINT:
    case CLUMP_TYPE_REF: break;
    }
    memcpy(to, &bits, 4);
    return 4;
}

void put_value(const field_model *f, uint32_t element, uint32_t tag, uint32_t salt,
               uint8_t *value) {
    for (uint32_t i = 0; i < f->width; i++)
        value += put_component(f->type, bits_of(tag, salt, code_of(f, element, i)), value);
}

/* A component as 32 bits: signed ones are extended, wide ones folded. */
static uint32_t fold(clump_type type, uint32_t bits) {
    uint8_t value[8];
    uint32_t words[2];
    switch (type) {
    case CLUMP_TYPE_BOOL: return bits & 1;
    case CLUMP_TYPE_CHAR: return (uint32_t)(int32_t)(int8_t)bits;
    case CLUMP_TYPE_UCHAR: return (uint8_t)bits;
    case CLUMP_TYPE_SHORT: return (uint32_t)(int32_t)(int16_t)bits;
    case CLUMP_TYPE_USHORT: return (uint16_t)bits;
    default: break;
    }
    uint32_t bytes = put_component(type, bits, value);
    memcpy(words, value, bytes);
    return bytes == 8 ? words[0] ^ words[1] : words[0];
}

uint32_t sum_of_value(const field_model *f, uint32_t element, uint32_t tag, uint32_t salt) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < f->width; i++) {
        uint32_t code = code_of(f, element, i);
        sum += mark_of(tag, code, fold(f->type, bits_of(tag, salt, code)));
    }
    return sum;
}

static uint32_t sum_of_element(const heap_model *h, const field_model *f, const object_model *o,
                               uint32_t e) {
    const uint32_t word = o->words[f->at + e];
    if (f->type == CLUMP_TYPE_REF) {
        const object_model *to = object_at(h, word);
        return mark_of(o->tag, code_of(f, e, 0), to ? to->tag : word != 0);
    }
    return sum_of_value(f, e, o->tag, word);
}

uint32_t checksum_of(const client *c, const heap_model *h) {
    uint32_t sum = 0;
    for (uint32_t n = 0; n < h->count; n++) {
        const object_model *o = &h->objects[n];
        const class_model *k = &c->classes[o->class];
        for (uint32_t i = 0; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && !f->held; e++) {
                /* The kernel asks whether there is an object of the field's class. */
                const object_model *to = f->target < 0 ? NULL : object_at(h, o->words[f->at + e]);
                if (to && !is_a(c, to->class, f->target))
                    sum += mark_of(o->tag, code_of(f, e, 0), 1);
                else
                    sum += sum_of_element(h, f, o, e);
            }
        }
    }
    return sum;
}

uint32_t crowd_of(const client *c, const heap_model *h, int class) {
    uint32_t all = 0;
    for (uint32_t n = 0; n < h->count; n++) {
        const object_model *o = &h->objects[n];
        if (!is_a(c, o->class, class)) continue;
        uint32_t sum = 0;
        for (uint32_t m = 0; m < h->count; m++)
            if (is_a(c, h->objects[m].class, class)) sum += test_hash(h->objects[m].tag ^ o->tag);
        all += mark_of(o->tag, 0, sum);
    }
    return all;
}

/* ---- In kernels ------------------------------------------------------------------------------ */

static const char common[] =
    "uint mix(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u;\n"
    "    return x ^ x >> 16;\n"
    "}\n"
    "int picks(uint tag, uint salt, uint share) { return (mix(tag ^ salt) & 255u) < share; }\n"
    "uint children_of(uint tag, uint salt, uint share, uint most) {\n"
    "    return picks(tag, salt, share) ? 1u + (mix(tag ^ salt) >> 8) % most : 0u;\n"
    "}\n"
    "uint bits_of(uint tag, uint salt, uint code) {\n"
    "    uint bits = mix(tag ^ mix(salt + code));\n"
    "    return bits == 0xfffafffau ? 0u : bits;\n"
    "}\n"
    "uint mark_of(uint tag, uint code, uint bits) {\n"
    "    return mix(bits ^ mix(tag * 31u + code));\n"
    "}\n"
    "uchar make_bool(uint x) { return (uchar)(x & 1u); }\n"
    "char make_char(uint x) { return (char)(uchar)x; }\n"
    "uchar make_uchar(uint x) { return (uchar)x; }\n"
    "short make_short(uint x) { return (short)(ushort)x; }\n"
    "ushort make_ushort(uint x) { return (ushort)x; }\n"
    "int make_int(uint x) { return (int)x; }\n"
    "uint make_uint(uint x) { return x; }\n"
    "ulong make_ulong(uint x) { return (ulong)x << 32 | (ulong)~x; }\n"
    "long make_long(uint x) { return (long)make_ulong(x); }\n"
    "float make_float(uint x) { return (float)(x >> 8); }\n"
    "#define fold_bool(x) ((uint)(x))\n"
    "#define fold_char(x) ((uint)(int)(x))\n"
    "#define fold_uchar(x) ((uint)(x))\n"
    "#define fold_short(x) ((uint)(int)(x))\n"
    "#define fold_ushort(x) ((uint)(x))\n"
    "#define fold_int(x) ((uint)(x))\n"
    "#define fold_uint(x) (x)\n"
    "uint fold_ulong(ulong x) { return (uint)x ^ (uint)(x >> 32); }\n"
    "#define fold_long(x) fold_ulong((ulong)(x))\n"
    "#define fold_float(x) as_uint(x)\n";

static const char for_doubles[] =
    "double make_double(uint x) { return (double)x; }\n"
    "#define fold_double(x) fold_ulong(as_ulong(x))\n";

/* The kernels whose classes are the roles of the round, as macros. */
static const char of_roles[] =
    "#define CAT_(a, b) a##b\n"
    "#define CAT(a, b) CAT_(a, b)\n"
    "#define NEW(K) CAT(K, _new)()\n"
    "#define TAG(K, r) CAT(K, _tag)(r)\n"
    "#define INIT(K, r, tag, salt) CAT(init_, K)(clump_heap, r, tag, salt)\n"
    "#define ASK(K, at)                                                                        \\\n"
    "    { K k = NEW(K); out[at] = k.id; if (k.id) INIT(K, k, tag + (at), salt); }\n"
    "__kernel void each(CLUMP_HEAP, __global uint *out, uint tag, uint salt, uint n, uint share) "
    "{\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g < n && picks(g, salt, share)) ASK(EACH, g)\n"
    "}\n"
    "__kernel void two(CLUMP_HEAP, __global uint *out, uint tag, uint salt, uint n, uint share,\n"
    "                  uint share2) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g < n && picks(g, salt, share)) ASK(FIRST, 2u * g)\n"
    "    if (g < n && picks(g, ~salt, share2)) ASK(SECOND, 2u * g + 1u)\n"
    "}\n"
    "__kernel void loop(CLUMP_HEAP, __global uint *out, uint tag, uint salt, uint room,\n"
    "                   uint share, uint most, uint dying) {\n"
    "    CLUMP_FOR_EACH(PARENT, self) {\n"
    "        uint mine = TAG(PARENT, self), count = children_of(mine, salt, share, most);\n"
    "        for (uint i = 0; i < count; i++) {\n"
    "            CHILD child = NEW(CHILD);\n"
    "            uint at = atomic_inc(&out[0]);\n"
    "            if (at >= room) continue;\n"
    "            out[1u + 2u * at] = child.id;\n"
    "            out[2u + 2u * at] = self.id;\n"
    "            if (child.id == 0) continue;\n"
    "            INIT(CHILD, child, tag + at, salt);\n"
    "            LINK(child, self);\n"
    "        }\n"
    "        if (picks(mine, ~salt, dying)) CAT(PARENT, _free)(self);\n"
    "    }\n"
    "}\n"
    "__kernel void free_list(CLUMP_HEAP, __global const uint *list, uint n) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g >= n) return;\n"
    "    FREED r = {list[g]};\n"
    "    CAT(FREED, _free)(r);\n"
    "}\n"
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, __global uint *out, __global const uint *list, uint "
    "n,\n"
    "                   uint touch) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g >= n) return;\n"
    "    LOOKED r = {list[g]};\n"
    "    uint live = CAT(LOOKED, _is_live)(r);\n"
    "    out[3u * g] = CAT(LOOKED, _class_of)(r);\n"
    "    out[3u * g + 1u] = live | CAT(LOOKED, _is_null)(r) << 1 | IS_DERIVED(r) << 2;\n"
    "    out[3u * g + 2u] = live || touch ? TAG(LOOKED, r) : 0u;\n"
    "    if (!live && touch) TAG(LOOKED, r) = 1u;\n"
    "}\n"
    "__kernel void crowd(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_STAGE(uint, staged);\n"
    "    CLUMP_STAGE(uint, parts);\n"
    "    CLUMP_FOR_EACH_TOGETHER(CROWD, self) {\n"
    "        uint sum = 0, mine = CLUMP_TAKES_PART(self) ? TAG(CROWD, self) : 0u;\n"
    "        CLUMP_FOR_WHOLE_CLASS_STAGED(CROWD, other, uint, it, staged, TAG(CROWD, other)) {\n"
    "            sum += mix(it ^ mine);\n"
    "        }\n"
    "        CLUMP_COMBINE(parts, sum, CLUMP_SUM);\n"
    "        if (CLUMP_OWNS(self)) atomic_add(&out[0], mark_of(mine, 0u, sum));\n"
    "    }\n"
    "}\n"
    "__kernel void bury(CLUMP_HEAP_NO_ALLOC, __global const uint *dead, __global uint *out,\n"
    "                   uint room) {\n"
    "    for (uint i = (uint)get_global_id(0); i < min(dead[0], room);\n"
    "         i += (uint)get_global_size(0)) {\n"
    "        BURIED r = {dead[1u + i]};\n"
    "        out[i] = CAT(BURIED, _is_live)(r) ? TAG(BURIED, r) : 0u;\n"
    "    }\n"
    "}\n"
    "__kernel void number(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *out, uint room) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(COUNTED, self, i) {\n"
    "        if (i >= room) continue;\n"
    "        out[i] = self.id;\n"
    "        out[room + i] = CLUMP_AT(COUNTED, i).id;\n"
    "    }\n"
    "    if (get_global_id(0) == 0) out[2u * room] = CLUMP_AT(COUNTED, room).id;\n"
    "}\n"
    "__kernel void group(CLUMP_HEAP, __global uint *out, uint tag, uint salt, uint n,\n"
    "                    uint share) {\n"
    "    CLUMP_GROUP_SCRATCH;\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    int want = g < n && picks(g, salt, share);\n"
    "    GROUP r = CAT(GROUP, _group_new)(want);\n"
    "    if (want || r.id) out[g] = r.id;\n"
    "    if (r.id) INIT(GROUP, r, tag + g, salt);\n"
    "}\n";

static void write_place(text *t, const class_model *k, const field_model *f) {
    text_append(t, "%s_%s(self%s)", k->name, f->name, f->count ? ", e" : "");
}

static void begin_element(text *t, const field_model *f) {
    text_append(t, "    for (uint e = 0; e < %uu; e++) {\n        uint code = %uu + e * %uu;\n",
                f->elements, f->number * CODES_PER_FIELD, (uint32_t)WIDTH_MAX);
}

static const char *type_name(const field_model *f) {
    return f->type == CLUMP_TYPE_BOOL ? "uchar" : model_type_name(f->type, 1);
}

static void write_set(text *t, const class_model *k, const field_model *f) {
    const char *made = model_type_name(f->type, 1);
    if (f->type == CLUMP_TYPE_REF || f->held) return;
    begin_element(t, f);
    if (f->width > 1)
        text_append(t,
                    "        %s v[%u];\n"
                    "        for (uint i = 0; i < %uu; i++)\n"
                    "            v[i] = make_%s(bits_of(tag, salt, code + i));\n        ",
                    type_name(f), f->width, f->width, made);
    else
        text_append(t, "        ");
    write_place(t, k, f);
    if (f->width > 1)
        text_append(t, " = vload%u(0, v);\n    }\n", f->width);
    else
        text_append(t, " = make_%s(bits_of(tag, salt, code));\n    }\n", made);
}

static void write_clear(const client *c, text *t, const class_model *k, const field_model *f) {
    if (f->type != CLUMP_TYPE_REF) return;
    text_append(t, "    for (uint e = 0; e < %uu; e++) ", f->elements);
    write_place(t, k, f);
    text_append(t, " = %s_null;\n", c->classes[f->target].name);
}

static void write_sum(const client *c, text *t, const class_model *k, const field_model *f) {
    const char *made = model_type_name(f->type, 1);
    if (f->held) return;
    begin_element(t, f);
    if (f->type == CLUMP_TYPE_REF) {
        const char *to = c->classes[f->target].name;
        text_append(t, "        %s r = ", to);
        write_place(t, k, f);
        text_append(t,
                    ";\n        uint seen = %s_is_null(r) ? 0u : %s_is_live(r) ? %s_tag(r) : 1u;\n"
                    "        sum += mark_of(tag, code, seen);\n    }\n",
                    to, to, to);
        return;
    }
    if (f->width == 1) {
        text_append(t, "        sum += mark_of(tag, code, fold_%s(", made);
        write_place(t, k, f);
        text_append(t, "));\n    }\n");
        return;
    }
    text_append(t, "        %s v[%u];\n        vstore%u(", type_name(f), f->width, f->width);
    write_place(t, k, f);
    text_append(t,
                ", 0, v);\n        for (uint i = 0; i < %uu; i++)\n"
                "            sum += mark_of(tag, code + i, fold_%s(v[i]));\n    }\n",
                f->width, made);
}

static void write_functions(client *c, const class_model *k) {
    text *t = &c->source;
    text_append(t, "void set_%s(CLUMP_HEAP_NO_ALLOC, %s self, uint tag, uint salt) {\n", k->name,
                k->name);
    for (uint32_t i = k->first_own; i < k->field_count; i++)
        write_set(t, k, &c->fields[k->fields[i]]);
    text_append(t, "}\nvoid clear_%s(CLUMP_HEAP_NO_ALLOC, %s self) {\n", k->name, k->name);
    for (uint32_t i = k->first_own; i < k->field_count; i++)
        write_clear(c, t, k, &c->fields[k->fields[i]]);
    text_append(t, "}\nvoid init_%s(CLUMP_HEAP_NO_ALLOC, %s self, uint tag, uint salt) {\n",
                k->name, k->name);
    if (k->base < 0)
        text_append(t, "    %s_tag(self) = tag;\n", k->name);
    else
        text_append(t, "    init_%s(clump_heap, %s_as_%s(self), tag, salt);\n",
                    c->classes[k->base].name, k->name, c->classes[k->base].name);
    text_append(t,
                "    set_%s(clump_heap, self, tag, salt);\n    clear_%s(clump_heap, self);\n}\n"
                "uint sum_%s(CLUMP_HEAP_NO_ALLOC, %s self) {\n"
                "    uint sum = 0, tag = %s_tag(self);\n",
                k->name, k->name, k->name, k->name, k->name);
    for (uint32_t i = k->first_own; i < k->field_count; i++)
        write_sum(c, t, k, &c->fields[k->fields[i]]);
    text_append(t, "    return sum;\n}\n");
}

/* Kernels that are told a class or a field. */
static void write_general(client *c) {
    text *t = &c->source;
    text_append(t,
                "__kernel void make(CLUMP_HEAP, __global uint *out, uint tag, uint salt,\n"
                "                   uint which) {\n");
    for (int k = 0; k < c->class_count; k++)
        if (!c->classes[k].is_abstract && k != c->parts.word && k != c->parts.page)
            text_append(t,
                        "    if (which == %du) CLUMP_FOR_EACH_NEW(%s, self, i) {\n"
                        "        INIT(%s, self, tag + i, salt); out[i] = self.id;\n    }\n",
                        k, c->classes[k].name, c->classes[k].name);
    text_append(t, "}\n__kernel void drop(CLUMP_HEAP, uint which, uint salt, uint share) {\n");
    for (int k = 0; k < c->drawn_classes; k++)
        text_append(t,
                    "    if (which == %du) CLUMP_FOR_EACH(K%d, self) {\n"
                    "        if (picks(K%d_tag(self), salt, share)) K%d_free(self);\n    }\n",
                    k, k, k, k);
    text_append(t,
                "}\n__kernel void set(CLUMP_HEAP_NO_ALLOC, uint which, uint salt, uint share) {\n");
    for (int k = 0; k < c->drawn_classes; k++)
        text_append(t,
                    "    if (which == %du) CLUMP_FOR_EACH(K%d, self) {\n"
                    "        uint tag = K%d_tag(self);\n"
                    "        if (picks(tag, salt, share)) set_K%d(clump_heap, self, tag, salt);\n"
                    "    }\n",
                    k, k, k, k);
    text_append(t,
                "}\n__kernel void link(CLUMP_HEAP_NO_ALLOC, __global const uint *list, uint n,\n"
                "                   uint which, uint salt, uint share) {\n");
    for (uint32_t i = 0; i < c->drawn_fields; i++) {
        const field_model *f = &c->fields[i];
        if (f->type != CLUMP_TYPE_REF) continue;
        text_append(t,
                    "    if (which == %uu) CLUMP_FOR_EACH(K%d, self) {\n"
                    "        uint tag = K%d_tag(self);\n"
                    "        for (uint e = 0; e < %uu; e++)\n"
                    "            if (picks(tag, salt + e, share))\n                ",
                    i, f->owner, f->owner, f->elements);
        write_place(t, &c->classes[f->owner], f);
        text_append(t, ".id = list[mix(tag ^ ~(salt + e)) %% n];\n    }\n");
    }
    text_append(t, "}\n__kernel void checksum(CLUMP_HEAP_NO_ALLOC) {\n    uint sum = 0;\n");
    for (int k = 0; k < c->class_count; k++)
        text_append(t, "    CLUMP_FOR_EACH(%s, self) sum += sum_%s(clump_heap, self);\n",
                    c->classes[k].name, c->classes[k].name);
    text_append(t,
                "    CLUMP_REDUCE(uint, sum, CLUMP_SUM)\n}\n"
                "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys, uint salt) {\n");
    for (int k = 0; k < c->class_count; k++)
        if (c->classes[k].base < 0)
            text_append(t,
                        "    CLUMP_FOR_EACH_KEYED(%s, self, i) keys[i] = mix(%s_tag(self) ^ "
                        "salt);\n",
                        c->classes[k].name, c->classes[k].name);
    text_append(t, "}\n");
}

static void write_roles(client *c) {
    const roles *r = &c->roles;
    text *t = &c->source;
    const struct {
        const char *name;
        int class;
    } names[] = {{"EACH", r->each},     {"FIRST", r->pair[0]},  {"SECOND", r->pair[1]},
                 {"GROUP", r->group},   {"PARENT", r->parent},  {"CHILD", r->child},
                 {"FREED", r->freed},   {"CROWD", r->crowd},    {"LOOKED", r->looked_at},
                 {"BURIED", r->buried}, {"COUNTED", r->counted}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        text_append(t, "#define %s K%d\n", names[i].name, names[i].class);
    if (r->child_link >= 0) {
        const field_model *f = &c->fields[r->child_link];
        text_append(t, "#define LINK(child, parent) K%d_%s(child%s).id = (parent).id\n", r->child,
                    f->name, f->count ? ", 0" : "");
    } else {
        text_append(t, "#define LINK(child, parent)\n");
    }
    if (r->derived == r->looked_at)
        text_append(t, "#define IS_DERIVED(r) 0u\n");
    else /* the cast must agree with the test */
        text_append(
            t, "#define IS_DERIVED(r) (K%d_as_K%d(r).id == (r).id && K%d_is_K%d(r) ? 1u : 0u)\n",
            r->looked_at, r->derived, r->looked_at, r->derived);
}

/* Raw memory: its bytes are those of hashes of its tag and of the number of the word. The list has
 * four words for each: handle, bytes, tag, bytes that are wanted. */
static const char of_raw[] =
    "uchar raw_byte(uint tag, uint i) {\n"
    "    return (uchar)(mix(tag ^ mix(i >> 2)) >> ((i & 3u) * 8u));\n"
    "}\n"
    "uint raw_wrong(__global const uchar *p, uint bytes, uint tag) {\n"
    "    uint wrong = 0;\n"
    "    for (uint i = 0; i < bytes; i++) wrong += p[i] != raw_byte(tag, i);\n"
    "    return wrong;\n"
    "}\n"
    "void raw_fill(__global uchar *p, uint from, uint bytes, uint tag) {\n"
    "    for (uint i = from; i < bytes; i++) p[i] = raw_byte(tag, i);\n"
    "}\n"
    "__kernel void raw_make(CLUMP_HEAP, __global uint *out, uint tag, uint salt, uint n,\n"
    "                       uint power, uint way) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g >= n) return;\n"
    "    uint bits = mix((tag + g) ^ salt), wrong = 0;\n"
    "    uint bytes = 1u + (bits >> 8) % (1u << (bits & 255u) % (power + 1u));\n"
    "    __global uchar *p = way == 0 ? (__global uchar *)clump_calloc(1, bytes)\n"
    "        : way == 1 ? (__global uchar *)clump_aligned_alloc(256, bytes)\n"
    "        : (__global uchar *)clump_malloc(bytes);\n"
    "    out[2u * g] = clump_raw_of(p);\n"
    "    if (p && way == 0)\n"
    "        for (uint i = 0; i < bytes; i++) wrong |= p[i];\n"
    "    if (p && way == 1) wrong |= (uint)(ulong)p & 255u;\n"
    "    if (p) wrong |= clump_usable_size(p) < bytes;\n"
    "    if (p) raw_fill(p, 0, bytes, tag + g);\n"
    "    out[2u * g + 1u] = wrong;\n"
    "}\n"
    "__kernel void raw_free(CLUMP_HEAP, __global const uint *list, uint n) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g < n) clump_free(clump_raw_at(list[4u * g]));\n"
    "}\n"
    "__kernel void raw_resize(CLUMP_HEAP, __global uint *out, __global const uint *list,\n"
    "                         uint n) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g >= n) return;\n"
    "    uint bytes = list[4u * g + 1u], tag = list[4u * g + 2u], wanted = list[4u * g + 3u];\n"
    "    __global uchar *p = (__global uchar *)clump_raw_at(list[4u * g]);\n"
    "    uint wrong = raw_wrong(p, bytes, tag);\n"
    "    __global uchar *q = (__global uchar *)clump_realloc(p, wanted);\n"
    "    wrong += raw_wrong(q ? q : p, q ? min(bytes, wanted) : bytes, tag);\n"
    "    if (q) raw_fill(q, bytes, wanted, tag);\n"
    "    out[2u * g] = clump_raw_of(q);\n"
    "    out[2u * g + 1u] = wrong;\n"
    "}\n"
    "__kernel void raw_look(CLUMP_HEAP_NO_ALLOC, __global uint *out, __global const uint *list,\n"
    "                       uint n) {\n"
    "    uint g = (uint)get_global_id(0);\n"
    "    if (g >= n) return;\n"
    "    __global const uchar *p =\n"
    "        (__global const uchar *)clump_raw_at(list[4u * g]);\n"
    "    out[g] = raw_wrong(p, list[4u * g + 1u], list[4u * g + 2u]);\n"
    "}\n";

/* ---- Arrays of run-time length: arrays.c ----------------------------------------------------- */

/* Of array number i with elements of T: T value_ai(tag, e) makes element e, and word_ai(v, tag, e)
 * is what is compared of it. */
static void write_array_functions(client *c, uint32_t i) {
    const field_model *f = &c->arrays[i].element;
    const char *made = model_type_name(f->type, 1), *one = type_name(f);
    char vector[32];
    text *t = &c->source;
    if (f->held) {
        const int is_ref = f->type == CLUMP_TYPE_REF;
        text_append(t, "#define word_%s(v, tag, e) (v)%s\n#define INSIDE_%s %uu\n", f->name,
                    is_ref ? ".id" : "", f->name,
                    tells_bounds(c) || !is_ref ? 0 : c->arrays[i].inside);
        return;
    }
    if (f->type == CLUMP_TYPE_REF) {
        const char *to = c->classes[f->target].name;
        text_append(t,
                    "#define ELEMENT_a%u %s\n#define value_a%u(tag, e) %s_null\n"
                    "#define word_a%u(v, tag, e) (v).id\n#define GIVEN_a%u(ref, value) {ref}\n"
                    "#define NEW_a%u(place, value)\n#define INSIDE_a%u %uu\n",
                    i, to, i, to, i, i, i, i, tells_bounds(c) ? 0 : c->arrays[i].inside);
        return;
    }
    text_append(t,
                "#define GIVEN_a%u(ref, value) value\n"
                "#define NEW_a%u(place, value) place = value\n#define INSIDE_a%u 0u\n",
                i, i, i);
    snprintf(vector, sizeof vector, f->width > 1 ? "%s%u" : "%s", one, f->width);
    text_append(t,
                "#define ELEMENT_a%u %s\n%s value_a%u(uint tag, uint e) {\n    uint code = %uu + e "
                "* %uu;\n    %s v[%u];\n"
                "    for (uint i = 0; i < %uu; i++) v[i] = make_%s(bits_of(tag, 0u, code + i));\n",
                i, vector, vector, i, f->number * CODES_PER_FIELD, (uint32_t)WIDTH_MAX, one,
                f->width, f->width, made);
    if (f->width > 1)
        text_append(t, "    return vload%u(0, v);\n}\n", f->width);
    else
        text_append(t, "    return v[0];\n}\n");
    text_append(t,
                "uint word_a%u(%s x, uint tag, uint e) {\n    uint sum = 0, code = %uu + e * %uu;\n"
                "    %s v[%u];\n",
                i, vector, f->number * CODES_PER_FIELD, (uint32_t)WIDTH_MAX, one, f->width);
    if (f->width > 1)
        text_append(t, "    vstore%u(x, 0, v);\n", f->width);
    else
        text_append(t, "    v[0] = x;\n");
    text_append(t,
                "    for (uint i = 0; i < %uu; i++) sum += mark_of(tag, code + i, fold_%s(v[i]));\n"
                "    return sum;\n}\n",
                f->width, made);
}

/* A work-item for each entry of the list, and a part of the body for each array: @ stands for its
 * class, $ for its name. */
static void write_array_kernel(client *c, uint32_t arrays, const char *head, const char *body) {
    text *t = &c->source;
    text_append(t, "__kernel void %s, __global const uint *list, uint n, uint which) {\n", head);
    text_append(t, "    uint g = (uint)get_global_id(0);\n    if (g >= n) return;\n");
    for (uint32_t i = 0; i < arrays; i++) {
        const field_model *f = &c->arrays[i].element;
        const char *k = c->classes[f->owner].name;
        text_append(t, "    if (which == %uu) {\n", i);
        for (const char *at = body; *at; at++) {
            if (*at == '@')
                text_append(t, "%s", k);
            else if (*at == '$')
                text_append(t, "%s", f->name);
            else
                text_append(t, "%c", *at);
        }
        text_append(t, "    }\n");
    }
    text_append(t, "}\n");
}

static void write_arrays(client *c) {
    for (uint32_t i = 0; i < c->array_count; i++) write_array_functions(c, i);
    write_array_kernel(
        c, c->drawn_arrays, "array_change(CLUMP_HEAP, __global uint *out",
        "        @ r = {list[3u * g]};\n"
        "        uint way = list[3u * g + 1u], wanted = list[3u * g + 2u], ok = 1u;\n"
        "        uint old = @_$_length(r), tag = @_tag(r);\n"
        "        if (way == 0u) ok = @_$_resize(r, wanted) == CLUMP_DONE;\n"
        "        if (way == 1u) ok = @_$_reserve(r, wanted) == CLUMP_DONE;\n"
        "        if (way == 2u) @_$_trim(r);\n"
        "        if (ok && way == 0u)\n"
        "            for (uint e = old; e < wanted; e++)\n"
        "                NEW_$(@_$(r, e), value_$(tag, e));\n"
        "        out[3u * g] = ok;\n"
        "        out[3u * g + 1u] = @_$_length(r);\n"
        "        out[3u * g + 2u] = @_$_capacity(r);\n");
    write_array_kernel(
        c, c->drawn_arrays, "array_append(CLUMP_HEAP_NO_ALLOC, __global uint *out",
        "        @ r = {list[2u * g]};\n"
        "        uint tag = @_tag(r), target = list[2u * g + 1u];\n"
        "        ELEMENT_$ v = GIVEN_$(target, value_$(tag, g));\n"
        "        uint at = @_$_append(r, v);\n"
        "        out[3u * g] = at;\n"
        "        out[3u * g + 1u] = 0u;\n"
        "        out[3u * g + 2u] = @_$_capacity(r);\n"
        "        if (at == CLUMP_NO_ROOM) return;\n"
        "        out[3u * g + 1u] = word_$(@_$(r, at), tag, g) != word_$(v, tag, g);\n"
        "        NEW_$(@_$(r, at), value_$(tag, at));\n");
    write_array_kernel(
        c, c->array_count, "array_look(CLUMP_HEAP_NO_ALLOC, __global uint *out",
        "        @ r = {list[3u * g]};\n"
        "        uint at = list[3u * g + 1u], length = @_$_length(r), tag = @_tag(r);\n"
        "        uint used = 0u; /* beyond the length: markers and compactions look at these */\n"
        "        for (uint e = length; e < INSIDE_$; e++) used |= word_$(@_$(r, e), tag, e);\n"
        "        out[at] = length | (used != 0u) << 31;\n"
        "        for (uint e = 0u; e < min(length, list[3u * g + 2u]); e++)\n"
        "            out[at + 1u + e] = word_$(@_$(r, e), tag, e);\n");
    text_append(&c->source,
                "__kernel void array_link(CLUMP_HEAP_NO_ALLOC, __global const uint *list, uint n,\n"
                "                         uint which) {\n"
                "    uint g = (uint)get_global_id(0);\n"
                "    if (g >= n) return;\n");
    for (uint32_t i = 0; i < c->drawn_arrays; i++) {
        const field_model *f = &c->arrays[i].element;
        const char *k = c->classes[f->owner].name;
        if (f->type != CLUMP_TYPE_REF) continue;
        text_append(&c->source,
                    "    if (which == %uu) {\n        %s r = {list[3u * g]};\n"
                    "        %s_%s(r, list[3u * g + 1u]).id = list[3u * g + 2u];\n    }\n",
                    i, k, k, f->name);
    }
    text_append(&c->source, "}\n");
}

void write_source(client *c) {
    int has_doubles = 0;
    write_roles(c);
    text_append(&c->source, "%s", common);
    for (uint32_t i = 0; i < c->field_count; i++)
        has_doubles |= c->fields[i].type == CLUMP_TYPE_DOUBLE;
    for (uint32_t i = 0; i < c->array_count; i++)
        has_doubles |= c->arrays[i].element.type == CLUMP_TYPE_DOUBLE;
    if (has_doubles) text_append(&c->source, "%s", for_doubles);
    for (int k = 0; k < c->class_count; k++) write_functions(c, &c->classes[k]);
    text_append(&c->source, "%s", of_roles);
    write_general(c);
    write_become(c);
    if (c->raw) text_append(&c->source, "%s", of_raw);
    if (c->array_count) write_arrays(c);
    write_containers(c);
}
