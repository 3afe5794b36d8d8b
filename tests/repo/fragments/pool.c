/* A mesh in a pool of its own, and a buffer that is let go of. */
#include "caller.h"

int main(void) {
    clump_quick q;
    clump_pool *pool;
    clump_pool_stats stats = {.size = sizeof stats};
    static char data[300000 + 4096]; /* sizes are rounded up */
    CLUMP_CHECK(&q, clump_quick_open(&q, NULL));
    fragment_1(q.context, q.queue, data, q.error);
    expect_no_error(&q);

    CLUMP_CHECK(&q, clump_pool_create(
                        &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = q.context},
                        &pool, &q.error));
    CLUMP_CHECK(pool, clump_pool_get_stats(pool, &stats, NULL));
    EXPECT(stats.context_bytes >= 300000);
    fragment_2(pool, q.queue);
    CLUMP_CHECK(&q, clFinish(q.queue));
    CLUMP_CHECK(pool, clump_pool_get_stats(pool, &stats, NULL));
    EXPECT(stats.allocated == 1 && stats.allocations == 0);
    return 0;
}
