/* Clump: a dynamic object heap for OpenCL programs. This header includes all others except
 * experimental.h; quick.h, the short way for a first program; and mpi.h, which belongs to a library of its own.
 * For C++17 there is clump.hpp.
 *
 * Reading order: status.h, allocator.h, cl_functions.h, context.h, schema.h, heap.h, program.h, run.h, fuse.h; then
 * cl/api/device_api.clh for what kernels may call; then checked.h, structs.h, refs.h, compact.h, compactor.h, collect.h,
 * collector.h, convert.h, evict.h, save.h, extract.h, timeline.h. Buffers without a heap: suballoc.h, pool.h, defrag.h.
 * These headers are the reference; what they do not say is not promised.
 *
 * The library prints nothing, never exits, keeps no global state and starts no thread.
 * It does not: choose a device, create a cl_context, share one heap among devices, or run constructors (objects are made
 * with undefined contents). A reference to an object that was freed and whose slot was given out again is caught only in
 * checked heaps (checked.h); handles see it in heaps with watch_handles (heap.h).
 */
#ifndef CLUMP_CLUMP_H
#define CLUMP_CLUMP_H

#include "clump/allocator.h"
#include "clump/checked.h"
#include "clump/cl_functions.h"
#include "clump/collect.h"
#include "clump/collector.h"
#include "clump/compact.h"
#include "clump/compactor.h"
#include "clump/context.h"
#include "clump/convert.h"
#include "clump/defrag.h"
#include "clump/evict.h"
#include "clump/export.h"
#include "clump/extract.h"
#include "clump/fuse.h"
#include "clump/heap.h"
#include "clump/pool.h"
#include "clump/program.h"
#include "clump/refs.h"
#include "clump/run.h"
#include "clump/save.h"
#include "clump/schema.h"
#include "clump/status.h"
#include "clump/structs.h"
#include "clump/suballoc.h"
#include "clump/timeline.h"

#endif
