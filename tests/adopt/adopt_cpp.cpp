/* The C++ header: what its members do is what the C calls do, which other tests look at; here are
 * ownership, moves, exceptions, spans, and objects of opencl.hpp going in and out. The references
 * that OpenCL counts on context and queue tell whether everything was released.
 *
 * Read first: include/clump/clump.hpp.
 */
#if __has_include(<CL/opencl.hpp>)
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#define HAVE_OPENCL_HPP 1
#else
#define HAVE_OPENCL_HPP 0
#endif

#include "clump/clump.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

static int failures;

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what);              \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* The call throws that status, with these words. Returns the error. */
template <class Call>
static std::optional<clump::error> throws(clump_status status, const char *words, int line,
                                          Call call) {
    try {
        call();
    } catch (const clump::error &e) {
        if (e.status() != status || !std::strstr(e.what(), words)) {
            std::fprintf(stderr, "line %d: it throws \"%s\", not \"%s\"\n", line, e.what(), words);
            failures++;
        }
        return e;
    }
    std::fprintf(stderr, "line %d: it does not throw\n", line);
    failures++;
    return std::nullopt;
}
#define THROWS(status, words, ...) throws(status, words, __LINE__, [&] { __VA_ARGS__; })

static const char text[] =
    "class Body {\n    float x;\n    float2 v[2];\n    ref Body next;\n    bool hot;\n}";

static const char source[] = R"(
__kernel void init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_x(self) = i; Body_next(self) = Body_null; Body_hot(self) = i & 1; }
}
__kernel void add(CLUMP_HEAP_NO_ALLOC, float by, __global const float *more, __local float *scratch) {
    CLUMP_FOR_EACH(Body, self) { scratch[0] = 0; Body_x(self) += by + more[0]; }
}
__kernel void drop(CLUMP_HEAP, uint from) {
    CLUMP_FOR_EACH(Body, self) if (Body_x(self) >= from) Body_free(self);
}
__kernel void grow(CLUMP_HEAP_NO_ALLOC, float by) {
    CLUMP_FOR_EACH(Body, self) Body_x(self) += by;
}
__kernel void follow(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) if (!Body_is_null(Body_next(self))) Body_x(self) = Body_x(Body_next(self));
}
__kernel void sum(CLUMP_HEAP_NO_ALLOC) {
    float sum = 0;
    CLUMP_FOR_EACH(Body, self) sum += Body_x(self);
    CLUMP_REDUCE(float, sum, CLUMP_SUM);
}
)";

/* ---- Errors ---------------------------------------------------------------------------------- */

static void errors(const clump::context &context) {
    auto e = THROWS(CLUMP_ERR_SCHEMA, "in line 2, column 5: expected a type",
                    clump::schema("class A {\n    flot x;\n}"));
    EXPECT(e && e->line() == 2 && e->column() == 5);
    THROWS(CLUMP_ERR_IO, "no-such-file", clump::schema::from_file("no-such-file"));
    THROWS(CLUMP_ERR_NOT_FOUND, "there are:", clump::find_device("no such device"));
    THROWS(CLUMP_ERR_NOT_FOUND, "there are:", clump::context::open("no such device"));
    THROWS(CLUMP_ERR_USAGE, "", clump::context(nullptr, nullptr, nullptr));
    const clump::schema schema(text);
    THROWS(CLUMP_ERR_DEVICE_MEMORY, "bytes", clump::heap(context, schema, 10));
    clump::heap heap(context, schema, 4 << 20);
    e = THROWS(CLUMP_ERR_BUILD, "boo",
               clump::program(heap, "__kernel void f(CLUMP_HEAP) {\n boo(); }"));
    EXPECT(e && e->line() == 2 && e->cl_code() == CL_BUILD_PROGRAM_FAILURE);
    clump::program program(heap, source);
    THROWS(CLUMP_ERR_NOT_FOUND, "It has init", program.kernel("unit"));
    clump::kernel sum = program.kernel("sum");
    THROWS(CLUMP_ERR_USAGE, "parameter 0", sum.set_args(1.0f));
    THROWS(CLUMP_ERR_NOT_FOUND, "Bdoy", heap.read_count("Bdoy"));
    THROWS(CLUMP_ERR_NOT_FOUND, "\"y\"", heap.read_field<float>("Body", "y"));
    THROWS(CLUMP_ERR_USAGE, "field x of class Body is a float of 4 bytes, but 8 bytes were passed",
           heap.read_field<double>("Body", "x"));
    THROWS(CLUMP_ERR_USAGE, "field v of class Body is a float2 of 8 bytes, but 4 bytes were passed",
           heap.write_field("Body", "v", std::vector<float>()));
    THROWS(CLUMP_ERR_IO, "no-such-folder", heap.save("no-such-folder/heap"));
    heap.do_new(program.kernel("init"), "Body", 10);
    std::array<float, 9> few{};
    THROWS(CLUMP_ERR_TOO_SMALL, "room for 9",
           heap.read_field("Body", "x", clump::span<float>(few)));
    heap.do_all(program.kernel("init")); /* which is for a do-new */
    THROWS(CLUMP_ERR_DEVICE, "", heap.throw_errors());
    heap.do_all(program.kernel("init"));
    EXPECT(heap.take_errors().errors[CLUMP_DEVICE_WRONG_LAUNCH].count > 0);
    heap.throw_errors();
    clump::pool pool(context);
    THROWS(CLUMP_ERR_USAGE, "", clump::allocation(pool, 0));
    clump_pool_desc bad{};
    bad.alignment = 3;
    THROWS(CLUMP_ERR_USAGE, "power of two", clump::pool(context, bad));
}

/* ---- Objects --------------------------------------------------------------------------------- */

struct body {
    float x;
    std::uint8_t hot;
};
static const clump_struct_field body_fields[] = {{"x", offsetof(body, x)},
                                                 {"hot", offsetof(body, hot)}};
static const clump_struct_desc body_desc = {sizeof body_desc, "Body", sizeof(body), 2, body_fields};

/* To a buffer and back: 1,000 objects that are numbered. */
static void copies(const clump::context &context, clump::heap &heap) {
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(context.cl(), CL_MEM_READ_WRITE, 1010 * 4, nullptr, &code);
    EXPECT(code == CL_SUCCESS);
    cl_event copied = nullptr;
    clump_sync sync{};
    float seen = 0;
    sync.event = &copied;
    heap.copy_field("Body", "x", CLUMP_COPY_TO_BUFFER, buffer, 1000, 40, 0, &sync);
    EXPECT(clEnqueueReadBuffer(context.queue(), buffer, CL_TRUE, 40 + 7 * 4, 4, &seen, 1, &copied,
                               nullptr) == CL_SUCCESS);
    clReleaseEvent(copied);
    EXPECT(seen == 7.0f);
    heap.copy_field("Body", "x", CLUMP_COPY_FROM_BUFFER, buffer, 999, 44); /* the next ones' */
    EXPECT(heap.read_field<float>("Body", "x")[7] == 8.0f);
    heap.copy_field("Body", "x", CLUMP_COPY_FROM_BUFFER, buffer, 1000, 40);
    THROWS(CLUMP_ERR_TOO_SMALL, "do not fit",
           heap.copy_field("Body", "x", CLUMP_COPY_TO_BUFFER, buffer, 1000, 44));
    THROWS(CLUMP_ERR_USAGE, "2 elements",
           heap.copy_field("Body", "v", CLUMP_COPY_TO_BUFFER, buffer, 1, 0, 2));
    clReleaseMemObject(buffer);
}

/* Room, asked and answered; what is known of a schema; structs of chosen objects; tables. */
static void questions(const clump::context &context) {
    const clump::schema schema(text);
    const std::array<std::uint64_t, 1> objects{10000};
    const std::uint64_t bytes = clump::heap::bytes_needed(context, schema, objects);
    THROWS(CLUMP_ERR_USAGE, "for each class",
           clump::heap::bytes_needed(context, schema, std::vector<std::uint64_t>(2)));
    clump::heap heap(context, schema, bytes);
    EXPECT(heap.read_class_stats()[0].room >= 10000 &&
           clump_schema_get_info(heap.info().schema)->class_count == 1);
    clump::program program(heap, source);
    heap.reserve("Body", 100);
    EXPECT(program.kernel("add").arg_count() == 3);
    heap.do_new(program.kernel("init"), "Body", 10000);
    heap.throw_errors();
    EXPECT(heap.repair().objects == 10000);
    const std::vector<clump_ref> refs = heap.read_refs("Body");
    const std::vector<clump_ref> chosen = {refs[5], refs[3]};
    std::vector<body> bodies = heap.read_structs<body>(body_desc, chosen);
    EXPECT(bodies.size() == 2 && bodies[0].x == 5.0f && bodies[1].x == 3.0f);
    bodies[1].x = 30.0f;
    heap.write_structs(body_desc, chosen, bodies);
    EXPECT(heap.read_object_field<float>("Body", "x", refs[3]) == 30.0f);
    THROWS(CLUMP_ERR_USAGE, "each reference", heap.write_structs(body_desc, refs, bodies));
    bodies = heap.read_structs<body>(body_desc);
    bodies[7].x = 70.0f;
    heap.write_structs(body_desc, bodies);
    EXPECT(heap.read_object_field<float>("Body", "x", refs[7]) == 70.0f);
    EXPECT(heap.write_table("Body", CLUMP_TABLE_CSV).find("x,") == 0);
    clump::heap lists(context, clump::schema("class List { uint n[*]; }"), 4 << 20);
    clump::program of_lists(lists, R"(
__kernel void fill(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(List, self, i) { List_n_resize(self, 3); List_n(self, 2) = 7; }
}
)");
    lists.do_new(of_lists.kernel("fill"), "List", 1);
    const std::vector<cl_uint> n =
        lists.read_object_array<cl_uint>("List", "n", lists.read_refs("List").at(0));
    EXPECT(n.size() == 3 && n[2] == 7);
    clump::arrays<cl_uint> longer;
    longer.offsets = {0, 5};
    longer.values = {1, 2, 3, 4, 5};
    lists.write_arrays("List", "n", longer);
    EXPECT(lists.read_arrays<cl_uint>("List", "n").values == longer.values);
    clump::heap bags(context, clump::schema("class Bag { uint id; ushort n[*] max 4; }"), 4 << 20);
    const clump_struct_field id = {"id", 0};
    const clump_struct_desc id_desc = {sizeof id_desc, "Bag", sizeof(cl_uint), 1, &id};
    const std::vector<clump_ref> all = bags.new_structs(id_desc, std::vector<cl_uint>{5, 6, 7});
    clump::arrays<cl_ushort> given;
    given.offsets = {0, 2, 2, 5};
    given.values = {1, 2, 3, 4, 5};
    bags.write_arrays("Bag", "n", given);
    clump::arrays<cl_ushort> read = bags.read_arrays<cl_ushort>("Bag", "n");
    EXPECT(read.offsets == given.offsets && read.values == given.values);
    given.offsets = {3, 5};
    bags.write_arrays("Bag", "n", {all.data(), 1}, given);
    read = bags.read_arrays<cl_ushort>("Bag", "n", {all.data(), 1});
    EXPECT(read.offsets.back() == 2 && read.values == (std::vector<cl_ushort>{4, 5}));
    EXPECT(bags.read_arrays<cl_ushort>("Bag", "n", {}).offsets.size() == 1);
    THROWS(CLUMP_ERR_USAGE, "each reference", bags.write_arrays("Bag", "n", all, given));
}

static void objects(const clump::context &context, cl_mem more) {
    clump::heap heap(context, clump::schema(text), 4 << 20);
    clump::program program(heap, source);
    clump::kernel drop = program.kernel("drop");
    EXPECT(heap.do_new_counted(program.kernel("init"), "Body", 1000) == 1000);
    EXPECT(heap.reduce<float>(program.kernel("sum")) == 499500.0f);
    clump::kernel grow = program.kernel("grow"), grown = grow.fuse(program.kernel("sum"));
    grow.set_args(1.0f);
    EXPECT(heap.reduce<float>(grown) == 500500.0f);
    grow.set_args(-1.0f);
    EXPECT(heap.reduce<float>(grown) == 499500.0f);
    THROWS(CLUMP_ERR_USAGE, "Body.x", grow.fuse(program.kernel("follow")));
    heap.do_all(program.kernel("add").set_args(2.0f, more, clump::local{4}));

    std::vector<float> x = heap.read_field<float>("Body", "x");
    EXPECT(x.size() == 1000 && x[0] == 5.0f && x[999] == 1004.0f); /* `more` has a 3 */
    for (float &value : clump::span<float>(x)) value -= 5;
    heap.write_field("Body", "x", x);
    heap.write_field("Body", "x", clump::span<const float>(x));
    std::array<float, 1000> again{};
    EXPECT(heap.read_field("Body", "x", clump::span<float>(again)) == 1000);
    EXPECT(std::memcmp(x.data(), again.data(), sizeof again) == 0);

    const std::vector<clump_ref> refs = heap.read_refs("Body");
    EXPECT(heap.read_object_field<float>("Body", "x", refs[7]) == 7.0f);
    copies(context, heap);
    heap.write_object_field("Body", "v", refs[7], cl_float2{{1, 2}}, 1);
    EXPECT(heap.read_field<cl_float2>("Body", "v", 1)[7].s[1] == 2.0f);

    clump::handle last(heap, refs[999]);
    heap.do_all(drop.set_args(cl_uint(500)));
    EXPECT(heap.read_count("Body") == 500);
    const std::vector<body> more_bodies = {{10000, 1}, {20000, 0}};
    clump::handle held(heap, heap.new_structs(body_desc, more_bodies).at(0));
    EXPECT(heap.compact().objects == 502);
    EXPECT(heap.read_object_field<float>("Body", "x", held.read()) == 10000.0f);
    EXPECT(heap.read_structs<body>(body_desc).size() == 502);
    EXPECT(heap.collect().dead == 501); /* the handle is the one root */
    EXPECT(heap.read_stats().objects == 1);
    EXPECT(heap.dump().find("\"Body\"") != std::string::npos);
    EXPECT(heap.read_structs<body>(body_desc).at(0).hot == 1);

    const char *path = "adopt_cpp.clump";
    EXPECT(heap.save(path).objects == 1);
    clump::heap loaded(context, clump::schema(text), 8 << 20);
    EXPECT(loaded.load(path).objects == 1);
    EXPECT(loaded.read_field<float>("Body", "x").at(0) == 10000.0f);
    std::remove(path);
    clump::heap same(context, clump::schema(text), 4 << 20),
        larger(context, clump::schema(text), 8 << 20);
    heap.copy_to(same);
    EXPECT(same.read_field<float>("Body", "x").at(0) == 10000.0f);
    THROWS(CLUMP_ERR_USAGE, "clump_heap_desc of the heap", heap.copy_to(larger));
    heap.check(clump_heap_check(heap.get()));
    heap.throw_errors();
}

/* ---- Several buffers, out of core, another schema -------------------------------------------- */

/* A kernel of the caller's. Returns it retained once. */
static cl_kernel build(const clump::context &context, const clump::program &program,
                       const char *name) {
    const char *of = program.source();
    const cl_device_id device = context.device();
    cl_int code = CL_SUCCESS;
    cl_program built = clCreateProgramWithSource(context.cl(), 1, &of, nullptr, &code);
    EXPECT(code == CL_SUCCESS);
    EXPECT(clBuildProgram(built, 1, &device, program.options(), nullptr, nullptr) == CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(built, name, &code);
    EXPECT(code == CL_SUCCESS);
    clReleaseProgram(built);
    return kernel;
}

/* Few kernels: a heap of several buffers needs them compiled anew, and then once more by the
 * caller. */
static const char own_kernels[] = R"(
__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, self, i) Body_x(self) = i; }
__kernel void drop_one(CLUMP_HEAP, uint ref) { if (get_global_id(0) == 0) Body_free((Body){ref}); }
)";

static void several_buffers(const clump::context &context) {
    const clump::schema schema(text);
    if (!(context.capabilities().pointers & CLUMP_POINTERS_SVM)) {
        THROWS(CLUMP_ERR_UNSUPPORTED, "", clump::heap(context, schema, 16 << 20, 4 << 20));
        return;
    }
    clump::heap heap(context, schema, 16 << 20, 4 << 20);
    EXPECT(heap.info().buffer_blocks > 0);
    clump::program program(heap, own_kernels);
    EXPECT(heap.do_new_counted(program.kernel("make"), "Body", 200000) == 200000);
    const std::vector<float> x = heap.read_field<float>("Body", "x");
    double sum = 0;
    for (float value : x) sum += value;
    EXPECT(x.size() == 200000 && sum == 200000.0 * 199999 / 2);

    cl_kernel drop_one = build(context, program, "drop_one");
    const std::vector<clump_ref> refs = heap.read_refs("Body");
    const std::size_t items = 64;
    heap.set_kernel(drop_one);
    clSetKernelArg(drop_one, 1, sizeof refs.back(), &refs.back());
    EXPECT(clEnqueueNDRangeKernel(context.queue(), drop_one, 1, nullptr, &items, nullptr, 0,
                                  nullptr, nullptr) == CL_SUCCESS);
    heap.touch();
    EXPECT(heap.read_refs("Body") == std::vector<clump_ref>(refs.begin(), refs.end() - 1));
    heap.throw_errors();
    clReleaseKernel(drop_one);
    heap.check(clump_heap_check(heap.get()));
}

static void out_of_core(const clump::context &context) {
    const clump::schema schema("class Body { float x; } class Stone { uint number; }");
    clump::heap heap(context, schema, 8 << 20, 0, 32 << 20);
    clump::program program(heap, R"(
__kernel void bodies(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, self, i) Body_x(self) = i; }
__kernel void stones(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Stone, self, i) Stone_number(self) = i; }
)");
    heap.do_new(program.kernel("bodies"), "Body", 20000);
    heap.do_new(program.kernel("stones"), "Stone", 10000);
    const std::vector<clump_ref> refs = heap.read_refs("Body");
    const std::vector<float> x = heap.read_field<float>("Body", "x");
    EXPECT(heap.evict("Body").objects == 20000);
    EXPECT(heap.info().evicted_objects == 20000 && heap.read_count("Body") == 0 &&
           heap.read_count("Stone") == 10000);
    THROWS(CLUMP_ERR_USAGE, "", heap.compact());
    EXPECT(heap.bring_back(std::vector<clump_ref>()).objects == 0);
    const std::uint64_t some = heap.bring_back(std::vector<clump_ref>{refs[7]}).objects;
    EXPECT(some > 0 && some < 20000 && heap.read_count("Body") == some);
    EXPECT(heap.read_object_field<float>("Body", "x", refs[7]) == x[7]);
    EXPECT(heap.bring_back("Stone").objects == 0 &&
           heap.bring_back("Body").objects == 20000 - some);
    EXPECT(heap.read_refs("Body") == refs && heap.read_field<float>("Body", "x") == x);

    heap.age_blocks();
    heap.age_blocks();
    heap.do_new(program.kernel("stones"), "Stone", 10000);
    heap.age_blocks();
    clump_evict_desc desc{};
    desc.class_name = "Stone";
    desc.age = 2;
    EXPECT(heap.evict(&desc).objects <= 10000);
    EXPECT(heap.read_count("Stone") >= 10000 && heap.read_count("Stone") < 20000);
    EXPECT(heap.evict().objects + heap.bring_back().objects > 40000);
    EXPECT(heap.read_count("Stone") == 20000 && heap.read_field<float>("Body", "x") == x);
    clump::heap ordinary(context, schema, 4 << 20);
    THROWS(CLUMP_ERR_USAGE, "evictable_bytes", ordinary.evict());
    THROWS(CLUMP_ERR_USAGE, "evictable_bytes", ordinary.bring_back("Body"));
    THROWS(CLUMP_ERR_USAGE, "evictable_bytes", ordinary.age_blocks());
    heap.check(clump_heap_check(heap.get()));
}

static void another_schema(const clump::context &context) {
    clump::heap heap(context, clump::schema(text), 4 << 20);
    clump::program before(heap, source);
    heap.do_new(before.kernel("init"), "Body", 1000);
    const std::vector<float> x = heap.read_field<float>("Body", "x");
    clump::handle held(heap, heap.read_refs("Body")[42]);
    THROWS(CLUMP_ERR_SCHEMA, "x", heap.convert(clump::schema("class Body { double x; }")));
    const clump_convert_report report = heap.convert(
        clump::schema("aos class Body { bool hot; uint age; float x; ref Body next; }"), 8 << 20,
        3);
    EXPECT(report.objects == 1000 && report.fields_lost == 1 && report.fields_gained == 1);
    EXPECT(heap.info().bytes > (7 << 20) && heap.info().bytes <= (8 << 20));
    EXPECT(heap.read_field<float>("Body", "x") == x);
    EXPECT(heap.read_object_field<float>("Body", "x", held.read()) == x[42]);
    EXPECT(heap.read_field<cl_uint>("Body", "age") == std::vector<cl_uint>(1000));
    THROWS(CLUMP_ERR_USAGE, "", heap.do_all(before.kernel("follow")));
    heap.check(clump_heap_check(heap.get()));
}

/* ---- Ownership ------------------------------------------------------------------------------- */

static cl_uint references(cl_command_queue queue) {
    cl_uint count = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
}

static cl_command_queue make_queue(cl_context cl, cl_device_id device) {
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(cl, device, 0, &code);
#pragma GCC diagnostic pop
    EXPECT(code == CL_SUCCESS);
    return queue;
}

static void queues(const clump::context &context) {
    const cl_command_queue first = context.queue();
    const cl_device_id device = context.device();
    cl_int code = CL_SUCCESS;
    cl_context foreign_cl = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    EXPECT(code == CL_SUCCESS);
    cl_command_queue foreign = make_queue(foreign_cl, device);
    cl_command_queue other = make_queue(context.cl(), device);
    context.set_queue(other);
    EXPECT(context.queue() == other);
    {
        clump::heap heap(context, clump::schema(text), 4 << 20);
        context.set_queue(nullptr);
        EXPECT(context.queue() == first && heap.read_stats().objects == 0);
    }
    THROWS(CLUMP_ERR_USAGE, "another cl_context", context.set_queue(foreign));
    EXPECT(context.queue() == first);
    clReleaseCommandQueue(other);
    clReleaseCommandQueue(foreign);
    clReleaseContext(foreign_cl);
}

static void moves(cl_context cl, cl_device_id device, cl_command_queue queue) {
    std::optional<clump::context> context(std::in_place, cl, device, queue);
    clump::heap first(*context, clump::schema(text), 4 << 20);
    clump_heap *same = first.get();
    clump::heap heap = std::move(first);
    EXPECT(heap.get() == same && !first.get());
    first = clump::heap(*context, clump::schema(text),
                        4 << 20); /* the one that was emptied can be used again */
    first = std::move(heap);
    EXPECT(first.get() == same);
    std::optional<clump::program> program(std::in_place, first, source);
    std::vector<clump::kernel> kernels;
    for (const char *name : {"init", "sum", "drop", "add"})
        kernels.push_back(program->kernel(name));
    program.reset(); /* the order is free */
    context.reset();
    first.do_new(kernels[0], "Body", 100);
    EXPECT(first.reduce<float>(kernels[1]) == 4950.0f);
    THROWS(CLUMP_ERR_NOT_FOUND, "Bdoy", first.read_count("Bdoy")); /* the words are still there */

    const std::vector<clump_ref> refs = first.read_refs("Body");
    clump::handle one(first, refs[1]), two(first, refs[2]);
    clump::handle moved = std::move(one);
    EXPECT(moved.read() == refs[1]);
    moved = std::move(two);
    EXPECT(moved.read() == refs[2]);
    EXPECT(first.collect().dead == 99); /* the handle of the other was given up */
}

static void registered(const clump::context &context) {
    clump::heap heap(context, clump::schema(text), 4 << 20);
    clump::program program(heap, source);
    heap.do_new(program.kernel("init"), "Body", 100);
    clump_ref root = heap.read_refs("Body")[50];
    cl_int code;
    cl_mem buffer = clCreateBuffer(context.cl(), CL_MEM_COPY_HOST_PTR, sizeof root, &root, &code);
    EXPECT(code == CL_SUCCESS);
    {
        clump_refs_desc desc{};
        desc.buffer = buffer;
        desc.count = 1;
        clump::refs refs(heap, desc);
        clump::refs here = std::move(refs);
        clReleaseMemObject(buffer); /* retained until it is unregistered */
        EXPECT(heap.collect().live == 1);
    }
    EXPECT(heap.collect().live == 0);
}

static void pools(const clump::context &context) {
    clump::pool pool(context);
    {
        clump::allocation a(pool, 1000), b(pool, 2000);
        EXPECT(pool.stats().allocations == 2);
        EXPECT(b.region().bytes >= 2000 && a.buffer() != b.buffer());
        clump::allocation c = std::move(a);
        EXPECT(pool.stats().allocations == 2 && c.get() && !a.get());
        c = std::move(b); /* frees the other one */
        EXPECT(pool.stats().allocations == 1 && c.region().bytes >= 2000 && !b.get());
        void *memory = c.map(CL_MAP_WRITE);
        cl_event unmapped = nullptr;
        clump_sync sync{};
        sync.event = &unmapped;
        c.unmap(memory, &sync);
        c.use(unmapped);
        c.pin(1);
        EXPECT(clump_pool_free(pool.get(), c.get()) == CLUMP_ERR_USAGE);
        c.pin(-1);
        clWaitForEvents(1, &unmapped);
        clReleaseEvent(unmapped);
    }
    EXPECT(pool.defragment().done && pool.stats().chunks == 1);
    pool.trim();
    EXPECT(pool.stats().chunks == 0);
    clump_allocation_desc shared{};
    shared.bytes = 100;
    shared.memory = CLUMP_MEMORY_SVM;
    if (context.capabilities().pointers & CLUMP_POINTERS_SVM) {
        clump::allocation with_pointer(pool, shared);
        EXPECT(with_pointer.region().pointer && with_pointer.buffer());
    } else {
        THROWS(CLUMP_ERR_UNSUPPORTED, "SVM", clump::allocation(pool, shared));
    }
    EXPECT(pool.stats().allocations == 0);
}

/* ---- opencl.hpp ------------------------------------------------------------------------------ */

#if HAVE_OPENCL_HPP
static void with_opencl_hpp(cl_device_id id) {
    cl::Device device(id, true);
    cl::Context cl(device);
    cl::CommandQueue queue(cl, device);
    clump::context context(cl(), device(), queue());
    clump::heap heap(context, clump::schema(text), 4 << 20);
    clump::program program(heap, source);
    float three = 3;
    cl::Buffer more(cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof three, &three);
    cl::Event event;
    clump_sync sync{};
    sync.event = &event();
    heap.do_new(program.kernel("init"), "Body", 100);
    heap.do_all(program.kernel("add").set_args(1.0f, more, clump::local{4}), &sync);
    event.wait();
    EXPECT(event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() == CL_COMPLETE);
    EXPECT(heap.reduce<float>(program.kernel("sum")) == 5350.0f);

    cl_mem raw = heap.info().buffer;
    cl_uint before = 0, after = 0;
    clGetMemObjectInfo(raw, CL_MEM_REFERENCE_COUNT, sizeof before, &before, nullptr);
    {
        cl::Buffer buffer(raw, true);
        EXPECT(buffer.getInfo<CL_MEM_SIZE>() == heap.info().bytes);
    }
    clGetMemObjectInfo(raw, CL_MEM_REFERENCE_COUNT, sizeof after, &after, nullptr);
    EXPECT(before == after);

    clump::pool pool(context);
    clump::allocation allocation(pool, sizeof three);
    cl::Buffer of_pool(allocation.buffer(), true);
    three = 5;
    queue.enqueueWriteBuffer(of_pool, CL_TRUE, 0, sizeof three, &three);
    heap.do_all(program.kernel("add").set_args(0.0f, of_pool, clump::local{4}));
    EXPECT(heap.reduce<float>(program.kernel("sum")) == 5850.0f);
}
#endif

int main() {
    clump_quick q;
    if (clump_quick_open(&q, nullptr)) {
        std::fprintf(stderr, "skipped: %s\n", q.error.message);
        return 77;
    }
    const cl_uint before = references(q.queue);
    try {
        {
            clump::context context(q.cl, q.device, q.queue);
            EXPECT(context.queue() == q.queue && context.capabilities().word_bits >= 32);
            queues(context);
            const float three = 3;
            cl_int code;
            cl_mem more = clCreateBuffer(q.cl, CL_MEM_COPY_HOST_PTR, sizeof three,
                                         const_cast<float *>(&three), &code);
            EXPECT(code == CL_SUCCESS);
            errors(context);
            objects(context, more);
            questions(context);
            registered(context);
            pools(context);
            several_buffers(context);
            out_of_core(context);
            another_schema(context);
            clReleaseMemObject(more);
        }
        moves(q.cl, q.device, q.queue);
        clFinish(q.queue);
        /* PoCL lets go of a command's queue just after clFinish() has returned, in another
         * thread. */
        for (int i = 0; i < 400 && references(q.queue) != before; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT(references(q.queue) == before);
#if HAVE_OPENCL_HPP
        with_opencl_hpp(q.device);
        std::printf("with opencl.hpp\n");
#else
        std::printf("without opencl.hpp, which is not installed\n");
#endif
    } catch (const std::exception &e) {
        std::fprintf(stderr, "it throws %s\n", e.what());
        failures++;
    }
    clump_quick_close(&q);
    std::printf(failures ? "%d failures\n" : "all as expected\n", failures);
    return failures ? 1 : 0;
}
