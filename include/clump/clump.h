/* Clump: a dynamic object heap for OpenCL programs. This header includes everything that a first
 * program needs. Each other feature has its own header, and all.h includes all of them. For C++17
 * use clump.hpp. quick.h is the short way to begin.
 *
 * A program works in these steps:
 *   1. context.h  The program passes its OpenCL context, device and queue to
 *                 clump_context_create().
 *   2. schema.h   The library parses a schema, a text that names classes and fields.
 *   3. heap.h     The program creates a heap for that schema. The heap allocates device memory.
 *   4. program.h  The library compiles the program's OpenCL C together with the schema. These
 *                 kernels make, free and visit objects: cl/api/device_api.clh documents the calls.
 *   5. run.h      Kernels are found by name and run over objects. clump_heap_do_new() makes objects
 *                 and visits them, clump_heap_do_all() visits the existing ones,
 *                 clump_heap_reduce() computes one value from all.
 *   6. heap.h     The host reads and writes values by field.
 * A call that can fail returns a status (status.h). clump_context_get_error() returns the error
 * message.
 *
 * A struct that begins with `size` can grow in later versions. The program sets this member to
 * sizeof of the struct, also if a call fills the struct:
 * `clump_heap_stats stats = {.size = sizeof stats};`. A call that gets an impossible size, such as
 * 0, fails with CLUMP_ERR_USAGE and does nothing else (docs/design.md#structs-that-can-grow).
 *
 * Reading order: status.h, context.h, schema.h, heap.h, program.h, run.h. Then as needed:
 *   data                    structs.h, refs.h, interop.h, schema_c.h
 *   looking                 inspect.h, checked.h, timeline.h, devices.h, write.h
 *   memory                  compact.h, compactor.h, collect.h, collector.h, evict.h, convert.h
 *   files and other heaps   save.h, copy.h, extract.h, mpi.h
 *   kernels                 kernels.h, fuse.h, experimental.h
 *   buffers without a heap  suballoc.h, pool.h, defrag.h
 * These headers are the reference. Behaviour that they do not describe is unspecified.
 *
 * The library prints nothing, never exits, keeps no global state and starts no thread. It does not
 * choose a device, create a cl_context, share one heap among devices or run constructors: the
 * contents of a new object are undefined. If an object is freed and its slot reused, only checked
 * heaps (checked.h) detect an old reference to it. Handles detect this in heaps with watch_handles
 * (heap.h).
 */
#ifndef CLUMP_CLUMP_H
#define CLUMP_CLUMP_H

#include "clump/context.h"
#include "clump/export.h"
#include "clump/heap.h"
#include "clump/program.h"
#include "clump/run.h"
#include "clump/schema.h"
#include "clump/status.h"

#endif
