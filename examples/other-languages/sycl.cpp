// The same in SYCL, with DPC++: the kernels of lists.sycl are compiled when this program runs, and
// linked with Clump's functions, which come as LLVM's bitcode.
//
//   sycl INCLUDE_FOLDERS... FUNCTIONS.bc    folders of the SYCL headers and of cl/
#include <sycl/sycl.hpp>

#include <clump/clump.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace oneapi = sycl::ext::oneapi::experimental;
constexpr unsigned NUMBERS = 8192;

// What a failed call of Clump says.
static void check(clump_context *clump, const clump_error &error, clump_status status) {
    if (status)
        throw std::runtime_error(clump ? clump_context_get_error(clump)->message : error.message);
}

static int run(int argc, char **argv) {
    sycl::queue queue{sycl::cpu_selector_v, sycl::property::queue::in_order{}};
    std::ifstream file(FOLDER "/lists.sycl");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::string> options{"-w", "-Xclang", "-mlink-bitcode-file", "-Xclang",
                                     argv[argc - 1]};
    for (int i = 1; i + 1 < argc; i++) options.push_back(std::string("-I") + argv[i]);
    auto source = oneapi::create_kernel_bundle_from_source(queue.get_context(),
                                                           oneapi::source_language::sycl, text);
    auto kernels = oneapi::build(source, oneapi::properties{oneapi::build_options{options}});

    // The heap, in SYCL's own context of OpenCL.
    clump_context *clump = nullptr;
    clump_heap *heap = nullptr;
    clump_error error{};
    clump_context_desc of_context{};
    of_context.size = sizeof of_context;
    of_context.context = sycl::get_native<sycl::backend::opencl>(queue.get_context());
    of_context.device = sycl::get_native<sycl::backend::opencl>(queue.get_device());
    of_context.queue = sycl::get_native<sycl::backend::opencl>(queue);
    check(nullptr, error, clump_context_create(&of_context, &clump, &error));
    clump_heap_desc of_heap{};
    of_heap.size = sizeof of_heap;
    of_heap.context = clump;
    of_heap.bytes = 64u << 20;
    of_heap.raw = 1;
    check(clump, error, clump_heap_create(&of_heap, &heap, nullptr));
    auto memory = sycl::make_buffer<sycl::backend::opencl, unsigned char>(
        clump_heap_get_info(heap)->buffer, queue.get_context());

    auto *lists = sycl::malloc_shared<unsigned>(NUMBERS, queue),
         *counts = sycl::malloc_shared<unsigned>(NUMBERS, queue),
         *sums = sycl::malloc_shared<unsigned>(NUMBERS, queue);
    clump_heap_stats used{}, left{};
    used.size = left.size = sizeof used;
    auto launch = [&](const char *name, auto... arguments) {
        auto kernel = kernels.ext_oneapi_get_kernel(name);
        queue.submit([&](sycl::handler &h) {
            sycl::accessor of_memory(memory, h, sycl::read_write);
            h.set_args(of_memory, arguments...);
            h.parallel_for(sycl::nd_range<1>(NUMBERS, 64), kernel);
        });
        queue.wait_and_throw();
    };
    launch("divisors", lists, counts);
    check(clump, error, clump_heap_read_stats(heap, &used, nullptr, 0));
    launch("sums", lists, counts, sums);
    check(clump, error, clump_heap_take_errors(heap, nullptr));
    check(clump, error, clump_heap_read_stats(heap, &left, nullptr, 0));
    std::printf("perfect:");
    for (unsigned n = 1; n <= NUMBERS; n++)
        if (sums[n - 1] == n) std::printf(" %u", n);
    std::printf("\n%llu bytes in use, then %llu\n", static_cast<unsigned long long>(used.raw_bytes),
                static_cast<unsigned long long>(left.raw_bytes));
    for (unsigned *p : {lists, counts, sums}) sycl::free(p, queue);
    clump_heap_destroy(heap);
    clump_context_destroy(clump);
    return left.raw_bytes != 0;
}

int main(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
