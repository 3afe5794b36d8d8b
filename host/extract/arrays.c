/* Arrays that grow, in extracts: their words, and the elements that they have in raw memory.
 *
 * Length, capacity and handle of each array are an extract of their own while a call runs, the
 * *words*, which the same kernels pack and unpack:
 *
 *   packing     objects ──> words: lengths, capacities, handles ──> how many elements there are
 *               words ──> lengths, capacities of the extract; raw memory ──> its elements
 *   unpacking   lengths, capacities of the extract ──> words; capacities ──> raw memory, handles
 *               words ──> objects; elements of the extract ──> raw memory
 *
 * Read first: extract.h, heap/elements.h.
 */
#include "extract/extract.h"

#define PIECE (UINT32_C(1) << 20)  /* references that are made at once: 4 MiB */
#define COPIED (UINT32_C(1) << 30) /* elements of a call */

/* Length, capacity and handle of each array. */
static clump_status open_words(const clump_extract *e, clump_extract **words) {
    clump_status status = clumpi_extract_create(e->context, e->schema, words);
    if (status) return status;
    (*words)->has_words = 1;
    status = clumpi_extract_set_objects(*words, e->objects + 1);
    if (!status) status = clumpi_extract_set_columns(*words);
    return status ? status : clumpi_extract_open(*words, NULL);
}

/* ---- One array after the other --------------------------------------------------------------- */

typedef struct array_walk {
    clumpi_column_walk words, columns;  /* of the words; the same of the extract */
    uint64_t at[CLUMP_PART_MEMORY + 1]; /* by part: where the column is in the extract */
    clumpi_arrays arrays;               /* with the words, of the heap's schema */
} array_walk;

static int is_same(const clumpi_column_walk *a, const clumpi_column_walk *b) {
    return a->array && b->array && a->array_number == b->array_number &&
           a->column.field->part == b->column.field->part;
}

/* Begin with one that is all zero. 0: there is no other, or *status is a failure; then it is
 * closed. */
static int next_array(clumpi_pack *p, const clump_extract *e, const clump_extract *words,
                      int are_new, array_walk *w, clump_status *status) {
    clumpi_array_words here = {.buffer = words->info.buffer, .are_new = are_new};
    clumpi_arrays_close(&w->arrays);
    while (!*status && clumpi_next_column(words, &w->words)) {
        const clump_array_part part = w->words.column.field->part;
        const uint32_t id = w->words.class_info.id, ours = p->class_of ? p->class_of[id] : id;
        while (clumpi_next_column(e, &w->columns) && !is_same(&w->words, &w->columns)) {
        }
        here.at[part] = w->words.column.at;
        w->at[part] = w->columns.column.at;
        if (part != CLUMP_PART_MEMORY) continue;
        *status = clumpi_arrays_open_words(
            p->heap, ours,
            clump_schema_find_field(clumpi_heap_schema(p->heap), ours, w->words.array->name),
            words->objects[id], &here, &w->arrays);
        return !*status;
    }
    return 0;
}

/* Lengths and capacities, which both have. */
static clump_status copy_lengths(const array_walk *w, const clump_extract *e,
                                 const clump_extract *words, int is_packing) {
    const clumpi_array_words *there = &w->arrays.words;
    const uint64_t bytes = w->arrays.objects * sizeof(clumpi_u32);
    clump_status status = CLUMP_OK;
    for (int part = CLUMP_PART_LENGTH; part <= CLUMP_PART_CAPACITY && !status; part++)
        status = is_packing ? clumpi_copy(e->context, words->info.buffer, there->at[part],
                                          e->info.buffer, w->at[part], bytes)
                            : clumpi_copy(e->context, e->info.buffer, w->at[part],
                                          words->info.buffer, there->at[part], bytes);
    return status;
}

/* ---- Packing --------------------------------------------------------------------------------- */

clump_status clumpi_arrays_pack_words(clumpi_pack *p, cl_mem chosen, clump_extract *e,
                                      clump_extract **words) {
    array_walk w = {.at = {0}};
    clump_status status = open_words(e, words);
    p->extract = *words;
    if (!status) status = clumpi_pack_open(p);
    if (!status) status = clumpi_pack_objects(p, chosen);
    while (!status && next_array(p, e, *words, 0, &w, &status)) {
        clumpi_array_sums sums = {0};
        status = clumpi_arrays_measure(&w.arrays, &sums);
        e->elements[w.words.array_number] = sums.elements;
    }
    clumpi_arrays_close(&w.arrays);
    return status;
}

static clump_status pack_elements(clumpi_pack *p, array_walk *w) {
    const clump_extract *e = p->extract;
    const uint32_t number = w->words.array_number, each = w->arrays.array.element_bytes;
    const uint64_t first = w->at[CLUMP_PART_MEMORY] / each, end = first + e->elements[number];
    clump_status status = e->elements[number] ? clumpi_arrays_measure(&w->arrays, NULL) : CLUMP_OK;
    for (uint64_t at = first, n; at < end && !status; at += n) {
        n = end - at < COPIED ? end - at : COPIED;
        status = clumpi_arrays_copy(&w->arrays, e->info.buffer, at, (uint32_t)n, 1);
        if (!status && w->arrays.array.type == CLUMP_TYPE_REF)
            status = clumpi_pack_elements(p, number, at, (uint32_t)n);
    }
    return status;
}

clump_status clumpi_arrays_pack(clumpi_pack *p, const clump_extract *words) {
    clump_status status = CLUMP_OK;
    array_walk w = {.at = {0}};
    while (next_array(p, p->extract, words, 0, &w, &status)) {
        status = copy_lengths(&w, p->extract, words, 1);
        if (!status) status = pack_elements(p, &w);
    }
    return status;
}

/* ---- Unpacking ------------------------------------------------------------------------------- */

static clump_status check_elements(const clumpi_pack *p, array_walk *w) {
    const uint64_t expected = p->extract->elements[w->words.array_number];
    clumpi_array_sums sums = {0};
    clump_status status = clumpi_arrays_measure(&w->arrays, &sums);
    if (status || sums.elements == expected) return status;
    return clumpi_fail(&p->extract->context->error, CLUMP_ERR_FORMAT,
                       "the extract is not valid: the arrays %s of class %s have %llu elements in "
                       "raw memory, but it has %llu",
                       w->arrays.array.name, w->words.class_info.name,
                       (unsigned long long)sums.elements, (unsigned long long)expected);
}

clump_status clumpi_arrays_check(clumpi_pack *p, clump_extract **words) {
    const clump_extract *e = p->extract;
    array_walk w = {.at = {0}};
    clump_status status = open_words(e, words);
    if (!status) status = clumpi_clear(e->context, (*words)->info.buffer, 0, (*words)->info.bytes);
    while (!status && next_array(p, e, *words, 1, &w, &status)) {
        status = copy_lengths(&w, e, *words, 0);
        if (!status) status = check_elements(p, &w);
    }
    clumpi_arrays_close(&w.arrays);
    return status;
}

/* There is no room for all in the order of the objects. */
static clump_status fit_memory(clumpi_pack *p, const clump_extract *words) {
    const clump_extract *e = p->extract;
    clumpi_fit fit;
    array_walk taking = {.at = {0}}, giving = {.at = {0}};
    clump_status status = clumpi_fit_open(p->heap, &fit), given = CLUMP_OK;
    while (!status && next_array(p, e, words, 1, &taking, &status))
        status = clumpi_fit_take(&fit, &taking.arrays);
    clumpi_arrays_close(&taking.arrays);
    if (!status) {
        status = clumpi_fit_make(&fit, "the extract");
        const clump_error error = e->context->error; /* keep the cause */
        while (!given && next_array(p, e, words, 1, &giving, &given))
            given = clumpi_fit_give(&fit, &giving.arrays);
        clumpi_arrays_close(&giving.arrays);
        if (status) e->context->error = error;
    }
    clumpi_fit_close(&fit);
    return status ? status : given;
}

static clump_status write_words(clumpi_pack *p, const clump_extract *words) {
    const clump_extract *e = p->extract;
    p->extract = words;
    clump_status status = clumpi_pack_open(p);
    if (!status) status = clumpi_unpack_objects(p);
    p->extract = e;
    return status;
}

/* Also after a failure, since the objects give back what memory there is. */
static clump_status make_memory(clumpi_pack *p, const clump_extract *words) {
    const clump_extract *e = p->extract;
    clump_status status = CLUMP_OK;
    array_walk w = {.at = {0}};
    clumpi_u32 failed = 0;
    while (!failed && next_array(p, e, words, 1, &w, &status))
        status = clumpi_arrays_make(&w.arrays, &failed);
    clumpi_arrays_close(&w.arrays);
    if (!status && failed) status = fit_memory(p, words);
    const clump_error error = e->context->error; /* keep the cause */
    clump_status written = write_words(p, words);
    if (written) (void)write_words(p, words); /* or else the memory has no owner */
    if (status) e->context->error = error;
    return status ? status : written;
}

static clump_status unpack_elements(clumpi_pack *p, array_walk *w, cl_mem refs) {
    const clump_extract *e = p->extract;
    const uint32_t number = w->words.array_number, each = w->arrays.array.element_bytes;
    const int are_refs = w->arrays.array.type == CLUMP_TYPE_REF;
    const uint32_t most = are_refs ? PIECE : COPIED;
    const uint64_t first = w->at[CLUMP_PART_MEMORY] / each, end = first + e->elements[number];
    clump_status status = e->elements[number] ? clumpi_arrays_measure(&w->arrays, NULL) : CLUMP_OK;
    for (uint64_t at = first, n; at < end && !status; at += n) {
        n = end - at < most ? end - at : most;
        if (are_refs) status = clumpi_unpack_elements(p, number, at, (uint32_t)n, refs);
        if (!status)
            status = clumpi_arrays_copy(&w->arrays, are_refs ? refs : e->info.buffer,
                                        are_refs ? 0 : at, (uint32_t)n, 0);
    }
    return status;
}

clump_status clumpi_arrays_unpack(clumpi_pack *p, const clump_extract *words) {
    clump_context *c = p->extract->context;
    array_walk w = {.at = {0}};
    cl_mem refs = NULL;
    clump_status status = make_memory(p, words);
    if (!status) status = clumpi_buffer_create(c, PIECE * sizeof(clump_ref), "references", &refs);
    while (!status && next_array(p, p->extract, words, 1, &w, &status))
        status = unpack_elements(p, &w, refs);
    clumpi_arrays_close(&w.arrays);
    clumpi_buffer_release(c, &refs);
    return status;
}
