/* The two functions with which oneDNN's graph interface allocates memory of an OpenCL device, here
 * from a pool. Copy this file, or parts of it.
 *
 *   clump_onednn_open(pool, queue, CLUMP_MEMORY_USM_DEVICE);
 *   dnnl_graph_ocl_interop_allocator_create(&allocator, clump_onednn_malloc, clump_onednn_free);
 *   ...                                      // everything that uses the allocator ends
 *   clump_onednn_close();
 *
 * oneDNN passes no pointer of the program to these functions, so variables of this file hold the
 * pool. Include the file in one source file, for one pool. oneDNN needs USM of the device
 * (CLUMP_MEMORY_USM_DEVICE). For other libraries with such functions any memory with pointers is
 * possible. Any thread may call the functions.
 */
#ifndef CLUMP_ADAPTER_ONEDNN_H
#define CLUMP_ADAPTER_ONEDNN_H

#include <clump/clump.h>
#include <clump/pool.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The allocation of a pointer. A search in the table of entries begins at the pointer's place and
 * ends at the first free entry. */
typedef struct clump_onednn_entry {
    void *pointer; /* NULL: free */
    clump_allocation allocation;
} clump_onednn_entry;

static struct {
    pthread_mutex_t lock;
    clump_pool *pool; /* NULL: not open */
    cl_device_id device;
    cl_context context;
    clump_memory memory;
    clump_onednn_entry *entries;
    size_t capacity, count; /* capacity: 0 or a power of two, more than twice the count */
} clump_onednn = {PTHREAD_MUTEX_INITIALIZER, NULL, NULL, NULL, CLUMP_MEMORY_SVM, NULL, 0, 0};

static inline size_t clump_onednn_place(const void *pointer, size_t capacity) {
    return (size_t)(((uint64_t)(uintptr_t)pointer * UINT64_C(0x9E3779B97F4A7C15)) >> 32) &
           (capacity - 1);
}

/* The place of the pointer, or the place for it. */
static inline clump_onednn_entry *clump_onednn_find(clump_onednn_entry *entries, size_t capacity,
                                                    const void *pointer) {
    size_t i = clump_onednn_place(pointer, capacity);
    while (entries[i].pointer && entries[i].pointer != pointer) i = (i + 1) & (capacity - 1);
    return &entries[i];
}

/* Makes room for one more entry. Returns 0 without host memory. */
static inline int clump_onednn_grow(void) {
    if (2 * (clump_onednn.count + 1) < clump_onednn.capacity) return 1;
    const size_t capacity = clump_onednn.capacity ? 2 * clump_onednn.capacity : 64;
    clump_onednn_entry *entries = (clump_onednn_entry *)calloc(capacity, sizeof *entries);
    if (!entries) return 0;
    for (size_t i = 0; i < clump_onednn.capacity; i++)
        if (clump_onednn.entries[i].pointer)
            *clump_onednn_find(entries, capacity, clump_onednn.entries[i].pointer) =
                clump_onednn.entries[i];
    free(clump_onednn.entries);
    clump_onednn.entries = entries;
    clump_onednn.capacity = capacity;
    return 1;
}

/* Removes an entry. Entries after it that were displaced by it move up. */
static inline void clump_onednn_remove(clump_onednn_entry *entry) {
    const size_t last = clump_onednn.capacity - 1;
    size_t hole = (size_t)(entry - clump_onednn.entries);
    for (size_t i = (hole + 1) & last; clump_onednn.entries[i].pointer; i = (i + 1) & last) {
        size_t home = clump_onednn_place(clump_onednn.entries[i].pointer, clump_onednn.capacity);
        if (((i - home) & last) < ((i - hole) & last)) continue; /* it is not past its home */
        clump_onednn.entries[hole] = clump_onednn.entries[i];
        hole = i;
    }
    clump_onednn.entries[hole].pointer = NULL;
    clump_onednn.count--;
}

/* From now on memory comes from the pool. Device and cl_context of the queue must be the pool's.
 * Returns an OpenCL code, CL_INVALID_OPERATION if it is open already. */
static inline cl_int clump_onednn_open(clump_pool *pool, cl_command_queue queue,
                                       clump_memory memory) {
    cl_device_id device = NULL;
    cl_context context = NULL;
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (!code) code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (code) return code;
    pthread_mutex_lock(&clump_onednn.lock);
    if (clump_onednn.pool) {
        code = CL_INVALID_OPERATION;
    } else {
        clump_onednn.pool = pool;
        clump_onednn.device = device;
        clump_onednn.context = context;
        clump_onednn.memory = memory;
    }
    pthread_mutex_unlock(&clump_onednn.lock);
    return code;
}

/* Call it before the pool is destroyed. Returns the number of pointers that were not freed, which
 * stay allocations of the pool. */
static inline size_t clump_onednn_close(void) {
    pthread_mutex_lock(&clump_onednn.lock);
    const size_t left = clump_onednn.count;
    free(clump_onednn.entries);
    clump_onednn.entries = NULL;
    clump_onednn.capacity = clump_onednn.count = 0;
    clump_onednn.pool = NULL;
    pthread_mutex_unlock(&clump_onednn.lock);
    return left;
}

/* `ocl_malloc`. Returns NULL for a device or cl_context other than the pool's, for an alignment
 * that is not a power of two, for 0 bytes, and if the pool has no room. clump_pool_get_error() has
 * the reason. */
static inline void *clump_onednn_malloc(size_t bytes, size_t alignment, cl_device_id device,
                                        cl_context context) {
    /* The pool guarantees 128. For more, allocate room to round up. */
    const size_t more = alignment > 128 ? alignment : 0;
    void *found = NULL;
    if (!bytes || (alignment & (alignment - 1)) || bytes > SIZE_MAX - more) return NULL;
    pthread_mutex_lock(&clump_onednn.lock);
    if (clump_onednn.pool && device == clump_onednn.device && context == clump_onednn.context &&
        clump_onednn_grow()) {
        clump_allocation allocation = 0;
        clump_region region;
        clump_allocation_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.size = sizeof desc;
        desc.bytes = bytes + more;
        desc.alignment = more ? 128 : alignment;
        desc.memory = clump_onednn.memory;
        desc.name = "oneDNN";
        if (!clump_pool_alloc(clump_onednn.pool, &desc, &allocation, &region)) {
            const uintptr_t at = (uintptr_t)region.pointer;
            found = (char *)region.pointer + (more ? (more - at % more) % more : 0);
            clump_onednn_entry *entry =
                clump_onednn_find(clump_onednn.entries, clump_onednn.capacity, found);
            entry->pointer = found;
            entry->allocation = allocation;
            clump_onednn.count++;
        }
    }
    pthread_mutex_unlock(&clump_onednn.lock);
    return found;
}

/* `ocl_free`. The pool reuses the memory when the event has completed. With NULL, commands of all
 * queues that use the memory must be done. A pointer that was freed or is not from
 * clump_onednn_malloc() is ignored. */
static inline void clump_onednn_free(void *memory, cl_device_id device, cl_context context,
                                     cl_event event) {
    (void)device;
    (void)context;
    if (!memory) return;
    pthread_mutex_lock(&clump_onednn.lock);
    clump_onednn_entry *entry =
        clump_onednn.capacity
            ? clump_onednn_find(clump_onednn.entries, clump_onednn.capacity, memory)
            : NULL;
    if (entry && entry->pointer) {
        const clump_allocation allocation = entry->allocation;
        if (event && clump_pool_use(clump_onednn.pool, allocation, event))
            clWaitForEvents(1, &event); /* no host memory to record it */
        clump_pool_free(clump_onednn.pool, allocation);
        clump_onednn_remove(entry);
    }
    pthread_mutex_unlock(&clump_onednn.lock);
}

#endif
