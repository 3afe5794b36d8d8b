/* A block of two slots, and work-items of two classes that take a credit, a slot, write to it, and give both back: open,
 * reserve, claim, free, return and retire of cl/core/block.clh, one shared operation at a time.
 *
 *   state = class * 16 + credits                   bits: one of each slot
 *
 * Always: bits <= credits; credits that are kept <= slots; in a free block no bits; a slot has one owner. In the end: all free.
 *
 *   EARLY_CREDIT   a free gives the credit back before the bit
 *   BLIND_RETIRE   retiring is a store, and no compare and swap
 *   GREEDY         a credit is kept although it is one too many
 *   WRONG_CLASS    a credit of a block that has another class by now is kept
 *   TWO_STEPS      a slot's bit is looked at, and then set
 *
 * FAULTS: EARLY_CREDIT BLIND_RETIRE GREEDY WRONG_CLASS TWO_STEPS
 */
#define CAPACITY 2
#ifndef WORKERS
#define WORKERS 3
#endif
byte state, bits[CAPACITY], owners[CAPACITY], granted, done;

#define CLASS(s) ((s) / 16)
#define CREDITS(s) ((s) % 16)
#define BITS (bits[0] + bits[1])
#define INVARIANT assert(BITS <= CREDITS(state) && (CLASS(state) != 0 || BITS == 0))

/* The credit that was given back was the last one: free the block if it is still so. */
inline retire() {
#ifdef BLIND_RETIRE
    if
    :: atomic { state == class * 16 -> skip }; atomic { state = 0; INVARIANT }
    :: else
    fi
#else
    atomic {
        if :: state == class * 16 -> state = 0 :: else fi;
        INVARIANT
    }
#endif
}

inline give_back() {
    atomic { old = state; state--; INVARIANT };
    if
    :: CREDITS(old) == 1 && CLASS(old) != 0 ->
        mine = class;
        class = CLASS(old);
        retire();
        class = mine
    :: else
    fi
}

inline take_credit() {
    kept = 0;
    seen = state;
    if
    :: CLASS(seen) == 0 -> /* open, with the credits of late comers */
        atomic {
            if
            :: state == seen -> state = class * 16 + seen + 1; kept = 1
            :: else
            fi;
            INVARIANT
        }
    :: CLASS(seen) == class && CREDITS(seen) < CAPACITY ->
        atomic { old = state; state++; INVARIANT };
#ifdef GREEDY
        kept = (CLASS(old) == class);
#else
#ifdef WRONG_CLASS
        kept = (CREDITS(old) < CAPACITY);
#else
        kept = (CLASS(old) == class && CREDITS(old) < CAPACITY);
#endif
#endif
        if :: !kept -> give_back() :: else fi
    :: else
    fi
}

/* With a credit there is a clear bit, if not now then when the others are done. */
inline claim() {
    slot = 0;
    do
    :: slot < CAPACITY ->
#ifdef TWO_STEPS
        if
        :: bits[slot] == 0 -> atomic { bits[slot] = 1; owners[slot]++; assert(owners[slot] == 1); INVARIANT }; break
        :: else -> slot++
        fi
#else
        atomic {
            if
            :: bits[slot] == 0 -> bits[slot] = 1; owners[slot]++; assert(owners[slot] == 1); INVARIANT; break
            :: else -> slot++
            fi
        }
#endif
    :: else -> slot = 0
    od
}

active [WORKERS] proctype worker() {
    byte class, round, kept, seen, old, slot, mine;
    if
    :: class = 1
    :: class = 2
    fi;
    do
    :: round < 1 + (_pid == 0) ->
        round++;
        take_credit();
        if
        :: kept ->
            atomic { granted++; assert(granted <= CAPACITY) };
            claim();
            assert(CLASS(state) == class);
            granted--;
#ifdef EARLY_CREDIT
            give_back();
            atomic { owners[slot]--; bits[slot] = 0; INVARIANT }
#else
            atomic { owners[slot]--; bits[slot] = 0; INVARIANT };
            give_back()
#endif
        :: else
        fi
    :: else -> break
    od;
    atomic {
        done++;
        if :: done == WORKERS -> assert(state == 0 && BITS == 0) :: else fi
    }
}
