/* Loading a heap (clump/save.h).
 *
 * A piece is read from the stream and brought to the device, which computes the sums of its chunks.
 * Meanwhile the host reads others. Then it is compared with its checksum, and used.
 *
 * Invariant: nothing of the caller's changes before all of the file was read and compared. Objects
 * are made and filled before that, in a heap that had none; if the rest of the file is not right
 * they go again, and nobody has seen them. Registered buffers, handles and reserved slots change at
 * the end.
 *
 * Raw memory for an array is made when its elements come, before the capacities of the next array
 * are known. If it is short, elements wait on the host until all capacities are there, and then all
 * arrays get theirs by size (heap/fit.c).
 *
 * Read first: format.h, staging.h, heap/dense.h. save.c has the other direction.
 */
#include <string.h>

#include "heap/checked.h"
#include "heap/elements.h"
#include "heap/match.h"
#include "save/format.h"
#include "save/registered.h"
#include "save/staging.h"

#define NEW_MOST (UINT64_C(1) << 31) /* objects of one do-new */

/* A piece that is on its way to the device, and what it is for. */
typedef struct coming {
    clumpi_fetched fetched;
    uint32_t bytes;
    clump_field_info f; /* in the heap's schema; of values */
    uint32_t class_id;  /* of the heap; 0: references of a registered buffer */
    int is_elements;    /* of the array f in raw memory, not values */
    uint32_t array;     /* then: its number in the file */
    cl_mem outside;     /* which go there */
    uint64_t from;      /* objects, elements or references before it */
    uint32_t n;         /* that it has */
} coming;

typedef struct loading {
    clump_heap *heap;
    clumpi_stream stream;
    clump_saved saved;
    clumpi_dense dense;
    clumpi_match match; /* of the file's schema and the heap's */
    const clump_refs **registered;
    uint32_t registered_count; /* that are loaded: all or none */
    cl_mem *outside;           /* of each: its references, until the end */
    clumpi_saved_lengths lengths;
    clumpi_arrays arrays; /* whose elements come */
    int is_short;         /* raw memory is, and elements wait */
    uint8_t **waiting;    /* by number of the array in the file; NULL before */
    clump_ref *handles;   /* NULL if there is none */
    uint8_t *live;        /* of each handle: is it in use? */
    clumpi_staging *staging;
    coming coming[CLUMPI_PLACES];
    int is_changed; /* the heap may have objects */
    clump_load_report report;
} loading;

/* ---- Before the heap changes ----------------------------------------------------------------- */

static clump_status check_empty(loading *l) {
    clump_heap_stats stats;
    clump_status status = clumpi_read_stats(l->heap, &stats, NULL);
    if (status) return status;
    if (stats.objects)
        return clumpi_fail(&clumpi_heap_context(l->heap)->error, CLUMP_ERR_USAGE,
                           "clump_heap_load: the heap must be empty, but has %llu objects",
                           (unsigned long long)stats.objects);
    if (stats.raw_bytes) /* a load that fails clears all bits */
        return clumpi_fail(&clumpi_heap_context(l->heap)->error, CLUMP_ERR_USAGE,
                           "clump_heap_load: the heap must be empty, but has %llu bytes of raw "
                           "memory. Free it in a kernel first",
                           (unsigned long long)stats.raw_bytes);
    if (clumpi_handles_live(l->heap))
        return clumpi_fail(&clumpi_heap_context(l->heap)->error, CLUMP_ERR_USAGE,
                           "clump_heap_load: the heap must have no handles, but has %u",
                           clumpi_handles_live(l->heap));
    return CLUMP_OK;
}

static clump_status match_schema(loading *l) {
    l->match = (clumpi_match){.error = &clumpi_heap_context(l->heap)->error,
                              .from = l->saved.schema,
                              .to = clumpi_heap_schema(l->heap),
                              .objects = l->saved.counts,
                              .where = clumpi_stream_name(&l->stream),
                              .into = "the heap's schema"};
    clump_status status = clumpi_match_schemas(&l->match);
    l->report.fields_lost = l->match.fields_lost;
    l->report.fields_gained = l->match.fields_gained;
    return status;
}

static clump_status check_registered(loading *l, int without) {
    clump_error *error = &clumpi_heap_context(l->heap)->error;
    if (without) return CLUMP_OK;
    clump_status status = clumpi_registered_list(l->heap, &l->registered, &l->registered_count);
    if (status) return status;
    if (l->registered_count != l->saved.registered)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "%s has the references of %u registered buffers, but the heap has %u. "
                           "Register as many, in the same order, or set without_registered",
                           clumpi_stream_name(&l->stream), l->saved.registered,
                           l->registered_count);
    for (uint32_t i = 0; i < l->registered_count; i++)
        if (l->registered[i]->count < l->saved.registered_counts[i])
            return clumpi_fail(error, CLUMP_ERR_USAGE,
                               "%s has %llu references of registered buffer %u, but the heap's "
                               "buffer has room for only %llu",
                               clumpi_stream_name(&l->stream),
                               (unsigned long long)l->saved.registered_counts[i], i,
                               (unsigned long long)l->registered[i]->count);
    return CLUMP_OK;
}

static clump_status open_memory(loading *l) {
    clump_context *c = clumpi_heap_context(l->heap);
    const uint32_t most = clumpi_saved_piece_most(&l->saved);
    clump_status status = clumpi_staging_open(c, most, &l->staging);
    l->outside = clumpi_alloc(&c->allocator, l->registered_count * sizeof *l->outside);
    if (!status && !l->outside)
        status =
            clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for registered buffers");
    for (uint32_t i = 0; i < l->registered_count && !status; i++)
        if (l->saved.registered_counts[i])
            status = clumpi_buffer_create(c, l->saved.registered_counts[i] * sizeof(clump_ref),
                                          "registered references of a saved heap", &l->outside[i]);
    return status;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static clump_status make_objects(loading *l, uint32_t class_id, uint64_t count) {
    clump_status status = CLUMP_OK;
    while (count && !status) {
        const uint64_t n = count < NEW_MOST ? count : NEW_MOST;
        uint64_t made = 0;
        status = clumpi_new_claim(l->heap, class_id, n, UINT32_MAX, NULL);
        if (!status) status = clumpi_new_begin(l->heap, class_id, NULL);
        if (!status) status = clumpi_new_made(l->heap, &made);
        if (!status && made != n)
            status = clumpi_fail(&clumpi_heap_context(l->heap)->error, CLUMP_ERR_CORRUPT,
                                 "clump_heap_load: only %llu of %llu objects could be made, "
                                 "although the heap was empty. Call clump_heap_check()",
                                 (unsigned long long)made, (unsigned long long)n);
        count -= n;
    }
    return status;
}

/* All objects, without their values, and both ways between numbers and references. */
static clump_status make_all(loading *l) {
    clump_status status = CLUMP_OK;
    clumpi_dense_span spans[CLUMP_CLASSES_MAX];
    uint32_t span_count = 0, classes = clump_schema_get_info(l->saved.schema)->class_count;
    uint64_t from = 0;
    l->is_changed = 1;
    for (uint32_t id = 1; id <= classes && !status; id++)
        status = make_objects(l, l->match.class_of[id], l->saved.counts[id]);
    if (!status) status = clumpi_dense_open(l->heap, &l->dense);
    for (uint32_t id = 1; id <= classes && !status; id++) {
        if (!l->saved.counts[id]) continue;
        spans[span_count++] =
            (clumpi_dense_span){.from = (clumpi_u32)from,
                                .to = (clumpi_u32)l->dense.first[l->match.class_of[id]],
                                .class_id = l->match.class_of[id]};
        from += l->saved.counts[id];
    }
    return status ? status : clumpi_dense_open_refs(&l->dense, spans, span_count);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static clump_status check_refs(loading *l, const clumpi_saved_column *column,
                               const clump_field_info *f) {
    clumpi_dense_wrong wrong;
    clump_status status = clumpi_dense_fetch_wrong(&l->dense, &wrong);
    if (status) return status;
    if (wrong.no_object)
        return clumpi_fail(
            &clumpi_heap_context(l->heap)->error, CLUMP_ERR_FORMAT,
            "%s is not valid: field %s of class %s has %u references to objects that do not exist",
            clumpi_stream_name(&l->stream), f->name, column->class_info.name, wrong.no_object);
    return wrong.no_member
               ? clumpi_match_fail_members(&l->match, column->class_info.id, f, wrong.no_member)
               : CLUMP_OK;
}

/* What has come is what was saved: it goes to its objects, or to the references of a buffer. */
static clump_status use_values(loading *l, const coming *n, cl_mem values) {
    const uint32_t words = n->bytes / (uint32_t)sizeof(clump_ref);
    clump_class_info to;
    clump_status status = CLUMP_OK;
    if (n->f.type == CLUMP_TYPE_REF) {
        to = *clump_schema_get_info(clumpi_heap_schema(l->heap))->classes[n->f.ref_class];
        status = clumpi_dense_to_refs(&l->dense, to.id, to.last, values, words);
    }
    if (status) return status;
    if (n->is_elements && l->is_short)
        return clumpi_read(clumpi_heap_context(l->heap), values, 0, n->bytes,
                           l->waiting[n->array] + n->from * n->f.element_bytes);
    return n->is_elements
               ? clumpi_arrays_copy(&l->arrays, values, 0, n->n, 0)
               : clumpi_dense_write(&l->dense, n->class_id, &n->f, n->from, n->n, values);
}

static clump_status use_outside(loading *l, const coming *n, cl_mem values) {
    clump_status status =
        clumpi_dense_to_refs(&l->dense, 1, clumpi_object_classes(l->heap), values, n->n);
    return status ? status
                  : clumpi_copy(clumpi_heap_context(l->heap), values, 0, n->outside,
                                n->from * sizeof(clump_ref), n->bytes);
}

/* The piece that is on its way for longest. */
static clump_status use_oldest(loading *l) {
    const uint32_t number = clumpi_staging_oldest(l->staging);
    coming *n = &l->coming[number];
    clumpi_staged *place = &l->staging->places[number];
    clumpi_staging_pop(l->staging);
    clump_status status = clumpi_staged_wait(l->staging, place);
    if (!status) status = clumpi_piece_compare(&l->stream, &n->fetched, place->host_sums);
    if (!status && n->class_id)
        status = clumpi_saved_check_lengths(&l->stream, &l->lengths, clumpi_heap_schema(l->heap),
                                            n->class_id, &n->f, n->from, place->memory, n->n);
    if (!status)
        status = n->class_id ? use_values(l, n, place->values) : use_outside(l, n, place->values);
    return status ? status : clumpi_staged_used(l->staging, place);
}

static clump_status use_all(loading *l) {
    clump_status status = CLUMP_OK;
    while (l->staging->count && !status) status = use_oldest(l);
    return status;
}

/* The next piece goes to the device. If several are wrong, the first of them is told of. An older
 * one is used before, so that it does not wait on the device for the next one. */
static clump_status read_piece(loading *l, uint32_t kind, coming next) {
    const uint32_t number = clumpi_staging_next(l->staging);
    clumpi_staged *place = &l->staging->places[number];
    clump_status before = CLUMP_OK, status = clumpi_piece_fetch(&l->stream, kind, place->memory,
                                                                next.bytes, &next.fetched);
    if (status)
        before = use_all(l);
    else if (l->staging->count == CLUMPI_PLACES - 1)
        before = use_oldest(l);
    if (before || status) return before ? before : status;
    status = clumpi_staged_write(l->staging, place, next.bytes);
    if (status) return status;
    l->coming[number] = next;
    clumpi_staging_push(l->staging);
    return CLUMP_OK;
}

static clumpi_staged *next_place(loading *l) {
    return &l->staging->places[clumpi_staging_next(l->staging)];
}

/* What nobody here needs. */
static clump_status skip_piece(loading *l, uint32_t kind, uint32_t bytes) {
    return clumpi_piece_read(&l->stream, kind, next_place(l)->memory, bytes);
}

/* From now on elements wait. */
static clump_status begin_waiting(loading *l) {
    clump_context *c = clumpi_heap_context(l->heap);
    l->waiting = clumpi_alloc(&c->allocator, l->saved.array_count * sizeof *l->waiting);
    l->is_short = l->waiting != NULL;
    return l->is_short ? CLUMP_OK
                       : clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for arrays");
}

static clump_status open_waiting(loading *l, const clumpi_saved_column *column) {
    clump_context *c = clumpi_heap_context(l->heap);
    const uint64_t bytes = column->count * column->bytes;
    l->waiting[column->array] = clumpi_alloc(&c->allocator, bytes);
    return l->waiting[column->array]
               ? CLUMP_OK
               : clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                             "no host memory for %llu bytes of elements of arrays, which wait "
                             "until raw memory is allocated for all of them",
                             (unsigned long long)bytes);
}

/* Room for the elements that come, once all lengths have come. */
static clump_status open_arrays(loading *l, const clumpi_saved_column *column, const coming *next) {
    clump_status status = use_all(l);
    if (!status) status = clumpi_saved_check_sums(&l->stream, &l->lengths, &l->saved, column);
    if (!status) status = clumpi_arrays_open(&l->dense, next->class_id, &next->f, &l->arrays);
    if (!status && l->lengths.capacity && !l->is_short) {
        clumpi_u32 failed;
        status = clumpi_arrays_make(&l->arrays, &failed);
        if (!status && failed) status = begin_waiting(l);
    }
    if (!status && l->is_short) return open_waiting(l, column);
    return !status && column->count ? clumpi_arrays_measure(&l->arrays, NULL) : status;
}

static clump_status load_column(loading *l, const clumpi_saved_column *column) {
    coming next = {.class_id = l->match.class_of[column->class_info.id],
                   .is_elements = column->kind == CLUMPI_KIND_ELEMENTS,
                   .array = column->array};
    int is_there;
    clump_status status =
        clumpi_match_field(&l->match, column->class_info.id, &column->field, &next.f, &is_there);
    if (!status && is_there && next.is_elements) status = open_arrays(l, column, &next);
    for (; next.from < column->count && !status; next.from += next.n) {
        const uint64_t left = column->count - next.from;
        next.n = left < column->piece_count ? (uint32_t)left : column->piece_count;
        next.bytes = next.n * column->bytes;
        status =
            is_there ? read_piece(l, column->kind, next) : skip_piece(l, column->kind, next.bytes);
        if (!status) status = clumpi_stream_progress(&l->stream, next.bytes);
    }
    if (!status && is_there && (next.is_elements || next.f.type == CLUMP_TYPE_REF))
        status = use_all(l);
    clumpi_arrays_close(&l->arrays);
    return status || !is_there || next.f.type != CLUMP_TYPE_REF ? status
                                                                : check_refs(l, column, &next.f);
}

/* Fields that the file does not have, of a class that has objects. */
static clump_status clear_gained(loading *l, uint32_t id) {
    const uint32_t ours = l->match.class_of[id];
    clump_status status = CLUMP_OK;
    clump_field_info f;
    cl_mem zeros = next_place(l)->values;
    for (clumpi_field_walk w = {.schema = clumpi_heap_schema(l->heap), .class_id = ours};
         !status && clumpi_match_next_gained(&l->match, id, &w, &f);)
        if (clumpi_elements(&f)) status = clumpi_dense_clear(&l->dense, ours, &f, zeros);
    return status;
}

/* ---- Arrays where raw memory is short -------------------------------------------------------- */

typedef clump_status (*array_fn)(loading *l, clumpi_fit *fit, const clumpi_saved_column *column);

/* For each array that the heap has, with l->arrays. */
static clump_status each_array(loading *l, clumpi_fit *fit, array_fn fn) {
    clump_status status = CLUMP_OK;
    for (clumpi_saved_column c = {.owner = 0}; !status && clumpi_saved_next(&l->saved, &c);) {
        const uint32_t class_id = l->match.class_of[c.class_info.id];
        clump_field_info f;
        int is_there = 0;
        if (c.kind != CLUMPI_KIND_ELEMENTS) continue;
        status = clumpi_match_field(&l->match, c.class_info.id, &c.field, &f, &is_there);
        if (!status && is_there) status = clumpi_arrays_open(&l->dense, class_id, &f, &l->arrays);
        if (!status && is_there) status = fn(l, fit, &c);
        clumpi_arrays_close(&l->arrays);
    }
    return status;
}

/* Elements of an array, in pieces: to the host, or back. */
static clump_status move_elements(loading *l, const clumpi_saved_column *column, int is_read) {
    clump_context *c = clumpi_heap_context(l->heap);
    clumpi_staged *place = next_place(l);
    uint8_t *at = l->waiting[column->array];
    clump_status status = column->count ? clumpi_arrays_measure(&l->arrays, NULL) : CLUMP_OK;
    for (uint64_t from = 0, n; from < column->count && !status; from += n) {
        n = column->count - from < column->piece_count ? column->count - from : column->piece_count;
        const uint64_t bytes = n * column->bytes;
        if (!is_read) status = clumpi_write(c, place->values, 0, bytes, at);
        if (!status)
            status = clumpi_arrays_copy(&l->arrays, place->values, 0, (uint32_t)n, is_read);
        if (!status && is_read) status = clumpi_read(c, place->values, 0, bytes, at);
        at += bytes;
    }
    return status ? status : clumpi_staged_used(l->staging, place);
}

/* Elements that came before memory was short wait, too. */
static clump_status take_back(loading *l, clumpi_fit *fit, const clumpi_saved_column *column) {
    clump_status status = CLUMP_OK;
    if (!l->waiting[column->array]) {
        status = open_waiting(l, column);
        if (!status) status = move_elements(l, column, 1);
    }
    return status ? status : clumpi_fit_take(fit, &l->arrays);
}

static clump_status give(loading *l, clumpi_fit *fit, const clumpi_saved_column *column) {
    const clump_status status = clumpi_fit_give(fit, &l->arrays);
    return status ? status : move_elements(l, column, 0);
}

static clump_status fit_arrays(loading *l) {
    clumpi_fit fit;
    clump_status status = clumpi_fit_open(l->heap, &fit);
    if (!status) status = each_array(l, &fit, take_back);
    if (!status) status = clumpi_fit_make(&fit, clumpi_stream_name(&l->stream));
    if (!status) status = each_array(l, &fit, give);
    clumpi_fit_close(&fit);
    return status;
}

static clump_status load_values(loading *l) {
    clump_status status =
        clumpi_clear(clumpi_heap_context(l->heap), next_place(l)->values, 0, CLUMPI_ZERO_BYTES);
    for (uint32_t id = 1; !status && id <= clump_schema_get_info(l->saved.schema)->class_count;
         id++)
        if (l->saved.counts[id]) status = clear_gained(l, id);
    if (!status) status = clumpi_staged_used(l->staging, next_place(l));
    for (clumpi_saved_column c = {.owner = 0}; !status && clumpi_saved_next(&l->saved, &c);)
        status = load_column(l, &c);
    if (!status) status = use_all(l);
    return status || !l->is_short ? status : fit_arrays(l);
}

/* ---- References outside ---------------------------------------------------------------------- */

static clump_status load_registered(loading *l, uint32_t buffer) {
    const int is_kept = buffer < l->registered_count;
    const uint64_t count = l->saved.registered_counts[buffer];
    coming next = {.outside = is_kept ? l->outside[buffer] : NULL};
    clump_status status = CLUMP_OK;
    for (; next.from < count && !status; next.from += next.n) {
        next.n = clumpi_saved_words_at_once(&l->saved, count - next.from);
        next.bytes = next.n * (uint32_t)sizeof(clump_ref);
        status = is_kept ? read_piece(l, CLUMPI_KIND_REGISTERED, next)
                         : skip_piece(l, CLUMPI_KIND_REGISTERED, next.bytes);
    }
    if (!status) status = use_all(l);
    l->report.registered += is_kept ? count : 0;
    return status;
}

/* A piece of handles, of which l->handles and l->live have room for n more. */
static clump_status load_some_handles(loading *l, uint32_t n) {
    clump_context *c = clumpi_heap_context(l->heap);
    const clumpi_staged *place = next_place(l);
    clump_ref *words = (clump_ref *)(void *)place->memory;
    const uint64_t from = l->report.handles, bytes = n * sizeof *words;
    clump_status status =
        clumpi_piece_read(&l->stream, CLUMPI_KIND_HANDLES, words, (uint32_t)bytes);
    for (uint32_t i = 0; i < n && !status; i++) {
        l->live[from + i] = words[i] != CLUMPI_HANDLE_NONE;
        if (words[i] == CLUMPI_HANDLE_NONE) words[i] = 0;
    }
    if (!status) status = clumpi_write(c, place->values, 0, bytes, words);
    if (!status)
        status =
            clumpi_dense_to_refs(&l->dense, 1, clumpi_object_classes(l->heap), place->values, n);
    if (!status) status = clumpi_read(c, place->values, 0, bytes, l->handles + from);
    l->report.handles += n;
    return status;
}

/* The lists of handles grow with what was read. */
static clump_status load_handles(loading *l) {
    clump_context *c = clumpi_heap_context(l->heap);
    size_t room = 0, live_room = 0;
    clump_status status = CLUMP_OK;
    while (l->report.handles < l->saved.handles && !status) {
        const uint32_t n =
            clumpi_saved_words_at_once(&l->saved, l->saved.handles - l->report.handles);
        const uint64_t upto = l->report.handles + n;
        if (!clumpi_grow(&c->allocator, &l->handles, &room, upto, sizeof *l->handles) ||
            !clumpi_grow(&c->allocator, &l->live, &live_room, upto, sizeof *l->live))
            return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u handles",
                               l->saved.handles);
        status = load_some_handles(l, n);
    }
    return status;
}

static clump_status load_outside(loading *l) {
    clump_status status = CLUMP_OK;
    clumpi_dense_wrong wrong = {0};
    for (uint32_t i = 0; i < l->saved.registered && !status; i++) status = load_registered(l, i);
    if (!status) status = load_handles(l);
    if (!status) status = clumpi_dense_fetch_wrong(&l->dense, &wrong);
    if (!status && wrong.no_object)
        status = clumpi_fail(&clumpi_heap_context(l->heap)->error, CLUMP_ERR_FORMAT,
                             "%s is not valid: %u registered references and handles lead to "
                             "objects that do not exist",
                             clumpi_stream_name(&l->stream), wrong.no_object);
    return status;
}

/* ---- The end: what the caller has ------------------------------------------------------------ */

static clump_status commit_registered(loading *l, uint32_t buffer) {
    clump_context *c = clumpi_heap_context(l->heap);
    const clump_refs *refs = l->registered[buffer];
    const uint64_t given = l->saved.registered_counts[buffer], word = sizeof(clump_ref);
    cl_mem words = next_place(l)->values;
    clump_status status = CLUMP_OK;
    for (uint64_t from = 0; from < refs->count && !status;) {
        const uint32_t n = clumpi_saved_words_at_once(&l->saved, refs->count - from);
        const uint32_t ours = from >= given ? 0 : given - from < n ? (uint32_t)(given - from) : n;
        if (ours) status = clumpi_copy(c, l->outside[buffer], from * word, words, 0, ours * word);
        if (!status) status = clumpi_dense_write_outside(&l->dense, refs, from, n, ours, words);
        from += n;
    }
    if (!status && refs->counted)
        status = clumpi_set_word(c, refs->counted, refs->counted_at, (uint32_t)given);
    return status;
}

static clump_status commit_reserved(loading *l) {
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; !status && id <= clump_schema_get_info(l->saved.schema)->class_count;
         id++) {
        clump_class_info c;
        if (!l->match.class_of[id]) continue;
        c = *clump_schema_get_info(l->saved.schema)->classes[id];
        status = clump_heap_reserve(l->heap, c.name, l->saved.reserved[id], NULL);
    }
    return status;
}

static clump_status commit(loading *l) {
    clump_heap *heap = l->heap;
    clump_status status =
        clumpi_finish(clumpi_heap_context(heap)); /* the device did all of the above */
    if (!status && l->saved.handles)
        status = clumpi_handles_restore(heap, l->saved.handles, l->handles, l->live);
    if (status) return status;
    status = clumpi_handles_watch(heap);
    for (uint32_t i = 0; i < l->registered_count && !status; i++) status = commit_registered(l, i);
    if (!status) status = commit_reserved(l);
    if (!status) status = clumpi_finish(clumpi_heap_context(heap));
    if (status) clumpi_handles_clear(heap);
    return status;
}

/* The objects go: without bits there are none, and the repair makes all else of them. */
static void empty_again(loading *l) {
    clump_heap *heap = l->heap;
    clump_context *c = clumpi_heap_context(heap);
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    const clump_error error = c->error; /* keep the cause */
    if (!clumpi_clear(c, clumpi_heap_buffer(heap), (uint64_t)h->at_bits * CLUMPI_UNIT,
                      (uint64_t)h->block_end * h->block_granules * sizeof(clumpi_u64)))
        (void)clump_heap_repair(heap, NULL); /* it says that objects are gone */
    c->error = error;
}

/* ---- The call -------------------------------------------------------------------------------- */

static clump_status load(loading *l, const clump_load_desc *desc) {
    clump_status status = clumpi_head_read(&l->stream, &l->saved);
    if (!status) status = match_schema(l);
    if (!status) status = clumpi_match_room(&l->match, l->heap);
    if (!status) status = check_registered(l, desc->without_registered);
    if (!status) status = open_memory(l);
    if (!status) status = make_all(l);
    if (!status) status = load_values(l);
    if (!status) status = load_outside(l);
    if (!status) status = clumpi_end_read(&l->stream);
    return status ? status : commit(l);
}

static void close_loading(loading *l, int is_good) {
    clump_context *c = clumpi_heap_context(l->heap);
    const clump_allocator *a = &c->allocator;
    for (uint32_t i = 0; l->outside && i < l->registered_count; i++)
        clumpi_buffer_release(c, &l->outside[i]);
    clumpi_staging_close(l->staging, is_good);
    clumpi_arrays_close(&l->arrays);
    clumpi_dense_close(&l->dense);
    clumpi_free(a, l->lengths.outside);
    for (uint32_t i = 0; l->waiting && i < l->saved.array_count; i++) clumpi_free(a, l->waiting[i]);
    clumpi_free(a, l->waiting);
    clumpi_saved_clear(&l->saved);
    clumpi_stream_close(&l->stream);
    clumpi_free(a, l->outside);
    clumpi_free(a, l->registered);
    clumpi_free(a, l->handles);
    clumpi_free(a, l->live);
}

clump_status clump_heap_load(clump_heap *heap, const clump_load_desc *desc,
                             clump_load_report *report) {
    clump_load_desc own;
    clump_status status = CLUMPI_PLACE(clump_load_report, report, clumpi_heap_error(heap));
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = clumpi_heap_context(heap);
    loading l = {.heap = heap};
    if (!status) status = CLUMPI_TAKE(clump_load_desc, &own, desc, &c->error);
    if (status) return status;
    status = clumpi_stream_open(&l.stream, &own, "clump_heap_load", &c->allocator, &c->error);
    if (status) return status;
    status = clumpi_heap_enter(heap);
    if (!status) status = check_empty(&l);
    if (!status) status = load(&l, &own);
    if (status && l.is_changed) empty_again(&l);
    if (!status) {
        l.report.objects = l.saved.objects;
        l.report.bytes = l.stream.bytes;
        l.report.value_bytes = l.stream.all;
        l.report.handles = clumpi_handles_live(heap);
        CLUMPI_GIVE(report, l.report);
    }
    close_loading(&l, !status);
    return status;
}
