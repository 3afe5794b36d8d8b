/* Probing a device into capabilities. Nothing else in the library asks which vendor a device is of.
 * build.c knows two implementations by other signs: NVIDIA's compiler by the places in its build
 * log, and Oclgrind by the platform's name, since it needs other options.
 *
 * Read first: core.h, include/clump/context.h.
 */
#include "core/device.h"
#include "core/pointers.h"

#include <stdio.h>
#include <string.h>

/* Of OpenCL 2.1 and 3.0, which the headers leave out for a target of 1.2. */
#ifndef CL_DEVICE_MAX_NUM_SUB_GROUPS
#define CL_DEVICE_MAX_NUM_SUB_GROUPS 0x105C
#endif
#ifndef CL_DEVICE_OPENCL_C_ALL_VERSIONS
#define CL_DEVICE_OPENCL_C_ALL_VERSIONS 0x1066
#define CL_DEVICE_OPENCL_C_FEATURES 0x106F
#define CL_DEVICE_EXTENSIONS_WITH_VERSION 0x1060
#endif
typedef struct name_version { /* cl_name_version */
    cl_uint version;          /* 10 bits of a major, 10 of a minor, 12 of a patch number */
    char name[64];
} name_version;

#ifndef CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV /* cl_nv_device_attribute_query */
#define CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#endif

clump_status clumpi_cl_resolve(const clump_cl_functions *given, clump_cl_functions *table,
                               clump_error *error) {
    clump_status status = CLUMPI_TAKE(clump_cl_functions, table, given, error);
#define RESOLVE(name, result, parameters)                                                          \
    if (!table->name) table->name = cl##name;
    CLUMP_CL_FUNCTION_LIST(RESOLVE)
#undef RESOLVE
    return status;
}

/* One probe in progress: the first failure stops the rest. */
typedef struct probe {
    const clump_cl_functions *cl;
    cl_device_id device;
    cl_int code;
    const char *call; /* that returned the code */
} probe;

static void info(probe *p, cl_device_info name, size_t bytes, void *value) {
    if (!p->code) p->code = p->cl->GetDeviceInfo(p->device, name, bytes, value, NULL);
}

/* For what not every device knows: 0 bytes then. */
static size_t optional_info(probe *p, cl_device_info name, size_t capacity, void *value) {
    size_t bytes = 0;
    if (p->code) return 0;
    cl_int code = p->cl->GetDeviceInfo(p->device, name, 0, NULL, &bytes);
    if (!code && bytes <= capacity)
        code = p->cl->GetDeviceInfo(p->device, name, bytes, value, NULL);
    if (code && code != CL_INVALID_VALUE) p->code = code;
    return !code && bytes <= capacity ? bytes : 0;
}

/* A string cut to the room there is. */
static void text_info(probe *p, cl_device_info name, char *text, size_t capacity) {
    char whole[4096];
    size_t bytes = 0;
    if (p->code) return;
    p->code = p->cl->GetDeviceInfo(p->device, name, 0, NULL, &bytes);
    if (p->code || bytes > sizeof whole) return;
    p->code = p->cl->GetDeviceInfo(p->device, name, bytes, whole, NULL);
    if (p->code || bytes == 0) return;
    size_t length = bytes - 1 < capacity - 1 ? bytes - 1 : capacity - 1;
    memcpy(text, whole, length);
    text[length] = 0;
}

int clumpi_has_word(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return 1;
    return 0;
}

/* Of any length. NULL: the question failed, or `code` is CL_SUCCESS and there is no host memory. */
static char *extensions_of(const clump_cl_functions *cl, cl_device_id device,
                           const clump_allocator *allocator, cl_int *code) {
    size_t bytes = 0;
    *code = cl->GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes);
    if (*code) return NULL;
    char *list = clumpi_alloc(allocator, bytes + 1); /* zeros */
    if (list && bytes) *code = cl->GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, bytes, list, NULL);
    if (!list || !*code) return list;
    clumpi_free(allocator, list);
    return NULL;
}

int clumpi_device_has(const clump_cl_functions *cl, cl_device_id device,
                      const clump_allocator *allocator, const char *extension) {
    cl_int code = CL_SUCCESS;
    char *list = extensions_of(cl, device, allocator, &code);
    int has = list && clumpi_has_word(list, extension);
    clumpi_free(allocator, list);
    return has;
}

static uint32_t find_features(probe *p, const char *list, int is_cpu) {
    uint32_t features = 0;
    if (p->code) return 0;
    if (clumpi_has_word(list, "cl_khr_int64_base_atomics") &&
        clumpi_has_word(list, "cl_khr_int64_extended_atomics"))
        features |= CLUMP_FEATURE_INT64_ATOMICS;
    if (clumpi_has_word(list, "cl_khr_fp64")) features |= CLUMP_FEATURE_FP64;
    /* Not on CPUs: they have no lanes beside each other. PoCL lists ballots and lacks their
     * functions, and Intel's is wrong without optimisation (docs/portability.md). Of OpenCL 3.0 the
     * sub-groups themselves are a feature that need not be listed as an extension. */
    cl_uint sub_groups = 0;
    if (!is_cpu && clumpi_has_word(list, "cl_khr_subgroup_ballot") &&
        (clumpi_has_word(list, "cl_khr_subgroups") ||
         (optional_info(p, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof sub_groups, &sub_groups) &&
          sub_groups > 0)))
        features |= CLUMP_FEATURE_SUBGROUPS;
    cl_uint major = 0; /* redux.sync, which coalesced frees use, needs sm_80 */
    if (clumpi_has_word(list, "cl_nv_device_attribute_query") &&
        optional_info(p, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major) && major >= 8)
        features |= CLUMP_FEATURE_PTX;
    return features;
}

/* Versions before 1.0, such as that of PoCL 6.0, have other constants. */
static uint32_t find_addresses(probe *p, clump_cl_functions *cl, const char *extensions) {
    static const char name[] = "cl_ext_buffer_device_address";
    name_version list[192];
    if (sizeof(void *) < sizeof(cl_ulong) || !clumpi_has_word(extensions, name)) return 0;
    size_t bytes = optional_info(p, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof list, list);
    for (size_t i = 0; i < bytes / sizeof *list; i++)
        if (strncmp(list[i].name, name, sizeof list[i].name) == 0 && list[i].version >> 22 >= 1 &&
            clumpi_address_functions_find(cl))
            return CLUMP_POINTERS_ADDRESS;
    return 0;
}

/* Memory with pointers that the device has, and the functions for it. */
static uint32_t find_pointers(probe *p, clump_cl_functions *cl, cl_platform_id platform,
                              const char *version, const char *extensions) {
    static const struct {
        cl_device_info name;
        uint32_t bit;
    } kinds[] = {{CLUMPI_DEVICE_HOST_MEM_CAPABILITIES, CLUMP_POINTERS_USM_HOST},
                 {CLUMPI_DEVICE_DEVICE_MEM_CAPABILITIES, CLUMP_POINTERS_USM_DEVICE},
                 {CLUMPI_DEVICE_SHARED_MEM_CAPABILITIES, CLUMP_POINTERS_USM_SHARED}};
    unsigned major = 0;
    cl_bitfield has = 0;
    const int has_functions = clumpi_svm_functions_find(cl); /* kernels of others need some, too */
    uint32_t found = find_addresses(p, cl, extensions);
    if (sscanf(version, "OpenCL %u.", &major) == 1 && major >= 2 &&
        optional_info(p, CLUMPI_DEVICE_SVM_CAPABILITIES, sizeof has, &has) &&
        has & CLUMPI_SVM_COARSE_GRAIN_BUFFER && has_functions)
        found |= CLUMP_POINTERS_SVM;
    if (p->code || !clumpi_has_word(extensions, "cl_intel_unified_shared_memory") ||
        !clumpi_usm_functions_find(cl, platform))
        return found;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        has = 0;
        if (optional_info(p, kinds[i].name, sizeof has, &has) && has & CLUMPI_USM_ACCESS)
            found |= kinds[i].bit;
    }
    return found;
}

/* The language that programs are built as. Beyond 1.2 all that is used are fences at device scope:
 * mem_fence() may stop at the work-group, and does on some devices. They are part of 2.0, and
 * optional features of 3.0. */
static void choose_language(probe *p, clump_capabilities *c) {
    name_version list[128];
    int has_2 = 0, has_3 = 0, has_scope = 0, has_order = 0;
    size_t bytes = optional_info(p, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof list, list);
    for (size_t i = 0; i < bytes / sizeof *list; i++) {
        has_2 |= list[i].version >> 22 == 2;
        has_3 |= list[i].version >> 22 == 3;
    }
    bytes = has_3 ? optional_info(p, CL_DEVICE_OPENCL_C_FEATURES, sizeof list, list) : 0;
    for (size_t i = 0; i < bytes / sizeof *list; i++) {
        list[i].name[sizeof list[i].name - 1] = 0;
        has_scope |= strcmp(list[i].name, "__opencl_c_atomic_scope_device") == 0;
        has_order |= strcmp(list[i].name, "__opencl_c_atomic_order_seq_cst") == 0;
    }
    char version[128] = ""; /* "OpenCL C 2.0 ...": devices without the lists */
    text_info(p, CL_DEVICE_OPENCL_C_VERSION, version, sizeof version);
    has_2 |= strncmp(version, "OpenCL C 2.", 11) == 0;
    c->language = has_scope && has_order ? "CL3.0" : has_2 ? "CL2.0" : "CL1.2";
}

/* Sub-buffers of a buffer: on NVIDIA each costs more, the more of them there are
 * (docs/measurements/devices.md). */
#define SUB_BUFFERS_MOST 64u

/* Why requests are combined as they are. Shuffles, which OpenCL 3.1 guarantees, do not replace
 * ballots: a value read from a work-item that is not there is undefined, so it does not show who is
 * there (docs/internals/core.md). */
static const char *coalescing_reason(const clump_capabilities *c, const char *extensions) {
    const uint32_t paths = CLUMP_FEATURE_PTX | CLUMP_FEATURE_SUBGROUPS;
    if (c->features & CLUMP_FEATURE_PTX) return "the device has activemask, match and redux";
    if (c->features & CLUMP_FEATURE_SUBGROUPS) return "the device has cl_khr_subgroup_ballot";
    if (c->features_found & paths) return "switched off";
    if (c->is_cpu) return "the device is a CPU";
    if (clumpi_has_word(extensions, "cl_nv_device_attribute_query"))
        return "the compute capability is below 8.0";
    if (clumpi_has_word(extensions, "cl_khr_subgroup_ballot"))
        return "cl_khr_subgroup_ballot without sub-groups";
    if (clumpi_has_word(extensions, "cl_khr_subgroup_shuffle"))
        return "no cl_khr_subgroup_ballot, and shuffles do not show which work-items are together";
    return "no cl_khr_subgroup_ballot";
}

static void describe_paths(clump_capabilities *c, const char *extensions) {
    c->word_bits = c->features & CLUMP_FEATURE_INT64_ATOMICS ? 64 : 32;
    c->coalescing = c->features & CLUMP_FEATURE_PTX         ? "ptx"
                    : c->features & CLUMP_FEATURE_SUBGROUPS ? "subgroup"
                                                            : "scalar";
    c->mapping =
        c->personality == CLUMP_PERSONALITY_CPU ? "rows per work-item" : "row per 64 work-items";
    c->coalescing_reason = coalescing_reason(c, extensions);
    c->sub_buffers_most = c->personality == CLUMP_PERSONALITY_CPU ? 0 : SUB_BUFFERS_MOST;
}

static clump_status check_device(probe *p, clumpi_needs needs, clump_error *error) {
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    char profile[64] = "";
    info(p, CL_DEVICE_AVAILABLE, sizeof available, &available);
    info(p, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler);
    info(p, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little);
    text_info(p, CL_DEVICE_PROFILE, profile, sizeof profile);
    if (p->code) return CLUMP_OK; /* reported by the caller */
    if (!available) return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED, "the device is not available");
    if (needs == CLUMPI_MEMORY_ALONE) return CLUMP_OK;
    if (!compiler)
        return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED, "the device has no compiler for OpenCL C");
    if (!little) return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED, "the device is big-endian");
    if (strcmp(profile, "FULL_PROFILE") != 0)
        return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED,
                           "the device has profile %s, but FULL_PROFILE is needed", profile);
    return CLUMP_OK;
}

/* "OpenCL 1.1 ..." */
static clump_status check_version(const char *version, clump_error *error) {
    unsigned major = 0, minor = 0;
    if (sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 && major * 100 + minor >= 102)
        return CLUMP_OK;
    return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED,
                       "the device's version is \"%.60s\", but OpenCL 1.2 or newer is needed",
                       version);
}

/* Work-groups of the kernels for GPUs are of whole rows: a work-item a slot. */
static clump_status choose_personality(clump_capabilities *c, clump_personality wanted,
                                       clump_error *error) {
    if (wanted > CLUMP_PERSONALITY_GPU)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "personality is %u, but must be 0 to %u",
                           (unsigned)wanted, (unsigned)CLUMP_PERSONALITY_GPU);
    if (wanted == CLUMP_PERSONALITY_GPU && c->work_group_max < CLUMPI_ROW_SLOTS)
        return clumpi_fail(error, CLUMP_ERR_UNSUPPORTED,
                           "the device's largest work-group has %u work-items, but the kernels for "
                           "GPUs need %u. Use CLUMP_PERSONALITY_CPU",
                           c->work_group_max, CLUMPI_ROW_SLOTS);
    c->personality = wanted;
    if (wanted == CLUMP_PERSONALITY_DEVICE)
        c->personality = c->is_cpu || c->work_group_max < CLUMPI_ROW_SLOTS ? CLUMP_PERSONALITY_CPU
                                                                           : CLUMP_PERSONALITY_GPU;
    return CLUMP_OK;
}

/* What a device tells of its memory, where it can be: 0 is "not known", and so is more than any
 * has. A buffer has as much as all at most. */
#define MEMORY_MOST (UINT64_C(1) << 50)
static void take_memory(clump_capabilities *c, uint64_t all, uint64_t buffer) {
    c->memory_bytes = all > MEMORY_MOST ? 0 : all;
    c->allocation_bytes = buffer && buffer < c->memory_bytes ? buffer : c->memory_bytes;
    if (!c->memory_bytes && buffer <= MEMORY_MOST) c->allocation_bytes = buffer;
}

/* A power of two, of which sub-buffers begin at multiples. */
#define ALIGN_PRESET                                                                               \
    128u /* bytes: of the largest type, beyond which an implementation need not go */
static uint32_t power_of_two(uint32_t bits) {
    uint32_t bytes = 1;
    if (bits < 8) return ALIGN_PRESET;
    while (bytes < UINT32_C(1) << 28 && bytes * UINT64_C(8) < bits) bytes *= 2;
    return bytes;
}

clump_status clumpi_device_probe(clump_cl_functions *cl, cl_device_id device, clumpi_needs needs,
                                 const clump_allocator *allocator, uint32_t disable,
                                 clump_personality personality, clump_capabilities *c,
                                 clump_error *error) {
    probe p = {cl, device, CL_SUCCESS, "clGetDeviceInfo"};
    memset(c, 0, sizeof *c);
    clump_status status = check_device(&p, needs, error);
    if (status) return status;
    cl_platform_id platform = NULL;
    cl_device_type type = 0;
    cl_uint units = 0, align_bits = 0;
    cl_ulong memory = 0, allocation = 0, local = 0;
    size_t group = 0;
    info(&p, CL_DEVICE_PLATFORM, sizeof platform, &platform);
    info(&p, CL_DEVICE_TYPE, sizeof type, &type);
    info(&p, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units);
    info(&p, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits);
    info(&p, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory);
    info(&p, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof allocation, &allocation);
    info(&p, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local);
    info(&p, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group);
    text_info(&p, CL_DEVICE_NAME, c->device_name, sizeof c->device_name);
    text_info(&p, CL_DEVICE_VERSION, c->device_version, sizeof c->device_version);
    text_info(&p, CL_DRIVER_VERSION, c->driver_version, sizeof c->driver_version);
    if (!p.code) {
        char name[1024] = "";
        p.code = cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (p.code) p.call = "clGetPlatformInfo";
        snprintf(c->platform_name, sizeof c->platform_name, "%.127s", name);
    }
    if (!p.code) status = check_version(c->device_version, error);
    c->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    c->work_group_max = (uint32_t)group;
    if (!p.code && !status) status = choose_personality(c, personality, error);
    if (status) return status;
    char *extensions = p.code ? NULL : extensions_of(cl, device, allocator, &p.code);
    if (p.code) return clumpi_fail_cl(error, p.call, p.code, "while probing the device");
    if (!extensions)
        return clumpi_fail(error, CLUMP_ERR_HOST_MEMORY,
                           "no host memory for the properties of a device");
    c->features_found = find_features(&p, extensions, c->is_cpu);
    c->pointers = find_pointers(&p, cl, platform, c->device_version, extensions);
    c->features = c->features_found & ~disable;
    describe_paths(c, extensions);
    clumpi_free(allocator, extensions);
    if (p.code) return clumpi_fail_cl(error, p.call, p.code, "while probing the device");
    c->language = "";
    if (needs == CLUMPI_KERNELS) choose_language(&p, c);
    if (p.code) return clumpi_fail_cl(error, p.call, p.code, "while probing the device");
    c->compute_units = units ? units : 1;
    c->base_align_bytes = power_of_two(align_bits);
    take_memory(c, memory, allocation);
    c->local_bytes = local;
    return CLUMP_OK;
}

clump_status clump_device_probe(cl_device_id device, uint32_t disable,
                                clump_capabilities *capabilities, clump_error *error) {
    if (!device || !capabilities)
        return clumpi_fail(error, CLUMP_ERR_USAGE,
                           "clump_device_probe needs a device and a pointer for the result");
    clump_cl_functions cl;
    clump_capabilities own;
    const clump_allocator allocator = clumpi_allocator_resolve(NULL);
    clump_status status = CLUMPI_PLACE(clump_capabilities, capabilities, error);
    if (!status) status = clumpi_cl_resolve(NULL, &cl, error);
    if (!status)
        status = clumpi_device_probe(&cl, device, CLUMPI_KERNELS, &allocator, disable,
                                     CLUMP_PERSONALITY_DEVICE, &own, error);
    if (!status) CLUMPI_GIVE(capabilities, own);
    return status;
}

void clumpi_device_sizes(const clump_capabilities *c, clumpi_launch_sizes *sizes) {
    if (c->personality == CLUMP_PERSONALITY_CPU) {
        /* One contiguous range of rows per work-item. PoCL deals out half of the remaining
         * work-groups at a time, and at most 32 for each core: with this many groups a core that
         * comes late, or is busy with something else, costs little. */
        sizes->do_all_local = sizes->changing_local = 1;
        sizes->do_all_global = sizes->copy_global = (size_t)c->compute_units * 128;
        /* The passes deal out their work themselves. */
        sizes->pass_groups = (size_t)c->compute_units * 4;
        sizes->scan_local = 1;
        sizes->scan_groups = (size_t)c->compute_units * 4;
        return;
    }
    size_t local = c->work_group_max < 256 ? c->work_group_max : 256;
    local -= local % CLUMPI_ROW_SLOTS;
    sizes->do_all_local = local;
    /* Kernels that make objects take many registers: smaller groups leave less of a compute unit
     * unused. */
    sizes->changing_local = local < 128 ? local : 128;
    sizes->do_all_global = 8 * local * c->compute_units;
    /* More than there is room for, so that all compute units are busy until the end. */
    sizes->copy_global = 4 * sizes->do_all_global;
    sizes->pass_groups = (size_t)c->compute_units * 8;
    sizes->scan_local = local;
    sizes->scan_groups = c->compute_units * 8 < 512 ? c->compute_units * 8 : 512;
}

uint32_t clumpi_do_all_groups(const clumpi_launch_sizes *sizes, uint64_t bytes) {
    const uint64_t room = bytes / 32 / CLUMPI_REDUCE_BYTES, least = 64;
    uint64_t groups = room > sizes->pass_groups ? room : sizes->pass_groups;
    if (groups < least) groups = least;
    const uint64_t all = sizes->do_all_global / sizes->changing_local;
    return (uint32_t)(groups < all ? groups : all);
}
