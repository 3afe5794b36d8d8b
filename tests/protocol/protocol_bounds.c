/* Loops of the protocol that are repeated because somebody else was quicker, each driven to its
 * bound: between two of its operations somebody undoes what it relies on, every time. No schedule
 * of work-items that keep to the protocol could do that for so long. The loop must end after as
 * many turns as the bound says, and report it where it promises to; what it held must be given
 * back.
 *
 * Read first: cl/core/prelude.clh, hosted.h, tiny_heap.h; docs/internals/loops.md has all loops.
 */
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS_MANY 2000u
#define TINY_GRANULES (1u + BLOCKS_MANY)
#define TINY_IMAGE_BYTES 262144u
#include "tests/protocol/tiny_heap.h"

static uint failures;

static inline uint hosted_thread(void) {
    return 7;
}

/* ---- Who is in the way ----------------------------------------------------------------------- */

/* Called before each operation, and told what it is. */
typedef void adversary(enum hosted_kind kind, void *cell, hosted_site site);
static adversary *in_the_way;
static ulong turns, operations;

#define OPERATIONS_MOST 20000000ul
static int is_in(hosted_site site, const char *function) {
    return strcmp(site.function, function) == 0;
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    if (++operations > OPERATIONS_MOST) {
        printf("FAILED: %s does not end\n", site.function);
        exit(1);
    }
    if (in_the_way) in_the_way(kind, cell, site);
    uint *word = cell, old = cell ? *word : 0;
    ulong *word64 = cell, old64 = 0;
    switch (kind) {
    case HOSTED_LOAD:
    case HOSTED_LOAD_CACHED: return old;
    case HOSTED_STORE: *word = (uint)value; return old;
    case HOSTED_ADD: *word += (uint)value; return old;
    case HOSTED_SUB: *word -= (uint)value; return old;
    case HOSTED_OR: *word |= (uint)value; return old;
    case HOSTED_AND: *word &= (uint)value; return old;
    case HOSTED_CAS:
        if (old == (uint)expected) *word = (uint)value;
        return old;
    case HOSTED_FENCE:
    case HOSTED_FENCE_ACQ_REL: return 0;
    default: break;
    }
    old64 = *word64;
    if (kind == HOSTED_ADD64) *word64 += value;
    if (kind == HOSTED_CAS64 && old64 == expected) *word64 = value;
    if (kind == HOSTED_BITS_CLAIM) *word64 |= value;
    if (kind == HOSTED_BITS_RELEASE) *word64 &= ~value;
    return old64;
}

#include "cl/core/runs.clh" /* over the above */

static tiny_heap heap;

/* ---- Checks ---------------------------------------------------------------------------------- */

#define EXPECT(condition, ...)                                                                     \
    if (!(condition)) {                                                                            \
        printf("FAILED: ");                                                                        \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        failures++;                                                                                \
    }

static uint bound_reports(void) {
    return tiny_view(&heap).header->errors[CLUMPI_ERROR_RETRY_BOUND].count;
}

/* The loop took as many turns as its bound says, and reported it so often. */
static void expect_bound(const char *loop, ulong bound, uint reports) {
    printf("%s: %lu turns, %lu operations\n", loop, turns, operations);
    EXPECT(turns == bound, "%s: %lu turns, its bound is %lu", loop, turns, bound);
    EXPECT(bound_reports() == reports, "%s: %u reports, expected %u", loop, bound_reports(),
           reports);
    in_the_way = 0;
}

static const tiny_spec two_blocks = {.name = "two blocks of two slots",
                                     .first_block = 1,
                                     .blocks = 2,
                                     .block_granules = 2,
                                     .per_row = 1,
                                     .class_count = 2,
                                     .stripes = 1,
                                     .classes = {{1, 2}, {1, 2}},
                                     .filled = {{0, 1, 1}, {1, 2, 2}},
                                     .filled_count = 2};

static void begin(const tiny_spec *spec, adversary *who) {
    EXPECT(tiny_make(&heap, spec), "%s does not fit", spec->name);
    turns = operations = 0;
    in_the_way = who;
}

static uint *state_of(uint block) {
    return &tiny_view(&heap).states[block];
}

/* ---- CLUMPI_AGREE_MAX: a hint whose truth changes each time it was written ------------------- */

static void change_truth(enum hosted_kind kind, void *cell, hosted_site site) {
    (void)cell;
    if (kind != HOSTED_FENCE || !is_in(site, "clumpi_hint_agree_level")) return;
    turns++;
    *state_of(1) = *state_of(1) ? 0u : 1u << CLUMPI_CLASS_SHIFT | 1u;
}

static void hints(void) {
    begin(&two_blocks, change_truth);
    clumpi_hint_agree(tiny_home(&heap), 0, 0, 1);
    expect_bound("hint of a block", CLUMPI_AGREE_MAX, 1);
}

/* ---- CLUMPI_CLAIM_SWEEPS: the slot that was seen is taken by another, and freed again -------- */

static ulong *stolen, stolen_bits;

static void steal_slot(enum hosted_kind kind, void *cell, hosted_site site) {
    if (!is_in(site, "clumpi_look") && !is_in(site, "clumpi_claim")) return;
    if (stolen && kind == HOSTED_BITS_LOAD) { /* the thief frees it before anybody looks again */
        *stolen &= ~stolen_bits;
        stolen = 0;
    }
    if (kind != HOSTED_BITS_CLAIM) return;
    turns++;
    stolen = cell;
    stolen_bits = ~*stolen;
    *stolen = ~0ul;
}

/* Each turn looks at up to CLUMPI_LOOK words of the block, all of which have room here. */
static void claim(void) {
    begin(&two_blocks, steal_slot);
    *state_of(1) += 1u; /* the caller's credit */
    uint ref = clumpi_claim(tiny_home(&heap), 1, 1, 0);
    EXPECT(ref == 0, "a claim that found nothing returns %08x", ref);
    expect_bound("claim of a slot", CLUMPI_CLAIM_SWEEPS * 2u, 1);
    EXPECT(*state_of(1) == (1u << CLUMPI_CLASS_SHIFT | 1u),
           "the credit was not given back: state %08x", *state_of(1));
}

/* ---- CLUMPI_AGREE_MAX: a free block whose word others pass ----------------------------------- */

static void pass_by(enum hosted_kind kind, void *cell, hosted_site site) {
    if (kind != HOSTED_CAS || !is_in(site, "clumpi_block_open")) return;
    turns++;
    *(uint *)cell ^= 1u; /* late comers add a credit and give it back */
}

static void open_block(void) {
    begin(&two_blocks, pass_by);
    *state_of(1) = 0;
    EXPECT(!clumpi_block_open(tiny_home(&heap), 1, 2), "a block was opened though each try failed");
    expect_bound("opening a block", CLUMPI_AGREE_MAX, 0);
}

/* ---- CLUMPI_SWEEPS: room that is seen, and gone when it is asked for ------------------------- */

static void show_room(enum hosted_kind kind, void *cell, hosted_site site) {
    const int is_asked = kind == HOSTED_ADD && is_in(site, "clumpi_block_reserve");
    if (kind != HOSTED_LOAD && !is_asked) return;
    if (is_in(site, "clumpi_sweep") && cell == &tiny_view(&heap).header->epoch) turns++;
    if (cell != state_of(1)) return;
    *state_of(1) = 1u << CLUMPI_CLASS_SHIFT | (is_asked ? 2u : 1u);
}

static void sweep(void) {
    begin(&two_blocks, show_room);
    uint exhausted = tiny_view(&heap).classes[1].exhausted;
    EXPECT(!clumpi_sweep(tiny_home(&heap), 1, 0), "a sweep had what others had taken");
    expect_bound("sweeps", CLUMPI_SWEEPS, 0);
    EXPECT(tiny_view(&heap).classes[1].exhausted == exhausted,
           "a sweep that saw room says that there is none");
}

/* ---- CLUMP_RETRIES: hints that name a full block --------------------------------------------- */

static void lead_astray(enum hosted_kind kind, void *cell, hosted_site site) {
    if (kind != HOSTED_LOAD) return;
    if (is_in(site, "clumpi_reserve") && cell == &tiny_view(&heap).classes[2].exhausted) turns++;
    if (!is_in(site, "clumpi_hint_find")) return;
    clumpi_view v = tiny_view(&heap);
    tiny_hints(&heap, 2)[v.header->hint_level[0]] = 1u << 2; /* block 2, which is full */
}

static void retries(void) {
    tiny_spec full = two_blocks;
    full.filled[0].live = 2;
    for (hosted_retries = 1; hosted_retries <= 32; hosted_retries *= 2) {
        begin(&full, lead_astray);
        EXPECT(!clumpi_reserve(tiny_home(&heap), 2, 0), "a full heap gave a slot");
        expect_bound("looking by hints", hosted_retries, 0);
        EXPECT(tiny_view(&heap).classes[2].exhausted == tiny_view(&heap).header->epoch,
               "a sweep of a full heap does not say so");
    }
}

/* ---- Reservations ---------------------------------------------------------------------------- */

/* Slots of block 1 are reserved for class 1, in two stripes. */
static const tiny_spec reserved = {.name = "reserved slots",
                                   .first_block = 1,
                                   .blocks = 2,
                                   .block_granules = 2,
                                   .per_row = 2,
                                   .class_count = 2,
                                   .stripes = 2,
                                   .classes = {{1, 2}, {1, 2}},
                                   .filled = {{1, 2, 4}},
                                   .filled_count = 1,
                                   .reserved = {{0, 0, 1, 2, 0}, {1, 0, 1, 2, 1}},
                                   .reserved_count = 2};
static uint of_stripe;

/* The stripe looks as if it had something left, and has not when it is asked. */
static void empty_stripes(enum hosted_kind kind, void *cell, hosted_site site) {
    clumpi_stripe *s = cell;
    if (is_in(site, "clumpi_stripe_left") && kind == HOSTED_LOAD64) {
        if (of_stripe) s->next = s->limit - 1u;
    } else if (is_in(site, "clumpi_take_any") && kind == HOSTED_ADD64) {
        turns++;
        s->next = s->limit;
    }
}

static void take_any(void) {
    begin(&reserved, empty_stripes);
    of_stripe = 1;
    clumpi_positions p = clumpi_take_any(tiny_home(&heap), 1, 0);
    EXPECT(!p.count, "a position of an empty stripe");
    expect_bound("stripes", tiny_view(&heap).classes[1].reserved.stripes + 1u, 0);
}

/* Who settles a block sees its state change before each compare and swap. */
static void change_state(enum hosted_kind kind, void *cell, hosted_site site) {
    if (kind != HOSTED_CAS || !is_in(site, "clumpi_block_settle_striped")) return;
    turns++;
    *(uint *)cell ^= 1u;
}

static void settle(void) {
    begin(&reserved, change_state);
    clumpi_take_back(tiny_home(&heap), 2, 0, 1);
    for (uint s = 0; s < 2; s++)
        EXPECT(tiny_stripes(&heap, 1)[s].limit == tiny_stripes(&heap, 1)[s].next,
               "stripe %u has something left", s);
    uint left, state = clumpi_block_settle_striped(tiny_home(&heap), 1, *state_of(1), &left);
    EXPECT(state & CLUMPI_STRIPED && left, "a block was settled though each try failed");
    expect_bound("settling a block", CLUMPI_AGREE_MAX, 0);
}

/* ---- CLUMPI_TAKE_TRIES: a stripe that hands out a position each time its limit is lowered ---- */

static void hand_out(enum hosted_kind kind, void *cell, hosted_site site) {
    if (kind != HOSTED_CAS64 || !is_in(site, "clumpi_stripe_lower")) return;
    turns++;
    *(ulong *)cell += 1ul << 32;
}

static void take(void) {
    begin(&reserved, hand_out);
    clumpi_stripe *stripe = tiny_stripes(&heap, 1);
    uint limit = stripe->limit = stripe->next + 64; /* more than it hands out meanwhile */
    clumpi_stripe_lower(stripe, 0);
    EXPECT(stripe->limit == limit, "the limit is %u, expected %u", stripe->limit, limit);
    expect_bound("lowering a limit", CLUMPI_TAKE_TRIES, 0);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Block 2 is full of objects, block 1 is free. */
static const tiny_spec runs = {.name = "runs",
                               .first_block = 1,
                               .blocks = 2,
                               .block_granules = 1,
                               .per_row = 64,
                               .class_count = 2,
                               .classes = {{1, 1}, {1, 1}},
                               .filled = {{1, 1, 64}},
                               .filled_count = 1,
                               .runs = 1};

static void pass_by_a_run(enum hosted_kind kind, void *cell, hosted_site site) {
    if (kind != HOSTED_CAS || !is_in(site, "clumpi_run_credits")) return;
    turns++;
    *(uint *)cell ^= 1u; /* late comers add a credit and give it back */
}

static void run_credits(void) {
    begin(&runs, pass_by_a_run);
    EXPECT(!clumpi_run_credits(tiny_home(&heap), 2, 1, 5, 1),
           "a run has credits though each try failed");
    expect_bound("credits of a run", CLUMPI_AGREE_MAX, 0);
}

/* The row is clear when it is looked at, and full when bits are set. */
static void change_row(enum hosted_kind kind, void *cell, hosted_site site) {
    if (cell != tiny_bits(&heap, 1)) return;
    uint is_claimed = kind == HOSTED_BITS_CLAIM && is_in(site, "clumpi_run_take");
    turns += is_claimed;
    *(ulong *)cell = is_claimed ? ~0ul : 0ul;
}

static void run_bits(void) {
    uint unsure = 0;
    begin(&runs, change_row);
    EXPECT(!clumpi_run_in_block(tiny_home(&heap), 2, 1, 5, 0, &unsure),
           "a run has bits though each try failed");
    expect_bound("bits of a run", CLUMPI_RUN_TRIES, 0);
    EXPECT(unsure, "a row that others changed counts as full");
    EXPECT(*state_of(1) == 0, "the credits were not given back: state %08x", *state_of(1));
}

/* A free block is seen, and full of objects when it is asked for. */
static void show_block(enum hosted_kind kind, void *cell, hosted_site site) {
    if (kind != HOSTED_LOAD || cell != state_of(1)) return;
    uint is_seen = is_in(site, "clumpi_run_sight");
    turns += is_seen;
    *state_of(1) = is_seen || is_in(site, "clumpi_not_full") ? 0u : 1u << CLUMPI_CLASS_SHIFT | 64u;
}

static void run_sweeps(void) {
    begin(&runs, show_block);
    EXPECT(!clumpi_run_of_row(tiny_home(&heap), 2, 5, 0), "a run in a block that others had taken");
    expect_bound("sweeps for a run", CLUMPI_SWEEPS, 0);
    begin(&runs, show_block);
    *state_of(2) = 0; /* a run of both; the first pass is by hints, and looks at no state */
    EXPECT(!clumpi_run_of_blocks(tiny_home(&heap), 2, 100, 0),
           "a run of blocks that others had taken");
    expect_bound("sweeps for a run of blocks", CLUMPI_SWEEPS, 0);
    EXPECT(*state_of(2) == 0, "a block was not given back: state %08x", *state_of(2));
}

/* The only block with room is closed for as many slots: who gave back the others was stopped before
 * he opened it. */
static void run_in_closed_block(void) {
    begin(&runs, 0);
    clumpi_home h = tiny_home(&heap);
    *state_of(1) = 2u << CLUMPI_CLASS_SHIFT | 1u;
    *tiny_bits(&heap, 1) = 1;
    clumpi_hint_agree(h, 0, 0, 1);
    clumpi_hint_agree(h, 2, 0, 1);
    *clumpi_run_closed(h, 2, 0, 5) = *clumpi_run_closed_any(h, 2, 0) = 1u << 1;
    EXPECT(clumpi_run_of_row(h, 2, 5, 0), "null, though a block that is closed has room");
    EXPECT(!clumpi_run_of_row(h, 2, 60, 0) && *clumpi_run_vain(h, 1, 60) == 1,
           "a sweep in vain leaves no note");
    EXPECT(clumpi_run_of_row(h, 2, 50, 0), "null for 50 slots, since there are no 60");
}

/* A run of two blocks, both of which are reserved for objects, takes them back at once: half of
 * them would be noted in header.taken. */
static void run_of_reserved_blocks(void) {
    static const tiny_spec others = {.name = "runs, and reserved blocks",
                                     .first_block = 1,
                                     .blocks = 2,
                                     .block_granules = 1,
                                     .per_row = 64,
                                     .class_count = 2,
                                     .stripes = 1,
                                     .classes = {{1, 1}, {1, 1}},
                                     .reserved = {{0, 0, 1, 64, 1}, {0, 1, 1, 64, 1}},
                                     .reserved_count = 2,
                                     .runs = 1};
    begin(&others, 0);
    EXPECT(clumpi_run_of_blocks(tiny_home(&heap), 2, 128, 0), "null, though blocks are reserved");
    EXPECT(tiny_view(&heap).header->taken == 0, "half of what is reserved was taken back first");
}

/* Operations for each request, while requests for as many slots fill a heap from the same place,
 * and get null once more. is_hinted: hints say that blocks are free; else each needs a sweep. */
static ulong run_cost(uint blocks, uint count, uint is_hinted) {
    const tiny_spec many = {.name = "many blocks",
                            .first_block = 1,
                            .blocks = blocks,
                            .block_granules = 1,
                            .per_row = 64,
                            .class_count = 2,
                            .classes = {{1, 1}, {1, 1}},
                            .runs = 1};
    uint got = 0;
    begin(&many, 0);
    if (!is_hinted) memset(tiny_hints(&heap, 0), 0, blocks / 32u * 4u);
    while (clumpi_run_of_row(tiny_home(&heap), 2, count, 0)) got++;
    EXPECT(got == 64 / count * blocks, "%u runs of %u slots in %u blocks", got, count, blocks);
    EXPECT(!clumpi_run_of_row(tiny_home(&heap), 2, count, 0), "room after null");
    return operations / got;
}

/* A length that divides no row costs as much as one that does: what is left in each block is not
 * looked at again. A request in a large heap costs as much as in a small one: a search goes on where
 * room was last found. */
static void run_costs(void) {
    ulong least = OPERATIONS_MOST, most = 0;
    for (uint count = 1; count <= 64; count++) {
        uint divides = 1;
        while (divides < count) divides *= 2;
        ulong cost = run_cost(100, count, 1), of_divides = run_cost(100, divides, 1),
              of_large = run_cost(BLOCKS_MANY, count, 1);
        EXPECT(of_large <= cost + cost / 4,
               "a run of %u slots takes %lu operations, and %lu in a large heap", count, cost,
               of_large);
        EXPECT(cost <= 3 * of_divides, "a run of %u slots takes %lu operations, one of %u %lu",
               count, cost, divides, of_divides);
        least = min(least, cost);
        most = max(most, cost);
    }
    ulong of_sweeps = run_cost(BLOCKS_MANY, 64, 0);
    EXPECT(of_sweeps <= BLOCKS_MANY / 4, "a run without hints takes %lu operations", of_sweeps);
    printf("runs of all lengths: %lu to %lu operations\n", least, most);
}

/* Marks that say nowhere where a run ends. */
static void run_without_end(void) {
    begin(&runs, 0);
    *state_of(1) = *state_of(2) = 2u << CLUMPI_CLASS_SHIFT | 64u;
    EXPECT(!clumpi_run_last(tiny_home(&heap), 2, 1u << 6), "a run without an end has a last slot");
    EXPECT(bound_reports() == 1, "marks that were overwritten are not reported");
}

int main(void) {
    hosted_rotate = 0;
    hints();
    claim();
    open_block();
    sweep();
    retries();
    take_any();
    settle();
    take();
    run_credits();
    run_bits();
    run_sweeps();
    run_in_closed_block();
    run_of_reserved_blocks();
    run_costs();
    run_without_end();
    return failures != 0;
}
