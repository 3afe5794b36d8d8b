"""Heaps: objects, launches, and fields as arrays."""
import json

import numpy as np
import pyopencl as cl
import pyopencl.array

from ._context import context_of, owned, report_dict
from ._errors import Error, error_of
from ._fields import Field
from ._library import ffi, lib
from ._program import Program
from ._values import c_names, c_path, c_text, pointer, refs_array, text_bytes

ORDERS = {"any": lib.CLUMP_ORDER_ANY, "address": lib.CLUMP_ORDER_ADDRESS, "field": lib.CLUMP_ORDER_FIELD}


def _schema(text):
    made, error = ffi.new("clump_schema **"), ffi.new("clump_error *")
    text = text_bytes("the schema", text)
    if lib.clump_schema_parse(text, len(text), ffi.NULL, made, error):
        raise error_of(error)
    return ffi.gc(made[0], lib.clump_schema_destroy)


@ffi.def_extern(error=-1)  # after an exception, which is printed
def python_write(pieces, data, bytes_):
    ffi.from_handle(pieces).append(ffi.buffer(data, bytes_)[:])
    return 0


class Heap:
    """Objects of the classes of a schema, in one OpenCL buffer, or in several.

    queue: a pyopencl.CommandQueue or a Context. bytes: of all its memory, or device_share: a share of the device's. block_rows: as
    in heap.h. pool: the heap's memory comes from it. buffer_bytes: of the largest buffer, so that a larger heap has several; 0: one, if
    the device gives one so large. evictable_bytes: how much more than its memory the heap may hold, by evict() and bring_back()."""

    def __init__(self, queue, schema, bytes=0, device_share=0.0, block_rows=0, pool=None, buffer_bytes=0, evictable_bytes=0):
        if pool and isinstance(queue, cl.CommandQueue) and queue != pool._context.queue:
            raise Error("CLUMP_ERR_USAGE", "the heap's queue is not that of the pool's clump.Context, on which the heap works; name this queue, "
                        "or a clump.Context of both")
        self._context = pool._context if pool and isinstance(queue, cl.CommandQueue) else context_of(queue)
        self._pool = pool
        schema = _schema(schema)
        desc = ffi.new("clump_heap_desc *", {"context": self._context._object, "schema": schema, "bytes": bytes,
                                             "device_share": device_share, "block_rows": block_rows,
                                             "buffer_bytes": buffer_bytes, "evictable_bytes": evictable_bytes,
                                             "pool": pool._object if pool else ffi.NULL})
        made = ffi.new("clump_heap **")
        self._context._call(lib.clump_heap_create, desc, made, ffi.NULL)
        self._object = owned(made[0], lib.clump_heap_destroy, [self._context._lock], *([pool._object] if pool else []))
        self._gathers = {}
        self._is_evictable = evictable_bytes > 0

    @property
    def queue(self):
        return self._context.queue

    @property
    def buffer(self):
        """The pyopencl.Buffer of the heap; of several, the first. After convert() it is another one."""
        return cl.Buffer.from_int_ptr(int(ffi.cast("intptr_t", lib.clump_heap_get_buffer(self._object))), retain=True)

    def set_kernel(self, kernel):
        """Makes a pyopencl.Kernel ready that the caller enqueues: the heap becomes its first parameter, and OpenCL is told of the heap's other
        buffers, if it has several. The kernel is built from Program.source, has no loop over objects, and keeps the heap until it is
        made ready for another. Call touch() after it made or freed objects."""
        self._context._call(lib.clump_heap_set_kernel, self._object, pointer("cl_kernel", kernel))

    def touch(self):
        """A kernel that the caller enqueued made or freed objects: the next loop lists them anew."""
        with self._context._lock:
            lib.clump_heap_touch(self._object)

    # ---- Launches: all return an event, and none waits, except reduce()

    def do_all(self, kernel, *args, wait_for=None):
        """Runs a kernel over all objects of the classes that its loops name."""
        with kernel._with_args(args) as object_:
            return self._context._launch(lib.clump_heap_do_all, self._object, object_, wait_for=wait_for)

    def do_new(self, class_name, count, kernel, *args, wait_for=None):
        """Makes objects, and runs the kernel once for each. Those that find no room are told by check_errors()."""
        name = c_text("class_name", class_name)
        with kernel._with_args(args) as object_:
            return self._context._launch(lib.clump_heap_do_new, self._object, object_, name, count, ffi.NULL, wait_for=wait_for)

    def launch(self, kernel, global_size, local_size, *args, wait_for=None):
        """Runs a kernel with work sizes of the caller's."""
        with kernel._with_args(args) as object_:
            return self._context._launch(lib.clump_heap_launch, self._object, object_, global_size, local_size, wait_for=wait_for)

    def reduce(self, kernel, dtype, *args, wait_for=None):
        """Runs a kernel that ends in CLUMP_REDUCE, and returns its result, a NumPy scalar of that type. Whether it is the type in the kernel
        is told by its size only."""
        if dtype is None or np.dtype(dtype).kind not in "biufV" or np.dtype(dtype).hasobject:
            raise TypeError(f"the type of a reduction is {dtype!r}; it must be one of a number, such as numpy.float32")
        result = np.zeros((), dtype)
        with kernel._with_args(args) as object_:
            self._context._launch(lib.clump_heap_reduce, self._object, object_, result.nbytes, ffi.from_buffer(result), wait_for=wait_for)
        return result[()]

    def check_errors(self):
        """Raises what kernels reported since the last call: out of memory, a double free, ..."""
        self._context._call(lib.clump_heap_take_errors, self._object, ffi.NULL)

    def check(self):
        """Verifies every invariant of the heap."""
        self._context._call(lib.clump_heap_check, self._object)

    # ---- Objects

    @property
    def classes(self):
        """The names of the fields of each class, those of its bases first."""
        schema, found = lib.clump_heap_get_schema(self._object), {}
        info, field = ffi.new("clump_class_info *"), ffi.new("clump_field_info *")
        for number in range(1, lib.clump_schema_get_class_count(schema) + 1):
            names, above = [], number
            lib.clump_schema_get_class(schema, number, info)
            name = ffi.string(info.name).decode()
            while above:
                lib.clump_schema_get_class(schema, above, info)
                own = []
                for index in range(info.field_count):
                    lib.clump_schema_get_field(schema, above, index, field)
                    own.append(ffi.string(field.name).decode())
                names, above = own + names, info.base
            found[name] = names
        return found

    def count(self, class_name):
        """Live objects of a class and its subclasses."""
        count = ffi.new("uint64_t *")
        self._context._call(lib.clump_heap_read_count, self._object, c_text("class_name", class_name), count)
        return count[0]

    def refs(self, class_name):
        """References of all of them, in the order of read()."""
        refs, count = np.zeros(self.count(class_name), np.uint32), ffi.new("uint64_t *")
        self._context._call(lib.clump_heap_read_refs, self._object, class_name.encode(), ffi.from_buffer("uint32_t[]", refs),
                            len(refs), count)
        return refs

    def read(self, class_name, field):
        """A field of all objects of a class and its subclasses, as a NumPy array: of shape (n,), with an axis more for an array
        field and one more for a vector. References are uint32, booleans bool."""
        f = Field(self, class_name, field)
        count = self.count(class_name)
        values = np.zeros((max(f.count, 1), count) + f.vector, f.dtype)
        for index in range(len(values)):
            part = ffi.from_buffer("char[]", values[index]) if values[index].size else ffi.NULL
            self._context._call(lib.clump_heap_read_field, self._object, f.class_name, f.name, index, f.info.element_bytes, part, count, ffi.NULL)
        return f.to_user(values)

    def write(self, class_name, field, values):
        """Writes the field of all objects: an array of the shape that read() has, or what NumPy broadcasts to it."""
        f = Field(self, class_name, field)
        count = self.count(class_name)
        stored = f.to_heap(values, count)
        for index in range(len(stored)):
            part = ffi.from_buffer("char[]", stored[index]) if stored[index].size else ffi.NULL
            self._context._call(lib.clump_heap_write_field, self._object, f.class_name, f.name, index, f.info.element_bytes, part, count)

    def array(self, class_name, field, index=0, copy=None):
        """A field of all objects as a pyopencl.array.Array, in the order of read(). `index`: the element of an array field.

        copy=None: the array is the heap's memory itself (a sub-buffer) if the values lie one after the other there, as those of a class
        with one field do, or of up to 64 objects that were made together, and begin where the device lets a sub-buffer begin; else a copy
        that the device makes. copy=False: never a copy; an offset within the heap's buffer and strides, if the values lie at equal
        distances, and else an Error. PyOpenCL's scans ignore both, so they raise one, too. copy=True: always a copy. Memory of the heap is
        right until objects of the class are made, freed or moved. A heap of several buffers, or with `evictable_bytes`, gives copies only."""
        f = Field(self, class_name, field)
        index = f.check_index(index)
        copy = None if copy is None else bool(copy)
        if not copy:
            layout = lib.clump_heap_get_layout(self._object)
            has_table = layout.buffer_blocks or self._is_evictable  # a reference alone does not tell where an object lies
            view = None if has_table else f.view(self.refs(class_name), index, layout.granule_bytes, packed=copy is None)
            if view is not None:
                return view
            if copy is False:
                why = ("the heap has several buffers, or memory that can be evicted" if has_table else
                       f"the objects of {class_name} do not lie at equal distances")
                raise Error("CLUMP_ERR_USAGE", f"{why}, so {field} is no array without a copy")
        return self._gather(f, index)

    def _gather(self, f, index):
        """A copy by a kernel."""
        key = (f.class_name, f.name)
        if key not in self._gathers:
            c, name = f.class_name.decode(), f.name.decode()
            at = ", element" if f.count else ""
            self._gathers[key] = Program(self, f"""
__kernel void gather(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global {f.device_type} *values, uint element) {{
    CLUMP_FOR_EACH_NUMBERED({c}, self, i) values[i] = {c}_{name}(self{at}){f.device_value};
}}""", name="gather.cl").kernel("gather")
        result = cl.array.empty(self.queue, self.count(f.class_name.decode()), f.array_dtype)
        if result.size:
            self.do_all(self._gathers[key], result, np.uint32(index))
        return result

    # ---- The heap as a whole

    def compact(self, classes=(), null_dangling=False, slack=0.0, max_moves=0, order="any", order_field=None):
        """Moves objects together, and rewrites the references to them. Returns the report as a dict."""
        names, kept = c_names("classes", classes)
        field = ffi.new("char[]", c_text("order_field", order_field)) if order_field is not None else ffi.NULL
        if order not in ORDERS:
            raise ValueError(f"order is {order!r}; it must be one of {', '.join(ORDERS)}")
        if order_field is not None and order != "field":
            raise ValueError(f'order_field is {order_field!r} and order {order!r}; it must be order="field"')
        desc = ffi.new("clump_compact_desc *", {"classes": names, "class_count": len(kept), "null_dangling": null_dangling,
                                                "slack": slack, "max_moves": max_moves, "order": ORDERS[order], "order_field": field})
        report = ffi.new("clump_compact_report *")
        self._context._call(lib.clump_heap_compact, self._object, desc, report, ffi.NULL)
        return report_dict(report)

    def collect(self, roots=(), root_classes=(), only_mark=False):
        """Frees the objects that no root leads to: registered buffers, `roots` (references) and all objects of `root_classes`. Returns
        the report as a dict."""
        names, kept = c_names("root_classes", root_classes)
        refs = refs_array("roots", roots)
        desc = ffi.new("clump_collect_desc *", {"roots": ffi.from_buffer("uint32_t[]", refs), "root_count": len(refs),
                                                "root_classes": names, "root_class_count": len(kept), "only_mark": only_mark})
        report = ffi.new("clump_collect_report *")
        self._context._call(lib.clump_heap_collect, self._object, desc, report, ffi.NULL)
        return report_dict(report)

    def convert(self, schema, bytes=0, block_rows=0):
        """Gives the heap another schema (clump/convert.h): fields are matched by name; those that are new are 0. References in fields and in
        registered buffers follow, others name nobody. Programs have to be made anew. bytes: of all its memory from then on, 0: as many as now.
        block_rows: as in heap.h. Returns the report as a dict."""
        schema, report = _schema(schema), ffi.new("clump_convert_report *")
        desc = ffi.new("clump_convert_desc *", {"schema": schema, "bytes": bytes, "block_rows": block_rows})
        self._context._call(lib.clump_heap_convert, self._object, desc, report)
        self._gathers.clear()  # programs for the old schema
        return report_dict(report)

    # ---- Out of core (clump/evict.h): of a heap with evictable_bytes

    def evict(self, class_name=None, blocks=0, age=0):
        """Objects leave the device's memory for the host's, by whole blocks: those of a class and its subclasses, or all. Their references stay
        valid; kernels must not use them, and count() and read() leave them out, until bring_back(). blocks: at most so many, the oldest first. age: only
        blocks in which nothing was made or freed in the last `age` calls of age_blocks(). Returns what left as a dict."""
        return self._move_blocks(lib.clump_heap_evict, class_name, None, blocks, age)

    def bring_back(self, class_name=None, refs=None, blocks=0):
        """Evicted objects come back, by whole blocks: those of a class and its subclasses, or the blocks that have the objects `refs`, or all.
        Either all of these come, or, where the memory has too little room, none. Returns what came as a dict."""
        return self._move_blocks(lib.clump_heap_bring_back, class_name, refs, blocks, 0)

    def _move_blocks(self, function, class_name, refs, blocks, age):
        name = ffi.new("char[]", c_text("class_name", class_name)) if class_name is not None else ffi.NULL
        desc, report = ffi.new("clump_evict_desc *", {"class_name": name, "blocks": blocks, "age": age}), ffi.new("clump_evict_report *")
        if refs is not None:
            refs = refs_array("refs", refs)
            desc.refs, desc.ref_count = ffi.from_buffer("uint32_t[]", refs), len(refs)
        self._context._call(function, self._object, desc, report)
        return report_dict(report)

    def age_blocks(self):
        """One turn passes for evict(age=...): blocks in which nothing was made or freed since the call before become older by one."""
        self._context._call(lib.clump_heap_age_blocks, self._object)

    def evicted(self):
        """What is evicted now, as a dict."""
        report = ffi.new("clump_evict_report *")
        self._context._call(lib.clump_heap_get_evicted, self._object, report)
        return report_dict(report)

    def register(self, buffer, count, offset=0, stride=0, weak=False, null_dangling=False):
        """References in a buffer of PyOpenCL become roots (or weak ones), and are rewritten when objects move, as long as the
        result lives."""
        return Registered(self, buffer, count, offset, stride, weak, null_dangling)

    def save(self, path, compact=False):
        """Saves the heap to a file. Returns the report as a dict."""
        name, report = ffi.new("char[]", c_path("path", path)), ffi.new("clump_save_report *")
        self._context._call(lib.clump_heap_save, self._object, ffi.new("clump_save_desc *", {"path": name, "compact": compact}), report)
        return report_dict(report)

    def load(self, path):
        """Loads a saved heap into this one, which has no objects. Returns the report as a dict."""
        name, report = ffi.new("char[]", c_path("path", path)), ffi.new("clump_load_report *")
        self._context._call(lib.clump_heap_load, self._object, ffi.new("clump_load_desc *", {"path": name}), report)
        return report_dict(report)

    def dump(self, path=None):
        """The heap as clump-inspect reads it: geometry, classes, the fill of each block. Returns it as a dict; path: a file for the text."""
        pieces = []
        self._context._call(lib.clump_heap_dump, self._object, lib.python_write, ffi.new_handle(pieces))
        text = b"".join(pieces)
        if path is not None:
            with open(c_path("path", path), "wb") as file:
                file.write(text)
        return json.loads(text)

    def stats(self):
        stats = ffi.new("clump_heap_stats *")
        self._context._call(lib.clump_heap_read_stats, self._object, stats, ffi.NULL, 0)
        return report_dict(stats)


class Registered:
    """A registered buffer of references; see Heap.register()."""

    def __init__(self, heap, buffer, count, offset, stride, weak, null_dangling):
        if isinstance(buffer, cl.array.Array):
            if buffer.dtype != np.uint32 and not buffer.dtype.fields or not buffer.flags.c_contiguous:
                raise Error("CLUMP_ERR_USAGE", f"an array of type {buffer.dtype} with strides {buffer.strides} for references; it must be a "
                            "contiguous one of uint32, or of structs that have them")
            buffer = buffer.data  # raises for an array that does not begin where its buffer does
        desc = ffi.new("clump_refs_desc *", {"buffer": pointer("cl_mem", buffer), "count": count,
                                             "offset": offset, "stride": stride, "weak": weak, "null_dangling": null_dangling})
        made = ffi.new("clump_refs **")
        self._heap = heap
        heap._context._call(lib.clump_refs_create, heap._object, desc, made, ffi.NULL)
        self._object = owned(made[0], lib.clump_refs_destroy, [heap._context._lock], heap._object)

    def unregister(self):
        ffi.release(self._object)
