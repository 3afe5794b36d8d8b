/* References outside the heaps: registered buffers, with gaps and with counts on the device, and
 * handles. */
#include "client.h"

/* ---- Buffers --------------------------------------------------------------------------------- */

static uint32_t place_of(const outside *o, uint32_t i) {
    return (uint32_t)o->desc.offset / 4 + i * (o->desc.stride ? o->desc.stride / 4 : 1);
}

static outside *draw_outside(client *c, heap_model *h) {
    outside *found[OUTSIDES_MAX];
    uint32_t count = 0;
    for (int i = 0; i < OUTSIDES_MAX; i++)
        if (h->outsides[i].refs) found[count++] = &h->outsides[i];
    return count ? found[below(c, count)] : NULL;
}

static void draw_image(client *c, heap_model *h, outside *o) {
    for (uint32_t i = 0; i < o->words; i++) o->image[i] = draw_reference(c, h, draw_any_class(c));
}

void register_buffer(client *c, heap_model *h) {
    outside *o = h->outsides;
    while (o < h->outsides + OUTSIDES_MAX && o->refs) o++;
    if (o == h->outsides + OUTSIDES_MAX) return;
    o->desc = (clump_refs_desc){.size = sizeof(clump_refs_desc),
                                .offset = 4 * below(c, 4),
                                .stride = 4 * below(c, 4),
                                .count = logarithmic(c, 1, 400),
                                .null_dangling = chance(c, 50),
                                .weak = chance(c, 50)};
    o->limit = (uint32_t)o->desc.count;
    o->words = place_of(o, o->limit - 1) + 1 + below(c, 3);
    o->image = must_alloc(o->words * sizeof *o->image);
    draw_image(c, h, o);
    o->desc.buffer = cl_fixture_buffer(&c->on, o->image, o->words * sizeof *o->image);
    if (chance(c, 40)) {
        uint32_t counts[3] = {0};
        o->desc.counted_at = 4 * below(c, 3);
        counts[o->desc.counted_at / 4] = below(c, o->limit + o->limit / 4 + 2);
        o->desc.counted = cl_fixture_buffer(&c->on, counts, sizeof counts);
        if (counts[o->desc.counted_at / 4] < o->limit) o->limit = counts[o->desc.counted_at / 4];
    }
    note(c, "%u of %u references, %u bytes apart%s%s", o->limit, (uint32_t)o->desc.count,
         o->desc.stride, o->desc.weak ? ", weak" : "",
         o->desc.null_dangling ? ", null_dangling" : "");
    CHECK_OK(&c->on, clump_refs_create(h->heap, &o->desc, &o->refs, NULL));
    o->turn = h->registrations++;
}

static void compare_buffer(client *c, outside *o) {
    uint32_t *is = must_alloc(o->words * sizeof *is);
    cl_fixture_read(&c->on, o->desc.buffer, is, o->words * sizeof *is);
    for (uint32_t i = 0; i < o->words; i++) {
        if (o->image[i] == LOOSE) o->image[i] = is[i];
        if (is[i] != o->image[i])
            complain(c, "word %u of a registered buffer is %08x, expected %08x", i, is[i],
                     o->image[i]);
    }
    free(is);
}

static void close_buffer(outside *o) {
    clump_refs_destroy(o->refs);
    clReleaseMemObject(o->desc.buffer);
    if (o->desc.counted) clReleaseMemObject(o->desc.counted);
    free(o->image);
    *o = (outside){0};
}

void unregister_buffer(client *c, heap_model *h) {
    outside *o = draw_outside(c, h);
    if (!o) return;
    compare_buffer(c, o);
    close_buffer(o);
}

void write_buffer(client *c, heap_model *h) {
    outside *o = draw_outside(c, h);
    if (!o) return;
    draw_image(c, h, o);
    cl_fixture_write(&c->on, o->desc.buffer, o->image, o->words * sizeof *o->image);
}

/* ---- Handles --------------------------------------------------------------------------------- */

void make_handles(client *c, heap_model *h) {
    uint32_t count = chance(c, 20) ? 40 : 1 + below(c, 6);
    note(c, "%u", count);
    for (; count > 0 && h->handle_count < HANDLES_MAX; count--) {
        clump_ref ref = draw_reference(c, h, draw_any_class(c));
        clump_handle handle = 0;
        int live = names(c, h, ref, NO_CLASS);
        CHECK_STATUS(&c->on, clump_heap_create_handle(h->heap, ref, &handle),
                     live ? CLUMP_OK : CLUMP_ERR_REFERENCE);
        if (!live) continue;
        for (uint32_t i = 0; i < h->handle_count; i++)
            if (h->handles[i].handle == handle) complain(c, "handle %u is in use", handle);
        h->handles[h->handle_count].handle = handle;
        h->handles[h->handle_count++].ref = ref;
    }
}

void drop_handles(client *c, heap_model *h) {
    for (uint32_t count = 1 + below(c, 20); count > 0 && h->handle_count; count--) {
        uint32_t i = below(c, h->handle_count);
        clump_handle handle = h->handles[i].handle;
        clump_ref ref;
        CHECK_OK(&c->on, clump_heap_destroy_handle(h->heap, handle));
        CHECK_STATUS(&c->on, clump_heap_read_handle(h->heap, handle, &ref), CLUMP_ERR_USAGE);
        h->handles[i] = h->handles[--h->handle_count];
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

void change_outside(heap_model *h, follow_outside *follow, void *user) {
    for (outside *o = h->outsides; o < h->outsides + OUTSIDES_MAX; o++) {
        const outside_rules rules = {o->desc.null_dangling, o->desc.weak};
        for (uint32_t i = 0; o->refs && i < o->limit; i++) {
            uint32_t *ref = &o->image[place_of(o, i)];
            *ref = follow(user, *ref, rules);
        }
    }
    for (uint32_t i = 0; i < h->handle_count; i++)
        h->handles[i].ref = follow(user, h->handles[i].ref, (outside_rules){1, 0});
}

void clear_uncounted(heap_model *h) {
    for (outside *o = h->outsides; o < h->outsides + OUTSIDES_MAX; o++)
        for (uint32_t i = o->limit; o->refs && i < o->desc.count; i++) o->image[place_of(o, i)] = 0;
}

void compare_outside(client *c, heap_model *h) {
    for (int i = 0; i < OUTSIDES_MAX; i++)
        if (h->outsides[i].refs) compare_buffer(c, &h->outsides[i]);
    for (uint32_t i = 0; i < h->handle_count; i++) {
        clump_ref is;
        CHECK_OK(&c->on, clump_heap_read_handle(h->heap, h->handles[i].handle, &is));
        if (h->handles[i].ref == LOOSE) h->handles[i].ref = is;
        if (is != h->handles[i].ref)
            complain(c, "handle %u is %08x, expected %08x", h->handles[i].handle, is,
                     h->handles[i].ref);
    }
}

void close_outside(client *c, heap_model *h) {
    for (int i = 0; i < OUTSIDES_MAX; i++) {
        /* A heap that goes unregisters what is left; then the buffers are ours alone. */
        if (h->outsides[i].refs) close_buffer(&h->outsides[i]);
    }
    h->handle_count = 0;
}
