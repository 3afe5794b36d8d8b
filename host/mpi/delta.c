/* See delta.h. */
#include "mpi/delta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/cl_files.h"

#define ELEMENT_MOST 64u

/* ---- Program --------------------------------------------------------------------------------- */

static const char *const kernel_files[] = {"cl/core/layout.h", "cl/mpi/layout.h", "cl/mpi/halo.cl"};
#define FILES (sizeof kernel_files / sizeof *kernel_files)

static const clumpi_cl_file *find_file(const char *name) {
    const clumpi_cl_file *file = clumpi_mpi_cl_files;
    while (strcmp(file->name, name) != 0) file++;
    return file;
}

/* The files after each other, without #includes of each other. */
static char *make_source(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < FILES; i++) bytes += find_file(kernel_files[i])->bytes;
    char *text = malloc(bytes + 1), *end = text;
    if (!text) return NULL;
    for (size_t i = 0; i < FILES; i++) {
        const clumpi_cl_file *file = find_file(kernel_files[i]);
        memcpy(end, file->data, file->bytes);
        end += file->bytes;
    }
    *end = 0;
    for (char *at = text; (at = strstr(at, "#include \"")) != NULL;) memcpy(at, "//", 2);
    return text;
}

static clump_status fail_build(clumpi_delta *d, cl_device_id device, cl_int code) {
    char log[160] = "";
    size_t bytes = 0;
    char *all = NULL;
    if (!clGetProgramBuildInfo(d->program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes))
        all = calloc(1, bytes + 1);
    if (all && !clGetProgramBuildInfo(d->program, device, CL_PROGRAM_BUILD_LOG, bytes, all, NULL))
        snprintf(log, sizeof log, "%s", all);
    free(all);
    return clumpi_world_fail(d->world, CLUMP_ERR_BUILD,
                             "clump_halo_create: the kernels for `delta` do not build: "
                             "clBuildProgram returned %s. %s",
                             clump_cl_code_name(code), log);
}

static clump_status build(clumpi_delta *d) {
    cl_device_id device;
    char options[80];
    cl_int code = clGetCommandQueueInfo(d->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (code) return clumpi_world_fail_cl(d->world, "clGetCommandQueueInfo", code);
    char *source = make_source();
    if (!source)
        return clumpi_world_fail(d->world, CLUMP_ERR_HOST_MEMORY, "no host memory for a program");
    const char *text = source;
    d->program = clCreateProgramWithSource(d->world->cl, 1, &text, NULL, &code);
    free(source);
    if (code) {
        d->program = NULL;
        return clumpi_world_fail_cl(d->world, "clCreateProgramWithSource", code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DHALO_TYPE=%s -DHALO_WORDS=%uu",
             d->element == 1   ? "uchar"
             : d->element == 2 ? "ushort"
                               : "uint",
             d->element > 4 ? d->element / 4 : 1);
    code = clBuildProgram(d->program, 1, &device, options, NULL, NULL);
    if (code) return fail_build(d, device, code);
    d->sent.kernel = clCreateKernel(d->program, "clumpi_halo_encode", &code);
    if (!code) d->received.kernel = clCreateKernel(d->program, "clumpi_halo_decode", &code);
    return code ? clumpi_world_fail_cl(d->world, "clCreateKernel", code) : CLUMP_OK;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* A stream that is shorter than the part has room for so many changed elements. 0: no stream. */
static uint64_t room_of(const clumpi_delta *d, uint64_t bytes) {
    const uint64_t chunks = (bytes / d->element + CLUMPI_HALO_CHUNK - 1) / CLUMPI_HALO_CHUNK,
                   before = chunks * CLUMPI_HALO_CHUNK_WORDS * sizeof(clumpi_u32);
    return bytes > before ? (bytes - before - 1) / d->element : 0;
}

static clump_status place_parts(clumpi_delta *d, clumpi_delta_side *side, const uint64_t *at,
                                const uint64_t *bytes, uint64_t *copy_bytes,
                                uint64_t *stream_words) {
    *copy_bytes = *stream_words = 0;
    for (uint32_t i = 0; i < CLUMP_WORLD_DIRECTIONS_MAX; i++) {
        side->part_of[i] = -1;
        if (at[i] % d->element || bytes[i] % d->element || bytes[i] / d->element >= UINT32_MAX)
            return clumpi_world_fail(
                d->world, CLUMP_ERR_USAGE,
                "clump_halo_create: the %llu bytes from byte %llu on for direction %u are not "
                "whole elements of `delta` = %u bytes, or more than 2^32 - 2",
                (unsigned long long)bytes[i], (unsigned long long)at[i], i, d->element);
        const uint64_t most = bytes[i] ? room_of(d, bytes[i]) : 0;
        if (!most) continue;
        clumpi_halo_part *part = &side->table[side->part_count];
        *part = (clumpi_halo_part){.at = at[i] / d->element,
                                   .copy_at = *copy_bytes / d->element,
                                   .stream_at = *stream_words,
                                   .elements = (clumpi_u32)(bytes[i] / d->element),
                                   .first_chunk = side->chunks,
                                   .most = (clumpi_u32)most};
        part->chunks = (part->elements - 1) / CLUMPI_HALO_CHUNK + 1;
        side->chunks += part->chunks;
        *copy_bytes += bytes[i];
        *stream_words += (clumpi_delta_bytes(d, part, part->most) + 3) / 4;
        side->directions[side->part_count] = i;
        side->part_of[i] = (int)side->part_count++;
    }
    return CLUMP_OK;
}

static cl_int make_buffers(clumpi_delta *d, clumpi_delta_side *side, uint64_t copy_bytes,
                           uint64_t stream_words) {
    const struct {
        cl_mem *buffer;
        uint64_t bytes;
    } buffers[] = {{&side->copy, copy_bytes},
                   {&side->streams, stream_words * sizeof(clumpi_u32)},
                   {&side->parts, sizeof side->table},
                   {&side->counts, sizeof side->numbers}};
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers && !code; i++) {
        *buffers[i].buffer =
            clCreateBuffer(d->world->cl, CL_MEM_READ_WRITE, buffers[i].bytes, NULL, &code);
        if (code) *buffers[i].buffer = NULL;
    }
    return code ? code
                : clEnqueueWriteBuffer(d->queue, side->parts, CL_TRUE, 0, sizeof side->table,
                                       side->table, 0, NULL, NULL);
}

static cl_int set_arguments(clumpi_delta_side *side, const cl_mem *edges) {
    const struct {
        size_t bytes;
        const void *value;
    } arguments[] = {{sizeof *edges, edges},
                     {sizeof side->copy, &side->copy},
                     {sizeof side->streams, &side->streams},
                     {sizeof side->parts, &side->parts},
                     {sizeof side->part_count, &side->part_count},
                     {sizeof side->counts, &side->counts}};
    cl_int code = CL_SUCCESS;
    cl_uint number = 0;
    for (size_t i = edges ? 0 : 1; i < sizeof arguments / sizeof *arguments && !code; i++)
        code = clSetKernelArg(side->kernel, number++, arguments[i].bytes, arguments[i].value);
    return code;
}

static clump_status open_side(clumpi_delta *d, clumpi_delta_side *side, const cl_mem *edges,
                              const uint64_t *at, const uint64_t *bytes) {
    uint64_t copy_bytes, stream_words;
    clump_status status = place_parts(d, side, at, bytes, &copy_bytes, &stream_words);
    if (status || !side->part_count) return status;
    cl_int code = make_buffers(d, side, copy_bytes, stream_words);
    if (code) return clumpi_world_fail_cl(d->world, "clCreateBuffer", code);
    if (!d->program) status = build(d);
    if (status) return status;
    code = set_arguments(side, edges);
    return code ? clumpi_world_fail_cl(d->world, "clSetKernelArg", code) : CLUMP_OK;
}

clump_status clumpi_delta_open(clumpi_delta *d, clump_world *world, cl_command_queue queue,
                               const clump_halo_desc *desc) {
    d->world = world;
    d->queue = queue;
    d->element = desc->delta;
    memset(d->sent.part_of, -1, sizeof d->sent.part_of);
    memset(d->received.part_of, -1, sizeof d->received.part_of);
    if (!d->element) return CLUMP_OK;
    if (d->element > ELEMENT_MOST || (d->element & (d->element - 1)))
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_create: `delta` is %u, but must be 0, or the bytes of "
                                 "an element: a power of two up to %u",
                                 d->element, ELEMENT_MOST);
    clump_status status = open_side(d, &d->sent, &desc->send, desc->send_at, desc->send_bytes);
    return status ? status
                  : open_side(d, &d->received, NULL, desc->receive_at, desc->receive_bytes);
}

static void close_side(clumpi_delta_side *side) {
    const cl_mem buffers[] = {side->copy, side->streams, side->parts, side->counts};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    if (side->kernel) clReleaseKernel(side->kernel);
}

void clumpi_delta_close(clumpi_delta *d) {
    close_side(&d->sent);
    close_side(&d->received);
    if (d->program) clReleaseProgram(d->program);
}

/* ---- An exchange ----------------------------------------------------------------------------- */

cl_int clumpi_delta_keep(clumpi_delta *d, cl_mem edges, const char **call) {
    cl_int code = CL_SUCCESS;
    *call = "clEnqueueCopyBuffer";
    for (uint32_t p = 0; p < d->sent.part_count && !code; p++) {
        const clumpi_halo_part *part = &d->sent.table[p];
        code = clEnqueueCopyBuffer(d->queue, edges, d->sent.copy, part->at * d->element,
                                   part->copy_at * d->element, (size_t)part->elements * d->element,
                                   0, NULL, NULL);
        d->sent.numbers[p] = CLUMPI_HALO_WHOLE;
    }
    return code;
}

static cl_int launch(clumpi_delta *d, clumpi_delta_side *side, cl_event *event, const char **call) {
    const size_t local = CLUMPI_HALO_LANES, global = (size_t)side->chunks * local;
    *call = "clEnqueueNDRangeKernel";
    return clEnqueueNDRangeKernel(d->queue, side->kernel, 1, NULL, &global, &local, 0, NULL, event);
}

cl_int clumpi_delta_encode(clumpi_delta *d, cl_event *packed, const char **call) {
    static const cl_uint none = 0;
    clumpi_delta_side *side = &d->sent;
    *packed = NULL;
    if (!side->part_count) return CL_SUCCESS;
    *call = "clEnqueueFillBuffer";
    cl_int code = clEnqueueFillBuffer(d->queue, side->counts, &none, sizeof none, 0,
                                      sizeof side->numbers, 0, NULL, NULL);
    if (!code) code = launch(d, side, packed, call);
    if (code) return code;
    *call = "clEnqueueReadBuffer";
    code = clEnqueueReadBuffer(d->queue, side->counts, CL_TRUE, 0, sizeof side->numbers,
                               side->numbers, 0, NULL, NULL);
    for (uint32_t p = 0; p < side->part_count; p++)
        if (side->numbers[p] > side->table[p].most) side->numbers[p] = CLUMPI_HALO_WHOLE;
    return code;
}

cl_int clumpi_delta_decode(clumpi_delta *d, cl_event *unpacked, const char **call) {
    clumpi_delta_side *side = &d->received;
    int has_streams = 0;
    for (uint32_t p = 0; p < side->part_count; p++)
        has_streams |= side->numbers[p] != CLUMPI_HALO_WHOLE;
    if (!has_streams) return CL_SUCCESS;
    *call = "clEnqueueWriteBuffer";
    const cl_int code = clEnqueueWriteBuffer(d->queue, side->counts, CL_FALSE, 0,
                                             sizeof side->numbers, side->numbers, 0, NULL, NULL);
    return code ? code : launch(d, side, unpacked, call);
}
