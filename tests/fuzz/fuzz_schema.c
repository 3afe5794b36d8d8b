/* Fuzzing of clump_schema_parse() and of the getters on what it accepts.
 *
 * What must hold for all bytes: an error has a line, a column and words, and leaves no schema; a
 * schema that was accepted answers all questions, consistently.
 * Read first: fuzz.h, include/clump/schema.h.
 */
#include "clump/schema.h"
#include "fuzz.h"

static void check_error(const uint8_t *data, size_t bytes, const clump_error *error) {
    uint32_t lines = 1;
    for (size_t i = 0; i < bytes; ++i) lines += data[i] == '\n';
    REQUIRE(error->status == CLUMP_ERR_SCHEMA);
    REQUIRE(error->line >= 1 && error->line <= lines);
    REQUIRE(error->column >= 1 && error->column <= bytes + 1);
    REQUIRE(error->message[0] && memchr(error->message, 0, sizeof error->message));
    for (const char *c = error->message; *c; ++c) REQUIRE(*c >= 0x20 && *c < 0x7f);
}

static void check_field(const clump_schema *schema, const clump_class_info *owner,
                        const clump_field_info *field) {
    clump_field_info found;
    REQUIRE(field->class_id == owner->id);
    REQUIRE(field->type_name[0] != '?');
    /* An array of run-time length may have no elements in the object, and so no place there. */
    const int has_place = !field->array || field->count;
    REQUIRE(!has_place || field->base_bytes % field->element_bytes == 0);
    REQUIRE(field->stride_bytes % field->element_bytes == 0);
    REQUIRE(field->step_bytes % field->element_bytes == 0);
    uint64_t last = field->base_bytes + UINT64_C(63) * field->stride_bytes + field->element_bytes;
    if (field->count) last += (uint64_t)(field->count - 1) * field->step_bytes;
    REQUIRE(!has_place || last <= UINT64_C(64) * owner->object_bytes);
    REQUIRE((field->type == CLUMP_TYPE_REF) == (field->ref_class != 0));
    REQUIRE(field->ref_class <= clump_schema_get_info(schema)->class_count);
    found = *clump_schema_find_field(schema, owner->id, field->name);
    REQUIRE(found.class_id == owner->id && found.base_bytes == field->base_bytes);
}

static void check_schema(const clump_schema *schema) {
    uint32_t count = clump_schema_get_info(schema)->class_count, concrete = 0;
    REQUIRE(count >= 1 && count <= CLUMP_CLASSES_MAX);
    for (uint32_t id = 1; id <= count; ++id) {
        clump_class_info info;
        clump_field_info field;
        info = *clump_schema_get_info(schema)->classes[id];
        REQUIRE(info.id == id && info.base < id && info.last >= id && info.last <= count);
        REQUIRE(clump_schema_find_class(schema, info.name) ==
                clump_schema_get_info(schema)->classes[id]);
        REQUIRE(info.object_bytes <= CLUMP_OBJECT_BYTES_MAX);
        REQUIRE(info.is_abstract || info.object_bytes);
        concrete += !info.is_abstract;
        for (uint32_t i = 0; i < info.field_count; ++i) {
            field = *clump_schema_get_info(schema)->classes[id]->fields[i];
            check_field(schema, &info, &field);
        }
    }
    REQUIRE(concrete);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    clump_schema *schema;
    clump_error error;
    clump_status status = clump_schema_parse((const char *)data, bytes, NULL, &schema, &error);
    if (status) {
        REQUIRE(!schema && status == error.status);
        check_error(data, bytes, &error);
        return 0;
    }
    REQUIRE(error.status == CLUMP_OK && !error.message[0]);
    check_schema(schema);
    clump_schema_destroy(schema);
    return 0;
}
