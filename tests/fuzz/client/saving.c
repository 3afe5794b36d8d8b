/* A heap is saved and goes, and another takes its place, which is loaded from what was saved.
 * Objects are found again by their tags; every reference must have followed, and those to nobody
 * are null. Before, files that are cut off or altered are refused. */
#include <unistd.h>

#include "client.h"
#include "clump/copy.h"
#include "saved_heap.h"

/* ---- Saving ---------------------------------------------------------------------------------- */

typedef struct kept {
    memory_file file;
    char path[40];       /* "": it is in `file` */
    int is_compacted;    /* what dangles may have come to name an object */
    uint64_t registered; /* references */
} kept;

static clump_load_desc source_of(kept *k) {
    k->file.at = 0;
    clump_load_desc desc = {
        .size = sizeof desc, .path = k->path[0] ? k->path : NULL, .user = &k->file};
    if (!desc.path) desc.read = memory_read;
    return desc;
}

static void save_heap(client *c, heap_model *h, kept *k) {
    clump_save_report report = {.size = sizeof report};
    clump_save_desc desc = {.size = sizeof desc,
                            .user = &k->file,
                            .piece_bytes = chance(c, 50) ? 0 : logarithmic(c, 4096, 1 << 20),
                            .compact = chance(c, 30) && !c->array_count};
    k->is_compacted = desc.compact;
    if (chance(c, 20)) {
        strcpy(k->path, "/tmp/clump-client-XXXXXX");
        const int file = mkstemp(k->path);
        if (file < 0) complain(c, "no file in /tmp");
        close(file); /* it is replaced */
        desc.path = k->path;
    } else {
        desc.write = memory_write;
    }
    note(c, "%u objects, compact %d, pieces of %u", h->count, desc.compact, desc.piece_bytes);
    CHECK_OK(&c->on, clump_heap_save(h->heap, &desc, &report));
    const uint64_t piece =
        desc.piece_bytes && desc.piece_bytes < report.bytes ? desc.piece_bytes : report.bytes;
    if (c->piece_most < piece) c->piece_most = piece;
    for (int i = 0; i < OUTSIDES_MAX; i++)
        if (h->outsides[i].refs) k->registered += h->outsides[i].limit;
    same_number(c, "objects saved", report.objects, h->count);
    same_number(c, "handles saved", report.handles, h->handle_count);
    same_number(c, "registered references saved", report.registered, k->registered);
}

static int count_part(void *references, const clump_saved *saved, const clump_saved_part *part) {
    if (!part->field && part->buffer != CLUMP_SAVED_HANDLES) *(uint64_t *)references += part->count;
    return 0;
}

/* What it says without a device. */
static void look_into(client *c, const heap_model *h, kept *k) {
    clump_saved *saved;
    clump_error error;
    uint64_t registered = 0;
    clump_load_desc desc = source_of(k);
    if (clump_saved_open(&desc, NULL, &saved, &error))
        complain(c, "clump_saved_open: %s", error.message);
    const clump_schema *schema = clump_saved_get_info(saved)->schema;
    for (int i = 0; i < c->class_count; i++) {
        const clump_class_info *info = clump_schema_find_class(schema, c->classes[i].name);
        same_number(c, "id of a saved class", info->id, c->classes[i].id);
        same_number(c, "saved objects of a class", clump_saved_get_info(saved)->objects[info->id],
                    h->classes[info->id - 1].objects);
    }
    for (uint32_t i = 0; i < clump_saved_get_info(saved)->registered; i++)
        registered += clump_saved_get_info(saved)->registered_counts[i];
    same_number(c, "saved registered references", registered, k->registered);
    clump_saved_close(saved);
    desc = source_of(k);
    if (clump_saved_read(&desc, NULL, NULL, NULL, &error))
        complain(c, "clump_saved_read: %s", error.message);
    desc = source_of(k);
    registered = 0;
    if (clump_saved_read(&desc, NULL, count_part, &registered, &error))
        complain(c, "clump_saved_read: %s", error.message);
    same_number(c, "registered references that were read", registered, k->registered);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* A heap that is not used: of another block width, and without what is registered. */
static void load_elsewhere(client *c, heap_model *h, kept *k) {
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = c->on.clump,
                            .schema = c->schema,
                            .bytes = 3 * h->bytes + (1 << 20),
                            .block_rows = 1 + below(c, 9),
                            .watch_handles = chance(c, 50) && !c->become_count};
    clump_heap *heap;
    clump_load_report report = {.size = sizeof report};
    CHECK_OK(&c->on, clump_heap_create(&desc, &heap, NULL));
    clump_load_desc from = source_of(k);
    from.without_registered = 1;
    CHECK_OK(&c->on, clump_heap_load(heap, &from, &report));
    same_number(c, "objects loaded elsewhere", report.objects, h->count);
    CHECK_HEAP(&c->on, heap);
    from = source_of(k);
    from.without_registered = 1; /* what is there is not added to */
    if (h->count || h->handle_count)
        CHECK_STATUS(&c->on, clump_heap_load(heap, &from, NULL), CLUMP_ERR_USAGE);
    clump_heap_destroy(heap);
}

/* A copy on the device has the same bytes when it is saved. What is registered with the heap is not
 * with the copy. */
static void copy_elsewhere(client *c, const heap_model *h) {
    const clump_heap_desc desc = {.size = sizeof desc,
                                  .context = c->on.clump,
                                  .schema = c->schema,
                                  .bytes = h->bytes,
                                  .block_rows = c->block_rows,
                                  .watch_handles = h->watches,
                                  .pool = chance(c, 50) && !c->evicts ? c->pool : NULL};
    clump_heap *copy;
    clump_status expected = CLUMP_OK;
    if (clump_heap_create(&desc, &copy, NULL)) return; /* the pool is full */
    for (int i = 0; i < OUTSIDES_MAX; i++)
        if (h->outsides[i].refs) expected = CLUMP_ERR_USAGE;
    if (c->evicts || c->checked.without != CLUMP_CHECK_ALL) expected = CLUMP_ERR_UNSUPPORTED;
    for (int turn = 0; turn < 2; turn++)
        CHECK_STATUS(&c->on, clump_heap_copy(h->heap, copy, NULL), expected);
    if (!expected) {
        memory_file a = saved_bytes(&c->on, copy, 0), b = saved_bytes(&c->on, h->heap, 0);
        same_number(c, "bytes of a saved copy", a.bytes, b.bytes);
        if (memcmp(a.data, b.data, a.bytes) != 0) complain(c, "a saved copy differs");
        memory_release(&a);
        memory_release(&b);
    }
    CHECK_HEAP(&c->on, copy);
    clump_heap_destroy(copy);
}

/* Cut off, or with a bit that is another one. */
static void load_damaged(client *c, heap_model *h, kept *k) {
    if (k->path[0]) return;
    const size_t bytes = k->file.bytes, at = below(c, (uint32_t)bytes);
    const uint8_t bit = (uint8_t)(1 << below(c, 8));
    const int is_cut = chance(c, 40);
    if (is_cut)
        k->file.bytes = at;
    else
        k->file.data[at] ^= bit;
    const clump_load_desc desc = source_of(k);
    CHECK_STATUS(&c->on, clump_heap_load(h->heap, &desc, NULL), CLUMP_ERR_FORMAT);
    if (!is_cut) k->file.data[at] ^= bit;
    k->file.bytes = bytes;
    CHECK_HEAP(&c->on, h->heap);
    look_at_failed_load(c, h, h->count);
}

/* In the order in which they were registered. */
static void register_again(client *c, heap_model *h) {
    for (uint32_t turn = 0; turn < h->registrations; turn++)
        for (int i = 0; i < OUTSIDES_MAX; i++) {
            outside *o = &h->outsides[i];
            if (o->refs && o->turn == turn)
                CHECK_OK(&c->on, clump_refs_create(h->heap, &o->desc, &o->refs, NULL));
        }
}

/* ---- The model ------------------------------------------------------------------------------- */

typedef struct course {
    client *c;
    const heap_model *old; /* which object a reference named */
    const clump_ref *to;   /* by number of the object: where it is now */
    int is_compacted;
} course;

static clump_ref follow(const course *r, clump_ref ref, int class) {
    if (names(r->c, r->old, ref, class)) return r->to[object_at(r->old, ref) - r->old->objects];
    return ref && r->is_compacted ? LOOSE : 0;
}

static clump_ref follow_one_outside(void *user, clump_ref ref, outside_rules rules) {
    (void)rules;
    return follow(user, ref, NO_CLASS);
}

static void follow_all(course *r, heap_model *h) {
    client *c = r->c;
    for (uint32_t n = 0; n < h->count; n++) {
        object_model *o = &h->objects[n];
        const class_model *k = &c->classes[o->class];
        for (uint32_t i = 0; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && f->type == CLUMP_TYPE_REF; e++)
                o->words[f->at + e] = follow(r, o->words[f->at + e], f->target);
        }
    }
    change_outside(h, follow_one_outside, r);
    clear_uncounted(h);
    for (uint32_t n = 0; n < h->count; n++) {
        h->objects[n].ref = r->to[n];
        h->number_at[r->to[n] & h->plain] = n + 1;
    }
}

void save_and_load(client *c, heap_model *h) {
    kept k = {.path = ""};
    if (c->raw) { /* nobody knows what it holds */
        CHECK_STATUS(
            &c->on,
            clump_heap_save(
                h->heap, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "raw"}, NULL),
            CLUMP_ERR_USAGE);
        return;
    }
    compare_all(c, h); /* nothing is loose */
    save_heap(c, h, &k);
    look_into(c, h, &k);
    if (c->array_count || chance(c, 30)) load_elsewhere(c, h, &k);
    if (chance(c, 50)) copy_elsewhere(c, h);
    /* Raw memory of a full heap may not fit in another of its size, so this heap stays, and its
     * objects where they are. */
    if (c->array_count) {
        if (k.path[0]) unlink(k.path);
        memory_release(&k.file);
        return;
    }
    for (int i = 0; i < OUTSIDES_MAX; i++) clump_refs_destroy(h->outsides[i].refs);
    const heap_model old = *h;
    end_heap(c, h);
    make_heap_like(c, h);
    h->objects = old.objects;
    h->count = old.count;
    h->room = old.room;
    register_again(c, h);
    h->has_structs = 1; /* no kernel makes what is loaded */
    if (chance(c, 40)) load_damaged(c, h, &k);
    clump_load_report report = {.size = sizeof report};
    const clump_load_desc from = source_of(&k);
    CHECK_OK(&c->on, clump_heap_load(h->heap, &from, &report));
    same_number(c, "objects loaded", report.objects, h->count);
    same_number(c, "handles loaded", report.handles, h->handle_count);
    same_number(c, "registered references loaded", report.registered, k.registered);
    clump_ref *to = must_alloc((h->count + 1) * sizeof *to);
    find_again(c, h, to);
    follow_all(&(course){c, &old, to, k.is_compacted}, h);
    h->events += h->count;
    free(to);
    free(old.number_at);
    free(old.blocks_known);
    if (k.path[0]) unlink(k.path);
    memory_release(&k.file);
    settle(c, h);
    compare_all(c, h);
}
