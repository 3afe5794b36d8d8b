/* Programs of users and their kernels.
 *
 * A program's text is: the library's device code, the code generated from the schema, the user's
 * source.
 *
 * Read first: heap.h, core/build.c.
 */
#include <stdio.h>
#include <string.h>

#include "clump/experimental.h"
#include "heap/heap.h"

#define DEFAULT_REGISTERS 48u
#define DEFAULT_NAME "program.cl"

/* A row has at most 64 parts, for the bits of clumpi_walk; a part is one line of the cache or
 * more. */
static clumpi_u32 part_bytes(const clumpi_geometry *g) {
    clumpi_u32 bytes = 64;
    for (clumpi_u32 id = 1; id < g->header.first_raw; id++) /* loops go over objects */
        while (bytes * 64 < g->classes[id].row_granules * g->header.granule_bytes) bytes *= 2;
    return bytes;
}

clumpi_made_for clumpi_made_for_heap(const clump_heap *heap) {
    const clumpi_header *h = &heap->geometry.header;
    return (clumpi_made_for){
        .granule_bytes = h->granule_bytes,
        .block_granules = h->block_granules,
        .segment_blocks = heap->segment_blocks,
        .at_segments = h->at_segments,
        .has_raw = heap->has_raw != 0,
        .checks = heap->checks,
    };
}

#define APPEND(text, files) clumpi_source_append((text), (files), sizeof(files) / sizeof *(files))

/* Returns where the user's part stands. */
static clumpi_user_part append_program(clumpi_text *t, const clump_program_desc *desc,
                                       const clumpi_made_for *m, const char *name,
                                       size_t *user_at) {
    static const char *const files[] = {
        "cl/core/layout.h",     "cl/core/prelude.clh", "cl/core/bitmap.clh",
        "cl/core/segments.clh", "cl/core/block.clh",   "cl/core/reserve.clh",
        "cl/core/alloc.clh",    "cl/core/lanes.clh",   "cl/api/device_api.clh",
        "cl/api/staged.clh",    "cl/api/together.clh"};
    static const char *const of_raw[] = {
        "cl/core/runs.clh"}; /* raw.clh says to others what they lack */
    static const char *const raw[] = {"cl/api/raw.clh"};
    static const char *const of_arrays[] = {"cl/api/arrays.clh", "cl/api/map.clh",
                                            "cl/api/vector.clh", "cl/api/grid.clh"};
    static const char *const of_becomes[] = {"cl/api/become.clh"};
    static const char *const of_checked_becomes[] = {"cl/api/checked_become.clh"};
    static const char *const of_others[] = {"cl/api/malloc.h", "cl/api/malloc.clh"};
    static const char *const last[] = {"cl/api/guard.clh"};
    static const char *const of_checked[] = {"cl/core/poison.clh", "cl/api/checked.clh"};
    static const char *const of_checked_raw[] = {"cl/core/pieces.clh", "cl/api/checked_raw.clh"};
    static const char *const of_checked_arrays[] = {"cl/api/checked_arrays.clh"};
    const int has_arrays = clumpi_schema_find_array(desc->heap->schema, 0) != NULL;
    const int has_becomes = desc->heap->schema->become_count != 0;
    const clumpi_geometry *g = &desc->heap->geometry;
    clumpi_text_append(t,
                       "#define CLUMPI_HEADER_AT %uu\n"
                       "#define CLUMPI_GRANULE_BYTES %uul\n"
                       "#define CLUMPI_PART_BYTES %uu\n"
                       "#define CLUMPI_LAYOUT_BLOCK_GRANULES %uu\n"
                       "#define CLUMPI_HAVE_RAW %u\n",
                       g->header.self_at, m->granule_bytes, part_bytes(g), m->block_granules,
                       m->has_raw);
    if (m->segment_blocks)
        clumpi_text_append(t,
                           "#define CLUMPI_SEGMENTS 1\n"
                           "#define CLUMPI_SEGMENTS_AT %uul\n"
                           "#define CLUMPI_SEGMENT_GRANULES %uu\n",
                           m->at_segments, m->segment_blocks * m->block_granules);
    if (desc->reproducible) clumpi_text_append(t, "#pragma OPENCL FP_CONTRACT OFF\n");
    APPEND(t, files);
    if (m->has_raw) APPEND(t, of_raw);
    APPEND(t, raw);
    if (m->checks && has_becomes) clumpi_text_append(t, "#define CLUMPI_CHECKED_BECOMES 1\n");
    if (m->checks) APPEND(t, of_checked);
    if (m->checks && m->has_raw) APPEND(t, of_checked_raw);
    if (has_arrays) APPEND(t, of_arrays);
    if (m->checks && has_arrays) APPEND(t, of_checked_arrays);
    if (has_becomes) APPEND(t, of_becomes);
    if (m->checks && has_becomes) APPEND(t, of_checked_becomes);
    if (m->has_raw) APPEND(t, of_others);
    APPEND(t, last);
    clumpi_text_append(t, "#line 1 \"(generated from the schema)\"\n");
    clumpi_schema_emit(t, desc->heap->schema, g, m->checks != 0);
    clumpi_text_append(t, "#line 1 \"%s\"\n", name);
    clumpi_user_part user = {name, 1};
    for (const char *at = t->failed ? NULL : t->data; at && (at = strchr(at, '\n')) != NULL; at++)
        user.first_line++;
    *user_at = t->bytes;
    if (m->checks & CLUMP_CHECK_READS)
        clumpi_reads_mark(t, desc->heap->schema, desc->source);
    else
        clumpi_text_append_bytes(t, desc->source, strlen(desc->source));
    clumpi_text_append(t, "\n");
    return user;
}

static void append_tuning(clumpi_text *t, const clump_program_desc *desc,
                          const clumpi_made_for *m) {
    const clump_alloc_tuning *tuning = desc->tuning;
    clumpi_text_append(t, " -DCLUMP_COALESCE=%d -DCLUMP_ROTATE=%d",
                       !(tuning && tuning->no_coalescing), !(tuning && tuning->no_rotation));
    if (tuning && tuning->retries) clumpi_text_append(t, " -DCLUMP_RETRIES=%uu", tuning->retries);
    if (m->checks)
        clumpi_text_append(t, " -DCLUMPI_CHECKS=%uu", m->checks);
    else if (desc->checked)
        clumpi_text_append(t, " -DCLUMPI_CHECKED=1");
    /* The compiler takes twice as many for a kernel that makes objects, all for the path that is
     * seldom gone (docs/measurements/allocation.md). The user's options come later and win. */
    uint32_t registers = tuning && tuning->registers ? tuning->registers : DEFAULT_REGISTERS;
    if (desc->heap->context->capabilities.features & CLUMP_FEATURE_PTX)
        clumpi_text_append(t, " -cl-nv-maxrregcount=%u", registers);
    if (desc->options && *desc->options) clumpi_text_append(t, " %s", desc->options);
}

/* Compilers of all implementations name them so. */
static uint32_t count_lines(const char *log, const char *kind) {
    uint32_t count = 0;
    for (const char *at = log; (at = strstr(at, kind)) != NULL; at++) count++;
    return count;
}

static const char *log_of(const clump_program *p) {
    return p->texts.log ? p->texts.log : "";
}

/* Once more, with warnings as errors: a compiler that keeps programs may tell warnings only the
 * first time. */
static clump_status build_strictly(clump_program *p, const clumpi_user_part *user) {
    clump_context *c = p->context;
    clumpi_user_texts texts;
    cl_program program;
    clumpi_text options = {.allocator = &c->allocator};
    clumpi_text_append(&options, "%s -Werror", p->options);
    if (options.failed)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for the program's options");
    clump_status status = clumpi_build(c, p->source, options.data, user, &program, &texts);
    clumpi_free(&c->allocator, options.data);
    if (!status) c->cl.ReleaseProgram(program);
    if (status == CLUMP_ERR_BUILD) {
        clumpi_free(&c->allocator, p->texts.log);
        p->texts.log = texts.log;
        texts.log = NULL;
        p->info.warnings = count_lines(p->texts.log, "error: ");
    }
    clumpi_user_texts_clear(c, &texts);
    return status;
}

static clump_status refuse_warnings(clump_program *p, const char *name,
                                    const clumpi_user_part *user) {
    clump_context *c = p->context;
    if (!p->info.warnings) {
        clump_status status = build_strictly(p, user);
        if (status && status != CLUMP_ERR_BUILD) return status;
    }
    if (!p->info.warnings) return CLUMP_OK;
    c->cl.ReleaseProgram(p->program);
    p->program = NULL;
    const char *log = log_of(p), *at = strstr(log, "warning: ");
    if (!at) at = strstr(log, "error: ");
    while (at > log && at[-1] != '\n') at--;
    return clumpi_fail(&c->error, CLUMP_ERR_BUILD,
                       "%s compiles with %u warnings, which `strict` does not allow:\n%s", name,
                       p->info.warnings, at);
}

static clump_status create(const clump_program_desc *desc, clump_program *p) {
    clump_context *c = p->context;
    const char *name = desc->name ? desc->name : DEFAULT_NAME;
    clumpi_text source = {.allocator = &c->allocator}, options = {.allocator = &c->allocator};
    clumpi_options_append(&options, c, desc->options);
    clump_status status = desc->reproducible ? clumpi_reproducible_options(c, &options) : CLUMP_OK;
    if (status) {
        clumpi_free(&c->allocator, options.data);
        return status;
    }
    clumpi_user_part user = append_program(&source, desc, &p->made_for, name, &p->user_at);
    p->user_line = user.first_line;
    p->erases_in_maps = strstr(desc->source, "CLUMP_MAP_ERASE") ||
                        (desc->options && strstr(desc->options, "CLUMP_MAP_ERASE"));
    append_tuning(&options, desc, &p->made_for);
    p->name = clumpi_copy_text(&c->allocator, name, strlen(name));
    if (source.failed || options.failed || !p->name) {
        clumpi_free(&c->allocator, source.data);
        status =
            clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for the program's text");
    } else {
        p->source = source.data;
        p->options = options.data;
        status = clumpi_schema_copy(desc->heap->schema, &c->allocator, &p->schema);
        if (status)
            clumpi_fail(&c->error, status, "no host memory for the program's schema");
        else
            status = clumpi_build(c, p->source, options.data, &user, &p->program, &p->texts);
        if (!status) p->info.warnings = count_lines(log_of(p), "warning: ");
        if (!status && desc->strict) status = refuse_warnings(p, name, &user);
        if (!status) status = clumpi_local_check(p);
    }
    if (!p->options) clumpi_free(&c->allocator, options.data);
    return status;
}

static clump_status check_desc(const clump_program_desc *desc) {
    clump_error *e = &desc->heap->context->error;
    if (!desc->source)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "clump_program_create needs a source");
    if (desc->name && (strchr(desc->name, '"') || strchr(desc->name, '\n') || !*desc->name))
        return clumpi_fail(
            e, CLUMP_ERR_USAGE,
            "a program's name must have 1 or more characters, and no quotes or line ends");
    if (desc->tuning && desc->tuning->retries > 1024)
        return clumpi_fail(e, CLUMP_ERR_USAGE, "tuning->retries is %u, but must be at most 1024",
                           desc->tuning->retries);
    if (!desc->reproducible) return CLUMP_OK;
    return clumpi_reproducible_read(desc->heap->context, desc->name ? desc->name : DEFAULT_NAME,
                                    desc->source, desc->options);
}

static clump_status make_program(const clump_program_desc *desc, clump_program **program) {
    if (!desc->heap) return CLUMP_ERR_USAGE; /* no context to hold words */
    if (!program)
        return clumpi_fail(&desc->heap->context->error, CLUMP_ERR_USAGE,
                           "clump_program_create needs a pointer for the program");
    clump_status status = check_desc(desc);
    if (status) return status;
    clump_context *c = desc->heap->context;
    clump_program *p = clumpi_alloc(&c->allocator, sizeof *p);
    if (!p) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a program");
    p->context = c;
    p->users = 1;
    clumpi_context_use(c);
    p->made_for = clumpi_made_for_heap(desc->heap);
    status = create(desc, p);
    p->info.log = log_of(p);
    p->info.source = p->source;
    p->info.options = p->options;
    if (status == CLUMP_ERR_BUILD && desc->failed) desc->failed(desc->user, &p->info);
    if (status)
        clump_program_destroy(p);
    else
        *program = p;
    return status;
}

clump_status clumpi_program_extend(const clump_program *from, clumpi_text *source,
                                   clump_program **program) {
    clump_context *c = from->context;
    const clump_allocator *a = &c->allocator;
    clump_program *p = clumpi_alloc(a, sizeof *p);
    if (!p) {
        clumpi_free(a, source->data);
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a program");
    }
    *p = (clump_program){.context = c,
                         .users = 1,
                         .made_for = from->made_for,
                         .source = source->data,
                         .user_at = from->user_at,
                         .user_line = from->user_line,
                         .erases_in_maps = from->erases_in_maps};
    clumpi_context_use(c);
    p->name = clumpi_copy_text(a, from->name, strlen(from->name));
    p->options = clumpi_copy_text(a, from->options, strlen(from->options));
    clump_status status = CLUMP_OK;
    if (!p->name || !p->options || source->failed ||
        clumpi_schema_copy(from->schema, a, &p->schema))
        status = clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                             "no host memory for the program of a fused kernel");
    const clumpi_user_part user = {p->name, p->user_line};
    if (!status) status = clumpi_build(c, p->source, p->options, &user, &p->program, &p->texts);
    if (!status) status = clumpi_local_check(p);
    if (status)
        clump_program_destroy(p);
    else
        *program = p;
    return status;
}

clump_status clump_program_create(const clump_program_desc *given, clump_program **program,
                                  clump_error *error) {
    clump_program_desc desc;
    clump_error *kept = given && given->heap ? &given->heap->context->error : NULL;
    if (program) *program = NULL;
    clump_status status = CLUMPI_TAKE(clump_program_desc, &desc, given, kept);
    if (!status) status = make_program(&desc, program);
    return clumpi_tell(kept, status, error);
}

/* From now on they hold the program as other kernels do: those that compactors or collectors need
 * stay. */
static void let_kept_go(clump_program *p) {
    clump_kernel *next;
    for (clump_kernel *k = p->kept; k; k = next) {
        next = k->next;
        k->is_kept = 0;
        p->users++;
        clumpi_kernel_release(k);
    }
}

void clump_program_destroy(clump_program *p) {
    if (!p) return;
    if (p->users == 1) {
        let_kept_go(p);
        p->kept = NULL;
    }
    if (--p->users) return;
    clump_context *c = p->context;
    if (p->program) c->cl.ReleaseProgram(p->program);
    clump_schema_destroy(p->schema);
    clumpi_free(&c->allocator, p->name);
    clumpi_free(&c->allocator, p->source);
    clumpi_free(&c->allocator, p->options);
    clumpi_user_texts_clear(c, &p->texts);
    clumpi_free(&c->allocator, p);
    clumpi_context_unuse(c);
}

const clump_program_info *clump_program_get_info(const clump_program *p) {
    static const clump_program_info none = {"", "", "", 0};
    return p ? &p->info : &none;
}

/* The first parameter must be the heap; the second may be CLUMP_NUMBERS. Devices that cannot tell
 * are believed, and have no numbers. */
static clump_status check_parameters(clump_kernel *k, const char *name, cl_uint count) {
    clump_context *c = k->program->context;
    const char *kept = k->program->texts.parameters;
    clumpi_parameters p;
    cl_int code = kept ? clumpi_parameters_find(kept, name, &p)
                       : clumpi_parameters_ask(c, k->kernel, count, &p);
    if (code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE) return CLUMP_OK;
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelArgInfo", code, "kernel %s", name);
    if (strcmp(p.first, "clump_heap") != 0)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the first parameter of kernel %s must be CLUMP_HEAP or "
                           "CLUMP_HEAP_NO_ALLOC",
                           name);
    k->fixed = p.is_const;
    k->numbered = strcmp(p.second, "clump_numbers") == 0;
    return CLUMP_OK;
}

/* Says which kernels there are. */
static clump_status no_such_kernel(const clump_program *p, const char *name) {
    clump_context *c = p->context;
    char names[CLUMP_ERROR_MESSAGE_BYTES / 2] = "";
    size_t bytes = 0;
    if (c->cl.GetProgramInfo(p->program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &bytes) ||
        bytes > sizeof names ||
        c->cl.GetProgramInfo(p->program, CL_PROGRAM_KERNEL_NAMES, bytes, names, NULL))
        names[0] = 0; /* too many to tell */
    return clumpi_fail(&c->error, CLUMP_ERR_NOT_FOUND, "the program has no kernel \"%s\"%s%s", name,
                       *names ? ". It has " : "", names);
}

/* The kernels of some compilers cannot be found by such a name, or call themselves. */
static clump_status check_name(clump_context *c, const char *name) {
    const char *reason = clumpi_reserved_builtin(name);
    if (!reason) reason = clumpi_reserved_word(name);
    if (!reason) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                       "kernel name \"%s\" is not valid on every device: %s. Use another name",
                       name, reason);
}

/* reqd_work_group_size, or zeros. */
static clump_status find_required(clump_kernel *k) {
    clump_context *c = k->program->context;
    cl_int code =
        c->cl.GetKernelWorkGroupInfo(k->kernel, c->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                     sizeof k->required, k->required, NULL);
    return code ? clumpi_fail_cl(&c->error, "clGetKernelWorkGroupInfo", code, "kernel %s", k->name)
                : CLUMP_OK;
}

static clump_status create_kernel(clump_kernel *k, const char *name) {
    clump_context *c = k->program->context;
    cl_int code = CL_SUCCESS;
    k->name = clumpi_copy_text(&c->allocator, name, strlen(name));
    if (!k->name)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for kernel %s", name);
    k->kernel = c->cl.CreateKernel(k->program->program, name, &code);
    if (code == CL_INVALID_KERNEL_NAME) return no_such_kernel(k->program, name);
    if (code) return clumpi_fail_cl(&c->error, "clCreateKernel", code, "kernel %s", name);
    cl_uint count = 0;
    code = c->cl.GetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelInfo", code, "kernel %s", name);
    if (count == 0)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "kernel %s has no parameters, but the first must be CLUMP_HEAP", name);
    clump_status status = check_parameters(k, name, count);
    if (!status) status = clumpi_group_limit(c, k->kernel, name, &k->group_limit);
    if (!status) status = find_required(k);
    if (!status) status = clumpi_local_of_kernel(c, k->kernel, name, &k->local_bytes);
    if (!status) status = clumpi_uses_of(k->program, name, &k->uses);
    if (status) return status;
    k->arg_count = count - 1 - (k->numbered ? 1 : 0);
    k->args = clumpi_alloc(&c->allocator, count * sizeof *k->args);
    if (!k->args)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for kernel %s", name);
    return CLUMP_OK;
}

static clump_status make_kernel(clump_program *program, const char *name, clump_kernel **kernel) {
    if (kernel) *kernel = NULL;
    if (!program) return CLUMP_ERR_USAGE;
    clump_context *c = program->context;
    if (!kernel || !name)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_kernel_create needs a name and a pointer for the kernel");
    clump_status status = check_name(c, name);
    return status ? status : clumpi_kernel_make(program, name, kernel);
}

clump_status clump_kernel_create(clump_program *program, const char *name, clump_kernel **kernel,
                                 clump_error *error) {
    clump_status status = make_kernel(program, name, kernel);
    return clumpi_tell(program ? &program->context->error : NULL, status, error);
}

clump_status clumpi_kernel_make(clump_program *program, const char *name, clump_kernel **kernel) {
    clump_context *c = program->context;
    clump_kernel *k = clumpi_alloc(&c->allocator, sizeof *k);
    if (!k)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for kernel %s", name);
    k->program = program;
    k->users = 1;
    program->users++;
    clump_status status = create_kernel(k, name);
    if (status) {
        clumpi_kernel_release(k);
        return status;
    }
    *kernel = k;
    return CLUMP_OK;
}

clump_kernel *clump_program_get_kernel(clump_program *program, const char *name) {
    if (!program) return NULL;
    clump_context *c = program->context;
    for (clump_kernel *k = program->kept; k && name; k = k->next)
        if (strcmp(k->name, name) == 0) return k;
    clump_kernel *k = NULL;
    if (make_kernel(program, name, &k)) {
        c->kernel_lacks = c->error;
        return NULL;
    }
    /* The program does not wait for what it keeps itself. */
    program->users--;
    k->is_kept = 1;
    k->next = program->kept;
    program->kept = k;
    return k;
}

static void forget_arg(clump_context *c, clumpi_kept_arg *arg) {
    if (arg->value != arg->small) clumpi_free(&c->allocator, arg->value);
    arg->value = NULL;
}

void clump_kernel_destroy(clump_kernel *k) {
    if (k && !k->is_kept) clumpi_kernel_release(k);
}

void clumpi_kernel_release(clump_kernel *k) {
    if (!k || --k->users) return;
    clump_program *p = k->program;
    clump_context *c = p->context;
    if (k->kernel) c->cl.ReleaseKernel(k->kernel);
    if (k->hooks) k->hooks->release(k);
    for (uint32_t i = 0; k->args && i < k->arg_count; i++) forget_arg(c, &k->args[i]);
    clumpi_free(&c->allocator, k->args);
    clumpi_free(&c->allocator, k->name);
    clumpi_free(&c->allocator, k);
    clump_program_destroy(p); /* it had this kernel for a user */
}

/* OpenCL refused an argument: which, and what would be right, as far as OpenCL can tell. */
static clump_status refused_arg(clump_kernel *k, cl_int code, uint32_t index, size_t bytes) {
    clump_context *c = k->program->context;
    char wanted[64] = "";
    const clumpi_parameter p = clumpi_kernel_parameter(k, index);
    const char *type = p.type, *name = p.name;
    unsigned width = 0;
    const clumpi_scalar *scalar = clumpi_scalar_find(type, &width);
    const size_t right = scalar ? (size_t)scalar->bytes * (width == 3 ? 4 : width) : 0;
    if (right)
        snprintf(wanted, sizeof wanted, ", but its type has %zu", right);
    else if (strchr(type, '*'))
        snprintf(wanted, sizeof wanted, ", but a buffer is a cl_mem, of %zu", sizeof(cl_mem));
    return clumpi_fail_cl(&c->error, "clSetKernelArg", code,
                          "kernel %s, parameter %u%s%s%s%s%s, %zu bytes%s", k->name, index,
                          *type ? " (" : "", type, *type ? " " : "", name, *type ? ")" : "", bytes,
                          wanted);
}

#define KEPT_BYTES_MAX 65536u /* no device takes larger parameters */

clump_status clump_kernel_set_arg(clump_kernel *k, uint32_t index, size_t bytes,
                                  const void *value) {
    if (!k) return CLUMP_ERR_USAGE;
    clump_context *c = k->program->context;
    if (k->hooks)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "kernel %s is fused. Set the parameters of the kernels that it was made of", k->name);
    if (index >= k->arg_count)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "parameter %u is not valid: kernel %s has %u after its heap parameter, counted from 0",
            index, k->name, k->arg_count);
    if (!bytes) /* not every implementation notices */
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "parameter %u of kernel %s has a size of 0 bytes", index, k->name);
    clump_status status = value ? CLUMP_OK : clumpi_local_fits(k, index, bytes);
    if (status) return status;
    /* A copy stays here, for kernels that are made of this one. */
    clumpi_kept_arg *arg = &k->args[index];
    int is_small = value && bytes <= sizeof arg->small;
    int is_large = value && !is_small && bytes <= KEPT_BYTES_MAX;
    void *copy = is_large ? clumpi_alloc(&c->allocator, bytes) : NULL;
    if (is_large && !copy)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for parameter %u of kernel %s", index, k->name);
    cl_int code = c->cl.SetKernelArg(k->kernel, index + (k->numbered ? 2 : 1), bytes, value);
    if (code) {
        clumpi_free(&c->allocator, copy);
        return refused_arg(k, code, index, bytes);
    }
    forget_arg(c, arg);
    arg->value = is_small ? arg->small : copy;
    if (arg->value) memcpy(arg->value, value, bytes);
    arg->bytes = bytes;
    return CLUMP_OK;
}

uint32_t clump_kernel_get_arg_count(const clump_kernel *k) {
    return k && !k->hooks ? k->arg_count : 0;
}
