/* Kernels of field-bandwidth. VALUE is the type of a field, SCALAR(v) a number of one, FIELDS of
 * them are in an object, of which TOUCH are read and written; the class Record comes from
 * field.c.
 *
 * The plain kernels do the same with arrays of `count` objects as one would lay them out by hand:
 * a column per field, or a struct per object.
 */
#if PLAIN_AOS
#define AT(object, field, count) ((object)*FIELDS + (field))
#else
#define AT(object, field, count) ((ulong)(field) * (count) + (object))
#endif

__kernel void field_init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Record, self, number) {
        Record_number(self) = number;
        for (uint i = 0u; i < FIELDS; i++) Record_f(self, i) = (VALUE)(SCALAR)(number + i);
    }
}

__kernel void field_touch(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Record, self) {
#pragma unroll /* before the loop over slots is vectorised */
        for (uint i = 0u; i < TOUCH; i++) Record_f(self, i) += (VALUE)(SCALAR)1;
    }
}

/* 1 if field i of object `number` is not as it should be after `rounds` times 1 was added. */
static uint is_wrong(VALUE found, uint number, uint i, uint rounds) {
    VALUE right = (VALUE)(SCALAR)(number + i + (i < TOUCH ? rounds : 0u));
    SCALAR *a = (SCALAR *)&found, *b = (SCALAR *)&right;
    return a[0] != b[0] || a[LANES - 1] != b[LANES - 1];
}

/* The number of wrong objects. */
__kernel void field_verify(CLUMP_HEAP_NO_ALLOC, uint rounds, uint count) {
    ulong bad = 0ul;
    CLUMP_FOR_EACH(Record, self) {
        uint number = Record_number(self), wrong = number >= count;
        for (uint i = 0u; i < FIELDS; i++) wrong |= is_wrong(Record_f(self, i), number, i, rounds);
        bad += wrong;
    }
    CLUMP_REDUCE(ulong, bad, CLUMP_SUM);
}

__kernel void plain_init(CLUMP_HEAP_NO_ALLOC, __global VALUE *f, uint count) {
    ulong number = get_global_id(0);
    if (number >= count) return;
    for (uint i = 0u; i < FIELDS; i++) f[AT(number, i, count)] = (VALUE)(SCALAR)(number + i);
}

__kernel void plain_touch(CLUMP_HEAP_NO_ALLOC, __global VALUE *f, uint count) {
    ulong number = get_global_id(0);
    if (number >= count) return;
#pragma unroll
    for (uint i = 0u; i < TOUCH; i++) f[AT(number, i, count)] += (VALUE)(SCALAR)1;
}

__kernel void plain_verify(CLUMP_HEAP_NO_ALLOC, __global const VALUE *f, uint count, uint rounds,
                           __global uint *faults) {
    ulong number = get_global_id(0);
    if (number >= count) return;
    uint wrong = 0u;
    for (uint i = 0u; i < FIELDS; i++)
        wrong |= is_wrong(f[AT(number, i, count)], (uint)number, i, rounds);
    if (wrong) atomic_inc(faults);
}

__kernel void plain_copy(CLUMP_HEAP_NO_ALLOC, __global const VALUE *from, __global VALUE *to,
                         ulong count) {
    ulong i = get_global_id(0);
    if (i < count) to[i] = from[i];
}
