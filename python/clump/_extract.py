"""Objects that leave a heap and come into another (clump/extract.h)."""
import contextlib

import numpy as np
import pyopencl as cl

from ._context import context_of, owned, report_dict
from ._errors import Error, error_of
from ._library import ffi, lib
from ._values import c_names, c_path, c_text, refs_array, schema_of, sized


def class_counts(schema, objects):
    """An array of C, by class, of {"Cell": 1000, ...}."""
    counts = ffi.new("uint64_t[]", max(lib.clump_schema_get_info(schema).class_count, 1))
    for name, count in objects.items():
        info = lib.clump_schema_find_class(schema, c_text("a name in objects", name))
        if not info:
            raise Error("CLUMP_ERR_NOT_FOUND", f'the schema has no class "{name}"')
        counts[info.id - 1] = count
    return counts


class Extract:
    """Objects packed in a buffer of the device, with the references among them as numbers. Heap.extract() makes an extract, and
    Heap.insert() makes objects of it, any number of times. read() returns its bytes, from which Extract() makes an equal extract
    elsewhere.

    queue: a pyopencl.CommandQueue or a Context: use Heap.context of the heap into which the objects will go. schema: the text of the
    schema of the heap from which they came. objects: the number for each class, {"Cell": 1000, ...}, as in the property `objects`. data:
    the bytes that read() returned."""

    def __init__(self, queue, schema, objects, data):
        schema, data = schema_of(schema), np.frombuffer(data, np.uint8)
        self._make(context_of(queue), lambda context, made, error: lib.clump_extract_create(
            context, schema, class_counts(schema, objects), ffi.from_buffer("char[]", data), data.nbytes, made, error))
        self.report = None

    @classmethod
    def load(cls, queue, path):
        """The objects of a saved heap, for a heap that has objects."""
        self, report, name = cls.__new__(cls), sized("clump_extract_report *"), ffi.new("char[]", c_path("path", path))
        desc = sized("clump_load_desc *", {"path": name})
        self._make(context_of(queue), lambda context, made, error: lib.clump_extract_load(context, desc, made, report, error))
        self.report = report_dict(report)
        return self

    @classmethod
    def _of(cls, heaps, function, desc, *more):
        """A call that extracts objects from the first heap. A call from heap to heap needs both contexts."""
        self, made, report = cls.__new__(cls), ffi.new("clump_extract **"), sized("clump_extract_report *")
        with contextlib.ExitStack() as locks:
            for context in sorted({heap._context for heap in heaps}, key=id):
                locks.enter_context(context._lock)
            heaps[0]._context._call(function, heaps[0]._object, desc, *more, made, report)
        self._take(heaps[0]._context, made[0])
        self.report = report_dict(report)
        return self

    def _make(self, context, create):
        made, error = ffi.new("clump_extract **"), ffi.new("clump_error *")
        with context._lock:
            status = create(context._object, made, error)
        if status:
            raise error_of(error)
        self._take(context, made[0])

    def _take(self, context, made):
        self._context, self._object = context, owned(made, lib.clump_extract_destroy, [context._lock], context._object)

    @property
    def bytes(self):
        return lib.clump_extract_get_info(self._object).bytes

    @property
    def objects(self):
        """The number of objects of each class that has objects."""
        info, found = lib.clump_extract_get_info(self._object), {}
        schema = lib.clump_schema_get_info(info.schema)
        for number in range(1, schema.class_count + 1):
            found[ffi.string(schema.classes[number].name).decode()] = info.objects[number]
        return {name: count for name, count in found.items() if count}

    @property
    def buffer(self):
        """The pyopencl.Buffer of the columns, or None without objects."""
        return self._buffer(lib.clump_extract_get_info(self._object).buffer)

    @property
    def refs(self):
        """A pyopencl.Buffer of the references that the objects had, or None without keep_refs or objects."""
        return self._buffer(lib.clump_extract_get_info(self._object).refs)

    @staticmethod
    def _buffer(buffer):
        return cl.Buffer.from_int_ptr(int(ffi.cast("intptr_t", buffer)), retain=True) if buffer else None

    def read(self):
        """All columns, as bytes."""
        data = np.zeros(self.bytes, np.uint8)
        self._context._call(lib.clump_extract_read, self._object, ffi.from_buffer("char[]", data), data.nbytes)
        return data.tobytes()


def extract_desc(refs=None, classes=(), where_class=None, where_field=None, follow=False, free_objects=False, keep_refs=False):
    """The desc, and the objects that must live as long."""
    names, kept = c_names("classes", classes)
    chosen = ffi.NULL
    if refs is not None:
        refs = refs_array("refs", refs)
        chosen = ffi.from_buffer("uint32_t[]", refs)
    where = [ffi.new("char[]", c_text(what, text)) if text is not None else ffi.NULL
             for what, text in (("where_class", where_class), ("where_field", where_field))]
    desc = sized("clump_extract_desc *", {"refs": chosen, "ref_count": len(chosen) if chosen else 0, "classes": names if kept else ffi.NULL, "class_count": len(kept), "where_class": where[0],
                                          "where_field": where[1], "follow": follow, "free_objects": free_objects, "keep_refs": keep_refs})
    return desc, [names, kept, refs, chosen, where]
