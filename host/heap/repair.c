/* Repair of a heap's metadata: what the host knows is written again, what the bitmaps tell is made
 * anew, and what cannot be known is said.
 *
 * Invariant: afterwards the check finds nothing, whatever was in the metadata before; a call that
 * fails can be repeated.
 *
 * Read first: check.c, cl/heap/repair.cl.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"

/* All of the header but what kernels reported, and the class table. Nothing is reserved then, and
 * what was learnt of the demand is forgotten. */
static clump_status write_fixed(clump_heap *heap) {
    clump_context *c = heap->context;
    const clumpi_header *h = &heap->geometry.header;
    const size_t after = offsetof(clumpi_header, new_rows);
    clump_status status = clumpi_write(c, heap->info.buffer, clumpi_header_offset(heap, 0),
                                       offsetof(clumpi_header, errors), h);
    if (!status)
        status = clumpi_write(c, heap->info.buffer, clumpi_header_offset(heap, after),
                              sizeof *h - after, (const char *)h + after);
    if (!status)
        status = clumpi_write(c, heap->info.buffer, (uint64_t)h->at_classes * CLUMPI_UNIT,
                              (h->class_count + 1) * sizeof(clumpi_class), heap->geometry.classes);
    return status ? status : clumpi_columns_write(heap);
}

static clump_status run_repair(clump_heap *heap, clumpi_u32 was_reserved, clumpi_repair *done) {
    clump_context *c = heap->context;
    const clumpi_header *h = &heap->geometry.header;
    const clumpi_launch_sizes *sizes = &c->sizes;
    size_t global = sizes->scan_groups * sizes->scan_local;
    const uint64_t at = (uint64_t)h->at_scan * CLUMPI_UNIT;
    const clumpi_u32 spare = heap->geometry.frames ? heap->geometry.frames - 1 : CLUMPI_NONE;
    const clumpi_arg blocks[] = {{sizeof was_reserved, &was_reserved}, {sizeof spare, &spare}};
    clumpi_arg arg;
    clump_status status = clumpi_clear(c, heap->info.buffer, at, sizeof *done);
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_CHECK_KERNEL(repair_blocks), global,
                                    sizes->scan_local, blocks, 2, NULL);
    if (!status) { /* no block has reserved slots any more, whatever becomes of the rest */
        heap->list_valid = heap->reserved = heap->reduced_known = 0;
        heap->window.left = 0;
    }
    if (!status && h->mark_rows)
        status = clumpi_run_on_heap(heap, CLUMPI_CHECK_KERNEL(repair_marks), global,
                                    sizes->scan_local, NULL, 0, NULL);
    if (!status && h->mark_rows) /* requests left notes about epochs that come again */
        status = clumpi_clear(
            c, heap->info.buffer,
            (uint64_t)h->at_marks * CLUMPI_UNIT + (uint64_t)h->block_end * h->mark_rows * 16,
            clumpi_run_notes_bytes(h));
    for (clumpi_u32 level = 0; !status && level < h->hint_levels; level++) {
        arg = (clumpi_arg){sizeof level, &level};
        status = clumpi_run_on_heap(heap, CLUMPI_CHECK_KERNEL(repair_hints), global,
                                    sizes->scan_local, &arg, 1, NULL);
    }
    if (!status)
        status = clumpi_clear(c, heap->info.buffer, (uint64_t)h->at_stripes * CLUMPI_UNIT,
                              (uint64_t)(h->class_count + 1) * h->stripes * sizeof(clumpi_stripe));
    return status ? status : clumpi_read(c, heap->info.buffer, at, sizeof *done, done);
}

/* What was lost, or came from nowhere, in words. */
static clump_status tell(clump_heap *heap, const clumpi_repair *done) {
    char appeared[96] = "", vanished[96] = "", lost[128] = "";
    if (!done->appeared && !done->vanished && !done->lost) return CLUMP_OK;
    if (done->appeared)
        snprintf(appeared, sizeof appeared,
                 ". %u objects more than before were found, with undefined contents",
                 done->appeared);
    if (done->vanished)
        snprintf(vanished, sizeof vanished, ". %u objects fewer than before were found",
                 done->vanished);
    if (done->lost)
        snprintf(
            lost, sizeof lost,
            ". %u objects in %u blocks are lost, because the classes of the blocks are not known",
            done->lost, done->lost_blocks);
    return clumpi_fail(
        &heap->context->error, CLUMP_ERR_CORRUPT,
        "the heap can be used again, with %u objects, but some of its contents changed%s%s%s",
        done->objects, appeared, vanished, lost);
}

clump_status clump_heap_repair(clump_heap *heap, clump_repair_report *report) {
    clumpi_repair done;
    clump_status status = CLUMPI_PLACE(clump_repair_report, report, clumpi_heap_error(heap));
    if (!heap) return CLUMP_ERR_USAGE;
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = write_fixed(heap);
    if (!status) status = run_repair(heap, heap->reserved ? 1 : 0, &done);
    if (!status) status = clumpi_checking_settle(heap);
    if (status) return status;
    const clump_repair_report own = {.objects = done.objects,
                                     .blocks = done.blocks,
                                     .guessed = done.guessed,
                                     .appeared = done.appeared,
                                     .vanished = done.vanished,
                                     .lost = done.lost,
                                     .strays = done.strays};
    CLUMPI_GIVE(report, own);
    return tell(heap, &done);
}
