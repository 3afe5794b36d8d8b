/* What keeps an object alive. The graph tells which objects lie on the way; another pass over the
 * file tells the fields and the places in registered buffers, which the graph does not hold. Read
 * first: graph.h, queries.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queries.h"

enum { STEP_TEXT = 160, SHOWN_MOST = 40 };

/* A reference on the way. */
typedef struct step {
    uint32_t from, to;
    char text[STEP_TEXT]; /* empty: not found yet */
} step;

/* ---- Which object ---------------------------------------------------------------------------- */

typedef struct wanted {
    const graph *g;
    clump_class_info c;
    clump_field_info field;
    uint64_t value; /* negative ones with their sign */
    uint32_t node;  /* NOWHERE: none was found */
} wanted;

static const char kinds[] = {
#define KIND(id, name, c_type, kind) kind,
    CLUMP_TYPE_LIST(KIND)
#undef KIND
};

static uint64_t value_of(const clump_field_info *f, const unsigned char *at) {
    int64_t sign = 0;
    uint64_t v = 0;
    memcpy(&v, at, f->element_bytes); /* devices and this tool are little-endian (save.h) */
    if (kinds[f->type] == 'i') {
        const unsigned bits = 64 - 8 * f->element_bytes;
        sign = (int64_t)(v << bits) < 0;
        if (sign) v |= ~(UINT64_MAX >> bits);
    }
    return v;
}

static int look_for_value(void *user, const clump_saved *saved, const clump_saved_part *part) {
    wanted *w = user;
    (void)saved;
    if (!part->field || w->node != NOWHERE || part->class_id < w->c.id ||
        part->class_id > w->c.last || part->field->class_id != w->field.class_id ||
        strcmp(part->field->name, w->field.name) != 0)
        return 0;
    const unsigned char *data = part->data;
    for (uint32_t i = 0; i < part->count && w->node == NOWHERE; i++)
        if (value_of(part->field, data + (size_t)i * part->bytes) == w->value)
            w->node = w->g->first[part->class_id] + (uint32_t)part->from + i;
    return 0;
}

static int parse_number(const char *text, uint64_t *value) {
    char *end;
    errno = 0;
    *value = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    return !errno && end != text && !*end && (*text == '-' || (*text >= '0' && *text <= '9'));
}

static int find_by_value(wanted *w, const char *text, const char *field, const char *value) {
    clump_error error;
    const clump_field_info *found = clump_schema_find_field(w->g->schema, w->c.id, field);
    if (!found)
        return complain(w->g->path, "%s: class %s has no field \"%s\"", text, w->c.name, field);
    w->field = *found;
    if (w->field.type > CLUMP_TYPE_ULONG || w->field.width > 1 || w->field.count)
        return complain(w->g->path, "%s: field %s is not a whole number", text, field);
    if (!parse_number(value, &w->value))
        return complain(w->g->path, "%s: \"%s\" is not a whole number", text, value);
    if (clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = w->g->path},
                         NULL, look_for_value, w, &error))
        return complain(w->g->path, "%s", error.message);
    if (w->node == NOWHERE) return complain(w->g->path, "%s: no object has that value", text);
    return 1;
}

static int find_by_number(wanted *w, const char *text, const char *number) {
    const uint32_t count = w->g->first[w->c.id + 1] - w->g->first[w->c.id];
    if (!parse_number(number, &w->value))
        return complain(w->g->path, "%s: \"%s\" is not a whole number", text, number);
    if (w->value >= count)
        return complain(w->g->path,
                        "%s: there are only %u objects of exactly class %s, counted from 0", text,
                        count, w->c.name);
    w->node = w->g->first[w->c.id] + (uint32_t)w->value;
    return 1;
}

static int find_object(const graph *g, const char *text, uint32_t *node) {
    wanted w = {.g = g, .node = NOWHERE};
    char *copy = strdup(text), *mark = copy ? strpbrk(copy, ":.") : NULL, *equal = NULL;
    int good = 0;
    if (mark && *mark == '.') equal = strchr(mark, '=');
    if (!copy) {
        complain(g->path, "no memory");
    } else if (!mark || (*mark == '.' && !equal)) {
        complain(g->path, "\"%s\" is not an object: write CLASS:NUMBER or CLASS.FIELD=VALUE", text);
    } else {
        const int by_value = *mark == '.';
        *mark = 0;
        if (equal) *equal = 0;
        const clump_class_info *found = clump_schema_find_class(g->schema, copy);
        if (found) w.c = *found;
        if (!found)
            complain(g->path, "%s: class \"%s\" does not exist", text, copy);
        else
            good = by_value ? find_by_value(&w, text, mark + 1, equal + 1)
                            : find_by_number(&w, text, mark + 1);
    }
    free(copy);
    *node = w.node;
    return good;
}

/* ---- Names of references --------------------------------------------------------------------- */

typedef struct naming {
    const graph *g;
    const root_choice *choice;
    step *steps; /* by `from` */
    size_t count;
    const uint32_t *before;
    uint32_t target;     /* references to it are counted */
    uint64_t weak, dead; /* weak ones; those of objects that no root leads to */
    uint32_t one_dead;   /* one of these objects */
} naming;

static int by_from(const void *a, const void *b) {
    const uint32_t x = ((const step *)a)->from, y = ((const step *)b)->from;
    return (x > y) - (x < y);
}

static void name_step(step *s, const clump_saved_part *part, uint32_t element, uint64_t place) {
    const clump_field_info *f = part->field;
    if (f && (f->count || f->array))
        snprintf(s->text, sizeof s->text, ".%s[%u]", f->name, part->element + element);
    else if (f)
        snprintf(s->text, sizeof s->text, ".%s", f->name);
    else if (part->buffer == CLUMP_SAVED_HANDLES)
        snprintf(s->text, sizeof s->text, "handle %" PRIu64, place + 1);
    else
        snprintf(s->text, sizeof s->text, "registered buffer %u, reference %" PRIu64, part->buffer,
                 place);
}

static void take_reference(naming *n, const clump_saved_part *part, uint32_t from, uint32_t to,
                           uint32_t element, uint64_t place) {
    if (!graph_is_edge(n->choice, part)) {
        n->weak += to == n->target;
        return;
    }
    if (to == n->target && n->before[from] == NOWHERE) {
        n->dead++;
        n->one_dead = from;
    }
    const step key = {.from = from};
    step *s = n->count ? bsearch(&key, n->steps, n->count, sizeof key, by_from) : NULL;
    if (s && s->to == to && !*s->text) name_step(s, part, element, place);
}

static int take_part(void *user, const clump_saved *saved, const clump_saved_part *part) {
    naming *n = user;
    const graph *g = n->g;
    const clump_ref *refs = part->data;
    const uint32_t each = part->bytes / (uint32_t)sizeof *refs;
    (void)saved;
    if (part->field && part->field->type != CLUMP_TYPE_REF) return 0;
    for (uint32_t i = 0; i < part->count; i++)
        for (uint32_t e = 0; e < each; e++)
            if (refs[i * each + e])
                take_reference(n, part, graph_source(g, part, i), refs[i * each + e] - 1, e,
                               part->from + i);
    return 0;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void tell_nothing(const naming *n) {
    char name[NODE_TEXT], other[NODE_TEXT];
    printf("nothing keeps %s alive: it cannot be reached from a root\n",
           graph_name(n->g, n->target, name));
    if (n->dead)
        printf("  references to it from objects that no root leads to: %" PRIu64 ", as %s\n",
               n->dead, graph_name(n->g, n->one_dead, other));
    if (n->weak) printf("  weak references to it: %" PRIu64 "\n", n->weak);
}

/* A long way is cut in its middle. */
static void tell_way(const naming *n, const uint32_t *way, size_t length) {
    char name[NODE_TEXT], to[NODE_TEXT];
    printf("%s is kept alive by\n", graph_name(n->g, n->target, name));
    for (size_t i = 0; i + 1 < length; i++) {
        if (length > SHOWN_MOST && i == SHOWN_MOST / 2) {
            printf("  ... %zu references more ...\n", length - SHOWN_MOST);
            i = length - SHOWN_MOST / 2;
        }
        const step key = {.from = way[i]};
        const step *s = bsearch(&key, n->steps, n->count, sizeof key, by_from);
        const int is_object = way[i] < n->g->objects;
        graph_name(n->g, way[i], name);
        printf("  %s%s -> %s\n", is_object || !*s->text ? name : "", s->text,
               graph_name(n->g, way[i + 1], to));
    }
}

static int show_path(const graph *g, const root_choice *choice, const uint32_t *before,
                     uint32_t target) {
    clump_error error;
    size_t length = 0; /* nodes on the way, without the top */
    naming n = {.g = g, .choice = choice, .before = before, .target = target};
    if (before[target] != NOWHERE)
        for (uint32_t at = target; at != g->top; at = before[at]) length++;
    uint32_t *way = malloc((length + 1) * sizeof *way), at = target;
    n.steps = calloc(length + 1, sizeof *n.steps);
    int good = way && n.steps;
    if (!good) complain(g->path, "no memory for a way of %zu references", length);
    for (size_t i = length; good && i-- > 0; at = before[at]) way[i] = at;
    for (size_t i = 0; good && i + 1 < length; i++)
        n.steps[n.count++] = (step){.from = way[i], .to = way[i + 1]};
    if (good) {
        if (n.count) qsort(n.steps, n.count, sizeof *n.steps, by_from);
        good =
            !clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = g->path},
                              NULL, take_part, &n, &error);
        if (!good) complain(g->path, "%s", error.message);
    }
    if (good && length)
        tell_way(&n, way, length);
    else if (good)
        tell_nothing(&n);
    free(way);
    free(n.steps);
    return good;
}

int show_paths(const char *path, const root_choice *choice, char *const *objects, size_t count) {
    graph g;
    if (!graph_read(path, choice, &g)) return 0;
    uint32_t *order = malloc((size_t)g.nodes * sizeof *order),
             *before = malloc((size_t)g.nodes * sizeof *before), node;
    int good = graph_check_roots(&g);
    if (good && (!order || !before)) good = complain(path, "no memory for %u objects", g.objects);
    if (good) graph_reach(&g, 0, 0, order, before);
    for (size_t i = 0; good && i < count; i++)
        good = find_object(&g, objects[i], &node) && show_path(&g, choice, before, node);
    free(order);
    free(before);
    graph_free(&g);
    return good;
}
