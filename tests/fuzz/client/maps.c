/* Hash maps (cl/api/map.clh) in random rounds. The work-items of a launch put keys in, take them
 * out and look for them, several times each, some of them with keys that no other has and some with
 * shared ones. A key that one work-item has for itself gives what its calls would give alone. Of a
 * shared one these follow whatever the order was: a Word is taken out once, a key has one Word at
 * most at the end, only Words of the key are seen that were there or came in this launch, none
 * comes back to a work-item that saw it gone, and a key that nobody took out is found.
 *
 * Read first: containers.c, cl/api/map.clh.
 */
#include "client.h"
#include "model.h"

enum {
    ITEMS_OF_MAP = 1024, /* in several groups, which run at the same time */
    EACH_MAX = 4,
    WORKED_MAX = ITEMS_OF_MAP * EACH_MAX,
    SHARED_KEYS = 14,
    HOT_KEYS = 2, /* of these, in launches in which all want the same */
    OWN_KEYS = 2,
    LISTS_FIRST = 200, /* at most, of a new map */
    LISTS_LAST = 900,
    WORDS_MAX = 9000, /* of a heap: the map is tidied before there are more */
    LIST = 1024       /* CLUMP_MAP_LIST */
};
enum { INSERT, ERASE, FIND };
enum { DONE, THERE, NO_MEMORY, FULL }; /* CLUMP_... */

void write_map(client *c) {
    const field_model *value = &c->fields[c->parts.value];
    const char *key = model_type_name(c->fields[c->parts.key].type, 1);
    const int is_ref = value->type == CLUMP_TYPE_REF;
    text_append(&c->source,
                "CLUMP_MAP_DEFINE(Map, Word, %s, %s);\n"
                "#define VALUE_OF(w) Word_value(w)%s\n"
                "%s key_of(uint number) {\n"
                "    if (number < 2u) return (%s)0 - (%s)number;\n"
                "    return %s;\n"
                "}\n",
                key, is_ref ? c->classes[value->target].name : "uint", is_ref ? ".id" : "", key,
                key, key,
                c->fields[c->parts.key].bytes == 8 ? "(ulong)mix(number) << 32 | number / 4u"
                                                   : "mix(number)");
    text_append(
        &c->source,
        "__kernel void map_keep(CLUMP_HEAP, __global uint *out, uint what, uint ref, uint n) {\n"
        "    Map m = {ref};\n"
        "    if (get_global_id(0) == 0) out[0] = Map_heads_resize(m, n) == CLUMP_DONE;\n"
        "}\n"
        "__kernel void map_work(CLUMP_HEAP, __global uint *out, __global const uint *list,\n"
        "                       uint ref, uint n, uint each, uint tag) {\n"
        "    uint g = (uint)get_global_id(0);\n"
        "    if (g >= n) return;\n"
        "    Map m = {ref};\n"
        "    for (uint at = g * each; at < (g + 1u) * each; at++) {\n"
        "        uint what = list[3u * at], result = 0;\n"
        "        %s key = key_of(list[3u * at + 1u]);\n"
        "        %s value = %slist[3u * at + 2u]%s;\n"
        "        Word w = Word_null;\n"
        "        if (what == 0u) result = CLUMP_MAP_INSERT(Map, m, key, value, &w);\n"
        "        else if (what == 1u) w = CLUMP_MAP_ERASE(Map, m, key);\n"
        "        else w = CLUMP_MAP_FIND(Map, m, key);\n"
        "        if (what == 0u && result == CLUMP_DONE) Word_tag(w) = tag + at;\n"
        "        out[3u * at] = result;\n"
        "        out[3u * at + 1u] = w.id;\n"
        "        out[3u * at + 2u] = w.id ? VALUE_OF(w) : 0u;\n"
        "    }\n"
        "}\n"
        "__kernel void map_tidy(CLUMP_HEAP, __global uint *out, uint ref, uint before) {\n"
        "    Map m = {ref};\n"
        "    if (CLUMP_MAP_TIDY(Map, m, before) != CLUMP_DONE) out[0] = 0u;\n"
        "}\n",
        key, is_ref ? c->classes[value->target].name : "uint", is_ref ? "{" : "",
        is_ref ? "}" : "");
}

/* The same on the host. */
static uint64_t key_of(const client *c, uint32_t number) {
    const int is_wide = c->fields[c->parts.key].bytes == 8;
    if (number < 2) return is_wide ? UINT64_C(0) - number : (uint32_t)(0 - number);
    const uint32_t mixed = test_hash(number);
    return is_wide ? (uint64_t)mixed << 32 | number / 4 : mixed;
}

static uint64_t key_in(const client *c, object_model *word) {
    const uint32_t *words = words_of(c, word, c->parts.key);
    return c->fields[c->parts.key].bytes == 8 ? (uint64_t)words[1] << 32 | words[0] : words[0];
}

/* ---- What a map has -------------------------------------------------------------------------- */

typedef struct map_words {
    clump_ref *refs;
    uint32_t count, longest; /* longest: Words of the longest list */
} map_words;

/* All Words, of erased keys, too, list by list. Each is there once. */
static map_words walk(client *c, heap_model *h, const object_model *map) {
    const uint32_t heads = c->parts.heads;
    map_words all = {.refs = must_alloc((h->count + 1) * sizeof *all.refs)};
    uint8_t *seen = must_alloc(h->count + 1);
    for (uint32_t i = 0; i < map->lengths[heads]; i++) {
        uint32_t count = 0;
        for (clump_ref at = map->elements[heads][i]; at;) {
            object_model *word = object_at(h, at);
            if (!word || word->class != c->parts.word || seen[word - h->objects]++)
                complain(c, "%08x is in list %u of the map %08x, and is no Word, or is there twice",
                         at, i, map->ref);
            all.refs[all.count++] = at;
            at = *words_of(c, word, c->parts.next);
            count++;
        }
        if (count > LIST) complain(c, "list %u of the map %08x has %u Words", i, map->ref, count);
        if (count > all.longest) all.longest = count;
    }
    free(seen);
    return all;
}

/* The Word of a key that is not erased, or 0. */
static clump_ref word_of_key(const client *c, const heap_model *h, const map_words *all,
                             uint64_t key) {
    for (uint32_t i = 0; i < all->count; i++) {
        object_model *word = object_at(h, all->refs[i]);
        if (!*words_of(c, word, c->parts.erased) && key_in(c, word) == key) return word->ref;
    }
    return 0;
}

/* The lists as they are now have these Words: what the heap says becomes what the model has. */
static map_words adopt_lists(client *c, heap_model *h, clump_ref ref, uint32_t expected) {
    adopt_field(c, h, c->parts.next);
    adopt_array(c, h, object_at(h, ref), c->parts.heads);
    map_words all = walk(c, h, object_at(h, ref));
    same_number(c, "Words in the lists of a map", all.count, expected);
    return all;
}

/* More lists. Returns 1 if there are so many now. */
static int resize(client *c, heap_model *h, clump_ref ref, uint32_t lists) {
    const uint32_t ok = keep_container(c, h, KERNEL_map_keep, KEEP_HEADS, ref, lists);
    if (ok)
        set_length(c, object_at(h, ref), c->parts.heads, lists);
    else
        c->expect.raw_nulls++;
    return (int)ok;
}

/* A map without lists gets some. Few of them fill up. */
static int give_lists(client *c, heap_model *h, clump_ref ref) {
    const uint32_t lists = chance(c, 30) ? 1 + below(c, 2) : logarithmic(c, 1, LISTS_FIRST);
    note(c, "%u lists for %08x; ", lists, ref);
    return resize(c, h, ref, lists);
}

/* ---- A launch -------------------------------------------------------------------------------- */

/* What one work-item asked for, and what it got. */
typedef struct call {
    uint32_t item, what, number, value;
    uint32_t result, seen_value;
    clump_ref word;
    int is_done; /* looked at */
} call;

typedef struct worked {
    client *c;
    heap_model *h;
    call calls[WORKED_MAX];
    uint32_t count;
    uint32_t taken_again; /* Words that were there, of keys that an earlier launch erased */
    map_words before;
} worked;

static int is_insert(const call *k) {
    return k->what == INSERT && k->result == DONE;
}

/* Nothing was found, and nothing changed. */
static int is_miss(const call *k) {
    return !k->word;
}

static void expect_call(client *c, const call *k, uint32_t result, clump_ref word) {
    if (k->result != result || k->word != word)
        complain(c, "call %u for key %u gave %u and %08x, expected %u and %08x", k->what, k->number,
                 k->result, k->word, result, word);
}

/* Calls of one work-item for one key, in their order. `has`: the Word of the key. */
static void check_alone(client *c, call *const *calls, uint32_t n, clump_ref has) {
    for (uint32_t i = 0; i < n; i++) {
        const call *k = calls[i];
        if (k->what == INSERT && !has) {
            if (k->result == DONE && k->word)
                has = k->word;
            else if (k->result != NO_MEMORY && k->result != FULL)
                complain(c, "an insert of key %u, which is not there, gave %u", k->number,
                         k->result);
            else
                expect_call(c, k, k->result, 0);
            continue;
        }
        expect_call(c, k, k->what == INSERT ? THERE : DONE, has);
        if (k->what == ERASE) has = 0;
    }
}

/* The call that put a Word in, among these; NULL: none. */
static const call *insert_of(call *const *calls, uint32_t n, clump_ref word) {
    for (uint32_t i = 0; i < n; i++)
        if (is_insert(calls[i]) && calls[i]->word == word) return calls[i];
    return NULL;
}

/* A work-item saw a Word, then the key without it, then the Word again. */
static void check_order(client *c, call *const *calls, uint32_t n, uint32_t i) {
    int is_gone = calls[i]->what == ERASE;
    for (uint32_t j = i + 1; j < n && calls[i]->word; j++) {
        if (calls[j]->item != calls[i]->item) continue;
        if (calls[j]->word != calls[i]->word)
            is_gone = 1;
        else if (is_gone)
            complain(c, "the Word %08x of key %u came back", calls[j]->word, calls[j]->number);
        is_gone |= calls[j]->what == ERASE;
    }
}

/* Calls of several work-items for one key. */
static void check_shared(client *c, call *const *calls, uint32_t n, clump_ref has) {
    uint32_t inserts = 0, erases = 0, misses = 0;
    for (uint32_t i = 0; i < n; i++) {
        const call *k = calls[i], *from = insert_of(calls, n, k->word);
        inserts += is_insert(k);
        erases += k->what == ERASE && k->word;
        misses += is_miss(k);
        if (is_miss(k) && k->what == INSERT && k->result != NO_MEMORY && k->result != FULL)
            complain(c, "an insert of key %u gave %u and no Word", k->number, k->result);
        if (!is_miss(k) && !is_insert(k)) {
            expect_call(c, k, k->what == INSERT ? THERE : DONE, k->word);
            if (k->word != has && (!from || (from->item == k->item && from > k)))
                complain(c, "key %u has the Word %08x, which was not put in", k->number, k->word);
        }
        for (uint32_t j = 0; j < i; j++)
            if (k->what == ERASE && calls[j]->what == ERASE && k->word && calls[j]->word == k->word)
                complain(c, "the Word %08x of key %u was taken out twice", k->word, k->number);
        check_order(c, calls, n, i);
    }
    if ((has != 0) + inserts - erases > 1) complain(c, "key %u has two Words", calls[0]->number);
    if (misses && has && !erases)
        complain(c, "key %u was not found, and nobody took it out", calls[0]->number);
}

static void check_key(worked *w, uint32_t first) {
    call *of_key[WORKED_MAX];
    uint32_t n = 0;
    int is_shared = 0;
    for (uint32_t i = first; i < w->count; i++) {
        if (w->calls[i].number != w->calls[first].number) continue;
        is_shared |= w->calls[i].item != w->calls[first].item;
        w->calls[i].is_done = 1;
        of_key[n++] = &w->calls[i];
    }
    const clump_ref has = word_of_key(w->c, w->h, &w->before, key_of(w->c, of_key[0]->number));
    if (is_shared)
        check_shared(w->c, of_key, n, has);
    else
        check_alone(w->c, of_key, n, has);
}

/* An insert that gave a Word up has left its key and value there. Words that are not erased have what
 * the model says. */
static void adopt_erased(client *c, heap_model *h, const map_words *all) {
    const container_parts *p = &c->parts;
    const uint32_t fields[] = {p->key, p->value};
    uint32_t *expected = must_alloc((all->count + 1) * 4 * sizeof *expected), *at = expected;
    memset(expected, 0, (all->count + 1) * 4 * sizeof *expected);
    for (uint32_t i = 0; i < all->count; i++, at += 4) {
        object_model *word = object_at(h, all->refs[i]);
        memcpy(at, words_of(c, word, p->key), c->fields[p->key].bytes);
        at[2] = *words_of(c, word, p->value);
        at[3] = *words_of(c, word, p->erased) != 0;
    }
    for (int i = 0; i < 2; i++) adopt_field(c, h, fields[i]);
    adopt_field(c, h, p->erased);
    at = expected;
    for (uint32_t i = 0; i < all->count; i++, at += 4) {
        object_model *word = object_at(h, all->refs[i]);
        if ((*words_of(c, word, p->erased) != 0) != at[3])
            complain(c, "the Word %08x has %08x in `erased`", word->ref,
                     *words_of(c, word, p->erased));
        if (!at[3] && (memcmp(at, words_of(c, word, p->key), c->fields[p->key].bytes) != 0 ||
                       at[2] != *words_of(c, word, p->value)))
            complain(c, "the Word %08x has another key or value", word->ref);
    }
    free(expected);
}

/* The model follows. A value is what was put in, when others see it, too. */
static void take_calls(worked *w, uint32_t tag) {
    client *c = w->c;
    const container_parts *p = &c->parts;
    for (uint32_t i = 0; i < w->count; i++) {
        const call *k = &w->calls[i];
        c->expect.asked[p->word] += k->what == INSERT;
        c->expect.nulls[p->word] += k->what == INSERT && k->result == NO_MEMORY;
        if (!is_insert(k)) continue;
        const uint64_t key = key_of(c, k->number);
        object_model *word = object_at(w->h, k->word);
        if (word && word->class == p->word && *words_of(c, word, p->erased)) {
            word->tag = tag + i;
            w->taken_again++;
        } else {
            add_object(c, w->h, p->word, k->word, tag + i, 0);
            word = object_at(w->h, k->word);
        }
        memcpy(words_of(c, word, p->key), &key, c->fields[p->key].bytes);
        *words_of(c, word, p->value) = k->value;
        *words_of(c, word, p->erased) = 0;
    }
    c->expect.frees = 1; /* of Words that were not the first of their key */
    for (uint32_t i = 0; i < w->count; i++) {
        const call *k = &w->calls[i];
        if (!k->word) continue;
        object_model *word = object_at(w->h, k->word);
        uint32_t *value = words_of(c, word, p->value);
        if (*value == LOOSE) *value = k->seen_value;
        if (k->seen_value != *value)
            complain(c, "key %u has the value %08x, expected %08x", k->number, k->seen_value,
                     *value);
        if (k->what == ERASE) *words_of(c, word, p->erased) = 1;
    }
}

static void draw_calls(client *c, heap_model *h, worked *w, uint32_t items, uint32_t each) {
    const field_model *value = &c->fields[c->parts.value];
    const int is_hot = chance(c, 25);
    for (uint32_t i = 0; i < items * each; i++) {
        call *k = &w->calls[w->count++];
        const uint32_t own = SHARED_KEYS + i / each * OWN_KEYS + below(c, OWN_KEYS);
        k->item = i / each;
        k->what = below(c, 8) < 4 ? INSERT : below(c, 2) ? ERASE : FIND;
        k->number = is_hot ? below(c, HOT_KEYS) : chance(c, 50) ? below(c, SHARED_KEYS) : own;
        k->value =
            value->type == CLUMP_TYPE_REF ? draw_reference(c, h, value->target) : draw_salt(c);
        c->list[3 * i] = k->what, c->list[3 * i + 1] = k->number, c->list[3 * i + 2] = k->value;
    }
}

static void launch_calls(worked *w, clump_ref ref, uint32_t each, uint32_t tag) {
    client *c = w->c;
    watch_step(c);
    fill_out(c, 3 * w->count, UNTOUCHED);
    cl_fixture_write(&c->on, c->list_buffer, c->list, 3 * w->count * sizeof *c->list);
    SET_NUMBERS(c, c->kernels[KERNEL_map_work], 2, ref, w->count / each, each, tag);
    launch_items(c, w->h, c->kernels[KERNEL_map_work], w->count / each);
    read_out(c, 3 * w->count);
    for (uint32_t i = 0; i < w->count; i++) {
        w->calls[i].result = c->out[3 * i];
        w->calls[i].word = c->out[3 * i + 1];
        w->calls[i].seen_value = c->out[3 * i + 2];
    }
}

/* No map, or one without lists. A checked program tells of each call that there is no map. */
static void check_none(const worked *w, clump_ref ref) {
    if (!ref && tells_accesses(w->c)) w->c->expect.accesses += w->count;
    for (uint32_t i = 0; i < w->count; i++)
        expect_call(w->c, &w->calls[i], w->calls[i].what == INSERT ? FULL : DONE, 0);
}

/* New Words stand before those that were there, whose order stays. */
static void check_lists(worked *w, clump_ref ref) {
    client *c = w->c;
    uint32_t *old = must_alloc((w->before.count + 1) * sizeof *old), full = 0, inserts = 0;
    for (uint32_t i = 0; i < w->before.count; i++)
        old[i] = *words_of(c, object_at(w->h, w->before.refs[i]), c->parts.next);
    for (uint32_t i = 0; i < w->count; i++) {
        inserts += is_insert(&w->calls[i]);
        full += w->calls[i].what == INSERT && w->calls[i].result == FULL;
    }
    map_words all = adopt_lists(c, w->h, ref, w->before.count + inserts - w->taken_again);
    adopt_erased(c, w->h, &all);
    for (uint32_t i = 0; i < w->before.count; i++)
        if (old[i] != *words_of(c, object_at(w->h, w->before.refs[i]), c->parts.next))
            complain(c, "the Word %08x has another one after it", w->before.refs[i]);
    if (full && all.longest < LIST)
        complain(c, "%u keys had no room, and the longest list has %u Words", full, all.longest);
    free(all.refs);
    free(old);
}

void work_on_map(client *c, heap_model *h) {
    int is_new;
    const uint32_t items = logarithmic(c, 1, ITEMS_OF_MAP), each = 1 + below(c, EACH_MAX);
    object_model *map = chance(c, 4) ? NULL : draw_container(c, h, c->parts.map, &is_new);
    const clump_ref ref = map ? map->ref : 0;
    if (ref && !map->lengths[c->parts.heads] && chance(c, 90)) give_lists(c, h, ref);
    const uint32_t lists = ref ? object_at(h, ref)->lengths[c->parts.heads] : 0;
    const uint32_t tag = take_tags(c, items * each);
    worked *w = must_alloc(sizeof *w);
    *w = (worked){.c = c, .h = h};
    note(c, "%u times %u calls on %08x of %u lists", items, each, ref, lists);
    if (count_of(c, h, c->parts.word) < WORDS_MAX) {
        draw_calls(c, h, w, items, each);
        launch_calls(w, ref, each, tag);
        if (lists) {
            w->before = walk(c, h, object_at(h, ref));
            for (uint32_t i = 0; i < w->count; i++)
                if (!w->calls[i].is_done) check_key(w, i);
            take_calls(w, tag);
            check_lists(w, ref);
        } else {
            check_none(w, ref);
        }
    }
    free(w->before.refs);
    free(w);
}

/* ---- Upkeep ---------------------------------------------------------------------------------- */

/* before: as the call is told; must_be: what it has to return. */
static void tidy(client *c, heap_model *h, clump_ref ref, uint32_t before, uint32_t must_be) {
    const uint32_t items = (1 + below(c, 4)) * (uint32_t)c->local;
    watch_step(c);
    fill_out(c, 1, 1);
    SET_NUMBERS(c, c->kernels[KERNEL_map_tidy], 1, ref, before);
    launch_items(c, h, c->kernels[KERNEL_map_tidy], items);
    read_out(c, 1);
    if (!ref && tells_accesses(c)) c->expect.accesses += items;
    same_number(c, "what tidy returns", c->out[0], must_be);
}

/* Erased Words go, and the others into their lists. */
static void check_tidied(client *c, heap_model *h, clump_ref ref, const map_words *before) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < before->count; i++) {
        if (*words_of(c, object_at(h, before->refs[i]), c->parts.erased))
            remove_object(c, h, before->refs[i]);
        else
            live++;
    }
    c->sum.frees += before->count - live;
    c->expect.frees = 1;
    map_words after = adopt_lists(c, h, ref, live);
    for (uint32_t i = 0; i < after.count; i++) {
        uint32_t n = 0;
        while (n < before->count && before->refs[n] != after.refs[i]) n++;
        if (n == before->count) complain(c, "the Word %08x came from nowhere", after.refs[i]);
    }
    free(after.refs);
}

void keep_map(client *c, heap_model *h) {
    int is_new;
    object_model *map = draw_container(c, h, c->parts.map, &is_new);
    if (chance(c, 5)) tidy(c, h, 0, 1, 0);
    if (!map) return;
    const clump_ref ref = map->ref;
    const uint32_t before = map->lengths[c->parts.heads];
    if (!before) {
        if (chance(c, 50)) tidy(c, h, ref, 1, 0);
        give_lists(c, h, ref);
        return;
    }
    const uint32_t times = chance(c, 60) ? 1 : 2 + below(c, 2);
    map_words words = walk(c, h, map);
    note(c, "tidy %08x of %u lists, times %u", ref, before, times);
    if (chance(c, 15)) {
        tidy(c, h, ref, 0, 0);
        tidy(c, h, ref, before + 1, 0); /* divides it not */
    }
    if (times > 1 && times * before <= LISTS_LAST) resize(c, h, ref, times * before);
    tidy(c, h, ref, before, 1);
    check_tidied(c, h, ref, &words);
    free(words.refs);
}
