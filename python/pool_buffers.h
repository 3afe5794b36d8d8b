/* Buffers of a pool that belong to somebody else: sub-buffers which note in a list that their last reference has gone. For _pool.py.
 *
 * The list lives as long as the pool's owner and all buffers hold it. Any thread may put an allocation into it; one takes them out.
 */
#include <clump/clump.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct pool_note {
    struct pool_note *next;
    struct pool_returned *list;
    clump_allocation allocation;
} pool_note;

typedef struct pool_returned {
    _Atomic(pool_note *) arrived; /* the last one first */
    pool_note *taken;             /* of the one who takes */
    atomic_uint holders;
} pool_returned;

static pool_returned *pool_returned_create(void) {
    pool_returned *list = (pool_returned *)calloc(1, sizeof *list);
    if (list) atomic_init(&list->holders, 1);
    return list;
}

static void pool_notes_free(pool_note *note) {
    while (note) {
        pool_note *next = note->next;
        free(note);
        note = next;
    }
}

static void pool_returned_release(pool_returned *list) {
    if (atomic_fetch_sub(&list->holders, 1) != 1) return;
    pool_notes_free(atomic_load(&list->arrived));
    pool_notes_free(list->taken);
    free(list);
}

static void CL_CALLBACK pool_buffer_gone(cl_mem buffer, void *user) {
    pool_note *note = (pool_note *)user;
    pool_returned *list = note->list;
    (void)buffer;
    note->next = atomic_load(&list->arrived);
    while (!atomic_compare_exchange_weak(&list->arrived, &note->next, note)) {
    }
    pool_returned_release(list);
}

/* The next allocation whose buffer is gone; returns 0 if there is none. */
static int pool_returned_take(pool_returned *list, clump_allocation *allocation) {
    pool_note *note;
    if (!list->taken) list->taken = atomic_exchange(&list->arrived, NULL);
    note = list->taken;
    if (!note) return 0;
    list->taken = note->next;
    *allocation = note->allocation;
    free(note);
    return 1;
}

/* A sub-buffer on an allocation's region, which the caller owns. NULL on failure, with OpenCL's code. */
static cl_mem pool_buffer(const clump_region *region, clump_allocation allocation,
                          pool_returned *list, int32_t *code) {
    cl_buffer_region part = {(size_t)region->offset, (size_t)region->bytes};
    pool_note *note = (pool_note *)malloc(sizeof *note);
    cl_mem buffer;
    cl_int error = CL_OUT_OF_HOST_MEMORY;
    *code = error;
    if (!note) return NULL;
    buffer = clCreateSubBuffer(region->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                               &part, &error);
    if (buffer) {
        note->list = list;
        note->allocation = allocation;
        atomic_fetch_add(&list->holders, 1);
        error = clSetMemObjectDestructorCallback(buffer, pool_buffer_gone, note);
        if (!error) return buffer;
        atomic_fetch_sub(&list->holders, 1);
        clReleaseMemObject(buffer);
    }
    free(note);
    *code = error;
    return NULL;
}
