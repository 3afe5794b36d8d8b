/* Snapshots as tables. Read first: inspect.h. */
#include <stdlib.h>
#include <string.h>

#include "clump/save.h"
#include "inspect.h"

typedef unsigned long long ull;

/* The longest name, so that columns stand below each other. */
static int name_width(const snapshot *s, int least) {
    for (uint32_t i = 0; i < s->class_count; i++) {
        int width = (int)strlen(s->classes[i].name);
        if (width > least) least = width;
    }
    return least;
}

static const char *unknown(const char *text) {
    return text ? text : "?";
}

/* ---- One ------------------------------------------------------------------------------------- */

static void show_arrays(const snapshot *s) {
    const clump_saved_info *info = clump_saved_get_info(s->saved);
    if (info->array_count) printf("\n%14s %14s  %s\n", "elements", "raw bytes", "array that grows");
    for (uint32_t i = 0; i < info->array_count; i++) {
        const clump_saved_array *a = &info->arrays[i];
        printf("%14llu %14llu  %s.%s\n", (ull)a->elements,
               (ull)a->capacity * a->field->element_bytes,
               clump_schema_get_info(info->schema)->classes[a->class_id]->name, a->field->name);
    }
}

static void show_saved(const snapshot *s) {
    int width = name_width(s, 5);
    printf("%s: a saved heap, which has no blocks\n", s->path);
    printf("  %llu objects\n\n", (ull)s->objects);
    printf("%4s  %-*s %8s %12s\n", "id", width, "class", "bytes", "objects");
    for (uint32_t i = 0; i < s->class_count; i++) {
        const class_entry *c = &s->classes[i];
        printf("%4u  %-*s %8llu %12llu%s\n", c->id, width, c->name, (ull)c->object_bytes,
               (ull)c->objects, c->is_abstract ? "  (abstract)" : "");
    }
    show_arrays(s);
}

static void show_head(const snapshot *s) {
    printf("%s: a dump\n", s->path);
    printf("  %llu bytes, of these %llu metadata\n", (ull)s->bytes, (ull)s->metadata_bytes);
    printf("  %llu blocks of %llu bytes: %llu free, %llu of raw memory, %llu damaged\n",
           (ull)s->blocks, (ull)s->block_granules * s->granule_bytes, (ull)s->free_blocks,
           (ull)s->raw_blocks, (ull)s->damaged_blocks);
    printf("  %llu objects in %llu slots, F %.4f\n", (ull)s->objects, (ull)s->slots,
           s->fragmentation);
    if (s->raw_blocks) printf("  %llu bytes of raw memory\n", (ull)s->raw_bytes);
}

static void show_classes(const snapshot *s) {
    int width = name_width(s, 5);
    printf("\n%4s  %-*s %8s %12s %12s %9s %9s %7s\n", "id", width, "class", "bytes", "objects",
           "slots", "blocks", "active", "F");
    for (uint32_t i = 0; i < s->class_count; i++) {
        const class_entry *c = &s->classes[i];
        printf("%4u  %-*s %8llu %12llu %12llu %9llu %9llu %7.4f%s\n", c->id, width, c->name,
               (ull)c->object_bytes, (ull)c->objects, (ull)c->slots, (ull)c->blocks,
               (ull)c->active_blocks, c->fragmentation, c->is_abstract ? "  (abstract)" : "");
    }
    printf("\nblocks by fill, up to\n%4s  %-*s", "id", width, "class");
    for (int i = 1; i <= BINS; i++) printf(" %6d%%", i * 100 / BINS);
    printf("\n");
    for (uint32_t i = 0; i < s->class_count; i++) {
        const class_entry *c = &s->classes[i];
        if (!c->blocks) continue;
        printf("%4u  %-*s", c->id, width, c->name);
        for (int bin = 0; bin < BINS; bin++) printf(" %7llu", (ull)c->fill[bin]);
        printf("\n");
    }
}

/* Of an object of a class; 0: there is none of that name. */
static uint64_t bytes_of(const snapshot *s, const char *class_name) {
    for (uint32_t i = 0; i < s->class_count; i++)
        if (!s->classes[i].is_raw && strcmp(s->classes[i].name, class_name) == 0)
            return s->classes[i].object_bytes;
    return 0;
}

static void show_place(const live_entry *l, int width) {
    printf("  %-*s  kernel %s, %s", width, l->class_name, unknown(l->kernel), unknown(l->program));
    if (l->line) printf(":%llu", (ull)l->line);
    printf("\n");
}

void show_tables(const snapshot *s) {
    if (s->saved) {
        show_saved(s);
        return;
    }
    show_head(s);
    show_classes(s);
    if (s->live_count)
        printf("\n%12s %14s  %-*s  made by\n", "objects", "bytes", name_width(s, 5), "class");
    for (uint32_t i = 0; i < s->live_count; i++) {
        printf("%12llu %14llu", (ull)s->live[i].objects,
               (ull)s->live[i].objects * bytes_of(s, s->live[i].class_name));
        show_place(&s->live[i], name_width(s, 5));
    }
}

/* ---- Two ------------------------------------------------------------------------------------- */

/* The entry of b that is like entry `c`, which is of another snapshot; NULL: there is none. */
static const class_entry *find_class(const snapshot *b, const class_entry *c) {
    for (uint32_t i = 0; i < b->class_count; i++) {
        const class_entry *d = &b->classes[i];
        if (strcmp(c->name, d->name) == 0 && (!c->is_raw || c->object_bytes == d->object_bytes))
            return d;
    }
    return NULL;
}

static void show_class_change(const class_entry *c, const class_entry *d, int width,
                              int has_blocks) {
    static const class_entry none;
    const char *name = c ? c->name : d->name;
    if (!c) c = &none;
    if (!d) d = &none;
    printf("%-*s %8llu %12llu %12llu %+12lld", width, name,
           (ull)(c->id ? c->object_bytes : d->object_bytes), (ull)c->objects, (ull)d->objects,
           (long long)(d->objects - c->objects));
    if (has_blocks)
        printf(" %9llu %9llu %+9lld %7.4f %7.4f", (ull)c->blocks, (ull)d->blocks,
               (long long)(d->blocks - c->blocks), c->fragmentation, d->fragmentation);
    printf("\n");
}

static void show_block_changes(const snapshot *a, const snapshot *b) {
    uint64_t other_class = 0, fuller = 0, emptier = 0;
    if (a->blocks != b->blocks || a->first_block != b->first_block ||
        a->block_granules != b->block_granules || a->granule_bytes != b->granule_bytes) {
        printf("\nThe heaps have different blocks, so single blocks are not compared.\n");
        return;
    }
    const cJSON *c = a->block_class, *d = b->block_class, *u = a->block_used, *v = b->block_used;
    for (uint64_t i = 0; i < a->blocks; i++) {
        int is_other = c->type != d->type || c->valueint != d->valueint;
        other_class += (uint64_t)is_other;
        fuller += !is_other && v->valueint > u->valueint;
        emptier += !is_other && v->valueint < u->valueint;
        c = c->next;
        d = d->next;
        u = u->next;
        v = v->next;
    }
    printf("\nOf %llu blocks %llu changed their class, %llu are fuller, %llu are emptier.\n",
           (ull)a->blocks, (ull)other_class, (ull)fuller, (ull)emptier);
}

static int same_text(const char *x, const char *y) {
    return x && y ? strcmp(x, y) == 0 : x == y;
}

static uint64_t live_at(const snapshot *s, const live_entry *place) {
    for (uint32_t i = 0; i < s->live_count; i++) {
        const live_entry *l = &s->live[i];
        if (l->line == place->line && same_text(l->class_name, place->class_name) &&
            same_text(l->kernel, place->kernel) && same_text(l->program, place->program))
            return l->objects;
    }
    return 0;
}

typedef struct change {
    const live_entry *place;
    uint64_t objects, then;
    int64_t bytes;
} change;

/* What grew most, first; what shrank most, last. */
static int by_bytes(const void *a, const void *b) {
    const change *c = a, *d = b;
    if (c->bytes != d->bytes) return c->bytes < d->bytes ? 1 : -1;
    return (c->then < d->then) - (c->then > d->then);
}

/* A dump without objects has no places to tell. */
static int tells_places(const snapshot *s) {
    return !s->saved && (s->live_count || !s->objects);
}

static uint32_t find_changes(const snapshot *a, const snapshot *b, change *changes) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->live_count; i++) {
        const live_entry *l = &a->live[i];
        changes[count++] = (change){.place = l, .objects = l->objects, .then = live_at(b, l)};
    }
    for (uint32_t i = 0; i < b->live_count; i++)
        if (!live_at(a, &b->live[i]))
            changes[count++] = (change){.place = &b->live[i], .then = b->live[i].objects};
    for (uint32_t i = 0; i < count; i++) {
        change *c = &changes[i];
        const snapshot *s = c->then ? b : a;
        c->bytes =
            ((int64_t)c->then - (int64_t)c->objects) * (int64_t)bytes_of(s, c->place->class_name);
    }
    return count;
}

static void show_live_changes(const snapshot *a, const snapshot *b, int width) {
    const uint32_t most = a->live_count + b->live_count;
    if (!tells_places(a) || !tells_places(b) || !most) return;
    change *changes = calloc(most, sizeof *changes);
    if (!changes) {
        complain(b->path, "no memory for the places of its objects");
        return;
    }
    const uint32_t count = find_changes(a, b, changes);
    qsort(changes, count, sizeof *changes, by_bytes);
    printf("\n%12s %12s %12s %14s  %-*s  made by\n", "objects", "then", "change", "bytes", width,
           "class");
    for (uint32_t i = 0; i < count; i++) {
        const change *c = &changes[i];
        if (c->then == c->objects) continue;
        printf("%12llu %12llu %+12lld %+14lld", (ull)c->objects, (ull)c->then,
               (long long)(c->then - c->objects), (long long)c->bytes);
        show_place(c->place, width);
    }
    free(changes);
}

void show_difference(const snapshot *a, const snapshot *b) {
    int width = name_width(b, name_width(a, 5)), has_blocks = !a->saved && !b->saved;
    printf("%s -> %s\n", a->path, b->path);
    printf("  objects %llu -> %llu (%+lld)\n", (ull)a->objects, (ull)b->objects,
           (long long)(b->objects - a->objects));
    if (has_blocks)
        printf("  free blocks %llu -> %llu (%+lld), F %.4f -> %.4f\n", (ull)a->free_blocks,
               (ull)b->free_blocks, (long long)(b->free_blocks - a->free_blocks), a->fragmentation,
               b->fragmentation);
    printf("\n%-*s %8s %12s %12s %12s", width, "class", "bytes", "objects", "then", "change");
    if (has_blocks) printf(" %9s %9s %9s %7s %7s", "blocks", "then", "change", "F", "then");
    printf("\n");
    for (uint32_t i = 0; i < a->class_count; i++)
        show_class_change(&a->classes[i], find_class(b, &a->classes[i]), width, has_blocks);
    for (uint32_t i = 0; i < b->class_count; i++)
        if (!find_class(a, &b->classes[i]))
            show_class_change(NULL, &b->classes[i], width, has_blocks);
    if (has_blocks) show_block_changes(a, b);
    show_live_changes(a, b, width);
}
