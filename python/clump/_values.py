"""Values that go from Python to C: texts, names, references, values of fields. A value that would change on the way is refused."""
import os

import numpy as np
import pyopencl as cl
import pyopencl.array

from ._errors import Error, error_of
from ._library import ffi, lib

CLASSES = {"cl_context": cl.Context, "cl_device_id": cl.Device, "cl_command_queue": cl.CommandQueue, "cl_kernel": cl.Kernel,
           "cl_mem": cl.MemoryObjectHolder, "cl_event": cl.Event}


def sized(kind, members=None):
    """A struct that begins with its size."""
    made = ffi.new(kind, members)
    made.size = ffi.sizeof(made[0])
    return made


def pointer(kind, of):
    """The OpenCL object of a PyOpenCL one."""
    if not isinstance(of, CLASSES[kind]):
        raise TypeError(f"this is a {type(of).__name__}, but must be a pyopencl.{CLASSES[kind].__name__}")
    return ffi.cast(kind, of.int_ptr)


def text_bytes(what, text):
    if not isinstance(text, str):
        raise TypeError(f"{what} is a {type(text).__name__}, but must be a str")
    return text.encode()


def schema_of(text):
    made, error = ffi.new("clump_schema **"), ffi.new("clump_error *")
    text = text_bytes("the schema", text)
    if lib.clump_schema_parse(text, len(text), ffi.NULL, made, error):
        raise error_of(error)
    return ffi.gc(made[0], lib.clump_schema_destroy)


def c_text(what, text):
    """For C, in which the first NUL ends a text."""
    return _whole(what, text, text_bytes(what, text))


def c_path(what, path):
    return _whole(what, path, os.fsencode(path))


def _whole(what, text, encoded):
    if b"\0" in encoded:
        raise ValueError(f"{what} is {text!r}, but must not have a NUL character")
    return encoded


def c_word(what, word, words):
    """A constant of C by its name, as in _context.words()."""
    if word not in words:
        raise ValueError(f"{what} is {word!r}, but must be one of {', '.join(words)}")
    return words[word]


def c_names(what, names):
    """An array of C strings, and the objects that keep it alive."""
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{what} is {names!r}, but must be a list of names, such as [{names!r}]")
    kept = [ffi.new("char[]", c_text(f"a name in {what}", name)) for name in names]
    return ffi.new("char *[]", kept), kept


def _plain(what, values):
    """An array of NumPy without masked elements."""
    if isinstance(values, cl.array.Array):
        values = values.get()
    if np.ma.is_masked(values):
        raise Error("CLUMP_ERR_USAGE", f"{what}: some values are masked. Fill them with numpy.ma.filled()")
    return np.asarray(values)


def refs_array(what, refs):
    """References as an array of uint32 with one axis."""
    given = _plain(what, refs)
    if given.ndim > 1:
        raise Error("CLUMP_ERR_USAGE", f"{what} is an array of shape {given.shape}, but must have one axis, as Heap.read_refs() returns it. "
                    "Use numpy.ravel()")
    return np.ascontiguousarray(fitting(what, given, "ref", np.dtype(np.uint32)))


def one_ref(ref):
    refs = refs_array("ref", ref)
    if len(refs) != 1:
        raise Error("CLUMP_ERR_USAGE", f"ref is {len(refs)} references, but must be one")
    return int(refs[0])


def fitting(what, values, scalar, dtype):
    """The values as an array of the type. Each value stays the same, or for floats is rounded to the nearest. scalar: the name of the
    type."""
    given = _plain(what, values)
    if given.dtype == dtype or given.size == 0:
        return given.astype(dtype, copy=False)
    kind = "a reference (uint32)" if scalar == "ref" else f"of type {scalar}"
    if given.dtype.kind not in ("iu" if scalar == "ref" else "biuf"):
        raise Error("CLUMP_ERR_USAGE", f"{what}: the values have NumPy's type {given.dtype}, but each must be {kind}")
    with np.errstate(invalid="ignore", over="ignore"):
        made = given.astype(dtype)
        if dtype.kind == "f":
            wrong = np.isinf(made) & np.isfinite(given)
        else:
            wrong = made != given
            if dtype.kind in "iu" and given.dtype.kind == "f":  # a cast that saturates gives the limit, which is equal as a float
                wrong |= given >= 2.0 ** (8 * dtype.itemsize - (dtype.kind == "i"))
    if wrong.any():
        raise Error("CLUMP_ERR_USAGE", f"{what}: one of the values is {given[wrong][0]}, but each must be {kind}")
    return made
