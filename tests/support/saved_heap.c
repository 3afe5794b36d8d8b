/* Heaps to save and to compare (saved_heap.h). Read first: saved_heap.h. */
#include "saved_heap.h"

#include <stdlib.h>
#include <string.h>

int memory_write(void *file, const void *data, size_t bytes) {
    memory_file *m = file;
    if (m->most && m->bytes + bytes > m->most) return 28;
    if (m->bytes + bytes > m->room) {
        m->room = 2 * (m->bytes + bytes);
        m->data = realloc(m->data, m->room);
        assert_non_null(m->data);
    }
    memcpy(m->data + m->bytes, data, bytes);
    m->bytes += bytes;
    return 0;
}

size_t memory_read(void *file, void *data, size_t bytes) {
    memory_file *m = file;
    size_t left = m->bytes - m->at, n = bytes < left ? bytes : left;
    memcpy(data, m->data + m->at, n);
    m->at += n;
    return n;
}

void memory_release(memory_file *file) {
    free(file->data);
    memset(file, 0, sizeof *file);
}

memory_file saved_bytes(const cl_fixture *f, clump_heap *heap, uint32_t piece_bytes) {
    memory_file file = {0};
    clump_save_report measured = {.size = sizeof measured}, report = {.size = sizeof report};
    CHECK_OK(f, clump_heap_save(
                    heap,
                    &(clump_save_desc){
                        .size = sizeof(clump_save_desc), .piece_bytes = piece_bytes, .measure = 1},
                    &measured));
    CHECK_OK(f, clump_heap_save(heap,
                                &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                   .write = memory_write,
                                                   .user = &file,
                                                   .piece_bytes = piece_bytes},
                                &report));
    assert_int_equal(report.bytes, file.bytes);
    report.dangling = 0; /* which is not measured */
    assert_memory_equal(&measured, &report, sizeof report);
    return file;
}

clump_status load_bytes(clump_heap *heap, memory_file *file, clump_load_report *report) {
    file->at = 0;
    return clump_heap_load(
        heap,
        &(clump_load_desc){.size = sizeof(clump_load_desc), .read = memory_read, .user = file},
        report);
}

void load_bytes_refused(const cl_fixture *f, clump_heap *heap, memory_file *file,
                        const char *const texts[2]) {
    const clump_status status = load_bytes(heap, file, NULL);
    for (size_t i = 0; i < 2; i++)
        cl_fixture_expect_words(clump_context_get_error(f->clump), status, CLUMP_ERR_SCHEMA,
                                texts[i], "load", __LINE__);
}

const char saved_schema[] =
    "abstract class Thing { uint tag; ref Thing next; weak ref Node seen; }\n"
    "class Node : Thing { float3 at; uchar16 wide; ref Thing edges[5]; bool flags[3] packed; }\n"
    "class Leaf : Node { short2 pair[3]; long big; }\n"
    "aos class Box { char kind; ulong sums[3]; ref Node owner; int4 corner; uchar last; }\n"
    "class Crate : Box { ushort marks[7]; ref Box inside[2] packed; }\n"
    "class Lone { uchar one; }\n"
    "class Never { uint nothing; ref Lone lone; }\n";

static const char source[] =
    "__kernel void drop_things(CLUMP_HEAP, uint of) {\n"
    "    CLUMP_FOR_EACH(Thing, s) if (Thing_tag(s) % of == 1) Thing_free(s);\n}\n"
    "__kernel void drop_boxes(CLUMP_HEAP, uint of) {\n"
    "    CLUMP_FOR_EACH(Box, s) if (Box_corner(s).x % (int)of == 1) Box_free(s);\n}\n"
    "__kernel void drop_lone(CLUMP_HEAP, uint of) {\n"
    "    CLUMP_FOR_EACH(Lone, s) if (Lone_one(s) % of == 1) Lone_free(s);\n}\n";

/* ---- Filling --------------------------------------------------------------------------------- */

static uint32_t count_of(const cl_fixture *f, clump_heap *heap, const char *class_name) {
    uint64_t count;
    CHECK_OK(f, clump_heap_read_count(heap, class_name, &count));
    return (uint32_t)count;
}

/* A value of every element of a field of all objects of a class: random bytes, or random ones of
 * the references. */
static void fill_field(const cl_fixture *f, clump_heap *heap, const clump_class_info *c,
                       const clump_field_info *field, uint64_t *random) {
    const uint32_t count = count_of(f, heap, c->name);
    uint8_t *values = malloc((size_t)count * field->element_bytes + 1);
    clump_ref *targets = NULL;
    uint64_t target_count = 0;
    if (field->type == CLUMP_TYPE_REF) {
        clump_class_info to =
            *clump_schema_get_info(clump_heap_get_info(heap)->schema)->classes[field->ref_class];
        const uint32_t room = count_of(f, heap, to.name);
        targets = malloc((room + 1) * sizeof *targets);
        CHECK_OK(f, clump_heap_read_refs(heap, to.name, targets, room, &target_count));
    }
    for (uint32_t e = 0; e < (field->count ? field->count : 1); e++) {
        for (size_t b = 0; b < (size_t)count * field->element_bytes; b++)
            values[b] = (uint8_t)test_random(random, field->type == CLUMP_TYPE_BOOL ? 2 : 256);
        for (uint32_t i = 0; targets && i < count; i++) {
            clump_ref ref = 0;
            if (target_count && test_random(random, 8))
                ref = targets[test_random(random, (uint32_t)target_count)];
            memcpy(values + i * sizeof ref, &ref, sizeof ref);
        }
        CHECK_OK(f, clump_heap_write_field(heap, c->name, field->name, e, field->element_bytes,
                                           values, count));
    }
    free(values);
    free(targets);
}

static void fill_fields(const cl_fixture *f, clump_heap *heap, uint64_t *random) {
    const clump_schema *s = clump_heap_get_info(heap)->schema;
    for (uint32_t id = 1; id <= clump_schema_get_info(s)->class_count; id++) {
        clump_class_info c = *clump_schema_get_info(s)->classes[id];
        for (uint32_t i = 0; i < c.field_count; i++) {
            clump_field_info field = *clump_schema_get_info(s)->classes[id]->fields[i];
            fill_field(f, heap, &c, &field, random);
        }
    }
}

static void make(const cl_fixture *f, clump_heap *heap, const char *class_name, uint32_t count) {
    const clump_struct_desc desc = {.size = sizeof desc, .class_name = class_name, .bytes = 4};
    uint32_t *structs = calloc(count + 1, sizeof *structs);
    uint64_t made = 0;
    CHECK_OK(f, clump_heap_new_structs(heap, &desc, structs, count, NULL, &made));
    assert_int_equal(made, count);
    free(structs);
}

static void drop(const cl_fixture *f, clump_heap *heap, clump_program *program, const char *name,
                 uint32_t of) {
    clump_kernel *kernel = cl_fixture_kernel(f, program, name);
    SET_ARG(f, kernel, 0, of);
    CHECK_OK(f, clump_heap_do_all(heap, kernel, NULL));
    clump_kernel_destroy(kernel);
}

void saved_fill(const cl_fixture *f, clump_heap *heap, uint32_t seed, uint32_t objects) {
    uint64_t random = seed;
    make(f, heap, "Leaf", objects / 4);
    make(f, heap, "Node", objects / 3);
    make(f, heap, "Crate", objects / 8);
    make(f, heap, "Box", objects / 8);
    make(f, heap, "Lone", objects / 6);
    fill_fields(f, heap, &random); /* tags, by which some are freed */
    clump_program *program = cl_fixture_program(f, heap, source, NULL, NULL);
    drop(f, heap, program, "drop_things", 3);
    drop(f, heap, program, "drop_boxes", 4);
    drop(f, heap, program, "drop_lone", 2);
    clump_program_destroy(program);
    fill_fields(f, heap, &random); /* references to those that are left */
    CHECK_HEAP(f, heap);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

uint32_t saved_refs(const cl_fixture *f, clump_heap *heap, clump_ref **refs) {
    const clump_schema *s = clump_heap_get_info(heap)->schema;
    clump_heap_stats stats = {.size = sizeof stats};
    uint64_t at = 0, count;
    CHECK_OK(f, clump_heap_read_stats(heap, &stats, NULL, 0));
    *refs = malloc((stats.objects + 1) * sizeof **refs);
    for (uint32_t id = 1; id <= clump_schema_get_info(s)->class_count; id++) {
        const clump_class_info *c = clump_schema_get_info(s)->classes[id];
        if (c->base) continue; /* with its base */
        CHECK_OK(f, clump_heap_read_refs(heap, c->name, *refs + at, stats.objects - at, &count));
        at += count;
    }
    assert_int_equal(at, stats.objects);
    return (uint32_t)at;
}

uint32_t saved_number(const clump_ref *refs, uint32_t count, clump_ref ref) {
    if (!ref) return UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (refs[i] == ref) return i;
    return UINT32_MAX - 1;
}

/* Numbers in place of references, by a table of both. */
typedef struct numbered {
    clump_ref ref;
    uint32_t number;
} numbered;

static int by_ref(const void *a, const void *b) {
    const clump_ref x = ((const numbered *)a)->ref, y = ((const numbered *)b)->ref;
    return (x > y) - (x < y);
}

static numbered *table_of(const clump_ref *refs, uint32_t count) {
    numbered *table = malloc((count + 1) * sizeof *table);
    for (uint32_t i = 0; i < count; i++) table[i] = (numbered){refs[i], i};
    qsort(table, count, sizeof *table, by_ref);
    return table;
}

static void number(const numbered *table, uint32_t count, uint32_t *words, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const numbered key = {words[i], 0};
        const numbered *found = bsearch(&key, table, count, sizeof *table, by_ref);
        words[i] = found ? found->number : words[i] ? UINT32_MAX - 1 : UINT32_MAX;
    }
}

static void compare_field(const cl_fixture *f, clump_heap *a, const cl_fixture *g, clump_heap *b,
                          const clump_class_info *c, const clump_field_info *field,
                          numbered *const tables[2], uint32_t objects) {
    const uint32_t count = count_of(f, a, c->name);
    const size_t bytes = (size_t)count * field->element_bytes;
    uint8_t *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    assert_int_equal(count_of(g, b, c->name), count);
    for (uint32_t e = 0; e < (field->count ? field->count : 1); e++) {
        CHECK_OK(f, clump_heap_read_field(a, c->name, field->name, e, field->element_bytes, x,
                                          count, NULL));
        CHECK_OK(g, clump_heap_read_field(b, c->name, field->name, e, field->element_bytes, y,
                                          count, NULL));
        if (field->type == CLUMP_TYPE_REF) {
            number(tables[0], objects, (uint32_t *)x, count);
            number(tables[1], objects, (uint32_t *)y, count);
        }
        for (size_t at = 0; at < bytes; at++)
            if (x[at] != y[at])
                fail_msg("class %s, field %s, element %u: object %zu of %u differs", c->name,
                         field->name, e, at / field->element_bytes, count);
    }
    free(x);
    free(y);
}

void saved_compare(const cl_fixture *f, clump_heap *a, const cl_fixture *g, clump_heap *b) {
    const clump_schema *s = clump_heap_get_info(a)->schema;
    clump_ref *x, *y;
    const uint32_t objects = saved_refs(f, a, &x);
    assert_int_equal(saved_refs(g, b, &y), objects);
    numbered *const tables[2] = {table_of(x, objects), table_of(y, objects)};
    for (uint32_t id = 1; id <= clump_schema_get_info(s)->class_count; id++) {
        clump_class_info c = *clump_schema_get_info(s)->classes[id];
        for (uint32_t at = id; at;) { /* inherited fields too */
            const clump_class_info *owner = clump_schema_get_info(s)->classes[at];
            for (uint32_t i = 0; i < owner->field_count; i++) {
                clump_field_info field = *clump_schema_get_info(s)->classes[at]->fields[i];
                compare_field(f, a, g, b, &c, &field, tables, objects);
            }
            at = owner->base;
        }
    }
    free(x);
    free(y);
    free(tables[0]);
    free(tables[1]);
}
