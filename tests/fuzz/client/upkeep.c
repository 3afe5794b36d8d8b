/* Operations that change nothing that a program sees: slots reserved, a repair of what is whole,
 * programs built again; and what the library tells of a heap and a program. */
#include "client.h"

/* ---- Reservations ---------------------------------------------------------------------------- */

/* Room that is announced stays free for all: later operations would see nulls without need. */
void reserve_slots(client *c, heap_model *h) {
    int class = draw_class(c);
    const char *name = c->classes[class].name;
    uint64_t objects = chance(c, 20) ? 0 : logarithmic(c, 1, 4 * ITEMS_MAX);
    clump_status status = c->classes[class].is_abstract ? CLUMP_ERR_USAGE : CLUMP_OK;
    if (chance(c, 5)) {
        objects = (UINT64_C(1) << 31) + 1;
        status = CLUMP_ERR_USAGE;
    }
    note(c, "%llu of %s", (ull)objects, name);
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    CHECK_STATUS(&c->on, clump_heap_reserve(h->heap, name, objects, sync), status);
    end_sync(c, &u);
    CHECK_STATUS(&c->on, clump_heap_reserve(h->heap, "Nobody", 1, NULL), CLUMP_ERR_NOT_FOUND);
}

/* ---- Repair ---------------------------------------------------------------------------------- */

/* A heap that is whole has nothing to repair. */
void repair_heap(client *c, heap_model *h) {
    clump_repair_report r = {.size = sizeof r};
    memset(&r, 0xee, sizeof r);
    r.size = sizeof r;
    CHECK_OK(&c->on, clump_heap_repair(h->heap, chance(c, 80) ? &r : NULL));
    if (r.objects == UINT64_C(0xeeeeeeeeeeeeeeee)) return;
    const int has_raw = h->raw_count || c->array_count;
    if (has_raw && r.objects < h->count + h->raw_count) /* slots, one or more for each */
        complain(c, "%llu slots after a repair, expected %u objects and %u of raw memory",
                 (ull)r.objects, h->count, h->raw_count);
    if (!has_raw) same_number(c, "objects after a repair", r.objects, h->count);
    same_number(c, "blocks repaired", r.blocks, 0);
    same_number(c, "what a repair lost or found",
                r.guessed + r.appeared + r.vanished + r.lost + r.strays, 0);
    compare_all(c, h);
}

/* ---- What is told ---------------------------------------------------------------------------- */

static void compare_schema(client *c, const heap_model *h) {
    const clump_schema *schema = clump_heap_get_info(h->heap)->schema;
    same_number(c, "classes of the heap's schema", clump_schema_get_info(schema)->class_count,
                (uint64_t)c->class_count);
    for (int k = 0; k < c->class_count; k++) {
        const clump_class_info *info = clump_schema_get_info(schema)->classes[c->classes[k].id];
        if (strcmp(info->name, c->classes[k].name) != 0)
            complain(c, "class %u is called %s, expected K%d", info->id, info->name, k);
        for (uint32_t i = 0; i < info->field_count; i++) {
            clump_field_info field = *clump_schema_get_info(schema)->classes[info->id]->fields[i];
            same_number(c, "class that declares a field", field.class_id, info->id);
        }
    }
}

static void compare_counted(client *c, heap_model *h) {
    int class = draw_class(c);
    const char *name = c->classes[class].name;
    uint64_t count = 0, expected = count_of(c, h, class), room = expected;
    if (expected && chance(c, 30)) room = below(c, (uint32_t)expected);
    uint32_t *tags = must_alloc((room + 1) * sizeof *tags);
    tags[room] = UNTOUCHED;
    CHECK_STATUS(&c->on,
                 clump_heap_read_field(h->heap, name, "tag", 0, sizeof *tags, tags, room, &count),
                 room < expected ? CLUMP_ERR_TOO_SMALL : CLUMP_OK);
    same_number(c, "objects counted with their fields", count, expected);
    same_number(c, "what lies behind tags", tags[room], UNTOUCHED);
    free(tags);
}

static void compare_program(client *c) {
    const char *source = clump_program_get_info(c->program)->source;
    /* Where reads are checked they have other names. */
    const char *part =
        has_check(c, CLUMP_CHECK_READS) ? "CLUMP_FOR_EACH_TOGETHER(CROWD, self)" : c->source.at;
    if (!strstr(source, part)) complain(c, "the program's source has not the user's");
    if (!clump_program_get_info(c->program)->options || !clump_program_get_info(c->program)->log)
        complain(c, "a program has no options or no log");
    (void)clump_program_get_info(c->program)->warnings; /* any: a compiler warns of what it likes */
}

static void compare_context(client *c) {
    clump_capabilities found = {.size = sizeof found};
    clump_error error;
    const clump_capabilities *can = clump_context_get_info(c->on.clump)->capabilities;
    if (clump_device_probe(c->on.device, 0, &found, &error))
        complain(c, "clump_device_probe: %s", error.message);
    if (strcmp(found.device_name, can->device_name) != 0 ||
        found.features_found != can->features_found)
        complain(c, "a device is probed as another one");
    if (clump_context_get_error(c->on.clump)->status != CLUMP_OK &&
        !clump_context_get_error(c->on.clump)->message[0])
        complain(c, "an error without words");
}

/* How many entries a timeline has, moves of pools too, and how many came after these. */
static int take_timeline(void *user, const void *data, size_t bytes) {
    const char *json = data;
    unsigned long long *found = user;
    const char *dropped = strstr(json, "\"dropped\":");
    if (!dropped || strlen(json) != bytes) return 1;
    found[1] = strtoull(dropped + 10, NULL, 10);
    found[0] = 0;
    for (const char *at = json; (at = strstr(at, "\"ph\":\"")) != NULL; at++)
        found[0] += at[6] == 'X' || at[6] == 'b';
    return 0;
}

/* What the client did since the last look is there, up to the capacity. */
static void compare_timeline(client *c) {
    unsigned long long found[2] = {~0ull, 0};
    if (clump_context_write_timeline(c->on.clump, take_timeline,
                                     found)) { /* nothing was recorded yet */
        CHECK_OK(&c->on, clump_context_record_timeline(c->on.clump, TIMELINE_MAX));
        return;
    }
    if (found[0] > TIMELINE_MAX || (found[1] && found[0] != TIMELINE_MAX))
        complain(c, "a timeline has gaps");
}

/* The dump's count of objects, and how many blocks it lists. */
static int take_dump(void *user, const void *data, size_t bytes) {
    const char *json = data;
    unsigned long long *found = user;
    const char *objects = strstr(json, "\"objects\": "), *used = strstr(json, "\"block_used\": [");
    if (!objects || !used || strlen(json) != bytes) return 1;
    found[0] = strtoull(objects + 11, NULL, 10);
    for (found[1] = 1; *used; used++) found[1] += *used == ',';
    return 0;
}

static void compare_dump(client *c, heap_model *h) {
    unsigned long long found[2] = {~0ull, ~0ull};
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&c->on, clump_heap_dump(h->heap, take_dump, found));
    CHECK_OK(&c->on, clump_heap_read_stats(h->heap, &stats, NULL, 0));
    same_number(c, "objects of a dump", found[0], stats.objects);
    same_number(c, "blocks of a dump", found[1],
                c->evicts ? clump_heap_get_info(h->heap)->block_count : stats.blocks);
}

void look_inside(client *c, heap_model *h) {
    size_t bytes = 0;
    CHECK_CL(clGetMemObjectInfo(clump_heap_get_info(h->heap)->buffer, CL_MEM_SIZE, sizeof bytes,
                                &bytes, NULL));
    if (bytes < clump_heap_get_info(h->heap)->bytes) complain(c, "a heap's buffer is too small");
    compare_schema(c, h);
    compare_counted(c, h);
    compare_dump(c, h);
    compare_program(c);
    compare_context(c);
    compare_timeline(c);
    look_at_checks(c, h);
    clump_heap_touch(h->heap); /* the next do-all makes its list anew */
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* What follows is on another queue, for all heaps. Nothing is under way, since each operation ends
 * with calls that block: diff_queues looks at the order of what is. */
void change_queue(client *c, heap_model *h) {
    const uint32_t to = below(c, 2);
    (void)h;
    note(c, "queue %u", to);
    CHECK_OK(&c->on,
             clump_context_set_queue(c->on.clump, !to && chance(c, 50) ? NULL : c->queues[to]));
    c->on.queue = c->queues[to];
    if (clump_context_get_info(c->on.clump)->queue != c->on.queue)
        complain(c, "the context has not the queue that was set");
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* All kernels and their program go, in an order of their own, and are made again. */
void renew_program(client *c, heap_model *h) {
    clump_program *old = c->program;
    (void)h;
    if (chance(c, 50)) {
        clump_program_destroy(old);
        old = NULL;
    }
    end_kernels(c);
    clump_program_destroy(old);
    make_program(c);
}
