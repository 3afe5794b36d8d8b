/* All C headers of the library, except experimental.h, quick.h (the short way for a first program)
 * and mpi.h, which belongs to a separate library. A program includes clump.h and the headers that
 * it needs. This header is for programs that need most of them.
 */
#ifndef CLUMP_ALL_H
#define CLUMP_ALL_H

#include "clump/allocator.h"
#include "clump/checked.h"
#include "clump/cl_functions.h"
#include "clump/clump.h"
#include "clump/collect.h"
#include "clump/collector.h"
#include "clump/compact.h"
#include "clump/compactor.h"
#include "clump/context.h"
#include "clump/convert.h"
#include "clump/copy.h"
#include "clump/defrag.h"
#include "clump/devices.h"
#include "clump/evict.h"
#include "clump/export.h"
#include "clump/extract.h"
#include "clump/fuse.h"
#include "clump/heap.h"
#include "clump/inspect.h"
#include "clump/interop.h"
#include "clump/kernels.h"
#include "clump/pool.h"
#include "clump/program.h"
#include "clump/refs.h"
#include "clump/run.h"
#include "clump/save.h"
#include "clump/schema.h"
#include "clump/schema_c.h"
#include "clump/status.h"
#include "clump/structs.h"
#include "clump/suballoc.h"
#include "clump/timeline.h"
#include "clump/write.h"

#endif
