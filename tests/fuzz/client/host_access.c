/* Operations that read and write fields from the host, count and list; and calls that must be
 * refused and change nothing. */
#include "client.h"

/* The one that declares it, or one below. */
int draw_class_with(client *c, const field_model *f) {
    int class = draw_class(c);
    while (!is_a(c, class, f->owner)) class = draw_class(c);
    return class;
}

uint32_t draw_word(client *c, heap_model *h, const field_model *f) {
    return f->type == CLUMP_TYPE_REF ? draw_reference(c, h, f->target) : draw_salt(c);
}

void put_word(const field_model *f, uint32_t e, const object_model *o, uint32_t word,
              uint8_t *value) {
    if (f->type == CLUMP_TYPE_REF)
        memcpy(value, &word, sizeof word);
    else
        put_value(f, e, o->tag, word, value);
}

uint32_t list_class(client *c, heap_model *h, int class, clump_ref *refs) {
    uint64_t count = 0;
    CHECK_OK(&c->on, clump_heap_read_refs(h->heap, c->classes[class].name, refs, h->count, &count));
    same_number(c, "objects in the list of a class", count, count_of(c, h, class));
    return (uint32_t)count;
}

void write_fields(client *c, heap_model *h) {
    int number = draw_field(c, chance(c, 40));
    if (number < 0) return;
    const field_model *f = &c->fields[number];
    int class = draw_class_with(c, f);
    uint32_t e = below(c, f->elements);
    const char *name = c->classes[class].name;
    note(c, "%s.%s[%u] of all", name, f->name, e);
    clump_ref *refs = must_alloc((h->count + 1) * sizeof *refs);
    uint8_t *values = must_alloc((size_t)(h->count + 1) * f->bytes);
    uint32_t count = list_class(c, h, class, refs);
    if (chance(c, 20)) /* a wrong number: nothing is written */
        CHECK_STATUS(
            &c->on, clump_heap_write_field(h->heap, name, f->name, e, f->bytes, values, count + 1u),
            CLUMP_ERR_USAGE);
    for (uint32_t i = 0; i < count; i++) {
        object_model *o = object_at(h, refs[i]);
        if (!o) complain(c, "%08x is listed, and there is no object", refs[i]);
        o->words[f->at + e] = draw_word(c, h, f);
        put_word(f, e, o, o->words[f->at + e], values + (size_t)i * f->bytes);
    }
    CHECK_OK(&c->on, clump_heap_write_field(h->heap, name, f->name, e, f->bytes, values, count));
    free(values);
    free(refs);
}

/* A reference for a call about one object, which has to fail where it names none. */
static clump_status status_for(const client *c, const heap_model *h, clump_ref ref, int class) {
    return names(c, h, ref, class) ? CLUMP_OK : CLUMP_ERR_REFERENCE;
}

void set_one_field(client *c, heap_model *h) {
    int number = draw_field(c, chance(c, 50));
    if (number < 0) return;
    const field_model *f = &c->fields[number];
    int class = draw_class_with(c, f);
    note(c, "K%d.%s of some", class, f->name);
    for (uint32_t i = 1 + below(c, 8); i > 0; i--) {
        clump_ref ref = draw_reference(c, h, class);
        object_model nobody = {.tag = 1}, *o = object_at(h, ref);
        uint32_t e = below(c, f->elements), word = draw_word(c, h, f);
        uint8_t value[8 * WIDTH_MAX] = {0};
        clump_status status = status_for(c, h, ref, class);
        put_word(f, e, o ? o : &nobody, word, value);
        CHECK_STATUS(&c->on,
                     clump_heap_write_object_field(h->heap, c->classes[class].name, f->name, e, ref,
                                                   f->bytes, value),
                     status);
        if (!status) o->words[f->at + e] = word;
    }
}

void get_one_field(client *c, heap_model *h) {
    int number = draw_field(c, chance(c, 30));
    if (number < 0) return;
    const field_model *f = &c->fields[number];
    int class = draw_class_with(c, f);
    note(c, "K%d.%s of some", class, f->name);
    for (uint32_t i = 1 + below(c, 8); i > 0; i--) {
        clump_ref ref = draw_reference(c, h, class);
        uint32_t e = below(c, f->elements), used = f->bytes;
        uint8_t found[8 * WIDTH_MAX], expected[8 * WIDTH_MAX] = {0};
        clump_status status = status_for(c, h, ref, class);
        CHECK_STATUS(&c->on,
                     clump_heap_read_object_field(h->heap, c->classes[class].name, f->name, e, ref,
                                                  f->bytes, found),
                     status);
        if (status) continue;
        const object_model *o = object_at(h, ref);
        put_word(f, e, o, o->words[f->at + e], expected);
        if (f->width == 3) used = used / 4 * 3;
        if (memcmp(found, expected, used) != 0)
            complain(c, "K%d.%s[%u] of %08x, read alone, is wrong", class, f->name, e, ref);
    }
}

void count_and_list(client *c, heap_model *h) {
    int class = draw_class(c);
    uint64_t count = 0;
    note(c, "K%d", class);
    CHECK_OK(&c->on, clump_heap_read_count(h->heap, c->classes[class].name, &count));
    same_number(c, "count of a class", count, count_of(c, h, class));
    uint32_t room = below(c, (uint32_t)count + 4); /* not enough, as a rule */
    clump_ref *refs = must_alloc((room + 1) * sizeof *refs);
    refs[room] = UNTOUCHED;
    const int fits = room >= count;
    CHECK_STATUS(&c->on, clump_heap_read_refs(h->heap, c->classes[class].name, refs, room, &count),
                 fits ? CLUMP_OK : CLUMP_ERR_TOO_SMALL);
    same_number(c, "listed", count, count_of(c, h, class));
    same_number(c, "what lies behind a list", refs[room], UNTOUCHED);
    for (uint32_t i = 0; i < count && fits; i++)
        if (!names(c, h, refs[i], class))
            complain(c, "%08x is listed as a K%d, and is none", refs[i], class);
    free(refs);
}

void misuse(client *c, heap_model *h) {
    const char *name = c->classes[draw_class(c)].name;
    uint64_t count;
    uint8_t value[8 * WIDTH_MAX];
    const char *none[] = {"Nobody"};
    note(c, "calls that are refused");
    CHECK_STATUS(&c->on, clump_heap_read_count(h->heap, "Nobody", &count), CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(&c->on,
                 clump_heap_read_field(h->heap, name, "nothing", 0, sizeof *value, value, 1, NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(&c->on,
                 clump_heap_read_field(h->heap, name, "tag", 1, sizeof *value, value, 1, NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(&c->on,
                 clump_heap_compact(
                     h->heap,
                     &(clump_compact_desc){
                         .size = sizeof(clump_compact_desc), .classes = none, .class_count = 1},
                     NULL, NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(&c->on,
                 clump_heap_compact(
                     h->heap, &(clump_compact_desc){.size = sizeof(clump_compact_desc), .slack = 2},
                     NULL, NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(&c->on,
                 clump_heap_collect(h->heap,
                                    &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                          .root_classes = none,
                                                          .root_class_count = 1},
                                    NULL, NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(&c->on, clump_heap_destroy_handle(h->heap, UINT32_MAX), CLUMP_ERR_USAGE);
    CHECK_STATUS(&c->on,
                 clump_heap_do_all(h->heap, clump_program_get_kernel(c->program, "nothing"), NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(&c->on,
                 clump_heap_launch(h->heap, c->kernels[KERNEL_drop], c->local + 1, c->local, NULL),
                 CLUMP_ERR_USAGE);
    for (int k = 0; k < c->class_count; k++)
        if (c->classes[k].is_abstract)
            CHECK_STATUS(&c->on,
                         clump_heap_do_new(h->heap, c->kernels[KERNEL_make], c->classes[k].name, 1,
                                           NULL, NULL),
                         CLUMP_ERR_USAGE);
}
