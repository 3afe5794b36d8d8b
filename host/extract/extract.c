/* The buffer of an extract, and what is known of it (extract.h). Read first: extract.h. */
#include "extract/extract.h"

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

int clumpi_next_column(const clump_extract *e, clumpi_column_walk *w) {
    clump_extract_column *column = &w->column;
    column->at += aligned(column->bytes);
    column->bytes = 0;
    for (;;) {
        clump_class_info owner;
        if (!w->owner && !next_class(e, w)) return 0;
        owner = *clump_schema_get_info(e->schema)->classes[w->owner];
        if (w->next < owner.field_count) {
            column->of = clump_schema_get_info(e->schema)->classes[w->class_info.id];
            column->field = clump_schema_get_info(e->schema)->classes[owner.id]->fields[w->next++];
            w->field = *column->field;
            column->object_bytes = w->field.element_bytes * clumpi_elements(&w->field);
            column->bytes = column->count * column->object_bytes;
            return 1;
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

/* The columns of the info: as many pointers, and what they point to. */
static clump_status list_columns(clump_extract *e) {
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
    return list_columns(e);
}

void clump_extract_destroy(clump_extract *extract) {
    if (!extract) return;
    clump_context *c = extract->context;
    clumpi_buffer_release(c, &extract->info.buffer);
    clumpi_buffer_release(c, &extract->info.refs);
    clump_schema_destroy(extract->schema);
    clumpi_free(&c->allocator, extract->column_list);
    clumpi_free(&c->allocator, extract->columns);
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

/* Lengths that the device would believe. */
static clump_status check_lengths(const clump_extract *e, const uint8_t *data) {
    for (clumpi_column_walk w = {0}; clumpi_next_column(e, &w);) {
        uint32_t wrong;
        const clump_field_info *array =
            clumpi_schema_find_too_long(e->info.schema, w.class_info.id, &w.field,
                                        data + w.column.at, sizeof wrong, w.column.count, &wrong);
        if (array)
            return clumpi_fail(&e->context->error, CLUMP_ERR_USAGE,
                               "clump_extract_create: array %s of class %s has a length of %u in "
                               "the data, and room for %u elements",
                               array->name, w.class_info.name, wrong, array->count);
    }
    return CLUMP_OK;
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
    clump_status status =
        clumpi_schema_refuses(schema, clumpi_schema_traits(schema), CLUMPI_OP_EXTRACT_OF, 0,
                              "clump_extract_create", &c->error);
    if (status) return status;
    if (!data && bytes)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_extract_create: %llu bytes were passed, but `data` is NULL",
                           (unsigned long long)bytes);
    clump_extract *e = NULL;
    status = check_objects(c, schema, objects);
    if (!status) status = clumpi_extract_create(c, schema, &e);
    if (!status) status = clumpi_extract_set_objects(e, objects);
    if (!status && data) status = check_bytes(e, "clump_extract_create", bytes);
    if (!status && data) status = check_lengths(e, data);
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
