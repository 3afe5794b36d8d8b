/* All objects of a class as a table: CSV, and NumPy's .npy with a structured dtype.
 *
 * Both begin with the objects as structs without gaps (structs.c), the fields one after the other,
 * inherited ones first. An array with `max` is followed by its length. Its elements that are not in
 * use are zeros, and empty in CSV. Of an array that grows there is the length only.
 *
 * Invariant: the text does not depend on the locale. Format of .npy: NumPy enhancement proposal 1,
 * version 1.0.
 * Read first: clump/structs.h.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"

#define NPY_MAGIC_BYTES 10u /* magic, version, length of the header */
#define NPY_ALIGN 64u
#define NUMBER_BYTES 40

/* A class whose objects were read. The arrays are ours. */
typedef struct table {
    clump_heap *heap;
    clump_struct_desc desc;
    clump_struct_field *fields;
    clump_field_info *infos;
    uint8_t *structs;
    uint64_t count;
} table;

static void close_table(table *t) {
    const clump_allocator *a = &t->heap->context->allocator;
    clumpi_free(a, t->fields);
    clumpi_free(a, t->infos);
    clumpi_free(a, t->structs);
}

/* Those of the first `count` fields that a table has; returns how many. */
static uint32_t keep_columns(table *t, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (t->infos[i].array != CLUMP_ARRAY_GROWING && t->infos[i].part < CLUMP_PART_CAPACITY)
            t->infos[kept++] = t->infos[i];
    t->desc.field_count = kept;
    return kept;
}

/* The fields of the class, those of its first base first. */
static clump_status find_fields(table *t, const clump_class_info *c) {
    const clump_schema *schema = t->heap->schema;
    const clump_allocator *a = &t->heap->context->allocator;
    clump_class_info k;
    uint32_t all = 0;
    for (uint32_t id = c->id; id; id = k.base) {
        k = *clump_schema_get_info(schema)->classes[id];
        all += k.field_count;
    }
    t->fields = clumpi_alloc(a, (all + 1) * sizeof *t->fields);
    t->infos = clumpi_alloc(a, (all + 1) * sizeof *t->infos);
    if (!t->fields || !t->infos)
        return clumpi_fail(&t->heap->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for %u fields", all);
    t->desc = (clump_struct_desc){
        .size = sizeof t->desc, .class_name = c->name, .field_count = all, .fields = t->fields};
    uint32_t end = all;
    for (uint32_t id = c->id; id; id = k.base) {
        k = *clump_schema_get_info(schema)->classes[id];
        end -= k.field_count;
        for (uint32_t i = 0; i < k.field_count; i++)
            t->infos[end + i] = *clump_schema_get_info(schema)->classes[id]->fields[i];
    }
    all = keep_columns(t, all);
    for (uint32_t i = 0; i < all; i++) {
        t->fields[i] = (clump_struct_field){t->infos[i].name, t->desc.bytes};
        t->desc.bytes += t->infos[i].element_bytes * clumpi_elements(&t->infos[i]);
    }
    return CLUMP_OK;
}

/* How many elements of field number k the object has. */
static uint32_t elements_in_use(const table *t, uint32_t k, const uint8_t *object) {
    const uint32_t elements = clumpi_elements(&t->infos[k]);
    uint32_t length = elements;
    if (t->infos[k].array) memcpy(&length, object + t->fields[k + 1].offset, sizeof length);
    return length < elements ? length : elements;
}

/* The other elements have any values. */
static void clear_unused(const table *t) {
    for (uint32_t k = 0; k < t->desc.field_count; k++) {
        const uint32_t each = t->infos[k].element_bytes;
        for (uint64_t i = 0; t->infos[k].array && i < t->count; i++) {
            uint8_t *object = t->structs + i * t->desc.bytes;
            const uint32_t used = elements_in_use(t, k, object);
            memset(object + t->fields[k].offset + (size_t)used * each, 0,
                   (size_t)(clumpi_elements(&t->infos[k]) - used) * each);
        }
    }
}

static clump_status open_table(table *t, const char *class_name, clump_write_fn write,
                               const char *call) {
    clump_context *c = t->heap->context;
    clump_class_info k;
    if (!write)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s needs a function that receives the text",
                           call);
    clump_status status = clumpi_find_class(t->heap, class_name, call, &k);
    if (!status) status = find_fields(t, &k);
    if (!status && !t->desc.bytes)
        status =
            clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s: class %s has no fields", call, k.name);
    if (!status) status = clumpi_heap_enter_to_wait(t->heap);
    if (!status) status = clumpi_rank(t->heap, k.id, k.last, &t->count);
    if (status) return status;
    t->structs = clumpi_alloc(&c->allocator, t->count * t->desc.bytes + 1);
    if (!t->structs)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for %llu objects of %u bytes",
                           (unsigned long long)t->count, t->desc.bytes);
    status = clump_heap_read_structs(t->heap, &t->desc, NULL, t->structs, t->count, &t->count);
    if (!status) clear_unused(t);
    return status;
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

/* A 3-vector keeps its fourth component, which nobody writes: an axis of 4. */
static void npy_field(clumpi_text *t, const clump_field_info *f) {
    const uint32_t width = f->width == 3 ? 4 : f->width, bytes = clumpi_type_bytes(f->type, 1);
    const char kind = clumpi_type_kind(f->type);
    clumpi_text_append(t, "('%s', '%c%c%u'", f->name, bytes == 1 ? '|' : '<',
                       kind == 'r' ? 'u' : kind, bytes);
    if (f->count && width > 1)
        clumpi_text_append(t, ", (%u, %u)", f->count, width);
    else if (f->count || width > 1)
        clumpi_text_append(t, ", (%u,)", f->count ? f->count : width);
    clumpi_text_append(t, "), ");
}

static clump_status append_npy(clumpi_text *text, const table *t) {
    clumpi_text header = {.allocator = text->allocator};
    clump_status status = CLUMP_OK;
    clumpi_text_append(&header, "{'descr': [");
    for (uint32_t i = 0; i < t->desc.field_count; i++) npy_field(&header, &t->infos[i]);
    clumpi_text_append(&header, "], 'fortran_order': False, 'shape': (%llu,), }",
                       (unsigned long long)t->count);
    while (!header.failed && (NPY_MAGIC_BYTES + header.bytes + 1) % NPY_ALIGN)
        clumpi_text_append(&header, " ");
    clumpi_text_append(&header, "\n");
    if (header.bytes > UINT16_MAX)
        status = clumpi_fail(&t->heap->context->error, CLUMP_ERR_UNSUPPORTED,
                             "the fields of class %s need a header of %llu bytes, but a header of "
                             ".npy 1.0 has at most 65535",
                             t->desc.class_name, (unsigned long long)header.bytes);
    const char magic[NPY_MAGIC_BYTES] = {'\x93',
                                         'N',
                                         'U',
                                         'M',
                                         'P',
                                         'Y',
                                         1,
                                         0,
                                         (char)(header.bytes & 255),
                                         (char)(header.bytes >> 8)};
    clumpi_text_append_bytes(text, magic, sizeof magic);
    if (header.data) clumpi_text_append_bytes(text, header.data, header.bytes);
    if (!status) clumpi_text_append_bytes(text, (const char *)t->structs, t->count * t->desc.bytes);
    text->failed |= header.failed;
    clumpi_free(header.allocator, header.data);
    return status;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* at, at.x, w[2], w[2].s11: the name of component `i` of element `e`. */
static void csv_name(clumpi_text *t, const clump_field_info *f, uint32_t e, uint32_t i) {
    clumpi_text_append(t, "%s", f->name);
    if (f->count) clumpi_text_append(t, "[%u]", e);
    if (f->width > 4)
        clumpi_text_append(t, ".s%u", i);
    else if (f->width > 1)
        clumpi_text_append(t, ".%c", "xyzw"[i]);
}

/* As many digits as tell the value from all others, and a point in every locale. */
static void csv_real(clumpi_text *t, double value, int digits) {
    char number[NUMBER_BYTES];
    const char *point = localeconv()->decimal_point;
    snprintf(number, sizeof number, "%.*g", digits, value);
    char *at = strcmp(point, ".") != 0 ? strstr(number, point) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
    clumpi_text_append(t, "%s", number);
}

static void csv_value(clumpi_text *t, clump_type type, const uint8_t *at) {
    const uint32_t bytes = clumpi_type_bytes(type, 1), above = 64 - 8 * bytes;
    const char kind = clumpi_type_kind(type);
    uint64_t bits = 0;
    memcpy(&bits, at, bytes); /* little-endian, as all devices are */
    if (kind == 'f' && bytes == sizeof(float)) {
        float value;
        memcpy(&value, at, bytes);
        csv_real(t, (double)value, 9);
    } else if (kind == 'f') {
        double value;
        memcpy(&value, at, bytes);
        csv_real(t, value, 17);
    } else if (kind == 'i') {
        const int64_t value = (int64_t)(bits << above) / ((int64_t)1 << above);
        clumpi_text_append(t, "%lld", (long long)value);
    } else {
        clumpi_text_append(t, "%llu", (unsigned long long)bits);
    }
}

/* One line: names, or the values of object `object`. */
static void csv_line(clumpi_text *text, const table *t, const uint8_t *object) {
    const char *comma = "";
    for (uint32_t k = 0; k < t->desc.field_count; k++) {
        const clump_field_info *f = &t->infos[k];
        const uint32_t component = clumpi_type_bytes(f->type, 1),
                       used = object ? elements_in_use(t, k, object) : 0;
        for (uint32_t e = 0; e < clumpi_elements(f); e++)
            for (uint32_t i = 0; i < f->width; i++, comma = ",") {
                clumpi_text_append(text, "%s", comma);
                if (e < used)
                    csv_value(text, f->type,
                              object + t->fields[k].offset + (size_t)e * f->element_bytes +
                                  (size_t)i * component);
                else if (!object)
                    csv_name(text, f, e, i);
            }
    }
    clumpi_text_append(text, "\n");
}

static clump_status append_csv(clumpi_text *text, const table *t) {
    csv_line(text, t, NULL);
    for (uint64_t i = 0; i < t->count && !text->failed; i++)
        csv_line(text, t, t->structs + i * t->desc.bytes);
    return CLUMP_OK;
}

/* ---- The call -------------------------------------------------------------------------------- */

clump_status clump_heap_write_table(clump_heap *heap, const char *class_name,
                                    clump_table_format format, clump_write_fn write, void *user) {
    static const char call[] = "clump_heap_write_table";
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    table t = {.heap = heap};
    clumpi_text text = {.allocator = &c->allocator};
    clump_status status = CLUMP_OK;
    if (format != CLUMP_TABLE_CSV && format != CLUMP_TABLE_NPY)
        status =
            clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s: unknown format %d", call, (int)format);
    if (!status) status = open_table(&t, class_name, write, call);
    if (!status) status = format == CLUMP_TABLE_CSV ? append_csv(&text, &t) : append_npy(&text, &t);
    status = clumpi_text_write(&text, status, call, write, user, &c->error);
    close_table(&t);
    return status;
}
