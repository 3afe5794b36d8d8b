/* Fuzzing of pool_trace_read(), and of writing what it read.
 *
 * What must hold for all bytes: an error names a line; a trace that was accepted allocates only
 * what is not live, frees and changes only what is, counts right, and is the same after it was
 * written and read again.
 * Read first: fuzz.h, bench/pool/trace.h.
 */
#include "bench/pool/trace.h"
#include "fuzz.h"

static void check_trace(const pool_trace *t) {
    uint64_t *live = calloc(t->ids + (size_t)1, sizeof *live), sum = 0, peak = 0, frames = 0,
             allocs = 0;
    REQUIRE(live && t->ids <= t->count);
    for (size_t i = 0; i < t->count; i++) {
        const pool_trace_op *op = &t->ops[i];
        REQUIRE(op->kind == POOL_TRACE_FRAME || op->id < t->ids);
        switch (op->kind) {
        case POOL_TRACE_ALLOC:
            REQUIRE(op->bytes && !live[op->id]);
            REQUIRE(sum + op->bytes > sum); /* all that lives can be counted */
            live[op->id] = op->bytes;
            sum += op->bytes;
            if (sum > peak) peak = sum;
            allocs++;
            break;
        case POOL_TRACE_FREE:
            REQUIRE(live[op->id]);
            sum -= live[op->id];
            live[op->id] = 0;
            break;
        case POOL_TRACE_MOVABLE:
            REQUIRE(live[op->id] && (op->movable == 0 || op->movable == 1));
            break;
        case POOL_TRACE_FRAME: frames++; break;
        }
    }
    REQUIRE(t->frames == frames && t->allocs == allocs && allocs);
    REQUIRE(t->live_bytes == sum && t->peak_bytes == peak);
    free(live);
}

static int is_same(const pool_trace *a, const pool_trace *b) {
    if (a->count != b->count || a->ids != b->ids) return 0;
    for (size_t i = 0; i < a->count; i++) {
        const pool_trace_op *x = &a->ops[i], *y = &b->ops[i];
        if (x->kind != y->kind || x->bytes != y->bytes || x->movable != y->movable ||
            x->id != y->id)
            return 0;
    }
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    pool_trace trace, again;
    bench_error error;
    if (pool_trace_read(&trace, fuzz_file(0, data, bytes), &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        REQUIRE(strstr(error.text, ", line "));
        REQUIRE(!trace.ops && !trace.unused && !trace.count);
        return 0;
    }
    check_trace(&trace);
    const char *path = fuzz_file(1, NULL, 0);
    REQUIRE(pool_trace_write(&trace, path, &error) == 0);
    REQUIRE(pool_trace_read(&again, path, &error) == 0);
    REQUIRE(is_same(&trace, &again));
    pool_trace_release(&again);
    pool_trace_release(&trace);
    return 0;
}
