/* The kernels that pack and unpack objects: their tables, memory and launches (extract.h).
 *
 * Read first: extract.h, cl/extract/layout.h, cl/extract/pack.cl.
 */
#include <string.h>

#include "extract/extract.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/alloc.clh",  "cl/core/poison.clh",
    "cl/core/scan.clh",  "cl/extract/layout.h", "cl/extract/pack.cl"};
static const char *const kernel_names[] = {CLUMPI_PACK_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_pack_library = CLUMPI_LIBRARY(NULL, NULL);

#define WORK_ALIGN 64u
#define RECORD_BYTES 16u
#define WIDTH_MAX 16u /* bytes of an element; wider ones are split */

static const char key; /* of the buffer that a heap keeps */

static uint64_t align(uint64_t bytes) {
    return (bytes + WORK_ALIGN - 1) / WORK_ALIGN * WORK_ALIGN;
}

void clumpi_pack_close(clumpi_pack *p) {
    if (!p->heap) return;
    clumpi_scratch_give(p->heap, &key, p->work_bytes, &p->work);
    clumpi_free(&clumpi_heap_context(p->heap)->allocator, p->element_refs);
    p->heap = NULL;
}

/* With so many words that are zeros, bytes of tables, and of records or references. */
static clump_status open_work(clumpi_pack *p, uint64_t words, uint64_t table_bytes, uint64_t more) {
    clump_context *c = clumpi_heap_context(p->heap);
    const uint64_t zeros = sizeof(clumpi_pack_head) + words * sizeof(clumpi_u32);
    p->counts.tables_at = align(zeros);
    p->counts.records_at = p->counts.refs_at = align(p->counts.tables_at + table_bytes);
    p->work_bytes = p->counts.refs_at + more;
    clump_status status =
        clumpi_scratch_take(p->heap, &key, &p->work_bytes, "numbers of objects", &p->work);
    return status ? status : clumpi_clear(c, p->work, 0, zeros);
}

clump_status clumpi_pack_fetch(clumpi_pack *p, clumpi_pack_head *head) {
    return clumpi_read(clumpi_heap_context(p->heap), p->work, 0, sizeof *head, head);
}

static clump_status run(clumpi_pack *p, clumpi_kernel_id id, const clumpi_arg *args,
                        uint32_t arg_count) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(p->heap)->sizes;
    return clumpi_run_on_heap(p->heap, id, sizes->do_all_global, sizes->do_all_local, args,
                              arg_count, NULL);
}

static clump_status run_copy(clumpi_pack *p, clumpi_kernel_id id, const clumpi_arg *args,
                             uint32_t arg_count) {
    const clumpi_launch_sizes *sizes = &clumpi_heap_context(p->heap)->sizes;
    return clumpi_run_on_heap(p->heap, id, sizes->copy_global, sizes->changing_local, args,
                              arg_count, NULL);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint32_t parts_of(const clump_field_info *f) {
    return f->element_bytes > WIDTH_MAX ? f->element_bytes / WIDTH_MAX : 1;
}

/* As long as nobody knows which classes have objects. */
static uint64_t table_bytes_most(const clump_schema *schema) {
    uint64_t bytes = 0;
    clump_class_info c;
    clump_field_info f;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        bytes += sizeof(clumpi_pack_class);
        for (uint32_t at = id; at; at = c.base) {
            c = *clump_schema_get_info(schema)->classes[at];
            for (uint32_t i = 0; i < c.field_count; i++) {
                f = *clump_schema_get_info(schema)->classes[at]->fields[i];
                bytes += parts_of(&f) * sizeof(clumpi_pack_field) + sizeof(clumpi_pack_end);
            }
        }
    }
    return bytes;
}

clump_status clumpi_pack_rank(clumpi_pack *p, cl_mem chosen) {
    clump_heap *heap = p->heap;
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    const clumpi_u64 chosen_at = clumpi_marks_white_at() / sizeof(clumpi_u32);
    const clumpi_arg args[] = {{sizeof chosen, &chosen},
                               {sizeof chosen_at, &chosen_at},
                               {sizeof p->counts, &p->counts},
                               {sizeof p->work, &p->work}};
    const uint64_t granules = (uint64_t)h->block_end * h->block_granules;
    clump_status status =
        open_work(p, granules, table_bytes_most(clumpi_heap_schema(heap)), granules * RECORD_BYTES);
    if (!status) status = clumpi_list_update(heap, 0, NULL);
    if (!status) status = clumpi_rank_enqueue(heap, 1, h->class_count, chosen, chosen_at);
    return status ? status : run(p, CLUMPI_PACK_KERNEL(pack_rows), args, 4);
}

clump_status clumpi_pack_ranked(clumpi_pack *p, clumpi_pack_head *head) {
    clump_heap *heap = p->heap;
    clump_status status = clumpi_pack_fetch(p, head);
    if (status) return status;
    const uint32_t listed = head->numbers[clumpi_object_classes(heap) + 1];
    if (listed == head->chosen) return CLUMP_OK;
    return clumpi_fail(
        &clumpi_heap_context(heap)->error, CLUMP_ERR_CORRUPT,
        "only %u of the %u chosen objects are in the list of objects. Call clump_heap_check()",
        listed, head->chosen);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* While they are made, on the host. */
typedef struct tables {
    clumpi_pack *p;
    clumpi_pack_class *classes;
    clumpi_pack_field *fields;
    clumpi_pack_end *ends;
    uint32_t field_count, end_count; /* so far; p->counts has room for them */
} tables;

/* What the tables have, and the memory for objects that are to be made. */
static void count(clumpi_pack *p) {
    const clump_extract *e = p->extract;
    p->counts.classes = p->counts.fields = p->counts.ends = p->places = p->loose = 0;
    for (uint32_t id = 1; id <= clump_schema_get_info(e->schema)->class_count; id++) {
        p->counts.classes += e->objects[id] != 0;
        p->places += (uint32_t)((e->objects[id] + CLUMPI_ROW_SLOTS - 1) / CLUMPI_ROW_SLOTS);
        p->loose += (uint32_t)e->objects[id] - (p->sure ? p->sure[id] : 0);
    }
    for (clumpi_column_walk w = {.owner = 0}; clumpi_next_column(e, &w); p->counts.ends++)
        p->counts.fields += w.array ? 1 : parts_of(&w.field);
    p->counts.objects = (clumpi_u32)e->objects[0];
}

static void append_class(tables *t, uint32_t id, uint32_t number) {
    const clump_extract *e = t->p->extract;
    clumpi_pack_class *k = &t->classes[number];
    *k = (clumpi_pack_class){.count = (clumpi_u32)e->objects[id],
                             .begin = t->field_count,
                             .end = t->field_count,
                             .class_id = t->p->class_of ? t->p->class_of[id] : id,
                             .sure = t->p->sure ? t->p->sure[id] : 0};
    if (number) {
        const clumpi_pack_class *before = k - 1;
        k->first = before->first + before->count;
        k->places = before->places + (before->count + CLUMPI_ROW_SLOTS - 1) / CLUMPI_ROW_SLOTS;
        k->loose = before->loose + before->count - before->sure;
    }
    if (t->p->sure) t->p->made[id] = *k;
}

/* Is it one more element of those of the entry? Both are of one class. */
static int extends(clumpi_pack_field *last, const clumpi_pack_field *f) {
    if (f->count != 1 || f->width != last->width || f->stride != last->stride ||
        f->object_bytes != last->object_bytes || f->first != last->first || f->last != last->last)
        return 0;
    if (last->count == 1) {
        last->step = f->base - last->base;
        last->next = f->at - last->at;
    }
    return f->base == last->base + last->count * last->step &&
           f->at == last->at + last->count * last->next;
}

static void append(tables *t, clumpi_pack_class *k, const clumpi_pack_field *f) {
    if (k->end > k->begin && extends(&t->fields[k->end - 1], f))
        t->fields[k->end - 1].count++;
    else
        t->fields[k->end++] = *f;
    t->field_count = k->end;
}

/* Which numbers a reference can have. */
static void find_target(const tables *t, clumpi_pack_field *f) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < t->p->counts.classes; i++) {
        const clumpi_pack_class *k = &t->classes[i];
        if (k->class_id < f->first || k->class_id > f->last) continue;
        if (!found++) f->from = k->first;
        f->to = k->first + k->count;
        f->target = found == 1 ? i : CLUMPI_PACK_SEVERAL;
    }
}

static void append_values(tables *t, clumpi_pack_class *k, const clumpi_column_walk *w,
                          const clump_field_info *ours) {
    clump_class_info to = {0};
    if (ours->type == CLUMP_TYPE_REF)
        to = *clump_schema_get_info(clumpi_heap_schema(t->p->heap))->classes[ours->ref_class];
    for (uint32_t part = 0; part < parts_of(ours); part++) {
        clumpi_pack_field f = {.at = w->column.at + (uint64_t)part * WIDTH_MAX,
                               .next = ours->element_bytes,
                               .base = ours->base_bytes + part * WIDTH_MAX,
                               .stride = ours->stride_bytes,
                               .step = ours->step_bytes,
                               .object_bytes = w->column.object_bytes,
                               .count = clumpi_elements(ours),
                               .width = ours->element_bytes / parts_of(ours),
                               .first = to.id,
                               .last = to.last};
        if (to.id) find_target(t, &f);
        if (!w->array || t->p->extract->has_words)
            append(t, k, &f);
        else if (to.id)
            t->p->element_refs[w->array_number] = f;
    }
}

static void append_field(tables *t, clumpi_pack_class *k, const clumpi_column_walk *w) {
    const clump_schema *schema = clumpi_heap_schema(t->p->heap);
    const clump_field_info *ours = /* as it lies in the heap */
        clump_schema_find_field(schema, k->class_id, w->field.name);
    append_values(t, k, w, ours);
    const uint32_t over = (uint32_t)(w->column.bytes % CLUMPI_COLUMN_ALIGN);
    if (over)
        t->ends[t->end_count++] = (clumpi_pack_end){.at = w->column.at + w->column.bytes,
                                                    .bytes = CLUMPI_COLUMN_ALIGN - over};
}

static void fill(tables *t) {
    const clump_extract *e = t->p->extract;
    const uint32_t classes = clump_schema_get_info(e->schema)->class_count;
    uint32_t number = 0;
    for (uint32_t id = 1; id <= classes; id++)
        if (e->objects[id]) append_class(t, id, number++);
    number = 0;
    clumpi_column_walk w = {.owner = 0};
    int is_there = clumpi_next_column(e, &w);
    for (uint32_t id = 1; id <= classes; id++) {
        if (!e->objects[id]) continue;
        clumpi_pack_class *k = &t->classes[number++];
        k->begin = k->end = t->field_count;
        for (; is_there && w.class_info.id == id; is_there = clumpi_next_column(e, &w))
            append_field(t, k, &w);
    }
}

static uint64_t table_bytes(const clumpi_pack *p) {
    return p->counts.classes * sizeof(clumpi_pack_class) +
           p->counts.fields * sizeof(clumpi_pack_field) + p->counts.ends * sizeof(clumpi_pack_end);
}

static clump_status write_tables(clumpi_pack *p) {
    clump_context *c = clumpi_heap_context(p->heap);
    const uint64_t bytes = table_bytes(p);
    if (!p->counts.classes) return CLUMP_OK;
    tables t = {.p = p, .classes = clumpi_alloc(&c->allocator, bytes)};
    if (!t.classes)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for an extract");
    memset(t.classes, 0, bytes);
    t.fields = (clumpi_pack_field *)(void *)(t.classes + p->counts.classes);
    t.ends = (clumpi_pack_end *)(void *)(t.fields + p->counts.fields);
    fill(&t);
    clump_status status = clumpi_write(c, p->work, p->counts.tables_at, bytes, t.classes);
    clumpi_free(&c->allocator, t.classes);
    return status;
}

/* For the tables to fill in. */
static clump_status open_element_refs(clumpi_pack *p) {
    clump_context *c = clumpi_heap_context(p->heap);
    if (!p->extract->array_count || p->element_refs) return CLUMP_OK;
    p->element_refs =
        clumpi_alloc(&c->allocator, p->extract->array_count * sizeof *p->element_refs);
    return p->element_refs ? CLUMP_OK
                           : clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                                         "no host memory for the arrays of an extract");
}

clump_status clumpi_pack_open(clumpi_pack *p) {
    count(p);
    clump_status status = open_element_refs(p);
    return status ? status : write_tables(p);
}

/* ---- Objects --------------------------------------------------------------------------------- */

clump_status clumpi_pack_objects(clumpi_pack *p, cl_mem chosen) {
    const clump_extract *e = p->extract;
    const clumpi_u64 chosen_at = clumpi_marks_white_at() / sizeof(clumpi_u32);
    const clumpi_arg args[] = {{sizeof chosen, &chosen},
                               {sizeof chosen_at, &chosen_at},
                               {sizeof p->counts, &p->counts},
                               {sizeof p->work, &p->work},
                               {sizeof e->info.buffer, &e->info.buffer},
                               {sizeof e->info.refs, &e->info.refs}};
    if (!e->info.buffer && !e->info.refs) return CLUMP_OK;
    return run_copy(p, CLUMPI_PACK_KERNEL(pack_objects), args, 6);
}

clump_status clumpi_pack_elements(clumpi_pack *p, uint32_t number, uint64_t at, uint32_t n) {
    const clump_extract *e = p->extract;
    const clumpi_arg args[] = {{sizeof p->counts, &p->counts},
                               {sizeof p->work, &p->work},
                               {sizeof e->info.buffer, &e->info.buffer},
                               {sizeof at, &at},
                               {sizeof n, &n},
                               {sizeof *p->element_refs, &p->element_refs[number]}};
    return run(p, CLUMPI_PACK_KERNEL(pack_elements), args, 6);
}

clump_status clumpi_unpack_open(clumpi_pack *p) {
    count(p);
    clump_status status =
        open_work(p, p->places, table_bytes(p), (uint64_t)p->loose * sizeof(clump_ref));
    if (!status) status = open_element_refs(p);
    return status ? status : write_tables(p);
}

clump_status clumpi_unpack_made(clumpi_pack *p, uint32_t id, cl_mem chosen) {
    const clumpi_u64 chosen_at = clumpi_marks_white_at() / sizeof(clumpi_u32);
    const clumpi_arg args[] = {{sizeof p->made[id], &p->made[id]},
                               {sizeof p->counts, &p->counts},
                               {sizeof p->work, &p->work},
                               {sizeof chosen, &chosen},
                               {sizeof chosen_at, &chosen_at}};
    return run(p, CLUMPI_PACK_KERNEL(pack_made), args, 5);
}

clump_status clumpi_unpack_objects(clumpi_pack *p) {
    const clump_extract *e = p->extract;
    const clumpi_arg args[] = {{sizeof p->counts, &p->counts},
                               {sizeof p->work, &p->work},
                               {sizeof e->info.buffer, &e->info.buffer}};
    return run_copy(p, CLUMPI_PACK_KERNEL(unpack_objects), args, 3);
}

clump_status clumpi_unpack_elements(clumpi_pack *p, uint32_t number, uint64_t at, uint32_t n,
                                    cl_mem refs) {
    const clump_extract *e = p->extract;
    const clumpi_arg args[] = {{sizeof p->counts, &p->counts},
                               {sizeof p->work, &p->work},
                               {sizeof e->info.buffer, &e->info.buffer},
                               {sizeof at, &at},
                               {sizeof n, &n},
                               {sizeof *p->element_refs, &p->element_refs[number]},
                               {sizeof refs, &refs}};
    return run(p, CLUMPI_PACK_KERNEL(unpack_elements), args, 7);
}
