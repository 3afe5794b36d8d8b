/* OpenCL entry points and an allocator that count, and fail when they are told to.
 *
 * A test of faults makes one run of a scenario for each call: in run n the n-th call returns an
 * error without doing anything (or all calls from the n-th on do), or the n-th request for host
 * memory is refused. At the end of every run nothing may be left.
 *
 * Read first: cl_fixture.h.
 */
#ifndef FAILING_H
#define FAILING_H

#include "cl_fixture.h"

enum {
    FAILING_CONTEXT,
    FAILING_QUEUE,
    FAILING_BUFFER,
    FAILING_PROGRAM,
    FAILING_KERNEL,
    FAILING_EVENT,
    FAILING_POINTER, /* memory with a pointer: SVM, USM */
    FAILING_KINDS
};

/* An object whose release was made to fail: the test releases it in the library's place. */
typedef struct leftover {
    int kind;
    void *object;
} leftover;

typedef struct failing_state {
    uint64_t calls, fail_at; /* OpenCL calls so far; the one to fail, from 1; 0: none */
    int persistent;          /* all later ones fail too */
    cl_int code;
    const char *struck; /* the call that was made to fail first */
    uint64_t requests, refuse_at;
    int refused;
    _Atomic long blocks; /* of host memory, live; a device may free some on a thread of its own */
    long live[FAILING_KINDS]; /* references held */
    leftover left[128];       /* of a persistent failure: one for every object of the scenario */
    unsigned left_count;
    void *pointers[16]; /* live memory with a pointer, and what kind it is of */
    int is_svm[16];
} failing_state;
extern failing_state failing; /* set it to zeros and say what is to fail, before each run */

extern const clump_cl_functions failing_cl;
/* What answers questions about the device, when they are not made to fail. */
extern cl_int(CL_API_CALL *failing_device_info)(cl_device_id, cl_device_info, size_t, void *,
                                                size_t *);
extern const clump_allocator failing_allocator;

/* A context on the fixture's queue that calls both of these. */
clump_status failing_context(const cl_fixture *on, clump_context **context, clump_error *error);

/* A scenario: returns 1 if the failure came to pass in it. */
typedef int failing_scenario(const cl_fixture *on);

/* Run it with the first OpenCL call made to fail, then with the second, until there is no call left
 * to fail; prints how many there were. Returns that number and 1. In a short run
 * each fourth call, and each ninth if the code is not CL_OUT_OF_RESOURCES, or less often:
 * cl_fixture_each(). These are the same calls once more. */
uint64_t failing_strike_all(failing_scenario *run, const cl_fixture *on, cl_int code,
                            int persistent);

/* The same for requests of host memory: each one, or cl_fixture_each(1). */
uint64_t failing_refuse_all(failing_scenario *run, const cl_fixture *on);

/* The device for one such test, which is skipped without what it needs; and its end. */
cl_fixture failing_open(int out_of_order);
void failing_close(cl_fixture *on);

/* On a device of its own: failing_strike_all(), which must have made `least` calls fail; and the
 * same for requests. */
void failing_strike_device(failing_scenario *run, int out_of_order, cl_int code, int persistent,
                           uint64_t least);
void failing_refuse_device(failing_scenario *run, uint64_t least);

/* What all scenarios of a part are tried with: each call fails, in order and out of order; all
 * calls do from each on; each request for host memory is refused. A scenario has 200 calls and 20
 * requests or more. As elements of an array of tests, given the address of one of these: */
typedef struct failing_part {
    failing_scenario *run;
    void (*begin)(void); /* before each of these tests; NULL: nothing */
} failing_part;
#define FAILING_TESTS(part)                                                                        \
    cmocka_unit_test_prestate(failing_calls, part), cmocka_unit_test_prestate(failing_lost, part), \
        cmocka_unit_test_prestate(failing_calls_out_of_order, part),                               \
        cmocka_unit_test_prestate(failing_requests, part)
void failing_calls(void **part);
void failing_calls_out_of_order(void **part);
void failing_lost(void **part);
void failing_requests(void **part);

/* Has the call or the request come that is made to fail? */
int failing_hit(void);
/* Need the library not fail because of it? So it is with releases. */
int failing_may_be_ignored(void);
/* What a step says that failed: that the call or the request did, unless all have failed since. */
void failing_check_words(const clump_error *error, const char *step, clump_status status);

/* Release what was made to stay by failed releases; fail the test if there is more. */
void failing_check_nothing_left(void);

/* Programs are kept from run to run; let them go. */
void failing_forget_programs(void);

#endif
