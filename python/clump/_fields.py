"""The place of a field, and its values as arrays of NumPy and PyOpenCL."""
import operator
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array
import pyopencl.cltypes

from ._errors import Error
from ._library import ffi, lib
from ._values import c_text, fitting, sized

SCALARS = {"bool": np.bool_, "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
           "uint": np.uint32, "long": np.int64, "ulong": np.uint64, "float": np.float32, "double": np.float64, "ref": np.uint32}
SCANS = ("pyopencl.scan", "pyopencl.algorithm")


class Within(cl.array.Array):
    """An array that begins later than its buffer, or has gaps between its values. PyOpenCL's scans (all versions to
    2026.1) assume that both begin together, so they do not get the buffer."""

    @property
    def base_data(self):
        if (self.offset or not self.flags.c_contiguous) and sys._getframe(1).f_globals.get("__name__") in SCANS:
            raise Error("CLUMP_ERR_USAGE", "PyOpenCL's scans (cumsum, copy_if, unique, sort) ignore where this array begins within the heap's "
                        "buffer. Use Heap.array(..., copy=True)")
        return self._base_data

    @base_data.setter
    def base_data(self, data):
        self._base_data = data


class Field:
    """A field of a class, its own or inherited.

    dtype: the type of a component. vector: () or (stored components,). A 3-vector is stored with four. array_dtype: the type of an
    element in an array of PyOpenCL, a vector type for vectors."""

    def __init__(self, heap, class_name, name):
        self.heap, self.class_name, self.name = heap, c_text("class_name", class_name), c_text("field", name)
        schema = lib.clump_heap_get_info(heap._object).schema
        owner = lib.clump_schema_find_class(schema, self.class_name)
        if not owner:
            raise Error("CLUMP_ERR_NOT_FOUND", f'the heap has no class "{class_name}". It has {", ".join(heap.classes)}')
        found = lib.clump_schema_find_field(schema, owner.id, self.name)
        if not found:
            raise Error("CLUMP_ERR_NOT_FOUND",
                        f'class {class_name} has no field "{name}". It has {", ".join(heap.classes[class_name])}')
        self.info = ffi.new("clump_field_info *", found[0])  # after convert() the schema is another one
        self.count, self.width = found.count, found.width
        self.scalar = ffi.string(found.type_name).decode().rstrip("0123456789")
        self.dtype = np.dtype(SCALARS[self.scalar])
        self.vector = () if self.width == 1 else (4 if self.width == 3 else self.width,)
        self.array_dtype = self.dtype if self.width == 1 else getattr(cl.cltypes, f"{self.scalar}{self.width}")
        self.device_type = {"bool": "uchar", "ref": "uint"}.get(self.scalar, self.scalar)
        if self.width > 1:
            self.device_type += str(self.width)
        self.device_value = ".id" if self.scalar == "ref" else ""

    @property
    def struct_dtype(self):
        """The type of the field within a struct. A 3-vector has four components there."""
        return np.dtype((self.dtype, ((self.count,) if self.count else ()) + self.vector))

    def check_index(self, index):
        index = operator.index(index)
        if not 0 <= index < max(self.count, 1):
            raise Error("CLUMP_ERR_USAGE", f"field {self.name.decode()} has {max(self.count, 1)} elements, so element {index} does not exist")
        return index

    def to_user(self, values):
        """(elements, objects[, components]) as read_field() returns it."""
        if self.width == 3:
            values = values[..., :3]
        return np.swapaxes(values, 0, 1) if self.count else values[0]

    def to_heap(self, values, count):
        """The opposite of to_user()."""
        shape = (count,) + ((self.count,) if self.count else ()) + ((self.width,) if self.width > 1 else ())
        given = fitting(f"{self.class_name.decode()}.{self.name.decode()}", values, self.scalar, self.dtype)
        try:
            given = np.broadcast_to(given, shape)
        except ValueError:
            raise Error("CLUMP_ERR_USAGE", f"the values for {self.class_name.decode()}.{self.name.decode()} have shape {given.shape}, but must "
                        f"have {shape}") from None
        stored = np.zeros((max(self.count, 1), count) + self.vector, self.dtype)
        parts = np.swapaxes(given, 0, 1) if self.count else given[np.newaxis]
        (stored[..., :3] if self.width == 3 else stored)[...] = parts
        return stored

    def view(self, refs, index, granule_bytes, packed):
        """An Array of the heap's memory, if all values are at equal distances, or else None. With `packed` also None, unless the values
        follow each other without gaps and begin where a sub-buffer can begin. schema.h describes the place of an object's value."""
        info = self.info
        offsets = (refs >> 6).astype(np.int64) * granule_bytes + info.base_bytes + (refs & 63).astype(np.int64) * info.stride_bytes
        offsets += index * info.step_bytes
        steps = np.unique(np.diff(offsets))
        if len(refs) == 0 or len(steps) > 1 or (len(steps) and steps[0] <= 0):
            return None
        step = int(steps[0]) if len(steps) else self.array_dtype.itemsize
        buffer, start, item = self.heap.buffer, int(offsets[0]), self.array_dtype.itemsize
        alignment = self.heap.queue.device.mem_base_addr_align // 8
        if step == item and start % alignment == 0 and buffer.associated_memobject is None:
            return cl.array.Array(self.heap.queue, (len(refs),), self.array_dtype, data=buffer[start:start + len(refs) * item])
        if packed:
            return None
        return Within(self.heap.queue, (len(refs),), self.array_dtype, data=buffer, offset=start, strides=(step,))


def struct_array(given):
    structs = np.asarray(given)
    if not structs.dtype.names or structs.ndim != 1:
        raise Error("CLUMP_ERR_USAGE", f"the array has type {structs.dtype} and shape {structs.shape}, but must have structs and one axis, "
                    "as read_structs() returns it")
    return np.ascontiguousarray(structs)


def struct_desc(heap, class_name, dtype):
    """A clump_struct_desc of a structured dtype, and the objects that keep it alive."""
    fields = ffi.new("clump_struct_field[]", len(dtype.names or ()))
    name, names = ffi.new("char[]", c_text("class_name", class_name)), []
    for i, field in enumerate(dtype.names or ()):
        wanted = Field(heap, class_name, field).struct_dtype
        given, offset = dtype.fields[field][:2]
        if given != wanted:
            raise Error("CLUMP_ERR_USAGE", f"{class_name}.{field} is {given} in the structs, but must be {wanted}")
        names.append(ffi.new("char[]", c_text("field", field)))
        fields[i].name, fields[i].offset = names[i], offset
    desc = sized("clump_struct_desc *", {"class_name": name, "bytes": dtype.itemsize, "field_count": len(names), "fields": fields})
    return desc, [name, names, fields]
