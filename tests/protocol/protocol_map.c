/* The hash map of cl/api/map.clh as host C: all interleavings of two and three threads that put in,
 * take out and look for keys of one list.
 *
 * Each atomic operation, load of a reference, allocation and free is a step, after which any thread
 * may go on. What is checked:
 *
 *   - some order of all calls, in which each does alone what it did, agrees with the results and
 *   with what is in the list at
 *     the end; a call that ended before another began comes before it
 *   - a thread reads the fields of an object only if it knows them to be there: they were written
 *   before a fence and an atomic
 *     operation, and the reader took the word of that by an atomic operation, followed by a fence
 *   - no object is lost, and no thread touches one that is free
 *   - no claim of an object that is taken again is left
 *
 * Objects that an earlier launch erased are in the list at the begin of some programs, to be taken
 * again. A thread that does not know their new fields yet reads the key that was there before, or,
 * in a second search, the one that is there now.
 *
 * A schedule is run from the start. One that comes to a state that was seen is left; a state is the
 * memory, what is known of the order of writes, and all that each thread has read.
 *
 * Read first: cl/api/map.clh, routine.h.
 */
#include "tests/protocol/routine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int uint;
typedef unsigned long ulong;

enum { THREADS = 3, OPS = 3, WORDS = 10, STEPS = 400, SEEN = 1 << 25 };
typedef enum op_kind { FIND, ERASE, INSERT } op_kind;
typedef struct op {
    op_kind kind;
    uint key;
} op;
typedef struct program {
    uint count;
    op ops[OPS];
} program;

typedef struct Words {
    uint id;
} Words;
typedef struct Word {
    uint id; /* 1 .. WORDS-1 */
} Word;

/* What a call did. `before`: calls that had ended when it began, a bit each; numbered thread * OPS
 * + op. */
typedef struct call {
    op o;
    uint result, word, value, before, is_done;
} call;

static struct {
    uint head, key[WORDS], value[WORDS], next[WORDS], erased[WORDS], in_use; /* in_use: bits */
    uint old_key[WORDS]; /* before it was taken again */
} memory;
/* Sets of objects, a bit each: whose fields a thread knows; told by its last fence; heard by an
 * atomic operation, not yet fenced. Those of words: what an atomic operation told with it. Bit TAKEN
 * + n: of object n the key and the value that it has since it was taken again. */
enum { TAKEN = 16 };
static struct {
    uint knows[THREADS + 1], tells[THREADS + 1], hears[THREADS + 1], head, erased[WORDS];
} order;
static call calls[THREADS * OPS];
static ulong reads[THREADS + 1]; /* a hash of all that a thread has read, and of where it is */

static routine routines[THREADS];
static _Alignas(16) char stacks[THREADS][ROUTINE_STACK_BYTES];
static uint thread_count, running = THREADS; /* THREADS: nobody else runs */
static program programs[THREADS];
static char failure[200];
static ulong states, runs;
static int reads_old; /* the keys of objects whose new ones a thread does not know */
static struct { uint map_turn; } header;

static void fail(const char *words) {
    if (!failure[0]) snprintf(failure, sizeof failure, "%s", words);
}

static ulong mixed(ulong h, ulong x) {
    h ^= x + 0x9e3779b97f4a7c15ul + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdul;
    return h ^ h >> 32;
}

/* Other threads may go on before what follows. */
static void step(void) {
    if (running == THREADS) return;
    reads[running] = mixed(reads[running], 1); /* where it is */
    routine_yield(&routines[running]);
}
static uint has_read(uint value) {
    reads[running] = mixed(reads[running], value);
    return value;
}

/* ---- What map.clh uses ---- */

static void fence(void) {
    order.knows[running] |= order.hears[running];
    order.tells[running] = order.knows[running];
}

/* The set that atomic operations on a word hand over. */
static uint *told(const uint *cell) {
    if (cell == &memory.head) return &order.head;
    if (cell < memory.erased || cell >= memory.erased + WORDS)
        fail("an atomic operation on another word");
    return &order
                .erased[cell >= memory.erased && cell < memory.erased + WORDS ? cell - memory.erased
                                                                              : 0];
}
/* From now on only this thread knows these bits. */
static void take_for_itself(uint bits) {
    for (uint t = 0; t <= THREADS; t++) {
        order.knows[t] &= ~bits;
        order.tells[t] &= ~bits;
        order.hears[t] &= ~bits;
    }
    order.head &= ~bits;
    for (uint w = 0; w < WORDS; w++) order.erased[w] &= ~bits;
    order.knows[running] |= bits;
}
static uint atomic(volatile uint *cell, int swaps, uint expected, uint value) {
    step();
    const uint old = *cell;
    uint *set = told((const uint *)cell);
    order.hears[running] |= *set;
    *set |= order.tells[running];
    if (!swaps)
        *cell |= value;
    else if (old == expected)
        *cell = value;
    if (swaps && old == expected && value >> 31) { /* a claim */
        const uint id = (uint)((const uint *)cell - memory.erased);
        memory.old_key[id] = memory.key[id];
        take_for_itself(1u << (TAKEN + id));
    }
    return has_read(old);
}
static uint load(const volatile uint *cell) {
    step();
    return has_read(*cell);
}

/* A field of an object. */
static uint *field(uint *column, Word w) {
    if (!(memory.in_use >> w.id & 1)) fail("an object is touched that is free");
    if (!(order.knows[running] >> w.id & 1)) fail("fields are read that may not be there yet");
    return &column[w.id];
}
static uint *key_field(Word w) {
    const int knows = order.knows[running] >> (TAKEN + w.id) & 1;
    return field(knows || !reads_old ? memory.key : memory.old_key, w);
}
static uint *value_field(Word w) {
    if (!(order.knows[running] >> (TAKEN + w.id) & 1))
        fail("a value is read that may not be there yet");
    return field(memory.value, w);
}

static Word new_word(void) {
    step();
    uint id = 1;
    while (memory.in_use >> id & 1) id++;
    if (id >= WORDS) abort();
    memory.in_use |= 1u << id;
    memory.key[id] = memory.value[id] = memory.next[id] = memory.erased[id] = 1; /* undefined */
    take_for_itself(1u << id | 1u << (TAKEN + id)); /* others knew the object that was there */
    order.erased[id] = 0;
    return (Word){has_read(id)};
}
static void free_word(Word w) {
    step();
    if (!(memory.in_use >> w.id & 1)) fail("an object is freed twice");
    memory.in_use &= ~(1u << w.id);
}

#define __global
#define CLUMPI_FIELD_MUST_BE(type, C, f, of) ((void)0)
#define CLUMPI_ARRAYS_CLH /* what map.clh includes */
#define CLUMP_HEAP void *clump_heap
#define CLUMP_HEAP_NO_ALLOC const void *clump_heap
#define CLUMPI_CHANGING_HEAP clump_heap
#define CLUMPI_FENCE_ACQ_REL() fence()
#define CLUMPI_HEADER_AT 0
#define CLUMPI_MAP_LOOKS 1u /* fewer states */
typedef unsigned char uchar;
typedef const void *clumpi_home;
#define clumpi_home_in(heap, at) ((void)(heap), (const void *)NULL)
#define clumpi_header_of(h) ((void)(h), &header)
#define CLUMPI_OR(p, v) atomic((volatile uint *)(p), 0, 0, (v))
#define CLUMPI_CAS(p, expected, desired) atomic((volatile uint *)(p), 1, (expected), (desired))
#define CLUMPI_LOAD(p) load((const volatile uint *)(p))
#define clumpi_hash(x) (x)
#define get_global_id(d) 0u
#define get_global_size(d) 1u
typedef volatile uint *clumpi_cell;
enum { CLUMP_DONE, CLUMP_THERE, CLUMP_NO_MEMORY, CLUMP_FULL, CLUMP_MISUSED };

#define Words_heads_length(map) 1u
#define Words_heads(map, i) (*((void)(i), (Word *)&memory.head))
#define Word_null ((Word){0})
#define Word_key(w) (*key_field(w))
#define Word_value(w) (*value_field(w))
#define Word_next(w) (*(Word *)field(memory.next, (w)))
#define Word_erased(w) (*field(memory.erased, (w)))
#define Word_new() new_word()
#define Word_free(w) free_word(w)
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "cl/api/map.clh"

CLUMP_MAP_DEFINE(Words, Word, uint, uint);
static void *const clump_heap = NULL;

/* ---- Calls ---- */

static void do_call(uint number, op o) {
    call *c = &calls[number];
    Word w = Word_null;
    uint before = 0;
    for (uint i = 0; i < THREADS * OPS; i++) before |= calls[i].is_done << i;
    *c = (call){.o = o, .before = before};
    reads[running] = mixed(reads[running], before);
    if (o.kind == INSERT)
        c->result = CLUMP_MAP_INSERT(Words, (Words){0}, o.key, 100 + number, &w);
    else
        w = o.kind == ERASE ? CLUMP_MAP_ERASE(Words, (Words){0}, o.key)
                            : CLUMP_MAP_FIND(Words, (Words){0}, o.key);
    c->word = w.id;
    c->value = w.id ? Word_value(w) : 0;
    if (w.id && Word_key(w) != o.key) fail("the object has another key");
    c->is_done = 1;
    reads[running] = mixed(reads[running], c->word + 77);
}

static void body(uint32_t index) {
    routine_yield(&routines[index]);
    for (uint i = 0; i < programs[index].count; i++)
        do_call(index * OPS + i, programs[index].ops[i]);
}

/* ---- Is there an order? ---- */

typedef struct contents {
    uint word[2], value[2]; /* of each key */
} contents;

/* May this call be next, with these contents? Changes them. */
static int fits(contents *c, const call *o, uint number) {
    const uint k = o->o.key, word = c->word[k], value = c->value[k];
    if (o->o.kind == INSERT && !word) {
        c->word[k] = o->word;
        c->value[k] = 100 + number;
        return o->result == CLUMP_DONE && o->word && o->value == 100 + number;
    }
    if (o->o.kind == INSERT && o->result != CLUMP_THERE) return 0;
    if (o->o.kind == ERASE) c->word[k] = 0;
    return o->word == word && (!word || o->value == value);
}

static int is_ordered(contents c, uint left) {
    if (!left) {
        contents found = {{0}, {0}};
        uint words = 0;
        for (uint id = memory.head; id && words < WORDS; id = memory.next[id], words++)
            if (!memory.erased[id]) {
                if (found.word[memory.key[id]]) return 0;
                found.word[memory.key[id]] = id;
            }
        return found.word[0] == c.word[0] && found.word[1] == c.word[1];
    }
    for (uint i = 0; i < THREADS * OPS; i++) {
        contents next = c;
        if ((left >> i & 1) && !(calls[i].before & left) && fits(&next, &calls[i], i) &&
            is_ordered(next, left & ~(1u << i)))
            return 1;
    }
    return 0;
}

static contents at_begin;

static void check_end(void) {
    uint left = 0, listed = 0;
    for (uint i = 0; i < THREADS * OPS; i++) left |= calls[i].is_done << i;
    for (uint id = memory.head, n = 0; id && n < WORDS; id = memory.next[id], n++)
        listed |= 1u << id;
    if (listed != memory.in_use) fail("an object is lost");
    for (uint id = 1; id < WORDS; id++)
        if ((memory.in_use >> id & 1) && memory.erased[id] >> 31) fail("a claim is left");
    if (!is_ordered(at_begin, left)) fail("no order of the calls gives these results");
}

/* ---- Search ---- */

static struct {
    uint thread, ready; /* taken, and bits of those that could go on */
} schedule[STEPS];
static uint depth;
static ulong seen[SEEN]; /* hashes of states */
static uint seen_at[SEEN / 2], seen_count;

static int is_new(void) {
    ulong h = 1;
    const unsigned char *const parts[] = {(const void *)&memory, (const void *)&order,
                                          (const void *)reads};
    const size_t bytes[] = {sizeof memory, sizeof order, sizeof reads};
    for (uint p = 0; p < 3; p++)
        for (size_t i = 0; i < bytes[p]; i += 4) {
            uint word;
            memcpy(&word, parts[p] + i, 4);
            h = mixed(h, word);
        }
    for (uint t = 0; t < thread_count; t++) h = mixed(h, routines[t].done);
    h |= 1;
    ulong i = h % SEEN;
    while (seen[i] && seen[i] != h) i = (i + 1) % SEEN;
    if (seen[i]) return 0;
    seen[i] = h;
    if (seen_count == SEEN / 2) abort();
    seen_at[seen_count++] = (uint)i;
    return 1;
}

static uint find_ready(void) {
    uint ready = 0;
    for (uint t = 0; t < thread_count; t++) ready |= !routines[t].done << t;
    return ready;
}

/* As at the begin, with some keys in the list, and behind them some objects that an earlier launch
 * erased. */
static void begin(uint keys, uint places) {
    memset(&memory, 0, sizeof memory);
    memset(&order, 0, sizeof order);
    memset(reads, 0, sizeof reads);
    memset(calls, 0, sizeof calls);
    running = THREADS;
    at_begin = (contents){{0}, {0}};
    header.map_turn = 0;
    for (uint k = 0; k < places; k++) {
        Word w = Word_null;
        CLUMP_MAP_INSERT(Words, (Words){0}, 10 + k, 70 + k, &w);
    }
    for (uint k = 0; k < places; k++) {
        Word w = CLUMP_MAP_ERASE(Words, (Words){0}, 10 + k);
        memory.key[w.id] = k; /* the key may be one that comes again */
    }
    for (uint k = 0; k < 2; k++) {
        Word w = Word_null;
        if (!(keys >> k & 1)) continue;
        CLUMP_MAP_INSERT(Words, (Words){0}, k, 50 + k, &w);
        at_begin.word[k] = w.id;
        at_begin.value[k] = 50 + k;
    }
    if (places) header.map_turn = 2;
    fence(); /* an earlier launch: all know of it */
    for (uint t = 0; t < THREADS; t++) order.knows[t] = order.tells[t] = order.knows[THREADS];
    for (uint t = 0; t < thread_count; t++) {
        running = t;
        routine_start(&routines[t], t, stacks[t]);
    }
}

static void take(uint thread) {
    running = thread;
    routine_resume(&routines[thread]);
}

/* All schedules. Returns 0 with words in `failure` if one is wrong. */
static int explore(uint keys, uint places) {
    while (seen_count) seen[seen_at[--seen_count]] = 0;
    depth = 0;
    routine_body = body;
    for (int more = 1; more && !failure[0]; runs++) {
        begin(keys, places);
        for (uint i = 0; i < depth; i++) take(schedule[i].thread);
        int goes_on = depth == 0 || is_new();
        while (goes_on && !failure[0]) {
            const uint ready = find_ready();
            if (!ready) {
                check_end();
                break;
            }
            if (depth == STEPS) fail("a call does not end");
            if (failure[0]) break;
            schedule[depth].ready = ready;
            schedule[depth].thread = (uint)__builtin_ctz(ready);
            take(schedule[depth++].thread);
            goes_on = is_new();
        }
        if (failure[0]) break;
        for (more = 0; depth && !more;) {
            const uint last = schedule[depth - 1].thread,
                       rest = schedule[depth - 1].ready & ~((2u << last) - 1);
            more = rest != 0;
            if (more)
                schedule[depth - 1].thread = (uint)__builtin_ctz(rest);
            else
                depth--;
        }
    }
    states += seen_count;
    return !failure[0];
}

static void print_failure(uint keys, uint places) {
    static const char *const kinds[] = {"find", "erase", "insert"};
    printf("FAILED: %s\n  keys at the begin: %u, erased ones: %u%s\n", failure, keys, places,
           reads_old ? ", old keys are read" : "");
    for (uint t = 0; t < thread_count; t++)
        for (uint i = 0; i < programs[t].count; i++) {
            const call *c = &calls[t * OPS + i];
            printf("  thread %u: %s %u%s: result %u, object %u, value %u\n", t,
                   kinds[programs[t].ops[i].kind], programs[t].ops[i].key,
                   c->is_done ? "" : " (not done)", c->result, c->word, c->value);
        }
    printf("  schedule:");
    for (uint i = 0; i < depth; i++) printf(" %u", schedule[i].thread);
    printf("\n");
}

/* All programs of these lengths, whose calls are of a kind and a key below `keys`, from each
 * content at the begin. */
static int explore_all(const uint *lengths, uint threads, uint keys, uint places,
                       const char *what) {
    uint calls_count = 0, kinds = 3 * keys;
    ulong choices = 1, since = states;
    thread_count = threads;
    for (uint t = 0; t < threads; t++) calls_count += lengths[t];
    for (uint i = 0; i < calls_count; i++) choices *= kinds;
    for (ulong choice = 0; choice < choices << keys; choice++) {
        ulong rest = choice >> keys;
        for (uint t = 0; t < threads; t++) {
            programs[t].count = lengths[t];
            for (uint i = 0; i < lengths[t]; i++, rest /= kinds)
                programs[t].ops[i] = (op){(op_kind)(rest % kinds % 3), (uint)(rest % kinds / 3)};
        }
        int good = 1;
        for (reads_old = 0; good && reads_old <= (places != 0); reads_old++)
            good = explore((uint)choice & ((1u << keys) - 1), places);
        reads_old--;
        if (good) continue;
        print_failure((uint)choice & ((1u << keys) - 1), places);
        return 0;
    }
    printf("%-40s %8lu programs %10lu states, %u erased\n", what, choices << keys, states - since,
           places);
    return 1;
}

/* With an argument: more, which takes minutes. */
int main(int argc, char **argv) {
    if (!routine_supported()) return 77;
    static const struct {
        uint lengths[THREADS], threads, keys, places;
        int is_slow;
        const char *what;
    } cases[] = {
        {{2, 2}, 2, 1, 0, 0, "two threads, two calls each, a key"},
        {{2, 2}, 2, 2, 0, 0, "two threads, two calls each, two keys"},
        {{3, 3}, 2, 1, 0, 0, "two threads, three calls each, a key"},
        {{1, 1, 1}, 3, 2, 0, 0, "three threads, a call each, two keys"},
        {{2, 1, 1}, 3, 1, 0, 0, "three threads, two calls and one each"},
        {{2, 2}, 2, 1, 1, 0, "two threads, two calls each, a key"},
        {{2, 2}, 2, 1, 2, 0, "two threads, two calls each, a key"},
        {{1, 1}, 2, 2, 2, 0, "two threads, a call each, two keys"},
        {{1, 1, 1}, 3, 1, 1, 0, "three threads, a call each, a key"},
        {{2, 2, 2}, 3, 1, 0, 1, "three threads, two calls each, a key"},
        {{2, 2}, 2, 2, 2, 1, "two threads, two calls each, two keys"},
        {{1, 1, 1}, 3, 2, 1, 1, "three threads, a call each, two keys"},
    };
    int good = 1;
    for (size_t i = 0; good && i < sizeof cases / sizeof *cases; i++)
        if (!cases[i].is_slow || argc > 1)
            good = explore_all(cases[i].lengths, cases[i].threads, cases[i].keys, cases[i].places,
                               cases[i].what);
    printf("%lu states, %lu runs\n", states, runs);
    return !good;
}
