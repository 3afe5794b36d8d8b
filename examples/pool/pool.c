/* Many buffers in a few large ones. The free memory of the pool is scattered in holes, and small
 * steps of defragmentation move the buffers together. A program would run one step after each
 * frame. The contents of the buffers do not change when they move. */
#include <clump/clump.h>
#include <clump/defrag.h>
#include <clump/pool.h>
#include <clump/quick.h>

enum { BUFFERS = 400, WORDS_MAX = 16 * 1024, STEPS_MAX = 1000 };

typedef struct buffer {
    clump_allocation allocation; /* 0: freed */
    clump_region region;         /* where it is now */
    uint32_t words;
} buffer;

static buffer buffers[BUFFERS];
static int moves;

/* The pool calls this after a move: new commands must use the new place. */
static void moved(void *user, const clump_move *move) {
    (void)user;
    ((buffer *)move->user_data)->region = move->to;
    moves++;
}

static uint32_t word(uint32_t number, uint32_t i) {
    return number * 0x9E3779B9u + i;
}

static void print_stats(clump_pool *pool, const char *when) {
    clump_pool_stats stats = {.size = sizeof stats};
    CLUMP_CHECK(pool, clump_pool_get_stats(pool, &stats, NULL));
    printf("%-16s %3d buffers in %2d chunks\n", when, (int)stats.allocations, (int)stats.chunks);
}

int main(void) {
    static uint32_t words[WORDS_MAX];
    clump_quick q; /* a device, a context and a queue, without a heap */
    clump_pool *pool;
    CLUMP_CHECK(&q, clump_quick_open(&q, NULL));
    CLUMP_CHECK(&q, clump_pool_create(&(clump_pool_desc){.size = sizeof(clump_pool_desc),
                                                         .context = q.context,
                                                         .chunk_bytes = 1 << 20,
                                                         .alignment = 4096,
                                                         .flags = CLUMP_POOL_KEEP_NONE,
                                                         .moved = moved},
                                      &pool, &q.error));
    for (uint32_t b = 0; b < BUFFERS; b++) {
        buffer *to = &buffers[b];
        to->words = 1024 + b * 7919 % 15 * 1024;
        for (uint32_t i = 0; i < to->words; i++) words[i] = word(b, i);
        CLUMP_CHECK(pool,
                    clump_pool_alloc(pool,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .bytes = to->words * 4,
                                                              .user_data = to},
                                     &to->allocation, &to->region));
        CLUMP_CHECK(q.queue,
                    clEnqueueWriteBuffer(q.queue, to->region.buffer, CL_TRUE, to->region.offset,
                                         to->words * 4, words, 0, NULL, NULL));
        /* From now on it is only read, so it may move. */
        CLUMP_CHECK(
            pool, clump_pool_change(pool, to->allocation, CLUMP_PART_MOVABLE,
                                    &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                             .movable = 1}));
    }
    print_stats(pool, "made");
    for (uint32_t b = 0; b < BUFFERS; b++) {
        if (b % 4 == 1) continue;
        CLUMP_CHECK(pool, clump_pool_free(pool, buffers[b].allocation));
        buffers[b].allocation = 0;
    }
    print_stats(pool, "most are freed");

    clump_defrag_report report = {.size = sizeof report};
    for (int step = 0; step < STEPS_MAX && !report.done; step++)
        CLUMP_CHECK(pool,
                    clump_pool_defragment(
                        pool,
                        &(clump_defrag_desc){
                            .size = sizeof(clump_defrag_desc), .max_bytes = 1 << 20, .wait = 1},
                        &report, NULL));
    print_stats(pool, "defragmented");

    int wrong = !report.done || !moves;
    for (uint32_t b = 1; b < BUFFERS; b += 4) {
        const clump_region *at = &buffers[b].region;
        CLUMP_CHECK(q.queue, clEnqueueReadBuffer(q.queue, at->buffer, CL_TRUE, at->offset,
                                                 buffers[b].words * 4, words, 0, NULL, NULL));
        for (uint32_t i = 0; i < buffers[b].words; i++) wrong += words[i] != word(b, i);
    }
    CLUMP_CHECK(pool, clump_pool_check(pool));
    printf("%d words are wrong\n", wrong);
    clump_pool_destroy(pool);
    clump_quick_close(&q);
    return wrong != 0;
}
