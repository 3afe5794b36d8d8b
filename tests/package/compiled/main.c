/* Makes 1000 bodies, moves them, numbers them, and makes each anew; says where the program came
 * from, a hash of the bits that it computed, and how long it took.
 *
 *   compiled source|il|damaged|cut|text [OPTIONS [FOLDER]]    FOLDER keeps built programs; text:
 *   says the program's text instead
 *
 * Exit status 0: every value is right.
 */
#include <clump/all.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiled_kernels.h"
#include "relaxed_kernels.h"

#define BODIES 1000u

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static char *read_text(const char *path) {
    static char text[65536];
    FILE *file = fopen(path, "rb");
    if (!file) fail(path, "cannot be read");
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void check(clump_context *c, clump_status status, const char *what) {
    if (status) fail(what, clump_context_get_error(c)->message);
}

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = CL_SUCCESS;
    clump_error error;
    if (argc < 2 || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        fail("a device", "there is none");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    if (code) fail("a queue", "there is none");
    clump_schema *schema;
    if (clump_schema_parse_file(FOLDER "/bodies.schema", NULL, &schema, &error))
        fail("bodies.schema", error.message);
    size_t bytes = compiled_kernels_bytes + relaxed_kernels_bytes;
    unsigned char *data = malloc(bytes);
    memcpy(data, compiled_kernels, compiled_kernels_bytes);
    memcpy(data + compiled_kernels_bytes, relaxed_kernels, relaxed_kernels_bytes);
    if (strcmp(argv[1], "damaged") == 0) data[compiled_kernels_bytes - 100] ^= 1;
    clump_context_desc desc = {
        .size = sizeof desc, .context = context, .device = device, .queue = queue};
    if (argc > 3) desc.cache.folder = argv[3];
    if (strcmp(argv[1], "source") != 0 && strcmp(argv[1], "text") != 0)
        desc.compiled = (clump_compiled){data, bytes};
    if (strcmp(argv[1], "cut") == 0) desc.compiled.bytes--;

    double times[5] = {now_ms()};
    clump_context *c;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *init, *move, *numbered, *renew;
    if (clump_context_create(&desc, &c, &error)) fail("a context", error.message);
    check(
        c,
        clump_heap_create(
            &(clump_heap_desc){
                .size = sizeof(clump_heap_desc), .context = c, .schema = schema, .bytes = 1u << 20},
            &heap, NULL),
        "a heap");
    times[1] = now_ms();
    check(c,
          clump_program_create(&(clump_program_desc){.size = sizeof(clump_program_desc),
                                                     .heap = heap,
                                                     .source = read_text(FOLDER "/kernels.cl"),
                                                     .options = argc > 2 ? argv[2] : NULL},
                               &program, NULL),
          "a program");
    check(c, clump_kernel_create(program, "init", &init, NULL), "init");
    check(c, clump_kernel_create(program, "move", &move, NULL), "move");
    check(c, clump_kernel_create(program, "numbered", &numbered, NULL), "numbered");
    check(c, clump_kernel_create(program, "renew", &renew, NULL), "renew");
    times[2] = now_ms();
    uint64_t made;
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, BODIES * 4, NULL, &code);
    check(c, clump_kernel_set_arg(numbered, 0, sizeof out, &out), "a parameter");
    check(c, clump_heap_do_new(heap, init, "Body", BODIES, &made, NULL), "a do-new");
    check(c, clump_heap_do_all(heap, move, NULL), "a do-all");
    clFinish(queue);
    times[3] = now_ms();
    check(c, clump_heap_do_all(heap, numbered, NULL), "a do-all with numbers");
    check(c, clump_heap_check(heap), "a check");
    static float x[BODIES];
    static uint32_t ids[BODIES], numbers[BODIES], seen[BODIES];
    check(c, clump_heap_read_field(heap, "Body", "x", 0, sizeof *x, x, BODIES, NULL), "x");
    check(c, clump_heap_read_field(heap, "Body", "id", 0, sizeof *ids, ids, BODIES, NULL), "id");
    clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL);
    for (uint32_t i = 0; i < BODIES; i++) {
        if (ids[i] >= BODIES || x[i] != (float)ids[i]) fail("a body", "x is not its number");
        if (numbers[i] >= BODIES || seen[numbers[i]]++) fail("a body", "was numbered twice");
    }
    static uint32_t bits[3 * BODIES];
    cl_mem sums = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof bits, NULL, &code);
    check(c, clump_kernel_set_arg(renew, 0, sizeof sums, &sums), "a parameter");
    check(c, clump_heap_do_all(heap, renew, NULL), "a do-all that makes and frees");
    check(c, clump_heap_check(heap), "a check after that");
    clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, sizeof bits, bits, 0, NULL, NULL);
    check(c, clump_heap_read_field(heap, "Body", "id", 0, sizeof *ids, ids, BODIES, NULL), "id");
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < BODIES; i++)
        if (ids[i] >= BODIES || seen[ids[i]]++) fail("a body", "was not made anew");
    uint64_t hash = 14695981039346656037u; /* FNV-1a of words */
    for (uint32_t i = 0; i < 3 * BODIES; i++) hash = (hash ^ bits[i]) * 1099511628211u;
    if (strcmp(argv[1], "text") == 0)
        fputs(clump_program_get_info(program)->source, stdout);
    else
        printf("%sbits %016llx last %08x\nheap %.1f program %.1f first %.1f total %.1f ms\n",
               clump_program_get_info(program)->log, (unsigned long long)hash, bits[3 * BODIES - 1],
               times[1] - times[0], times[2] - times[1], times[3] - times[2], times[3] - times[0]);
    clump_kernel_destroy(renew);
    clump_kernel_destroy(init);
    clump_kernel_destroy(move);
    clump_kernel_destroy(numbered);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    clump_context_destroy(c);
    clump_schema_destroy(schema);
    free(data);
    clReleaseMemObject(out);
    clReleaseMemObject(sums);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
