/* A stripe of reserved slots: requests add to `next`, whoever takes back lowers `limit` by compare and swap, in one word
 * (cl/core/reserve.clh); `next` runs on, and is set back when it has come far. Each position is handed out
 * or taken back, once.
 *
 *   BLIND_TAKE     a thief stores the new limit, and does not compare
 *   TWO_WORDS      a request reads `limit` apart from its addition to `next`
 *   LOW_REWIND     `next` is set back below the limit
 *
 * FAULTS: BLIND_TAKE TWO_WORDS LOW_REWIND
 */
#define POSITIONS 3
#define FAR 6
#ifndef REQUESTS
#define REQUESTS 3
#endif
byte next, limit = POSITIONS, gone[POSITIONS], done;

#define ALL (gone[0] + gone[1] + gone[2])
#define HAND_OUT(p) gone[p]++; assert(gone[p] == 1)
#define END                                                                         \
    atomic {                                                                        \
        done++;                                                                     \
        if                                                                          \
        :: done == 4 ->                                                             \
            assert(ALL == (next < limit -> next + POSITIONS - limit : POSITIONS))   \
        :: else                                                                     \
        fi                                                                          \
    }

/* A request, and its rewinding if `next` has come far. */
active [2] proctype request() {
    byte i, at, end, seen_next, seen_limit;
    do
    :: i < REQUESTS ->
        i++;
#ifdef TWO_WORDS
        end = limit;
        atomic { at = next; next++ };
#else
        atomic { at = next; end = limit; next++ };
#endif
        if
        :: at < end -> atomic { HAND_OUT(at) }
        :: else ->
            if
            :: at + 1 >= FAR ->
                atomic { seen_next = next; seen_limit = limit };
                if
                :: seen_next >= FAR ->
#ifdef LOW_REWIND
                    atomic { if :: next == seen_next && limit == seen_limit -> next = 0 :: else fi }
#else
                    atomic { if :: next == seen_next && limit == seen_limit -> next = FAR - 2 :: else fi }
#endif
                :: else
                fi
            :: else
            fi
        fi
    :: else -> break
    od;
    END
}

/* Takes back one position at a time, as long as there is one. */
active [2] proctype thief() {
    byte i, seen_next, seen_limit;
    do
    :: i < 2 ->
        i++;
        atomic { seen_next = next; seen_limit = limit };
        if
        :: seen_next < seen_limit ->
#ifdef BLIND_TAKE
            atomic { limit = seen_limit - 1; HAND_OUT(seen_limit - 1) }
#else
            atomic {
                if
                :: next == seen_next && limit == seen_limit -> limit--; HAND_OUT(seen_limit - 1)
                :: else
                fi
            }
#endif
        :: else -> break
        fi
    :: else -> break
    od;
    END
}
