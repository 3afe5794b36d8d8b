/* examples/adapters/opencv.hpp against OpenCV: images in buffers of a pool are filtered by OpenCV's kernels, as images of the host
 * are without OpenCL; their memory comes from the pool and goes back to it.
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
    for (int side : {32, 512, 2048}) {
        double own = per_second(
            [&] { cv::UMat image(side, side, CV_8UC1, cv::USAGE_ALLOCATE_DEVICE_MEMORY); });
        double pooled = per_second([&] { clump_opencv::image(pool, side, side, CV_8UC1); });
        std::printf("images of %d bytes per second: %.0f of its own, %.0f of the pool\n",
                    side * side, own, pooled);
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
