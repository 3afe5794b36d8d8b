/* The two functions of a layer, and the table that it gives to the loader. Read first: layer.h. */
#include "tools/layer/layer.h"

#include <string.h>

layer_state layer = {.lock = PTHREAD_MUTEX_INITIALIZER, .settings = {.trace = -1, .report = -1}};

static cl_icd_dispatch next, table; /* copies: a loader may have fewer functions than the headers */

/* The declarations of cl_layer.h do not say that they are to be seen. */
#define LAYER_EXPORT __attribute__((visibility("default")))

LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room,
                                                            void *value, size_t *needed) {
    static const char text[] = "libclump-layer";
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    switch (name) {
    case CL_LAYER_API_VERSION: return layer_answer(&version, sizeof version, room, value, needed);
    case CL_LAYER_NAME: return layer_answer(text, sizeof text, room, value, needed);
    default: return CL_INVALID_VALUE;
    }
}

/* The child of a fork() has copies of the records, and a lock that another thread may have held. */
static void in_child(void) {
    layer.is_child = 1;
}

static void fill_functions(const cl_icd_dispatch *from, clump_cl_functions *to) {
#define TAKE(name, result, parameters) to->name = from->cl##name;
    CLUMP_CL_FUNCTION_LIST(TAKE)
#undef TAKE
}

LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
                                                         const cl_icd_dispatch *target,
                                                         cl_uint *count_ret,
                                                         const cl_icd_dispatch **layer_ret) {
    const cl_uint known = sizeof(cl_icd_dispatch) / sizeof(void *);
    /* All functions of OpenCL 1.2 have to be there. */
    const cl_uint least =
        offsetof(cl_icd_dispatch, clCreateCommandQueueWithProperties) / sizeof(void *);
    if (!target || !count_ret || !layer_ret || layer.target) return CL_INVALID_VALUE;
    if (count < least) {
        layer_say(
            "the loader has only %u functions, fewer than OpenCL 1.2. The layer is not loaded",
            (unsigned)count);
        return CL_INVALID_VALUE;
    }
    if (!layer_settings_read(&layer.settings)) return CL_INVALID_VALUE;
    memcpy(&next, target, (count < known ? count : known) * sizeof(void *));
    table = next;
    layer.target = &next;
    *count_ret = count < known ? count : known;
    *layer_ret = &table;
    if (!layer_settings_any(&layer.settings)) return CL_SUCCESS;
    layer.cl.size = sizeof layer.cl;
    fill_functions(&next, &layer.cl);
    if (pthread_atfork(NULL, NULL, in_child)) {
        layer_say("no memory. The layer is not loaded");
        return CL_OUT_OF_HOST_MEMORY;
    }
    layer_place_begin();
    layer_trace_begin();
    layer_buffers_install(&table);
    if (layer.settings.pool_bytes) {
        layer_contexts_install(&table);
        layer_answers_install(&table);
    }
    layer_commands_install(&table);
    return CL_SUCCESS;
}

/* After all of the program's own handlers, and those of objects of C++. OpenCL is not called any
 * more. */
static __attribute__((destructor)) void at_end(void) {
    if (!layer.target || layer.is_child) return;
    layer_report();
}
