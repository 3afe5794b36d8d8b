/* Objects leave a heap and come into another, or come back: by references of the host and of the
 * device, and by class. Their fields are as they were, with references among them; those to others
 * are null. What refers to them in the heap that they left dangles. Some are only looked at, and
 * stay. */
#include "client.h"

typedef struct leaving {
    clump_ref *refs; /* as they are asked for: host, then device */
    uint32_t ref_count, on_host;
    uint8_t *chosen; /* by number of the object in the model */
    cl_mem buffer;
    const char *class_name; /* NULL: none is named */
    clump_extract *extract;
    uint32_t count;
    clump_ref *old;        /* by number in the extract */
    object_model *objects; /* likewise; fields that are references have numbers plus 1 */
} leaving;

static void choose(client *c, heap_model *h, leaving *l) {
    const uint32_t share = below(c, 101), class = (uint32_t)draw_class(c);
    l->chosen = must_alloc(h->count + 1);
    l->refs = must_alloc((2 * (size_t)h->count + 2) * sizeof *l->refs);
    if (chance(c, 20)) l->class_name = c->classes[class].name;
    for (uint32_t n = 0; n < h->count; n++) {
        if (chance(c, share)) {
            l->refs[l->ref_count++] = h->objects[n].ref;
            if (chance(c, 5)) l->refs[l->ref_count++] = chance(c, 50) ? 0 : h->objects[n].ref;
            l->chosen[n] = 1;
        }
        if (l->class_name && is_a(c, h->objects[n].class, (int)class)) l->chosen[n] = 1;
    }
    l->on_host = below(c, l->ref_count + 1);
    l->buffer = cl_fixture_buffer(&c->on, l->refs, l->ref_count * sizeof *l->refs + 4);
    note(c, "%u references, %u of them on the host, class %s", l->ref_count, l->on_host,
         l->class_name ? l->class_name : "none");
}

/* By number in the extract; what the model has. */
static void take_over(client *c, const heap_model *h, leaving *l, const clump_extract_report *r) {
    uint32_t *number_of = must_alloc((h->count + 1) * sizeof *number_of);
    uint64_t left_out = 0;
    l->old = must_alloc((l->count + 1) * sizeof *l->old);
    l->objects = must_alloc((l->count + 1) * sizeof *l->objects);
    if (l->count)
        cl_fixture_read(&c->on, clump_extract_get_info(l->extract)->refs, l->old,
                        l->count * sizeof *l->old);
    for (uint32_t i = 0; i < l->count; i++) {
        const object_model *o = object_at(h, l->old[i]);
        if (!o || o->ref != l->old[i] || !l->chosen[o - h->objects])
            complain(c, "object %u of the extract was %08x, which was not chosen", i, l->old[i]);
        number_of[o - h->objects] = i + 1;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        const object_model *o = object_at(h, l->old[i]);
        const class_model *k = &c->classes[o->class];
        l->objects[i] = *o;
        l->objects[i].words = must_alloc((k->words + 1) * sizeof *o->words);
        memcpy(l->objects[i].words, o->words, k->words * sizeof *o->words);
        for (uint32_t f = 0; f < k->field_count; f++) {
            const field_model *m = &c->fields[k->fields[f]];
            uint32_t *words = &l->objects[i].words[m->at];
            for (uint32_t e = 0; e < m->elements && m->type == CLUMP_TYPE_REF; e++) {
                const object_model *to =
                    names(c, h, words[e], m->target) ? object_at(h, words[e]) : NULL;
                words[e] = to ? number_of[to - h->objects] : 0;
                left_out += to && !words[e];
            }
        }
    }
    for (uint32_t i = 0; i < l->count; i++) {
        const object_model *o = object_at(h, l->old[i]);
        for (uint32_t a = 0; a < c->array_count; a++)
            for (uint32_t e = 0; is_ref_array(c, a) && o->elements[a] && e < o->lengths[a]; e++)
                left_out += names(c, h, o->elements[a][e], c->arrays[a].element.target) &&
                            !number_of[object_at(h, o->elements[a][e]) - h->objects];
    }
    same_number(c, "references to objects that are not in the extract", r->left_out, left_out);
    free(number_of);
}

static clump_extract_desc describe(const leaving *l, int free_objects) {
    return (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                .refs = l->refs,
                                .ref_count = l->on_host,
                                .ref_buffer = l->buffer,
                                .ref_buffer_at = l->on_host * sizeof *l->refs,
                                .ref_buffer_count = l->ref_count - l->on_host,
                                .classes = &l->class_name,
                                .class_count = l->class_name != NULL,
                                .free_objects = free_objects,
                                .keep_refs = 1};
}

static void take_out(client *c, heap_model *h, leaving *l, int free_objects) {
    clump_extract_report report = {.size = sizeof report};
    const clump_extract_desc desc = describe(l, free_objects);
    CHECK_OK(&c->on, clump_heap_extract(h->heap, &desc, &l->extract, &report));
    for (uint32_t n = 0; n < h->count; n++) l->count += l->chosen[n];
    same_number(c, "objects taken out", report.objects, l->count);
    take_over(c, h, l, &report);
}

/* The same extract of bytes that were on the host. */
static void copy_by_host(client *c, leaving *l) {
    const clump_schema *schema = clump_extract_get_info(l->extract)->schema;
    const uint64_t bytes = clump_extract_get_info(l->extract)->bytes;
    uint64_t objects[CLASSES_MAX], all = 0;
    clump_extract *copy;
    clump_extract_column column;
    uint8_t *data = must_alloc(bytes + 1);
    CHECK_OK(&c->on, clump_extract_read(l->extract, data, bytes));
    for (uint32_t id = 1; id <= (uint32_t)c->class_count; id++)
        all += objects[id - 1] = clump_extract_get_info(l->extract)->objects[id];
    same_number(c, "objects of all classes of an extract", all, l->count);
    CHECK_OK(&c->on, clump_extract_create(c->on.clump, schema, objects, data, bytes, &copy, NULL));
    for (uint32_t i = 0; i < l->count; i++) { /* tags are where they should be */
        uint32_t tag;
        const char *name = c->classes[l->objects[i].class].name;
        column = *cl_fixture_column(copy, name, "tag");
        memcpy(&tag, data + column.at + (i - column.first) * column.object_bytes, sizeof tag);
        same_number(c, "tag in an extract", tag, l->objects[i].tag);
    }
    same_number(c, "bytes of a copied extract", clump_extract_get_info(copy)->bytes, bytes);
    if ((clump_extract_get_info(copy)->buffer == NULL) != (bytes == 0))
        complain(c, "an extract of %llu bytes, and its buffer", (ull)bytes);
    clump_extract_destroy(l->extract);
    l->extract = copy;
    free(data);
}

/* The model follows: the objects are there. */
static void arrive(client *c, heap_model *into, const leaving *l, const clump_ref *refs) {
    for (uint32_t i = 0; i < l->count; i++) {
        const object_model *o = &l->objects[i];
        const class_model *k = &c->classes[o->class];
        add_object(c, into, o->class, refs[i], o->tag, 0);
        uint32_t *words = into->objects[into->count - 1].words;
        memcpy(words, o->words, k->words * sizeof *words);
        for (uint32_t f = 0; f < k->field_count; f++) {
            const field_model *m = &c->fields[k->fields[f]];
            for (uint32_t e = 0; e < m->elements && m->type == CLUMP_TYPE_REF; e++)
                if (words[m->at + e]) words[m->at + e] = refs[words[m->at + e] - 1];
        }
    }
    into->events += l->count;
    into->has_structs = 1;
    settle(c, into);
    compare_all(c, into);
}

/* Into a heap, or back where there is no room. */
static void put_in(client *c, heap_model *h, heap_model *into, leaving *l) {
    clump_ref *refs = must_alloc((l->count + 1) * sizeof *refs);
    const clump_insert_desc desc = {.size = sizeof desc, .refs = refs};
    clump_status status = clump_heap_insert(into->heap, l->extract, &desc);
    if (status == CLUMP_ERR_DEVICE_MEMORY && into != h) {
        settle(c, into);
        note(c, ", no room");
        into = h;
        status = clump_heap_insert(into->heap, l->extract, &desc);
    }
    CHECK_OK(&c->on, status);
    arrive(c, into, l, refs);
    free(refs);
}

/* Both in one call. Where there is no room, nothing has changed. */
static void migrate(client *c, heap_model *h, heap_model *into, leaving *l) {
    clump_extract_report report = {.size = sizeof report};
    const clump_extract_desc desc = describe(l, 0);
    clump_ref *refs;
    for (uint32_t n = 0; n < h->count; n++) l->count += l->chosen[n];
    refs = must_alloc((l->count + 1) * sizeof *refs);
    const clump_insert_desc get = {.size = sizeof get, .refs = refs};
    clump_status status =
        clump_heap_migrate(h->heap, &desc, into->heap, &get, &l->extract, &report);
    same_number(c, "objects to move", report.objects, l->count);
    note(c, ", at once%s", status ? ", no room" : "");
    if (status == CLUMP_ERR_DEVICE_MEMORY) {
        l->count = 0; /* none is ours to release */
        settle(c, into);
        settle(c, h);
        compare_all(c, into);
        compare_all(c, h);
    } else {
        CHECK_OK(&c->on, status);
        take_over(c, h, l, &report);
        for (uint32_t i = 0; i < l->count; i++) remove_object(c, h, l->old[i]);
        settle(c, h);
        compare_all(c, h);
        arrive(c, into, l, refs);
    }
    free(refs);
}

/* into NULL: they stay. */
static void by_turns(client *c, heap_model *h, heap_model *into, leaving *l) {
    take_out(c, h, l, into != NULL);
    if (into)
        note(c, ", to heap %u", (uint32_t)(into - c->heaps));
    else
        note(c, ", which stay");
    for (uint32_t i = 0; i < l->count && into; i++) remove_object(c, h, l->old[i]);
    settle(c, h);
    compare_all(c, h);
    if (chance(c, 50)) copy_by_host(c, l);
    if (into) put_in(c, h, into, l);
}

void move_objects(client *c, heap_model *h) {
    /* Raw memory for arrays may not be there again, even where it came from. */
    const int is_moved = !c->array_count && chance(c, 70);
    heap_model *into = chance(c, 40) ? h : &c->heaps[below(c, c->heap_count)];
    leaving l = {.ref_count = 0};
    if (c->class_count > c->drawn_classes) return; /* containers' own arrays are not in the model */
    if (c->raw) {                                  /* nobody knows what it holds */
        const char *name = c->classes[0].name;
        const clump_extract_desc all = {.size = sizeof all, .classes = &name, .class_count = 1};
        CHECK_STATUS(&c->on, clump_heap_extract(h->heap, &all, &l.extract, NULL), CLUMP_ERR_USAGE);
        return;
    }
    compare_all(c, h); /* nothing is loose */
    choose(c, h, &l);
    h->got_room |= is_moved;
    if (is_moved && into != h && chance(c, 50))
        migrate(c, h, into, &l);
    else
        by_turns(c, h, is_moved ? into : NULL, &l);
    clump_extract_destroy(l.extract);
    clReleaseMemObject(l.buffer);
    for (uint32_t i = 0; i < l.count; i++) free(l.objects[i].words);
    free(l.objects);
    free(l.old);
    free(l.refs);
    free(l.chosen);
}
