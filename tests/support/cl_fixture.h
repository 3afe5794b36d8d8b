/* What every test on a device needs: a device, a context, a queue, a clump_context; and checks that
 * print the library's own words when a call does not return what it should.
 *
 * CLUMP_DEVICE names the device by a part of "platform / device", in any case of letters; without
 * it the first GPU is taken, else the first device.
 *
 * CLUMP_SUBGROUPS=1: the library takes the device for a GPU, so it uses sub-groups; skipped if the
 * device lists none. CLUMP_PERSONALITY, cpu or gpu, chooses the kernels
 * (clump_context_desc.personality). CLUMP_CACHE names the folder where programs are kept; without
 * it they are not. CLUMP_TEST_BUFFERS: in about so many buffers heaps are, if their first one has
 * room for the metadata, except those of a given number of blocks, or with raw memory.
 *
 * A check that fails ends the running cmocka test, and outside of one the program. What a failed
 * test leaves behind is not released.
 *
 * Read first: include/clump/all.h.
 */
#ifndef CL_FIXTURE_H
#define CL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "clump/all.h"
#include "clump/experimental.h"

#define CL_FIXTURE_SKIP 77

typedef struct cl_fixture_desc {
    uint32_t disable; /* as in clump_context_desc */
    clump_personality
        personality;              /* as in clump_context_desc; CLUMP_PERSONALITY_DEVICE leaves it to
                                      the variable */
    int out_of_order;             /* of the queue */
    const clump_cl_functions *cl; /* as in clump_context_desc */
    clump_cache cache; /* as in clump_context_desc; without any, the folder of CLUMP_CACHE */
    clump_allocator allocator; /* as in clump_context_desc */
    cl_context share;          /* of the same device, retained; NULL: one of the fixture's own */
} cl_fixture_desc;

typedef struct cl_fixture {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* profiling is on */
    clump_context *clump;
    const clump_capabilities *capabilities;
} cl_fixture;

/* CONSTRUCTOR. desc NULL: all zero. Returns 0, or with words on stderr CL_FIXTURE_SKIP if there is
 * no device to test with (or a queue cannot be out of order), 1 if there is one and it fails: what
 * main() should return. */
int cl_fixture_open(cl_fixture *f, const cl_fixture_desc *desc);

/* DESTRUCTOR. */
void cl_fixture_close(cl_fixture *f);

/* ---- Checks ---------------------------------------------------------------------------------- */

/* A call on the fixture's context or on anything made from it must return the status. */
#define CHECK_STATUS(f, call, status)                                                              \
    cl_fixture_expect((f), (call), (status), #call, __FILE__, __LINE__)
#define CHECK_OK(f, call) CHECK_STATUS(f, call, CLUMP_OK)

/* An OpenCL call must return CL_SUCCESS. */
#define CHECK_CL(call) cl_fixture_expect_cl((call), #call, __FILE__, __LINE__)

void cl_fixture_expect(const cl_fixture *f, clump_status found, clump_status expected,
                       const char *call, const char *file, int line);
void cl_fixture_expect_cl(cl_int code, const char *call, const char *file, int line);

/* A device's clEnqueueNDRangeKernel() that counts its calls. */
extern uint32_t cl_fixture_launches;
cl_int CL_API_CALL cl_fixture_count_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                           const size_t *offset, const size_t *global,
                                           const size_t *local, cl_uint wait_count,
                                           const cl_event *waits, cl_event *event);

/* The line of a source, counted from 1, on which the first `text` of it begins. */
uint32_t cl_fixture_line_of(const char *source, const char *text);
/* The line of the first `mark` after the head of a kernel. */
uint32_t cl_fixture_line_in(const char *source, const char *kernel, const char *mark);

/* A call returned `found`; it must be `expected`, and the error record must say so and mention
 * `words`. */
void cl_fixture_expect_words(const clump_error *error, clump_status found, clump_status expected,
                             const char *words, const char *call, int line);

/* Whether a test leaves nothing out: not in the default run, for which CTest sets CLUMP_SHORT.
 * There PoCL's compiler takes more than half of the time, so contexts with other kernels than the
 * device's, and schemas that differ by little, are left to NAME@whole (tests/CMakeLists.txt).
 * diff_features has words of 32 bits in each run. */
int cl_fixture_is_whole(void);
/* Of many cases alike, one in so many is tried: 1 in a whole run, `n` in a short one, and n times
 * CLUMP_SHORT where that is a larger number than 1, as for kernels for GPUs on a CPU. */
uint32_t cl_fixture_each(uint32_t n);
/* A context with other kernels than the device's: as cl_fixture_open(), and CL_FIXTURE_SKIP in a
 * short run. */
int cl_fixture_open_other(cl_fixture *f, const cl_fixture_desc *desc);

/* A test `PROGRAM [ROUNDS [SEED]]`: run_with() as the device is and then, unless the run is short,
 * it was skipped or has set
 * *is_short, with bitmap words of 32 bits. Returns what main() should. */
int cl_fixture_run_rounds(int argc, char **argv, uint32_t *rounds, uint32_t *seed,
                          int (*run_with)(const char *name, uint32_t disable), const int *is_short);

/* Kernels reported nothing, or (kind, a clump_device_error, not negative) one error of this kind,
 * whose `ref` is this one. NULL, or the message mentions `words`. */
void cl_fixture_expect_error(cl_fixture *f, clump_heap *heap, int kind, uint32_t ref,
                             const char *words);
/* A millisecond, for what a device does in its own time. */
void cl_fixture_nap(void);

uint64_t cl_fixture_raw_bytes(cl_fixture *f, clump_heap *heap); /* in use */

/* No kernel reported anything since the last fetch, and all invariants of the heap hold. */
#define CHECK_HEAP(f, heap)                                                                        \
    do {                                                                                           \
        CHECK_OK(f, clump_heap_take_errors(heap, NULL));                                           \
        CHECK_OK(f, clump_heap_check(heap));                                                       \
    } while (0)

/* ---- Making things; all fail the test if they cannot ---------------------------------------- */

/* A heap of a schema given as text. A device without doubles skips the test of a schema with them. */
clump_heap *cl_fixture_heap(const cl_fixture *f, const char *schema, uint64_t bytes,
                            uint32_t block_rows);
/* The same as `like` says, whose context and schema count for nothing. */
clump_heap *cl_fixture_heap_as(const cl_fixture *f, const char *schema,
                               const clump_heap_desc *like);
/* One that watches its handles, of the layout of another. */
clump_heap *cl_fixture_heap_watching(const cl_fixture *f, const clump_heap *like);

/* Bytes of a small heap of a few classes on this device: metadata grow with its compute units. */
uint64_t cl_fixture_small_heap_bytes(const clump_context *context);

/* The smallest heap that has so many usable blocks. */
clump_heap *cl_fixture_heap_of_blocks(const cl_fixture *f, const char *schema, uint32_t blocks,
                                      uint32_t block_rows);

/* Objects that a block of the class holds, and those that the class could still get. */
uint32_t cl_fixture_capacity(clump_heap *heap, const char *class_name);

/* The first of a class's objects in the order of clump_heap_read_refs(); 0 if there is none. */
clump_ref cl_fixture_first(const cl_fixture *f, clump_heap *heap, const char *class_name);
uint64_t cl_fixture_free_slots(const cl_fixture *f, clump_heap *heap, const char *class_name);

/* The column of a field of the objects of exactly the class; NULL: there is none. */
const clump_extract_column *cl_fixture_column(const clump_extract *extract, const char *class_name,
                                              const char *field);

uint32_t cl_fixture_class_id(clump_heap *heap, const char *class_name);

/* How a program is built other than as is best. */
typedef struct cl_fixture_build {
    clump_alloc_tuning tuning;
    int checked;
} cl_fixture_build;

/* What is known of a program that does not build: `failed` of its desc, with one of these for
 * `user`. */
typedef struct cl_fixture_log {
    const char *source; /* of the user's; is looked for in the program's */
    int has_source;
    uint32_t warnings;
    char log[16384];
} cl_fixture_log;
void cl_fixture_keep_log(void *log, const clump_program_info *info);

/* A program; prints the build log if it does not build. options and how may be NULL. */
clump_program *cl_fixture_program(const cl_fixture *f, clump_heap *heap, const char *source,
                                  const char *options, const cl_fixture_build *how);
/* A program for a heap with the schema does not build, and the error has the words; NULL: it
 * builds. options may be
 * NULL. */
void cl_fixture_expect_build(const cl_fixture *f, const char *schema, const char *source,
                             const char *options, const char *words);
clump_kernel *cl_fixture_kernel(const cl_fixture *f, clump_program *program, const char *name);

/* A heap of so many blocks of two rows, a program for it, and the kernels of the program that a
 * list names. */
enum { CL_FIXTURE_KERNELS = 4 };
typedef struct cl_fixture_kit {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[CL_FIXTURE_KERNELS]; /* in the list's order, then NULL */
} cl_fixture_kit;

/* CONSTRUCTOR. */
cl_fixture_kit cl_fixture_kit_open(const cl_fixture *f, const char *schema, uint32_t blocks,
                                   const char *source, const char *const names[CL_FIXTURE_KERNELS]);
/* DESTRUCTOR. */
void cl_fixture_kit_close(cl_fixture_kit *kit);

/* A buffer with a copy of data, or with zeros if that is NULL; and what it holds now. */
cl_mem cl_fixture_buffer(const cl_fixture *f, const void *data, size_t bytes);
/* One of another cl_context. */
cl_mem cl_fixture_foreign_buffer(const cl_fixture *f, size_t bytes);
void cl_fixture_write(const cl_fixture *f, cl_mem buffer, const void *data, size_t bytes);
void cl_fixture_read(const cl_fixture *f, cl_mem buffer, void *data, size_t bytes);

/* All bytes of a heap, of all its buffers. */
void cl_fixture_heap_read(const clump_heap *heap, void *image);
void cl_fixture_heap_write(const clump_heap *heap, const void *image);

/* Set a parameter from an lvalue. */
#define SET_ARG(f, kernel, index, value)                                                           \
    CHECK_OK(f, clump_kernel_set_arg(kernel, index, sizeof(value), &(value)))

/* ---- Random numbers -------------------------------------------------------------------------- */

/* The finaliser of MurmurHash3, which the kernels of the tests have as well. */
static inline uint32_t test_hash(uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}

/* A number below `below` (not 0), and the next state. */
static inline uint32_t test_random(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((*state >> 32) * below) >> 32);
}

#endif
