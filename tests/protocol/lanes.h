/* What cl/core/lanes.clh needs of a device, as host C: lanes of a warp or sub-group, work-groups,
 * and the dialect of user kernels. Included by lanes/path.c, which is compiled once for each path
 * of the device code.
 *
 * Each operation that involves other lanes, and each one on shared memory, is a point where the
 * machine of lanes_machine.h decides who goes on. It knows an operation by where it stands in the
 * source: since the CLUMPI_TOGETHER functions stand once in a program, so do their operations, and
 * lanes from different callers meet in them.
 */
#ifndef CLUMP_TESTS_LANES_H
#define CLUMP_TESTS_LANES_H

#include "tests/protocol/lanes_path.h"

/* ---- Branches ---- */

/* The machine in which lanes never meet again has to know where they part. No operation has side
 * effects on it, so it costs the other machines nothing but time. Comes before the device code. */
/* clang-format off */
#define if(...) if (lanes_branch(!!(__VA_ARGS__), __COUNTER__))
#define while(...) while (lanes_branch(!!(__VA_ARGS__), __COUNTER__))
/* clang-format on */

typedef struct uint2 {
    unsigned int x, y;
} uint2;
typedef struct uint4 {
    unsigned int x, y, z, w;
} uint4;

#define HOSTED_GROUP() (lanes_me->group)
#define HOSTED_LOCAL() (lanes_me->local)
#define HOSTED_ITEMS() (lanes_me->group_items)
#include "tests/protocol/hosted.h"

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    return lanes_memory((int)kind, cell, value, expected, (lanes_site *)&site);
}
static inline uint hosted_thread(void) {
    return lanes_me->global;
}

/* ---- Lanes ---- */

#define LANES_OP(kind, mask, value, from)                                                          \
    lanes_meet_others(kind, mask, value, from, &(lanes_site){__COUNTER__, __LINE__, __func__})

#define clumpi_lane() (lanes_me->lane)
/* NVIDIA's instructions. */
#define clumpi_lanes_here() ((uint)LANES_OP(LANES_HERE, 0, 0, 0))
#define clumpi_lane_read(mask, value, from) ((uint)LANES_OP(LANES_READ, mask, value, from))
#define clumpi_lanes_with(mask, value) ((uint)LANES_OP(LANES_WITH, mask, value, 0))
#define clumpi_lanes_with64(mask, value) ((uint)LANES_OP(LANES_WITH, mask, value, 0))
#define clumpi_lanes_or(mask, value) ((uint)LANES_OP(LANES_OR, mask, value, 0))
#define clumpi_lanes_add(mask, value) ((uint)LANES_OP(LANES_ADD, mask, value, 0))
#define clumpi_lanes_sync(mask) ((void)LANES_OP(LANES_SYNC, mask, 0, 0))

/* Sub-groups: the files have functions of the names above, made of these. */
#if CLUMPI_HAVE_SUBGROUPS
#undef clumpi_lane
#undef clumpi_lanes_here
#undef clumpi_lane_read
#undef clumpi_lanes_with
static inline uint4 lanes_uint4(ulong bits) {
    return (uint4){(uint)bits, (uint)(bits >> 32), 0, 0};
}
#define sub_group_ballot(x) lanes_uint4(LANES_OP(LANES_BALLOT, 0, x, 0))
#define sub_group_broadcast_first(x) ((uint)LANES_OP(LANES_FIRST, 0, x, 0))
#define get_sub_group_lt_mask() lanes_uint4((1ul << lanes_me->lane) - 1ul)
#endif

/* ---- Work-groups ---- */

#define __global
#define __local
#define __kernel static
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define atomic_inc(p) HOSTED_OP32(HOSTED_ADD, p, 1, 0)
static inline ulong get_global_id(uint dimension) {
    return dimension ? 0 : lanes_me->global;
}
static inline ulong get_global_size(uint dimension) {
    return dimension ? 1 : lanes_me->items;
}
static inline uint get_work_dim(void) {
    return 1;
}
static inline ulong get_local_id(uint dimension) {
    return dimension ? 0 : lanes_me->local;
}
static inline ulong get_local_size(uint dimension) {
    return dimension ? 1 : lanes_me->group_items;
}
static inline ulong get_group_id(uint dimension) {
    return dimension ? 0 : lanes_me->group;
}
static inline ulong get_num_groups(uint dimension) {
    return dimension ? 1 : lanes_me->items / lanes_me->group_items;
}

#endif
