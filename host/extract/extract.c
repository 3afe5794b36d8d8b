/* The buffer of an extract, and what is known of it (extract.h). Read first: extract.h. */
#include "extract/extract.h"

#include <string.h>

/* ---- Columns --------------------------------------------------------------------------------- */

/* The next class with objects. */
static int next_class(const clump_extract *e, clumpi_column_walk *w) {
    const uint32_t classes = clump_schema_get_info(e->schema)->class_count;
    w->column.first += w->column.count;
    w->column.count = 0;
    for (uint32_t id = w->class_info.id + 1; id <= classes; id++) {
        if (!e->objects[id]) continue;
        w->class_info = *clump_schema_get_info(e->schema)->classes[id];
        w->column.count = e->objects[id];
        w->owner = id;
        w->next = 0;
        return 1;
    }
    return 0;
}

static uint64_t aligned(uint64_t bytes) {
    return (bytes + CLUMPI_COLUMN_ALIGN - 1) / CLUMPI_COLUMN_ALIGN * CLUMPI_COLUMN_ALIGN;
}

/* A field of the class that is walked. 0: it has no column. */
static int take_field(const clump_extract *e, clumpi_column_walk *w,
                      const clump_field_info *field) {
    const clump_field_info *array = NULL;
    if (field->part) array = clumpi_schema_array_of(e->schema, field->class_id, field);
    if (array && array->array != CLUMP_ARRAY_GROWING) array = NULL;
    if (e->has_words && !array) return 0;
    w->field = *field;
    w->array = array;
    w->array_number = w->arrays;
    w->column.of = clump_schema_get_info(e->schema)->classes[w->class_info.id];
    w->column.field = field;
    w->column.object_bytes = field->element_bytes * clumpi_elements(field);
    w->column.bytes = w->column.count * w->column.object_bytes;
    if (!array || field->part != CLUMP_PART_MEMORY) return 1;
    w->arrays++;
    if (e->has_words) return 1;
    w->field = *array;
    w->column.object_bytes = 0;
    w->column.bytes = e->elements ? e->elements[w->array_number] * array->element_bytes : 0;
    return 1;
}

int clumpi_next_column(const clump_extract *e, clumpi_column_walk *w) {
    w->column.at += aligned(w->column.bytes);
    w->column.bytes = 0;
    for (;;) {
        clump_class_info owner;
        if (!w->owner && !next_class(e, w)) return 0;
        owner = *clump_schema_get_info(e->schema)->classes[w->owner];
        if (w->next < owner.field_count) {
            if (take_field(e, w, owner.fields[w->next++])) return 1;
            continue;
        }
        w->owner = owner.base;
        w->next = 0;
    }
}

/* Their number, and the bytes of all. */
static uint64_t count_columns(const clump_extract *e, uint64_t *bytes) {
    uint64_t count = 0;
    clumpi_column_walk w = {.owner = 0};
    while (clumpi_next_column(e, &w)) count++;
    *bytes = w.column.at;
    return count;
}

clump_status clumpi_extract_set_columns(clump_extract *e) {
    const uint64_t count = count_columns(e, &e->info.bytes);
    const clump_allocator *a = &e->context->allocator;
    const clump_extract_column **list = clumpi_alloc(a, count * sizeof *list);
    clump_extract_column *columns = clumpi_alloc(a, count * sizeof *columns);
    e->column_list = list;
    e->columns = columns;
    if (!list || !columns)
        return clumpi_fail(&e->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for the columns of an extract");
    clumpi_column_walk w = {.owner = 0};
    for (uint64_t i = 0; clumpi_next_column(e, &w); i++) {
        columns[i] = w.column;
        list[i] = &columns[i];
    }
    e->info.column_count = count;
    e->info.columns = list;
    return CLUMP_OK;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static clump_status take_given(clump_extract *e, cl_mem given) {
    clump_context *c = e->context;
    size_t bytes = 0;
    clump_status status = clumpi_buffer_check(c, given, "buffer of an extract", &bytes);
    if (status) return status;
    if (bytes < e->info.bytes)
        return clumpi_fail(
            &c->error, CLUMP_ERR_TOO_SMALL,
            "clump_heap_extract: the %llu objects need %llu bytes, but the buffer has %zu",
            (unsigned long long)e->objects[0], (unsigned long long)e->info.bytes, bytes);
    cl_int code = c->cl.RetainMemObject(given);
    if (code) return clumpi_fail_cl(&c->error, "clRetainMemObject", code, "buffer of an extract");
    e->info.buffer = given;
    return CLUMP_OK;
}

clump_status clumpi_extract_open(clump_extract *e, cl_mem given) {
    if (!e->info.bytes) return CLUMP_OK;
    return given ? take_given(e, given)
                 : clumpi_buffer_create(e->context, e->info.bytes, "an extract", &e->info.buffer);
}

clump_status clumpi_extract_create(clump_context *c, const clump_schema *schema,
                                   clump_extract **extract) {
    clump_extract *e = clumpi_alloc(&c->allocator, sizeof *e);
    *extract = NULL;
    if (!e) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for an extract");
    clumpi_context_use(c);
    e->context = c;
    clump_status status = clumpi_schema_copy(schema, &c->allocator, &e->schema);
    e->info.schema = e->schema;
    e->info.objects = e->objects;
    if (!status) {
        *extract = e;
        return CLUMP_OK;
    }
    clump_extract_destroy(e);
    return clumpi_fail(&c->error, status, "no host memory for the schema of an extract");
}

clump_status clumpi_extract_set_objects(clump_extract *e, const uint64_t *objects) {
    for (uint32_t id = 1; id <= clump_schema_get_info(e->schema)->class_count; id++) {
        e->objects[id] = objects[id - 1];
        e->objects[0] += objects[id - 1];
    }
    clumpi_column_walk w = {.owner = 0};
    while (clumpi_next_column(e, &w)) {
    }
    e->array_count = w.arrays;
    if (!e->array_count) return CLUMP_OK;
    e->elements = clumpi_alloc(&e->context->allocator, e->array_count * sizeof *e->elements);
    if (!e->elements)
        return clumpi_fail(&e->context->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for %u arrays of an extract", e->array_count);
    return CLUMP_OK;
}

void clump_extract_destroy(clump_extract *extract) {
    if (!extract) return;
    clump_context *c = extract->context;
    clumpi_buffer_release(c, &extract->info.buffer);
    clumpi_buffer_release(c, &extract->info.refs);
    clump_schema_destroy(extract->schema);
    clumpi_free(&c->allocator, extract->column_list);
    clumpi_free(&c->allocator, extract->columns);
    clumpi_free(&c->allocator, extract->elements);
    clumpi_free(&c->allocator, extract);
    clumpi_context_unuse(c);
}

/* Numbers of objects that a heap can have. */
static clump_status check_objects(clump_context *c, const clump_schema *schema,
                                  const uint64_t *objects) {
    uint64_t all = 0;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
        if (info->is_abstract && objects[id - 1])
            return clumpi_fail(
                &c->error, CLUMP_ERR_USAGE,
                "clump_extract_create: %llu objects of class %s are not possible: it is abstract",
                (unsigned long long)objects[id - 1], info->name);
        if (objects[id - 1] > CLUMPI_EXTRACT_OBJECTS_MOST - all)
            return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                               "clump_extract_create: with the %llu objects of class %s there are "
                               "too many objects: a heap can have at most %llu",
                               (unsigned long long)objects[id - 1], info->name,
                               (unsigned long long)CLUMPI_EXTRACT_OBJECTS_MOST);
        all += objects[id - 1];
    }
    return CLUMP_OK;
}

static clump_status check_bytes(const clump_extract *e, const char *call, uint64_t bytes) {
    if (bytes == e->info.bytes) return CLUMP_OK;
    return clumpi_fail(&e->context->error, CLUMP_ERR_USAGE,
                       "%s: %llu bytes were passed, but the %llu objects need %llu", call,
                       (unsigned long long)bytes, (unsigned long long)e->objects[0],
                       (unsigned long long)e->info.bytes);
}

static clump_status too_long(const clump_extract *e, const clumpi_column_walk *w,
                             const clump_field_info *array, uint32_t length, uint64_t room) {
    return clumpi_fail(&e->context->error, CLUMP_ERR_USAGE,
                       "clump_extract_create: array %s of class %s has a length of %u in the data, "
                       "and room for %llu elements",
                       array->name, w->class_info.name, length, (unsigned long long)room);
}

/* Elements in raw memory of an array that grows, whose capacities come now. lengths: the column
 * before. */
static clump_status add_elements(clump_extract *e, const clumpi_column_walk *w,
                                 const uint8_t *lengths, const uint8_t *capacities) {
    for (uint64_t i = 0; i < w->column.count; i++) {
        uint32_t length, capacity;
        memcpy(&length, lengths + i * sizeof length, sizeof length);
        memcpy(&capacity, capacities + i * sizeof capacity, sizeof capacity);
        const uint64_t room = (uint64_t)w->array->count + capacity;
        if (length > room) return too_long(e, w, w->array, length, room);
        if (length > w->array->count) e->elements[w->array_number] += length - w->array->count;
    }
    if (e->elements[w->array_number] <= CLUMPI_EXTRACT_ELEMENTS_MOST) return CLUMP_OK;
    return clumpi_fail(&e->context->error, CLUMP_ERR_USAGE,
                       "clump_extract_create: the arrays %s of class %s have more elements than a "
                       "heap has room for",
                       w->array->name, w->class_info.name);
}

/* Lengths that the device would believe, and how many elements there are. Of data that are cut off
 * only what is there is looked at. */
static clump_status take_lengths(clump_extract *e, const uint8_t *data, uint64_t bytes) {
    clump_status status = CLUMP_OK;
    uint64_t before = 0; /* the column of lengths */
    for (clumpi_column_walk w = {0}; !status && clumpi_next_column(e, &w);) {
        uint32_t wrong;
        if (w.column.at + w.column.bytes > bytes) return CLUMP_OK;
        const clump_field_info *array =
            clumpi_schema_find_too_long(e->info.schema, w.class_info.id, &w.field,
                                        data + w.column.at, sizeof wrong, w.column.count, &wrong);
        if (array) status = too_long(e, &w, array, wrong, array->count);
        if (!status && w.array && w.field.part == CLUMP_PART_CAPACITY)
            status = add_elements(e, &w, data + before, data + w.column.at);
        before = w.column.at;
    }
    return status;
}

static clump_status make_extract(clump_context *context, const clump_schema *schema,
                                 const uint64_t *objects, const void *data, uint64_t bytes,
                                 clump_extract **extract) {
    clump_context *c = context;
    if (extract) *extract = NULL;
    if (!c) return CLUMP_ERR_USAGE;
    if (!extract || !schema || !objects || !clump_schema_get_info(schema)->class_count)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_extract_create needs a schema, the numbers of objects, and a "
                           "pointer for the result");
    if (!data && bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_extract_create: %llu bytes were passed, but `data` is NULL",
                           (unsigned long long)bytes);
    clump_extract *e = NULL;
    clump_status status = check_objects(c, schema, objects);
    if (!status) status = clumpi_extract_create(c, schema, &e);
    if (!status) status = clumpi_extract_set_objects(e, objects);
    if (!status && data) status = take_lengths(e, data, bytes);
    if (!status) status = clumpi_extract_set_columns(e);
    if (!status && data) status = check_bytes(e, "clump_extract_create", bytes);
    if (!status) status = clumpi_extract_open(e, NULL);
    if (!status && data) status = clumpi_write(c, e->info.buffer, 0, bytes, data);
    if (!status && !data && e->info.bytes)
        status = clumpi_clear(c, e->info.buffer, 0, e->info.bytes);
    if (!status) status = clumpi_finish(c);
    if (status)
        clump_extract_destroy(e);
    else
        *extract = e;
    return status;
}

clump_status clump_extract_create(clump_context *context, const clump_schema *schema,
                                  const uint64_t *objects, const void *data, uint64_t bytes,
                                  clump_extract **extract, clump_error *error) {
    clump_status status = make_extract(context, schema, objects, data, bytes, extract);
    return clumpi_tell(context ? &context->error : NULL, status, error);
}

/* ---- What is in it --------------------------------------------------------------------------- */

clump_status clump_extract_read(clump_extract *extract, void *data, uint64_t bytes) {
    if (!extract) return CLUMP_ERR_USAGE;
    clump_context *c = extract->context;
    if (!data && bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_extract_read needs a pointer for the data");
    clump_status status = check_bytes(extract, "clump_extract_read", bytes);
    return status ? status : clumpi_read(c, extract->info.buffer, 0, bytes, data);
}

const clump_extract_info *clump_extract_get_info(const clump_extract *extract) {
    static const uint64_t no_objects[CLUMP_CLASSES_MAX + 1];
    static const clump_extract_info none = {.objects = no_objects};
    return extract ? &extract->info : &none;
}

/* ---- For take.c and insert.c ----------------------------------------------------------------- */

clump_status clumpi_check_ref_buffer(clump_context *c, const char *call, cl_mem buffer, uint64_t at,
                                     uint64_t count) {
    size_t bytes = 0;
    clump_status status = clumpi_buffer_check(c, buffer, "buffer of references", &bytes);
    if (status) return status;
    if (at % sizeof(clump_ref))
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "%s: the references begin at byte %llu of a buffer, but must begin at a multiple of 4",
            call, (unsigned long long)at);
    if (at <= bytes && count <= (bytes - at) / sizeof(clump_ref)) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                       "%s: %llu references from byte %llu on do not fit in a buffer of %zu bytes",
                       call, (unsigned long long)count, (unsigned long long)at, bytes);
}
