/* Clump: a dynamic object heap for OpenCL programs. This header has what a first program needs;
 * each other feature is a header of its own, and all.h has them all. For C++17 there is clump.hpp,
 * and quick.h is the short way to begin.
 *
 * A program goes this way. A context (context.h) is made of the program's OpenCL context, device
 * and queue. A schema (schema.h) is parsed from a text that names classes and fields. A heap
 * (heap.h) of that schema takes device memory. A program (program.h) is the caller's OpenCL C,
 * compiled with the schema: it makes, frees and visits objects, as cl/api/device_api.clh tells. Its
 * kernels are taken by name and run over objects (run.h): clump_heap_do_new() makes objects and
 * visits them, clump_heap_do_all() visits those that there are, clump_heap_reduce() adds up. Values
 * are read and written by field (heap.h). Each call returns a status (status.h), and
 * clump_context_get_error() has the words.
 *
 * A struct that begins with `size` can grow in later versions. The program sets it to sizeof of the
 * struct, also where a call fills the struct: `clump_heap_stats stats = {.size = sizeof stats};`. A
 * call refuses a size that cannot be, 0 for one, in words, before it does anything
 * (docs/design.md#names).
 *
 * What else there is, by header:
 *   data                         structs.h, refs.h, interop.h, schema_c.h
 *   looking                      inspect.h, checked.h, timeline.h, devices.h, write.h
 *   memory                       compact.h, compactor.h, collect.h, collector.h, evict.h, convert.h
 *   files and other heaps        save.h, extract.h, mpi.h
 *   kernels                      kernels.h, fuse.h, experimental.h
 *   buffers without a heap       suballoc.h, pool.h, defrag.h
 * These headers are the reference; what they do not say is not promised.
 *
 * The library prints nothing, never exits, keeps no global state and starts no thread.
 * It does not: choose a device, create a cl_context, share one heap among devices, or run
 * constructors (objects are made with undefined contents). A reference to an object that was freed
 * and whose slot was given out again is caught only in checked heaps (checked.h); handles see it in
 * heaps with watch_handles (heap.h).
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
