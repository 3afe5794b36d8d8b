/* Kernels of the benchmark queues. The class Body comes from queues.c. */
__kernel void make_bodies(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) Body_a(self) = 1u;
}

/* Arithmetic, so that a launch takes as long as one wants, whatever the memory does. */
__kernel void work(CLUMP_HEAP_NO_ALLOC, uint rounds) {
    CLUMP_FOR_EACH(Body, self) {
        uint a = Body_a(self);
        for (uint i = 0; i < rounds; i++) a = a * 747796405u + 2891336453u;
        Body_a(self) = a;
    }
}

__kernel void nothing(CLUMP_HEAP_NO_ALLOC) {
}

__kernel void count_wrong(CLUMP_HEAP_NO_ALLOC, uint right) {
    ulong wrong = 0;
    CLUMP_FOR_EACH(Body, self) wrong += Body_a(self) != right;
    CLUMP_REDUCE(ulong, wrong, CLUMP_SUM);
}
