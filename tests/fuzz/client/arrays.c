/* Arrays of run-time length, in the rounds that have them: kernels change their lengths and their
 * room, append to them by many work-items at once, and link objects by them. A model has the length
 * of each array, and the references in it; other elements are hashes of the tag of their object and
 * of their place.
 *
 * Every layout is drawn, and elements of every type, references, too. Null for more room needs no
 * more than that others take memory, as with large raw memory; what must be refused is refused, and
 * reported.
 *
 * Read first: client.h, docs/guide/arrays.md.
 */
#include "client.h"
#include "model.h"

enum {
    LENGTH_MAX = 600, /* what is asked for in earnest */
    CHANGED_MAX = 60, /* objects of one operation */
    APPENDED_MAX = 300,
    TOO_MANY = 0x40000000, /* elements: more than a quarter of any heap here */
    READ_BY_HOST = 4,      /* arrays of each field, when everything is compared */
    CHECKED_BYTES = 48,    /* of raw memory in checked heaps */
    NO_ROOM = 0xffffffff   /* CLUMP_NO_ROOM */
};
enum { RESIZE, RESERVE, TRIM, WAYS };

/* ---- Schema ---------------------------------------------------------------------------------- */

void draw_arrays(client *c) {
    const uint32_t count = 1 + below(c, DRAWN_ARRAYS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        array_model *a = &c->arrays[c->array_count++];
        field_model *f = &a->element;
        *a = (array_model){.kind = (clump_array)(CLUMP_ARRAY_GROWING + below(c, 2))};
        *f = (field_model){.owner = draw_class(c), .target = NO_CLASS};
        draw_element(c, f);
        f->weak = 0;                       /* there are no weak ones */
        f->number = ARRAY_CODES * (i + 1); /* elements have hashes of their own */
        if (a->kind == CLUMP_ARRAY_BOUNDED)
            a->inside = 1 + below(c, 8);
        else
            a->inside = chance(c, 50) ? 1 + below(c, 4) : 0;
        f->packed = a->inside && chance(c, 40);
        snprintf(f->name, sizeof f->name, "a%u", i);
    }
}

void write_array(const client *c, text *t, const array_model *a, int packed) {
    const field_model *f = &a->element;
    if (f->type == CLUMP_TYPE_REF)
        text_append(t, "    ref %s %s[*]", c->classes[f->target].name, f->name);
    else
        text_append(t, "    %s %s[*]", model_type_name(f->type, f->width), f->name);
    if (a->inside)
        text_append(t, " %s %u", a->kind == CLUMP_ARRAY_BOUNDED ? "max" : "inline", a->inside);
    text_append(t, "%s;\n", packed ? " packed" : "");
}

int is_ref_array(const client *c, uint32_t array) {
    return c->arrays[array].element.type == CLUMP_TYPE_REF;
}

int has_array(const client *c, const object_model *o, uint32_t array) {
    return is_a(c, o->class, c->arrays[array].element.owner);
}

void end_arrays(object_model *o) {
    for (uint32_t i = 0; i < ARRAYS_MAX; i++) free(o->elements[i]);
}

/* ---- What must come of a change -------------------------------------------------------------- */

void set_length(const client *c, object_model *o, uint32_t array, uint32_t length) {
    if (is_ref_array(c, array) || c->arrays[array].element.held) {
        o->elements[array] = realloc(o->elements[array], (length + 1) * sizeof *o->elements[array]);
        assert_non_null(o->elements[array]);
        for (uint32_t e = o->lengths[array]; e < length; e++) o->elements[array][e] = 0;
    }
    o->lengths[array] = length;
}

/* Objects that have the array, as many as there are up to `most`, each once; returns how many. */
static uint32_t choose(client *c, const heap_model *h, uint32_t array, uint32_t most,
                       uint32_t *numbers) {
    uint32_t count = 0, from = below(c, h->count);
    for (uint32_t i = 0; i < h->count && count < most; i++) {
        const uint32_t n = (from + i) % h->count;
        if (has_array(c, &h->objects[n], array)) numbers[count++] = n;
    }
    return count;
}

static uint32_t draw_length(client *c, const heap_model *h, const array_model *a) {
    uint32_t most = (uint32_t)(h->bytes / 64 / a->element.bytes);
    if (chance(c, 3)) return TOO_MANY;
    if (a->kind == CLUMP_ARRAY_BOUNDED) return below(c, a->inside + (chance(c, 10) ? 3 : 1));
    if (chance(c, 20)) return below(c, a->inside + 2);
    return logarithmic(c, 1, most < LENGTH_MAX ? most + 1.0 : LENGTH_MAX);
}

static void launch_list(client *c, heap_model *h, kernel_name kernel, uint32_t n, uint32_t words,
                        uint32_t array) {
    cl_fixture_write(&c->on, c->list_buffer, c->list, words * sizeof *c->list);
    SET_NUMBERS(c, c->kernels[kernel], kernel == KERNEL_array_link ? 1 : 2, n, array);
    launch_items(c, h, c->kernels[kernel], n);
}

/* `answer`: 1 or 0 of the call, and then length and capacity. */
static void take_change(client *c, object_model *o, uint32_t array, uint32_t way, uint32_t wanted,
                        const uint32_t *answer) {
    const array_model *a = &c->arrays[array];
    const int grows = way != TRIM && wanted > a->inside;
    if (!answer[0]) {
        if (!grows)
            complain(c, "way %u to %u of %s of %08x failed, and %u fit into the object", way,
                     wanted, a->element.name, o->ref, a->inside);
        if (wanted == TOO_MANY || a->kind == CLUMP_ARRAY_BOUNDED)
            c->expect.bad_sizes++;
        else
            c->expect.raw_nulls++; /* what others gave back may have been room */
    } else {
        if (way != TRIM && (wanted == TOO_MANY || (a->kind == CLUMP_ARRAY_BOUNDED && grows)))
            complain(c, "%s of %08x has room for %u, which cannot be", a->element.name, o->ref,
                     wanted);
        if (way == RESIZE) set_length(c, o, array, wanted);
        if (way != TRIM && answer[2] < wanted)
            complain(c, "%s of %08x has room for %u, and not for %u", a->element.name, o->ref,
                     answer[2], wanted);
    }
    same_number(c, "length of an array", answer[1], o->lengths[array]);
    if (answer[2] < answer[1]) complain(c, "an array is longer than its room");
}

/* ---- Operations ------------------------------------------------------------------------------ */

void change_arrays(client *c, heap_model *h) {
    const uint32_t array = below(c, c->drawn_arrays);
    uint32_t numbers[CHANGED_MAX], wanted[CHANGED_MAX], ways[CHANGED_MAX];
    const uint32_t n = choose(c, h, array, logarithmic(c, 1, CHANGED_MAX), numbers);
    note(c, "%u of %s", n, c->arrays[array].element.name);
    if (!n) return;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t drawn = below(c, 10);
        ways[i] = drawn < 6 ? RESIZE : drawn < 8 ? RESERVE : TRIM;
        wanted[i] = draw_length(c, h, &c->arrays[array]);
        c->list[3 * i] = h->objects[numbers[i]].ref;
        c->list[3 * i + 1] = ways[i];
        c->list[3 * i + 2] = wanted[i];
    }
    fill_out(c, 3 * n, UNTOUCHED);
    launch_list(c, h, KERNEL_array_change, n, 3 * n, array);
    read_out(c, 3 * n);
    for (uint32_t i = 0; i < n; i++)
        take_change(c, &h->objects[numbers[i]], array, ways[i], wanted[i], &c->out[3 * i]);
}

/* Indices are given once and without gaps, and nobody has none while there is room. */
static void take_appended(client *c, object_model *o, uint32_t array, uint32_t n) {
    const uint32_t old = o->lengths[array];
    uint32_t count = 0, refused = 0, room = 0;
    uint8_t seen[APPENDED_MAX] = {0};
    for (uint32_t g = 0; g < n; g++) {
        if (c->list[2 * g] != o->ref) continue;
        if (c->out[3 * g + 1]) complain(c, "an element of %08x is not what was appended", o->ref);
        room = c->out[3 * g + 2];
        count += c->out[3 * g] != NO_ROOM;
        refused += c->out[3 * g] == NO_ROOM;
    }
    if (refused && old + count != room)
        complain(c, "%u got no room in an array of %08x that has %u of %u elements", refused,
                 o->ref, old + count, room);
    set_length(c, o, array, old + count);
    for (uint32_t g = 0; g < n; g++) {
        const uint32_t at = c->out[3 * g];
        if (c->list[2 * g] != o->ref || at == NO_ROOM) continue;
        if (at < old || at - old >= count || seen[at - old]++)
            complain(c, "index %u of %08x, which had %u elements and got %u, or twice", at, o->ref,
                     old, count);
        if (o->elements[array]) o->elements[array][at] = c->list[2 * g + 1];
    }
}

void append_to_arrays(client *c, heap_model *h) {
    const uint32_t array = below(c, c->drawn_arrays), n = logarithmic(c, 1, APPENDED_MAX);
    const field_model *f = &c->arrays[array].element;
    uint32_t numbers[CHANGED_MAX];
    const uint32_t objects = choose(c, h, array, logarithmic(c, 1, CHANGED_MAX), numbers);
    note(c, "%u to %s of %u", n, f->name, objects);
    if (!objects) return;
    for (uint32_t g = 0; g < n; g++) {
        c->list[2 * g] = h->objects[numbers[below(c, objects)]].ref;
        c->list[2 * g + 1] = f->type == CLUMP_TYPE_REF ? draw_reference(c, h, f->target) : 0;
    }
    fill_out(c, 3 * n, UNTOUCHED);
    launch_list(c, h, KERNEL_array_append, n, 2 * n, array);
    read_out(c, 3 * n);
    for (uint32_t i = 0; i < objects; i++) take_appended(c, &h->objects[numbers[i]], array, n);
}

/* Elements that are references, each by one work-item. */
void link_arrays(client *c, heap_model *h) {
    const uint32_t array = below(c, c->drawn_arrays);
    const field_model *f = &c->arrays[array].element;
    uint32_t numbers[CHANGED_MAX], n = 0;
    const uint32_t objects = choose(c, h, array, CHANGED_MAX, numbers);
    if (f->type != CLUMP_TYPE_REF) return;
    for (uint32_t i = 0; i < objects; i++) {
        object_model *o = &h->objects[numbers[i]];
        const uint32_t length = o->lengths[array];
        for (uint32_t e = length ? below(c, length) : 0; e < length && n < APPENDED_MAX; e += 3) {
            uint32_t *to = &c->list[3 * n++];
            to[0] = o->ref, to[1] = e;
            to[2] = o->elements[array][e] = draw_reference(c, h, f->target);
        }
    }
    note(c, "%u of %s", n, f->name);
    if (n) launch_list(c, h, KERNEL_array_link, n, 3 * n, array);
}

/* ---- Everything ------------------------------------------------------------------------------ */

static void compare_array_element(client *c, object_model *o, uint32_t array, uint32_t e,
                                  uint32_t found) {
    const field_model *f = &c->arrays[array].element;
    const int is_ref = f->type == CLUMP_TYPE_REF;
    const uint32_t expected =
        is_ref || f->held ? o->elements[array][e] : sum_of_value(f, e, o->tag, 0);
    if (is_ref && expected == LOOSE)
        o->elements[array][e] = found;
    else if (found != expected)
        complain(c, "%s[%u] of %u, of tag %u at %08x, is %08x, expected %08x", f->name, e,
                 o->lengths[array], o->tag, o->ref, found, expected);
}

/* What `n` entries of the list tell: reference, place in the output, elements. */
static void compare_listed(client *c, heap_model *h, uint32_t array, uint32_t n, uint32_t words) {
    if (!n) return;
    fill_out(c, words, UNTOUCHED);
    launch_list(c, h, KERNEL_array_look, n, 3 * n, array);
    read_out(c, words);
    for (uint32_t i = 0; i < n; i++) {
        object_model *o = object_at(h, c->list[3 * i]);
        const uint32_t *found = &c->out[c->list[3 * i + 1]];
        same_number(c, "length of an array, and whether references beyond it are not null",
                    found[0], o->lengths[array]);
        for (uint32_t e = 0; e < o->lengths[array]; e++)
            compare_array_element(c, o, array, e, found[1 + e]);
    }
}

static void compare_by_kernel(client *c, heap_model *h, uint32_t array) {
    uint32_t n = 0, words = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const object_model *o = &h->objects[i];
        if (!has_array(c, o, array)) continue;
        if (words + 1 + o->lengths[array] > OUT_WORDS || 3 * (n + 1) > OUT_WORDS) {
            compare_listed(c, h, array, n, words);
            n = words = 0;
        }
        uint32_t *to = &c->list[3 * n++];
        to[0] = o->ref, to[1] = words, to[2] = o->lengths[array];
        words += 1 + o->lengths[array];
    }
    compare_listed(c, h, array, n, words);
}

static void compare_found(client *c, const object_model *o, uint32_t array, const uint8_t *found,
                          uint64_t count) {
    const field_model *f = &c->arrays[array].element;
    const uint32_t length = o->lengths[array], used = f->width == 3 ? f->bytes / 4 * 3 : f->bytes;
    same_number(c, "length of an array on the host", count, length);
    for (uint32_t e = 0; e < length; e++) {
        uint8_t expected[8 * WIDTH_MAX];
        if (f->type == CLUMP_TYPE_REF || f->held)
            memcpy(expected, &o->elements[array][e], f->bytes);
        else
            put_value(f, e, o->tag, 0, expected);
        if (memcmp(found + (size_t)e * f->bytes, expected, used) != 0)
            complain(c, "%s[%u] of tag %u at %08x is wrong on the host", f->name, e, o->tag,
                     o->ref);
    }
}

/* They are read in one call, and written back as they are. One that grows had all of their elements
 * before, if there was room. */
static void compare_together(client *c, heap_model *h, uint32_t array, const uint32_t *numbers,
                             uint32_t n) {
    const field_model *f = &c->arrays[array].element;
    const char *name = c->classes[f->owner].name;
    uint64_t room = 0;
    clump_ref refs[READ_BY_HOST];
    uint64_t offsets[READ_BY_HOST + 1];
    for (uint32_t i = 0; i < n; i++) {
        refs[i] = h->objects[numbers[i]].ref;
        room += h->objects[numbers[i]].lengths[array];
    }
    uint8_t *found = must_alloc((size_t)room * f->bytes + 1);
    CHECK_OK(&c->on, clump_heap_read_arrays(h->heap, name, f->name, refs, n, offsets, f->bytes,
                                            found, room));
    for (uint32_t i = 0; i < n; i++)
        compare_found(c, &h->objects[numbers[i]], array, found + offsets[i] * f->bytes,
                      offsets[i + 1] - offsets[i]);
    if (n && c->arrays[array].kind == CLUMP_ARRAY_GROWING) {
        const uint64_t all[] = {0, offsets[n]};
        const clump_status status = clump_heap_write_arrays(h->heap, name, f->name, refs, 1, all,
                                                            f->bytes, found, offsets[n]);
        if (status != CLUMP_ERR_DEVICE_MEMORY) CHECK_OK(&c->on, status);
    }
    CHECK_OK(&c->on, clump_heap_write_arrays(h->heap, name, f->name, refs, n, offsets, f->bytes,
                                             found, offsets[n]));
    free(found);
}

static void compare_by_host(client *c, heap_model *h, uint32_t array) {
    const field_model *f = &c->arrays[array].element;
    uint32_t numbers[READ_BY_HOST];
    const uint32_t n = choose(c, h, array, READ_BY_HOST, numbers);
    compare_together(c, h, array, numbers, n);
    if (c->arrays[array].kind == CLUMP_ARRAY_BOUNDED) return;
    for (uint32_t i = 0; i < n; i++) {
        const object_model *o = &h->objects[numbers[i]];
        const uint32_t length = o->lengths[array];
        uint8_t *found = must_alloc((length + 1) * (size_t)f->bytes);
        uint64_t count = 0;
        CHECK_OK(&c->on, clump_heap_read_object_array(h->heap, c->classes[f->owner].name, f->name,
                                                      o->ref, f->bytes, found, length, &count));
        compare_found(c, o, array, found, count);
        free(found);
    }
}

/* Raw memory is what live objects have room in, and nothing else: none is lost with its object. */
static void compare_room(client *c, heap_model *h) {
    uint32_t *rooms = must_alloc((h->count + 1) * sizeof *rooms);
    uint64_t least = 0, most = 0;
    for (uint32_t i = 0; i < c->array_count; i++) {
        const field_model *f = &c->arrays[i].element;
        char name[32];
        if (c->arrays[i].kind == CLUMP_ARRAY_BOUNDED) continue;
        snprintf(name, sizeof name, "%s_capacity", f->name);
        CHECK_OK(&c->on, clump_heap_read_field(h->heap, c->classes[f->owner].name, name, 0,
                                               sizeof *rooms, rooms, h->count + 1u, NULL));
        for (uint32_t n = 0; n < count_of(c, h, f->owner); n++) {
            least += (uint64_t)rooms[n] * f->bytes;
            /* A conversion keeps the room, and aligns wide elements anew in a larger slot. */
            const uint64_t room = (rooms[n] + 1ull) * f->bytes;
            /* A checked heap has a head and guards, and the room is what was requested. */
            if (rooms[n] && c->checked.without != CLUMP_CHECK_ALL)
                most += 2 * (room + f->bytes + CHECKED_BYTES);
            else if (rooms[n])
                most += room + (f->bytes > 16 ? room / 4 : 0);
        }
    }
    if (h->stats.raw_bytes + h->stats.raw_blocks * h->block_rest < least ||
        (!h->raw_count && h->stats.raw_bytes > most))
        complain(c, "%llu bytes of raw memory, and arrays have room in %llu to %llu",
                 (ull)h->stats.raw_bytes, (ull)least, (ull)most);
    free(rooms);
}

void compare_arrays_by_host(client *c, heap_model *h) {
    for (uint32_t i = 0; i < c->array_count && h->count; i++)
        if (i + 1 != c->array_left_out) compare_by_host(c, h, i);
}

void compare_arrays(client *c, heap_model *h) {
    if (!c->array_count || !h->count) return;
    for (uint32_t i = 0; i < c->array_count; i++) {
        compare_by_kernel(c, h, i);
        compare_by_host(c, h, i);
    }
    CHECK_OK(&c->on, clump_heap_read_stats(h->heap, &h->stats, h->classes, CLASSES_MAX));
    compare_room(c, h);
}
