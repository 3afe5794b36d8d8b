/* Kernels of the synthetic heap that is compacted (compact_heap.h).
 *
 * Everything about an object follows from its number and the seed: its contents, whether it dies,
 * whom it points to. So a kernel can tell what must be true after objects have moved, and no list
 * of what was true before is kept.
 *
 * Compiled after compact_draw.clh. Read first: compact.schema.
 */
#define PAYLOAD 6u

static uint content(uint number, uint index) {
    return (number ^ index << 29) * 0x9e3779b1u;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static void fill(CLUMP_HEAP, Node self, uint number) {
    Node_number(self) = number;
    for (uint i = 0u; i < PAYLOAD; i++) {
        Node_payload(self, i) = content(number, i);
    }
}

__kernel void make_a(CLUMP_HEAP, __global uint *places) {
    CLUMP_FOR_EACH_NEW(A, self, number) {
        fill(clump_heap, A_as_Node(self), number);
        places[number] = self.id;
    }
}

__kernel void make_b(CLUMP_HEAP, __global uint *places) {
    CLUMP_FOR_EACH_NEW(B, self, number) {
        fill(clump_heap, B_as_Node(self), number);
        places[number] = self.id;
    }
}

__kernel void link_a(CLUMP_HEAP_NO_ALLOC, __global const uint *places_of_b, uint seed,
                     uint objects) {
    CLUMP_FOR_EACH(A, self) {
        A_other(self).id = places_of_b[pick(A_number(self), seed, DRAW_OTHER_OF_A, objects)];
    }
}

__kernel void link_b(CLUMP_HEAP_NO_ALLOC, __global const uint *places_of_a, uint seed,
                     uint objects) {
    CLUMP_FOR_EACH(B, self) {
        B_other(self).id = places_of_a[pick(B_number(self), seed, DRAW_OTHER_OF_B, objects)];
    }
}

__kernel void thin_a(CLUMP_HEAP, uint seed, ulong dead_below) {
    CLUMP_FOR_EACH(A, self) {
        if (dies(A_number(self), seed, dead_below)) A_free(self);
    }
}

__kernel void free_all(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Node, self) {
        Node_free(self);
    }
}

/* ---- Verifying ------------------------------------------------------------------------------- */

static uint is_damaged(CLUMP_HEAP_NO_ALLOC, Node self) {
    uint number = Node_number(self), wrong = 0u;
    for (uint i = 0u; i < PAYLOAD; i++) {
        wrong |= Node_payload(self, i) ^ content(number, i);
    }
    return wrong != 0u;
}

/* Both give {objects, sum of their numbers' hashes, wrong references, damaged contents}. */
__kernel void verify_a(CLUMP_HEAP_NO_ALLOC, uint seed, uint objects, ulong dead_below) {
    ulong4 sum = (ulong4)(0ul);
    CLUMP_FOR_EACH(A, self) {
        uint number = A_number(self);
        B other = A_other(self);
        uint is_right = B_is_live(other) &&
                        B_number(other) == pick(number, seed, DRAW_OTHER_OF_A, objects) &&
                        !dies(number, seed, dead_below);
        sum += (ulong4)(1ul, draw(number, seed, 0u), !is_right,
                        is_damaged(clump_heap, A_as_Node(self)));
    }
    CLUMP_REDUCE(ulong4, sum, CLUMP_SUM);
}

/* A reference to an A that died is right whatever it is, or if it is null where `dead_is_null`. */
__kernel void verify_b(CLUMP_HEAP_NO_ALLOC, uint seed, uint objects, ulong dead_below,
                       uint dead_is_null) {
    ulong4 sum = (ulong4)(0ul);
    CLUMP_FOR_EACH(B, self) {
        uint number = B_number(self);
        uint expected = pick(number, seed, DRAW_OTHER_OF_B, objects);
        A other = B_other(self);
        uint is_right = dies(expected, seed, dead_below)
                            ? !dead_is_null || A_is_null(other)
                            : A_is_live(other) && A_number(other) == expected;
        sum += (ulong4)(1ul, draw(number, seed, 0u), !is_right,
                        is_damaged(clump_heap, B_as_Node(self)));
    }
    CLUMP_REDUCE(ulong4, sum, CLUMP_SUM);
}

/* Count for each number how often its object was found in another place than the last time. */
__kernel void count_moves(CLUMP_HEAP_NO_ALLOC, __global uint *places, __global uint *moves) {
    CLUMP_FOR_EACH(A, self) {
        uint number = A_number(self);
        if (places[number] != self.id) {
            places[number] = self.id;
            moves[number]++;
        }
    }
}
