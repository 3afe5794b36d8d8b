/* One path of the device code with the kernels, as host C. The build says which:
 *
 *   LANES_PATH               name of the lanes_path to define
 *   LANES_WIDTH              lanes of a warp or sub-group
 *   CLUMPI_HAVE_PTX, CLUMPI_HAVE_SUBGROUPS, HOSTED_WORD_BITS, CLUMPI_ROW_PER_ITEM: as a device has
 *   it
 *
 * lanes_generated.h is what lanes/emit.c prints.
 */
#define LANES_LAYOUT
#include "lanes_generated.h"
#undef LANES_LAYOUT

#include "tests/protocol/lanes.h"

#include "cl/api/device_api.clh"

/* Each use of an object's field is told to the machine. */
#define clumpi_address(heap, id, base, stride)                                                     \
    (clumpi_address)((heap), (id) + lanes_touch(id), (base), (stride))

#include "lanes_generated.h"

/* A kernel's calls of the device API say where in its source they stand. */
static inline uchar *lanes_call(uchar *heap, uint line) {
    lanes_me->line = line;
    lanes_me->calls++;
    return heap;
}
#undef CLUMP_HEAP
#undef CLUMP_HEAP_NO_ALLOC
#define CLUMP_HEAP uchar *lanes_heap
#define CLUMP_HEAP_NO_ALLOC CLUMP_HEAP
#define clump_heap lanes_call(lanes_heap, __LINE__)

#include "tests/protocol/lanes/kernels.clh"

static void tune(uint rotate, uint retries) {
    hosted_rotate = rotate;
    hosted_retries = retries;
}

#define KERNEL(name) {#name, name},
static const lanes_kernel kernels[] = {LANES_KERNELS(KERNEL)};
extern const lanes_path LANES_PATH;
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const lanes_path LANES_PATH = {TEXT(LANES_PATH),
                               LANES_WIDTH,
                               HOSTED_WORD_BITS,
                               kernels,
                               sizeof kernels / sizeof *kernels,
                               tune};
