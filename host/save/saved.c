/* A saved heap without a device: what it has, and whether it is whole.
 *
 * Read first: format.h.
 */
#include <string.h>

#include "save/format.h"
#include "schema/schema.h"

/* ---- Columns --------------------------------------------------------------------------------- */

/* The next class with objects. */
static int next_class(const clump_saved *saved, clumpi_saved_column *column) {
    const uint32_t classes = clump_schema_get_info(saved->schema)->class_count;
    for (uint32_t id = column->class_info.id + 1; id <= classes; id++) {
        if (!saved->counts[id]) continue;
        column->class_info = *clump_schema_get_info(saved->schema)->classes[id];
        column->owner = id;
        column->next = 0;
        return 1;
    }
    return 0;
}

/* An array without elements in the object has a column of no bytes. */
static void take_field(const clump_saved *saved, clumpi_saved_column *column,
                       const clump_field_info *f) {
    column->field = *f;
    column->kind = CLUMPI_KIND_VALUES;
    column->count = saved->counts[column->class_info.id];
    column->bytes = f->element_bytes * clumpi_elements(f);
    if (f->part == CLUMP_PART_MEMORY) {
        column->field = *clumpi_schema_array_of(saved->schema, f->class_id, f);
        column->kind = CLUMPI_KIND_ELEMENTS;
        column->array = column->arrays++;
        column->count = saved->arrays ? saved->arrays[column->array].elements : 0;
        column->bytes = column->field.element_bytes;
    }
    column->piece_count = column->bytes ? saved->piece_bytes / column->bytes : 0;
    if (!column->piece_count) column->piece_count = 1;
}

int clumpi_saved_next(const clump_saved *saved, clumpi_saved_column *column) {
    for (;;) {
        clump_class_info owner;
        if (!column->owner && !next_class(saved, column)) return 0;
        owner = *clump_schema_get_info(saved->schema)->classes[column->owner];
        if (column->next < owner.field_count) {
            take_field(saved, column, owner.fields[column->next++]);
            if (column->bytes) return 1;
            continue;
        }
        column->owner = owner.base;
        column->next = 0;
    }
}

uint32_t clumpi_saved_count_arrays(const clump_saved *saved) {
    clumpi_saved_column c = {.owner = 0};
    while (clumpi_saved_next(saved, &c)) {
    }
    return c.arrays;
}

void clumpi_saved_name_array(const clump_saved *saved, const clumpi_saved_column *column,
                             clump_saved_array *array) {
    array->class_id = column->class_info.id;
    array->field = clump_schema_find_field(saved->schema, array->class_id, column->field.name);
}

uint64_t clumpi_saved_value_bytes(const clump_saved *saved) {
    uint64_t bytes = 0;
    for (clumpi_saved_column c = {.owner = 0}; clumpi_saved_next(saved, &c);)
        bytes += c.count * c.bytes;
    return bytes;
}

uint32_t clumpi_saved_words_at_once(const clump_saved *saved, uint64_t left) {
    const uint32_t most = saved->piece_bytes / (uint32_t)sizeof(clump_ref);
    return left < most ? (uint32_t)left : most;
}

static void take_words(const clump_saved *saved, uint64_t count, uint32_t *most) {
    const uint32_t bytes = clumpi_saved_words_at_once(saved, count) * (uint32_t)sizeof(clump_ref);
    if (bytes > *most) *most = bytes;
}

uint32_t clumpi_saved_piece_most(const clump_saved *saved) {
    uint32_t most = CLUMPI_PIECE_LEAST;
    for (clumpi_saved_column c = {.owner = 0}; clumpi_saved_next(saved, &c);) {
        const uint64_t n = c.count < c.piece_count ? c.count : c.piece_count;
        if (n * c.bytes > most) most = (uint32_t)n * c.bytes;
    }
    for (uint32_t i = 0; i < saved->registered; i++)
        take_words(saved, saved->registered_counts[i], &most);
    take_words(saved, saved->handles, &most);
    return most;
}

/* After the head was read. */
static void describe(clump_saved *saved) {
    saved->counts[0] = saved->objects;
    saved->info = (clump_saved_info){.schema = saved->schema,
                                     .objects = saved->counts,
                                     .registered = saved->registered,
                                     .registered_counts = saved->registered_counts,
                                     .arrays = saved->arrays,
                                     .array_count = saved->array_count};
}

/* ---- Public calls ---------------------------------------------------------------------------- */

clump_status clump_saved_open(const clump_load_desc *desc, const clump_allocator *allocator,
                              clump_saved **saved, clump_error *error) {
    if (saved) *saved = NULL;
    if (!saved)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_saved_open needs a pointer for the result");
    const clump_allocator a = clumpi_allocator_resolve(allocator);
    clump_load_desc own;
    clumpi_stream s;
    clump_status status = CLUMPI_TAKE(clump_load_desc, &own, desc, error);
    if (!status) status = clumpi_stream_open(&s, &own, "clump_saved_open", &a, error);
    if (status) return status;
    clump_saved *made = clumpi_alloc(&a, sizeof *made);
    if (!made)
        status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a saved heap");
    if (!status) status = clumpi_head_read(&s, made);
    clumpi_stream_close(&s);
    if (status) {
        if (made) clumpi_saved_clear(made);
        clumpi_free(&a, made);
        return status;
    }
    describe(made);
    *saved = made;
    return CLUMP_OK;
}

void clump_saved_close(clump_saved *saved) {
    if (!saved) return;
    const clump_allocator a = saved->allocator;
    clumpi_saved_clear(saved);
    clumpi_free(&a, saved);
}

const clump_saved_info *clump_saved_get_info(const clump_saved *saved) {
    static const uint64_t no_objects[CLUMP_CLASSES_MAX + 1];
    static const clump_saved_info none = {.objects = no_objects};
    return saved ? &saved->info : &none;
}

/* ---- All of it ------------------------------------------------------------------------------- */

typedef struct reading {
    clumpi_stream stream;
    clump_saved saved;
    uint64_t first[CLUMP_CLASSES_MAX + 2]; /* by class id: the number of its first object */
    uint8_t *piece;
    clumpi_saved_lengths lengths;
    const clumpi_saved_reader *reader;
} reading;

static void number_classes(reading *r) {
    for (uint32_t id = 1; id <= CLUMP_CLASSES_MAX; id++)
        r->first[id + 1] = r->first[id] + r->saved.counts[id];
}

/* References must be null, or of the objects least .. end - 1. */
static clump_status judge(reading *r, const clump_saved_part *part, uint64_t least, uint64_t end) {
    const uint32_t words = part->count * (part->bytes / (uint32_t)sizeof(clump_ref));
    const clump_ref *refs = part->data;
    for (uint32_t i = 0; i < words; i++) {
        if (!refs[i] || (refs[i] > least && refs[i] <= end)) continue;
        clump_class_info c = {.name = "a registered buffer"};
        if (part->buffer == CLUMP_SAVED_HANDLES) c.name = "a handle";
        if (part->class_id) c = *clump_schema_get_info(r->saved.schema)->classes[part->class_id];
        return clumpi_fail(r->stream.error, CLUMP_ERR_FORMAT,
                           "%s is not valid: %s%s%s has a reference to object %u, but can only "
                           "refer to objects %llu to %llu",
                           clumpi_stream_name(&r->stream), c.name, part->field ? "." : "",
                           part->field ? part->field->name : "", refs[i],
                           (unsigned long long)least + 1, (unsigned long long)end);
    }
    return CLUMP_OK;
}

/* A length, and the room for it. */
static clump_status too_long(clumpi_stream *s, const clump_schema *schema, uint32_t class_id,
                             const clump_field_info *array, uint32_t length, uint64_t room) {
    return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                       "%s is not valid: array %s of class %s has a length of %u, and room for "
                       "%llu elements",
                       clumpi_stream_name(s), array->name,
                       clump_schema_get_info(schema)->classes[class_id]->name, length,
                       (unsigned long long)room);
}

static clump_status keep_lengths(clumpi_stream *s, clumpi_saved_lengths *l, uint64_t from,
                                 const void *lengths, uint32_t count) {
    if (!clumpi_grow(s->allocator, &l->outside, &l->room, from + count, sizeof *l->outside))
        return clumpi_fail(s->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %llu lengths",
                           (unsigned long long)(from + count));
    memcpy(l->outside + from, lengths, count * sizeof *l->outside);
    l->elements = l->capacity = 0;
    return CLUMP_OK;
}

clump_status clumpi_saved_check_lengths(clumpi_stream *s, clumpi_saved_lengths *l,
                                        const clump_schema *schema, uint32_t class_id,
                                        const clump_field_info *f, uint64_t from,
                                        const void *values, uint32_t count) {
    uint32_t wrong;
    const clump_field_info *array =
        clumpi_schema_find_too_long(schema, class_id, f, values, sizeof wrong, count, &wrong);
    if (array) return too_long(s, schema, class_id, array, wrong, array->count);
    array = clumpi_schema_array_of(schema, class_id, f);
    if (!array || array->array != CLUMP_ARRAY_GROWING) return CLUMP_OK;
    if (f->part == CLUMP_PART_LENGTH) return keep_lengths(s, l, from, values, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *outside = &l->outside[from + i];
        const uint32_t capacity = ((const uint32_t *)values)[i];
        const uint64_t room = (uint64_t)array->count + capacity;
        if (*outside > room) return too_long(s, schema, class_id, array, *outside, room);
        *outside = *outside > array->count ? *outside - array->count : 0;
        l->elements += *outside;
        l->capacity += capacity;
    }
    return CLUMP_OK;
}

clump_status clumpi_saved_check_sums(clumpi_stream *s, const clumpi_saved_lengths *l,
                                     const clump_saved *saved, const clumpi_saved_column *column) {
    const clump_saved_array *array = &saved->arrays[column->array];
    if (l->elements == array->elements && l->capacity == array->capacity) return CLUMP_OK;
    return clumpi_fail(s->error, CLUMP_ERR_FORMAT,
                       "%s is not valid: the arrays %s of class %s have %llu elements in raw "
                       "memory, and room for %llu, but its head states %llu and %llu",
                       clumpi_stream_name(s), column->field.name, column->class_info.name,
                       (unsigned long long)l->elements, (unsigned long long)l->capacity,
                       (unsigned long long)array->elements, (unsigned long long)array->capacity);
}

static clump_status ended(reading *r, int code) {
    return code ? clumpi_fail(r->stream.error, CLUMP_ERR_IO,
                              "%s: the function that receives parts returned %d", r->reader->call,
                              code)
                : CLUMP_OK;
}

static clump_status check_part(reading *r, const clump_saved_part *part) {
    uint64_t least = 0, end = r->saved.objects;
    int is_refs = !part->field;
    if (part->field && part->field->type == CLUMP_TYPE_REF) {
        clump_class_info to =
            *clump_schema_get_info(r->saved.schema)->classes[part->field->ref_class];
        least = r->first[to.id];
        end = r->first[to.last + 1];
        is_refs = 1;
    }
    clump_status status = is_refs ? judge(r, part, least, end) : CLUMP_OK;
    if (!status && part->field)
        status =
            clumpi_saved_check_lengths(&r->stream, &r->lengths, r->saved.schema, part->class_id,
                                       part->field, part->from, part->data, part->count);
    return status;
}

static clump_status hand_over(reading *r, const clump_saved_part *part) {
    if (!r->reader->take) return CLUMP_OK;
    return ended(r, r->reader->take(r->reader->user, &r->saved, part));
}

/* Elements from number `from` of the array on, which the objects from *object on have. *taken: of
 * that object, before. */
static clump_status hand_over_elements(reading *r, clump_saved_part part, uint64_t *object,
                                       uint32_t *taken) {
    const uint8_t *data = part.data;
    const uint32_t each = part.bytes;
    clump_status status = CLUMP_OK;
    for (uint32_t left = part.count, n; left && !status; left -= n) {
        while (r->lengths.outside[*object] == *taken) {
            ++*object;
            *taken = 0;
        }
        n = r->lengths.outside[*object] - *taken;
        if (n > left) n = left;
        part.from = *object;
        part.count = 1;
        part.bytes = n * each;
        part.element = part.field->count + *taken;
        part.data = data;
        status = hand_over(r, &part);
        data += part.bytes;
        *taken += n;
    }
    return status;
}

/* `count` things like those of `part`, in pieces of up to `most`. */
static clump_status read_parts(reading *r, uint32_t kind, clump_saved_part part, uint64_t count,
                               uint32_t most) {
    clump_status status = CLUMP_OK;
    uint64_t object = 0; /* of elements */
    uint32_t taken = 0;
    part.data = r->piece;
    for (; !status && part.from < count; part.from += part.count) {
        const uint64_t left = count - part.from;
        part.count = left < most ? (uint32_t)left : most;
        const uint32_t bytes = part.count * part.bytes;
        status = clumpi_piece_read(&r->stream, kind, r->piece, bytes);
        clump_ref *words = (clump_ref *)r->piece;
        for (uint32_t i = 0; kind == CLUMPI_KIND_HANDLES && i < part.count; i++)
            if (words[i] == CLUMPI_HANDLE_NONE) words[i] = 0;
        if (!status) status = check_part(r, &part);
        if (!status)
            status = kind == CLUMPI_KIND_ELEMENTS && !r->reader->elements_together
                         ? hand_over_elements(r, part, &object, &taken)
                         : hand_over(r, &part);
        if (!status && part.field) status = clumpi_stream_progress(&r->stream, bytes);
    }
    return status;
}

static clump_status read_all(reading *r) {
    const clump_saved *saved = &r->saved;
    const uint32_t word = sizeof(clump_ref), words = saved->piece_bytes / word;
    clump_status status = CLUMP_OK;
    for (clumpi_saved_column c = {.owner = 0}; !status && clumpi_saved_next(saved, &c);) {
        if (c.kind == CLUMPI_KIND_ELEMENTS)
            status = clumpi_saved_check_sums(&r->stream, &r->lengths, saved, &c);
        if (!status)
            status =
                read_parts(r, c.kind,
                           (clump_saved_part){
                               .field = &c.field, .class_id = c.class_info.id, .bytes = c.bytes},
                           c.count, c.piece_count);
    }
    for (uint32_t i = 0; !status && i < saved->registered; i++)
        status =
            read_parts(r, CLUMPI_KIND_REGISTERED, (clump_saved_part){.buffer = i, .bytes = word},
                       saved->registered_counts[i], words);
    if (!status)
        status = read_parts(r, CLUMPI_KIND_HANDLES,
                            (clump_saved_part){.buffer = CLUMP_SAVED_HANDLES, .bytes = word},
                            saved->handles, words);
    return status ? status : clumpi_end_read(&r->stream);
}

clump_status clumpi_saved_read(const clump_load_desc *desc, const clumpi_saved_reader *reader,
                               const clump_allocator *allocator, clump_error *error) {
    const clump_allocator a = clumpi_allocator_resolve(allocator);
    clump_load_desc own;
    clumpi_stream s;
    clump_status status = CLUMPI_TAKE(clump_load_desc, &own, desc, error);
    if (!status) status = clumpi_stream_open(&s, &own, reader->call, &a, error);
    if (status) return status;
    reading *r = clumpi_alloc(&a, sizeof *r);
    if (!r) {
        clumpi_stream_close(&s);
        return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for reading a saved heap");
    }
    r->stream = s;
    r->reader = reader;
    status = clumpi_head_read(&r->stream, &r->saved);
    if (!status) {
        describe(&r->saved);
        number_classes(r);
        r->piece = clumpi_alloc(&a, clumpi_saved_piece_most(&r->saved));
        if (!r->piece)
            status =
                clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a piece of %u bytes",
                            clumpi_saved_piece_most(&r->saved));
    }
    if (!status && reader->begin) status = ended(r, reader->begin(reader->user, &r->saved));
    if (!status) status = read_all(r);
    clumpi_free(&a, r->piece);
    clumpi_free(&a, r->lengths.outside);
    clumpi_saved_clear(&r->saved);
    clumpi_stream_close(&r->stream);
    clumpi_free(&a, r);
    return status;
}

clump_status clump_saved_read(const clump_load_desc *desc, const clump_allocator *allocator,
                              clump_saved_fn take, void *user, clump_error *error) {
    const clumpi_saved_reader reader = {.call = "clump_saved_read", .take = take, .user = user};
    return clumpi_saved_read(desc, &reader, allocator, error);
}
