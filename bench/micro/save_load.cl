/* Kernels of save-load, compiled after hash.clh and grown.clh. The class Body comes from save_load.c. `place` is
 * the object's number among those that are alive, by which its references are drawn; `number`, by
 * which its values are, that when it was made.
 */
__kernel void save_init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, number) {
        Body_number(self) = number;
        Body_at(self) = (float4)((float)number);
        Body_speed(self) = (float4)((float)(number % 1000u));
        grown_init(clump_heap, self, number);
    }
}

__kernel void save_thin(CLUMP_HEAP, uint seed, uint keep) {
    CLUMP_FOR_EACH(Body, self) {
        if (bench_hash(Body_number(self), seed) > keep) Body_free(self);
    }
}

static uint near_of(uint place, uint k, uint count) {
    return bench_hash(place, k) % count;
}

__kernel void save_link(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint count) {
    CLUMP_FOR_EACH_NUMBERED(Body, self, place) {
        Body_place(self) = place;
        Body_next(self) = CLUMP_AT(Body, (place + 1u) % count);
        for (uint k = 0u; k < 3u; k++)
            Body_near(self, k) = CLUMP_AT(Body, near_of(place, k, count));
    }
}

/* Values and references that are wrong. */
__kernel void save_verify(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, uint count) {
    ulong bad = 0ul;
    CLUMP_FOR_EACH_NUMBERED(Body, self, place) {
        uint number = Body_number(self);
        bad += Body_place(self) != place;
        bad += Body_at(self).x != (float)number || Body_at(self).w != (float)number;
        bad += Body_speed(self).y != (float)(number % 1000u);
        bad += grown_bad(clump_heap, self, number);
        bad += Body_place(Body_next(self)) != (place + 1u) % count;
        for (uint k = 0u; k < 3u; k++)
            bad += Body_place(Body_near(self, k)) != near_of(place, k, count);
    }
    CLUMP_REDUCE(ulong, bad, CLUMP_SUM);
}
