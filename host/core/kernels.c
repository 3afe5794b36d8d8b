/* The library's own kernels: each part has a program of them, built when the first is asked for.
 *
 * Invariant: a program that a context has is built, and has a place for each of its kernels. What
 * is kept of a kernel's arguments is what OpenCL was told last.
 *
 * Read first: core.h, build.c.
 */
#include <string.h>

#include "core/core.h"
#include "core/pointers.h"

#define KEPT_ARGS 16u /* of a kernel, after which arguments are set for each launch */

/* The program of a part, as a context keeps it. */
typedef struct built {
    clumpi_attachment base;
    const clumpi_library *library;
    cl_program program;
    struct kept {
        cl_kernel kernel;   /* NULL until it is asked for */
        size_t group_limit; /* most work-items in a group */
        /* what it was given last: the buffer of the heap of this number (0: of none that is known),
         * and words, where a bit of known_words says so */
        uint64_t heap;
        uint32_t known_words;
        clumpi_u32 words[KEPT_ARGS];
    } kernels[];
} built;

static void release(clumpi_attachment *base, clump_context *c) {
    built *b = (built *)base;
    const clumpi_library *library = b->library;
    for (size_t i = 0; i < library->kernel_count; i++)
        if (b->kernels[i].kernel) c->cl.ReleaseKernel(b->kernels[i].kernel);
    if (b->program) c->cl.ReleaseProgram(b->program);
    clumpi_free(&c->allocator, b);
}

static clump_status build(clump_context *c, clumpi_kernel_id id, cl_program *program) {
    const clumpi_library *library = id.library;
    clumpi_text source = {.allocator = &c->allocator}, options = {.allocator = &c->allocator};
    clumpi_library_append(&source, library);
    clumpi_options_append(&options, c, NULL);
    if (library->options) clumpi_text_append(&options, " %s", library->options);
    if (id.pointed) clumpi_text_append(&options, " -DCLUMPI_SEGMENTS=1");
    clump_status status;
    if (source.failed || options.failed)
        status = clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for kernel sources");
    else
        status = clumpi_build(c, source.data, options.data, NULL, program, NULL);
    clumpi_free(&c->allocator, source.data);
    clumpi_free(&c->allocator, options.data);
    return status;
}

/* NULL on failure; the error is set. */
static built *find_or_build(clump_context *c, clumpi_kernel_id id) {
    const clumpi_library *library = id.library;
    /* Two addresses of the part: each is the key of one of its programs. */
    const void *key = id.pointed ? (const void *)&library->kernels : (const void *)library;
    built *b = (built *)clumpi_attachment_find(&c->attachments, key);
    if (b) return b;
    b = clumpi_alloc(&c->allocator, sizeof *b + library->kernel_count * sizeof *b->kernels);
    if (!b) {
        clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for kernels");
        return NULL;
    }
    b->library = library;
    if (build(c, id, &b->program)) {
        clumpi_free(&c->allocator, b);
        return NULL;
    }
    clumpi_attach(&c->attachments, &b->base, key, release);
    return b;
}

clump_status clumpi_build_library(clump_context *c, clumpi_kernel_id id) {
    return find_or_build(c, id) ? CLUMP_OK : c->error.status;
}

clump_status clumpi_point(clump_context *c, cl_kernel kernel, const clumpi_pointed *pointed) {
    if (!pointed) return CLUMP_OK;
    const int has_pointers = pointed->count > 0;
    if (!has_pointers && !c->no_heap) return CLUMP_OK; /* no kernel was told of anything */
    const size_t count = has_pointers ? pointed->count : 1;
    const cl_uint kind = clumpi_pointers_kind(c) == CLUMP_POINTERS_SVM
                             ? CLUMPI_KERNEL_EXEC_INFO_SVM_PTRS
                             : CLUMPI_KERNEL_EXEC_INFO_DEVICE_PTRS;
    cl_int code = c->cl.SetKernelExecInfo(kernel, kind, count * sizeof(void *),
                                          has_pointers ? pointed->pointers : &c->no_heap);
    return code ? clumpi_fail_cl(&c->error, "clSetKernelExecInfo", code, "the memory of a heap")
                : CLUMP_OK;
}

clump_status clumpi_group_limit(clump_context *c, cl_kernel kernel, const char *name,
                                size_t *limit) {
    cl_int code = c->cl.GetKernelWorkGroupInfo(kernel, c->device, CL_KERNEL_WORK_GROUP_SIZE,
                                               sizeof *limit, limit, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelWorkGroupInfo", code, "kernel %s", name);
    size_t least = c->capabilities.personality == CLUMP_PERSONALITY_CPU ? 1 : CLUMPI_ROW_SLOTS;
    if (*limit < least)
        return clumpi_fail(
            &c->error, CLUMP_ERR_UNSUPPORTED,
            "the device runs kernel %s in groups of at most %zu work-items, but %zu are needed",
            name, *limit, least);
    *limit -= *limit % least;
    return CLUMP_OK;
}

void clumpi_group_fit(size_t limit, size_t *global, size_t *local) {
    if (*local <= limit) return;
    *global = *global / *local * limit;
    *local = limit;
}

/* The kernel's index in its program is ready. */
static clump_status make_kernel(clump_context *c, built *b, clumpi_kernel_id id) {
    const char *name = id.library->kernels[id.index];
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = c->cl.CreateKernel(b->program, name, &code);
    if (code) return clumpi_fail_cl(&c->error, "clCreateKernel", code, "%s", name);
    clump_status status = clumpi_group_limit(c, kernel, name, &b->kernels[id.index].group_limit);
    if (status)
        c->cl.ReleaseKernel(kernel);
    else
        b->kernels[id.index].kernel = kernel;
    return status;
}

/* Words are kept, and nothing else: a buffer may have the handle of one that is gone, and local
 * memory has no value. */
static int is_word(const clumpi_arg *arg) {
    return arg->value && arg->bytes == sizeof(clumpi_u32) && sizeof(cl_mem) != sizeof(clumpi_u32);
}

static clump_status set_arg(clump_context *c, struct kept *k, const char *name, cl_uint i,
                            const clumpi_arg *arg) {
    const uint32_t bit = i < KEPT_ARGS && is_word(arg) ? UINT32_C(1) << i : 0;
    if (k->known_words & bit && memcmp(&k->words[i], arg->value, arg->bytes) == 0) return CLUMP_OK;
    k->known_words &= ~bit;
    cl_int code = c->cl.SetKernelArg(k->kernel, i, arg->bytes, arg->value);
    if (code)
        return clumpi_fail_cl(&c->error, "clSetKernelArg", code, "kernel %s, parameter %u", name,
                              i);
    if (bit) memcpy(&k->words[i], arg->value, arg->bytes);
    k->known_words |= bit;
    return CLUMP_OK;
}

/* Each call costs a driver 10 to 40 ns, so arguments that the kernel has are not set again. */
static clump_status set_args(clump_context *c, struct kept *k, const char *name,
                             clumpi_kernel_id id, const clumpi_arg *args, uint32_t arg_count) {
    const cl_uint first = id.heap && k->heap == id.heap;
    clump_status status = CLUMP_OK;
    if (!first) k->heap = 0;
    for (cl_uint i = first; i < arg_count && !status; i++)
        status = set_arg(c, k, name, i, &args[i]);
    if (!status && !first) status = clumpi_point(c, k->kernel, id.pointed);
    if (!status) k->heap = id.heap;
    return status;
}

clump_status clumpi_run_kernel(clump_context *c, clumpi_kernel_id id, size_t global, size_t local,
                               const clumpi_arg *args, uint32_t arg_count, const clump_sync *sync) {
    const char *name = id.library->kernels[id.index];
    built *b = find_or_build(c, id);
    if (!b) return c->error.status;
    struct kept *k = &b->kernels[id.index];
    clump_status status = k->kernel ? CLUMP_OK : make_kernel(c, b, id);
    if (!status) status = set_args(c, k, name, id, args, arg_count);
    if (status) return status;
    clumpi_group_fit(k->group_limit, &global, &local);
    return clumpi_enqueue(c, k->kernel, name, (clumpi_items){1, global, local}, sync);
}
