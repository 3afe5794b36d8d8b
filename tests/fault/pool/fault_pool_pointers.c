/* Pools of memory with pointers: every OpenCL call and every request for host memory made to fail,
 * with views over USM and without. A step that fails says why, leaves the pool right, and succeeds
 * when it is tried again; at the end nothing is left.
 *
 * If all calls fail from some point on, nothing can be waited for: memory that commands may use
 * then stays the device's.
 *
 * Read first: include/clump/pool.h, failing.h, usm.h. */
#include <string.h>

#include "failing.h"
#include "usm.h"

enum { KINDS = CLUMP_MEMORY_COUNT - CLUMP_MEMORY_SVM };

typedef struct run {
    cl_fixture on;
    clump_context *context;
    clump_pool *pool;
    clump_allocation made[2 * KINDS]; /* the second one of each is unique */
    clump_region regions[2 * KINDS];
    void *mapped[2 * KINDS];
    clump_error error;
} run;

static cl_mem CL_API_CALL refuse_view(cl_context context, cl_mem_flags flags, size_t bytes,
                                      void *memory, cl_int *code);
static clump_cl_functions table = {
    .size =
        sizeof table}; /* failing_cl, and with refuse_view() if devices are to make no views of USM */

static cl_mem CL_API_CALL refuse_view(cl_context context, cl_mem_flags flags, size_t bytes,
                                      void *memory, cl_int *code) {
    if (!memory) return failing_cl.CreateBuffer(context, flags, bytes, memory, code);
    *code = CL_INVALID_HOST_PTR;
    return NULL;
}

static clump_status step_context(run *r) {
    clump_context_desc desc = {.size = sizeof desc,
                               .context = r->on.context,
                               .device = r->on.device,
                               .queue = r->on.queue,
                               .allocator = failing_allocator,
                               .cl = &table};
    return clump_context_create(&desc, &r->context, &r->error);
}

static clump_status step_pool(run *r) {
    clump_pool_desc desc = {
        .size = sizeof desc, .context = r->context, .chunk_bytes = 64 << 10, .margin_bytes = 64};
    return clump_pool_create(&desc, &r->pool, &r->error);
}

static int is_there(const run *r, int i) {
    const uint32_t bits = clump_context_get_info(r->context)->capabilities->pointers;
    if (i / 2 == 0 && table.CreateBuffer == refuse_view) return 0; /* SVM needs one */
    return (bits >> (i / 2) & 1) != 0;
}

static clump_status step_alloc(run *r) {
    for (int i = 0; i < 2 * KINDS; i++) {
        clump_allocation_desc desc = {.size = sizeof desc,
                                      .bytes = 1000,
                                      .memory = (clump_memory)(CLUMP_MEMORY_SVM + i / 2),
                                      .unique = i & 1,
                                      .name = "with a pointer"};
        if (r->made[i] || !is_there(r, i)) continue;
        clump_status status = clump_pool_alloc(r->pool, &desc, &r->made[i], &r->regions[i]);
        assert_int_equal(r->made[i] != 0, !status);
        assert_int_equal(r->regions[i].pointer != NULL, !status);
        if (status) return status;
    }
    return CLUMP_OK;
}

static clump_status step_buffer(run *r) {
    cl_mem buffer;
    for (int i = 0; i < 2 * KINDS; i++) {
        if (!r->made[i] || !r->regions[i].buffer) continue;
        clump_status status = clump_pool_get_buffer(r->pool, r->made[i], &buffer);
        if (status) return status;
    }
    return CLUMP_OK;
}

static clump_status step_map(run *r) {
    for (int i = 0; i < 2 * KINDS; i++) {
        if (!r->made[i] || r->mapped[i]) continue;
        if (!r->regions[i].buffer && i / 2 == CLUMP_MEMORY_USM_DEVICE - CLUMP_MEMORY_SVM) continue;
        clump_status status =
            clump_pool_map(r->pool, r->made[i], CL_MAP_READ | CL_MAP_WRITE, &r->mapped[i]);
        if (status) return status;
        memset(r->mapped[i], i, 1000);
    }
    return CLUMP_OK;
}

static clump_status step_unmap(run *r) {
    for (int i = 0; i < 2 * KINDS; i++) {
        if (!r->mapped[i]) continue;
        clump_status status = clump_pool_unmap(r->pool, r->made[i], r->mapped[i], NULL);
        if (status) return status;
        r->mapped[i] = NULL;
    }
    return CLUMP_OK;
}

static clump_status step_check(run *r) {
    return clump_pool_check(r->pool);
}

static clump_status step_free(run *r) {
    for (int i = 0; i < 2 * KINDS; i++) {
        clump_status status = clump_pool_free(r->pool, r->made[i]);
        if (status) return status;
        r->made[i] = 0;
    }
    return clump_pool_trim(r->pool);
}

static const struct {
    const char *name;
    clump_status (*call)(run *r);
} steps[] = {
#define FAULT_STEP(name) {#name, step_##name},
    FAULT_STEP(context) FAULT_STEP(pool) FAULT_STEP(alloc) FAULT_STEP(buffer) FAULT_STEP(map)
        FAULT_STEP(unmap) FAULT_STEP(check) FAULT_STEP(free)
#undef FAULT_STEP
};
#define FAULT_STEPS (sizeof steps / sizeof *steps)

/* Failures that a step may live through: of what gives back; of memory that is asked for again, or
 * in smaller pieces. */
static int may_be_ignored(clump_status (*step)(run *r)) {
    if (failing.refused) return step == step_alloc || step == step_free;
    if (step == step_alloc)
        return failing.code == CL_OUT_OF_RESOURCES || strcmp(failing.struck, "clSVMAlloc") == 0 ||
               failing_may_be_ignored();
    return (step == step_free && strcmp(failing.struck, "clFinish") == 0) ||
           failing_may_be_ignored();
}

static void check_failure(run *r, const char *step, clump_status status) {
    clump_error e = r->error;
    if (r->pool) clump_pool_get_error(r->pool, &e);
    failing_check_words(&e, step, status);
    if (failing.refused || failing.persistent) return;
    assert_non_null(e.call);
    assert_string_equal(e.call, failing.struck);
}

static int run_once(const cl_fixture *on) {
    run r = {.on = *on};
    for (size_t i = 0; i < FAULT_STEPS; i++) {
        const int hit_before = failing_hit();
        clump_status status = steps[i].call(&r);
        const int hit = failing_hit() && !hit_before;
        if (!status) {
            if (hit && !may_be_ignored(steps[i].call))
                fail_msg("step %s succeeds though %s failed", steps[i].name,
                         failing.struck ? failing.struck : "a request for memory");
            continue;
        }
        if (!hit && !failing.persistent) fail_msg("step %s fails late", steps[i].name);
        check_failure(&r, steps[i].name, status);
        if (failing.persistent) break;
        if (r.pool) assert_int_equal(clump_pool_check(r.pool), CLUMP_OK);
        status = steps[i].call(&r);
        if (status) {
            if (r.pool) clump_pool_get_error(r.pool, &r.error);
            fail_msg("step %s, second try: %s", steps[i].name, r.error.message);
        }
    }
    const int came = failing_hit();
    if (!came) assert_int_equal(failing.live[FAILING_POINTER], 0); /* before the end */
    clFinish(on->queue);
    clump_pool_destroy(r.pool);
    clump_context_destroy(r.context);
    clFinish(on->queue);
    failing_check_nothing_left();
    return came;
}

static cl_fixture open_device(int has_views) {
    cl_fixture on = failing_open(0);
    const usm_functions *usm = usm_of(on.device);
    if (!usm->has_usm) {
        print_message("skipped: the device has no memory with pointers\n");
        skip();
    }
    if (usm->cl.GetDeviceInfo) failing_device_info = usm->cl.GetDeviceInfo;
    table = failing_cl;
    if (!has_views) table.CreateBuffer = refuse_view;
    return on;
}

static void close_device(cl_fixture *on) {
    failing_device_info = clGetDeviceInfo;
    failing_close(on);
}

static void strike(int has_views, cl_int code, int persistent) {
    cl_fixture on = open_device(has_views);
    assert_true(failing_strike_all(run_once, &on, code, persistent) > 60);
    close_device(&on);
}

static void calls_fail(void **state) {
    strike(1, CL_INVALID_OPERATION, 0);
}
static void calls_fail_for_room(void **state) {
    strike(1, CL_OUT_OF_RESOURCES, 0);
}
static void calls_fail_for_good(void **state) {
    strike(1, CL_INVALID_OPERATION, 1);
}
static void calls_fail_without_views(void **state) {
    strike(0, CL_INVALID_OPERATION, 0);
}
static void requests_are_refused(void **state) {
    cl_fixture on = open_device(1);
    assert_true(failing_refuse_all(run_once, &on) > 15);
    close_device(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_fail),           cmocka_unit_test(calls_fail_for_room),
        cmocka_unit_test(calls_fail_for_good),  cmocka_unit_test(calls_fail_without_views),
        cmocka_unit_test(requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
