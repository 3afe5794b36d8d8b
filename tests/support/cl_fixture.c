/* See cl_fixture.h. */
#include "cl_fixture.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/device.h"
#include "heap/heap.h"

#define DEVICES_MAX 32

/* ---- The device ------------------------------------------------------------------------------ */

static int contains(const char *text, const char *part) {
    size_t length = strlen(part);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length) return 1;
    }
    return length == 0;
}

/* All devices of all platforms, in the order in which OpenCL tells them. */
static cl_uint list_devices(cl_device_id *devices) {
    cl_platform_id platforms[DEVICES_MAX];
    cl_uint platform_count = 0, count = 0;
    if (clGetPlatformIDs(DEVICES_MAX, platforms, &platform_count)) return 0;
    for (cl_uint p = 0; p < platform_count && p < DEVICES_MAX && count < DEVICES_MAX; p++) {
        cl_uint found = 0, room = DEVICES_MAX - count;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, room, devices + count, &found))
            continue;
        count += found < room ? found : room;
    }
    return count;
}

static void name_device(cl_device_id device, char *name, size_t bytes) {
    char platform_name[256] = "", device_name[256] = "";
    cl_platform_id platform = NULL;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL);
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof device_name, device_name, NULL);
    snprintf(name, bytes, "%s / %s", platform_name, device_name);
}

static cl_device_id find_device(void) {
    cl_device_id devices[DEVICES_MAX];
    cl_uint count = list_devices(devices);
    const char *wanted = getenv("CLUMP_DEVICE");
    for (cl_uint i = 0; i < count; i++) {
        char name[520];
        cl_device_type type = 0;
        name_device(devices[i], name, sizeof name);
        clGetDeviceInfo(devices[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
        if (wanted && *wanted ? contains(name, wanted) : (type & CL_DEVICE_TYPE_GPU) != 0)
            return devices[i];
    }
    return count && !(wanted && *wanted) ? devices[0] : NULL;
}

/* What the desc asks for, or else CLUMP_PERSONALITY; 1 if that says something else. */
static int find_personality(const cl_fixture_desc *desc, clump_personality *personality) {
    const char *wanted = getenv("CLUMP_PERSONALITY");
    *personality = desc->personality;
    if (desc->personality || !wanted || !*wanted) return 0;
    if (strcmp(wanted, "cpu") == 0)
        *personality = CLUMP_PERSONALITY_CPU;
    else if (strcmp(wanted, "gpu") == 0)
        *personality = CLUMP_PERSONALITY_GPU;
    return *personality == CLUMP_PERSONALITY_DEVICE;
}

/* With CLUMP_SUBGROUPS the library takes the device for a GPU, since only those get sub-groups. */
static cl_int CL_API_CALL say_gpu(cl_device_id device, cl_device_info name, size_t capacity,
                                  void *to, size_t *needed) {
    cl_int code = clGetDeviceInfo(device, name, capacity, to, needed);
    cl_device_type type = CL_DEVICE_TYPE_GPU;
    if (!code && name == CL_DEVICE_TYPE && to) memcpy(to, &type, sizeof type);
    return code;
}

static int fail_to_open(cl_fixture *f, int result, const char *what, const char *words) {
    fprintf(stderr, "%s: %s%s%s\n", result == CL_FIXTURE_SKIP ? "skipped" : "failed", what,
            *words ? ": " : "", words);
    cl_fixture_close(f);
    return result;
}

int cl_fixture_open(cl_fixture *f, const cl_fixture_desc *desc) {
    static const cl_fixture_desc nothing;
    if (!desc) desc = &nothing;
    memset(f, 0, sizeof *f);
    f->device = find_device();
    if (!f->device) return fail_to_open(f, CL_FIXTURE_SKIP, "no OpenCL device to test with", "");
    clump_personality personality;
    if (find_personality(desc, &personality))
        return fail_to_open(f, 1, "CLUMP_PERSONALITY", "it must be cpu or gpu");
    cl_int code = CL_SUCCESS;
    f->context = desc->share;
    if (desc->share)
        code = clRetainContext(desc->share);
    else
        f->context = clCreateContext(NULL, 1, &f->device, NULL, NULL, &code);
    if (code) return fail_to_open(f, 1, "clCreateContext", "");
    cl_command_queue_properties properties = CL_QUEUE_PROFILING_ENABLE;
    if (desc->out_of_order) properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    f->queue = clCreateCommandQueue(f->context, f->device, properties, &code);
#pragma GCC diagnostic pop
    if (code && desc->out_of_order)
        return fail_to_open(f, CL_FIXTURE_SKIP, "no out-of-order queue", "");
    if (code) return fail_to_open(f, 1, "clCreateCommandQueue", "");
    const char *sub_groups = getenv("CLUMP_SUBGROUPS");
    clump_cl_functions as_gpu = {.size = sizeof as_gpu};
    if (desc->cl) as_gpu = *desc->cl;
    if (sub_groups && *sub_groups && !as_gpu.GetDeviceInfo) as_gpu.GetDeviceInfo = say_gpu;
    clump_context_desc context = {.size = sizeof context,
                                  .context = f->context,
                                  .device = f->device,
                                  .queue = f->queue,
                                  .disable = desc->disable,
                                  .personality = personality,
                                  .cl = &as_gpu,
                                  .allocator = desc->allocator,
                                  .cache = desc->cache};
    if (!desc->cache.load && !desc->cache.folder) context.cache.folder = getenv("CLUMP_CACHE");
    clump_error error;
    if (clump_context_create(&context, &f->clump, &error))
        return fail_to_open(f, 1, "clump_context_create", error.message);
    f->capabilities = clump_context_get_info(f->clump)->capabilities;
    if (sub_groups && *sub_groups && !(f->capabilities->features_found & CLUMP_FEATURE_SUBGROUPS))
        return fail_to_open(f, CL_FIXTURE_SKIP, "no sub-groups with ballots", "");
    return 0;
}

void cl_fixture_close(cl_fixture *f) {
    clump_context_destroy(f->clump);
    if (f->queue) clReleaseCommandQueue(f->queue);
    if (f->context) clReleaseContext(f->context);
    memset(f, 0, sizeof *f);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

void cl_fixture_expect(const cl_fixture *f, clump_status found, clump_status expected,
                       const char *call, const char *file, int line) {
    if (found == expected) return;
    print_error("%s\n    returned %s, expected %s\n", call, clump_status_name(found),
                clump_status_name(expected));
    if (found && f->clump) {
        const clump_error *error = clump_context_get_error(f->clump);
        print_error("    %s\n", error->message);
        if (error->call) print_error("    %s: %d\n", error->call, (int)error->cl_code);
    }
    _fail(file, line);
}

void cl_fixture_expect_cl(cl_int code, const char *call, const char *file, int line) {
    if (!code) return;
    print_error("%s\n    returned %d\n", call, (int)code);
    _fail(file, line);
}

uint32_t cl_fixture_launches;

cl_int CL_API_CALL cl_fixture_count_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                           const size_t *offset, const size_t *global,
                                           const size_t *local, cl_uint wait_count,
                                           const cl_event *waits, cl_event *event) {
    cl_fixture_launches++;
    return clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, wait_count, waits,
                                  event);
}

static uint32_t line_at(const char *source, const char *end) {
    uint32_t line = 1;
    assert_non_null(end);
    for (const char *c = source; c < end; c++) line += *c == '\n';
    return line;
}

uint32_t cl_fixture_line_of(const char *source, const char *text) {
    return line_at(source, strstr(source, text));
}

uint32_t cl_fixture_line_in(const char *source, const char *kernel, const char *mark) {
    char head[64];
    snprintf(head, sizeof head, "void %s(", kernel);
    const char *at = strstr(source, head);
    return line_at(source, at ? strstr(at, mark) : NULL);
}

void cl_fixture_expect_words(const clump_error *e, clump_status found, clump_status expected,
                             const char *words, const char *call, int line) {
    if (found != expected)
        fail_msg("line %d: %s returned %s, not %s (%s)", line, call, clump_status_name(found),
                 clump_status_name(expected), found ? e->message : "");
    if (e->status != expected)
        fail_msg("line %d: %s left an error record with %s", line, call,
                 clump_status_name(e->status));
    if (!strstr(e->message, words))
        fail_msg("line %d: %s says \"%s\", which does not mention \"%s\"", line, call, e->message,
                 words);
}

int cl_fixture_is_whole(void) {
    const char *is_short = getenv("CLUMP_SHORT");
    return !is_short || !*is_short;
}

uint32_t cl_fixture_each(uint32_t n) {
    const char *is_short = getenv("CLUMP_SHORT");
    const unsigned long times = is_short ? strtoul(is_short, NULL, 10) : 0;
    return cl_fixture_is_whole() ? 1 : n * (times > 1 ? (uint32_t)times : 1);
}

int cl_fixture_open_other(cl_fixture *f, const cl_fixture_desc *desc) {
    if (cl_fixture_is_whole()) return cl_fixture_open(f, desc);
    memset(f, 0, sizeof *f);
    return CL_FIXTURE_SKIP;
}

int cl_fixture_run_rounds(int argc, char **argv, uint32_t *rounds, uint32_t *seed,
                          int (*run_with)(const char *name, uint32_t disable),
                          const int *is_short) {
    if (argc > 1) *rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2) *seed = (uint32_t)strtoul(argv[2], NULL, 10);
    int status = run_with("as the device is", 0);
    if (status == CL_FIXTURE_SKIP || *is_short || !cl_fixture_is_whole()) return status;
    return status | run_with("bitmap words of 32 bits", CLUMP_FEATURE_INT64_ATOMICS);
}

void cl_fixture_expect_error(cl_fixture *f, clump_heap *heap, int kind, uint32_t ref,
                             const char *words) {
    clump_device_report r = {.size = sizeof r};
    clump_status status = clump_heap_take_errors(heap, &r);
    assert_int_equal(status, kind < 0 ? CLUMP_OK : CLUMP_ERR_DEVICE);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++)
        assert_int_equal(r.errors[i].count, i == kind);
    if (kind >= 0) assert_int_equal(r.errors[kind].ref, ref);
    if (words && !strstr(clump_context_get_error(f->clump)->message, words))
        fail_msg("\"%s\" does not say \"%s\"", clump_context_get_error(f->clump)->message, words);
}

void cl_fixture_nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

uint64_t cl_fixture_raw_bytes(cl_fixture *f, clump_heap *heap) {
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(heap, &stats, NULL, 0));
    return stats.raw_bytes;
}

/* ---- Making things --------------------------------------------------------------------------- */

static clump_schema *parse(const char *text) {
    clump_schema *schema;
    clump_error error;
    if (clump_schema_parse(text, strlen(text), NULL, &schema, &error))
        fail_msg("schema, line %u, column %u: %s\n%s", error.line, error.column, error.message,
                 text);
    return schema;
}

/* With CLUMP_TEST_BUFFERS, about as many. The sizes are powers of two, so that heaps of similar
 * sizes have buffers of the same, and programs in common. 0 without. */
static uint64_t wanted_buffer(uint64_t bytes) {
    const char *wanted = getenv("CLUMP_TEST_BUFFERS");
    unsigned long count = wanted ? strtoul(wanted, NULL, 10) : 0;
    uint64_t size = count ? 1 << 16 : 0;
    while (count && size * count < bytes) size *= 2;
    return size;
}

static clump_heap *make_heap(const cl_fixture *f, const char *schema, const clump_heap_desc *like,
                             uint64_t buffer_bytes) {
    clump_schema *s = parse(schema);
    clump_heap *heap;
    clump_heap_desc desc = *like;
    desc.context = f->clump;
    desc.schema = s;
    desc.errors_on_request = 1; /* tests provoke them */
    if (!desc.pool && !desc.raw && !clumpi_schema_find_array(s, 1))
        desc.buffer_bytes = buffer_bytes;
    clump_status status;
    while ((status = clump_heap_create(&desc, &heap, NULL)) == CLUMP_ERR_DEVICE_MEMORY &&
           desc.buffer_bytes)
        desc.buffer_bytes = desc.buffer_bytes < desc.bytes ? 2 * desc.buffer_bytes : 0;
    if (status == CLUMP_ERR_UNSUPPORTED && !(f->capabilities->features & CLUMP_FEATURE_FP64) &&
        strstr(clump_context_get_error(f->clump)->message, "does not support doubles"))
        skip();
    CHECK_OK(f, status);
    clump_schema_destroy(s);
    return heap;
}

clump_heap *cl_fixture_heap_as(const cl_fixture *f, const char *schema,
                               const clump_heap_desc *like) {
    return make_heap(f, schema, like, wanted_buffer(like->bytes));
}

clump_heap *cl_fixture_heap(const cl_fixture *f, const char *schema, uint64_t bytes,
                            uint32_t block_rows) {
    return cl_fixture_heap_as(
        f, schema,
        &(clump_heap_desc){
            .size = sizeof(clump_heap_desc), .bytes = bytes, .block_rows = block_rows});
}

clump_heap *cl_fixture_heap_watching(const cl_fixture *f, const clump_heap *like) {
    const clump_heap_info *l = clump_heap_get_info(like);
    clump_heap *heap;
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = f->clump,
                            .schema = clump_heap_get_info(like)->schema,
                            .bytes = 2 * l->bytes,
                            .block_rows = like->geometry.header.block_rows_max,
                            .errors_on_request = 1,
                            .watch_handles = 1};
    CHECK_OK(f, clump_heap_create(&desc, &heap, NULL));
    assert_int_equal(clump_heap_get_info(heap)->granule_bytes, l->granule_bytes);
    assert_int_equal(clump_heap_get_info(heap)->block_granules, l->block_granules);
    return heap;
}

uint64_t cl_fixture_small_heap_bytes(const clump_context *context) {
    const clumpi_launch_sizes *sizes = &context->sizes;
    return (1 << 18) + sizes->do_all_global / sizes->do_all_local * CLUMPI_REDUCE_BYTES;
}

clump_heap *cl_fixture_heap_of_blocks(const cl_fixture *f, const char *schema, uint32_t blocks,
                                      uint32_t block_rows) {
    const clumpi_launch_sizes *sizes = &f->clump->sizes;
    clump_schema *s = parse(schema);
    clumpi_geometry g;
    clump_error error;
    uint64_t bytes = 64;
    /* Twice as much until there are enough; then exactly what these and their metadata take. */
    while (clumpi_geometry_compute(s, bytes, block_rows, (uint32_t)sizes->scan_groups,
                                   clumpi_do_all_groups(sizes, bytes), (clumpi_extras){0}, &g,
                                   &error) ||
           g.header.block_end - g.header.first_block < blocks) {
        bytes *= 2;
        assert_true(bytes < UINT64_C(1) << 42);
    }
    uint64_t block_bytes = (uint64_t)g.header.granule_bytes * g.header.block_granules;
    for (;;) {
        uint64_t fewer = bytes - block_bytes;
        if (clumpi_geometry_compute(s, fewer, block_rows, (uint32_t)sizes->scan_groups,
                                    clumpi_do_all_groups(sizes, bytes), (clumpi_extras){0}, &g,
                                    &error) ||
            g.header.block_end - g.header.first_block < blocks)
            break;
        bytes = fewer;
    }
    clump_schema_destroy(s);
    /* In one buffer: a table of several would take a block. */
    clump_heap *heap =
        make_heap(f, schema,
                  &(clump_heap_desc){
                      .size = sizeof(clump_heap_desc), .bytes = bytes, .block_rows = block_rows},
                  0);
    assert_int_equal(clump_heap_get_info(heap)->block_count, blocks);
    return heap;
}

static clump_class_info class_info(clump_heap *heap, const char *class_name) {
    const clump_class_info *info =
        clump_schema_find_class(clump_heap_get_info(heap)->schema, class_name);
    if (!info) fail_msg("no class %s", class_name);
    return *info;
}

const clump_extract_column *cl_fixture_column(const clump_extract *extract, const char *class_name,
                                              const char *field) {
    const clump_extract_info *info = clump_extract_get_info(extract);
    for (uint64_t i = 0; i < info->column_count; i++)
        if (!strcmp(info->columns[i]->of->name, class_name) &&
            !strcmp(info->columns[i]->field->name, field))
            return info->columns[i];
    return NULL;
}

uint32_t cl_fixture_class_id(clump_heap *heap, const char *class_name) {
    return class_info(heap, class_name).id;
}

uint32_t cl_fixture_capacity(clump_heap *heap, const char *class_name) {
    return heap->geometry.classes[cl_fixture_class_id(heap, class_name)].capacity;
}

uint64_t cl_fixture_free_slots(const cl_fixture *f, clump_heap *heap, const char *class_name) {
    clump_class_stats classes[CLUMP_CLASSES_MAX] = {{.size = sizeof *classes}};
    CHECK_OK(f, clump_heap_read_stats(heap, NULL, classes, CLUMP_CLASSES_MAX));
    return classes[cl_fixture_class_id(heap, class_name) - 1].room;
}

clump_ref cl_fixture_first(const cl_fixture *f, clump_heap *heap, const char *class_name) {
    uint64_t count;
    CHECK_OK(f, clump_heap_read_refs(heap, class_name, NULL, 0, &count));
    clump_ref *refs = calloc((size_t)count + 1, sizeof *refs), first;
    CHECK_OK(f, clump_heap_read_refs(heap, class_name, refs, count, &count));
    first = refs[0];
    free(refs);
    return first;
}

static void print_log(void *user, const clump_program_info *info) {
    print_error("%s\n", info->log);
}

void cl_fixture_keep_log(void *user, const clump_program_info *info) {
    cl_fixture_log *log = user;
    snprintf(log->log, sizeof log->log, "%s", info->log);
    log->has_source = strstr(info->source, log->source) != NULL;
    log->warnings = info->warnings;
}

clump_program *cl_fixture_program(const cl_fixture *f, clump_heap *heap, const char *source,
                                  const char *options, const cl_fixture_build *how) {
    clump_program_desc desc = {.size = sizeof desc,
                               .heap = heap,
                               .source = source,
                               .options = options,
                               .failed = print_log};
    if (how) {
        desc.tuning = &how->tuning;
        desc.checked = how->checked;
    }
    clump_program *program;
    CHECK_OK(f, clump_program_create(&desc, &program, NULL));
    return program;
}

void cl_fixture_expect_build(const cl_fixture *f, const char *schema, const char *source,
                             const char *options, const char *words) {
    clump_heap *heap = cl_fixture_heap(f, schema, 1u << 20, 2);
    cl_fixture_log kept = {.source = source};
    const clump_program_desc desc = {.size = sizeof desc,
                                     .heap = heap,
                                     .source = source,
                                     .options = options,
                                     .failed = cl_fixture_keep_log,
                                     .user = &kept};
    clump_program *program;
    const clump_status status = clump_program_create(&desc, &program, NULL);
    const char *log = kept.log;
    const char *message = clump_context_get_error(f->clump)->message;
    if (!words && status) fail_msg("does not build: %s\n%s\n%s", message, log, source);
    if (words && status != CLUMP_ERR_BUILD) fail_msg("it builds (%d):\n%s", status, source);
    if (words && !strstr(message, words) && !strstr(log, words))
        fail_msg("no \"%s\" in: %s\n%s", words, message, log);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

clump_kernel *cl_fixture_kernel(const cl_fixture *f, clump_program *program, const char *name) {
    clump_kernel *kernel;
    CHECK_OK(f, clump_kernel_create(program, name, &kernel, NULL));
    return kernel;
}

cl_fixture_kit cl_fixture_kit_open(const cl_fixture *f, const char *schema, uint32_t blocks,
                                   const char *source,
                                   const char *const names[CL_FIXTURE_KERNELS]) {
    cl_fixture_kit kit = {.heap = cl_fixture_heap_of_blocks(f, schema, blocks, 2)};
    kit.program = cl_fixture_program(f, kit.heap, source, NULL, NULL);
    for (int i = 0; i < CL_FIXTURE_KERNELS && names[i]; i++)
        kit.kernels[i] = cl_fixture_kernel(f, kit.program, names[i]);
    return kit;
}

void cl_fixture_kit_close(cl_fixture_kit *kit) {
    for (int i = 0; i < CL_FIXTURE_KERNELS; i++) clump_kernel_destroy(kit->kernels[i]);
    clump_program_destroy(kit->program);
    clump_heap_destroy(kit->heap);
}

cl_mem cl_fixture_buffer(const cl_fixture *f, const void *data, size_t bytes) {
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(f->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    CHECK_CL(code);
    void *zeros = data ? NULL : calloc(1, bytes);
    cl_fixture_write(f, buffer, data ? data : zeros, bytes);
    free(zeros);
    return buffer;
}

/* Both transfers wait for the queue, so that they are in order on any queue. A write does so
 * afterwards too: on queues out of order Intel's CPU runtime returns from blocking writes of less
 * than 512 bytes before they are done (docs/portability.md). */
void cl_fixture_write(const cl_fixture *f, cl_mem buffer, const void *data, size_t bytes) {
    CHECK_CL(clFinish(f->queue));
    if (bytes)
        CHECK_CL(clEnqueueWriteBuffer(f->queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL));
    CHECK_CL(clFinish(f->queue));
}

cl_mem cl_fixture_foreign_buffer(const cl_fixture *f, size_t bytes) {
    cl_int code = CL_SUCCESS;
    cl_context other = clCreateContext(NULL, 1, &f->device, NULL, NULL, &code);
    CHECK_CL(code);
    cl_mem buffer = clCreateBuffer(other, CL_MEM_READ_WRITE, bytes, NULL, &code);
    CHECK_CL(code);
    CHECK_CL(clReleaseContext(other));
    return buffer;
}

void cl_fixture_read(const cl_fixture *f, cl_mem buffer, void *data, size_t bytes) {
    CHECK_CL(clFinish(f->queue));
    if (bytes)
        CHECK_CL(clEnqueueReadBuffer(f->queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL));
}

void cl_fixture_heap_read(const clump_heap *heap, void *image) {
    assert_int_equal(clumpi_blocks_read(heap, 0, heap->info.bytes, image), CLUMP_OK);
}

void cl_fixture_heap_write(const clump_heap *heap, const void *image) {
    assert_int_equal(clumpi_blocks_write(heap, 0, heap->info.bytes, image), CLUMP_OK);
}
