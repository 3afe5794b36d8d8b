/* The functions of a layer, and the table that it gives to each loader. Read first: layer.h. */
#include "tools/layer/layer.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

layer_state layer = {.lock = PTHREAD_MUTEX_INITIALIZER, .settings = {.trace = -1, .report = -1}};

static cl_icd_dispatch next; /* a copy: a loader may have fewer functions than the headers */

/* The library inside of the layer calls OpenCL through a table, and would be linked with a loader
 * for its default one. The layer must not bring a loader into the process: these names end here. */
void layer_is_not_linked(void);
void layer_is_not_linked(void) {
    abort();
}
#define END_HERE(name, result, parameters)                                                         \
    __asm__(".globl cl" #name "\n.hidden cl" #name "\n.set cl" #name ", layer_is_not_linked");
CLUMP_CL_FUNCTION_LIST(END_HERE)
#undef END_HERE

/* Of OpenCL's headers since 2025. */
#ifndef CL_LAYER_PROPERTIES_LIST_END
typedef cl_properties cl_layer_properties;
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                             cl_uint *count_ret, const cl_icd_dispatch **layer_ret,
                                             const cl_layer_properties *properties);
cl_int CL_API_CALL clDeinitLayer(void);
#endif

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

/* Once in the process. 0: the layer stays out of it, and why was written to stderr. */
static int begin(void) {
    static int is_begun, is_right;
    if (is_begun) return is_right;
    is_begun = 1;
    if (!layer_settings_read(&layer.settings)) return 0;
    is_right = !layer_settings_any(&layer.settings) || !pthread_atfork(NULL, NULL, in_child);
    if (!is_right) layer_say("no memory. The layer is not loaded");
    if (!is_right || !layer_settings_any(&layer.settings)) return is_right;
    layer_place_begin();
    layer_trace_begin();
    return 1;
}

/* Functions that a loader before this one lacked are added. */
static void add_functions(const cl_icd_dispatch *from) {
    const char *source = (const char *)from;
    char *target = (char *)&next;
    static const void *const none;
    for (size_t at = 0; at < sizeof next; at += sizeof none)
        if (memcmp(target + at, &none, sizeof none) == 0)
            memcpy(target + at, source + at, sizeof none);
    fill_functions(&next, &layer.cl);
    layer.cl.size = sizeof layer.cl;
}

/* The library in which an address is. `next` has functions of the loader, which therefore must stay
 * where it is. */
static const void *keep_in_place(const void *address) {
    Dl_info found;
    if (!dladdr(address, &found)) return NULL;
    void *handle = dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle) dlclose(handle);
    return found.dli_fbase;
}

/* The loader that is a library. NULL: no host memory. */
static layer_loader *loader_of(const void *library) {
    layer_loader *l = layer.loaders;
    while (l && l->library != library) l = l->next;
    if (l) return l;
    l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->library = library;
    l->next = layer.loaders;
    layer.loaders = l;
    return l;
}

/* With the lock held. */
static cl_int add_loader(cl_uint count, const cl_icd_dispatch *target,
                         const cl_icd_dispatch **layer_ret, const void *library) {
    layer_loader *l = begin() ? loader_of(library) : NULL;
    if (!l) return CL_INVALID_VALUE;
    memset(&l->table, 0, sizeof l->table);
    memcpy(&l->table, target, count * sizeof(void *));
    if (atomic_fetch_add(&layer.in_use, 1) == 0) memset(&next, 0, sizeof next);
    add_functions(&l->table);
    layer.target = &next;
    *layer_ret = &l->table;
    if (!layer_settings_any(&layer.settings)) return CL_SUCCESS;
    layer_buffers_install(&l->table);
    layer_addresses_install(&l->table);
    if (layer.settings.pool_bytes) {
        layer_contexts_install(&l->table);
        layer_answers_install(&l->table);
    }
    layer_commands_install(&l->table);
    return CL_SUCCESS;
}

static cl_int begin_loader(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
                           const cl_icd_dispatch **layer_ret, const void *caller) {
    const cl_uint known = sizeof(cl_icd_dispatch) / sizeof(void *);
    /* All functions of OpenCL 1.2 have to be there. */
    const cl_uint least =
        offsetof(cl_icd_dispatch, clCreateCommandQueueWithProperties) / sizeof(void *);
    if (!target || !count_ret || !layer_ret || layer.is_child) return CL_INVALID_VALUE;
    if (count < least) {
        layer_say(
            "the loader has only %u functions, fewer than OpenCL 1.2. The layer is not loaded",
            (unsigned)count);
        return CL_INVALID_VALUE;
    }
    *count_ret = count < known ? count : known;
    const void *library = keep_in_place(caller);
    layer_lock(); /* without a call into the system's own loader of libraries, which has a lock */
    cl_int code = add_loader(*count_ret, target, layer_ret, library);
    layer_unlock();
    return code;
}

LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
                                                         const cl_icd_dispatch *target,
                                                         cl_uint *count_ret,
                                                         const cl_icd_dispatch **layer_ret) {
    return begin_loader(count, target, count_ret, layer_ret, __builtin_return_address(0));
}

LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(
    cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
    const cl_icd_dispatch **layer_ret, const cl_layer_properties *properties) {
    if (properties && *properties) return CL_INVALID_PROPERTY; /* there are none yet */
    return begin_loader(count, target, count_ret, layer_ret, __builtin_return_address(0));
}

/* After the last loader's, callbacks of drivers do not call OpenCL any more. Records stay for the
 * report. Without the lock: a handler of signals that ends the process may run in a thread that
 * has it. */
LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void) {
    atomic_fetch_sub(&layer.in_use, 1);
    return CL_SUCCESS;
}

/* After all of the program's own handlers, and those of objects of C++. OpenCL is not called any
 * more. */
static __attribute__((destructor)) void at_end(void) {
    if (!layer.loaders || layer.is_child) return;
    layer_report();
}
