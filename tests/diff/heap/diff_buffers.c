/* Heaps of several buffers against a model: objects in all buffers, with fields of several widths
 * and references across buffers; after compaction, collection, copies as structs, and one by one
 * from the host. Then what chooses the buffers, what is refused, and what is left when memory runs
 * out.
 *
 * All of it with shared virtual memory, and once more with buffers that have addresses
 * (cl_ext_buffer_device_address): the device's own, or stand-ins made of shared virtual memory.
 * Devices that have neither only refuse such heaps, which is tested there.
 *
 * Read first: include/clump/heap.h, cl/core/segments.clh.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/collect.h"
#include "clump/compact.h"
#include "clump/fuse.h"
#include "heap/heap.h"

/* The first buffer has the metadata, which grow with the device. */
#define BUFFER_BYTES ((UINT64_C(1) << 20) + cl_fixture_small_heap_bytes(on.clump))
#define HEAP_BYTES (5 * BUFFER_BYTES)

static const char schema_text[] =
    "abstract class Base { uint id; }\n"
    "class Node : Base { ref Node next; double weight; uchar tag; uint data[5]; }\n"
    "class Leaf : Base { ref Node owner; ushort kind; }\n";
/* Without doubles, for devices that have none. */
static const char plain_schema_text[] =
    "abstract class Base { uint id; }\n"
    "class Node : Base { ref Node next; ulong weight; uchar tag; uint data[5]; }\n"
    "class Leaf : Base { ref Node owner; ushort kind; }\n";

static const char source[] =
    "__kernel void make(CLUMP_HEAP, uint count, __global Node *refs) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= count) return;\n"
    "    Node n = Node_new();\n"
    "    refs[i] = n;\n"
    "    if (Node_is_null(n)) return;\n"
    "    Node_id(n) = i;\n"
    "    Node_next(n) = Node_null;\n"
    "    Node_weight(n) = 3 * i;\n"
    "    Node_tag(n) = (uchar)i;\n"
    "    for (uint k = 0; k < 5; k++) Node_data(n, k) = i * 5 + k;\n"
    "}\n"
    "__kernel void link(CLUMP_HEAP_NO_ALLOC, uint count, __global const Node *refs, uint step) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < count && !Node_is_null(refs[i])) Node_next(refs[i]) = refs[(i + step) % count];\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint of) {\n"
    "    CLUMP_FOR_EACH(Node, n)\n"
    "        if (Node_id(n) % of) Node_free(n);\n"
    "}\n"
    "__kernel void turn(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Node, n) Node_tag(n) = (uchar)(Node_id(n) + Node_tag(n));\n"
    "}\n"
    "__kernel void turn_back(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Node, n) {\n"
    "        Node_tag(n) = (uchar)(Node_tag(n) - Node_id(n));\n"
    "        Node_data(n, 0)++;\n"
    "    }\n"
    "}\n"
    "__kernel void lower(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Node, n) Node_data(n, 0)--; }\n"
    "__kernel void check(CLUMP_HEAP_NO_ALLOC, __global uint *wrong, uint count, uint of, uint "
    "step) "
    "{\n"
    "    CLUMP_FOR_EACH(Node, n) {\n"
    "        uint i = Node_id(n), bad = i % of != 0 || i >= count;\n"
    "        bad |= Node_weight(n) != 3 * i || Node_tag(n) != (uchar)i;\n"
    "        for (uint k = 0; k < 5; k++) bad |= Node_data(n, k) != i * 5 + k;\n"
    "        Node to = Node_next(n);\n"
    "        if ((i + step) % count % of == 0)\n"
    "            bad |= Node_is_null(to) || Node_id(to) != (i + step) % count;\n"
    "        if (bad) atomic_inc(&wrong[0]);\n"
    "        atomic_inc(&wrong[1]);\n"
    "    }\n"
    "}\n";

static cl_fixture on;

/* The buffer that has an object. */
static uint32_t buffer_of(clump_heap *heap, clump_ref ref) {
    const clump_heap_info *l = clump_heap_get_info(heap);
    return l->buffer_blocks ? (ref >> 6) / l->block_granules / l->buffer_blocks : 0;
}

static clump_status create(const char *text, clump_heap_desc desc, clump_heap **heap) {
    clump_schema *schema;
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, NULL), CLUMP_OK);
    desc.context = desc.context ? desc.context : on.clump;
    desc.schema = schema;
    clump_status status = clump_heap_create(&desc, heap, NULL);
    clump_schema_destroy(schema);
    return status;
}

static const char *text_of_device(void) {
    return on.capabilities->features & CLUMP_FEATURE_FP64 ? schema_text : plain_schema_text;
}

static int has_pointers(void) {
    return clumpi_pointers_kind(on.clump) != 0;
}

/* ---- Objects --------------------------------------------------------------------------------- */

typedef struct nodes {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make, *link, *drop, *check;
    cl_mem refs, wrong;
    uint32_t *values; /* refs, as the host knows them */
    uint32_t count, step, of;
} nodes;

static void check_all(nodes *w, const char *when) {
    uint32_t none[2] = {0, 0}, found[2], left = (w->count + w->of - 1) / w->of;
    cl_fixture_write(&on, w->wrong, none, sizeof none);
    SET_ARG(&on, w->check, 0, w->wrong);
    SET_ARG(&on, w->check, 1, w->count);
    SET_ARG(&on, w->check, 2, w->of);
    SET_ARG(&on, w->check, 3, w->step);
    CHECK_OK(&on, clump_heap_do_all(w->heap, w->check, NULL));
    cl_fixture_read(&on, w->wrong, found, sizeof found);
    if (found[0] || found[1] != left)
        fail_msg("%s: %u of %u objects are wrong, %u are expected", when, found[0], found[1], left);
    CHECK_HEAP(&on, w->heap);
}

static void open_nodes(nodes *w, uint64_t buffer_bytes) {
    memset(w, 0, sizeof *w);
    clump_heap_desc desc = {
        .size = sizeof desc, .bytes = HEAP_BYTES, .buffer_bytes = buffer_bytes, .block_rows = 8};
    CHECK_OK(&on, create(text_of_device(), desc, &w->heap));
    w->program = cl_fixture_program(&on, w->heap, source, NULL, NULL);
    w->make = cl_fixture_kernel(&on, w->program, "make");
    w->link = cl_fixture_kernel(&on, w->program, "link");
    w->drop = cl_fixture_kernel(&on, w->program, "drop");
    w->check = cl_fixture_kernel(&on, w->program, "check");
    w->count = (uint32_t)cl_fixture_free_slots(&on, w->heap, "Node");
    w->step = w->count / 2 + 1; /* to another buffer, for most */
    w->of = 1;
    w->values = calloc(w->count, sizeof *w->values);
    assert_non_null(w->values);
    w->refs = cl_fixture_buffer(&on, NULL, w->count * sizeof *w->values);
    w->wrong = cl_fixture_buffer(&on, NULL, 8);
}

static void close_nodes(nodes *w) {
    clump_kernel_destroy(w->make);
    clump_kernel_destroy(w->link);
    clump_kernel_destroy(w->drop);
    clump_kernel_destroy(w->check);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    clReleaseMemObject(w->refs);
    clReleaseMemObject(w->wrong);
    free(w->values);
}

static void fill(nodes *w) {
    size_t global = (w->count + 63) / 64 * 64;
    CHECK_OK(&on, clump_heap_reserve(w->heap, "Node", w->count, NULL));
    SET_ARG(&on, w->make, 0, w->count);
    SET_ARG(&on, w->make, 1, w->refs);
    CHECK_OK(&on, clump_heap_launch(w->heap, w->make, global, 64, NULL));
    SET_ARG(&on, w->link, 0, w->count);
    SET_ARG(&on, w->link, 1, w->refs);
    SET_ARG(&on, w->link, 2, w->step);
    CHECK_OK(&on, clump_heap_launch(w->heap, w->link, global, 64, NULL));
    cl_fixture_read(&on, w->refs, w->values, w->count * sizeof *w->values);
}

/* All calls of the host that read or write objects, each held against the model. */
static void host_calls(nodes *w) {
    uint64_t count = 0;
    uint32_t *ids = calloc(w->count, sizeof *ids);
    clump_ref *refs = calloc(w->count, sizeof *refs);
    assert_true(ids && refs);
    CHECK_OK(&on, clump_heap_read_refs(w->heap, "Node", refs, w->count, &count));
    CHECK_OK(&on, clump_heap_read_field(w->heap, "Node", "id", 0, sizeof *ids, ids, count, NULL));
    for (uint64_t i = 0; i < count; i += 97) { /* one by one, in each buffer */
        uint32_t data = 0;
        CHECK_OK(&on, clump_heap_read_object_field(w->heap, "Node", "data", 3, refs[i],
                                                   sizeof(data), &data));
        assert_int_equal(data, ids[i] * 5 + 3);
        data++;
        CHECK_OK(&on, clump_heap_write_object_field(w->heap, "Node", "data", 3, refs[i],
                                                    sizeof(data), &data));
        data = 0;
        CHECK_OK(&on, clump_heap_read_object_field(w->heap, "Node", "data", 3, refs[i],
                                                   sizeof(data), &data));
        assert_int_equal(data, ids[i] * 5 + 4);
        data--;
        CHECK_OK(&on, clump_heap_write_object_field(w->heap, "Node", "data", 3, refs[i],
                                                    sizeof(data), &data));
    }
    uint8_t *tags = calloc(w->count, 1);
    assert_non_null(tags);
    CHECK_OK(&on,
             clump_heap_read_field(w->heap, "Node", "tag", 0, sizeof *tags, tags, count, NULL));
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(tags[i], (uint8_t)ids[i]);
        tags[i] ^= 0xff;
    }
    CHECK_OK(&on, clump_heap_write_field(w->heap, "Node", "tag", 0, sizeof *tags, tags, count));
    memset(tags, 0, w->count);
    CHECK_OK(&on,
             clump_heap_read_field(w->heap, "Node", "tag", 0, sizeof *tags, tags, count, NULL));
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(tags[i], (uint8_t)~ids[i]);
        tags[i] ^= 0xff;
    }
    CHECK_OK(&on, clump_heap_write_field(w->heap, "Node", "tag", 0, sizeof *tags, tags, count));
    free(ids);
    free(refs);
    free(tags);
}

/* As many buffers as the layout says have objects. */
static void count_buffers(nodes *w, uint32_t least) {
    uint32_t seen[64] = {0}, used = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        assert_true(w->values[i] != 0);
        seen[buffer_of(w->heap, w->values[i])]++;
    }
    for (uint32_t k = 0; k < 64; k++) used += seen[k] != 0;
    if (used < least) fail_msg("objects are in %u buffers, not in %u", used, least);
}

static void objects(void **state) {
    nodes w;
    (void)state;
    if (!has_pointers()) skip();
    open_nodes(&w, BUFFER_BYTES);
    assert_true(w.heap->segment_count >= 5);
    fill(&w);
    count_buffers(&w, 4);
    check_all(&w, "made");
    host_calls(&w);
    check_all(&w, "read and written by the host");
    w.of = 3;
    SET_ARG(&on, w.drop, 0, w.of);
    CHECK_OK(&on, clump_heap_do_all(w.heap, w.drop, NULL));
    check_all(&w, "two of three freed");
    clump_compact_report report = {.size = sizeof report};
    CHECK_OK(&on, clump_heap_compact(w.heap, NULL, &report, NULL));
    assert_true(report.moves > 0);
    check_all(&w, "compacted");
    host_calls(&w);
    clump_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    CHECK_OK(&on, clump_heap_read_stats(w.heap, &before, NULL, 0));
    clump_collect_report swept = {.size = sizeof swept};
    CHECK_OK(&on,
             clump_heap_collect(w.heap, &(clump_collect_desc){.size = sizeof(clump_collect_desc)},
                                &swept, NULL));
    CHECK_OK(&on, clump_heap_read_stats(w.heap, &after, NULL, 0));
    assert_int_equal(after.objects, 0); /* without roots nothing stays */
    assert_true(before.objects > 0);
    CHECK_HEAP(&on, w.heap);
    fill(&w);
    w.of = 1;
    check_all(&w, "made again where all was freed");
    close_nodes(&w);
}

/* ---- A kernel that the caller builds --------------------------------------------------------- */

static void own_kernel(void **state) {
    nodes w;
    (void)state;
    if (!has_pointers()) skip();
    open_nodes(&w, BUFFER_BYTES);
    fill(&w);
    const char *text = clump_program_get_info(w.program)->source;
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(on.context, 1, &text, NULL, &code);
    CHECK_CL(code);
    CHECK_CL(clBuildProgram(program, 1, &on.device, clump_program_get_info(w.program)->options,
                            NULL, NULL));
    cl_kernel link = clCreateKernel(program, "link", &code);
    CHECK_CL(code);
    uint32_t step = w.step + 2;
    const size_t global = (w.count + 63) / 64 * 64, local = 64;
    CHECK_OK(&on, clump_heap_set_kernel(w.heap, link));
    CHECK_CL(clSetKernelArg(link, 1, sizeof w.count, &w.count));
    CHECK_CL(clSetKernelArg(link, 2, sizeof w.refs, &w.refs));
    CHECK_CL(clSetKernelArg(link, 3, sizeof step, &step));
    CHECK_CL(clEnqueueNDRangeKernel(on.queue, link, 1, NULL, &global, &local, 0, NULL, NULL));
    w.step = step;
    check_all(&w, "linked by a kernel of the caller's own");
    cl_fixture_expect_words(clump_context_get_error(on.clump), clump_heap_set_kernel(w.heap, NULL),
                            CLUMP_ERR_USAGE, "the kernel is NULL", "clump_heap_set_kernel",
                            __LINE__);
    assert_int_equal(clump_heap_set_kernel(NULL, link), CLUMP_ERR_USAGE);
    clReleaseKernel(link);
    clReleaseProgram(program);
    close_nodes(&w);
}

/* The program of a fused kernel is made from that of its parts, not from the heap. */
static void fused_kernel(void **state) {
    nodes w;
    (void)state;
    if (!has_pointers()) skip();
    open_nodes(&w, BUFFER_BYTES);
    fill(&w);
    clump_kernel *parts[] = {cl_fixture_kernel(&on, w.program, "turn"),
                             cl_fixture_kernel(&on, w.program, "turn_back")};
    clump_kernel *lower = cl_fixture_kernel(&on, w.program, "lower"), *fused;
    CHECK_OK(&on, clump_kernel_create_fused(parts, 2, &fused, NULL));
    CHECK_OK(&on, clump_heap_do_all(w.heap, fused, NULL));
    CHECK_OK(&on, clump_heap_do_all(w.heap, lower, NULL)); /* what a fused kernel that ran raised */
    check_all(&w, "changed and restored by a fused kernel");
    clump_kernel_destroy(fused);
    clump_kernel_destroy(parts[0]);
    clump_kernel_destroy(parts[1]);
    clump_kernel_destroy(lower);
    close_nodes(&w);
}

/* A program is for heaps whose objects lie likewise. */
static void other_layout(void **state) {
    nodes several, one;
    (void)state;
    if (!has_pointers()) skip();
    open_nodes(&several, BUFFER_BYTES);
    open_nodes(&one, 0);
    assert_int_equal(clump_heap_get_info(one.heap)->buffer_blocks, 0);
    uint32_t of = 2;
    SET_ARG(&on, one.drop, 0, of);
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_do_all(several.heap, one.drop, NULL), CLUMP_ERR_USAGE,
                            "a heap of another layout: buffer_blocks is 0 there",
                            "clump_heap_do_all", __LINE__);
    close_nodes(&several);
    close_nodes(&one);
}

/* ---- Which buffers --------------------------------------------------------------------------- */

static struct {
    size_t largest; /* buffer */
    int boasts;     /* it tells of larger ones */
    uint32_t svm,
        svm_end;          /* calls of clSVMAlloc so far; the one from which on they fail; 0: none */
    int live;             /* allocations of shared virtual memory */
    void *memory[16];     /* the first of them, in the order in which they were made */
    const void *told[16]; /* that the last kernel was told of */
    size_t told_count;
    int stale; /* launches of kernels that were told of memory which is gone */
    struct {
        cl_kernel kernel;
        size_t count;
        const void *pointers[16];
    } kernels[64]; /* and what each was told of last */
    size_t kernel_count;
    const void *freed[64];
    size_t freed_count;
} device;

static clump_cl_functions real = {.size = sizeof real};

static cl_mem CL_API_CALL create_buffer(cl_context c, cl_mem_flags flags, size_t bytes, void *host,
                                        cl_int *code) {
    if (device.largest && bytes > device.largest) {
        *code = CL_INVALID_BUFFER_SIZE;
        return NULL;
    }
    return clCreateBuffer(c, flags, bytes, host, code);
}

static cl_int CL_API_CALL device_info(cl_device_id d, cl_device_info name, size_t bytes, void *to,
                                      size_t *needed) {
    cl_int code = real.GetDeviceInfo(d, name, bytes, to, needed);
    cl_ulong largest = device.largest;
    if (!code && to && device.largest && !device.boasts && name == CL_DEVICE_MAX_MEM_ALLOC_SIZE)
        memcpy(to, &largest, sizeof largest);
    return code;
}

static int is_out_of_memory(void) {
    return ++device.svm >= device.svm_end && device.svm_end;
}

static void note_made(void *memory, size_t bytes) {
    for (size_t i = 0; i < device.freed_count; i++) /* the same place once more */
        if (device.freed[i] == memory) device.freed[i] = NULL;
    if (bytes <= CLUMPI_POINTER_ALIGN) return; /* the context's: clumpi_point() */
    if (memory && device.live < 16) device.memory[device.live] = memory;
    device.live += memory != NULL;
}

static void note_freed(void *memory) {
    for (int i = 0; i < 16; i++)
        if (memory && device.memory[i] == memory) {
            device.memory[i] = NULL; /* the place may be given out again, and not to a heap */
            device.live--;
        }
    if (device.freed_count < 64) device.freed[device.freed_count++] = memory;
}

static void *CL_API_CALL svm_alloc(cl_context c, cl_bitfield flags, size_t bytes, cl_uint align) {
    if (is_out_of_memory()) return NULL;
    void *memory = real.SVMAlloc(c, flags, bytes, align);
    note_made(memory, bytes);
    return memory;
}

static void CL_API_CALL svm_free(cl_context c, void *memory) {
    note_freed(memory);
    real.SVMFree(c, memory);
}

/* Where a buffer is; NULL: it has no address. */
static void *address_of(const clump_cl_functions *cl, cl_mem buffer) {
    cl_ulong address = 0;
    cl_int code =
        cl->GetMemObjectInfo(buffer, CLUMPI_MEM_DEVICE_ADDRESS, sizeof address, &address, NULL);
    return code ? NULL : (void *)(uintptr_t)address;
}

static cl_mem CL_API_CALL create_with(cl_context c, const cl_bitfield *properties,
                                      cl_mem_flags flags, size_t bytes, void *host, cl_int *code) {
    *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (is_out_of_memory()) return NULL;
    cl_mem buffer = real.CreateBufferWithProperties(c, properties, flags, bytes, host, code);
    if (buffer) note_made(address_of(&real, buffer), bytes);
    return buffer;
}

static cl_int CL_API_CALL release(cl_mem buffer) {
    void *address = address_of(&real, buffer);
    if (address) note_freed(address);
    return real.ReleaseMemObject(buffer);
}

static void remember(cl_kernel kernel, size_t count, const void *pointers) {
    size_t k = 0;
    while (k < device.kernel_count && device.kernels[k].kernel != kernel) k++;
    assert_true(k < 64 && count <= 16);
    if (k == device.kernel_count) device.kernel_count++;
    device.kernels[k].kernel = kernel;
    device.kernels[k].count = count;
    memcpy(device.kernels[k].pointers, pointers, count * sizeof(void *));
}

/* As a driver that makes all memory resident that a kernel was told of, and finds some of it
 * gone. */
static cl_int CL_API_CALL enqueue(cl_command_queue q, cl_kernel kernel, cl_uint n, const size_t *o,
                                  const size_t *global, const size_t *local, cl_uint waits,
                                  const cl_event *wait, cl_event *event) {
    for (size_t k = 0; k < device.kernel_count; k++) {
        if (device.kernels[k].kernel != kernel) continue;
        for (size_t i = 0; i < device.kernels[k].count; i++)
            for (size_t f = 0; f < device.freed_count; f++)
                if (device.kernels[k].pointers[i] == device.freed[f]) {
                    device.stale++;
                    return CL_INVALID_VALUE;
                }
    }
    return real.EnqueueNDRangeKernel(q, kernel, n, o, global, local, waits, wait, event);
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
    for (size_t k = 0; k < device.kernel_count; k++)
        if (device.kernels[k].kernel == kernel)
            device.kernels[k] = device.kernels[--device.kernel_count];
    return real.ReleaseKernel(kernel);
}

/* A device whose memory is that of the host needs to be told nothing; others read from elsewhere
 * what they are not told of. */
static cl_int CL_API_CALL exec_info(cl_kernel kernel, cl_uint name, size_t bytes,
                                    const void *value) {
    if (name == (clumpi_pointers_kind(on.clump) == CLUMP_POINTERS_SVM
                     ? CLUMPI_KERNEL_EXEC_INFO_SVM_PTRS
                     : CLUMPI_KERNEL_EXEC_INFO_DEVICE_PTRS)) {
        device.told_count = bytes / sizeof(void *);
        memcpy(device.told, value, bytes < sizeof device.told ? bytes : sizeof device.told);
        remember(kernel, device.told_count, value);
    }
    return real.SetKernelExecInfo(kernel, name, bytes, value);
}

/* Kernels of the program, of a user and of the library know the memory of all buffers after the
 * first. */
static void check_told(clump_context *context, clump_heap *heap) {
    static const char text[] =
        "__kernel void touch(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Node, n) Node_id(n)++; }\n";
    const uint32_t count = heap->segment_count - 1;
    clump_program *program;
    clump_kernel *touch;
    uint32_t found;
    assert_true(count >= 2 && count <= 16);
    if (clump_program_create(
            &(clump_program_desc){.size = sizeof(clump_program_desc), .heap = heap, .source = text},
            &program, NULL) ||
        clump_kernel_create(program, "touch", &touch, NULL))
        fail_msg("%s", clump_context_get_error(context)->message);
    for (int by = 0; by < 3; by++) {
        static const char *const names[] = {"clump_heap_set_kernel()", "clump_heap_do_all()",
                                            "a kernel of the library"};
        memset(device.told, 0, sizeof device.told);
        device.told_count = 0;
        clump_status status = by == 0   ? clump_heap_set_kernel(heap, touch->kernel)
                              : by == 1 ? clump_heap_do_all(heap, touch, NULL)
                                        : clump_heap_read_stats(heap, NULL, NULL, 0);
        if (status) fail_msg("%s", clump_context_get_error(context)->message);
        if (device.told_count != count)
            fail_msg("%s tells of %zu buffers, not of %u", names[by], device.told_count, count);
        for (found = 0; found < count && device.told[found] == device.memory[found];) found++;
        if (found < count) fail_msg("%s does not tell of buffer %u", names[by], found + 1);
    }
    clump_kernel_destroy(touch);
    clump_program_destroy(program);
}

static clump_context *limited(int has_memory) {
    clump_context *context;
    clump_error error;
    real = on.clump->cl;
    clump_cl_functions cl = real;
    cl.CreateBuffer = create_buffer;
    cl.GetDeviceInfo = device_info;
    if (has_memory && clumpi_pointers_kind(on.clump) == CLUMP_POINTERS_SVM) {
        cl.SVMAlloc = svm_alloc;
        cl.SVMFree = svm_free;
    } else if (has_memory) {
        cl.CreateBufferWithProperties = create_with;
        cl.ReleaseMemObject = release;
    }
    if (has_memory) cl.SetKernelExecInfo = exec_info;
    if (has_memory) cl.EnqueueNDRangeKernel = enqueue;
    if (has_memory) cl.ReleaseKernel = release_kernel;
    clump_context_desc desc = {.size = sizeof desc,
                               .context = on.context,
                               .device = on.device,
                               .queue = on.queue,
                               .personality = on.capabilities->personality,
                               .cl = &cl};
    if (clump_context_create(&desc, &context, &error)) fail_msg("%s", error.message);
    if (!has_memory) context->capabilities.pointers = 0;
    return context;
}

/* A heap that one buffer has no room for gets several by itself. */
static void chosen(void **state) {
    (void)state;
    memset(&device, 0, sizeof device);
    device.largest = BUFFER_BYTES * 2;
    clump_heap *heap = NULL;
    clump_context *context = limited(0);
    clump_heap_desc desc = {.size = sizeof desc, .context = context, .bytes = HEAP_BYTES};
    cl_fixture_expect_words(clump_context_get_error(context), create(text_of_device(), desc, &heap),
                            CLUMP_ERR_DEVICE_MEMORY, "several buffers need shared virtual memory",
                            "clump_heap_create", __LINE__);
    assert_null(heap);
    clump_context_destroy(context);
    if (!has_pointers()) return;
    context = limited(1);
    desc.context = context;
    assert_int_equal(create(text_of_device(), desc, &heap), CLUMP_OK);
    const clump_heap_info *l = clump_heap_get_info(heap);
    const uint64_t block = (uint64_t)l->block_granules * l->granule_bytes;
    assert_true(l->buffer_blocks && l->buffer_blocks * block <= device.largest);
    assert_true(l->bytes <= HEAP_BYTES && l->bytes > HEAP_BYTES - block);
    assert_int_equal(device.live, heap->segment_count - 1);
    assert_int_equal(clump_heap_check(heap), CLUMP_OK);
    check_told(context, heap);
    clump_heap_destroy(heap);
    assert_int_equal(device.live, 0);
    /* One buffer where one suffices. */
    desc.bytes = BUFFER_BYTES;
    assert_int_equal(create(text_of_device(), desc, &heap), CLUMP_OK);
    assert_int_equal(clump_heap_get_info(heap)->buffer_blocks, 0);
    clump_heap_destroy(heap);
    desc.buffer_bytes = 2 * BUFFER_BYTES;
    assert_int_equal(create(text_of_device(), desc, &heap), CLUMP_OK);
    assert_int_equal(clump_heap_get_info(heap)->buffer_blocks, 0);
    clump_heap_destroy(heap);
    /* A device that tells of larger buffers than it gives: heaps have several all the same. */
    clump_context_destroy(context);
    device.boasts = 1;
    for (int share = 1; share <= 2; share++) {
        device.largest = BUFFER_BYTES * 3 / 2 / (size_t)share + BUFFER_BYTES;
        context = limited(1);
        desc = (clump_heap_desc){
            .size = sizeof(clump_heap_desc), .context = context, .bytes = HEAP_BYTES};
        assert_true(context->capabilities.allocation_bytes > HEAP_BYTES);
        assert_int_equal(create(text_of_device(), desc, &heap), CLUMP_OK);
        l = clump_heap_get_info(heap);
        assert_true(l->buffer_blocks &&
                    l->bytes > HEAP_BYTES - 2 * (uint64_t)l->block_granules * l->granule_bytes);
        assert_int_equal(device.live, heap->segment_count - 1);
        assert_int_equal(clump_heap_check(heap), CLUMP_OK);
        clump_heap_destroy(heap);
        assert_int_equal(device.live, 0);
        if (share == 1) clump_context_destroy(context);
    }
    device.boasts = 0;
    desc.context = context;
    /* Raw memory has to be in one. */
    desc = (clump_heap_desc){
        .size = sizeof(clump_heap_desc), .context = context, .bytes = HEAP_BYTES, .raw = 1};
    cl_fixture_expect_words(clump_context_get_error(context), create(text_of_device(), desc, &heap),
                            CLUMP_ERR_DEVICE_MEMORY, "this heap must be in one",
                            "clump_heap_create", __LINE__);
    clump_context_destroy(context);
}

/* Memory that runs out at each buffer: nothing stays. */
static void no_memory(void **state) {
    (void)state;
    if (!has_pointers()) skip();
    memset(&device, 0, sizeof device);
    clump_context *context = limited(1);
    clump_heap *heap = NULL;
    clump_heap_desc desc = {
        .size = sizeof desc, .context = context, .bytes = HEAP_BYTES, .buffer_bytes = BUFFER_BYTES};
    uint32_t failures = 0;
    for (uint32_t end = 1; end < 64; end++, failures++) {
        device.svm = 0;
        device.svm_end = end;
        clump_status status = create(text_of_device(), desc, &heap);
        if (!status) break;
        assert_null(heap);
        assert_int_equal(status, CLUMP_ERR_DEVICE_MEMORY);
        assert_int_equal(device.live, 0);
    }
    assert_true(failures >= 4);
    clump_heap_destroy(heap);
    assert_int_equal(device.live, 0);
    clump_context_destroy(context);
}

static void need(clump_context *context, clump_status status) {
    if (status) fail_msg("%s", clump_context_get_error(context)->message);
}

/* Heaps of several buffers and others in turn, in one context: no kernel names memory of a heap
 * that is gone. */
static void in_turn(void **state) {
    (void)state;
    if (!has_pointers()) skip();
    memset(&device, 0, sizeof device);
    clump_context *context = limited(1);
    cl_kernel own = NULL;
    for (int i = 0; i < 4; i++) {
        clump_heap_desc desc = {.size = sizeof desc, .context = context, .bytes = HEAP_BYTES};
        if (i % 2 == 0)
            desc.buffer_bytes = BUFFER_BYTES;
        else
            desc.evictable_bytes = HEAP_BYTES;
        clump_heap *heap;
        need(context, create(text_of_device(), desc, &heap));
        need(context, clump_heap_check(heap));
        need(context, clump_heap_read_stats(heap, NULL, NULL, 0));
        if (!own) { /* of the first heap: one that OpenCL programs build for themselves */
            cl_int code;
            cl_program program;
            static const char *const text =
                "__kernel void own(__global uint *heap) { (void)heap; }";
            program = clCreateProgramWithSource(on.context, 1, (const char **)&text, NULL, &code);
            CHECK_CL(code);
            CHECK_CL(clBuildProgram(program, 1, &on.device, "", NULL, NULL));
            own = clCreateKernel(program, "own", &code);
            CHECK_CL(code);
            CHECK_CL(clReleaseProgram(program));
        }
        const size_t one = 1;
        need(context, clump_heap_set_kernel(heap, own));
        CHECK_CL(enqueue(on.queue, own, 1, NULL, &one, &one, 0, NULL, NULL));
        clump_heap_destroy(heap);
        assert_int_equal(device.stale, 0);
    }
    /* The stand-in sees a kernel that was told of memory which is gone. */
    const void *gone = device.freed[0];
    size_t one = 1;
    remember(own, 1, &gone);
    assert_int_equal(enqueue(on.queue, own, 1, NULL, &one, &one, 0, NULL, NULL), CL_INVALID_VALUE);
    CHECK_CL(clReleaseKernel(own));
    clump_context_destroy(context);
}

static void refused(void **state) {
    (void)state;
    clump_heap *heap = NULL;
    const clump_error *error = clump_context_get_error(on.clump);
    clump_heap_desc small = {.size = sizeof small, .bytes = HEAP_BYTES, .buffer_bytes = 4096};
    cl_fixture_expect_words(
        error, create(text_of_device(), small, &heap),
        has_pointers() ? CLUMP_ERR_DEVICE_MEMORY : CLUMP_ERR_UNSUPPORTED,
        has_pointers() ? "the first buffer must have room for the metadata" : "", "small",
        __LINE__);
    assert_null(heap);
    if (!has_pointers()) return;
    /* A checked heap is told how large its first buffer must be. */
    static const char words[] = "Set buffer_bytes to ";
    const clump_checked_desc checks = {.size = sizeof checks};
    clump_heap_desc checked = {.size = sizeof checked,
                               .bytes = HEAP_BYTES,
                               .buffer_bytes = BUFFER_BYTES,
                               .checked = &checks};
    cl_fixture_expect_words(error, create(text_of_device(), checked, &heap),
                            CLUMP_ERR_DEVICE_MEMORY, "of them for its checks", "checked", __LINE__);
    const char *told = strstr(error->message, words);
    assert_non_null(told);
    checked.buffer_bytes = strtoull(told + sizeof words - 1, NULL, 10);
    if (create(text_of_device(), checked, &heap)) fail_msg("%s", error->message);
    assert_true(clump_heap_get_info(heap)->buffer_blocks);
    assert_int_equal(clump_heap_check(heap), CLUMP_OK);
    clump_heap_destroy(heap);
}

/* ---- Buffers with addresses ------------------------------------------------------------------ */

#define EXTENSION "cl_ext_buffer_device_address"
#define EXTENSIONS_WITH_VERSION 0x1060
typedef struct name_version { /* cl_name_version */
    cl_uint version;
    char name[64];
} name_version;

static struct {
    int is_stand_in; /* made of shared virtual memory, by the functions of `found` */
    clump_cl_functions found;
    cl_uint version;
    cl_ulong skew; /* added to each address */
    struct {
        cl_mem buffer;
        void *memory;
    } made[64];
} with;

static cl_int answer(const void *value, size_t size, size_t capacity, void *to, size_t *needed) {
    if (needed) *needed = size;
    if (to && capacity < size) return CL_INVALID_VALUE;
    if (to) memcpy(to, value, size);
    return CL_SUCCESS;
}

/* A device without shared virtual memory, which has the extension. */
static cl_int CL_API_CALL say(cl_device_id d, cl_device_info name, size_t capacity, void *to,
                              size_t *needed) {
    static const cl_bitfield none = 0;
    static char list[16384];
    const name_version version = {with.version, EXTENSION};
    if (name == CLUMPI_DEVICE_SVM_CAPABILITIES)
        return answer(&none, sizeof none, capacity, to, needed);
    if (with.is_stand_in && name == EXTENSIONS_WITH_VERSION)
        return answer(&version, sizeof version, capacity, to, needed);
    if (!with.is_stand_in || name != CL_DEVICE_EXTENSIONS)
        return clGetDeviceInfo(d, name, capacity, to, needed);
    cl_int code = clGetDeviceInfo(d, name, sizeof list - sizeof EXTENSION, list, NULL);
    if (code) return code;
    strcat(list, " " EXTENSION);
    return answer(list, strlen(list) + 1, capacity, to, needed);
}

static cl_mem CL_API_CALL make_with(cl_context c, const cl_bitfield *properties, cl_mem_flags flags,
                                    size_t bytes, void *host, cl_int *code) {
    size_t i = 0;
    while (i < 64 && with.made[i].buffer) i++;
    *code = CL_INVALID_PROPERTY;
    if (i == 64 || properties[0] != CLUMPI_MEM_DEVICE_PRIVATE_ADDRESS || !properties[1] ||
        properties[2] || host)
        return NULL;
    *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    void *memory = with.found.SVMAlloc(c, flags, bytes, CLUMPI_POINTER_ALIGN);
    if (!memory) return NULL;
    with.made[i].memory = memory;
    with.made[i].buffer = clCreateBuffer(c, flags | CL_MEM_USE_HOST_PTR, bytes, memory, code);
    return with.made[i].buffer;
}

static size_t index_of(cl_mem buffer) {
    size_t i = 0;
    while (i < 64 && with.made[i].buffer != buffer) i++;
    return i;
}

static cl_int CL_API_CALL tell_address(cl_mem buffer, cl_mem_info name, size_t capacity, void *to,
                                       size_t *needed) {
    const size_t i = index_of(buffer);
    if (name != CLUMPI_MEM_DEVICE_ADDRESS)
        return clGetMemObjectInfo(buffer, name, capacity, to, needed);
    if (i == 64) return CL_INVALID_OPERATION;
    const cl_ulong address = (uintptr_t)with.made[i].memory + with.skew;
    return answer(&address, sizeof address, capacity, to, needed);
}

static cl_int CL_API_CALL release_with(cl_mem buffer) {
    const size_t i = index_of(buffer);
    cl_context c;
    if (i == 64) return clReleaseMemObject(buffer);
    CHECK_CL(clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(cl_context), (void *)&c, NULL));
    CHECK_CL(clReleaseMemObject(buffer));
    with.found.SVMFree(c, with.made[i].memory);
    with.made[i].buffer = NULL;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL tell_kernel(cl_kernel kernel, cl_uint name, size_t bytes,
                                      const void *value) {
    if (name != CLUMPI_KERNEL_EXEC_INFO_DEVICE_PTRS) return CL_INVALID_VALUE;
    return with.found.SetKernelExecInfo(kernel, CLUMPI_KERNEL_EXEC_INFO_SVM_PTRS, bytes, value);
}

/* The functions of a device that has such buffers, after the fixture was open with its own. */
static clump_cl_functions with_addresses(void) {
    with.found = on.clump->cl;
    with.is_stand_in = !(on.capabilities->pointers & CLUMP_POINTERS_ADDRESS);
    clump_cl_functions cl = {.size = sizeof cl, .GetDeviceInfo = say};
    if (with.is_stand_in) {
        cl.CreateBufferWithProperties = make_with;
        cl.GetMemObjectInfo = tell_address;
        cl.ReleaseMemObject = release_with;
        cl.SetKernelExecInfo = tell_kernel;
    }
    return cl;
}

/* Of an older version, whose constants are others, nothing is used. */
static void older_version(void **state) {
    clump_context_desc desc = {.size = sizeof desc,
                               .context = on.context,
                               .device = on.device,
                               .queue = on.queue,
                               .cl = &on.clump->cl};
    clump_context *context;
    (void)state;
    assert_int_equal(on.capabilities->pointers & (CLUMP_POINTERS_SVM | CLUMP_POINTERS_ADDRESS),
                     CLUMP_POINTERS_ADDRESS);
    if (!with.is_stand_in) skip();
    const cl_uint version = with.version;
    with.version = (9u << 12) + 1; /* 0.9.1 */
    assert_int_equal(clump_context_create(&desc, &context, NULL), CLUMP_OK);
    with.version = version;
    assert_int_equal(
        clump_context_get_info(context)->capabilities->pointers & CLUMP_POINTERS_ADDRESS, 0);
    clump_context_destroy(context);
}

/* An address that no type could be at: refused, and the buffer is not kept. */
static void odd_address(void **state) {
    (void)state;
    if (!with.is_stand_in) skip();
    clump_heap *heap;
    clump_heap_desc desc = {.size = sizeof desc, .bytes = HEAP_BYTES, .buffer_bytes = BUFFER_BYTES};
    with.skew = CLUMPI_POINTER_ALIGN / 2;
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            create(text_of_device(), desc, &heap), CLUMP_ERR_UNSUPPORTED,
                            "a buffer has the address", "clump_heap_create", __LINE__);
    with.skew = 0;
    for (size_t i = 0; i < 64; i++) assert_null(with.made[i].buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects),      cmocka_unit_test(own_kernel),
        cmocka_unit_test(fused_kernel), cmocka_unit_test(other_layout),
        cmocka_unit_test(chosen),       cmocka_unit_test(no_memory),
        cmocka_unit_test(in_turn),      cmocka_unit_test(refused),
    };
    int result = cl_fixture_open(&on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests_name("as the device is", tests, NULL, NULL);
    const int has_any = has_pointers();
    const clump_cl_functions functions = with_addresses();
    cl_fixture_close(&on);
    if (!has_any) return result;
    const struct CMUnitTest others[] = {
        cmocka_unit_test(odd_address), /* first, since the context keeps a buffer of later ones */
        cmocka_unit_test(objects),       cmocka_unit_test(own_kernel), cmocka_unit_test(chosen),
        cmocka_unit_test(no_memory),     cmocka_unit_test(in_turn),    cmocka_unit_test(refused),
        cmocka_unit_test(older_version),
    };
    with.version = 1u << 22; /* 1.0.0 */
    const cl_fixture_desc desc = {.cl = &functions};
    if (cl_fixture_open(&on, &desc)) return 1;
    result |= cmocka_run_group_tests_name("buffers with addresses", others, NULL, NULL);
    cl_fixture_close(&on);
    return result;
}
