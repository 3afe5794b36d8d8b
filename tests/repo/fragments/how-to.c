/* The recipes on a thousand bodies, one to a cell of 32 by 32: each fragment in the order of the
 * page, on one heap but for those that need a full or another one. */
#include <math.h>
#include <threads.h>
#include <time.h>

#include "caller.h"

enum { BODIES = 1000, CELLS = 1024 };

/* ---- Stand-ins for graphics, a step and a sleep ---- */

static const cl_float2 *uploaded;
static int shared; /* the buffer is OpenCL's now */

static void upload(const void *data, size_t bytes) {
    EXPECT(bytes == BODIES * sizeof *uploaded);
    uploaded = data;
}
static cl_int acquire(cl_command_queue queue, cl_uint count, const cl_mem *buffers, cl_uint waits,
                      const cl_event *wait, cl_event *event) {
    EXPECT(queue && count == 1 && *buffers && !waits && !wait && !event && !shared++);
    return CL_SUCCESS;
}
static cl_int release(cl_command_queue queue, cl_uint count, const cl_mem *buffers, cl_uint waits,
                      const cl_event *wait, cl_event *event) {
    EXPECT(queue && count == 1 && *buffers && !waits && !wait && !event && shared-- == 1);
    return CL_SUCCESS;
}
static void sleep_ms(int ms) {
    thrd_sleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}
static void step(clump_quick *q) {
    CLUMP_CHECK(q, clump_heap_do_all(q->heap, clump_program_get_kernel(q->program, "clear"), NULL));
}
static void wrong_step(clump_quick *q) {
    make(q, "Body", 1, "make");
    all(q, "wrong");
}

/* ---- What is compared ---- */

static cl_float2 places[2 * BODIES];
static float masses[2 * BODIES];
static uint32_t words[2 * BODIES];

static void read_words(clump_quick *q, const char *field, uint64_t count) {
    CLUMP_CHECK(q, clump_heap_read_field(q->heap, "Body", field, 0, sizeof *words, words,
                                         2 * BODIES, &count));
}

static void expect_lines(const char *path, int lines, const char *first, const char *last) {
    char line[128];
    FILE *file = fopen(path, "r");
    EXPECT(file && fgets(line, sizeof line, file) && !strncmp(line, first, strlen(first)));
    while (fgets(line, sizeof line, file)) lines--;
    EXPECT(lines == 1 && !strncmp(line, last, strlen(last)));
    fclose(file);
    remove(path);
}

static void expect_text(const char *path, const char *text) {
    char line[512];
    int found = 0;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) found = strstr(line, text) != NULL;
    EXPECT(found && !fclose(file) && !remove(path));
}

static void see(clump_quick *q) {
    fragment_1(*q, upload);
    EXPECT(uploaded[33].s[0] == 1.5f && uploaded[33].s[1] == 1.5f);
    cl_mem vertices = clCreateBuffer(q->cl, CL_MEM_READ_WRITE, sizeof places, NULL, NULL);
    fragment_2(q->heap, q->queue, vertices, BODIES, acquire, release);
    EXPECT(!shared);
    CLUMP_CHECK(q->queue, clEnqueueReadBuffer(q->queue, vertices, CL_TRUE, 0, sizeof places, places,
                                              0, NULL, NULL));
    EXPECT(!memcmp(places, uploaded, BODIES * sizeof *places));
    clReleaseMemObject(vertices);
}

static void single_objects(clump_quick *q) {
    clump_handle handle;
    clump_ref body, picked;
    uint32_t id;
    fragment_4(*q, &handle);
    CLUMP_CHECK(q, clump_heap_read_handle(q->heap, handle, &body));
    CLUMP_CHECK(
        q, clump_heap_read_object_field(q->heap, "Body", "mass", 0, body, sizeof *masses, masses));
    EXPECT(*masses == 20); /* 1 + 7 % 3, ten times */
    *masses = 2;
    CLUMP_CHECK(
        q, clump_heap_write_object_field(q->heap, "Body", "mass", 0, body, sizeof *masses, masses));
    CLUMP_CHECK(q, clump_heap_destroy_handle(q->heap, handle));
    fragment_5(*q, 3.2f, 4.1f, &picked);
    CLUMP_CHECK(q, clump_heap_read_object_field(q->heap, "Body", "id", 0, picked, sizeof id, &id));
    EXPECT(id == 4 * 32 + 3 || id == 3 * 32 + 3); /* (3.5, 4.5), (3.5, 3.5) */
}

static void compute(clump_quick *q) {
    fragment_6(*q, masses, BODIES);
    for (int i = 0; i < BODIES; i++) EXPECT(masses[i] == (i < 334 ? 1.0f : i < 667 ? 2.0f : 3.0f));
    fragment_7(*q);
    read_words(q, "near", BODIES);
    uint32_t sum = 0;
    for (int i = 0; i < BODIES; i++) sum += words[i];
    /* Both ways: 31 pairs in each of 31 rows of 32, 7 in the last of 8, 992 - 24 columns' pairs. */
    EXPECT(sum == 2 * (31 * 31 + 7 + 30 * 32 + 8));
}

static void record(clump_quick *q) {
    fragment_3(*q);
    expect_lines("series.csv", 11, "step,bodies,mass,fastest\n", "90,1000,1999,1\n");
    expect_lines("bodies.csv", BODIES + 1, "at.x,at.y,", "");
    CLUMP_CHECK(
        q, clump_heap_read_field(q->heap, "Body", "at", 0, sizeof *places, places, BODIES, NULL));
    for (int i = 0; i < BODIES; i++) EXPECT(places[i].s[0] >= 0 && places[i].s[0] <= 31.9f);
}

/* A heap that Cells have filled, three of four of which are gone: its blocks are in use. */
static void memory(const clump_quick_desc *desc, const char *source) {
    clump_quick q;
    clump_quick_desc small = *desc;
    uint64_t made, room, bytes;
    int is_full;
    small.heap.bytes = 512 << 10;
    small.heap.errors_on_request = 1;
    CLUMP_CHECK(&q, clump_quick_open(&q, &small));
    make(&q, "Body", BODIES, "make_bodies");
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, clump_program_get_kernel(q.program, "make_cells"),
                                      "Cell", 1000000, &made, NULL));
    EXPECT(clump_heap_take_errors(q.heap, NULL) == CLUMP_ERR_DEVICE);
    fragment_8(q, &is_full);
    EXPECT(is_full); /* nothing to gain */
    const uint64_t before = count_of(&q, "Body");
    all(&q, "thin");
    fragment_8(q, &is_full);
    EXPECT(!is_full && count_of(&q, "Body") == 1666 && before < 1666);
    read_words(&q, "id", 1666);

    const uint64_t size = clump_heap_get_info(q.heap)->bytes;
    fragment_9(&q, source);
    EXPECT(clump_heap_get_info(q.heap)->bytes == 2 * size && count_of(&q, "Body") == 1666);
    small.source = source;
    fragment_10(&q, &small);
    EXPECT(clump_heap_get_info(q.heap)->bytes == 4 * size && count_of(&q, "Body") == 1666);
    remove("grow.clump");
    step(&q);

    fragment_11(q, &room, &bytes);
    EXPECT(room > 10000 && bytes > 32 << 20 && bytes < 40 << 20);
    clump_quick_close(&q);
}

static void two_heaps(clump_quick *q, const char *schema_text) {
    clump_heap *other;
    clump_schema *schema;
    CLUMP_CHECK(q, clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, NULL));
    CLUMP_CHECK(q,
                clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                     .context = q->context,
                                                     .schema = schema,
                                                     .bytes = clump_heap_get_info(q->heap)->bytes},
                                  &other, NULL));
    CLUMP_CHECK(q, clump_heap_do_new(other, clump_program_get_kernel(q->program, "make_bodies"),
                                     "Body", BODIES, NULL, NULL));
    cl_mem there = clCreateBuffer(q->cl, CL_MEM_READ_WRITE, sizeof places, NULL, NULL);
    fragment_12(*q, other, there, BODIES);
    cl_float2 v[BODIES], at[BODIES];
    CLUMP_CHECK(q, clump_heap_read_field(q->heap, "Body", "v", 0, sizeof *v, v, BODIES, NULL));
    CLUMP_CHECK(q, clump_heap_read_field(q->heap, "Body", "at", 0, sizeof *at, at, BODIES, NULL));
    read_words(q, "id", BODIES);
    for (int i = 0; i < BODIES; i++)
        EXPECT(fabsf(at[i].s[0] + v[i].s[0] - (float)(words[i] % 32) - 0.5f) < 1e-4f);
    clReleaseMemObject(there);
    clump_heap_destroy(other);
    clump_schema_destroy(schema);
}

static void trouble(clump_quick *q, const clump_quick_desc *desc) {
    int hangs;
    fragment_15(*q);
    expect_text("whole.cl", "void make_bodies(");
    fragment_16(*q, "clear", sleep_ms, &hangs);
    EXPECT(!hangs);
    fragment_17(*q, "clear");
    CLUMP_CHECK(
        q, clump_heap_save(
               q->heap, &(clump_save_desc){.size = sizeof(clump_save_desc), .path = "step.clump"},
               NULL));
    all(q, "divide");
    fragment_18(q, desc, CLUMP_ERR_CL);
    EXPECT(count_of(q, "Body") == BODIES && count_of(q, "Cell") == CELLS);
    remove("step.clump");
}

static void profile(clump_quick *q) {
    const char *text = "__kernel void blur(__global int *a) { a[get_global_id(0)] *= 2; }";
    cl_program program = clCreateProgramWithSource(q->cl, 1, &text, NULL, NULL);
    CLUMP_CHECK(program, clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    cl_kernel blur = clCreateKernel(program, "blur", NULL);
    cl_mem numbers = clCreateBuffer(q->cl, CL_MEM_READ_WRITE, 1024, NULL, NULL);
    CLUMP_CHECK(blur, clSetKernelArg(blur, 0, sizeof numbers, &numbers));
    remove("own.txt"); /* the recipe appends */
    fragment_13(*q, blur, 256, step);
    expect_text("timeline.json", "\"clear\"");
    expect_lines("own.txt", 1, "blur ", "");
    clReleaseMemObject(numbers);
    clReleaseKernel(blur);
    clReleaseProgram(program);
}

int main(void) {
    clump_quick q, checked;
    const char *schema = text_of("page.schema"), *source = text_of("page.cl");
    char *more = calloc(1, strlen(source) + 200);
    strcat(strcpy(more, source),
           "__kernel void thin(CLUMP_HEAP, CLUMP_NUMBERS) {\n"
           "    CLUMP_FOR_EACH_NUMBERED(Cell, self, i) if (i % 4) Cell_free(self);\n"
           "}\n");
    const clump_quick_desc desc = {.schema = schema, .source = more};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    make(&q, "Body", BODIES, "make_bodies");
    make(&q, "Cell", CELLS, "make_cells");
    see(&q);
    single_objects(&q);
    compute(&q);
    record(&q);
    two_heaps(&q, schema);
    profile(&q);
    trouble(&q, &desc);
    expect_no_error(&q);
    clump_quick_close(&q);
    memory(&desc, source);

    fragment_14(
        &checked,
        (clump_quick_desc){.schema = "class Body { float x; float y; }",
                           .source = "__kernel void make(CLUMP_HEAP) {\n"
                                     "    CLUMP_FOR_EACH_NEW(Body, self, i) Body_x(self) = i;\n"
                                     "}\n"
                                     "__kernel void wrong(CLUMP_HEAP_NO_ALLOC) {\n"
                                     "    CLUMP_FOR_EACH(Body, self) Body_x(self) = Body_y(self);\n"
                                     "}\n"},
        wrong_step);
    EXPECT(strstr(clump_context_get_error(checked.context)->message, "read before it was written"));
    return 0;
}
