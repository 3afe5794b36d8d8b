/* Memory with pointers: what a device is found to have, and that its pointer and its buffer are the
 * same memory for the host and for a kernel that goes from one allocation to the next. Devices that
 * have less are made by overwriting what the real one answers.
 *
 * Read first: host/core/pointers.h, pointer_chain.h. */
#include <stdio.h>
#include <string.h>

#include "diff/core/pointer_chain.h"

static cl_fixture fixture;
static cl_fixture *const f = &fixture;

/* ---- Devices that have less ------------------------------------------------------------------ */

static struct {
    const char *version;
    int has_capabilities;     /* the answer below is given */
    cl_bitfield capabilities; /* of SVM */
    const char *missing;      /* an extension's function that is not found */
    cl_int code;              /* of the question for capabilities */
} says;

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t capacity,
                                          void *to, size_t *needed) {
    if (name == CL_DEVICE_VERSION && says.version) {
        const size_t bytes = strlen(says.version) + 1;
        if (needed) *needed = bytes;
        if (to) memcpy(to, says.version, bytes);
        return CL_SUCCESS;
    }
    if (name == CLUMPI_DEVICE_SVM_CAPABILITIES && says.code) return says.code;
    if (name == CLUMPI_DEVICE_SVM_CAPABILITIES && says.has_capabilities) {
        if (needed) *needed = sizeof says.capabilities;
        if (to) memcpy(to, &says.capabilities, sizeof says.capabilities);
        return CL_SUCCESS;
    }
    return clGetDeviceInfo(device, name, capacity, to, needed);
}

static void *CL_API_CALL get_address(cl_platform_id platform, const char *name) {
    if (says.missing && strcmp(name, says.missing) == 0) return NULL;
    return clGetExtensionFunctionAddressForPlatform(platform, name);
}

static clump_status probe(uint32_t *found, clump_error *error) {
    static const clump_cl_functions functions = {
        .size = sizeof functions,
        .GetDeviceInfo = get_device_info,
        .GetExtensionFunctionAddressForPlatform = get_address};
    clump_context *context = NULL;
    clump_context_desc desc = {.size = sizeof desc,
                               .context = f->context,
                               .device = f->device,
                               .queue = f->queue,
                               .cl = &functions};
    clump_status status = clump_context_create(&desc, &context, error);
    if (!status) *found = clump_context_get_info(context)->capabilities->pointers;
    clump_context_destroy(context);
    return status;
}

static uint32_t pointers_found(void) {
    clump_error error;
    uint32_t found = 0;
    if (probe(&found, &error)) fail_msg("%s", error.message);
    return found;
}

static const char *const usm_functions[] = {
#define NAME(name, result, parameters) "cl" #name,
    CLUMP_CL_USM_LIST(NAME)
#undef NAME
};

static void devices(void **state) {
    const uint32_t svm = CLUMP_POINTERS_SVM, all = f->capabilities->pointers;
    clump_error error;
    uint32_t found;
    (void)state;
    memset(&says, 0, sizeof says);
    assert_int_equal(pointers_found(), all);
    says.version = "OpenCL 1.2 Maker"; /* what it says of SVM is not asked for */
    assert_int_equal(pointers_found(), all & ~svm);
    says.version = "OpenCL 2.0 Maker";
    assert_int_equal(pointers_found() & svm, all & svm);
    says.has_capabilities = 1;
    says.capabilities = 0;
    assert_int_equal(pointers_found() & svm, 0);
    says.capabilities = 2; /* fine-grained buffers alone, which the standard does not allow */
    assert_int_equal(pointers_found() & svm, 0);
    says.capabilities = 1;
    assert_int_equal(pointers_found() & svm, all & svm ? svm : pointers_found() & svm);
    says.code = CL_INVALID_VALUE; /* a device that does not know the question */
    assert_int_equal(pointers_found() & svm, 0);
    says.code = CL_OUT_OF_RESOURCES;
    cl_fixture_expect_words(&error, probe(&found, &error), CLUMP_ERR_CL, "clGetDeviceInfo",
                            "clump_context_create", __LINE__);
    memset(&says, 0, sizeof says);
    for (size_t i = 0; i < sizeof usm_functions / sizeof *usm_functions; i++) {
        says.missing = usm_functions[i];
        assert_int_equal(pointers_found(), all & (svm | CLUMP_POINTERS_ADDRESS));
    }
}

/* ---- Two views ------------------------------------------------------------------------------- */

#define BYTES 100000u
#define NODES 300u
#define REGIONS 3u

/* Nodes in turn in each of several allocations, at changing places. */
static void views(clump_pointers kind) {
    clumpi_pointers p[REGIONS];
    chain_node nodes[NODES];
    void *regions[REGIONS], *first = NULL;
    uint32_t at[NODES];
    uint64_t state = 7;
    chain c = chain_open(f);
    for (uint32_t i = 0; i < REGIONS; i++) {
        clump_error error;
        if (clumpi_pointers_create(f->clump, kind, BYTES, f->queue, &p[i], &error))
            fail_msg("%s", error.message);
        assert_int_equal((uintptr_t)p[i].pointer % CLUMPI_POINTER_ALIGN, 0);
        if (!p[i].buffer) {
            print_message("%s: no buffer over it\n", clumpi_pointers_name(kind));
            assert_int_not_equal(kind, CLUMP_POINTERS_SVM);
            for (uint32_t j = 0; j <= i; j++) clumpi_pointers_release(f->clump, f->queue, &p[j]);
            chain_close(&c);
            return;
        }
        regions[i] = p[i].pointer;
    }
    for (uint32_t i = NODES; i-- > 0;) {
        at[i] = (i / REGIONS * 256 + test_random(&state, 8) * 16) % BYTES;
        nodes[i] = (chain_node){(uintptr_t)first, i + 1, 0};
        first = (char *)regions[i % REGIONS] + at[i];
    }
    for (uint32_t i = 0; i < NODES; i++)
        CHECK_CL(clEnqueueWriteBuffer(f->queue, p[i % REGIONS].buffer, CL_FALSE, at[i],
                                      sizeof nodes[i], &nodes[i], 0, NULL, NULL));
    chain_run(&c, kind, first, NODES, REGIONS, regions);
    for (uint32_t i = 0; i < NODES; i++) {
        chain_node got;
        CHECK_CL(clEnqueueReadBuffer(f->queue, p[i % REGIONS].buffer, CL_TRUE, at[i], sizeof got,
                                     &got, 0, NULL, NULL));
        assert_int_equal(got.next, nodes[i].next);
        assert_int_equal(got.value, i + 1);
        assert_int_equal(got.sum, (i + 1) * (i + 2) / 2);
    }
    /* The host maps the buffer, and sees it where the pointer is. */
    cl_int code = CL_SUCCESS;
    const chain_node *mapped = clEnqueueMapBuffer(f->queue, p[0].buffer, CL_TRUE, CL_MAP_READ,
                                                  at[0], sizeof nodes[0], 0, NULL, NULL, &code);
    CHECK_CL(code);
    if (kind != CLUMP_POINTERS_USM_DEVICE) assert_ptr_equal(mapped, (char *)p[0].pointer + at[0]);
    assert_int_equal(mapped->sum, 1);
    CHECK_CL(clEnqueueUnmapMemObject(f->queue, p[0].buffer, (void *)mapped, 0, NULL, NULL));
    for (uint32_t i = 0; i < REGIONS; i++) {
        clumpi_pointers_release(f->clump, f->queue, &p[i]);
        assert_null(p[i].pointer);
    }
    chain_close(&c);
}

static const clump_pointers kinds[] = {CLUMP_POINTERS_SVM, CLUMP_POINTERS_USM_DEVICE,
                                       CLUMP_POINTERS_USM_HOST, CLUMP_POINTERS_USM_SHARED};

static void two_views(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!(f->capabilities->pointers & kinds[i])) continue;
        print_message("%s\n", clumpi_pointers_name(kinds[i]));
        views(kinds[i]);
    }
}

static void refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        clumpi_pointers p;
        clump_error error;
        const int is_there = (f->capabilities->pointers & kinds[i]) != 0;
        clump_status status = clumpi_pointers_create(
            f->clump, kinds[i], is_there ? UINT64_C(1) << 60 : BYTES, f->queue, &p, &error);
        if (is_there)
            assert_true(status == CLUMP_ERR_DEVICE_MEMORY || status == CLUMP_ERR_CL);
        else
            cl_fixture_expect_words(&error, status, CLUMP_ERR_UNSUPPORTED,
                                    clumpi_pointers_name(kinds[i]), "clumpi_pointers_create",
                                    __LINE__);
        assert_null(p.pointer);
        assert_null(p.buffer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices),
        cmocka_unit_test(two_views),
        cmocka_unit_test(refusals),
    };
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
