/* A pool from which heaps may take their memory, and regions with contents of their own beside
 * them, which defragmentation moves about. */
#include "client.h"

void expect_of_pool(client *c, clump_status found, clump_status expected, const char *call) {
    clump_error error;
    if (found == expected) return;
    clump_pool_get_error(c->pool, &error);
    complain(c, "%s returned %s, expected %s: %s", call, clump_status_name(found),
             clump_status_name(expected), found ? error.message : "");
}

/* ---- Regions --------------------------------------------------------------------------------- */

static uint32_t word_of(const region_model *r, uint32_t i) {
    return test_hash(r->salt + i);
}

static void write_region(client *c, region_model *r, const clump_region *at) {
    uint32_t *words = must_alloc(r->words * sizeof *words);
    for (uint32_t i = 0; i < r->words; i++) words[i] = word_of(r, i);
    /* Nobody else has the place: no other queue need be waited for. */
    CHECK_CL(clEnqueueWriteBuffer(c->side_queue, at->buffer, CL_TRUE, at->offset,
                                  r->words * sizeof *words, words, 0, NULL, NULL));
    CHECK_CL(clFinish(c->side_queue));
    free(words);
}

/* A step of another thread may move it, but not while it is pinned. */
void compare_region(client *c, const region_model *r) {
    clump_allocation_info info = {.size = sizeof info};
    uint32_t *words = must_alloc(r->words * sizeof *words);
    POOL_OK(c, clump_pool_pin(c->pool, r->allocation, 1));
    POOL_OK(c, clump_pool_get_info(c->pool, r->allocation, &info));
    same_number(c, "pins of a region", info.pins, r->pins + 1);
    CHECK_CL(clEnqueueReadBuffer(c->side_queue, info.region.buffer, CL_TRUE, info.region.offset,
                                 r->words * sizeof *words, words, 0, NULL, NULL));
    POOL_OK(c, clump_pool_pin(c->pool, r->allocation, -1));
    for (uint32_t i = 0; i < r->words; i++)
        if (words[i] != word_of(r, i))
            complain(c, "word %u of a region of %u words in a pool is wrong", i, r->words);
    free(words);
}

void compare_regions(client *c) {
    for (int i = 0; i < REGIONS_MAX; i++)
        if (c->regions[i].allocation) compare_region(c, &c->regions[i]);
}

region_model *draw_region(client *c) {
    for (int i = 0; i < 10; i++) {
        region_model *r = &c->regions[below(c, REGIONS_MAX)];
        if (r->allocation) return r;
    }
    return NULL;
}

static void make_region(client *c, region_model *r) {
    clump_region at;
    r->words = chance(c, 30) ? logarithmic(c, 3e4, 12e4) : logarithmic(c, 16, 3e4);
    r->salt = draw_salt(c);
    const clump_allocation_desc desc = {.size = sizeof desc,
                                        .bytes = r->words * 4ull,
                                        .unique = chance(c, 10),
                                        .memory = (clump_memory)(chance(c, 20)),
                                        .name = chance(c, 30) ? "region" : NULL,
                                        .user_data = r};
    POOL_OK(c, clump_pool_alloc(c->pool, &desc, &r->allocation, &at));
    write_region(c, r, &at);
    r->movable = chance(c, 80);
    if (r->movable)
        POOL_OK(c, clump_pool_change(c->pool, r->allocation, CLUMP_PART_MOVABLE,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .movable = 1}));
}

void unmap_region(client *c, region_model *r) {
    sync_use u;
    POOL_OK(c, clump_pool_unmap(c->pool, r->allocation, r->mapped, begin_sync(c, &u)));
    end_sync(c, &u);
    r->mapped = NULL;
}

/* What is held is refused first. */
void drop_region(client *c, region_model *r) {
    if (r->pins || r->mapped)
        expect_of_pool(c, clump_pool_free(c->pool, r->allocation), CLUMP_ERR_USAGE,
                       "clump_pool_free of what is held");
    for (; r->pins; r->pins--) POOL_OK(c, clump_pool_pin(c->pool, r->allocation, -1));
    if (r->mapped) unmap_region(c, r);
    POOL_OK(c, clump_pool_free(c->pool, r->allocation));
    expect_of_pool(c, clump_pool_free(c->pool, r->allocation), CLUMP_ERR_REFERENCE,
                   "a second clump_pool_free");
    *r = (region_model){0};
}

/* ---- Defragmentation ------------------------------------------------------------------------- */

void step(client *c, const clump_defrag_desc *desc, clump_defrag_report *report,
          const clump_sync *sync) {
    clump_status status = clump_pool_defragment(c->pool, desc, report, sync);
    if (!(c->beside && status == CLUMP_ERR_USAGE)) POOL_OK(c, status);
}

static void defragment(client *c) {
    clump_defrag_desc desc = {
        .size = sizeof desc, .wait = 1, .max_moves = below(c, 4), .exclusive = chance(c, 30)};
    desc.order = (clump_defrag_order)below(c, 2);
    clump_defrag_report report = {.size = sizeof report};
    note(c, "defragment");
    if (c->beside) desc.exclusive = 0; /* the other thread's regions are in use */
    if (!c->beside && chance(c, 50))
        POOL_OK(c, clump_pool_defragment(
                       c->pool,
                       &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1},
                       &report, NULL));
    else
        step(c, &desc, &report, NULL);
}

/* Places that are given back at once, behind a kernel: whatever the pool does with them must not
 * come later. */
static void come_and_go(client *c, heap_model *h) {
    clump_allocation some[8];
    CHECK_OK(&c->on, clump_heap_do_all(h->heap, c->kernels[KERNEL_checksum], NULL));
    for (int i = 0; i < 8; i++) {
        const clump_allocation_desc desc = {.size = sizeof desc,
                                            .bytes = 4 * logarithmic(c, 16, 3e4)};
        POOL_OK(c, clump_pool_alloc(c->pool, &desc, &some[i], NULL));
    }
    for (int i = 0; i < 8; i++) POOL_OK(c, clump_pool_free(c->pool, some[i]));
}

void use_pool(client *c, heap_model *h) {
    if (!c->pool) return;
    if (chance(c, 50)) come_and_go(c, h);
    for (uint32_t i = 1 + below(c, 12); i > 0; i--) {
        region_model *r = &c->regions[below(c, REGIONS_MAX)];
        if (r->allocation)
            drop_region(c, r);
        else
            make_region(c, r);
    }
    if (chance(c, 50)) defragment(c);
    POOL_OK(c, clump_pool_check(c->pool));
    compare_regions(c);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Some regions are left where they are; the client's random numbers are not for callbacks. */
static clump_move_op decide(void *user, const clump_move *move) {
    (void)user;
    return test_hash((uint32_t)move->allocation) % 8 ? CLUMP_MOVE_COPY : CLUMP_MOVE_IGNORE;
}

static void moved(void *user, const clump_move *move) {
    client *c = user;
    const region_model *r = move->user_data;
    /* Another thread's step may tell of a move from before the region was held. */
    if (!c->beside && r &&
        (r->allocation != move->allocation || !r->movable || r->pins || r->mapped))
        complain(c, "a region was moved that has to stay where it is");
    if (move->to.bytes != move->from.bytes) complain(c, "a region has another size elsewhere");
}

/* Those of the other thread are gone by then. */
static void leaked(void *user, const clump_allocation_info *info) {
    region_model *r = info->user_data;
    if (!r || r->allocation != info->allocation)
        complain(user, "a pool that ends has an allocation that nobody made");
    r->allocation = 0;
}

/* ---- The pool -------------------------------------------------------------------------------- */

cl_command_queue make_queue(client *c) {
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue =
        clCreateCommandQueue(c->on.context, c->on.device, CL_QUEUE_PROFILING_ENABLE, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
    return queue;
}

static void open_queues(client *c) {
    c->pool_queue = chance(c, 50) ? c->on.queue : make_queue(c);
    c->side_queue = make_queue(c);
}

void open_pool(client *c) {
    clump_error error;
    static const uint64_t chunks[] = {0, 256u << 10, 1u << 20, 2u << 20};
    open_queues(c);
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = c->on.clump,
                            .queue = c->pool_queue,
                            .chunk_bytes = chunks[below(c, 4)],
                            .fit = (clump_fit)below(c, CLUMP_FIT_COUNT),
                            .margin_bytes = chance(c, 40) ? 64 : 0,
                            .flags = chance(c, 30) ? CLUMP_POOL_KEEP_NONE : 0,
                            .user = c,
                            .decide = chance(c, 40) ? decide : NULL,
                            .moved = moved,
                            .leaked = leaked};
    if (chance(c, 20)) desc.flags |= CLUMP_POOL_UNTOUCHED;
    if (chance(c, 50)) desc.pause_frames = 1 + below(c, 4), desc.pause_factor = 0.5;
    if (clump_pool_create(&desc, &c->pool, &error))
        complain(c, "clump_pool_create: %s", error.message);
    if (chance(c, 50)) begin_pool_thread(c);
    text_append(&c->facts, "\npool: chunks of %llu bytes, fit %d, margins of %u, flags %x%s%s%s",
                (ull)desc.chunk_bytes, (int)desc.fit, desc.margin_bytes, desc.flags,
                desc.decide ? ", decides" : "",
                c->pool_queue == c->on.queue ? "" : ", a queue of its own",
                c->beside ? ", another thread" : "");
}

void close_pool(client *c) {
    clump_pool_stats stats = {.size = sizeof stats};
    uint64_t regions = 0;
    if (!c->pool) return;
    same_number(c, "allocations that the other thread left", end_pool_thread(c), 0);
    compare_regions(c);
    for (int i = 0; i < REGIONS_MAX; i++) {
        region_model *r = &c->regions[i];
        if (r->allocation && (r->pins || r->mapped)) drop_region(c, r);
        regions += r->allocation != 0;
    }
    POOL_OK(c, clump_pool_get_stats(c->pool, &stats, NULL));
    c->sum.pool_moves += stats.moves;
    same_number(c, "allocations of the pool when all heaps are gone", stats.allocations, regions);
    clump_pool_destroy(c->pool);
    for (int i = 0; i < REGIONS_MAX; i++)
        if (c->regions[i].allocation) complain(c, "a pool that ends does not tell what it leaves");
    c->pool = NULL;
    if (c->pool_queue != c->on.queue) clReleaseCommandQueue(c->pool_queue);
    clReleaseCommandQueue(c->side_queue);
}
