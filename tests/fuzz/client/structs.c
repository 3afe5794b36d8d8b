/* Objects as C structs: made from an array, read all and by chosen references, and written back as
 * they are. The structs have some or all fields, in any order, and gaps of any size between
 * them. */
#include "client.h"

enum { GAP_MAX = 9 };

/* A struct of a class, described at random. fields[0] is the tag. */
typedef struct layout {
    clump_struct_field fields[FIELDS_MAX + 1];
    const field_model *models[FIELDS_MAX + 1]; /* NULL: the tag */
    clump_struct_desc desc;
} layout;

static void add_field(client *c, layout *l, const field_model *f, const char *name,
                      uint32_t bytes) {
    clump_struct_desc *d = &l->desc;
    d->bytes += chance(c, 50) ? below(c, GAP_MAX) : 0;
    l->fields[d->field_count] = (clump_struct_field){name, d->bytes};
    l->models[d->field_count++] = f;
    d->bytes += bytes;
}

/* share: of the fields besides the tag, percent. */
static void draw_layout(client *c, int class, uint32_t share, layout *l) {
    const class_model *k = &c->classes[class];
    *l = (layout){.desc = {.size = sizeof l->desc, .class_name = k->name, .fields = l->fields}};
    add_field(c, l, NULL, "tag", sizeof(uint32_t));
    for (uint32_t i = 0; i < k->field_count; i++) {
        const field_model *f = &c->fields[k->fields[i]];
        if (chance(c, share)) add_field(c, l, f, f->name, f->bytes * f->elements);
    }
    l->desc.bytes += chance(c, 50) ? below(c, GAP_MAX) : 0;
}

/* All fields, as kernels set them for this tag and salt; references are null. */
static void fill_struct(const layout *l, uint32_t tag, uint32_t salt, uint8_t *at) {
    memset(at, 0, l->desc.bytes);
    memcpy(at + l->fields[0].offset, &tag, sizeof tag);
    for (uint32_t i = 1; i < l->desc.field_count; i++) {
        const field_model *f = l->models[i];
        for (uint32_t e = 0; e < f->elements && f->type != CLUMP_TYPE_REF; e++)
            put_value(f, e, tag, salt, at + l->fields[i].offset + (size_t)e * f->bytes);
    }
}

void make_structs(client *c, heap_model *h) {
    int class = draw_concrete(c);
    uint32_t n = how_many(c, h, class), tag = take_tags(c, n), salt = draw_salt(c);
    uint64_t made = UNTOUCHED;
    layout l;
    draw_layout(c, class, 100, &l);
    note(c, "%u of K%d, %u bytes each", n, class, l.desc.bytes);
    uint8_t *structs = must_alloc((size_t)n * l.desc.bytes);
    clump_ref *refs = must_alloc(n * sizeof *refs);
    for (uint32_t i = 0; i < n; i++)
        fill_struct(&l, tag + i, salt, structs + (size_t)i * l.desc.bytes);
    CHECK_OK(&c->on, clump_heap_new_structs(h->heap, &l.desc, structs, n, refs, &made));
    h->has_structs = 1;
    for (uint32_t i = 0; i < n; i++) {
        if ((i < made) != (refs[i] != 0))
            complain(c, "struct %u of %llu that became objects has reference %08x", i, (ull)made,
                     refs[i]);
        take_answer(c, h, class, refs[i], tag + i, salt);
    }
    free(refs);
    free(structs);
}

/* What is read in the order of the list, and by references in another order; all written back. */
void copy_structs(client *c, heap_model *h) {
    int class = draw_class(c);
    const uint32_t count = count_of(c, h, class);
    uint64_t found = 0;
    layout l;
    draw_layout(c, class, chance(c, 50) ? 100 : below(c, 100), &l);
    note(c, "%u of K%d, %u bytes each", count, class, l.desc.bytes);
    const size_t bytes = l.desc.bytes;
    uint8_t *all = must_alloc((count + 1) * bytes), *chosen = must_alloc((count + 1) * bytes);
    clump_ref *refs = must_alloc((count + 1) * sizeof *refs);
    CHECK_OK(&c->on, clump_heap_read_refs(h->heap, l.desc.class_name, refs, count, &found));
    CHECK_OK(&c->on, clump_heap_read_structs(h->heap, &l.desc, NULL, all, count, &found));
    same_number(c, "structs read", found, count);
    for (uint32_t i = 0; i < count; i++) { /* turned round, so that the order is another one */
        uint32_t tag;
        memcpy(&tag, all + i * bytes + l.fields[0].offset, sizeof tag);
        const object_model *o = object_at(h, refs[i]);
        if (!o || o->tag != tag)
            complain(c, "struct %u has tag %u, not that of %08x", i, tag, refs[i]);
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        clump_ref kept = refs[i];
        refs[i] = refs[count - 1 - i];
        refs[count - 1 - i] = kept;
    }
    CHECK_OK(&c->on, clump_heap_read_structs(h->heap, &l.desc, refs, chosen, count, NULL));
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(all + i * bytes, chosen + (count - 1 - i) * bytes, bytes) != 0)
            complain(c, "struct %u is another one when it is chosen", i);
    CHECK_OK(&c->on, clump_heap_write_structs(h->heap, &l.desc, NULL, all, count));
    CHECK_OK(&c->on, clump_heap_write_structs(h->heap, &l.desc, refs, chosen, count));
    refs[count] = 0;
    CHECK_STATUS(&c->on, clump_heap_read_structs(h->heap, &l.desc, refs, chosen, count + 1u, NULL),
                 CLUMP_ERR_REFERENCE);
    free(refs);
    free(chosen);
    free(all);
}
