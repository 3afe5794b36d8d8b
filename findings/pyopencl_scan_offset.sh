#!/usr/bin/env bash
# PyOpenCL 2026.1.4 with NumPy 2.4.6 (PyPI; PyOpenCL 2022.3.1 of Debian 12 alike), on PoCL 3.0: scans ignore where an array begins within its buffer.
# cumsum(), copy_if(), unique() and GenericScanKernel take the buffer of a slice and not its offset, so they read (and, without an array for the
# output, write) the beginning of the buffer. There is no error. Sums, maxima and arithmetic of the same slice are right. Seen, for the numbers
# 1 to 64 and the slice [32:48]: its sum is 648, which is right, and its cumsum ends with 136, that of the first 16. Around it: scan a copy of the slice.
. "$(dirname "$0")/common.sh"
use_pocl
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check pyopencl==2026.1.4 numpy==2.4.6 mako==1.4.3
cat >scan.py <<'PYTHON'
import numpy as np
import pyopencl as cl
import pyopencl.algorithm
import pyopencl.array
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
array = cl.array.to_device(queue, np.arange(1, 65, dtype=np.int32))[32:48]
chosen, count, _ = cl.algorithm.copy_if(array, "ary[i] > 40")
last = lambda a: int(cl.array.cumsum(a).get()[-1])
print("sum", int(cl.array.sum(array).get()), "cumsum", last(array), "of a copy", last(array.copy()), "copy_if", int(count.get()))
PYTHON
expect "sum 648 cumsum 136 of a copy 648 copy_if 0" "$(venv/bin/python -W ignore scan.py)"
