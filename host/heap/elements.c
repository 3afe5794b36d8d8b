/* Arrays that grow, on their way (elements.h).
 *
 * The device counts elements: an array's length is read by kernels only. Of a batch, up to
 * `at_once` objects, `handles` says where their elements are, and `ends` how many elements of the
 * launch there are up to and with each object:
 *
 *   lengths     3 │ 0 │ 5 │ 2        of a batch, without elements in the objects: 10 in all
 *   ends        3 │ 3 │ 7 │ 7        a launch of 7 elements, from number 0 of the batch on
 *               0 │ 0 │ 1 │ 3        the next one, of 3: it skips 4 of object 2
 *   values      0 0 0 2 2 2 2        of which object each is, of the first launch
 *
 * The host knows the elements of each batch, from clumpi_arrays_measure(), so it knows which
 * batches a piece of elements has, and never waits for a length.
 *
 * Read first: elements.h.
 */
#include "heap/elements.h"

#include <stddef.h>

#include "heap/program.h"

static const char *const kernel_files[] = {"cl/core/layout.h", "cl/heap/layout.h",
                                           "cl/heap/elements.cl"};
static const char *const kernel_names[] = {CLUMPI_ELEMENTS_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_elements_library = CLUMPI_LIBRARY(NULL, NULL);

#define AT_ONCE (UINT32_C(1) << 18) /* objects: three buffers of 1 MiB */
#define PART                                                                                       \
    ((uint64_t)CLUMPI_COUNT_RUN * CLUMPI_COUNT_PART) /* objects that have a sum on the host */

static clump_context *context_of(const clumpi_arrays *a) {
    return clumpi_heap_context(a->heap);
}

static const clump_field_info *part_of(const clumpi_arrays *a, clump_array_part part) {
    return clumpi_schema_part(clumpi_heap_schema(a->heap), &a->array, part);
}

static clump_status open_memory(clumpi_arrays *a) {
    static const char what[] = "arrays of run-time length";
    clump_context *c = context_of(a);
    a->at_once = a->objects < AT_ONCE ? (uint32_t)a->objects : AT_ONCE;
    const uint64_t bytes = (uint64_t)a->at_once * sizeof(clumpi_u32);
    a->host_words = clumpi_alloc(&c->allocator, bytes);
    clump_status status = a->host_words ? CLUMP_OK
                                        : clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                                                      "no host memory for %s", what);
    if (!status) status = clumpi_buffer_create(c, bytes, what, &a->lengths);
    if (!status) status = clumpi_buffer_create(c, bytes, what, &a->handles);
    if (!status) status = clumpi_buffer_create(c, bytes, what, &a->ends);
    if (status) clumpi_arrays_close(a);
    return status;
}

clump_status clumpi_arrays_open(clumpi_dense *d, uint32_t class_id, const clump_field_info *array,
                                clumpi_arrays *a) {
    *a = (clumpi_arrays){.heap = d->heap,
                         .dense = d,
                         .array = *array,
                         .class_id = class_id,
                         .objects = clumpi_dense_count(d, class_id)};
    return open_memory(a);
}

clump_status clumpi_arrays_open_words(clump_heap *heap, uint32_t class_id,
                                      const clump_field_info *array, uint64_t objects,
                                      const clumpi_array_words *words, clumpi_arrays *a) {
    *a = (clumpi_arrays){
        .heap = heap, .words = *words, .array = *array, .class_id = class_id, .objects = objects};
    return open_memory(a);
}

void clumpi_arrays_close(clumpi_arrays *a) {
    if (!a->heap) return;
    clump_context *c = context_of(a);
    clumpi_buffer_release(c, &a->counts);
    clumpi_buffer_release(c, &a->lengths);
    clumpi_buffer_release(c, &a->handles);
    clumpi_buffer_release(c, &a->ends);
    clumpi_free(&c->allocator, a->host_words);
    clumpi_free(&c->allocator, a->host_sums);
    clumpi_free(&c->allocator, a->replaced);
    a->heap = NULL;
}

/* How many of the objects from number `from` on are dealt with at once. */
uint32_t clumpi_arrays_next(const clumpi_arrays *a, uint64_t from) {
    const uint64_t left = a->objects - from;
    return left < a->at_once ? (uint32_t)left : a->at_once;
}

/* Of n objects from number `from` on. */
static clump_status fetch(clumpi_arrays *a, clump_array_part part, uint64_t from, uint32_t n,
                          cl_mem words) {
    const uint64_t word = sizeof(clumpi_u32);
    a->has_batch = 0;
    return a->dense ? clumpi_dense_read(a->dense, a->class_id, part_of(a, part), from, n, words, 0)
                    : clumpi_copy(context_of(a), a->words.buffer, a->words.at[part] + from * word,
                                  words, 0, n * word);
}

/* The same into `handles`; and out of it, or of another buffer. */
static clump_status fetch_words(clumpi_arrays *a, clump_array_part part, uint64_t from,
                                uint32_t n) {
    return fetch(a, part, from, n, a->handles);
}

static clump_status store_handles(clumpi_arrays *a, uint64_t from, uint32_t n, cl_mem handles) {
    const uint64_t word = sizeof(clumpi_u32);
    return a->dense ? clumpi_dense_write(a->dense, a->class_id, part_of(a, CLUMP_PART_MEMORY), from,
                                         n, handles)
                    : clumpi_copy(context_of(a), handles, 0, a->words.buffer,
                                  a->words.at[CLUMP_PART_MEMORY] + from * word, n * word);
}

/* ---- Out of the heap ------------------------------------------------------------------------- */

clump_status clumpi_arrays_read_words(clumpi_arrays *a, clump_array_part part, uint64_t from,
                                      uint32_t n, uint32_t *words) {
    clump_status status = fetch_words(a, part, from, n);
    return status ? status
                  : clumpi_read(context_of(a), a->handles, 0, (uint64_t)n * sizeof *words, words);
}

static uint32_t parts_of(const clumpi_arrays *a) {
    return (uint32_t)((a->objects + PART - 1) / PART);
}

/* A kernel that has a run of CLUMPI_COUNT_RUN of n objects for each work-item. */
static clump_status run_counts(clumpi_arrays *a, clumpi_kernel_id kernel, const clumpi_arg *args,
                               uint32_t arg_count) {
    const clumpi_launch_sizes *sizes = &context_of(a)->sizes;
    return clumpi_run_on_heap(a->heap, kernel, sizes->do_all_global, sizes->do_all_local, args,
                              arg_count, NULL);
}

static clump_status count_some(clumpi_arrays *a, uint64_t from, uint32_t n, clumpi_u32 checks) {
    const clumpi_u64 first = from, limit = clump_heap_get_info(a->heap)->bytes;
    const clumpi_u32 inside = a->array.count, each = a->array.element_bytes, parts = parts_of(a);
    const clumpi_arg args[] = {{sizeof a->lengths, &a->lengths},
                               {sizeof a->ends, &a->ends},
                               {sizeof a->handles, &a->handles},
                               {sizeof n, &n},
                               {sizeof first, &first},
                               {sizeof inside, &inside},
                               {sizeof each, &each},
                               {sizeof limit, &limit},
                               {sizeof checks, &checks},
                               {sizeof a->counts, &a->counts},
                               {sizeof parts, &parts}};
    clump_status status = fetch(a, CLUMP_PART_LENGTH, from, n, a->lengths);
    if (!status && checks) status = fetch(a, CLUMP_PART_CAPACITY, from, n, a->ends);
    if (!status && checks == CLUMPI_COUNT_CHECK_ALL)
        status = fetch(a, CLUMP_PART_MEMORY, from, n, a->handles);
    return status ? status
                  : run_counts(a, CLUMPI_ELEMENTS_KERNEL(elements_sum), args,
                               sizeof args / sizeof *args);
}

static clump_status fail_wrong(clumpi_arrays *a, uint32_t object) {
    const clump_schema *schema = clumpi_heap_schema(a->heap);
    uint32_t length, capacity;
    clump_status status = clumpi_arrays_read_words(a, CLUMP_PART_LENGTH, object, 1, &length);
    if (!status) status = clumpi_arrays_read_words(a, CLUMP_PART_CAPACITY, object, 1, &capacity);
    if (status) return status;
    return clumpi_fail(
        &context_of(a)->error, a->words.are_new ? CLUMP_ERR_FORMAT : CLUMP_ERR_CORRUPT,
        "an array %s of class %s was overwritten: its length is %u, with room for %llu elements",
        a->array.name, clump_schema_get_info(schema)->classes[a->class_id]->name, length,
        (unsigned long long)a->array.count + capacity);
}

/* Room for what the device counts, which is 0. */
static clump_status open_counts(clumpi_arrays *a) {
    clump_context *c = context_of(a);
    const uint64_t runs = (a->objects + CLUMPI_COUNT_RUN - 1) / CLUMPI_COUNT_RUN,
                   sums = CLUMPI_COUNT_PARTS + parts_of(a), word = sizeof *a->host_sums;
    clump_status status = CLUMP_OK;
    if (!a->host_sums) a->host_sums = clumpi_alloc(&c->allocator, sums * word);
    if (!a->host_sums)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu arrays",
                           (unsigned long long)a->objects);
    if (!a->counts)
        status = clumpi_buffer_create(c, (sums + runs) * word, "numbers of elements", &a->counts);
    return status ? status : clumpi_clear(c, a->counts, 0, sums * word);
}

clump_status clumpi_arrays_measure(clumpi_arrays *a, clumpi_array_sums *sums) {
    const uint32_t parts = parts_of(a), checks = !sums              ? 0
                                                 : a->words.are_new ? CLUMPI_COUNT_CHECK_LENGTHS
                                                                    : CLUMPI_COUNT_CHECK_ALL;
    clump_status status = open_counts(a);
    for (uint64_t from = 0; from < a->objects && !status; from += a->at_once)
        status = count_some(a, from, clumpi_arrays_next(a, from), checks);
    if (!status)
        status = clumpi_read(context_of(a), a->counts, 0,
                             (CLUMPI_COUNT_PARTS + parts) * sizeof *a->host_sums, a->host_sums);
    a->batch = a->taken = 0;
    if (status) return status;
    if (a->host_sums[CLUMPI_COUNT_WRONG])
        return fail_wrong(a, ~(uint32_t)a->host_sums[CLUMPI_COUNT_WRONG]);
    if (sums) sums->capacity += a->host_sums[CLUMPI_COUNT_ROOM];
    for (uint32_t i = 0; i < parts && sums; i++)
        sums->elements += a->host_sums[CLUMPI_COUNT_PARTS + i];
    return CLUMP_OK;
}

/* ---- Into the heap --------------------------------------------------------------------------- */

/* A command that fails loses no raw memory, if the next one succeeds. Whatever gives memory an
 * owner or back is tried again, and does nothing the second time to what it has done. The call
 * fails nevertheless. */

/* As make_arrays.cl has them. */
typedef enum memory_way { MAKE, GET_CAPACITY, FREE } memory_way;

static clump_status get_kernel(clumpi_arrays *a, memory_way way, clump_kernel **k) {
    static const char key;
    const clumpi_u32 each = a->array.element_bytes, is = way;
    clump_status status =
        clumpi_own_kernel(a->heap, &key, "cl/api/make_arrays.cl", "make_arrays", k);
    if (!status) status = clump_kernel_set_arg(*k, 0, sizeof a->handles, &a->handles);
    if (!status) status = clump_kernel_set_arg(*k, 2, sizeof each, &each);
    if (!status) status = clump_kernel_set_arg(*k, 3, sizeof a->ends, &a->ends);
    if (!status) status = clump_kernel_set_arg(*k, 4, sizeof is, &is);
    return status ? status : clump_kernel_set_arg(*k, 5, sizeof a->lengths, &a->lengths);
}

/* With the words of n objects in `handles`. */
static clump_status run_some(clumpi_arrays *a, clump_kernel *k, uint32_t n) {
    size_t global = context_of(a)->sizes.do_all_global, local = context_of(a)->sizes.do_all_local;
    clumpi_group_fit(k->group_limit, &global, &local);
    clump_status status = clump_kernel_set_arg(k, 1, sizeof n, &n);
    return status ? status : clump_heap_launch(a->heap, k, global, local, NULL);
}

/* The call tells of the first failure. */
static void keep_first(const clumpi_arrays *a, clump_status *first, clump_error *cause,
                       clump_status status) {
    if (*first) return;
    *first = status;
    *cause = context_of(a)->error;
}

/* The capacities of n objects become handles of raw memory, which the objects then have. They are
 * in `lengths` in between. */
static clump_status make_some(clumpi_arrays *a, clump_kernel *k, uint64_t from, uint32_t n) {
    clump_status status = fetch_words(a, CLUMP_PART_CAPACITY, from, n);
    if (!status) status = clumpi_clear(context_of(a), a->lengths, 0, n * sizeof(clumpi_u32));
    if (status) return status;
    status = run_some(a, k, n);
    clump_error cause = context_of(a)->error;
    for (int turn = 0; turn < 2; turn++) {
        const clump_status stored = store_handles(a, from, n, a->lengths);
        if (!stored) break;
        keep_first(a, &status, &cause, stored);
    }
    if (status) context_of(a)->error = cause;
    return status;
}

static clump_status make_all(clumpi_arrays *a, clumpi_u32 *failed) {
    clump_context *c = context_of(a);
    clump_kernel *k;
    clump_status status = get_kernel(a, MAKE, &k);
    if (!status) status = clumpi_clear(c, a->ends, 0, sizeof *failed);
    for (uint64_t from = 0, n; from < a->objects && !status; from += n) {
        n = clumpi_arrays_next(a, from);
        status = make_some(a, k, from, (uint32_t)n);
    }
    return status ? status : clumpi_read(c, a->ends, 0, sizeof *failed, failed);
}

static uint64_t reports_at(const clump_heap *heap) {
    return clumpi_header_offset(heap, offsetof(clumpi_header, errors));
}

clump_status clumpi_arrays_read_reports(clump_heap *heap, clumpi_error *errors) {
    return clumpi_read(clumpi_heap_context(heap), clumpi_heap_buffer(heap), reports_at(heap),
                       CLUMPI_ERRORS * sizeof *errors, errors);
}

clump_status clumpi_arrays_set_reports(clump_heap *heap, clumpi_error *errors,
                                       clump_status status) {
    clump_context *c = clumpi_heap_context(heap);
    const clump_error cause = c->error;
    const uint64_t bytes = CLUMPI_ERRORS * sizeof *errors;
    const clump_status set =
        clumpi_write(c, clumpi_heap_buffer(heap), reports_at(heap), bytes, errors);
    if (set) (void)clumpi_write(c, clumpi_heap_buffer(heap), reports_at(heap), bytes, errors);
    if (!status) return set;
    c->error = cause;
    return status;
}

clump_status clumpi_arrays_make(clumpi_arrays *a, clumpi_u32 *failed) {
    clumpi_error errors[CLUMPI_ERRORS];
    *failed = 0;
    clump_status status = clumpi_arrays_read_reports(a->heap, errors);
    if (status) return status;
    status = make_all(a, failed);
    return status || *failed ? clumpi_arrays_set_reports(a->heap, errors, status) : CLUMP_OK;
}

clump_status clumpi_arrays_store_handles(clumpi_arrays *a, uint64_t from, uint32_t n,
                                         const uint32_t *handles) {
    const clump_status status =
        clumpi_write(context_of(a), a->handles, 0, n * sizeof *handles, handles);
    return status ? status : store_handles(a, from, n, a->handles);
}

static clump_status copy_words(clumpi_arrays *a, clump_array_part part, uint32_t *words,
                               int is_read) {
    const uint64_t bytes = a->objects * sizeof *words;
    return is_read ? clumpi_read(context_of(a), a->words.buffer, a->words.at[part], bytes, words)
                   : clumpi_write(context_of(a), a->words.buffer, a->words.at[part], bytes, words);
}

/* The memory of the handles, or NULL: of those that the words have. */
static clump_status free_all(clumpi_arrays *a, const uint32_t *handles) {
    clump_context *c = context_of(a);
    clump_kernel *k;
    clump_status first = get_kernel(a, FREE, &k);
    clump_error cause = c->error;
    clump_status again = first ? get_kernel(a, FREE, &k) : first;
    for (uint64_t from = 0, n; from < a->objects && !again; from += n) {
        n = clumpi_arrays_next(a, from);
        for (int turn = 0; turn < 2; turn++) {
            again = handles ? clumpi_write(c, a->handles, 0, n * sizeof *handles, handles + from)
                            : fetch_words(a, CLUMP_PART_MEMORY, from, (uint32_t)n);
            if (!again) break;
            keep_first(a, &first, &cause, again);
        }
        for (int turn = 0; turn < 2 && !again; turn++) { /* what was freed is 0 then */
            const clump_status status = run_some(a, k, (uint32_t)n);
            if (!status) break;
            keep_first(a, &first, &cause, status);
        }
    }
    if (first) c->error = cause;
    return first;
}

/* After a failure, of which the cause is kept. */
static void give_back(clumpi_arrays *a, const uint32_t *handles) {
    const clump_error error = context_of(a)->error;
    (void)free_all(a, handles);
    context_of(a)->error = error;
}

/* Capacities that are not 0 are made, and become those that the memory has. handles: what was made.
 * After a failure nothing is left of it. */
static clump_status make_missing(clumpi_arrays *a, const char *where, uint32_t *missing,
                                 uint32_t *handles) {
    clump_context *c = context_of(a);
    clump_kernel *k;
    clump_status status = copy_words(a, CLUMP_PART_CAPACITY, missing, 0);
    if (!status)
        status = clumpi_clear(c, a->words.buffer, a->words.at[CLUMP_PART_MEMORY],
                              a->objects * sizeof *handles);
    if (status) return status;
    clumpi_u32 failed;
    status = clumpi_arrays_make(a, &failed);
    if (!status && failed)
        status = clumpi_fail(
            &c->error, CLUMP_ERR_DEVICE_MEMORY,
            "the heap has no raw memory for %u of the %llu arrays %s of class %s in %s. "
            "Make it larger",
            failed, (unsigned long long)a->objects, a->array.name,
            clump_schema_get_info(clumpi_heap_schema(a->heap))->classes[a->class_id]->name, where);
    if (!status) status = copy_words(a, CLUMP_PART_MEMORY, handles, 1);
    if (!status) status = get_kernel(a, GET_CAPACITY, &k);
    for (uint64_t from = 0, n; from < a->objects && !status; from += n) {
        n = clumpi_arrays_next(a, from);
        status = fetch_words(a, CLUMP_PART_MEMORY, from, (uint32_t)n);
        if (!status) status = run_some(a, k, (uint32_t)n);
        if (!status) status = clumpi_read(c, a->handles, 0, n * sizeof *missing, missing + from);
    }
    if (status) give_back(a, NULL);
    return status;
}

clump_status clumpi_arrays_renew(clumpi_arrays *a, const uint32_t *lengths, const char *where) {
    clump_context *c = context_of(a);
    const uint64_t n = a->objects;
    uint32_t *had = a->replaced = clumpi_alloc(&c->allocator, 2 * n * sizeof *had);
    uint32_t *words = clumpi_alloc(&c->allocator, 2 * n * sizeof *words);
    uint32_t *made = had ? had + n : NULL, *missing = words ? words + n : NULL;
    clump_status status = CLUMP_OK;
    if (!had || !words)
        status = clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu arrays",
                             (unsigned long long)n);
    if (!status) status = copy_words(a, CLUMP_PART_MEMORY, had, 1);
    if (!status) status = copy_words(a, CLUMP_PART_CAPACITY, words, 1);
    for (uint64_t i = 0; i < n && !status; i++) {
        const uint32_t need = lengths[i] > a->array.count ? lengths[i] - a->array.count : 0;
        missing[i] = need > words[i] ? need : 0;
        a->replaces |= missing[i] != 0;
    }
    if (!status && a->replaces) {
        status = make_missing(a, where, missing, made);
        a->replaces = !status;
    }
    if (!status && a->replaces) {
        for (uint64_t i = 0; i < n; i++)
            if (missing[i]) words[i] = missing[i];
        status = copy_words(a, CLUMP_PART_CAPACITY, words, 0);
        for (uint64_t i = 0; i < n; i++) {
            words[i] = missing[i] ? made[i] : had[i];
            if (!missing[i]) had[i] = 0; /* it stays */
        }
        if (!status) status = copy_words(a, CLUMP_PART_MEMORY, words, 0);
        if (status) (void)clumpi_arrays_renewed(a, 0);
    }
    clumpi_free(&c->allocator, words);
    return status;
}

clump_status clumpi_arrays_renewed(clumpi_arrays *a, int is_written) {
    if (!a->replaces) return CLUMP_OK;
    a->replaces = 0;
    if (is_written) return free_all(a, a->replaced);
    give_back(a, a->replaced + a->objects);
    return CLUMP_OK;
}

/* ---- Elements -------------------------------------------------------------------------------- */

/* Elements of the objects of a batch. */
static uint64_t elements_of(const clumpi_arrays *a, uint64_t batch) {
    const uint32_t parts = parts_of(a), each = AT_ONCE / PART;
    uint64_t sum = 0;
    for (uint64_t i = batch * each; i < parts && i < (batch + 1) * each; i++)
        sum += a->host_sums[CLUMPI_COUNT_PARTS + i];
    return sum;
}

/* n elements of the batch of objects from number `from` on. */
static clump_status copy_some(clumpi_arrays *a, uint64_t from, cl_mem values, clumpi_u64 at,
                              clumpi_u32 n, int is_read) {
    const clumpi_u64 first = from, begin = a->taken;
    const clumpi_u32 each = a->array.element_bytes, read = is_read ? 1 : 0, inside = a->array.count,
                     objects = clumpi_arrays_next(a, from), parts = parts_of(a);
    const clumpi_arg ends[] = {{sizeof a->lengths, &a->lengths}, {sizeof objects, &objects},
                               {sizeof first, &first},           {sizeof inside, &inside},
                               {sizeof a->counts, &a->counts},   {sizeof parts, &parts},
                               {sizeof begin, &begin},           {sizeof n, &n},
                               {sizeof a->ends, &a->ends}};
    const clumpi_arg copy[] = {{sizeof a->handles, &a->handles},
                               {sizeof a->ends, &a->ends},
                               {sizeof objects, &objects},
                               {sizeof a->counts, &a->counts},
                               {sizeof values, &values},
                               {sizeof at, &at},
                               {sizeof each, &each},
                               {sizeof read, &read}};
    clump_status status = CLUMP_OK;
    if (!a->has_batch) {
        status = fetch(a, CLUMP_PART_LENGTH, from, objects, a->lengths);
        if (!status) status = fetch(a, CLUMP_PART_MEMORY, from, objects, a->handles);
        a->has_batch = !status;
    }
    if (!status)
        status =
            run_counts(a, CLUMPI_ELEMENTS_KERNEL(elements_ends), ends, sizeof ends / sizeof *ends);
    return status ? status
                  : run_counts(a, CLUMPI_ELEMENTS_KERNEL(elements_copy), copy,
                               sizeof copy / sizeof *copy);
}

clump_status clumpi_arrays_copy(clumpi_arrays *a, cl_mem values, uint64_t at, uint32_t count,
                                int is_read) {
    const uint64_t end = at + count;
    clump_status status = CLUMP_OK;
    while (at < end && !status && a->batch * a->at_once < a->objects) {
        const uint64_t left = elements_of(a, a->batch) - a->taken, need = end - at;
        const uint32_t n = (uint32_t)(left < need ? left : need);
        if (n) status = copy_some(a, a->batch * a->at_once, values, at, n, is_read);
        at += n;
        a->taken += n;
        if (n < left) continue;
        a->batch++;
        a->taken = 0;
        a->has_batch = 0;
    }
    return status;
}

clump_status clumpi_arrays_spread(const clumpi_arrays *a, cl_mem values, uint64_t at, int is_read) {
    const clumpi_launch_sizes *sizes = &context_of(a)->sizes;
    const clumpi_u64 from_word = a->words.at[CLUMP_PART_MEMORY] / sizeof(clumpi_u32), begin = at;
    const clumpi_u32 count = (clumpi_u32)a->objects, each = a->array.element_bytes,
                     inside = a->array.count, read = is_read ? 1 : 0;
    const clumpi_arg args[] = {{sizeof a->words.buffer, &a->words.buffer},
                               {sizeof from_word, &from_word},
                               {sizeof count, &count},
                               {sizeof values, &values},
                               {sizeof begin, &begin},
                               {sizeof each, &each},
                               {sizeof inside, &inside},
                               {sizeof read, &read}};
    return clumpi_run_on_heap(a->heap, CLUMPI_ELEMENTS_KERNEL(elements_spread),
                              sizes->do_all_global, sizes->do_all_local, args,
                              sizeof args / sizeof *args, NULL);
}
