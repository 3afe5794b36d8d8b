/* The device of tests without cmocka that take whatever there is: the first one of the first
 * platform. */
#ifndef CLUMP_TESTS_ANY_DEVICE_H
#define CLUMP_TESTS_ANY_DEVICE_H

#include <stddef.h>

#include "clump/all.h"

/* NULL: there is none. */
static inline cl_device_id find_device(void) {
    cl_platform_id platform;
    cl_device_id device = NULL;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return NULL;
    return device;
}

#endif
