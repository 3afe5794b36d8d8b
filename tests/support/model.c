/* See model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

/* ---- The schema ------------------------------------------------------------------------------ */

static void add_fields(model *m, uint32_t id) {
    const clump_class_info *c = &m->classes[id];
    uint32_t bytes = c->base ? m->value_bytes[c->base] : 0;
    m->own_fields[id] = m->field_count;
    for (uint32_t i = 0; i < c->field_count; i++) {
        model_field *field = &m->fields[m->field_count++];
        field->info.size = sizeof field->info;
        clump_schema_get_field(m->schema, id, i, &field->info);
        field->elements = field->info.count ? field->info.count : 1;
        field->offset = bytes;
        bytes += field->elements * field->info.element_bytes;
    }
    m->own_fields[id + 1] = m->field_count;
    m->value_bytes[id] = bytes;
}

model *model_create(const clump_schema *schema, uint32_t handle_limit) {
    model *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->schema = schema;
    m->class_count = clump_schema_get_class_count(schema);
    m->next_tag = 1;
    m->handle_limit = handle_limit;
    m->by_handle = calloc(handle_limit, sizeof *m->by_handle);
    m->fields = calloc(CLUMP_FIELDS_MAX, sizeof *m->fields);
    if (!m->by_handle || !m->fields) {
        model_destroy(m);
        return NULL;
    }
    for (uint32_t id = 1; id <= m->class_count; id++) { /* bases have lower ids */
        m->classes[id].size = sizeof m->classes[id];
        clump_schema_get_class(schema, id, &m->classes[id]);
        add_fields(m, id);
    }
    return m;
}

void model_destroy(model *m) {
    if (!m) return;
    while (m->live_count) model_free(m, m->live[0]);
    free(m->live);
    free(m->by_handle);
    free(m->by_tag);
    free(m->fields);
    free(m);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static int make_room(model_object ***array, uint32_t *room, uint32_t wanted) {
    if (wanted < *room) return 1;
    uint32_t more = wanted * 2 + 64;
    model_object **larger = realloc(*array, more * sizeof *larger);
    if (!larger) return 0;
    memset(larger + *room, 0, (more - *room) * sizeof *larger);
    *array = larger;
    *room = more;
    return 1;
}

model_object *model_new(model *m, uint32_t class_id, uint32_t handle) {
    if (handle == 0 || handle >= m->handle_limit || m->by_handle[handle]) return NULL;
    if (!make_room(&m->live, &m->live_room, m->live_count) ||
        !make_room(&m->by_tag, &m->tag_room, m->next_tag))
        return NULL;
    model_object *object = calloc(1, sizeof *object);
    if (!object) return NULL;
    object->values = calloc(1, m->value_bytes[class_id]);
    if (!object->values) {
        free(object);
        return NULL;
    }
    object->tag = m->next_tag++;
    object->class_id = class_id;
    object->handle = handle;
    object->place = m->live_count;
    m->live[m->live_count++] = object;
    m->by_handle[handle] = object;
    m->by_tag[object->tag] = object;
    return object;
}

void model_free(model *m, model_object *object) {
    m->live[object->place] = m->live[--m->live_count];
    m->live[object->place]->place = object->place;
    m->by_handle[object->handle] = NULL;
    m->by_tag[object->tag] = NULL;
    free(object->values);
    free(object);
}

model_object *model_by_handle(const model *m, uint32_t handle) {
    return handle < m->handle_limit ? m->by_handle[handle] : NULL;
}

model_object *model_by_tag(const model *m, uint32_t tag) {
    return tag < m->next_tag && tag < m->tag_room ? m->by_tag[tag] : NULL;
}

int model_is_a(const model *m, uint32_t class_id, uint32_t base) {
    return class_id >= base && class_id <= m->classes[base].last;
}

uint32_t model_count(const model *m, uint32_t class_id) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->live_count; i++)
        count += (uint32_t)model_is_a(m, m->live[i]->class_id, class_id);
    return count;
}

uint32_t model_count_exact(const model *m, uint32_t class_id) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->live_count; i++) count += m->live[i]->class_id == class_id;
    return count;
}

void *model_value(const model *m, const model_object *object, uint32_t field, uint32_t element) {
    const model_field *f = &m->fields[field];
    return object->values + f->offset + (size_t)element * f->info.element_bytes;
}

/* ---- Values ---------------------------------------------------------------------------------- */

uint32_t model_word(uint32_t salt, uint32_t field, uint32_t element, uint32_t component) {
    return test_hash(salt ^ test_hash(field << 20 ^ element << 4 ^ component));
}

uint32_t model_component_bytes(clump_type type) {
    switch (type) {
    case CLUMP_TYPE_BOOL:
    case CLUMP_TYPE_CHAR:
    case CLUMP_TYPE_UCHAR: return 1;
    case CLUMP_TYPE_SHORT:
    case CLUMP_TYPE_USHORT: return 2;
    case CLUMP_TYPE_LONG:
    case CLUMP_TYPE_ULONG:
    case CLUMP_TYPE_DOUBLE: return 8;
    case CLUMP_TYPE_INT:
    case CLUMP_TYPE_UINT:
    case CLUMP_TYPE_FLOAT:
    case CLUMP_TYPE_REF: break;
    }
    return 4;
}

void model_component(clump_type type, uint32_t word, void *place) {
    uint64_t bits = (uint64_t)word << 32 | (word ^ 0x5bd1e995u);
    uint32_t small = word;
    float single = (float)(word & 0xffffffu);
    double twice = (double)word * 0.25;
    const void *from = &small; /* little-endian: the low bytes come first */
    if (type == CLUMP_TYPE_BOOL) small &= 1;
    if (type == CLUMP_TYPE_REF) small = 0;
    if (type == CLUMP_TYPE_LONG || type == CLUMP_TYPE_ULONG) from = &bits;
    if (type == CLUMP_TYPE_FLOAT) from = &single;
    if (type == CLUMP_TYPE_DOUBLE) from = &twice;
    memcpy(place, from, model_component_bytes(type));
}

void model_fill(model *m, model_object *object, uint32_t level, uint32_t salt) {
    for (uint32_t id = level; id; id = m->classes[id].base) {
        for (uint32_t f = m->own_fields[id]; f < m->own_fields[id + 1]; f++) {
            const clump_field_info *info = &m->fields[f].info;
            uint32_t bytes = model_component_bytes(info->type);
            for (uint32_t e = 0; e < m->fields[f].elements; e++)
                for (uint32_t c = 0; c < info->width; c++)
                    model_component(info->type, model_word(salt, f, e, c),
                                    (uint8_t *)model_value(m, object, f, e) + (size_t)c * bytes);
        }
    }
}
