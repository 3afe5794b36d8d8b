"""Clump: a dynamic object heap for OpenCL programs, with PyOpenCL and NumPy.

    heap = clump.Heap(queue, "class Body { float x; }", bytes=64 << 20)
    program = clump.Program(heap, source)
    heap.do_new(program.kernel("init"), "Body", 1000)
    heap.do_all(program.kernel("move"), np.float32(0.5))
    x = heap.read_field("Body", "x")            # a NumPy array

Calls that fail raise clump.Error. The package is a thin layer: the headers of the C library describe each call, and README.md
has examples.
"""
from ._compact import Collector, Compactor
from ._context import Context
from ._errors import Error
from ._extract import Extract
from ._heap import Heap, Refs
from ._library import ffi as _ffi, lib as _lib
from ._pool import Pool, PoolAllocator
from ._program import Kernel, Program

__version__ = _ffi.string(_lib.CLUMP_VERSION_TEXT).decode()
__all__ = ["Collector", "Compactor", "Context", "Error", "Extract", "Heap", "Kernel", "Pool", "PoolAllocator", "Program", "Refs"]
