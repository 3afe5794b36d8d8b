/* The objects of an extract into a heap (extract.h).
 *
 * Few objects are taken out of what is reserved, which looks at nothing but these. If that is not
 * possible, do-news make them.
 *
 * Invariant: schema, buffers and, before a do-new, room are right before an object is made. Nobody
 * sees the new objects before the call ends; what fails until then frees them.
 *
 * Read first: extract.h, cl/heap/new.cl, cl/heap/few.cl.
 */
#include <string.h>

#include "extract/extract.h"

#define NEW_MOST (UINT64_C(1) << 31) /* objects of one do-new */

static const char call[] = "clump_heap_insert";

typedef struct inserting {
    clump_heap *heap;
    const clump_extract *extract;
    const clump_insert_desc *desc;
    uint32_t class_of[CLUMP_CLASSES_MAX + 1]; /* by class id of the extract: that of the heap */
    uint32_t fresh[CLUMP_CLASSES_MAX + 1];    /* likewise: free blocks to be filled first */
    uint32_t sure
        [CLUMP_CLASSES_MAX +
         1]; /* likewise: objects that these take, of which no reference is kept; 0 if there is no
                                             `chosen` */
    cl_mem chosen;    /* bits of the new objects; NULL: pack.work has references of all of them */
    uint64_t made;    /* objects that were made, null for those that could not be */
    uint32_t pending; /* class id of the extract that a do-new has made more of; 0: none */
    int has_begun;    /* clumpi_new_begin() was called for these */
    clumpi_pack pack;
    clump_extract *words; /* of its arrays that grow; NULL: it has none */
} inserting;

/* ---- Before the heap changes ----------------------------------------------------------------- */

static const char *ref_class(const clump_schema *schema, const clump_field_info *f) {
    return clump_schema_get_info(schema)->classes[f->ref_class]->name;
}

static clump_status match_field(const inserting *in, uint32_t id, const clump_class_info *owner,
                                const clump_field_info *theirs) {
    clump_error *error = &clumpi_heap_context(in->heap)->error;
    const clump_schema *here = clumpi_heap_schema(in->heap), *there = in->extract->schema;
    char a[CLUMPI_TYPE_BYTES], b[CLUMPI_TYPE_BYTES];
    clump_field_info ours;
    if (!clumpi_take_field(clump_schema_find_field(here, id, theirs->name), &ours))
        return clumpi_fail(error, CLUMP_ERR_SCHEMA,
                           "field %s of class %s is in the extract, but not in the heap's schema",
                           theirs->name, owner->name);
    if (ours.type != theirs->type || ours.width != theirs->width || ours.count != theirs->count)
        return clumpi_fail(error, CLUMP_ERR_SCHEMA,
                           "field %s of class %s is %s in the extract, but %s in the heap's schema",
                           theirs->name, owner->name, clumpi_type_words(theirs, a),
                           clumpi_type_words(&ours, b));
    if (ours.type != CLUMP_TYPE_REF ||
        strcmp(ref_class(here, &ours), ref_class(there, theirs)) == 0)
        return CLUMP_OK;
    return clumpi_fail(error, CLUMP_ERR_SCHEMA,
                       "field %s of class %s refers to class %s in the extract, but to class %s in "
                       "the heap's schema",
                       theirs->name, owner->name, ref_class(there, theirs), ref_class(here, &ours));
}

/* Fields of a class and its bases. */
static uint32_t count_fields(const clump_schema *schema, uint32_t id) {
    uint32_t count = 0;
    for (const clump_class_info *c; (c = clumpi_class_info(schema, id)) != NULL; id = c->base)
        count += c->field_count;
    return count;
}

/* A field of the heap's class that the extract lacks. */
static const char *lacking(const inserting *in, uint32_t id, const char *class_name) {
    const clump_schema *here = clumpi_heap_schema(in->heap), *there = in->extract->schema;
    const uint32_t theirs = clump_schema_find_class(there, class_name)->id;
    for (const clump_class_info *c; (c = clumpi_class_info(here, id)) != NULL; id = c->base)
        for (uint32_t i = 0; i < c->field_count; i++)
            if (!clump_schema_find_field(there, theirs, c->fields[i]->name))
                return c->fields[i]->name;
    return "";
}

static clump_status match_class(inserting *in, uint32_t id) {
    clump_error *error = &clumpi_heap_context(in->heap)->error;
    clump_class_info theirs, ours, owner;
    clump_status status = CLUMP_OK;
    if (!in->extract->objects[id]) return CLUMP_OK;
    theirs = *clump_schema_get_info(in->extract->schema)->classes[id];
    const int is_there = clumpi_take_class(
        clump_schema_find_class(clumpi_heap_schema(in->heap), theirs.name), &ours);
    if (!is_there || ours.is_abstract)
        return clumpi_fail(
            error, CLUMP_ERR_SCHEMA, "the extract has %llu objects of class %s, which %s",
            (unsigned long long)in->extract->objects[id], theirs.name,
            is_there ? "is abstract in the heap's schema" : "the heap's schema lacks");
    in->class_of[id] = ours.id;
    for (uint32_t at = id; at && !status; at = owner.base) {
        owner = *clump_schema_get_info(in->extract->schema)->classes[at];
        for (uint32_t i = 0; i < owner.field_count && !status; i++) {
            clump_field_info f =
                *clump_schema_get_info(in->extract->schema)->classes[at]->fields[i];
            status = match_field(in, ours.id, &theirs, &f);
        }
    }
    if (!status && count_fields(clumpi_heap_schema(in->heap), ours.id) !=
                       count_fields(in->extract->schema, id))
        status = clumpi_fail(error, CLUMP_ERR_SCHEMA,
                             "field %s of class %s is in the heap's schema, but not in the extract",
                             lacking(in, ours.id, theirs.name), theirs.name);
    return status;
}

static clump_status check(inserting *in) {
    const clump_extract *e = in->extract;
    clump_context *c = clumpi_heap_context(in->heap);
    if (e->context != c)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "%s: the extract belongs to another context. Read it with clump_extract_read(), and "
            "create one from the bytes with clump_extract_create() in the heap's context",
            call);
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; id <= clump_schema_get_info(e->schema)->class_count && !status; id++)
        status = match_class(in, id);
    if (!status && in->desc->ref_buffer)
        status = clumpi_check_ref_buffer(c, call, in->desc->ref_buffer, in->desc->ref_buffer_at,
                                         e->objects[0]);
    return status;
}

static clump_status no_room(const inserting *in, uint64_t needed, uint32_t free_blocks) {
    return clumpi_fail(&clumpi_heap_context(in->heap)->error, CLUMP_ERR_DEVICE_MEMORY,
                       "%s: besides the free slots of blocks in use, the %llu objects need %llu "
                       "free blocks of %llu bytes, but the heap has %u",
                       call, (unsigned long long)in->extract->objects[0],
                       (unsigned long long)needed, (unsigned long long)clumpi_block_bytes(in->heap),
                       free_blocks);
}

/* What is needed of free blocks is known exactly: a do-new fills some free blocks, then free slots
 * of its class, then one more block. Blocks that nobody needs are filled first, which is faster. */
static clump_status plan_room(inserting *in) {
    clump_heap *heap = in->heap;
    clump_class_stats classes[CLUMP_CLASSES_MAX];
    clump_heap_stats stats;
    const uint32_t count = clump_schema_get_info(in->extract->schema)->class_count;
    uint64_t needed = 0;
    clump_status status = clumpi_read_stats(heap, &stats, classes);
    for (uint32_t id = 1; id <= count && !status; id++) {
        const uint64_t objects = in->extract->objects[id];
        if (!objects) continue;
        const clump_class_stats *k = &classes[in->class_of[id] - 1];
        const uint64_t slots = k->slots - k->objects;
        const uint32_t capacity = clumpi_heap_geometry(heap)->classes[in->class_of[id]].capacity;
        if (objects > NEW_MOST)
            status = clumpi_fail(
                &clumpi_heap_context(heap)->error, CLUMP_ERR_DEVICE_MEMORY,
                "%s: %llu objects of a class are too many: at most 2^31 are possible in one call",
                call, (unsigned long long)objects);
        const uint64_t blocks = objects > slots ? (objects - slots + capacity - 1) / capacity : 0;
        needed += blocks;
        in->fresh[id] = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
    }
    if (status) return status;
    if (needed > stats.free_blocks) return no_room(in, needed, stats.free_blocks);
    if (in->extract->array_count) return CLUMP_OK; /* their elements need blocks */
    uint32_t spare = stats.free_blocks - (uint32_t)needed;
    for (uint32_t id = 1; id <= count; id++) {
        if (!in->extract->objects[id]) continue;
        const uint64_t full = in->extract->objects[id] /
                              clumpi_heap_geometry(heap)->classes[in->class_of[id]].capacity;
        uint64_t more = full > in->fresh[id] ? full - in->fresh[id] : 0;
        if (more > spare) more = spare;
        in->fresh[id] += (uint32_t)more;
        spare -= (uint32_t)more;
    }
    return CLUMP_OK;
}

/* If nobody wants the references, those of objects in whole rows follow from where these rows are.
 * To undo the insertion then takes bits, which are 8 bytes for each granule of the heap. */
static clump_status choose_way(inserting *in) {
    clump_heap *heap = in->heap;
    const clump_extract *e = in->extract;
    if (in->desc->refs || in->desc->ref_buffer ||
        e->objects[0] * sizeof(clump_ref) < clumpi_mark_granules(heap) * sizeof(uint64_t))
        return CLUMP_OK;
    for (uint32_t id = 1; id <= clump_schema_get_info(e->schema)->class_count; id++) {
        if (!e->objects[id]) continue;
        const uint32_t capacity = clumpi_heap_geometry(heap)->classes[in->class_of[id]].capacity;
        const uint64_t full = e->objects[id] / capacity;
        in->sure[id] = (uint32_t)(full < in->fresh[id] ? full : in->fresh[id]) * capacity;
    }
    return clumpi_chosen_create(heap, &in->chosen);
}

static clump_status open_pack(inserting *in) {
    in->pack = (clumpi_pack){
        .heap = in->heap, .extract = in->extract, .class_of = in->class_of, .sure = in->sure};
    return clumpi_unpack_open(&in->pack);
}

static clump_status open_memory(inserting *in) {
    clump_status status = choose_way(in);
    if (!status) status = open_pack(in);
    if (status || !in->extract->array_count) return status;
    return clumpi_arrays_check(&in->pack, &in->words);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* Where the objects are that a do-new has just made, of the class `id` of the extract. */
static clump_status list_new(inserting *in, uint32_t id) {
    clump_status status = clumpi_unpack_made(&in->pack, id, in->chosen);
    if (status) return status;
    in->made += in->extract->objects[id];
    in->pending = 0;
    return CLUMP_OK;
}

static clump_status make_objects(inserting *in, uint32_t id) {
    const uint32_t ours = in->class_of[id];
    clump_status status =
        clumpi_new_claim(in->heap, ours, in->extract->objects[id], in->fresh[id], NULL);
    if (status) return status;
    in->pending = id;
    in->has_begun = 0;
    status = clumpi_new_begin(in->heap, ours, NULL);
    in->has_begun = !status;
    return status ? status : list_new(in, id);
}

static clump_status make_all(inserting *in) {
    clump_status status = CLUMP_OK;
    for (uint32_t id = 1; id <= clump_schema_get_info(in->extract->schema)->class_count && !status;
         id++)
        if (in->extract->objects[id]) status = make_objects(in, id);
    return status;
}

static clump_status free_new(inserting *in) {
    int is_freed;
    if (in->chosen) {
        const clump_status status = clumpi_chosen_free(in->heap, in->chosen, &is_freed);
        return is_freed ? CLUMP_OK : status;
    }
    return clumpi_free_refs(in->heap, in->pack.work, in->pack.counts.refs_at / sizeof(clump_ref),
                            in->made);
}

static clump_status take_class(inserting *in, uint32_t id, int *is_taken) {
    const uint64_t at = in->pack.counts.refs_at / sizeof(clump_ref) + in->pack.made[id].loose;
    const clump_status status = clumpi_new_take(
        in->heap, in->class_of[id], in->extract->objects[id], in->pack.work, at, is_taken);
    if (*is_taken) in->made += in->extract->objects[id];
    return status;
}

static int can_take(const inserting *in) {
    const clump_extract *e = in->extract;
    int can = !e->array_count;
    for (uint32_t id = 1; id <= clump_schema_get_info(e->schema)->class_count && can; id++)
        can = !e->objects[id] || clumpi_can_take(in->heap, in->class_of[id], e->objects[id]);
    return can;
}

/* All classes or none. *is_taken 0 without a failure: nothing was made. */
static clump_status take_all(inserting *in, int *is_taken) {
    const clump_extract *e = in->extract;
    *is_taken = can_take(in);
    if (!*is_taken) return CLUMP_OK;
    clump_status status = open_pack(in);
    for (uint32_t id = 1;
         id <= clump_schema_get_info(e->schema)->class_count && !status && *is_taken; id++)
        if (e->objects[id]) status = take_class(in, id, is_taken);
    if (status || *is_taken) return status;
    if (in->made) status = free_new(in);
    if (!status) in->made = 0;
    clumpi_pack_close(&in->pack);
    return status;
}

/* The new objects go again: those that are known, and those of a do-new that was not finished. */
static void undo(inserting *in) {
    clump_heap *heap = in->heap;
    clump_context *c = clumpi_heap_context(heap);
    const clump_error error = c->error; /* keep the cause */
    clump_status status = CLUMP_OK;
    if (in->pending && !in->has_begun) /* their arrays may be anything */
        status = clumpi_new_begin(heap, in->class_of[in->pending], NULL);
    if (!status && in->pending) status = list_new(in, in->pending);
    if (!status && free_new(in)) (void)free_new(in); /* after a want of room, this may fail first */
    c->error = error;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Are the objects, and what was written to them, right? */
static clump_status look(inserting *in) {
    clump_error *error = &clumpi_heap_context(in->heap)->error;
    clumpi_pack_head head = {0};
    clump_status status = clumpi_pack_fetch(&in->pack, &head);
    if (!status && head.unmade)
        status = clumpi_fail(error, CLUMP_ERR_CORRUPT,
                             "%s: %u of %llu objects could not be made, although the heap has room "
                             "for them. Call clump_heap_check()",
                             call, head.unmade, (unsigned long long)in->extract->objects[0]);
    if (!status && (head.no_object || head.no_member))
        status =
            clumpi_fail(error, CLUMP_ERR_FORMAT,
                        "%s: the extract is not valid: %u references lead to objects that it does "
                        "not have, and %u to objects of a class that the field cannot refer to",
                        call, head.no_object, head.no_member);
    return status;
}

static clump_status write_all(inserting *in) {
    clump_status status = clumpi_unpack_objects(&in->pack);
    if (!status) status = look(in);
    if (!status && in->words) status = clumpi_arrays_unpack(&in->pack, in->words);
    if (!status && in->words) status = look(in);
    return status;
}

/* The map, for the caller. */
static clump_status give_refs(inserting *in) {
    clump_heap *heap = in->heap;
    clump_context *c = clumpi_heap_context(heap);
    const clump_insert_desc *d = in->desc;
    const uint64_t objects = in->extract->objects[0], bytes = objects * sizeof(clump_ref);
    if (!d->refs && !d->ref_buffer) return CLUMP_OK;
    const uint64_t at = in->pack.counts.refs_at;
    clump_status status =
        clumpi_checking_name(heap, in->pack.work, at / sizeof(clump_ref), objects);
    if (!status && d->refs) status = clumpi_read(c, in->pack.work, at, bytes, d->refs);
    if (!status && d->ref_buffer)
        status = clumpi_copy(c, in->pack.work, at, d->ref_buffer, d->ref_buffer_at, bytes);
    return status || !d->ref_buffer ? status : clumpi_finish(c);
}

/* ---- The call -------------------------------------------------------------------------------- */

static clump_status insert(inserting *in) {
    clump_status status = check(in);
    if (status || !in->extract->objects[0]) return status;
    int is_taken = 0;
    status = clumpi_heap_enter(in->heap);
    if (!status) status = take_all(in, &is_taken);
    if (!status && !is_taken) status = plan_room(in);
    if (!status && !is_taken) status = open_memory(in);
    if (!status && !is_taken) status = make_all(in);
    if (!status) status = write_all(in);
    if (!status) status = give_refs(in);
    if (status && (in->made || in->pending)) undo(in);
    return status;
}

clump_status clump_heap_insert(clump_heap *heap, const clump_extract *extract,
                               const clump_insert_desc *desc) {
    if (!heap) return CLUMP_ERR_USAGE;
    clump_context *c = clumpi_heap_context(heap);
    if (!extract) return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "%s: the extract is NULL", call);
    clump_insert_desc own;
    clump_status status = CLUMPI_TAKE(clump_insert_desc, &own, desc, &c->error);
    if (status) return status;
    inserting in = {.heap = heap, .extract = extract, .desc = &own};
    status = insert(&in);
    clumpi_pack_close(&in.pack);
    clump_extract_destroy(in.words);
    clumpi_chosen_release(heap, &in.chosen);
    return status;
}
