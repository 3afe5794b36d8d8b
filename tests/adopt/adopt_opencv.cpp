/* examples/adapters/opencv.hpp against OpenCV: images in buffers of a pool are filtered by OpenCV's
 * kernels, as images of the host are without OpenCL; their memory comes from the pool and goes back
 * to it.
 *
 *   adopt_opencv             the test
 *   adopt_opencv measure     prints images per second, and waste
 *
 * Read first: examples/adapters/opencv.hpp.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "examples/adapters/opencv.hpp"
#include "tests/adopt/require.hpp"

extern "C" {
#include "tests/stress/any_device.h"
}

static void agrees(clump_pool *pool) {
    const int rows = 243, columns = 317;
    cv::Mat photo(rows, columns, CV_8UC1), sum, blurred, edges;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            photo.at<unsigned char>(y, x) = static_cast<unsigned char>((x * x + 31 * y * x) >> 3);
    cv::add(photo, cv::Scalar(9), sum);
    cv::boxFilter(sum, blurred, -1, cv::Size(5, 5));
    cv::threshold(blurred, edges, 128, 255, cv::THRESH_BINARY);
    for (int turn = 0; turn < 4; turn++) { /* images end while commands on them are under way */
        cv::UMat on_device = clump_opencv::image(pool, rows, columns, CV_8UC1),
                 result = clump_opencv::image(pool, rows, columns, CV_8UC1);
        const void *buffer = result.handle(cv::ACCESS_READ);
        photo.copyTo(on_device);
        {
            cv::UMat brighter = clump_opencv::image(pool, rows, columns, CV_8UC1);
            cv::UMat smooth = clump_opencv::image(pool, rows, columns, CV_8UC1);
            cv::add(on_device, cv::Scalar(9), brighter);
            cv::boxFilter(brighter, smooth, -1, cv::Size(5, 5));
            cv::threshold(smooth, result, 128, 255, cv::THRESH_BINARY);
        }
        REQUIRE(result.handle(cv::ACCESS_READ) == buffer); /* OpenCV kept to the buffer */
        cv::Mat found = result.getMat(cv::ACCESS_READ);
        REQUIRE(cv::countNonZero(edges) > 1000 && cv::countNonZero(edges != found) == 0);
    }
}

/* Functions of OpenCV make their results by the allocator that these have. */
static void allocates(clump_pool *pool) {
    const int rows = 211, columns = 333;
    clump_opencv::allocator from(pool);
    cv::Mat photo(rows, columns, CV_8UC3), sum, small, edges;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < 3 * columns; x++)
            photo.ptr(y)[x] = static_cast<unsigned char>((x * 5 + 31 * y * x) >> 2);
    cv::add(photo, cv::Scalar(9, 4, 1), sum);
    cv::boxFilter(sum, small, -1, cv::Size(5, 5));
    cv::threshold(small, edges, 128, 255, cv::THRESH_BINARY);
    for (int turn = 0; turn < 4; turn++) {
        const uint64_t before = stats_of(pool).allocated;
        cv::UMat on_device, brighter, smooth, result;
        for (cv::UMat *image : {&on_device, &brighter, &smooth, &result}) image->allocator = &from;
        photo.copyTo(on_device);
        REQUIRE(stats_of(pool).allocated == before + 1);
        cv::add(on_device, cv::Scalar(9, 4, 1), brighter);
        cv::boxFilter(brighter, smooth, -1, cv::Size(5, 5));
        cv::threshold(smooth, result, 128, 255, cv::THRESH_BINARY);
        REQUIRE(stats_of(pool).allocated == before + 4);
        cl_mem parent = nullptr;
        REQUIRE(!clGetMemObjectInfo(static_cast<cl_mem>(result.handle(cv::ACCESS_READ)),
                                    CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr));
        REQUIRE(parent); /* a sub-buffer: of a chunk */
        cv::UMat part = result(cv::Rect(40, 30, 200, 100)), copy = result.clone();
        result.release();
        cv::Mat found = part.getMat(cv::ACCESS_READ), whole = copy.getMat(cv::ACCESS_READ);
        cv::Mat wrong = edges(cv::Rect(40, 30, 200, 100)) != found, wrong_whole = edges != whole;
        REQUIRE(cv::countNonZero(wrong.reshape(1)) == 0);
        REQUIRE(cv::countNonZero(wrong_whole.reshape(1)) == 0);
        REQUIRE(cv::countNonZero(edges.reshape(1)) > 1000);
    }
    /* More dimensions than two, and what was there stays when it is made anew at the same size. */
    const int sizes[] = {5, 7, 9};
    const uint64_t before = stats_of(pool).allocated;
    cv::UMat cube;
    cube.allocator = &from;
    cube.create(3, sizes, CV_32FC1);
    REQUIRE(stats_of(pool).allocated == before + 1);
    REQUIRE(cube.step[0] == 7 * 9 * 4 && cube.step[1] == 9 * 4 && cube.total() == 5 * 7 * 9);
    cube.setTo(cv::Scalar(3));
    cv::Mat there = cube.getMat(cv::ACCESS_READ);
    REQUIRE(there.ptr<float>(4, 6)[8] == 3.0f);
    there.release();
    cube.create(3, sizes, CV_32FC1);
    REQUIRE(stats_of(pool).allocated == before + 1);
}

/* A pool without room: OpenCV's own allocator makes the image. */
static void is_full(cl_command_queue queue) {
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc{};
    desc.size = sizeof desc;
    desc.queue = queue;
    desc.limit_bytes = 1 << 20;
    REQUIRE(!clump_pool_create(&desc, &pool, &error));
    {
        clump_opencv::allocator from(pool);
        cv::UMat image;
        image.allocator = &from;
        image.create(2000, 2000, CV_8UC1);
        image.setTo(cv::Scalar(5));
        REQUIRE(stats_of(pool).refused >= 1 && stats_of(pool).allocated == 0);
        cv::Mat there = image.getMat(cv::ACCESS_READ);
        REQUIRE(there.at<unsigned char>(1999, 1999) == 5);
    }
    clump_pool_destroy(pool);
}

template <class Make>
static double per_second(Make make) {
    using clock = std::chrono::steady_clock;
    std::vector<double> rates;
    for (int run = 0; run < 9; run++) {
        auto begin = clock::now();
        const int count = 1000;
        for (int i = 0; i < count; i++) {
            make();
            if (i % 100 == 99) cv::ocl::finish();
        }
        rates.push_back(count / std::chrono::duration<double>(clock::now() - begin).count());
    }
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
}

static void measure(clump_pool *pool) {
    clump_opencv::allocator from(pool);
    for (int side : {32, 512, 2048}) {
        double own = per_second(
            [&] { cv::UMat image(side, side, CV_8UC1, cv::USAGE_ALLOCATE_DEVICE_MEMORY); });
        double pooled = per_second([&] { clump_opencv::image(pool, side, side, CV_8UC1); });
        double allocated = per_second([&] {
            cv::UMat image;
            image.allocator = &from;
            image.create(side, side, CV_8UC1);
        });
        std::printf(
            "images of %d bytes per second: %.0f of its own, %.0f of the pool, %.0f by the "
            "pool's allocator\n",
            side * side, own, pooled, allocated);
    }
    std::vector<cv::UMat> kept;
    for (int i = 0; i < 400; i++)
        kept.push_back(clump_opencv::image(pool, 100 + i * 7919 % 400, 300, CV_8UC1));
    clump_pool_stats stats = stats_of(pool);
    std::printf("400 images of %llu bytes: %llu bytes in %u chunks, waste %.3f\n",
                static_cast<unsigned long long>(stats.requested_bytes),
                static_cast<unsigned long long>(stats.bytes), stats.chunks, stats.waste);
}

int main(int argc, char **argv) {
    cl_device_id device = find_device();
    if (!device) return 77;
    cl_int code;
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    REQUIRE(!code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    REQUIRE(!code);
    clump_pool_desc desc{};
    desc.size = sizeof desc;
    desc.queue = queue; /* the pool needs no clump_context */
    clump_pool *pool;
    clump_error error;
    REQUIRE(!clump_pool_create(&desc, &pool, &error));
    clump_opencv::use(queue);
    REQUIRE(cv::ocl::useOpenCL());
    REQUIRE(cv::ocl::Context::getDefault(false).ptr() == context);
    if (argc > 1 && std::strcmp(argv[1], "measure") == 0) measure(pool);
    uint64_t before = stats_of(pool).allocated;
    agrees(pool);
    REQUIRE(stats_of(pool).allocated == before + 16);
    allocates(pool);
    is_full(queue);
    bool refused = false;
    try {
        clump_opencv::image(pool, 1 << 30, 1 << 20, CV_8UC1);
    } catch (const std::bad_alloc &) {
        refused = true;
    }
    REQUIRE(refused);
    for (int tries = 0; stats_of(pool).allocations && tries < 1000; tries++) {
        cv::ocl::finish();
        cv::UMat(1, 1, CV_8UC1); /* OpenCV looks for images that kernels were the last to use */
    }
    REQUIRE(stats_of(pool).allocations == 0);
    cv::ocl::finish(); /* the markers */
    REQUIRE(!clump_pool_trim(pool));
    REQUIRE(!clump_pool_check(pool));
    REQUIRE(stats_of(pool).bytes == 0);
    clump_pool_destroy(pool);
    std::puts("images out of a pool are filtered as those of the host are");
    return 0;
}
