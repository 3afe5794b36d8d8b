"""The context of a queue, and how calls are made on it."""
import threading
import weakref

import pyopencl as cl

from ._errors import error_of
from ._library import ffi, lib


def pointer(kind, of):
    """The OpenCL object of a PyOpenCL one."""
    return ffi.cast(kind, of.int_ptr)


def destroy_at_end(owner, lock, destroy, object_):
    """Calls destroy(object_) when the owner goes, or Python ends. The lock: garbage may be found by any thread."""

    def end():
        with lock:
            destroy(object_)

    return weakref.finalize(owner, end)


class Context:
    """What the library knows about a device. All work goes to `queue`, which may be set to another queue of the same device and
    pyopencl.Context, for the calls after that: each heap keeps its order, and those of different heaps on different queues may run at the
    same time. Heaps on one device should share a context.

    queue: a pyopencl.CommandQueue. cache: a folder where built programs are kept."""

    def __init__(self, queue, cache=None):
        if not isinstance(queue, cl.CommandQueue):
            raise TypeError(f"the queue is a {type(queue).__name__}; it must be a pyopencl.CommandQueue, or a clump.Context in its place")
        desc = ffi.new("clump_context_desc *")
        self._queue = self._first_queue = queue
        desc.context = pointer("cl_context", queue.context)
        desc.device = pointer("cl_device_id", queue.device)
        desc.queue = pointer("cl_command_queue", queue)
        folder = ffi.new("char[]", str(cache).encode()) if cache else ffi.NULL
        desc.cache.folder = folder
        made, error = ffi.new("clump_context **"), ffi.new("clump_error *")
        if lib.clump_context_create(desc, made, error):
            raise error_of(error)
        self._lock = threading.RLock()
        self._object = made[0]
        destroy_at_end(self, self._lock, lib.clump_context_destroy, made[0])

    @property
    def queue(self):
        return self._queue

    @queue.setter
    def queue(self, queue):
        with self._lock:
            self._call(lib.clump_context_set_queue, self._object, pointer("cl_command_queue", queue))
            self._queue = queue

    def _call(self, function, *arguments):
        """A call of the library, by one thread at a time; it may take long, and lets other threads of Python run."""
        with self._lock:
            if function(*arguments):
                raise error_of(lib.clump_context_get_error(self._object))

    def _launch(self, function, *arguments, wait_for=None):
        """A call that takes a clump_sync at its end. Returns its event."""
        sync, event = ffi.new("clump_sync *"), ffi.new("cl_event *")
        waits = ffi.new("cl_event[]", [pointer("cl_event", e) for e in wait_for or ()])
        sync.wait_count = len(waits)
        sync.wait_list = waits if len(waits) else ffi.NULL
        sync.event = event
        self._call(function, *arguments, sync)
        return cl.Event.from_int_ptr(int(ffi.cast("intptr_t", event[0])), retain=False)


def context_of(queue_or_context):
    return queue_or_context if isinstance(queue_or_context, Context) else Context(queue_or_context)


def report_dict(report):
    """The members of a struct that build_library.py declares."""
    return {name: getattr(report, name) for name, _ in ffi.typeof(report).item.fields}
