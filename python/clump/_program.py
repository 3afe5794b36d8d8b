"""Programs and kernels."""
import numpy as np
import pyopencl as cl
import pyopencl.array

from ._context import destroy_at_end, pointer
from ._library import ffi, lib


class Program:
    """OpenCL C, compiled with the schema of a heap. Runs on any heap of an equal layout.

    options: build options. name: what messages call the source. checked: each access verifies its reference. strict: warnings are
    errors."""

    def __init__(self, heap, source, options="", name="program.cl", checked=False, strict=False):
        texts = [ffi.new("char[]", text.encode()) for text in (source, options, name)]
        desc = ffi.new("clump_program_desc *", {"heap": heap._object, "source": texts[0], "options": texts[1], "name": texts[2],
                                                "checked": checked, "strict": strict})
        made = ffi.new("clump_program **")
        self._context = heap._context
        try:
            self._context._call(lib.clump_program_create, desc, made)
        finally:  # there is one after CLUMP_ERR_BUILD, too
            destroy_at_end(self, self._context._lock, lib.clump_program_destroy, made[0])
        self._object = made[0]

    @property
    def log(self):
        """What the compiler said."""
        return ffi.string(lib.clump_program_get_log(self._object)).decode(errors="replace")

    @property
    def source(self):
        """All that the compiler gets, for kernels that the caller builds with PyOpenCL and enqueues (Heap.set_kernel)."""
        return ffi.string(lib.clump_program_get_source(self._object)).decode()

    @property
    def options(self):
        """The options of the build that go with it."""
        return ffi.string(lib.clump_program_get_options(self._object)).decode()

    def kernel(self, name):
        return Kernel(self, name)


class Kernel:
    """A kernel. Its parameters are set by set_args(), or with the call that launches it."""

    def __init__(self, program, name):
        made = ffi.new("clump_kernel **")
        self._context = program._context
        self._context._call(lib.clump_kernel_create, program._object, name.encode(), made)
        self._take(made[0], name)

    def _take(self, made, name):
        self.name = name
        self._object = made
        self._kept = {}
        destroy_at_end(self, self._context._lock, lib.clump_kernel_destroy, made)

    def fuse(self, *others):
        """One kernel that does what this one and the others do one after the other, in one launch (clump/fuse.h). Each launch takes the
        parameters that they have then."""
        parts, made = (self, *others), ffi.new("clump_kernel **")
        self._context._call(lib.clump_kernel_create_fused, ffi.new("clump_kernel *[]", [part._object for part in parts]), len(parts), made)
        fused = Kernel.__new__(Kernel)
        fused._context = self._context
        fused._take(made[0], ", ".join(part.name for part in parts))
        fused._kept = {"parts": parts}  # their parameters, too
        return fused

    def set_args(self, *values):
        """All parameters after the heap: NumPy scalars, buffers and arrays of PyOpenCL, pyopencl.LocalMemory."""
        for index, value in enumerate(values):
            self.set_arg(index, value)
        return self

    def set_arg(self, index, value):
        if isinstance(value, cl.LocalMemory):
            self._context._call(lib.clump_kernel_set_arg, self._object, index, value.size, ffi.NULL)
            return
        if isinstance(value, cl.array.Array):
            value = value.data  # raises for an array that does not begin where its buffer does
        if isinstance(value, cl.MemoryObjectHolder):
            self._kept[index] = value
            bytes_ = ffi.buffer(ffi.new("cl_mem *", pointer("cl_mem", value)))[:]
        elif isinstance(value, np.generic):
            bytes_ = value.tobytes()
        else:
            raise TypeError(f"parameter {index} of {self.name}: {type(value).__name__}; it must be a NumPy scalar such as "
                            "numpy.float32(1), a buffer or array of PyOpenCL, or pyopencl.LocalMemory")
        self._context._call(lib.clump_kernel_set_arg, self._object, index, len(bytes_), bytes_)
