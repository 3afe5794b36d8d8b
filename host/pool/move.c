/* Moves under way: copying, swapping, dropping (Eichinger's thesis 4.4, 4.5). Read first:
 * pool.h. */
#include <string.h>

#include "core/timeline.h"
#include "pool/pool.h"

clumpi_op *clumpi_op_new(clump_pool *p, uint32_t record, clumpi_chunk *to, uint32_t to_node) {
    clumpi_record *r = clumpi_record_at(p, record);
    clumpi_op *op = NULL;
    if (clumpi_grow(&p->allocator, &p->ops, &p->op_capacity, p->op_count + 1, sizeof *p->ops))
        op = clumpi_alloc(&p->allocator, sizeof *op);
    if (!op) {
        clumpi_chunk_give(p, to, to_node);
        return NULL;
    }
    uint64_t margin = (uint64_t)p->margin_units << p->unit_shift;
    *op = (clumpi_op){
        .record = record,
        .from = r->chunk,
        .to = to,
        .to_node = to_node,
        .from_at = clumpi_record_region(p, r).offset,
        .to_at = (uint64_t)clumpi_node_at(&to->ranges, to_node)->offset << p->unit_shift,
        .bytes = margin ? (uint64_t)clumpi_node_at(&to->ranges, to_node)->size << p->unit_shift
                        : r->bytes,
    };
    op->from->leaving_units += clumpi_node_at(&to->ranges, to_node)->size;
    r->op = op;
    p->ops[p->op_count++] = op;
    return op;
}

void clumpi_op_tell(const clump_pool *p, const clumpi_op *op, clump_move *move) {
    const clumpi_record *r = clumpi_record_at(p, op->record);
    *move = (clump_move){clumpi_record_handle(p, op->record),
                         {op->from->buffer, op->from_at, r->bytes, NULL},
                         {op->to->buffer, op->to_at, r->bytes, NULL},
                         r->user_data};
}

/* The record is the op's no longer, nor is the op in the list. */
static clumpi_op *leave(clump_pool *p, size_t i) {
    clumpi_op *op = p->ops[i];
    p->ops[i] = p->ops[--p->op_count];
    if (op->record) {
        clumpi_record_at(p, op->record)->op = NULL;
        op->from->leaving_units -= clumpi_node_at(&op->to->ranges, op->to_node)->size;
    }
    return op;
}

void clumpi_op_drop(clump_pool *p, size_t i) {
    clumpi_op *op = leave(p, i);
    clumpi_events uses = {0};
    if (op->event) {
        if (clumpi_grow(&p->allocator, &uses.list, &uses.capacity, 1, sizeof *uses.list)) {
            uses.list[uses.count++] = op->event;
        } else { /* nowhere to note it down */
            p->cl.WaitForEvents(1, &op->event);
            p->cl.ReleaseEvent(op->event);
        }
    }
    clumpi_range_retire(p, op->to, op->to_node, &uses);
    clumpi_free(&p->allocator, op);
}

void clumpi_op_swap(clump_pool *p, size_t i) {
    clumpi_op *op = leave(p, i);
    clumpi_record *r = clumpi_record_at(p, op->record);
    clumpi_chunk *from = r->chunk;
    uint32_t from_node = r->node;
    clumpi_events uses = {0};
    clumpi_record_forget_place(p, r);
    if (r->extra) {
        uses = r->extra->uses;
        r->extra->uses = (clumpi_events){0};
    }
    clumpi_node_at(&op->to->ranges, op->to_node)->user_data = (void *)(uintptr_t)op->record;
    from->movable--;
    op->to->movable++;
    r->chunk = op->to;
    r->node = op->to_node;
    p->stats.moves++;
    p->stats.moved_bytes += r->bytes;
    p->cl.ReleaseEvent(op->event);
    clumpi_free(&p->allocator, op);
    clumpi_range_retire(p, from, from_node, &uses);
}

/* The events that a copy waits for, in one list. Returns 0 without host memory. */
static int join_waits(clump_pool *p, const clumpi_events *uses, const clump_sync *sync,
                      cl_event after, clumpi_events *all) {
    size_t of_uses = uses ? uses->count : 0, of_user = sync ? sync->wait_count : 0;
    size_t count = of_uses + of_user + (after != NULL);
    if (!count) return 1;
    if (!clumpi_grow(&p->allocator, &all->list, &all->capacity, count, sizeof *all->list)) return 0;
    if (of_uses) memcpy(all->list, uses->list, of_uses * sizeof *all->list);
    if (of_user) memcpy(all->list + of_uses, sync->wait_list, of_user * sizeof *all->list);
    if (after) all->list[count - 1] = after;
    all->count = count;
    return 1;
}

static void show_copy(const clump_pool *p, uint64_t bytes, cl_event event) {
    if (!p->has_profiling || !clumpi_timeline_is_on(p->context)) return;
    clumpi_timeline_pool(p->context, p->name,
                         &(clumpi_timeline_entry){.kind = CLUMPI_TIMELINE_MOVE,
                                                  .pool = p->number,
                                                  .event = event,
                                                  .args = {{"bytes", bytes}},
                                                  .name = "move"});
}

clump_status clumpi_copy_range(clump_pool *p, cl_mem from, uint64_t from_at, cl_mem to,
                               uint64_t to_at, uint64_t bytes, const clumpi_events *uses,
                               const clump_sync *sync, cl_event after, cl_event *event) {
    clumpi_events waits = {0};
    if (!join_waits(p, uses, sync, p->in_order ? NULL : after, &waits))
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for events");
    cl_int code =
        p->cl.EnqueueCopyBuffer(p->desc.queue, from, to, from_at, to_at, bytes,
                                (cl_uint)waits.count, waits.count ? waits.list : NULL, event);
    clumpi_free(&p->allocator, waits.list);
    if (!code) {
        show_copy(p, bytes, *event);
        return CLUMP_OK;
    }
    *event = NULL;
    return clumpi_fail_cl(&p->error, "clEnqueueCopyBuffer", code, "%llu bytes for a move",
                          (unsigned long long)bytes);
}

clump_status clumpi_op_copy(clump_pool *p, clumpi_op *op, uint64_t bytes, const clump_sync *sync) {
    const clumpi_record *r = clumpi_record_at(p, op->record);
    cl_event event = NULL;
    const double since = clumpi_now_ns();
    clump_status status = clumpi_copy_range(
        p, op->from->buffer, op->from_at + op->copied, op->to->buffer, op->to_at + op->copied,
        bytes, r->extra ? &r->extra->uses : NULL, sync, op->event, &event);
    if (status) return status;
    if (op->event) p->cl.ReleaseEvent(op->event);
    op->event = event;
    op->copied += bytes;
    op->piece = bytes;
    op->since = since;
    op->state = CLUMPI_OP_COPYING;
    return CLUMP_OK;
}
