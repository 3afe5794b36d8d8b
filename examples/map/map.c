/* A map that many work-items fill at the same time: buckets with lists of entries, without a lock.
 * It counts 200,000 numbers by key, and then removes rare keys. The host counts the same numbers
 * and compares. */
#include <clump/clump.h>
#include <clump/quick.h>

enum { BUCKETS = 1024, KEYS = 5000, NUMBERS = 200000, RARE = 20 };

static const char schema[] =
    "class Bucket { ref Entry first; }\n"
    "class Entry { uint key; uint count; ref Entry next; }\n";

/* A work-item fills an entry and then publishes it with a compare-and-swap of the head of its list.
 * Entries are added only at the head, and none is removed in the same launch. An unchanged head
 * therefore means that no entry was added. */
static const char kernels[] =
    "uint random_key(uint i) {               // some keys are frequent, others rare\n"
    "    i *= 2654435761u;\n"
    "    i ^= i >> 15;\n"
    "    i *= 2246822519u;\n"
    "    i ^= i >> 13;\n"
    "    return (i % KEYS) * (i / KEYS % KEYS) / KEYS;\n"
    "}\n"
    "\n"
    "__kernel void make_buckets(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Bucket, self, i) Bucket_first(self) = Entry_null;\n"
    "}\n"
    "\n"
    "// The entry of the key in the list from `at` to `end`, or null.\n"
    "Entry find(CLUMP_HEAP_NO_ALLOC, Entry at, uint end, uint key) {\n"
    "    for (uint i = 0; i < KEYS && at.id != end && !Entry_is_null(at); i++) {\n"
    "        if (CLUMP_OBSERVED(uint, Entry_key(at)) == key) return at;\n"
    "        at.id = CLUMP_OBSERVED(uint, Entry_next(at).id);\n"
    "    }\n"
    "    return Entry_null;\n"
    "}\n"
    "\n"
    "// The entry of the key, made if it does not exist. Null if there is no room. The loop runs\n"
    "// again only if another work-item has added an entry to the list.\n"
    "Entry find_or_add(CLUMP_HEAP, Bucket bucket, uint key) {\n"
    "    Entry fresh = Entry_null;\n"
    "    uint seen = 0;\n"
    "    for (uint turn = 0; turn <= KEYS; turn++) {\n"
    "        Entry first = CLUMP_OBSERVE(Entry, Bucket_first(bucket));\n"
    "        Entry found = find(clump_heap, first, seen, key);\n"
    "        if (!Entry_is_null(found)) {\n"
    "            Entry_free(fresh);                        // of an earlier pass, or null\n"
    "            return found;\n"
    "        }\n"
    "        seen = first.id;                              // the next pass ends there\n"
    "        if (Entry_is_null(fresh)) fresh = Entry_new();\n"
    "        if (Entry_is_null(fresh)) return Entry_null;\n"
    "        Entry_key(fresh) = key;\n"
    "        Entry_count(fresh) = 0;\n"
    "        Entry_next(fresh) = first;\n"
    "        if (CLUMP_PUBLISH(Bucket_first(bucket), first, fresh) == CLUMP_DONE) return fresh;\n"
    "    }\n"
    "    Entry_free(fresh);\n"
    "    return Entry_null;\n"
    "}\n"
    "\n"
    "// `left_out` counts numbers that found no room, so that the host notices them.\n"
    "__kernel void count_keys(CLUMP_HEAP, CLUMP_NUMBERS, volatile __global uint *left_out) {\n"
    "    for (uint i = get_global_id(0); i < NUMBERS; i += get_global_size(0)) {\n"
    "        uint key = random_key(i);\n"
    "        Bucket bucket = CLUMP_AT(Bucket, key % BUCKETS);\n"
    "        Entry entry = find_or_add(clump_heap, bucket, key);\n"
    "        if (Entry_is_null(entry)) atomic_inc(left_out);\n"
    "        else CLUMP_ATOMIC_ADD(Entry_count(entry), 1);\n"
    "    }\n"
    "}\n"
    "\n"
    "// In a separate launch, in which no entry is added. Only one work-item uses each list.\n"
    "__kernel void remove_rare(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Bucket, self) {\n"
    "        Entry at = Bucket_first(self), kept = Entry_null;\n"
    "        for (uint i = 0; i < KEYS && !Entry_is_null(at); i++) {\n"
    "            Entry next = Entry_next(at);\n"
    "            if (Entry_count(at) < RARE) {\n"
    "                Entry_free(at);\n"
    "            } else {\n"
    "                Entry_next(at) = kept;\n"
    "                kept = at;\n"
    "            }\n"
    "            at = next;\n"
    "        }\n"
    "        Bucket_first(self) = kept;\n"
    "    }\n"
    "}\n";

static uint32_t random_key(uint32_t i) {
    i *= 2654435761u;
    i ^= i >> 15;
    i *= 2246822519u;
    i ^= i >> 13;
    return (i % KEYS) * (i / KEYS % KEYS) / KEYS;
}

/* Checks that all entries exist with the right counts, and no key twice. Returns the number of
 * errors. */
static int compare(clump_quick *q, const uint32_t *expected, uint32_t least) {
    static uint32_t keys[KEYS], counts[KEYS];
    static int seen[KEYS];
    uint64_t entries;
    int wrong = 0, there = 0;
    CLUMP_CHECK(
        q, clump_heap_read_field(q->heap, "Entry", "key", 0, sizeof *keys, keys, KEYS, &entries));
    CLUMP_CHECK(q, clump_heap_read_field(q->heap, "Entry", "count", 0, sizeof *counts, counts,
                                         entries, NULL));
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < entries; i++)
        if (keys[i] >= KEYS || seen[keys[i]]++ || counts[i] != expected[keys[i]]) wrong++;
    for (int k = 0; k < KEYS; k++) there += expected[k] >= least;
    printf("%d keys, %d wrong\n", (int)entries, wrong);
    return wrong + ((int)entries != there);
}

int main(void) {
    static uint32_t expected[KEYS];
    char options[128];
    snprintf(options, sizeof options, "-DBUCKETS=%d -DKEYS=%d -DNUMBERS=%d -DRARE=%d", BUCKETS,
             KEYS, NUMBERS, RARE);
    clump_quick q;
    clump_quick_desc desc = {.schema = schema, .source = kernels, .program = {.options = options}};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    clump_kernel *make_buckets = clump_program_get_kernel(q.program, "make_buckets");
    clump_kernel *count_keys = clump_program_get_kernel(q.program, "count_keys");
    clump_kernel *remove_rare = clump_program_get_kernel(q.program, "remove_rare");
    for (uint32_t i = 0; i < NUMBERS; i++) expected[random_key(i)]++;

    cl_int code;
    cl_uint left_out = 0;
    cl_mem counter = clCreateBuffer(q.cl, CL_MEM_COPY_HOST_PTR, sizeof left_out, &left_out, &code);
    CLUMP_CHECK(q.cl, code);
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, make_buckets, "Bucket", BUCKETS, NULL, NULL));
    CLUMP_CHECK(&q, clump_heap_launch(q.heap, clump_kernel_with(count_keys, CLUMP_ARGS(counter)),
                                      4096, 64, NULL));
    CLUMP_CHECK(q.queue, clEnqueueReadBuffer(q.queue, counter, CL_TRUE, 0, sizeof left_out,
                                             &left_out, 0, NULL, NULL));
    int wrong = compare(&q, expected, 1);
    CLUMP_CHECK(&q, clump_heap_do_all(q.heap, remove_rare, NULL));
    wrong += compare(&q, expected, RARE);
    CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL));

    clReleaseMemObject(counter);
    clump_quick_close(&q);
    return wrong || left_out;
}
