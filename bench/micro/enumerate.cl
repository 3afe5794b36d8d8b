/* Kernels of the benchmark enumerate, compiled after hash.clh. The class Point comes from
 * enumerate.c. */

__kernel void init_points(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Point, self, number) {
        Point_number(self) = number;
        Point_x(self) = 0.0f;
        Point_v(self) = 1.0f;
    }
}

/* Whether an object survives follows from its number alone, so the host knows it too. */
__kernel void thin_points(CLUMP_HEAP, uint seed, uint keep_below, uint together) {
    CLUMP_FOR_EACH(Point, self) {
        if (bench_hash(Point_number(self) / together, seed) >= keep_below) Point_free(self);
    }
}

__kernel void visit_nothing(CLUMP_HEAP_NO_ALLOC) {
    (void)clump_heap;
}

/* Two fields read, one written: 12 bytes of traffic an object. */
__kernel void move_points(CLUMP_HEAP_NO_ALLOC, float dt) {
    CLUMP_FOR_EACH(Point, self) {
        Point_x(self) += Point_v(self) * dt;
    }
}

__kernel void sum_points(CLUMP_HEAP_NO_ALLOC) {
    ulong sum = 0ul;
    CLUMP_FOR_EACH(Point, self) {
        sum += Point_number(self);
    }
    CLUMP_REDUCE(ulong, sum, CLUMP_SUM);
}
