/* Fused loops: whether kernels may run in one, the text of that kernel, and its launch.
 *
 *     __kernel void clump_fused(CLUMP_HEAP_NO_ALLOC, float clumpi_0_dt, uint n) {
 *         what stands before the last loop
 *         CLUMP_FOR_EACH(Body, clumpi_object) {
 *             CLUMPI_FUSED_BODY { float const dt = clumpi_0_dt; const Body self = clumpi_object;
 *             first body } CLUMPI_LOOPS_APART();
 *             CLUMPI_FUSED_BODY { const Body self = clumpi_object; last body }
 *         }
 *         the reduction
 *     }
 *
 * It stands at the end of the text of the kernels' program, which is compiled once more with it.
 *
 * Invariant: in one launch every object has its bodies in order, but not all objects the first
 * before any has the second. So of two loops one may write only what the other one does not touch,
 * or what both touch in their own object alone: check_pair(), and for buffers check_buffers().
 *
 * Read first: fuse.h, touches.c, loops.c.
 */
#include <string.h>

#include "fuse/fuse.h"

typedef struct buffer_parameter {
    uint32_t part, index;
    int is_const;
} buffer_parameter;

typedef struct fused_kernel {
    clumpi_kernel_hooks base;
    clump_kernel **parts;
    buffer_parameter *buffers;
    uint32_t part_count, buffer_count;
} fused_kernel;

static fused_kernel *fused_of(const clump_kernel *k) {
    return (fused_kernel *)k->hooks;
}

/* ---- Which loops may be fused ---- */

static const char *way_words(uint32_t way) {
    static const char *const words[CLUMPI_WAYS] = {
        "reads it in its own object", "writes it in its own object", "reads it in other objects",
        "writes it in other objects, or takes its address"};
    return words[way];
}

static void check_field(clumpi_reading *r, const clumpi_loop *a, const clumpi_loop *b,
                        const clumpi_touch *x, const clumpi_touch *y) {
    const uint32_t writes = CLUMPI_OWN_WRITE | CLUMPI_OTHER_WRITE;
    const uint32_t others = CLUMPI_OTHER_READ | CLUMPI_OTHER_WRITE;
    for (uint32_t pair = 0; pair < CLUMPI_WAYS * CLUMPI_WAYS; pair++) {
        uint32_t i = pair / CLUMPI_WAYS, k = pair % CLUMPI_WAYS, ways = 1u << i | 1u << k;
        if (!(x->ways >> i & 1u) || !(y->ways >> k & 1u) || !(ways & writes) || !(ways & others))
            continue;
        const clump_class_info *owner = clump_schema_get_info(r->schema)->classes[x->class_id];
        r->kernel = NULL;
        clumpi_refuse(r, NULL, "field %s.%s: %s %s (%.64s:%u), and %s %s (%.64s:%u)", owner->name,
                      x->field, a->kernel, way_words(i), r->program->name, x->lines[i], b->kernel,
                      way_words(k), r->program->name, y->lines[k]);
        return;
    }
}

static void check_pair(clumpi_reading *r, const clumpi_loop *a, const clumpi_loop *b) {
    if (a->class_info.id != b->class_info.id) {
        r->kernel = NULL;
        clumpi_refuse(r, NULL, "%s is a loop over %s, and %s over %s", a->kernel,
                      a->class_info.name, b->kernel, b->class_info.name);
    }
    for (size_t i = 0; i < a->touches.count; i++)
        for (size_t k = 0; k < b->touches.count; k++)
            if (a->touches.all[i].class_id == b->touches.all[k].class_id &&
                strcmp(a->touches.all[i].field, b->touches.all[k].field) == 0)
                check_field(r, a, b, &a->touches.all[i], &b->touches.all[k]);
}

static int has_token(const clumpi_tokens *tokens, const clumpi_token *t) {
    for (size_t i = 0; i < tokens->count; i++)
        if (clumpi_token_same(&tokens->all[i], t)) return 1;
    return 0;
}

/* Does the name stand at file scope, outside of brackets or as an enumerator? */
static int is_at_file_scope(const clumpi_reading *r, const clumpi_token *name) {
    const clumpi_token *t = r->code.all;
    for (size_t i = 0; i < r->code.count; i++) {
        int is_enum = (i > 0 && clumpi_token_is(&t[i - 1], "enum")) ||
                      (i > 1 && clumpi_token_is(&t[i - 2], "enum"));
        if (clumpi_token_same(&t[i], name)) return 1;
        if (clumpi_token_opens(&t[i]) && !(is_enum && *t[i].at == '{'))
            i = clumpi_token_close(&r->code, i, r->code.count);
    }
    return 0;
}

/* The names that the last kernel declares hold in the bodies of the others too: none of these may
 * mean something else by one. */
static void check_names(clumpi_reading *r, const clumpi_loop *a, const clumpi_loop *last) {
    clumpi_tokens body = {0};
    clumpi_expand(r, (clumpi_range){a->before.begin, a->body.end}, CLUMPI_EXPAND_MOVED, &body);
    for (size_t i = 0; i < last->kept.count && !r->status; i++) {
        const clumpi_token *name = &last->kept.all[i];
        char text[CLUMPI_TOKEN_TEXT_BYTES];
        r->kernel = a->kernel;
        if (has_token(&body, name) && !has_token(&a->kept, name) && is_at_file_scope(r, name))
            clumpi_refuse(r, NULL, "it uses %s of the file, and %s declares another %s",
                          clumpi_token_text(name, text), last->kernel,
                          clumpi_token_text(name, text));
    }
    clumpi_free(&r->context->allocator, body.all);
}

/* ---- The text ---- */

static void append_code(clumpi_text *t, const clumpi_reading *r, clumpi_range part) {
    if (part.begin == part.end) return;
    const clumpi_token *first = &r->code.all[part.begin], *last = &r->code.all[part.end - 1];
    clumpi_text_append(t, "\n#line %u \"%s\"\n", first->line, r->program->name);
    clumpi_text_append_bytes(t, first->at, (size_t)(last->at + last->bytes - first->at));
    clumpi_text_append(t, "\n");
}

/* The tokens of a parameter before its name. */
static void append_type(clumpi_text *t, const clumpi_loop *loop, const clumpi_loop_parameter *p) {
    for (size_t i = p->all.begin; i < p->name; i++)
        clumpi_text_append(t, "%.*s ", (int)loop->tokens.all[i].bytes, loop->tokens.all[i].at);
}

/* number: of the loop, or UINT32_MAX for the name as it is. */
static void append_name(clumpi_text *t, const clumpi_loop *loop, const clumpi_loop_parameter *p,
                        uint32_t number) {
    const clumpi_token *name = &loop->tokens.all[p->name];
    if (number != UINT32_MAX) clumpi_text_append(t, "clumpi_%u_", number);
    clumpi_text_append(t, "%.*s", (int)name->bytes, name->at);
}

static void append_parameters(clumpi_text *t, const clumpi_loop *loop, uint32_t number) {
    for (size_t i = 0; i < loop->parameter_count; i++) {
        clumpi_text_append(t, ", ");
        append_type(t, loop, &loop->parameters[i]);
        append_name(t, loop, &loop->parameters[i], number);
    }
}

/* The parameters of a loop that is not the last, by their names, which it does not change. */
static void append_copies(clumpi_text *t, const clumpi_loop *loop, uint32_t number) {
    for (size_t i = 0; i < loop->parameter_count; i++) {
        const clumpi_loop_parameter *p = &loop->parameters[i];
        clumpi_text_append(t, "        ");
        append_type(t, loop, p);
        clumpi_text_append(t, "%s", p->is_const && !p->is_pointer ? "" : "const ");
        append_name(t, loop, p, UINT32_MAX);
        clumpi_text_append(t, " = ");
        append_name(t, loop, p, number);
        clumpi_text_append(t, ";\n");
    }
}

static void append_body(clumpi_text *t, const clumpi_reading *r, const clumpi_loop *loop,
                        uint32_t number, int is_last) {
    clumpi_text_append(t, "    CLUMPI_FUSED_BODY {\n");
    if (!is_last) append_copies(t, loop, number);
    clumpi_text_append(t, "        const %s %.*s = clumpi_object;", loop->class_info.name,
                       (int)loop->self.bytes, loop->self.at);
    if (!is_last) append_code(t, r, loop->before);
    append_code(t, r, loop->body);
    clumpi_text_append(t, "    }\n");
    if (!is_last) clumpi_text_append(t, "    CLUMPI_LOOPS_APART();\n");
}

static void append_kernel(clumpi_text *t, const clumpi_reading *r, const clumpi_loop *loops,
                          uint32_t count) {
    const clumpi_loop *last = &loops[count - 1];
    clumpi_text_append(t, "__kernel void clump_fused(CLUMP_HEAP_NO_ALLOC");
    for (uint32_t i = 0; i < count; i++)
        append_parameters(t, &loops[i], i + 1 < count ? i : UINT32_MAX);
    clumpi_text_append(t, ") {");
    append_code(t, r, last->before);
    clumpi_text_append(t, "\n    CLUMP_FOR_EACH(%s, clumpi_object) {\n", last->class_info.name);
    for (uint32_t i = 0; i < count; i++) append_body(t, r, &loops[i], i, i + 1 == count);
    clumpi_text_append(t, "    }\n");
    append_code(t, r, last->reduce);
    clumpi_text_append(t, "}\n");
}

/* ---- Launching it ---- */

/* Part of a buffer, or all of it. */
typedef struct extent {
    cl_mem memory;
    size_t begin, end;
} extent;

static clump_status find_extent(clump_context *c, cl_mem buffer, extent *e) {
    cl_mem whole = NULL;
    size_t bytes = 0;
    cl_int code =
        c->cl.GetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL);
    if (!code)
        code = c->cl.GetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof e->begin, &e->begin, NULL);
    if (!code) code = c->cl.GetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clGetMemObjectInfo", code, "a buffer of a fused kernel");
    e->memory = whole ? whole : buffer;
    if (!whole) e->begin = 0;
    e->end = e->begin + bytes;
    return CLUMP_OK;
}

static int overlap(clump_context *c, cl_mem a, cl_mem b, clump_status *status) {
    extent x, y;
    if (a == b) return 1;
    *status = find_extent(c, a, &x);
    if (!*status) *status = find_extent(c, b, &y);
    return !*status && x.memory == y.memory && x.begin < y.end && y.begin < x.end;
}

static cl_mem buffer_of(const fused_kernel *f, const buffer_parameter *p) {
    cl_mem buffer = NULL;
    const clumpi_kept_arg *arg = &f->parts[p->part]->args[p->index];
    if (arg->value && arg->bytes == sizeof buffer) memcpy(&buffer, arg->value, sizeof buffer);
    return buffer;
}

/* Two parameters of different parts, one of which may write. */
static clump_status check_buffers(clump_context *c, const fused_kernel *f,
                                  const buffer_parameter *p, const buffer_parameter *q,
                                  const char *call) {
    clump_status status = CLUMP_OK;
    cl_mem a = buffer_of(f, p), b = buffer_of(f, q);
    if (!a || !b || p->part == q->part || (p->is_const && q->is_const) ||
        !overlap(c, a, b, &status))
        return status;
    return clumpi_fail(
        &c->error, CLUMP_ERR_USAGE,
        "%s: parameter %u of kernel %s and parameter %u of kernel %s, which are fused, are the "
        "same buffer, or overlap, and may be written. Run the kernels one after the other",
        call, p->index, f->parts[p->part]->name, q->index, f->parts[q->part]->name);
}

static clump_status check_all_buffers(clump_heap *heap, const fused_kernel *f, const char *call) {
    clump_context *c = clumpi_heap_context(heap);
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < f->buffer_count && !status; i++) {
        cl_mem buffer = buffer_of(f, &f->buffers[i]);
        if (buffer && overlap(c, buffer, clumpi_heap_buffer(heap), &status))
            return clumpi_fail(
                &c->error, CLUMP_ERR_USAGE,
                "%s: parameter %u of kernel %s, which is fused, is the heap's own buffer", call,
                f->buffers[i].index, f->parts[f->buffers[i].part]->name);
        for (uint32_t k = 0; k < i && !status; k++)
            status = check_buffers(c, f, &f->buffers[k], &f->buffers[i], call);
    }
    return status;
}

/* Give it the parameters of those that it was made of, if these can run in one launch on a heap. */
static clump_status prepare(clump_heap *heap, clump_kernel *k, const char *call) {
    clump_context *c = clumpi_heap_context(heap);
    const fused_kernel *f = fused_of(k);
    cl_uint at = 1;
    clump_status status = CLUMP_OK;
    for (uint32_t part = 0; part < f->part_count && !status; part++)
        status = clumpi_args_check(f->parts[part], call);
    if (!status) status = check_all_buffers(heap, f, call);
    if (status) return status;
    for (uint32_t part = 0; part < f->part_count; part++) {
        const clump_kernel *from = f->parts[part];
        for (uint32_t i = 0; i < from->arg_count; i++) {
            cl_int code =
                c->cl.SetKernelArg(k->kernel, at++, from->args[i].bytes, from->args[i].value);
            if (code)
                return clumpi_fail_cl(&c->error, "clSetKernelArg", code,
                                      "fused kernel %s, parameter %u of %s", k->name, i,
                                      from->name);
        }
    }
    return CLUMP_OK;
}

/* ---- Making it ---- */

static void release(clump_kernel *k) {
    fused_kernel *f = fused_of(k);
    const clump_allocator *a = &k->program->context->allocator;
    for (uint32_t i = 0; i < f->part_count; i++) clumpi_kernel_release(f->parts[i]);
    clumpi_free(a, f->parts);
    clumpi_free(a, f->buffers);
    clumpi_free(a, f);
}

/* "a + b", for messages, in place of the name that it has in its program. */
static clump_status name_kernel(clump_kernel *k, clump_kernel *const *kernels, uint32_t count) {
    clump_context *c = k->program->context;
    clumpi_text name = {.allocator = &c->allocator};
    for (uint32_t i = 0; i < count; i++)
        clumpi_text_append(&name, "%s%s", i ? " + " : "", kernels[i]->name);
    if (name.failed) {
        clumpi_free(&c->allocator, name.data);
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a fused kernel");
    }
    clumpi_free(&c->allocator, k->name);
    k->name = name.data;
    return CLUMP_OK;
}

static clump_status keep_parts(clump_kernel *k, clump_kernel *const *kernels,
                               const clumpi_loop *loops, uint32_t count) {
    const clump_allocator *a = &k->program->context->allocator;
    fused_kernel *f = clumpi_alloc(a, sizeof *f);
    uint32_t parameters = 0;
    for (uint32_t i = 0; i < count; i++) parameters += (uint32_t)loops[i].parameter_count;
    if (f) f->base = (clumpi_kernel_hooks){.prepare = prepare, .release = release};
    k->hooks = f ? &f->base : NULL;
    if (f) f->parts = clumpi_alloc(a, count * sizeof(clump_kernel *));
    if (f) f->buffers = clumpi_alloc(a, parameters * sizeof *f->buffers);
    if (!f || !f->parts || !f->buffers)
        return clumpi_fail(&k->program->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for a fused kernel");
    for (f->part_count = 0; f->part_count < count; f->part_count++) {
        const clumpi_loop *loop = &loops[f->part_count];
        f->parts[f->part_count] = kernels[f->part_count];
        f->parts[f->part_count]->users++;
        for (uint32_t i = 0; i < loop->parameter_count; i++)
            if (loop->parameters[i].is_pointer)
                f->buffers[f->buffer_count++] = (buffer_parameter){
                    f->part_count, i,
                    loop->parameters[i].is_const && !loop->touches.writes_buffers};
    }
    return name_kernel(k, kernels, count);
}

static clump_status build(clumpi_reading *r, clump_kernel *const *kernels, const clumpi_loop *loops,
                          uint32_t count, clump_kernel **fused) {
    clump_program *from = kernels[0]->program, *program = NULL;
    clumpi_text text = {.allocator = &r->context->allocator};
    clump_kernel *k;
    clumpi_text_append_bytes(&text, from->source, strlen(from->source));
    append_kernel(&text, r, loops, count);
    clump_status status = clumpi_program_extend(from, &text, &program);
    if (status) return status;
    status = clumpi_kernel_make(program, "clump_fused", &k);
    clump_program_destroy(program); /* the kernel has it */
    if (status) return status;
    status = keep_parts(k, kernels, loops, count);
    if (status)
        clumpi_kernel_release(k);
    else
        *fused = k;
    return status;
}

static clump_status fuse(clumpi_reading *r, clump_kernel *const *kernels, clumpi_loop *loops,
                         uint32_t count, clump_kernel **fused) {
    for (uint32_t i = 0; i < count && !r->status; i++)
        clumpi_loop_open(r, &loops[i], kernels[i]->name, i + 1 == count);
    for (uint32_t i = 0; i < count && !r->status; i++)
        for (uint32_t k = i + 1; k < count && !r->status; k++) check_pair(r, &loops[i], &loops[k]);
    for (uint32_t i = 0; i + 1 < count && !r->status; i++)
        check_names(r, &loops[i], &loops[count - 1]);
    return r->status ? r->status : build(r, kernels, loops, count, fused);
}

static clump_status check_kernels(clump_context *c, clump_kernel *const *kernels, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!kernels[i])
            return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                               "clump_kernel_create_fused: kernel %u is NULL", i);
        if (kernels[i]->hooks)
            return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                               "clump_kernel_create_fused: kernel %s is already fused. Pass the "
                               "kernels that it was made of",
                               kernels[i]->name);
        if (kernels[i]->program != kernels[0]->program)
            return clumpi_fail(
                &c->error, CLUMP_ERR_USAGE,
                "clump_kernel_create_fused: kernels %s and %s belong to different programs",
                kernels[0]->name, kernels[i]->name);
    }
    return CLUMP_OK;
}

static clump_status make_fused(clump_kernel *const *kernels, uint32_t count, clump_kernel **fused) {
    if (fused) *fused = NULL;
    if (!kernels || !count || !kernels[0]) return CLUMP_ERR_USAGE; /* no context to hold words */
    clump_context *c = kernels[0]->program->context;
    if (!fused || count > CLUMP_FUSED_KERNELS_MAX)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_kernel_create_fused needs a pointer for the kernel, and 1 to %u "
                           "kernels, but got %u",
                           CLUMP_FUSED_KERNELS_MAX, count);
    clump_status status = check_kernels(c, kernels, count);
    if (status) return status;
    clumpi_loop loops[CLUMP_FUSED_KERNELS_MAX] = {{0}};
    const clump_program *p = kernels[0]->program;
    clumpi_reading r = {.context = c, .program = p, .schema = p->schema};
    status = clumpi_reading_open(&r);
    if (!status) status = fuse(&r, kernels, loops, count, fused);
    for (uint32_t i = 0; i < count; i++) clumpi_loop_close(&r, &loops[i]);
    clumpi_reading_close(&r);
    return status;
}

clump_status clump_kernel_create_fused(clump_kernel *const *kernels, uint32_t count,
                                       clump_kernel **fused, clump_error *error) {
    clump_status status = make_fused(kernels, count, fused);
    return clumpi_tell(kernels && count && kernels[0] ? &kernels[0]->program->context->error : NULL,
                       status, error);
}
