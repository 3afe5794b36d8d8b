/* The list of operations, and how one is chosen and checked. */
#include "client.h"

typedef struct entry {
    const char *name;
    uint32_t weight;
    operation *run;
    ull times;
    double took; /* seconds in all, comparisons included */
} entry;

static entry entries[] = {
#define OPERATION_ENTRY(name, weight) {#name, weight, name, 0, 0},
    OPERATION_LIST(OPERATION_ENTRY)
#undef OPERATION_ENTRY
};
enum { ENTRIES = sizeof entries / sizeof *entries };

void make_heap(client *c, heap_model *h) {
    clump_heap_desc desc = {.context = c->on.clump,
                            .schema = c->schema,
                            .bytes = h->bytes,
                            .block_rows = c->block_rows,
                            .pool = chance(c, 70) ? c->pool : NULL};
    clump_status status = clump_heap_create(&desc, &h->heap);
    /* A block of the largest class may not have its place yet; then some blocks are wanted. */
    while (status == CLUMP_ERR_CAPACITY ||
           (!status && clump_heap_get_layout(h->heap)->block_count < h->blocks)) {
        clump_heap_destroy(h->heap);
        desc.bytes = h->bytes += h->bytes / 4;
        status = clump_heap_create(&desc, &h->heap);
    }
    CHECK_OK(&c->on, status);
    model_open(c, h);
}

/* A heap goes with all that is in it, and another comes. */
void renew_heap(client *c, heap_model *h) {
    close_outside(c, h);
    clump_heap_destroy(h->heap);
    model_close(h);
    make_heap(c, h);
}

static entry *draw_entry(client *c, const heap_model *h) {
    uint32_t all = 0;
    for (int i = 0; i < ENTRIES; i++) all += entries[i].weight;
    uint32_t at = below(c, all), i = 0;
    while (at >= entries[i].weight) at -= entries[i++].weight;
    /* A full heap gives nulls and nothing else. */
    if (!h->stats.free_blocks && chance(c, 30))
        for (i = 0; entries[i].run != free_some;) i++;
    return &entries[i];
}

void operate(client *c) {
    uint32_t number = below(c, c->heap_count);
    heap_model *h = &c->heaps[number];
    entry *e = draw_entry(c, h);
    double start = seconds();
    c->step++;
    e->times++;
    note(c, "\n  %u, heap %u, %s: ", c->step, number, e->name);
    e->run(c, h);
    settle(c, h);
    if (c->step % 5 == 0) compare_all(c, h);
    e->took += seconds() - start;
}

void print_operations(void) {
    printf("operation          times  ms each\n");
    for (int i = 0; i < ENTRIES; i++) {
        const entry *e = &entries[i];
        printf("%-17s %6llu %8.2f\n", e->name, e->times,
               e->times ? 1e3 * e->took / (double)e->times : 0.0);
    }
}
