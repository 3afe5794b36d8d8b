/* Arrays that grow of objects that leave and arrive. See leavers.h.
 *
 * Kernels that are generated for each array measure the arrays of objects, make them in objects
 * that have none, and copy elements from and to them. They use the calls of arrays.clh. The
 * elements of all objects lie one after the other, and `ends` has the end of those of each object:
 *
 *   lengths   3 | 0 | 5 | 2
 *   ends      3 | 3 | 8 | 10     element 4 is element 1 of the object with the first end above 4
 *
 * On the device there are pieces of them.
 *
 * Read first: cl/api/arrays.clh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/leavers.h"

#define PIECE_BYTES (UINT64_C(64) << 20)
#define WORDS 2u /* of an array of an object: length and capacity */

/* ---- Classes and kernels --------------------------------------------------------------------- */

/* @C: class, @A: array, @N: its number, @W: type of a word of an element, @B: words of an
 * element. */
static const char kernels_of_array[] =
    "__kernel void migration_measure_@N(CLUMP_HEAP_NO_ALLOC, __global const uint *refs,\n"
    "                                   __global uint *words, uint n) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < n) {\n"
    "        @C self = {refs[i]};\n"
    "        words[2u * i] = @C_@A_length(self);\n"
    "        words[2u * i + 1u] = @C_@A_capacity(self);\n"
    "    }\n"
    "}\n"
    "__kernel void migration_make_@N(CLUMP_HEAP, __global const uint *refs,\n"
    "                                __global uint *words, uint n) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < n) {\n"
    "        @C self = {refs[i]};\n"
    "        if (@C_@A_reserve(self, words[2u * i + 1u]) != CLUMP_DONE ||\n"
    "            @C_@A_resize(self, words[2u * i]) != CLUMP_DONE)\n"
    "            atomic_inc(&words[2u * n]);\n"
    "    }\n"
    "}\n"
    "__kernel void migration_copy_@N(CLUMP_HEAP_NO_ALLOC, __global const uint *refs,\n"
    "                                __global const ulong *ends, uint n, ulong from, uint count,\n"
    "                                __global @W *values, uint is_read) {\n"
    "    uint e = (uint)get_global_id(0), low = 0, high = n - 1u;\n"
    "    if (e >= count) return;\n"
    "    while (low < high) {\n"
    "        uint middle = low + (high - low) / 2u;\n"
    "        if (ends[middle] > from + e) high = middle;\n"
    "        else low = middle + 1u;\n"
    "    }\n"
    "    @C self = {refs[low]};\n"
    "    uint index = (uint)(from + e - (low ? ends[low - 1u] : 0ul));\n"
    "    __global @W *element = (__global @W *)&@C_@A(self, index);\n"
    "    __global @W *value = values + (ulong)e * @Bu;\n"
    "    for (uint w = 0; w < @Bu; w++)\n"
    "        if (is_read) value[w] = element[w];\n"
    "        else element[w] = value[w];\n"
    "}\n";

clump_status clumpi_growing_add(clump_migration *m, clumpi_mover *mover,
                                const clump_field_info *f) {
    uint32_t number = 0;
    while (number < m->growing_count && (m->growing[number].field.class_id != f->class_id ||
                                         strcmp(m->growing[number].field.name, f->name) != 0))
        number++;
    uint32_t *arrays = realloc(mover->arrays, (mover->array_count + 1) * sizeof *mover->arrays);
    if (arrays) mover->arrays = arrays;
    clumpi_growing *all =
        number < m->growing_count ? m->growing : realloc(m->growing, (number + 1) * sizeof *all);
    if (all) m->growing = all;
    if (!arrays || !all)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for arrays");
    if (number == m->growing_count) {
        const clump_schema *schema = clump_heap_get_info(m->heap)->schema;
        all[m->growing_count++] = (clumpi_growing){
            .class_name = clump_schema_get_info(schema)->classes[f->class_id]->name, .field = *f};
    }
    mover->arrays[mover->array_count++] = number;
    m->array_count++;
    return CLUMP_OK;
}

clump_status clumpi_growing_open(clump_migration *m) {
    for (uint32_t k = 0; k < m->mover_count; k++) {
        const size_t count = m->movers[k].array_count + 1;
        m->out[k].arrays = calloc(count, sizeof *m->out[k].arrays);
        m->in[k].arrays = calloc(count, sizeof *m->in[k].arrays);
        if (!m->out[k].arrays || !m->in[k].arrays)
            return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for arrays");
    }
    return CLUMP_OK;
}

/* The widest type of which an element has a whole number. */
static uint32_t word_bytes(const clump_field_info *f) {
    uint32_t bytes = 8;
    while (f->element_bytes % bytes) bytes /= 2;
    return bytes;
}

/* The kernels of array `number` at `to`. NULL: only their length is wanted. */
static size_t put_kernels(const clump_migration *m, uint32_t number, char *to) {
    const clumpi_growing *g = &m->growing[number];
    const uint32_t bytes = word_bytes(&g->field);
    char digits[2][12];
    snprintf(digits[0], sizeof digits[0], "%u", number);
    snprintf(digits[1], sizeof digits[1], "%u", g->field.element_bytes / bytes);
    size_t length = 0;
    for (const char *at = kernels_of_array; *at; at++) {
        const char letter[2] = {*at, 0}, *text = letter;
        if (*at == '@') {
            at++;
            text = *at == 'C'   ? g->class_name
                   : *at == 'A' ? g->field.name
                   : *at == 'N' ? digits[0]
                   : *at == 'B' ? digits[1]
                   : bytes == 8 ? "ulong"
                   : bytes == 4 ? "uint"
                   : bytes == 2 ? "ushort"
                                : "uchar";
        }
        const size_t added = strlen(text);
        for (size_t i = 0; i < added && to; i++) to[length + i] = text[i];
        length += added;
    }
    return length;
}

char *clumpi_growing_text(const clump_migration *m) {
    size_t length = 0;
    for (uint32_t i = 0; i < m->growing_count; i++) length += put_kernels(m, i, NULL);
    char *text = malloc(length + 1);
    length = 0;
    for (uint32_t i = 0; text && i < m->growing_count; i++)
        length += put_kernels(m, i, text + length);
    if (text) text[length] = 0;
    return text;
}

clump_status clumpi_growing_kernels(clump_migration *m) {
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < m->growing_count && !status; i++) {
        const struct {
            const char *name;
            clump_kernel **kernel;
        } kernels[] = {{"measure", &m->growing[i].measure},
                       {"make", &m->growing[i].make},
                       {"copy", &m->growing[i].copy}};
        for (size_t j = 0; j < sizeof kernels / sizeof *kernels && !status; j++) {
            char name[40];
            snprintf(name, sizeof name, "migration_%s_%u", kernels[j].name, i);
            status = clump_kernel_create(m->program, name, kernels[j].kernel, NULL);
        }
    }
    return status;
}

static void close_moving(const clump_migration *m, clumpi_moving *all) {
    for (uint32_t k = 0; all && k < m->mover_count; k++) {
        for (uint32_t a = 0; all[k].arrays && a < m->movers[k].array_count; a++) {
            clumpi_world_free(m->world, all[k].arrays[a].words);
            clumpi_pinned_close(m->world, &all[k].arrays[a].elements);
        }
        free(all[k].arrays);
    }
}

void clumpi_growing_close(clump_migration *m) {
    const clumpi_staging *staging[] = {&m->staged.refs, &m->staged.words, &m->staged.ends,
                                       &m->staged.elements};
    for (size_t i = 0; i < sizeof staging / sizeof *staging; i++)
        if (staging[i]->buffer) clReleaseMemObject(staging[i]->buffer);
    for (uint32_t i = 0; i < m->growing_count; i++) {
        clump_kernel_destroy(m->growing[i].measure);
        clump_kernel_destroy(m->growing[i].make);
        clump_kernel_destroy(m->growing[i].copy);
    }
    free(m->growing);
    close_moving(m, m->out);
    close_moving(m, m->in);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static clump_status open_staging(clump_migration *m, clumpi_staging *s, uint64_t bytes) {
    if (bytes <= s->bytes) return CLUMP_OK;
    if (s->buffer) clReleaseMemObject(s->buffer);
    *s = (clumpi_staging){NULL, 0};
    const clump_status status = clumpi_migration_buffer(m->world, bytes + bytes / 4, &s->buffer);
    if (!status) s->bytes = bytes + bytes / 4;
    return status;
}

static clump_status stage(clump_migration *m, clumpi_staging *s, uint64_t bytes, const void *data) {
    const clump_status status = open_staging(m, s, bytes);
    return status ? status : clumpi_migration_write(m, s->buffer, 0, bytes, data);
}

/* What it had is not kept. */
static clump_status open_words(clump_migration *m, clumpi_moving_array *array, uint64_t objects) {
    /* A word more, for arrays that could not be made. */
    const uint64_t bytes = (WORDS * objects + 1) * sizeof *array->words;
    if (bytes <= array->words_room) return CLUMP_OK;
    free(array->words);
    array->words = malloc(bytes + bytes / 4);
    array->words_room = array->words ? bytes + bytes / 4 : 0;
    return array->words ? CLUMP_OK
                        : clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY,
                                            "no host memory for %llu bytes of arrays",
                                            (unsigned long long)bytes);
}

static clump_status open_elements(clump_migration *m, clumpi_moving_array *array, uint64_t count,
                                  uint32_t each) {
    const uint64_t bytes = count * each;
    if (bytes <= array->elements.bytes) return CLUMP_OK;
    return clumpi_pinned_open(m->world, &array->elements, bytes + bytes / 4);
}

/* ---- Between arrays and the host ------------------------------------------------------------- */

static clump_status stage_refs(clump_migration *m, const clumpi_moving *moving) {
    return stage(m, &m->staged.refs, moving->count * sizeof *moving->refs, moving->refs);
}

static clump_status set_args(clump_migration *m, clump_kernel *kernel, const void *const *values,
                             const size_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const clump_status status = clump_kernel_set_arg(kernel, i, bytes[i], values[i]);
        if (status) return clumpi_world_fail_context(m->world, status);
    }
    return CLUMP_OK;
}

/* The references are staged. */
static clump_status launch_words(clump_migration *m, clump_kernel *kernel, uint64_t objects) {
    const cl_uint n = (cl_uint)objects;
    const void *values[] = {&m->staged.refs.buffer, &m->staged.words.buffer, &n};
    const size_t bytes[] = {sizeof m->staged.refs.buffer, sizeof m->staged.words.buffer, sizeof n};
    const clump_status status = set_args(m, kernel, values, bytes, 3);
    return status ? status : clumpi_migration_launch(m, kernel, objects);
}

static clump_status stage_ends(clump_migration *m, const clumpi_moving *moving,
                               const clumpi_moving_array *array) {
    cl_ulong *ends = malloc(moving->count * sizeof *ends), end = 0;
    if (!ends)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu arrays",
                                 (unsigned long long)moving->count);
    for (uint64_t o = 0; o < moving->count; o++) ends[o] = end += array->words[WORDS * o];
    const clump_status status = stage(m, &m->staged.ends, moving->count * sizeof *ends, ends);
    free(ends);
    return status;
}

static clump_status copy_piece(clump_migration *m, const clumpi_growing *g, uint64_t objects,
                               cl_ulong from, cl_uint count, cl_uint is_read) {
    const cl_uint n = (cl_uint)objects;
    const void *values[] = {&m->staged.refs.buffer,
                            &m->staged.ends.buffer,
                            &n,
                            &from,
                            &count,
                            &m->staged.elements.buffer,
                            &is_read};
    const size_t bytes[] = {sizeof m->staged.refs.buffer,
                            sizeof m->staged.ends.buffer,
                            sizeof n,
                            sizeof from,
                            sizeof count,
                            sizeof m->staged.elements.buffer,
                            sizeof is_read};
    const clump_status status = set_args(m, g->copy, values, bytes, 7);
    return status ? status : clumpi_migration_launch(m, g->copy, count);
}

/* All elements of the objects, whose references are staged: out of the arrays, or into them. */
static clump_status copy_elements(clump_migration *m, const clumpi_growing *g,
                                  const clumpi_moving *moving, clumpi_moving_array *array,
                                  int is_read) {
    const uint32_t each = g->field.element_bytes;
    const uint64_t end = array->from[m->world->place.directions], most = PIECE_BYTES / each;
    if (!end) return CLUMP_OK;
    clump_status status = stage_ends(m, moving, array);
    if (!status) status = open_staging(m, &m->staged.elements, (end < most ? end : most) * each);
    for (uint64_t from = 0, n; from < end && !status; from += n) {
        n = end - from < most ? end - from : most;
        char *at = array->elements.memory + from * each;
        if (!is_read)
            status = clumpi_migration_write(m, m->staged.elements.buffer, 0, n * each, at);
        if (!status) status = copy_piece(m, g, moving->count, from, (cl_uint)n, is_read != 0);
        if (!status && is_read)
            status = clumpi_migration_read(m, m->staged.elements.buffer, 0, n * each, at);
    }
    return status;
}

/* ---- What leaves ----------------------------------------------------------------------------- */

static clump_status measure(clump_migration *m, const clumpi_growing *g,
                            const clumpi_moving *moving, clumpi_moving_array *array) {
    const uint64_t bytes = WORDS * moving->count * sizeof *array->words;
    clump_status status = open_words(m, array, moving->count);
    if (!status) status = open_staging(m, &m->staged.words, bytes);
    if (!status) status = launch_words(m, g->measure, moving->count);
    if (!status) status = clumpi_migration_read(m, m->staged.words.buffer, 0, bytes, array->words);
    uint64_t elements = 0;
    for (uint32_t d = 0; d < m->world->place.directions && !status; d++) {
        array->from[d] = elements;
        for (uint64_t o = moving->from[d]; o < moving->from[d + 1]; o++)
            elements += array->words[WORDS * o];
        array->from[d + 1] = elements;
    }
    return status;
}

clump_status clumpi_growing_take(clump_migration *m, uint32_t k) {
    const clumpi_mover *mover = &m->movers[k];
    const clumpi_moving *out = &m->out[k];
    clump_status status = mover->array_count && out->count ? stage_refs(m, out) : CLUMP_OK;
    for (uint32_t a = 0; a < mover->array_count && !status; a++) {
        const clumpi_growing *g = &m->growing[mover->arrays[a]];
        clumpi_moving_array *array = &out->arrays[a];
        memset(array->from, 0, sizeof array->from);
        if (!out->count) continue;
        status = measure(m, g, out, array);
        if (!status)
            status = open_elements(m, array, array->from[m->world->place.directions],
                                   g->field.element_bytes);
        if (!status) status = copy_elements(m, g, out, array, 1);
    }
    return status;
}

void clumpi_growing_number(clump_migration *m, uint32_t k) {
    for (uint32_t a = 0; a < m->movers[k].array_count; a++) {
        const clumpi_moving_array *array = &m->out[k].arrays[a];
        if (m->growing[m->movers[k].arrays[a]].field.type != CLUMP_TYPE_REF) continue;
        clump_ref *refs = (clump_ref *)(void *)array->elements.memory;
        for (uint32_t d = 0; d < m->world->place.directions; d++)
            for (uint64_t e = array->from[d]; e < array->from[d + 1]; e++) {
                const uint32_t number = refs[e] ? clumpi_leaver_number(m, refs[e], d) : 0;
                m->left_out += refs[e] && !number;
                refs[e] = number;
            }
    }
}

/* ---- What arrives ---------------------------------------------------------------------------- */

clump_status clumpi_growing_expect(clump_migration *m, uint32_t k) {
    const clumpi_mover *mover = &m->movers[k];
    clump_status status = CLUMP_OK;
    for (uint32_t a = 0; a < mover->array_count && !status; a++) {
        clumpi_moving_array *array = &m->in[k].arrays[a];
        status = open_words(m, array, m->in[k].count);
        if (!status)
            status = open_elements(m, array, array->from[m->world->place.directions],
                                   m->growing[mover->arrays[a]].field.element_bytes);
    }
    return status;
}

static clump_status make(clump_migration *m, const clumpi_growing *g, const clumpi_moving *in,
                         clumpi_moving_array *array) {
    const uint64_t failed_at = WORDS * in->count;
    uint32_t *failed = &array->words[failed_at];
    *failed = 0;
    clump_status status =
        stage(m, &m->staged.words, (failed_at + 1) * sizeof *array->words, array->words);
    if (!status) status = launch_words(m, g->make, in->count);
    if (!status)
        status = clumpi_migration_read(m, m->staged.words.buffer, failed_at * sizeof *failed,
                                       sizeof *failed, failed);
    if (status || !*failed) return status;
    return clumpi_world_fail(
        m->world, CLUMP_ERR_DEVICE_MEMORY,
        "clump_migration_run: the heap of rank %d has no raw memory for %u of the %llu arrays %s "
        "of class %s that arrive. The objects stay where they are",
        m->world->place.rank, *failed, (unsigned long long)in->count, g->field.name, g->class_name);
}

clump_status clumpi_growing_make(clump_migration *m, uint32_t k) {
    const clumpi_mover *mover = &m->movers[k];
    const clumpi_moving *in = &m->in[k];
    if (!mover->array_count || !in->count) return CLUMP_OK;
    clump_status status = stage_refs(m, in);
    for (uint32_t a = 0; a < mover->array_count && !status; a++)
        status = make(m, &m->growing[mover->arrays[a]], in, &in->arrays[a]);
    return status;
}

/* Numbers become references. */
static void set_refs(clump_migration *m, clumpi_moving_array *array) {
    clump_ref *refs = (clump_ref *)(void *)array->elements.memory;
    for (uint32_t d = 0; d < m->world->place.directions; d++)
        for (uint64_t e = array->from[d]; e < array->from[d + 1]; e++)
            if (refs[e]) refs[e] = clumpi_arrival_ref(m, refs[e], d);
}

clump_status clumpi_growing_fill(clump_migration *m, uint32_t k) {
    const clumpi_mover *mover = &m->movers[k];
    const clumpi_moving *in = &m->in[k];
    if (!mover->array_count || !in->count) return CLUMP_OK;
    clump_status status = stage_refs(m, in);
    for (uint32_t a = 0; a < mover->array_count && !status; a++) {
        const clumpi_growing *g = &m->growing[mover->arrays[a]];
        if (g->field.type == CLUMP_TYPE_REF) set_refs(m, &in->arrays[a]);
        status = copy_elements(m, g, in, &in->arrays[a], 0);
    }
    return status;
}
