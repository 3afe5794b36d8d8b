/* What the rules of OpenCL 2.2, the newest that spirv-val has for OpenCL, do not know although
 * devices have it: 64-bit atomics, which OpenCL allows through cl_khr_int64_base_atomics and
 * cl_khr_int64_extended_atomics, extensions of which no rule of spirv-val knows; and the sub-group
 * functions of OpenCL 3.0, which are SPIR-V 1.3.
 *
 * Read first: device.h.
 */
#include <string.h>

#include "tools/compile/device.h"

enum {
    MAGIC = 0x07230203,
    HEADER_WORDS = 5,
    VERSION_1_2 = 0x00010200,
    OP_NOP = 0,
    OP_UNDEF = 1,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_DECORATE = 71,
    OP_ATOMIC_FIRST = 227,
    OP_ATOMIC_STORE = 228,
    OP_ATOMIC_LAST = 242,
    OP_GROUP_NON_UNIFORM_FIRST = 333,
    OP_GROUP_NON_UNIFORM_LAST = 366,
    KERNEL = 6,
    INT64_ATOMICS = 12,
    GROUP_NON_UNIFORM_FIRST = 61,
    GROUP_NON_UNIFORM_LAST = 68,
    BUILT_IN = 11,
    ALIGNMENT = 44,
    SUBGROUP_MASK_FIRST = 4416,
    SUBGROUP_MASK_LAST = 4420,
};

static int is_between(uint32_t value, uint32_t first, uint32_t last) {
    return value >= first && value <= last;
}

/* The result becomes an undefined value of its type; without a result, nothing is left. */
static void leave_out(uint32_t *words, uint32_t count, int has_result) {
    uint32_t i = has_result ? 3 : 0;
    if (has_result) words[0] = 3u << 16 | OP_UNDEF;
    for (; i < count; i++) words[i] = 1u << 16 | OP_NOP;
}

int compile_spirv_leave_out(uint32_t *words, size_t count) {
    uint32_t wide = 0; /* the type of 64-bit integers, of which there is one */
    int changed = 0;
    if (count < HEADER_WORDS || words[0] != MAGIC) return 0;
    if (words[1] > VERSION_1_2) {
        words[1] = VERSION_1_2;
        changed = 1;
    }
    uint32_t length;
    for (size_t i = HEADER_WORDS; i < count; i += length) {
        uint32_t *at = words + i, op = *at & 0xffff;
        length = *at >> 16;
        if (!length || length > count - i) return 0; /* the validator says it */
        if (op == OP_CAPABILITY && length == 2 &&
            (at[1] == INT64_ATOMICS ||
             is_between(at[1], GROUP_NON_UNIFORM_FIRST, GROUP_NON_UNIFORM_LAST))) {
            at[1] = KERNEL; /* twice is allowed */
            changed = 1;
        }
        if (op == OP_TYPE_INT && length == 4 && at[2] == 64) wide = at[1];
        if (op == OP_DECORATE && length == 4 && at[2] == BUILT_IN &&
            is_between(at[3], SUBGROUP_MASK_FIRST, SUBGROUP_MASK_LAST)) {
            at[2] = ALIGNMENT; /* of that many bytes; OpNop is not allowed there */
            at[3] = 16;
        }
        if (op == OP_ATOMIC_STORE) leave_out(at, length, 0);
        if (length >= 3 && ((is_between(op, OP_ATOMIC_FIRST, OP_ATOMIC_LAST) && at[1] == wide) ||
                            is_between(op, OP_GROUP_NON_UNIFORM_FIRST, OP_GROUP_NON_UNIFORM_LAST)))
            leave_out(at, length, 1);
    }
    return changed;
}
