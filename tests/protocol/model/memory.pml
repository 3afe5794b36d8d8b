/* Memory as OpenCL 2.0 and C11 have it for relaxed atomics with fences, and PTX for its fence.sc and fence.acq_rel: the
 * view machine of Kang et al. (POPL 2017) without promises. LOCS words; each has all values that it had, and a
 * load may return any that is not older than what the thread knows of.
 *
 *   cur   what a thread knows: of each word, the oldest value that it may still read
 *   acq   what it would know after a fence: with what came along with the values that it read
 *   rel   what goes along with the values that it writes: what it knew at its last fence
 *   sc    what all know who passed a full fence
 *
 * All words are changed by read-modify-writes or by one thread, so each change follows the newest value.
 * A model defines LOCS and DEPTH (values of a word, with the first), and includes this.
 */
typedef views { byte upto[LOCS] };
typedef word { byte value[DEPTH]; byte count; views along[DEPTH] };
word mem[LOCS];
views sc;

#define LOCALS byte cur[LOCS], acq[LOCS], rel[LOCS], memory_i, memory_t, got
#define NEWEST(loc) mem[loc].value[mem[loc].count - 1]

inline begin_word(loc, new_one) {
    mem[loc].value[0] = new_one;
    mem[loc].count = 1
}

/* What came along with value number memory_t of a word. */
inline memory_seen(loc) {
    cur[loc] = (cur[loc] > memory_t -> cur[loc] : memory_t);
    for (memory_i : 0 .. LOCS - 1) {
        if
        :: acq[memory_i] < mem[loc].along[memory_t].upto[memory_i] -> acq[memory_i] = mem[loc].along[memory_t].upto[memory_i]
        :: else
        fi
    }
    acq[loc] = (acq[loc] > memory_t -> acq[loc] : memory_t);
}

/* got = the word. */
inline load(loc) {
    atomic {
        memory_t = cur[loc];
        do
        :: memory_t + 1 < mem[loc].count -> memory_t++
        :: break
        od;
        memory_seen(loc);
        got = mem[loc].value[memory_t];
        memory_t = 0
    }
}

/* Within an atomic step: the word becomes new_one, after its newest value, which the thread sees if `sees`. */
inline memory_append(loc, new_one, sees) {
    assert(mem[loc].count < DEPTH);
    memory_t = mem[loc].count - 1;
    if :: sees -> memory_seen(loc) :: else fi;
    for (memory_i : 0 .. LOCS - 1) {
        mem[loc].along[memory_t + 1].upto[memory_i] = rel[memory_i];
        /* A read-modify-write hands on what came with the value that it changed. */
        if
        :: sees && mem[loc].along[memory_t].upto[memory_i] > rel[memory_i] ->
            mem[loc].along[memory_t + 1].upto[memory_i] = mem[loc].along[memory_t].upto[memory_i]
        :: else
        fi
    }
    mem[loc].value[memory_t + 1] = new_one;
    mem[loc].count++;
    cur[loc] = memory_t + 1;
    acq[loc] = memory_t + 1;
    memory_t = 0
}

/* got = the word before; then it is new_one, an expression of NEWEST(loc). */
inline change(loc, new_one) {
    atomic {
        got = NEWEST(loc);
        memory_append(loc, new_one, true)
    }
}

/* got = the word before; it becomes new_one if it was `expected`. */
inline change_if(loc, expected, new_one) {
    atomic {
        got = NEWEST(loc);
        if
        :: got == expected -> memory_append(loc, new_one, true)
        :: else -> memory_t = mem[loc].count - 1; memory_seen(loc); memory_t = 0
        fi
    }
}

inline store(loc, new_one) {
    atomic { memory_append(loc, new_one, false) }
}

/* CLUMPI_FENCE_ACQ_REL: acquire and release. */
inline fence_release() {
    atomic {
        for (memory_i : 0 .. LOCS - 1) {
            cur[memory_i] = acq[memory_i];
            rel[memory_i] = acq[memory_i]
        }
    }
}

/* CLUMPI_FENCE: sequentially consistent. */
inline fence() {
    atomic {
        for (memory_i : 0 .. LOCS - 1) {
            if :: acq[memory_i] < sc.upto[memory_i] -> acq[memory_i] = sc.upto[memory_i] :: else fi;
            sc.upto[memory_i] = acq[memory_i];
            cur[memory_i] = acq[memory_i];
            rel[memory_i] = acq[memory_i]
        }
    }
}
