"""Errors of the library as exceptions."""
from ._library import ffi, lib


class Error(Exception):
    """A call that failed. `status` is the name of its clump_status, such as "CLUMP_ERR_SCHEMA". `line` and `column` are a place in a
    schema or a source, or 0. `cl_code` is OpenCL's error code, or 0."""

    def __init__(self, status, message, line=0, column=0, cl_code=0):
        place = f" in line {line}, column {column}" if line and status == "CLUMP_ERR_SCHEMA" else ""
        super().__init__(f"{status}{place}: {message}")
        self.status, self.message, self.line, self.column, self.cl_code = status, message, line, column, cl_code


def name_of(status):
    return ffi.string(lib.clump_status_name(status)).decode()


def error_of(record):
    """The Error for a clump_error."""
    return Error(name_of(record.status), ffi.string(record.message).decode(errors="replace"), record.line, record.column,
                 record.cl_code)
