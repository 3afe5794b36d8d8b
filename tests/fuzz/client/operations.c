/* The list of operations, and how one is chosen and checked. */
#include "client.h"

typedef struct entry {
    const char *name;
    uint32_t weight;
    operation *run;
} entry;

static const entry entries[OPERATIONS] = {
#define OPERATION_ENTRY(name, weight) {#name, weight, name},
    OPERATION_LIST(OPERATION_ENTRY)
#undef OPERATION_ENTRY
};

static void open_heap(client *c, heap_model *h, int watches) {
    clump_checked_desc checked = c->checked;
    checked.user = h;
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = c->on.clump,
                            .schema = c->schema,
                            .bytes = h->bytes,
                            .block_rows = c->block_rows,
                            .raw = c->raw,
                            /* these are read after a kernel has reported what they lack */
                            .errors_on_request = c->parts.vector >= 0 || c->parts.map >= 0,
                            .watch_handles = watches,
                            .checked = c->checked.without == CLUMP_CHECK_ALL ? NULL : &checked,
                            .pool = chance(c, 70) && !c->evicts ? c->pool : NULL,
                            .evictable_bytes = c->evicts ? h->bytes : 0};
    clump_status status = clump_heap_create(&desc, &h->heap, NULL);
    /* A block of the largest class may not have its place yet; then some blocks are wanted. */
    while (status == CLUMP_ERR_DEVICE_MEMORY ||
           (!status && clump_heap_get_info(h->heap)->block_count < h->blocks)) {
        clump_heap_destroy(h->heap);
        desc.bytes = h->bytes += h->bytes / 4;
        if (c->evicts) desc.evictable_bytes = h->bytes;
        status = clump_heap_create(&desc, &h->heap, NULL);
    }
    CHECK_OK(&c->on, status);
    h->pooled = desc.pool != NULL;
    h->watches = desc.watch_handles;
    model_open(c, h);
}

void make_heap(client *c, heap_model *h) {
    open_heap(c, h, chance(c, c->watching));
}

void make_heap_like(client *c, heap_model *h) {
    open_heap(c, h, h->watches);
}

/* A heap goes with all that is in it, and another comes. */
void renew_heap(client *c, heap_model *h) {
    close_outside(c, h);
    end_heap(c, h);
    model_close(h);
    make_heap(c, h);
}

/* Operations whose kernels only some rounds have; and those that give room. */
static const struct {
    operation *run;
    kernel_name kernel;
} makers[] = {{new_each, KERNEL_each},
              {new_two, KERNEL_two},
              {new_group, KERNEL_group},
              {new_loop, KERNEL_loop}};
static operation *const relief[] = {free_some, free_some, collect, compact};
static operation *const of_raw[] = {raw_make, raw_free, raw_resize};
static operation *const of_arrays[] = {change_arrays, append_to_arrays, link_arrays};

static uint32_t weight_of(const client *c, const entry *e) {
    for (int i = 0; i < 4; i++)
        if (e->run == makers[i].run && !c->kernels[makers[i].kernel]) return 0;
    for (int i = 0; i < 3; i++)
        if ((e->run == of_raw[i] && !c->raw) || (e->run == of_arrays[i] && !c->drawn_arrays))
            return 0;
    if (!c->become_count && e->run == become_others) return 0;
    if (!c->evicts && (e->run == evict_blocks || e->run == fetch_blocks)) return 0;
    if (!has_container(c, (operation_name)(e - entries))) return 0;
    return e->weight;
}

static const entry *find_entry(operation *run) {
    const entry *e = entries;
    while (e->run != run) e++;
    return e;
}

/* Refused while objects are evicted. */
static int needs_all(operation *run) {
    return run == compact || run == compact_when_due || run == collect || run == collect_when_due ||
           run == save_and_load || run == move_objects || run == misuse;
}

static const entry *draw_maker(client *c) {
    uint32_t i = below(c, 4);
    while (!c->kernels[makers[i].kernel]) i = (i + 1) % 4;
    return find_entry(makers[i].run);
}

/* A full heap gives nulls and nothing else, so it gets room soon. Where there is room again, that
 * is often tried at once: an allocator may remember that there was none. */
static const entry *draw_entry(client *c, const heap_model *h) {
    if (!h->stats.free_blocks && h->raw_count && chance(c, 40)) return find_entry(raw_free);
    if (!h->stats.free_blocks && chance(c, 40)) return find_entry(relief[below(c, 4)]);
    if (h->got_room && chance(c, 40)) return draw_maker(c);
    uint32_t all = 0;
    for (int i = 0; i < OPERATIONS; i++) all += weight_of(c, &entries[i]);
    uint32_t at = below(c, all);
    const entry *e = entries;
    for (; at >= weight_of(c, e); e++) at -= weight_of(c, e);
    return e;
}

void operate(client *c) {
    if (chance(c, 50)) c->turn = below(c, c->heap_count);
    heap_model *h = &c->heaps[c->turn];
    const entry *e = draw_entry(c, h);
    double start = seconds();
    c->step++;
    c->sum.times[e - entries]++;
    note(c, "\n  %u, heap %u, %s: ", c->step, c->turn, e->name);
    h->got_room = 0;
    for (int i = 0; i < 4; i++) h->got_room |= e->run == relief[i];
    if (h->away_count && needs_all(e->run))
        refuse_while_away(c, h);
    else
        e->run(c, h);
    settle(c, h);
    if (c->step % 5 == 0) compare_all(c, h);
    c->sum.took[e - entries] += seconds() - start;
    memory_step(c);
}

void print_operations(const totals *sum) {
    printf("operation          times  ms each\n");
    for (int i = 0; i < OPERATIONS; i++) {
        double ms = sum->times[i] ? 1e3 * sum->took[i] / (double)sum->times[i] : 0;
        printf("%-17s %6llu %8.2f\n", entries[i].name, sum->times[i], ms);
    }
}
