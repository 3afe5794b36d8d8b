"""Programs and kernels."""
import contextlib

import numpy as np
import pyopencl as cl
import pyopencl.array

from ._context import owned
from ._errors import Error
from ._library import ffi, lib
from ._values import c_text, pointer, sized


class Program:
    """OpenCL C, compiled with the schema of a heap. Runs on any heap of an equal layout.

    options: build options. name: the name of the source in messages. checked: each access verifies its reference. strict: warnings are
    errors. reproducible: float arithmetic produces the same bits on each device (docs/guide/reproducible.md)."""

    def __init__(self, heap, source, options="", name="program.cl", checked=False, strict=False, reproducible=False):
        texts = [ffi.new("char[]", c_text(what, text)) for what, text in (("source", source), ("options", options), ("name", name))]
        desc = sized("clump_program_desc *", {"heap": heap._object, "source": texts[0], "options": texts[1], "name": texts[2],
                                              "checked": checked, "strict": strict, "reproducible": reproducible})
        made = ffi.new("clump_program **")
        self._context = heap._context
        self._context._call(lib.clump_program_create, desc, made, ffi.NULL)
        self._object = owned(made[0], lib.clump_program_destroy, [self._context._lock])

    @property
    def log(self):
        """The compiler's log."""
        return ffi.string(lib.clump_program_get_info(self._object).log).decode(errors="replace")

    @property
    def source(self):
        """The complete text for the compiler. Use it for kernels that the caller builds with PyOpenCL and enqueues (Heap.set_kernel)."""
        return ffi.string(lib.clump_program_get_info(self._object).source).decode()

    @property
    def options(self):
        """The build options for `source`."""
        return ffi.string(lib.clump_program_get_info(self._object).options).decode()

    def kernel(self, name):
        return Kernel(self, name)


class Kernel:
    """A kernel. set_args() sets its parameters for all launches without parameters. Parameters of a launch hold for that launch."""

    def __init__(self, program, name):
        made = ffi.new("clump_kernel **")
        self._context = program._context
        self._context._call(lib.clump_kernel_create, program._object, c_text("the kernel's name", name), made, ffi.NULL)
        self._take(made[0], name)

    def _take(self, made, name, parts=()):
        self.name = name
        self._object = owned(made, lib.clump_kernel_destroy, [self._context._lock], *(part._object for part in parts))
        self._parts = parts  # their parameters, too
        self._kept = {}  # of each parameter that is set: its buffer, or None

    def fuse(self, *others):
        """One kernel that does the work of this kernel and the others, one after the other, in one launch (clump/fuse.h). Each launch
        uses the parameters that set_args() set in them."""
        parts, made = (self, *others), ffi.new("clump_kernel **")
        self._context._call(lib.clump_kernel_create_fused, ffi.new("clump_kernel *[]", [part._object for part in parts]), len(parts), made, ffi.NULL)
        fused = Kernel.__new__(Kernel)
        fused._context = self._context
        fused._take(made[0], ", ".join(part.name for part in parts), parts)
        return fused

    def set_args(self, *values):
        """Sets all parameters after the heap: NumPy scalars, buffers and arrays of PyOpenCL, pyopencl.LocalMemory. The kernel keeps
        them."""
        count = lib.clump_kernel_get_arg_count(self._object)
        if len(values) != count and not self._parts:  # a fused one has none, and the library says which have
            raise Error("CLUMP_ERR_USAGE", f"kernel {self.name} has {count} parameters after its heap, but {len(values)} were passed")
        self._forget()
        for index, value in enumerate(values):
            self.set_arg(index, value)
        return self

    def set_arg(self, index, value):
        kept = None
        if isinstance(value, cl.LocalMemory):
            size, bytes_ = value.size, ffi.NULL
        else:
            if isinstance(value, cl.array.Array):
                if not value.flags.c_contiguous:
                    raise Error("CLUMP_ERR_USAGE", f"parameter {index} of {self.name}: the kernel would ignore the strides {value.strides} of this "
                                "array. Pass a contiguous array, or its base_data")
                value = value.data  # raises for an array that does not begin where its buffer does
            if isinstance(value, cl.MemoryObjectHolder):
                kept, bytes_ = value, ffi.buffer(ffi.new("cl_mem *", pointer("cl_mem", value)))[:]
            elif isinstance(value, np.generic) and value.dtype.kind in "biufcV" and not value.dtype.hasobject:
                bytes_ = value.tobytes()
            else:
                raise TypeError(f"parameter {index} of {self.name} is a {type(value).__name__}, but must be a NumPy scalar such as "
                                "numpy.float32(1), a buffer or array of PyOpenCL, or pyopencl.LocalMemory")
            size = len(bytes_)
        self._context._call(lib.clump_kernel_set_arg, self._object, index, size, bytes_)
        self._kept[index] = kept

    def _forget(self):
        """Forgets all parameters. OpenCL keeps the memory of buffers, so it gets null instead."""
        for index, kept in self._kept.items():
            if isinstance(kept, cl.Buffer):
                self._context._call(lib.clump_kernel_set_arg, self._object, index, ffi.sizeof("cl_mem"), ffi.new("cl_mem *"))
        self._kept = {}

    def _check_args(self):
        for part in self._parts:
            part._check_args()
        count = lib.clump_kernel_get_arg_count(self._object)
        missing = [str(index) for index in range(count) if index not in self._kept]
        if missing:
            raise Error("CLUMP_ERR_USAGE", f"these parameters of kernel {self.name} are not set: {', '.join(missing)}, counted from 0. Pass "
                        f"all {count} to the launch, or to set_args() before it")

    @contextlib.contextmanager
    def _with_args(self, values):
        """For a launch."""
        try:
            if values:
                self.set_args(*values)
            self._check_args()
            yield self._object
        finally:
            if values:  # they were for this launch
                self._forget()
