/* Fuzzing of what reads saved heaps: clump_saved_open(), clump_saved_read().
 *
 * The first byte says how: bit 0, checksums are made right first (reseal.h), so that what they
 * protect is read, too; bit 1, the bytes are a file, else they come from a function; bit 2, reads
 * are short now and then, which is the end. What must hold for all bytes: an error has words and
 * leaves nothing; what is accepted has a schema and adds up, also part by part, was read to its
 * last byte and no further, is refused with a byte less, and is the same when its head is written
 * and read again.
 * Read first: fuzz.h, host/save/format.h.
 */
#include "fuzz.h"
#include "support/reseal.h"

typedef struct source {
    const uint8_t *data;
    size_t bytes, at;
} source;

static size_t take(void *user, void *data, size_t bytes) {
    source *s = user;
    const size_t n = bytes < s->bytes - s->at ? bytes : s->bytes - s->at;
    if (n) memcpy(data, s->data + s->at, n);
    s->at += n;
    return n;
}

static int keep(void *user, const void *data, size_t bytes) {
    source *s = user;
    REQUIRE(bytes <= s->bytes - s->at);
    if (bytes) memcpy((uint8_t *)(uintptr_t)s->data + s->at, data, bytes);
    s->at += bytes;
    return 0;
}

static int count_progress(void *user, uint64_t done, uint64_t all) {
    (void)user;
    REQUIRE(done <= all);
    return 0;
}

/* The same numbers, in a head that is written and read. */
static void check_head(const clump_saved *saved) {
    static uint8_t data[8 << 20];
    const clump_allocator a = clumpi_allocator_resolve(NULL);
    source to = {.data = data, .bytes = sizeof data};
    clumpi_stream s;
    clump_error error;
    clump_saved *again;
    REQUIRE(!clumpi_stream_create(
        &s, &(clump_save_desc){.size = sizeof(clump_save_desc), .write = keep, .user = &to}, "fuzz",
        &a, &error));
    REQUIRE(!clumpi_begin_write(&s, CLUMPI_SAVE_VERSION_ARRAYS) && !clumpi_head_write(&s, saved));
    clumpi_stream_close(&s);
    source from = {.data = data, .bytes = to.at};
    REQUIRE(!clump_saved_open(
        &(clump_load_desc){.size = sizeof(clump_load_desc), .read = take, .user = &from}, NULL,
        &again, &error));
    REQUIRE(again->objects == saved->objects && again->handles == saved->handles &&
            again->piece_bytes == saved->piece_bytes && again->registered == saved->registered);
    REQUIRE(memcmp(again->counts, saved->counts, sizeof saved->counts) == 0);
    REQUIRE(memcmp(again->reserved, saved->reserved, sizeof saved->reserved) == 0);
    REQUIRE(again->array_count == saved->array_count);
    for (uint32_t i = 0; i < saved->array_count; i++)
        REQUIRE(again->arrays[i].class_id == saved->arrays[i].class_id &&
                strcmp(again->arrays[i].field->name, saved->arrays[i].field->name) == 0 &&
                again->arrays[i].elements == saved->arrays[i].elements &&
                again->arrays[i].capacity == saved->arrays[i].capacity);
    REQUIRE(clumpi_saved_value_bytes(again) == clumpi_saved_value_bytes(saved));
    clump_saved_close(again);
}

static void check_saved(const clump_saved *saved) {
    const clump_schema *schema = clump_saved_get_info(saved)->schema;
    const uint32_t classes = clump_schema_get_info(schema)->class_count;
    uint64_t objects = 0;
    REQUIRE(classes > 0);
    for (uint32_t id = 1; id <= classes; id++) {
        const clump_class_info *c = clump_schema_get_info(schema)->classes[id];
        REQUIRE(!c->is_abstract || !clump_saved_get_info(saved)->objects[id]);
        objects += clump_saved_get_info(saved)->objects[id];
    }
    REQUIRE(objects == clump_saved_get_info(saved)->objects[0]);
    REQUIRE(clump_saved_get_info(saved)->objects[classes + 1] == 0);
    check_head(saved);
}

typedef struct sums {
    uint64_t values, references;
} sums;

static int add_part(void *user, const clump_saved *saved, const clump_saved_part *part) {
    sums *s = user;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < (uint64_t)part->count * part->bytes; i++)
        sum += ((const uint8_t *)part->data)[i];
    REQUIRE(sum <= part->count * 255u * part->bytes); /* all of it is there */
    REQUIRE(!part->field || part->class_id);
    *(part->field ? &s->values : &s->references) += (uint64_t)part->count * part->bytes;
    for (uint32_t i = 0; !part->field && i < part->count; i++)
        REQUIRE(((const clump_ref *)part->data)[i] <= clump_saved_get_info(saved)->objects[0]);
    return 0;
}

/* A file that is right, part by part. */
static void check_parts(source *from) {
    const clump_load_desc desc = {.size = sizeof desc, .read = take, .user = from};
    clump_saved *saved;
    clump_error error;
    sums s = {0, 0};
    from->at = 0;
    REQUIRE(!clump_saved_open(&desc, NULL, &saved, &error));
    uint64_t references = saved->handles;
    for (uint32_t i = 0; i < clump_saved_get_info(saved)->registered; i++)
        references += clump_saved_get_info(saved)->registered_counts[i];
    from->at = 0;
    REQUIRE(!clump_saved_read(&desc, NULL, add_part, &s, &error));
    REQUIRE(s.values == clumpi_saved_value_bytes(saved));
    REQUIRE(s.references == references * sizeof(clump_ref));
    clump_saved_close(saved);
}

static void run(const clump_load_desc *desc, source *from) {
    clump_error error = {0};
    clump_saved *saved = (clump_saved *)from;
    const int opened = clump_saved_open(desc, NULL, &saved, &error);
    if (opened) {
        fuzz_check_words(error.message, sizeof error.message);
        REQUIRE(!saved);
    } else {
        check_saved(saved);
        clump_saved_close(saved);
    }
    from->at = 0;
    const int checked = clump_saved_read(desc, NULL, NULL, NULL, &error);
    REQUIRE(!checked || opened == 0 || checked == opened);
    if (checked) {
        fuzz_check_words(error.message, sizeof error.message);
        return;
    }
    REQUIRE(!opened);
    if (desc->path) return;
    REQUIRE(from->at <= from->bytes);
    source less = {.data = from->data, .bytes = from->at - 1};
    REQUIRE(clump_saved_read(
                &(clump_load_desc){.size = sizeof(clump_load_desc), .read = take, .user = &less},
                NULL, NULL, NULL, &error) == CLUMP_ERR_FORMAT);
    const size_t whole = from->at;
    check_parts(from);
    const char *path = fuzz_file(0, from->data, whole);
    REQUIRE(!clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = path},
                              NULL, NULL, NULL, &error));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 1) return 0;
    uint8_t *copy = malloc(bytes);
    REQUIRE(copy);
    memcpy(copy, data + 1, bytes - 1);
    source from = {.data = copy, .bytes = bytes - 1};
    if (data[0] & 1) reseal(copy, bytes - 1);
    if (data[0] & 4) from.bytes -= from.bytes / 3;
    const char *path = data[0] & 2 ? fuzz_file(0, copy, from.bytes) : NULL;
    run(&(clump_load_desc){.size = sizeof(clump_load_desc),
                           .path = path,
                           .read = path ? NULL : take,
                           .user = &from,
                           .progress = count_progress},
        &from);
    free(copy);
    return 0;
}
