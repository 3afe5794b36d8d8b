/* Checked heaps: all heaps of some rounds. Right programs are told nothing; what the operations do
 * wrong on purpose (free_listed, look_at) is told once for each time, by its kernel, and changes
 * nothing. */
#include "client.h"

enum { EVENTS_MAX = 512, PLACES_MAX = 64 };

/* ---- Which checks a round has ---------------------------------------------------------------- */

static void on_leak(void *user, const char *words) {
    heap_model *h = user;
    h->leaks += strtoull(words, NULL, 10);
}

/* All of them, or some. Their programs take longer to compile and to run, so not many rounds have
 * them. */
void draw_checks(client *c) {
    c->checked = (clump_checked_desc){
        .size = sizeof(clump_checked_desc), .without = CLUMP_CHECK_ALL, .on_leak = on_leak};
    c->watching = c->become_count ? 0 : 40;
    if (!chance(c, 15)) return;
    c->watching = !c->become_count && chance(c, 30) ? 100 : 0;
    c->checked.without = chance(c, 50) ? 0 : below(c, CLUMP_CHECK_ALL);
    c->checked.events = 1 + below(c, EVENTS_MAX);
}

int has_check(const client *c, clump_check check) {
    return !(c->checked.without & check);
}

int tells_accesses(const client *c) {
    if (c->checked.without == CLUMP_CHECK_ALL) return c->build.checked;
    return has_check(c, CLUMP_CHECK_REFERENCES);
}

int tells_bounds(const client *c) {
    return c->build.checked || has_check(c, CLUMP_CHECK_BOUNDS);
}

/* ---- What they find -------------------------------------------------------------------------- */

void compare_findings(client *c, heap_model *h, const clump_device_report *r) {
    clump_finding found[PLACES_MAX];
    uint64_t times[CLUMP_FINDING_COUNT] = {0}, expected[CLUMP_FINDING_COUNT] = {0};
    uint64_t count = 0, lost = 0;
    same_number(c, "checks of a heap", clump_heap_get_info(h->heap)->checks,
                CLUMP_CHECK_ALL & ~c->checked.without);
    if (c->checked.without == CLUMP_CHECK_ALL) return;
    CHECK_OK(&c->on, clump_heap_take_findings(h->heap, found, PLACES_MAX, &count, &lost));
    for (uint32_t i = 0; i < count; i++) {
        const clump_finding *f = &found[i];
        const char *const kernel = f->place.kernel ? f->place.kernel : "";
        int is_free = f->kind == CLUMP_FINDING_FREE || f->kind == CLUMP_FINDING_DOUBLE_FREE;
        int is_known = strcmp(kernel, is_free ? "free_list" : "look") == 0 ||
                       (f->kind == CLUMP_FINDING_FREE && strcmp(kernel, "become") == 0);
        times[f->kind] += f->count;
        if (!is_known || !f->place.line) complain(c, "a check found: %s", f->text);
    }
    same_number(c, "findings that had no room", lost, 0);
    if (has_check(c, CLUMP_CHECK_REFERENCES)) {
        expected[CLUMP_FINDING_FREE] = r->errors[CLUMP_DEVICE_BAD_REFERENCE].count;
        expected[CLUMP_FINDING_DOUBLE_FREE] = r->errors[CLUMP_DEVICE_DOUBLE_FREE].count;
        expected[CLUMP_FINDING_ACCESS] =
            r->errors[CLUMP_DEVICE_BAD_ACCESS].count - times[CLUMP_FINDING_CAST];
        expected[CLUMP_FINDING_CAST] = times[CLUMP_FINDING_CAST];
    }
    for (int kind = 0; kind < CLUMP_FINDING_COUNT; kind++)
        same_number(c, "findings of a kind", times[kind], expected[kind]);
    same_number(c, "reports of FINDING", r->errors[CLUMP_DEVICE_FINDING].count, 0);
}

/* ---- What they tell on demand ---------------------------------------------------------------- */

/* Objects of a class among those that are told by class and place. */
static void compare_live(client *c, heap_model *h) {
    clump_live live[PLACES_MAX];
    uint64_t objects[CLASSES_MAX] = {0};
    uint64_t count = 0;
    CHECK_OK(&c->on, clump_heap_read_live(h->heap, live, PLACES_MAX, &count));
    if (count > PLACES_MAX) complain(c, "objects were made at %u places", (unsigned)count);
    for (uint32_t i = 0; i < count; i++) {
        const clump_class_info *info = clump_schema_find_class(c->schema, live[i].class_name);
        objects[info->id - 1] += live[i].objects;
        if (!live[i].place.kernel && !h->has_structs) complain(c, "objects were made by no kernel");
    }
    for (int k = 0; k < c->class_count; k++)
        same_number(c, "objects that were made somewhere", objects[c->classes[k].id - 1],
                    h->classes[c->classes[k].id - 1].objects);
}

/* Events of objects, and those of arrays beside them, which are not counted here: the ring may be
 * full of them. Some arrays the host made. */
static uint64_t read_events(client *c, heap_model *h, int *is_full) {
    clump_event events[EVENTS_MAX];
    uint64_t count = 0, room = 1, raw = 0;
    while (room < c->checked.events) room *= 2;
    CHECK_OK(&c->on, clump_heap_read_events(h->heap, events, EVENTS_MAX, &count));
    if (count > room) complain(c, "%u events in a ring of %u", (unsigned)count, (unsigned)room);
    for (uint32_t i = 0; i < count; i++) {
        const int is_raw = c->array_count && !strcmp(events[i].class_name, "(raw memory)");
        if (!is_raw && !clump_schema_find_class(c->schema, events[i].class_name))
            complain(c, "an event of no class: %s", events[i].class_name);
        if (!is_raw && !events[i].place.kernel && !h->has_structs)
            complain(c, "an event of no kernel, of a %s", events[i].class_name);
        if (!is_raw && (events[i].ref & h->plain) >= h->references)
            complain(c, "an event has %08x, which is no reference", events[i].ref);
        raw += is_raw;
    }
    *is_full = count == room;
    return count - raw;
}

/* The ring has as many events as there were; if it is full, the last ones of them. */
static void compare_events(client *c, heap_model *h) {
    int is_full;
    if (!has_check(c, CLUMP_CHECK_HISTORY)) {
        uint64_t count;
        CHECK_STATUS(&c->on, clump_heap_read_events(h->heap, NULL, 0, &count), CLUMP_ERR_USAGE);
        return;
    }
    const uint64_t count = read_events(c, h, &is_full);
    if (count > h->events || (count < h->events && !is_full))
        complain(c, "%u events of objects, but there were %u", (unsigned)count,
                 (unsigned)h->events);
}

/* A load that failed may have made some of the objects, or all. */
void look_at_failed_load(client *c, heap_model *h, uint32_t objects) {
    int is_full;
    if (!has_check(c, CLUMP_CHECK_HISTORY)) return;
    h->events = read_events(c, h, &is_full);
    if (h->events > objects)
        complain(c, "%u events of a load that failed, of %u objects", (unsigned)h->events, objects);
}

void take_events(client *c, heap_model *h, uint64_t least, uint64_t most) {
    int is_full;
    if (!has_check(c, CLUMP_CHECK_HISTORY)) return;
    const uint64_t count = read_events(c, h, &is_full);
    if (count > h->events + most || (count < h->events + least && !is_full))
        complain(c, "%u events of objects, but there were %u and then %u to %u", (unsigned)count,
                 (unsigned)h->events, (unsigned)least, (unsigned)most);
    h->events = is_full ? h->events + most : count;
}

void adopt_events(client *c, heap_model *h) {
    int is_full;
    h->has_structs = 1; /* objects that no kernel made */
    if (!has_check(c, CLUMP_CHECK_HISTORY)) return;
    h->events = read_events(c, h, &is_full);
}

void look_at_checks(client *c, heap_model *h) {
    uint64_t count;
    if (c->checked.without == CLUMP_CHECK_ALL) {
        CHECK_STATUS(&c->on, clump_heap_check_memory(h->heap, NULL), CLUMP_ERR_USAGE);
        CHECK_STATUS(&c->on, clump_heap_read_live(h->heap, NULL, 0, &count), CLUMP_ERR_USAGE);
        return;
    }
    sync_use u;
    CHECK_OK(&c->on, clump_heap_check_memory(h->heap, begin_sync(c, &u)));
    end_sync(c, &u);
    compare_live(c, h);
    compare_events(c, h);
}

void end_heap(client *c, heap_model *h) {
    clump_heap_destroy(h->heap);
    h->heap = NULL;
    same_number(c, "objects that were left in a heap", h->leaks,
                has_check(c, CLUMP_CHECK_LEAKS) ? h->count : 0);
}
