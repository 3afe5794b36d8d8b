/* Machines whose lanes fall apart: work-items as coroutines over one path of the device code.
 *
 * A work-item stops before each operation on shared memory, and each operation that involves other
 * lanes. What these do:
 *
 *   here        gives the lanes that are together at this place of the source, whoever called it;
 *               which ones, the machine decides
 *   .sync       the lanes of the mask wait for each other: all must come to the same place with the
 *               same mask. Several sets can stand at one place; they are never mixed
 *   sub-group   the lanes that are active: those that began the call together and have not left it
 *
 * A lane that waits for one which ended, or which waits for something else, is found when nothing
 * can go on any more. A lane of one machine:
 *
 *   LOCKSTEP    of a warp, the lanes at the earliest place go first, together: after a branch they
 *               come together again. The only machine of sub-groups
 *   MERGED      the same where the compiler made one call of several: lanes meet whatever line of
 *               the kernel they are at
 *   ANY         lanes run in any order; together are all that stand at this place now
 *   SUBSET      of these, some
 *   APART       those which took the same branches since the launch: never again together
 *   ALONE       each lane alone
 *   ITEMS       one work-item after the other, as far as each gets
 *
 * Order of memory: a work-item that clears an object's bit must know of all that others did with
 * the object's fields before. Of the lane operations only `sync` carries that (PTX ISA, shfl
 * and match "do not guarantee memory ordering"); checked by vector clocks.
 */
#ifndef CLUMP_TESTS_LANES_MACHINE_H
#define CLUMP_TESTS_LANES_MACHINE_H

#include "tests/protocol/routine.h"

#include <stdarg.h>

#include "tests/protocol/lanes_path.h"

#define LANES_GEOMETRY lanes_header
#define LANES_CLASSES lanes_classes
#include "lanes_generated.h"

/* Stripes and slots that are reserved have a place of their own: a heap as small as this has one
 * stripe only. */
#define LANES_STRIPES_AT (LANES_HEAP_BYTES / CLUMPI_UNIT)
#define LANES_LISTS_AT (LANES_STRIPES_AT + TINY_CLASSES * TINY_STRIPES * 2u)
#define TINY_IMAGE_BYTES (LANES_LISTS_AT * CLUMPI_UNIT + TINY_CLASSES * sizeof(tiny_lists))
#define TINY_RESERVED 32u
#define TINY_HEADER_AT (lanes_header[1]) /* self_at */
#define TINY_GRANULES 65536u
#include "tests/protocol/tiny_heap.h"

#define ITEMS_MAX 128u
#define OWNED_GRANULES LANES_GRANULES
#define CLASSES_MAX 8u
#define TRACE 64u

enum { LOCKSTEP, MERGED, ANY, SUBSET, APART, ALONE, ITEMS, MACHINES };
static const char *const machine_names[] = {"lockstep", "merged", "any",  "subset",
                                            "apart",    "alone",  "items"};

typedef struct item {
    lanes_item seen; /* first: lanes_me points here */
    routine routine;
    int kind;
    lanes_site site;
    uint64_t mask, value, expected, result;
    uint32_t from, memory_kind, steps;
    void *cell;
    uint32_t tangle, tangle_call; /* sub-groups: who began this call together */
    uint32_t clock[ITEMS_MAX];
} item;

static struct {
    tiny_heap heap;
    item items[ITEMS_MAX];
    uint32_t count, group_items;
    int machine;
    const lanes_path *path;
    void (*body)(unsigned char *heap, const uint32_t *in);
    const uint32_t *in;
    uint32_t patience; /* of 16 times that a lane could find out who is here, it waits as often */
    uint32_t tangles;
    /* Books. */
    uint64_t owned[OWNED_GRANULES];
    struct {
        uint32_t item, clock;
    } touched[OWNED_GRANULES][64];
    uint32_t made[CLASSES_MAX], nulls[CLASSES_MAX], freed[CLASSES_MAX], refused;
    uint64_t roomy[CLASSES_MAX]; /* blocks that had room for the class at all times */
    int racy;                    /* the program itself frees objects that others use */
    uint64_t thieves;            /* runs in which something reserved was taken back */
    char failure[400];
    struct {
        uint32_t item, kind;
        uint64_t mask, result;
        lanes_site site;
    } trace[TRACE]; /* the last operations of the run */
    uint32_t traced;
    uint64_t random;
    char *stacks;
    /* Counted over all runs. */
    uint64_t runs, operations, lane_operations;
    uint32_t meetings[MACHINES], met[MACHINES]; /* met: lanes */
} m;

lanes_item *lanes_me;
#define running ((item *)(void *)lanes_me)

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...) {
    if (m.failure[0]) return;
    va_list list;
    va_start(list, format);
    vsnprintf(m.failure, sizeof m.failure, format, list);
    va_end(list);
}

static uint32_t random_below(uint32_t n) {
    uint64_t x = m.random += 0x9e3779b97f4a7c15ul;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ul;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ul;
    return (uint32_t)((x >> 32) % n);
}

/* hosted.h is included for its types and for a quiet heap: nothing of it runs here. */
static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    (void)kind, (void)cell, (void)value, (void)expected, (void)site;
    abort();
}
static inline uint hosted_thread(void) {
    return 0;
}

/* ---- Where work-items stop ---- */

static uint64_t stop(int kind, const lanes_site *site) {
    item *t = running;
    t->kind = kind;
    t->site = *site;
    t->seen.history = lanes_more(t->seen.history, site->order);
    routine_yield(&t->routine);
    __asm__ volatile("" ::: "memory");
    return running->result;
}

uint64_t lanes_memory(int kind, void *cell, uint64_t value, uint64_t expected, lanes_site *site) {
    item *t = running;
    if (kind == HOSTED_FENCE || kind == HOSTED_FENCE_ACQ_REL) return 0;
    t->memory_kind = (uint32_t)kind;
    t->cell = cell;
    t->value = value;
    t->expected = expected;
    return stop(LANES_MEMORY, site);
}

uint64_t lanes_meet_others(int kind, uint64_t mask, uint64_t value, uint32_t from,
                           const lanes_site *site) {
    item *t = running;
    if (strncmp(site->function, "clumpi_lane", 11) != 0 &&
        strcmp(site->function, "clumpi_new_warp") != 0)
        fail("%s has an operation on lanes, which only CLUMPI_TOGETHER functions may",  //
             site->function);
    t->mask = mask;
    t->value = value;
    t->from = from;
    return stop(kind, site);
}

/* ---- Books ---- */

static inline uint32_t class_of(uint32_t id) {
    uint32_t block = (id >> 6) / m.heap.block_granules;
    if (block < m.heap.first_block || block >= m.heap.first_block + m.heap.blocks) return 0;
    return clumpi_class_of_state(tiny_view(&m.heap).states[block]);
}

uint32_t lanes_touch(uint32_t id) {
    item *t = running;
    if (id >> 6 == 0 || id >> 6 >= OWNED_GRANULES) return 0;
    m.touched[id >> 6][id & 63u].item = t->seen.global;
    m.touched[id >> 6][id & 63u].clock = ++t->clock[t->seen.global];
    return 0;
}

uint32_t lanes_made(uint32_t id, uint32_t class_id) {
    if (!id) {
        m.nulls[class_id]++;
        return 0;
    }
    m.made[class_id]++;
    if (class_of(id) != class_id)
        fail("lane %u: an object of class %u was asked for, %08x is of class %u",
             running->seen.global, class_id, id, class_of(id));
    else if (m.owned[id >> 6] >> (id & 63u) & 1u)
        fail("lane %u: %08x was given twice", running->seen.global, id);
    else
        m.owned[id >> 6] |= 1ul << (id & 63u);
    return 0;
}

void lanes_freeing(uint32_t id, uint32_t first, uint32_t last) {
    if (!id) return;
    uint32_t class_id = class_of(id);
    if (id >> 6 < OWNED_GRANULES && class_id >= first && class_id <= last &&
        m.owned[id >> 6] >> (id & 63u) & 1u) {
        m.owned[id >> 6] &= ~(1ul << (id & 63u));
        m.freed[class_id]++;
    } else {
        m.refused++;
    }
}

static void join_clocks(const uint32_t *who, uint32_t count) {
    uint32_t all[ITEMS_MAX] = {0};
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < m.count; k++)
            if (m.items[who[i]].clock[k] > all[k]) all[k] = m.items[who[i]].clock[k];
    for (uint32_t i = 0; i < count; i++) memcpy(m.items[who[i]].clock, all, sizeof all);
}

/* The bits of a word are about to be cleared. */
static void check_release(const item *t) {
    uint64_t offset = (uint64_t)((uchar *)t->cell - (uchar *)tiny_view(&m.heap).bits);
    uint32_t granule = (uint32_t)(offset / 8u), shift = (uint32_t)(offset % 8u) * 8u;
    for (uint64_t bits = t->value; bits; bits &= bits - 1) {
        uint32_t slot = clumpi_lowest64(bits) + shift;
        uint32_t who = m.touched[granule][slot].item, when = m.touched[granule][slot].clock;
        if (when > t->clock[who] && !m.racy)
            fail("lane %u clears the bit of %08x without knowing what lane %u wrote there",
                 t->seen.global, granule << 6 | slot, who);
    }
}

/* A new owner: what was done with the object before him is over. */
static void forget_touches(const item *t, uint64_t bits) {
    uint64_t offset = (uint64_t)((uchar *)t->cell - (uchar *)tiny_view(&m.heap).bits);
    for (; bits; bits &= bits - 1)
        m.touched[offset / 8u][clumpi_lowest64(bits) + offset % 8u * 8u].clock = 0;
}

static void check_room(uint32_t block) {
    for (uint32_t c = 1; c <= m.heap.class_count; c++)
        if (m.roomy[c] >> block & 1u &&
            !tiny_room_with_reserved(&m.heap, m.heap.first_block + block, c))
            m.roomy[c] &= ~(1ul << block);
}

/* A stripe was `old`: the blocks of the slots that were handed out or taken back have less room. */
static void check_stripe(uint32_t index, uint64_t old) {
    const clumpi_stripe *now = tiny_stripes(&m.heap, index / TINY_STRIPES) + index % TINY_STRIPES;
    const clumpi_reservation *r = &tiny_view(&m.heap).classes[index / TINY_STRIPES].reserved;
    uint32_t block = UINT32_MAX;
    for (uint32_t at = (uint32_t)(old >> 32); at < (uint32_t)old; at++) {
        if (at >= now->next && at < now->limit) continue;
        uint32_t other =
            (tiny_reserved_slot(&m.heap, r, index % TINY_STRIPES, at) >> 6) / m.heap.block_granules;
        if (other != block) check_room(other - m.heap.first_block);
        block = other;
    }
}

/* ---- Operations ---- */

static uint64_t apply(item *t) {
    uint64_t offset = (uint64_t)((uchar *)t->cell - m.heap.image);
    int bits = t->memory_kind >= HOSTED_ADD64;
    int wide = bits && m.path->word_bits == 64;
    if (offset >= sizeof m.heap.image) {
        fail("%s, line %d: an access beyond the heap", t->site.function, t->site.line);
        return 0;
    }
    uint64_t old = wide ? *(ulong *)t->cell : *(uint *)t->cell, now = old;
    switch (t->memory_kind) {
    case HOSTED_STORE: now = t->value; break;
    case HOSTED_ADD: now = old + t->value; break;
    case HOSTED_SUB: now = old - t->value; break;
    case HOSTED_OR:
    case HOSTED_BITS_CLAIM: now = old | t->value; break;
    case HOSTED_AND: now = old & t->value; break;
    case HOSTED_ADD64: now = old + t->value; break;
    case HOSTED_CAS64:
    case HOSTED_CAS: now = old == t->expected ? t->value : old; break;
    case HOSTED_BITS_RELEASE:
        check_release(t);
        now = old & ~t->value;
        break;
    default: break;
    }
    if (wide)
        *(ulong *)t->cell = now;
    else
        *(uint *)t->cell = (uint)now;
    if (t->memory_kind == HOSTED_BITS_CLAIM) forget_touches(t, now & ~old);
    uint64_t block = (uint64_t)((uint *)t->cell - tiny_view(&m.heap).states) - m.heap.first_block;
    if (!bits && block < m.heap.blocks) check_room((uint32_t)block);
    if (t->memory_kind == HOSTED_ADD64 || (t->memory_kind == HOSTED_CAS64 && now != old))
        check_stripe((uint32_t)((offset - LANES_STRIPES_AT * CLUMPI_UNIT) / sizeof(clumpi_stripe)),
                     old);
    return old;
}

static void go_on(item *t, uint64_t result) {
    t->result = result;
    t->seen.history = lanes_more(t->seen.history, (uint64_t)t->kind);
    m.operations++;
    m.lane_operations += t->kind != LANES_MEMORY;
    uint32_t at = m.traced++ % TRACE;
    m.trace[at].item = t->seen.global;
    m.trace[at].kind = (uint32_t)t->kind;
    m.trace[at].mask = t->kind == LANES_MEMORY ? 0 : t->mask;
    m.trace[at].result = result;
    m.trace[at].site = t->site;
    if (++t->steps > 50000u) fail("lane %u does not end", t->seen.global);
    if (m.failure[0]) return;
    lanes_me = &t->seen;
    routine_resume(&t->routine);
    lanes_me = NULL;
}

static void print_trace(void) {
    static const char *const names[] = {"memory", "here", "read",   "with", "or",
                                        "add",    "sync", "ballot", "first"};
    for (uint32_t i = m.traced > TRACE ? m.traced - TRACE : 0; i < m.traced; i++)
        printf("    %3u %-9s mask %8lx gave %16lx  %s, line %d\n", m.trace[i % TRACE].item,
               names[m.trace[i % TRACE].kind], (ulong)m.trace[i % TRACE].mask,
               (ulong)m.trace[i % TRACE].result, m.trace[i % TRACE].site.function,
               m.trace[i % TRACE].site.line);
}

static inline item *lane_of(const item *t, uint32_t lane) {
    return &m.items[t->seen.global - t->seen.lane + lane];
}
/* Lanes of the warp of `t`; the last one may have fewer. */
static inline uint32_t lanes_of(const item *t) {
    uint32_t first = t->seen.global - t->seen.lane;
    return min(m.path->width, m.count - first);
}
static inline int is_at(const item *t, const item *other) {
    return !other->routine.done && other->kind == t->kind && other->site.order == t->site.order;
}

static int is_entry(const item *t) {
    return t->kind == LANES_HERE ||
           (t->kind == LANES_BALLOT && strcmp(t->site.function, "clumpi_lanes_here") == 0);
}
static int is_inside(const item *t) {
    return !is_entry(t);
}

/* The lanes that are together at an entry with `t`. */
static uint64_t who_is_here(const item *t) {
    uint64_t here = 0;
    for (uint32_t i = 0; i < lanes_of(t); i++) {
        const item *o = lane_of(t, i);
        int together = is_at(t, o);
        if (m.machine == LOCKSTEP) together = together && o->seen.line == t->seen.line;
        if (m.machine == SUBSET) together = together && random_below(2);
        if (m.machine == APART) together = together && o->seen.history == t->seen.history;
        if (m.machine == ALONE || m.machine == ITEMS) together = 0;
        here |= (uint64_t)(together || o == t) << i;
    }
    return here;
}

/* The lanes that an operation is about, if all have come; else 0. */
static uint64_t who_takes_part(const item *t) {
    uint64_t mask = t->mask, all = 0;
    if (t->kind < LANES_HERE) return 1ul << t->seen.lane;
    if (is_entry(t)) return who_is_here(t);
    if (t->kind >= LANES_BALLOT) {
        for (uint32_t i = 0; i < lanes_of(t); i++) {
            const item *o = lane_of(t, i);
            if (o->routine.done || o->tangle != t->tangle || o->seen.calls != o->tangle_call ||
                !is_inside(o))
                continue;
            if (!is_at(t, o)) return 0;
            all |= 1ul << i;
        }
        return all;
    }
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = clumpi_lowest64(rest);
        if (lane >= lanes_of(t)) return 0;
        const item *o = lane_of(t, lane);
        if (!is_at(t, o) || o->mask != mask) return 0;
    }
    return mask;
}

static uint64_t result_of(const item *t, uint64_t who) {
    uint64_t result = 0;
    switch (t->kind) {
    case LANES_HERE: return who;
    case LANES_SYNC: return 0;
    case LANES_FIRST: return lane_of(t, clumpi_lowest64(who))->value;
    case LANES_READ:
        if (t->from >= 64u || !(who >> t->from & 1u)) {
            fail("%s, line %d: lane %u reads from lane %u, which is not with it", t->site.function,
                 t->site.line, t->seen.global, t->from);
            return 0;
        }
        return lane_of(t, t->from)->value;
    default: break;
    }
    for (uint64_t rest = who; rest; rest &= rest - 1) {
        uint32_t lane = clumpi_lowest64(rest);
        uint64_t value = lane_of(t, lane)->value;
        if (t->kind == LANES_OR) result |= value;
        if (t->kind == LANES_ADD) result += value;
        if (t->kind == LANES_WITH) result |= (uint64_t)(value == t->value) << lane;
        if (t->kind == LANES_BALLOT) result |= (uint64_t)(value != 0) << lane;
    }
    return result;
}

/* All of `who` perform the operation at which they stand. */
static void perform(item *t, uint64_t who) {
    uint64_t results[64];
    uint32_t ids[64] = {0}, count = 0, entry = is_entry(t);
    if (!(who >> t->seen.lane & 1u))
        fail("%s, line %d: lane %u is not in its own mask %lx", t->site.function, t->site.line,
             t->seen.global, (ulong)who);
    for (uint64_t rest = who; rest; rest &= rest - 1) {
        item *o = lane_of(t, clumpi_lowest64(rest));
        results[count] = result_of(o, who);
        ids[count++] = o->seen.global;
    }
    if (t->kind == LANES_SYNC) join_clocks(ids, count);
    m.tangles += entry;
    m.meetings[m.machine] += entry;
    m.met[m.machine] += entry ? count : 0;
    for (uint32_t i = 0; i < count && !m.failure[0]; i++) {
        item *o = &m.items[ids[i]];
        if (entry) o->tangle = m.tangles;
        if (entry) o->tangle_call = o->seen.calls;
        go_on(o, results[i]);
    }
}

/* ---- Who is next ---- */

/* Of a warp, the lane whose turn it is: calls before what comes after them, lower lines first. */
static item *earliest(item *any) {
    item *best = NULL;
    uint64_t best_key = UINT64_MAX;
    for (uint32_t i = 0; i < lanes_of(any); i++) {
        item *t = lane_of(any, i);
        if (t->routine.done) continue;
        uint64_t line = m.machine == MERGED ? 0 : t->seen.line;
        uint64_t key = line << 32 | (uint64_t)is_entry(t) << 31 | t->site.order;
        if (key >= best_key || (!is_entry(t) && !who_takes_part(t))) continue;
        best = t;
        best_key = key;
    }
    return best;
}

/* One step of a lane in lockstep: all lanes that stand there, one after the other. */
static void step_together(item *t) {
    item *all[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < lanes_of(t); i++) {
        item *o = lane_of(t, i);
        int same = is_at(t, o) && (m.machine == APART ? o->seen.history == t->seen.history
                                                      : o->seen.line == t->seen.line);
        if (o == t || same) all[count++] = o;
    }
    for (uint32_t i = 0; i < count && !m.failure[0]; i++) go_on(all[i], apply(all[i]));
}

static int step(item *t) {
    if (t->routine.done) return 0;
    if (t->kind == LANES_MEMORY) {
        if (m.machine == LOCKSTEP || m.machine == APART)
            step_together(t);
        else
            go_on(t, apply(t));
        return 1;
    }
    uint64_t who = who_takes_part(t);
    if (who) perform(t, who);
    return who != 0;
}

static void say_who_waits(void) {
    for (uint32_t i = 0; i < m.count; i++) {
        const item *t = &m.items[i];
        if (t->routine.done || t->kind < LANES_HERE) continue;
        for (uint64_t rest = t->mask; rest; rest &= rest - 1) {
            const item *o = lane_of(t, clumpi_lowest64(rest));
            if (is_at(t, o) && o->mask == t->mask) continue;
            fail("lane %u waits in %s, line %d, for lane %u, which %s%s", i, t->site.function,
                 t->site.line, o->seen.global, o->routine.done ? "ended" : "is for good in ",
                 o->routine.done ? "" : o->site.function);
        }
    }
    fail("nobody can go on");
}

static void run_to_end(void) {
    uint32_t alive = 1;
    while (alive && !m.failure[0]) {
        alive = 0;
        for (uint32_t i = 0; i < m.count; i++) alive += !m.items[i].routine.done;
        uint32_t from = m.machine == ITEMS ? 0 : random_below(m.count);
        int moved = 0;
        for (uint32_t i = 0; alive && i < m.count && !moved; i++) {
            item *t = &m.items[(from + i) % m.count];
            if (m.machine == LOCKSTEP || m.machine == MERGED) t = earliest(t);
            if (!t || (is_entry(t) && m.machine >= ANY && random_below(16) < m.patience)) continue;
            moved = step(t);
        }
        if (alive && !moved && !m.failure[0]) {
            for (uint32_t i = 0; i < m.count && !moved; i++) moved = step(&m.items[i]);
            if (!moved) say_who_waits();
        }
    }
}

static void item_body(uint32_t index) {
    (void)index;
    m.body(m.heap.image, m.in);
}

/* Run a kernel on the heap as it is. */
static void launch(const lanes_path *path, const char *kernel, int machine, uint32_t items,
                   uint32_t group_items, const uint32_t *in) {
    if (!m.stacks) m.stacks = aligned_alloc(64, (size_t)ITEMS_MAX * ROUTINE_STACK_BYTES);
    if (!m.stacks) abort();
    m.path = path;
    m.body = NULL;
    for (uint32_t i = 0; i < path->kernel_count; i++)
        if (strcmp(path->kernels[i].name, kernel) == 0) m.body = path->kernels[i].body;
    if (!m.body) abort();
    m.machine = machine;
    m.count = items;
    m.group_items = group_items;
    m.in = in;
    m.runs++;
    m.traced = 0;
    memset(m.items, 0, items * sizeof *m.items);
    memset(m.touched, 0, sizeof m.touched);
    for (uint32_t c = 1; c <= m.heap.class_count; c++) m.roomy[c] = ~0ul >> (64u - m.heap.blocks);
    for (uint32_t b = 0; b < m.heap.blocks; b++) check_room(b);
    routine_body = item_body;
    for (uint32_t i = 0; i < items; i++) {
        item *t = &m.items[i];
        t->seen = (lanes_item){.global = i,
                               .items = items,
                               .local = i % group_items,
                               .group_items = group_items,
                               .group = i / group_items,
                               .lane = i % group_items % path->width};
        lanes_me = &t->seen;
        routine_start(&t->routine, i, m.stacks + (size_t)i * ROUTINE_STACK_BYTES);
        lanes_me = NULL;
    }
    run_to_end();
}

#endif
