/* n-body with the bodies of all ranks: blocks of bodies go round, and each rank adds up what they
 * pull with.
 *
 * The arithmetic is that of bench/apps/collision: sums are of whole quanta, so they do not depend
 * on the order of blocks, and the bodies are the same to the last bit for any number of ranks.
 *
 * A block has x, y, mass of each body; what is behind the last one has mass 0, and pulls with 0.
 *
 * Read first: nbody.schema; rules.clh and bodies.clh of bench/apps/collision, which are compiled
 * before this.
 */

__kernel void body_init(CLUMP_HEAP, __global const float *states) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        body_read(clump_heap, self, states + 5u * i);
        Body_number(self) = i;
    }
}

/* Another rank's block was here, which may have had a body more. */
__kernel void write_block(CLUMP_HEAP_NO_ALLOC, __global float4 *block, __global long2 *sums,
                          uint count, uint room) {
    CLUMP_FOR_EACH(Body, self) {
        uint i = Body_number(self);
        if (i + 1u == count) {
            for (uint behind = count; behind < room; behind++) block[behind] = (float4)(0.0f);
        }
        block[i] = (float4)(Body_x(self), Body_y(self), Body_mass(self), 0.0f);
        sums[i] = (long2)(0, 0);
    }
}

__kernel void add_pulls(CLUMP_HEAP_NO_ALLOC, __global const float4 *block, uint count,
                        __global long2 *sums, float softening2, float scale) {
    CLUMP_FOR_EACH(Body, self) {
        float x = Body_x(self), y = Body_y(self);
        long sum_x = 0, sum_y = 0;
        for (uint i = 0u; i < count; i++) {
            float4 it = block[i];
            float dx = it.x - x, dy = it.y - y; /* itself too, which pulls with 0 */
            float f = pull(dx, dy, it.z, softening2, scale);
            sum_x += quantise(f * dx);
            sum_y += quantise(f * dy);
        }
        sums[Body_number(self)] += (long2)(sum_x, sum_y);
    }
}

__kernel void update(CLUMP_HEAP_NO_ALLOC, __global const long2 *sums, float kick, float dt) {
    CLUMP_FOR_EACH(Body, self) {
        long2 sum = sums[Body_number(self)];
        body_move(clump_heap, self, convert_float_rte(sum.x), convert_float_rte(sum.y), kick, dt);
    }
}

__kernel void write_states(CLUMP_HEAP_NO_ALLOC, __global float *states) {
    CLUMP_FOR_EACH(Body, self) {
        body_write(clump_heap, self, states + 5u * Body_number(self));
    }
}
