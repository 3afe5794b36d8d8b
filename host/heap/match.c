/* Schemas by name (match.h). Read first: match.h. */
#include "heap/match.h"
#include "heap/heap.h"

static const char *name_of(const clumpi_match *m, uint32_t class_id) {
    return clump_schema_get_info(m->from)->classes[class_id]->name;
}

/* The class of `to` for one of `from`, which may be missing if there are no objects of it. */
static clump_status match_class(clumpi_match *m, uint32_t id) {
    clump_class_info ours;
    const int is_there = clumpi_take_class(clump_schema_find_class(m->to, name_of(m, id)), &ours);
    if (is_there && !ours.is_abstract) {
        m->class_of[id] = ours.id;
        return CLUMP_OK;
    }
    if (!m->objects[id]) return CLUMP_OK;
    return clumpi_fail(m->error, CLUMP_ERR_SCHEMA, "%s has %llu objects of class %s, which %s%s",
                       m->where, (unsigned long long)m->objects[id], name_of(m, id),
                       is_there ? "is abstract in " : m->into, is_there ? m->into : " lacks");
}

clump_status clumpi_match_field(const clumpi_match *m, uint32_t class_id,
                                const clump_field_info *theirs, clump_field_info *ours,
                                int *is_there) {
    char a[CLUMPI_TYPE_BYTES], b[CLUMPI_TYPE_BYTES];
    *is_there = clumpi_take_field(
        clump_schema_find_field(m->to, m->class_of[class_id], theirs->name), ours);
    if (!*is_there || (ours->type == theirs->type && ours->width == theirs->width &&
                       ours->count == theirs->count && ours->array == theirs->array &&
                       ours->part == theirs->part))
        return CLUMP_OK;
    return clumpi_fail(m->error, CLUMP_ERR_SCHEMA, "field %s of class %s is %s in %s, but %s in %s",
                       theirs->name, name_of(m, class_id), clumpi_type_words(theirs, a), m->where,
                       clumpi_type_words(ours, b), m->into);
}

int clumpi_match_next_gained(const clumpi_match *m, uint32_t class_id, clumpi_field_walk *walk,
                             clump_field_info *ours) {
    clump_field_info theirs;
    while (clumpi_next_field(walk, ours))
        if (!clumpi_take_field(clump_schema_find_field(m->from, class_id, ours->name), &theirs))
            return 1;
    return 0;
}

/* Fields of a schema, by their places in it. */
typedef struct field_set {
    uint8_t has[CLUMP_FIELDS_MAX];
} field_set;

/* 1 if the field, one of the class or of its bases, was not in the set. */
static uint32_t add(field_set *set, const clump_schema *schema, uint32_t class_id,
                    const char *name) {
    const clumpi_field_entry *f = clumpi_schema_find_field(schema, class_id, name);
    uint8_t *has = &set->has[f - schema->fields];
    const uint32_t is_new = !*has;
    *has = 1;
    return is_new;
}

/* Of a class that has objects. lost, gained: what was counted for another class, which inherits it
 * too. */
static clump_status match_fields(clumpi_match *m, uint32_t id, field_set *lost, field_set *gained) {
    clump_field_info theirs, ours;
    clump_status status = CLUMP_OK;
    int is_there;
    for (clumpi_field_walk w = {.schema = m->from, .class_id = id};
         !status && clumpi_next_field(&w, &theirs);) {
        status = clumpi_match_field(m, id, &theirs, &ours, &is_there);
        if (!is_there) m->fields_lost += add(lost, m->from, id, theirs.name);
    }
    for (clumpi_field_walk w = {.schema = m->to, .class_id = m->class_of[id]};
         clumpi_match_next_gained(m, id, &w, &ours);)
        m->fields_gained += add(gained, m->to, m->class_of[id], ours.name);
    return status;
}

clump_status clumpi_match_schemas(clumpi_match *m) {
    const uint32_t classes = clump_schema_get_info(m->from)->class_count;
    clump_status status = CLUMP_OK;
    field_set lost = {{0}}, gained = {{0}};
    for (uint32_t id = 1; !status && id <= classes; id++) status = match_class(m, id);
    for (uint32_t id = 1; !status && id <= classes; id++)
        if (m->objects[id]) status = match_fields(m, id, &lost, &gained);
    return status;
}

/* A heap without objects has all of its blocks free, so this is exact. */
clump_status clumpi_match_room(const clumpi_match *m, const clump_heap *heap) {
    uint64_t blocks = 0, objects = 0;
    for (uint32_t id = 1; id <= clump_schema_get_info(m->from)->class_count; id++) {
        if (!m->objects[id]) continue;
        const uint32_t capacity = heap->geometry.classes[m->class_of[id]].capacity;
        blocks += (m->objects[id] + capacity - 1) / capacity;
        objects += m->objects[id];
    }
    if (blocks <= clumpi_memory_blocks(heap)) return CLUMP_OK;
    return clumpi_fail(m->error, CLUMP_ERR_DEVICE_MEMORY,
                       "the %llu objects of %s need %llu blocks of %llu bytes, but the heap has "
                       "%u. Make it larger, or its blocks narrower (block_rows)",
                       (unsigned long long)objects, m->where, (unsigned long long)blocks,
                       (unsigned long long)clumpi_block_bytes(heap), clumpi_memory_blocks(heap));
}

clump_status clumpi_match_fail_members(const clumpi_match *m, uint32_t class_id,
                                       const clump_field_info *ours, uint64_t count) {
    clump_class_info to = *clump_schema_get_info(m->to)->classes[ours->ref_class];
    return clumpi_fail(
        m->error, CLUMP_ERR_SCHEMA,
        "field %s of class %s has %llu references in %s to objects that are not of class %s, "
        "to which it refers in %s",
        ours->name, name_of(m, class_id), (unsigned long long)count, m->where, to.name, m->into);
}
