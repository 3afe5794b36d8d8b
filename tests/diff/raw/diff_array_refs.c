/* References in arrays of run-time length: objects that these lead to stay, and the references
 * follow objects that move.
 *
 * A random graph whose edges lie in arrays, in every layout, of degrees from 0 to some hundreds,
 * and of HUGE for a few where the layout allows it; plain references and an array of another class
 * beside. The host knows the graph by numbers, a registered buffer has the reference of each
 * number. Every engine has to mark as many objects, and to read as many references, as the host
 * says. Collections leave what roots lead to. Objects are freed, so that references dangle, and
 * compacted by each strategy: what dangles is null then, and the rest leads to the objects that it
 * led to. In the end nothing is a root: no object and no raw memory stays.
 *
 *   diff_array_refs                what CTest runs
 *   diff_array_refs ROUNDS [SEED]  longer, and other graphs
 *
 * Read first: cl/compact/reach.clh, cl/api/arrays.clh, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"
#include "clump/experimental.h"
#include "heap/access.h"

static cl_fixture fixture, *const f = &fixture;
static uint32_t rounds = 1, first_seed; /* of the command line */
static int is_short;                    /* the kernels for GPUs, on a CPU */

/* Numbers below LEAVES are of Leaf objects. DEGREE_MAX: of the arrays `edges`, and of most of them
 * DEGREE. HUGE: more than a chunk of compaction has, and not a multiple. */
enum {
    NODES = 4096,
    LEAVES = 1024,
    ROOTS = 3,
    DEGREE_MAX = 600,
    DEGREE = 2,
    LEAF_MAX = 3,
    HUGE = 9001
};

static const char schema_format[] =
    "class Other { uint x; }\n"
    "%sclass Node { uint number; ref Node edges%s; ref Node next; ref Leaf leaves%s; }\n"
    "class Leaf : Node { uint tag; }\n";

static const char source[] =
    "uint mix(uint x) {\n"
    "    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; return x ^ (x >> 16);\n"
    "}\n"
    "uint target(uint seed, uint k, uint j) { return mix(seed + k * 1009u + j) % NODES; }\n"
    "uint degree(uint seed, uint k) {\n"
    "    uint r = mix(seed ^ k * 7u);\n"
    "    if (HAS_HUGE && k % 512u == 7u) return HUGE - k / 512u;\n"
    "    return r % 1021u == 0u ? DEGREE_MAX - r % 90u : r % 3u == 0u ? 0u : r % (DEGREE + 1u);\n"
    "}\n"
    "__kernel void make_nodes(CLUMP_HEAP, __global uint *table) {\n"
    "    CLUMP_FOR_EACH_NEW(Node, self, i) { Node_number(self) = LEAVES + i; table[LEAVES + i] = "
    "self.id; Node_next(self) = Node_null; }\n"
    "}\n"
    "__kernel void make_leaves(CLUMP_HEAP, __global uint *table) {\n"
    "    CLUMP_FOR_EACH_NEW(Leaf, self, i) { Leaf_number(self) = i; table[i] = self.id; "
    "Leaf_next(self) = "
    "Node_null; }\n"
    "}\n"
    /* Lengths first, then elements; every second array by append. */
    "__kernel void link(CLUMP_HEAP, __global const uint *table, __global uint *failed, uint seed) "
    "{\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint k = Node_number(self), n = degree(seed, k), by_append = k & 1u;\n"
    "#if SHORT\n" /* one call that takes memory, and not two */
    "        for (uint t = 0; t <= by_append; t++)\n"
    "            if (Node_edges_resize(self, t ? 0u : n) != CLUMP_DONE) atomic_inc(failed);\n"
    "#else\n"
    "        if (Node_edges_resize(self, by_append ? 0u : n) != CLUMP_DONE) atomic_inc(failed);\n"
    "        if (by_append && Node_edges_reserve(self, n) != CLUMP_DONE) atomic_inc(failed);\n"
    "#endif\n"
    "        for (uint j = 0; j < Node_edges_length(self); j++)\n"
    "            if (!Node_is_null(Node_edges(self, j))) atomic_inc(failed);\n"
    "        for (uint j = 0; j < n; j++) {\n"
    "            Node to = {table[target(seed, k, j)]};\n"
    "            if (!by_append) Node_edges(self, j) = to;\n"
    "            else if (Node_edges_append(self, to) != j) atomic_inc(failed);\n"
    "        }\n"
    "        Node next = {k % 5u == 0u ? table[target(seed, k, 5000u)] : 0u};\n"
    "        Node_next(self) = next;\n"
    "        n = k % (LEAF_MAX + 1u);\n"
    "        if (Node_leaves_resize(self, n) != CLUMP_DONE) atomic_inc(failed);\n"
    "        for (uint j = 0; j < n; j++) {\n"
    "            Leaf to = {table[target(seed, k, 6000u + j) % LEAVES]};\n"
    "            Node_leaves(self, j) = to;\n"
    "        }\n"
    "    }\n"
    "}\n"
    /* Fewer elements: those beyond the length keep nothing alive. */
    "__kernel void shorten(CLUMP_HEAP, __global uint *failed) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint n = Node_edges_length(self);\n"
    "        if (Node_number(self) % 3u == 0u && Node_edges_resize(self, n / 2u) != CLUMP_DONE) "
    "atomic_inc(failed);\n"
    "    }\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP, __global uint *table, uint seed, uint share) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint k = Node_number(self);\n"
    "        if (mix(seed + k) % 5u >= share) continue;\n"
    "        table[k] = 0;\n"
    "        Node_free(self);\n"
    "    }\n"
    "}\n";

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make_nodes, *make_leaves, *link, *shorten, *thin;
    clump_refs *table_refs, *root_refs;
    cl_mem table, roots, failed;
    uint32_t seed, inside, leaves_inside, has_huge;
    uint32_t is[NODES]; /* references, 0: freed */
    uint32_t length[NODES];
    uint8_t reached[NODES],
        nulled[NODES]; /* nulled: the object is gone, and references to it are null */
} world;

static uint32_t target(const world *w, uint32_t k, uint32_t j) {
    return test_hash(w->seed + k * 1009 + j) % NODES;
}

static uint32_t degree(const world *w, uint32_t k) {
    const uint32_t r = test_hash(w->seed ^ k * 7);
    if (w->has_huge && k % 512 == 7) return HUGE - k / 512;
    return r % 1021 == 0 ? DEGREE_MAX - r % 90 : r % 3 == 0 ? 0 : r % (DEGREE + 1);
}

static void open_world(world *w, const char *aos, const char *edges, const char *leaves,
                       uint32_t seed) {
    char schema[400], options[200];
    memset(w, 0, sizeof *w);
    snprintf(schema, sizeof schema, schema_format, aos, edges, leaves);
    w->has_huge = !strstr(edges, "max");
    snprintf(options, sizeof options,
             "-DNODES=%du -DLEAVES=%du -DDEGREE_MAX=%du -DDEGREE=%du -DLEAF_MAX=%du -DSHORT=%d "
             "-DHUGE=%du -DHAS_HUGE=%u",
             NODES, LEAVES, DEGREE_MAX, DEGREE, LEAF_MAX, is_short, HUGE, w->has_huge);
    print_message("%s", schema);
    w->seed = test_hash(seed + 1);
    w->heap = cl_fixture_heap(f, schema, 16 << 20, 2);
    w->program = cl_fixture_program(f, w->heap, source, options, NULL);
    w->make_nodes = cl_fixture_kernel(f, w->program, "make_nodes");
    w->make_leaves = cl_fixture_kernel(f, w->program, "make_leaves");
    w->link = cl_fixture_kernel(f, w->program, "link");
    w->shorten = cl_fixture_kernel(f, w->program, "shorten");
    w->thin = cl_fixture_kernel(f, w->program, "thin");
    w->table = cl_fixture_buffer(f, w->is, sizeof w->is);
    const uint32_t zero[ROOTS] = {0};
    w->roots = cl_fixture_buffer(f, zero, sizeof zero);
    w->failed = cl_fixture_buffer(f, zero, sizeof *zero);
    clump_field_info info;
    const clump_schema *s = clump_heap_get_info(w->heap)->schema;
    info = *clump_schema_find_field(s, cl_fixture_class_id(w->heap, "Node"), "edges");
    w->inside = info.count;
    info = *clump_schema_find_field(s, cl_fixture_class_id(w->heap, "Node"), "leaves");
    w->leaves_inside = info.count;
    CHECK_OK(
        f, clump_refs_create(
               w->heap,
               &(clump_refs_desc){
                   .size = sizeof(clump_refs_desc), .buffer = w->table, .count = NODES, .weak = 1},
               &w->table_refs, NULL));
    CHECK_OK(f, clump_refs_create(
                    w->heap,
                    &(clump_refs_desc){
                        .size = sizeof(clump_refs_desc), .buffer = w->roots, .count = ROOTS},
                    &w->root_refs, NULL));
}

static void close_world(world *w) {
    clump_refs_destroy(w->table_refs);
    clump_refs_destroy(w->root_refs);
    clump_kernel_destroy(w->make_nodes);
    clump_kernel_destroy(w->make_leaves);
    clump_kernel_destroy(w->link);
    clump_kernel_destroy(w->shorten);
    clump_kernel_destroy(w->thin);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    clReleaseMemObject(w->table);
    clReleaseMemObject(w->roots);
    clReleaseMemObject(w->failed);
}

static void done(world *w) {
    uint32_t failed;
    CHECK_HEAP(f, w->heap);
    cl_fixture_read(f, w->failed, &failed, sizeof failed);
    assert_int_equal(failed, 0);
    cl_fixture_read(f, w->table, w->is, sizeof w->is);
}

static void build(world *w) {
    uint64_t made;
    SET_ARG(f, w->make_nodes, 0, w->table);
    SET_ARG(f, w->make_leaves, 0, w->table);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->make_nodes, "Node", NODES - LEAVES, &made, NULL));
    assert_int_equal(made, NODES - LEAVES);
    CHECK_OK(f, clump_heap_do_new(w->heap, w->make_leaves, "Leaf", LEAVES, &made, NULL));
    assert_int_equal(made, LEAVES);
    SET_ARG(f, w->link, 0, w->table);
    SET_ARG(f, w->link, 1, w->failed);
    SET_ARG(f, w->link, 2, w->seed);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->link, NULL));
    for (uint32_t k = 0; k < NODES; k++) w->length[k] = degree(w, k);
    done(w);
}

static void shorten(world *w) {
    SET_ARG(f, w->shorten, 0, w->failed);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->shorten, NULL));
    for (uint32_t k = 0; k < NODES; k += 3) w->length[k] /= 2;
    done(w);
}

/* What an element that led to number `to` has now. Of one that dangles, nothing is known. */
static void expect_ref(const world *w, uint32_t k, uint32_t j, uint32_t to, uint32_t is) {
    if (w->is[to] ? is != w->is[to] : w->nulled[to] && is)
        fail_msg("number %u, reference %u: 0x%x, to number %u, which is 0x%x", k, j, is, to,
                 w->is[to]);
}

static void expect_graph(world *w, uint32_t every) {
    static uint32_t refs[HUGE];
    for (uint32_t k = 0; k < NODES; k++) {
        if (!w->is[k] || (k % every && w->length[k] < 400)) continue;
        uint64_t n;
        uint32_t next;
        CHECK_OK(f, clump_heap_read_object_array(w->heap, "Node", "edges", w->is[k], sizeof *refs,
                                                 refs, HUGE, &n));
        assert_int_equal(n, w->length[k]);
        for (uint32_t j = 0; j < n; j++) expect_ref(w, k, j, target(w, k, j), refs[j]);
        CHECK_OK(f, clump_heap_read_object_array(w->heap, "Node", "leaves", w->is[k], sizeof *refs,
                                                 refs, HUGE, &n));
        assert_int_equal(n, k % (LEAF_MAX + 1));
        for (uint32_t j = 0; j < n; j++)
            expect_ref(w, k, 6000 + j, target(w, k, 6000 + j) % LEAVES, refs[j]);
        CHECK_OK(f, clump_heap_read_object_field(w->heap, "Node", "next", 0, w->is[k], sizeof(next),
                                                 &next));
        if (k % 5 == 0) expect_ref(w, k, 5000, target(w, k, 5000), next);
    }
}

/* What the roots lead to, and how many references its objects have. */
static uint32_t reach(world *w, const uint32_t *roots, uint64_t *refs) {
    static uint32_t queue[NODES];
    uint32_t count = 0;
    memset(w->reached, 0, sizeof w->reached);
    *refs = 0;
#define REACH(number)                                                                              \
    do {                                                                                           \
        const uint32_t n_ = (number);                                                              \
        if (w->is[n_] && !w->reached[n_]) {                                                        \
            w->reached[n_] = 1;                                                                    \
            queue[count++] = n_;                                                                   \
        }                                                                                          \
    } while (0)
    for (uint32_t i = 0; i < ROOTS; i++) REACH(roots[i]);
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t k = queue[at], leaves = k % (LEAF_MAX + 1);
        for (uint32_t j = 0; j < w->length[k]; j++) REACH(target(w, k, j));
        for (uint32_t j = 0; j < leaves; j++) REACH(target(w, k, 6000 + j) % LEAVES);
        if (k % 5 == 0) REACH(target(w, k, 5000));
        *refs += 1 + w->inside + (w->length[k] > w->inside ? w->length[k] - w->inside : 0);
        *refs += w->leaves_inside + (leaves > w->leaves_inside ? leaves - w->leaves_inside : 0);
    }
    return count;
}

static uint32_t count_live(const world *w) {
    uint32_t live = 0;
    for (uint32_t k = 0; k < NODES; k++) live += w->is[k] != 0;
    return live;
}

/* By every engine, then for good by one of them. */
static void collect(world *w, const uint32_t *numbers, uint32_t turn) {
    static const clump_mark_tuning narrow = {.narrow = CLUMP_NEVER, .wide = CLUMP_NEVER},
                                   alone = {.narrow = 1024, .groups = 1, .stay = 1};
    static const struct {
        clump_mark_engine engine;
        uint32_t room;
        const clump_mark_tuning *tuning;
    } ways[] = {{CLUMP_MARK_AUTO, 0, NULL},     {CLUMP_MARK_QUEUE, 0, NULL},
                {CLUMP_MARK_ROWS, 0, NULL},     {CLUMP_MARK_HOST, 0, NULL},
                {CLUMP_MARK_QUEUE, 64, NULL},   {CLUMP_MARK_QUEUE, 0, &narrow},
                {CLUMP_MARK_ROWS, 64, &narrow}, {CLUMP_MARK_AUTO, 0, &alone}};
    enum { WAYS = sizeof ways / sizeof *ways };
    uint64_t refs;
    uint32_t roots[ROOTS], live = reach(w, numbers, &refs), dead = count_live(w) - live;
    for (uint32_t i = 0; i < ROOTS; i++) roots[i] = w->is[numbers[i]];
    cl_fixture_write(f, w->roots, roots, sizeof roots);
    const uint64_t before = cl_fixture_raw_bytes(f, w->heap);
    for (uint32_t i = 0; i <= WAYS; i++) {
        clump_collect_report r = {.size = sizeof r};
        const uint32_t way = i < WAYS ? i : turn % WAYS;
        CHECK_OK(f, clump_heap_collect(w->heap,
                                       &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                             .engine = ways[way].engine,
                                                             .queue_room = ways[way].room,
                                                             .tuning = ways[way].tuning,
                                                             .only_mark = i < WAYS},
                                       &r, NULL));
        if (r.live != live || r.dead != dead || r.refs_read != refs)
            fail_msg(
                "way %u: %llu live, %llu dead, %llu references read; %u, %u, %llu were "
                "expected",
                way, (unsigned long long)r.live, (unsigned long long)r.dead,
                (unsigned long long)r.refs_read, live, dead, (unsigned long long)refs);
        if (i < WAYS) assert_int_equal(cl_fixture_raw_bytes(f, w->heap), before);
    }
    uint32_t was[NODES];
    memcpy(was, w->is, sizeof was);
    done(w);
    for (uint32_t k = 0; k < NODES; k++) {
        assert_int_equal(w->is[k], w->reached[k] ? was[k] : 0);
        if (was[k] && !w->is[k]) w->nulled[k] = 0; /* references to it dangle, from nowhere */
    }
    print_message("%u objects live, %u die, %llu references\n", live, dead,
                  (unsigned long long)refs);
}

/* So many fifths of the objects go. */
static void thin(world *w, uint32_t seed, uint32_t share) {
    SET_ARG(f, w->thin, 0, w->table);
    SET_ARG(f, w->thin, 1, seed);
    SET_ARG(f, w->thin, 2, share);
    CHECK_OK(f, clump_heap_do_all(w->heap, w->thin, NULL));
    done(w);
    for (uint32_t k = 0; k < NODES; k++)
        if (!w->is[k]) w->nulled[k] = 1; /* by the compaction that follows */
}

static void compact(world *w, uint32_t turn) {
    static const bench_merge merges[] = {{.factor = 1},
                                         {.factor = 2, .rewrite = BENCH_REWRITE_GLOBAL},
                                         {.factor = 1, .rewrite = BENCH_REWRITE_SHARED}};
    clump_compact_report r = {.size = sizeof r};
    CHECK_OK(f, bench_merge_compact(
                    w->heap,
                    &(clump_compact_desc){.size = sizeof(clump_compact_desc), .null_dangling = 1},
                    turn % 4 ? &merges[turn % 4 - 1] : NULL, &r, NULL));
    assert_true(r.moves > 0 && r.refs_rewritten > 0);
    print_message("%llu moves, %llu of %llu references rewritten, %llu null\n",
                  (unsigned long long)r.moves, (unsigned long long)r.refs_rewritten,
                  (unsigned long long)r.refs_examined, (unsigned long long)r.refs_dangling);
    done(w);
    expect_graph(w, 5);
}

/* Without a root all dies. */
static void end(world *w) {
    static const uint32_t zero[ROOTS];
    const uint32_t live = count_live(w);
    clump_collect_report r = {.size = sizeof r};
    cl_fixture_write(f, w->roots, zero, sizeof zero);
    CHECK_OK(f, clump_heap_collect(w->heap, NULL, &r, NULL));
    assert_true(live > 0 && r.dead == live && r.live == 0);
    assert_int_equal(cl_fixture_raw_bytes(f, w->heap), 0);
    done(w);
}

static void test_graphs(void **state) {
    static world w;
    static const struct {
        const char *aos, *edges, *leaves;
    } layouts[] = {{"", "[*]", "[*] max 3"},
                   {"", "[*] inline 4", "[*] inline 1 packed"},
                   {"aos ", "[*] inline 2", "[*]"},
                   {"", "[*] max 600 packed", "[*] inline 2"},
                   {"", "[*] inline 3", "[*] max 3"}};
    /* PoCL takes long to compile the kernels for GPUs: the last one alone then, which has one array
     * that grows. */
    enum { LAYOUTS = sizeof layouts / sizeof *layouts };
    const uint32_t first[ROOTS] = {3, 2000, 4000};
    for (uint32_t n = 0; n < LAYOUTS * rounds; n++) {
        const uint32_t i = n % LAYOUTS;
        if (is_short && i != LAYOUTS - 1) continue;
        open_world(&w, layouts[i].aos, layouts[i].edges, layouts[i].leaves, n + first_seed);
        build(&w);
        expect_graph(&w, 5);
        shorten(&w);
        collect(&w, first, n);
        expect_graph(&w, 5);
        for (uint32_t turn = 0; turn < 4; turn++) {
            thin(&w, w.seed + turn, turn ? 3 : 2); /* for a merge, half of a block at least */
            compact(&w, turn);
        }
        uint32_t last[ROOTS] = {0}, count = 0;
        for (uint32_t k = NODES; k-- > 0 && count < ROOTS;)
            if (w.is[k] && w.length[k]) last[count++] = k;
        collect(&w, last, n + 1);
        expect_graph(&w, 1);
        end(&w);
        close_world(&w);
    }
}

static int run_with(const char *name, uint32_t disable) {
    int status = cl_fixture_open(f, &(cl_fixture_desc){.disable = disable});
    if (status) return status;
    is_short = f->capabilities->is_cpu && f->capabilities->personality == CLUMP_PERSONALITY_GPU;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs)};
    status = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}

int main(int argc, char **argv) {
    return cl_fixture_run_rounds(argc, argv, &rounds, &first_seed, run_with, &is_short);
}
