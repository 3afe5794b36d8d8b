/* Calls on a pool beside allocating and freeing: regions that are held where they are, steps of
 * defragmentation that other operations overtake, limits, and what the pool tells. */
#include "client.h"

/* ---- Holding --------------------------------------------------------------------------------- */

static void pin(client *c, region_model *r) {
    if (r->pins && chance(c, 60)) {
        POOL_OK(c, clump_pool_pin(c->pool, r->allocation, -1));
        r->pins--;
        return;
    }
    POOL_OK(c, clump_pool_pin(c->pool, r->allocation, 1));
    r->pins++;
}

static void map(client *c, region_model *r) {
    if (r->mapped) {
        unmap_region(c, r);
        return;
    }
    POOL_OK(c, clump_pool_map(c->pool, r->allocation, CL_MAP_READ, &r->mapped));
    for (uint32_t i = 0; i < r->words; i++)
        if (((const uint32_t *)r->mapped)[i] != test_hash(r->salt + i))
            complain(c, "word %u of a mapped region of %u words is wrong", i, r->words);
}

/* Commands up to an event use it where it lies. */
static void use(client *c, const region_model *r) {
    cl_event event;
    CHECK_CL(clEnqueueMarkerWithWaitList(c->on.queue, 0, NULL, &event));
    POOL_OK(c, clump_pool_use(c->pool, r->allocation, event));
    CHECK_CL(clFlush(c->on.queue));
    clReleaseEvent(event);
}

/* Is a lent buffer in the pool? Perhaps, if another thread frees what is looked at. */
static int has_lent(client *c) {
    clump_allocation_info info = {.size = sizeof info, .next = 0};
    do {
        const clump_status status = clump_pool_get_info(c->pool, info.next, &info);
        if (c->beside && status == CLUMP_ERR_REFERENCE) return 1;
        POOL_OK(c, status);
        if (info.name && !strcmp(info.name, "lent")) return 1;
    } while (info.next);
    return 0;
}

/* A device may tell of a release from a thread of its own; until then the pool holds the buffer's
 * queue. */
static void wait_for_lent(client *c) {
    for (int tries = 0; tries < 5000; tries++) {
        if (!has_lent(c)) return;
        cl_fixture_nap();
    }
    complain(c, "a buffer that was released is still in the pool");
}

/* Its commands may still be under way when the last reference goes. */
static void lend(client *c) {
    const clump_allocation_desc desc = {.size = sizeof desc,
                                        .name = "lent",
                                        .bytes = 4ull * logarithmic(c, 16, 3e4),
                                        .memory = (clump_memory)chance(c, 20),
                                        .unique = chance(c, 10)};
    const uint32_t tag = draw_salt(c);
    uint32_t last = ~tag;
    cl_mem buffer;
    POOL_OK(c, clump_pool_create_buffer(c->pool, &desc, 1, &c->side_queue, &buffer));
    CHECK_CL(
        clEnqueueFillBuffer(c->side_queue, buffer, &tag, sizeof tag, 0, desc.bytes, 0, NULL, NULL));
    CHECK_CL(clEnqueueReadBuffer(c->side_queue, buffer, CL_FALSE, desc.bytes - sizeof last,
                                 sizeof last, &last, 0, NULL, NULL));
    CHECK_CL(account_cl.ReleaseMemObject(buffer)); /* the account has it in its list */
    if (chance(c, 50)) POOL_OK(c, clump_pool_check(c->pool));
    CHECK_CL(clFinish(c->side_queue));
    wait_for_lent(c);
    if (last != tag)
        complain(c, "a buffer of %llu bytes was overwritten", (unsigned long long)desc.bytes);
}

void hold_regions(client *c, heap_model *h) {
    (void)h;
    for (uint32_t i = c->pool ? 1 + below(c, 4) : 0; i > 0; i--) {
        region_model *r = draw_region(c);
        cl_mem buffer;
        if (chance(c, 15)) lend(c);
        if (!r) return;
        switch (below(c, 5)) {
        case 0: pin(c, r); break;
        case 1: map(c, r); break;
        case 2: POOL_OK(c, clump_pool_get_buffer(c->pool, r->allocation, &buffer)); break;
        case 3:
            r->movable = chance(c, 70);
            POOL_OK(
                c, clump_pool_change(c->pool, r->allocation, CLUMP_PART_MOVABLE,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .movable = r->movable}));
            break;
        default: use(c, r);
        }
        compare_region(c, r);
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Moves that the client ends itself, each as it likes. The other thread's regions are left in
 * peace. */
static void finish_moves(client *c) {
    for (;;) {
        clump_move move;
        POOL_OK(c, clump_pool_next_move(c->pool, &move));
        if (!move.allocation) return;
        region_model *r = move.user_data;
        clump_move_op op = r ? (clump_move_op)below(c, 3) : CLUMP_MOVE_COPY;
        clump_status status = clump_pool_finish_move(c->pool, move.allocation, op);
        if (c->beside && status) return; /* freed or finished there */
        POOL_OK(c, status);
        if (op == CLUMP_MOVE_DESTROY) *r = (region_model){0};
    }
}

static void end_frame(client *c) {
    cl_event events[2];
    for (int i = 0; i < 2; i++)
        CHECK_CL(clEnqueueMarkerWithWaitList(c->pool_queue, 0, NULL, &events[i]));
    CHECK_CL(clFinish(c->pool_queue));
    POOL_OK(c, clump_pool_end_frame(c->pool, 2, events));
    for (int i = 0; i < 2; i++) clReleaseEvent(events[i]);
}

/* Copies that a step does not wait for go on while other operations run. */
void step_pool(client *c, heap_model *h) {
    static const double budgets[] = {0, 20, 200, 2000};
    clump_defrag_report report = {.size = sizeof report};
    (void)h;
    if (!c->pool) return;
    clump_defrag_desc desc = {.size = sizeof desc,
                              .budget_us = budgets[below(c, 4)],
                              .max_bytes = chance(c, 40) ? logarithmic(c, 7e4, 3e5) : 0,
                              .max_moves = below(c, 6),
                              .manual = chance(c, 30),
                              .order = (clump_defrag_order)below(c, 2)};
    if (chance(c, 40)) end_frame(c);
    desc.use_pauses = chance(c, 20);
    desc.wait = !desc.manual && chance(c, 20);
    note(c, "budget %g, %u moves%s%s", desc.budget_us, desc.max_moves, desc.wait ? ", wait" : "",
         desc.manual ? ", manual" : "");
    for (uint32_t i = 1 + below(c, 4); i > 0; i--) {
        sync_use u;
        step(c, &desc, &report, begin_sync(c, &u));
        end_sync(c, &u);
    }
    if (desc.manual) finish_moves(c);
    compare_regions(c);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Nothing more is to be had: a region and a heap are refused, and nothing is lost. */
void limit_pool(client *c, heap_model *h) {
    clump_allocation none = 1;
    clump_region at;
    clump_heap *heap;
    clump_pool *narrow;
    (void)h;
    if (!c->pool) return;
    const uint64_t bytes = 64u << 20;
    CHECK_OK(&c->on, clump_pool_create(&(clump_pool_desc){.size = sizeof(clump_pool_desc),
                                                          .context = c->on.clump,
                                                          .queue = c->pool_queue,
                                                          .limit_bytes = 1 << 20},
                                       &narrow, NULL));
    expect_of_pool(
        c,
        clump_pool_alloc(
            narrow, &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = bytes},
            &none, &at),
        CLUMP_ERR_DEVICE_MEMORY, "clump_pool_alloc above the limit");
    same_number(c, "an allocation that was refused", none, 0);
    const clump_heap_desc desc = {.size = sizeof desc,
                                  .context = c->on.clump,
                                  .schema = c->schema,
                                  .bytes = bytes,
                                  .pool = narrow};
    CHECK_STATUS(&c->on, clump_heap_create(&desc, &heap, NULL), CLUMP_ERR_DEVICE_MEMORY);
    clump_pool_destroy(narrow);
    if (chance(c, 50)) POOL_OK(c, clump_pool_trim(c->pool));
    POOL_OK(c, clump_pool_check(c->pool));
}

/* ---- What is told ---------------------------------------------------------------------------- */

static int take_text(void *user, const void *part, size_t bytes) {
    (void)part;
    *(uint64_t *)user += bytes;
    return 0;
}

void look_at_pool(client *c, heap_model *h) {
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_details details = {.size = sizeof details};
    uint64_t regions = 0, found = 0, told = 0;
    (void)h;
    if (!c->pool) return;
    pause_pool_thread(c);
    for (int i = 0; i < REGIONS_MAX; i++) regions += c->regions[i].allocation != 0;
    clump_allocation_info info = {.size = sizeof info};
    POOL_OK(c, clump_pool_get_info(c->pool, 0, &info));
    while (info.next) {
        POOL_OK(c, clump_pool_get_info(c->pool, info.next, &info));
        const region_model *r = info.user_data;
        found += r && r->allocation == info.allocation;
    }
    same_number(c, "regions that were visited", found, regions);
    POOL_OK(c, clump_pool_get_stats(c->pool, &stats, NULL));
    POOL_OK(c, clump_pool_get_stats(c->pool, NULL, &details));
    if (stats.used_bytes > stats.bytes || stats.requested_bytes > stats.used_bytes ||
        details.allocation_min > details.allocation_max || details.free_min > details.free_max)
        complain(c, "statistics of the pool contradict each other");
    POOL_OK(c, clump_pool_dump(c->pool, CLUMP_POOL_JSON, take_text, &told));
    POOL_OK(c, clump_pool_dump(c->pool, CLUMP_POOL_SVG, take_text, &told));
    if (told < 100) complain(c, "the pool is told in %llu bytes", (ull)told);
    resume_pool_thread(c);
    region_model *r = draw_region(c);
    if (!r) return;
    POOL_OK(c,
            clump_pool_change(c->pool, r->allocation, CLUMP_PART_NAME,
                              &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                       .name = chance(c, 50) ? "renamed" : NULL}));
    POOL_OK(c, clump_pool_change(c->pool, r->allocation, CLUMP_PART_USER_DATA,
                                 &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                          .user_data = r}));
}
