/* Spatial grids (cl/api/grid.clh) in random rounds. Bodies are the objects of a class that has no
 * subclasses; other operations make them, free them and write their fields. Their places are hashes
 * of the tag and of a field. So they are made, freed and moved while a grid keeps what it noted.
 *
 * What the grid must have after a note is known exactly. What a loop visits is compared with all
 * that was noted, cell by cell: cells that the radius reaches are visited, those beyond the next
 * ones are not. Coordinates, sides and radii are multiples of 1/4, so that distances are exact.
 *
 * Read first: containers.c, cl/api/grid.clh.
 */
#include <math.h>

#include "client.h"

enum {
    BODIES_MAX = 6000, /* more are not noted */
    CELLS_MAX = 4000,
    POINTS_MAX = 48
};

void write_grid(client *c) {
    const char *body = c->classes[c->parts.body].name;
    const int at = c->parts.body_at;
    text_append(
        &c->source,
        "float3 place(CLUMP_HEAP_NO_ALLOC, %s b) {\n"
        "    uint h = mix(%s_tag(b) ^ %s%s%s%s);\n"
        "    return (float3)((float)(h & 127u), (float)(h >> 7 & 127u),\n"
        "                    (float)(h >> 14 & 31u)) * 0.25f - (float3)(16.0f, 16.0f, 4.0f);\n"
        "}\n"
        "CLUMP_GRID_DEFINE(Cells, %s, place);\n",
        body, body, at < 0 ? "0u" : body, at < 0 ? "" : "_", at < 0 ? "" : c->fields[at].name,
        at < 0 ? "" : "(b)", body);
    text_append(
        &c->source,
        "__kernel void grid_keep(CLUMP_HEAP, __global uint *out, uint what, uint ref, uint n,\n"
        "                        __global const uint *list) {\n"
        "    Cells grid = {ref};\n"
        "    if (get_global_id(0)) return;\n"
        "    float3 corner = (float3)(as_float(list[0]), as_float(list[1]), as_float(list[2]));\n"
        "    uint3 count = (uint3)(list[4], list[5], list[6]);\n"
        "    if (what == 0u)\n"
        "        out[0] = CLUMP_GRID_MAKE(Cells, grid, corner, as_float(list[3]), count) == "
        "CLUMP_DONE;\n"
        "    else\n"
        "        out[0] = Cells_sorted_resize(grid, n) == CLUMP_DONE;\n"
        "}\n"
        "__kernel void grid_key(CLUMP_HEAP_NO_ALLOC, __global uint *keys, uint ref) {\n"
        "    Cells grid = {ref};\n"
        "    CLUMP_FOR_EACH_KEYED(%s, self, i) keys[i] = CLUMP_GRID_KEY(Cells, grid, self);\n"
        "}\n"
        "__kernel void grid_note(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *out,\n"
        "                        uint ref) {\n"
        "    Cells grid = {ref};\n"
        "    uint bad = CLUMP_GRID_NOTE(Cells, grid);\n"
        "    if (bad) atomic_add(&out[0], bad);\n"
        "}\n"
        "__kernel void grid_look(CLUMP_HEAP_NO_ALLOC, __global uint *out,\n"
        "                        __global const uint *list, uint ref, uint n) {\n"
        "    uint g = (uint)get_global_id(0), near = 0, sum = 0, visited = 0;\n"
        "    if (g >= n) return;\n"
        "    Cells grid = {ref};\n"
        "    float3 at = (float3)(as_float(list[4u * g]), as_float(list[4u * g + 1u]),\n"
        "                         as_float(list[4u * g + 2u]));\n"
        "    float radius = as_float(list[4u * g + 3u]);\n"
        "    CLUMP_FOR_NEAR(%s, other, grid, at, radius) {\n"
        "        visited++;\n"
        "        if (!%s_is_live(other)) continue;\n"
        "        float3 d = place(clump_heap, other) - at;\n"
        "        if (d.x * d.x + d.y * d.y + d.z * d.z > radius * radius) continue;\n"
        "        near++;\n"
        "        sum += mix(%s_tag(other) ^ g);\n"
        "    }\n"
        "    out[3u * g] = near;\n"
        "    out[3u * g + 1u] = sum;\n"
        "    out[3u * g + 2u] = visited;\n"
        "}\n",
        body, body, body, body);
}

/* ---- Places and cells ------------------------------------------------------------------------ */

typedef struct place {
    double x[3];
} place;

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static place place_of(const client *c, const object_model *body) {
    uint32_t value = 0;
    if (c->parts.body_at >= 0) {
        const field_model *f = &c->fields[c->parts.body_at];
        uint8_t bytes[8 * WIDTH_MAX];
        put_value(f, 0, body->tag, body->words[f->at], bytes);
        memcpy(&value, bytes, sizeof value);
    }
    const uint32_t h = test_hash(body->tag ^ value);
    return (place){{(h & 127) / 4.0 - 16, (h >> 7 & 127) / 4.0 - 16, (h >> 14 & 31) / 4.0 - 4}};
}

static uint32_t count_along(const client *c, const object_model *grid, int d) {
    return grid->words[c->fields[c->parts.count].at + (uint32_t)d];
}

/* The cell along one direction; `more`: so many cells further. What lies outside counts for the
 * nearest one. */
static uint32_t along(const client *c, const object_model *grid, double x, int d, int more) {
    const container_parts *p = &c->parts;
    const double origin = float_of(grid->words[c->fields[p->origin].at + (uint32_t)d]);
    const double scale = float_of(grid->words[c->fields[p->scale].at]);
    const double last = (double)count_along(c, grid, d) - 1;
    return (uint32_t)fmin(fmax(floor((x - origin) * scale) + more, 0), last);
}

static uint32_t number_of_cell(const client *c, const object_model *grid, const uint32_t *cell) {
    return (cell[2] * count_along(c, grid, 1) + cell[1]) * count_along(c, grid, 0) + cell[0];
}

uint32_t cell_of(const client *c, const object_model *grid, const object_model *body) {
    const place at = place_of(c, body);
    uint32_t cell[3];
    for (int d = 0; d < 3; d++) cell[d] = along(c, grid, at.x[d], d, 0);
    return number_of_cell(c, grid, cell);
}

static uint32_t cells_of(const client *c, const object_model *grid) {
    const uint32_t length = grid->lengths[c->parts.starts];
    return length ? length - 1 : 0;
}

/* ---- Making ---------------------------------------------------------------------------------- */

typedef struct shape {
    cl_float4 g; /* lowest corner, side */
    cl_uint4 count;
    int is_wrong;
} shape;

static shape draw_shape(client *c) {
    shape s = {.is_wrong = chance(c, 15)};
    for (int d = 0; d < 3; d++) s.g.s[d] = (float)below(c, 100) * 0.25f - 20;
    s.g.s[3] = 0.5f * (float)(1u << below(c, 5));
    do
        for (int d = 0; d < 3; d++)
            s.count.s[d] = d == 2 && chance(c, 50) ? 1 : logarithmic(c, 1, 60);
    while (s.count.s[0] * s.count.s[1] * s.count.s[2] > CELLS_MAX);
    if (!s.is_wrong) return s;
    const float wrong[] = {0, -1, NAN, -0.0f};
    switch (below(c, 3)) {
    case 0: s.g.s[3] = wrong[below(c, 4)]; break;
    case 1: s.count.s[below(c, 3)] = 0; break;
    default:
        for (int d = 0; d < 3; d++) s.count.s[d] = UINT32_MAX - below(c, 3); /* 2^96, and 1 */
    }
    return s;
}

static uint32_t make_cells(client *c, heap_model *h, clump_ref ref, const shape *s) {
    for (int d = 0; d < 4; d++) c->list[d] = bits_of_float(s->g.s[d]);
    for (int d = 0; d < 3; d++) c->list[4 + d] = s->count.s[d];
    cl_fixture_write(&c->on, c->list_buffer, c->list, 7 * sizeof *c->list);
    return keep_container(c, h, KERNEL_grid_keep, KEEP_CELLS, ref, 0);
}

/* The grid has its cells, and no object is noted. */
static void take_shape(client *c, heap_model *h, clump_ref ref, const shape *s) {
    const container_parts *p = &c->parts;
    object_model *grid = object_at(h, ref);
    const uint32_t cells = s->count.s[0] * s->count.s[1] * s->count.s[2];
    for (int d = 0; d < 3; d++) {
        words_of(c, grid, p->origin)[d] = bits_of_float(s->g.s[d]);
        words_of(c, grid, p->count)[d] = s->count.s[d];
    }
    *words_of(c, grid, p->scale) = bits_of_float(1 / s->g.s[3]);
    adopt_array(c, h, grid, p->starts);
    same_number(c, "cells of a grid", grid->lengths[p->starts], cells + 1);
    same_number(c, "objects of a new grid", grid->elements[p->starts][cells], 0);
}

/* Returns 1 if the grid has the shape now. */
static int shape_grid(client *c, heap_model *h, clump_ref ref) {
    const shape s = draw_shape(c);
    const uint32_t ok = make_cells(c, h, ref, &s);
    note(c, "%08x: %u x %u x %u cells of %g%s; ", ref, s.count.s[0], s.count.s[1], s.count.s[2],
         (double)s.g.s[3], ok ? "" : ", refused");
    if (ok && s.is_wrong) complain(c, "a grid of that shape cannot be");
    if (ok)
        take_shape(c, h, ref, &s);
    else if (!s.is_wrong)
        c->expect.raw_nulls++;
    return (int)ok;
}

void set_grid(client *c, heap_model *h) {
    int is_new;
    const object_model *grid = draw_container(c, h, c->parts.cells, &is_new);
    if (!grid) return;
    const clump_ref ref = grid->ref;
    shape_grid(c, h, ref);
    if (!chance(c, 20)) return; /* drops what it keeps alive */
    same_number(c, "sorted of length 0",
                keep_container(c, h, KERNEL_grid_keep, KEEP_SORTED, ref, 0), 1);
    set_length(c, object_at(h, ref), c->parts.sorted, 0);
}

/* ---- Noting ---------------------------------------------------------------------------------- */

static int put_in_order(client *c, heap_model *h, clump_ref ref) {
    compaction x = {.grid = object_at(h, ref)};
    x.class_names[0] = c->classes[c->parts.body].name;
    x.selected[c->parts.body] = 1;
    x.desc = (clump_compact_desc){.size = sizeof(clump_compact_desc),
                                  .classes = x.class_names,
                                  .class_count = 1,
                                  .order = CLUMP_ORDER_KEY,
                                  .key_kernel = c->kernels[KERNEL_grid_key]};
    SET_NUMBERS(c, x.desc.key_kernel, 1, ref);
    settle(c,
           h); /* of the grid, which may be new: the statistics are those before the compaction */
    return compact_as(c, h, &x);
}

/* Bodies in the order of their numbers, the cell of each, and how many of them a note must fail
 * for. */
typedef struct noted {
    clump_ref *refs;
    uint32_t *cells, count, bad;
} noted;

static noted list_bodies(client *c, heap_model *h, const object_model *grid, uint32_t room) {
    const uint32_t count = count_of(c, h, c->parts.body);
    noted n = {.refs = must_alloc((count + 1) * sizeof *n.refs),
               .cells = must_alloc((count + 1) * sizeof *n.cells),
               .count = count};
    uint64_t found;
    CHECK_OK(&c->on,
             clump_heap_read_refs(h->heap, c->classes[c->parts.body].name, n.refs, count, &found));
    same_number(c, "bodies in the list", found, count);
    for (uint32_t i = 0; i < count; i++) {
        n.cells[i] = cell_of(c, grid, object_at(h, n.refs[i]));
        n.bad += i >= room || (i && n.cells[i - 1] > n.cells[i]);
    }
    return n;
}

/* What is noted is known exactly; without objects nothing is. */
static void take_note(client *c, object_model *grid, const noted *n) {
    uint32_t *starts = grid->elements[c->parts.starts];
    const uint32_t cells = cells_of(c, grid);
    for (uint32_t i = 0; i < n->count; i++) grid->elements[c->parts.sorted][i] = n->refs[i];
    for (uint32_t cell = 0, i = 0; cell <= cells && n->count; cell++) {
        while (i < n->count && n->cells[i] < cell) i++;
        starts[cell] = i;
    }
}

static void note_bodies(client *c, heap_model *h, clump_ref ref, uint32_t room) {
    object_model *grid = object_at(h, ref);
    noted n = list_bodies(c, h, grid, room);
    fill_out(c, 1, 0);
    SET_NUMBERS(c, c->kernels[KERNEL_grid_note], 1, ref);
    CHECK_OK(&c->on, clump_heap_do_all(h->heap, c->kernels[KERNEL_grid_note], NULL));
    read_out(c, 1);
    same_number(c, "bodies that could not be noted", c->out[0], n.bad);
    c->expect.not_noted += n.bad;
    if (n.bad) settle(c, h); /* the next read would fail with the report */
    if (!n.bad) {
        take_note(c, grid, &n);
    } else { /* of no use: it is made anew */
        shape s = {.is_wrong = 0};
        for (int d = 0; d < 3; d++) {
            s.g.s[d] = float_of(words_of(c, grid, c->parts.origin)[d]);
            s.count.s[d] = count_along(c, grid, d);
        }
        s.g.s[3] = 1 / float_of(*words_of(c, grid, c->parts.scale));
        adopt_array(c, h, grid, c->parts.sorted);
        for (uint32_t i = 0; i < n.count && i < room; i++)
            same_number(c, "a body in sorted", grid->elements[c->parts.sorted][i], n.refs[i]);
        same_number(c, "a grid made anew", make_cells(c, h, ref, &s), 1);
        take_shape(c, h, ref, &s);
    }
    free(n.refs);
    free(n.cells);
}

void note_grid(client *c, heap_model *h) {
    int is_new;
    const object_model *grid = draw_container(c, h, c->parts.cells, &is_new);
    if (!grid) return;
    const clump_ref ref = grid->ref;
    const uint32_t bodies = count_of(c, h, c->parts.body);
    if (bodies > BODIES_MAX || (!cells_of(c, grid) && !shape_grid(c, h, ref))) return;
    if (!chance(c, 10) && !put_in_order(c, h, ref)) return;
    uint32_t room = bodies;
    if (chance(c, 5)) room = below(c, bodies + 1);
    note(c, "%u of %u in %08x", room, bodies, ref);
    if (!keep_container(c, h, KERNEL_grid_keep, KEEP_SORTED, ref, room)) {
        c->expect.raw_nulls++;
        return;
    }
    set_length(c, object_at(h, ref), c->parts.sorted, room);
    note_bodies(c, h, ref, room);
}

/* ---- Looking --------------------------------------------------------------------------------- */

typedef struct query {
    place at;
    double radius;
    uint32_t number; /* of the work-item */
    /* What was noted in cells that are visited, and in those that may be. */
    uint32_t visited_least, visited_most;
    uint32_t near_least, near_most, sum; /* of those that are near now; sum: of near_least */
} query;

static void count_entry(client *c, const heap_model *h, query *q, clump_ref ref, int is_sure) {
    if (!ref) return;
    q->visited_least += (uint32_t)is_sure;
    q->visited_most++;
    if (!names(c, h, ref, c->parts.body)) return;
    const object_model *o = object_at(h, ref);
    const place at = place_of(c, o);
    double square = 0;
    for (int d = 0; d < 3; d++) square += (at.x[d] - q->at.x[d]) * (at.x[d] - q->at.x[d]);
    if (square > q->radius * q->radius) return;
    q->near_most++;
    q->near_least += (uint32_t)is_sure;
    if (is_sure) q->sum += test_hash(o->tag ^ q->number);
}

/* Cells that the radius reaches, and those next to them: x - radius is rounded. */
static void count_cells(client *c, heap_model *h, const object_model *grid, query *q) {
    const container_parts *p = &c->parts;
    const uint32_t cells = cells_of(c, grid), *starts = grid->elements[p->starts];
    uint32_t low[2][3], high[2][3], at[3];
    const uint32_t end = cells ? starts[cells] : 0;
    const uint32_t limit = end < grid->lengths[p->sorted] ? end : grid->lengths[p->sorted];
    if (!limit || q->radius < 0) return;
    for (int more = 0; more < 2; more++)
        for (int d = 0; d < 3; d++) {
            low[more][d] = along(c, grid, q->at.x[d] - q->radius, d, -more);
            high[more][d] = along(c, grid, q->at.x[d] + q->radius, d, more);
        }
    for (at[2] = low[1][2]; at[2] <= high[1][2]; at[2]++)
        for (at[1] = low[1][1]; at[1] <= high[1][1]; at[1]++)
            for (at[0] = low[1][0]; at[0] <= high[1][0]; at[0]++) {
                const uint32_t cell = number_of_cell(c, grid, at);
                int is_sure = 1;
                for (int d = 0; d < 3; d++) is_sure &= at[d] >= low[0][d] && at[d] <= high[0][d];
                for (uint32_t i = starts[cell]; i < starts[cell + 1] && i < limit; i++)
                    count_entry(c, h, q, grid->elements[p->sorted][i], is_sure);
            }
}

static void compare_query(client *c, heap_model *h, const object_model *grid, query *q,
                          const uint32_t *found) {
    count_cells(c, h, grid, q);
    if (found[2] < q->visited_least || found[2] > q->visited_most)
        complain(c, "%u bodies visited within %g of %g %g %g, expected %u to %u", found[2],
                 q->radius, q->at.x[0], q->at.x[1], q->at.x[2], q->visited_least, q->visited_most);
    if (found[0] < q->near_least || found[0] > q->near_most ||
        (q->near_least == q->near_most && found[1] != q->sum))
        complain(c, "%u bodies within %g of %g %g %g, expected %u to %u, or others", found[0],
                 q->radius, q->at.x[0], q->at.x[1], q->at.x[2], q->near_least, q->near_most);
}

static query draw_query(client *c, uint32_t number) {
    query q = {.number = number, .radius = 0.25 * below(c, chance(c, 20) ? 200 : 24)};
    for (int d = 0; d < 3; d++) q.at.x[d] = 0.25 * below(c, 160) - 20;
    if (chance(c, 3)) q.radius = -1;
    if (chance(c, 3)) q.at.x[below(c, 3)] = 1e4;
    uint32_t *to = &c->list[4 * number];
    for (int d = 0; d < 3; d++) to[d] = bits_of_float((float)q.at.x[d]);
    to[3] = bits_of_float((float)q.radius);
    return q;
}

void look_near(client *c, heap_model *h) {
    int is_new;
    const uint32_t n = 1 + below(c, POINTS_MAX);
    const object_model *grid = draw_container(c, h, c->parts.cells, &is_new);
    query queries[POINTS_MAX];
    if (!grid) return;
    const clump_ref ref = grid->ref;
    note(c, "%u points, %u noted in %08x", n, grid->lengths[c->parts.sorted], ref);
    compare_arrays(c, h); /* nothing is loose */
    for (uint32_t i = 0; i < n; i++) queries[i] = draw_query(c, i);
    fill_out(c, 3 * n, UNTOUCHED);
    cl_fixture_write(&c->on, c->list_buffer, c->list, 4 * n * sizeof *c->list);
    SET_NUMBERS(c, c->kernels[KERNEL_grid_look], 2, ref, n);
    launch_items(c, h, c->kernels[KERNEL_grid_look], n);
    read_out(c, 3 * n);
    for (uint32_t i = 0; i < n; i++)
        compare_query(c, h, object_at(h, ref), &queries[i], &c->out[3 * i]);
}
