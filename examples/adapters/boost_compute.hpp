/* Vectors of Boost.Compute from a pool. Copy this file, or parts of it.
 *
 *   clump_boost::pool_of_context of_pool(context, pool);       // lives while such vectors are made
 *   boost::compute::vector<int, clump_boost::allocator<int>> v(1000, context);
 *
 * A vector makes its allocator from only a context, so the pool is looked up by the context.
 * Commands must go to the pool's queue, or be done before a vector ends.
 */
#ifndef CLUMP_ADAPTER_BOOST_COMPUTE_HPP
#define CLUMP_ADAPTER_BOOST_COMPUTE_HPP

#include <clump/clump.h>
#include <clump/pool.h>

#include <boost/compute/buffer.hpp>
#include <boost/compute/context.hpp>
#include <boost/compute/detail/device_ptr.hpp>
#include <boost/compute/exception/opencl_error.hpp>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>

namespace clump_boost {

inline std::map<cl_context, clump_pool *> &pools() {
    static std::map<cl_context, clump_pool *> all;
    return all;
}
inline std::mutex &pools_lock() {
    static std::mutex lock;
    return lock;
}

/* While it lives, the pool serves the vectors of the context. It owns neither of the two. */
class pool_of_context {
   public:
    pool_of_context(const boost::compute::context &context, clump_pool *pool) : of(context.get()) {
        std::lock_guard<std::mutex> held(pools_lock());
        if (!pools().emplace(of, pool).second)
            throw std::invalid_argument("the context has a pool already");
    }
    ~pool_of_context() {
        std::lock_guard<std::mutex> held(pools_lock());
        pools().erase(of);
    }
    pool_of_context(const pool_of_context &) = delete;
    pool_of_context &operator=(const pool_of_context &) = delete;

   private:
    cl_context of;
};

template <class T>
class allocator {
   public:
    typedef T value_type;
    typedef boost::compute::detail::device_ptr<T> pointer;
    typedef const boost::compute::detail::device_ptr<T> const_pointer;
    typedef std::size_t size_type;
    typedef std::ptrdiff_t difference_type;

    explicit allocator(const boost::compute::context &context) : of(context) {
    }

    /* Throws std::bad_alloc if the pool has no room, std::logic_error if the context has no
     * pool. */
    pointer allocate(size_type n) {
        clump_pool *pool = find();
        clump_allocation_desc desc{};
        desc.size = sizeof desc;
        desc.bytes = n * sizeof(T);
        desc.name = "boost::compute";
        cl_mem made = nullptr;
        clump_status status = clump_pool_create_buffer(pool, &desc, 0, nullptr, &made);
        if (status == CLUMP_ERR_DEVICE_MEMORY || status == CLUMP_ERR_HOST_MEMORY)
            throw std::bad_alloc();
        if (status) {
            clump_error why;
            clump_pool_get_error(pool, &why);
            throw std::runtime_error(why.message);
        }
        return pointer(boost::compute::buffer(made)); /* retains it */
    }
    void deallocate(pointer p, size_type) {
        clReleaseMemObject(p.get_buffer().get());
    }
    size_type max_size() const {
        return static_cast<size_type>(of.get_device().max_memory_alloc_size() / sizeof(T));
    }
    boost::compute::context get_context() const {
        return of;
    }

   private:
    clump_pool *find() const {
        std::lock_guard<std::mutex> held(pools_lock());
        auto found = pools().find(of.get());
        if (found == pools().end())
            throw std::logic_error("no clump_boost::pool_of_context for this context");
        return found->second;
    }
    boost::compute::context of;
};

}  // namespace clump_boost
#endif
