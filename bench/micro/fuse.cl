/* Kernels of the benchmark fuse. The class Body comes from fuse.c.
 *
 * An update as that of n-body, cut into three loops, and two maps with a reduction. Only additions,
 * multiplications and
 * fma() are used, and no sum has a product for an operand, so that results are the same whatever
 * the compiler contracts.
 */
__kernel void make_bodies(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        Body_number(self) = Body_a(self) = Body_b(self) = i;
        Body_x(self) = (float)(i % 1000u) * 0.001f;
        Body_y(self) = (float)(i % 777u) * 0.001f;
        Body_vx(self) = (float)(i % 31u) * 0.01f;
        Body_vy(self) = (float)(i % 17u) * -0.01f;
        Body_force_x(self) = (float)(i % 5u) * 0.1f;
        Body_force_y(self) = (float)(i % 3u) * -0.1f;
    }
}

static float turned(float x, float v) {
    return x < -1.0f || x > 1.0f ? -v : v;
}

__kernel void kick(CLUMP_HEAP_NO_ALLOC, float dt) {
    CLUMP_FOR_EACH(Body, self) {
        Body_vx(self) = fma(Body_force_x(self), dt, Body_vx(self));
        Body_vy(self) = fma(Body_force_y(self), dt, Body_vy(self));
    }
}
__kernel void drift(CLUMP_HEAP_NO_ALLOC, float dt) {
    CLUMP_FOR_EACH(Body, self) {
        Body_x(self) = fma(Body_vx(self), dt, Body_x(self));
        Body_y(self) = fma(Body_vy(self), dt, Body_y(self));
    }
}
__kernel void bounce(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) {
        Body_vx(self) = turned(Body_x(self), Body_vx(self));
        Body_vy(self) = turned(Body_y(self), Body_vy(self));
    }
}

__kernel void scale(CLUMP_HEAP_NO_ALLOC, uint factor) {
    CLUMP_FOR_EACH(Body, self) Body_a(self) = Body_a(self) * factor + Body_number(self);
}
__kernel void fold(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) Body_b(self) ^= Body_a(self) >> 7;
}
__kernel void sum(CLUMP_HEAP_NO_ALLOC) {
    ulong total = 0ul;
    CLUMP_FOR_EACH(Body, self) total += Body_b(self);
    CLUMP_REDUCE(ulong, total, CLUMP_SUM);
}

/* How many objects are not as so many steps leave them. */
__kernel void count_wrong(CLUMP_HEAP_NO_ALLOC, uint updates, float dt, uint maps, uint factor) {
    ulong wrong = 0ul;
    CLUMP_FOR_EACH(Body, self) {
        uint i = Body_number(self), a = i, b = i;
        float x = (float)(i % 1000u) * 0.001f, y = (float)(i % 777u) * 0.001f;
        float vx = (float)(i % 31u) * 0.01f, vy = (float)(i % 17u) * -0.01f;
        for (uint step = 0; step < updates; step++) {
            vx = fma((float)(i % 5u) * 0.1f, dt, vx);
            vy = fma((float)(i % 3u) * -0.1f, dt, vy);
            x = fma(vx, dt, x);
            y = fma(vy, dt, y);
            vx = turned(x, vx);
            vy = turned(y, vy);
        }
        for (uint step = 0; step < maps; step++) {
            a = a * factor + i;
            b ^= a >> 7;
        }
        wrong += x != Body_x(self) || y != Body_y(self) || vx != Body_vx(self) ||
                 vy != Body_vy(self) || a != Body_a(self) || b != Body_b(self);
    }
    CLUMP_REDUCE(ulong, wrong, CLUMP_SUM);
}
