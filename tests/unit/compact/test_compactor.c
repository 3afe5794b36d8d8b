/* The rule of automatic compaction against simulated programs: what it costs, what it gains.
 *
 * A simulated program makes steps; each lets the freeable share of its blocks grow. Its step time
 * depends on that share, and on how long ago the last compaction was. Looks and runs take time of
 * the same clock. Compared is the time of all steps with and without the rule.
 *
 * Read first: host/compact/compactor.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "cl_fixture.h"
#include "compact/compactor.h"

#define HEAP_BLOCKS 10000u

typedef struct program {
    /* What it is. */
    double step;   /* seconds of a step without fragmentation */
    double slower; /* by this share per freeable share of the blocks */
    double growth; /* of the freeable share in a step, up to `most` */
    double most;
    double harm;       /* steps are slower by this share after a run, */
    double harm_steps; /* which fades with this many steps */
    double noise;      /* random share of each step's time */
    double look, run,
        run_first; /* seconds; run_first: of the first run, of which only `run` is told,
                                    0: as the others */
    double guess;
    double yield;    /* blocks that a run frees, of those that could be; 0: all */
    uint32_t blocks; /* without fragmentation */
    uint32_t steps;
    double limit;
    double turn; /* up to this share of the steps only `slower` holds, then only `harm`; negative:
                    first `harm`, then `slower`; 0: both all the time */

    /* What happened. */
    double clock, steps_time, looks_time, runs_time, runs_after_first;
    uint32_t looks, runs, steps_since_run;
    double share; /* freeable blocks per block in use */
    double harm_now;
    uint32_t free_least;
    uint32_t run_steps[64]; /* when the first runs were */
    int over_budget;
} program;

static double one_step(program *p, uint64_t *random, uint32_t i) {
    int first = i < fabs(p->turn) * p->steps;
    int harmed = p->turn == 0 || first == (p->turn < 0), slowed = p->turn == 0 || !harmed;
    double slower = slowed ? p->slower * p->share : 0;
    double time = p->step * (1 + slower + (harmed ? p->harm_now : 0));
    time *= 1 + p->noise * (2.0 * test_random(random, 1000001) / 1e6 - 1);
    p->share = fmin(p->most, p->share + p->growth);
    p->harm_now *= p->harm_steps > 0 ? exp(-1 / p->harm_steps) : 0;
    return time;
}

/* Blocks in use, if a share of them could be freed. */
static uint32_t blocks_in_use(const program *p) {
    double blocks = p->blocks / (1 - p->share);
    return blocks < HEAP_BLOCKS ? (uint32_t)blocks : HEAP_BLOCKS;
}

static void look_and_run(program *p, clumpi_rule *rule) {
    clumpi_look look = {.begin = p->clock, .heap_blocks = HEAP_BLOCKS, .blocks = blocks_in_use(p)};
    look.freeable = look.blocks - p->blocks;
    look.run_guess = p->guess;
    look.free_blocks = HEAP_BLOCKS - look.blocks;
    p->clock += p->look;
    look.end = p->clock;
    p->looks++;
    p->looks_time += p->look;
    if (!clumpi_rule_looked(rule, &look)) return;
    double cost = p->runs == 0 && p->run_first > 0 ? p->run_first : p->run;
    uint32_t freed = (uint32_t)(look.freeable * (p->yield > 0 ? p->yield : 1));
    p->clock += cost;
    if (p->runs < 64) p->run_steps[p->runs] = (uint32_t)(p->clock / p->step);
    if (p->runs++) p->runs_after_first += cost;
    p->runs_time += cost;
    p->share = (look.freeable - freed) / (double)(look.blocks - freed);
    p->harm_now = p->harm;
    clumpi_rule_ran(rule, &(clumpi_ran){.end = p->clock, .cost = p->run, .freed = freed});
}

static void simulate(program *p, int with_rule) {
    clumpi_rule rule;
    uint64_t random = 7;
    clumpi_rule_init(&rule, p->limit);
    p->clock = 1e9; /* as clocks do, it counts from some year */
    p->steps_time = p->looks_time = p->runs_time = p->runs_after_first = 0;
    p->looks = p->runs = 0;
    p->share = p->harm_now = 0;
    p->free_least = HEAP_BLOCKS;
    p->over_budget = 0;
    double start = p->clock;
    for (uint32_t i = 0; i < p->steps; i++) {
        double time = one_step(p, &random, i);
        p->clock += time;
        p->steps_time += time;
        uint32_t free_blocks = HEAP_BLOCKS - blocks_in_use(p);
        if (free_blocks < p->free_least) p->free_least = free_blocks;
        if (!with_rule || !clumpi_rule_ticked(&rule, p->clock)) continue;
        look_and_run(p, &rule);
        /* The first look and the first run may exceed the limit, nothing else. */
        double spent = p->looks_time + p->runs_after_first - p->look;
        if (spent > p->limit * (p->clock - start) * (1 + 1e-9)) p->over_budget = 1;
    }
}

/* Total time with the rule, as a share of that without. */
static double compare(program *p, const char *name) {
    simulate(p, 0);
    double without = p->steps_time;
    simulate(p, 1);
    double with = p->steps_time + p->looks_time + p->runs_time;
    print_message("%-28s %u looks, %u runs: spent %.3f%%, steps %+.2f%%, in all %+.2f%%\n", name,
                  p->looks, p->runs, 100 * (p->looks_time + p->runs_time) / with,
                  100 * (p->steps_time / without - 1), 100 * (with / without - 1));
    assert_false(p->over_budget);
    return with / without;
}

/* Steps of 1 ms, looks of 0.1 ms, runs of 10 ms. */
static program usual(void) {
    return (program){.step = 1e-3,
                     .growth = 1e-4,
                     .most = 0.5,
                     .noise = 0.02,
                     .look = 1e-4,
                     .run = 1e-2,
                     .blocks = 2000,
                     .steps = 100000,
                     .limit = 0.01};
}

static void finds_the_gain(void **state) {
    (void)state;
    program p = usual();
    p.slower = 1;
    double r = compare(&p, "slower with fragmentation");
    assert_true(r < 0.8); /* without: 1.47 of a step, at the best about 1.07 and the limit */
    assert_true(p.runs > 20);
    p.slower = 0.1;
    r = compare(&p, "slightly slower");
    assert_true(r < 0.99);
    p.slower = 1;
    p.noise = 0.3;
    r = compare(&p, "with much noise");
    assert_true(r < 0.85);
    p = usual();
    p.slower = 1;
    p.limit = 0.2;
    r = compare(&p, "with a generous limit");
    assert_true(r < 0.77);
    p = usual();
    p.slower = 1;
    p.step = 1e-5;
    p.look = 5e-5;
    p.run = 1e-3;
    p.growth = 1e-5;
    p.steps = 2000000;
    r = compare(&p, "short steps");
    assert_true(r < 0.9);
    p = usual();
    p.slower = 1;
    p.step = 0.3; /* a run is nothing, compared with a step */
    p.growth = 1e-3;
    p.steps = 5000;
    r = compare(&p, "long steps");
    assert_true(r < 0.72);
    p = usual();
    p.slower = 1;
    p.look = p.run = 5e-3; /* so that each look leads to a run */
    p.growth = 1e-3;
    p.limit = 0.1;
    r = compare(&p, "looks as dear as runs");
    assert_true(r < 0.885);
    p = usual();
    p.slower = 1;
    p.run_first = 3; /* with compilation */
    r = compare(&p, "slow first run");
    assert_true(r < 0.9);
    p = usual();
    p.slower = 1;
    p.yield = 0.3; /* a step, or a strategy that leaves much */
    p.limit = 0.05;
    r = compare(&p, "runs free a third");
    assert_true(r < 0.9);
}

/* The best interval is known where the limit does not bind: sqrt(2 cost / (gain growth)). */
static void finds_the_interval(void **state) {
    (void)state;
    program p = usual();
    p.slower = 1;
    p.limit = 0.5;
    p.noise = 0.005;
    compare(&p, "without a binding limit");
    double best = sqrt(2 * p.run / (p.slower * p.growth * p.step)),
           found = p.steps / (double)p.runs;
    print_message("an interval of %.0f steps, best %.0f\n", found, best);
    assert_true(found > best / 2 && found < best * 2);
}

static void backs_off(void **state) {
    (void)state;
    program p = usual();
    p.harm = 0.08;
    p.harm_steps = 500;
    double r = compare(&p, "runs do harm");
    assert_true(r < 1.02);
    assert_true(p.runs >= 2 && p.runs < 20); /* it tries again, ever more rarely */
    for (uint32_t i = 2; i < p.runs; i++)
        assert_true(p.run_steps[i] - p.run_steps[i - 1] >
                    1.5 * (p.run_steps[i - 1] - p.run_steps[i - 2]));
    p.noise = 0.2;
    r = compare(&p, "harm, with noise");
    assert_true(r < 1.02);
    p.noise = 0.02;
    p.slower = 0.02;
    r = compare(&p, "harm is more than the gain");
    assert_true(r < 1.02);
    p = usual();
    r = compare(&p, "runs change nothing");
    assert_true(r < 1.02);
    p.yield = 1e-9;
    r = compare(&p, "runs free nothing");
    assert_true(r < 1.02);
    assert_true(p.runs < 20);
    p = usual();
    p.harm = 0.05;
    p.harm_steps = 300;
    p.limit = 1; /* no limit: it is the rule itself that refrains */
    r = compare(&p, "harm, without a limit");
    assert_true(r < 1.03);
}

static void changes_its_mind(void **state) {
    (void)state;
    program p = usual();
    p.slower = 1;
    p.harm = 0.08;
    p.harm_steps = 500;
    p.turn = 0.5;
    p.steps = 200000;
    simulate(&p, 1);
    uint32_t all = p.runs;
    p.turn = 1;
    simulate(&p, 1);
    print_message("%u runs, if they go on paying %u\n", all, p.runs);
    assert_true(all < p.runs * 3 / 4);
    p.turn = -0.1; /* a run in vain is no reason to do without for ever */
    double r = compare(&p, "harm first, then gain");
    assert_true(r < 0.85);
}

static void leaves_alone(void **state) {
    (void)state;
    program p = usual();
    p.growth = 0;
    double r = compare(&p, "never fragments");
    assert_true(r < 1.02 && p.runs == 0);
    p.look = 1; /* as long as a thousand steps */
    r = compare(&p, "expensive looks");
    assert_true(r < 1.02 && p.runs == 0);
    p = usual();
    p.slower = 1;
    p.run = 500; /* more than it could ever bring */
    compare(&p, "expensive runs");
    assert_true(p.runs <= 1); /* the first is the only way to find out, if nothing warns of it */
    p.guess = 50;
    r = compare(&p, "expensive runs, as guessed");
    assert_true(r < 1.02 && p.runs == 0);
}

static void short_of_memory(void **state) {
    (void)state;
    program p = usual();
    p.blocks = 6000;
    p.harm = 0.01; /* so that it is not for the gain */
    p.harm_steps = 500;
    p.growth = 1e-4;
    p.noise = 0.001;
    simulate(&p, 0);
    assert_int_equal(p.free_least, 0);
    compare(&p, "short of memory");
    print_message("%u blocks free at the least\n", p.free_least);
    assert_true(p.free_least > 200);
    /* Where nothing can be freed, nothing is tried. */
    p.blocks = 9500;
    p.growth = 1e-7;
    p.most = 0.01;
    compare(&p, "nothing to free");
    assert_true(p.runs < 12);
}

/* A clock that is set back, and looks that see nonsense, do not lead to anything endless. */
static void bad_numbers(void **state) {
    (void)state;
    clumpi_rule rule;
    clumpi_rule_init(&rule, 0.01);
    assert_true(clumpi_rule_ticked(&rule, 100));
    clumpi_look look = {.begin = 100, .end = 99, .heap_blocks = 10, .blocks = 5, .freeable = 5};
    assert_false(clumpi_rule_looked(&rule, &look));
    int runs = 0;
    for (int i = 0; i < 1000; i++) {
        if (!clumpi_rule_ticked(&rule, 50 - i)) continue;
        look.begin = 50 - i;
        look.end = look.begin;
        if (!clumpi_rule_looked(&rule, &look)) continue;
        runs++;
        clumpi_rule_ran(&rule, &(clumpi_ran){.end = look.end - 5, .cost = -5, .freed = 7});
    }
    assert_int_equal(runs, 0);
}

/* A look at `at` that takes no time and sees 400 blocks, so many of them freeable. */
static clumpi_look look_at(double at, uint32_t freeable) {
    return (clumpi_look){.begin = at,
                         .end = at,
                         .heap_blocks = HEAP_BLOCKS,
                         .free_blocks = HEAP_BLOCKS - 400,
                         .blocks = 400,
                         .freeable = freeable};
}

/* What a run costs and frees is expected to be as the last two were; the first may have cost more,
 * so the second stands for itself, and from the third on they are averaged. */
static void learns_from_runs(void **state) {
    static const double costs[] = {5, 1, 3}, expected[] = {5, 1, 1.5};
    static const double yields[] = {0.5, 0.75, 0.875};
    clumpi_rule rule;
    clumpi_rule_init(&rule, 0.5);
    clumpi_look look = look_at(0, 0);
    assert_int_equal(clumpi_rule_looked(&rule, &look), 0);
    for (int i = 0; i < 3; i++) {
        look = look_at(100 * (i + 1), 100);
        clumpi_rule_looked(&rule, &look);
        uint32_t freed = i ? 100 : 50;
        clumpi_rule_ran(&rule,
                        &(clumpi_ran){.end = look.end + 9, .cost = costs[i], .freed = freed});
        assert_true(rule.run_cost == expected[i]);
        assert_true(rule.yield == yields[i]);
    }
    assert_int_equal(rule.runs, 3);
    assert_true(rule.run_spent == 9);
}

/* An effect is looked for from an eighth of a per cent of freeable blocks less on, that
 * included. */
static void least_effect(void **state) {
    for (uint32_t before = 0; before <= 2; before++) {
        clumpi_rule rule;
        clumpi_rule_init(&rule, 0.5);
        clumpi_look look = look_at(0, 0);
        clumpi_rule_looked(&rule, &look);
        for (int i = 0; i < 10; i++) clumpi_rule_ticked(&rule, 10 * (i + 1));
        look = look_at(100, before); /* mean freeable share: before / 800 */
        clumpi_rule_looked(&rule, &look);
        clumpi_rule_ran(&rule, &(clumpi_ran){.end = 101, .cost = 1, .freed = before});
        rule.pending = 1; /* also where nothing was freed */
        double gain_dd = rule.gain_dd;
        for (int i = 0; i < 10; i++) clumpi_rule_ticked(&rule, 101 + 10 * (i + 1));
        look = look_at(201, 0);
        clumpi_rule_looked(&rule, &look);
        assert_int_equal(rule.pending, 0);
        assert_int_equal(rule.gain_dd != gain_dd, before >= 1);
    }
}

/* When it tries anew after runs in vain, it takes a run to free all that could be freed, not more:
 * of less than half a per cent nothing is expected. */
static void tries_anew(void **state) {
    for (uint32_t freeable = 1; freeable <= 3; freeable++) {
        clumpi_rule rule;
        clumpi_rule_init(&rule, 0.5);
        clumpi_look look = look_at(0, 0);
        clumpi_rule_looked(&rule, &look);
        rule.runs = 1;
        rule.run_cost = 1e-6;
        rule.yield = 0;
        rule.holding = 1;
        rule.hold_end = 50;
        look = look_at(100, freeable);
        assert_int_equal(clumpi_rule_looked(&rule, &look), freeable >= 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_gain),   cmocka_unit_test(finds_the_interval),
        cmocka_unit_test(backs_off),        cmocka_unit_test(changes_its_mind),
        cmocka_unit_test(leaves_alone),     cmocka_unit_test(short_of_memory),
        cmocka_unit_test(learns_from_runs), cmocka_unit_test(least_effect),
        cmocka_unit_test(bad_numbers),      cmocka_unit_test(tries_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
