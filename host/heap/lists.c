/* The list of rows that kernels go over, kept current, and with it what is reserved for what they
 * ask for.
 *
 * Invariant: if heap->list_valid is 1, the list is that of the objects, but for the classes of
 * heap->list_stale: no kernel that may make or free some of the others was enqueued since it was
 * made. Everything happens in the order of the queue, so that is known on the host, and nothing is
 * waited for.
 *
 * A launch gets the list that it needs. One that goes over no objects that were changed needs none;
 * if it makes some it needs slots that are reserved, and these come with a list. So such a list is
 * for several launches, a window: the device reserves as much as it has room for, and tells how
 * many launches like those before that is enough for. The host hears of it later, without waiting;
 * until then the window is as long as it was told last. If it is wrong, nothing is: what is not
 * reserved is looked for.
 *
 * On GPUs a few do-alls after a small change go without a list: over rows as they are now.
 *
 * Read first: core/core.h, uses.c, cl/heap/enumerate.cl, cl/heap/reserve.clh.
 */
#include <stddef.h>
#include <string.h>

#include "heap/heap.h"

clump_sync clumpi_waits_of(const clump_sync *sync) {
    clump_sync waits = {0};
    if (sync) waits = *sync;
    waits.event = NULL;
    return waits;
}

const clump_sync *clumpi_still(const clump_heap *heap, const clump_sync *waits) {
    return heap->context->current->in_order ? waits : NULL;
}

static clump_status make_list(clump_heap *heap, int with_numbers, const clumpi_crowd *crowd,
                              uint32_t ahead, const clump_sync *sync) {
    clumpi_window *w = &heap->window;
    const clumpi_u32 many = UINT32_C(1) << 24; /* more of either make no difference */
    clumpi_u32 how = heap->list_turn | (with_numbers ? CLUMPI_LIST_NUMBERED : 0u) |
                     (heap->list_valid ? 0u : CLUMPI_LIST_ANEW),
               items = 0, neighbours = many, asked = w->asked + w->taken,
               window =
                   (asked ? asked : 1) << 8 | (crowd && crowd->only_makes ? 1u << 7 : 0u) | ahead;
    if (crowd) {
        uint64_t groups = crowd->global / crowd->local;
        if (heap->context->capabilities.personality == CLUMP_PERSONALITY_GPU)
            groups *= (crowd->local + 31) / 32;
        items = crowd->global < many ? (clumpi_u32)crowd->global : many;
        neighbours = groups < many ? (clumpi_u32)groups : many;
    }
    clumpi_arg args[] = {{sizeof how, &how},
                         {sizeof items, &items},
                         {sizeof neighbours, &neighbours},
                         {sizeof window, &window}};
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    size_t global = sizes->scan_groups * sizes->scan_local;
    clump_sync waits = clumpi_waits_of(sync);
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(list_count), global,
                                             sizes->scan_local, args, 1, &waits);
    if (!status) heap->list_counted = heap->reserved;
    if (!status)
        status = clumpi_run_on_heap(heap, CLUMPI_HEAP_KERNEL(list_write), global, sizes->scan_local,
                                    args, 4, clumpi_still(heap, &waits));
    if (!status) {
        heap->list_valid = !waits.wait_count; /* it is not made if what it waits for fails */
        heap->list_stale = (clumpi_classes){0};
        heap->reserved = 1;
        heap->list_counted = 0;
        heap->list_turn ^= 1;
    }
    heap->list_numbered = !status && with_numbers;
    w->lists++;
    w->asked = w->taken = w->left = 0;
    if (heap->live_run) heap->vain_change = heap->live_change;
    heap->live_all = 0;
    return status;
}

int clumpi_list_is_current(const clump_heap *heap) {
    return heap->list_valid && !clumpi_classes_meet(&heap->list_stale, &clumpi_classes_all);
}

/* Is it as it has to be for kernels that go over these classes? */
static int is_list_of(const clump_heap *heap, const clumpi_classes *loops, int numbered) {
    return !(numbered && !heap->list_numbered) &&
           (!clumpi_classes_meet(loops, &clumpi_classes_all) ||
            (heap->list_valid && !clumpi_classes_meet(loops, &heap->list_stale)));
}

/* Objects are numbered along with the list, so that numbers take no launch of their own. A list is
 * made with numbers if the kernel at hand asks for them, or one asked for those of the list
 * before. */
static clump_status update(clump_heap *heap, int is_current, int numbered,
                           const clumpi_crowd *crowd, uint32_t ahead, const clump_sync *sync) {
    int was_wanted = heap->numbers_wanted;
    heap->numbers_wanted |= numbered;
    if (is_current) return CLUMP_OK;
    heap->numbers_wanted = numbered;
    return make_list(heap, numbered || was_wanted, crowd, ahead, sync);
}

/* Calls of the host that take some of what is reserved. A kernel that asks has its own number. */
#define TAKES_AHEAD 8u
static uint32_t ahead_of_takes(const clump_heap *heap) {
    return heap->window.taken ? TAKES_AHEAD : 1;
}

clump_status clumpi_list_renew(clump_heap *heap) {
    return update(heap, 0, 0, NULL, ahead_of_takes(heap), NULL);
}

void clumpi_list_took(clump_heap *heap, clumpi_u32 class_id) {
    clumpi_window *w = &heap->window;
    heap->list_stale.bits[class_id / 32] |= UINT32_C(1) << class_id % 32;
    if (w->taken < UINT32_C(1) << 20) w->taken++;
    if (w->left) w->left--;
    heap->live_run = 0;
    heap->live_change++;
}

clump_status clumpi_list_update(clump_heap *heap, int numbered, const clump_sync *sync) {
    return update(heap, is_list_of(heap, &clumpi_classes_all, numbered), numbered, NULL, 1, sync);
}

/* ---- Windows --------------------------------------------------------------------------------- */

#define WINDOW_MOST 32u /* launches that a list is for: the device is told 7 bits */

void clumpi_window_forget(clump_heap *heap) {
    if (heap->window.told) heap->context->cl.ReleaseEvent(heap->window.told);
    heap->window.told = NULL;
}

/* A read that nobody waits for takes NVIDIA's driver 100 us. While lists turn out to be for one
 * launch each there are ever fewer of them. */
#define PATIENCE_LEAST 4u
#define PATIENCE_MOST 64u

/* covers: what the device told of list number `list`. */
static void heard(clump_heap *heap, uint32_t covers, uint64_t list) {
    clumpi_window *w = &heap->window;
    if (list != w->opened) return;
    if (covers == UINT32_MAX && !w->knows) return; /* nothing was ever asked for */
    w->covers = covers < WINDOW_MOST ? covers : WINDOW_MOST;
    w->patience = w->covers > 1                     ? PATIENCE_LEAST
                  : w->patience < PATIENCE_MOST / 2 ? w->patience * 2
                                                    : PATIENCE_MOST;
    w->ask_at = list + w->patience;
    const uint32_t asked = w->asked + w->taken;
    if (list == w->lists) w->left = w->covers > asked ? w->covers - asked : 0;
}

void clumpi_window_heard(clump_heap *heap, uint32_t covers) {
    clumpi_window_hear(heap);
    heard(heap, covers, heap->window.lists);
}

void clumpi_window_hear(clump_heap *heap) {
    clumpi_window *w = &heap->window;
    clump_context *c = heap->context;
    cl_int state = CL_COMPLETE;
    if (!w->told) return;
    if (c->cl.GetEventInfo(w->told, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL))
        return;
    if (state > CL_COMPLETE) return;
    clumpi_window_forget(heap);
    if (state == CL_COMPLETE) heard(heap, w->word, w->told_list);
}

/* A list was made for this launch and those to come. knows: it is not the first of its kernel, so
 * what it covers is worth knowing. */
static clump_status open_window(clump_heap *heap, int knows, const clump_sync *sync) {
    clumpi_window *w = &heap->window;
    if (sync && sync->wait_count) return CLUMP_OK;
    w->opened = w->lists;
    w->knows = knows;
    w->left = w->covers;
    if (!knows) w->patience = PATIENCE_LEAST;
    if (!knows) w->ask_at = w->lists + 1;
    if (w->told || w->lists < w->ask_at) return CLUMP_OK;
    w->told_list = w->lists;
    w->ask_at = w->lists + PATIENCE_LEAST;
    return clumpi_read_start(heap->context, heap->info.buffer,
                             clumpi_header_offset(heap, offsetof(clumpi_header, list_covers)),
                             sizeof w->word, &w->word, NULL, &w->told);
}

/* Did it run before, on as many work-items? Then the list after that knows what it asks for. */
static int has_asked(const clump_heap *heap, const clump_kernel *k, size_t global) {
    return k->asked_of == heap && global <= k->asked_items;
}

/* Of a launch that asks for slots. */
static void note_asked(clump_heap *heap, clump_kernel *k, size_t global) {
    clumpi_window *w = &heap->window;
    if (w->asked < UINT32_C(1) << 20) w->asked++;
    if (w->left) w->left--;
    k->asked_last = w->lists;
    if (has_asked(heap, k, global)) return;
    k->asked_of = heap;
    k->asked_list = w->lists;
    k->asked_items = global;
}

/* ---- Launches without a list ----------------------------------------------------------------- */

/* Such a launch costs more than one with a list, so not many are in turn; and rows of which all
 * objects were freed stay in the list until the next. If a list had to be made all the same before
 * the next change, the launches before it were dearer for nothing. A kernel pauses if that happens
 * to it twice in a row. */
#define LIVE_RUN_MOST 4u
#define LIVE_ALL_MOST 64u
#define LIVE_VAIN_MOST 2u
#define LIVE_PAUSE 128u

/* Can the launch go over rows as they are now (cl/api/device_api.clh)? One that changes objects
 * would meet those that it makes. Numbers come with the list, and in another order of the rows a
 * sum of floats has other bits. All blocks are looked at if there are objects where nothing was
 * reserved, so the launches since the list must be those that it reserved for. */
static int can_be_live(const clump_heap *heap, const clump_kernel *k) {
    const clump_capabilities *c = &heap->context->capabilities;
    const clumpi_window *w = &heap->window;
    return k->fixed && !k->numbered && !k->uses.is_ordered && heap->list_valid && heap->reserved &&
           c->personality == CLUMP_PERSONALITY_GPU && c->word_bits == 64 &&
           (w->left || w->asked <= 1) && heap->live_run < LIVE_RUN_MOST &&
           heap->live_all < LIVE_ALL_MOST;
}

static int is_live(clump_heap *heap, clump_kernel *k) {
    if (!can_be_live(heap, k)) return 0;
    if (k->live_pause) {
        k->live_pause--;
        return 0;
    }
    if (k->live_change && k->live_change != heap->live_change) {
        k->live_vain = k->live_change == heap->vain_change ? k->live_vain + 1 : 0;
        k->live_change = 0;
    }
    if (k->live_vain >= LIVE_VAIN_MOST) {
        k->live_vain = LIVE_VAIN_MOST - 1; /* it tries once after the pause */
        k->live_pause = LIVE_PAUSE;
        return 0;
    }
    k->live_change = heap->live_change;
    heap->live_run++;
    heap->live_all++;
    return 1;
}

clump_status clumpi_list_prepare(clump_heap *heap, clump_kernel *k, clumpi_crowd crowd,
                                 const clump_sync *sync, int *live) {
    const int asks = !k->fixed && k->uses.asks;
    /* One that goes over what it changes needs a list each time. */
    const uint32_t ahead =
        asks ? clumpi_classes_meet(&k->uses.loops, &k->uses.changes) ? 1 : WINDOW_MOST
             : ahead_of_takes(heap);
    int is_current = is_list_of(heap, &k->uses.loops, k->numbered);
    clumpi_window_hear(heap);
    *live = !is_current && is_live(heap, k);
    if (*live) return CLUMP_OK;
    crowd.only_makes = !k->uses.frees;
    const int knows = has_asked(heap, k, crowd.global);
    /* Is the last list for what it asks for? */
    const int is_known =
        knows && k->asked_list < heap->window.lists && k->asked_last + 1 >= heap->window.lists;
    if (asks && is_current)
        is_current = heap->reserved && (ahead == 1 || is_known) &&
                     (clumpi_list_is_current(heap) || (ahead > 1 && heap->window.left));
    clump_status status = update(heap, is_current, k->numbered, asks ? &crowd : NULL, ahead, sync);
    if (!status && asks && ahead > 1 && !is_current) status = open_window(heap, knows, sync);
    if (!status && asks) note_asked(heap, k, crowd.global);
    if (k->fixed) return status;
    heap->live_run = 0;
    heap->live_change++;
    return status;
}

/* ---- Reservations ---------------------------------------------------------------------------- */

clump_status clumpi_unreserve(clump_heap *heap, const clump_sync *sync) {
    heap->window.left = 0;
    if (!heap->reserved) return CLUMP_OK;
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    clump_sync waits = clumpi_waits_of(sync);
    clumpi_arg turn = {sizeof heap->list_turn, &heap->list_turn};
    clump_status status = clumpi_run_on_heap(heap, CLUMPI_ASK_KERNEL(unreserve),
                                             sizes->scan_groups * sizes->scan_local,
                                             sizes->scan_local, &turn, 1, &waits);
    if (!status) heap->reserved = heap->list_counted = 0;
    return status;
}

clump_status clump_heap_reserve(clump_heap *heap, const char *class_name, uint64_t objects,
                                const clump_sync *sync) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = heap->context;
    clump_class_info info;
    clump_status status = clumpi_find_class(heap, class_name, "clump_heap_reserve", &info);
    if (status) return status;
    if (info.is_abstract)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_heap_reserve: class %s is abstract, so it cannot have objects",
                           info.name);
    if (objects > UINT32_C(1) << 31)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "clump_heap_reserve: %llu objects are too many: at most 2^31 can be reserved",
            (unsigned long long)objects);
    status = clumpi_sync_check(c, sync, "clump_heap_reserve");
    if (!status) status = clumpi_heap_enter(heap);
    if (!status) status = clumpi_sync_begin(c, sync);
    if (status) return status;
    clumpi_u32 least = (clumpi_u32)objects;
    uint64_t at = (uint64_t)heap->geometry.header.at_classes * CLUMPI_UNIT +
                  info.id * sizeof(clumpi_class) + offsetof(clumpi_class, reserved.least);
    status = clumpi_set_word(c, heap->info.buffer, at, least);
    if (status) return status;
    heap->geometry.classes[info.id].reserved.least = least;
    heap->list_valid = 0; /* the next list reserves as many */
    heap->window.left = 0;
    return clumpi_sync_end(c, sync);
}
