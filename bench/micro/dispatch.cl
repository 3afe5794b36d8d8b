/* Kernels of the benchmark dispatch, compiled after hash.clh. The classes Body and, below it, K0 to
 * K7 come from dispatch.c.
 *
 * A step of a K3 changes its `x` by WORK rounds of arithmetic with numbers of its class, so that
 * the functions of no two classes are the same code.
 */
#define CLASSES(EACH) EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7)
#define FACTOR(k) (747796405u + 2u * (k))
#define SHIFT(k) (11u + (k))

#define STEP(k)                                                                                    \
    void step_K##k(CLUMP_HEAP_NO_ALLOC, K##k self) {                                               \
        uint x = K##k##_x(self), v = K##k##_v(self);                                               \
        for (uint i = 0u; i < WORK; i++) {                                                         \
            x = x * FACTOR(k##u) + v;                                                              \
            x ^= x >> SHIFT(k##u);                                                                 \
        }                                                                                          \
        K##k##_x(self) = x;                                                                        \
    }
CLASSES(STEP)

CLUMP_DISPATCH_VOID(Body, step, (CLUMP_HEAP_NO_ALLOC, Body self), (clump_heap, self));

/* The same amount of work for every object, on a field of its own. */
void step_same(CLUMP_HEAP_NO_ALLOC, Body self) {
    uint y = Body_y(self), v = Body_v(self);
    for (uint i = 0u; i < WORK; i++) {
        y = y * FACTOR(0u) + v;
        y ^= y >> SHIFT(0u);
    }
    Body_y(self) = y;
}

__kernel void make_bodies(CLUMP_HEAP, uint kind, uint first) {
    CLUMP_FOR_EACH_NEW(Body, self, number) {
        Body_kind(self) = kind;
        Body_number(self) = first + number;
        Body_x(self) = Body_y(self) = first + number;
        Body_v(self) = bench_hash(first + number, kind);
    }
}

__kernel void step_by_dispatch(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) Body_step(clump_heap, self);
}

/* Direct calls, of one class. */
__kernel void step_class(CLUMP_HEAP_NO_ALLOC, uint kind) {
#define LOOP(k)                                                                                    \
    if (kind == k##u) CLUMP_FOR_EACH(K##k, self) step_K##k(clump_heap, self);
    CLASSES(LOOP)
}

__kernel void step_in_one_launch(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH_BY_CLASS(Body, step, (clump_heap, self));
}

__kernel void step_through(CLUMP_HEAP_NO_ALLOC, __global const uint *refs, uint count) {
    ulong i = get_global_id(0);
    if (i >= count) return;
    Body self = {refs[i]};
    Body_step(clump_heap, self);
}

__kernel void step_same_through(CLUMP_HEAP_NO_ALLOC, __global const uint *refs, uint count) {
    ulong i = get_global_id(0);
    if (i >= count) return;
    Body self = {refs[i]};
    step_same(clump_heap, self);
}

static uint stepped(uint x, uint v, uint kind, uint steps) {
    for (ulong i = 0u; i < (ulong)steps * WORK; i++) {
        x = x * FACTOR(kind) + v;
        x ^= x >> SHIFT(kind);
    }
    return x;
}

/* How many objects are wrong after so many steps. What their class is, is what the host said when
 * they were made. */
__kernel void count_wrong(CLUMP_HEAP_NO_ALLOC, uint steps, uint same_steps) {
    ulong wrong = 0ul;
    CLUMP_FOR_EACH(Body, self) {
        uint number = Body_number(self), kind = Body_kind(self), v = bench_hash(number, kind);
        wrong += Body_x(self) != stepped(number, v, kind, steps) ||
                 Body_y(self) != stepped(number, v, 0u, same_steps);
    }
    CLUMP_REDUCE(ulong, wrong, CLUMP_SUM);
}
