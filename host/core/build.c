/* Building programs: putting sources together, the options, and telling what the compiler said.
 *
 * Each part of a program's text opens with a #line mark, so that build messages name the file they
 * are about.
 *
 * A program that is kept (cache.c) is not compiled again.
 *
 * Read first: core.h, cl_files.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cl_files.h"
#include "core/core.h"

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
    clumpi_text_append(t, " -DCLUMPI_IS_CPU=%d", c->capabilities.is_cpu);
    /* Race checkers take a volatile load beside an atomic for a race; Oclgrind says its name. It
     * does not know all intrinsics that optimised code has. */
    if (strstr(c->capabilities.platform_name, "Oclgrind"))
        clumpi_text_append(t, " -DCLUMPI_ATOMIC_LOADS=1 -cl-opt-disable");
}

/* The files are already in order of inclusion, and what cl/core/layout.h includes is for the host:
 * includes become empty lines. */
static void append_file(clumpi_text *t, const clumpi_cl_file *file) {
    if (!file) { /* cannot happen: the build embeds all of cl/ */
        t->failed = 1;
        return;
    }
    clumpi_text_append(t, "#line 1 \"%s\"\n", file->name);
    for (const char *at = file->data; *at;) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
        if (strncmp(at, "#include ", 9) == 0)
            clumpi_text_append_bytes(t, "\n", 1);
        else
            clumpi_text_append_bytes(t, at, length);
        at += length;
    }
}

void clumpi_source_append(clumpi_text *t, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) append_file(t, clumpi_cl_file_find(names[i]));
}

void clumpi_library_append(clumpi_text *t, const clumpi_library *library) {
    for (size_t i = 0; i < library->file_count; i++) {
        const clumpi_cl_file *file = library->own;
        while (file && file->name && strcmp(file->name, library->files[i]) != 0) file++;
        append_file(t, file && file->name ? file : clumpi_cl_file_find(library->files[i]));
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

/* NVIDIA's compiler and Mesa's disregard #line and count from the start of the whole text:
 * "<kernel>:1634:35", "input.cl:1634:35". The same log with such places told as those of the user's
 * source, unless that has this name. Takes `log`. */
static char *translate_log(clump_context *c, char *log, const clumpi_user_part *user) {
    if (!log || !user) return log;
    const char *whole = strstr(log, "<kernel>:") ? "<kernel>:" : "input.cl:";
    const size_t length = strlen(whole), named = strlen(user->name) + 1;
    if (!strstr(log, whole)) return log;
    if (named >= length && !memcmp(user->name + named - length, whole, length - 1)) return log;
    clumpi_text t = {.allocator = &c->allocator};
    const char *from = log;
    for (const char *at; (at = strstr(from, whole)) != NULL;) {
        char *end;
        unsigned long line = strtoul(at + length, &end, 10);
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

static const char *line_of(const char *text, const char *at) {
    while (at > text && at[-1] != '\n') at--;
    return at;
}

static const char lost_const[] = "discards qualifiers";

/* A line of the log says that an object's heap loses its `const`: something with
 * CLUMP_HEAP_NO_ALLOC makes or frees objects, or hands its heap to a function that may. NULL
 * without one. */
static const char *find_broken_promise(const char *log) {
    for (const char *at = log; at && (at = strstr(at, lost_const)) != NULL; at++) {
        const char *name = strstr(line_of(log, at), "clumpi_heap_memory");
        if (name && name < at) return line_of(log, at);
    }
    return NULL;
}

/* Types that must be the same: cl/api/device_api.clh, cl/api/staged.clh. Logs quote the macros'
 * texts, so what is in the error itself comes first. */
static const char *explain_types(const char *log) {
    if (strstr(log, "typeof ("))
        return ": a function that CLUMP_DISPATCH calls must return the type of the result. Types "
               "are not converted";
    if (strstr(log, "clumpi_integer_needed_for_")) return ": the keys of a map must be integers";
    if (strstr(log, "clumpi_type_needed_for_"))
        return ": a field does not have the type that the macro was given, or the type that the "
               "macro needs. Types are not converted";
    if (strstr(log, "has_too_few_elements"))
        return ": a field has fewer elements than the macro needs";
    if (strstr(log, "clumpi_type_of_stage_"))
        return ": the variables of CLUMP_FOR_WHOLE_CLASS_STAGED and CLUMP_COMBINE must have the "
               "type of the stage. Types are not converted";
    return "";
}

/* A line of the log says that a name is not declared which begins with the text. */
static int is_undeclared(const char *log, const char *name) {
    for (const char *at = strstr(log, name); at; at = strstr(at + 1, name)) {
        const char *said = strstr(line_of(log, at), "declar");
        if (said && said < at) return 1;
    }
    return 0;
}

/* Calls of cl/api/map.clh, vector.clh and grid.clh, where these are not in the program, or define
 * nothing for the class. */
static const char *explain_containers(const char *log) {
    static const char *const calls[] = {"'CLUMP_MAP_", "'CLUMP_VECTOR_", "'CLUMP_GRID_",
                                        "'CLUMP_FOR_NEAR'"};
    static const char *const defined[] = {"'clumpi_map_", "'clumpi_vector_", "'clumpi_grid_",
                                          "'clumpi_near_"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (is_undeclared(log, calls[i]))
            return ": a map, a vector or a grid needs an array of run-time length in the schema, "
                   "such as \"ref Word heads[*]\" of a map";
        if (is_undeclared(log, defined[i]))
            return ": a map, a vector or a grid needs CLUMP_MAP_DEFINE, CLUMP_VECTOR_DEFINE or "
                   "CLUMP_GRID_DEFINE for its classes, at file scope before its calls";
    }
    return "";
}

/* What to do about an error that the library can explain, after a text. */
static const char *explain_log(const char *log) {
    int is_lacking = strstr(log, "lacks_CLUMP_HEAP_as") != NULL;
    const char *containers =
        explain_containers(log); /* first, since logs quote their macros, too */
    if (find_broken_promise(log) ||
        (!is_lacking && !*containers && strstr(log, "CLUMPI_CHANGING_HEAP")))
        return ": a kernel or function with CLUMP_HEAP_NO_ALLOC makes or frees objects, or calls a "
               "function that takes CLUMP_HEAP. Make CLUMP_HEAP its first parameter";
    if (is_lacking)
        return ": a kernel or function that uses objects must have CLUMP_HEAP or "
               "CLUMP_HEAP_NO_ALLOC as its first parameter, and pass clump_heap to functions that "
               "use objects";
    if (strstr(log, "uses too much shared data")) /* NVIDIA's ptxas */
        return ": a kernel declares more local memory than the device has";
    if (strstr(log, "lacks_CLUMP_NUMBERS_as"))
        return ": a kernel or function that uses numbers must have CLUMP_NUMBERS as its second "
               "parameter, and pass clump_heap, clump_numbers to functions that use numbers";
    const char *types = explain_types(log);
    return *types ? types : containers;
}

/* code: CL_SUCCESS if the compiler took what the library refuses. */
static clump_status build_failed(clump_context *c, cl_int code, const clumpi_user_part *user,
                                 const char *log) {
    clump_error *e = &c->error;
    const char *at = user && log ? strstr(log, "error") : NULL;
    const char *from = !log ? "" : !code ? find_broken_promise(log) : at ? line_of(log, at) : log;
    const char *what = user ? user->name : "the library's own code";
    const char *why = user && log ? explain_log(log) : "";
    if (code)
        clumpi_fail_cl(e, "clBuildProgram", code, "%s does not compile%s:\n%s", what, why, from);
    else
        clumpi_fail(e, CLUMP_ERR_BUILD, "%s does not compile%s:\n%s", what, why, from);
    e->status = CLUMP_ERR_BUILD;
    if (user) find_place(from, user->name, e);
    return CLUMP_ERR_BUILD;
}

/* A program and what OpenCL said of it. */
typedef struct built {
    cl_program program; /* NULL: it failed */
    cl_int code;
    const char *call; /* the last; NULL: no host memory to make one */
    char *log;        /* of users' programs and of what failed; NULL also without memory */
} built;

static built try_build(clump_context *c, const char *source, const char *options,
                       const clumpi_user_part *user) {
    built b = {.call = "clCreateProgramWithSource"};
    b.program = c->cl.CreateProgramWithSource(c->context, 1, &source, NULL, &b.code);
    if (b.code) {
        b.program = NULL;
        return b;
    }
    b.call = "clBuildProgram";
    b.code = c->cl.BuildProgram(b.program, 1, &c->device, options, NULL, NULL);
    if (b.code || user) b.log = fetch_log(c, b.program, user);
    if (b.code) {
        c->cl.ReleaseProgram(b.program);
        b.program = NULL;
    }
    return b;
}

/* PoCL 3.1 fails to build a program that another process puts into its cache at that moment, and
 * its log has one line that names no error (findings/pocl_cache_processes.sh). Then it is built
 * once more: PoCL finds it in the cache. */
static int lost_a_race(const built *b) {
    return b->code == CL_BUILD_PROGRAM_FAILURE && b->log && !strstr(b->log, "error") &&
           strstr(b->log, "failed to build the program");
}

static built build_once(clump_context *c, const char *source, const char *options,
                        const clumpi_user_part *user) {
    built b = try_build(c, source, options, user);
    if (!lost_a_race(&b)) return b;
    clumpi_free(&c->allocator, b.log);
    return try_build(c, source, options, user);
}

/* Builds such that a heap that loses its `const` is an error: cl/api/guard.clh. A warning would do
 * for a compiler that always compiles. NVIDIA's driver keeps what it compiled, and tells warnings
 * only the first time; it does not keep what failed. Users' own pointers may lose theirs: then once
 * more, without. */
static built build_program(clump_context *c, const char *source, const char *options,
                           const clumpi_user_part *user) {
    if (!user) return build_once(c, source, options, user);
    clumpi_text kept = {.allocator = &c->allocator};
    clumpi_text_append(&kept, "%s -DCLUMPI_CONST_IS_KEPT", options);
    built b = {0};
    if (!kept.failed) b = build_once(c, source, kept.data, user);
    clumpi_free(&c->allocator, kept.data);
    if (!b.code || !b.log || !strstr(b.log, lost_const) || find_broken_promise(b.log)) return b;
    clumpi_free(&c->allocator, b.log);
    return build_once(c, source, options, user);
}

static clump_status build_source(clump_context *c, const char *source, const char *options,
                                 const clumpi_user_part *user, const clumpi_text *key,
                                 cl_program *program, clumpi_user_texts *texts) {
    built b = build_program(c, source, options, user);
    clump_status status = CLUMP_OK;
    if (!b.call)
        status = clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for the options");
    else if (b.code && strcmp(b.call, "clBuildProgram") != 0)
        status = clumpi_fail_cl(&c->error, b.call, b.code, "%zu bytes of source", strlen(source));
    else if (b.code == CL_OUT_OF_HOST_MEMORY || b.code == CL_OUT_OF_RESOURCES)
        status = clumpi_fail_cl(&c->error, b.call, b.code, "the compiler ran out of resources");
    else if (user && !b.log)
        status = clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for the build log");
    else if (b.code)
        status = build_failed(c, b.code, user, b.log);
    else if (user && find_broken_promise(b.log))
        status = build_failed(c, CL_SUCCESS, user, b.log);
    else
        clumpi_cache_store(c, key, b.program, b.log);
    if (texts)
        texts->log = b.log;
    else
        clumpi_free(&c->allocator, b.log);
    if (status && b.program)
        c->cl.ReleaseProgram(b.program);
    else
        *program = b.program;
    return status;
}

/* The log, with the note before it. Without memory for that it stays as it is. */
static void put_before(clump_context *c, clumpi_text *note, char **log) {
    clumpi_text_append(note, "%s", *log);
    if (note->failed) return;
    clumpi_free(&c->allocator, *log);
    *log = note->data;
    *note = (clumpi_text){.allocator = &c->allocator};
}

clump_status clumpi_build(clump_context *c, const char *source, const char *options,
                          const clumpi_user_part *user, cl_program *program,
                          clumpi_user_texts *texts) {
    clump_status status = CLUMP_OK;
    *program = NULL;
    if (texts) *texts = (clumpi_user_texts){0};
    clumpi_text key = clumpi_cache_key(c, source, options);
    clumpi_text note = {.allocator = &c->allocator};
    if (!clumpi_cache_load(c, &key, options, program, texts) &&
        !clumpi_compiled_load(c, source, options, program, texts, &note))
        status = build_source(c, source, options, user, &key, program, texts);
    if (texts && texts->log && note.data) put_before(c, &note, &texts->log);
    clumpi_free(&c->allocator, note.data);
    clumpi_free(&c->allocator, key.data);
    return status;
}

void clumpi_user_texts_clear(clump_context *c, clumpi_user_texts *texts) {
    clumpi_free(&c->allocator, texts->log);
    clumpi_free(&c->allocator, texts->parameters);
    *texts = (clumpi_user_texts){0};
}

/* ---- Parameters of kernels ---- */

static cl_int ask_name(clump_context *c, cl_kernel kernel, cl_uint index, char *name, size_t room) {
    size_t bytes = 0;
    cl_int code = c->cl.GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, 0, NULL, &bytes);
    if (code || bytes > room) return code;
    return c->cl.GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, room, name, NULL);
}

cl_int clumpi_parameters_ask(clump_context *c, cl_kernel kernel, cl_uint count,
                             clumpi_parameters *p) {
    *p = (clumpi_parameters){0};
    cl_int code = ask_name(c, kernel, 0, p->first, sizeof p->first);
    if (!code && count > 1) code = ask_name(c, kernel, 1, p->second, sizeof p->second);
    cl_kernel_arg_type_qualifier qualifier = 0;
    if (!code)
        code = c->cl.GetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier,
                                      &qualifier, NULL);
    p->is_const = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
    return code;
}

/* The word from `at` up to a space or the line's end. Returns where it ends. */
static const char *take_word(const char *at, char *word, size_t room) {
    size_t bytes = strcspn(at, " \n");
    if (bytes < room) memcpy(word, at, bytes);
    return at + bytes;
}

cl_int clumpi_parameters_find(const char *parameters, const char *kernel, clumpi_parameters *p) {
    size_t length = strlen(kernel);
    *p = (clumpi_parameters){0};
    for (const char *line = parameters, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (strncmp(line, kernel, length) != 0 || line[length] != ' ') continue;
        if ((size_t)(end - line) < length + 3) break; /* not "KERNEL 0 FIRST SECOND" */
        p->is_const = line[length + 1] == '1';
        const char *at = take_word(line + length + 3, p->first, sizeof p->first);
        if (*at == ' ') take_word(at + 1, p->second, sizeof p->second);
        return CL_SUCCESS;
    }
    return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

int clumpi_parameter_ask(clump_context *c, cl_kernel kernel, cl_uint index, clumpi_parameter *p) {
    *p = (clumpi_parameter){0};
    if (!c->cl.GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof p->type, p->type,
                                NULL) &&
        !c->cl.GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, sizeof p->name, p->name, NULL) &&
        *p->type && *p->name)
        return 1;
    *p = (clumpi_parameter){0};
    return 0;
}

int clumpi_parameter_find(const char *parameters, const char *kernel, cl_uint index,
                          clumpi_parameter *p) {
    char head[32];
    const size_t length = strlen(kernel);
    const size_t head_bytes = (size_t)snprintf(head, sizeof head, " %u ", (unsigned)index);
    *p = (clumpi_parameter){0};
    for (const char *line = parameters, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (*line != ' ' || strncmp(line + 1, kernel, length) != 0 ||
            strncmp(line + 1 + length, head, head_bytes) != 0)
            continue;
        const char *at = take_word(line + 1 + length + head_bytes, p->name, sizeof p->name);
        if (*at != ' ' || (size_t)(end - at) > sizeof p->type) break;
        memcpy(p->type, at + 1, (size_t)(end - at) - 1);
        return *p->name && *p->type;
    }
    *p = (clumpi_parameter){0};
    return 0;
}
