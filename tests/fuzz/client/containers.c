/* Containers on the heap, in the rounds that have them: hash maps, vectors and spatial grids
 * (cl/api). Their parts are objects of classes of their own, which other operations compact, order,
 * collect, keep by registered buffers and by handles, and neither make, free nor write. So the
 * model has them like all objects: references in them are followed, and fields and arrays are
 * compared, by kernels and by the host. What a container has follows from its parts. Each call is
 * checked against what its parts were before and are after: maps.c, vectors.c, grids.c.
 *
 * Fields and arrays that a container keeps are *held*: their words in the model are those of the
 * heap, and are taken from there after calls that may leave more than one result, once these are
 * known to be right.
 *
 * Read first: client.h, docs/guide/containers.md.
 */
#include "client.h"

enum {
    BOTH_EVERY = 8, /* seeds: of each such number one has arrays that are drawn, and containers, */
    BOTH_AT = 4,
    ALONE_AT = 6,      /* and another one containers without these */
    CONTAINERS_MAX = 3 /* of a class, in a heap */
};
enum { MAPS = 1, VECTORS = 2, GRIDS = 4 };

/* ---- Schema ---------------------------------------------------------------------------------- */

static int add_class(client *c, const char *name) {
    class_model *k = &c->classes[c->class_count];
    *k = (class_model){.base = NO_CLASS, .is_aos = chance(c, 25)};
    snprintf(k->name, sizeof k->name, "%s", name);
    return c->class_count++;
}

static uint32_t add_field(client *c, int owner, const char *name, clump_type type, uint32_t count) {
    class_model *k = &c->classes[owner];
    field_model *f = &c->fields[c->field_count];
    *f = (field_model){.number = c->field_count,
                       .type = type,
                       .width = 1,
                       .count = count,
                       .elements = count ? count : 1,
                       .bytes = type == CLUMP_TYPE_ULONG ? 8 : 4,
                       .owner = owner,
                       .target = NO_CLASS,
                       .held = type != CLUMP_TYPE_REF,
                       .at = k->words};
    snprintf(f->name, sizeof f->name, "%s", name);
    f->packed = count && chance(c, 40);
    k->words += f->elements * f->bytes / 4;
    k->fields[k->field_count++] = f->number;
    return c->field_count++;
}

static uint32_t add_ref(client *c, int owner, const char *name, int target, uint32_t count) {
    const uint32_t number = add_field(c, owner, name, CLUMP_TYPE_REF, count);
    c->fields[number].target = target;
    return number;
}

/* target NO_CLASS: of uint. */
static uint32_t add_array(client *c, int owner, const char *name, int target) {
    array_model *a = &c->arrays[c->array_count];
    *a = (array_model){.kind = CLUMP_ARRAY_GROWING, .inside = chance(c, 40) ? 1 + below(c, 4) : 0};
    a->element = (field_model){.type = target < 0 ? CLUMP_TYPE_UINT : CLUMP_TYPE_REF,
                               .width = 1,
                               .elements = 1,
                               .bytes = 4,
                               .owner = owner,
                               .target = target,
                               .held = 1};
    a->element.packed = a->inside && chance(c, 40);
    snprintf(a->element.name, sizeof a->element.name, "%s", name);
    return c->array_count++;
}

static void add_map(client *c) {
    container_parts *p = &c->parts;
    p->map = add_class(c, "Map");
    p->word = add_class(c, "Word");
    p->key = add_field(c, p->word, "key", chance(c, 50) ? CLUMP_TYPE_ULONG : CLUMP_TYPE_UINT, 0);
    if (chance(c, 60))
        p->value = add_ref(c, p->word, "value", draw_class(c), 0);
    else
        p->value = add_field(c, p->word, "value", CLUMP_TYPE_UINT, 0);
    p->next = add_ref(c, p->word, "next", p->word, 0);
    p->erased = add_field(c, p->word, "erased", CLUMP_TYPE_UINT, 0);
    p->heads = add_array(c, p->map, "heads", p->word);
}

static void add_vector(client *c) {
    container_parts *p = &c->parts;
    p->vector = add_class(c, "Vector");
    p->page = add_class(c, "Page");
    p->first = add_field(c, p->vector, "first", CLUMP_TYPE_UINT, 0);
    p->filling = add_field(c, p->vector, "filling", CLUMP_TYPE_UINT, 0);
    p->growing = add_field(c, p->vector, "growing", CLUMP_TYPE_UINT, 0);
    p->pages = add_ref(c, p->vector, "pages", p->page, 28);
    p->items = add_array(c, p->page, "items", chance(c, 50) ? draw_class(c) : NO_CLASS);
}

/* Bodies have no subclasses. */
static int is_leaf(const client *c, int class) {
    for (int k = 0; k < c->drawn_classes; k++)
        if (k != class && is_a(c, k, class)) return 0;
    return !c->classes[class].is_abstract;
}

static void add_grid(client *c) {
    container_parts *p = &c->parts;
    do p->body = draw_class(c);
    while (!is_leaf(c, p->body));
    const class_model *body = &c->classes[p->body];
    p->body_at = -1;
    for (uint32_t i = 0; i < body->field_count; i++)
        if (is_scalar_uint(&c->fields[body->fields[i]])) p->body_at = (int)body->fields[i];
    p->cells = add_class(c, "Cells");
    p->origin = add_field(c, p->cells, "origin", CLUMP_TYPE_FLOAT, 3);
    p->scale = add_field(c, p->cells, "scale", CLUMP_TYPE_FLOAT, 0);
    p->count = add_field(c, p->cells, "count", CLUMP_TYPE_UINT, 3);
    p->starts = add_array(c, p->cells, "starts", NO_CLASS);
    p->sorted = add_array(c, p->cells, "sorted", p->body);
}

void draw_containers(client *c) {
    container_parts *p = &c->parts;
    p->map = p->word = p->vector = p->page = p->cells = p->body = NO_CLASS;
    if (c->seed % BOTH_EVERY != BOTH_AT && c->seed % BOTH_EVERY != ALONE_AT) return;
    uint32_t kinds = 1 + below(c, MAPS | VECTORS | GRIDS);
    /* PoCL takes minutes to compile the kernels for GPUs: one kind of container is enough there. */
    if (c->on.capabilities->is_cpu && c->personality == CLUMP_PERSONALITY_GPU)
        kinds = kinds & MAPS ? MAPS : kinds & VECTORS ? VECTORS : GRIDS;
    if (kinds & MAPS) add_map(c);
    if (kinds & VECTORS) add_vector(c);
    if (kinds & GRIDS) add_grid(c);
}

int has_container(const client *c, operation_name name) {
    switch (name) {
    case OPERATION_work_on_map:
    case OPERATION_keep_map: return c->parts.map >= 0;
    case OPERATION_append_to_vectors:
    case OPERATION_keep_vector: return c->parts.vector >= 0;
    case OPERATION_set_grid:
    case OPERATION_note_grid:
    case OPERATION_look_near: return c->parts.cells >= 0;
    default: return 1;
    }
}

/* ---- Kernels: each call stands once in them, since PoCL inlines them all --------------------- */

void write_containers(client *c) {
    if (c->parts.map >= 0) write_map(c);
    if (c->parts.vector >= 0) write_vector(c);
    if (c->parts.cells >= 0) write_grid(c);
}

void set_container_args(client *c) {
    static const struct {
        kernel_name kernel;
        int has_list;
    } all[] = {{KERNEL_map_keep, 0},      {KERNEL_map_work, 1},    {KERNEL_map_tidy, 0},
               {KERNEL_vector_keep, 0},   {KERNEL_grid_keep, 0},   {KERNEL_grid_note, 0},
               {KERNEL_vector_append, 1}, {KERNEL_vector_look, 0}, {KERNEL_grid_look, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        give_buffer(c, all[i].kernel, 0, c->out_buffer);
        if (all[i].has_list) give_buffer(c, all[i].kernel, 1, c->list_buffer);
    }
    give_buffer(c, KERNEL_grid_keep, 4, c->list_buffer);
}

uint32_t keep_container(client *c, heap_model *h, kernel_name kernel, uint32_t what, clump_ref ref,
                        uint32_t n) {
    watch_step(c);
    fill_out(c, 1, UNTOUCHED);
    SET_NUMBERS(c, c->kernels[kernel], 1, what, ref, n);
    launch_items(c, h, c->kernels[kernel], 1);
    read_out(c, 1);
    if (c->out[0] > 1) complain(c, "a call on a container returns %u", c->out[0]);
    return c->out[0];
}

/* ---- The model ------------------------------------------------------------------------------- */

uint32_t *words_of(const client *c, object_model *o, uint32_t field) {
    return &o->words[c->fields[field].at];
}

void adopt_field(client *c, heap_model *h, uint32_t field) {
    const field_model *f = &c->fields[field];
    const char *name = c->classes[f->owner].name;
    const uint32_t count = count_of(c, h, f->owner);
    clump_ref *refs = must_alloc((count + 1) * sizeof *refs);
    uint8_t *values = must_alloc((count + 1) * (size_t)f->bytes);
    uint64_t found;
    CHECK_OK(&c->on, clump_heap_read_refs(h->heap, name, refs, count, &found));
    if (found != count)
        complain(c, "%llu %s, expected %u: one was lost, or is in no container", (ull)found, name,
                 count);
    for (uint32_t e = 0; e < f->elements; e++) {
        CHECK_OK(&c->on,
                 clump_heap_read_field(h->heap, name, f->name, e, f->bytes, values, count, NULL));
        for (uint32_t i = 0; i < count; i++) {
            object_model *o = object_at(h, refs[i]);
            if (!o) complain(c, "%08x is a %s, and is in no container", refs[i], name);
            memcpy(words_of(c, o, field) + e * f->bytes / 4, values + (size_t)i * f->bytes,
                   f->bytes);
        }
    }
    free(values);
    free(refs);
}

void adopt_array(client *c, heap_model *h, object_model *o, uint32_t array) {
    const field_model *f = &c->arrays[array].element;
    uint64_t length = 0;
    uint32_t *values = must_alloc((OUT_WORDS + 1) * sizeof *values);
    CHECK_OK(&c->on,
             clump_heap_read_object_array(h->heap, c->classes[f->owner].name, f->name, o->ref,
                                          sizeof *values, values, OUT_WORDS, &length));
    if (length > OUT_WORDS) complain(c, "%s has %llu elements", f->name, (ull)length);
    set_length(c, o, array, (uint32_t)length);
    memcpy(o->elements[array], values, length * sizeof *values);
    free(values);
}

static object_model *make_container(client *c, heap_model *h, int class) {
    const uint32_t tag = take_tags(c, 1), salt = draw_salt(c);
    const class_model *k = &c->classes[class];
    fill_out(c, 1, 0);
    SET_NUMBERS(c, c->kernels[KERNEL_make], 1, tag, salt, (uint32_t) class);
    CHECK_OK(&c->on, clump_heap_do_new(h->heap, c->kernels[KERNEL_make], k->name, 1, NULL, NULL));
    read_out(c, 1);
    const clump_ref ref = c->out[0];
    take_answer(c, h, class, ref, tag, salt);
    if (!ref) return NULL;
    for (uint32_t i = 0; i < k->field_count; i++)
        if (c->fields[k->fields[i]].held) adopt_field(c, h, k->fields[i]);
    for (uint32_t i = 0; i < c->array_count; i++)
        if (c->arrays[i].element.owner == class) set_length(c, object_at(h, ref), i, 0);
    return object_at(h, ref);
}

object_model *draw_container(client *c, heap_model *h, int class, int *is_new) {
    object_model *all[CONTAINERS_MAX] = {NULL};
    uint32_t count = 0;
    for (uint32_t n = 0; n < h->count && count < CONTAINERS_MAX; n++)
        if (h->objects[n].class == class) all[count++] = &h->objects[n];
    *is_new = !count || (count < CONTAINERS_MAX && chance(c, 10));
    return *is_new ? make_container(c, h, class) : all[below(c, count)];
}
