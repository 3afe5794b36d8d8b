/* Memory over time. What the library holds is counted where it asks for it (account.h): within
 * bounds after each operation, and nothing at the end of a round. Memory of the process is resident
 * memory, with that of the OpenCL implementation. */
#include "client.h"

/* Two to three times what was measured, and what every region of a pool may have at a time;
 * `client` prints the most that there was. */
enum {
    HOST_BYTES_MAX = 5 << 20, /* mostly the texts of programs */
    HOST_BYTES_OF_CONTAINERS =
        7 << 20, /* of the code that their classes add to the programs of each heap */
    HOST_BLOCKS_MAX = 300 + 3 * REGIONS_MAX, /* names, uses and sub-buffers of regions */
    BUFFERS_MAX = 40 + 3 * REGIONS_MAX,
    LANES = 2,         /* the context keeps those of the last save or load */
    PROGRAMS_MAX = 27, /* 19 of the library, and those of each heap with arrays */
    KERNELS_MAX = 130,
    EVENTS_MAX = 60 + REGIONS_MAX + TIMELINE_MAX
};

/* Device memory that calls on a heap keep beside it: a share of its size, and more. */
#define DEVICE_SHARE 1.0
#define DEVICE_EXTRA (256u << 10)

/* The context keeps memory of as many pieces, with their checksums, of the largest heap that was
 * saved. */
#define PIECES_KEPT 4u
#define PIECE_EXTRA (16u << 10)

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Device memory that was asked for: heaps with buffers of their own, and pools. */
static uint64_t asked_of_device(client *c) {
    clump_pool_stats pools = {.size = sizeof pools, .context_bytes = 0};
    if (c->pool) POOL_OK(c, clump_pool_get_stats(c->pool, &pools, NULL));
    uint64_t bytes = pools.context_bytes;
    for (uint32_t i = 0; i < c->heap_count; i++)
        if (!c->heaps[i].pooled) bytes += clump_heap_get_info(c->heaps[i].heap)->bytes;
    return bytes;
}

static void bound(client *c, const char *what, uint64_t found, uint64_t most) {
    if (found > most)
        complain(c, "the library holds %llu %s, more than %llu", (ull)found, what, (ull)most);
}

/* What was evicted in one call is kept until all of it is back: so more than what is away, in parts
 * of which each has a block that is. */
static uint64_t evicted_bytes(const client *c) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->heap_count; i++)
        bytes += c->heaps[i].away_count ? 4 * c->heaps[i].bytes : 0;
    return bytes;
}
static uint32_t evicted_blocks(const client *c) {
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < c->heap_count; i++) blocks += c->heaps[i].away_blocks;
    return blocks;
}

void memory_step(client *c) {
    pause_pool_thread(c);
    account_sums now = account_read(c->account), *most = &c->sum.most;
    uint64_t asked = asked_of_device(c),
             kept = PIECES_KEPT * (c->piece_most + c->piece_most / 64 + PIECE_EXTRA);
    resume_pool_thread(c);
    for (uint32_t i = 0; i < c->heap_count; i++)
        kept +=
            DEVICE_EXTRA + (uint64_t)(DEVICE_SHARE * clump_heap_get_info(c->heaps[i].heap)->bytes);
    if (now.device_bytes < asked)
        complain(c, "%llu bytes of device memory for heaps and pools of %llu",
                 (ull)now.device_bytes, (ull)asked);
    now.device_bytes -= asked;
    bound(c, "bytes of device memory beside heaps and pools", now.device_bytes, kept);
    bound(c, "bytes of host memory", now.host_bytes,
          (c->class_count > c->drawn_classes ? HOST_BYTES_OF_CONTAINERS : HOST_BYTES_MAX) +
              evicted_bytes(c));
    bound(c, "blocks of host memory", now.host_blocks, HOST_BLOCKS_MAX + evicted_blocks(c));
    most->device_bytes = larger(most->device_bytes, now.device_bytes);
    most->host_bytes = larger(most->host_bytes, now.host_bytes);
    most->host_blocks = larger(most->host_blocks, now.host_blocks);
    for (int k = 0; k < ACCOUNT_KINDS; k++) {
        static const uint64_t limits[ACCOUNT_KINDS] = {
            [ACCOUNT_CONTEXT] = 1,          [ACCOUNT_QUEUE] = 4 + LANES,
            [ACCOUNT_BUFFER] = BUFFERS_MAX, [ACCOUNT_PROGRAM] = PROGRAMS_MAX,
            [ACCOUNT_KERNEL] = KERNELS_MAX, [ACCOUNT_EVENT] = EVENTS_MAX};
        uint64_t found = (uint64_t)now.references[k];
        /* Such a heap has kernels of its own, and one that it is loaded into may be another. */
        const int twice = c->evicts && (k == ACCOUNT_PROGRAM || k == ACCOUNT_KERNEL);
        bound(c, account_kind_name(k), found, twice ? 2 * limits[k] : limits[k]);
        if ((uint64_t)most->references[k] < found) most->references[k] = (int64_t)found;
    }
}

void memory_watch_process(client *c) {
    /* Where there are arrays, the first collection of each heap compiles a program, whenever that
     * is. */
    const uint64_t growth = (c->array_count ? UINT64_C(256) : UINT64_C(36)) << 20;
    if (c->step % 100) return;
    uint64_t now = account_of_process() - c->log.room;
    if (c->step < c->operations / 3 + 100) /* looked at once at least */
        c->resident = larger(c->resident, now);
    else if (now > c->resident + growth)
        complain(
            c, "the process has %llu bytes more than after a third of the round, and may have %llu",
            (ull)(now - c->resident), (ull)growth);
}

void memory_end(client *c) {
    account_sums now = account_read(c->account);
    same_number(c, "bytes of host memory that the library kept", now.host_bytes, 0);
    same_number(c, "blocks of host memory that the library kept", now.host_blocks, 0);
    same_number(c, "bytes of device memory that the library kept", now.device_bytes, 0);
    for (int k = 0; k < ACCOUNT_KINDS; k++)
        if (now.references[k])
            complain(c, "the library kept %lld references to %s", (long long)now.references[k],
                     account_kind_name(k));
}

void memory_print(const totals *sum) {
    const account_sums *m = &sum->most;
    printf(
        "most that the library held: %llu bytes in %llu blocks of host memory, %llu bytes of "
        "device "
        "memory beside heaps and pools",
        (ull)m->host_bytes, (ull)m->host_blocks, (ull)m->device_bytes);
    for (int k = 0; k < ACCOUNT_KINDS; k++)
        printf(", %lld %s", (long long)m->references[k], account_kind_name(k));
    printf("\n");
}
