"""A pool of buffers, and an allocator for PyOpenCL on it.

A buffer that Python gets is a sub-buffer with a destructor callback of OpenCL (pool_buffers.h): the callback may come from any thread, and
on some devices while commands still use the buffer. So it only notes the allocation in a list. The next call on the pool takes the list,
and gives each region back to the pool behind a marker."""
import threading

import pyopencl as cl

from ._context import context_of, destroy_at_end, pointer, report_dict
from ._errors import Error, error_of
from ._library import ffi, lib


class Pool:
    """Many OpenCL buffers in few large ones.

    queue: a pyopencl.CommandQueue or a Context. chunk_bytes: of a large buffer, 0: automatic. limit_bytes: of device memory in all,
    0: none. Any thread may call it at any time."""

    def __init__(self, queue, chunk_bytes=0, limit_bytes=0):
        self._context = context_of(queue)
        desc = ffi.new("clump_pool_desc *", {"context": self._context._object, "chunk_bytes": chunk_bytes, "limit_bytes": limit_bytes})
        made, error = ffi.new("clump_pool **"), ffi.new("clump_error *")
        self._returned = ffi.gc(lib.pool_returned_create(), lib.pool_returned_release)
        self._queues, self._lock = {}, threading.RLock()
        if self._returned == ffi.NULL:
            raise MemoryError
        with self._context._lock:
            status = lib.clump_pool_create(desc, made, error)
        if status:
            raise error_of(error)
        self._object = made[0]
        destroy_at_end(self, self._context._lock, lib.clump_pool_destroy, made[0])

    def _call(self, function, *arguments):
        with self._lock:
            if function(self._object, *arguments):
                error = ffi.new("clump_error *")
                lib.clump_pool_get_error(self._object, error)
                raise error_of(error)

    def alloc(self, bytes, queue=None):
        """A pyopencl.Buffer of the pool. When the last reference to it is gone, its memory is given out again as soon as the commands
        that `queue` has at that time are done; default: the pool's queue."""
        self._take_back()
        allocation, region, code = ffi.new("clump_allocation *"), ffi.new("clump_region *"), ffi.new("int32_t *")
        with self._lock:
            self._call(lib.clump_pool_alloc, ffi.new("clump_allocation_desc *", {"bytes": bytes}), allocation, region)
            self._queues[allocation[0]] = queue or self._context.queue
            memory = lib.pool_buffer(region, allocation[0], self._returned, code)
            if memory == ffi.NULL:
                del self._queues[allocation[0]]
                lib.clump_pool_free(self._object, allocation[0])
                raise Error("CLUMP_ERR_CL", f"clCreateSubBuffer failed with {code[0]}", cl_code=code[0])
        return cl.Buffer.from_int_ptr(int(ffi.cast("intptr_t", memory)), retain=False)

    def _take_back(self):
        """Commands that were enqueued before may still use the buffers that are gone: their regions wait for a marker."""
        with self._lock:
            markers, allocation = {}, ffi.new("clump_allocation *")
            while lib.pool_returned_take(self._returned, allocation):
                queue = self._queues.pop(allocation[0])
                if queue not in markers:
                    markers[queue] = cl.enqueue_marker(queue)
                self._call(lib.clump_pool_use, allocation[0], pointer("cl_event", markers[queue]))
                self._call(lib.clump_pool_free, allocation[0])

    def stats(self):
        self._take_back()
        stats = ffi.new("clump_pool_stats *")
        self._call(lib.clump_pool_get_stats, stats)
        return report_dict(stats)

    def trim(self):
        """Releases chunks that are empty."""
        self._take_back()
        self._call(lib.clump_pool_trim)

    def check(self):
        self._call(lib.clump_pool_check)


class PoolAllocator:
    """For arrays of PyOpenCL: pyopencl.array.zeros(queue, n, dtype, allocator=clump.PoolAllocator(pool)).

    queue: that on which the arrays are used; default: the pool's. Where several queues use an array, finish the others before the last
    reference to it goes."""

    def __init__(self, pool, queue=None):
        self.pool, self.queue = pool, queue

    def __call__(self, bytes):
        return self.pool.alloc(bytes, self.queue)
