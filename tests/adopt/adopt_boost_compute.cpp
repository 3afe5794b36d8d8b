/* examples/adapters/boost_compute.hpp against Boost.Compute: vectors that grow, are sorted,
 * transformed and copied, compared with std::vector; their memory comes from the pool and goes back
 * to it.
 *
 *   adopt_boost_compute             the test
 *   adopt_boost_compute measure     prints vectors per second, and waste
 *
 * Read first: examples/adapters/boost_compute.hpp.
 */
#include <algorithm>
#include <boost/compute/algorithm/accumulate.hpp>
#include <boost/compute/algorithm/copy.hpp>
#include <boost/compute/algorithm/sort.hpp>
#include <boost/compute/algorithm/transform.hpp>
#include <boost/compute/command_queue.hpp>
#include <boost/compute/container/vector.hpp>
#include <boost/compute/lambda.hpp>
#include <boost/compute/system.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "examples/adapters/boost_compute.hpp"
#include "tests/adopt/require.hpp"

namespace compute = boost::compute;
template <class T>
using vector = compute::vector<T, clump_boost::allocator<T>>;

static void agrees(compute::command_queue &queue) {
    std::vector<int> model, found;
    vector<int> v(queue.get_context());
    std::srand(5);
    for (int i = 0; i < 700; i++) { /* it grows from one allocation to another */
        model.push_back(std::rand() % 100000);
        v.push_back(model.back(), queue);
    }
    vector<int> doubled(v.size(), queue.get_context());
    compute::transform(v.begin(), v.end(), doubled.begin(), compute::lambda::_1 * 2 + 1, queue);
    {
        vector<int> copy(doubled, queue); /* it ends while commands on it may be under way */
        compute::sort(copy.begin(), copy.end(), queue);
        compute::copy(copy.begin(), copy.end(), doubled.begin(), queue);
    }
    vector<int> other(v.size(), 3, queue), swapped(queue.get_context());
    swapped.swap(other);
    for (auto &x : model) x = x * 2 + 1;
    std::sort(model.begin(), model.end());
    found.resize(doubled.size());
    compute::copy(doubled.begin(), doubled.end(), found.begin(), queue);
    REQUIRE(found == model);
    int sum = 0;
    compute::reduce(swapped.begin(), swapped.end(), &sum, queue);
    REQUIRE(sum == 3 * 700);
}

template <class V>
static double per_second(compute::command_queue &queue, std::size_t words) {
    using clock = std::chrono::steady_clock;
    std::vector<double> rates;
    for (int run = 0; run < 9; run++) {
        auto begin = clock::now();
        const int count = 2000;
        for (int i = 0; i < count; i++) {
            V v(words, queue.get_context());
            if (i % 100 == 99) queue.finish();
        }
        queue.finish();
        rates.push_back(count / std::chrono::duration<double>(clock::now() - begin).count());
    }
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
}

static void measure(compute::command_queue &queue, clump_pool *pool) {
    for (std::size_t words : {256, 65536, 1 << 20}) {
        double own = per_second<compute::vector<int>>(queue, words);
        double pooled = per_second<vector<int>>(queue, words);
        std::printf("vectors of %zu bytes per second: %.0f of its own, %.0f of the pool\n",
                    words * 4, own, pooled);
    }
    std::vector<vector<int>> kept;
    for (int i = 0; i < 400; i++) kept.emplace_back(1000 + (i * 7919) % 60000, queue.get_context());
    clump_pool_stats stats = stats_of(pool);
    std::printf("400 vectors of %llu bytes: %llu bytes in %u chunks, waste %.3f\n",
                (unsigned long long)stats.requested_bytes, (unsigned long long)stats.bytes,
                stats.chunks, stats.waste);
}

int main(int argc, char **argv) {
    if (compute::system::device_count() == 0) return 77;
    compute::device device = compute::system::default_device();
    compute::context context(device);
    compute::command_queue queue(context, device);
    clump_context_desc on{};
    on.size = sizeof on;
    on.context = context.get();
    on.device = device.get();
    on.queue = queue.get();
    clump_context *clump;
    clump_pool *pool;
    REQUIRE(!clump_context_create(&on, &clump, nullptr));
    clump_pool_desc desc{};
    desc.size = sizeof desc;
    desc.context = clump;
    REQUIRE(!clump_pool_create(&desc, &pool, nullptr));
    bool refused = false;
    try {
        vector<int> v(10, context);
    } catch (const std::logic_error &) {
        refused = true;
    }
    REQUIRE(refused);
    {
        clump_boost::pool_of_context of_pool(context, pool);
        if (argc > 1 && std::strcmp(argv[1], "measure") == 0) measure(queue, pool);
        agrees(queue);
    }
    REQUIRE(stats_of(pool).allocated > 8);
    queue.finish();
    (void)stats_of(pool); /* the markers */
    queue.finish();
    REQUIRE(stats_of(pool).allocations == 0);
    REQUIRE(!clump_pool_trim(pool));
    REQUIRE(!clump_pool_check(pool));
    REQUIRE(stats_of(pool).bytes == 0);
    clump_pool_destroy(pool);
    clump_context_destroy(clump);
    std::puts("vectors out of a pool agree with std::vector");
    return 0;
}
