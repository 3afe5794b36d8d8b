"""Buffers of tinygrad from a pool. Copy this file, or parts of it.

    pool = clump_tinygrad.use_pool()            # before the work on device CL
    (Tensor.rand(1000, device="CL") * 2).realize()

tinygrad's own allocator keeps each freed buffer for the next request of exactly its size. The pool can use its
region for any request, as soon as the commands that use it are done. Written for tinygrad 0.14, whose device classes
are not a stable interface.
"""
import ctypes

import clump
import pyopencl
from tinygrad import Device
from tinygrad.runtime.ops_cl import CLAllocator, cl


def address(handle):
    return ctypes.cast(handle, ctypes.c_void_p).value


class PoolAllocator(CLAllocator):
    def __init__(self, device, pool):
        super().__init__(device)
        self.pool = pool

    def alloc(self, size, options=None):
        try:
            buffer = self.pool.create_buffer(size)
        except clump.Error as error:
            raise MemoryError(str(error)) from error
        handle = ctypes.cast(buffer.int_ptr, cl.cl_mem)
        cl.clRetainMemObject(handle)  # tinygrad's; PyOpenCL's ends here
        return handle

    def free(self, opaque, size, options=None):
        self._free(opaque, options)  # the last reference: the region returns to the pool

    def free_cache(self):
        self.pool.trim()


def use_pool(device="CL", **options):
    """The device's buffers are out of a new pool from now on. `options`: those of clump.Pool. Returns the pool."""
    opened = Device[device]
    queue = pyopencl.CommandQueue.from_int_ptr(address(opened.queue), retain=True)
    pool = clump.Pool(queue, **options)
    opened.allocator.free_cache()
    opened.allocator = PoolAllocator(opened, pool)
    return pool
