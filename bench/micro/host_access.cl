/* Kernels of host-access, compiled after hash.clh. The class Point comes from host_access.c; the
 * value of the object `number` is hash(number, seed), or a vector of that, at the end.
 */
__kernel void host_init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Point, self, number) {
        Point_number(self) = number;
        Point_value(self) = (VALUE)(SCALAR)0;
    }
}

__kernel void host_thin(CLUMP_HEAP, uint seed, uint keep) {
    CLUMP_FOR_EACH(Point, self) {
        if (bench_hash(Point_number(self), seed) > keep) Point_free(self);
    }
}

/* Objects whose value is not what the host should have written. */
__kernel void host_verify(CLUMP_HEAP_NO_ALLOC, uint seed) {
    ulong bad = 0ul;
    CLUMP_FOR_EACH(Point, self) {
        VALUE found = Point_value(self);
        SCALAR right = (SCALAR)bench_hash(Point_number(self), seed);
        SCALAR *lanes = (SCALAR *)&found;
        for (uint i = 0u; i < LANES; i++) bad += lanes[i] != right;
    }
    CLUMP_REDUCE(ulong, bad, CLUMP_SUM);
}
