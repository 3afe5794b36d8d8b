/* The rule of the trigger `automatic`. Everything here is arithmetic on what was measured.
 *
 * Read first: compactor.h; docs/internals/compact.md, "The automatic rule".
 */
#include "compact/compactor.h"

#include <math.h>
#include <string.h>

/* How the limit is dealt out. Looks keep back half of their part for the one after a run. */
#define RUN_SHARE 0.75
#define LOOK_SHARE 0.25
#define LOOK_SHARE_USUAL 0.125

#define TICKS_MIN 8u       /* of a window, for a mean that means something */
#define PROBE_LOOKS 20.0   /* what the first run is taken to cost at least, in looks */
#define GAIN_FIRST 1.0     /* optimistic: a step takes as long as it has blocks */
#define GAIN_FIRST_DD 1e-4 /* and how firmly that is believed, as the square of a share */
#define SHARE_LEAST 0.005  /* freeable share of which an effect is looked for */
#define FREE_SHORT 0.1     /* free share of a heap that is short of memory */
#define FREED_ENOUGH 0.05  /* share of the heap's blocks that a run for memory must bring */
#define HOLD_FACTOR 2.0    /* after a run in vain, times the interval before it */

void clumpi_rule_init(clumpi_rule *r, double limit) {
    memset(r, 0, sizeof *r);
    r->limit = limit;
    r->gain_dd = GAIN_FIRST_DD;
    r->gain_sd = GAIN_FIRST * GAIN_FIRST_DD;
    r->yield = 1;
}

static double share(uint32_t part, uint32_t whole) {
    return whole ? (double)part / whole : 0;
}

int clumpi_rule_ticked(clumpi_rule *r, double now) {
    if (r->looks == 0) return 1; /* nothing is known before it, not even when work began */
    r->window_ticks++;
    /* Behind a run a short window: what was freed has not come back yet, which shows its effect. */
    uint64_t least = r->pending ? r->ticks_before / 4 : 0;
    if (r->window_ticks < TICKS_MIN || r->window_ticks < least) return 0;
    double part = r->pending ? LOOK_SHARE : LOOK_SHARE_USUAL;
    return r->look_spent + r->look_cost <= part * r->limit * (now - r->start);
}

static void open_window(clumpi_rule *r, double at, double freeable_share) {
    r->window_start = at;
    r->window_ticks = 0;
    r->window_share = freeable_share;
}

static double gain(const clumpi_rule *r) {
    return r->gain_sd / r->gain_dd;
}

/* Seconds that freeing this share of the blocks saves until it is back. That is taken to last as
 * long as it took to come, and to come evenly, so that half of it is saved on the mean. */
static double saving(double gain_each, double removed, double interval) {
    return gain_each * removed / 2 * interval;
}

static void hold(clumpi_rule *r, double now) {
    double least = r->run_cost / (RUN_SHARE * r->limit);
    r->holding = 1;
    r->hold_end = now + HOLD_FACTOR * (r->interval > least ? r->interval : least);
}

/* The window after a run is over: what did the run bring? */
static void judge(clumpi_rule *r, double now) {
    double less = r->share_before - r->mean_share;
    int worth = 0;
    r->pending = 0;
    if (less >= SHARE_LEAST / 4 && r->tick_before > 0) {
        double saved = 1 - r->tick_time / r->tick_before;
        r->gain_sd = r->gain_sd / 2 + saved * less;
        r->gain_dd = r->gain_dd / 2 + less * less;
        /* Runs are made when they are just worth it, so half of that is good enough. */
        worth = saving(gain(r), r->removed, r->interval) >= r->run_cost / 2;
    }
    if (worth)
        r->holding = 0;
    else if (!r->for_memory)
        hold(r, now);
}

static int decide(clumpi_rule *r) {
    const clumpi_look *look = &r->look;
    int again = r->holding && look->end >= r->hold_end; /* time to try anew, with an open mind */
    double freed = look->freeable * (again ? 1 : r->yield), removed = 0;
    double cost = r->runs ? r->run_cost : fmax(PROBE_LOOKS * r->look_cost, look->run_guess);
    if (look->blocks) removed = freed / look->blocks;
    if (r->pending || freed < 0.5 ||
        r->run_spent + cost > RUN_SHARE * r->limit * (look->end - r->start))
        return 0;
    r->for_memory = look->free_blocks < FREE_SHORT * look->heap_blocks &&
                    freed >= FREED_ENOUGH * look->heap_blocks;
    if (r->for_memory) return 1;
    if ((r->holding && !again) || removed < SHARE_LEAST) return 0;
    return saving(again ? GAIN_FIRST : gain(r), removed, look->begin - r->run_end) > cost;
}

int clumpi_rule_looked(clumpi_rule *r, const clumpi_look *look) {
    double cost = look->end > look->begin ? look->end - look->begin : 0;
    double freeable_share = share(look->freeable, look->blocks);
    int first = r->looks++ == 0;
    r->look_spent += cost;
    r->look_cost = first ? cost : (3 * r->look_cost + cost) / 4;
    r->look = *look;
    if (first) {
        r->start = r->run_end = look->end;
        open_window(r, look->end, freeable_share);
        return 0;
    }
    double window = look->begin > r->window_start ? look->begin - r->window_start : 0;
    r->ticks = r->window_ticks;
    r->tick_time = r->ticks ? window / (double)r->ticks : 0;
    r->mean_share = (r->window_share + freeable_share) / 2;
    if (r->pending) judge(r, look->end);
    open_window(r, look->end, freeable_share);
    return decide(r);
}

void clumpi_rule_ran(clumpi_rule *r, const clumpi_ran *ran) {
    const clumpi_look *look = &r->look;
    uint32_t freed = ran->freed < look->freeable ? ran->freed : look->freeable;
    double yield = share(freed, look->freeable);
    double cost = ran->cost > 0 ? ran->cost : 0;
    /* The first one may have cost more than it will again. */
    r->run_cost = r->runs < 2 ? cost : (3 * r->run_cost + cost) / 4;
    r->yield = r->runs == 0 ? yield : (r->yield + yield) / 2;
    r->run_spent += cost;
    r->runs++;
    r->interval = look->begin - r->run_end;
    r->run_end = ran->end;
    open_window(r, ran->end, share(look->freeable - freed, look->blocks - freed));
    r->pending = freed > 0;
    r->tick_before = r->tick_time;
    r->share_before = r->mean_share;
    r->ticks_before = r->ticks;
    r->removed = share(freed, look->blocks);
    if (freed == 0) hold(r, ran->end);
}
