"""Growing and dividing cells with arrays of PyOpenCL, as CellModeller has them: max_cells and max_contacts are fixed at the
start, cells are sorted into the grid and divide on the host. after.py does the same with Clump."""
import math
import pathlib

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl.cltypes import float4, make_int2
from pyopencl.reduction import ReductionKernel

FOLDER = pathlib.Path(__file__).resolve().parent
RADIUS, SQUARE = np.float32(0.5), np.float32(6)
ROUNDS, TOLERANCE = 8, 5e-3


def mix_bits(x):
    x = (x ^ x >> 16) * 0x85ebca6b & 0xffffffff
    x = (x ^ x >> 13) * 0xc2b2ae35 & 0xffffffff
    return x ^ x >> 16


def chance(name):
    return np.float32(mix_bits(name) >> 8) * np.float32(2.0**-24)


def length_to_divide(name):
    return np.float32(3.5) + np.float32(0.5) * chance(name)


class Cells:
    def __init__(self, queue, max_cells, max_contacts=24):
        self.queue, self.max_cells, self.max_contacts, self.count = queue, max_cells, max_contacts, 0
        source = (FOLDER / "physics.cl").read_text() + (FOLDER / "before.cl").read_text()
        program = cl.Program(queue.context, source).build()
        self.kernel = {kernel.function_name: kernel for kernel in program.all_kernels()}
        self.dot = ReductionKernel(queue.context, np.float64, neutral="0", reduce_expr="a+b", map_expr="product(x[i], y[i])",
                                   arguments="__global const float4 *x, __global const float4 *y",
                                   preamble=(FOLDER / "physics.cl").read_text())
        array = lambda shape, dtype: cl_array.zeros(queue, shape, dtype)
        table = max_cells * max_contacts
        self.pose, self.len, self.name = array(max_cells, float4), array(max_cells, np.float32), array(max_cells, np.uint32)
        self.goal, self.goal_len, self.step = array(max_cells, float4), array(max_cells, np.float32), array(max_cells, float4)
        self.square, self.sorted = array(max_cells, np.int32), array(max_cells, np.int32)
        self.n_contacts, self.to = array(max_cells, np.int32), array(table, np.int32)
        self.n_from, self.from_ = array(max_cells, np.int32), array(table, np.int32)
        self.rows_a, self.rows_b = array(2 * table, float4), array(2 * table, float4)
        self.distances, self.y = array(2 * table, np.float32), array(2 * table, np.float32)
        self.x, self.res, self.p, self.ap = (array(max_cells, float4) for _ in range(4))
        self.overflow = array(1, np.int32)
        self.host_pose, self.host_len = np.zeros((max_cells, 4), np.float32), np.zeros(max_cells, np.float32)
        self.host_name = np.zeros(max_cells, np.uint32)
        self.host_pose[0], self.host_len[0], self.host_name[0], self.count = (0, 0, 1, 0), 2, 1, 1
        self.send()

    def run(self, name, *args, height=1):
        size = (-(-self.count // 64) * 64, height)  # PoCL compiles a kernel again for other sizes of groups
        self.kernel[name](self.queue, size, (64, 1), np.int32(self.count), *(a.data if isinstance(a, cl_array.Array) else a for a in args))

    def send(self):
        n = self.count
        self.pose[:n].set(np.ascontiguousarray(self.host_pose[:n]).view(float4).reshape(n))
        self.len[:n].set(self.host_len[:n])
        self.name[:n].set(self.host_name[:n])

    def fetch(self):
        n = self.count
        self.host_pose[:n] = self.pose[:n].get().view(np.float32).reshape(n, 4)
        self.host_len[:n] = self.len[:n].get()

    def state(self):
        return self.host_name[:self.count], self.host_pose[:self.count], self.host_len[:self.count]

    def make_grid(self):
        """The cells in the order of their squares, and where each square begins; on the host."""
        n, at = self.count, np.floor(self.host_pose[:self.count, :2] / SQUARE).astype(np.int32)
        low, high = at.min(axis=0), at.max(axis=0) + 1
        self.size = make_int2(*(high - low))
        self.run("find_squares", self.pose, make_int2(*low), self.size["x"], self.square)
        squares = self.square[:n].get()
        order = np.argsort(squares)
        self.sorted[:n].set(order.astype(np.int32))
        n_squares = int(np.prod(high - low))
        self.starts = cl_array.to_device(self.queue, np.searchsorted(squares[order], np.arange(n_squares + 1)).astype(np.int32))

    def find_contacts(self):
        """Returns how many there are."""
        table = np.int32(self.max_contacts), self.size, self.square, self.sorted, self.starts, self.name
        self.run("find_contacts", *table, self.goal, self.goal_len, self.n_contacts, self.to, self.rows_a, self.rows_b, self.distances,
                 self.overflow)
        self.run("collect_contacts", *table, self.n_contacts, self.to, self.n_from, self.from_, self.overflow)
        if self.overflow.get()[0]:
            raise MemoryError(f"a cell touches more than {self.max_contacts} others")
        return int(cl_array.sum(self.n_contacts[:self.count]).get())

    def by_columns(self, y, x, with_cost, result):
        self.run("by_columns", np.int32(self.max_contacts), self.n_contacts, self.n_from, self.from_, self.rows_a, self.rows_b, y,
                 self.len, x, np.int32(with_cost), result)

    def squared(self, a, b):
        return float(self.dot(a[:self.count], b[:self.count]).get())

    def solve(self):
        """Conjugate gradients. Returns the iterations."""
        n = self.count
        self.x[:n].fill(np.zeros((), float4))
        self.by_columns(self.distances, self.x, False, self.res)
        cl.enqueue_copy(self.queue, self.p.data, self.res.data, byte_count=16 * n)
        before = self.squared(self.res, self.res)
        for iteration in range(4 * n):
            if math.sqrt(before / n) < TOLERANCE:
                return iteration
            self.run("by_rows", np.int32(self.max_contacts), self.n_contacts, self.to, self.rows_a, self.rows_b, self.p, self.y,
                     height=self.max_contacts)
            self.by_columns(self.y, self.p, True, self.ap)
            self.run("along", np.float32(before / self.squared(self.p, self.ap)), self.x, self.res, self.p, self.ap)
            now = self.squared(self.res, self.res)
            self.run("next_direction", np.float32(now / before), self.res, self.p)
            before = now
        return 4 * n

    def divide(self):
        """On the host: each daughter has a place in the arrays, the first one that of her mother."""
        for i in range(self.count):
            name, mother, length = int(self.host_name[i]), self.host_pose[i].copy(), self.host_len[i]
            if length <= length_to_divide(name):
                continue
            if self.count == self.max_cells:
                raise MemoryError(f"more than {self.max_cells} cells")
            length = np.float32(0.5) * length - RADIUS
            for place, side in (i, 1), (self.count, -1):
                own = (2 * name + (side < 0)) & 0xffffffff
                off = np.float32(side) * (np.float32(0.5) * length + RADIUS)
                turn = np.float32(0.001) * (np.float32(2) * chance(~own & 0xffffffff) - np.float32(1))
                self.host_pose[place] = (*(mother[:2] + off * mother[2:]), mother[2] - turn * mother[3], mother[3] + turn * mother[2])
                self.host_len[place], self.host_name[place] = length, own
            self.count += 1

    def advance(self):
        self.send()
        self.run("start", self.len, self.step, self.n_contacts)
        self.make_grid()
        found = 0
        for _ in range(ROUNDS):
            self.run("predict", self.pose, self.len, self.step, self.goal, self.goal_len)
            before, found = found, self.find_contacts()
            if found == before:
                break
            self.iterations = self.solve()
            self.run("add_impulse", self.x, self.step)
        self.contacts = found
        self.run("integrate", self.pose, self.len, self.step)
        self.fetch()
        self.divide()
