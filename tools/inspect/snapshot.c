/* Reads a dump, or a saved heap, into a snapshot. A dump may be any file, so all of it is checked.
 * Read first: inspect.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clump/all.h"
#include "inspect.h"

int complain(const char *path, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "clump-inspect: %s: ", path);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return 0;
}

/* ---- Members of a dump ----------------------------------------------------------------------- */

#define MOST 9007199254740992.0 /* 2^53: whole numbers up to here are exact in JSON */

static int take_number(const char *path, const cJSON *of, const char *name, double most,
                       uint64_t *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(of, name);
    double v = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(v >= 0 && v <= most) || v != (double)(uint64_t)v)
        return complain(path, "not a valid dump: \"%s\" is not a whole number from 0 to %.0f", name,
                        most);
    *value = (uint64_t)v;
    return 1;
}

static int take_share(const char *path, const cJSON *of, const char *name, double *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(of, name);
    *value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (*value >= 0 && *value <= 1) return 1;
    return complain(path, "not a valid dump: \"%s\" is not a number from 0 to 1", name);
}

/* Optional ones may be null. */
static int take_text(const char *path, const cJSON *of, const char *name, int is_optional,
                     const char **value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(of, name);
    *value = cJSON_GetStringValue(item);
    if (*value || (is_optional && cJSON_IsNull(item))) return 1;
    return complain(path, "not a valid dump: \"%s\" is not a text", name);
}

static const cJSON *take_array(const char *path, const cJSON *of, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(of, name);
    if (!cJSON_IsArray(item)) complain(path, "not a valid dump: \"%s\" is not an array", name);
    return cJSON_IsArray(item) ? item : NULL;
}

/* ---- A dump ---------------------------------------------------------------------------------- */

static int take_class(snapshot *s, const cJSON *item) {
    class_entry *c = &s->classes[s->class_count];
    uint64_t id = 0, capacity = 0;
    const cJSON *fill;
    if (!take_number(s->path, item, "id", IDS - 1, &id) ||
        !take_text(s->path, item, "name", 0, &c->name) ||
        !take_number(s->path, item, "object_bytes", UINT32_MAX, &c->object_bytes) ||
        !take_number(s->path, item, "capacity", 4096, &capacity) ||
        !take_number(s->path, item, "objects", MOST, &c->objects) ||
        !take_number(s->path, item, "slots", MOST, &c->slots) ||
        !take_number(s->path, item, "blocks", MOST, &c->blocks) ||
        !take_number(s->path, item, "active_blocks", MOST, &c->active_blocks) ||
        !take_share(s->path, item, "fragmentation", &c->fragmentation) ||
        !(fill = take_array(s->path, item, "fill")))
        return 0;
    if (!id || (s->class_count && id <= c[-1].id))
        return complain(s->path,
                        "not a valid dump: class \"%s\" has the id %u, but the ids must rise",
                        c->name, (unsigned)id);
    if (cJSON_GetArraySize(fill) != BINS)
        return complain(s->path,
                        "not a valid dump: \"fill\" of class \"%s\" has %d numbers, not %d",
                        c->name, cJSON_GetArraySize(fill), BINS);
    for (int i = 0; i < BINS; i++) {
        double bin = cJSON_GetNumberValue(cJSON_GetArrayItem(fill, i));
        if (!(bin >= 0 && bin <= MOST))
            return complain(
                s->path, "not a valid dump: \"fill\" of class \"%s\" is not a histogram", c->name);
        c->fill[i] = (uint64_t)bin;
    }
    c->id = (uint32_t)id;
    c->capacity = (uint32_t)capacity;
    c->is_abstract = !capacity;
    c->is_raw = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "raw"));
    s->class_count++;
    return 1;
}

static int take_classes(snapshot *s) {
    const cJSON *classes = take_array(s->path, s->dump, "classes"), *item;
    if (!classes) return 0;
    cJSON_ArrayForEach(item, classes) {
        if (!take_class(s, item)) return 0;
    }
    return 1;
}

static int take_live(snapshot *s) {
    const cJSON *live = cJSON_GetObjectItemCaseSensitive(s->dump, "live"), *item;
    if (!live) return 1; /* the heap is not checked, or has no objects */
    s->live = calloc((size_t)cJSON_GetArraySize(live) + 1, sizeof *s->live);
    if (!s->live) return complain(s->path, "no memory");
    cJSON_ArrayForEach(item, live) {
        live_entry *l = &s->live[s->live_count++];
        if (!take_text(s->path, item, "class", 0, &l->class_name) ||
            !take_text(s->path, item, "kernel", 1, &l->kernel) ||
            !take_text(s->path, item, "program", 1, &l->program) ||
            !take_number(s->path, item, "line", UINT32_MAX, &l->line) ||
            !take_number(s->path, item, "objects", MOST, &l->objects))
            return 0;
    }
    return 1;
}

/* One entry of both arrays. */
static int is_block(const cJSON *class_of, const cJSON *used, const uint32_t capacities[IDS]) {
    double id = cJSON_IsNumber(class_of) ? class_of->valuedouble : -1,
           slots = cJSON_IsNumber(used) ? used->valuedouble : -1;
    if (cJSON_IsNull(class_of)) return slots == 0;
    if (!(id >= 0 && id < IDS) || id != (double)(uint32_t)id) return 0;
    uint32_t most = capacities[(uint32_t)id];
    return (id == 0 || most) && slots >= 0 && slots <= most && slots == (double)(uint32_t)slots;
}

static int take_blocks(snapshot *s) {
    const cJSON *classes = take_array(s->path, s->dump, "block_class"),
                *used = take_array(s->path, s->dump, "block_used");
    uint32_t capacities[IDS] = {0};
    if (!classes || !used) return 0;
    if ((uint64_t)cJSON_GetArraySize(classes) != s->blocks ||
        (uint64_t)cJSON_GetArraySize(used) != s->blocks)
        return complain(
            s->path, "not a valid dump: it has %llu blocks, but classes of %d, and fills of %d",
            (unsigned long long)s->blocks, cJSON_GetArraySize(classes), cJSON_GetArraySize(used));
    for (uint32_t i = 0; i < s->class_count; i++)
        capacities[s->classes[i].id] = s->classes[i].capacity;
    s->block_class = classes->child;
    s->block_used = used->child;
    const cJSON *c = s->block_class, *u = s->block_used;
    for (uint64_t b = 0; b < s->blocks; b++, c = c->next, u = u->next)
        if (!is_block(c, u, capacities))
            return complain(s->path, "not a valid dump: the numbers of block %llu are not possible",
                            (unsigned long long)s->first_block + b);
    return 1;
}

static int take_dump(snapshot *s) {
    const char *format = NULL;
    if (!take_text(s->path, s->dump, "format", 0, &format)) return 0;
    if (strcmp(format, "clump heap 1") != 0)
        return complain(s->path, "its format is \"%s\", not \"clump heap 1\"", format);
#define NUMBER(name) take_number(s->path, s->dump, #name, MOST, &s->name) &&
    return NUMBER(bytes) NUMBER(metadata_bytes) NUMBER(granule_bytes) NUMBER(block_granules)
               NUMBER(first_block) NUMBER(blocks) NUMBER(free_blocks) NUMBER(damaged_blocks)
                   NUMBER(raw_blocks) NUMBER(raw_bytes) NUMBER(objects) NUMBER(slots)
                       take_share(s->path, s->dump, "fragmentation", &s->fragmentation) &&
           take_classes(s) && take_live(s) && take_blocks(s);
#undef NUMBER
}

/* ---- A saved heap ---------------------------------------------------------------------------- */

static void take_saved(snapshot *s) {
    const clump_schema *schema = clump_saved_get_info(s->saved)->schema;
    s->objects = clump_saved_get_info(s->saved)->objects[0];
    s->class_count = clump_schema_get_info(schema)->class_count;
    for (uint32_t id = 1; id <= s->class_count; id++) {
        const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
        s->classes[id - 1] = (class_entry){.name = info->name,
                                           .is_abstract = info->is_abstract,
                                           .id = id,
                                           .object_bytes = info->object_bytes,
                                           .objects = clump_saved_get_info(s->saved)->objects[id]};
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* All of it, with a zero at its end; NULL with words. */
static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    size_t bytes = 0, room = 1u << 16;
    char *text = file ? malloc(room) : NULL;
    while (text) {
        bytes += fread(text + bytes, 1, room - bytes - 1, file);
        if (bytes < room - 1) break;
        char *more = realloc(text, room *= 2);
        if (!more) free(text);
        text = more;
    }
    int failed = file && ferror(file);
    if (file) fclose(file);
    if (text && !failed) {
        text[bytes] = 0;
        *size = bytes;
        return text;
    }
    free(text);
    complain(path, file ? "cannot be read, or is too large" : "cannot be opened");
    return NULL;
}

static void tell_place(const char *path, const char *text, const char *end) {
    unsigned line = 1, column = 1;
    for (; text < end; text++) {
        column = *text == '\n' ? 1 : column + 1;
        line += *text == '\n';
    }
    complain(path, "not valid JSON near line %u, column %u", line, column);
}

int read_snapshot(const char *path, snapshot *s) {
    memset(s, 0, sizeof *s);
    s->path = path;
    size_t bytes = 0;
    char *text = read_file(path, &bytes);
    if (!text) return 0;
    int good = 1;
    if (text[strspn(text, " \t\r\n")] == '{') {
        const char *end = text;
        s->dump = cJSON_ParseWithOpts(text, &end, 1);
        if (s->dump && strlen(text) != bytes) { /* the rest is behind a zero */
            cJSON_Delete(s->dump);
            s->dump = NULL;
            end = text + strlen(text);
        }
        if (!s->dump) tell_place(path, text, end);
        good = s->dump && take_dump(s);
    } else {
        clump_error error;
        good = !clump_saved_open(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = path},
                                 NULL, &s->saved, &error);
        if (good)
            take_saved(s);
        else
            complain(path, "neither a dump nor a saved heap: %s", error.message);
    }
    free(text);
    if (!good) free_snapshot(s);
    return good;
}

void free_snapshot(snapshot *s) {
    cJSON_Delete(s->dump);
    clump_saved_close(s->saved);
    free(s->live);
    memset(s, 0, sizeof *s);
}
