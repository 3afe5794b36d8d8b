/* Vectors (cl/api/vector.clh) in random rounds. Many work-items append to one or two vectors at
 * once, while one of them may reserve room. What each got is the next indices, each once, and what
 * it appended lies there; nothing else has changed. An append has no room only where a page had to
 * be made meanwhile; if one work-item appends alone, the heap has reported why.
 *
 * Pages are objects, so the heap's count of them says that none was lost (verify.c).
 *
 * Read first: containers.c, cl/api/vector.clh.
 */
#include "client.h"

enum {
    ITEMS_OF_VECTOR = 1024, /* in several groups, which run at the same time */
    EACH_MAX = 4,
    APPENDED_MAX = ITEMS_OF_VECTOR * EACH_MAX,
    LENGTH_MAX = 5000, /* longer ones are cleared */
    PAGES = 28,        /* CLUMP_VECTOR_PAGES */
    FIRST_LEAST = 4,   /* page 0 has 2^4 elements, at least */
    NO_ROOM = 0xffffffff
};

void write_vector(client *c) {
    const field_model *item = &c->arrays[c->parts.items].element;
    const int is_ref = item->type == CLUMP_TYPE_REF;
    const char *type = is_ref ? c->classes[item->target].name : "uint";
    text_append(
        &c->source,
        "CLUMP_VECTOR_DEFINE(Vector, Page, %s);\n"
        "__kernel void vector_keep(CLUMP_HEAP, __global uint *out, uint what, uint ref,\n"
        "                          uint n) {\n"
        "    Vector v = {ref};\n"
        "    uint ok = 1u;\n"
        "    if (get_global_id(0)) return;\n"
        "    if (what == 0u) ok = CLUMP_VECTOR_MAKE(Vector, v, n) == CLUMP_DONE;\n"
        "    if (what == 1u) ok = CLUMP_VECTOR_RESERVE(Vector, v, n) == CLUMP_DONE;\n"
        "    if (what == 2u) CLUMP_VECTOR_CLEAR(Vector, v);\n"
        "    if (what == 3u) CLUMP_VECTOR_TRIM(Vector, v);\n"
        "    out[0] = ok;\n"
        "}\n"
        "__kernel void vector_append(CLUMP_HEAP, __global uint *out,\n"
        "                            __global const uint *list, uint n, uint each,\n"
        "                            uint reserved, uint room) {\n"
        "    uint g = (uint)get_global_id(0);\n"
        "    if (g >= n) return;\n"
        "    Vector first = {reserved};\n"
        "    if (room && g == n / 2u) out[n * each] = CLUMP_VECTOR_RESERVE(Vector, first, room) == "
        "CLUMP_DONE;\n"
        "    for (uint at = g * each; at < (g + 1u) * each; at++) {\n"
        "        Vector v = {list[2u * at]};\n"
        "        %s x = %slist[2u * at + 1u]%s;\n"
        "        out[at] = CLUMP_VECTOR_APPEND(Vector, v, x);\n"
        "    }\n"
        "}\n"
        "__kernel void vector_look(CLUMP_HEAP_NO_ALLOC, __global uint *out, uint ref, uint room) "
        "{\n"
        "    Vector v = {ref};\n"
        "    uint length = CLUMP_VECTOR_LENGTH(Vector, v);\n"
        "    if (!get_global_id(0)) out[0] = length;\n"
        "    for (uint i = (uint)get_global_id(0); i < min(length, room);\n"
        "         i += (uint)get_global_size(0))\n"
        "        out[1u + i] = CLUMP_VECTOR_AT(Vector, v, i)%s;\n"
        "}\n",
        type, type, is_ref ? "{" : "", is_ref ? "}" : "", is_ref ? ".id" : "");
}

/* ---- What a vector has ----------------------------------------------------------------------- */

typedef struct contents {
    uint32_t *elements, length;
    uint32_t pages, room, *at; /* at: the references of all pages */
} contents;

static uint32_t size_of(const client *c, object_model *v, uint32_t page) {
    return 1u << (*words_of(c, v, c->parts.first) + page);
}

/* Elements of all pages, one after the other. Pages before the last one with elements are full, and
 * there are no gaps. */
static contents look_into(client *c, heap_model *h, clump_ref ref) {
    object_model *v = object_at(h, ref);
    const container_parts *p = &c->parts;
    contents all = {.at = words_of(c, v, p->pages)};
    const uint32_t filling = *words_of(c, v, p->filling);
    for (uint32_t k = 0; k < PAGES && all.at[k]; k++, all.pages++) {
        const object_model *page = object_at(h, all.at[k]);
        const uint32_t size = size_of(c, v, k);
        if (!page || page->class != p->page)
            complain(c, "page %u of the vector %08x is %08x, which is none", k, ref, all.at[k]);
        const uint32_t length = page->lengths[p->items];
        if (length > size || (length && all.length != all.room))
            complain(c, "page %u of the vector %08x has %u of %u elements, after %u of %u", k, ref,
                     length, size, all.length, all.room);
        if (k < filling && length < size)
            complain(c, "the vector %08x passed page %u, which is not full", ref, k);
        all.elements = realloc(all.elements, (all.length + length + 1) * sizeof *all.elements);
        assert_non_null(all.elements);
        memcpy(all.elements + all.length, page->elements[p->items], length * sizeof *all.elements);
        all.length += length;
        all.room += size;
    }
    for (uint32_t k = all.pages; k < PAGES; k++)
        if (all.at[k]) complain(c, "the vector %08x has page %u, and not all before it", ref, k);
    if (filling > all.pages)
        complain(c, "the vector %08x of %u pages fills page %u", ref, all.pages, filling);
    if (all.pages && *words_of(c, v, p->growing))
        complain(c, "the vector %08x says that it grows", ref);
    return all;
}

/* Pages that the vector has, and the model has not, are new ones. */
static void take_pages(client *c, heap_model *h, clump_ref ref) {
    const container_parts *p = &c->parts;
    const char *name = c->classes[p->page].name;
    for (uint32_t k = 0; k < PAGES; k++) {
        clump_ref at;
        CHECK_OK(&c->on, clump_heap_read_object_field(h->heap, c->classes[p->vector].name, "pages",
                                                      k, ref, sizeof(at), &at));
        words_of(c, object_at(h, ref), p->pages)[k] = at;
        if (!at) continue;
        if (!object_at(h, at)) {
            const uint32_t tag = take_tags(c, 1);
            add_object(c, h, p->page, at, tag, 0);
            CHECK_OK(&c->on,
                     clump_heap_write_object_field(h->heap, name, "tag", 0, at, sizeof(tag), &tag));
        }
        adopt_array(c, h, object_at(h, at), p->items);
    }
}

static void adopt_vector(client *c, heap_model *h, clump_ref ref) {
    take_pages(c, h, ref);
    adopt_field(c, h, c->parts.first);
    adopt_field(c, h, c->parts.filling);
    adopt_field(c, h, c->parts.growing);
}

/* As a kernel sees it. */
static void compare_by_kernel(client *c, heap_model *h, clump_ref ref, const contents *all) {
    const uint32_t room = all ? all->length : 0;
    watch_step(c);
    fill_out(c, 1 + room, UNTOUCHED);
    SET_NUMBERS(c, c->kernels[KERNEL_vector_look], 1, ref, room);
    launch_items(c, h, c->kernels[KERNEL_vector_look], 1 + below(c, 300));
    read_out(c, 1 + room);
    same_number(c, "length of a vector", c->out[0], room);
    for (uint32_t i = 0; i < room; i++)
        if (all->elements[i] != c->out[1 + i] && all->elements[i] != LOOSE)
            complain(c, "element %u of the vector %08x is %08x, expected %08x", i, ref,
                     c->out[1 + i], all->elements[i]);
}

/* The vector, now in the model, has what it had, and `count` elements more. */
static contents expect_longer(client *c, heap_model *h, clump_ref ref, const contents *before,
                              uint32_t count) {
    contents now = look_into(c, h, ref);
    same_number(c, "elements of a vector", now.length, before->length + count);
    for (uint32_t i = 0; i < before->length; i++)
        if (now.elements[i] != before->elements[i] && before->elements[i] != LOOSE)
            complain(c, "element %u of the vector %08x is %08x, expected %08x", i, ref,
                     now.elements[i], before->elements[i]);
    compare_by_kernel(c, h, ref, &now);
    return now;
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* A vector, with a first page if there was room for one; 0: none. */
static clump_ref draw_vector(client *c, heap_model *h) {
    int is_new;
    const object_model *v = draw_container(c, h, c->parts.vector, &is_new);
    const clump_ref ref = v ? v->ref : 0;
    if (!ref || (!is_new && words_of(c, object_at(h, ref), c->parts.pages)[0])) return ref;
    const uint32_t n = chance(c, 5)    ? 1u << 30
                       : chance(c, 50) ? below(c, 40)
                                       : logarithmic(c, 1, 900);
    const uint32_t ok = keep_container(c, h, KERNEL_vector_keep, KEEP_MAKE, ref, n);
    uint32_t first = FIRST_LEAST;
    while (first < 31 && (1u << first) < n) first++;
    note(c, "%08x for %u%s; ", ref, n, ok ? "" : ", no room");
    c->expect.page_nulls_least += !ok;
    c->expect.page_nulls_most += !ok;
    adopt_vector(c, h, ref);
    contents now = look_into(c, h, ref);
    same_number(c, "pages of a new vector", now.pages, ok);
    same_number(c, "elements of a new vector", now.length, 0);
    same_number(c, "size of the first page", *words_of(c, object_at(h, ref), c->parts.first),
                first);
    free(now.elements);
    return ref;
}

typedef struct appending {
    client *c;
    heap_model *h;
    uint32_t items, each, room; /* room: that a work-item reserves; 0: none does */
    uint32_t count;
    clump_ref vectors[2];
    contents before[2];
} appending;

/* Indices of one vector: each once, from its length on. */
static void check_appended(const appending *a, int which) {
    client *c = a->c;
    const clump_ref ref = a->vectors[which];
    const contents *before = &a->before[which];
    uint32_t count = 0, refused = 0, asked = 0;
    uint8_t *seen = must_alloc(a->count + 1);
    for (uint32_t i = 0; i < a->count; i++) {
        asked += c->list[2 * i] == ref;
        refused += c->list[2 * i] == ref && c->out[i] == NO_ROOM;
    }
    count = asked - refused;
    if (refused && before->length + asked <= before->room)
        complain(c, "%u of %u appends had no room, where there was room for all", refused, asked);
    uint32_t *given = must_alloc((a->count + 1) * sizeof *given);
    memcpy(given, c->out, a->count * sizeof *given);
    adopt_vector(c, a->h, ref);
    contents now = expect_longer(c, a->h, ref, before, count);
    for (uint32_t i = 0; i < a->count; i++) {
        const uint32_t at = given[i];
        if (c->list[2 * i] != ref || at == NO_ROOM) continue;
        if (at < before->length || at - before->length >= count || seen[at - before->length]++)
            complain(c, "index %u of the vector %08x, which had %u elements and got %u, or twice",
                     at, ref, before->length, count);
        if (now.elements[at] != c->list[2 * i + 1])
            complain(c, "element %u of the vector %08x is %08x, and %08x was appended", at, ref,
                     now.elements[at], c->list[2 * i + 1]);
    }
    memcpy(c->out, given, a->count * sizeof *given);
    if (refused && a->items == 1) c->expect.page_nulls_least = 1;
    free(given);
    free(seen);
    free(now.elements);
}

void append_to_vectors(client *c, heap_model *h) {
    const field_model *item = &c->arrays[c->parts.items].element;
    appending a = {.c = c, .h = h, .items = logarithmic(c, 1, ITEMS_OF_VECTOR)};
    a.each = 1 + below(c, EACH_MAX);
    a.count = a.items * a.each;
    for (int i = 0; i < 2; i++) a.vectors[i] = draw_vector(c, h);
    const int is_one = a.vectors[0] == a.vectors[1] || !a.vectors[1] || chance(c, 60);
    if (!a.vectors[0]) return;
    for (int i = 0; i < 2; i++)
        if (a.vectors[i]) a.before[i] = look_into(c, h, a.vectors[i]);
    const int is_null = chance(c, 3);
    if (a.before[0].length < LENGTH_MAX && a.before[1].length < LENGTH_MAX) {
        if (chance(c, 25)) a.room = logarithmic(c, 1, LENGTH_MAX);
        note(c, "%u times %u to %08x and %08x, room for %u", a.items, a.each, a.vectors[0],
             is_one ? 0 : a.vectors[1], a.room);
        for (uint32_t i = 0; i < a.count; i++) {
            c->list[2 * i] = is_null ? 0 : a.vectors[is_one ? 0 : below(c, 2)];
            c->list[2 * i + 1] =
                item->type == CLUMP_TYPE_REF ? draw_reference(c, h, item->target) : draw_salt(c);
        }
        watch_step(c);
        fill_out(c, a.count + 1, UNTOUCHED);
        cl_fixture_write(&c->on, c->list_buffer, c->list, 2 * a.count * sizeof *c->list);
        SET_NUMBERS(c, c->kernels[KERNEL_vector_append], 2, a.items, a.each, a.vectors[0], a.room);
        launch_items(c, h, c->kernels[KERNEL_vector_append], a.items);
        read_out(c, a.count + 1);
        for (uint32_t i = 0; i < a.count && is_null; i++)
            same_number(c, "append to no vector", c->out[i], NO_ROOM);
        /* Each tries a few times, and each try is reported. */
        c->expect.page_nulls_most += (uint64_t)(a.count + 1) * 2 * PAGES;
        check_appended(&a, 0);
        if (!is_one) check_appended(&a, 1);
    }
    for (int i = 0; i < 2; i++) free(a.before[i].elements);
}

/* ---- Upkeep ---------------------------------------------------------------------------------- */

/* No vector has no elements and no room. */
static void keep_none(client *c, heap_model *h) {
    same_number(c, "make of no vector", keep_container(c, h, KERNEL_vector_keep, KEEP_MAKE, 0, 10),
                0);
    same_number(c, "reserve of no vector",
                keep_container(c, h, KERNEL_vector_keep, KEEP_RESERVE, 0, 10), 0);
    keep_container(c, h, KERNEL_vector_keep, KEEP_CLEAR, 0, 0);
    keep_container(c, h, KERNEL_vector_keep, KEEP_TRIM, 0, 0);
    compare_by_kernel(c, h, 0, NULL);
}

static void reserve(client *c, heap_model *h, clump_ref ref, const contents *before) {
    const uint32_t n = chance(c, 5) ? UINT32_MAX : logarithmic(c, 1, 2 * LENGTH_MAX);
    const uint32_t ok = keep_container(c, h, KERNEL_vector_keep, KEEP_RESERVE, ref, n);
    note(c, "room for %u in %08x%s", n, ref, ok ? "" : ", refused");
    c->expect.page_nulls_least += !ok;
    c->expect.page_nulls_most += !ok;
    adopt_vector(c, h, ref);
    contents now = expect_longer(c, h, ref, before, 0);
    if ((now.room >= n) != (int)ok || (n == UINT32_MAX && ok))
        complain(c, "a reserve for %u gave %u, and there is room for %u", n, ok, now.room);
    if (now.pages < before->pages) complain(c, "a reserve took pages away");
    free(now.elements);
}

/* Pages without elements go, the first one stays. */
static void cut(client *c, heap_model *h, clump_ref ref, const contents *before, uint32_t what) {
    contents none = {.length = 0};
    uint32_t kept = 0, room = 0;
    object_model *v = object_at(h, ref);
    const uint32_t length = what == KEEP_CLEAR ? 0 : before->length;
    while (kept < before->pages && (!kept || room < length)) room += size_of(c, v, kept++);
    for (uint32_t k = kept; k < before->pages; k++) remove_object(c, h, before->at[k]);
    note(c, "%s %08x: %u of %u pages", what == KEEP_CLEAR ? "clear" : "trim", ref, kept,
         before->pages);
    keep_container(c, h, KERNEL_vector_keep, what, ref, 0);
    c->sum.frees += before->pages - kept;
    adopt_vector(c, h, ref);
    contents now = expect_longer(c, h, ref, what == KEEP_CLEAR ? &none : before, 0);
    same_number(c, "pages that stay", now.pages, kept);
    free(now.elements);
}

void keep_vector(client *c, heap_model *h) {
    if (chance(c, 5)) keep_none(c, h);
    const clump_ref ref = draw_vector(c, h);
    if (!ref) return;
    contents before = look_into(c, h, ref);
    const uint32_t what = before.length >= LENGTH_MAX ? KEEP_CLEAR : KEEP_RESERVE + below(c, 3);
    if (what == KEEP_RESERVE)
        reserve(c, h, ref, &before);
    else
        cut(c, h, ref, &before, what);
    free(before.elements);
}
