/* What queries about a pooled buffer answer: what the driver says about a buffer of its own.
 *
 * For each set of flags the driver is asked once, with a small buffer. What depends on the buffer
 * itself, as its size and the count of references, is asked of the pooled buffer. Read first:
 * layer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/layer/layer.h"

#define NEXT (layer.target)
#define SAMPLE 16u

cl_int layer_answer(const void *answer, size_t bytes, size_t room, void *value, size_t *needed) {
    if (value && room < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, answer, bytes);
    if (needed) *needed = bytes;
    return CL_SUCCESS;
}

/* ---- Asking the driver ----------------------------------------------------------------------- */

static cl_uint references_of(cl_mem buffer) {
    cl_uint count = 0;
    NEXT->clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

static cl_int ask_about(cl_mem buffer, layer_answers *a) {
    cl_int code = NEXT->clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof a->flags, &a->flags, NULL);
    return code ? code
                : NEXT->clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof a->host, &a->host, NULL);
}

/* 0: the driver makes no buffer with these flags, or does not answer. */
static int ask(layer_context *c, layer_answers *a) {
    static const unsigned char sample[SAMPLE];
    static const cl_buffer_region whole = {0, SAMPLE};
    cl_int code = CL_SUCCESS;
    void *host = a->asked & CL_MEM_COPY_HOST_PTR ? (void *)(uintptr_t)sample : NULL;
    cl_mem buffer = NEXT->clCreateBuffer(c->context, a->asked, SAMPLE, host, &code);
    if (code) return 0;
    if (!a->is_sub) {
        code = ask_about(buffer, a);
    } else {
        cl_uint before = references_of(buffer);
        cl_mem sub = NEXT->clCreateSubBuffer(buffer, a->asked_sub, CL_BUFFER_CREATE_TYPE_REGION,
                                             &whole, &a->code);
        if (!a->code) {
            a->retains_parent = references_of(buffer) > before;
            code = ask_about(sub, a);
            NEXT->clReleaseMemObject(sub);
        }
    }
    NEXT->clReleaseMemObject(buffer);
    return code == CL_SUCCESS;
}

static const layer_answers *look_up(layer_context *c, const layer_answers *wanted) {
    layer_lock();
    const layer_answers *a = c->answers;
    while (a && (a->asked != wanted->asked || a->is_sub != wanted->is_sub ||
                 a->asked_sub != wanted->asked_sub))
        a = a->next;
    layer_unlock();
    return a;
}

/* Two threads may ask the same at a time; both answers are right then. */
static const layer_answers *find_or_ask(layer_context *c, layer_answers wanted) {
    const layer_answers *found = look_up(c, &wanted);
    if (found) return found;
    layer_answers *a = ask(c, &wanted) ? malloc(sizeof *a) : NULL;
    if (!a) return NULL;
    *a = wanted;
    layer_lock();
    a->next = c->answers;
    c->answers = a;
    layer_unlock();
    return a;
}

const layer_answers *layer_answers_of(layer_context *c, cl_mem_flags flags) {
    return find_or_ask(c, (layer_answers){.asked = flags});
}

const layer_answers *layer_answers_of_sub(layer_context *c, cl_mem_flags flags, cl_mem_flags sub) {
    return find_or_ask(c, (layer_answers){.asked = flags, .asked_sub = sub, .is_sub = 1});
}

/* ---- Queries --------------------------------------------------------------------------------- */

static cl_int CL_API_CALL get_mem_object_info(cl_mem object, cl_mem_info name, size_t room,
                                              void *value, size_t *needed) {
    layer_place place;
    cl_uint count = 0;
    cl_int code;
    if (!object || !layer_object_place(object, &place))
        return NEXT->clGetMemObjectInfo(object, name, room, value, needed);
    switch (name) {
    case CL_MEM_FLAGS:
        return layer_answer(&place.answers->flags, sizeof place.answers->flags, room, value,
                            needed);
    case CL_MEM_HOST_PTR:
        return layer_answer(&place.answers->host, sizeof place.answers->host, room, value, needed);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return layer_answer(&place.parent, sizeof place.parent, room, value, needed);
    case CL_MEM_OFFSET:
        return layer_answer(&place.origin, sizeof place.origin, room, value, needed);
    case CL_MEM_MAP_COUNT:
        count = layer_object_maps(object);
        return layer_answer(&count, sizeof count, room, value, needed);
    case CL_MEM_REFERENCE_COUNT:
        code = NEXT->clGetMemObjectInfo(object, name, sizeof count, &count, NULL);
        count -= layer_object_hide(object, 0);
        return code ? code : layer_answer(&count, sizeof count, room, value, needed);
    default: return NEXT->clGetMemObjectInfo(object, name, room, value, needed);
    }
}

void layer_answers_install(cl_icd_dispatch *table) {
    table->clGetMemObjectInfo = get_mem_object_info;
}
