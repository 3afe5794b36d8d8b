/* Kernels of extract, compiled after hash.clh and grown.clh. The class Body comes from extract.c. `place` is the
 * object's number among those that are alive, by which its values and references are drawn, and
 * whether it is taken; before it has one, the number when it was made.
 */
__kernel void extract_init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, number) {
        Body_place(self) = number;
    }
}

__kernel void extract_thin(CLUMP_HEAP, uint seed, uint keep) {
    CLUMP_FOR_EACH(Body, self) {
        if (bench_hash(Body_place(self), seed) > keep) Body_free(self);
    }
}

static uint is_taken(uint place, uint seed, uint share) {
    return bench_hash(place, ~seed) <= share;
}

static uint near_of(uint place, uint k, uint count) {
    return bench_hash(place, k) % count;
}

__kernel void extract_link(GROWN_HEAP, CLUMP_NUMBERS, uint count, uint seed, uint share) {
    CLUMP_FOR_EACH_NUMBERED(Body, self, place) {
        Body_taken(self) = is_taken(place, seed, share);
        Body_place(self) = place;
        Body_at(self) = (float4)((float)place);
        Body_speed(self) = (float4)((float)(place % 1000u));
        grown_init(clump_heap, self, place);
        Body_next(self) = CLUMP_AT(Body, (place + 1u) % count);
        for (uint k = 0u; k < 3u; k++)
            Body_near(self, k) = CLUMP_AT(Body, near_of(place, k, count));
    }
}

/* Values and references that are wrong. */
__kernel void extract_verify(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint count, uint seed,
                             uint share) {
    ulong bad = 0ul;
    CLUMP_FOR_EACH_NUMBERED(Body, self, number) {
        uint place = Body_place(self);
        bad += Body_taken(self) != 1u || !is_taken(place, seed, share);
        bad += Body_at(self).x != (float)place || Body_at(self).w != (float)place;
        bad += Body_speed(self).y != (float)(place % 1000u);
        bad += grown_bad(clump_heap, self, place);
        for (uint k = 0u; k < 4u; k++) {
            uint to = k < 3u ? near_of(place, k, count) : (place + 1u) % count;
            Body ref = k < 3u ? Body_near(self, k) : Body_next(self);
            if (!is_taken(to, seed, share))
                bad += !Body_is_null(ref);
            else
                bad += Body_place(ref) != to;
        }
    }
    CLUMP_REDUCE(ulong, bad, CLUMP_SUM);
}
