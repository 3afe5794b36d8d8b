/* Objects that change their class, in the rounds that have classes that become others: work-items
 * change objects by references of all kinds, some of them at once, free those that have changed,
 * and change them back. The model follows the rules of cl/api/become.clh, and every reference leads
 * to the new place after the launch.
 *
 * In checked heaps nothing is found, but frees of what is no object of the class any more.
 *
 * Read first: client.h, docs/guide/becoming.md.
 */
#include "client.h"
#include "model.h"

enum { CHANGED_MAX = 1500 };
/* What a work-item does: it frees by the old reference, or by the new one. */
enum { BECOME, AND_FREE, AND_BACK, AND_FREE_NEW, WAYS };

/* ---- Schema ---------------------------------------------------------------------------------- */

static int may_become(const client *c, int from, int to) {
    return from != to && !c->classes[to].is_abstract;
}

void draw_becomes(client *c) {
    if (c->seed % EVICTS_EVERY == 1 || !chance(c, 45)) return; /* no evictable heap has these */
    int from = draw_class(c), to = draw_class(c);
    for (int i = 0; i < 8 && !may_become(c, from, to); i++)
        from = draw_class(c), to = draw_class(c);
    if (!may_become(c, from, to)) return;
    c->becomes[c->become_count++] = (become_model){from, to};
    if (chance(c, 60) && may_become(c, to, from))
        c->becomes[c->become_count++] = (become_model){to, from};
}

void write_becomes(const client *c, text *t, int class) {
    for (uint32_t i = 0; i < c->become_count; i++)
        if (c->becomes[i].from == class)
            text_append(t, " becomes %s", c->classes[c->becomes[i].to].name);
}

/* The nearest class that both are or are derived from. */
static int common_class(const client *c, int a, int b) {
    while (a >= 0 && !is_a(c, b, a)) a = c->classes[a].base;
    return a;
}

/* ---- The kernel ------------------------------------------------------------------------------ */

static void write_one_zero(const client *c, text *t, const char *class, const field_model *f) {
    text_append(t, "    for (uint e = 0; e < %uu; e++)\n        wrong |= ", f->elements);
    const char *at = f->count ? ", e" : "", *type = model_type_name(f->type, 1);
    if (f->type == CLUMP_TYPE_REF) {
        text_append(t, "%s_%s(self%s).id != 0u;\n", class, f->name, at);
    } else if (f->width == 1) {
        text_append(t, "fold_%s(%s_%s(self%s)) != 0u;\n", type, class, f->name, at);
    } else {
        text_append(t, "0u;\n    for (uint e = 0; e < %uu; e++) {\n        %s v[%u];\n",
                    f->elements, type, f->width);
        text_append(t, "        vstore%u(%s_%s(self%s), 0, v);\n", f->width, class, f->name, at);
        text_append(t,
                    "        for (uint i = 0; i < %uu; i++) wrong |= fold_%s(v[i]) != 0u;\n    }\n",
                    f->width, type);
    }
}

/* What class `to` has and the class before has not is 0, and gets values. */
static void write_fresh(client *c, uint32_t edge) {
    const int from = c->becomes[edge].from, to = c->becomes[edge].to,
              common = common_class(c, from, to);
    const class_model *k = &c->classes[to];
    text *t = &c->source;
    text_append(t, "uint fresh%u(CLUMP_HEAP_NO_ALLOC, %s self, uint tag, uint salt) {\n", edge,
                k->name);
    text_append(t, "    uint wrong = 0;\n");
    for (uint32_t i = 0; i < k->field_count; i++)
        if (!is_a(c, common, c->fields[k->fields[i]].owner))
            write_one_zero(c, t, k->name, &c->fields[k->fields[i]]);
    for (uint32_t i = 0; i < c->array_count; i++) {
        const field_model *f = &c->arrays[i].element;
        if (is_a(c, to, f->owner) && !is_a(c, common, f->owner))
            text_append(t, "    wrong |= %s_%s_length(self) != 0u;\n", k->name, f->name);
    }
    if (common < 0) text_append(t, "    %s_tag(self) = tag;\n", k->name);
    for (int at = to; at != common; at = c->classes[at].base) {
        const char *name = c->classes[at].name;
        if (at == to)
            text_append(t, "    set_%s(clump_heap, self, tag, salt);\n", name);
        else
            text_append(t, "    set_%s(clump_heap, %s_as_%s(self), tag, salt);\n", name, k->name,
                        name);
    }
    text_append(t, "    return wrong;\n}\n");
}

/* Entries of the list: reference, what to do. Output: what it became, what that became, and what
 * was wrong. @ stands for the one class, $ for the other. */
void write_become(client *c) {
    static const char head[] =
        "__kernel void become(CLUMP_HEAP, __global uint *out, __global const uint *list, uint n,\n"
        "                     uint salt) {\n"
        "    uint g = (uint)get_global_id(0);\n"
        "    if (g >= n) return;\n"
        "    @ r = {list[2u * g]};\n"
        "    uint way = list[2u * g + 1u], wrong = 0, tag = @_is_live(r) ? @_tag(r) : 0u;\n"
        "    $ now = @_become_$(r);\n"
        "    out[3u * g] = now.id;\n"
        "    if (now.id && now.id != r.id) {\n"
        "        wrong |= fresh0(clump_heap, now, tag, salt) ? 1u : 0u;\n"
        "        wrong |= @_is_live(r) ? 2u : 0u;\n"
        "        wrong |= $_is_live(now) ? 0u : 4u;\n"
        "        wrong |= $_tag(now) != tag || @_tag(r) != tag ? 8u : 0u;\n"
        "        wrong |= @_become_$(r).id ? 16u : 0u;\n"
        "        wrong |= @_follow(r).id != (FOLLOWED ? now.id : 0u) ? 32u : 0u;\n"
        "    }\n"
        "    if (way == 1u && now.id) @_free(r);\n"
        "    if (way == 3u && now.id) $_free(now);\n";
    static const char back[] =
        "    if (way == 2u && now.id) {\n"
        "        @ next = $_become_@(now);\n"
        "        out[3u * g + 1u] = next.id;\n"
        "        if (next.id && next.id != now.id) {\n"
        "            wrong |= fresh1(clump_heap, next, tag, salt) ? 64u : 0u;\n"
        "            wrong |= $_is_live(now) || @_follow(r).id != next.id ? 128u : 0u;\n"
        "        }\n"
        "    }\n";
    const become_model *b = c->becomes;
    if (!c->become_count) return;
    for (uint32_t i = 0; i < c->become_count; i++) write_fresh(c, i);
    text_append(&c->source, "#define FOLLOWED %d\n", is_a(c, b->to, b->from));
    const char *const parts[] = {head, c->become_count > 1 ? back : "",
                                 "    out[3u * g + 2u] = wrong;\n}\n"};
    for (int p = 0; p < 3; p++)
        for (const char *at = parts[p]; *at; at++) {
            if (*at == '@' || *at == '$')
                text_append(&c->source, "%s", c->classes[*at == '@' ? b->from : b->to].name);
            else
                text_append(&c->source, "%c", *at);
        }
}

/* ---- What must come of it -------------------------------------------------------------------- */

/* By number of the object before. */
typedef struct course {
    client *c;
    heap_model *h;
    int common;
    uint32_t salt, events;
    struct outcome {
        clump_ref to; /* its last place; 0: it did not change */
        int class;    /* that it has there */
        int dies;
        uint32_t attempts, wins, first; /* first: 1 + number of its first entry in the list */
    } * outcomes;
} course;

static int can_change_below(const client *c, int target) {
    for (uint32_t i = 0; i < c->become_count; i++)
        for (int k = 0; k < c->class_count; k++)
            if (is_a(c, k, c->becomes[i].from) && is_a(c, k, target)) return 1;
    return 0;
}

/* A slot that was left and freed in the same launch may have another object already. */
static clump_ref follow(const course *r, clump_ref ref, int target) {
    const object_model *o = object_at(r->h, ref);
    const struct outcome *x = o ? &r->outcomes[o - r->h->objects] : NULL;
    /* Another may have come there in the launch, and left again. */
    if (!o && ref && r->c->become_count > 1) return LOOSE;
    if (x && x->dies && !x->to) return LOOSE;
    if (!x || !x->to || (target != NO_CLASS && !can_change_below(r->c, target))) return ref;
    if (x->dies) return LOOSE;
    return target == NO_CLASS || is_a(r->c, x->class, target) ? x->to : 0;
}

static clump_ref follow_one_outside(void *user, clump_ref ref, outside_rules rules) {
    (void)rules;
    return follow(user, ref, NO_CLASS);
}

static void follow_all(course *r) {
    const client *c = r->c;
    for (uint32_t n = 0; n < r->h->count; n++) {
        object_model *o = &r->h->objects[n];
        const class_model *k = &c->classes[o->class];
        for (uint32_t i = 0; i < k->field_count; i++) {
            const field_model *f = &c->fields[k->fields[i]];
            for (uint32_t e = 0; e < f->elements && f->type == CLUMP_TYPE_REF; e++)
                o->words[f->at + e] = follow(r, o->words[f->at + e], f->target);
        }
        for (uint32_t i = 0; i < c->array_count; i++)
            for (uint32_t e = 0; is_ref_array(c, i) && o->elements[i] && e < o->lengths[i]; e++)
                o->elements[i][e] = follow(r, o->elements[i][e], c->arrays[i].element.target);
    }
    change_outside(r->h, follow_one_outside, r);
}

/* The fields and arrays of the common class stay. Others have new values, or none. */
static void change_one(const course *r, object_model *o, int class) {
    const client *c = r->c;
    const class_model *k = &c->classes[class];
    uint32_t *words = must_alloc((k->words + 1) * sizeof *words);
    if (r->common >= 0) memcpy(words, o->words, c->classes[r->common].words * sizeof *words);
    for (uint32_t i = 0; i < k->field_count; i++) {
        const field_model *f = &c->fields[k->fields[i]];
        if (is_a(c, r->common, f->owner) || f->type == CLUMP_TYPE_REF) continue;
        for (uint32_t e = 0; e < f->elements; e++) words[f->at + e] = r->salt;
    }
    free(o->words);
    o->words = words;
    o->class = class;
    for (uint32_t i = 0; i < c->array_count; i++) {
        if (is_a(c, r->common, c->arrays[i].element.owner)) continue;
        free(o->elements[i]);
        o->elements[i] = NULL;
        o->lengths[i] = 0;
    }
}

/* What a work-item told of an object that was one of the class. */
static void take_one(course *r, const object_model *o, const uint32_t *entry,
                     const uint32_t *answer) {
    client *c = r->c;
    expectation *x = &c->expect;
    struct outcome *out = &r->outcomes[o - r->h->objects];
    const int from = c->becomes[0].from, to = c->becomes[0].to;
    const int stays = is_a(c, to, from) && is_a(c, o->class, to);
    const uint32_t way = entry[1];
    if (stays && answer[0] != entry[0])
        complain(c, "%08x, a K%d, was to become one and is at %08x", entry[0], to, answer[0]);
    if (!stays) out->attempts++;
    if (!answer[0]) return;
    out->class = stays ? o->class : to;
    if (!stays) {
        out->wins++;
        out->to = answer[0];
        r->events += 2; /* the new place was made, the old one was left */
    }
    if (way == AND_FREE && !is_a(c, out->class, from)) {
        x->refused++;
    } else if (way == AND_FREE || way == AND_FREE_NEW) {
        out->dies = 1;
        r->events++;
    } else if (way == AND_BACK && c->become_count > 1) {
        x->asked[from]++;
        x->nulls[from] += answer[1] == 0;
        if (!answer[1]) return;
        r->events += answer[1] != answer[0] ? 2 : 0;
        out->to = answer[1];
        out->class = from;
    }
}

/* Null is no room, or that another work-item was faster, which asked for room as well. */
static void justify(course *r, const struct outcome *out) {
    client *c = r->c;
    const int to = c->becomes[0].to;
    if (out->wins > 1) complain(c, "%u work-items changed one object", out->wins);
    c->expect.asked[to] += out->attempts;
    if (out->wins)
        c->expect.page_nulls_most += out->attempts - 1;
    else
        c->expect.nulls[to] += out->attempts;
}

/* Objects that died where they were, whose slots others may have by now, or (moved) that changed
 * before. The last object comes into the place of the one that goes. */
static void bury(course *r, int moved) {
    heap_model *h = r->h;
    for (uint32_t n = h->count; n-- > 0;) {
        if (!r->outcomes[n].dies || (r->outcomes[n].to != 0) != moved) continue;
        remove_object(r->c, h, h->objects[n].ref);
        r->outcomes[n] = r->outcomes[h->count];
        r->c->sum.frees++;
    }
}

static void take_places(course *r) {
    client *c = r->c;
    heap_model *h = r->h;
    bury(r, 0);
    for (uint32_t n = 0; n < h->count; n++) {
        const clump_ref to = r->outcomes[n].to;
        if (!to || r->outcomes[n].dies) continue;
        if (object_in_slot(h, to))
            complain(c, "%08x became %08x, where an object is", h->objects[n].ref, to);
    }
    for (uint32_t n = 0; n < h->count; n++) {
        object_model *o = &h->objects[n];
        const struct outcome *out = &r->outcomes[n];
        if (!out->to || out->dies) continue;
        if (object_in_slot(h, out->to)) complain(c, "two objects became %08x", out->to);
        h->graves[h->grave_count++ % GRAVES] = o->ref;
        h->number_at[o->ref & h->plain] = 0;
        o->ref = out->to;
        h->number_at[o->ref & h->plain] = n + 1;
        change_one(r, o, out->class);
        c->sum.became++;
    }
    bury(r, 1);
}

/* ---- The operation --------------------------------------------------------------------------- */

/* An object that several work-items want, they only change. */
static void draw_wishes(client *c, heap_model *h, uint32_t n, course *r) {
    const int from = c->becomes[0].from;
    const int makes_more = c->become_count > 1 || is_a(c, c->becomes[0].to, from);
    for (uint32_t i = 0; i < n; i++) {
        clump_ref ref = i && chance(c, 8) ? c->list[2 * below(c, i)] : draw_reference(c, h, from);
        if (makes_more && !object_at(h, ref)) ref = 0; /* what is there later, nobody knows */
        c->list[2 * i] = ref;
        c->list[2 * i + 1] = chance(c, 50) ? BECOME : below(c, WAYS);
        if (!names(c, h, ref, from)) continue;
        struct outcome *out = &r->outcomes[object_at(h, ref) - h->objects];
        if (out->first) c->list[2 * (out->first - 1) + 1] = c->list[2 * i + 1] = BECOME;
        if (!out->first) out->first = i + 1;
    }
}

void become_others(client *c, heap_model *h) {
    clump_kernel *kernel = c->kernels[KERNEL_become];
    const become_model *b = c->becomes;
    const uint32_t n = logarithmic(c, 1, CHANGED_MAX);
    course r = {.c = c, .h = h, .common = common_class(c, b->from, b->to), .salt = draw_salt(c)};
    r.outcomes = must_alloc((h->count + 1) * sizeof *r.outcomes);
    compare_all(c, h); /* nothing is loose */
    draw_wishes(c, h, n, &r);
    note(c, "%u references, K%d to K%d", n, b->from, b->to);
    cl_fixture_write(&c->on, c->list_buffer, c->list, 2 * n * sizeof *c->list);
    fill_out(c, 3 * n, 0);
    SET_NUMBERS(c, kernel, 2, n, r.salt);
    launch_items(c, h, kernel, n);
    read_out(c, 3 * n);
    for (uint32_t i = 0; i < n; i++) {
        const clump_ref ref = c->list[2 * i];
        const uint32_t *answer = &c->out[3 * i];
        if (answer[2]) complain(c, "calls on %08x that became another: %02x", ref, answer[2]);
        if (names(c, h, ref, b->from))
            take_one(&r, object_at(h, ref), &c->list[2 * i], answer);
        else if (answer[0])
            complain(c, "%08x, which is no K%d, became %08x", ref, b->from, answer[0]);
    }
    uint32_t slower = 0;
    for (uint32_t k = 0; k < h->count; k++) {
        slower += r.outcomes[k].attempts - r.outcomes[k].wins;
        if (r.outcomes[k].attempts) justify(&r, &r.outcomes[k]);
        c->expect.frees |= r.outcomes[k].to || r.outcomes[k].dies;
    }
    /* One that another was faster than had made a new place, or not. */
    take_events(c, h, r.events, r.events + 2 * slower);
    follow_all(&r);
    take_places(&r);
    free(r.outcomes);
    settle(c, h);
    compare_all(c, h);
}
