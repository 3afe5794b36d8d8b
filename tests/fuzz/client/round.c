/* A round: a context, a schema, heaps and a program, drawn from its seed; and their end, after
 * which the library has nothing left. */
#include <math.h>
#include <time.h>

#include "client.h"

/* ---- Small things ---------------------------------------------------------------------------- */

void *must_alloc(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    assert_non_null(memory);
    return memory;
}

uint32_t below(client *c, uint32_t n) {
    return test_random(&c->random, n);
}

int chance(client *c, uint32_t percent) {
    return below(c, 100) < percent;
}

uint32_t logarithmic(client *c, double low, double high) {
    return (uint32_t)(low * pow(high / low, below(c, 1u << 20) / 1048576.0) + 0.5);
}

uint32_t draw_salt(client *c) {
    return below(c, UINT32_MAX);
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- A round --------------------------------------------------------------------------------- */

/* CLUMP_PERSONALITY=random: the kernels for CPUs or those for GPUs, drawn for each round. Else the
 * fixture does what the variable says. */
static clump_personality draw_personality(client *c) {
    uint32_t drawn = below(c, 2);
    const char *given = getenv("CLUMP_PERSONALITY");
    if (!given || strcmp(given, "random") != 0) return CLUMP_PERSONALITY_DEVICE;
    return drawn ? CLUMP_PERSONALITY_GPU : CLUMP_PERSONALITY_CPU;
}

/* The context of a round: features that the library must do without, and the kind of queue. */
static cl_fixture_desc draw_context(client *c) {
    static const uint32_t features[] = {CLUMP_FEATURE_INT64_ATOMICS, CLUMP_FEATURE_PTX,
                                        CLUMP_FEATURE_SUBGROUPS, CLUMP_FEATURE_FP64};
    cl_fixture_desc desc = {.out_of_order = chance(c, 20),
                            .cl = &account_cl,
                            .allocator = account_allocator(c->account)};
    for (int i = 0; i < 4; i++)
        if (chance(c, 25)) desc.disable |= features[i];
    desc.personality = draw_personality(c);
    if (chance(c, 50)) desc.share = c->shared; /* with other threads */
    return desc;
}

/* Not every device has queues out of order. */
static int open_device(client *c) {
    cl_fixture_desc desc = draw_context(c);
    int result = cl_fixture_open(&c->on, &desc);
    if (result == CL_FIXTURE_SKIP && desc.out_of_order) {
        desc.out_of_order = 0;
        result = cl_fixture_open(&c->on, &desc);
    }
    const clump_capabilities *can = c->on.capabilities;
    if (!result) c->personality = can->personality;
    if (!result)
        text_append(&c->facts, "%s / %s, %s, %s, %u bits, disabled %x, %s%s", can->platform_name,
                    can->device_name, can->mapping, can->coalescing, can->word_bits, desc.disable,
                    desc.out_of_order ? "out of order" : "in order",
                    desc.share ? ", a shared cl_context" : "");
    return result;
}

static void draw_tuning(client *c) {
    static const uint32_t retries[] = {0, 0, 1, 2, 16};
    c->build.checked = chance(c, 20);
    c->build.tuning.no_coalescing = chance(c, 20);
    c->build.tuning.no_rotation = chance(c, 20);
    c->build.tuning.retries = retries[below(c, 5)];
    c->local = (size_t)64 << below(c, 3);
    if (c->local > c->on.capabilities->work_group_max) c->local = 64;
    c->own_sizes = chance(c, 30);
}

/* Two of the kernels that make objects in places of their own; these take PoCL seconds to
 * compile. */
static void draw_makers(client *c, int *wanted) {
    static const kernel_name makers[] = {KERNEL_each, KERNEL_two, KERNEL_group, KERNEL_loop};
    uint32_t first = below(c, 4), second = (first + 1 + below(c, 3)) % 4;
    for (int k = 0; k < KERNELS; k++) {
        wanted[k] = k < KERNEL_raw_make || c->raw;
        if (k == KERNEL_become) wanted[k] = c->become_count != 0;
        if (k >= KERNEL_array_change) wanted[k] = c->drawn_arrays != 0;
        if (k == KERNEL_array_look) wanted[k] = c->array_count != 0;
    }
    for (uint32_t i = 0; i < 4; i++) wanted[makers[i]] = i == first || i == second;
    for (int k = KERNEL_map_keep; k < KERNEL_vector_keep; k++) wanted[k] = c->parts.map >= 0;
    for (int k = KERNEL_vector_keep; k < KERNEL_grid_keep; k++) wanted[k] = c->parts.vector >= 0;
    for (int k = KERNEL_grid_keep; k < KERNELS; k++) wanted[k] = c->parts.cells >= 0;
}

/* The client's own, or the program's, which gives it to all who ask. */
static void make_kernel(client *c, int k, const char *name) {
    c->kernels[k] = NULL;
    c->is_kept[k] = chance(c, 50);
    if (!c->wanted[k]) return;
    if (!c->is_kept[k]) {
        c->kernels[k] = cl_fixture_kernel(&c->on, c->program, name);
        return;
    }
    c->kernels[k] = clump_program_get_kernel(c->program, name);
    if (!c->kernels[k])
        complain(c, "clump_program_get_kernel: %s", clump_context_get_error(c->on.clump)->message);
    if (clump_program_get_kernel(c->program, name) != c->kernels[k])
        complain(c, "a program has two kernels %s", name);
}

void end_kernels(client *c) {
    for (int k = 0; k < KERNELS; k++)
        if (!c->is_kept[k]) clump_kernel_destroy(c->kernels[k]);
}

void make_program(client *c) {
    static const char *const kernel_names[] = {
#define KERNEL_NAME(name) #name,
        KERNEL_LIST(KERNEL_NAME)
#undef KERNEL_NAME
    };
    c->program = cl_fixture_program(&c->on, c->heaps[0].heap, c->source.at, NULL, &c->build);
    memset(c->given, 0, sizeof c->given);
    for (int k = 0; k < KERNELS; k++) make_kernel(c, k, kernel_names[k]);
    const kernel_name with_out[] = {KERNEL_make,         KERNEL_each,         KERNEL_two,
                                    KERNEL_group,        KERNEL_loop,         KERNEL_look,
                                    KERNEL_crowd,        KERNEL_number,       KERNEL_become,
                                    KERNEL_raw_make,     KERNEL_raw_resize,   KERNEL_raw_look,
                                    KERNEL_array_change, KERNEL_array_append, KERNEL_array_look};
    const kernel_name with_both[] = {KERNEL_become,    KERNEL_look,         KERNEL_raw_resize,
                                     KERNEL_raw_look,  KERNEL_array_change, KERNEL_array_append,
                                     KERNEL_array_look};
    const kernel_name with_list[] = {KERNEL_free_list, KERNEL_link, KERNEL_raw_free,
                                     KERNEL_array_link};
    for (size_t i = 0; i < sizeof with_out / sizeof *with_out; i++)
        give_buffer(c, with_out[i], 0, c->out_buffer);
    for (size_t i = 0; i < sizeof with_both / sizeof *with_both; i++)
        give_buffer(c, with_both[i], 1, c->list_buffer);
    for (size_t i = 0; i < sizeof with_list / sizeof *with_list; i++)
        give_buffer(c, with_list[i], 0, c->list_buffer);
    set_container_args(c);
}

/* A thread's first program is one that nobody has compiled before. A compiler takes much memory
 * when it is first used, and keeps it: that is seen at once then, and not in a later round,
 * whatever the OpenCL implementation kept of programs of earlier runs. */
static void make_new(client *c) {
    if (!c->sum.rounds)
        text_append(&c->source, "void round_%llu_at_%lld_%.0f(void);\n", (ull)c->seed,
                    (long long)time(NULL), seconds() * 1e9);
}

static void make_kernels(client *c) {
    draw_makers(c, c->wanted);
    write_source(c);
    make_new(c);
    c->out = must_alloc(OUT_WORDS * sizeof *c->out);
    c->list = must_alloc(OUT_WORDS * sizeof *c->list);
    c->out_buffer = cl_fixture_buffer(&c->on, c->out, OUT_WORDS * sizeof *c->out);
    c->list_buffer = cl_fixture_buffer(&c->on, c->list, OUT_WORDS * sizeof *c->list);
    make_program(c);
}

/* A few objects or many thousands; most often some dozens of blocks. */
static void draw_size(client *c, heap_model *h) {
    h->bytes = logarithmic(c, 50e3, 500e3);
    h->blocks = logarithmic(c, 3, 100);
    if (c->evicts && h != c->heaps) h->bytes = c->heaps[0].bytes; /* else none has its layout */
}

/* Can a heap run the program that was made for the first one? */
static int same_layout(const client *c, const heap_model *h) {
    const clump_heap_info *a = clump_heap_get_info(c->heaps[0].heap);
    const clump_heap_info *b = clump_heap_get_info(h->heap);
    return a->granule_bytes == b->granule_bytes && a->block_granules == b->block_granules;
}

/* Heaps of other sizes than the first one's, where they have its layout. */
static void make_more_heaps(client *c) {
    uint32_t count = 1 + (chance(c, 40) ? 1 + below(c, HEAPS_MAX - 1) : 0);
    for (c->heap_count = 1; c->heap_count < count; c->heap_count++) {
        heap_model *h = &c->heaps[c->heap_count];
        draw_size(c, h);
        make_heap(c, h);
        if (same_layout(c, h)) continue;
        CHECK_STATUS(&c->on, clump_heap_do_all(h->heap, c->kernels[KERNEL_checksum], NULL),
                     CLUMP_ERR_USAGE);
        clump_heap_destroy(h->heap);
        model_close(h);
        h->bytes = c->heaps[0].bytes;
        h->blocks = 0;
        make_heap(c, h);
    }
}

static void describe(client *c) {
    const clump_heap_info *l = clump_heap_get_info(c->heaps[0].heap);
    const clump_alloc_tuning *t = &c->build.tuning;
    text_append(
        &c->facts,
        "\nblock_rows %u, blocks of %u x %u bytes, groups of %zu, %s, %s"
        "\nraw %d, evicting %d, arrays %u, becomes %u, checks %02x, checked %d, no_coalescing %d, "
        "no_rotation %d, "
        "retries %u\nheaps of",
        c->block_rows, l->block_granules, l->granule_bytes, c->local,
        c->own_sizes ? "sizes of our own" : "do-alls", c->pool ? "a pool" : "no pool", c->raw,
        c->evicts, c->array_count, c->become_count, CLUMP_CHECK_ALL & ~c->checked.without,
        c->build.checked, t->no_coalescing, t->no_rotation, t->retries);
    for (uint32_t i = 0; i < c->heap_count; i++)
        text_append(&c->facts, " %llu", (ull)c->heaps[i].bytes);
    text_append(&c->facts, " bytes\n");
}

int open_round(client *c, uint64_t seed, uint32_t operations) {
    static const uint32_t rows[] = {0, 1, 1, 2, 3, 16};
    const client kept = {.sum = c->sum, .shared = c->shared, .resident = c->resident};
    *c = kept;
    watch_step(c);
    c->seed = seed;
    c->operations = operations;
    c->account = must_alloc(sizeof *c->account);
    account_open(c->account);
    account_use(c->account);
    c->random = seed * UINT64_C(0x2545F4914F6CDD1D);
    c->next_tag = FIRST_TAG;
    text_clear(&c->facts);
    text_clear(&c->log);
    text_clear(&c->schema_text);
    text_clear(&c->source);
    int result = open_device(c);
    if (result) return result;
    begin_work(c);
    c->queues[0] = c->on.queue;
    c->queues[1] = make_queue(c);
    draw_schema(c);
    draw_tuning(c);
    draw_checks(c);
    if (chance(c, 40)) open_pool(c);
    c->block_rows = rows[below(c, 6)];
    c->raw = c->checked.without == CLUMP_CHECK_ALL && chance(c, 25);
    c->evicts =
        seed % EVICTS_EVERY == 1 && c->checked.without == CLUMP_CHECK_ALL && !c->array_count;
    if (c->evicts) c->raw = c->watching = 0;
    draw_size(c, &c->heaps[0]);
    make_heap(c, &c->heaps[0]);
    make_kernels(c);
    make_more_heaps(c);
    describe(c);
    return 0;
}

void close_round(client *c) {
    for (uint32_t i = 0; i < c->heap_count; i++) {
        compare_all(c, &c->heaps[i]);
        bring_back(c, &c->heaps[i]);
        close_outside(c, &c->heaps[i]);
        end_heap(c, &c->heaps[i]);
        model_close(&c->heaps[i]);
    }
    end_kernels(c);
    clump_program_destroy(c->program);
    c->on.queue = c->queues[0]; /* which the fixture releases */
    close_pool(c);
    clump_schema_destroy(c->schema);
    clReleaseMemObject(c->out_buffer);
    clReleaseMemObject(c->list_buffer);
    free(c->out);
    free(c->list);
    cl_fixture_close(&c->on);
    clReleaseCommandQueue(c->queues[1]);
    memory_end(c);
    begin_work(NULL);
    account_use(NULL);
    account_close(c->account);
    free(c->account);
    free(c->facts.at);
    free(c->log.at);
    free(c->schema_text.at);
    free(c->source.at);
}
