// The shortest program in C++: a class, three kernels and their results. Errors are exceptions.
#include <clump/clump.hpp>

#include <cstdio>
#include <exception>

static const char schema[] = "class Body { float x; uint id; }";

static const char kernels[] = R"(
__kernel void init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_x(self) = i; Body_id(self) = i; }
}
__kernel void split(CLUMP_HEAP, uint every) {
    CLUMP_FOR_EACH(Body, self) {
        if (Body_id(self) % every) continue;
        Body child = Body_new();
        if (Body_is_null(child)) continue;  // no room: throw_errors() throws
        Body_x(child) = Body_x(self) + 0.5f;
        Body_id(child) = Body_id(self);
    }
}
__kernel void last_id(CLUMP_HEAP_NO_ALLOC) {
    uint most = 0;
    CLUMP_FOR_EACH(Body, self) most = max(most, Body_id(self));
    CLUMP_REDUCE(uint, most, CLUMP_MAX);
}
)";

int main() try {
    clump::context context = clump::context::open();
    clump::heap heap(context, clump::schema(schema), 64 << 20);
    clump::program program(heap, kernels);
    clump::kernel init = program.kernel("init"), split = program.kernel("split");
    heap.do_new(init, "Body", 1000);
    heap.do_all(split.set_args(cl_uint(2)));
    heap.throw_errors();

    double sum = 0;
    for (float x : heap.read_field<float>("Body", "x")) sum += x;
    const auto last = heap.reduce<cl_uint>(program.kernel("last_id"));
    std::printf("%d bodies, sum %.0f, last id %u\n", int(heap.read_count("Body")), sum, last);
    return heap.read_count("Body") == 1500 && sum == 499500 + 249750 && last == 999 ? 0 : 1;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
