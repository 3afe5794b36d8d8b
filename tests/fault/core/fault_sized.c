/* Every struct that begins with its size, in every call that has one (docs/design.md#names): wrong
 * sizes are refused before anything is done, longer structs are taken, and nothing is written
 * beyond. tests/repo/check_headers.sh compares the structs here with those of the headers.
 *
 * Read first: tests/support/sized.h.
 */
#include <string.h>

#include "cl_fixture.h"
#include "core/sized.h"
#include "sized.h"

static const char classes[] = "class A { uint x; ref A next; } class B { uint y; }";
static const char source[] =
    "__kernel void init(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH_NEW(A, self, i) { A_x(self) = i; "
    "A_next(self) = A_null; } }";

enum { OBJECTS = 300, ROOM = 400 };

/* What a saved heap is written to and read from. */
static struct {
    char data[1 << 16];
    size_t bytes, at;
} file;

static int write_file(void *user, const void *data, size_t bytes) {
    (void)user;
    if (bytes > sizeof file.data - file.bytes) return 1;
    memcpy(file.data + file.bytes, data, bytes);
    file.bytes += bytes;
    return 0;
}

static size_t read_file(void *user, void *data, size_t bytes) {
    (void)user;
    const size_t left = file.bytes - file.at, n = bytes < left ? bytes : left;
    memcpy(data, file.data + file.at, n);
    file.at += n;
    return n;
}

static struct {
    cl_fixture on;
    clump_schema *schema;
    clump_heap *heap, *evictable, *empty;
    clump_collector *collector;
    clump_compactor *compactor;
    clump_extract *extract;
    clump_pool *pool;
    clump_allocation allocation;
    clump_suballoc *suballoc;
    clump_range range;
    cl_mem buffer; /* of references */
    clump_ref refs[ROOM];
} t;

/* ---- What must be as before ------------------------------------------------------------------- */

/* Objects, blocks, what the pool has given out, what is evicted, saved, and registered. */
typedef struct picture {
    clump_heap_stats heaps[3];
    uint64_t evicted;
    clump_pool_stats pool;
    clump_suballoc_stats suballoc;
    size_t saved;
} picture;

static picture take_picture(void) {
    picture p;
    clump_heap *const heaps[] = {t.heap, t.evictable, t.empty};
    memset(&p, 0, sizeof p);
    for (int i = 0; i < 3; i++) {
        p.heaps[i].size = sizeof p.heaps[i];
        CHECK_OK(&t.on, clump_heap_read_stats(heaps[i], &p.heaps[i], NULL, 0));
    }
    p.pool.size = sizeof p.pool;
    p.suballoc.size = sizeof p.suballoc;
    p.evicted = clump_heap_get_info(t.evictable)->evicted_objects;
    CHECK_OK(&t.on, clump_pool_get_stats(t.pool, &p.pool, NULL));
    CHECK_OK(&t.on, clump_suballoc_get_stats(t.suballoc, &p.suballoc, NULL));
    p.saved = file.bytes;
    return p;
}

static picture before;

static int is_unchanged(void) {
    const picture now = take_picture();
    return memcmp(&before, &now, sizeof now) == 0;
}

/* ---- Calls ------------------------------------------------------------------------------------ */

/* With the words of what the call was made on. */
static clump_status of_heap(clump_status status, clump_error *error) {
    *error = *clump_context_get_error(t.on.clump);
    return status;
}

static clump_status of_pool(clump_status status, clump_error *error) {
    clump_pool_get_error(t.pool, error);
    return status;
}

static clump_status of_suballoc(clump_status status, clump_error *error) {
    *error = *clump_suballoc_get_error(t.suballoc);
    return status;
}

static clump_status create_context(void *desc, clump_error *error) {
    clump_context *made;
    clump_status status = clump_context_create(desc, &made, error);
    assert_true(!status == (made != NULL));
    clump_context_destroy(made);
    return status;
}
static clump_context_desc context_desc = {.size = sizeof context_desc};

static clump_status give_functions(void *functions, clump_error *error) {
    clump_context_desc desc = context_desc;
    desc.cl = functions;
    return create_context(&desc, error);
}
static const clump_cl_functions functions = {.size = sizeof functions};

static clump_status give_functions_to_pool(void *given, clump_error *error) {
    clump_pool *made;
    const clump_pool_desc desc = {.size = sizeof desc, .queue = t.on.queue, .cl = given};
    clump_status status = clump_pool_create(&desc, &made, error);
    clump_pool_destroy(made);
    return status;
}

static clump_status probe(void *capabilities, clump_error *error) {
    return clump_device_probe(t.on.device, 0, capabilities, error);
}

static clump_status create_heap(void *desc, clump_error *error) {
    clump_heap *made;
    clump_status status = clump_heap_create(desc, &made, error);
    assert_true(!status == (made != NULL));
    clump_heap_destroy(made);
    return status;
}
static clump_heap_desc heap_desc = {.size = sizeof heap_desc};

static clump_status ask_for_bytes(void *desc, clump_error *error) {
    static const uint64_t objects[] = {10, 10};
    uint64_t bytes;
    return clump_heap_get_bytes_needed(desc, objects, &bytes, error);
}

static clump_status create_checked(void *checked, clump_error *error) {
    clump_heap_desc desc = heap_desc;
    desc.checked = checked;
    return create_heap(&desc, error);
}
static const clump_checked_desc checked_desc = {.size = sizeof checked_desc,
                                                .without = CLUMP_CHECK_MEMORY};

static clump_status create_program(void *desc, clump_error *error) {
    clump_program *made;
    clump_status status = clump_program_create(desc, &made, error);
    clump_program_destroy(made);
    return status;
}
static clump_program_desc program_desc = {.size = sizeof program_desc};

static clump_status register_refs(void *desc, clump_error *error) {
    clump_refs *made;
    clump_status status = clump_refs_create(t.heap, desc, &made, error);
    clump_refs_destroy(made);
    return status;
}
static clump_refs_desc refs_desc = {.size = sizeof refs_desc};

static clump_status take_errors(void *report, clump_error *error) {
    return of_heap(clump_heap_take_errors(t.heap, report), error);
}

static clump_status read_stats(void *stats, clump_error *error) {
    return of_heap(clump_heap_read_stats(t.heap, stats, NULL, 0), error);
}

static clump_status repair(void *report, clump_error *error) {
    return of_heap(clump_heap_repair(t.heap, report), error);
}

/* Structs. */

static const clump_struct_field x_field = {"x", 0};
static const clump_struct_desc struct_desc = {.size = sizeof struct_desc,
                                              .class_name = "A",
                                              .bytes = 4,
                                              .field_count = 1,
                                              .fields = &x_field};

static clump_status read_structs(void *desc, clump_error *error) {
    uint32_t x[4];
    return of_heap(clump_heap_read_structs(t.heap, desc, t.refs, x, 4, NULL), error);
}

static clump_status write_structs(void *desc, clump_error *error) {
    static const uint32_t x[4] = {0, 1, 2, 3};
    return of_heap(clump_heap_write_structs(t.heap, desc, t.refs, x, 4), error);
}

static clump_status new_structs(void *desc, clump_error *error) {
    static const uint32_t x[1];
    return of_heap(clump_heap_new_structs(t.heap, desc, x, 1, NULL, NULL), error);
}

/* Compaction and collection. */

static const clump_compact_desc compact_desc = {.size = sizeof compact_desc, .null_dangling = 1};
static clump_collect_desc collect_desc = {.size = sizeof collect_desc};
static clump_compactor_desc compactor_desc = {.size = sizeof compactor_desc};
static clump_collector_desc collector_desc = {.size = sizeof collector_desc};

static clump_status compact(void *desc, clump_error *error) {
    return of_heap(clump_heap_compact(t.heap, desc, NULL, NULL), error);
}

static clump_status compact_reported(void *report, clump_error *error) {
    return of_heap(clump_heap_compact(t.heap, NULL, report, NULL), error);
}

static clump_status collect(void *desc, clump_error *error) {
    return of_heap(clump_heap_collect(t.heap, desc, NULL, NULL), error);
}

static clump_status collect_reported(void *report, clump_error *error) {
    return of_heap(clump_heap_collect(t.heap, &collect_desc, report, NULL), error);
}

static clump_status collect_compacting(void *desc, clump_error *error) {
    clump_collect_desc with = collect_desc;
    with.compact = desc;
    return collect(&with, error);
}

static clump_status collect_compacting_reported(void *report, clump_error *error) {
    const clump_compact_desc plain = {.size = sizeof plain};
    clump_collect_desc with = collect_desc;
    with.compact = &plain;
    with.compact_report = report;
    return collect(&with, error);
}

static clump_status create_compactor(void *desc, clump_error *error) {
    clump_compactor *made;
    clump_status status = clump_compactor_create(desc, &made, error);
    clump_compactor_destroy(made);
    return status;
}

static clump_status create_compactor_with(void *desc, clump_error *error) {
    clump_compactor_desc with = compactor_desc;
    with.compact = desc;
    return create_compactor(&with, error);
}

static clump_status create_collector(void *desc, clump_error *error) {
    clump_collector *made;
    clump_status status = clump_collector_create(desc, &made, error);
    clump_collector_destroy(made);
    return status;
}

static clump_status create_collector_with(void *desc, clump_error *error) {
    clump_collector_desc with = collector_desc;
    with.collect = desc;
    return create_collector(&with, error);
}

static clump_status create_collector_compacting(void *desc, clump_error *error) {
    clump_collect_desc collecting = collect_desc;
    collecting.compact = desc;
    return create_collector_with(&collecting, error);
}

static clump_status tick_compactor(void *report, clump_error *error) {
    return of_heap(clump_compactor_tick(t.compactor, NULL, report, NULL), error);
}

static clump_status tick_collector(void *report, clump_error *error) {
    return of_heap(clump_collector_tick(t.collector, NULL, report, NULL), error);
}

/* Other heaps, and files. */

static clump_convert_desc convert_desc = {.size = sizeof convert_desc};
static const clump_evict_desc evict_desc = {.size = sizeof evict_desc, .class_name = "A"};
static const char *const class_a[] = {"A"};
static const clump_extract_desc extract_desc = {
    .size = sizeof extract_desc, .classes = class_a, .class_count = 1};
static clump_insert_desc insert_desc = {.size = sizeof insert_desc};
static const clump_save_desc save_desc = {.size = sizeof save_desc, .write = write_file};
static const clump_load_desc load_desc = {.size = sizeof load_desc, .read = read_file};

static clump_status convert(void *desc, clump_error *error) {
    return of_heap(clump_heap_convert(t.heap, desc, NULL), error);
}

static clump_status convert_reported(void *report, clump_error *error) {
    return of_heap(clump_heap_convert(t.heap, &convert_desc, report), error);
}

static clump_status evict(void *desc, clump_error *error) {
    clump_status status = of_heap(clump_heap_evict(t.evictable, desc, NULL), error);
    if (!status) CHECK_OK(&t.on, clump_heap_bring_back(t.evictable, NULL, NULL));
    return status;
}

static clump_status evict_reported(void *report, clump_error *error) {
    clump_status status = of_heap(clump_heap_evict(t.evictable, NULL, report), error);
    if (!status) CHECK_OK(&t.on, clump_heap_bring_back(t.evictable, NULL, NULL));
    return status;
}

static clump_status bring_back(void *desc, clump_error *error) {
    return of_heap(clump_heap_bring_back(t.evictable, desc, NULL), error);
}

static clump_status bring_back_reported(void *report, clump_error *error) {
    return of_heap(clump_heap_bring_back(t.evictable, NULL, report), error);
}

static clump_status extract(void *desc, clump_error *error) {
    clump_extract *made;
    clump_status status = of_heap(clump_heap_extract(t.heap, desc, &made, NULL), error);
    clump_extract_destroy(made);
    return status;
}

static clump_status extract_reported(void *report, clump_error *error) {
    clump_extract *made;
    const clump_extract_desc all = {.size = sizeof all, .classes = class_a, .class_count = 1};
    clump_status status = of_heap(clump_heap_extract(t.heap, &all, &made, report), error);
    clump_extract_destroy(made);
    return status;
}

/* What moves there goes on to nowhere. */
static clump_status migrate_with(const void *desc, const void *insert, void *report,
                                 clump_error *error) {
    const clump_extract_desc back = {
        .size = sizeof back, .classes = class_a, .class_count = 1, .free_objects = 1};
    const clump_extract_desc some = {.size = sizeof some, .where_class = "A", .where_field = "x"};
    clump_status status = of_heap(
        clump_heap_migrate(t.heap, desc ? desc : &some, t.empty, insert, NULL, report), error);
    if (status) return status;
    clump_extract *moved;
    CHECK_OK(&t.on, clump_heap_extract(t.empty, &back, &moved, NULL));
    CHECK_OK(&t.on, clump_heap_insert(t.heap, moved, NULL));
    clump_extract_destroy(moved);
    return status;
}

static clump_status migrate(void *desc, clump_error *error) {
    return migrate_with(desc, NULL, NULL, error);
}

static clump_status migrate_inserting(void *desc, clump_error *error) {
    return migrate_with(NULL, desc, NULL, error);
}

static clump_status migrate_reported(void *report, clump_error *error) {
    return migrate_with(NULL, NULL, report, error);
}

/* Into a heap that is emptied again. */
static void empty_again(void) {
    const clump_collect_desc all = {.size = sizeof all};
    CHECK_OK(&t.on, clump_heap_collect(t.empty, &all, NULL, NULL));
}

static clump_status insert(void *desc, clump_error *error) {
    clump_status status = of_heap(clump_heap_insert(t.empty, t.extract, desc), error);
    if (!status) empty_again();
    return status;
}

static clump_status save(void *desc, clump_error *error) {
    const size_t bytes = file.bytes;
    clump_status status = of_heap(clump_heap_save(t.heap, desc, NULL), error);
    if (!status) file.bytes = bytes;
    return status;
}

static clump_status save_reported(void *report, clump_error *error) {
    const clump_save_desc plain = {.size = sizeof plain, .write = write_file};
    const size_t bytes = file.bytes;
    clump_status status = of_heap(clump_heap_save(t.heap, &plain, report), error);
    if (!status) file.bytes = bytes;
    return status;
}

static clump_status load(void *desc, clump_error *error) {
    file.at = 0;
    clump_status status = of_heap(clump_heap_load(t.empty, desc, NULL), error);
    if (!status) empty_again();
    return status;
}

static clump_status load_reported(void *report, clump_error *error) {
    const clump_load_desc plain = {.size = sizeof plain, .read = read_file};
    file.at = 0;
    clump_status status = of_heap(clump_heap_load(t.empty, &plain, report), error);
    if (!status) empty_again();
    return status;
}

static clump_status load_extract(void *desc, clump_error *error) {
    clump_extract *made;
    file.at = 0;
    clump_status status = clump_extract_load(t.on.clump, desc, &made, NULL, error);
    clump_extract_destroy(made);
    return status;
}

static clump_status load_extract_reported(void *report, clump_error *error) {
    const clump_load_desc plain = {.size = sizeof plain, .read = read_file};
    clump_extract *made;
    file.at = 0;
    clump_status status = clump_extract_load(t.on.clump, &plain, &made, report, error);
    clump_extract_destroy(made);
    return status;
}

static clump_status open_saved(void *desc, clump_error *error) {
    clump_saved *made;
    file.at = 0;
    clump_status status = clump_saved_open(desc, NULL, &made, error);
    clump_saved_close(made);
    return status;
}

static int take_nothing(void *user, const clump_saved *saved, const clump_saved_part *part) {
    (void)user, (void)saved, (void)part;
    return 0;
}

static clump_status read_saved(void *desc, clump_error *error) {
    file.at = 0;
    return clump_saved_read(desc, NULL, take_nothing, NULL, error);
}

/* Memory. */

static clump_pool_desc pool_desc = {.size = sizeof pool_desc};
static const clump_allocation_desc allocation_desc = {.size = sizeof allocation_desc,
                                                      .bytes = 1000};
static const clump_defrag_desc defrag_desc = {.size = sizeof defrag_desc, .until_done = 1};
static const clump_suballoc_desc suballoc_desc = {.size = sizeof suballoc_desc, .bytes = 1 << 20};

static clump_status create_pool(void *desc, clump_error *error) {
    clump_pool *made;
    clump_status status = clump_pool_create(desc, &made, error);
    clump_pool_destroy(made);
    return status;
}

static clump_status alloc(void *desc, clump_error *error) {
    clump_allocation made;
    clump_status status = of_pool(clump_pool_alloc(t.pool, desc, &made, NULL), error);
    CHECK_OK(&t.on, clump_pool_free(t.pool, made));
    return status;
}

static clump_status create_buffer(void *desc, clump_error *error) {
    cl_mem made;
    clump_status status = of_pool(clump_pool_create_buffer(t.pool, desc, 0, NULL, &made), error);
    if (made) clReleaseMemObject(made);
    return status;
}

static clump_status change(void *desc, clump_error *error) {
    return of_pool(clump_pool_change(t.pool, t.allocation, CLUMP_PART_NAME, desc), error);
}

static clump_status get_info(void *info, clump_error *error) {
    return of_pool(clump_pool_get_info(t.pool, t.allocation, info), error);
}

static clump_status get_first(void *info, clump_error *error) {
    return of_pool(clump_pool_get_info(t.pool, 0, info), error);
}

static clump_status get_stats(void *stats, clump_error *error) {
    return of_pool(clump_pool_get_stats(t.pool, stats, NULL), error);
}

static clump_status get_details(void *details, clump_error *error) {
    return of_pool(clump_pool_get_stats(t.pool, NULL, details), error);
}

static clump_status defragment(void *desc, clump_error *error) {
    return of_pool(clump_pool_defragment(t.pool, desc, NULL, NULL), error);
}

static clump_status defragment_reported(void *report, clump_error *error) {
    return of_pool(clump_pool_defragment(t.pool, NULL, report, NULL), error);
}

static clump_status create_suballoc(void *desc, clump_error *error) {
    clump_suballoc *made;
    clump_status status = clump_suballoc_create(desc, &made, error);
    clump_suballoc_destroy(made);
    return status;
}

static clump_status get_range(void *info, clump_error *error) {
    return of_suballoc(clump_suballoc_get_info(t.suballoc, t.range, info), error);
}

static clump_status get_suballoc_stats(void *stats, clump_error *error) {
    return of_suballoc(clump_suballoc_get_stats(t.suballoc, stats, NULL), error);
}

static clump_status get_suballoc_details(void *details, clump_error *error) {
    return of_suballoc(clump_suballoc_get_stats(t.suballoc, NULL, details), error);
}

static const sized_case cases[] = {
    SIZED_TAKEN(clump_context_desc, &context_desc, create_context),
    SIZED_TAKEN(clump_cl_functions, &functions, give_functions),
    SIZED_TAKEN(clump_cl_functions, &functions, give_functions_to_pool),
    SIZED_TOLD(clump_capabilities, probe),
    SIZED_TAKEN(clump_heap_desc, &heap_desc, create_heap),
    SIZED_TAKEN(clump_heap_desc, &heap_desc, ask_for_bytes),
    SIZED_TAKEN(clump_checked_desc, &checked_desc, create_checked),
    SIZED_TAKEN(clump_program_desc, &program_desc, create_program),
    SIZED_TAKEN(clump_refs_desc, &refs_desc, register_refs),
    SIZED_TOLD(clump_device_report, take_errors),
    SIZED_TOLD(clump_heap_stats, read_stats),
    SIZED_TOLD(clump_repair_report, repair),
    SIZED_TAKEN(clump_struct_desc, &struct_desc, read_structs),
    SIZED_TAKEN(clump_struct_desc, &struct_desc, write_structs),
    SIZED_TAKEN(clump_struct_desc, &struct_desc, new_structs),
    SIZED_TAKEN(clump_compact_desc, &compact_desc, compact),
    SIZED_TAKEN(clump_compact_desc, &compact_desc, collect_compacting),
    SIZED_TAKEN(clump_compact_desc, &compact_desc, create_compactor_with),
    SIZED_TAKEN(clump_compact_desc, &compact_desc, create_collector_compacting),
    SIZED_TOLD(clump_compact_report, compact_reported),
    SIZED_TOLD(clump_compact_report, collect_compacting_reported),
    SIZED_TOLD(clump_compact_report, tick_compactor),
    SIZED_TAKEN(clump_collect_desc, &collect_desc, collect),
    SIZED_TAKEN(clump_collect_desc, &collect_desc, create_collector_with),
    SIZED_TOLD(clump_collect_report, collect_reported),
    SIZED_TOLD(clump_collect_report, tick_collector),
    SIZED_TAKEN(clump_compactor_desc, &compactor_desc, create_compactor),
    SIZED_TAKEN(clump_collector_desc, &collector_desc, create_collector),
    SIZED_TAKEN(clump_convert_desc, &convert_desc, convert),
    SIZED_TOLD(clump_convert_report, convert_reported),
    SIZED_TAKEN(clump_evict_desc, &evict_desc, evict),
    SIZED_TAKEN(clump_evict_desc, &evict_desc, bring_back),
    SIZED_TOLD(clump_evict_report, evict_reported),
    SIZED_TOLD(clump_evict_report, bring_back_reported),
    SIZED_TAKEN(clump_extract_desc, &extract_desc, extract),
    SIZED_TAKEN(clump_extract_desc, &extract_desc, migrate),
    SIZED_TOLD(clump_extract_report, extract_reported),
    SIZED_TOLD(clump_extract_report, migrate_reported),
    SIZED_TOLD(clump_extract_report, load_extract_reported),
    SIZED_TAKEN(clump_insert_desc, &insert_desc, insert),
    SIZED_TAKEN(clump_insert_desc, &insert_desc, migrate_inserting),
    SIZED_TAKEN(clump_save_desc, &save_desc, save),
    SIZED_TOLD(clump_save_report, save_reported),
    SIZED_TAKEN(clump_load_desc, &load_desc, load),
    SIZED_TAKEN(clump_load_desc, &load_desc, load_extract),
    SIZED_TAKEN(clump_load_desc, &load_desc, open_saved),
    SIZED_TAKEN(clump_load_desc, &load_desc, read_saved),
    SIZED_TOLD(clump_load_report, load_reported),
    SIZED_TAKEN(clump_pool_desc, &pool_desc, create_pool),
    SIZED_TAKEN(clump_allocation_desc, &allocation_desc, alloc),
    SIZED_TAKEN(clump_allocation_desc, &allocation_desc, create_buffer),
    SIZED_TAKEN(clump_allocation_desc, &allocation_desc, change),
    SIZED_TOLD(clump_allocation_info, get_info),
    SIZED_TOLD(clump_allocation_info, get_first),
    SIZED_TOLD(clump_pool_stats, get_stats),
    SIZED_TOLD(clump_pool_details, get_details),
    SIZED_TAKEN(clump_defrag_desc, &defrag_desc, defragment),
    SIZED_TOLD(clump_defrag_report, defragment_reported),
    SIZED_TAKEN(clump_suballoc_desc, &suballoc_desc, create_suballoc),
    SIZED_TOLD(clump_range_info, get_range),
    SIZED_TOLD(clump_suballoc_stats, get_suballoc_stats),
    SIZED_TOLD(clump_suballoc_details, get_suballoc_details),
};

static void each(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t count;
        CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "A", t.refs, ROOM, &count));
        before = take_picture();
        const char *wrong = sized_check(&cases[i], is_unchanged);
        if (wrong) fail_msg("%s", wrong);
    }
}

/* Of an array of clump_class_stats the first has the size of each, and each gets it. */
static void array(void **state) {
    (void)state;
    enum { CLASSES = 2, STRIDE = sizeof(clump_class_stats) + 16 };
    unsigned char at[CLASSES * STRIDE + 1];
    clump_class_stats plain[CLASSES] = {{.size = sizeof *plain}};
    size_t size = 0;
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, NULL, plain, CLASSES));
    assert_int_equal(plain[1].size, sizeof *plain);
    memset(at, SIZED_POISON, sizeof at);
    memcpy(at, &size, sizeof size);
    clump_status status = clump_heap_read_stats(t.heap, NULL, (void *)at, CLASSES);
    cl_fixture_expect_words(clump_context_get_error(t.on.clump), status, CLUMP_ERR_USAGE,
                            "clump_class_stats", "clump_heap_read_stats", __LINE__);
    for (size_t i = sizeof size; i < sizeof at; i++) assert_int_equal(at[i], SIZED_POISON);
    size = STRIDE;
    memcpy(at, &size, sizeof size);
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, NULL, (void *)at, CLASSES));
    for (size_t k = 0; k < CLASSES; k++) {
        const unsigned char *s = at + k * STRIDE;
        assert_memory_equal(s, &size, sizeof size);
        assert_memory_equal(s + sizeof size, (char *)&plain[k] + sizeof size,
                            sizeof *plain - sizeof size);
        for (size_t i = sizeof *plain; i < STRIDE; i++) assert_int_equal(s[i], 0);
    }
    assert_int_equal(at[sizeof at - 1], SIZED_POISON);
}

/* A struct that has grown, and a program from before: what it lacks is zero, and is not told. */
static void older(void **state) {
    (void)state;
    typedef struct grown {
        size_t size;
        uint64_t was, is_new;
    } grown;
    enum { LEAST = offsetof(grown, is_new) };
    clump_error error;
    grown own, given = {.size = LEAST, .was = 3, .is_new = 4}, told = {.was = 5, .is_new = 6};
    assert_int_equal(clumpi_sized_take(&own, sizeof own, LEAST, &given, "grown", &error), CLUMP_OK);
    assert_true(own.size == sizeof own && own.was == 3 && own.is_new == 0);
    assert_int_equal(clumpi_sized_take(&own, sizeof own, LEAST, NULL, "grown", &error), CLUMP_OK);
    assert_true(own.size == sizeof own && own.was == 0 && own.is_new == 0);
    assert_int_equal(clumpi_sized_place(&given, LEAST, "grown", &error), CLUMP_OK);
    assert_true(given.size == LEAST && given.was == 0 && given.is_new == 4);
    clumpi_sized_give(&given, &told, sizeof told);
    assert_true(given.size == LEAST && given.was == 5 && given.is_new == 4);
    given.size = LEAST - 1;
    assert_int_equal(clumpi_sized_take(&own, sizeof own, LEAST, &given, "grown", NULL),
                     CLUMP_ERR_USAGE);
}

/* ---- The world -------------------------------------------------------------------------------- */

static void set_descs(void) {
    const cl_fixture *f = &t.on;
    context_desc = (clump_context_desc){
        .size = sizeof context_desc, .context = f->context, .device = f->device, .queue = f->queue};
    heap_desc = (clump_heap_desc){
        .size = sizeof heap_desc, .context = f->clump, .schema = t.schema, .bytes = 4 << 20};
    program_desc =
        (clump_program_desc){.size = sizeof program_desc, .heap = t.heap, .source = source};
    refs_desc = (clump_refs_desc){.size = sizeof refs_desc, .buffer = t.buffer, .count = OBJECTS};
    collect_desc = (clump_collect_desc){
        .size = sizeof collect_desc, .root_classes = class_a, .root_class_count = 1};
    compactor_desc =
        (clump_compactor_desc){.size = sizeof compactor_desc, .heap = t.heap, .every = 1};
    collector_desc =
        (clump_collector_desc){.size = sizeof collector_desc, .heap = t.heap, .every = 1};
    convert_desc = (clump_convert_desc){.size = sizeof convert_desc, .schema = t.schema};
    insert_desc = (clump_insert_desc){.size = sizeof insert_desc, .refs = t.refs};
    pool_desc = (clump_pool_desc){.size = sizeof pool_desc, .context = f->clump};
}

static clump_heap *make_heap(uint64_t evictable_bytes) {
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = t.on.clump,
                            .schema = t.schema,
                            .bytes = 8 << 20,
                            .evictable_bytes = evictable_bytes};
    clump_heap *made = NULL;
    CHECK_OK(&t.on, clump_heap_create(&desc, &made, NULL));
    return made;
}

static void fill(clump_heap *heap) {
    clump_program *program = cl_fixture_program(&t.on, heap, source, NULL, NULL);
    clump_kernel *init = clump_program_get_kernel(program, "init");
    CHECK_OK(&t.on, clump_heap_do_new(heap, init, "A", OBJECTS, NULL, NULL));
    clump_program_destroy(program);
}

static int open_world(void **state) {
    (void)state;
    clump_error error;
    uint64_t count;
    assert_int_equal(clump_schema_parse(classes, strlen(classes), NULL, &t.schema, &error), 0);
    t.heap = make_heap(0);
    t.evictable = make_heap(1 << 20);
    t.empty = make_heap(0);
    fill(t.heap);
    fill(t.evictable);
    t.buffer = cl_fixture_buffer(&t.on, NULL, sizeof t.refs);
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "A", t.refs, ROOM, &count));
    set_descs();
    const clump_save_desc all = {.size = sizeof all, .write = write_file};
    const clump_extract_desc of_a = {.size = sizeof of_a, .classes = class_a, .class_count = 1};
    const clump_suballoc_desc ranges = {.size = sizeof ranges, .bytes = 1 << 20};
    const clump_allocation_desc bytes = {.size = sizeof bytes, .bytes = 5000};
    clump_compactor_desc compacting = compactor_desc;
    clump_collector_desc collecting = collector_desc;
    collecting.collect = &collect_desc;
    CHECK_OK(&t.on, clump_heap_save(t.heap, &all, NULL));
    CHECK_OK(&t.on, clump_heap_extract(t.heap, &of_a, &t.extract, NULL));
    CHECK_OK(&t.on, clump_compactor_create(&compacting, &t.compactor, NULL));
    CHECK_OK(&t.on, clump_collector_create(&collecting, &t.collector, NULL));
    CHECK_OK(&t.on, clump_pool_create(&pool_desc, &t.pool, &error));
    CHECK_OK(&t.on, clump_pool_alloc(t.pool, &bytes, &t.allocation, NULL));
    CHECK_OK(&t.on, clump_suballoc_create(&ranges, &t.suballoc, NULL));
    CHECK_OK(&t.on, clump_suballoc_alloc(t.suballoc, 100, 0, NULL, &t.range, NULL));
    return 0;
}

static int close_world(void **state) {
    (void)state;
    clump_suballoc_destroy(t.suballoc);
    clump_pool_destroy(t.pool);
    clump_collector_destroy(t.collector);
    clump_compactor_destroy(t.compactor);
    clump_extract_destroy(t.extract);
    clReleaseMemObject(t.buffer);
    clump_heap_destroy(t.empty);
    clump_heap_destroy(t.evictable);
    clump_heap_destroy(t.heap);
    clump_schema_destroy(t.schema);
    return 0;
}

int main(void) {
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {cmocka_unit_test(each), cmocka_unit_test(array),
                                       cmocka_unit_test(older)};
    result = cmocka_run_group_tests(tests, open_world, close_world);
    cl_fixture_close(&t.on);
    return result;
}
