/* Marking on the host: sequential, level by level, on a copy of the blocks in use. The reference
 * for what the device does, and written to be read.
 *
 * Roots are the device's work; what they led to is in the queue and among the grey objects, and
 * is taken over from there. The words of white objects go back; so do objects that are reached but
 * not scanned, if the device is to go on, as grey ones.
 *
 * Read first: collect.h, cl/collect/mark.clh.
 */
#include <stddef.h>
#include <string.h>

#include "collect/collect.h"

typedef struct host_mark {
    const clump_heap *heap;
    const clumpi_geometry *geometry; /* of the heap, */
    uint64_t granules;               /* and their number: each reference is looked up */
    cl_mem marks;
    const clump_allocator *allocator;
    clumpi_u32 *states;
    uint64_t *white, *grey; /* a word for each granule */
    clumpi_column *columns;
    uint8_t *image;       /* of the blocks from `from` on */
    uint64_t from, bytes; /* of the buffer */
    void *front, *next;   /* of references: reached, not yet scanned; `next`: by the others */
    size_t front_room, next_room, front_count, next_count, peak;
    uint64_t levels, read, followed;
} host_mark;

static clump_status no_memory(const host_mark *m) {
    return clumpi_fail(&clumpi_heap_context(m->heap)->error, CLUMP_ERR_HOST_MEMORY,
                       "clump_heap_collect: no host memory for marking on the host");
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* A copy of a part of a buffer, or NULL with *status set. */
static void *fetch(const host_mark *m, cl_mem buffer, uint64_t at, uint64_t bytes,
                   clump_status *status) {
    if (*status) return NULL;
    void *copy = clumpi_alloc(m->allocator, bytes);
    *status =
        copy ? clumpi_read(clumpi_heap_context(m->heap), buffer, at, bytes, copy) : no_memory(m);
    return copy;
}

/* Blocks in use lie between two places. */
static void find_blocks(host_mark *m) {
    const clumpi_header *h = &m->geometry->header;
    uint32_t first = h->first_block, end = h->block_end;
    while (first < end && !m->states[first]) first++;
    while (end > first && !m->states[end - 1]) end--;
    uint64_t block_bytes = clumpi_block_bytes(m->heap);
    m->from = first * block_bytes;
    m->bytes = (end - first) * block_bytes;
}

static clump_status fetch_all(host_mark *m) {
    const clump_heap *heap = m->heap;
    const clumpi_header *h = &m->geometry->header;
    uint64_t granules = m->granules, words = granules * sizeof *m->white;
    uint32_t columns = m->geometry->classes[h->class_count].owners_end;
    clump_status status = CLUMP_OK;
    m->states = fetch(m, clumpi_heap_buffer(heap), (uint64_t)h->at_states * CLUMPI_UNIT,
                      h->block_end * sizeof *m->states, &status);
    m->columns = fetch(m, clumpi_heap_buffer(heap), (uint64_t)h->at_columns * CLUMPI_UNIT,
                       columns * sizeof *m->columns, &status);
    m->white = fetch(m, m->marks, clumpi_marks_white_at(), words, &status);
    m->grey = fetch(m, m->marks, clumpi_marks_grey_at(granules), words, &status);
    if (!status) find_blocks(m);
    if (!status) m->image = clumpi_alloc(m->allocator, m->bytes);
    if (!status && !m->image) status = no_memory(m);
    if (!status) status = clumpi_blocks_read(m->heap, m->from, m->bytes, m->image);
    return status;
}

static void drop_all(host_mark *m) {
    clumpi_free(m->allocator, m->states);
    clumpi_free(m->allocator, m->columns);
    clumpi_free(m->allocator, m->white);
    clumpi_free(m->allocator, m->grey);
    clumpi_free(m->allocator, m->image);
    clumpi_free(m->allocator, m->front);
    clumpi_free(m->allocator, m->next);
}

/* ---- Marking --------------------------------------------------------------------------------- */

static clump_status push(host_mark *m, clump_ref ref) {
    if (!clumpi_grow(m->allocator, &m->next, &m->next_room, m->next_count + 1, sizeof ref))
        return no_memory(m);
    ((clump_ref *)m->next)[m->next_count++] = ref;
    return CLUMP_OK;
}

static uint32_t class_of(const host_mark *m, clump_ref ref) {
    uint32_t block = (ref >> 6) / m->geometry->header.block_granules;
    return m->states[block] >> CLUMPI_CLASS_SHIFT;
}

/* A reference of a column. */
static clump_status follow(host_mark *m, clump_ref ref, const clumpi_column *column) {
    m->read++;
    m->followed += ref != 0;
    if ((ref >> 6) >= m->granules) return CLUMP_OK;
    if (!(m->white[ref >> 6] >> (ref & 63) & 1)) return CLUMP_OK; /* reached, dead or null */
    uint32_t class_id = class_of(m, ref);
    if (class_id < column->first || class_id > column->last) return CLUMP_OK;
    m->white[ref >> 6] &= ~(UINT64_C(1) << (ref & 63));
    return push(m, ref);
}

/* References that an array of run-time length has in raw memory, which is in the copy as other
 * blocks are. */
static clump_status scan_array(host_mark *m, const uint8_t *row, uint32_t slot,
                               const clumpi_column *array) {
    clumpi_u32 words[3];
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < 3; i++)
        memcpy(&words[i],
               row + array->base + (uint64_t)i * array->step + (uint64_t)slot * array->stride,
               sizeof *words);
    uint64_t count = words[0] > array->count ? words[0] - array->count : 0;
    if (count > words[1]) count = words[1];
    const uint64_t at = (uint64_t)words[2] * CLUMPI_RAW_UNIT, bytes = count * sizeof(clump_ref);
    if (at < m->from || at + bytes > m->from + m->bytes) return CLUMP_OK; /* overwritten, or none */
    for (uint64_t e = 0; e < count && !status; e++) {
        clump_ref to;
        memcpy(&to, m->image + (at - m->from) + e * sizeof to, sizeof to);
        status = follow(m, to, array);
    }
    return status;
}

static clump_status scan(host_mark *m, clump_ref ref) {
    const clumpi_class *k = &m->geometry->classes[class_of(m, ref)];
    const uint8_t *row =
        m->image + (uint64_t)(ref >> 6) * m->geometry->header.granule_bytes - m->from;
    clump_status status = CLUMP_OK;
    for (uint32_t i = k->refs; i < k->weak; i++) {
        const clumpi_column *column = &m->columns[i];
        const uint8_t *at = row + column->base + (uint64_t)(ref & 63) * column->stride;
        for (uint32_t e = 0; e < column->count && !status; e++, at += column->step) {
            clump_ref to;
            memcpy(&to, at, sizeof to);
            status = follow(m, to, column);
        }
    }
    for (uint32_t i = k->arrays; i < k->cleared && !status; i++)
        status = scan_array(m, row, ref & 63, &m->columns[i]);
    return status;
}

/* What is in the queue that the step would read, and what is grey. */
static clump_status take_over(host_mark *m, const clumpi_mark_control *control, clumpi_u32 step) {
    clump_status status = CLUMP_OK;
    uint64_t granules = m->granules;
    uint32_t queued = control->queued[step % 3];
    if (queued > control->capacity) queued = control->capacity;
    uint64_t at = clumpi_marks_queue_at(granules, control->capacity, step % 2);
    clump_ref *refs = fetch(m, m->marks, at, queued * sizeof *refs, &status);
    for (uint32_t i = 0; i < queued && !status; i++) status = push(m, refs[i]);
    clumpi_free(m->allocator, refs);
    for (uint64_t g = 0; g < granules; g++)
        for (; m->grey[g] && !status; m->grey[g] &= m->grey[g] - 1)
            status = push(m, (clump_ref)(g << 6) | (clump_ref)__builtin_ctzll(m->grey[g]));
    return status;
}

/* What was reached is scanned now. Returns how much it is. */
static size_t swap_fronts(host_mark *m) {
    void *front = m->front;
    size_t room = m->front_room;
    m->front = m->next;
    m->front_room = m->next_room;
    m->front_count = m->next_count;
    m->next = front;
    m->next_room = room;
    m->next_count = 0;
    if (m->front_count > m->peak) m->peak = m->front_count;
    return m->front_count;
}

/* Leaves in `front` what the device is to go on with. */
static clump_status mark(host_mark *m, clumpi_collection *r, clumpi_u32 step, int may_return) {
    clump_status status = take_over(m, &r->control, step);
    double start = clumpi_now_ns(), lost = 0; /* what wide levels took longer than on the device */
    double back = clumpi_hand_over_us(16.0 * (double)m->granules);
    while (!status && swap_fronts(m)) {
        lost += (double)m->front_count * CLUMPI_HOST_OBJECT_US - CLUMPI_LEVEL_US;
        if (lost < 0) lost = 0;
        if (may_return && lost > back) break;
        for (size_t i = 0; i < m->front_count && !status; i++)
            status = scan(m, ((clump_ref *)m->front)[i]);
        m->levels++;
    }
    r->report.host_us += 1e-3 * (clumpi_now_ns() - start);
    return status;
}

/* The words of grey objects: what is left. */
static clump_status write_grey(host_mark *m, uint64_t at, uint64_t bytes) {
    clump_context *c = clumpi_heap_context(m->heap);
    cl_mem buffer = m->marks;
    if (!m->front_count) return clumpi_clear(c, buffer, at, bytes);
    for (size_t i = 0; i < m->front_count; i++) {
        clump_ref ref = ((clump_ref *)m->front)[i];
        m->grey[ref >> 6] |= UINT64_C(1) << (ref & 63);
    }
    return clumpi_write(c, buffer, at, bytes, m->grey);
}

static void add(clumpi_u32 *words, uint64_t n) {
    n += (uint64_t)words[1] << 32 | words[0];
    words[0] = (clumpi_u32)n;
    words[1] = (clumpi_u32)(n >> 32);
}

clump_status clumpi_collect_mark_host(clumpi_collection *r, clumpi_u32 step, int may_return) {
    clump_heap *heap = r->heap;
    clump_context *c = clumpi_heap_context(heap);
    host_mark m = {.heap = heap,
                   .geometry = clumpi_heap_geometry(heap),
                   .granules = clumpi_mark_granules(heap),
                   .marks = r->marks->buffer,
                   .allocator = &c->allocator};
    uint64_t granules = m.granules, words = granules * sizeof *m.white;
    double start = clumpi_now_ns();
    clump_status status = fetch_all(&m);
    if (!status) status = mark(&m, r, step, may_return);
    if (!status)
        status = clumpi_write(c, r->marks->buffer, clumpi_marks_white_at(), words, m.white);
    if (!status) status = write_grey(&m, clumpi_marks_grey_at(granules), words);
    clumpi_mark_control *k = &r->control;
    k->changes += step > 0;          /* from the device */
    k->changes += m.front_count > 0; /* to the device */
    k->path = CLUMPI_MARK_NONE;      /* that was counted */
    k->queued[step % 3] = 0;
    k->grey[step % 3] = m.front_count > 0;
    k->levels += (clumpi_u32)m.levels;
    if (m.peak > k->peak) k->peak = (clumpi_u32)m.peak;
    add(k->read, m.read);
    add(k->followed, m.followed);
    if (!status)
        status =
            clumpi_write(c, r->marks->buffer, offsetof(clumpi_marks_head, control), sizeof *k, k);
    drop_all(&m);
    if (!status) status = clumpi_finish(c);
    r->report.us[CLUMP_COLLECT_MARK] += 1e-3 * (clumpi_now_ns() - start);
    return status;
}
