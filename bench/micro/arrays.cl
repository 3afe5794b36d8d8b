/* Kernels of the benchmark arrays, compiled after hash.clh. The class Dummy comes from arrays.c;
 * what each object has follows from its number. */
static uint length_of(uint number, uint shortest, uint longest) {
    return shortest + bench_hash(number, 1u) % (longest - shortest + 1u);
}

static uint data_of(uint number) {
    return bench_hash(number, 2u) % 101u;
}

static uint element_of(uint number, uint i) {
    return bench_hash(number, i + 3u);
}

__kernel void arrays_make(CLUMP_HEAP, uint shortest, uint longest, __global uint *faults) {
    CLUMP_FOR_EACH_NEW(Dummy, self, number) {
        uint n = length_of(number, shortest, longest);
        Dummy_number(self) = number;
        Dummy_data(self) = data_of(number);
        if (Dummy_values_resize(self, n) != CLUMP_DONE) {
            atomic_inc(faults);
            continue;
        }
        for (uint i = 0u; i < n; i++) Dummy_values(self, i) = element_of(number, i);
    }
}

/* Listing 4.27 of the thesis. */
__kernel void arrays_add(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Dummy, self) {
        uint n = Dummy_values_length(self), data = Dummy_data(self);
        for (uint i = 0u; i < n; i++) Dummy_values(self, i) += data;
    }
}

/* Elements and lengths that are not what so many rounds leave. */
__kernel void arrays_wrong(CLUMP_HEAP_NO_ALLOC, uint shortest, uint longest, uint rounds) {
    ulong wrong = 0ul;
    CLUMP_FOR_EACH(Dummy, self) {
        uint number = Dummy_number(self), n = Dummy_values_length(self);
        wrong += n != length_of(number, shortest, longest);
        for (uint i = 0u; i < n; i++)
            wrong += Dummy_values(self, i) != element_of(number, i) + rounds * data_of(number);
    }
    CLUMP_REDUCE(ulong, wrong, CLUMP_SUM);
}

/* ---- The same without objects: of 64 arrays, element i of all lies together, as many columns as
 * the longest array needs ---- */

__kernel void plain_add(CLUMP_HEAP_NO_ALLOC, __global const uint *lengths,
                        __global const uint *all_data, __global uint *values, uint longest,
                        uint count) {
    uint number = (uint)get_global_id(0);
    if (number >= count) return;
    uint n = lengths[number], data = all_data[number];
    __global uint *mine = values + (ulong)(number / 64u) * 64u * longest + number % 64u;
    for (uint i = 0u; i < n; i++) mine[i * 64u] += data;
}
