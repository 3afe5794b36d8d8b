/* What a device costs, by plain OpenCL, in less than half a minute. Read next: measure.c. */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H

#include "clump/all.h"

/* One result: a name that ends with its unit (us, ms, GBps, Gps, bytes), or with `share` or
 * `ratio`. NAN if the device refused what it takes. */
typedef void measure_told(void *user, const char *name, double value);

/* Measure and call `told` for each result, always the same names in the same order. Returns NULL,
 * or the OpenCL call that failed before anything was measured. */
const char *measure_device(cl_device_id device, measure_told *told, void *user);

#endif
