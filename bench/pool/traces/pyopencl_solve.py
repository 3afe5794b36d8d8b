#!/usr/bin/env python3
"""A program for PyOpenCL whose allocations are recorded: Poisson's equation by conjugate gradients on grids of several sizes, written
with pyopencl.array, where each expression makes arrays of its own.

    pyopencl_solve.py [GRID...]     cells along a side; default 16 32 64 128

Compares each solution with that of NumPy; exit status 1: they differ. It knows nothing of Clump.
"""
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array as cla


SOURCE = """
__kernel void laplace(__global const float *x, __global float *y, int n) {
    int i = get_global_id(0), j = get_global_id(1), at = j * n + i;
    float around = 0;
    if (i > 0) around += x[at - 1];
    if (i < n - 1) around += x[at + 1];
    if (j > 0) around += x[at - n];
    if (j < n - 1) around += x[at + n];
    y[at] = 4 * x[at] - around;
}
"""


def laplace(kernel, x, n):
    y = cla.empty_like(x)
    kernel(x.queue, (n, n), None, x.data, y.data, np.int32(n))
    return y


def solve(queue, kernel, right, n, steps):
    x = cla.zeros(queue, n * n, np.float32)
    r = cla.to_device(queue, right)
    p = r.copy()
    rr = float(cla.dot(r, r).get())
    for _ in range(steps):
        ap = laplace(kernel, p, n)
        alpha = rr / float(cla.dot(p, ap).get())
        x = x + np.float32(alpha) * p
        r = r - np.float32(alpha) * ap
        before, rr = rr, float(cla.dot(r, r).get())
        if rr < 1e-10 * n * n:
            break
        p = r + np.float32(rr / before) * p
    return x.get()


def reference(right, n):
    """The same on the host: the sine transform of the grid, each wave by itself."""
    k = np.arange(1, n + 1)
    s = np.sin(np.pi * np.outer(k, k) / (n + 1))
    waves = 2 - 2 * np.cos(np.pi * k / (n + 1))
    f = s @ right.reshape(n, n).astype(np.float64) @ s * (2 / (n + 1)) ** 2
    return (s @ (f / (waves[:, None] + waves[None, :])) @ s).reshape(n * n)


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [16, 32, 64, 128]
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    kernel = cl.Program(context, SOURCE).build().laplace
    rng = np.random.default_rng(1)
    wrong = 0
    for n in sizes:
        right = rng.random(n * n, dtype=np.float32)
        found, expected = solve(queue, kernel, right, n, 6 * n), reference(right, n)
        worst = np.abs(found - expected).max() / np.abs(expected).max()
        print(f'{n} x {n}: {"right" if worst < 1e-3 else "wrong"}, mean {found.mean():.3f}')
        wrong += worst >= 1e-3
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
