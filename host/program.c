/* Programs: putting sources together, building them, and telling what the compiler said.
 *
 * A program's text is: the library's device code, the code generated from the schema, the user's
 * source; each part opens with a #line mark, so that build messages name the file they are about.
 *
 * Read first: internal.h, cl_files.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_files.h"
#include "clump/experimental.h"
#include "internal.h"

#define DEFAULT_NAME "program.cl"

void clumpi_options_append(clumpi_text *t, const clump_context *c, const char *user_options) {
    uint32_t f = c->capabilities.features;
    if (!user_options || !strstr(user_options, "-cl-std="))
        clumpi_text_append(t, "-cl-std=%s ", c->capabilities.language);
    clumpi_text_append(t, "-cl-kernel-arg-info");
    clumpi_text_append(t, " -DCLUMPI_HAVE_INT64_ATOMICS=%d", !!(f & CLUMP_FEATURE_INT64_ATOMICS));
    clumpi_text_append(t, " -DCLUMPI_HAVE_PTX=%d", !!(f & CLUMP_FEATURE_PTX));
    clumpi_text_append(t, " -DCLUMPI_HAVE_SUBGROUPS=%d", !!(f & CLUMP_FEATURE_SUBGROUPS));
    clumpi_text_append(t, " -DCLUMPI_ROW_PER_ITEM=%d",
                       c->capabilities.personality == CLUMP_PERSONALITY_CPU);
    /* Race checkers take a volatile load beside an atomic for a race; Oclgrind says its name. It
     * does not know all intrinsics that optimisation leaves behind. */
    if (strstr(c->capabilities.platform_name, "Oclgrind"))
        clumpi_text_append(t, " -DCLUMPI_ATOMIC_LOADS=1 -cl-opt-disable");
}

/* The parts are already in order of inclusion, so their includes become empty lines. */
void clumpi_source_append(clumpi_text *t, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const clumpi_cl_file *file = clumpi_cl_file_find(names[i]);
        if (!file) { /* cannot happen: the build embeds all of cl/ */
            t->failed = 1;
            return;
        }
        clumpi_text_append(t, "#line 1 \"%s\"\n", names[i]);
        for (const char *at = file->data; *at;) {
            const char *end = strchr(at, '\n');
            size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
            if (strncmp(at, "#include \"cl/", 13) == 0)
                clumpi_text_append_bytes(t, "\n", 1);
            else
                clumpi_text_append_bytes(t, at, length);
            at += length;
        }
    }
}

/* "name:12:5" in the log: the first place in the user's source. */
static void find_place(const char *log, const char *name, clump_error *error) {
    size_t length = strlen(name);
    for (const char *at = strstr(log, name); at; at = strstr(at + 1, name)) {
        const char *colon = at + length;
        if (*colon != ':' || !isdigit((unsigned char)colon[1])) continue;
        char *end;
        error->line = (uint32_t)strtoul(colon + 1, &end, 10);
        if (*end == ':' && isdigit((unsigned char)end[1]))
            error->column = (uint32_t)strtoul(end + 1, NULL, 10);
        return;
    }
}

/* NVIDIA's compiler disregards #line and counts from the start of the whole text: "<kernel>:1634:35".
 * The same log with such places told as those of the user's source. Takes `log`. */
static char *translate_log(clump_context *c, char *log, const clumpi_user_part *user) {
    static const char whole[] = "<kernel>:";
    if (!log || !user || !strstr(log, whole)) return log;
    clumpi_text t = {.allocator = &c->allocator};
    const char *from = log;
    for (const char *at; (at = strstr(from, whole)) != NULL;) {
        char *end;
        unsigned long line = strtoul(at + sizeof whole - 1, &end, 10);
        clumpi_text_append_bytes(&t, from, (size_t)(at - from));
        if (line >= user->first_line)
            clumpi_text_append(&t, "%s:%lu", user->name, line - user->first_line + 1);
        else
            clumpi_text_append_bytes(&t, at, (size_t)(end - at));
        from = end;
    }
    clumpi_text_append(&t, "%s", from);
    clumpi_free(&c->allocator, t.failed ? t.data : log);
    return t.failed ? log : t.data;
}

/* The build log, or an empty text; NULL without memory. */
static char *fetch_log(clump_context *c, cl_program program, const clumpi_user_part *user) {
    size_t bytes = 0;
    if (c->cl.GetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes))
        bytes = 0;
    char *log = clumpi_alloc(&c->allocator, bytes + 1);
    if (log && bytes &&
        c->cl.GetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL))
        log[0] = 0;
    return translate_log(c, log, user);
}

static clump_status build_failed(clump_context *c, cl_int code, const clumpi_user_part *user,
                                 const char *log) {
    clump_error *e = &c->error;
    const char *from = user && log ? strstr(log, "error") : NULL;
    while (from && from > log && from[-1] != '\n') from--; /* begin at the line of the error */
    clumpi_fail_cl(e, "clBuildProgram", code, "%s does not compile:\n%s",
                   user ? user->name : "the library's own code",
                   from  ? from
                   : log ? log
                         : "");
    e->status = CLUMP_ERR_BUILD;
    if (user && log) find_place(from ? from : log, user->name, e);
    return CLUMP_ERR_BUILD;
}

clump_status clumpi_build(clump_context *c, const char *source, const char *options,
                          const clumpi_user_part *user, cl_program *program, char **log) {
    cl_int code = CL_SUCCESS;
    *program = NULL;
    cl_program p = c->cl.CreateProgramWithSource(c->context, 1, &source, NULL, &code);
    if (code)
        return clumpi_fail_cl(&c->error, "clCreateProgramWithSource", code, "%zu bytes of source",
                              strlen(source));
    code = c->cl.BuildProgram(p, 1, &c->device, options, NULL, NULL);
    char *text = code || log ? fetch_log(c, p, user) : NULL;
    clump_status status = CLUMP_OK;
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
        status = clumpi_fail_cl(&c->error, "clBuildProgram", code, "no resources to compile");
    else if (code)
        status = build_failed(c, code, user, text);
    else if (log && !text)
        status = clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for the build log");
    if (log)
        *log = text;
    else
        clumpi_free(&c->allocator, text);
    if (status)
        c->cl.ReleaseProgram(p);
    else
        *program = p;
    return status;
}

/* Returns where the user's part stands. */
static clumpi_user_part append_program(clumpi_text *t, const clump_program_desc *desc,
                                       const char *name) {
    static const char *const files[] = {"cl/layout.h",       "cl/prelude.clh", "cl/bitmap.clh",
                                        "cl/block.clh",      "cl/alloc.clh",   "cl/lanes.clh",
                                        "cl/device_api.clh", "cl/staged.clh"};
    const clumpi_geometry *g = &desc->heap->geometry;
    clumpi_text_append(t,
                       "#define CLUMPI_HEADER_AT %uu\n"
                       "#define CLUMPI_GRANULE_BYTES %uul\n"
                       "#define CLUMPI_LAYOUT_BLOCK_GRANULES %uu\n",
                       g->header.self_at, g->header.granule_bytes, g->header.block_granules);
    clumpi_source_append(t, files, sizeof files / sizeof *files);
    clumpi_text_append(t, "#line 1 \"(generated from the schema)\"\n");
    clumpi_schema_emit(t, desc->heap->schema, g);
    clumpi_text_append(t, "#line 1 \"%s\"\n", name);
    clumpi_user_part user = {name, 1};
    for (const char *at = t->failed ? NULL : t->data; at && (at = strchr(at, '\n')) != NULL; at++)
        user.first_line++;
    clumpi_text_append_bytes(t, desc->source, strlen(desc->source));
    clumpi_text_append(t, "\n");
    return user;
}

static void append_tuning(clumpi_text *t, const clump_program_desc *desc) {
    const clump_alloc_tuning *tuning = desc->tuning;
    clumpi_text_append(t, " -DCLUMP_COALESCE=%d -DCLUMP_ROTATE=%d",
                       !(tuning && tuning->no_coalescing), !(tuning && tuning->no_rotation));
    if (tuning && tuning->retries) clumpi_text_append(t, " -DCLUMP_RETRIES=%uu", tuning->retries);
    if (desc->checked) clumpi_text_append(t, " -DCLUMPI_CHECKED=1");
    if (desc->options && *desc->options) clumpi_text_append(t, " %s", desc->options);
}

static clump_status create(const clump_program_desc *desc, clump_program *p) {
    clump_context *c = p->context;
    const char *name = desc->name ? desc->name : DEFAULT_NAME;
    clumpi_text source = {.allocator = &c->allocator}, options = {.allocator = &c->allocator};
    clumpi_user_part user = append_program(&source, desc, name);
    clumpi_options_append(&options, c, desc->options);
    append_tuning(&options, desc);
    clump_status status;
    if (source.failed || options.failed) {
        clumpi_free(&c->allocator, source.data);
        status = clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for the program's text");
    } else {
        p->source = source.data;
        status = clumpi_schema_copy(desc->heap->schema, &c->allocator, &p->schema);
        if (status)
            clumpi_fail(&c->error, status, "no host memory for the program's schema");
        else
            status = clumpi_build(c, p->source, options.data, &user, &p->program, &p->log);
    }
    clumpi_free(&c->allocator, options.data);
    return status;
}

static clump_status check_desc(const clump_program_desc *desc) {
    clump_error *e = &desc->heap->context->error;
    if (!desc->source)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_program_create needs a source");
    if (desc->name && (strchr(desc->name, '"') || strchr(desc->name, '\n') || !*desc->name))
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "a program's name must not be empty or have quotes or line ends in it");
    if (desc->tuning && desc->tuning->retries > 1024)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "tuning->retries is %u, at most 1024 make sense",
                           desc->tuning->retries);
    return CLUMP_OK;
}

clump_status clump_program_create(const clump_program_desc *desc, clump_program **program) {
    if (program) *program = NULL;
    if (!desc || !program || !desc->heap) return CLUMP_ERR_USAGE; /* no context to hold words */
    clump_status status = check_desc(desc);
    if (status) return status;
    clump_context *c = desc->heap->context;
    clump_program *p = clumpi_alloc(&c->allocator, sizeof *p);
    if (!p) return clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for a program");
    p->context = c;
    p->granule_bytes = desc->heap->layout.granule_bytes;
    p->block_granules = desc->heap->layout.block_granules;
    status = create(desc, p);
    if (status && status != CLUMP_ERR_BUILD) {
        clump_program_destroy(p);
        return status;
    }
    *program = p;
    return status;
}

void clump_program_destroy(clump_program *p) {
    if (!p) return;
    clump_context *c = p->context;
    if (p->program) c->cl.ReleaseProgram(p->program);
    clump_schema_destroy(p->schema);
    clumpi_free(&c->allocator, p->source);
    clumpi_free(&c->allocator, p->log);
    clumpi_free(&c->allocator, p);
}

const char *clump_program_get_log(const clump_program *p) {
    return p->log ? p->log : "";
}

const char *clump_program_get_source(const clump_program *p) {
    return p->source;
}

/* The first parameter must be the heap. Devices that cannot tell are believed. */
static clump_status check_heap_parameter(clump_kernel *k, const char *name) {
    clump_context *c = k->program->context;
    char parameter[64] = "";
    size_t bytes = 0;
    cl_int code = c->cl.GetKernelArgInfo(k->kernel, 0, CL_KERNEL_ARG_NAME, 0, NULL, &bytes);
    if (code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE) return CLUMP_OK;
    if (!code && bytes <= sizeof parameter)
        code = c->cl.GetKernelArgInfo(k->kernel, 0, CL_KERNEL_ARG_NAME, sizeof parameter, parameter,
                                      NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelArgInfo", code, "kernel %s", name);
    if (strcmp(parameter, "clump_heap") != 0)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the first parameter of kernel %s must be CLUMP_HEAP or "
                           "CLUMP_HEAP_FIXED",
                           name);
    cl_kernel_arg_type_qualifier qualifier = 0;
    code = c->cl.GetKernelArgInfo(k->kernel, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier,
                                  &qualifier, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelArgInfo", code, "kernel %s", name);
    k->fixed = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
    return CLUMP_OK;
}

static clump_status create_kernel(clump_kernel *k, const char *name) {
    clump_context *c = k->program->context;
    cl_int code = CL_SUCCESS;
    k->kernel = c->cl.CreateKernel(k->program->program, name, &code);
    if (code == CL_INVALID_KERNEL_NAME)
        return clumpi_fail(&c->error, CLUMP_ERR_NOT_FOUND, "the program has no kernel \"%s\"",
                           name);
    if (code) return clumpi_fail_cl(&c->error, "clCreateKernel", code, "kernel %s", name);
    cl_uint count = 0;
    code = c->cl.GetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelInfo", code, "kernel %s", name);
    if (count == 0)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "kernel %s has no parameters; the first must be CLUMP_HEAP", name);
    clump_status status = check_heap_parameter(k, name);
    if (!status) status = clumpi_group_limit(c, k->kernel, name, &k->group_limit);
    if (status) return status;
    k->arg_count = count - 1;
    k->arg_set = clumpi_alloc(&c->allocator, count);
    if (!k->arg_set)
        return clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for kernel %s", name);
    return CLUMP_OK;
}

clump_status clump_kernel_create(clump_program *program, const char *name, clump_kernel **kernel) {
    if (kernel) *kernel = NULL;
    if (!program || !kernel || !name) return CLUMP_ERR_USAGE;
    clump_context *c = program->context;
    if (!program->program)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "kernel %s: the program was not built, see clump_program_get_log()",
                           name);
    clump_kernel *k = clumpi_alloc(&c->allocator, sizeof *k);
    if (!k) return clumpi_fail(&c->error, CLUMP_ERR_MEMORY, "no host memory for kernel %s", name);
    k->program = program;
    clump_status status = create_kernel(k, name);
    if (status) {
        clump_kernel_destroy(k);
        return status;
    }
    *kernel = k;
    return CLUMP_OK;
}

void clump_kernel_destroy(clump_kernel *k) {
    if (!k) return;
    clump_context *c = k->program->context;
    if (k->kernel) c->cl.ReleaseKernel(k->kernel);
    clumpi_free(&c->allocator, k->arg_set);
    clumpi_free(&c->allocator, k);
}

clump_status clump_kernel_set_arg(clump_kernel *k, uint32_t index, size_t bytes,
                                  const void *value) {
    if (!k) return CLUMP_ERR_USAGE;
    clump_context *c = k->program->context;
    if (index >= k->arg_count)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "parameter %u: the kernel has %u behind its heap parameter, counted "
                           "from 0",
                           index, k->arg_count);
    if (!bytes) /* not every implementation notices */
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "parameter %u: its size is 0 bytes", index);
    cl_int code = c->cl.SetKernelArg(k->kernel, index + 1, bytes, value);
    if (code)
        return clumpi_fail_cl(&c->error, "clSetKernelArg", code, "parameter %u, %zu bytes", index,
                              bytes);
    k->arg_set[index] = 1;
    return CLUMP_OK;
}
