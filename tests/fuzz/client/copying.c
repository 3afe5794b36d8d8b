/* Fields of all objects to a buffer of the client's and from it, on the device: as they are read and
 * written from the host, and no byte beside them. */
#include "client.h"

enum { SIDE_BYTES = 64, PATTERN = 0xa5 };

/* A call, and the bytes of its buffer. */
typedef struct copying {
    const field_model *f;
    int class;
    uint32_t e, count;
    clump_ref *refs; /* count of them */
    uint64_t offset, capacity, bytes, copied;
    uint8_t *image;
} copying;

/* Room for some of the objects, for all, or for more. */
static int open_copying(client *c, heap_model *h, copying *x) {
    const int number = draw_field(c, chance(c, 40));
    if (number < 0) return 0;
    *x = (copying){.f = &c->fields[number]};
    x->class = draw_class_with(c, x->f);
    x->e = below(c, x->f->elements);
    x->refs = must_alloc((h->count + 1) * sizeof *x->refs);
    x->count = list_class(c, h, x->class, x->refs);
    x->capacity = chance(c, 50) ? x->count : below(c, x->count + 20);
    x->copied = x->capacity < x->count ? x->capacity : x->count;
    x->offset = (uint64_t)below(c, 5) * x->f->bytes;
    x->bytes = x->offset + x->capacity * x->f->bytes + below(c, SIDE_BYTES) + 1;
    x->image = must_alloc(x->bytes);
    memset(x->image, PATTERN, x->bytes);
    note(c, "%s.%s[%u], %llu of %u", c->classes[x->class].name, x->f->name, x->e, (ull)x->capacity,
         x->count);
    return 1;
}

static clump_status call(client *c, heap_model *h, const copying *x, clump_copy_direction direction,
                         cl_mem buffer, uint64_t offset, uint64_t capacity,
                         const clump_sync *sync) {
    return clump_heap_copy_field(h->heap, c->classes[x->class].name, x->f->name, x->e, direction,
                                 buffer, offset, capacity, sync);
}

/* The call, and what the buffer has then. */
static void copy(client *c, heap_model *h, copying *x, clump_copy_direction direction) {
    cl_mem buffer = cl_fixture_buffer(&c->on, x->image, x->bytes);
    const uint64_t past = (x->bytes - x->offset) / x->f->bytes + 1;
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    CHECK_OK(&c->on, call(c, h, x, direction, buffer, x->offset, x->capacity, sync));
    if (sync && !u.after) complain(c, "a copy gives no event");
    end_sync(c, &u);
    cl_fixture_read(&c->on, buffer, x->image, x->bytes);
    CHECK_STATUS(&c->on, call(c, h, x, direction, buffer, x->offset, past, NULL),
                 CLUMP_ERR_TOO_SMALL);
    if (x->f->bytes > 1)
        CHECK_STATUS(&c->on, call(c, h, x, direction, buffer, x->offset + 1, 0, NULL),
                     CLUMP_ERR_USAGE);
    clReleaseMemObject(buffer);
}

static void close_copying(copying *x) {
    free(x->image);
    free(x->refs);
}

void copy_to_buffer(client *c, heap_model *h) {
    copying x;
    if (!open_copying(c, h, &x)) return;
    copy(c, h, &x, CLUMP_COPY_TO_BUFFER);
    const uint64_t end = x.offset + x.copied * x.f->bytes;
    for (uint64_t i = 0; i < x.bytes; i++)
        if ((i < x.offset || i >= end) && x.image[i] != PATTERN)
            complain(c, "byte %llu of a buffer was written, beside the values in %llu .. %llu",
                     (ull)i, (ull)x.offset, (ull)end);
    for (uint32_t i = 0; i < x.copied; i++)
        compare_element(c, h, x.f, x.e, object_at(h, x.refs[i]),
                        x.image + x.offset + (size_t)i * x.f->bytes);
    close_copying(&x);
}

/* Objects beyond the capacity keep what they have. */
void copy_from_buffer(client *c, heap_model *h) {
    copying x;
    if (!open_copying(c, h, &x)) return;
    for (uint32_t i = 0; i < x.copied; i++) {
        object_model *o = object_at(h, x.refs[i]);
        if (!o) complain(c, "%08x is listed, and there is no object", x.refs[i]);
        uint32_t *word = &o->words[x.f->at + x.e];
        *word = draw_word(c, h, x.f);
        put_word(x.f, x.e, o, *word, x.image + x.offset + (size_t)i * x.f->bytes);
    }
    uint8_t *given = must_alloc(x.bytes);
    memcpy(given, x.image, x.bytes);
    copy(c, h, &x, CLUMP_COPY_FROM_BUFFER);
    if (memcmp(given, x.image, x.bytes) != 0) complain(c, "a buffer that is read was written");
    free(given);
    close_copying(&x);
    compare_values(c, h);
}
