/* Columns: what lies where in the rows of a class, for kernels that know no schema. Moving an
 * object copies all columns of its class, rewriting references visits the reference columns,
 * marking those of them that are not weak, which come first. Columns of arrays of run-time length
 * that a new object has cleared follow. Last come the words of arrays that own raw memory, by
 * which compaction finds the owners. A slot of raw memory is one column.
 *
 * A column is a sequence of elements in equal steps. Neighbouring fields of one width, elements of
 * arrays, and parts of wide vectors fall into one column where their steps allow it, so that most
 * classes have few. The word before each object of a checked heap is one, too.
 *
 * Read first: core/core.h, cl/core/layout.h.
 */
#include "heap/heap.h"

#define WIDTH_MAX 16u /* bytes of an element; wider ones are split */

/* Where columns are put; `list` may be NULL to count only. */
typedef struct column_list {
    clumpi_column *list;
    clumpi_column last; /* the one being extended, of `begin` .. */
    uint32_t begin, count;
} column_list;

static void store(column_list *c) {
    if (c->list && c->count > c->begin) c->list[c->count - 1] = c->last;
}

/* One element more, of the classes that it can point to if it is a reference. */
static void append(column_list *c, uint32_t base, uint32_t stride, uint32_t width, uint32_t first,
                   uint32_t last) {
    clumpi_column *l = &c->last;
    if (c->count > c->begin && l->stride == stride && l->width == width && l->first == first &&
        l->last == last && base > l->base) {
        uint32_t step = l->count == 1 ? base - l->base : l->step;
        if (base == l->base + l->count * step) {
            l->step = step;
            l->count++;
            store(c);
            return;
        }
    }
    c->count++;
    *l = (clumpi_column){
        .base = base, .stride = stride, .count = 1, .width = width, .first = first, .last = last};
    store(c);
}

static void append_field(const clump_schema *schema, const clump_field_info *f, int refs_only,
                         column_list *c) {
    uint32_t width = f->element_bytes < WIDTH_MAX ? f->element_bytes : WIDTH_MAX;
    clump_class_info to = {0};
    if (refs_only) to = *clump_schema_get_info(schema)->classes[f->ref_class];
    for (uint32_t e = 0; e < clumpi_elements(f); e++)
        for (uint32_t part = 0; part < f->element_bytes; part += width)
            append(c, f->base_bytes + e * f->step_bytes + part, f->stride_bytes, width, to.id,
                   to.last);
}

typedef enum wanted { ALL_FIELDS, STRONG_REFS, WEAK_REFS, CLEARED } wanted;

/* What a new object has cleared, beside the word for what it became: the words of arrays of
 * run-time length, and the references in these, of which all that are not in use are null. */
static int is_wanted(const clump_field_info *f, wanted what) {
    if (what == CLEARED) return f->part || (f->array && f->type == CLUMP_TYPE_REF);
    return what == ALL_FIELDS || (f->type == CLUMP_TYPE_REF && f->weak == (what == WEAK_REFS));
}

/* Bytes of a struct that no field has. In a checked heap they are filled, and moved, with the
 * object: memory without objects has no byte that is anything else. */
static void append_padding(column_list *c, uint32_t from, uint32_t to, uint32_t stride) {
    while (from < to) {
        uint32_t width = WIDTH_MAX;
        while (from % width || width > to - from) width /= 2;
        append(c, from, stride, width, 0, 0);
        from += width;
    }
}

static void append_paddings(const clump_schema *schema, const clump_class_info *info,
                            column_list *c) {
    uint32_t begin = 0, end = 0, stride = 0;
    for (uint32_t i = 0; i < info->field_count; i++) {
        clump_field_info f = *clump_schema_get_info(schema)->classes[info->id]->fields[i];
        if (i == 0) begin = end = f.base_bytes;
        stride = f.stride_bytes;
        append_padding(c, end, f.base_bytes, stride);
        end = f.base_bytes + clumpi_elements(&f) * f.element_bytes;
    }
    append_padding(c, end, begin + stride, stride);
}

/* Has the class, and none of its bases, the word for what an object became? It is before the fields
 * of the class. */
static int begins_to_become(const clump_schema *schema, const clump_class_info *info) {
    return clumpi_schema_can_become(schema, info->id) &&
           !(info->base && clumpi_schema_can_become(schema, info->base));
}

/* Fields of the class and, before them, of its bases. */
static void append_class(const clump_schema *schema, uint32_t id, wanted what, column_list *c) {
    clump_class_info info = *clump_schema_get_info(schema)->classes[id];
    if (info.base) append_class(schema, info.base, what, c);
    if (!info.base && schema->prefix && what == ALL_FIELDS)
        append(c, 0, schema->prefix, schema->prefix, 0, 0);
    if ((what == ALL_FIELDS || what == CLEARED) && begins_to_become(schema, &info))
        append(c, CLUMP_ROW_SLOTS * clumpi_schema_class(schema, id)->became_at, sizeof(clump_ref),
               sizeof(clump_ref), 0, 0);
    for (uint32_t i = 0; i < info.field_count; i++) {
        clump_field_info f = *clump_schema_get_info(schema)->classes[id]->fields[i];
        if (is_wanted(&f, what))
            append_field(schema, &f, what == STRONG_REFS || what == WEAK_REFS, c);
    }
    if (schema->prefix && what == ALL_FIELDS && info.layout == CLUMP_LAYOUT_AOS)
        append_paddings(schema, &info, c);
}

/* The words of arrays that grow, or only of those of references, of the class and, before these, of
 * its bases: one column each. */
static void append_arrays(const clump_schema *schema, uint32_t id, int refs_only, column_list *c) {
    const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
    if (info->base) append_arrays(schema, info->base, refs_only, c);
    for (uint32_t i = 0; i < info->field_count; i++) {
        clump_field_info length, next;
        const clump_field_info *f = clump_schema_get_info(schema)->classes[id]->fields[i];
        clump_class_info to = {0};
        if (f->array != CLUMP_ARRAY_GROWING || (refs_only && f->type != CLUMP_TYPE_REF)) continue;
        length = *clump_schema_get_info(schema)->classes[id]->fields[i + 1];
        next = *clump_schema_get_info(schema)->classes[id]->fields[i + 2];
        if (refs_only) to = *clump_schema_get_info(schema)->classes[f->ref_class];
        c->last = (clumpi_column){.base = length.base_bytes,
                                  .stride = length.stride_bytes,
                                  .step = next.base_bytes - length.base_bytes,
                                  .count = f->count,
                                  .width = f->element_bytes,
                                  .first = to.id,
                                  .last = to.last};
        c->count++;
        store(c);
    }
}

/* Of a class that has no objects. */
static void append_raw(clumpi_class *class, column_list *c) {
    class->copies = c->begin = c->count;
    for (uint32_t at = 0; !class->is_runs && at < class->slot_bytes; at += CLUMPI_RAW_UNIT)
        append(c, at, class->slot_bytes, CLUMPI_RAW_UNIT, 0, 0);
    class->refs = class->weak = class->arrays = class->cleared = class->columns_end =
        class->owners_end = c->count;
}

uint32_t clumpi_columns_build(const clump_schema *schema, clumpi_geometry *g,
                              clumpi_column *columns) {
    column_list c = {.list = columns};
    for (uint32_t id = 1; id < g->header.first_raw; id++) {
        clumpi_class *class = &g->classes[id];
        const int has_objects = !clump_schema_get_info(schema)->classes[id]->is_abstract;
        class->copies = c.begin = c.count;
        if (has_objects) append_class(schema, id, ALL_FIELDS, &c);
        class->refs = c.begin = c.count;
        if (has_objects) append_class(schema, id, STRONG_REFS, &c);
        class->weak = c.begin = c.count;
        if (has_objects) append_class(schema, id, WEAK_REFS, &c);
        class->arrays = c.begin = c.count;
        if (has_objects) append_arrays(schema, id, 1, &c);
        class->cleared = c.begin = c.count;
        if (has_objects) append_class(schema, id, CLEARED, &c);
        class->columns_end = c.begin = c.count;
        if (has_objects) append_arrays(schema, id, 0, &c);
        class->owners_end = c.count;
    }
    for (uint32_t id = g->header.first_raw; id <= g->header.class_count; id++)
        append_raw(&g->classes[id], &c);
    return c.count;
}

/* Where gaps are put; `list` may be NULL to count only. `end`: of the columns so far, in bytes of
 * the row. */
typedef struct gap_list {
    clumpi_gap *list;
    uint32_t count, end;
} gap_list;

static void append_gap(gap_list *g, uint32_t to) {
    if (to <= g->end) return;
    if (g->list) g->list[g->count] = (clumpi_gap){g->end, to};
    g->count++;
}

/* Up to the last field of the class. Those of a struct (aos) stand together. */
static void append_gaps(const clump_schema *schema, uint32_t id, gap_list *g) {
    const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
    if (info->base)
        append_gaps(schema, info->base, g);
    else
        g->end = CLUMP_ROW_SLOTS * schema->prefix;
    if (begins_to_become(schema, info)) {
        const uint32_t at = CLUMP_ROW_SLOTS * clumpi_schema_class(schema, id)->became_at;
        append_gap(g, at);
        g->end = at + CLUMP_ROW_SLOTS * (uint32_t)sizeof(clump_ref);
    }
    for (uint32_t i = 0; i < info->field_count; i++) {
        clump_field_info f = *clump_schema_get_info(schema)->classes[id]->fields[i];
        uint32_t elements = clumpi_elements(&f);
        if (info->layout != CLUMP_LAYOUT_AOS || i == 0) append_gap(g, f.base_bytes);
        g->end = info->layout == CLUMP_LAYOUT_AOS
                     ? CLUMP_ROW_SLOTS * (info->object_bytes - schema->gap)
                     : f.base_bytes + CLUMP_ROW_SLOTS * elements * f.element_bytes;
    }
}

void clumpi_gaps_build(const clump_schema *schema, clumpi_geometry *g, clumpi_gap *gaps) {
    gap_list list = {.list = gaps};
    for (uint32_t id = 0; id <= g->header.class_count; id++) {
        clump_class_info info;
        g->checked.gaps[id] = list.count;
        if (!clumpi_take_class(clumpi_class_info(schema, id), &info) || info.is_abstract) continue;
        append_gaps(schema, id, &list);
        append_gap(&list, g->classes[id].row_granules * g->header.granule_bytes);
    }
    g->checked.gaps[g->header.class_count + 1] = list.count;
}

clump_status clumpi_columns_write(clump_heap *heap) {
    clump_context *c = heap->context;
    clumpi_geometry *g = &heap->geometry;
    uint32_t count = g->classes[g->header.class_count].owners_end; /* of the last class */
    if (!count) return CLUMP_OK;
    clumpi_column *columns = clumpi_alloc(&c->allocator, count * sizeof *columns);
    if (!columns)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u columns",
                           count);
    clumpi_columns_build(heap->schema, g, columns);
    clump_status status =
        clumpi_write(c, heap->info.buffer, (uint64_t)g->header.at_columns * CLUMPI_UNIT,
                     count * sizeof *columns, columns);
    clumpi_free(&c->allocator, columns);
    return status;
}
