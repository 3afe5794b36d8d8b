/* Saving and loading (clump/save.h): a heap with something of everything is saved, and loaded into
 * heaps of other sizes, block widths, kernels and kinds. The loaded heap has the same objects, and
 * its saved bytes are the same, every one. References outside: registered buffers, handles,
 * reserved slots. A file of the repository, which a change of the format would no longer load.
 *
 *     diff_save            the tests
 *     diff_save write      make the file of the repository anew: tests/diff/save/saved.clump
 *
 * Read first: tests/support/saved_heap.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "saved_heap.h"

#define FILE_OF_REPOSITORY CLUMP_SOURCE_DIR "/tests/diff/save/saved.clump"

enum { BYTES = 8 << 20, OBJECTS = 9000 };

static cl_fixture on; /* with the kernels that the environment asks for */
static clump_heap *heap;

static int open_heap(void **state) {
    heap = cl_fixture_heap_as(
        &on, saved_schema,
        &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2});
    return 0;
}

static int close_heap(void **state) {
    clump_heap_destroy(heap);
    return 0;
}

static void expect_bytes(const memory_file *a, const memory_file *b) {
    assert_int_equal(a->bytes, b->bytes);
    for (size_t i = 0; i < a->bytes; i++)
        if (a->data[i] != b->data[i]) fail_msg("byte %zu of %zu differs", i, a->bytes);
}

/* Load into a heap, compare, save it again, and compare the bytes. */
static void round_trip(const cl_fixture *f, const clump_heap_desc *desc, memory_file *file,
                       uint32_t piece_bytes) {
    clump_heap *loaded = cl_fixture_heap_as(f, saved_schema, desc);
    clump_load_report report = {.size = sizeof report};
    CHECK_OK(f, load_bytes(loaded, file, &report));
    assert_int_equal(report.bytes, file->bytes);
    assert_int_equal(file->at, file->bytes); /* no more and no less was read */
    assert_int_equal(report.fields_lost + report.fields_gained, 0);
    CHECK_HEAP(f, loaded);
    saved_compare(&on, heap, f, loaded);
    memory_file again = saved_bytes(f, loaded, piece_bytes);
    expect_bytes(file, &again);
    memory_release(&again);
    clump_heap_destroy(loaded);
}

/* ---- A heap without arrays that grow pays nothing for them ----------------------------------- */

/* Commands of a save. */
enum { NAMES = 16 };
static struct {
    struct {
        char name[40];
        uint32_t launches;
    } kernels[NAMES];
    uint32_t names, reads, writes;
} commands;

static cl_int CL_API_CALL count_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                       const size_t *at, const size_t *global, const size_t *local,
                                       cl_uint count, const cl_event *waits, cl_event *event) {
    char name[sizeof commands.kernels->name] = "";
    uint32_t i = 0;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    while (i < commands.names && strcmp(commands.kernels[i].name, name) != 0) i++;
    if (i < NAMES) {
        memcpy(commands.kernels[i].name, name, sizeof name);
        commands.kernels[i].launches++;
        if (i == commands.names) commands.names++;
    }
    return clEnqueueNDRangeKernel(queue, kernel, dimensions, at, global, local, count, waits,
                                  event);
}

static cl_int CL_API_CALL count_read(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                     size_t at, size_t bytes, void *data, cl_uint count,
                                     const cl_event *waits, cl_event *event) {
    commands.reads++;
    return clEnqueueReadBuffer(queue, buffer, blocks, at, bytes, data, count, waits, event);
}

static cl_int CL_API_CALL count_write(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                      size_t at, size_t bytes, const void *data, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
    commands.writes++;
    return clEnqueueWriteBuffer(queue, buffer, blocks, at, bytes, data, count, waits, event);
}

static const clump_cl_functions counting = {.size = sizeof counting,
                                            .EnqueueNDRangeKernel = count_launch,
                                            .EnqueueReadBuffer = count_read,
                                            .EnqueueWriteBuffer = count_write};

static void expect_launches(const char *name, uint32_t launches) {
    for (uint32_t i = 0; i < commands.names; i++) {
        if (strcmp(commands.kernels[i].name, name) != 0) continue;
        if (commands.kernels[i].launches != launches)
            fail_msg("%s runs %u times, not %u", name, commands.kernels[i].launches, launches);
        commands.kernels[i].launches = 0;
        return;
    }
    fail_msg("%s does not run", name);
}

/* Columns of all classes that have objects, and those of references. */
static void count_columns(uint32_t *columns, uint32_t *of_refs) {
    const clump_schema_info *schema = clump_schema_get_info(clump_heap_get_info(heap)->schema);
    *columns = *of_refs = 0;
    for (uint32_t id = 1; id <= schema->class_count; id++) {
        uint64_t objects = 0;
        if (schema->classes[id]->is_abstract) continue;
        CHECK_OK(&on, clump_heap_read_count(heap, schema->classes[id]->name, &objects));
        for (uint32_t c = objects ? id : 0; c; c = schema->classes[c]->base)
            for (uint32_t i = 0; i < schema->classes[c]->field_count; i++) {
                ++*columns;
                *of_refs += schema->classes[c]->fields[i]->type == CLUMP_TYPE_REF;
            }
    }
}

/* Its save runs two kernels for each column, one more for each of references, and each other kernel
 * once. Its programs are without the text of arrays. */
static void without_arrays(void **state) {
    static const char source[] =
        "#ifdef CLUMPI_ARRAYS_CLH\n"
        "#error a program has the text of arrays without having any\n"
        "#endif\n"
        "__kernel void nothing(CLUMP_HEAP) {}\n";
    uint32_t columns, of_refs;
    saved_fill(&on, heap, 5, OBJECTS);
    count_columns(&columns, &of_refs);
    memset(&commands, 0, sizeof commands);
    memory_file file = {0};
    const clump_save_desc desc = {.size = sizeof desc, .write = memory_write, .user = &file};
    CHECK_OK(&on, clump_heap_save(heap, &desc, NULL));
    expect_launches("clumpi_struct_all", columns);
    expect_launches("clumpi_save_sums", columns);
    expect_launches("clumpi_dense_numbers", of_refs);
    for (uint32_t i = 0; i < commands.names; i++)
        if (commands.kernels[i].launches > 1 || strstr(commands.kernels[i].name, "elements"))
            fail_msg("%s runs %u times", commands.kernels[i].name, commands.kernels[i].launches);
    assert_int_equal(commands.reads, columns + 3); /* pieces; two counts, and what dangles */
    assert_int_equal(commands.writes, 0);
    memory_release(&file);
    cl_fixture_expect_build(&on, saved_schema, source, NULL, NULL);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void geometries(void **state) {
    saved_fill(&on, heap, 1, OBJECTS);
    memory_file file = saved_bytes(&on, heap, 0);
    static const clump_heap_desc heaps[] = {
        {.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 1},
        {.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 2},
        {.size = sizeof(clump_heap_desc), .bytes = 2 * BYTES, .block_rows = 7},
        {.size = sizeof(clump_heap_desc), .bytes = 8 * BYTES, .block_rows = 64},
        {.size = sizeof(clump_heap_desc), .bytes = 3 * BYTES},
        {.size = sizeof(clump_heap_desc), .bytes = BYTES, .watch_handles = 1}};
    for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++) round_trip(&on, &heaps[i], &file, 0);
    memory_release(&file);
}

/* Kernels for CPUs and for GPUs, 32-bit words, queues out of order. */
static void devices(void **state) {
    saved_fill(&on, heap, 2, OBJECTS);
    memory_file file = saved_bytes(&on, heap, 0);
    static const cl_fixture_desc others[] = {{.personality = CLUMP_PERSONALITY_CPU},
                                             {.personality = CLUMP_PERSONALITY_GPU},
                                             {.disable = CLUMP_FEATURE_ALL, .out_of_order = 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cl_fixture f;
        const int code =
            i ? cl_fixture_open_other(&f, &others[i]) : cl_fixture_open(&f, &others[i]);
        if (code == CL_FIXTURE_SKIP) continue; /* or no such queue */
        assert_int_equal(code, 0);
        round_trip(
            &f,
            &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES, .block_rows = 3},
            &file, 0);
        cl_fixture_close(&f);
    }
    memory_release(&file);
}

/* Pieces of a few objects; of a field larger than a piece, one. The values do not depend on
 * them. */
static void pieces(void **state) {
    saved_fill(&on, heap, 3, OBJECTS);
    const uint32_t sizes[] = {4096, 4100, 65536, 64 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memory_file file = saved_bytes(&on, heap, sizes[i]);
        round_trip(&on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, &file,
                   sizes[i]);
        memory_release(&file);
    }
    static const char wide[] = "class Wide { uint id; uchar all[20000]; ref Wide other; }";
    clump_heap *a = cl_fixture_heap(&on, wide, 16 << 20, 1),
               *b = cl_fixture_heap(&on, wide, 16 << 20, 2);
    clump_struct_desc none = {.size = sizeof none, .class_name = "Wide", .bytes = 4};
    uint32_t structs[100] = {0}, ids[100];
    CHECK_OK(&on, clump_heap_new_structs(a, &none, structs, 100, NULL, NULL));
    for (uint32_t i = 0; i < 100; i++) ids[i] = i * i;
    CHECK_OK(&on, clump_heap_write_field(a, "Wide", "id", 0, sizeof *ids, ids, 100));
    uint8_t bytes[100];
    for (uint32_t e = 0; e < 20000; e += 97) {
        for (uint32_t i = 0; i < 100; i++) bytes[i] = (uint8_t)(e + i);
        CHECK_OK(&on, clump_heap_write_field(a, "Wide", "all", e, sizeof *bytes, bytes, 100));
    }
    memory_file file = saved_bytes(&on, a, 4096);
    CHECK_OK(&on, load_bytes(b, &file, NULL));
    for (uint32_t e = 0; e < 20000; e += 97) {
        CHECK_OK(&on, clump_heap_read_field(b, "Wide", "all", e, sizeof *bytes, bytes, 100, NULL));
        for (uint32_t i = 0; i < 100; i++) assert_int_equal(bytes[i], (uint8_t)(e + i));
    }
    CHECK_HEAP(&on, b);
    memory_release(&file);
    clump_heap_destroy(a);
    clump_heap_destroy(b);
}

static void no_objects(void **state) {
    memory_file file = saved_bytes(&on, heap, 0);
    round_trip(&on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, &file, 0);
    memory_release(&file);
}

/* The loaded heap works on: objects are made, freed and compacted; and what was saved is as it
 * was. */
static void used_afterwards(void **state) {
    saved_fill(&on, heap, 4, OBJECTS);
    memory_file file = saved_bytes(&on, heap, 0);
    clump_heap *loaded = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 2 * BYTES});
    CHECK_OK(&on, load_bytes(loaded, &file, NULL));
    saved_fill(&on, loaded, 5, OBJECTS / 2);
    CHECK_OK(&on, clump_heap_compact(loaded, NULL, NULL, NULL));
    CHECK_HEAP(&on, loaded);
    clump_heap_destroy(loaded);
    memory_file again = saved_bytes(&on, heap, 0);
    expect_bytes(&file, &again);
    memory_release(&again);
    memory_release(&file);
}

/* Fill, free all, load: a heap need not be new. */
static void into_a_used_heap(void **state) {
    static const char text[] = "class A { uint v; ref A next; }";
    static const char source[] =
        "__kernel void drop(CLUMP_HEAP) { CLUMP_FOR_EACH(A, a) A_free(a); }\n";
    const clump_struct_desc none = {.size = sizeof none, .class_name = "A", .bytes = 4};
    clump_heap *a = cl_fixture_heap(&on, text, 2 << 20, 2);
    uint32_t structs[1000] = {0}, values[1000];
    CHECK_OK(&on, clump_heap_new_structs(a, &none, structs, 1000, NULL, NULL));
    for (uint32_t i = 0; i < 1000; i++) values[i] = ~i;
    CHECK_OK(&on, clump_heap_write_field(a, "A", "v", 0, sizeof *values, values, 1000));
    memory_file file = saved_bytes(&on, a, 0);
    CHECK_STATUS(&on, load_bytes(a, &file, NULL), CLUMP_ERR_USAGE); /* it has objects */
    clump_program *program = cl_fixture_program(&on, a, source, NULL, NULL);
    clump_kernel *drop = cl_fixture_kernel(&on, program, "drop");
    for (int i = 0; i < 3; i++) {
        CHECK_OK(&on, clump_heap_do_all(a, drop, NULL));
        CHECK_OK(&on, load_bytes(a, &file, NULL));
        CHECK_OK(&on, clump_heap_read_field(a, "A", "v", 0, sizeof *values, values, 1000, NULL));
        for (uint32_t k = 0; k < 1000; k++) assert_int_equal(values[k], ~k);
        CHECK_HEAP(&on, a);
    }
    clump_kernel_destroy(drop);
    clump_program_destroy(program);
    memory_release(&file);
    clump_heap_destroy(a);
}

/* ---- References outside ---------------------------------------------------------------------- */

enum { HANDLES = 150, PACKED = 700, SPREAD = 40, COUNTED = 300, COUNT_NOW = 123 };

/* Buffers of references, as one registers them: packed; every third word; with a count. */
typedef struct outside {
    cl_mem packed, spread, counted, count;
    clump_refs *refs[3];
} outside;

static outside outside_of(const cl_fixture *f, clump_heap *h, uint32_t more) {
    outside o = {.packed = cl_fixture_buffer(f, NULL, (PACKED + more) * 4),
                 .spread = cl_fixture_buffer(f, NULL, (SPREAD + more) * 12 + 8),
                 .counted = cl_fixture_buffer(f, NULL, (COUNTED + more) * 4),
                 .count = cl_fixture_buffer(f, NULL, 8)};
    const clump_refs_desc descs[3] = {
        {.size = sizeof(clump_refs_desc), .buffer = o.packed, .count = PACKED + more},
        {.size = sizeof(clump_refs_desc),
         .buffer = o.spread,
         .count = SPREAD + more,
         .offset = 8,
         .stride = 12,
         .weak = 1},
        {.size = sizeof(clump_refs_desc),
         .buffer = o.counted,
         .count = COUNTED + more,
         .counted = o.count,
         .counted_at = 4}};
    for (int i = 0; i < 3; i++) CHECK_OK(f, clump_refs_create(h, &descs[i], &o.refs[i], NULL));
    return o;
}

static void outside_release(outside *o) {
    for (int i = 0; i < 3; i++) clump_refs_destroy(o->refs[i]);
    clReleaseMemObject(o->packed);
    clReleaseMemObject(o->spread);
    clReleaseMemObject(o->counted);
    clReleaseMemObject(o->count);
}

static clump_ref random_ref(const clump_ref *refs, uint32_t count, uint64_t *random) {
    return test_random(random, 10) ? refs[test_random(random, count)] : 0;
}

static void outside_fill(const cl_fixture *f, const outside *o, const clump_ref *refs,
                         uint32_t count) {
    static clump_ref packed[PACKED], spread[SPREAD * 3 + 2], counted[COUNTED];
    uint64_t random = 11;
    const uint32_t now[2] = {77, COUNT_NOW};
    for (int i = 0; i < PACKED; i++) packed[i] = random_ref(refs, count, &random);
    for (int i = 0; i < SPREAD * 3 + 2; i++) spread[i] = 0xabcd0000u + (uint32_t)i;
    for (int i = 0; i < SPREAD; i++) spread[2 + 3 * i] = random_ref(refs, count, &random);
    for (int i = 0; i < COUNTED; i++) counted[i] = random_ref(refs, count, &random);
    cl_fixture_write(f, o->packed, packed, sizeof packed);
    cl_fixture_write(f, o->spread, spread, sizeof spread);
    cl_fixture_write(f, o->counted, counted, sizeof counted);
    cl_fixture_write(f, o->count, now, sizeof now);
}

static void compare_words(const cl_fixture *f, cl_mem a, const cl_fixture *g, cl_mem b,
                          const clump_ref *x, const clump_ref *y, uint32_t objects, uint32_t first,
                          uint32_t stride, uint32_t count) {
    const size_t words = first + (size_t)stride * (count - 1) + 1;
    clump_ref *p = malloc(words * 4), *q = malloc(words * 4);
    cl_fixture_read(f, a, p, words * 4);
    cl_fixture_read(g, b, q, words * 4);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t n = saved_number(x, objects, p[first + i * stride]);
        assert_int_not_equal(n, UINT32_MAX - 1);
        assert_int_equal(saved_number(y, objects, q[first + i * stride]), n);
    }
    free(p);
    free(q);
}

/* What is beyond the references of the file is null; what is between them is as it was. */
static void expect_rest(const cl_fixture *f, const outside *o, uint32_t more) {
    clump_ref packed[PACKED + 100], spread[(SPREAD + 100) * 3 + 2], counted[COUNTED + 100];
    uint32_t now[2];
    cl_fixture_read(f, o->packed, packed, (PACKED + more) * 4);
    cl_fixture_read(f, o->spread, spread, (SPREAD + more) * 12 + 8);
    cl_fixture_read(f, o->counted, counted, (COUNTED + more) * 4);
    cl_fixture_read(f, o->count, now, sizeof now);
    for (uint32_t i = PACKED; i < PACKED + more; i++) assert_int_equal(packed[i], 0);
    for (uint32_t i = 0; i < (SPREAD + more) * 3 + 2; i++)
        if (i < 2 || (i - 2) % 3) assert_int_equal(spread[i], 0x5a5a5a5a);
    for (uint32_t i = COUNT_NOW; i < COUNTED + more; i++) assert_int_equal(counted[i], 0);
    assert_int_equal(now[0], 0x5a5a5a5a);
    assert_int_equal(now[1], COUNT_NOW);
}

static void soil(const cl_fixture *f, const outside *o, uint32_t more) {
    uint8_t all[(PACKED + 100) * 4];
    memset(all, 0x5a, sizeof all);
    cl_fixture_write(f, o->packed, all, (PACKED + more) * 4);
    cl_fixture_write(f, o->spread, all, (SPREAD + more) * 12 + 8);
    cl_fixture_write(f, o->counted, all, (COUNTED + more) * 4);
    cl_fixture_write(f, o->count, all, 8);
}

static void load_outside(const cl_fixture *f, memory_file *file, const outside *from,
                         const clump_ref *x, uint32_t objects, const clump_handle *handles,
                         int watch, uint32_t more) {
    clump_heap *loaded = cl_fixture_heap_as(f, saved_schema,
                                            &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                               .bytes = 2 * BYTES,
                                                               .block_rows = 1,
                                                               .watch_handles = watch});
    outside o = outside_of(f, loaded, more);
    clump_load_report report = {.size = sizeof report};
    clump_ref *y, ref, ours;
    soil(f, &o, more);
    CHECK_OK(f, load_bytes(loaded, file, &report));
    assert_int_equal(report.registered, PACKED + SPREAD + COUNT_NOW);
    assert_int_equal(report.handles, HANDLES - HANDLES / 5);
    assert_int_equal(saved_refs(f, loaded, &y), objects);
    compare_words(&on, from->packed, f, o.packed, x, y, objects, 0, 1, PACKED);
    compare_words(&on, from->spread, f, o.spread, x, y, objects, 2, 3, SPREAD);
    compare_words(&on, from->counted, f, o.counted, x, y, objects, 0, 1, COUNT_NOW);
    expect_rest(f, &o, more);
    for (int i = 0; i < HANDLES; i++) {
        if (i % 5 == 2) {
            CHECK_STATUS(f, clump_heap_read_handle(loaded, handles[i], &ref), CLUMP_ERR_USAGE);
            continue;
        }
        CHECK_OK(f, clump_heap_read_handle(loaded, handles[i], &ref));
        CHECK_OK(&on, clump_heap_read_handle(heap, handles[i], &ours));
        assert_int_equal(saved_number(y, objects, ref), saved_number(x, objects, ours));
    }
    clump_handle next; /* a number that was free */
    CHECK_OK(f, clump_heap_create_handle(loaded, y[0], &next));
    assert_int_equal(next, handles[2]);
    CHECK_OK(f, clump_heap_destroy_handle(loaded, next));
    CHECK_HEAP(f, loaded);
    /* They are the heap's own from now on. */
    CHECK_OK(f, clump_heap_compact(loaded, NULL, NULL, NULL));
    CHECK_OK(f, clump_heap_check(loaded));
    memory_file again = saved_bytes(f, loaded, 4096);
    if (!more) assert_int_equal(again.bytes, file->bytes);
    memory_release(&again);
    outside_release(&o);
    clump_heap_destroy(loaded);
    free(y);
}

/* ---- Without a device ------------------------------------------------------------------------ */

typedef struct parts {
    const clump_ref *refs; /* of the heap that was saved, by number */
    uint32_t objects;
    const outside *o;
    const clump_handle *handles; /* or NULL */
    uint64_t values, references; /* bytes, and references outside, so far */
    int stop_at;                 /* returns 9 at this part; 0: at none */
} parts;

/* Numbers from 1 on in place of references; 0 is null. */
static void to_numbers(const parts *p, clump_ref *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t n = saved_number(p->refs, p->objects, words[i]);
        assert_int_not_equal(n, UINT32_MAX - 1);
        words[i] = n + 1;
    }
}

static void compare_values(const parts *p, const clump_class_info *c,
                           const clump_saved_part *part) {
    const clump_field_info *f = part->field;
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_count(heap, c->name, &count)); /* subclasses come after it */
    uint8_t *ours = malloc(count * f->element_bytes + 1);
    for (uint32_t e = 0; e < part->bytes / f->element_bytes; e++) {
        CHECK_OK(&on, clump_heap_read_field(heap, c->name, f->name, e, f->element_bytes, ours,
                                            count, NULL));
        uint8_t *from = ours + part->from * f->element_bytes;
        if (f->type == CLUMP_TYPE_REF) to_numbers(p, (clump_ref *)from, part->count);
        for (uint32_t i = 0; i < part->count; i++)
            if (memcmp((const uint8_t *)part->data + i * part->bytes + e * f->element_bytes,
                       from + i * f->element_bytes, f->element_bytes) != 0)
                fail_msg("%s.%s[%u] of object %u differs", c->name, f->name, e,
                         (unsigned)part->from + i);
    }
    free(ours);
}

static void compare_outside(const parts *p, const clump_saved_part *part) {
    static const uint32_t first[3] = {0, 2, 0}, stride[3] = {1, 3, 1};
    const cl_mem buffers[3] = {p->o->packed, p->o->spread, p->o->counted};
    const clump_ref *theirs = part->data;
    static clump_ref words[PACKED];
    const uint32_t b = part->buffer;
    for (uint32_t i = 0; i < part->count && b == CLUMP_SAVED_HANDLES; i++) {
        clump_ref ref = 0; /* numbers that were given back have none */
        if ((part->from + i) % 5 != 2)
            CHECK_OK(&on, clump_heap_read_handle(heap, p->handles[part->from + i], &ref));
        to_numbers(p, &ref, 1);
        assert_int_equal(theirs[i], ref);
    }
    if (b == CLUMP_SAVED_HANDLES) return;
    assert_in_range(b, 0, 2);
    cl_fixture_read(&on, buffers[b], words,
                    (first[b] + stride[b] * (part->from + part->count - 1) + 1) * sizeof *words);
    for (uint32_t i = 0; i < part->count; i++) {
        clump_ref *at = &words[first[b] + stride[b] * (part->from + i)];
        to_numbers(p, at, 1);
        assert_int_equal(theirs[i], *at);
    }
}

static int take_part(void *user, const clump_saved *saved, const clump_saved_part *part) {
    parts *p = user;
    clump_class_info c;
    if (p->stop_at && !--p->stop_at) return 9;
    if (part->field) {
        c = *clump_schema_get_info(clump_saved_get_info(saved)->schema)->classes[part->class_id];
        compare_values(p, &c, part);
        p->values += part->count * part->bytes;
    } else {
        assert_int_equal(part->bytes, sizeof(clump_ref));
        compare_outside(p, part);
        p->references += part->count;
    }
    return 0;
}

/* All parts are what the heap has; nothing is missing, and the function can end it. */
static void read_parts(memory_file *file, parts p, uint64_t references) {
    const clump_load_desc load = {.size = sizeof load, .read = memory_read, .user = file};
    clump_save_report report = {.size = sizeof report};
    memory_file again = {0};
    clump_error error;
    CHECK_OK(&on, clump_heap_save(
                      heap,
                      &(clump_save_desc){
                          .size = sizeof(clump_save_desc), .write = memory_write, .user = &again},
                      &report));
    memory_release(&again);
    file->at = 0;
    if (clump_saved_read(&load, NULL, take_part, &p, &error)) fail_msg("%s", error.message);
    assert_int_equal(p.values, report.value_bytes);
    assert_int_equal(p.references, references);
    p.stop_at = 2;
    file->at = 0;
    assert_int_equal(clump_saved_read(&load, NULL, take_part, &p, &error), CLUMP_ERR_IO);
    assert_non_null(strstr(error.message, "returned 9"));
}

static void references_outside(void **state) {
    clump_handle handles[HANDLES];
    clump_ref *x;
    uint64_t random = 5;
    saved_fill(&on, heap, 6, OBJECTS / 2);
    outside o = outside_of(&on, heap, 0);
    const uint32_t objects = saved_refs(&on, heap, &x);
    outside_fill(&on, &o, x, objects);
    for (int i = 0; i < HANDLES; i++)
        CHECK_OK(&on,
                 clump_heap_create_handle(heap, x[test_random(&random, objects)], &handles[i]));
    for (int i = HANDLES; i-- > 0;)
        if (i % 5 == 2) CHECK_OK(&on, clump_heap_destroy_handle(heap, handles[i]));
    memory_file file = saved_bytes(&on, heap, 4096);
    read_parts(&file, (parts){.refs = x, .objects = objects, .o = &o, .handles = handles},
               PACKED + SPREAD + COUNT_NOW + HANDLES);
    load_outside(&on, &file, &o, x, objects, handles, 0, 0);
    load_outside(&on, &file, &o, x, objects, handles, 1, 100);
    cl_fixture other;
    if (!cl_fixture_open_other(&other, &(cl_fixture_desc){.personality = CLUMP_PERSONALITY_GPU})) {
        load_outside(&other, &file, &o, x, objects, handles, 1, 7);
        cl_fixture_close(&other);
    }
    memory_release(&file);
    outside_release(&o);
    free(x);
}

static void reserved_slots(void **state) {
    clump_heap *loaded = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 2 * BYTES});
    clump_heap_stats stats = {.size = sizeof stats};
    clump_class_stats classes[16] = {{.size = sizeof *classes}};
    CHECK_OK(&on, clump_heap_reserve(heap, "Leaf", 500, NULL));
    CHECK_OK(&on, clump_heap_reserve(loaded, "Box", 5, NULL));
    saved_fill(&on, heap, 7, 600);
    memory_file file = saved_bytes(&on, heap, 0), again;
    CHECK_OK(&on, load_bytes(loaded, &file, NULL));
    again = saved_bytes(&on, loaded, 0);
    expect_bytes(&file, &again);
    /* They are there: a list reserves them. */
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_refs(loaded, "Node", NULL, 0, &count));
    CHECK_OK(&on, clump_heap_read_stats(loaded, &stats, classes, 16));
    if (on.capabilities->word_bits == 64)
        assert_true(classes[cl_fixture_class_id(loaded, "Leaf") - 1].reserved >= 500);
    memory_release(&file);
    memory_release(&again);
    clump_heap_destroy(loaded);
}

/* A reference to an object that was freed, or to one of a class that the field does not have, is
 * null in the file. */
static void dangling(void **state) {
    static const char text[] =
        "class A { uint v; ref A next; } class B { uint v; ref A a; ref B b; }";
    static const char source[] =
        "__kernel void drop(CLUMP_HEAP) { CLUMP_FOR_EACH(A, a) if (A_v(a) % 4 == 0) A_free(a); }\n";
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL}, b = {sizeof b, "B", 4, 0, NULL};
    enum { COUNT = 400 };
    uint32_t structs[COUNT] = {0}, values[COUNT];
    clump_ref as[COUNT], bs[COUNT], wrong[COUNT];
    clump_heap *h = cl_fixture_heap(&on, text, 2 << 20, 1),
               *loaded = cl_fixture_heap(&on, text, 2 << 20, 3);
    CHECK_OK(&on, clump_heap_new_structs(h, &a, structs, COUNT, as, NULL));
    CHECK_OK(&on, clump_heap_new_structs(h, &b, structs, COUNT, bs, NULL));
    for (uint32_t i = 0; i < COUNT; i++) values[i] = i;
    CHECK_OK(&on, clump_heap_write_field(h, "A", "v", 0, sizeof *values, values, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "B", "v", 0, sizeof *values, values, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "B", "a", 0, sizeof *as, as, COUNT));
    for (uint32_t i = 0; i < COUNT; i++) wrong[i] = i % 2 ? as[i] : i % 8 ? bs[i] : 0xfffff000u + i;
    CHECK_OK(&on, clump_heap_write_field(h, "B", "b", 0, sizeof *wrong, wrong, COUNT));
    clump_program *program = cl_fixture_program(&on, h, source, NULL, NULL);
    clump_kernel *drop = cl_fixture_kernel(&on, program, "drop");
    CHECK_OK(&on, clump_heap_do_all(h, drop, NULL));
    memory_file file = {0};
    clump_save_report report = {.size = sizeof report};
    CHECK_OK(&on, clump_heap_save(
                      h,
                      &(clump_save_desc){
                          .size = sizeof(clump_save_desc), .write = memory_write, .user = &file},
                      &report));
    assert_int_equal(report.objects, 2 * COUNT - COUNT / 4);
    assert_int_equal(report.dangling, COUNT / 4 + COUNT / 2 + COUNT / 8);
    assert_int_equal(report.bytes, file.bytes);
    CHECK_OK(&on, load_bytes(loaded, &file, NULL));
    clump_ref refs[COUNT], all[COUNT];
    uint64_t count;
    CHECK_OK(&on, clump_heap_read_refs(loaded, "A", all, COUNT, &count));
    CHECK_OK(&on, clump_heap_read_field(loaded, "B", "a", 0, sizeof *refs, refs, COUNT, NULL));
    for (uint32_t i = 0, at = 0; i < COUNT; i++) assert_int_equal(refs[i], i % 4 ? all[at++] : 0);
    CHECK_OK(&on, clump_heap_read_refs(loaded, "B", all, COUNT, &count));
    CHECK_OK(&on, clump_heap_read_field(loaded, "B", "b", 0, sizeof *refs, refs, COUNT, NULL));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(refs[i], i % 2 || i % 8 == 0 ? 0 : all[i]);
    CHECK_HEAP(&on, loaded);
    clump_kernel_destroy(drop);
    clump_program_destroy(program);
    memory_release(&file);
    clump_heap_destroy(h);
    clump_heap_destroy(loaded);
}

/* Checked heaps have other layouts and generations in references; what they save is the same. */
static void checked_heaps(void **state) {
    const clump_checked_desc checks = {.size = sizeof checks};
    const clump_heap_desc checked = {
        .size = sizeof checked, .bytes = 2 * BYTES, .block_rows = 4, .checked = &checks};
    saved_fill(&on, heap, 8, 1500);
    memory_file file = saved_bytes(&on, heap, 0);
    round_trip(&on, &checked, &file, 0);
    clump_heap *loaded = cl_fixture_heap_as(&on, saved_schema, &checked);
    CHECK_OK(&on, load_bytes(loaded, &file, NULL));
    if (clump_heap_get_info(loaded)->generations) { /* references that the library gives have one */
        clump_ref *refs;
        const uint32_t count = saved_refs(&on, loaded, &refs);
        assert_true(count > 0);
        free(refs);
    }
    memory_file again = saved_bytes(&on, loaded, 0);
    clump_heap *plain = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES});
    CHECK_OK(&on, load_bytes(plain, &again, NULL));
    saved_compare(&on, heap, &on, plain);
    memory_release(&file);
    memory_release(&again);
    clump_heap_destroy(loaded);
    clump_heap_destroy(plain);
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef struct told {
    uint64_t done, all;
    uint32_t calls, stop_at;
} told;

static int tell(void *user, uint64_t done, uint64_t all) {
    told *t = user;
    assert_true(done > t->done && done <= all && (!t->all || t->all == all));
    t->done = done;
    t->all = all;
    return ++t->calls == t->stop_at ? 5 : 0;
}

static void files(void **state) {
    char folder[] = "/tmp/clump-save-XXXXXX", path[64], part[80];
    struct stat found;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/heap", folder);
    snprintf(part, sizeof part, "%s.part", path);
    saved_fill(&on, heap, 9, OBJECTS);
    told t = {0};
    clump_save_report saved = {.size = sizeof saved};
    clump_load_report loaded = {.size = sizeof loaded};
    const clump_save_desc save = {
        .size = sizeof save, .path = path, .user = &t, .progress = tell, .piece_bytes = 4096};
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        memset(&t, 0, sizeof t);
        CHECK_OK(&on, clump_heap_save(heap, &save, &saved));
        assert_int_equal(t.done, saved.value_bytes);
        assert_int_equal(t.all, saved.value_bytes);
        assert_int_equal(stat(path, &found), 0);
        assert_int_equal(found.st_size, saved.bytes);
        assert_int_not_equal(stat(part, &found), 0);
    }
    clump_error error;
    CHECK_OK(&on,
             clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = path},
                              NULL, NULL, NULL, &error));
    clump_heap *other = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES});
    memset(&t, 0, sizeof t);
    CHECK_OK(&on,
             clump_heap_load(
                 other,
                 &(clump_load_desc){
                     .size = sizeof(clump_load_desc), .path = path, .user = &t, .progress = tell},
                 &loaded));
    assert_int_equal(t.done, saved.value_bytes);
    assert_int_equal(loaded.bytes, saved.bytes);
    saved_compare(&on, heap, &on, other);
    clump_heap_destroy(other);
    /* Stopped in the middle: the file is as it was, and there is no part. */
    t = (told){.stop_at = 3};
    CHECK_STATUS(&on, clump_heap_save(heap, &save, NULL), CLUMP_ERR_IO);
    assert_int_not_equal(stat(part, &found), 0);
    other = cl_fixture_heap_as(&on, saved_schema,
                               &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES});
    t = (told){.stop_at = 3};
    const clump_load_desc load = {.size = sizeof load, .path = path, .user = &t, .progress = tell};
    CHECK_STATUS(&on, clump_heap_load(other, &load, NULL), CLUMP_ERR_IO);
    t = (told){0};
    CHECK_OK(&on, clump_heap_load(other, &load, NULL));
    saved_compare(&on, heap, &on, other);
    clump_heap_destroy(other);
    unlink(path);
    rmdir(folder);
}

/* Compacted first: the objects take fewer blocks afterwards, and the loaded ones are those of the
 * compacted heap. */
static void compacted(void **state) {
    clump_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    saved_fill(&on, heap, 10, OBJECTS);
    CHECK_OK(&on, clump_heap_read_stats(heap, &before, NULL, 0));
    memory_file file = {0};
    CHECK_OK(&on, clump_heap_save(heap,
                                  &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                     .write = memory_write,
                                                     .user = &file,
                                                     .compact = 1},
                                  NULL));
    CHECK_OK(&on, clump_heap_read_stats(heap, &after, NULL, 0));
    assert_int_equal(after.objects, before.objects);
    assert_true(after.free_blocks > before.free_blocks);
    round_trip(&on, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = BYTES}, &file, 0);
    memory_release(&file);
}

/* Packed by zstd, if the library has it; else refused, and so is a file that is packed. */
static void packed_by_zstd(void **state) {
    saved_fill(&on, heap, 13, OBJECTS);
    memory_file plain = saved_bytes(&on, heap, 0), file = {0};
    clump_save_desc save = {
        .size = sizeof save, .write = memory_write, .user = &file, .zstd_level = 1};
    const clump_status status = clump_heap_save(heap, &save, NULL);
    if (status == CLUMP_ERR_UNSUPPORTED) {
        assert_int_equal(file.bytes, 0);
        save.zstd_level = -1;
        CHECK_STATUS(&on, clump_heap_save(heap, &save, NULL), CLUMP_ERR_UNSUPPORTED);
        memory_release(&plain);
        return;
    }
    CHECK_OK(&on, status);
    assert_true(file.bytes < plain.bytes); /* random bytes, but references are small numbers */
    clump_heap *loaded = cl_fixture_heap_as(
        &on, saved_schema, &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 2 * BYTES});
    clump_error error;
    CHECK_OK(&on, load_bytes(loaded, &file, NULL));
    saved_compare(&on, heap, &on, loaded);
    memory_file again = saved_bytes(&on, loaded, 0);
    expect_bytes(&plain, &again);
    file.at = 0;
    CHECK_OK(&on, clump_saved_read(
                      &(clump_load_desc){
                          .size = sizeof(clump_load_desc), .read = memory_read, .user = &file},
                      NULL, NULL, NULL, &error));
    clump_heap_destroy(loaded);
    const int wrong[] = {-1, 1000};
    for (int i = 0; i < 2; i++) {
        save.zstd_level = wrong[i];
        CHECK_STATUS(&on, clump_heap_save(heap, &save, NULL), CLUMP_ERR_USAGE);
    }
    memory_release(&plain);
    memory_release(&again);
    memory_release(&file);
}

/* What a file says without a device. */
static void looked_into(void **state) {
    saved_fill(&on, heap, 12, 900);
    outside o = outside_of(&on, heap, 0);
    clump_class_stats classes[16] = {{.size = sizeof *classes}};
    clump_saved *saved;
    clump_error error;
    memory_file file = saved_bytes(&on, heap, 0);
    const clump_load_desc load = {.size = sizeof load, .read = memory_read, .user = &file};
    assert_int_equal(clump_saved_open(&load, NULL, &saved, &error), CLUMP_OK);
    CHECK_OK(&on, clump_heap_read_stats(heap, NULL, classes, 16));
    const clump_schema *ours = clump_heap_get_info(heap)->schema,
                       *theirs = clump_saved_get_info(saved)->schema;
    uint64_t all = 0;
    assert_int_equal(clump_schema_get_info(theirs)->class_count,
                     clump_schema_get_info(ours)->class_count);
    for (uint32_t id = 1; id <= clump_schema_get_info(ours)->class_count; id++) {
        const clump_class_info *a = clump_schema_get_info(ours)->classes[id];
        const clump_class_info *b = clump_schema_get_info(theirs)->classes[id];
        assert_string_equal(a->name, b->name);
        assert_int_equal(clump_saved_get_info(saved)->objects[id], classes[id - 1].objects);
        all += classes[id - 1].objects;
    }
    assert_int_equal(clump_saved_get_info(saved)->objects[0], all);
    assert_int_equal(clump_saved_get_info(saved)->registered, 3);
    assert_int_equal(clump_saved_get_info(saved)->registered_counts[0], PACKED);
    assert_int_equal(clump_saved_get_info(saved)->registered_counts[2], 0); /* its word says 0 */
    clump_ref *x;
    const uint32_t objects = saved_refs(&on, heap, &x);
    read_parts(&file, (parts){.refs = x, .objects = objects, .o = &o}, PACKED + SPREAD);
    free(x);
    /* A heap is made for it. */
    clump_heap *made;
    CHECK_OK(&on, clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                       .context = on.clump,
                                                       .schema = theirs,
                                                       .bytes = BYTES},
                                    &made, NULL));
    clump_saved_close(saved);
    file.at = 0;
    CHECK_STATUS(&on, clump_heap_load(made, &load, NULL), CLUMP_ERR_USAGE); /* no buffers */
    file.at = 0;
    CHECK_OK(&on, clump_heap_load(made,
                                  &(clump_load_desc){.size = sizeof(clump_load_desc),
                                                     .read = memory_read,
                                                     .user = &file,
                                                     .without_registered = 1},
                                  NULL));
    saved_compare(&on, heap, &on, made);
    clump_heap_destroy(made);
    memory_release(&file);
    outside_release(&o);
}

/* ---- The file of the repository -------------------------------------------------------------- */

static const char kept_schema[] =
    "class City { uint people; float2 at; ref City roads[3]; bool port; } "
    "aos class Car { ref City in; uchar kind; ulong number; }";
enum { CITIES = 20, CARS = 70 };

static void kept_fill(clump_heap *h) {
    const clump_struct_desc city = {sizeof city, "City", 4, 0, NULL},
                            car = {sizeof car, "Car", 4, 0, NULL};
    uint32_t zeros[CARS] = {0}, people[CITIES];
    float at[CITIES][2];
    clump_ref cities[CITIES], roads[CITIES], in[CARS];
    uint8_t port[CITIES], kind[CARS];
    uint64_t number[CARS];
    CHECK_OK(&on, clump_heap_new_structs(h, &city, zeros, CITIES, cities, NULL));
    CHECK_OK(&on, clump_heap_new_structs(h, &car, zeros, CARS, NULL, NULL));
    for (uint32_t i = 0; i < CITIES; i++) {
        people[i] = 1000 * i + 7;
        at[i][0] = (float)i / 4;
        at[i][1] = -(float)i;
        port[i] = i % 3 == 0;
    }
    for (uint32_t i = 0; i < CARS; i++) {
        in[i] = i % 7 ? cities[i % CITIES] : 0;
        kind[i] = (uint8_t)(200 + i % 5);
        number[i] = UINT64_C(1000000000000) * i;
    }
    for (uint32_t e = 0; e < 3; e++) {
        for (uint32_t i = 0; i < CITIES; i++) roads[i] = cities[(i * 3 + e) % CITIES];
        CHECK_OK(&on, clump_heap_write_field(h, "City", "roads", e, sizeof *roads, roads, CITIES));
    }
    CHECK_OK(&on, clump_heap_write_field(h, "City", "people", 0, sizeof *people, people, CITIES));
    CHECK_OK(&on, clump_heap_write_field(h, "City", "at", 0, sizeof *at, at, CITIES));
    CHECK_OK(&on, clump_heap_write_field(h, "City", "port", 0, sizeof *port, port, CITIES));
    CHECK_OK(&on, clump_heap_write_field(h, "Car", "in", 0, sizeof *in, in, CARS));
    CHECK_OK(&on, clump_heap_write_field(h, "Car", "kind", 0, sizeof *kind, kind, CARS));
    CHECK_OK(&on, clump_heap_write_field(h, "Car", "number", 0, sizeof *number, number, CARS));
    clump_handle handle;
    CHECK_OK(&on, clump_heap_create_handle(h, cities[13], &handle));
    CHECK_OK(&on, clump_heap_reserve(h, "Car", 9, NULL));
}

/* A heap is equal to what kept_fill() makes, if it is loaded from the file. */
static void expect_kept(clump_heap *made, const char *path, clump_heap *kept) {
    clump_ref a, b, *x, *y;
    CHECK_OK(&on,
             clump_heap_load(
                 kept, &(clump_load_desc){.size = sizeof(clump_load_desc), .path = path}, NULL));
    saved_compare(&on, made, &on, kept);
    const uint32_t objects = saved_refs(&on, made, &x);
    saved_refs(&on, kept, &y);
    CHECK_OK(&on, clump_heap_read_handle(made, 1, &a));
    CHECK_OK(&on, clump_heap_read_handle(kept, 1, &b));
    assert_int_equal(saved_number(x, objects, a), 13);
    assert_int_equal(saved_number(y, objects, b), 13);
    free(x);
    free(y);
}

static void file_of_the_repository(void **state) {
    clump_heap *kept = cl_fixture_heap(&on, kept_schema, 1 << 20, 1);
    clump_heap *made = cl_fixture_heap(&on, kept_schema, 1 << 20, 2);
    kept_fill(made);
    expect_kept(made, FILE_OF_REPOSITORY, kept);
    memory_file theirs = saved_bytes(&on, kept, 0), ours = saved_bytes(&on, made, 0);
    expect_bytes(&theirs, &ours);
    FILE *file = fopen(FILE_OF_REPOSITORY, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(ours.bytes + 1);
    assert_int_equal(fread(bytes, 1, ours.bytes + 1, file), ours.bytes);
    assert_memory_equal(bytes, ours.data, ours.bytes);
    fclose(file);
    free(bytes);
    memory_release(&theirs);
    memory_release(&ours);
    clump_heap_destroy(kept);
    clump_heap_destroy(made);
}

static int write_file(void) {
    clump_heap *made = cl_fixture_heap(&on, kept_schema, 1 << 20, 2);
    kept_fill(made);
    CHECK_OK(&on, clump_heap_save(made,
                                  &(clump_save_desc){.size = sizeof(clump_save_desc),
                                                     .path = FILE_OF_REPOSITORY},
                                  NULL));
    clump_heap_destroy(made);
    return 0;
}

int main(int count, char **words) {
    const int code = cl_fixture_open(&on, &(cl_fixture_desc){.cl = &counting});
    if (code) return code;
    if (count == 2 && strcmp(words[1], "write") == 0) return write_file();
#define WITH_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)
    const struct CMUnitTest tests[] = {
        WITH_HEAP(without_arrays),
        WITH_HEAP(geometries),
        WITH_HEAP(devices),
        WITH_HEAP(pieces),
        WITH_HEAP(no_objects),
        WITH_HEAP(used_afterwards),
        cmocka_unit_test(into_a_used_heap),
        WITH_HEAP(references_outside),
        WITH_HEAP(reserved_slots),
        cmocka_unit_test(dangling),
        WITH_HEAP(checked_heaps),
        WITH_HEAP(packed_by_zstd),
        WITH_HEAP(files),
        WITH_HEAP(compacted),
        WITH_HEAP(looked_into),
        cmocka_unit_test(file_of_the_repository),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&on);
    return failed;
}
