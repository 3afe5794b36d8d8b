/* Objects as C structs on the host, and their arrays as offsets and values.
 *
 * A buffer on the device has the structs as the host has them; a launch for each field copies
 * between it and the heap. A field that new objects get no value for is copied from an element of
 * zeros at the end of the buffer. Of arrays, the lengths are copied in a launch of their own, the
 * host adds them up, and the elements follow each other in a buffer that begins with the offsets.
 * Of arrays that grow, capacities and handles of raw memory are copied, too, and the elements there
 * have a launch of their own.
 *
 * Invariant: all that can be wrong with the arguments is known before the heap changes.
 * Read first: clump/structs.h, cl/heap/structs.cl.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/elements.h"
#include "heap/heap.h"

static const char *const kernel_files[] = {
    "cl/core/layout.h",  "cl/core/prelude.clh", "cl/core/bitmap.clh", "cl/core/segments.clh",
    "cl/core/block.clh", "cl/core/reserve.clh", "cl/core/alloc.clh",  "cl/core/scan.clh",
    "cl/heap/layout.h",  "cl/heap/structs.cl"};
static const char *const kernel_names[] = {CLUMPI_STRUCT_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_struct_library = CLUMPI_LIBRARY(NULL, NULL);

/* One call. */
typedef struct transfer {
    clump_heap *heap;
    const clump_struct_desc *given;
    clump_struct_desc desc;
    clump_class_info info;
    uint64_t count;
    const char *call;
    uint64_t zeros_at; /* in `structs`, after the last one */
    cl_mem structs;
    cl_mem refs; /* of chosen objects, or of new ones; NULL: there are none */
    uint64_t structs_bytes, refs_bytes; /* that the two have */
    int is_chosen, is_read;
} transfer;

static clump_status find_field(const transfer *t, uint32_t i, clump_field_info *f) {
    clump_error *error = &t->heap->context->error;
    const clump_struct_desc *d = &t->desc;
    const clump_struct_field *field = &d->fields[i];
    clump_status status = clumpi_find_field(t->heap, &t->info, field->name, t->call, f);
    if (status) return status;
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(d->fields[k].name, field->name) == 0)
            return clumpi_fail(error, CLUMP_ERR_USAGE,
                               "%s: the struct for class %s has field %s twice", t->call,
                               d->class_name, field->name);
    status = clumpi_field_refuses(t->heap->schema, f,
                                  t->is_read ? CLUMPI_OP_READ_FIELD : CLUMPI_OP_WRITE_FIELD,
                                  t->call, error);
    if (status) return status;
    uint64_t bytes = (uint64_t)f->element_bytes * clumpi_elements(f);
    if (field->offset + bytes > d->bytes)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: field %s is at bytes %u to %llu of the struct for class %s, which "
                           "has %u bytes. Set offset and size with offsetof and sizeof",
                           t->call, field->name, field->offset,
                           (unsigned long long)(field->offset + bytes), d->class_name, d->bytes);
    return CLUMP_OK;
}

static clump_status open_transfer(transfer *t, const void *structs, const char *call) {
    clump_context *c = t->heap->context;
    const clump_struct_desc *d = &t->desc;
    clump_status status = CLUMPI_TAKE(clump_struct_desc, &t->desc, t->given, &c->error);
    if (status) return status;
    if (!t->given || !d->bytes || (d->field_count && !d->fields))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: the description of the struct has no %s", call,
                           !t->given   ? "class"
                           : !d->bytes ? "bytes"
                                       : "fields");
    if (!structs && t->count)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s needs a pointer for the structs", call);
    clump_field_info f;
    t->call = call;
    status = clumpi_find_class(t->heap, d->class_name, call, &t->info);
    for (uint32_t i = 0; i < d->field_count && !status; i++) {
        status = find_field(t, i, &f);
        if (!status && !t->is_read)
            status =
                clumpi_check_lengths(t->heap, &f, (const uint8_t *)structs + d->fields[i].offset,
                                     d->bytes, t->count, call);
    }
    return status ? status : clumpi_heap_enter_to_wait(t->heap);
}

static const char structs_key, refs_key; /* of the buffers that a heap keeps */

static clump_status open_refs(transfer *t, uint64_t bytes) {
    t->refs_bytes = bytes;
    return clumpi_scratch_take(t->heap, &refs_key, &t->refs_bytes, "references", &t->refs);
}

static clump_status open_structs(transfer *t, uint64_t bytes, const char *what) {
    t->structs_bytes = bytes;
    return clumpi_scratch_take(t->heap, &structs_key, &t->structs_bytes, what, &t->structs);
}

/* The buffer, with what the host has in it, or zeros. */
static clump_status open_buffer(transfer *t, const void *structs) {
    clump_context *c = t->heap->context;
    uint64_t bytes = t->count * t->desc.bytes;
    t->zeros_at = (bytes + CLUMPI_ZERO_BYTES - 1) / CLUMPI_ZERO_BYTES * CLUMPI_ZERO_BYTES;
    clump_status status = open_structs(t, t->zeros_at + CLUMPI_ZERO_BYTES, "structs");
    if (!status && t->is_read) status = clumpi_clear(c, t->structs, 0, t->zeros_at);
    if (!status && !t->is_read) status = clumpi_write(c, t->structs, 0, bytes, structs);
    if (!status && !t->is_read)
        status = clumpi_clear(c, t->structs, t->zeros_at, CLUMPI_ZERO_BYTES);
    return status;
}

static void close_transfer(transfer *t) {
    clumpi_scratch_give(t->heap, &structs_key, t->structs_bytes, &t->structs);
    clumpi_scratch_give(t->heap, &refs_key, t->refs_bytes, &t->refs);
}

/* The largest power of two, up to 16, that all the bits are multiples of. */
static clumpi_u32 common_piece(uint64_t bits) {
    clumpi_u32 piece = 16;
    while (bits % piece) piece /= 2;
    return piece;
}

static clumpi_u32 piece_of(const clumpi_struct_field *f) {
    return common_piece(f->base | f->stride | f->step | f->bytes | f->next | f->at |
                        f->struct_bytes);
}

static clump_status copy_all(clump_heap *heap, clumpi_kernel_id kernel, clumpi_u32 first,
                             clumpi_u32 last, clumpi_struct_field f, cl_mem structs) {
    const clumpi_launch_sizes *sizes = &heap->context->sizes;
    f.piece = piece_of(&f);
    clumpi_arg args[] = {
        {sizeof first, &first}, {sizeof last, &last}, {sizeof f, &f}, {sizeof structs, &structs}};
    return clumpi_run_on_heap(heap, kernel, sizes->do_all_global, sizes->do_all_local, args, 4,
                              NULL);
}

clump_status clumpi_struct_copy(clump_heap *heap, clumpi_u32 first, clumpi_u32 last,
                                clumpi_struct_field f, cl_mem structs) {
    return copy_all(heap, CLUMPI_STRUCT_KERNEL(struct_all), first, last, f, structs);
}

/* Of the objects that t->refs names. */
static clump_status copy_named(transfer *t, clumpi_kernel_id kernel, clumpi_struct_field f,
                               cl_mem structs) {
    const clumpi_launch_sizes *sizes = &t->heap->context->sizes;
    const clumpi_u32 count = (clumpi_u32)t->count;
    f.piece = piece_of(&f);
    clumpi_arg args[] = {{sizeof t->refs, &t->refs},
                         {sizeof count, &count},
                         {sizeof f, &f},
                         {sizeof structs, &structs}};
    return clumpi_run_on_heap(t->heap, kernel, sizes->do_all_global, sizes->do_all_local, args, 4,
                              NULL);
}

/* All objects of the classes from `first` on, 0: new ones; or those that are chosen. */
static clump_status copy_field(transfer *t, clumpi_u32 first, clumpi_struct_field f,
                               cl_mem structs) {
    f.is_read = (clumpi_u32)t->is_read;
    if (t->is_chosen) return copy_named(t, CLUMPI_STRUCT_KERNEL(struct_chosen), f, structs);
    return clumpi_struct_copy(t->heap, first, t->info.last, f, structs);
}

clumpi_struct_field clumpi_struct_field_of(const clump_field_info *f) {
    clumpi_struct_field field = {.base = f->base_bytes,
                                 .stride = f->stride_bytes,
                                 .step = f->step_bytes,
                                 .count = clumpi_elements(f),
                                 .bytes = f->element_bytes,
                                 .to = UINT32_MAX};
    return field;
}

static clump_status copy_fields(transfer *t, clumpi_u32 first) {
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < t->desc.field_count && !status; i++) {
        clump_field_info info =
            *clump_schema_find_field(t->heap->schema, t->info.id, t->desc.fields[i].name);
        clumpi_struct_field f = clumpi_struct_field_of(&info);
        f.next = f.bytes;
        f.at = t->desc.fields[i].offset;
        f.struct_bytes = t->desc.bytes;
        status = copy_field(t, first, f, t->structs);
    }
    return status;
}

/* The structs of t->count objects, all of the class and its subclasses or chosen ones. Ends the
 * transfer. */
static clump_status copy_objects(transfer *t, void *out, const void *in) {
    clump_context *c = t->heap->context;
    if (!t->count) return CLUMP_OK; /* nothing was begun */
    clump_status status = open_buffer(t, in);
    if (!status) status = copy_fields(t, t->info.id);
    if (!status)
        status =
            out ? clumpi_read(c, t->structs, 0, t->count * t->desc.bytes, out) : clumpi_finish(c);
    close_transfer(t);
    return status;
}

/* ---- Chosen objects -------------------------------------------------------------------------- */

/* Of a checked heap: generations are judged one by one, and the device gets plain references. */
static clump_status plain_refs(const transfer *t, const clump_ref *refs, clump_ref **plain) {
    clump_heap *heap = t->heap;
    clump_status status = CLUMP_OK;
    *plain = clumpi_alloc(&heap->context->allocator, t->count * sizeof **plain);
    if (!*plain)
        return clumpi_fail(&heap->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for %llu references", (unsigned long long)t->count);
    for (uint64_t i = 0; i < t->count && !status; i++) {
        (*plain)[i] = clumpi_ref_plain(heap, refs[i]);
        status = clumpi_ref_check(heap, refs[i], t->info.id, t->info.last);
    }
    return status;
}

/* Put the references where kernels find them, if each names an object. */
static clump_status choose(transfer *t, const clump_ref *refs) {
    clump_context *c = t->heap->context;
    const clumpi_launch_sizes *sizes = &c->sizes;
    clumpi_u32 count = (clumpi_u32)t->count, wrong[2];
    clump_ref *plain = NULL;
    clump_status status = t->heap->checks ? plain_refs(t, refs, &plain) : CLUMP_OK;
    const uint64_t bytes = t->count * sizeof *refs;
    if (!status) status = open_refs(t, bytes + sizeof wrong);
    if (!status) status = clumpi_write(c, t->refs, 0, bytes, plain ? plain : refs);
    if (!status) status = clumpi_clear(c, t->refs, bytes, sizeof wrong);
    clumpi_arg args[] = {{sizeof t->info.id, &t->info.id},
                         {sizeof t->info.last, &t->info.last},
                         {sizeof t->refs, &t->refs},
                         {sizeof count, &count}};
    if (!status)
        status = clumpi_run_on_heap(t->heap, CLUMPI_STRUCT_KERNEL(struct_check),
                                    sizes->do_all_global, sizes->do_all_local, args, 4, NULL);
    if (!status) status = clumpi_read(c, t->refs, bytes, sizeof wrong, wrong);
    if (!status && wrong[0])
        status = clumpi_fail(&c->error, CLUMP_ERR_REFERENCE,
                             "%u of %llu references name no live object of class %s. The first one "
                             "is number %u, 0x%08x",
                             wrong[0], (unsigned long long)t->count, t->info.name, ~wrong[1],
                             refs[~wrong[1]]);
    clumpi_free(&c->allocator, plain);
    return status;
}

static clump_status copy_chosen(clump_heap *heap, const clump_struct_desc *desc,
                                const clump_ref *refs, uint64_t count, void *out, const void *in,
                                const char *call) {
    clump_context *c = heap->context;
    transfer t = {
        .heap = heap, .given = desc, .count = count, .is_chosen = 1, .is_read = out != NULL};
    clump_status status = open_transfer(&t, out ? out : in, call);
    if (status || !count) return status;
    if (count > UINT32_C(1) << 31)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "%s: %llu references are too many: at most 2^31 are possible in one call", call,
            (unsigned long long)count);
    status = choose(&t, refs);
    if (!status) return copy_objects(&t, out, in);
    close_transfer(&t);
    return status;
}

/* ---- All objects, or chosen ones ------------------------------------------------------------- */

clump_status clump_heap_read_structs(clump_heap *heap, const clump_struct_desc *desc,
                                     const clump_ref *refs, void *structs, uint64_t capacity,
                                     uint64_t *count) {
    if (count) *count = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    if (refs) {
        clump_status status =
            copy_chosen(heap, desc, refs, capacity, structs, NULL, "clump_heap_read_structs");
        if (!status && count) *count = capacity;
        return status;
    }
    transfer t = {.heap = heap, .given = desc, .count = capacity, .is_read = 1};
    clump_status status = open_transfer(&t, structs, "clump_heap_read_structs");
    if (!status) status = clumpi_rank(heap, t.info.id, t.info.last, &t.count);
    if (status) return status;
    if (count) *count = t.count;
    if (!structs && count) return CLUMP_OK;
    if (t.count > capacity)
        return clumpi_fail_room(heap, "clump_heap_read_structs", "structs", capacity, t.count);
    return copy_objects(&t, structs, NULL);
}

clump_status clump_heap_write_structs(clump_heap *heap, const clump_struct_desc *desc,
                                      const clump_ref *refs, const void *structs, uint64_t count) {
    if (!heap) return CLUMP_ERR_USAGE;
    if (refs)
        return copy_chosen(heap, desc, refs, count, NULL, structs, "clump_heap_write_structs");
    transfer t = {.heap = heap, .given = desc, .count = count};
    clump_status status = open_transfer(&t, structs, "clump_heap_write_structs");
    if (!status) status = clumpi_rank(heap, t.info.id, t.info.last, &t.count);
    if (status) return status;
    if (t.count != count)
        return clumpi_fail(
            &heap->context->error, CLUMP_ERR_USAGE,
            "clump_heap_write_structs: %llu structs were passed for the %llu objects of class %s",
            (unsigned long long)count, (unsigned long long)t.count, t.info.name);
    return copy_objects(&t, NULL, structs);
}

/* ---- Arrays of run-time length --------------------------------------------------------------- */

/* One call: t.structs has offsets and elements. */
typedef struct arrays {
    transfer t;
    clump_field_info field;
    uint32_t *lengths;        /* of each object */
    cl_mem words;             /* the same on the device. Capacities and handles follow, by part, */
    clump_array_part part_to; /* if this is CLUMP_PART_MEMORY */
    clumpi_arrays outside;    /* of these, in raw memory; closed: there are none */
} arrays;

/* Most elements of one array. */
static uint32_t room_of(const arrays *a) {
    return a->field.array == CLUMP_ARRAY_BOUNDED ? a->field.count : UINT32_MAX - 1;
}

/* bytes: of one element of the caller's; NULL where the caller has none. */
static clump_status find_array(arrays *a, const char *name, const size_t *bytes) {
    const transfer *t = &a->t;
    clump_heap *heap = t->heap;
    clump_error *error = &heap->context->error;
    clump_status status = clumpi_find_field(heap, &t->info, name, t->call, &a->field);
    if (status) return status;
    if (!a->field.array)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s: field %s of class %s is not an array of run-time length", t->call,
                           name, t->info.name);
    if (bytes && *bytes != a->field.element_bytes)
        return clumpi_fail_size(heap, t->call, &a->field, *bytes);
    a->part_to = a->field.array == CLUMP_ARRAY_BOUNDED ? CLUMP_PART_LENGTH : CLUMP_PART_MEMORY;
    return CLUMP_OK;
}

static int in_order(const void *a, const void *b) {
    const clump_ref left = *(const clump_ref *)a, right = *(const clump_ref *)b;
    return (left > right) - (left < right);
}

/* An array that grows cannot get two lengths: it would have the memory for one of them. */
static clump_status check_different(const arrays *a, const clump_ref *refs) {
    const transfer *t = &a->t;
    clump_context *c = t->heap->context;
    clump_ref *sorted, twice = 0;
    if (!refs || t->is_read || a->part_to != CLUMP_PART_MEMORY) return CLUMP_OK;
    sorted = clumpi_alloc(&c->allocator, t->count * sizeof *sorted + 1);
    if (!sorted)
        return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu references",
                           (unsigned long long)t->count);
    memcpy(sorted, refs, t->count * sizeof *sorted);
    qsort(sorted, t->count, sizeof *sorted, in_order);
    for (uint64_t i = 1; i < t->count && !twice; i++)
        if (sorted[i] == sorted[i - 1]) twice = sorted[i];
    clumpi_free(&c->allocator, sorted);
    return twice ? clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                               "%s: several references name the object 0x%08x, but its array %s "
                               "can have only one length. Name each object once",
                               t->call, twice, a->field.name)
                 : CLUMP_OK;
}

/* Are there as many objects as the caller says? Chosen ones are put where kernels find them. */
static clump_status find_objects(transfer *t, const clump_ref *refs) {
    uint64_t objects = 0;
    t->is_chosen = refs != NULL;
    if (refs) return t->count ? choose(t, refs) : CLUMP_OK;
    clump_status status = clumpi_rank(t->heap, t->info.id, t->info.last, &objects);
    if (!status && objects != t->count)
        status = clumpi_fail(&t->heap->context->error, CLUMP_ERR_USAGE,
                             "%s: the call is for the arrays of %llu objects, but class %s has "
                             "%llu objects",
                             t->call, (unsigned long long)t->count, t->info.name,
                             (unsigned long long)objects);
    return status;
}

static clump_status open_arrays(arrays *a, const char *class_name, const char *field,
                                const clump_ref *refs, const uint64_t *offsets, size_t bytes,
                                const void *values, uint64_t room) {
    transfer *t = &a->t;
    clump_context *c = t->heap->context;
    if (!offsets || (!values && room))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s needs a pointer for the %s", t->call,
                           offsets ? "elements" : "offsets");
    if (t->count > UINT32_C(1) << 31)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: %llu objects are too many: at most 2^31 are possible in one call",
                           t->call, (unsigned long long)t->count);
    clump_status status = clumpi_find_class(t->heap, class_name, t->call, &t->info);
    if (!status) status = find_array(a, field, values || bytes ? &bytes : NULL);
    if (!status) status = clumpi_heap_enter_to_wait(t->heap);
    if (!status) status = find_objects(t, refs);
    if (!status) status = check_different(a, refs);
    if (status) return status;
    a->lengths = clumpi_alloc(&c->allocator, t->count * sizeof *a->lengths + 1);
    return a->lengths ? clumpi_buffer_create(c, t->count * a->part_to * sizeof *a->lengths + 1,
                                             "lengths", &a->words)
                      : clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                                    "no host memory for the lengths of %llu arrays",
                                    (unsigned long long)t->count);
}

static void close_arrays(arrays *a) {
    clump_context *c = a->t.heap->context;
    clumpi_arrays_close(&a->outside);
    close_transfer(&a->t);
    clumpi_buffer_release(c, &a->words);
    clumpi_free(&c->allocator, a->lengths);
}

static uint64_t words_at(const arrays *a, clump_array_part part) {
    return (part - CLUMP_PART_LENGTH) * a->t.count * sizeof *a->lengths;
}

/* Between the heap and a->words. */
static clump_status copy_words(arrays *a) {
    transfer *t = &a->t;
    clump_status status = CLUMP_OK;
    for (int part = CLUMP_PART_LENGTH; part <= (int)a->part_to && !status; part++) {
        clumpi_struct_field f =
            clumpi_struct_field_of(clumpi_schema_part(t->heap->schema, &a->field, part));
        f.next = f.bytes;
        f.at = words_at(a, part);
        f.struct_bytes = f.bytes;
        status = copy_field(t, t->info.id, f, a->words);
    }
    return status;
}

/* The words that the heap has, with lengths and capacities that are possible. */
static clump_status read_words(arrays *a) {
    transfer *t = &a->t;
    const int was_read = t->is_read;
    clumpi_array_words words = {.buffer = a->words};
    clumpi_array_sums sums = {0};
    t->is_read = 1;
    clump_status status = copy_words(a);
    t->is_read = was_read;
    if (status || a->part_to != CLUMP_PART_MEMORY) return status;
    for (int part = CLUMP_PART_LENGTH; part <= CLUMP_PART_MEMORY; part++)
        words.at[part] = words_at(a, part);
    status =
        clumpi_arrays_open_words(t->heap, t->info.id, &a->field, t->count, &words, &a->outside);
    return status ? status : clumpi_arrays_measure(&a->outside, &sums);
}

/* Where the elements are in t.structs, after the offsets. */
static uint64_t elements_at(const arrays *a) {
    return ((a->t.count + 1) * sizeof(clumpi_u64) + CLUMPI_ZERO_BYTES - 1) / CLUMPI_ZERO_BYTES *
           CLUMPI_ZERO_BYTES;
}

static clump_status open_elements(arrays *a, const uint64_t *offsets, uint64_t elements) {
    clump_context *c = a->t.heap->context;
    clump_status status = open_structs(&a->t, elements_at(a) + elements * a->field.element_bytes,
                                       "elements of arrays");
    return status ? status
                  : clumpi_write(c, a->t.structs, 0, (a->t.count + 1) * sizeof *offsets, offsets);
}

/* Between the heap and t.structs. */
static clump_status copy_elements(arrays *a) {
    transfer *t = &a->t;
    clumpi_struct_field f = clumpi_struct_field_of(&a->field);
    clump_status status = CLUMP_OK;
    f.next = f.bytes;
    f.at = elements_at(a);
    f.is_read = (clumpi_u32)t->is_read;
    if (a->outside.heap)
        status = clumpi_arrays_spread(&a->outside, t->structs, elements_at(a), t->is_read);
    if (status || !f.count) return status; /* no elements are in the objects */
    return t->is_chosen ? copy_named(t, CLUMPI_STRUCT_KERNEL(struct_chosen_arrays), f, t->structs)
                        : copy_all(t->heap, CLUMPI_STRUCT_KERNEL(struct_arrays), t->info.id,
                                   t->info.last, f, t->structs);
}

/* The offsets of the lengths that the heap has. */
static clump_status add_lengths(const arrays *a, uint64_t *offsets) {
    offsets[0] = 0;
    for (uint64_t i = 0; i < a->t.count; i++) {
        if (a->lengths[i] > room_of(a))
            return clumpi_fail(&a->t.heap->context->error, CLUMP_ERR_CORRUPT,
                               "%s: array %s of object number %llu was overwritten: its length is "
                               "%u, but it has room for only %u elements",
                               a->t.call, a->field.name, (unsigned long long)i, a->lengths[i],
                               a->field.count);
        offsets[i + 1] = offsets[i] + a->lengths[i];
    }
    return CLUMP_OK;
}

static clump_status read_arrays(arrays *a, uint64_t *offsets, void *values, uint64_t capacity) {
    transfer *t = &a->t;
    clump_context *c = t->heap->context;
    clump_status status = t->count ? read_words(a) : CLUMP_OK;
    if (!status) status = clumpi_read(c, a->words, 0, t->count * sizeof *a->lengths, a->lengths);
    if (!status) status = add_lengths(a, offsets);
    if (status) return status;
    const uint64_t elements = offsets[t->count];
    if (!values || !elements) return CLUMP_OK;
    if (elements > capacity)
        return clumpi_fail_room(t->heap, t->call, "elements", capacity, elements);
    status = open_elements(a, offsets, elements);
    if (!status) status = copy_elements(a);
    return status ? status
                  : clumpi_read(c, t->structs, elements_at(a), elements * a->field.element_bytes,
                                values);
}

clump_status clump_heap_read_arrays(clump_heap *heap, const char *class_name, const char *field,
                                    const clump_ref *refs, uint64_t objects, uint64_t *offsets,
                                    size_t bytes, void *values, uint64_t capacity) {
    if (!heap) return CLUMP_ERR_USAGE;
    arrays a = {
        .t = {.heap = heap, .count = objects, .is_read = 1, .call = "clump_heap_read_arrays"}};
    clump_status status =
        open_arrays(&a, class_name, field, refs, offsets, bytes, values, capacity);
    if (!status) status = read_arrays(&a, offsets, values, capacity);
    close_arrays(&a);
    return status;
}

/* The lengths that the caller's offsets say, if they can be. */
static clump_status subtract_offsets(const arrays *a, const uint64_t *offsets, uint64_t elements) {
    const transfer *t = &a->t;
    clump_error *error = &t->heap->context->error;
    for (uint64_t i = 0; i < t->count; i++) {
        const uint64_t length = offsets[i + 1] - offsets[i];
        if (offsets[i + 1] < offsets[i] || offsets[i + 1] > elements)
            return clumpi_fail(error, CLUMP_ERR_USAGE,
                               "%s: array number %llu has the offsets %llu and %llu, but offsets "
                               "must not descend, and there are %llu elements",
                               t->call, (unsigned long long)i, (unsigned long long)offsets[i],
                               (unsigned long long)offsets[i + 1], (unsigned long long)elements);
        if (length > room_of(a))
            return clumpi_fail(error, CLUMP_ERR_USAGE,
                               "%s: array %s of class %s cannot have a length of %llu: it has room "
                               "for %u elements. The offsets of array number %llu have this length",
                               t->call, a->field.name, t->info.name, (unsigned long long)length,
                               room_of(a), (unsigned long long)i);
        a->lengths[i] = (uint32_t)length;
    }
    return CLUMP_OK;
}

/* Offsets from the first element that is used, on. */
static clump_status open_written(arrays *a, const uint64_t *offsets, uint64_t elements) {
    const transfer *t = &a->t;
    const clump_allocator *allocator = &t->heap->context->allocator;
    uint64_t *relative = clumpi_alloc(allocator, (t->count + 1) * sizeof *relative);
    if (!relative)
        return clumpi_fail(&t->heap->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for %llu offsets", (unsigned long long)t->count + 1);
    for (uint64_t i = 0; i <= t->count; i++) relative[i] = offsets[i] - offsets[0];
    const clump_status status = open_elements(a, relative, elements);
    clumpi_free(allocator, relative);
    return status;
}

static clump_status write_arrays(arrays *a, const uint64_t *offsets, const uint8_t *values) {
    transfer *t = &a->t;
    clump_context *c = t->heap->context;
    const uint64_t elements = offsets[t->count] - offsets[0], each = a->field.element_bytes;
    const int is_outside = a->part_to == CLUMP_PART_MEMORY;
    clump_status status = open_written(a, offsets, elements);
    if (!status && elements)
        status = clumpi_write(c, t->structs, elements_at(a), elements * each,
                              values + offsets[0] * each);
    if (!status && is_outside) status = read_words(a);
    if (!status && is_outside) status = clumpi_arrays_renew(&a->outside, a->lengths, t->call);
    if (!status) status = clumpi_write(c, a->words, 0, t->count * sizeof *a->lengths, a->lengths);
    if (!status) status = copy_elements(a);
    const int is_written = !status;
    if (!status) status = copy_words(a);
    const clump_error cause = c->error;
    if (is_written && status) (void)copy_words(a); /* elements.c: the heap may have some of them */
    const clump_status freed =
        is_outside ? clumpi_arrays_renewed(&a->outside, is_written) : CLUMP_OK;
    if (status) c->error = cause;
    if (!status) status = freed;
    return status ? status : clumpi_finish(c);
}

clump_status clump_heap_write_arrays(clump_heap *heap, const char *class_name, const char *field,
                                     const clump_ref *refs, uint64_t objects,
                                     const uint64_t *offsets, size_t bytes, const void *values,
                                     uint64_t count) {
    if (!heap) return CLUMP_ERR_USAGE;
    arrays a = {.t = {.heap = heap, .count = objects, .call = "clump_heap_write_arrays"}};
    clump_status status = open_arrays(&a, class_name, field, refs, offsets, bytes, values, count);
    if (!status) status = subtract_offsets(&a, offsets, count);
    if (!status && objects) status = write_arrays(&a, offsets, values);
    close_arrays(&a);
    return status;
}

/* ---- New objects ----------------------------------------------------------------------------- */

static int is_named(const clump_struct_desc *desc, const char *name) {
    for (uint32_t i = 0; i < desc->field_count; i++)
        if (strcmp(desc->fields[i].name, name) == 0) return 1;
    return 0;
}

/* Fields that the struct does not have, of the class and its bases. */
static clump_status clear_others(transfer *t) {
    clump_status status = CLUMP_OK;
    clump_class_info k = t->info;
    for (uint32_t id = k.id; id && !status; id = k.base) {
        k = *clump_schema_get_info(t->heap->schema)->classes[id];
        for (uint32_t i = 0; i < k.field_count && !status; i++) {
            clump_field_info info = *clump_schema_get_info(t->heap->schema)->classes[id]->fields[i];
            /* Of an array without elements in the object there is nothing; count 0 would ask for
             * references. */
            if (is_named(&t->desc, info.name) || !clumpi_elements(&info)) continue;
            clumpi_struct_field f = clumpi_struct_field_of(&info);
            f.at = t->zeros_at; /* of all objects and elements */
            status = copy_field(t, 0, f, t->structs);
        }
    }
    return status;
}

static clump_status read_refs(transfer *t, uint64_t objects, clump_ref *refs) {
    const clumpi_struct_field none = {.to = UINT32_MAX};
    clump_status status = t->is_chosen ? CLUMP_OK : copy_field(t, 0, none, t->refs);
    if (!status) status = clumpi_checking_name(t->heap, t->refs, 0, objects);
    return status ? status
                  : clumpi_read(t->heap->context, t->refs, 0, objects * sizeof *refs, refs);
}

clump_status clump_heap_new_structs(clump_heap *heap, const clump_struct_desc *desc,
                                    const void *structs, uint64_t count, clump_ref *refs,
                                    uint64_t *made) {
    uint64_t objects = 0;
    if (made) *made = 0;
    if (!heap) return CLUMP_ERR_USAGE;
    transfer t = {.heap = heap, .given = desc, .count = count};
    clump_status status = open_transfer(&t, structs, "clump_heap_new_structs");
    if (!status) status = clumpi_new_check(heap, t.desc.class_name, count, t.call, &t.info);
    if (status || !count) return status;
    status = open_buffer(&t, structs);
    const int can_take = clumpi_can_take(heap, t.info.id, count);
    if (!status && (refs || can_take)) status = open_refs(&t, count * sizeof *refs);
    if (!status && can_take)
        status = clumpi_new_take(heap, t.info.id, count, t.refs, 0, &t.is_chosen);
    if (!status && !t.is_chosen)
        status = clumpi_new_claim(heap, t.info.id, count, UINT32_MAX, NULL);
    if (!status && !t.is_chosen) status = clumpi_new_begin(heap, t.info.id, NULL);
    if (!status) status = copy_fields(&t, 0);
    if (!status) status = clear_others(&t);
    objects = count;
    if (!status && !t.is_chosen) status = clumpi_new_made(heap, &objects);
    if (!status && refs) status = read_refs(&t, objects, refs);
    close_transfer(&t);
    if (!status && made) *made = objects;
    return status;
}
