/* Images of OpenCV out of a pool. Copy this file, or what is in it.
 *
 *   clump_opencv::use(queue);                              // once: OpenCV on this thread computes on the context of the pool
 *   cv::UMat image = clump_opencv::image(pool, rows, columns, CV_8UC1);
 *
 * OpenCV's own queue uses the image, so the region of a buffer is given out again when the commands of that queue are done. An
 * image that a kernel is the last to use is released by OpenCV when it next makes an image of its own.
 * Temporary images that OpenCV makes itself come from its own allocator.
 */
#ifndef CLUMP_ADAPTER_OPENCV_HPP
#define CLUMP_ADAPTER_OPENCV_HPP

#include <clump/clump.h>

#include <new>
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>
#include <stdexcept>
#include <string>

namespace clump_opencv {

/* OpenCV's OpenCL on this thread is that of the queue. */
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

/* An image whose buffer is the pool's; its contents are undefined. The last cv::UMat of it gives the buffer back. Throws
 * std::bad_alloc where the pool has no room. */
inline cv::UMat image(clump_pool *pool, int rows, int columns, int type) {
    const size_t step = static_cast<size_t>(columns) * static_cast<size_t>(CV_ELEM_SIZE(type));
    cl_command_queue queue = static_cast<cl_command_queue>(cv::ocl::Queue::getDefault().ptr());
    clump_allocation_desc desc{};
    desc.bytes = step * static_cast<size_t>(rows);
    desc.name = "cv::UMat";
    cl_mem made = nullptr;
    clump_status status = clump_pool_create_buffer(pool, &desc, 1, &queue, &made);
    if (status == CLUMP_ERR_CAPACITY || status == CLUMP_ERR_MEMORY) throw std::bad_alloc();
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

} // namespace clump_opencv
#endif
