/* Commands that drivers do not carry out on sub-buffers: PoCL 3.1 crashes in copies of rectangles
 * and between buffers and images, and hands native kernels a wrong address. For pooled buffers
 * these commands name the chunk instead. What the driver would refuse is left to it as it is.
 * Commands at which the program waits end a frame of the trace.
 *
 * Read first: layer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/layer/layer.h"

#define NEXT (layer.target)

/* ---- Rectangles ------------------------------------------------------------------------------ */

typedef struct side {
    cl_mem buffer; /* the program's */
    layer_place place;
    int is_pooled;
    size_t origin, row, slice; /* bytes; of the program's buffer */
} side;

/* a * b + c, SIZE_MAX if it is too large. */
static size_t times_plus(size_t a, size_t b, size_t c) {
    size_t product, sum;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum))
        return SIZE_MAX;
    return sum;
}

/* Where the rectangle begins and how its rows follow. 0: it is not one inside of the buffer. */
static int place_side(side *s, cl_mem buffer, const size_t *origin, const size_t *region,
                      size_t row, size_t slice) {
    s->buffer = buffer;
    s->is_pooled = layer_object_place(buffer, &s->place);
    s->row = row ? row : region[0];
    s->slice = slice ? slice : times_plus(region[1], s->row, 0);
    s->origin = times_plus(origin[2], s->slice, times_plus(origin[1], s->row, origin[0]));
    if (!s->is_pooled) return 1;
    size_t last = times_plus(region[2] - 1, s->slice, times_plus(region[1] - 1, s->row, region[0]));
    return s->row >= region[0] && last <= s->place.bytes && s->origin <= s->place.bytes - last;
}

/* Rows that lie differently in one buffer: OpenCL has no command for it. All but the last row are
 * copies of their own, for which the last one waits; that is a rectangle, since the event says
 * which command it is of. */
static cl_int copy_rows(cl_command_queue queue, const side *from, const side *to,
                        const size_t *region, cl_uint waits, const cl_event *wait_list,
                        cl_event *event) {
    size_t rows = region[1] * region[2], made = 0;
    cl_event *events = calloc(rows + waits, sizeof *events);
    cl_int code = events ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    size_t source[3] = {0, 0, 0}, target[3] = {0, 0, 0};
    const size_t one_row[3] = {region[0], 1, 1};
    for (size_t i = 0; !code && i < rows; i++) {
        size_t y = i % region[1], z = i / region[1];
        source[0] = from->place.offset + from->origin + z * from->slice + y * from->row;
        target[0] = to->place.offset + to->origin + z * to->slice + y * to->row;
        if (i + 1 < rows)
            code = NEXT->clEnqueueCopyBuffer(queue, from->place.chunk, to->place.chunk, source[0],
                                             target[0], region[0], waits, wait_list, &events[made]);
        if (i + 1 < rows) made += !code;
    }
    if (!code) {
        for (cl_uint i = 0; i < waits; i++) events[made + i] = wait_list[i];
        cl_uint all = (cl_uint)made + waits;
        code =
            NEXT->clEnqueueCopyBufferRect(queue, from->place.chunk, to->place.chunk, source, target,
                                          one_row, 0, 0, 0, 0, all, all ? events : NULL, event);
    }
    for (size_t i = 0; i < made; i++) NEXT->clReleaseEvent(events[i]);
    free(events);
    return code;
}

static cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to,
                                    const size_t *from_origin, const size_t *to_origin,
                                    const size_t *region, size_t from_row, size_t from_slice,
                                    size_t to_row, size_t to_slice, cl_uint waits,
                                    const cl_event *wait_list, cl_event *event) {
    side a, b;
    int is_right = from && to && from_origin && to_origin && region && region[0] && region[1] &&
                   region[2] && place_side(&a, from, from_origin, region, from_row, from_slice) &&
                   place_side(&b, to, to_origin, region, to_row, to_slice);
    if (!is_right || (!a.is_pooled && !b.is_pooled))
        return NEXT->clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region,
                                             from_row, from_slice, to_row, to_slice, waits,
                                             wait_list, event);
    int is_one_chunk = a.is_pooled && b.is_pooled && a.place.chunk == b.place.chunk && from != to;
    if (is_one_chunk && (a.row != b.row || a.slice != b.slice))
        return copy_rows(queue, &a, &b, region, waits, wait_list, event);
    size_t source[3] = {from_origin[0] + (a.is_pooled ? a.place.offset : 0), from_origin[1],
                        from_origin[2]};
    size_t target[3] = {to_origin[0] + (b.is_pooled ? b.place.offset : 0), to_origin[1],
                        to_origin[2]};
    return NEXT->clEnqueueCopyBufferRect(
        queue, a.is_pooled ? a.place.chunk : from, b.is_pooled ? b.place.chunk : to, source, target,
        region, from_row, from_slice, to_row, to_slice, waits, wait_list, event);
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* The chunk in place of a pooled buffer that has room for the region; the buffer itself else. */
static cl_mem chunk_for(cl_mem buffer, cl_mem image, const size_t *region, size_t *offset) {
    layer_place place;
    size_t element = 0;
    if (!buffer || !image || !region || !layer_object_place(buffer, &place)) return buffer;
    if (NEXT->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL))
        return buffer;
    size_t texels = times_plus(times_plus(region[0], region[1], 0), region[2], 0),
           bytes = times_plus(texels, element, 0);
    if (bytes > place.bytes || *offset > place.bytes - bytes) return buffer;
    *offset += place.offset;
    return place.chunk;
}

static cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image,
                                               size_t offset, const size_t *origin,
                                               const size_t *region, cl_uint waits,
                                               const cl_event *wait_list, cl_event *event) {
    cl_mem source = chunk_for(buffer, image, region, &offset);
    return NEXT->clEnqueueCopyBufferToImage(queue, source, image, offset, origin, region, waits,
                                            wait_list, event);
}

static cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                               const size_t *origin, const size_t *region,
                                               size_t offset, cl_uint waits,
                                               const cl_event *wait_list, cl_event *event) {
    cl_mem target = chunk_for(buffer, image, region, &offset);
    return NEXT->clEnqueueCopyImageToBuffer(queue, image, target, origin, region, offset, waits,
                                            wait_list, event);
}

/* ---- Native kernels -------------------------------------------------------------------------- */

typedef void(CL_CALLBACK *native_fn)(void *);

/* Before the program's arguments, in one piece of memory that the driver copies. The driver puts
 * the address of each chunk into a slot, once: PoCL leaves the second one out where an object is
 * named twice. */
typedef struct native_head {
    native_fn does;
    size_t args; /* where they begin */
    cl_uint count;
    struct {
        size_t at, slot,
            offset; /* the pointer in the arguments becomes that of the slot plus the offset */
    } moved[];
} native_head;

static void CL_CALLBACK run_native(void *memory) {
    native_head *head = memory;
    char *block = memory;
    for (cl_uint i = 0; i < head->count; i++) {
        char *pointer;
        memcpy(&pointer, block + head->moved[i].slot, sizeof pointer);
        pointer += head->moved[i].offset;
        memcpy(block + head->args + head->moved[i].at, &pointer, sizeof pointer);
    }
    head->does(block + head->args);
}

/* What the driver gets in place of the program's lists. */
typedef struct native_call {
    native_head *head;
    size_t bytes;
    cl_mem *objects;
    const void **places;
    cl_uint count;
} native_call;

static void list_object(native_call *call, cl_mem object, size_t at) {
    layer_place place;
    native_head *head = call->head;
    char *block = (char *)head;
    cl_uint i = 0;
    if (!object || !layer_object_place(object, &place)) {
        call->objects[call->count] = object;
        call->places[call->count++] = block + head->args + at;
        return;
    }
    while (i < call->count && call->objects[i] != place.chunk) i++;
    size_t slot = i < call->count ? (size_t)((const char *)call->places[i] - block)
                                  : head->args - (head->count + 1) * sizeof(char *);
    if (i == call->count) {
        call->objects[i] = place.chunk;
        call->places[call->count++] = block + slot;
    }
    head->moved[head->count].at = at;
    head->moved[head->count].slot = slot;
    head->moved[head->count++].offset = place.offset;
}

/* 0: no host memory. */
static int prepare(native_call *call, native_fn does, const void *args, size_t bytes, cl_uint count,
                   const cl_mem *objects, const void **places) {
    size_t of_head = sizeof *call->head + count * (sizeof call->head->moved[0] + sizeof(char *));
    size_t begin = (of_head + 63) & ~(size_t)63;
    *call = (native_call){.head = calloc(1, begin + bytes),
                          .bytes = begin + bytes,
                          .objects = calloc(count, sizeof *call->objects),
                          .places = calloc(count, sizeof *call->places)};
    if (!call->head || !call->objects || !call->places) return 0;
    call->head->does = does;
    call->head->args = begin;
    memcpy((char *)call->head + begin, args, bytes);
    for (cl_uint i = 0; i < count; i++)
        list_object(call, objects[i], (size_t)((const char *)places[i] - (const char *)args));
    return 1;
}

static cl_int CL_API_CALL native_kernel(cl_command_queue queue, native_fn does, void *args,
                                        size_t bytes, cl_uint count, const cl_mem *objects,
                                        const void **places, cl_uint waits,
                                        const cl_event *wait_list, cl_event *event) {
    layer_place place;
    int is_pooled = 0;
    for (cl_uint i = 0; objects && places && i < count; i++)
        is_pooled |= objects[i] && layer_object_place(objects[i], &place);
    if (!is_pooled || !does || !args)
        return NEXT->clEnqueueNativeKernel(queue, does, args, bytes, count, objects, places, waits,
                                           wait_list, event);
    native_call call;
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    if (prepare(&call, does, args, bytes, count, objects, places))
        code = NEXT->clEnqueueNativeKernel(queue, run_native, call.head, call.bytes, call.count,
                                           call.objects, call.places, waits, wait_list, event);
    free(call.places);
    free(call.objects);
    free(call.head);
    return code;
}

/* ---- Copies and maps ------------------------------------------------------------------------- */

static int is_outside(const layer_place *place, size_t offset, size_t bytes) {
    return offset > place->bytes || bytes > place->bytes - offset;
}

/* PoCL finds an overlap of two parts of a chunk before it looks for the end of each. */
static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                      size_t from_offset, size_t to_offset, size_t bytes,
                                      cl_uint waits, const cl_event *wait_list, cl_event *event) {
    layer_place a, b;
    if (queue && from && to && bytes && layer_object_place(from, &a) &&
        layer_object_place(to, &b) &&
        (is_outside(&a, from_offset, bytes) || is_outside(&b, to_offset, bytes)))
        return CL_INVALID_VALUE;
    return NEXT->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, waits,
                                     wait_list, event);
}

/* A driver may count maps and their references elsewhere: layer_object_map(). */
static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool waits_for_it,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint waits,
                                    const cl_event *wait_list, cl_event *event, cl_int *code_ret) {
    void *mapped = NEXT->clEnqueueMapBuffer(queue, buffer, waits_for_it, flags, offset, bytes,
                                            waits, wait_list, event, code_ret);
    if (mapped && layer_object_map(buffer, 1)) NEXT->clRetainMemObject(buffer);
    return mapped;
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem object, void *mapped, cl_uint waits,
                                const cl_event *wait_list, cl_event *event) {
    cl_int code = NEXT->clEnqueueUnmapMemObject(queue, object, mapped, waits, wait_list, event);
    if (!code && layer_object_map(object, -1)) NEXT->clReleaseMemObject(object);
    return code;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static void end_frame(void) {
    layer_lock();
    layer_trace_frame();
    layer_unlock();
}

static cl_int CL_API_CALL finish(cl_command_queue queue) {
    cl_int code = NEXT->clFinish(queue);
    if (!code && !layer.is_child) end_frame();
    return code;
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events) {
    cl_int code = NEXT->clWaitForEvents(count, events);
    if (!code && !layer.is_child) end_frame();
    return code;
}

void layer_commands_install(cl_icd_dispatch *table) {
    if (layer.settings.trace >= 0) {
        table->clFinish = finish;
        table->clWaitForEvents = wait_for_events;
    }
    if (!layer.settings.pool_bytes) return;
    table->clEnqueueCopyBufferRect = copy_rect;
    table->clEnqueueCopyBufferToImage = copy_buffer_to_image;
    table->clEnqueueCopyImageToBuffer = copy_image_to_buffer;
    table->clEnqueueNativeKernel = native_kernel;
    table->clEnqueueCopyBuffer = copy_buffer;
    table->clEnqueueMapBuffer = map_buffer;
    table->clEnqueueUnmapMemObject = unmap;
}
