/* Objects that leave and arrive, on this rank. See leavers.h.
 *
 * Everything on the device is as large as what leaves or arrives, not as the heap; except that with
 * a field all objects of the class are looked at.
 */
#include "mpi/leavers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_READ 2048u /* objects of the list that are read with their number, at least */
#define LOCAL 64u

/* ---- Classes --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) { /* FNV-1a */
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static uint32_t count_fields(const clump_schema *schema, uint32_t id, uint32_t *refs) {
    uint32_t count = 0;
    *refs = 0;
    for (const clump_class_info *c; id; id = c->base) {
        c = clump_schema_get_info(schema)->classes[id];
        for (uint32_t i = 0; i < c->field_count; i++, count++)
            if (c->fields[i]->type == CLUMP_TYPE_REF)
                *refs += c->fields[i]->count ? c->fields[i]->count : 1;
    }
    return count;
}

static void add_field(clump_migration *m, clumpi_mover *mover, const clump_field_info *f,
                      const char *mark) {
    const uint32_t elements = f->count ? f->count : 1;
    mover->fields[mover->desc.field_count++] = (clump_struct_field){f->name, mover->desc.bytes};
    if (f->type == CLUMP_TYPE_REF)
        for (uint32_t i = 0; i < elements; i++)
            mover->ref_offsets[mover->ref_count++] =
                mover->desc.bytes + i * (uint32_t)sizeof(clump_ref);
    if (mark && !strcmp(mark, f->name)) {
        mover->mark_at = mover->desc.bytes;
        mover->mark_bytes = f->element_bytes;
    }
    mover->desc.bytes += elements * f->element_bytes;
    m->kind = mix(m->kind, f->name, strlen(f->name) + 1);
    m->kind = mix(m->kind, &mover->desc.bytes, sizeof mover->desc.bytes);
}

/* Fields that a class declares. Length, capacity and memory of an array follow it. */
static clump_status add_fields(clump_migration *m, clumpi_mover *mover,
                               const clump_class_info *owner, const char *mark) {
    clump_status status = CLUMP_OK;
    int is_growing = 0;
    for (uint32_t i = 0; i < owner->field_count && !status; i++) {
        const clump_field_info *f = owner->fields[i];
        if (!f->part) is_growing = f->array == CLUMP_ARRAY_GROWING;
        if (!is_growing)
            add_field(m, mover, f, mark);
        else if (!f->part) {
            m->kind = mix(m->kind, f->name, strlen(f->name) + 1);
            m->kind = mix(m->kind, &f->element_bytes, sizeof f->element_bytes);
            status = clumpi_growing_add(m, mover, f);
        }
    }
    return status;
}

static clump_status add_class(clump_migration *m, const clump_class_info *info, const char *mark) {
    const clump_schema *schema = clump_heap_get_info(m->heap)->schema;
    clumpi_mover *mover = &m->movers[m->mover_count];
    const clump_class_info *owner;
    uint32_t refs, fields = count_fields(schema, info->id, &refs);
    mover->fields = calloc(fields + 1, sizeof *mover->fields);
    mover->ref_offsets = calloc(refs + 1, sizeof *mover->ref_offsets);
    m->mover_count++; /* so that it is freed */
    if (!mover->fields || !mover->ref_offsets)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for a class");
    mover->id = info->id;
    mover->mark_at = -1;
    mover->desc = (clump_struct_desc){
        .size = sizeof(clump_struct_desc), .class_name = info->name, .fields = mover->fields};
    m->kind = mix(m->kind, info->name, strlen(info->name) + 1);
    clump_status status = CLUMP_OK;
    for (uint32_t id = info->id; id && !status; id = owner->base) {
        owner = clump_schema_get_info(schema)->classes[id];
        status = add_fields(m, mover, owner, mark);
    }
    if (!mover->desc.bytes) mover->desc.bytes = 1; /* it has only arrays that grow */
    return status;
}

static clump_status add_classes(clump_migration *m, const char *class_name, const char *mark) {
    const clump_schema *schema = clump_heap_get_info(m->heap)->schema;
    const clump_class_info *base = clump_schema_find_class(schema, class_name);
    if (!base)
        return clumpi_world_fail(m->world, CLUMP_ERR_NOT_FOUND,
                                 "clump_migration_create: the heap has no class \"%s\"",
                                 class_name);
    const clump_field_info *f = mark ? clump_schema_find_field(schema, base->id, mark) : NULL;
    if (mark && !f)
        return clumpi_world_fail(m->world, CLUMP_ERR_NOT_FOUND,
                                 "clump_migration_create: class %s has no field \"%s\"", class_name,
                                 mark);
    if (mark && (f->count || f->width != 1 || f->type > CLUMP_TYPE_ULONG ||
                 f->array != CLUMP_ARRAY_FIXED || f->part != CLUMP_PART_NONE))
        return clumpi_world_fail(
            m->world, CLUMP_ERR_USAGE,
            "clump_migration_create: field %s of class %s must be a scalar of an integer type. Its "
            "value 0 means that the object stays, and d + 1 that it leaves in direction d",
            mark, class_name);
    m->movers = calloc(base->last - base->id + 1, sizeof *m->movers);
    m->out = calloc(base->last - base->id + 1, sizeof *m->out);
    m->in = calloc(base->last - base->id + 1, sizeof *m->in);
    if (!m->movers || !m->out || !m->in)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for classes");
    m->kind = 14695981039346656037u;
    clump_status status = CLUMP_OK;
    for (uint32_t id = base->id; id <= base->last && !status; id++) {
        const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
        if (!info->is_abstract) status = add_class(m, info, mark);
    }
    return status ? status : clumpi_growing_open(m);
}

/* ---- Program --------------------------------------------------------------------------------- */

/* %s: class, class, field; then class by class. */
static const char find_format[] =
    "__kernel void migration_find(CLUMP_HEAP_NO_ALLOC, __global uint *list, uint most) {\n"
    "    CLUMP_FOR_EACH(%s, self) {\n"
    "        uint to = (uint)%s_%s(self);\n"
    "        if (to != 0u) {\n"
    "            uint i = atomic_inc(list);\n"
    "            if (i < most) {\n"
    "                list[1u + 2u * i] = self.id;\n"
    "                list[2u + 2u * i] = to - 1u;\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n";
static const char others_format[] =
    "__kernel void migration_tell(CLUMP_HEAP_NO_ALLOC, __global uint *list, uint most) {\n"
    "    uint n = min(list[0], most);\n"
    "    for (uint i = (uint)get_global_id(0); i < n; i += (uint)get_global_size(0)) {\n"
    "        %s self = {list[1u + 2u * i]};\n"
    "        uint is = %s_is_live(self) ? %s_class_of(self) : 0u;\n"
    "        list[2u + 2u * i] = min(list[2u + 2u * i], 255u) | is << 8;\n"
    "    }\n"
    "}\n"
    /* gone: directions of the list, a bit for each; 0: `list` has only references, which all go */
    "__kernel void migration_release(CLUMP_HEAP, __global const uint *list, uint n, uint gone) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < n && (gone == 0u || (gone >> (list[2u + 2u * i] & 31u) & 1u))) {\n"
    "        %s self = {list[gone == 0u ? i : 1u + 2u * i]};\n"
    "        %s_free(self);\n"
    "    }\n"
    "}\n";

static clump_status make_kernel(clump_migration *m, const char *name, clump_kernel **kernel) {
    clump_status status = clump_kernel_create(m->program, name, kernel, NULL);
    if (!status) status = clump_kernel_set_arg(*kernel, 0, sizeof m->list, &m->list);
    if (!status) status = clump_kernel_set_arg(*kernel, 1, sizeof m->most, &m->most);
    return status;
}

static clump_status build(clump_migration *m, const char *mark) {
    const char *c = m->class_name;
    char *arrays = clumpi_growing_text(m);
    const size_t room = sizeof find_format + sizeof others_format + 6 * strlen(c) +
                        (mark ? strlen(mark) : 0) + (arrays ? strlen(arrays) : 0) + 1;
    char *source = arrays ? malloc(room) : NULL;
    int length = 0;
    if (source && mark) length = snprintf(source, room, find_format, c, c, mark);
    if (source)
        length += snprintf(source + length, room - (size_t)length, others_format, c, c, c, c, c);
    if (source) memcpy(source + length, arrays, strlen(arrays) + 1);
    free(arrays);
    if (!source)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for a program");
    clump_status status =
        clump_program_create(&(clump_program_desc){.size = sizeof(clump_program_desc),
                                                   .heap = m->heap,
                                                   .source = source,
                                                   .name = "migration.cl"},
                             &m->program, NULL);
    free(source);
    if (!status && mark) status = make_kernel(m, "migration_find", &m->find);
    if (!status) status = make_kernel(m, "migration_tell", &m->tell);
    if (!status) status = make_kernel(m, "migration_release", &m->release);
    if (!status) status = clumpi_growing_kernels(m);
    return status ? clumpi_world_fail_context(m->world, status) : CLUMP_OK;
}

clump_status clumpi_migration_buffer(clump_world *world, uint64_t bytes, cl_mem *buffer) {
    cl_int code;
    *buffer = clCreateBuffer(world->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code ? clumpi_world_fail_cl(world, "clCreateBuffer", code) : CLUMP_OK;
}

clump_status clumpi_leavers_open(clump_migration *m, const char *class_name, const char *field) {
    m->has_field = field != NULL;
    clump_status status = add_classes(m, class_name, field);
    if (status) return status;
    m->words = malloc((1 + 2 * (size_t)m->most) * sizeof *m->words);
    m->leavers = malloc(m->most * sizeof *m->leavers);
    m->sorted = malloc(m->most * sizeof *m->sorted);
    if (!m->words || !m->leavers || !m->sorted)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for %u objects",
                                 m->most);
    status =
        clumpi_migration_buffer(m->world, (1 + 2 * (uint64_t)m->most) * sizeof(uint32_t), &m->list);
    if (!status) status = build(m, field);
    m->listed = m->most; /* anything */
    if (!status) status = clumpi_leavers_clear(m);
    m->listed = 0;
    return status;
}

static void close_moving(const clump_migration *m, clumpi_moving *all) {
    for (uint32_t i = 0; all && i < m->mover_count; i++) {
        clumpi_world_free(m->world, all[i].refs);
        clumpi_pinned_close(m->world, &all[i].values);
    }
    free(all);
}

void clumpi_leavers_close(clump_migration *m) {
    clump_kernel_destroy(m->find);
    clump_kernel_destroy(m->tell);
    clump_kernel_destroy(m->release);
    clumpi_growing_close(m);
    clump_program_destroy(m->program);
    if (m->list) clReleaseMemObject(m->list);
    if (m->arrivals) clReleaseMemObject(m->arrivals);
    close_moving(m, m->out);
    close_moving(m, m->in);
    for (uint32_t i = 0; i < m->mover_count; i++) {
        free(m->movers[i].fields);
        free(m->movers[i].ref_offsets);
        free(m->movers[i].arrays);
    }
    free(m->movers);
    free(m->words);
    free(m->leavers);
    free(m->sorted);
}

/* ---- Transfers ------------------------------------------------------------------------------- */

/* The queue that the heap's commands are on now. A transfer there comes after them, which a queue
 * out of order does not see to; the next ones come after the transfer, since it is waited for. */
static clump_status enter_queue(clump_migration *m, cl_command_queue *queue) {
    clump_world *world = m->world;
    int is_out_of_order = world->is_out_of_order;
    *queue = clump_context_get_info(world->context)->queue;
    const cl_int code = *queue == world->queue
                            ? CL_SUCCESS
                            : clumpi_queue_is_out_of_order(*queue, &is_out_of_order);
    return code ? clumpi_world_fail_cl(world, "clGetCommandQueueInfo", code)
                : clumpi_world_order(world, *queue, is_out_of_order);
}

/* Not by a blocking write: Intel's CPU runtime 2026.22 comes back too early
 * (docs/portability.md). */
clump_status clumpi_migration_write(clump_migration *m, cl_mem buffer, uint64_t at, uint64_t bytes,
                                    const void *data) {
    cl_command_queue queue;
    cl_event event = NULL;
    const clump_status status = enter_queue(m, &queue);
    if (status) return status;
    cl_int code = clEnqueueWriteBuffer(queue, buffer, CL_FALSE, at, bytes, data, 0, NULL, &event);
    if (code) return clumpi_world_fail_cl(m->world, "clEnqueueWriteBuffer", code);
    code = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return code ? clumpi_world_fail_cl(m->world, "clWaitForEvents", code) : CLUMP_OK;
}

clump_status clumpi_migration_read(clump_migration *m, cl_mem buffer, uint64_t at, uint64_t bytes,
                                   void *data) {
    cl_command_queue queue;
    const clump_status status = enter_queue(m, &queue);
    if (status) return status;
    const cl_int code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, at, bytes, data, 0, NULL, NULL);
    return code ? clumpi_world_fail_cl(m->world, "clEnqueueReadBuffer", code) : CLUMP_OK;
}

clump_status clumpi_migration_launch(clump_migration *m, clump_kernel *kernel, uint64_t items) {
    const size_t global = (size_t)((items + LOCAL - 1) / LOCAL * LOCAL);
    const clump_status status = clump_heap_launch(m->heap, kernel, global, LOCAL, NULL);
    return status ? clumpi_world_fail_context(m->world, status) : CLUMP_OK;
}

/* Words of the list, which the host has in m->words. */
static clump_status read_list(clump_migration *m, uint64_t from, uint64_t count) {
    return clumpi_migration_read(m, m->list, from * sizeof *m->words, count * sizeof *m->words,
                                 m->words + from);
}

clump_status clumpi_leavers_clear(clump_migration *m) {
    static const uint32_t none = 0;
    return m->listed ? clumpi_migration_write(m, m->list, 0, sizeof none, &none) : CLUMP_OK;
}

/* ---- Who leaves ------------------------------------------------------------------------------ */

enum { DIGIT_BITS = 12, DIGITS = 4, DIGIT_VALUES = 1 << DIGIT_BITS };

static uint32_t digit_of(clumpi_leaver l, int d) {
    return (uint32_t)(l >> DIGIT_BITS * d) & (DIGIT_VALUES - 1);
}

/* A radix sort. Digits in which all are the same are left out. */
static void sort_leavers(clump_migration *m, uint32_t n) {
    uint32_t places[DIGITS][DIGIT_VALUES] = {{0}};
    for (uint32_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++) places[d][digit_of(m->leavers[i], d)]++;
    for (int d = 0; d < DIGITS && n; d++) {
        if (places[d][digit_of(m->leavers[0], d)] == n) continue;
        for (uint32_t i = 0, before = 0; i < DIGIT_VALUES; i++) {
            const uint32_t count = places[d][i];
            places[d][i] = before;
            before += count;
        }
        for (uint32_t i = 0; i < n; i++)
            m->sorted[places[d][digit_of(m->leavers[i], d)]++] = m->leavers[i];
        clumpi_leaver *const swap = m->leavers;
        m->leavers = m->sorted;
        m->sorted = swap;
    }
}

static clump_status check_leaver(clump_migration *m, clumpi_leaver l) {
    const clump_world_place *p = &m->world->place;
    const uint32_t direction = clumpi_leaver_direction(l);
    if (!clumpi_leaver_class(l))
        return clumpi_world_fail(m->world, CLUMP_ERR_REFERENCE,
                                 "clump_migration_run: the list has reference 0x%08x, which names "
                                 "no live object of class %s",
                                 clumpi_leaver_ref(l), m->class_name);
    if (direction >= p->directions || p->neighbours[direction] < 0)
        return clumpi_world_fail(
            m->world, CLUMP_ERR_USAGE,
            "clump_migration_run: object 0x%08x of class %s leaves in direction %u, but rank %d "
            "has %u directions%s",
            clumpi_leaver_ref(l), m->class_name, direction, p->rank, p->directions,
            direction < p->directions ? ", and the world ends in this direction" : "");
    return CLUMP_OK;
}

/* As many as in the last run are read at once, and a quarter more. */
static clump_status list_leavers(clump_migration *m, uint32_t *count) {
    const uint64_t like_last = m->listed + (uint64_t)m->listed / 4,
                   wanted = like_last > FIRST_READ ? like_last : FIRST_READ;
    const uint32_t first = m->most < wanted ? m->most : (uint32_t)wanted;
    clump_status status = CLUMP_OK;
    *count = 0;
    m->listed = m->most; /* until it is known */
    if (m->find) {
        status = clump_heap_do_all(m->heap, m->find, NULL);
        if (status) return clumpi_world_fail_context(m->world, status);
    }
    status = clumpi_migration_launch(m, m->tell, first);
    if (!status) status = read_list(m, 0, 1 + 2 * (uint64_t)first);
    if (status) return status;
    const uint32_t n = m->words[0];
    m->listed = n < m->most ? n : m->most;
    if (n > m->most)
        return clumpi_world_fail(m->world, CLUMP_ERR_TOO_SMALL,
                                 "clump_migration_run: %u objects of class %s leave, but the list "
                                 "has room for only %u. Raise `most`",
                                 n, m->class_name, m->most);
    if (n > first) status = read_list(m, 1 + 2 * (uint64_t)first, 2 * (uint64_t)(n - first));
    for (uint32_t i = 0; i < n && !status; i++) {
        const uint32_t word = m->words[2 + 2 * i];
        m->leavers[i] = (clumpi_leaver)word >> 8 << 40 | (clumpi_leaver)(word & 255) << 32 |
                        m->words[1 + 2 * i];
        status = check_leaver(m, m->leavers[i]);
    }
    if (status) return status;
    sort_leavers(m, n);
    *count = n;
    return CLUMP_OK;
}

static clump_status open_moving(clump_migration *m, clumpi_moving *moving, uint32_t bytes) {
    if (moving->count <= moving->room && moving->room) return CLUMP_OK;
    const uint64_t room = moving->count + moving->count / 4 + 16;
    moving->room = 0;
    free(moving->refs);
    moving->refs = malloc(room * sizeof *moving->refs);
    if (!moving->refs)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu objects",
                                 (unsigned long long)moving->count);
    const clump_status status = clumpi_pinned_open(m->world, &moving->values, room * bytes);
    if (!status) moving->room = room;
    return status;
}

/* Those of one class: their places by direction, and their values. Returns how many there are. */
static clump_status take_class(clump_migration *m, uint32_t k, uint32_t count, uint32_t *at) {
    clumpi_moving *out = &m->out[k];
    const clumpi_mover *mover = &m->movers[k];
    const uint32_t first = *at, directions = m->world->place.directions;
    while (*at < count && clumpi_leaver_class(m->leavers[*at]) == mover->id) ++*at;
    out->count = *at - first;
    clump_status status = open_moving(m, out, mover->desc.bytes);
    if (status) return status;
    uint32_t i = first;
    for (uint32_t d = 0; d <= directions; d++) {
        while (i < *at && clumpi_leaver_direction(m->leavers[i]) < d) i++;
        out->from[d] = i - first;
    }
    for (i = first; i < *at; i++) {
        const clump_ref ref = out->refs[i - first] = clumpi_leaver_ref(m->leavers[i]);
        if (i > first && ref == out->refs[i - first - 1])
            return clumpi_world_fail(
                m->world, CLUMP_ERR_USAGE,
                "clump_migration_run: object 0x%08x of class %s is in the list "
                "twice",
                ref, m->class_name);
    }
    if (!out->count) return CLUMP_OK;
    status = clump_heap_read_structs(m->heap, &mover->desc, out->refs, out->values.memory,
                                     out->count, NULL);
    if (status) return clumpi_world_fail_context(m->world, status);
    for (uint64_t o = 0; mover->mark_at >= 0 && o < out->count; o++)
        memset(out->values.memory + o * mover->desc.bytes + mover->mark_at, 0, mover->mark_bytes);
    return CLUMP_OK;
}

uint32_t clumpi_leaver_number(const clump_migration *m, clump_ref ref, uint32_t direction) {
    uint64_t before = 0;
    for (uint32_t k = 0; k < m->mover_count; k++) {
        const clumpi_moving *out = &m->out[k];
        uint64_t low = out->from[direction], high = out->from[direction + 1];
        const uint64_t first = low, all = high - low;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            if (out->refs[middle] < ref)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < first + all && out->refs[low] == ref) return (uint32_t)(before + low - first + 1);
        before += all;
    }
    return 0;
}

static void number_refs(clump_migration *m, uint32_t k) {
    const clumpi_mover *mover = &m->movers[k];
    const clumpi_moving *out = &m->out[k];
    if (!mover->ref_count) return;
    for (uint32_t d = 0; d < m->world->place.directions; d++)
        for (uint64_t o = out->from[d]; o < out->from[d + 1]; o++)
            for (uint32_t r = 0; r < mover->ref_count; r++) {
                char *at = out->values.memory + o * mover->desc.bytes + mover->ref_offsets[r];
                clump_ref ref;
                memcpy(&ref, at, sizeof ref);
                const uint32_t number = ref ? clumpi_leaver_number(m, ref, d) : 0;
                m->left_out += ref && !number;
                memcpy(at, &number, sizeof number);
            }
}

clump_status clumpi_leavers_take(clump_migration *m) {
    uint32_t count = 0, at = 0;
    m->left_out = 0;
    for (uint32_t k = 0; k < m->mover_count; k++) {
        m->out[k].count = 0;
        memset(m->out[k].from, 0, sizeof m->out[k].from);
    }
    clump_status status = list_leavers(m, &count);
    for (uint32_t k = 0; k < m->mover_count && !status; k++) status = take_class(m, k, count, &at);
    for (uint32_t k = 0; k < m->mover_count && !status; k++) status = clumpi_growing_take(m, k);
    for (uint32_t k = 0; k < m->mover_count && !status; k++) {
        number_refs(m, k);
        clumpi_growing_number(m, k);
    }
    return status;
}

/* n objects by a buffer with references. */
static clump_status release(clump_migration *m, cl_mem list, uint32_t n, uint32_t gone) {
    clump_status status = clump_kernel_set_arg(m->release, 0, sizeof list, &list);
    if (!status) status = clump_kernel_set_arg(m->release, 1, sizeof n, &n);
    if (!status) status = clump_kernel_set_arg(m->release, 2, sizeof gone, &gone);
    return status ? clumpi_world_fail_context(m->world, status)
                  : clumpi_migration_launch(m, m->release, n);
}

/* The list is on the device. */
clump_status clumpi_leavers_free(clump_migration *m, const int *has_left) {
    uint32_t gone = 0;
    for (uint32_t d = 0; d < m->world->place.directions; d++)
        gone |= has_left[d] ? UINT32_C(1) << d : 0;
    return gone && !m->copies ? release(m, m->list, m->listed, gone) : CLUMP_OK;
}

/* ---- Who arrives ----------------------------------------------------------------------------- */

clump_status clumpi_arrivals_open(clump_migration *m) {
    uint64_t all = 0;
    clump_status status = CLUMP_OK;
    for (uint32_t k = 0; k < m->mover_count && !status; k++) {
        status = open_moving(m, &m->in[k], m->movers[k].desc.bytes);
        if (!status) status = clumpi_growing_expect(m, k);
        all += m->in[k].count;
    }
    if (status || all <= m->arrivals_room) return status;
    if (m->arrivals) clReleaseMemObject(m->arrivals);
    m->arrivals = NULL;
    m->arrivals_room = 0;
    all += all / 4 + 64;
    status = clumpi_migration_buffer(m->world, all * sizeof(clump_ref), &m->arrivals);
    if (!status) m->arrivals_room = all;
    return status;
}

clump_ref clumpi_arrival_ref(const clump_migration *m, uint32_t number, uint32_t direction) {
    uint64_t rest = number - 1;
    for (uint32_t k = 0; k < m->mover_count; k++) {
        const clumpi_moving *in = &m->in[k];
        const uint64_t here = in->from[direction + 1] - in->from[direction];
        if (rest < here) return in->refs[in->from[direction] + rest];
        rest -= here;
    }
    return 0; /* a neighbour of another mind; the reference is null then */
}

/* Numbers become references, or null before the objects are there. Returns whether there are
 * any. */
static int set_refs(clump_migration *m, uint32_t k, int is_made, uint32_t *kept) {
    const clumpi_mover *mover = &m->movers[k];
    const clumpi_moving *in = &m->in[k];
    uint64_t at = 0;
    int are_there = 0;
    for (uint32_t d = 0; d < m->world->place.directions; d++)
        for (uint64_t o = in->from[d]; o < in->from[d + 1]; o++)
            for (uint32_t r = 0; r < mover->ref_count; r++, at++) {
                char *value = in->values.memory + o * mover->desc.bytes + mover->ref_offsets[r];
                clump_ref ref = 0;
                if (is_made && kept[at]) ref = clumpi_arrival_ref(m, kept[at], d);
                if (!is_made) memcpy(&kept[at], value, sizeof ref);
                are_there |= kept[at] != 0;
                memcpy(value, &ref, sizeof ref);
            }
    return are_there;
}

static clump_status make_class(clump_migration *m, uint32_t k, uint64_t *made_all) {
    clumpi_moving *in = &m->in[k];
    uint64_t made = 0;
    if (!in->count) return CLUMP_OK;
    clump_status status = clump_heap_new_structs(m->heap, &m->movers[k].desc, in->values.memory,
                                                 in->count, in->refs, &made);
    *made_all = made;
    if (status) return clumpi_world_fail_context(m->world, status);
    if (made < in->count)
        return clumpi_world_fail(
            m->world, CLUMP_ERR_DEVICE_MEMORY,
            "clump_migration_run: %llu objects of class %s arrive at rank %d, but its heap has "
            "room for only %llu. The objects stay where they are",
            (unsigned long long)in->count, m->movers[k].desc.class_name, m->world->place.rank,
            (unsigned long long)made);
    return CLUMP_OK;
}

/* Objects that were made go again. */
static void undo(clump_migration *m, uint32_t classes, uint64_t last_made) {
    clump_world *world = m->world;
    const clump_error error = world->error; /* keep the cause */
    for (uint32_t k = 0; k < classes; k++) {
        const uint64_t count = k + 1 < classes ? m->in[k].count : last_made;
        if (count &&
            !clumpi_migration_write(m, m->arrivals, 0, count * sizeof(clump_ref), m->in[k].refs))
            (void)release(m, m->arrivals, (uint32_t)count, 0);
    }
    world->error = error;
}

static clump_status write_arrivals(clump_migration *m) {
    clump_status status = CLUMP_OK;
    m->arrived = 0;
    for (uint32_t k = 0; k < m->mover_count && !status; k++) {
        const clumpi_moving *in = &m->in[k];
        if (!in->count) continue;
        status = clumpi_migration_write(m, m->arrivals, m->arrived * sizeof *in->refs,
                                        in->count * sizeof *in->refs, in->refs);
        m->arrived += in->count;
    }
    return status;
}

static uint32_t **open_kept(clump_migration *m) {
    uint32_t **kept = calloc(m->mover_count + 1, sizeof *kept);
    for (uint32_t k = 0; kept && k < m->mover_count; k++) {
        kept[k] = calloc(m->in[k].count * m->movers[k].ref_count + 1, sizeof **kept);
        if (kept[k]) continue;
        while (k) free(kept[--k]);
        free(kept);
        return NULL;
    }
    return kept;
}

static clump_status make_all(clump_migration *m, uint32_t **kept) {
    uint32_t k;
    uint64_t made = 0;
    clump_status status = CLUMP_OK;
    for (k = 0; k < m->mover_count && !status; k++) {
        made = 0;
        set_refs(m, k, 0, kept[k]);
        status = make_class(m, k, &made);
    }
    const uint32_t classes = k;
    for (k = 0; k < m->mover_count && !status; k++) status = clumpi_growing_make(m, k);
    for (k = 0; k < m->mover_count && !status; k++)
        if (set_refs(m, k, 1, kept[k])) {
            status = clump_heap_write_structs(m->heap, &m->movers[k].desc, m->in[k].refs,
                                              m->in[k].values.memory, m->in[k].count);
            if (status) clumpi_world_fail_context(m->world, status);
        }
    for (k = 0; k < m->mover_count && !status; k++) status = clumpi_growing_fill(m, k);
    if (!status) status = write_arrivals(m);
    if (status) undo(m, classes, made);
    if (status) m->arrived = 0;
    return status;
}

clump_status clumpi_arrivals_make(clump_migration *m) {
    uint32_t **kept = open_kept(m);
    if (!kept)
        return clumpi_world_fail(m->world, CLUMP_ERR_HOST_MEMORY, "no host memory for references");
    const clump_status status = make_all(m, kept);
    for (uint32_t k = 0; k < m->mover_count; k++) free(kept[k]);
    free(kept);
    return status;
}
