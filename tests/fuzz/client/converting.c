/* A live heap gets another schema, and its own again. In between no kernel of the round fits, so
 * the host compares all that the heap has. Objects are found again by their tags; every reference
 * must have followed, and those to nobody are null.
 *
 * The other schema has the same classes, fields and arrays, in another order, with other layouts, a
 * class, fields and arrays more, and perhaps without one of the references, which is null afterwards,
 * and without one of the arrays, which is empty afterwards. Containers stay in their own schema.
 */
#include "client.h"
#include "model.h"

/* ---- The other schema ------------------------------------------------------------------------ */

static void shuffle(client *c, uint32_t *fields, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t k = below(c, i), kept = fields[k];
        fields[k] = fields[i - 1];
        fields[i - 1] = kept;
    }
}

static void write_one(client *c, text *t, const class_model *k) {
    uint32_t fields[OWN_FIELDS_MAX + 1], count = 0;
    for (uint32_t i = k->first_own; i < k->field_count; i++)
        if (k->fields[i] + 1 != c->left_out) fields[count++] = k->fields[i];
    shuffle(c, fields, count);
    text_append(t, "%s%sclass %s", k->is_abstract ? "abstract " : "", chance(c, 50) ? "aos " : "",
                k->name);
    if (k->base >= 0) text_append(t, " : %s", c->classes[k->base].name);
    if (chance(c, 50)) write_becomes(c, t, (int)(k - c->classes));
    text_append(t, " {\n");
    if (chance(c, 20)) text_append(t, "    uchar gained_%s[3];\n", k->name);
    for (uint32_t i = 0; i < count; i++) {
        const field_model *f = &c->fields[fields[i]];
        if (f->type == CLUMP_TYPE_REF)
            text_append(t, "    %sref %s %s", f->weak ? "weak " : "", c->classes[f->target].name,
                        f->name);
        else
            text_append(t, "    %s %s", model_type_name(f->type, f->width), f->name);
        if (f->count) text_append(t, "[%u]%s", f->count, chance(c, 40) ? " packed" : "");
        text_append(t, ";\n");
    }
    for (uint32_t i = 0; i < c->array_count; i++) {
        const array_model *a = &c->arrays[i];
        if (&c->classes[a->element.owner] == k && i + 1 != c->array_left_out)
            write_array(c, t, a, a->inside && chance(c, 40));
    }
    if (c->array_count && chance(c, 20))
        text_append(t, "    ushort more_%s[*] inline 3;\n", k->name);
    if (k->base < 0) text_append(t, "    uint tag;\n");
    text_append(t, "}\n");
}

static clump_schema *draw_other(client *c) {
    const clump_allocator allocator = account_allocator(c->account);
    const int left_out = chance(c, 40) ? draw_field(c, 1) : -1;
    text t = {0};
    clump_schema *schema;
    clump_error error;
    c->left_out = (uint32_t)(left_out + 1);
    c->array_left_out = c->array_count && chance(c, 30) ? 1 + below(c, c->array_count) : 0;
    text_append(&t, "class Newcomer { uint nothing; }\n");
    for (int k = 0; k < c->class_count; k++) write_one(c, &t, &c->classes[k]);
    if (clump_schema_parse(t.at, t.length, &allocator, &schema, &error))
        complain(c, "clump_schema_parse: %s in\n%s", error.message, t.at);
    note(c, "by\n%s", t.at);
    free(t.at);
    return schema;
}

/* ---- The model ------------------------------------------------------------------------------- */

typedef struct course {
    client *c;
    const heap_model *old; /* which object a reference named */
    const clump_ref *to;   /* by number of the object: where it is now */
    uint64_t dangling;
} course;

static clump_ref follow(course *r, clump_ref ref, int class) {
    if (names(r->c, r->old, ref, class)) return r->to[object_at(r->old, ref) - r->old->objects];
    r->dangling += ref != 0;
    return 0;
}

static clump_ref follow_one_outside(void *user, clump_ref ref, outside_rules rules) {
    (void)rules;
    return follow(user, ref, NO_CLASS);
}

static void follow_all(course *r, heap_model *h) {
    client *c = r->c;
    for (uint32_t n = 0; n < h->count; n++) {
        object_model *o = &h->objects[n];
        const class_model *k = &c->classes[o->class];
        for (uint32_t i = 0; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && f->type == CLUMP_TYPE_REF; e++) {
                uint32_t *word = &o->words[f->at + e];
                *word = f->number + 1 == c->left_out ? 0 : follow(r, *word, f->target);
            }
        }
        for (uint32_t i = 0; i < c->array_count; i++) {
            if (i + 1 == c->array_left_out) {
                free(o->elements[i]);
                o->elements[i] = NULL;
                o->lengths[i] = 0;
            }
            for (uint32_t e = 0; is_ref_array(c, i) && o->elements[i] && e < o->lengths[i]; e++)
                o->elements[i][e] = follow(r, o->elements[i][e], c->arrays[i].element.target);
        }
    }
    change_outside(h, follow_one_outside, r);
    for (uint32_t n = 0; n < h->count; n++) {
        h->objects[n].ref = r->to[n];
        h->number_at[r->to[n] & h->plain] = n + 1;
    }
}

/* The tags of a class and those below it, in the order of the heap. */
static uint32_t *read_tags(client *c, heap_model *h, int class) {
    uint32_t *tags = must_alloc((h->count + 1) * sizeof *tags);
    CHECK_OK(&c->on, clump_heap_read_field(h->heap, c->classes[class].name, "tag", 0, sizeof *tags,
                                           tags, count_of(c, h, class), NULL));
    return tags;
}

static int has_growing(const client *c) {
    for (uint32_t i = 0; i < c->array_count; i++)
        if (c->arrays[i].kind != CLUMP_ARRAY_BOUNDED) return 1;
    return 0;
}

/* Returns 0 where the device or the pool has no room for both, or the new memory none for all
 * arrays that grow; then nothing has changed. */
static int convert_to(client *c, heap_model *h, const clump_convert_desc *d) {
    const int class = draw_class(c), is_whole = !c->left_out && !c->array_left_out;
    uint32_t *before = read_tags(c, h, class), *after;
    clump_convert_report report = {.size = sizeof report};
    memset(&report, 0xee, sizeof report);
    report.size = sizeof report;
    const clump_status status = clump_heap_convert(h->heap, d, &report);
    if (status == CLUMP_ERR_DEVICE_MEMORY && (h->pooled || has_growing(c))) {
        note(c, " (there is no room)");
        free(before);
        return 0;
    }
    CHECK_OK(&c->on, status);
    same_number(c, "objects that were converted", report.objects, h->count);
    const heap_model old = *h;
    measure_heap(h);
    if (h->plain != old.plain) h->grave_count = 0; /* their generations are in other bits */
    h->number_at = must_alloc(h->references * sizeof *h->number_at);
    clump_ref *to = must_alloc((h->count + 1) * sizeof *to);
    find_again(c, h, to);
    course r = {.c = c, .old = &old, .to = to};
    follow_all(&r, h);
    if (is_whole)
        same_number(c, "dangling references of a conversion", report.dangling, r.dangling);
    after = read_tags(c, h, class);
    if (memcmp(before, after, count_of(c, h, class) * sizeof *after) != 0)
        complain(c, "objects of K%d are in another order than before a conversion", class);
    free(before);
    free(after);
    free(to);
    free(old.number_at);
    return 1;
}

/* ---- The operation --------------------------------------------------------------------------- */

/* A class that has objects is missing. */
static void refuse_without_class(client *c, heap_model *h) {
    static const char words[] = "class Newcomer { uint nothing; }";
    const clump_allocator allocator = account_allocator(c->account);
    clump_schema *schema;
    if (clump_schema_parse(words, sizeof words - 1, &allocator, &schema, NULL))
        complain(c, "clump_schema_parse failed");
    if (h->count)
        CHECK_STATUS(
            &c->on,
            clump_heap_convert(
                h->heap,
                &(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema}, NULL),
            CLUMP_ERR_SCHEMA);
    clump_schema_destroy(schema);
}

void convert_and_back(client *c, heap_model *h) {
    const clump_convert_desc back = {
        .size = sizeof back, .schema = c->schema, .bytes = h->bytes, .block_rows = c->block_rows};
    if (c->raw || c->evicts) { /* nobody knows what it holds, or where it is */
        CHECK_STATUS(&c->on, clump_heap_convert(h->heap, &back, NULL),
                     c->evicts ? CLUMP_ERR_UNSUPPORTED : CLUMP_ERR_USAGE);
        return;
    }
    compare_all(c, h); /* nothing is loose */
    /* The other schema's order of arrays may need more room when they come back. */
    if (c->array_count > c->drawn_arrays ||
        (has_growing(c) && h->stats.free_blocks < h->stats.blocks / 2)) {
        if (convert_to(c, h, &back)) adopt_events(c, h);
        settle(c, h);
        compare_all(c, h);
        return;
    }
    if (chance(c, 30)) refuse_without_class(c, h);
    clump_schema *other = draw_other(c);
    const clump_convert_desc there = {.size = sizeof there,
                                      .schema = other,
                                      .bytes = 3 * h->bytes + (1 << 20),
                                      .block_rows = below(c, 10)};
    if (convert_to(c, h, &there)) {
        CHECK_OK(&c->on, clump_heap_check(h->heap));
        compare_values(c, h);
        compare_arrays_by_host(c, h);
        CHECK_STATUS(&c->on, clump_heap_do_all(h->heap, c->kernels[KERNEL_checksum], NULL),
                     CLUMP_ERR_USAGE);
        c->left_out = c->array_left_out = 0;
        CHECK_STATUS(&c->on, convert_to(c, h, &back) ? CLUMP_OK : CLUMP_ERR_DEVICE_MEMORY,
                     CLUMP_OK);
        adopt_events(c, h);
    }
    c->left_out = c->array_left_out = 0;
    clump_schema_destroy(other);
    settle(c, h);
    compare_all(c, h);
}
