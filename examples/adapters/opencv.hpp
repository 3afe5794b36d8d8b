/* Images of OpenCV from a pool. Copy this file, or parts of it.
 *
 *   clump_opencv::use(queue);                              // once for each thread: OpenCV uses
 *                                                          // the context of the pool
 *   cv::UMat image = clump_opencv::image(pool, rows, columns, CV_8UC1);
 *
 *   clump_opencv::allocator from(pool);                    // outlives all images that have it
 *   cv::UMat result;
 *   result.allocator = &from;                              // create(), and OpenCV's functions that
 *                                                          // call it, allocate from the pool
 *   cv::add(image, cv::Scalar(9), result);
 *
 * OpenCV's own queue uses the image, so the pool reuses the region of a buffer when the commands of
 * that queue are done. If a kernel is the last user of an image, OpenCV releases the image when it
 * next makes one itself. Temporary images of OpenCV come from OpenCV's allocator: each cv::UMat can
 * have a separate allocator, but the default allocator cannot be replaced.
 */
#ifndef CLUMP_ADAPTER_OPENCV_HPP
#define CLUMP_ADAPTER_OPENCV_HPP

#include <clump/clump.h>
#include <clump/pool.h>

#include <climits>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>
#include <stdexcept>
#include <string>

namespace clump_opencv {

/* OpenCV on this thread uses the context and device of the queue. */
inline void use(cl_command_queue queue) {
    cl_context context = nullptr;
    cl_device_id device = nullptr;
    cl_platform_id platform = nullptr;
    char name[256] = "";
    if (clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr) ||
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) ||
        clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr) ||
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr))
        throw std::runtime_error("clump_opencv::use() needs a queue");
    cv::ocl::OpenCLExecutionContext::create(name, platform, context, device).bind();
    cv::ocl::setUseOpenCL(true);
}

/* An image with a buffer from the pool and undefined contents. The last cv::UMat of it returns the
 * buffer. Throws std::bad_alloc if the pool has no room. */
inline cv::UMat image(clump_pool *pool, int rows, int columns, int type) {
    const size_t step = static_cast<size_t>(columns) * static_cast<size_t>(CV_ELEM_SIZE(type));
    cl_command_queue queue = static_cast<cl_command_queue>(cv::ocl::Queue::getDefault().ptr());
    clump_allocation_desc desc{};
    desc.size = sizeof desc;
    desc.bytes = step * static_cast<size_t>(rows);
    desc.name = "cv::UMat";
    cl_mem made = nullptr;
    clump_status status = clump_pool_create_buffer(pool, &desc, 1, &queue, &made);
    if (status == CLUMP_ERR_DEVICE_MEMORY || status == CLUMP_ERR_HOST_MEMORY)
        throw std::bad_alloc();
    if (status) {
        clump_error why;
        clump_pool_get_error(pool, &why);
        throw std::runtime_error(why.message);
    }
    cv::UMat result;
    cv::ocl::convertFromBuffer(made, step, rows, columns, type, result); /* retains it */
    clReleaseMemObject(made);
    return result;
}

/* For cv::UMat::allocator: images with any number of dimensions get their memory from a pool. A
 * copy of a cv::UMat has the allocator of the original. If the pool has no room, OpenCV uses its
 * own allocator, as cv::UMat::create() does whenever an allocator throws. */
class allocator : public cv::MatAllocator {
   public:
    explicit allocator(clump_pool *pool) : pool_(pool) {
    }
    /* Makes a buffer that OpenCV then owns. OpenCV's own allocator does everything else with
     * it. */
    cv::UMatData *allocate(int dimensions, const int *sizes, int type, void *data, size_t *steps,
                           cv::AccessFlag access, cv::UMatUsageFlags usage) const override {
        if (data) /* memory of the host */
            return own()->allocate(dimensions, sizes, type, data, steps, access, usage);
        size_t bytes = static_cast<size_t>(CV_ELEM_SIZE(type));
        for (int i = dimensions - 1; i >= 0; i--) {
            if (steps) steps[i] = bytes;
            bytes *= static_cast<size_t>(sizes[i]);
        }
        if (bytes > INT_MAX) throw std::bad_alloc(); /* the buffer is made as one row of bytes */
        cv::UMat made = image(pool_, 1, static_cast<int>(bytes), CV_8UC1);
        cv::UMatData *content = made.u;
        made.u = nullptr; /* OpenCV counts the first reference itself */
        content->refcount = content->urefcount = 0;
        return content;
    }
    bool allocate(cv::UMatData *content, cv::AccessFlag access,
                  cv::UMatUsageFlags usage) const override {
        return own()->allocate(content, access, usage);
    }
    void deallocate(cv::UMatData *content) const override {
        own()->deallocate(content);
    }

   private:
    static cv::MatAllocator *own() {
        return cv::ocl::getOpenCLAllocator();
    }
    clump_pool *pool_;
};

}  // namespace clump_opencv
#endif
