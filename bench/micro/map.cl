/* Kernels of the benchmark map, compiled after hash.clh. The classes Table and Entry come from
 * map.c.
 *
 * Key number n is n + 1 times an odd number: no two are alike, and none is 0. Its value is n. What
 * is wrong adds to *faults.
 */
CLUMP_MAP_DEFINE(Table, Entry, uint, uint);

static uint key_of(uint number) {
    return (number + 1u) * 0x9e3779b1u;
}

__kernel void map_make(CLUMP_HEAP, __global Table *map, uint lists, __global uint *faults) {
    CLUMP_FOR_EACH_NEW(Table, self, i) {
        map[i] = self;
        if (Table_heads_resize(self, lists) != CLUMP_DONE) atomic_inc(faults);
    }
}

/* Numbers from, from + step, from + 2 * step and so on. */
__kernel void map_insert(CLUMP_HEAP, __global const Table *map, uint count, uint from, uint step,
                         __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= count) return;
    Entry entry;
    uint number = item * step + from;
    if (CLUMP_MAP_INSERT(Table, map[0], key_of(number), number, &entry) != CLUMP_DONE ||
        Entry_is_null(entry))
        atomic_inc(faults);
}

/* The key of each number is there with its value if the number is at least `from`, below `until`,
 * and a multiple of `step`. */
__kernel void map_find(CLUMP_HEAP_NO_ALLOC, __global const Table *map, uint count, uint from,
                       uint until, uint step, __global uint *faults) {
    uint item = (uint)get_global_id(0), number = item + from;
    if (item >= count) return;
    Entry entry = CLUMP_MAP_FIND(Table, map[0], key_of(number));
    uint is_due = number < until && number % step == 0u;
    if (Entry_is_null(entry) == is_due || (is_due && Entry_value(entry) != number))
        atomic_inc(faults);
}

__kernel void map_erase(CLUMP_HEAP_NO_ALLOC, __global const Table *map, uint count, uint from,
                        uint step, __global uint *faults) {
    uint item = (uint)get_global_id(0), number = item * step + from;
    if (item >= count) return;
    Entry entry = CLUMP_MAP_ERASE(Table, map[0], key_of(number));
    if (Entry_is_null(entry) || Entry_value(entry) != number) atomic_inc(faults);
}

__kernel void map_tidy(CLUMP_HEAP, __global const Table *map, uint before, __global uint *faults) {
    if (CLUMP_MAP_TIDY(Table, map[0], before) != CLUMP_DONE) atomic_inc(faults);
}

/* ---- A table of fixed size, without objects: open addressing, one place after the other. Key 0 is
 * a free place. */

__kernel void plain_insert(CLUMP_HEAP_NO_ALLOC, __global uint *keys, __global uint *values,
                           uint mask, uint count, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= count) return;
    uint key = key_of(item), place = bench_hash(key, 0u) & mask;
    for (uint n = 0u; n <= mask; n++, place = (place + 1u) & mask) {
        if (atomic_cmpxchg(&keys[place], 0u, key) != 0u) continue;
        values[place] = item;
        return;
    }
    atomic_inc(faults);
}

__kernel void plain_find(CLUMP_HEAP_NO_ALLOC, __global const uint *keys,
                         __global const uint *values, uint mask, uint count, uint from, uint until,
                         __global uint *faults) {
    uint item = (uint)get_global_id(0), number = item + from;
    if (item >= count) return;
    uint key = key_of(number), place = bench_hash(key, 0u) & mask, found = 0xffffffffu;
    for (uint n = 0u; n <= mask && keys[place] != 0u; n++, place = (place + 1u) & mask)
        if (keys[place] == key) {
            found = values[place];
            break;
        }
    if (found != (number < until ? number : 0xffffffffu)) atomic_inc(faults);
}
