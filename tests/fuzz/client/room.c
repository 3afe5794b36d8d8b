/* How many objects still fit, and how large a heap must be for so many. */
#include "client.h"

/* ---- In a heap ------------------------------------------------------------------------------- */

/* As statistics have it; and now and then so many are made, and a few more. */
void ask_room(client *c, heap_model *h) {
    const int class = draw_class(c);
    const class_model *k = &c->classes[class];
    const clump_class_stats *s = &h->classes[k->id - 1];
    clump_class_stats now[CLASSES_MAX] = {{.size = sizeof *now}};
    note(c, "of %s", k->name);
    CHECK_OK(&c->on, clump_heap_read_stats(h->heap, NULL, now, CLASSES_MAX));
    const uint64_t room = now[k->id - 1].room;
    if (k->is_abstract) {
        same_number(c, "room of a class that is abstract", room, 0);
        return;
    }
    const uint64_t in_use = s->slots - s->objects;
    if (room < in_use)
        complain(c, "room for %llu, and %llu slots are free", (ull)room, (ull)in_use);
    if (s->blocks) /* they tell what a block has */
        same_number(c, "room", room, in_use + s->slots / s->blocks * h->stats.free_blocks);
    if (!h->stats.free_blocks) same_number(c, "room without free blocks", room, in_use);
    if (!room || room > ITEMS_MAX - 3 || chance(c, 40)) return;
    const uint32_t more = below(c, 4);
    do_new_of(c, h, class, (uint32_t)room + more);
    same_number(c, "nulls where the room is known", c->expect.nulls[class], more);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* Of each class by id: those that there are, or any number. */
static void draw_numbers(client *c, const heap_model *h, uint64_t *objects) {
    const int as_now = chance(c, 30);
    for (int k = 0; k < c->class_count; k++) {
        uint64_t *n = &objects[c->classes[k].id - 1];
        *n = as_now ? h->classes[c->classes[k].id - 1].objects
                    : below(c, 5) * logarithmic(c, 1, 2000);
        if (c->classes[k].is_abstract) *n = 0;
    }
}

/* Is there such a heap, and has it room for all of them at the same time? */
static int has_room(client *c, clump_heap_desc desc, const uint64_t *objects, clump_heap **heap) {
    clump_heap_stats stats = {.size = sizeof stats};
    clump_class_stats classes[CLASSES_MAX] = {{.size = sizeof *classes}};
    uint64_t blocks = 0;
    clump_status status = clump_heap_create(&desc, heap, NULL);
    if (status == CLUMP_ERR_DEVICE_MEMORY) return 0;
    CHECK_OK(&c->on, status);
    CHECK_OK(&c->on, clump_heap_read_stats(*heap, &stats, classes, CLASSES_MAX));
    for (int k = 0; k < c->class_count && stats.free_blocks; k++) {
        const uint64_t n = objects[c->classes[k].id - 1], room = classes[c->classes[k].id - 1].room;
        if (c->classes[k].is_abstract) continue;
        const uint64_t capacity = room / stats.free_blocks;
        same_number(c, "room of an empty heap", room, capacity * stats.free_blocks);
        blocks += (n + capacity - 1) / capacity;
    }
    return blocks <= stats.free_blocks;
}

/* They are made, all together. */
static void make_all(client *c, clump_heap *heap, const uint64_t *objects) {
    for (int k = 0; k < c->class_count; k++) {
        const clump_struct_field tag = {"tag", 0};
        const clump_struct_desc desc = {sizeof desc, c->classes[k].name, sizeof(uint32_t), 1, &tag};
        const uint64_t n = objects[c->classes[k].id - 1];
        uint64_t made = 0;
        if (!n) continue;
        uint32_t *tags = must_alloc(n * sizeof *tags);
        CHECK_OK(&c->on, clump_heap_new_structs(heap, &desc, tags, n, NULL, &made));
        same_number(c, "objects that a heap of the bytes needed has", made, n);
        free(tags);
    }
    CHECK_OK(&c->on, clump_heap_check(heap));
}

void ask_bytes(client *c, heap_model *h) {
    uint64_t objects[CLASSES_MAX] = {0}, bytes = 0;
    clump_heap *heap = NULL;
    clump_checked_desc checked = c->checked;
    checked.on_leak = NULL;
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = c->on.clump,
                            .schema = clump_heap_get_info(h->heap)->schema,
                            .block_rows = c->block_rows,
                            .raw = c->raw,
                            .watch_handles = chance(c, 20) && c->watching,
                            .checked = c->checked.without == CLUMP_CHECK_ALL ? NULL : &checked,
                            .evictable_bytes = c->evicts ? h->bytes : 0};
    draw_numbers(c, h, objects);
    CHECK_OK(&c->on, clump_heap_get_bytes_needed(&desc, objects, &bytes, NULL));
    note(c, "%llu bytes", (ull)bytes);
    desc.bytes = bytes;
    if (!has_room(c, desc, objects, &heap)) complain(c, "they do not fit %llu bytes", (ull)bytes);
    make_all(c, heap, objects);
    clump_heap_destroy(heap);
    heap = NULL;
    desc.bytes = bytes - bytes / 50; /* at most 2% above the least */
    if (has_room(c, desc, objects, &heap))
        complain(c, "%llu bytes are said to be needed, and they fit %llu", (ull)bytes,
                 (ull)desc.bytes);
    clump_heap_destroy(heap);
    for (int k = 0; k < c->class_count; k++)
        objects[c->classes[k].id - 1] = c->classes[k].is_abstract;
    const int has_abstract = memchr(objects, 1, sizeof objects) != NULL;
    CHECK_STATUS(&c->on, clump_heap_get_bytes_needed(&desc, objects, &bytes, NULL),
                 has_abstract ? CLUMP_ERR_USAGE : CLUMP_OK);
    objects[c->classes[c->drawn_classes - 1].id - 1] = UINT64_MAX; /* never an abstract one */
    if (!has_abstract)
        CHECK_STATUS(&c->on, clump_heap_get_bytes_needed(&desc, objects, &bytes, NULL),
                     CLUMP_ERR_DEVICE_MEMORY);
}
