/* The first piece of a saved heap: schema, numbers of objects, of references outside (format.h).
 *
 *   words: bytes of the schema, classes, bytes of a piece, registered buffers, handles, arrays
 *   the schema as text │ of each class, by id: objects, reserved slots │ of each registered buffer: references
 *   │ of each array that grows, in the order of the columns: elements in raw memory, room for them
 *
 * Read first: format.h.
 */
#include <string.h>

#include "save/format.h"
#include "schema/schema.h"

enum { SCHEMA_BYTES, CLASSES, PIECE_BYTES, REGISTERED, HANDLES, ARRAYS, WORDS };

#define HEAD_MOST                                                                                  \
    (sizeof(uint32_t) * WORDS + CLUMP_SCHEMA_TEXT_BYTES_MAX +                                      \
     sizeof(uint64_t) * (2 * CLUMP_CLASSES_MAX + CLUMPI_REGISTERED_MOST + 2 * CLUMPI_ARRAYS_MOST))

clump_status clumpi_head_write(clumpi_stream *s, const clump_saved *saved) {
    const uint32_t classes = clump_schema_get_info(saved->schema)->class_count;
    clumpi_text schema = {.allocator = s->allocator}, head = {.allocator = s->allocator};
    clumpi_schema_emit_text(&schema, saved->schema);
    const uint32_t words[WORDS] = {[SCHEMA_BYTES] = (uint32_t)schema.bytes,
                                   [CLASSES] = classes,
                                   [PIECE_BYTES] = saved->piece_bytes,
                                   [REGISTERED] = saved->registered,
                                   [HANDLES] = saved->handles,
                                   [ARRAYS] = saved->array_count};
    clumpi_text_append_bytes(&head, (const char *)words, sizeof words);
    if (schema.data) clumpi_text_append_bytes(&head, schema.data, schema.bytes);
    for (uint32_t id = 1; id <= classes; id++) {
        const uint64_t numbers[2] = {saved->counts[id], saved->reserved[id]};
        clumpi_text_append_bytes(&head, (const char *)numbers, sizeof numbers);
    }
    if (saved->registered)
        clumpi_text_append_bytes(&head, (const char *)saved->registered_counts,
                                 saved->registered * sizeof *saved->registered_counts);
    for (uint32_t i = 0; i < saved->array_count; i++) {
        const uint64_t numbers[2] = {saved->arrays[i].elements, saved->arrays[i].capacity};
        clumpi_text_append_bytes(&head, (const char *)numbers, sizeof numbers);
    }
    clump_status status = CLUMP_OK;
    if (schema.failed || head.failed)
        status = clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY,
                             "no host memory for the head of a saved heap");
    if (!status)
        status = clumpi_piece_write(s, CLUMPI_KIND_HEAD, head.data, (uint32_t)head.bytes, NULL);
    clumpi_free(s->allocator, schema.data);
    clumpi_free(s->allocator, head.data);
    return status;
}

static clump_status wrong(clumpi_stream *s, const char *what) {
    return clumpi_fail(s->error, CLUMP_ERR_FORMAT, "%s is not valid: %s", clumpi_stream_name(s),
                       what);
}

static clump_status parse_schema(clumpi_stream *s, clump_saved *saved, const char *text,
                                 uint32_t bytes, uint32_t classes) {
    clump_error error = {0};
    clump_status status =
        clump_schema_parse(text, bytes, &saved->allocator, &saved->schema, &error);
    if (status == CLUMP_ERR_HOST_MEMORY)
        return clumpi_fail(s->error, status, "no host memory for the schema of a saved heap");
    if (status)
        return clumpi_fail(s->error, CLUMP_ERR_FORMAT, "%s is not valid: its schema, line %u: %s",
                           clumpi_stream_name(s), error.line, error.message);
    if (clump_schema_get_info(saved->schema)->class_count != classes)
        return wrong(s, "its schema has another number of classes");
    return CLUMP_OK;
}

static clump_status read_class(clumpi_stream *s, clump_saved *saved, uint32_t id,
                               const uint64_t numbers[2]) {
    const clump_class_info *c = clump_schema_get_info(saved->schema)->classes[id];
    if (c->is_abstract && (numbers[0] || numbers[1]))
        return wrong(s, "an abstract class has objects");
    if (numbers[0] > CLUMPI_OBJECTS_MOST - saved->objects)
        return wrong(s, "it has more objects than a heap can have");
    if (numbers[1] > UINT64_C(1) << 31) return wrong(s, "it has more reserved slots than 2^31");
    saved->counts[id] = numbers[0];
    saved->reserved[id] = numbers[1];
    saved->objects += numbers[0];
    return CLUMP_OK;
}

static clump_status read_registered(clumpi_stream *s, clump_saved *saved, const uint8_t *at) {
    if (!saved->registered) return CLUMP_OK;
    const size_t bytes = saved->registered * sizeof *saved->registered_counts;
    saved->registered_counts = clumpi_alloc(&saved->allocator, bytes);
    if (!saved->registered_counts)
        return clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for registered references");
    memcpy(saved->registered_counts, at, bytes);
    for (uint32_t i = 0; i < saved->registered; i++)
        if (saved->registered_counts[i] > UINT64_C(1) << 40)
            return wrong(s, "a registered buffer has more than 2^40 references");
    return CLUMP_OK;
}

/* Elements and room are those of a heap, so that nothing overflows that is made of them. */
static clump_status read_arrays(clumpi_stream *s, clump_saved *saved, const uint8_t *at) {
    clump_saved_array *array = NULL;
    if (clumpi_saved_count_arrays(saved) != saved->array_count)
        return wrong(s, "its schema has another number of arrays that grow");
    if (!saved->array_count) return CLUMP_OK;
    array = saved->arrays = clumpi_alloc(&saved->allocator, saved->array_count * sizeof *array);
    if (!array)
        return clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %u arrays",
                           saved->array_count);
    for (clumpi_saved_column c = {.owner = 0}; clumpi_saved_next(saved, &c);) {
        uint64_t numbers[2];
        if (c.kind != CLUMPI_KIND_ELEMENTS) continue;
        memcpy(numbers, at, sizeof numbers);
        at += sizeof numbers;
        if (numbers[0] > numbers[1] || numbers[1] > CLUMPI_ARRAY_BYTES_MOST / c.bytes)
            return wrong(s, "an array that grows has more elements than a heap has room for");
        clumpi_saved_name_array(saved, &c, array);
        array->elements = numbers[0];
        array++->capacity = numbers[1];
    }
    return CLUMP_OK;
}

static clump_status decode(clumpi_stream *s, clump_saved *saved, const uint8_t *head,
                           uint32_t bytes) {
    uint32_t words[WORDS];
    if (bytes < sizeof words) return wrong(s, "its head is too short");
    memcpy(words, head, sizeof words);
    if (words[CLASSES] > CLUMP_CLASSES_MAX || words[REGISTERED] > CLUMPI_REGISTERED_MOST ||
        words[ARRAYS] > CLUMPI_ARRAYS_MOST ||
        bytes != sizeof words + (uint64_t)words[SCHEMA_BYTES] +
                     sizeof(uint64_t) * (2 * (uint64_t)words[CLASSES] + words[REGISTERED] +
                                         2 * (uint64_t)words[ARRAYS]))
        return wrong(s, "the size of its head is not the size that the head states");
    if (words[PIECE_BYTES] < CLUMPI_PIECE_LEAST || words[PIECE_BYTES] > CLUMPI_PIECE_MOST)
        return wrong(s, "the size of its pieces is not allowed");
    saved->piece_bytes = words[PIECE_BYTES];
    saved->registered = words[REGISTERED];
    saved->handles = words[HANDLES];
    saved->array_count = words[ARRAYS];
    const uint8_t *at = head + sizeof words;
    clump_status status =
        parse_schema(s, saved, (const char *)at, words[SCHEMA_BYTES], words[CLASSES]);
    at += words[SCHEMA_BYTES];
    for (uint32_t id = 1; !status && id <= words[CLASSES]; id++) {
        uint64_t numbers[2];
        memcpy(numbers, at, sizeof numbers);
        at += sizeof numbers;
        status = read_class(s, saved, id, numbers);
    }
    if (!status) status = read_registered(s, saved, at);
    at += saved->registered * sizeof *saved->registered_counts;
    return status ? status : read_arrays(s, saved, at);
}

clump_status clumpi_head_read(clumpi_stream *s, clump_saved *saved) {
    uint8_t *head;
    uint32_t bytes = 0;
    saved->allocator = *s->allocator;
    clump_status status = clumpi_begin_read(s);
    if (status) return status;
    status = clumpi_piece_read_any(s, CLUMPI_KIND_HEAD, HEAD_MOST, &head, &bytes);
    if (!status) status = decode(s, saved, head, bytes);
    clumpi_free(s->allocator, head);
    if (!status) s->all = clumpi_saved_value_bytes(saved);
    return status;
}

void clumpi_saved_clear(clump_saved *saved) {
    clump_schema_destroy(saved->schema);
    if (saved->registered_counts) clumpi_free(&saved->allocator, saved->registered_counts);
    if (saved->arrays) clumpi_free(&saved->allocator, saved->arrays);
    saved->schema = NULL;
    saved->registered_counts = NULL;
    saved->arrays = NULL;
}
