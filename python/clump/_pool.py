"""A pool of buffers, and an allocator for PyOpenCL on it."""
import threading

import pyopencl as cl

from ._context import context_of, owned, report_dict
from ._errors import Error, error_of
from ._library import ffi, lib
from ._values import pointer, sized


class Pool:
    """Many OpenCL buffers in few large ones.

    queue: a pyopencl.CommandQueue or a Context. chunk_bytes: the size of a large buffer, 0: automatic. limit_bytes: the most device
    memory in all, 0: no limit. The pool is thread-safe."""

    def __init__(self, queue, chunk_bytes=0, limit_bytes=0):
        self._context = context_of(queue)
        desc = sized("clump_pool_desc *", {"context": self._context._object, "chunk_bytes": chunk_bytes, "limit_bytes": limit_bytes})
        made, error = ffi.new("clump_pool **"), ffi.new("clump_error *")
        self._lock = threading.Lock()
        with self._context._lock:
            status = lib.clump_pool_create(desc, made, error)
        if status:
            raise error_of(error)
        self._object = owned(made[0], lib.clump_pool_destroy, [self._context._lock, self._lock])
        self._context._pools.add(self)
        self._wait_for_queues()

    def _wait_for_queues(self):
        """Buffers without a queue may be in use on each queue that the context had."""
        queues = self._context._queues[:]
        self._call(lib.clump_pool_set_queues, len(queues), [pointer("cl_command_queue", queue) for queue in queues])

    def _call(self, function, *arguments):
        with self._lock:
            if function(self._object, *arguments):
                error = ffi.new("clump_error *")
                lib.clump_pool_get_error(self._object, error)
                raise error_of(error)

    def create_buffer(self, bytes, queue=None):
        """A pyopencl.Buffer of the pool. When the last reference to it is gone, its memory can be used again as soon as the commands that
        `queue` has at that time are complete. The default is all queues that the pool's context had. A full pool waits for them once."""
        desc, buffer = sized("clump_allocation_desc *", {"bytes": bytes}), ffi.new("cl_mem *")
        queues = ffi.new("cl_command_queue[]", [pointer("cl_command_queue", queue)] if queue else 0)
        try:
            self._call(lib.clump_pool_create_buffer, desc, len(queues), queues, buffer)
        except Error as error:
            if error.status != "CLUMP_ERR_DEVICE_MEMORY":
                raise
            for used in [queue] if queue else self._context._queues[:]:
                used.finish()
            self._call(lib.clump_pool_create_buffer, desc, len(queues), queues, buffer)
        return cl.Buffer.from_int_ptr(int(ffi.cast("intptr_t", buffer[0])), retain=False)

    @property
    def stats(self):
        stats = sized("clump_pool_stats *")
        self._call(lib.clump_pool_get_stats, stats, ffi.NULL)
        return report_dict(stats)

    def trim(self):
        """Releases chunks that are empty."""
        self._call(lib.clump_pool_trim)

    def check(self):
        self._call(lib.clump_pool_check)


class PoolAllocator:
    """For arrays of PyOpenCL: pyopencl.array.zeros(queue, n, dtype, allocator=clump.PoolAllocator(pool)).

    queue: the queue on which the arrays are used. The default is each queue that the pool's context has or had (Context.queue). If other
    queues use an array, finish them before the last reference to it is gone."""

    def __init__(self, pool, queue=None):
        self.pool, self.queue = pool, queue

    def __call__(self, bytes):
        return self.pool.create_buffer(bytes, self.queue)
