/* Operations that run kernels: those that make objects, free them, write and read their fields.
 *
 * Kernels report what they made in c->out, and the model takes it from there: any slot that was
 * free will do, and null where there was no room.
 */
#include "client.h"

/* ---- Launching ------------------------------------------------------------------------------- */

void give_buffer(client *c, kernel_name kernel, uint32_t index, cl_mem buffer) {
    if (!c->kernels[kernel]) return;
    SET_ARG(&c->on, c->kernels[kernel], index, buffer);
    c->given[kernel][index] = buffer;
}

/* In any of the C types that can hold it. */
static clump_arg arg_of(client *c, uint32_t value) {
    switch (below(c, 4)) {
    case 0: return clump_arg_unsigned(value);
    case 1: return clump_arg_signed(value);
    case 2: return value > INT32_MAX ? clump_arg_uint(value) : clump_arg_int((int)value);
    default: return clump_arg_uint(value);
    }
}

/* Without a kernel, words; the call that gets none returns what lacks. */
static void expect_none(client *c, const clump_kernel *kernel) {
    if (kernel) complain(c, "a kernel takes parameters that are not its own");
    CHECK_STATUS(&c->on, clump_heap_do_all(c->heaps[c->turn].heap, NULL, NULL), CLUMP_ERR_USAGE);
}

/* All at once, if all others are buffers that are given. */
static int set_all(client *c, clump_kernel *kernel, uint32_t first, uint32_t count,
                   const uint32_t *values) {
    const uint32_t all = clump_kernel_get_arg_count(kernel);
    clump_arg args[GIVEN_MAX];
    int k = 0;
    while (c->kernels[k] != kernel) k++;
    if (all > GIVEN_MAX) return 0;
    for (uint32_t i = 0; i < all; i++) {
        const int is_number = i >= first && i < first + count;
        if (!is_number && !c->given[k][i]) return 0;
        args[i] = is_number ? arg_of(c, values[i - first]) : clump_arg_memory(c->given[k][i]);
    }
    if (chance(c, 5)) expect_none(c, clump_kernel_with(kernel, args, all - 1));
    if (chance(c, 5) && count) {
        const clump_arg kept = args[first];
        args[first] = clump_arg_unsigned(UINT64_C(1) << 32);
        expect_none(c, clump_kernel_with(kernel, args, all));
        args[first] = kept;
    }
    if (clump_kernel_with(kernel, args, all) != kernel)
        complain(c, "clump_kernel_with: %s", clump_context_get_error(c->on.clump)->message);
    return 1;
}

void set_numbers(client *c, clump_kernel *kernel, uint32_t first, uint32_t count,
                 const uint32_t *values) {
    if (first + count > clump_kernel_get_arg_count(kernel))
        complain(c, "a kernel has fewer parameters than are set");
    if (chance(c, 50) && set_all(c, kernel, first, count, values)) return;
    for (uint32_t i = 0; i < count; i++)
        CHECK_OK(&c->on, clump_kernel_set_arg(kernel, first + i, sizeof *values, &values[i]));
}

void fill_out(client *c, uint32_t words, uint32_t value) {
    for (uint32_t i = 0; i < words; i++) c->out[i] = value;
    cl_fixture_write(&c->on, c->out_buffer, c->out, words * sizeof *c->out);
}

void read_out(client *c, uint32_t words) {
    cl_fixture_read(&c->on, c->out_buffer, c->out, words * sizeof *c->out);
}

static void put_list(client *c, uint32_t words) {
    cl_fixture_write(&c->on, c->list_buffer, c->list, words * sizeof *c->list);
}

/* Work-items for n requests. */
static size_t global_size(const client *c, uint32_t n) {
    return (n + c->local - 1) / c->local * c->local;
}

const clump_sync *begin_sync(client *c, sync_use *u) {
    *u = (sync_use){.sync = {.event = &u->after}};
    if (!chance(c, 20)) return NULL;
    if (chance(c, 50)) {
        CHECK_CL(clEnqueueMarkerWithWaitList(c->on.queue, 0, NULL, &u->before));
        CHECK_CL(clFlush(c->on.queue)); /* the pool has a queue of its own */
        u->sync.wait_count = 1;
        u->sync.wait_list = &u->before;
    }
    return &u->sync;
}

void end_sync(client *c, sync_use *u) {
    if (u->after) { /* a call that was refused gives none */
        CHECK_CL(clWaitForEvents(1, &u->after));
        clReleaseEvent(u->after);
        account_released(c->account, ACCOUNT_EVENT);
    }
    if (u->before) clReleaseEvent(u->before);
}

/* global 0: a do-all. */
static void launch(client *c, heap_model *h, clump_kernel *kernel, size_t global) {
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    if (global)
        CHECK_OK(&c->on, clump_heap_launch(h->heap, kernel, global, c->local, sync));
    else
        CHECK_OK(&c->on, clump_heap_do_all(h->heap, kernel, sync));
    if (sync && !u.after) complain(c, "a launch gives no event");
    end_sync(c, &u);
}

void launch_items(client *c, heap_model *h, clump_kernel *kernel, uint32_t n) {
    launch(c, h, kernel, global_size(c, n));
}

/* A kernel that is a loop over objects. */
static void run_loops(client *c, heap_model *h, clump_kernel *kernel) {
    launch(c, h, kernel, c->own_sizes ? c->local * (1 + below(c, 16)) : 0);
}

/* ---- Making objects -------------------------------------------------------------------------- */

/* How many to ask for: any number, as many as there is room for and a few more, or fewer. */
uint32_t how_many(client *c, const heap_model *h, int class) {
    const clump_class_stats *s = &h->classes[c->classes[class].id - 1];
    uint64_t capacity = s->blocks ? s->slots / s->blocks : CLUMP_ROW_SLOTS;
    uint64_t room = s->slots - s->objects + capacity * h->stats.free_blocks;
    uint32_t n = logarithmic(c, 1, ITEMS_MAX);
    if (chance(c, 30) && room < ITEMS_MAX)
        n = chance(c, 50) ? (uint32_t)room + below(c, 64) : below(c, (uint32_t)room + 1);
    return n == 0 ? 1 : n > ITEMS_MAX ? ITEMS_MAX : n;
}

static uint32_t draw_share(client *c) {
    return chance(c, 30) ? 256 : 8 + below(c, 248);
}

/* What a request of a class got. */
void take_answer(client *c, heap_model *h, int class, clump_ref ref, uint32_t tag, uint32_t salt) {
    c->expect.asked[class]++;
    c->sum.requests++;
    h->events += ref != 0;
    if (ref)
        add_object(c, h, class, ref, tag, salt);
    else
        c->expect.nulls[class]++;
}

uint32_t take_tags(client *c, uint32_t count) {
    uint32_t first = c->next_tag;
    c->next_tag += count;
    return first;
}

void do_new(client *c, heap_model *h) {
    const int class = draw_concrete(c);
    do_new_of(c, h, class, how_many(c, h, class));
}

void do_new_of(client *c, heap_model *h, int class, uint32_t n) {
    clump_kernel *kernel = c->kernels[KERNEL_make];
    uint32_t tag = take_tags(c, n), salt = draw_salt(c);
    uint64_t made = 0;
    note(c, "%u of K%d", n, class);
    fill_out(c, n, UNTOUCHED);
    SET_NUMBERS(c, kernel, 1, tag, salt, (uint32_t) class);
    sync_use u;
    const clump_sync *sync = begin_sync(c, &u);
    CHECK_OK(&c->on, clump_heap_do_new(h->heap, kernel, c->classes[class].name, n,
                                       chance(c, 70) ? &made : NULL, sync));
    end_sync(c, &u);
    read_out(c, n);
    uint32_t visited = 0;
    while (visited < n && c->out[visited] != UNTOUCHED) visited++;
    if (made) same_number(c, "objects of a do-new that its kernel visited", visited, made);
    for (uint32_t i = 0; i < n; i++) {
        if (i >= visited && c->out[i] != UNTOUCHED)
            complain(c, "a do-new visited number %u, but not number %u", i, visited);
        take_answer(c, h, class, i < visited ? c->out[i] : 0, tag + i, salt);
    }
}

/* Work-items that ask by themselves, the picked ones for one object each. */
static void new_by_items(client *c, heap_model *h, clump_kernel *kernel, int class) {
    uint32_t share = draw_share(c), n = how_many(c, h, class), salt = draw_salt(c);
    uint32_t global = (uint32_t)global_size(c, n), tag = take_tags(c, global);
    note(c, "%u work-items, of which %u/256 ask for K%d", n, share, class);
    fill_out(c, global, UNTOUCHED);
    SET_NUMBERS(c, kernel, 1, tag, salt, n, share);
    launch_items(c, h, kernel, n);
    read_out(c, global);
    for (uint32_t g = 0; g < global; g++) {
        int asked = g < n && picks(g, salt, share);
        if (asked != (c->out[g] != UNTOUCHED))
            complain(c, "work-item %u asked, or did not, against its hash: %08x", g, c->out[g]);
        if (asked) take_answer(c, h, class, c->out[g], tag + g, salt);
    }
}

void new_each(client *c, heap_model *h) {
    new_by_items(c, h, c->kernels[KERNEL_each], c->roles.each);
}

void new_group(client *c, heap_model *h) {
    new_by_items(c, h, c->kernels[KERNEL_group], c->roles.group);
}

void new_two(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_two];
    const int *class = c->roles.pair;
    uint32_t share[2] = {draw_share(c), draw_share(c)};
    uint32_t n = how_many(c, h, class[0]), salt = draw_salt(c);
    uint32_t global = (uint32_t)global_size(c, n), tag = take_tags(c, 2 * global);
    note(c, "%u work-items, of which %u/256 ask for K%d and %u/256 for K%d", n, share[0], class[0],
         share[1], class[1]);
    fill_out(c, 2 * global, UNTOUCHED);
    SET_NUMBERS(c, kernel, 1, tag, salt, n, share[0], share[1]);
    launch_items(c, h, kernel, n);
    read_out(c, 2 * global);
    for (uint32_t i = 0; i < 2 * global; i++) {
        uint32_t g = i / 2, second = i % 2;
        int asked = g < n && picks(g, second ? ~salt : salt, share[second]);
        if (asked != (c->out[i] != UNTOUCHED))
            complain(c, "work-item %u asked, or did not, against its hash: %08x", g, c->out[i]);
        if (asked) take_answer(c, h, class[second], c -> out[i], tag + i, salt);
    }
}

/* The picked objects of a class are gone. */
static uint32_t forget(client *c, heap_model *h, int class, uint32_t salt, uint32_t share) {
    uint32_t gone = 0;
    for (uint32_t n = h->count; n-- > 0;) { /* the last one comes into the place of what goes */
        const object_model *o = &h->objects[n];
        if (!is_a(c, o->class, class) || !picks(o->tag, salt, share)) continue;
        remove_object(c, h, o->ref);
        gone++;
    }
    c->sum.frees += gone;
    h->events += gone;
    return gone;
}

static uint32_t count_children(const client *c, const heap_model *h, uint32_t salt, uint32_t share,
                               uint32_t most) {
    uint32_t total = 0;
    for (uint32_t n = 0; n < h->count; n++)
        if (is_a(c, h->objects[n].class, c->roles.parent))
            total += children_of(h->objects[n].tag, salt, share, most);
    return total;
}

/* Children name their parents, where a field of theirs can. */
static void take_children(client *c, heap_model *h, uint32_t total, uint32_t tag, uint32_t salt) {
    const roles *r = &c->roles;
    for (uint32_t i = 0; i < total; i++) {
        clump_ref ref = c->out[1 + 2 * i], parent = c->out[2 + 2 * i];
        take_answer(c, h, r->child, ref, tag + i, salt);
        if (ref && r->child_link >= 0)
            object_at(h, ref)->words[c->fields[r->child_link].at] = parent;
    }
}

/* Parents make children, and some die when they have: c->expect.frees says so. */
void new_loop(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_loop];
    uint32_t salt = draw_salt(c), most = 1 + below(c, 6), share = 2 * draw_share(c), total;
    do {
        share /= 2;
        total = count_children(c, h, salt, share, most);
    } while (total > ITEMS_MAX);
    uint32_t dying = chance(c, 50) ? draw_share(c) : 0, tag = take_tags(c, total + 1);
    note(c, "%u/256 of K%d have %u K%d, %u/256 die", share, c->roles.parent, total, c->roles.child,
         dying);
    fill_out(c, 1 + 2 * total, 0);
    SET_NUMBERS(c, kernel, 1, tag, salt, total, share, most, dying);
    run_loops(c, h, kernel);
    read_out(c, 1 + 2 * total);
    same_number(c, "requests of a loop", c->out[0], total);
    if (dying) c->expect.frees = forget(c, h, c->roles.parent, ~salt, dying) > 0;
    take_children(c, h, total, tag, salt);
}

/* ---- Freeing --------------------------------------------------------------------------------- */

void free_some(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_drop];
    int class = draw_class(c);
    uint32_t salt = draw_salt(c), share = chance(c, 10) ? 256 : draw_share(c) / (1 + below(c, 3));
    note(c, "%u/256 of K%d", share, class);
    SET_NUMBERS(c, kernel, 0, (uint32_t) class, salt, share);
    run_loops(c, h, kernel);
    forget(c, h, class, salt, share);
}

void drop_class(client *c, heap_model *h, int class) {
    const uint32_t salt = draw_salt(c);
    SET_NUMBERS(c, c->kernels[KERNEL_drop], 0, (uint32_t) class, salt, 256);
    run_loops(c, h, c->kernels[KERNEL_drop]);
    forget(c, h, class, salt, 256);
}

/* A free that must be refused. Where its block is free, or its slot was, it is a double free; where
 * there is no block, a bad reference. In between it depends on where rows begin. */
static void expect_refusal(client *c, const heap_model *h, clump_ref ref) {
    const clump_heap_info *layout = clump_heap_get_info(h->heap);
    uint32_t block = block_of(h, ref);
    c->expect.refused++;
    if (block < layout->first_block || block - layout->first_block >= layout->block_count)
        c->expect.bad_least++;
    else if (!h->raw_count && !c->array_count && !c->evicts &&
             block_is_free(h, ref)) /* a block may have raw memory */
        c->expect.double_least++;
}

/* References of all kinds, some of them twice. */
void free_listed(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_free_list];
    uint32_t n = logarithmic(c, 1, 300), freed = 0;
    for (uint32_t i = 0; i < n; i++)
        c->list[i] =
            i && chance(c, 15) ? c->list[below(c, i)] : draw_reference(c, h, c->roles.freed);
    note(c, "%u references as K%d", n, c->roles.freed);
    put_list(c, n);
    SET_NUMBERS(c, kernel, 1, n);
    launch_items(c, h, kernel, n);
    for (uint32_t i = 0; i < n; i++) /* what was bad before, while the model knows it */
        if (c->list[i] && !names(c, h, c->list[i], c->roles.freed)) {
            expect_refusal(c, h, c->list[i]);
            c->list[i] = 0;
        }
    for (uint32_t i = 0; i < n; i++) {
        if (!c->list[i]) continue;
        if (object_at(h, c->list[i])) {
            remove_object(c, h, c->list[i]);
            freed++;
        } else {
            c->expect.refused++;
            c->expect.double_least++;
        }
    }
    c->sum.frees += freed;
    h->events += freed;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

void set_by_kernel(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_set];
    int class = draw_class(c);
    const class_model *k = &c->classes[class];
    uint32_t salt = draw_salt(c), share = draw_share(c);
    note(c, "what K%d declares, in %u/256", class, share);
    SET_NUMBERS(c, kernel, 0, (uint32_t) class, salt, share);
    run_loops(c, h, kernel);
    for (uint32_t n = 0; n < h->count; n++) {
        object_model *o = &h->objects[n];
        if (!is_a(c, o->class, class) || !picks(o->tag, salt, share)) continue;
        for (uint32_t i = k->first_own; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && f->type != CLUMP_TYPE_REF; e++)
                o->words[f->at + e] = salt;
        }
    }
}

/* References of one field, to a few objects or to many. */
void link_by_kernel(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_link];
    int number = draw_field(c, 1);
    if (number < 0) return;
    const field_model *f = &c->fields[number];
    uint32_t salt = draw_salt(c), share = draw_share(c), n = logarithmic(c, 1, 400);
    note(c, "K%d.%s%s, %u/256 to %u", f->owner, f->name, f->weak ? " (weak)" : "", share, n);
    for (uint32_t i = 0; i < n; i++) c->list[i] = draw_reference(c, h, f->target);
    put_list(c, n);
    SET_NUMBERS(c, kernel, 1, n, (uint32_t)number, salt, share);
    run_loops(c, h, kernel);
    for (uint32_t i = 0; i < h->count; i++) {
        object_model *o = &h->objects[i];
        for (uint32_t e = 0; e < f->elements && is_a(c, o->class, f->owner); e++)
            if (picks(o->tag, salt + e, share))
                o->words[f->at + e] = c->list[test_hash(o->tag ^ ~(salt + e)) % n];
    }
}

/* What kernels can ask about references of all kinds. */
static void compare_look(client *c, heap_model *h, uint32_t i, int touch) {
    clump_ref ref = c->list[i];
    const object_model *o = object_in_slot(h, ref);
    int live = names(c, h, ref, c->roles.looked_at), tells = tells_accesses(c);
    uint32_t flags = c->out[3 * i + 1];
    int told = tells ? live : o != NULL; /* what names none is reported, or else goes by the slot */
    if (o || !ref || tells)
        same_number(c, "class_of", c->out[3 * i], told ? c->classes[o->class].id : 0);
    same_number(c, "is_live", flags & 1, (uint64_t)live);
    same_number(c, "is_null", flags >> 1 & 1, ref == 0);
    if (live && c->roles.derived != c->roles.looked_at)
        same_number(c, "class test", flags >> 2 & 1, (uint64_t)is_a(c, o->class, c->roles.derived));
    if (live) same_number(c, "tag", c->out[3 * i + 2], o->tag);
    if (live || !tells) return;
    /* class_of, a cast, and two accesses; null has no class to be asked for. */
    c->expect.accesses += ref ? 1u + (c->roles.derived != c->roles.looked_at) : 0u;
    c->expect.accesses += 2 * (uint32_t)touch;
}

void look_at(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_look];
    uint32_t n = logarithmic(c, 1, 200), touch = tells_accesses(c) && chance(c, 50);
    note(c, "%u references as K%d%s", n, c->roles.looked_at, touch ? ", all touched" : "");
    for (uint32_t i = 0; i < n; i++) c->list[i] = draw_reference(c, h, c->roles.looked_at);
    put_list(c, n);
    SET_NUMBERS(c, kernel, 2, n, touch);
    launch_items(c, h, kernel, n);
    read_out(c, 3 * n);
    for (uint32_t i = 0; i < n; i++) compare_look(c, h, i, (int)touch);
}

/* All objects of a class with all of them. */
void crowd_together(client *c, heap_model *h) {
    uint32_t count = count_of(c, h, c->roles.crowd);
    note(c, "%u of K%d", count, c->roles.crowd);
    if (count > 800) return;
    fill_out(c, 1, 0);
    CHECK_OK(&c->on, clump_heap_do_all(h->heap, c->kernels[KERNEL_crowd], NULL));
    read_out(c, 1);
    same_number(c, "all with all", c->out[0], crowd_of(c, h, c->roles.crowd));
}
