/* Pictures of heaps (extract_model.h). Read first: extract_model.h. */
#include "extract_model.h"

#include <stdlib.h>
#include <string.h>

#include "heap/access.h"

enum { ALIGN = 128 };

static uint32_t elements_of(const clump_field_info *f) {
    return f->count ? f->count : 1;
}

static void describe(const clump_schema *schema, picture_class *k) {
    clump_struct_desc *d = &k->desc;
    clump_class_info owner;
    *d = (clump_struct_desc){
        .size = sizeof(clump_struct_desc), .class_name = k->info.name, .fields = k->fields};
    for (uint32_t id = k->info.id; id; id = owner.base) {
        owner = *clump_schema_get_info(schema)->classes[id];
        for (uint32_t i = 0; i < owner.field_count; i++) {
            clump_field_info *f = &k->infos[d->field_count];
            *f = *clump_schema_get_info(schema)->classes[id]->fields[i];
            k->fields[d->field_count++] = (clump_struct_field){f->name, d->bytes};
            d->bytes += f->element_bytes * elements_of(f);
        }
    }
}

picture picture_of(const cl_fixture *on, clump_heap *heap) {
    picture p = {.on = on, .heap = heap};
    clump_class_stats stats[16] = {{.size = sizeof *stats}};
    assert_int_equal(clumpi_schema_copy(clumpi_heap_schema(heap),
                                        &clumpi_heap_context(heap)->allocator, &p.schema),
                     CLUMP_OK);
    const clump_schema *schema = p.schema;
    p.class_count = clump_schema_get_info(schema)->class_count;
    CHECK_OK(on, clump_heap_read_stats(heap, NULL, stats, 16));
    for (uint32_t id = 1; id <= p.class_count; id++) {
        picture_class *k = &p.classes[id - 1];
        k->info = *clump_schema_get_info(schema)->classes[id];
        k->first = p.count;
        k->count = (uint32_t)stats[id - 1].objects;
        p.count += k->count;
        describe(schema, k);
    }
    p.refs = calloc(p.count + 1, sizeof *p.refs);
    for (uint32_t id = 1; id <= p.class_count; id++) {
        picture_class *k = &p.classes[id - 1];
        uint64_t count;
        clump_ref *all = calloc(p.count + 1, sizeof *all);
        if (!k->count) {
            free(all);
            continue;
        }
        CHECK_OK(on, clump_heap_read_refs(heap, k->info.name, all, p.count, &count));
        memcpy(p.refs + k->first, all, k->count * sizeof *all); /* subclasses come after it */
        free(all);
        k->structs = calloc(k->count, k->desc.bytes);
        CHECK_OK(on, clump_heap_read_structs(heap, &k->desc, p.refs + k->first, k->structs,
                                             k->count, NULL));
    }
    return p;
}

void picture_release(picture *p) {
    for (uint32_t i = 0; i < p->class_count; i++) free(p->classes[i].structs);
    free(p->refs);
    clump_schema_destroy(p->schema);
    memset(p, 0, sizeof *p);
}

picture_class *picture_class_of(picture *p, uint32_t number) {
    for (uint32_t i = 0; i < p->class_count; i++)
        if (number - p->classes[i].first < p->classes[i].count) return &p->classes[i];
    return NULL;
}

uint8_t *picture_struct(picture *p, uint32_t number) {
    picture_class *k = picture_class_of(p, number);
    return k->structs + (size_t)(number - k->first) * k->desc.bytes;
}

uint32_t picture_find(const picture *p, clump_ref ref) {
    for (uint32_t i = 0; ref && i < p->count; i++)
        if (p->refs[i] == ref) return i;
    return UINT32_MAX;
}

uint32_t picture_find_in_field(picture *p, const clump_field_info *f, clump_ref ref) {
    clump_class_info to;
    const uint32_t number = picture_find(p, ref);
    if (number == UINT32_MAX) return number;
    to = *clump_schema_get_info(p->schema)->classes[f->ref_class];
    const uint32_t id = picture_class_of(p, number)->info.id;
    return id >= to.id && id <= to.last ? number : UINT32_MAX;
}

static clump_ref ref_at(const uint8_t *at) {
    clump_ref ref;
    memcpy(&ref, at, sizeof ref);
    return ref;
}

void picture_follow(picture *p, uint8_t *chosen) {
    int again = 1;
    while (again) {
        again = 0;
        for (uint32_t n = 0; n < p->count; n++) {
            const picture_class *k = picture_class_of(p, n);
            for (uint32_t i = 0; chosen[n] && i < k->desc.field_count; i++)
                for (uint32_t e = 0; e < elements_of(&k->infos[i]); e++) {
                    if (k->infos[i].type != CLUMP_TYPE_REF || k->infos[i].weak) continue;
                    const uint8_t *at = picture_struct(p, n) + k->fields[i].offset + 4 * e;
                    const uint32_t to = picture_find_in_field(p, &k->infos[i], ref_at(at));
                    if (to == UINT32_MAX || chosen[to]) continue;
                    chosen[to] = again = 1;
                }
        }
    }
}

static uint64_t aligned(uint64_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* A value as the extract has it. */
static void pack_value(picture *p, packed *k, const uint32_t *number_of, const clump_field_info *f,
                       const uint8_t *from, uint8_t *to) {
    memcpy(to, from, f->element_bytes * elements_of(f));
    for (uint32_t e = 0; f->type == CLUMP_TYPE_REF && e < elements_of(f); e++) {
        const clump_ref ref = ref_at(from + 4 * e);
        const uint32_t n = picture_find_in_field(p, f, ref),
                       word = n == UINT32_MAX ? 0 : number_of[n];
        k->dangling += ref && n == UINT32_MAX;
        k->left_out += n != UINT32_MAX && !word;
        memcpy(to + 4 * e, &word, sizeof word);
    }
}

packed picture_pack(picture *p, const uint8_t *chosen) {
    packed k = {.numbers = calloc(p->count + 1, sizeof *k.numbers)};
    uint32_t *number_of = calloc(p->count + 1, sizeof *number_of); /* plus 1; 0: none */
    for (uint32_t n = 0; n < p->count; n++) {
        if (!chosen[n]) continue;
        k.numbers[k.count++] = n;
        number_of[n] = k.count;
        k.objects[picture_class_of(p, n)->info.id - 1]++;
    }
    uint64_t room = ALIGN;
    for (uint32_t i = 0; i < p->class_count; i++)
        room += k.objects[i] * p->classes[i].desc.bytes + ALIGN * p->classes[i].desc.field_count;
    k.data = calloc(room, 1);
    for (uint32_t i = 0; i < p->class_count; i++) {
        picture_class *c = &p->classes[i];
        for (uint32_t at = 0; k.objects[i] && at < c->desc.field_count; at++) {
            const clump_field_info *f = &c->infos[at];
            const uint32_t bytes = f->element_bytes * elements_of(f);
            uint8_t *to = k.data + k.bytes;
            for (uint32_t n = c->first; n < c->first + c->count; n++) {
                if (!chosen[n]) continue;
                pack_value(p, &k, number_of, f, picture_struct(p, n) + c->fields[at].offset, to);
                to += bytes;
            }
            k.bytes += aligned(k.objects[i] * bytes);
        }
    }
    free(number_of);
    return k;
}

void packed_release(packed *k) {
    free(k->data);
    free(k->numbers);
    memset(k, 0, sizeof *k);
}

void packed_compare(const cl_fixture *on, const packed *k, clump_extract *e,
                    const clump_extract_report *report) {
    const clump_schema *schema = clump_extract_get_info(e)->schema;
    assert_int_equal(clump_extract_get_info(e)->objects[0], k->count);
    assert_int_equal(clump_extract_get_info(e)->bytes, k->bytes);
    assert_int_equal(report->objects, k->count);
    assert_int_equal(report->bytes, k->bytes);
    assert_int_equal(report->left_out, k->left_out);
    assert_int_equal(report->dangling, k->dangling);
    assert_int_equal(clump_extract_get_info(e)->buffer == NULL, k->bytes == 0);
    uint8_t *data = malloc(k->bytes + 1);
    CHECK_OK(on, clump_extract_read(e, data, k->bytes));
    for (uint64_t i = 0; i < k->bytes; i++)
        if (data[i] != k->data[i]) fail_msg("byte %llu of the extract", (unsigned long long)i);
    free(data);
    /* Where columns are, is told right. */
    const clump_extract_info *info = clump_extract_get_info(e);
    uint64_t at = 0, first = 0, columns = 0;
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        clump_class_info owner;
        const clump_class_info *c = clump_schema_get_info(schema)->classes[id];
        assert_int_equal(clump_extract_get_info(e)->objects[id], k->objects[id - 1]);
        for (uint32_t o = id; o; o = owner.base) {
            owner = *clump_schema_get_info(schema)->classes[o];
            for (uint32_t i = 0; i < owner.field_count; i++) {
                clump_field_info f = *clump_schema_get_info(schema)->classes[o]->fields[i];
                if (!k->objects[id - 1]) continue;
                assert_in_range(columns, 0, info->column_count - 1);
                const clump_extract_column column = *info->columns[columns++];
                assert_string_equal(column.of->name, c->name);
                assert_string_equal(column.field->name, f.name);
                assert_int_equal(column.at, at);
                assert_int_equal(column.first, first);
                assert_int_equal(column.count, k->objects[id - 1]);
                assert_int_equal(column.object_bytes, f.element_bytes * elements_of(&f));
                assert_int_equal(column.bytes, column.count * column.object_bytes);
                at += aligned(column.bytes);
            }
        }
        first += k->objects[id - 1];
    }
    assert_int_equal(at, k->bytes);
    assert_int_equal(columns, info->column_count);
}

void picture_compare(picture *before, const uint8_t *chosen, picture *after, uint32_t more) {
    uint32_t stayed = 0;
    for (uint32_t n = 0; n < before->count; n++) {
        const picture_class *k = picture_class_of(before, n);
        const uint32_t now = picture_find(after, before->refs[n]);
        if (chosen && chosen[n]) {
            if (now != UINT32_MAX)
                fail_msg("object %u of class %s is still there", n, k->info.name);
            continue;
        }
        if (now == UINT32_MAX) fail_msg("object %u of class %s is gone", n, k->info.name);
        assert_int_equal(picture_class_of(after, now)->info.id, k->info.id);
        if (memcmp(picture_struct(before, n), picture_struct(after, now), k->desc.bytes) != 0)
            fail_msg("object %u of class %s has changed", n, k->info.name);
        stayed++;
    }
    assert_int_equal(after->count, stayed + more);
}

int picture_field(const picture_class *k, const char *name) {
    for (uint32_t i = 0; i < k->desc.field_count; i++)
        if (strcmp(k->infos[i].name, name) == 0) return (int)i;
    return -1;
}

void picture_expect_inserted(picture *p, const packed *k, picture *after, const clump_ref *refs) {
    uint32_t *number_of = calloc(p->count + 1, sizeof *number_of);
    for (uint32_t i = 0; i < k->count; i++) number_of[k->numbers[i]] = i + 1;
    for (uint32_t i = 0; i < k->count; i++) {
        const uint32_t n = k->numbers[i], now = picture_find(after, refs[i]);
        const picture_class *c = picture_class_of(p, n);
        if (now == UINT32_MAX) fail_msg("new object %u is not there", i);
        const picture_class *d = picture_class_of(after, now);
        assert_string_equal(d->info.name, c->info.name);
        for (uint32_t at = 0; at < c->desc.field_count; at++) {
            const clump_field_info *f = &c->infos[at];
            const int there = picture_field(d, f->name);
            assert_true(there >= 0);
            const uint8_t *a = picture_struct(p, n) + c->fields[at].offset,
                          *b = picture_struct(after, now) + d->fields[there].offset;
            for (uint32_t e = 0; e < elements_of(f); e++) {
                clump_ref expected = 0;
                if (f->type == CLUMP_TYPE_REF) {
                    const uint32_t to = picture_find_in_field(p, f, ref_at(a + 4 * e));
                    if (to != UINT32_MAX && number_of[to]) expected = refs[number_of[to] - 1];
                }
                const void *value = f->type == CLUMP_TYPE_REF
                                        ? (const void *)&expected
                                        : (const void *)(a + (size_t)e * f->element_bytes);
                if (memcmp(value, b + (size_t)e * f->element_bytes, f->element_bytes) != 0)
                    fail_msg("new object %u of class %s: field %s[%u]", i, c->info.name, f->name,
                             e);
            }
        }
    }
    free(number_of);
}
