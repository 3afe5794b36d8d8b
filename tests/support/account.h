/* What the library holds of a context's: bytes and blocks of host memory, bytes of OpenCL buffers,
 * and references to OpenCL objects of each kind, counted where the library asks for them.
 *
 * A context gets `account_cl` and account_allocator(). OpenCL entry points have no user pointer, so
 * each thread says whose account its calls are for.
 *
 * Read first: include/clump/cl_functions.h, include/clump/allocator.h.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <pthread.h>

#include "cl_fixture.h"

typedef enum account_kind {
    ACCOUNT_CONTEXT,
    ACCOUNT_QUEUE,
    ACCOUNT_BUFFER, /* sub-buffers are counted, too */
    ACCOUNT_PROGRAM,
    ACCOUNT_KERNEL,
    ACCOUNT_EVENT,
    ACCOUNT_KINDS
} account_kind;

typedef struct account_sums {
    uint64_t host_bytes, host_blocks; /* asked of the allocator */
    uint64_t device_bytes;            /* of buffers that the library created */
    int64_t references[ACCOUNT_KINDS];
} account_sums;

enum { ACCOUNT_BUFFERS_MAX = 4096 };

typedef struct account {
    pthread_mutex_t lock;
    account_sums now;
    uint32_t count;
    struct {
        cl_mem buffer; /* made by the library */
        uint64_t bytes, references;
    } buffers[ACCOUNT_BUFFERS_MAX]; /* count of them */
} account;

void account_open(account *a);
void account_close(account *a);

/* Calls of this thread are for `a` from now on. */
void account_use(account *a);

/* The caller got an object of the library's, and has released it. */
void account_released(account *a, account_kind kind);

account_sums account_read(account *a);

const char *account_kind_name(account_kind kind);

clump_allocator account_allocator(account *a);
extern const clump_cl_functions account_cl;

uint64_t account_of_process(
    void); /* resident bytes, the OpenCL implementation's too; 0: not known */

#endif
