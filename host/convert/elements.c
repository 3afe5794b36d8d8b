/* The arrays that grow of converted objects: raw memory of the new heap, and their elements in it.
 *
 * The objects have the lengths and capacities that they had, and no memory. All arrays get theirs
 * before the first element comes, since the fit of a heap with little room takes all of it back.
 * The i-th object of a class is its i-th in the new heap, too, so elements go over in the order of
 * the objects, by way of a buffer in which references are rewritten.
 *
 * Read first: convert.h, heap/elements.h.
 */
#include "convert/convert.h"

/* Bytes of elements that go over at once: a share of the new heap, and at most 16 MiB. */
#define PIECE_SHARE 64u
#define PIECE_LEAST (UINT32_C(1) << 12)
#define PIECE_MOST (UINT32_C(1) << 24)

/* An array of a class, here and there. */
typedef struct array_walk {
    uint32_t field, next; /* of the table of fields */
    clumpi_arrays from, to;
    clumpi_array_sums sums; /* of `from` */
    clumpi_dense dense;     /* numbers of the objects in the new heap */
} array_walk;

static void close_arrays(array_walk *w) {
    clumpi_arrays_close(&w->from);
    clumpi_arrays_close(&w->to);
}

/* Whether it is an array that grows, which both heaps have. A wide element has several entries, of
 * which the first counts. */
static int is_array(const clumpi_conversion *v, uint32_t field) {
    const clump_field_info *ours = &v->info_list[field];
    return ours->array == CLUMP_ARRAY_GROWING && !ours->part && !v->field_list[field].is_new &&
           v->field_list[field].to_base == ours->base_bytes;
}

/* The next array, with all its lengths; 0: there is none, or *status is an error. */
static int next_array(clumpi_conversion *v, array_walk *w, clump_status *status) {
    clump_field_info theirs;
    close_arrays(w);
    while (w->next < v->field_count && !is_array(v, w->next)) w->next++;
    if (*status || w->next == v->field_count) return 0;
    const uint32_t field = w->field = w->next++, id = v->class_list[field];
    const clump_field_info *ours = &v->info_list[field];
    w->sums = (clumpi_array_sums){0};
    (void)clumpi_take_field(clump_schema_find_field(clumpi_heap_schema(v->heap), id, ours->name),
                            &theirs);
    *status = clumpi_arrays_open(&v->dense, id, &theirs, &w->from);
    if (!*status) *status = clumpi_arrays_measure(&w->from, &w->sums);
    if (!*status) *status = clumpi_arrays_open(&w->dense, v->match.class_of[id], ours, &w->to);
    return !*status;
}

static clump_status rewrite(clumpi_conversion *v, const array_walk *w, cl_mem words,
                            uint32_t count) {
    const clumpi_arg args[] = {{sizeof v->fields, &v->fields},
                               {sizeof w->field, &w->field},
                               {sizeof words, &words},
                               {sizeof count, &count},
                               {sizeof v->wrong, &v->wrong}};
    return clumpi_convert_run(v, CLUMPI_CONVERT_KERNEL(convert_elements), args, 5);
}

static uint32_t piece_bytes(const clumpi_conversion *v) {
    const uint64_t share = clump_heap_get_info(v->next)->bytes / PIECE_SHARE;
    return share < PIECE_LEAST ? PIECE_LEAST : share < PIECE_MOST ? (uint32_t)share : PIECE_MOST;
}

static clump_status copy_elements(clumpi_conversion *v, array_walk *w, cl_mem piece) {
    const uint32_t most = piece_bytes(v) / w->to.array.element_bytes;
    clump_status status = w->sums.elements ? clumpi_arrays_measure(&w->to, NULL) : CLUMP_OK;
    for (uint64_t at = 0, n; at < w->sums.elements && !status; at += n) {
        n = w->sums.elements - at < most ? w->sums.elements - at : most;
        status = clumpi_arrays_copy(&w->from, piece, 0, (uint32_t)n, 1);
        if (!status && w->to.array.type == CLUMP_TYPE_REF)
            status = rewrite(v, w, piece, (uint32_t)n);
        if (!status) status = clumpi_arrays_copy(&w->to, piece, 0, (uint32_t)n, 0);
    }
    return status;
}

/* There is no room for all in the order of the objects. */
static clump_status fit_memory(clumpi_conversion *v, array_walk *w) {
    clumpi_fit fit;
    clump_status status = clumpi_fit_open(v->next, &fit);
    for (w->next = 0; !status && next_array(v, w, &status);) status = clumpi_fit_take(&fit, &w->to);
    if (!status) status = clumpi_fit_make(&fit, "the heap");
    for (w->next = 0; !status && next_array(v, w, &status);) status = clumpi_fit_give(&fit, &w->to);
    clumpi_fit_close(&fit);
    return status;
}

static clump_status make_memory(clumpi_conversion *v, array_walk *w) {
    clump_status status = CLUMP_OK;
    clumpi_u32 failed = 0;
    for (w->next = 0; !failed && next_array(v, w, &status);)
        if (w->sums.capacity) status = clumpi_arrays_make(&w->to, &failed);
    return status || !failed ? status : fit_memory(v, w);
}

clump_status clumpi_convert_elements(clumpi_conversion *v) {
    clump_context *c = clumpi_heap_context(v->heap);
    array_walk w = {.next = 0};
    cl_mem piece = NULL;
    while (w.next < v->field_count && !is_array(v, w.next)) w.next++;
    if (w.next == v->field_count) return CLUMP_OK;
    clump_status status = clumpi_dense_open(v->next, &w.dense);
    /* A checked heap keeps its list of kernels, so the pieces are of one of that list. */
    clumpi_checking_hand_over(v->heap, v->next);
    if (!status) status = make_memory(v, &w);
    clumpi_checking_hand_over(v->heap, v->next);
    if (!status) status = clumpi_buffer_create(c, piece_bytes(v), "elements of arrays", &piece);
    for (w.next = 0; !status && next_array(v, &w, &status);) status = copy_elements(v, &w, piece);
    const clump_error error = c->error; /* keep the cause */
    close_arrays(&w);
    clumpi_dense_close(&w.dense);
    clumpi_buffer_release(c, &piece);
    c->error = error;
    return status;
}
