/* Running kernels: do-all, do-new, reduction.
 *
 * Read first: lists.c, cl/heap/new.cl.
 */
#include <stddef.h>
#include <string.h>

#include "heap/heap.h"

static int same_classes(const clump_heap *heap, const clump_program *p) {
    uint32_t count = clump_schema_get_info(heap->schema)->class_count;
    if (count != clump_schema_get_info(p->schema)->class_count) return 0;
    for (uint32_t id = 1; id <= count; id++) {
        const clump_class_info *a = clump_schema_get_info(heap->schema)->classes[id];
        const clump_class_info *b = clump_schema_get_info(p->schema)->classes[id];
        if (strcmp(a->name, b->name) != 0 || a->base != b->base ||
            a->is_abstract != b->is_abstract || a->object_bytes != b->object_bytes ||
            a->field_count != b->field_count)
            return 0;
        for (uint32_t i = 0; i < a->field_count; i++) {
            const clump_field_info *f = clump_schema_get_info(heap->schema)->classes[id]->fields[i];
            const clump_field_info *g = clump_schema_get_info(p->schema)->classes[id]->fields[i];
            if (strcmp(f->name, g->name) != 0 || f->type != g->type || f->width != g->width ||
                f->count != g->count || f->array != g->array || f->base_bytes != g->base_bytes ||
                f->stride_bytes != g->stride_bytes || f->step_bytes != g->step_bytes)
                return 0;
        }
    }
    return 1;
}

/* The members of clumpi_made_for, by the names that callers know them by. One that decides others
 * stands before them. */
static const struct {
    const char *name;
    size_t at;
} made_for_members[] = {
    {"raw", offsetof(clumpi_made_for, has_raw)},
    {"granule_bytes", offsetof(clumpi_made_for, granule_bytes)},
    {"block_granules", offsetof(clumpi_made_for, block_granules)},
    {"buffer_blocks", offsetof(clumpi_made_for, segment_blocks)},
    {"the offset of the table of buffers", offsetof(clumpi_made_for, at_segments)},
    {"checks", offsetof(clumpi_made_for, checks)},
};
_Static_assert(sizeof made_for_members / sizeof *made_for_members ==
                   sizeof(clumpi_made_for) / sizeof(uint32_t),
               "each member of clumpi_made_for is compared");

/* Can the program run on the heap: same context, same classes, same geometry, same checks? Else the
 * words say what differs. Classes are compared once, since a launch takes less time than that. */
static clump_status check_made_for(const clump_heap *heap, const clump_kernel *k,
                                   const char *call) {
    clump_error *e = &heap->context->error;
    clump_program *p = k->program;
    uint64_t *fits = &p->fits[heap->number % CLUMPI_FITS];
    if (heap->context == p->context && *fits == heap->number) return CLUMP_OK;
    const clumpi_made_for is = clumpi_made_for_heap(heap);
    if (is.checks != p->made_for.checks)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "%s: kernel %s belongs to a program for a heap %s, but the heap is%s. "
                           "Make the program for this heap, or for one with the same checks",
                           call, k->name,
                           p->made_for.checks ? "with other checks" : "that is not checked",
                           is.checks ? " checked" : " not checked");
    if (heap->context != p->context)
        return clumpi_fail(e, CLUMP_ERR_USAGE,
                           "%s: the kernel's program was made for a heap of another context", call);
    if (!same_classes(heap, p))
        return clumpi_fail(
            e, CLUMP_ERR_USAGE,
            "%s: the kernel's program was made for a heap of another layout: the classes differ",
            call);
    for (size_t i = 0; i < sizeof made_for_members / sizeof *made_for_members; i++) {
        uint32_t wanted, found;
        memcpy(&wanted, (const char *)&p->made_for + made_for_members[i].at, sizeof wanted);
        memcpy(&found, (const char *)&is + made_for_members[i].at, sizeof found);
        if (wanted != found)
            return clumpi_fail(e, CLUMP_ERR_USAGE,
                               "%s: the kernel's program was made for a heap of another layout: %s "
                               "is %u there, but %u here",
                               call, made_for_members[i].name, wanted, found);
    }
    *fits = heap->number;
    return CLUMP_OK;
}

/* What a kernel needs of a heap for as long as it runs on no other one: its buffers, and where its
 * numbers are. */
static clump_status give(clump_heap *heap, clump_kernel *k) {
    clump_context *c = heap->context;
    if (k->given == heap->number) return CLUMP_OK;
    k->given = 0;
    clump_status status = clump_heap_set_kernel(heap, k->kernel);
    if (!status && k->numbered) {
        const clumpi_header *h = &heap->geometry.header;
        clumpi_numbers numbers = {h->at_list_rows, h->at_list_masks, h->at_list_index,
                                  h->at_list_begin, h->at_list_full};
        cl_int code = c->cl.SetKernelArg(k->kernel, 1, sizeof numbers, &numbers);
        if (code)
            status = clumpi_fail_cl(&c->error, "clSetKernelArg", code, "the numbers' parameter");
    }
    if (!status) k->given = heap->number;
    return status;
}

clump_status clumpi_args_check(const clump_kernel *k, const char *call) {
    for (uint32_t i = 0; i < k->arg_count; i++)
        if (!k->args[i].bytes)
            return clumpi_fail(
                &k->program->context->error, CLUMP_ERR_USAGE,
                "%s: parameter %u of kernel %s, counted from 0 after the heap, is not set", call, i,
                k->name);
    return CLUMP_OK;
}

clump_status clumpi_run_prepare(clump_heap *heap, clump_kernel *k, const clump_sync *sync,
                                const char *call) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    if (!k && c->kernel_lacks.status) { /* other calls came between */
        c->error = c->kernel_lacks;
        c->kernel_lacks.status = CLUMP_OK;
        return c->error.status;
    }
    if (!k) return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s: the kernel is NULL", call);
    clump_status status = clumpi_sync_check(c, sync, call);
    if (!status) status = clumpi_heap_enter(heap);
    if (status) return status;
    status = check_made_for(heap, k, call);
    if (status) return status;
    status = k->hooks ? k->hooks->prepare(heap, k, call) : clumpi_args_check(k, call);
    return status ? status : give(heap, k);
}

/* Each launch that may erase keys of maps has a number, by which inserts know the Words that were
 * erased before it (cl/api/map.clh). It is written after what the caller waits for, since that may
 * be a kernel on the heap. */
static clump_status begin_turn(clump_heap *heap, const clump_kernel *k, const clump_sync *sync) {
    if (!k->program->erases_in_maps) return CLUMP_OK;
    clump_status status = clumpi_sync_begin(heap->context, sync);
    if (status) return status;
    /* The first is 2: 1 is in Words that were erased before. */
    clumpi_u32 *last = &heap->geometry.header.map_turn,
               turn = *last < 2 || *last == INT32_MAX ? 2 : *last + 1;
    status = clumpi_set_word(heap->context, heap->info.buffer,
                             clumpi_header_offset(heap, offsetof(clumpi_header, map_turn)), turn);
    if (!status) *last = turn;
    return status;
}

/* The kernel. If it changed the class of objects, their old places end behind it, and only then the
 * launch is complete. */
static clump_status enqueue(clump_heap *heap, const clump_kernel *k, clumpi_items items,
                            const clump_sync *sync, const char *call) {
    clump_context *c = heap->context;
    if (!heap->schema->become_count || k->fixed || !k->uses.becomes)
        return clumpi_enqueue(c, k->kernel, call, items, sync);
    const clump_sync waits = clumpi_waits_of(sync);
    heap->unsettled = 1;
    clump_status status = clumpi_enqueue(c, k->kernel, call, items, &waits);
    if (!status) status = clumpi_heap_settle(heap);
    return status ? status : clumpi_sync_end(c, sync);
}

/* List, then the kernel. */
static clump_status launch(clump_heap *heap, clump_kernel *k, size_t global, size_t local,
                           const clump_sync *sync, const char *call) {
    int is_live;
    clump_status status = clumpi_list_prepare(
        heap, k, (clumpi_crowd){.global = global, .local = local}, sync, &is_live);
    if (status) return status;
    if (!k->fixed) clumpi_classes_add(&heap->list_stale, &k->uses.changes);
    heap->reduced_known = 0;
    status = clumpi_checking_begin(heap, k);
    heap->may_have_errors = 1;
    if (!status) status = begin_turn(heap, k, sync);
    if (!status)
        status = enqueue(heap, k, (clumpi_items){is_live ? 2 : 1, global, local}, sync, call);
    return status ? status : clumpi_checking_end(heap);
}

/* A kernel's reqd_work_group_size must be what it is launched in. */
static clump_status check_required(const clump_kernel *k, size_t local, const char *call,
                                   const char *advice) {
    if (!k->required[0] || (k->required[0] == local && k->required[1] * k->required[2] == 1))
        return CLUMP_OK;
    return clumpi_fail(&k->program->context->error, CLUMP_ERR_USAGE,
                       "%s: kernel %s must run in groups of %zu x %zu x %zu work-items because of "
                       "its reqd_work_group_size, but this call runs groups of %zu%s",
                       call, k->name, k->required[0], k->required[1], k->required[2], local,
                       advice);
}
static const char own_sizes[] =
    ". Remove the attribute, or choose the sizes with clump_heap_launch()";

/* In groups of so many work-items: not more groups than a reduction has room for. */
static size_t do_all_global(const clump_heap *heap, size_t local) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    const size_t most = heap->geometry.header.reduce_groups * local;
    return sizes->do_all_global < most ? sizes->do_all_global : most;
}

clump_status clump_heap_do_all(clump_heap *heap, clump_kernel *k, const clump_sync *sync) {
    clump_status status = clumpi_run_prepare(heap, k, sync, "clump_heap_do_all");
    if (status) return status;
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    size_t local = k->fixed ? sizes->do_all_local : sizes->changing_local;
    size_t global = do_all_global(heap, local);
    clumpi_group_fit(k->group_limit, &global, &local);
    status = check_required(k, local, "clump_heap_do_all", own_sizes);
    return status ? status : launch(heap, k, global, local, sync, "of a do-all");
}

clump_status clump_heap_launch(clump_heap *heap, clump_kernel *k, size_t global, size_t local,
                               const clump_sync *sync) {
    clump_status status = clumpi_run_prepare(heap, k, sync, "clump_heap_launch");
    if (status) return status;
    clump_context *c = heap->context;
    if (local == 0 || global == 0 || global % local)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_launch: %zu work-items in groups of %zu are not valid: the "
                           "first must be a multiple of the second, and neither may be 0",
                           global, local);
    if (local > k->group_limit)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_launch: groups of %zu work-items are too large: the device "
                           "runs kernel %s in groups of at most %zu",
                           local, k->name, k->group_limit);
    status = check_required(k, local, "clump_heap_launch", "");
    if (status) return status;
    return launch(heap, k, global, local, sync, "of a launch");
}

clump_status clumpi_new_check(clump_heap *heap, const char *class_name, uint64_t count,
                              const char *call, clump_class_info *info) {
    clump_context *c = heap->context;
    clump_status status = clumpi_find_class(heap, class_name, call, info);
    if (status) return status;
    if (info->is_abstract)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: class %s is abstract, so it cannot have objects", call, info->name);
    if (count > UINT32_C(1) << 31)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: %llu objects are too many: at most 2^31 are possible in one call",
                           call, (unsigned long long)count);
    return CLUMP_OK;
}

clump_status clumpi_new_claim(clump_heap *heap, clumpi_u32 class_id, uint64_t count,
                              clumpi_u32 fresh_most, const clump_sync *sync) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    const size_t global = sizes->scan_groups * sizes->scan_local;
    clumpi_u32 wanted = (clumpi_u32)count;
    clumpi_arg args[] = {
        {sizeof class_id, &class_id}, {sizeof wanted, &wanted}, {sizeof fresh_most, &fresh_most}};
    clumpi_arg supply[] = {args[0], {sizeof heap->list_turn, &heap->list_turn}};
    clump_sync waits = clumpi_waits_of(sync);
    heap->may_have_errors = 1;
    heap->list_valid = 0;  /* the rows of the new objects take its place */
    heap->window.left = 0; /* and what is reserved is given back */
    heap->reduced_known = 0;
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(new_count), global,
                                             sizes->scan_local, supply, 2, &waits);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(new_claim), global, sizes->scan_local,
                                    args, 3, clumpi_still(heap, &waits));
    return status;
}

clump_status clumpi_new_begin(clump_heap *heap, clumpi_u32 class_id, const clump_sync *sync) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    const clumpi_class *k = &heap->geometry.classes[class_id];
    const clumpi_arg arg = {sizeof class_id, &class_id};
    const clump_sync waits = clumpi_waits_of(sync);
    if (heap->checks) return clumpi_checking_new(heap, class_id);
    if (k->cleared == k->columns_end) return CLUMP_OK;
    return clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(new_clear), sizes->do_all_global,
                              sizes->do_all_local, &arg, 1, clumpi_still(heap, &waits));
}

clump_status clumpi_new_made(clump_heap *heap, uint64_t *made) {
    clumpi_u32 objects = 0;
    clump_status status = clumpi_read(
        heap->context, heap->info.buffer,
        clumpi_header_offset(heap, offsetof(clumpi_header, new_objects)), sizeof objects, &objects);
    *made = objects;
    return status;
}

clump_status clump_heap_do_new(clump_heap *heap, clump_kernel *k, const char *class_name,
                               uint64_t count, uint64_t *made, const clump_sync *sync) {
    if (made) *made = 0;
    clump_status status = clumpi_run_prepare(heap, k, sync, "clump_heap_do_new");
    if (!status && made) status = clumpi_errors_tell(heap);
    if (status) return status;
    clump_context *c = heap->context;
    clump_class_info info;
    status = clumpi_new_check(heap, class_name, count, "clump_heap_do_new", &info);
    if (status) return status;
    if (k->numbered)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "clump_heap_do_new: the kernel has CLUMP_NUMBERS, but new objects are not numbered");
    const clumpi_launch_sizes *sizes = &c->sizes;
    size_t local = sizes->do_all_local, global = do_all_global(heap, local);
    clumpi_group_fit(k->group_limit, &global, &local);
    status = check_required(k, local, "clump_heap_do_new", own_sizes);
    if (!status) status = clumpi_new_claim(heap, info.id, count, UINT32_MAX, sync);
    if (!status) status = clumpi_checking_begin(heap, k);
    if (!status) status = clumpi_new_begin(heap, info.id, sync);
    if (!status) status = begin_turn(heap, k, sync);
    if (!status) status = enqueue(heap, k, (clumpi_items){1, global, local}, sync, "of a do-new");
    if (!status) status = clumpi_checking_end(heap);
    if (status || !made) return status;
    status = clumpi_new_made(heap, made);
    if (!status) status = clumpi_sync_outcome(c, sync);
    if (status) *made = 0;
    return status;
}

/* As it lies in the header. */
typedef struct reduction {
    clumpi_u32 done, mark;
    unsigned char value[CLUMPI_REDUCE_BYTES];
} reduction;

static clump_status wrong_result(clump_context *c, size_t bytes, uint32_t wanted) {
    return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                       "clump_heap_reduce: the result has %zu bytes, but the type in the kernel's "
                       "CLUMP_REDUCE has %u",
                       bytes, wanted);
}

/* A kernel in which work-items returned before their CLUMP_REDUCE: what the others counted is of no
 * use to the next reduction. */
static clump_status unfinished(clump_heap *heap, const clump_kernel *k, uint32_t done,
                               size_t groups) {
    clump_context *c = heap->context;
    clump_status status =
        clumpi_clear(c, heap->info.buffer,
                     clumpi_header_offset(heap, offsetof(clumpi_header, reduce_done)), sizeof done);
    return status ? status
                  : clumpi_fail(
                        &c->error, CLUMP_ERR_USAGE,
                        "clump_heap_reduce: only %u of the %zu work-groups of kernel %s reached "
                        "the end of CLUMP_REDUCE, so there is no result. The kernel ran. All "
                        "work-items must reach the same CLUMP_REDUCE, so none may return before it",
                        done, groups, k->name);
}

/* What a kernel reduces is not known before it ran once: the device leaves the size of its type,
 * with a number that tells the result from an earlier one. */
clump_status clump_heap_reduce(clump_heap *heap, clump_kernel *k, size_t bytes, void *result,
                               const clump_sync *sync) {
    clump_status status = clumpi_run_prepare(heap, k, sync, "clump_heap_reduce");
    if (!status) status = clumpi_errors_tell(heap);
    if (status) return status;
    clump_context *c = heap->context;
    if (!result || bytes == 0 || bytes > CLUMPI_REDUCE_BYTES)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_reduce: the result has %zu bytes, but must have 1 to %u",
                           bytes, CLUMPI_REDUCE_BYTES);
    if (k->reduces && bytes != k->reduces) return wrong_result(c, bytes, k->reduces);
    const uint64_t at = clumpi_header_offset(heap, offsetof(clumpi_header, reduce_done));
    const clumpi_launch_sizes *sizes = &c->sizes;
    size_t local = sizes->do_all_local, global = do_all_global(heap, local);
    clumpi_group_fit(k->group_limit, &global, &local);
    status = check_required(k, local, "clump_heap_reduce", own_sizes);
    if (status) return status;
    if (!heap->reduced_known) { /* the kernels since then may have come to a CLUMP_REDUCE */
        const clump_sync waits = clumpi_waits_of(sync);
        status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(reduce_begin), 1, 1, NULL, 0, &waits);
        heap->reduced_mark = 0;
    }
    if (!status) status = launch(heap, k, global, local, sync, "of a reduction");
    reduction r;
    if (!status)
        status = clumpi_read(c, heap->info.buffer, at, offsetof(reduction, value) + bytes, &r);
    if (!status) status = clumpi_sync_outcome(c, sync);
    if (status) return status;
    if (r.done) return unfinished(heap, k, r.done, global / local);
    if (r.mark == heap->reduced_mark)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "clump_heap_reduce: the kernel did not reach a CLUMP_REDUCE, so there is no result. "
            "The kernel ran. Use clump_heap_do_all() for kernels without CLUMP_REDUCE");
    heap->reduced_mark = r.mark;
    heap->reduced_known = 1;
    k->reduces = r.mark & 255u;
    if (bytes != k->reduces) return wrong_result(c, bytes, k->reduces);
    memcpy(result, r.value, bytes);
    return CLUMP_OK;
}
