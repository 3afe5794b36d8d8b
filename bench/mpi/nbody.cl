/* n-body with the bodies of all ranks: blocks of bodies go round, and each rank adds up what they pull with.
 *
 * The arithmetic is that of bench/apps/collision: sums are of whole quanta, so they do not depend on the order of blocks, and the bodies
 * are the same to the last bit for any number of ranks.
 *
 * A block has x, y, mass of each body; what is behind the last one has mass 0, and pulls with 0.
 *
 * Read first: nbody.schema, bench/apps/collision/rules.clh, which is compiled before this.
 */

__kernel void body_init(CLUMP_HEAP, __global const float *states) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        Body_x(self) = states[5u * i];
        Body_y(self) = states[5u * i + 1u];
        Body_vx(self) = states[5u * i + 2u];
        Body_vy(self) = states[5u * i + 3u];
        Body_mass(self) = states[5u * i + 4u];
        Body_number(self) = i;
    }
}

/* Another rank's block was here, which may have had a body more. */
__kernel void write_block(CLUMP_HEAP_FIXED, __global float4 *block, __global long2 *sums,
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

__kernel void add_pulls(CLUMP_HEAP_FIXED, __global const float4 *block, uint count,
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

__kernel void update(CLUMP_HEAP_FIXED, __global const long2 *sums, float kick, float dt) {
    CLUMP_FOR_EACH(Body, self) {
        long2 sum = sums[Body_number(self)];
        float vx = fma(convert_float_rte(sum.x), kick, Body_vx(self));
        float vy = fma(convert_float_rte(sum.y), kick, Body_vy(self));
        float x = fma(vx, dt, Body_x(self)), y = fma(vy, dt, Body_y(self));
        Body_x(self) = x;
        Body_y(self) = y;
        Body_vx(self) = bounce(x, vx);
        Body_vy(self) = bounce(y, vy);
    }
}

__kernel void write_states(CLUMP_HEAP_FIXED, __global float *states) {
    CLUMP_FOR_EACH(Body, self) {
        uint i = 5u * Body_number(self);
        states[i] = Body_x(self);
        states[i + 1u] = Body_y(self);
        states[i + 2u] = Body_vx(self);
        states[i + 3u] = Body_vy(self);
        states[i + 4u] = Body_mass(self);
    }
}
