/* All of the table of what heaps refuse (host/schema/refusals.h): each kind of heap meets each
 * operation. A refused one fails with its status and words, and changes nothing; each other one
 * works. Then all pairs of what a heap can be made with. clump_migration_create() needs ranks:
 * tests/mpi/mpi_migration.c has it.
 *
 * What the operations do is tested elsewhere; here they only must not be refused.
 */
#include <stdio.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/copy.h"
#include "clump/evict.h"
#include "saved_heap.h"
#include "schema/refusals.h"

#define CLASSES "class A { uint id; ref A next; "
static const char plain_text[] = CLASSES "}", growing_text[] = CLASSES "uint w[*]; }",
                  bounded_text[] = CLASSES "uint w[*] max 4; }",
                  both_text[] = CLASSES "uint w[*]; uint v[*] max 4; }",
                  other_text[] = CLASSES "uint more; }",
                  becoming_text[] = "class B becomes C { uint id; } class C { uint id; }";
enum { COUNT = 100, HEAP_BYTES = 8 << 20 };
enum { BUFFER_BYTES = 7 << 20 }; /* the first has all metadata, also those of a checked heap */

static cl_fixture on;
static clump_pool *pool;
static clump_heap *source;         /* a plain heap, */
static memory_file saved;          /* saved, */
static clump_extract *extracts[4]; /* of a plain heap, and of those with arrays: array_kind() */
static clump_schema *other;        /* for a conversion */
static uint32_t ids[COUNT];

/* ---- The table ------------------------------------------------------------------------------- */

typedef struct cell {
    int operation, trait, is_met;
    clump_status status;
    const char *why, *instead;
} cell;
#define CELL(operation, trait, status, why, instead)                                               \
    {CLUMPI_OP_##operation, CLUMPI_NUMBER_##trait, 0, CLUMP_ERR_##status, why, instead},
static cell cells[] = {CLUMPI_REFUSALS(CELL){.operation = -1}};

static cell *find_cell(int operation, unsigned traits) {
    cell *first = NULL;
    for (cell *c = cells; c->operation >= 0; c++)
        if (c->operation == operation && traits >> c->trait & 1 &&
            (!first || c->trait < first->trait))
            first = c;
    return first;
}

#define ARRAYS ((unsigned)(CLUMPI_TRAIT_GROWING | CLUMPI_TRAIT_BOUNDED))

/* 0 .. 3: which arrays there are. */
static int array_kind(unsigned traits) {
    return !!(traits & CLUMPI_TRAIT_GROWING) + 2 * !!(traits & CLUMPI_TRAIT_BOUNDED);
}

/* ---- Kinds of heaps -------------------------------------------------------------------------- */

/* traits: of what is asked for. field: an array is read and written, or a part of it, or a plain
 * field. */
typedef struct kind {
    unsigned traits, of_field;
    const char *field;
} kind;

enum {
    ASKED = CLUMPI_TRAIT_GROWING | CLUMPI_TRAIT_BOUNDED | CLUMPI_TRAIT_RAW | CLUMPI_TRAIT_SEVERAL |
            CLUMPI_TRAIT_EVICTABLE | CLUMPI_TRAIT_CHECKED | CLUMPI_TRAIT_WATCHED |
            CLUMPI_TRAIT_POOLED | CLUMPI_TRAIT_BECOMING
};

static clump_status create(unsigned traits, clump_heap **heap) {
    static const clump_checked_desc checked = {.size = sizeof checked};
    const char *text = traits & CLUMPI_TRAIT_GROWING
                           ? traits & CLUMPI_TRAIT_BOUNDED ? both_text : growing_text
                       : traits & CLUMPI_TRAIT_BOUNDED ? bounded_text
                                                       : plain_text;
    char all_classes[256];
    clump_schema *schema;
    snprintf(all_classes, sizeof all_classes, "%s%s", text,
             traits & CLUMPI_TRAIT_BECOMING ? becoming_text : "");
    CHECK_OK(&on, clump_schema_parse(all_classes, strlen(all_classes), NULL, &schema, NULL));
    clump_heap_desc d = {.size = sizeof d,
                         .context = on.clump,
                         .schema = schema,
                         .bytes = HEAP_BYTES,
                         .raw = (traits & CLUMPI_TRAIT_RAW) != 0,
                         .buffer_bytes = traits & CLUMPI_TRAIT_SEVERAL ? BUFFER_BYTES : 0,
                         .evictable_bytes = traits & CLUMPI_TRAIT_EVICTABLE ? HEAP_BYTES : 0,
                         .checked = traits & CLUMPI_TRAIT_CHECKED ? &checked : NULL,
                         .watch_handles = (traits & CLUMPI_TRAIT_WATCHED) != 0,
                         .pool = traits & CLUMPI_TRAIT_POOLED ? pool : NULL};
    const clump_status status = clump_heap_create(&d, heap, NULL);
    clump_schema_destroy(schema);
    return status;
}

static void fill(clump_heap *heap) {
    clump_struct_field id = {"id", 0};
    const clump_struct_desc of_id = {sizeof of_id, "A", sizeof *ids, 1, &id};
    CHECK_OK(&on, clump_heap_new_structs(heap, &of_id, ids, COUNT, NULL, NULL));
}

static clump_heap *make(unsigned traits) {
    clump_heap *heap;
    CHECK_OK(&on, create(traits & ASKED, &heap));
    if (traits & CLUMPI_TRAIT_SEVERAL)
        assert_int_not_equal(clump_heap_get_info(heap)->buffer_blocks, 0);
    fill(heap);
    if (traits & CLUMPI_TRAIT_EVICTED) CHECK_OK(&on, clump_heap_evict(heap, NULL, NULL));
    return heap;
}

/* ---- What is done with them ------------------------------------------------------------------ */

typedef struct trial {
    const kind *kind;
    clump_heap *heap;
} trial;

static int ignore_text(void *user, const void *text, size_t bytes) {
    (void)user, (void)text, (void)bytes;
    return 0;
}

static clump_status save(const trial *t) {
    memory_file file = {0};
    clump_status status = clump_heap_save(
        t->heap,
        &(clump_save_desc){.size = sizeof(clump_save_desc), .write = memory_write, .user = &file},
        NULL);
    assert_int_equal(file.bytes > 0, !status);
    memory_release(&file);
    return status;
}

static clump_status load(const trial *t) {
    clump_heap *empty; /* of the kind: nothing is loaded beside objects */
    CHECK_OK(&on, create(t->kind->traits & ASKED, &empty));
    clump_status status = load_bytes(empty, &saved, NULL);
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&on, clump_heap_read_stats(empty, &stats, NULL, 0));
    assert_int_equal(stats.objects, status ? 0 : COUNT);
    const clump_error kept = *clump_context_get_error(on.clump);
    clump_heap_destroy(empty);
    assert_string_equal(clump_context_get_error(on.clump)->message, kept.message);
    return status;
}

static const char *const all[] = {"A"};
static const clump_extract_desc take_all = {
    .size = sizeof take_all, .classes = all, .class_count = 1, .free_objects = 1};

static clump_status take(const trial *t) {
    clump_extract *taken;
    clump_status status = clump_heap_extract(t->heap, &take_all, &taken, NULL);
    assert_int_equal(taken != NULL, !status);
    clump_extract_destroy(taken);
    return status;
}

static clump_status migrate_from(const trial *t) {
    clump_heap *into = make(t->kind->traits & ARRAYS);
    const clump_status status = clump_heap_migrate(t->heap, &take_all, into, NULL, NULL, NULL);
    const clump_error kept = *clump_context_get_error(on.clump);
    clump_heap_destroy(into);
    assert_string_equal(clump_context_get_error(on.clump)->message, kept.message);
    return status;
}

static clump_status migrate_into(const trial *t) {
    clump_heap *from = make(t->kind->traits & ARRAYS);
    const clump_status status = clump_heap_migrate(from, &take_all, t->heap, NULL, NULL, NULL);
    clump_heap_destroy(from);
    return status;
}

static clump_status extract_of(const trial *t) {
    const uint64_t none[CLUMP_CLASSES_MAX] = {0};
    clump_extract *made;
    const clump_status status = clump_extract_create(on.clump, clump_heap_get_info(t->heap)->schema,
                                                     none, NULL, 0, &made, NULL);
    clump_extract_destroy(made);
    return status;
}

/* A heap of the same schema, saved. */
static clump_status load_extract(const trial *t) {
    clump_heap *heap = make(t->kind->traits & ARRAYS);
    memory_file file = saved_bytes(&on, heap, 0);
    const clump_load_desc desc = {.size = sizeof desc, .read = memory_read, .user = &file};
    clump_extract *made;
    clump_heap_destroy(heap);
    const clump_status status = clump_extract_load(on.clump, &desc, &made, NULL, NULL);
    assert_int_equal(made != NULL, !status);
    clump_extract_destroy(made);
    memory_release(&file);
    return status;
}

static clump_status insert(const trial *t) {
    return clump_heap_insert(t->heap, extracts[array_kind(t->kind->traits)], NULL);
}

static clump_status copy_heap(const trial *t) {
    clump_heap *copy;
    clump_heap_stats stats = {.size = sizeof stats};
    uint32_t has[COUNT];
    CHECK_OK(&on, create(t->kind->traits & ASKED, &copy));
    const clump_status status = clump_heap_copy(t->heap, copy, NULL);
    const clump_error kept = *clump_context_get_error(on.clump);
    CHECK_HEAP(&on, copy);
    CHECK_OK(&on, clump_heap_read_stats(copy, &stats, NULL, 0));
    assert_int_equal(stats.objects, status ? 0 : COUNT);
    if (!status) {
        CHECK_OK(&on, clump_heap_read_field(copy, "A", "id", 0, sizeof *has, has, COUNT, NULL));
        assert_memory_equal(has, ids, sizeof has);
    }
    clump_heap_destroy(copy);
    assert_string_equal(clump_context_get_error(on.clump)->message, kept.message);
    return status;
}

static clump_status convert(const trial *t) {
    return clump_heap_convert(
        t->heap, &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = other}, NULL);
}

static clump_status compact(const trial *t) {
    return clump_heap_compact(t->heap, NULL, NULL, NULL);
}

static clump_status put_in_order(const trial *t) {
    const clump_compact_desc d = {
        .size = sizeof d, .order = CLUMP_ORDER_FIELD, .order_field = "id"};
    return clump_heap_compact(t->heap, &d, NULL, NULL);
}

static clump_status collect(const trial *t) {
    return clump_heap_collect(t->heap, NULL, NULL, NULL);
}

static clump_status evict(const trial *t) {
    return clump_heap_evict(t->heap, NULL, NULL);
}

static clump_status bring_back(const trial *t) {
    return clump_heap_bring_back(t->heap, NULL, NULL);
}

static clump_status age_blocks(const trial *t) {
    return clump_heap_age_blocks(t->heap);
}

static clump_status take_findings(const trial *t) {
    uint64_t count;
    return clump_heap_take_findings(t->heap, NULL, 0, &count, NULL);
}

static clump_status check_memory(const trial *t) {
    return clump_heap_check_memory(t->heap, NULL);
}

static clump_status read_live(const trial *t) {
    uint64_t count;
    return clump_heap_read_live(t->heap, NULL, 0, &count);
}

static uint64_t there(const trial *t) {
    return t->kind->traits & CLUMPI_TRAIT_EVICTED ? 0 : COUNT;
}

/* Values that each field can have, an array whole. */
enum { ELEMENTS = 4 };
static const uint32_t zeros[COUNT][ELEMENTS];

static clump_status read_field(const trial *t) {
    uint32_t values[COUNT];
    return clump_heap_read_field(t->heap, "A", t->kind->field, 0, sizeof *values, values, COUNT,
                                 NULL);
}

static clump_status write_field(const trial *t) {
    return clump_heap_write_field(t->heap, "A", t->kind->field, 0, sizeof **zeros, zeros, there(t));
}

static clump_status read_structs(const trial *t) {
    uint32_t values[COUNT][ELEMENTS];
    uint64_t count;
    const clump_struct_field field = {t->kind->field, 0};
    const clump_struct_desc d = {sizeof d, "A", sizeof *values, 1, &field};
    return clump_heap_read_structs(t->heap, &d, NULL, values, COUNT, &count);
}

static clump_status write_structs(const trial *t) {
    const clump_struct_field field = {t->kind->field, 0};
    const clump_struct_desc d = {sizeof d, "A", sizeof *zeros, 1, &field};
    return clump_heap_write_structs(t->heap, &d, NULL, zeros, there(t));
}

static clump_status copy_from_buffer(const trial *t) {
    cl_int code;
    cl_mem buffer = clCreateBuffer(on.context, CL_MEM_COPY_HOST_PTR, sizeof ids, ids, &code);
    CHECK_CL(code);
    const clump_status status = clump_heap_copy_field(
        t->heap, "A", t->kind->field, 0, CLUMP_COPY_FROM_BUFFER, buffer, 0, there(t), NULL);
    CHECK_CL(clReleaseMemObject(buffer));
    return status;
}

static uint64_t offsets[COUNT + 1];

static clump_status read_arrays(const trial *t) {
    return clump_heap_read_arrays(t->heap, "A", t->kind->field, NULL, there(t), offsets, 0, NULL,
                                  0);
}

static clump_status write_arrays(const trial *t) {
    memset(offsets, 0, sizeof offsets);
    return clump_heap_write_arrays(t->heap, "A", t->kind->field, NULL, there(t), offsets, 0, NULL,
                                   0);
}

static clump_status write_csv(const trial *t) {
    return clump_heap_write_table(t->heap, "A", CLUMP_TABLE_CSV, ignore_text, NULL);
}

static clump_status write_npy(const trial *t) {
    return clump_heap_write_table(t->heap, "A", CLUMP_TABLE_NPY, ignore_text, NULL);
}

static clump_status emit_c(const trial *t) {
    return clump_schema_emit_c(clump_heap_get_info(t->heap)->schema, NULL, ignore_text, NULL, NULL);
}

static clump_status fuse(const trial *t) {
    static const char text[] =
        "__kernel void count_up(CLUMP_HEAP_NO_ALLOC) {\n"
        "    CLUMP_FOR_EACH(A, self) A_id(self) += 1u;\n"
        "}\n"
        "__kernel void sum(CLUMP_HEAP_NO_ALLOC) {\n"
        "    uint n = 0;\n"
        "    CLUMP_FOR_EACH(A, self) n += A_id(self);\n"
        "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
        "}\n";
    clump_program *program = cl_fixture_program(&on, t->heap, text, NULL, NULL);
    clump_kernel *kernels[] = {cl_fixture_kernel(&on, program, "count_up"),
                               cl_fixture_kernel(&on, program, "sum")},
                 *fused;
    uint32_t sum = 0, expected = 0;
    clump_status status = clump_kernel_create_fused(kernels, 2, &fused, NULL);
    for (uint32_t i = 0; i < there(t); i++) expected += ids[i] + 1;
    if (!status) status = clump_heap_reduce(t->heap, fused, sizeof sum, &sum, NULL);
    if (!status) assert_int_equal(sum, expected);
    clump_kernel_destroy(fused);
    for (int i = 0; i < 2; i++) clump_kernel_destroy(kernels[i]);
    clump_program_destroy(program);
    return status;
}

/* call: in the message; is_of_field: the field counts, not the heap; 2: only for an array of run-time
 * length. */
typedef struct operation {
    int number;
    const char *call;
    clump_status (*run)(const trial *);
    int is_of_field;
} operation;
enum { NEVER_REFUSED = -1 };
static const operation operations[] = {
    {CLUMPI_OP_SAVE, "clump_heap_save", save, 0},
    {CLUMPI_OP_LOAD, "clump_heap_load", load, 0},
    {CLUMPI_OP_EXTRACT, "clump_heap_extract", take, 0},
    {CLUMPI_OP_EXTRACT, "clump_heap_extract", migrate_from, 0},
    {NEVER_REFUSED, "clump_extract_create", extract_of, 0},
    {NEVER_REFUSED, "clump_extract_load", load_extract, 0},
    {NEVER_REFUSED, "clump_heap_insert", insert, 0},
    {NEVER_REFUSED, "clump_heap_insert", migrate_into, 0},
    {CLUMPI_OP_COPY, "clump_heap_copy", copy_heap, 0},
    {CLUMPI_OP_CONVERT, "clump_heap_convert", convert, 0},
    {CLUMPI_OP_COMPACT, "clump_heap_compact", compact, 0},
    {CLUMPI_OP_COMPACT, "clump_heap_compact", put_in_order, 0},
    {CLUMPI_OP_COLLECT, "clump_heap_collect", collect, 0},
    {CLUMPI_OP_EVICT, "clump_heap_evict", evict, 0},
    {CLUMPI_OP_EVICT, "clump_heap_bring_back", bring_back, 0},
    {CLUMPI_OP_EVICT, "clump_heap_age_blocks", age_blocks, 0},
    {CLUMPI_OP_FINDINGS, "clump_heap_take_findings", take_findings, 0},
    {CLUMPI_OP_FINDINGS, "clump_heap_check_memory", check_memory, 0},
    {CLUMPI_OP_FINDINGS, "clump_heap_read_live", read_live, 0},
    {CLUMPI_OP_READ_FIELD, "", read_field, 1},
    {CLUMPI_OP_READ_FIELD, "", read_structs, 1},
    {CLUMPI_OP_WRITE_FIELD, "", write_field, 1},
    {CLUMPI_OP_WRITE_FIELD, "", write_structs, 1},
    {CLUMPI_OP_FROM_BUFFER, "clump_heap_copy_field", copy_from_buffer, 1},
    {NEVER_REFUSED, "clump_heap_read_arrays", read_arrays, 2},
    {NEVER_REFUSED, "clump_heap_write_arrays", write_arrays, 2},
    {NEVER_REFUSED, "clump_heap_write_table", write_csv, 0},
    {NEVER_REFUSED, "clump_heap_write_table", write_npy, 0},
    {NEVER_REFUSED, "clump_schema_emit_c", emit_c, 0},
    {CLUMPI_OP_FUSE, "clump_kernel_create_fused", fuse, 0},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- The cases ------------------------------------------------------------------------------- */

static void check_words(const cell *c, const operation *o, const trial *t) {
    const clump_error *e = clump_context_get_error(on.clump);
    const char *words = clumpi_traits[c->trait].words;
    if (e->status != c->status || !strstr(e->message, o->call) || !strstr(e->message, c->why) ||
        !strstr(e->message, c->instead) || !strstr(e->message, words))
        fail_msg("operation %d says %d: %s", (int)(o - operations), (int)e->status, e->message);
    /* Which array, and how many objects. */
    char text[64] = "";
    if (c->trait == CLUMPI_NUMBER_EVICTED)
        snprintf(text, sizeof text, "%d objects", COUNT);
    else if (*words == ' ')
        snprintf(text, sizeof text, "field %s of class A", o->is_of_field ? t->kind->field : "w");
    assert_non_null(strstr(e->message, text));
}

static void read_state(clump_heap *heap, clump_heap_stats *stats, uint32_t *values) {
    CHECK_HEAP(&on, heap);
    CHECK_OK(&on, clump_heap_read_stats(heap, stats, NULL, 0));
    memset(values, 0, COUNT * sizeof *values);
    CHECK_OK(&on, clump_heap_read_field(heap, "A", "id", 0, sizeof *values, values, COUNT, NULL));
}

static void try_operation(const kind *k, const operation *o) {
    const trial t = {k, make(k->traits)};
    cell *c = find_cell(o->number, o->is_of_field ? k->of_field : k->traits);
    clump_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    uint32_t had[COUNT], has[COUNT];
    read_state(t.heap, &before, had);
    const clump_status status = o->run(&t);
    if (status != (c ? c->status : CLUMP_OK))
        fail_msg("traits 0x%x, operation %d: %s: %s", k->traits, (int)(o - operations),
                 clump_status_name(status), clump_context_get_error(on.clump)->message);
    if (c) {
        check_words(c, o, &t);
        c->is_met = 1;
        read_state(t.heap, &after, has);
        assert_memory_equal(&before, &after, sizeof before);
        assert_memory_equal(had, has, sizeof had);
    }
    CHECK_HEAP(&on, t.heap);
    clump_heap_destroy(t.heap);
}

static int has_pointers(void) {
    return (on.capabilities->pointers & CLUMP_POINTERS_SVM) != 0;
}

static void each_kind(void **state) {
    enum { PLAIN = CLUMPI_TRAIT_RESIDENT | CLUMPI_TRAIT_UNCHECKED };
    static const kind kinds[] = {
        {PLAIN, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_GROWING, CLUMPI_TRAIT_GROWING, "w"},
        {PLAIN | CLUMPI_TRAIT_GROWING, CLUMPI_TRAIT_PART, "w_length"},
        {PLAIN | CLUMPI_TRAIT_BOUNDED, CLUMPI_TRAIT_BOUNDED, "w"},
        {PLAIN | CLUMPI_TRAIT_BOUNDED, CLUMPI_TRAIT_LENGTH, "w_length"},
        {PLAIN | CLUMPI_TRAIT_RAW, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_WATCHED, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_POOLED, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_BECOMING, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_BECOMING | CLUMPI_TRAIT_GROWING, CLUMPI_TRAIT_GROWING, "w"},
        {CLUMPI_TRAIT_RESIDENT | CLUMPI_TRAIT_CHECKED, 0, "id"},
        {CLUMPI_TRAIT_RESIDENT | CLUMPI_TRAIT_CHECKED | CLUMPI_TRAIT_BOUNDED, CLUMPI_TRAIT_BOUNDED,
         "w"},
        {CLUMPI_TRAIT_RESIDENT | CLUMPI_TRAIT_CHECKED | CLUMPI_TRAIT_GROWING, CLUMPI_TRAIT_GROWING,
         "w"},
        {CLUMPI_TRAIT_RESIDENT | CLUMPI_TRAIT_CHECKED | CLUMPI_TRAIT_RAW, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_SEVERAL, 0, "id"},
        {PLAIN | CLUMPI_TRAIT_SEVERAL | CLUMPI_TRAIT_BOUNDED, CLUMPI_TRAIT_BOUNDED, "w"},
        {CLUMPI_TRAIT_UNCHECKED | CLUMPI_TRAIT_EVICTABLE, 0, "id"},
        {CLUMPI_TRAIT_UNCHECKED | CLUMPI_TRAIT_EVICTABLE | CLUMPI_TRAIT_BOUNDED,
         CLUMPI_TRAIT_BOUNDED, "w"},
        {CLUMPI_TRAIT_UNCHECKED | CLUMPI_TRAIT_EVICTABLE | CLUMPI_TRAIT_EVICTED, 0, "id"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const operation *o = operations; o < operations + OPERATIONS; o++) {
            if (kinds[i].traits & CLUMPI_TRAIT_SEVERAL && !has_pointers()) continue;
            if (o->is_of_field == 2 &&
                !(kinds[i].of_field & (CLUMPI_TRAIT_GROWING | CLUMPI_TRAIT_BOUNDED)))
                continue;
            if (kinds[i].of_field & (CLUMPI_TRAIT_PART | CLUMPI_TRAIT_LENGTH) && !o->is_of_field)
                continue;
            try_operation(&kinds[i], o);
        }
    for (const cell *c = cells; c->operation >= 0; c++)
        if (!c->is_met && !(c->trait == CLUMPI_NUMBER_SEVERAL && !has_pointers()))
            fail_msg("operation %d with trait %d was not tried", c->operation, c->trait);
}

static void each_pair(void **state) {
    typedef struct pair {
        int one, other;
        const char *why, *instead;
    } pair;
#define PAIR(one, other, why, instead) {CLUMPI_NUMBER_##one, CLUMPI_NUMBER_##other, why, instead},
    static const pair pairs[] = {CLUMPI_EXCLUSIONS(PAIR){.one = -1}};
    unsigned met = 0;
    for (int a = 0; a < CLUMPI_TRAIT_COUNT; a++)
        for (int b = a + 1; b < CLUMPI_TRAIT_COUNT; b++) {
            const unsigned traits = 1u << a | 1u << b;
            clump_heap *heap;
            const pair *p = pairs;
            if (traits & ~(unsigned)ASKED) continue;
            while (p->one >= 0 && (1u << p->one | 1u << p->other) != traits) p++;
            if (p->one < 0) {
                if (traits & CLUMPI_TRAIT_SEVERAL && !has_pointers()) continue;
                heap = make(traits);
                CHECK_HEAP(&on, heap);
                clump_heap_destroy(heap);
                continue;
            }
            const clump_error *e = clump_context_get_error(on.clump);
            cl_fixture_expect_words(e, create(traits, &heap), CLUMP_ERR_USAGE, p->instead, "create",
                                    __LINE__);
            assert_null(heap);
            assert_non_null(strstr(e->message, p->why));
            assert_non_null(strstr(e->message, clumpi_traits[p->one].name));
            assert_non_null(strstr(e->message, clumpi_traits[p->other].name));
            if (traits & (CLUMPI_TRAIT_GROWING | CLUMPI_TRAIT_BOUNDED))
                assert_non_null(strstr(e->message, "(field w of class A)"));
            met++;
        }
    assert_int_equal(met, sizeof pairs / sizeof *pairs - 1);
}

static int open_all(void **state) {
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = 1000 + i;
    CHECK_OK(&on, clump_pool_create(
                      &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = on.clump},
                      &pool, NULL));
    CHECK_OK(&on, clump_schema_parse(other_text, strlen(other_text), NULL, &other, NULL));
    source = make(0);
    saved = saved_bytes(&on, source, 0);
    for (int i = 0; i < 4; i++) {
        clump_heap *of = make((i & 1 ? (unsigned)CLUMPI_TRAIT_GROWING : 0) |
                              (i & 2 ? (unsigned)CLUMPI_TRAIT_BOUNDED : 0));
        CHECK_OK(&on, clump_heap_extract(
                          of,
                          &(clump_extract_desc){
                              .size = sizeof(clump_extract_desc), .classes = all, .class_count = 1},
                          &extracts[i], NULL));
        clump_heap_destroy(of);
    }
    return 0;
}

static int close_all(void **state) {
    for (int i = 0; i < 4; i++) clump_extract_destroy(extracts[i]);
    memory_release(&saved);
    clump_heap_destroy(source);
    clump_schema_destroy(other);
    clump_pool_destroy(pool);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind), cmocka_unit_test(each_pair)};
    int status = cl_fixture_open(&on, NULL);
    if (status) return status;
    status = cmocka_run_group_tests(tests, open_all, close_all);
    cl_fixture_close(&on);
    return status;
}
