"""Heaps: objects, launches, and fields as arrays."""
import numpy as np
import pyopencl as cl
import pyopencl.array

from ._compact import collect_desc, compact_desc
from ._context import context_of, owned, report_dict, words
from ._errors import Error
from ._extract import Extract, class_counts, extract_desc
from ._fields import Field, struct_array, struct_desc
from ._library import ffi, lib
from ._program import Program
from ._values import c_names, c_path, c_text, c_word, fitting, one_ref, pointer, refs_array, schema_of, sized

CHECKS, DIRECTIONS = words("clump_check"), words("clump_copy_direction")
FINDINGS = 64  # take_findings() has at most so many


@ffi.def_extern()
def python_on_leak(on_leak, text):
    ffi.from_handle(on_leak)(ffi.string(text).decode(errors="replace"))


def _checked_desc(without=(), events=0, on_leak=None):
    """A clump_checked_desc, and the objects that it needs as long as the heap lives."""
    c_names("without", without)
    if not (on_leak is None or callable(on_leak)):
        raise TypeError(f"on_leak is a {type(on_leak).__name__}, but must be a function of a str")
    handle = ffi.new_handle(on_leak) if on_leak else ffi.NULL
    desc = sized("struct clump_checked_desc *", {"without": sum({c_word("without", check, CHECKS) for check in without}), "events": events,
                                                 "on_leak": lib.python_on_leak if on_leak else ffi.NULL, "user": handle})
    return desc, [handle, on_leak]


def _heap_desc(context, schema, checked=False, **members):
    """A clump_heap_desc, the objects that it needs during the call, and the objects that the heap needs as long as it lives."""
    if schema is not None:
        schema = schema_of(schema)
        members["schema"] = schema
    check, kept = ffi.NULL, []
    if checked is not False:
        check, kept = _checked_desc(**({} if checked is True else checked))
    desc = sized("clump_heap_desc *", {"context": context._object, "checked": check, **members})
    return desc, [schema, check], kept


class Heap:
    """Objects of the classes of a schema, in one OpenCL buffer, or in several.

    queue: a pyopencl.CommandQueue or a Context. bytes: the size of all its memory, or device_share: a share of the device's memory.
    block_rows: as in heap.h. pool: a Pool from which the heap's memory comes. buffer_bytes: the size of the largest buffer. A larger heap
    has several buffers. 0 asks for one buffer, if the device allows one so large. evictable_bytes: how much more than its memory the heap
    may hold, with evict() and bring_back(). raw: kernels can also allocate raw memory, and the schema may be None. watch_handles: handles
    detect that their object was freed. checked: the heap detects errors of programs (clump/checked.h). It is True, or a dict of `without`
    (checks that are left out, such as ["memory"]), `events` (how many are kept) and `on_leak` (a function, called at the heap's end with
    a line of text for each place that made objects which are left. It must not use the package). errors_on_request: only take_errors()
    raises the errors that kernels report. Without it, the next call that waits raises them also."""

    def __init__(self, queue, schema, bytes=0, device_share=0.0, block_rows=0, pool=None, buffer_bytes=0, evictable_bytes=0, raw=False,
                 watch_handles=False, checked=False, errors_on_request=False):
        if pool and isinstance(queue, cl.CommandQueue) and queue != pool._context.queue:
            raise Error("CLUMP_ERR_USAGE", "the heap works on the queue of the pool's clump.Context, but another queue was passed. Pass that queue, "
                        "or a clump.Context of both")
        self._context = pool._context if pool and isinstance(queue, cl.CommandQueue) else context_of(queue)
        self._pool = pool
        desc, during, kept = _heap_desc(self._context, schema, checked, bytes=bytes, device_share=device_share, block_rows=block_rows,
                                        buffer_bytes=buffer_bytes, evictable_bytes=evictable_bytes, raw=raw, watch_handles=watch_handles,
                                        errors_on_request=errors_on_request, pool=pool._object if pool else ffi.NULL)
        made = ffi.new("clump_heap **")
        self._context._call(lib.clump_heap_create, desc, made, ffi.NULL)
        self._object = owned(made[0], lib.clump_heap_destroy, [self._context._lock], kept, *([pool._object] if pool else []))
        self._gathers = {}
        self._is_evictable = evictable_bytes > 0

    @staticmethod
    def bytes_needed(queue, schema, objects, **options):
        """The `bytes` of a heap that has room for so many objects, all at the same time: {"Cell": 1000, ...}. options: other parameters
        of the heap."""
        context = context_of(queue)
        desc, (schema, _), _ = _heap_desc(context, schema, **options)
        needed = ffi.new("uint64_t *")
        context._call(lib.clump_heap_get_bytes_needed, desc, class_counts(schema, objects), needed, ffi.NULL)
        return needed[0]

    @property
    def context(self):
        """The clump.Context of the heap."""
        return self._context

    @property
    def queue(self):
        return self._context.queue

    @property
    def buffer(self):
        """The pyopencl.Buffer of the heap, or the first of several. convert() replaces it."""
        return cl.Buffer.from_int_ptr(int(ffi.cast("intptr_t", lib.clump_heap_get_info(self._object).buffer)), retain=True)

    @property
    def info(self):
        """The layout of the heap, and the number of evicted objects, as a dict (heap.h). convert() changes it."""
        info = lib.clump_heap_get_info(self._object)
        return {name: getattr(info, name) for name, _ in ffi.typeof(info).item.fields if name not in ("schema", "buffer")}

    def set_kernel(self, kernel):
        """Prepares a pyopencl.Kernel that the caller enqueues. The heap becomes its first parameter, and OpenCL learns of the heap's
        other buffers, if it has several. The kernel must be built from Program.source, and must not loop over objects. It keeps the heap
        until it is prepared for another heap. Call touch() after the kernel made or freed objects."""
        self._context._call(lib.clump_heap_set_kernel, self._object, pointer("cl_kernel", kernel))

    def touch(self):
        """Call it after a kernel that the caller enqueued made or freed objects. The next loop lists the objects again."""
        with self._context._lock:
            lib.clump_heap_touch(self._object)

    # ---- Launches: all return an event, and none waits, except reduce()

    def do_all(self, kernel, *args, wait_for=None):
        """Runs a kernel over all objects of the classes that its loops name."""
        with kernel._with_args(args) as object_:
            return self._context._launch(lib.clump_heap_do_all, self._object, object_, wait_for=wait_for)

    def do_new(self, kernel, class_name, count, *args, wait_for=None):
        """Makes objects, and runs the kernel once for each. If the heap has no room for some of them, take_errors() raises."""
        name = c_text("class_name", class_name)
        with kernel._with_args(args) as object_:
            return self._context._launch(lib.clump_heap_do_new, self._object, object_, name, count, ffi.NULL, wait_for=wait_for)

    def launch(self, kernel, global_size, local_size, *args, wait_for=None):
        """Runs a kernel with the caller's work sizes."""
        with kernel._with_args(args) as object_:
            return self._context._launch(lib.clump_heap_launch, self._object, object_, global_size, local_size, wait_for=wait_for)

    def reduce(self, kernel, dtype, *args, wait_for=None):
        """Runs a kernel that ends in CLUMP_REDUCE, and returns its result, a NumPy scalar of type `dtype`. Only the size of `dtype` is
        compared with the type in the kernel."""
        if dtype is None or np.dtype(dtype).kind not in "biufV" or np.dtype(dtype).hasobject:
            raise TypeError(f"the type of a reduction is {dtype!r}, but must be the type of a number, such as numpy.float32")
        result = np.zeros((), dtype)
        with kernel._with_args(args) as object_:
            self._context._launch(lib.clump_heap_reduce, self._object, object_, result.nbytes, ffi.from_buffer(result), wait_for=wait_for)
        return result[()]

    def take_errors(self):
        """Raises the errors that kernels reported since the last call: out of memory, a double free, ..."""
        self._context._call(lib.clump_heap_take_errors, self._object, ffi.NULL)

    def check(self):
        """Verifies every invariant of the heap."""
        self._context._call(lib.clump_heap_check, self._object)

    def repair(self):
        """Makes a heap usable again after its metadata was overwritten (heap.h). Returns the report as a dict."""
        report = sized("clump_repair_report *")
        self._context._call(lib.clump_heap_repair, self._object, report)
        return report_dict(report)

    # ---- Checked heaps (clump/checked.h)

    @property
    def checks(self):
        """Names of the checks that the heap has. The list is empty if the heap is not checked."""
        checks = lib.clump_heap_get_info(self._object).checks
        return [name for name, bit in CHECKS.items() if checks & bit]

    @property
    def generations(self):
        """After so many objects in one slot, a reference to the first object is mistaken for a reference to the last. 0: references have
        no generation."""
        return lib.clump_heap_get_info(self._object).generations

    def take_findings(self):
        """Returns the findings since the last call of take_findings() or take_errors(), and the number of findings that had no room. The
        findings are a list of dicts, oldest first, each with its message in `text`."""
        findings, count, lost = ffi.new("clump_finding[]", FINDINGS), ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self._context._call(lib.clump_heap_take_findings, self._object, findings, FINDINGS, count, lost)
        return [report_dict(findings[i]) for i in range(count[0])], lost[0]

    def check_memory(self, wait_for=None):
        """Checks all memory that no object has. This also happens after each kernel, unless the check "memory" is left out. Returns an
        event, and does not wait."""
        return self._context._launch(lib.clump_heap_check_memory, self._object, wait_for=wait_for)

    def read_events(self):
        """The last allocations and frees, oldest first: a list of dicts."""
        return self._list(lib.clump_heap_read_events, "clump_event")

    def read_live(self):
        """The number of live objects for each class and place where they were made: a list of dicts."""
        return self._list(lib.clump_heap_read_live, "clump_live")

    def _list(self, function, kind):
        count = ffi.new("uint64_t *")
        with self._context._lock:
            self._context._call(function, self._object, ffi.NULL, 0, count)
            found = ffi.new(f"{kind}[]", max(count[0], 1))
            self._context._call(function, self._object, found, count[0], count)
        return [report_dict(found[i]) for i in range(count[0])]

    # ---- Objects

    @property
    def classes(self):
        """The names of the fields of each class. The fields of its bases come first."""
        schema, found = lib.clump_schema_get_info(lib.clump_heap_get_info(self._object).schema), {}
        for number in range(1, schema.class_count + 1):
            names, above = [], number
            while above:
                info = schema.classes[above]
                names = [ffi.string(info.fields[index].name).decode() for index in range(info.field_count)] + names
                above = info.base
            found[ffi.string(schema.classes[number].name).decode()] = names
        return found

    def read_count(self, class_name):
        """The number of live objects of a class and its subclasses."""
        count = ffi.new("uint64_t *")
        self._context._call(lib.clump_heap_read_count, self._object, c_text("class_name", class_name), count)
        return count[0]

    def reserve(self, class_name, objects, wait_for=None):
        """Reserves slots for so many objects of a class before each launch. Call it for a kernel that makes more objects than it has
        work-items, and more than kernels made before. The number replaces the number of the previous call. Returns an event, and does not
        wait."""
        return self._context._launch(lib.clump_heap_reserve, self._object, c_text("class_name", class_name), objects, wait_for=wait_for)

    def read_refs(self, class_name):
        """References of all objects of a class and its subclasses, in the order of read_field()."""
        refs, count = np.zeros(self.read_count(class_name), np.uint32), ffi.new("uint64_t *")
        self._context._call(lib.clump_heap_read_refs, self._object, class_name.encode(), ffi.from_buffer("uint32_t[]", refs),
                            len(refs), count)
        return refs

    def read_field(self, class_name, field):
        """A field of all objects of a class and its subclasses, as a NumPy array of shape (n,). An array field adds an axis, and a vector
        adds another. References are uint32, booleans bool. An array with `max` has that many elements. Those beyond the length of an
        object's array are undefined."""
        f = Field(self, class_name, field)
        count = self.read_count(class_name)
        values = np.zeros((max(f.count, 1), count) + f.vector, f.dtype)
        for index in range(len(values)):
            part = ffi.from_buffer("char[]", values[index]) if values[index].size else ffi.NULL
            self._context._call(lib.clump_heap_read_field, self._object, f.class_name, f.name, index, f.info.element_bytes, part, count, ffi.NULL)
        return f.to_user(values)

    def write_field(self, class_name, field, values):
        """Writes the field of all objects, from an array of the shape that read_field() returns, or values that NumPy broadcasts to
        it."""
        f = Field(self, class_name, field)
        count = self.read_count(class_name)
        stored = f.to_heap(values, count)
        for index in range(len(stored)):
            part = ffi.from_buffer("char[]", stored[index]) if stored[index].size else ffi.NULL
            self._context._call(lib.clump_heap_write_field, self._object, f.class_name, f.name, index, f.info.element_bytes, part, count)

    def copy_field(self, class_name, field, direction, buffer, index=0, offset=0, capacity=None, wait_for=None):
        """Copies the field of all objects to a buffer or a contiguous array of PyOpenCL, or from it, on the device, in the order of
        read_refs(). Returns an event, and does not wait. direction: "to_buffer" or "from_buffer". index: the element of an array field.
        capacity: copies at most so many objects. The default is the number of values that fit after `offset` bytes."""
        f = Field(self, class_name, field)
        size = None
        if isinstance(buffer, cl.array.Array):
            if buffer.dtype != np.dtype(f.array_dtype) or not buffer.flags.c_contiguous:
                raise Error("CLUMP_ERR_USAGE", f"the array for {class_name}.{field} has type {buffer.dtype} and strides {buffer.strides}, but must be "
                            f"contiguous and of type {np.dtype(f.array_dtype)}")
            buffer, offset, size = buffer.base_data, buffer.offset + offset, buffer.offset + buffer.nbytes
        memory = pointer("cl_mem", buffer)
        if capacity is None:
            capacity = max((buffer.size if size is None else size) - offset, 0) // f.info.element_bytes
        return self._context._launch(lib.clump_heap_copy_field, self._object, f.class_name, f.name, f.check_index(index),
                                     c_word("direction", direction, DIRECTIONS), memory, offset, capacity, wait_for=wait_for)

    # ---- One object

    def read_object_field(self, class_name, field, ref):
        """The field of one live object of the class, in the form of one value of read_field()."""
        f, ref = Field(self, class_name, field), one_ref(ref)
        values = np.zeros((max(f.count, 1), 1) + f.vector, f.dtype)
        for index in range(len(values)):
            self._context._call(lib.clump_heap_read_object_field, self._object, f.class_name, f.name, index, ref, f.info.element_bytes,
                                ffi.from_buffer("char[]", values[index]))
        return f.to_user(values)[0]

    def write_object_field(self, class_name, field, ref, value):
        f, ref = Field(self, class_name, field), one_ref(ref)
        stored = f.to_heap(value, 1)
        for index in range(len(stored)):
            self._context._call(lib.clump_heap_write_object_field, self._object, f.class_name, f.name, index, ref, f.info.element_bytes,
                                ffi.from_buffer("char[]", stored[index]))

    def read_object_array(self, class_name, field, ref):
        """An array of run-time length of one object, as a NumPy array."""
        f, ref, length = Field(self, class_name, field), one_ref(ref), ffi.new("uint64_t *")
        call = lambda values, room: self._context._call(lib.clump_heap_read_object_array, self._object, f.class_name, f.name, ref,
                                                        f.info.element_bytes, values, room, length)
        with self._context._lock:
            call(ffi.NULL, 0)
            values = np.zeros((length[0],) + f.vector, f.dtype)
            if values.size:
                call(ffi.from_buffer("char[]", values), len(values))
        return values[..., :3] if f.width == 3 else values

    def read_arrays(self, class_name, field, refs=None):
        """An array of run-time length of all objects of a class and its subclasses, in the order of read_refs(), or of the objects that `refs` name,
        as two NumPy arrays (offsets, values). The elements of object i are values[offsets[i]:offsets[i + 1]]. The offsets are int64, as in
        Arrow's LargeList."""
        f, refs = Field(self, class_name, field), None if refs is None else refs_array("refs", refs)
        with self._context._lock:
            offsets = np.zeros((self.read_count(class_name) if refs is None else len(refs)) + 1, np.int64)
            call = lambda values, room: self._context._call(lib.clump_heap_read_arrays, self._object, f.class_name, f.name,
                                                            ffi.NULL if refs is None else ffi.from_buffer("uint32_t[]", refs), len(offsets) - 1,
                                                            ffi.from_buffer("uint64_t[]", offsets), f.info.element_bytes, values, room)
            call(ffi.NULL, 0)
            values = np.zeros((offsets[-1],) + f.vector, f.dtype)
            if values.size:
                call(ffi.from_buffer("char[]", values), len(values))
        return offsets, values[..., :3] if f.width == 3 else values

    def write_arrays(self, class_name, field, offsets, values, refs=None):
        """Writes such arrays, with their lengths, in the form of read_arrays(). Elements before the first offset, and from the last one on,
        are not used."""
        f, refs = Field(self, class_name, field), None if refs is None else refs_array("refs", refs)
        offsets = np.ascontiguousarray(fitting("offsets", offsets, "ulong", np.dtype(np.uint64)))
        given = fitting(f"{class_name}.{field}", values, f.scalar, f.dtype)
        shape = (len(given) if given.ndim else 0,) + ((f.width,) if f.width > 1 else ())
        if offsets.ndim != 1 or not len(offsets) or (given.size and given.shape != shape):
            raise Error("CLUMP_ERR_USAGE", f"offsets of shape {offsets.shape} and values of shape {given.shape} were passed for "
                        f"{class_name}.{field}, but must have the shapes that read_arrays() returns")
        if refs is not None and len(refs) != len(offsets) - 1:
            raise Error("CLUMP_ERR_USAGE", f"{len(offsets) - 1} arrays and {len(refs)} references were passed, but the numbers must be equal")
        stored = np.zeros(shape[:1] + f.vector, f.dtype)
        if given.size:
            (stored[..., :3] if f.width == 3 else stored)[...] = given
        self._context._call(lib.clump_heap_write_arrays, self._object, f.class_name, f.name,
                            ffi.NULL if refs is None else ffi.from_buffer("uint32_t[]", refs), len(offsets) - 1,
                            ffi.from_buffer("uint64_t[]", offsets), f.info.element_bytes,
                            ffi.from_buffer("char[]", stored) if stored.size else ffi.NULL, len(stored))

    # ---- Objects as structs (clump/structs.h): arrays of NumPy with a structured dtype. A 3-vector has four components there.

    def read_structs(self, class_name, fields=None, refs=None):
        """All objects of a class and its subclasses, in the order of read_refs(), or the objects that `refs` name. fields: a list of
        names, in the order of the struct. The default is all fields except arrays that grow."""
        self.read_count(class_name)  # is there such a class?
        if fields is None:
            found = [Field(self, class_name, name) for name in self.classes[class_name]]
            fields = [f.name.decode() for f in found if f.info.array != lib.CLUMP_ARRAY_GROWING]
        else:
            c_names("fields", fields)
        dtype = np.dtype([(name, Field(self, class_name, name).struct_dtype) for name in fields])
        desc, kept = struct_desc(self, class_name, dtype)
        refs = None if refs is None else refs_array("refs", refs)
        with self._context._lock:
            structs = np.zeros(self.read_count(class_name) if refs is None else len(refs), dtype)
            if len(structs):
                self._context._call(lib.clump_heap_read_structs, self._object, desc, ffi.NULL if refs is None else ffi.from_buffer("uint32_t[]", refs),
                                    ffi.from_buffer("char[]", structs), len(structs), ffi.NULL)
        return structs

    def write_structs(self, class_name, structs, refs=None):
        """Writes all objects, or the objects that `refs` name. Fields that the structs do not have keep their values."""
        structs, refs = struct_array(structs), None if refs is None else refs_array("refs", refs)
        desc, kept = struct_desc(self, class_name, structs.dtype)
        if refs is not None and len(refs) != len(structs):
            raise Error("CLUMP_ERR_USAGE", f"{len(structs)} structs and {len(refs)} references were passed, but the numbers must be equal")
        self._context._call(lib.clump_heap_write_structs, self._object, desc, ffi.NULL if refs is None else ffi.from_buffer("uint32_t[]", refs),
                            ffi.from_buffer("char[]", structs), len(structs))

    def new_structs(self, class_name, structs):
        """Makes an object of each struct. Fields that the structs do not have are 0. Returns the references of the objects for which
        there was room."""
        structs, made = struct_array(structs), ffi.new("uint64_t *")
        desc, kept = struct_desc(self, class_name, structs.dtype)
        refs = np.zeros(len(structs), np.uint32)
        self._context._call(lib.clump_heap_new_structs, self._object, desc, ffi.from_buffer("char[]", structs), len(structs),
                            ffi.from_buffer("uint32_t[]", refs), made)
        return refs[:made[0]]

    # ---- Handles (clump/refs.h): references that the host holds, and that stay right when objects move

    def create_handle(self, ref):
        """A handle, which is a number, for a live object. Collections keep the object alive."""
        handle = ffi.new("clump_handle *")
        self._context._call(lib.clump_heap_create_handle, self._object, one_ref(ref), handle)
        return handle[0]

    def read_handle(self, handle):
        """The current reference to its object, or 0 if the object is gone (with watch_handles, or if a compaction found it dead)."""
        ref = ffi.new("clump_ref *")
        self._context._call(lib.clump_heap_read_handle, self._object, handle, ref)
        return ref[0]

    def destroy_handle(self, handle):
        self._context._call(lib.clump_heap_destroy_handle, self._object, handle)

    # ---- Fields on the device

    def array(self, class_name, field, index=0, copy=None):
        """A field of all objects as a pyopencl.array.Array, in the order of read_field(). `index`: the element of an array field.

        copy=None: the array is the heap's memory itself (a sub-buffer) if the values follow each other there without gaps and begin where
        the device allows a sub-buffer. This holds for a class with one field, or for up to 64 objects that were made together. Otherwise
        the device makes a copy. copy=False: never a copy. The array has an offset within the heap's buffer and strides, if the values are
        at equal distances. Otherwise the call raises an Error. PyOpenCL's scans ignore offset and strides, so they also raise an Error.
        copy=True: always a copy. An array of the heap's memory is valid until objects of the class are made, freed or moved. A heap of
        several buffers, with `evictable_bytes` or `checked`, returns only copies. An array with `max` has `max` elements: in objects in
        which `index` is at or beyond the length, a copy has 0, and the heap's memory any value."""
        f = Field(self, class_name, field)
        if f.info.array == lib.CLUMP_ARRAY_GROWING:
            raise Error("CLUMP_ERR_USAGE", f"{class_name}.{field} is an array that grows. Read it with read_arrays()")
        index = f.check_index(index)
        copy = None if copy is None else bool(copy)
        if not copy:
            layout = lib.clump_heap_get_info(self._object)
            # A reference by itself does not tell where an object lies; that of a checked heap has a generation, too.
            has_table = layout.buffer_blocks or self._is_evictable or lib.clump_heap_get_info(self._object).checks
            view = None if has_table else f.view(self.read_refs(class_name), index, layout.granule_bytes, packed=copy is None)
            if view is not None:
                return view
            if copy is False:
                why = ("the heap has several buffers, or memory that can be evicted, or is checked" if has_table else
                       f"the objects of {class_name} are not at equal distances")
                raise Error("CLUMP_ERR_USAGE", f"{why}, so {field} needs a copy")
        return self._gather(f, index)

    def _gather(self, f, index):
        """A copy by a kernel."""
        key = (f.class_name, f.name)
        if key not in self._gathers:
            c, name = f.class_name.decode(), f.name.decode()
            at = ", element" if f.count else ""
            there = f"element < {c}_{name}_length(self)" if f.info.array != lib.CLUMP_ARRAY_FIXED else "1"
            self._gathers[key] = Program(self, f"""
__kernel void gather(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global {f.device_type} *values, uint element) {{
    CLUMP_FOR_EACH_NUMBERED({c}, self, i) {{
        values[i] = 0;
        if ({there}) values[i] = {c}_{name}(self{at}){f.device_value};
    }}
}}""", name="gather.cl").kernel("gather")
        result = cl.array.empty(self.queue, self.read_count(f.class_name.decode()), f.array_dtype)
        if result.size:
            self.do_all(self._gathers[key], result, np.uint32(index))
        return result

    # ---- The heap as a whole

    def compact(self, classes=(), **options):
        """Moves objects together, and rewrites the references to them. Returns the report as a dict.

        classes: a list of names. An empty list means all classes. null_dangling, slack, max_moves, max_us: as in compact.h. order: "any",
        "address", "field" with an `order_field`, or "key" with a `key_kernel`, whose first parameter the library sets."""
        desc, kept = compact_desc(classes, **options)
        report = sized("clump_compact_report *")
        self._context._call(lib.clump_heap_compact, self._object, desc, report, ffi.NULL)
        return report_dict(report)

    def collect(self, roots=(), root_classes=(), **options):
        """Frees the objects that no root leads to: registered buffers, handles, `roots` (references) and all objects of `root_classes`.
        Returns the report as a dict.

        only_mark: count, but free nothing. dead: a buffer that gets the number of dead objects, and then references to them. dead_class:
        only dead objects of this class are listed. finaliser: a kernel that runs before the objects are freed. The library sets its first
        parameter to the buffer `dead`. compact: a dict of the parameters of compact(), which then runs after the collection."""
        desc, kept = collect_desc(roots, root_classes, **options)
        report = sized("clump_collect_report *")
        self._context._call(lib.clump_heap_collect, self._object, desc, report, ffi.NULL)
        return report_dict(report)

    def convert(self, schema, bytes=0, block_rows=0):
        """Converts the heap to another schema (clump/convert.h). Fields are matched by name, and new fields are 0. References in fields
        and in registered buffers follow their objects, and other references become invalid. Programs must be made again. bytes: the size
        of all its memory from then on, 0: the same as now. block_rows: as in heap.h. Returns the report as a dict."""
        schema, report = schema_of(schema), sized("clump_convert_report *")
        desc = sized("clump_convert_desc *", {"schema": schema, "bytes": bytes, "block_rows": block_rows})
        self._context._call(lib.clump_heap_convert, self._object, desc, report)
        self._gathers.clear()  # programs for the old schema
        return report_dict(report)

    # ---- From heap to heap (clump/extract.h)

    def extract(self, refs=None, **options):
        """Packs chosen objects as a clump.Extract, which has a `report`. It chooses the objects that `refs` name, or all objects of the
        classes in the list `classes`, or the objects of `where_class` whose field `where_field` is not 0. If that field is a
        reference, it must lead to one of the objects that `refs` or `classes` name. follow: also all objects to which these lead.
        free_objects: the objects leave the heap. keep_refs: the extract keeps the references that the objects had."""
        desc, kept = extract_desc(refs, **options)
        return Extract._of([self], lib.clump_heap_extract, desc)

    def insert(self, extract):
        """Makes all objects of an extract, or none. Returns their references, in its order."""
        refs = np.zeros(sum(extract.objects.values()), np.uint32)
        desc = sized("clump_insert_desc *", {"refs": ffi.from_buffer("uint32_t[]", refs)})
        self._context._call(lib.clump_heap_insert, self._object, extract._object, desc)
        return refs

    def migrate(self, into, refs=None, **options):
        """Moves objects into the heap `into`, which may be on another device. They are chosen as for extract(). Moves all of them, or
        none. Returns the extract."""
        desc, kept = extract_desc(refs, **options)
        return Extract._of([self, into], lib.clump_heap_migrate, desc, into._object, ffi.NULL)

    # ---- Out of core (clump/evict.h): of a heap with evictable_bytes

    def evict(self, class_name=None, blocks=0, age=0):
        """Moves objects, by whole blocks, from the device's memory to the host's: the objects of a class and its subclasses, or all
        objects. Their references stay valid. Until bring_back(), kernels must not use them, and read_count() and read_field() leave them
        out. blocks: at most so many, the oldest first. age: only blocks in which nothing was made or freed in the last `age` calls of
        age_blocks(). Returns the report as a dict."""
        return self._move_blocks(lib.clump_heap_evict, class_name, None, blocks, age)

    def bring_back(self, class_name=None, refs=None, blocks=0):
        """Moves evicted objects back, by whole blocks: the objects of a class and its subclasses, or the blocks that have the objects
        `refs`, or all. If the memory has too little room for them, no block moves. Returns the report as a dict."""
        return self._move_blocks(lib.clump_heap_bring_back, class_name, refs, blocks, 0)

    def _move_blocks(self, function, class_name, refs, blocks, age):
        name = ffi.new("char[]", c_text("class_name", class_name)) if class_name is not None else ffi.NULL
        desc, report = sized("clump_evict_desc *", {"class_name": name, "blocks": blocks, "age": age}), sized("clump_evict_report *")
        if refs is not None:
            refs = refs_array("refs", refs)
            desc.refs, desc.ref_count = ffi.from_buffer("uint32_t[]", refs), len(refs)
        self._context._call(function, self._object, desc, report)
        return report_dict(report)

    def age_blocks(self):
        """Counts one turn for evict(age=...). Blocks in which nothing was made or freed since the previous call become older by one."""
        self._context._call(lib.clump_heap_age_blocks, self._object)

    def copy(self, into):
        """The heap `into`, which was made in the same way, becomes equal on the device. Save it while kernels change this one."""
        self._context._call(lib.clump_heap_copy, self._object, into._object, ffi.NULL)

    def save(self, path, compact=False, zstd_level=0):
        """Saves the heap to a file. zstd_level: 1 to 22 packs it, if the library was built with zstd. Returns the report as a dict."""
        name, report = ffi.new("char[]", c_path("path", path)), sized("clump_save_report *")
        self._context._call(lib.clump_heap_save, self._object, sized("clump_save_desc *", {"path": name, "compact": compact, "zstd_level": zstd_level}), report)
        return report_dict(report)

    def load(self, path, without_registered=False):
        """Loads a saved heap into this heap, which must be empty. Register as many buffers as when it was saved, or leave them out with
        `without_registered`. Returns the report as a dict."""
        name, report = ffi.new("char[]", c_path("path", path)), sized("clump_load_report *")
        self._context._call(lib.clump_heap_load, self._object, sized("clump_load_desc *", {"path": name, "without_registered": without_registered}), report)
        return report_dict(report)

    def dump(self, path=None):
        """Returns a dump for clump-inspect, as a dict: geometry, classes, the fill of each block. path: a file for the text."""
        return self._context._json(lib.clump_heap_dump, self._object, path)

    def read_stats(self):
        """Counters of the heap as a dict, with a dict of counters for each class in `classes`."""
        names = list(self.classes)
        stats, classes = sized("clump_heap_stats *"), ffi.new("clump_class_stats[]", max(len(names), 1))
        classes[0].size = ffi.sizeof(classes[0])
        self._context._call(lib.clump_heap_read_stats, self._object, stats, classes, len(names))
        return {**report_dict(stats), "classes": {name: report_dict(classes[i]) for i, name in enumerate(names)}}


class Refs:
    """A registered buffer of references, of PyOpenCL. As long as this object lives, the references are roots (or weak roots), and are
    rewritten when objects move."""

    def __init__(self, heap, buffer, count, offset=0, stride=0, weak=False, null_dangling=False):
        if isinstance(buffer, cl.array.Array):
            if buffer.dtype != np.uint32 and not buffer.dtype.fields or not buffer.flags.c_contiguous:
                raise Error("CLUMP_ERR_USAGE", f"the array of references has type {buffer.dtype} and strides {buffer.strides}, but must be contiguous "
                            "and of type uint32, or of structs with references")
            buffer = buffer.data  # raises for an array that does not begin where its buffer does
        desc = sized("clump_refs_desc *", {"buffer": pointer("cl_mem", buffer), "count": count,
                                           "offset": offset, "stride": stride, "weak": weak, "null_dangling": null_dangling})
        made = ffi.new("clump_refs **")
        self._heap = heap
        heap._context._call(lib.clump_refs_create, heap._object, desc, made, ffi.NULL)
        self._object = owned(made[0], lib.clump_refs_destroy, [heap._context._lock], heap._object)

    def destroy(self):
        ffi.release(self._object)
