"""What Python sees of the C library: the declarations that the package uses. cffi makes C of them, which CMake compiles:

    build_library.py _library.c

Structs end in `...`, so that the C compiler fills in what is left out, and compares what is declared.
"""
import sys

from cffi import FFI

CDEF = """
typedef ... *cl_context;
typedef ... *cl_device_id;
typedef ... *cl_command_queue;
typedef ... *cl_kernel;
typedef ... *cl_mem;
typedef ... *cl_event;

typedef int... clump_status;
#define CLUMP_ERR_DEVICE ...
static const char *const CLUMP_VERSION_TEXT;
const char *clump_status_name(clump_status status);
typedef struct { clump_status status; int32_t cl_code; uint32_t line, column; char message[...]; ...; } clump_error;

/* schema.h */
typedef ... clump_schema;
typedef int... clump_type;
#define CLUMP_TYPE_BOOL ...
#define CLUMP_TYPE_REF ...
typedef enum { CLUMP_ARRAY_FIXED, CLUMP_ARRAY_GROWING, ... } clump_array;
typedef struct { const char *name; uint32_t class_id; clump_type type; uint32_t width, ref_class, count; int weak; clump_array array;
                 uint32_t element_bytes, base_bytes, stride_bytes, step_bytes; const char *type_name; ...; } clump_field_info;
typedef struct { const char *name; uint32_t id, base, last; int is_abstract; uint32_t field_count, object_bytes;
                 const clump_field_info *const *fields; ...; } clump_class_info;
typedef struct { uint32_t class_count; const clump_class_info *const *classes; ...; } clump_schema_info;
clump_status clump_schema_parse(const char *text, size_t bytes, const void *allocator, clump_schema **schema, clump_error *error);
void clump_schema_destroy(clump_schema *schema);
const clump_schema_info *clump_schema_get_info(const clump_schema *schema);
const clump_class_info *clump_schema_find_class(const clump_schema *schema, const char *name);
const clump_field_info *clump_schema_find_field(const clump_schema *schema, uint32_t class_id, const char *name);

/* context.h */
typedef ... clump_context;
typedef struct { const char *folder; ...; } clump_cache;
typedef struct { size_t size; cl_context context; cl_device_id device; cl_command_queue queue; clump_cache cache; ...; } clump_context_desc;
typedef struct { cl_uint wait_count; const cl_event *wait_list; cl_event *event; ...; } clump_sync;
clump_status clump_context_create(const clump_context_desc *desc, clump_context **context, clump_error *error);
void clump_context_destroy(clump_context *context);
const clump_error *clump_context_get_error(const clump_context *context);
clump_status clump_context_set_queue(clump_context *context, cl_command_queue queue);
clump_status clump_context_record_timeline(clump_context *context, uint32_t capacity);
clump_status clump_context_write_timeline(clump_context *context, int (*write)(void *user, const void *data, size_t bytes), void *user);

/* checked.h, heap.h, refs.h */
typedef uint32_t clump_ref;
typedef enum { CLUMP_CHECK_REFERENCES, CLUMP_CHECK_BOUNDS, CLUMP_CHECK_READS, CLUMP_CHECK_FREED, CLUMP_CHECK_MEMORY, CLUMP_CHECK_HISTORY,
               CLUMP_CHECK_LEAKS, CLUMP_CHECK_GENERATIONS, ... } clump_check;
struct clump_checked_desc { size_t size; uint32_t without, events; void (*on_leak)(void *user, const char *text); void *user; ...; };
extern "Python" void python_on_leak(void *on_leak, const char *text);
typedef ... clump_heap;
typedef ... clump_pool;
typedef struct { size_t size; clump_context *context; const clump_schema *schema; uint64_t bytes; double device_share;
                 uint64_t buffer_bytes, evictable_bytes; uint32_t block_rows; int raw, errors_on_request, watch_handles;
                 const struct clump_checked_desc *checked; clump_pool *pool; ...; } clump_heap_desc;
typedef struct { uint64_t bytes, metadata_bytes; uint32_t granule_bytes, block_granules, first_block, block_count,
                 buffer_blocks, checks, generations; const clump_schema *schema; cl_mem buffer;
                 uint64_t evicted_objects, evicted_blocks, evicted_bytes; ...; } clump_heap_info;
typedef struct { size_t size; uint64_t objects, slots; uint32_t blocks, free_blocks; double fragmentation; uint64_t raw_blocks, raw_bytes; ...; } clump_heap_stats;
typedef struct { size_t size; uint64_t objects, slots; uint32_t blocks, active_blocks; uint64_t bytes; double fragmentation; uint64_t reserved, room; ...; } clump_class_stats;
typedef struct { size_t size; uint64_t objects, blocks, guessed, appeared, vanished, lost, strays; ...; } clump_repair_report;
typedef enum { CLUMP_COPY_TO_BUFFER, CLUMP_COPY_FROM_BUFFER, ... } clump_copy_direction;
clump_status clump_heap_create(const clump_heap_desc *desc, clump_heap **heap, clump_error *error);
void clump_heap_destroy(clump_heap *heap);
const clump_heap_info *clump_heap_get_info(const clump_heap *heap);
clump_status clump_heap_set_kernel(clump_heap *heap, cl_kernel kernel);
void clump_heap_touch(clump_heap *heap);
clump_status clump_heap_take_errors(clump_heap *heap, void *report);
clump_status clump_heap_read_stats(clump_heap *heap, clump_heap_stats *stats, clump_class_stats *classes, uint32_t capacity);
clump_status clump_heap_read_count(clump_heap *heap, const char *class_name, uint64_t *count);
clump_status clump_heap_get_bytes_needed(const clump_heap_desc *desc, const uint64_t *objects, uint64_t *bytes, clump_error *error);
clump_status clump_heap_reserve(clump_heap *heap, const char *class_name, uint64_t objects, const clump_sync *sync);
clump_status clump_heap_check(clump_heap *heap);
clump_status clump_heap_repair(clump_heap *heap, clump_repair_report *report);
clump_status clump_heap_read_refs(clump_heap *heap, const char *class_name, clump_ref *refs, uint64_t capacity, uint64_t *count);
clump_status clump_heap_read_field(clump_heap *heap, const char *class_name, const char *field, uint32_t index, size_t bytes, void *values, uint64_t capacity, uint64_t *count);
clump_status clump_heap_write_field(clump_heap *heap, const char *class_name, const char *field, uint32_t index, size_t bytes, const void *values, uint64_t count);
clump_status clump_heap_copy_field(clump_heap *heap, const char *class_name, const char *field, uint32_t index, clump_copy_direction direction, cl_mem buffer, uint64_t offset, uint64_t capacity, const clump_sync *sync);
clump_status clump_heap_read_object_field(clump_heap *heap, const char *class_name, const char *field, uint32_t index, clump_ref ref, size_t bytes, void *value);
clump_status clump_heap_write_object_field(clump_heap *heap, const char *class_name, const char *field, uint32_t index, clump_ref ref, size_t bytes, const void *value);
clump_status clump_heap_read_object_array(clump_heap *heap, const char *class_name, const char *field, clump_ref ref, size_t bytes, void *values, uint64_t capacity, uint64_t *length);
typedef struct { const char *kernel, *program; uint32_t line; ...; } clump_place;
typedef enum { CLUMP_FINDING_ACCESS, CLUMP_FINDING_CAST, CLUMP_FINDING_FREE, CLUMP_FINDING_DOUBLE_FREE, CLUMP_FINDING_BOUNDS, CLUMP_FINDING_READ,
               CLUMP_FINDING_FREED, CLUMP_FINDING_GAP, ... } clump_finding_kind;
typedef struct { clump_finding_kind kind; uint32_t count; clump_place place; const char *class_name, *field; uint32_t index; clump_ref ref;
                 uint32_t work_item; clump_place by; uint32_t by_work_item; char text[...]; ...; } clump_finding;
typedef struct { int is_free; const char *class_name; clump_ref ref; clump_place place; uint32_t work_item; ...; } clump_event;
typedef struct { const char *class_name; clump_place place; uint64_t objects; ...; } clump_live;
clump_status clump_heap_take_findings(clump_heap *heap, clump_finding *findings, uint64_t capacity, uint64_t *count, uint64_t *lost);
clump_status clump_heap_check_memory(clump_heap *heap, const clump_sync *sync);
clump_status clump_heap_read_events(clump_heap *heap, clump_event *events, uint64_t capacity, uint64_t *count);
clump_status clump_heap_read_live(clump_heap *heap, clump_live *live, uint64_t capacity, uint64_t *count);
typedef uint32_t clump_handle;
clump_status clump_heap_create_handle(clump_heap *heap, clump_ref ref, clump_handle *handle);
clump_status clump_heap_read_handle(clump_heap *heap, clump_handle handle, clump_ref *ref);
clump_status clump_heap_destroy_handle(clump_heap *heap, clump_handle handle);
typedef ... clump_refs;
typedef struct { size_t size; cl_mem buffer; uint64_t offset; uint32_t stride; uint64_t count; int null_dangling, weak; ...; } clump_refs_desc;
clump_status clump_refs_create(clump_heap *heap, const clump_refs_desc *desc, clump_refs **refs, clump_error *error);
void clump_refs_destroy(clump_refs *refs);

/* structs.h */
typedef struct { const char *name; uint32_t offset; ...; } clump_struct_field;
typedef struct { size_t size; const char *class_name; uint32_t bytes, field_count; const clump_struct_field *fields; ...; } clump_struct_desc;
clump_status clump_heap_read_structs(clump_heap *heap, const clump_struct_desc *desc, const clump_ref *refs, void *structs, uint64_t capacity, uint64_t *count);
clump_status clump_heap_write_structs(clump_heap *heap, const clump_struct_desc *desc, const clump_ref *refs, const void *structs, uint64_t count);
clump_status clump_heap_read_arrays(clump_heap *heap, const char *class_name, const char *field, const clump_ref *refs, uint64_t objects, uint64_t *offsets, size_t bytes, void *values, uint64_t capacity);
clump_status clump_heap_write_arrays(clump_heap *heap, const char *class_name, const char *field, const clump_ref *refs, uint64_t objects, const uint64_t *offsets, size_t bytes, const void *values, uint64_t count);
clump_status clump_heap_new_structs(clump_heap *heap, const clump_struct_desc *desc, const void *structs, uint64_t count, clump_ref *refs, uint64_t *made);

/* program.h, run.h */
typedef ... clump_program;
typedef ... clump_kernel;
typedef struct { size_t size; clump_heap *heap; const char *source, *name, *options; int checked, strict, reproducible; ...; } clump_program_desc;
clump_status clump_program_create(const clump_program_desc *desc, clump_program **program, clump_error *error);
void clump_program_destroy(clump_program *program);
typedef struct { const char *log, *source, *options; uint32_t warnings; ...; } clump_program_info;
const clump_program_info *clump_program_get_info(const clump_program *program);
clump_status clump_kernel_create(clump_program *program, const char *name, clump_kernel **kernel, clump_error *error);
void clump_kernel_destroy(clump_kernel *kernel);
clump_status clump_kernel_set_arg(clump_kernel *kernel, uint32_t index, size_t bytes, const void *value);
uint32_t clump_kernel_get_arg_count(const clump_kernel *kernel);
clump_status clump_kernel_create_fused(clump_kernel *const *kernels, uint32_t count, clump_kernel **fused, clump_error *error);
clump_status clump_heap_do_all(clump_heap *heap, clump_kernel *kernel, const clump_sync *sync);
clump_status clump_heap_launch(clump_heap *heap, clump_kernel *kernel, size_t global, size_t local, const clump_sync *sync);
clump_status clump_heap_do_new(clump_heap *heap, clump_kernel *kernel, const char *class_name, uint64_t count, uint64_t *made, const clump_sync *sync);
clump_status clump_heap_reduce(clump_heap *heap, clump_kernel *kernel, size_t bytes, void *result, const clump_sync *sync);

/* heap.h: a text for Python, piece by piece */
extern "Python" int python_write(void *pieces, const void *data, size_t bytes);
clump_status clump_heap_dump(clump_heap *heap, int (*write)(void *user, const void *data, size_t bytes), void *user);

/* compact.h, compactor.h, collect.h, collector.h, copy.h, save.h */
typedef enum { CLUMP_ORDER_ANY, CLUMP_ORDER_ADDRESS, CLUMP_ORDER_FIELD, CLUMP_ORDER_KEY, ... } clump_compact_order;
typedef struct { size_t size; const char *const *classes; uint32_t class_count; int null_dangling; double slack; uint64_t max_moves; double max_us;
                 clump_compact_order order; const char *order_field; clump_kernel *key_kernel; ...; } clump_compact_desc;
typedef struct { size_t size; uint64_t objects, moves, moves_left, bytes_moved; uint32_t blocks_before, blocks_freed;
                 double fragmentation_before, fragmentation_after; uint64_t refs_examined, refs_rewritten, refs_dangling; ...; } clump_compact_report;
clump_status clump_heap_compact(clump_heap *heap, const clump_compact_desc *desc, clump_compact_report *report, const clump_sync *sync);
typedef struct { size_t size; const clump_ref *roots; uint64_t root_count; const char *const *root_classes; uint32_t root_class_count; int only_mark;
                 cl_mem dead; const char *dead_class; clump_kernel *finaliser; const clump_compact_desc *compact; ...; } clump_collect_desc;
typedef struct { size_t size; uint64_t live, dead, roots, roots_dangling, weak_nulled; uint32_t blocks_freed; ...; } clump_collect_report;
clump_status clump_heap_collect(clump_heap *heap, const clump_collect_desc *desc, clump_collect_report *report, const clump_sync *sync);
typedef ... clump_compactor;
typedef struct { size_t size; clump_heap *heap; const clump_compact_desc *compact; uint32_t every, candidates; double share; int automatic; double cost_limit; ...; } clump_compactor_desc;
clump_status clump_compactor_create(const clump_compactor_desc *desc, clump_compactor **compactor, clump_error *error);
void clump_compactor_destroy(clump_compactor *compactor);
clump_status clump_compactor_tick(clump_compactor *compactor, int *ran, clump_compact_report *report, const clump_sync *sync);
typedef ... clump_collector;
typedef struct { size_t size; clump_heap *heap; const clump_collect_desc *collect; uint32_t every; double fill, growth; int out_of_memory; ...; } clump_collector_desc;
clump_status clump_collector_create(const clump_collector_desc *desc, clump_collector **collector, clump_error *error);
void clump_collector_destroy(clump_collector *collector);
clump_status clump_collector_tick(clump_collector *collector, int *ran, clump_collect_report *report, const clump_sync *sync);
clump_status clump_heap_copy(clump_heap *heap, clump_heap *copy, const clump_sync *sync);
typedef struct { size_t size; const char *path; int zstd_level; int compact; ...; } clump_save_desc;
typedef struct { size_t size; uint64_t objects, bytes, handles, registered, dangling; ...; } clump_save_report;
clump_status clump_heap_save(clump_heap *heap, const clump_save_desc *desc, clump_save_report *report);
typedef struct { size_t size; const char *path; int without_registered; ...; } clump_load_desc;
typedef struct { size_t size; uint64_t objects, bytes, handles, registered; uint32_t fields_lost, fields_gained; ...; } clump_load_report;
clump_status clump_heap_load(clump_heap *heap, const clump_load_desc *desc, clump_load_report *report);

/* extract.h */
typedef ... clump_extract;
typedef struct { size_t size; const clump_ref *refs; uint64_t ref_count; const char *const *classes; uint32_t class_count; const char *where_class, *where_field;
                 int follow, free_objects, keep_refs; ...; } clump_extract_desc;
typedef struct { size_t size; uint64_t objects, bytes, left_out, dangling; ...; } clump_extract_report;
typedef struct { size_t size; clump_ref *refs; ...; } clump_insert_desc;
clump_status clump_heap_extract(clump_heap *heap, const clump_extract_desc *desc, clump_extract **extract, clump_extract_report *report);
clump_status clump_heap_insert(clump_heap *heap, const clump_extract *extract, const clump_insert_desc *desc);
clump_status clump_heap_migrate(clump_heap *heap, const clump_extract_desc *desc, clump_heap *into, const clump_insert_desc *insert, clump_extract **extract, clump_extract_report *report);
clump_status clump_extract_create(clump_context *context, const clump_schema *schema, const uint64_t *objects, const void *data, uint64_t bytes, clump_extract **extract, clump_error *error);
clump_status clump_extract_load(clump_context *context, const clump_load_desc *desc, clump_extract **extract, clump_extract_report *report, clump_error *error);
void clump_extract_destroy(clump_extract *extract);
clump_status clump_extract_read(clump_extract *extract, void *data, uint64_t bytes);
typedef struct { const clump_schema *schema; const uint64_t *objects; uint64_t bytes; cl_mem buffer, refs; ...; } clump_extract_info;
const clump_extract_info *clump_extract_get_info(const clump_extract *extract);

/* evict.h, convert.h */
typedef struct { size_t size; const char *class_name; const clump_ref *refs; uint64_t ref_count, blocks; uint32_t age; ...; } clump_evict_desc;
typedef struct { size_t size; uint64_t objects, blocks, bytes; ...; } clump_evict_report;
clump_status clump_heap_age_blocks(clump_heap *heap);
clump_status clump_heap_evict(clump_heap *heap, const clump_evict_desc *desc, clump_evict_report *report);
clump_status clump_heap_bring_back(clump_heap *heap, const clump_evict_desc *desc, clump_evict_report *report);
typedef struct { size_t size; const clump_schema *schema; uint64_t bytes; uint32_t block_rows; ...; } clump_convert_desc;
typedef struct { size_t size; uint64_t objects, dangling; uint32_t fields_lost, fields_gained; ...; } clump_convert_report;
clump_status clump_heap_convert(clump_heap *heap, const clump_convert_desc *desc, clump_convert_report *report);

/* pool.h */
typedef struct { size_t size; clump_context *context; uint64_t chunk_bytes, limit_bytes; ...; } clump_pool_desc;
typedef struct { size_t size; uint64_t bytes; ...; } clump_allocation_desc;
typedef struct { size_t size; uint64_t bytes, used_bytes, requested_bytes; uint32_t chunks, unique; uint64_t allocations, allocated, freed, waiting_bytes;
                 double waste; ...; } clump_pool_stats;
clump_status clump_pool_create(const clump_pool_desc *desc, clump_pool **pool, clump_error *error);
void clump_pool_destroy(clump_pool *pool);
const clump_error *clump_pool_get_error(clump_pool *pool, clump_error *copy);
clump_status clump_pool_set_queues(clump_pool *pool, cl_uint queue_count, const cl_command_queue *queues);
clump_status clump_pool_create_buffer(clump_pool *pool, const clump_allocation_desc *desc, cl_uint queue_count, const cl_command_queue *queues, cl_mem *buffer);
clump_status clump_pool_get_stats(clump_pool *pool, clump_pool_stats *stats, void *details);
clump_status clump_pool_trim(clump_pool *pool);
clump_status clump_pool_check(clump_pool *pool);
"""


if __name__ == "__main__":
    ffi = FFI()
    ffi.cdef("typedef uint32_t cl_uint;\n" + CDEF)
    ffi.set_source("clump._library", "#include <clump/all.h>\n")
    ffi.emit_c_code(sys.argv[1])
