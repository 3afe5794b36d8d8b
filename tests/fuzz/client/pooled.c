/* A pool from which heaps may take their memory, and regions with contents of their own beside
 * them, which defragmentation moves about. */
#include "client.h"

/* Pools keep errors of their own. */
static void expect_of_pool(client *c, clump_status found, clump_status expected, const char *call) {
    clump_error error;
    if (found == expected) return;
    clump_pool_get_error(c->pool, &error);
    complain(c, "%s returned %s, expected %s: %s", call, clump_status_name(found),
             clump_status_name(expected), found ? error.message : "");
}
#define POOL_OK(c, call) expect_of_pool((c), (call), CLUMP_OK, #call)

static uint32_t word_of(const region_model *r, uint32_t i) {
    return test_hash(r->salt + i);
}

static void write_region(client *c, region_model *r, const clump_region *at) {
    uint32_t *words = must_alloc(r->words * sizeof *words);
    for (uint32_t i = 0; i < r->words; i++) words[i] = word_of(r, i);
    CHECK_CL(clFinish(c->on.queue));
    CHECK_CL(clEnqueueWriteBuffer(c->on.queue, at->buffer, CL_TRUE, at->offset,
                                  r->words * sizeof *words, words, 0, NULL, NULL));
    free(words);
}

static void compare_region(client *c, const region_model *r) {
    clump_allocation_info info;
    uint32_t *words = must_alloc(r->words * sizeof *words);
    POOL_OK(c, clump_pool_get_info(c->pool, r->allocation, &info));
    CHECK_CL(clFinish(c->on.queue));
    CHECK_CL(clEnqueueReadBuffer(c->on.queue, info.region.buffer, CL_TRUE, info.region.offset,
                                 r->words * sizeof *words, words, 0, NULL, NULL));
    for (uint32_t i = 0; i < r->words; i++)
        if (words[i] != word_of(r, i))
            complain(c, "word %u of a region of %u words in a pool is wrong", i, r->words);
    free(words);
}

static void make_region(client *c, region_model *r) {
    clump_region at;
    r->words = logarithmic(c, 16, 60000);
    r->salt = draw_salt(c);
    const clump_allocation_desc desc = {.bytes = r->words * 4ull, .unique = chance(c, 10)};
    POOL_OK(c, clump_pool_alloc(c->pool, &desc, &r->allocation, &at));
    write_region(c, r, &at);
    if (chance(c, 80)) POOL_OK(c, clump_pool_set_movable(c->pool, r->allocation, 1));
}

static void defragment(client *c) {
    clump_defrag_desc desc = {.wait = 1, .max_moves = below(c, 4), .exclusive = chance(c, 30)};
    desc.order = (clump_defrag_order)below(c, 2);
    clump_defrag_report report;
    note(c, "defragment");
    if (chance(c, 50))
        POOL_OK(c, clump_pool_defrag(c->pool, NULL, &report));
    else
        POOL_OK(c, clump_pool_defrag_step(c->pool, &desc, &report));
}

void use_pool(client *c, heap_model *h) {
    (void)h;
    if (!c->pool) return;
    for (uint32_t i = 1 + below(c, 4); i > 0; i--) {
        region_model *r = &c->regions[below(c, REGIONS_MAX)];
        if (r->allocation) {
            POOL_OK(c, clump_pool_free(c->pool, r->allocation));
            expect_of_pool(c, clump_pool_free(c->pool, r->allocation), CLUMP_ERR_REFERENCE,
                           "a second clump_pool_free");
            r->allocation = 0;
        } else {
            make_region(c, r);
        }
    }
    if (chance(c, 50)) defragment(c);
    POOL_OK(c, clump_pool_check(c->pool));
    for (int i = 0; i < REGIONS_MAX; i++)
        if (c->regions[i].allocation) compare_region(c, &c->regions[i]);
}

void open_pool(client *c) {
    clump_error error;
    clump_pool_desc desc = {.context = c->on.clump,
                            .chunk_bytes = chance(c, 50) ? 1u << 20 : 0,
                            .fit = (clump_fit)below(c, CLUMP_FIT_COUNT),
                            .margin_bytes = chance(c, 30) ? 64 : 0};
    if (clump_pool_create(&desc, &c->pool, &error))
        complain(c, "clump_pool_create: %s", error.message);
}

void close_pool(client *c) {
    clump_pool_stats stats;
    uint64_t regions = 0;
    if (!c->pool) return;
    for (int i = 0; i < REGIONS_MAX; i++) regions += c->regions[i].allocation != 0;
    POOL_OK(c, clump_pool_get_stats(c->pool, &stats));
    same_number(c, "allocations of the pool when all heaps are gone", stats.allocations, regions);
    clump_pool_destroy(c->pool);
    c->pool = NULL;
}
