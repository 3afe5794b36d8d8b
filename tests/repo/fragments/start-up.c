/* A context that keeps programs in a folder, and a desc with a program of clump-compile, here
 * none. */
#include "caller.h"

int main(void) {
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, NULL));
    fragment_1(q.cl, q.device, q.queue);
    fragment_2((clump_context_desc){.size = sizeof(clump_context_desc),
                                    .context = q.cl,
                                    .device = q.device,
                                    .queue = q.queue},
               NULL, 0);
    expect_no_error(&q);
    return 0;
}
