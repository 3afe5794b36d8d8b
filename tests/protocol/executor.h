/* Threads of allocation programs over the unchanged protocol, one shared operation at a time.
 *
 * Each thread is a coroutine that stops before every operation on shared memory; whoever schedules
 * (explore.h exhaustively, protocol_random.c and protocol_lockstep.c by policy) picks the thread
 * that performs its operation next. Beside the memory, the executor keeps what cannot be seen in
 * it, and checks at every operation and every return from a call:
 *
 *   - set bits and slots still reserved <= credits in every block; no bits in a free block
 *   - a call returns exactly the slot whose bit it set, and a slot has one owner at a time
 *   - null is justified: see exec_null()
 *   - a thread ends within a bound of operations, whatever the others do
 *
 * Weak memory (exec.weak): read-modify-writes take effect in one order per word, as on every
 * device, but a load may return any older value unless fences forbid it: a thread stops seeing the
 * old value of a word when it has read the newer one, changed the word itself, or passed a full
 * fence after the writer of the newer value passed a fence of either kind. That is what C11 and
 * OpenCL guarantee for relaxed atomics with sequentially consistent fences; devices differ in how
 * much of the freedom they use.
 *
 * Where nothing is reserved, requests go the general way (clumpi_make), else as a kernel's do
 * (clumpi_new).
 */
#ifndef CLUMP_TESTS_EXECUTOR_H
#define CLUMP_TESTS_EXECUTOR_H

#include "tests/protocol/routine.h"

#include <stdarg.h>
#include <stddef.h>

#include "tests/protocol/tiny_heap.h"
/* After what it uses. */
#include "cl/core/lanes.clh"
#include "cl/core/runs.clh"

#ifndef EXEC_THREADS
#define EXEC_THREADS 4u
#endif
#ifndef EXEC_REFS
#define EXEC_REFS 8u /* references that a thread keeps */
#endif
#define EXEC_OPS_OF_PROGRAM 8u
#define EXEC_STALE 24u         /* old values that a thread may still see, all words together */
#define EXEC_STALE_PER_WORD 3u /* older ones are forgotten */

/* ---- Programs ---- */

enum {
    PROGRAM_NEW,
    PROGRAM_FREE,
    PROGRAM_FREE_ALL,
    PROGRAM_FREE_OLD,
    PROGRAM_FREE_GIVEN,
    /* Runs, of the last class. A thread keeps reference and length of one, in refs[0] and
     * refs[1]. */
    PROGRAM_RUN,
    PROGRAM_RUN_FREE,
    PROGRAM_RUN_TRIM,
    PROGRAM_RUN_FREE_OLD
};

typedef struct program_op {
    uchar kind;
    uchar class_id; /* NEW */
    uchar n;        /* NEW: objects; FREE: which of the thread's own; FREE_OLD: which old object;
                       FREE_GIVEN: the first object of which thread, if it has one; RUN, RUN_TRIM:
                       slots */
} program_op;

typedef struct program {
    uint count;
    program_op ops[EXEC_OPS_OF_PROGRAM];
} program;

/* ---- State ---- */

enum { CALL_NONE, CALL_NEW, CALL_FREE };

typedef struct hash128 {
    ulong a, b;
} hash128;

typedef struct exec_op {
    enum hosted_kind kind;
    void *cell;
    ulong value, expected, result;
    hosted_site site;
} exec_op;

typedef struct exec_stale {
    uint offset, writer, fenced;
    ulong value;
} exec_stale;

typedef struct exec_thread {
    routine routine;
    exec_op pending;
    hash128 hash; /* exec_hash_thread() */
    uint steps, pc, in_call;
    uint room_class; /* while in NEW: */
    ulong room;      /* blocks that had room from the call's begin until now; see exec_null() */
    uint claimed_granule;
    ulong claimed;
    uint refs[EXEC_REFS], ref_count, nulls; /* nulls: bit per class */
    exec_stale stale[EXEC_STALE];
    uint stale_count;
    uint was_given; /* another's object, and all that he saw: only cached loads return old values */
} exec_thread;

typedef struct exec_state {
    hash128 memory;            /* of the heap's image and of `live` */
    ulong live[TINY_GRANULES]; /* by granule: slots owned by programs */
    uint expected_reports, frees, allocated, initial;
    uint runs_asked, runs_got, runs_freed,
        runs_live; /* requests; served; frees that took effect; owned */
    exec_thread threads[EXEC_THREADS];
    tiny_heap heap; /* last: snapshots copy only the part in use */
} exec_state;

static struct {
    const tiny_spec *spec;
    const program *programs[EXEC_THREADS];
    uint threads;
    uint weak;
    uint loose; /* programs in which a stale free may hit a new owner: owners are not tracked */
    uint has_frees;
    uint strict; /* see exec_null() */
    uint step_bound;
    uint old_refs[64], old_count, old_class[64];
    uint old_run;         /* of spec->old_run slots */
    exec_thread *running; /* NULL: operations take effect at once */
    char failure[256];    /* empty: none */
    ulong operations, last_result;
    char *stacks;
} exec;

static exec_state *world;
static int (*exec_at_end)(
    void); /* NULL, or what a test wants of the end of each schedule: 0 is a fault */

__attribute__((format(printf, 1, 2))) static void exec_fail(const char *format, ...) {
    if (exec.failure[0]) return;
    va_list list;
    va_start(list, format);
    vsnprintf(exec.failure, sizeof exec.failure, format, list);
    va_end(list);
}

static inline ulong exec_mix(ulong x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ul;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ul;
    return x ^ (x >> 32);
}
static inline hash128 hash_more(hash128 h, ulong x) {
    h.a = exec_mix(h.a + x + 0x9e3779b97f4a7c15ul);
    h.b = exec_mix((h.b ^ x) * 0xa0761d6478bd642ful + 0xe7037ed1a0b428dbul);
    return h;
}
/* A word's share of the memory's hash, which is the exclusive or of all shares. */
static inline void hash_word(hash128 *h, uint offset, ulong old, ulong now) {
    hash128 a = hash_more(hash_more((hash128){0, 0}, offset), old);
    hash128 b = hash_more(hash_more((hash128){0, 0}, offset), now);
    h->a ^= a.a ^ b.a;
    h->b ^= a.b ^ b.b;
}

static inline uint exec_index(const exec_thread *t) {
    return (uint)(t - world->threads);
}
static inline uint hosted_thread(void) {
    return exec.running ? exec_index(exec.running) * 32u
                        : 0; /* each a warp, so that they look in different places */
}

static void exec_set_live(uint granule, ulong bits) {
    hash_word(&world->memory, 0x10000000u + granule, world->live[granule], bits);
    world->live[granule] = bits;
}

/* ---- Ghost checks ---- */

static void exec_check_block(uint block) {
    tiny_heap *h = &world->heap;
    uint state = tiny_view(h).states[block], live = tiny_live(h, block);
    uint reserved = exec.spec->reserved_count ? tiny_reserved_of_all(h, block) : 0;
    if (clumpi_class_of_state(state) == 0 && live)
        exec_fail("block %u is free and has %u bits set", block, live);
    if (live + reserved > clumpi_credits_of_state(state))
        exec_fail("block %u: %u bits set, %u slots reserved, %u credits", block, live, reserved,
                  clumpi_credits_of_state(state));
}

static ulong exec_rooms(uint class_id) {
    ulong mask = 0;
    for (uint b = 0; b < world->heap.blocks; b++)
        if (exec.spec->reserved_count
                ? tiny_room_with_reserved(&world->heap, world->heap.first_block + b, class_id)
                : tiny_room(&world->heap, world->heap.first_block + b, class_id))
            mask |= 1ul << b;
    return mask;
}

static int exec_in_stripes(uint offset) {
    const clumpi_header *header = tiny_view(&world->heap).header;
    return offset >= header->at_stripes * CLUMPI_UNIT && offset < header->at_hints * CLUMPI_UNIT;
}

static void exec_rooms_changed(void) {
    for (uint i = 0; i < exec.threads; i++)
        if (world->threads[i].room)
            world->threads[i].room &= exec_rooms(world->threads[i].room_class);
}

/* A word of the states, the bitmaps or the stripes changed. */
static void exec_changed(uint offset) {
    const clumpi_header *header = tiny_view(&world->heap).header;
    uint states = header->at_states * CLUMPI_UNIT, bits = header->at_bits * CLUMPI_UNIT;
    uint end = header->block_end;
    if (offset >= states && offset < states + end * 4u) {
        exec_check_block((offset - states) / 4u);
        exec_rooms_changed();
    } else if (exec_in_stripes(offset)) {
        exec_rooms_changed();
    } else if (offset >= bits && offset < bits + end * header->block_granules * 8u) {
        exec_check_block((offset - bits) / 8u / header->block_granules);
    }
}

/* ---- Weak memory ---- */

static void stale_remove(exec_thread *t, uint index) {
    t->stale_count--;
    memmove(&t->stale[index], &t->stale[index + 1], (t->stale_count - index) * sizeof(exec_stale));
}

/* Entries of a word stand in the order in which its values were replaced. */
static void stale_forget(exec_thread *t, uint offset) {
    for (uint i = t->stale_count; i-- > 0;)
        if (t->stale[i].offset == offset) stale_remove(t, i);
}

static uint stale_of_word(const exec_thread *t, uint offset) {
    uint count = 0;
    for (uint i = 0; i < t->stale_count; i++) count += t->stale[i].offset == offset;
    return count;
}

/* Old values are kept for states, hints, stripes, the epoch and the results of sweeps. Not for
 * bitmaps: their only load is advice to a claim, which repeats it until the newer value comes; nor
 * for other counters, of which any value is as good. */
static int stale_kept(uint offset) {
    const clumpi_header *header = tiny_view(&world->heap).header;
    uint states = header->at_states * CLUMPI_UNIT, classes = header->at_classes * CLUMPI_UNIT;
    if (offset >= header->at_hints * CLUMPI_UNIT || exec_in_stripes(offset)) return 1;
    if (offset >= states) return offset < states + header->block_end * 4u;
    if (offset >= classes)
        return (offset - classes) % sizeof(clumpi_class) == offsetof(clumpi_class, exhausted) ||
               (offset - classes) % sizeof(clumpi_class) == offsetof(clumpi_class, reserved.left);
    uint at = offset - TINY_HEADER_AT * CLUMPI_UNIT;
    return at == offsetof(clumpi_header, epoch);
}

/* Others may go on seeing the old value. */
static void stale_written(const exec_thread *writer, uint offset, ulong old) {
    for (uint i = 0; i < exec.threads; i++) {
        exec_thread *t = &world->threads[i];
        if (t == writer || t->routine.done) continue;
        if (stale_of_word(t, offset) == EXEC_STALE_PER_WORD)
            for (uint k = 0; k < t->stale_count; k++)
                if (t->stale[k].offset == offset) {
                    stale_remove(t, k);
                    break;
                }
        if (t->stale_count == EXEC_STALE) stale_remove(t, 0);
        t->stale[t->stale_count++] = (exec_stale){offset, exec_index(writer), 0, old};
    }
}

/* What the thread wrote so far is before its fence. */
static void stale_release(const exec_thread *writer) {
    for (uint i = 0; i < exec.threads; i++)
        for (uint k = 0; k < world->threads[i].stale_count; k++)
            if (world->threads[i].stale[k].writer == exec_index(writer))
                world->threads[i].stale[k].fenced = 1;
}

static void stale_fence(exec_thread *t) {
    stale_release(t);
    /* A value replaced before the writer's fence, and all values before it, are out of sight. */
    for (uint i = t->stale_count; i-- > 0;) {
        if (!t->stale[i].fenced) continue;
        uint offset = t->stale[i].offset;
        for (uint k = i + 1; k-- > 0;)
            if (t->stale[k].offset == offset) {
                stale_remove(t, k);
                i -= k < i;
            }
    }
}

/* A load that returns old value number `which` of the word; as many as there are: the newest. */
static ulong stale_load(exec_thread *t, uint offset, uint which, ulong newest) {
    for (uint i = 0, n = 0; i < t->stale_count;) {
        if (t->stale[i].offset != offset) {
            i++;
        } else if (n++ == which) {
            return t->stale[i].value;
        } else {
            stale_remove(t, i); /* what came before a value that was seen is never seen again */
        }
    }
    return newest;
}

static inline int exec_is_load(enum hosted_kind kind) {
    return kind == HOSTED_LOAD || kind == HOSTED_LOAD_CACHED || kind == HOSTED_LOAD64 ||
           kind == HOSTED_BITS_LOAD;
}

/* In how many ways the thread's next operation can go. */
static inline uint exec_choices(const exec_thread *t) {
    if (!exec.weak || !exec_is_load(t->pending.kind)) return 1;
    if (t->was_given && t->pending.kind != HOSTED_LOAD_CACHED) return 1;
    uint offset = (uint)((uchar *)t->pending.cell - world->heap.image);
    return 1 + stale_of_word(t, offset);
}

/* ---- Operations ---- */

/* No access beyond the heap, nor to the states of blocks that hold the metadata. */
static int exec_in_bounds(uint offset, uint bytes) {
    const clumpi_header *header = tiny_view(&world->heap).header;
    uint states = header->at_states * CLUMPI_UNIT, bits = header->at_bits * CLUMPI_UNIT;
    if (offset >= world->heap.bytes || offset % bytes) return 0;
    if (offset < states || offset >= bits) return 1;
    uint block = (offset - states) / 4u;
    return block >= header->first_block && block < header->block_end;
}

static ulong exec_new_value(const exec_op *o, ulong old) {
    switch (o->kind) {
    case HOSTED_STORE: return o->value;
    case HOSTED_ADD: return (uint)(old + o->value);
    case HOSTED_SUB: return (uint)(old - o->value);
    case HOSTED_OR:
    case HOSTED_BITS_CLAIM: return old | o->value;
    case HOSTED_AND: return old & o->value;
    case HOSTED_BITS_RELEASE: return old & ~o->value;
    case HOSTED_ADD64: return old + o->value;
    case HOSTED_CAS64:
    case HOSTED_CAS: return old == o->expected ? o->value : old;
    default: return old;
    }
}

static void exec_claimed(exec_thread *t, uint offset, ulong got) {
    uint bits_at = tiny_view(&world->heap).header->at_bits * CLUMPI_UNIT;
    t->claimed_granule = (offset - bits_at) / 8u;
    t->claimed = got << ((offset - bits_at) % 8u * 8u);
}

/* Perform an operation. `choice`: which old value a load returns; beyond them: the newest. */
static ulong exec_apply(exec_thread *t, const exec_op *o, uint choice) {
    exec.operations++;
    if (o->kind == HOSTED_FENCE || o->kind == HOSTED_FENCE_ACQ_REL) {
        if (t && exec.weak && o->kind == HOSTED_FENCE) stale_fence(t);
        if (t && exec.weak) stale_release(t);
        return 0;
    }
    uint offset = (uint)((uchar *)o->cell - world->heap.image);
    uint wide = o->kind >= HOSTED_ADD64 && CLUMPI_WORD_BITS == 64u;
    if (!exec_in_bounds(offset, wide ? 8u : 4u)) {
        exec_fail("%s:%d: access at offset %u of the heap", o->site.function, o->site.line, offset);
        return 0;
    }
    ulong old = wide ? *(ulong *)o->cell : *(uint *)o->cell, now = exec_new_value(o, old);
    if (t && exec.weak) {
        if (o->kind == HOSTED_BITS_RELEASE) stale_release(t);
        if (t->was_given && o->kind != HOSTED_LOAD_CACHED) choice = ~0u;
        if (exec_is_load(o->kind)) return stale_load(t, offset, choice, old);
        stale_forget(t, offset);
        if (now != old && stale_kept(offset)) stale_written(t, offset, old);
    }
    if (now == old) return old;
    if (wide)
        *(ulong *)o->cell = now;
    else
        *(uint *)o->cell = (uint)now;
    hash_word(&world->memory, offset, old, now);
    if (t && o->kind == HOSTED_BITS_CLAIM) exec_claimed(t, offset, now & ~old);
    if (t) exec_changed(offset);
    return old;
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    exec_thread *t = exec.running;
    exec_op o = {kind, cell, value, expected, 0, site};
    if (!t) return exec_apply(NULL, &o, ~0u);
    if ((kind == HOSTED_FENCE || kind == HOSTED_FENCE_ACQ_REL) && !exec.weak) return 0;
    t->pending = o;
    routine_yield(&t->routine);
    __asm__ volatile("" ::: "memory");
    return exec.running->pending.result;
}

/* ---- What a thread does ---- */

/* A request got null. Without frees room only shrinks, and exec_check_end() sees that there is
 * none. With frees: a call that began while no other thread was in a call may not return null if
 * some block had room during the whole call. (If others are in calls, their credits in flight can
 * hide a slot that was freed meanwhile.) exec.strict: others may be in calls, too, but not in
 * frees. This is more than the protocol promises and holds for some programs only. */
static void exec_null(exec_thread *t, uint class_id) {
    t->nulls |= 1u << class_id;
    if (t->room && !exec.weak)
        exec_fail("null for class %u although blocks %lx had room during the whole call", class_id,
                  t->room);
}

static void exec_keep(exec_thread *t, uint ref) {
    uint granule = ref >> 6;
    ulong bit = 1ul << (ref & 63u);
    if (granule != t->claimed_granule || bit != t->claimed)
        exec_fail("slot %u:%lx was returned, %u:%lx claimed", granule, bit, t->claimed_granule,
                  t->claimed);
    t->claimed = 0;
    if (granule >= TINY_GRANULES) return;
    if (!exec.loose && (world->live[granule] & bit))
        exec_fail("slot %u:%lx was given twice", granule, bit);
    exec_set_live(granule, world->live[granule] | bit);
    world->allocated++;
    if (t->ref_count < EXEC_REFS) t->refs[t->ref_count++] = ref;
}

static inline uint exec_make(uint class_id) {
    if (!exec.spec->reserved_count)
        return clumpi_make(tiny_home(&world->heap), class_id, clumpi_seed(tiny_home(&world->heap)));
    return clumpi_new(world->heap.image, class_id);
}

/* n requests, up to the first null. */
static void exec_new(exec_thread *t, uint class_id, uint n) {
    uint before = t->ref_count;
    for (uint served = 0; served < n; served++) {
        uint others = 0;
        for (uint i = 0; i < exec.threads; i++)
            others += world->threads[i].in_call > (exec.strict ? CALL_NEW : CALL_NONE);
        t->in_call = CALL_NEW;
        t->room_class = class_id;
        t->room = others ? 0 : exec_rooms(class_id);
        uint ref = exec_make(class_id);
        if (ref)
            exec_keep(t, ref);
        else
            exec_null(t, class_id);
        t->room = 0;
        t->in_call = CALL_NONE;
        if (!ref) break;
    }
    while (t->ref_count < before + n && t->ref_count < EXEC_REFS) t->refs[t->ref_count++] = 0;
}

/* class_id: of the objects, as the program knows it; 0: any. */
static void exec_free(exec_thread *t, uint granule, ulong bits, uint class_id) {
    clumpi_home h = tiny_home(&world->heap);
    ulong mine = world->live[granule] & bits;
    world->expected_reports += clumpi_popcount64(bits & ~mine);
    world->frees += clumpi_popcount64(bits);
    exec_set_live(granule, world->live[granule] & ~bits);
    t->in_call = CALL_FREE;
    clumpi_free_slots(h, class_id ? class_id : 1u,
                      class_id ? class_id : clumpi_header_of(h)->class_count, granule, bits);
    t->in_call = CALL_NONE;
    t->claimed = 0; /* what a refused free set again */
}

/* Free all objects of the thread, those of one row together. */
static void exec_free_all(exec_thread *t) {
    for (uint i = 0; i < t->ref_count; i++) {
        ulong bits = 0;
        uint granule = t->refs[i] >> 6;
        for (uint k = i; k < t->ref_count; k++)
            if (t->refs[k] && t->refs[k] >> 6 == granule) {
                bits |= 1ul << (t->refs[k] & 63u);
                t->refs[k] = 0;
            }
        if (bits) exec_free(t, granule, bits, 0);
    }
    t->ref_count = 0;
}

static hash128 exec_hash_thread(const exec_thread *t);

/* Free an object of another thread, who hands it over if it has one at some time. */
static void exec_free_given(exec_thread *t, exec_thread *giver) {
    CLUMPI_LOAD(&tiny_view(&world->heap).header->magic); /* the time */
    uint ref = giver->ref_count ? giver->refs[0] : 0;
    if (!ref) return;
    giver->refs[0] = 0;
    if (!giver->routine.done) giver->hash = exec_hash_thread(giver);
    t->was_given = 1;
    exec_free(t, ref >> 6, 1ul << (ref & 63u), 0);
    t->was_given = 0;
}

/* ---- Runs ---- */

/* The programs own the slots of a run, or (owned 0) do not any more. 0: some are not as they should
 * be. */
static int exec_own_run(uint ref, uint count, uint owned) {
    uint granules = world->heap.block_granules;
    for (uint i = 0; i < count; i++) {
        uint slot = (ref & 63u) + i, granule = (ref >> 6) + slot / 64u * granules;
        ulong bit = 1ul << (slot & 63u);
        if (granule >= TINY_GRANULES || ((world->live[granule] & bit) != 0) == owned) return 0;
        exec_set_live(granule, world->live[granule] ^ bit);
    }
    if (owned)
        world->allocated += count;
    else
        world->frees += count;
    return 1;
}

static uint exec_make_run(uint count) {
    clumpi_home h = tiny_home(&world->heap);
    uint class_id = clumpi_header_of(h)->class_count;
    return count > 64u ? clumpi_run_of_blocks(h, class_id, count, clumpi_run_number(h))
                       : clumpi_run_of_row(h, class_id, count, clumpi_run_number(h));
}

static void exec_run(exec_thread *t, uint count) {
    t->in_call = CALL_NEW;
    uint ref = exec_make_run(count);
    t->in_call = CALL_NONE;
    world->runs_asked++;
    t->ref_count = 2;
    t->refs[0] = ref;
    t->refs[1] = count;
    if (!ref) {
        t->nulls |= 1u << exec.spec->class_count;
        return;
    }
    world->runs_got++;
    world->runs_live++;
    if (!exec_own_run(ref, count, 1))
        exec_fail("run %u:%u of %u slots was given twice", ref >> 6, ref & 63u, count);
}

/* Who clears the slots' owner may not be the one whose free takes effect: another may free the same
 * run. */
static void exec_run_free(exec_thread *t, uint ref, uint count) {
    clumpi_home h = tiny_home(&world->heap);
    if (exec_own_run(ref, count, 0)) world->runs_live--;
    t->in_call = CALL_FREE;
    uint freed = clumpi_run_free(h, clumpi_header_of(h)->class_count, ref);
    t->in_call = CALL_NONE;
    world->runs_freed += freed;
}

static void exec_run_trim(exec_thread *t, uint count) {
    clumpi_home h = tiny_home(&world->heap);
    uint ref = t->refs[0], was = t->refs[1], granules = world->heap.block_granules;
    if (!ref || count >= was) return;
    uint slot = (ref & 63u) + count;
    exec_own_run(((ref >> 6) + slot / 64u * granules) << 6 | (slot & 63u), was - count, 0);
    t->refs[1] = count;
    t->in_call = CALL_FREE;
    clumpi_run_trim(h, clumpi_header_of(h)->class_count, ref, count);
    t->in_call = CALL_NONE;
}

/* 1: a run operation. */
static int exec_run_op(exec_thread *t, const program_op *o) {
    if (o->kind == PROGRAM_RUN) {
        exec_run(t, o->n);
    } else if (o->kind == PROGRAM_RUN_FREE) {
        if (t->refs[0]) exec_run_free(t, t->refs[0], t->refs[1]);
        t->refs[0] = 0;
    } else if (o->kind == PROGRAM_RUN_TRIM) {
        exec_run_trim(t, o->n);
    } else if (o->kind == PROGRAM_RUN_FREE_OLD) {
        exec_run_free(t, exec.old_run, exec.spec->old_run);
    } else {
        return 0;
    }
    return 1;
}

/* 1: a request for `count` slots of one block could be served from the block. */
static int exec_has_room(uint block, uint count) {
    tiny_heap *h = &world->heap;
    uint state = tiny_view(h).states[block], gap = 0;
    if (clumpi_class_of_state(state) != h->class_count) return state == 0;
    for (uint slot = 0; slot < 64 && gap < count; slot++)
        gap = *tiny_bits(h, block * h->block_granules) >> slot & 1 ? 0 : gap + 1;
    return gap == count && clumpi_credits_of_state(state) + count <= 64;
}

/* What requests left for others: what is closed has no room, and what was looked for in vain is not
 * there. */
static void exec_check_notes(void) {
    tiny_heap *h = &world->heap;
    clumpi_home home = tiny_home(h);
    uint id = h->class_count, epoch = tiny_view(h).header->epoch, run = 0;
    for (uint b = h->first_block; b < h->first_block + h->blocks; b++) {
        uint any = *clumpi_run_closed_any(home, id, b / 32) >> (b & 31) & 1;
        run = tiny_view(h).states[b] == 0 ? run + 1 : 0;
        for (uint blocks = 1; blocks <= run; blocks++)
            if (*clumpi_run_vain(home, 2, blocks) == epoch)
                exec_fail("%u blocks are free, and were looked for in vain", blocks);
        for (uint count = 1; count <= 64; count++) {
            uint closed = *clumpi_run_closed(home, id, b / 32, count) >> (b & 31) & 1;
            int room = exec_has_room(b, count);
            if (closed && (room || !any))
                exec_fail("block %u is closed for %u slots: %s", b, count,
                          room ? "it has room" : "nobody opens it again");
            if (room && *clumpi_run_vain(home, 1, count) == epoch)
                exec_fail("block %u has %u slots, and they were looked for in vain", b, count);
        }
    }
}

/* Marks as the bits want them: where a slot is taken and no run ends, one goes on in the next. */
static void exec_check_runs(void) {
    tiny_heap *h = &world->heap;
    uint class_id = h->class_count, open = 0, begins = 0;
    for (uint b = h->first_block; b < h->first_block + h->blocks; b++) {
        clumpi_view v = tiny_view(h);
        const ulong *marks = (const ulong *)(const void *)clumpi_marks_of(tiny_home(h), b, 0);
        int is_run = clumpi_class_of_state(v.states[b]) == class_id;
        ulong bits = is_run ? *tiny_bits(h, b * h->block_granules) : 0;
        for (uint slot = 0; slot < 64; slot++) {
            uint taken = bits >> slot & 1, begin = marks[0] >> slot & 1, end = marks[1] >> slot & 1;
            if ((begin | end) & ~taken || open != (taken & ~begin))
                exec_fail("block %u: bits %lx, runs begin at %lx and end at %lx", b, bits, marks[0],
                          marks[1]);
            open = taken & ~end;
            begins += begin;
        }
    }
    if (open) exec_fail("a run has no end");
    exec_check_notes();
    if (begins != world->runs_live)
        exec_fail("%u runs begin, the programs own %u", begins, world->runs_live);
    uint had = exec.spec->old_run != 0, freed = had + world->runs_got - world->runs_live;
    if (world->runs_freed != freed)
        exec_fail("%u frees of runs took effect, should be %u", world->runs_freed, freed);
}

static void exec_body(uint32_t index) {
    for (;;) {
        exec_thread *t = &world->threads[index];
        const program *p = exec.programs[index];
        if (t->pc == p->count) return;
        const program_op *o = &p->ops[t->pc];
        if (o->kind == PROGRAM_NEW) {
            exec_new(t, o->class_id, o->n);
        } else if (o->kind == PROGRAM_FREE_ALL) {
            exec_free_all(t);
        } else if (exec_run_op(t, o)) {
            /* done */
        } else if (o->kind == PROGRAM_FREE_GIVEN) {
            exec_free_given(t, &world->threads[o->n]);
        } else {
            uint is_old = o->kind == PROGRAM_FREE_OLD;
            uint ref = is_old ? exec.old_refs[o->n] : t->refs[o->n];
            if (ref) exec_free(t, ref >> 6, 1ul << (ref & 63u), is_old ? exec.old_class[o->n] : 0);
        }
        t->pc++;
    }
}

/* ---- Running ---- */

static inline char *exec_stack(uint index) {
    return exec.stacks + (size_t)index * ROUTINE_STACK_BYTES;
}

/* All that the thread's future depends on beside the heap. */
static hash128 exec_hash_thread(const exec_thread *t) {
    const char *end = exec_stack(exec_index(t)) + ROUTINE_STACK_BYTES;
    hash128 h = {t->pc, t->nulls};
    for (const char *p = t->routine.frame; p < end; p += sizeof(ulong)) {
        ulong word;
        memcpy(&word, p, sizeof word);
        h = hash_more(h, word);
    }
    for (uint i = 0; i < ROUTINE_REGISTERS; i++) {
        ulong word;
        memcpy(&word, (const char *)&t->routine.env + i * sizeof word, sizeof word);
        h = hash_more(h, word);
    }
    for (uint i = 0; i < t->ref_count; i++) h = hash_more(h, t->refs[i]);
    return hash_more(hash_more(h, t->claimed), t->claimed_granule);
}

/* Let a thread perform its pending operation and go on to the next. */
static void exec_step(exec_thread *t, uint choice) {
    t->pending.result = exec.last_result = exec_apply(t, &t->pending, choice);
    if (++t->steps > exec.step_bound) exec_fail("thread %u does not end", exec_index(t));
    exec.running = t;
    routine_resume(&t->routine);
    exec.running = NULL;
    if (t->routine.done) t->stale_count = 0;
    if (!t->routine.done) t->hash = exec_hash_thread(t);
}

static void exec_find_old_objects(void) {
    exec.old_count = 0;
    tiny_heap *h = &world->heap;
    ulong usable = tiny_usable(h->per_row);
    for (uint g = h->first_block * h->block_granules;
         g < (h->first_block + h->blocks) * h->block_granules; g++) {
        world->live[g] = *tiny_bits(h, g) & usable;
        for (ulong rest = world->live[g]; rest; rest &= rest - 1)
            if (exec.old_count < 64) {
                exec.old_class[exec.old_count] =
                    clumpi_class_of_state(tiny_view(h).states[g / h->block_granules]);
                exec.old_refs[exec.old_count++] = g << 6 | clumpi_lowest64(rest);
            }
        world->initial += clumpi_popcount64(world->live[g]);
    }
}

/* A fresh heap and all threads at their first operation. Returns 0 if the heap does not fit. */
static int exec_begin(const tiny_spec *spec, uint threads) {
    if (!world) {
        world = calloc(1, sizeof *world);
        exec.stacks = aligned_alloc(64, (size_t)EXEC_THREADS * ROUTINE_STACK_BYTES);
        if (!world || !exec.stacks) abort();
    }
    memset(world, 0, sizeof *world);
    memset(exec.stacks, 0, (size_t)threads * ROUTINE_STACK_BYTES);
    exec.spec = spec;
    exec.threads = threads;
    exec.failure[0] = 0;
    if (!exec.step_bound) exec.step_bound = 2000;
    if (!tiny_make(&world->heap, spec)) return 0;
    exec.old_run = spec->old_run ? exec_make_run(spec->old_run) : 0;
    world->runs_live = spec->old_run != 0;
    exec_find_old_objects();
    routine_body = exec_body;
    for (uint i = 0; i < threads; i++) {
        exec.running = &world->threads[i];
        routine_start(&world->threads[i].routine, i, exec_stack(i));
        exec.running = NULL;
    }
    return 1;
}

/* ---- The end ---- */

/* Allocate one class until null: exactly the slots must come that are free or reserved. Changes the
 * heap. */
static void exec_drain(uint class_id) {
    uint expected = tiny_room_of_class(&world->heap, class_id), got = 0;
    while (got <= expected && exec_make(class_id)) got++;
    if (got != expected)
        exec_fail("at the end %u objects of class %u fit, there is room for %u", got, class_id,
                  expected);
}

/* 1: a null may have been right although there is room at the end: see exec_null(). Blocks taken
 * back from a reservation are freed like those that were emptied; with old values, others may take
 * them for what they were, and their credits in flight hide a slot. */
static int exec_room_can_return(void) {
    return exec.has_frees || (exec.weak && tiny_took_back(&world->heap));
}

/* All threads are done: check everything. Leaves the heap as it is, unless something is wrong. */
static void exec_check_end(void) {
    tiny_heap *h = &world->heap;
    static tiny_heap kept;
    char text[200];
    if (!tiny_check(h, text, sizeof text)) exec_fail("%s", text);
    if (exec.spec->runs) exec_check_runs();
    if (exec_at_end && !exec_at_end()) exec_fail("fewer requests were served than should be");
    const clumpi_header *header = tiny_view(h).header;
    uint reports = header->errors[CLUMPI_ERROR_DOUBLE_FREE].count +
                   header->errors[CLUMPI_ERROR_BAD_REFERENCE].count;
    ulong usable = tiny_usable(h->per_row);
    uint live = 0;
    for (uint g = h->first_block * h->block_granules;
         g < (h->first_block + h->blocks) * h->block_granules; g++) {
        ulong bits = *tiny_bits(h, g) & usable;
        live += clumpi_popcount64(bits);
        if (!exec.loose && bits != world->live[g])
            exec_fail("granule %u: slots %lx are live, the programs own %lx", g, bits,
                      world->live[g]);
    }
    if (live != world->initial + world->allocated - (world->frees - reports))
        exec_fail("%u live: had %u, made %u, freed %u, of which refused %u", live, world->initial,
                  world->allocated, world->frees, reports);
    if (!exec.loose && reports != world->expected_reports)
        exec_fail("%u frees were refused, should be %u", reports, world->expected_reports);
    for (uint id = 1; id <= h->class_count; id++) {
        for (uint i = 0; i < exec.threads && !exec_room_can_return(); i++)
            if (world->threads[i].nulls >> id & 1 && tiny_room_of_class(h, id) &&
                !(exec.spec->runs && id == h->class_count))
                exec_fail("null for class %u, but there is room at the end", id);
        if (exec.failure[0]) return;
        tiny_copy(&kept, h);
        exec_drain(id);
        if (exec.failure[0]) return;
        tiny_copy(h, &kept);
    }
}

#endif
