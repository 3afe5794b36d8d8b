/* The capabilities of a device, before a context is made for it.
 *
 * Read first: context.h.
 */
#ifndef CLUMP_DEVICES_H
#define CLUMP_DEVICES_H

#include "clump/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Probe a device and keep nothing: find the capabilities that clump_context_create() would find,
 * with the personality that fits the device.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if `device` or `capabilities` is NULL,
 * CLUMP_ERR_UNSUPPORTED as clump_context_create(), or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_device_probe(cl_device_id device, uint32_t disable,
                                          clump_capabilities *capabilities, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
