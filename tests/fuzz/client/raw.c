/* Raw memory beside the objects: asked for, resized, given back, and looked at.
 *
 * Each has a tag, of which all of its bytes are hashes. A request may get null: sizes of slots only
 * if no block is free.
 */
#include "client.h"

enum {
    WAYS = 4,         /* to ask: see raw_make in source.c */
    SLOT_BYTES = 64,  /* every heap has slots of this size */
    RECORD_WORDS = 4, /* in the list: handle, bytes, tag, bytes that are wanted */
};

static uint32_t draw_power(client *c, const heap_model *h) {
    uint32_t most = 4;
    while (h->bytes >> (most + 6)) most++; /* up to a 32nd of the heap */
    return chance(c, 50) ? 3 + below(c, 4) : below(c, most + 1);
}

/* As the kernel draws it. */
static uint32_t bytes_of(uint32_t tag, uint32_t salt, uint32_t power) {
    uint32_t bits = test_hash(tag ^ salt);
    return 1 + (bits >> 8) % (1u << (bits & 255u) % (power + 1));
}

static void put_record(client *c, uint32_t at, const raw_model *r, uint32_t wanted) {
    uint32_t *to = &c->list[RECORD_WORDS * at];
    to[0] = r->handle, to[1] = r->bytes, to[2] = r->tag, to[3] = wanted;
}

static void launch_raw(client *c, heap_model *h, clump_kernel *kernel, uint32_t n) {
    cl_fixture_write(&c->on, c->list_buffer, c->list, RECORD_WORDS * n * sizeof *c->list);
    launch_items(c, h, kernel, n);
}

/* A null of a size that slots have: no block may be free. */
static void take_null(client *c, uint32_t bytes) {
    c->expect.raw_nulls++;
    c->expect.raw_slot_nulls += bytes <= SLOT_BYTES;
}

void raw_make(client *c, heap_model *h) {
    uint32_t n = logarithmic(c, 1, 1000), tag = take_tags(c, n), salt = draw_salt(c);
    uint32_t power = draw_power(c, h), way = below(c, WAYS);
    if (n > RAWS_MAX - h->raw_count) n = RAWS_MAX - h->raw_count;
    note(c, "%u of up to 2^%u bytes, way %u", n, power, way);
    if (!n) return;
    fill_out(c, 2 * n, UNTOUCHED);
    SET_NUMBERS(c, c->kernels[KERNEL_raw_make], 1, tag, salt, n, power, way);
    launch_items(c, h, c->kernels[KERNEL_raw_make], n);
    read_out(c, 2 * n);
    for (uint32_t i = 0; i < n; i++) {
        raw_model r = {c->out[2 * i], bytes_of(tag + i, salt, power), tag + i};
        if (c->out[2 * i + 1])
            complain(c, "memory %08x of %u bytes: not cleared, aligned or large enough: %u",
                     r.handle, r.bytes, c->out[2 * i + 1]);
        if (r.handle)
            h->raws[h->raw_count++] = r;
        else
            take_null(c, r.bytes);
    }
}

/* Some of them, now and then twice. */
void raw_free(client *c, heap_model *h) {
    uint32_t share = 1 + below(c, 256), salt = draw_salt(c), n = 0, kept = 0, twice = 0;
    for (uint32_t i = 0; i < h->raw_count; i++) {
        raw_model r = h->raws[i];
        if (!picks(r.tag, salt, share)) {
            h->raws[kept++] = r;
            continue;
        }
        put_record(c, n++, &r, 0);
        if (!chance(c, 5) || n + h->raw_count - i >= RAWS_MAX) continue;
        put_record(c, n++, &r, 0);
        twice++;
    }
    note(c, "%u, %u of them again", n - twice, twice);
    h->raw_count = kept;
    if (!n) return;
    SET_NUMBERS(c, c->kernels[KERNEL_raw_free], 1, n);
    launch_raw(c, h, c->kernels[KERNEL_raw_free], n);
    c->expect.refused += twice;
    c->sum.frees += n - twice;
}

/* Larger ones and smaller ones, with the same contents as far as both reach. */
void raw_resize(client *c, heap_model *h) {
    uint32_t share = 1 + below(c, 256), salt = draw_salt(c), power = draw_power(c, h), n = 0;
    for (uint32_t i = 0; i < h->raw_count; i++)
        if (picks(h->raws[i].tag, salt, share))
            put_record(c, n++, &h->raws[i], bytes_of(h->raws[i].tag, ~salt, power));
    note(c, "%u to up to 2^%u bytes", n, power);
    if (!n) return;
    fill_out(c, 2 * n, UNTOUCHED);
    SET_NUMBERS(c, c->kernels[KERNEL_raw_resize], 2, n);
    launch_raw(c, h, c->kernels[KERNEL_raw_resize], n);
    read_out(c, 2 * n);
    for (uint32_t i = 0, at = 0; i < h->raw_count; i++) {
        raw_model *r = &h->raws[i];
        if (!picks(r->tag, salt, share)) continue;
        uint32_t handle = c->out[2 * at], wrong = c->out[2 * at + 1];
        uint32_t bytes = bytes_of(r->tag, ~salt, power);
        at++;
        if (wrong) complain(c, "%u bytes of %08x are wrong after a realloc", wrong, r->handle);
        if (handle) {
            r->handle = handle;
            r->bytes = bytes;
        } else if (bytes <= r->bytes) {
            complain(c, "a realloc of %08x from %u to %u bytes failed", r->handle, r->bytes, bytes);
        } else {
            c->expect.raw_nulls++; /* what others gave back may have been room */
        }
    }
}

void compare_raw(client *c, heap_model *h) {
    uint32_t n = h->raw_count;
    if (!n) return;
    for (uint32_t i = 0; i < n; i++) put_record(c, i, &h->raws[i], 0);
    fill_out(c, n, UNTOUCHED);
    SET_NUMBERS(c, c->kernels[KERNEL_raw_look], 2, n);
    launch_raw(c, h, c->kernels[KERNEL_raw_look], n);
    read_out(c, n);
    for (uint32_t i = 0; i < n; i++)
        if (c->out[i])
            complain(c, "%u bytes of %u at %08x, tag %u, are wrong", c->out[i], h->raws[i].bytes,
                     h->raws[i].handle, h->raws[i].tag);
}
