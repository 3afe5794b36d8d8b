/* Names that a schema may not use, because kernels that include what it generates would not build.
 *
 * Two tables, sorted by byte value for binary search, and rules for the families that are too large
 * to list. `words`: keywords and types of OpenCL C 1.2 to 3.0 and of C11, address space and access
 * qualifiers, and the macros of the standard headers: no class and no field can have them.
 * `builtins`: functions and enumerators that the compiler declares at file scope: a field may be
 * called `length`, since it only appears after its class's name, but a class may not.
 *
 * Invariant: both tables are sorted and without duplicates; tests/unit/schema/test_schema.c finds
 * every entry. Read first: schema.h.
 */
#include <string.h>

#include "schema/schema.h"

/* As many names in a line as fit; the formatter would give each a line. */
/* clang-format off */
static const char *const words[] = {
    "ATOMIC_FLAG_INIT", "ATOMIC_VAR_INIT", "CHAR_BIT", "CHAR_MAX", "CHAR_MIN", "DBL_DIG",
    "DBL_EPSILON", "DBL_MANT_DIG", "DBL_MAX", "DBL_MAX_10_EXP", "DBL_MAX_EXP", "DBL_MIN",
    "DBL_MIN_10_EXP", "DBL_MIN_EXP", "DBL_RADIX", "FLT_DIG", "FLT_EPSILON", "FLT_MANT_DIG",
    "FLT_MAX", "FLT_MAX_10_EXP", "FLT_MAX_EXP", "FLT_MIN", "FLT_MIN_10_EXP", "FLT_MIN_EXP",
    "FLT_RADIX", "FP_ILOGB0", "FP_ILOGBNAN", "HALF_DIG", "HALF_EPSILON", "HALF_MANT_DIG",
    "HALF_MAX", "HALF_MAX_10_EXP", "HALF_MAX_EXP", "HALF_MIN", "HALF_MIN_10_EXP", "HALF_MIN_EXP",
    "HALF_RADIX", "HUGE_VAL", "HUGE_VALF", "INFINITY", "INT_MAX", "INT_MIN", "LONG_MAX", "LONG_MIN",
    "MAXFLOAT", "MAX_WORK_DIM", "M_1_PI", "M_1_PI_F", "M_1_PI_H", "M_2_PI", "M_2_PI_F", "M_2_PI_H",
    "M_2_SQRTPI", "M_2_SQRTPI_F", "M_2_SQRTPI_H", "M_E", "M_E_F", "M_E_H", "M_LN10", "M_LN10_F",
    "M_LN10_H", "M_LN2", "M_LN2_F", "M_LN2_H", "M_LOG10E", "M_LOG10E_F", "M_LOG10E_H", "M_LOG2E",
    "M_LOG2E_F", "M_LOG2E_H", "M_PI", "M_PI_2", "M_PI_2_F", "M_PI_2_H", "M_PI_4", "M_PI_4_F",
    "M_PI_4_H", "M_PI_F", "M_PI_H", "M_SQRT1_2", "M_SQRT1_2_F", "M_SQRT1_2_H", "M_SQRT2",
    "M_SQRT2_F", "M_SQRT2_H", "NAN", "NULL", "SCHAR_MAX", "SCHAR_MIN", "SHRT_MAX", "SHRT_MIN",
    "UCHAR_MAX", "UINT_MAX", "ULONG_MAX", "USHRT_MAX", "_Alignas", "_Alignof", "_Atomic", "_Bool",
    "_Complex", "_Generic", "_Imaginary", "_Noreturn", "_Static_assert", "_Thread_local", "asm",
    "atomic_double", "atomic_flag", "atomic_float", "atomic_half", "atomic_int", "atomic_intptr_t",
    "atomic_long", "atomic_ptrdiff_t", "atomic_size_t", "atomic_uint", "atomic_uintptr_t",
    "atomic_ulong", "auto", "bool", "break", "case", "char", "cl_mem_fence_flags", "clk_event_t",
    "clk_profiling_info", "complex", "const", "constant", "continue", "default", "do", "double",
    "else", "enum", "event_t", "extern", "false", "float", "for", "generic", "global", "goto",
    "half", "if", "image1d_array_t", "image1d_buffer_t", "image1d_t", "image2d_array_depth_t",
    "image2d_array_msaa_depth_t", "image2d_array_msaa_t", "image2d_array_t", "image2d_depth_t",
    "image2d_msaa_depth_t", "image2d_msaa_t", "image2d_t", "image3d_t", "imaginary", "inline",
    "int", "intptr_t", "kernel", "local", "long", "memory_order", "memory_scope", "ndrange_t",
    "pipe", "private", "ptrdiff_t", "quad", "queue_t", "read_only", "read_write", "register",
    "reserve_id_t", "restrict", "return", "sampler_t", "short", "signed", "size_t", "sizeof",
    "static", "struct", "switch", "true", "typedef", "typeof", "uchar", "uint", "uintptr_t",
    "ulong", "uniform", "union", "unsigned", "ushort", "void", "volatile", "while", "write_only",
};

static const char *const builtins[] = {
    "abs", "abs_diff", "acos", "acosh", "acospi", "add_sat", "all", "any", "asin", "asinh",
    "asinpi", "async_work_group_copy", "async_work_group_strided_copy", "atan", "atan2", "atan2pi",
    "atanh", "atanpi", "atom_add", "atom_and", "atom_cmpxchg", "atom_dec", "atom_inc", "atom_max",
    "atom_min", "atom_or", "atom_sub", "atom_xchg", "atom_xor", "atomic_add", "atomic_and",
    "atomic_cmpxchg", "atomic_compare_exchange_strong", "atomic_compare_exchange_strong_explicit",
    "atomic_compare_exchange_weak", "atomic_compare_exchange_weak_explicit", "atomic_dec",
    "atomic_exchange", "atomic_exchange_explicit", "atomic_fetch_add", "atomic_fetch_add_explicit",
    "atomic_fetch_and", "atomic_fetch_and_explicit", "atomic_fetch_max",
    "atomic_fetch_max_explicit", "atomic_fetch_min", "atomic_fetch_min_explicit", "atomic_fetch_or",
    "atomic_fetch_or_explicit", "atomic_fetch_sub", "atomic_fetch_sub_explicit", "atomic_fetch_xor",
    "atomic_fetch_xor_explicit", "atomic_flag_clear", "atomic_flag_clear_explicit",
    "atomic_flag_test_and_set", "atomic_flag_test_and_set_explicit", "atomic_inc", "atomic_init",
    "atomic_load", "atomic_load_explicit", "atomic_max", "atomic_min", "atomic_or", "atomic_store",
    "atomic_store_explicit", "atomic_sub", "atomic_work_item_fence", "atomic_xchg", "atomic_xor",
    "barrier", "bit_reverse", "bitfield_extract_signed", "bitfield_extract_unsigned",
    "bitfield_insert", "bitselect", "capture_event_profiling_info", "cbrt", "ceil", "clamp", "clz",
    "commit_read_pipe", "commit_write_pipe", "copysign", "cos", "cosh", "cospi",
    "create_user_event", "cross", "ctz", "degrees", "distance", "dot", "dot_4x8packed_ss_int",
    "dot_4x8packed_su_int", "dot_4x8packed_us_int", "dot_4x8packed_uu_uint", "dot_acc_sat",
    "dot_acc_sat_4x8packed_ss_int", "dot_acc_sat_4x8packed_su_int", "dot_acc_sat_4x8packed_us_int",
    "dot_acc_sat_4x8packed_uu_uint", "enqueue_kernel", "enqueue_marker", "erf", "erfc", "exp",
    "exp10", "exp2", "expm1", "fabs", "fast_distance", "fast_length", "fast_normalize", "fdim",
    "floor", "fma", "fmax", "fmin", "fmod", "format", "fract", "frexp", "get_default_queue",
    "get_enqueued_local_size", "get_enqueued_num_sub_groups", "get_fence", "get_global_id",
    "get_global_linear_id", "get_global_offset", "get_global_size", "get_group_id",
    "get_image_array_size", "get_image_channel_data_type", "get_image_channel_order",
    "get_image_depth", "get_image_dim", "get_image_height", "get_image_num_mip_levels",
    "get_image_num_samples", "get_image_width", "get_kernel_preferred_work_group_size_multiple",
    "get_kernel_work_group_size", "get_local_id", "get_local_linear_id", "get_local_size",
    "get_max_sub_group_size", "get_num_groups", "get_num_sub_groups", "get_pipe_max_packets",
    "get_pipe_num_packets", "get_sub_group_eq_mask", "get_sub_group_ge_mask",
    "get_sub_group_gt_mask", "get_sub_group_id", "get_sub_group_le_mask", "get_sub_group_local_id",
    "get_sub_group_lt_mask", "get_sub_group_size", "get_work_dim", "hadd", "half_cos",
    "half_divide", "half_exp", "half_exp10", "half_exp2", "half_log", "half_log10", "half_log2",
    "half_powr", "half_recip", "half_rsqrt", "half_sin", "half_sqrt", "half_tan", "hypot", "ilogb",
    "is_valid_event", "is_valid_reserve_id", "isequal", "isfinite", "isgreater", "isgreaterequal",
    "isinf", "isless", "islessequal", "islessgreater", "isnan", "isnormal", "isnotequal",
    "isordered", "isunordered", "kernel_exec", "ldexp", "length", "lgamma", "lgamma_r", "log",
    "log10", "log1p", "log2", "logb", "mad", "mad24", "mad_hi", "mad_sat", "max", "maxmag",
    "mem_fence", "memory_order_acq_rel", "memory_order_acquire", "memory_order_relaxed",
    "memory_order_release", "memory_order_seq_cst", "memory_scope_all_devices",
    "memory_scope_all_svm_devices", "memory_scope_device", "memory_scope_sub_group",
    "memory_scope_work_group", "memory_scope_work_item", "min", "minmag", "mix", "modf", "mul24",
    "mul_hi", "nan", "native_cos", "native_divide", "native_exp", "native_exp10", "native_exp2",
    "native_log", "native_log10", "native_log2", "native_powr", "native_recip", "native_rsqrt",
    "native_sin", "native_sqrt", "native_tan", "ndrange_1D", "ndrange_2D", "ndrange_3D",
    "nextafter", "normalize", "popcount", "pow", "pown", "powr", "prefetch", "printf", "radians",
    "read_imagef", "read_imageh", "read_imagei", "read_imageui", "read_mem_fence", "read_pipe",
    "release_event", "remainder", "remquo", "reserve_read_pipe", "reserve_write_pipe",
    "retain_event", "rhadd", "rint", "rootn", "rotate", "round", "rsqrt", "select",
    "set_user_event_status", "shuffle", "shuffle2", "sign", "signbit", "sin", "sincos", "sinh",
    "sinpi", "smoothstep", "sqrt", "step", "sub_sat", "tan", "tanh", "tanpi", "tgamma", "to_global",
    "to_local", "to_private", "trunc", "upsample", "vec_step", "vload16", "vload2", "vload3",
    "vload4", "vload8", "vload_half", "vload_half16", "vload_half2", "vload_half3", "vload_half4",
    "vload_half8", "vloada_half16", "vloada_half2", "vloada_half3", "vloada_half4", "vloada_half8",
    "vstore16", "vstore2", "vstore3", "vstore4", "vstore8", "vstore_half", "vstore_half16",
    "vstore_half16_rte", "vstore_half16_rtn", "vstore_half16_rtp", "vstore_half16_rtz",
    "vstore_half2", "vstore_half2_rte", "vstore_half2_rtn", "vstore_half2_rtp", "vstore_half2_rtz",
    "vstore_half3", "vstore_half3_rte", "vstore_half3_rtn", "vstore_half3_rtp", "vstore_half3_rtz",
    "vstore_half4", "vstore_half4_rte", "vstore_half4_rtn", "vstore_half4_rtp", "vstore_half4_rtz",
    "vstore_half8", "vstore_half8_rte", "vstore_half8_rtn", "vstore_half8_rtp", "vstore_half8_rtz",
    "vstore_half_rte", "vstore_half_rtn", "vstore_half_rtp", "vstore_half_rtz", "vstorea_half16",
    "vstorea_half16_rte", "vstorea_half16_rtn", "vstorea_half16_rtp", "vstorea_half16_rtz",
    "vstorea_half2", "vstorea_half2_rte", "vstorea_half2_rtn", "vstorea_half2_rtp",
    "vstorea_half2_rtz", "vstorea_half3", "vstorea_half3_rte", "vstorea_half3_rtn",
    "vstorea_half3_rtp", "vstorea_half3_rtz", "vstorea_half4", "vstorea_half4_rte",
    "vstorea_half4_rtn", "vstorea_half4_rtp", "vstorea_half4_rtz", "vstorea_half8",
    "vstorea_half8_rte", "vstorea_half8_rtn", "vstorea_half8_rtp", "vstorea_half8_rtz",
    "wait_group_events", "work_group_all", "work_group_any", "work_group_barrier",
    "work_group_broadcast", "work_group_commit_read_pipe", "work_group_commit_write_pipe",
    "work_group_reduce_add", "work_group_reduce_max", "work_group_reduce_min",
    "work_group_reserve_read_pipe", "work_group_reserve_write_pipe",
    "work_group_scan_exclusive_add", "work_group_scan_exclusive_max",
    "work_group_scan_exclusive_min", "work_group_scan_inclusive_add",
    "work_group_scan_inclusive_max", "work_group_scan_inclusive_min", "write_imagef",
    "write_imageh", "write_imagei", "write_imageui", "write_mem_fence", "write_pipe",
};
/* clang-format on */

/* Prefixes that open a family of names, for all uses. */
static const char *const word_prefixes[] = {"CLUMP", "__", "clump", "get_global"};

/* The same for names at file scope. */
static const char *const builtin_prefixes[] = {
    "CLK_", "CL_", "as_", "cl_khr_", "cles_khr_", "convert_", "sub_group_",
};

/* Scalars that have vector types: float4, ulong16, half2 and, reserved by the language, bool8. */
static const char *const vector_scalars[] = {
    "bool", "char", "complex", "double", "float", "half",  "imaginary", "int",
    "long", "quad", "short",   "uchar",  "uint",  "ulong", "ushort",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Index of the first entry that is not less than `name`. */
static size_t lower_bound(const char *const *table, size_t count, const char *name) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(table[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int contains(const char *const *table, size_t count, const char *name) {
    size_t at = lower_bound(table, count, name);
    return at < count && strcmp(table[at], name) == 0;
}

static const char *find_prefix(const char *const *table, size_t count, const char *name) {
    for (size_t i = 0; i < count; ++i)
        if (strncmp(name, table[i], strlen(table[i])) == 0) return table[i];
    return NULL;
}

/* Behind a vector width at `text`, or NULL. */
static const char *skip_width(const char *text) {
    if (text[0] == '1' && text[1] == '6') return text + 2;
    if (*text && strchr("2348", *text)) return text + 1;
    return NULL;
}

/* float4, and the matrices float4x4 that OpenCL C sets aside. */
static int is_vector_type(const char *name) {
    for (size_t i = 0; i < COUNT(vector_scalars); ++i) {
        size_t bytes = strlen(vector_scalars[i]);
        if (strncmp(name, vector_scalars[i], bytes) != 0) continue;
        const char *rest = skip_width(name + bytes);
        if (rest && *rest == 'x') rest = skip_width(rest + 1);
        if (rest && !*rest) return 1;
    }
    return 0;
}

const char *clumpi_reserved_word(const char *name) {
    if (contains(words, COUNT(words), name))
        return "it is a keyword, a type or a macro of OpenCL C";
    if (is_vector_type(name)) return "it is a vector or matrix type of OpenCL C";
    const char *prefix = find_prefix(word_prefixes, COUNT(word_prefixes), name);
    if (!prefix) return NULL;
    if (prefix[0] == '_') return "two leading underscores belong to the compiler";
    if (prefix[0] == 'g') return "names that begin with get_global belong to OpenCL C";
    return "names that begin with clump or CLUMP belong to the library";
}

const char *clumpi_reserved_builtin(const char *name) {
    if (contains(builtins, COUNT(builtins), name)) return "it is a built-in function of OpenCL C";
    if (find_prefix(builtin_prefixes, COUNT(builtin_prefixes), name))
        return "names that begin in this way are built into OpenCL C";
    return NULL;
}

/* Does `name` begin with `prefix` and an underscore? */
static int begins(const char *name, const char *prefix, size_t prefix_bytes) {
    return strncmp(name, prefix, prefix_bytes) == 0 && name[prefix_bytes] == '_';
}

int clumpi_reserved_builtin_below(const char *prefix) {
    size_t bytes = strlen(prefix);
    /* The entries that begin with `prefix` stand together; '_' sorts after digits and capitals. */
    for (size_t i = lower_bound(builtins, COUNT(builtins), prefix);
         i < COUNT(builtins) && strncmp(builtins[i], prefix, bytes) == 0; ++i)
        if (begins(builtins[i], prefix, bytes)) return 1;
    for (size_t i = 0; i < COUNT(words); ++i)
        if (begins(words[i], prefix, bytes)) return 1;
    for (size_t i = 0; i < COUNT(builtin_prefixes); ++i)
        if (begins(builtin_prefixes[i], prefix, bytes)) return 1;
    for (size_t i = 0; i < COUNT(word_prefixes); ++i)
        if (begins(word_prefixes[i], prefix, bytes)) return 1;
    return 0;
}

const char *clumpi_reserved_entry(int table, size_t index) {
    if (table == 0) return index < COUNT(words) ? words[index] : NULL;
    return index < COUNT(builtins) ? builtins[index] : NULL;
}
