"""The context of a queue, and how calls are made on it."""
import json
import sys
import threading
import weakref

import pyopencl as cl

from ._errors import error_of
from ._library import ffi, lib
from ._values import c_path, pointer, sized


HELD = {}  # by address: how an object ends, and what must stay until then. The garbage collector may take all else apart in any order.


def _end(object_, held=HELD, is_finalizing=sys.is_finalizing):
    destroy, locks, needs = held[int(ffi.cast("intptr_t", object_))]
    taken = []
    try:
        for lock in locks:
            # At the end of the interpreter a daemon thread may have stopped within a call, with the lock: then the process ends with both.
            if not lock.acquire(blocking=not is_finalizing()):
                return
            taken.append(lock)
        # Before the memory is given to another object. What it needed goes after it.
        del held[int(ffi.cast("intptr_t", object_))]
        destroy(object_)
    finally:
        for lock in reversed(taken):
            lock.release()


def owned(object_, destroy, locks, *needs):
    """The object of the library, as a cffi object that calls destroy() when nothing refers to it any more: no method of Python (not even
    __del__) can still use it, and no call uses it. locks: any thread may find garbage. needs: owned objects that live as long."""
    if not object_:
        return object_
    HELD[int(ffi.cast("intptr_t", object_))] = destroy, locks, needs
    return ffi.gc(object_, _end)


@ffi.def_extern(error=-1)  # after an exception, which is printed
def python_write(pieces, data, bytes_):
    ffi.from_handle(pieces).append(ffi.buffer(data, bytes_)[:])
    return 0


class Context:
    """The library's data about a device. All work goes to `queue`. It may be set to another queue of the same device and
    pyopencl.Context, and later calls use that queue. Each heap keeps its order, and heaps on different queues may run at the same time.
    Heaps on one device should share a context. The context keeps all queues that it had, because the buffers of its pools wait for them.

    queue: a pyopencl.CommandQueue. cache: a folder in which built programs are kept."""

    def __init__(self, queue, cache=None):
        if not isinstance(queue, cl.CommandQueue):
            raise TypeError(f"the queue is a {type(queue).__name__}, but must be a pyopencl.CommandQueue or a clump.Context")
        desc = sized("clump_context_desc *")
        self._queue = queue
        self._queues = [queue]  # all that it had
        self._pools = weakref.WeakSet()
        desc.context = pointer("cl_context", queue.context)
        desc.device = pointer("cl_device_id", queue.device)
        desc.queue = pointer("cl_command_queue", queue)
        folder = ffi.new("char[]", c_path("cache", cache)) if cache else ffi.NULL
        desc.cache.folder = folder
        made, error = ffi.new("clump_context **"), ffi.new("clump_error *")
        if lib.clump_context_create(desc, made, error):
            raise error_of(error)
        self._lock = threading.RLock()
        self._object = owned(made[0], lib.clump_context_destroy, [self._lock])

    @property
    def queue(self):
        return self._queue

    @queue.setter
    def queue(self, queue):
        with self._lock:
            self._call(lib.clump_context_set_queue, self._object, pointer("cl_command_queue", queue))
            self._queue = queue
            if queue not in self._queues:
                self._queues.append(queue)
        for pool in list(self._pools):
            pool._wait_for_queues()

    def record_timeline(self, capacity):
        """Records the next `capacity` commands, and forgets earlier records. The queue must have profiling enabled. 0: stops
        recording."""
        self._call(lib.clump_context_record_timeline, self._object, capacity)

    def write_timeline(self, path=None):
        """Returns the recorded commands as a dict, in the format that Perfetto opens (clump/timeline.h), and forgets them. path: a file
        for the text."""
        return self._json(lib.clump_context_write_timeline, self._object, path)

    def _json(self, function, object_, path):
        """A call that writes a text of JSON."""
        pieces = []
        self._call(function, object_, lib.python_write, ffi.new_handle(pieces))
        text = b"".join(pieces)
        if path is not None:
            with open(c_path("path", path), "wb") as file:
                file.write(text)
        return json.loads(text)

    def _call(self, function, *arguments):
        """A call of the library, by one thread at a time. Other threads of Python run meanwhile."""
        with self._lock:
            if function(*arguments):
                raise error_of(lib.clump_context_get_error(self._object))

    def _launch(self, function, *arguments, wait_for=None):
        """A call whose last parameter is a clump_sync. Returns its event."""
        sync, event = ffi.new("clump_sync *"), ffi.new("cl_event *")
        waits = ffi.new("cl_event[]", [pointer("cl_event", e) for e in wait_for or ()])
        sync.wait_count = len(waits)
        sync.wait_list = waits if len(waits) else ffi.NULL
        sync.event = event
        self._call(function, *arguments, sync)
        return cl.Event.from_int_ptr(int(ffi.cast("intptr_t", event[0])), retain=False)


def context_of(queue_or_context):
    return queue_or_context if isinstance(queue_or_context, Context) else Context(queue_or_context)


def words(enumeration):
    """The constants of an enumeration by name, in the order of C: CLUMP_ORDER_FIELD is "field"."""
    return {name.split("_", 2)[2].lower(): value for value, name in sorted(ffi.typeof(enumeration).elements.items())}


def _plain(value, kind):
    if kind.kind == "struct":
        return report_dict(value)
    if kind.kind == "enum":
        return {number: word for word, number in words(kind.cname).items()}[int(value)]
    if kind.kind in ("array", "pointer"):  # of char
        return ffi.string(value).decode(errors="replace") if value else None
    return value


def report_dict(report):
    """The members, without `size`, of a struct that build_library.py declares. Texts are str or None, and structs are dicts."""
    kind = ffi.typeof(report)
    fields = (kind.item if kind.kind == "pointer" else kind).fields
    return {name: _plain(getattr(report, name), field.type) for name, field in fields if name != "size"}
