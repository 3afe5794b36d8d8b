/* Heaps of more objects than memory: all heaps of some rounds. Blocks leave, stay away while other
 * operations go on, and come back; then every object is as it was. Until then its reference names
 * nobody, and nothing may move or be collected.
 *
 * Which blocks a call takes follows from the model: from the objects, which have their blocks in
 * their references, and from the ages, which are counted here, too. Where a block had no object
 * when ages were last counted, its age is not known.
 */
#include "client.h"

enum { AGE_UNKNOWN = UINT32_MAX };

/* What is known of a block. */
typedef struct block_model {
    uint32_t seen, age; /* state when ages were last counted, and how often it was that */
    uint32_t state;     /* class and number of objects, once states were counted; 0: none */
    int class;          /* of its objects */
    int is_away, has_moved;
} block_model;

#define AWAY UINT32_MAX /* a state */

static uint32_t end_of_blocks(const heap_model *h) {
    const clump_heap_info *l = clump_heap_get_info(h->heap);
    return l->first_block + l->block_count;
}

static uint64_t block_bytes(const heap_model *h) {
    const clump_heap_info *l = clump_heap_get_info(h->heap);
    return (uint64_t)l->granule_bytes * l->block_granules;
}

int is_away(const heap_model *h, clump_ref ref) {
    const uint32_t block = h->blocks_known ? block_of(h, ref) : 0;
    return h->blocks_known && block < end_of_blocks(h) && h->blocks_known[block].is_away;
}

void open_blocks(client *c, heap_model *h) {
    h->blocks_known = c->evicts ? must_alloc(end_of_blocks(h) * sizeof *h->blocks_known) : NULL;
    h->away_count = h->away_blocks = 0;
}

void close_blocks(heap_model *h) {
    for (uint32_t n = 0; n < h->away_count; n++) free(h->away[n].words);
    free(h->away);
    free(h->blocks_known);
    h->away = NULL;
    h->blocks_known = NULL;
    h->away_count = h->away_room = h->away_blocks = 0;
}

static void count_states(heap_model *h) {
    const uint32_t end = end_of_blocks(h);
    for (uint32_t b = 0; b < end; b++) h->blocks_known[b].state = 0;
    for (uint32_t n = 0; n < h->count; n++) {
        block_model *b = &h->blocks_known[block_of(h, h->objects[n].ref)];
        b->class = h->objects[n].class;
        b->state = b->state ? b->state + 1 : (uint32_t)(b->class + 1) << 16 | 1;
    }
}

/* ---- Ages ------------------------------------------------------------------------------------ */

static void count_ages(client *c, heap_model *h) {
    CHECK_OK(&c->on, clump_heap_age_blocks(h->heap));
    count_states(h);
    for (uint32_t i = 0; i < end_of_blocks(h); i++) {
        block_model *b = &h->blocks_known[i];
        const uint32_t state = b->is_away ? AWAY : b->state;
        b->age = b->seen == state && b->age != AGE_UNKNOWN ? b->age + 1 : 0;
        if (!state) b->age = AGE_UNKNOWN; /* free, or without memory */
        b->seen = state;
    }
}

/* ---- Which blocks moved ---------------------------------------------------------------------- */

/* Blocks of which the heap lists objects, and the model has none (is_back), or the other way
 * round. */
static uint32_t find_moved(client *c, heap_model *h, int is_back) {
    const uint32_t end = end_of_blocks(h), room = h->count + h->away_count;
    clump_ref *refs = must_alloc((room + 1) * sizeof *refs);
    uint32_t moved = 0;
    for (uint32_t b = 0; b < end; b++)
        h->blocks_known[b].has_moved = !is_back && h->blocks_known[b].state;
    for (int k = 0; k < c->class_count; k++) {
        uint64_t count = 0;
        if (c->classes[k].base != NO_CLASS) continue;
        CHECK_OK(&c->on, clump_heap_read_refs(h->heap, c->classes[k].name, refs, room, &count));
        if (count > room) complain(c, "%llu objects are listed, of %u", (ull)count, room);
        for (uint64_t i = 0; i < count; i++) {
            block_model *b = &h->blocks_known[block_of(h, refs[i])];
            b->has_moved = is_back && b->is_away;
        }
    }
    free(refs);
    for (uint32_t b = 0; b < end; b++) moved += (uint32_t)h->blocks_known[b].has_moved;
    return moved;
}

static void push(object_model **list, uint32_t *count, uint32_t *room, const object_model *o) {
    if (*count == *room) {
        *room = 2 * *room + 256;
        *list = realloc(*list, *room * sizeof **list);
        assert_non_null(*list);
    }
    (*list)[(*count)++] = *o;
}

/* Objects of the blocks that moved go from one list of the model to the other. Returns how many. */
static uint32_t take_moved(heap_model *h, int is_back) {
    uint32_t moved = 0;
    if (is_back) {
        for (uint32_t n = h->away_count; n-- > 0;) {
            const object_model o = h->away[n];
            if (!h->blocks_known[block_of(h, o.ref)].has_moved) continue;
            h->away[n] = h->away[--h->away_count];
            push(&h->objects, &h->count, &h->room, &o);
            moved++;
        }
    } else {
        for (uint32_t n = h->count; n-- > 0;) {
            const object_model o = h->objects[n];
            if (!h->blocks_known[block_of(h, o.ref)].has_moved) continue;
            h->number_at[o.ref] = 0;
            h->objects[n] = h->objects[--h->count];
            push(&h->away, &h->away_count, &h->away_room, &o);
            moved++;
        }
    }
    for (uint32_t n = 0; n < h->count; n++) h->number_at[h->objects[n].ref] = n + 1;
    for (uint32_t i = 0; i < end_of_blocks(h); i++) {
        block_model *b = &h->blocks_known[i];
        if (!b->has_moved) continue;
        b->is_away = !is_back;
        if (is_back) b->seen = b->age = 0;
    }
    return moved;
}

static void compare_moved(client *c, heap_model *h, const clump_evict_report *r, int is_back) {
    const uint32_t blocks = find_moved(c, h, is_back), objects = take_moved(h, is_back);
    const clump_heap_info *info = clump_heap_get_info(h->heap);
    h->away_blocks = is_back ? h->away_blocks - blocks : h->away_blocks + blocks;
    note(c, ": %u objects in %u blocks", objects, blocks);
    same_number(c, "objects that left or came back", r->objects, objects);
    same_number(c, "blocks that left or came back", r->blocks, blocks);
    same_number(c, "bytes that left or came back", r->bytes, blocks * block_bytes(h));
    same_number(c, "objects that are evicted", info->evicted_objects, h->away_count);
    same_number(c, "blocks that are evicted", info->evicted_blocks, h->away_blocks);
    same_number(c, "bytes that are evicted", info->evicted_bytes, h->away_blocks * block_bytes(h));
}

/* ---- Evicting -------------------------------------------------------------------------------- */

/* 1: the call may take the block; 2: it takes it, if there is no limit. */
static int may_leave(const client *c, const block_model *b, int class, uint32_t age) {
    if (b->is_away || !b->state || (class != NO_CLASS && !is_a(c, b->class, class))) return 0;
    if (!age) return 2;
    return b->age == AGE_UNKNOWN ? 1 : b->age >= age ? 2 : 0;
}

/* How many blocks more can be away. */
static uint32_t room_for_away(const heap_model *h) {
    const clump_heap_info *l = clump_heap_get_info(h->heap);
    const uint32_t frames = (uint32_t)(l->bytes / block_bytes(h));
    return end_of_blocks(h) - (frames - 1) - h->away_blocks; /* one is nobody's memory */
}

/* Those that left are some that may, and the oldest. */
static void compare_choice(client *c, heap_model *h, int class, const clump_evict_desc *d,
                           uint32_t least, uint32_t most) {
    uint32_t left = 0, youngest = UINT32_MAX, oldest = 0;
    find_moved(c, h, 0);
    for (uint32_t i = 0; i < end_of_blocks(h); i++) {
        const block_model *b = &h->blocks_known[i];
        const int may = may_leave(c, b, class, d->age);
        if (b->has_moved && !may) complain(c, "block %u left, which was not to", i);
        if (may == 2 && !b->has_moved && !d->blocks) complain(c, "block %u did not leave", i);
        left += (uint32_t)b->has_moved;
        if (!may || b->age == AGE_UNKNOWN) continue;
        if (b->has_moved && b->age < youngest) youngest = b->age;
        if (!b->has_moved && b->age > oldest) oldest = b->age;
    }
    if (d->blocks && d->blocks < least) least = (uint32_t)d->blocks;
    if (d->blocks && d->blocks < most) most = (uint32_t)d->blocks;
    if (left < least || left > most)
        complain(c, "%u blocks left, expected %u to %u", left, least, most);
    if (d->blocks && oldest > youngest)
        complain(c, "a block of age %u left, and one of age %u did not", youngest, oldest);
}

void evict_blocks(client *c, heap_model *h) {
    const int class = chance(c, 50) ? draw_class(c) : NO_CLASS;
    clump_evict_desc d = {.size = sizeof d,
                          .class_name = class == NO_CLASS ? NULL : c->classes[class].name};
    clump_evict_report report = {.size = sizeof report};
    uint32_t least = 0, most = 0;
    if (chance(c, 40))
        for (uint32_t i = 1 + below(c, 3); i > 0; i--) count_ages(c, h);
    if (chance(c, 60)) d.blocks = logarithmic(c, 1, room_for_away(h) + 2);
    if (chance(c, 30)) d.age = 1 + below(c, 3);
    note(c, "%s, at most %llu, of age %u", d.class_name ? d.class_name : "all", (ull)d.blocks,
         d.age);
    count_states(h);
    for (uint32_t b = 0; b < end_of_blocks(h); b++) {
        const int may = may_leave(c, &h->blocks_known[b], class, d.age);
        least += may == 2;
        most += may != 0;
    }
    memset(&report, 0xee, sizeof report);
    report.size = sizeof report;
    const clump_status status = clump_heap_evict(h->heap, &d, &report);
    if (status == CLUMP_ERR_DEVICE_MEMORY) {
        if ((d.blocks && d.blocks < most ? d.blocks : most) <= room_for_away(h))
            complain(c, "%u blocks or fewer are said not to fit, where %u do", most,
                     room_for_away(h));
        note(c, " (no room)");
        compare_all(c, h);
        return;
    }
    CHECK_OK(&c->on, status);
    compare_choice(c, h, class, &d, least, most);
    compare_moved(c, h, &report, 0);
    h->got_room = report.blocks != 0;
    compare_all(c, h);
}

/* ---- Fetching -------------------------------------------------------------------------------- */

/* Blocks that a call asks for, and is it to be one of them? */
static int is_wanted(const client *c, const heap_model *h, const clump_evict_desc *d, int class,
                     uint32_t block) {
    const block_model *b = &h->blocks_known[block];
    if (!b->is_away) return 0;
    if (!d->refs) return class == NO_CLASS || is_a(c, b->class, class);
    for (uint64_t i = 0; i < d->ref_count; i++)
        if (block_of(h, d->refs[i]) == block) return 1;
    return 0;
}

static void fetch(client *c, heap_model *h, const clump_evict_desc *d, int class) {
    clump_evict_report report = {.size = sizeof report};
    uint32_t wanted = 0, moved = 0;
    for (uint32_t b = 0; b < end_of_blocks(h); b++)
        wanted += (uint32_t)is_wanted(c, h, d, class, b);
    if (d->blocks && d->blocks < wanted) wanted = (uint32_t)d->blocks;
    memset(&report, 0xee, sizeof report);
    report.size = sizeof report;
    count_states(h);
    const clump_status status = clump_heap_bring_back(h->heap, d, &report);
    if (wanted > h->stats.free_blocks) {
        note(c, " (no room)");
        CHECK_STATUS(&c->on, status, CLUMP_ERR_DEVICE_MEMORY);
    } else {
        CHECK_OK(&c->on, status);
        moved = find_moved(c, h, 1);
        for (uint32_t b = 0; b < end_of_blocks(h); b++)
            if (h->blocks_known[b].has_moved && !is_wanted(c, h, d, class, b))
                complain(c, "block %u came back, which was not to", b);
        same_number(c, "blocks that came back", moved, wanted);
        compare_moved(c, h, &report, 1);
    }
    compare_all(c, h);
}

void fetch_blocks(client *c, heap_model *h) {
    const int class = chance(c, 40) ? draw_class(c) : NO_CLASS;
    clump_ref refs[20];
    clump_evict_desc d = {.size = sizeof d,
                          .class_name = class == NO_CLASS ? NULL : c->classes[class].name};
    if (!d.class_name && chance(c, 40)) {
        d.refs = refs;
        d.ref_count = below(c, sizeof refs / sizeof *refs);
        for (uint64_t i = 0; i < d.ref_count; i++)
            refs[i] = h->away_count && chance(c, 70) ? h->away[below(c, h->away_count)].ref
                                                     : draw_reference(c, h, draw_class(c));
    }
    if (chance(c, 40)) d.blocks = 1 + below(c, h->stats.free_blocks + 1);
    note(c, "%s, %llu references, at most %llu", d.class_name ? d.class_name : "all",
         (ull)d.ref_count, (ull)d.blocks);
    fetch(c, h, &d, class);
}

/* All, in parts if they have no room together: then the objects that are there go. */
void bring_back(client *c, heap_model *h) {
    while (h->away_count) {
        if (h->stats.free_blocks) {
            fetch(c, h,
                  &(clump_evict_desc){.size = sizeof(clump_evict_desc),
                                      .blocks = h->stats.free_blocks},
                  NO_CLASS);
            settle(c, h);
        }
        for (int k = 0; k < c->class_count && h->away_count; k++) {
            if (c->classes[k].base != NO_CLASS) continue;
            drop_class(c, h, k);
            settle(c, h);
        }
    }
}

/* ---- What is refused meanwhile --------------------------------------------------------------- */

void refuse_while_away(client *c, heap_model *h) {
    const char *name = c->classes[0].name;
    const clump_extract_desc take = {.size = sizeof take, .classes = &name, .class_count = 1};
    clump_extract *extract;
    note(c, "refused, since %u objects are evicted", h->away_count);
    CHECK_STATUS(&c->on, clump_heap_compact(h->heap, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(&c->on, clump_heap_collect(h->heap, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(
        &c->on,
        clump_heap_save(h->heap,
                        &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "away"}, NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(&c->on, clump_heap_extract(h->heap, &take, &extract, NULL), CLUMP_ERR_USAGE);
}
