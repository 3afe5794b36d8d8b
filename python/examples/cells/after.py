"""Growing and dividing cells with Clump: cells and contacts are objects that kernels make. before.py does the same with arrays of
PyOpenCL."""
import math
import pathlib

import numpy as np
import pyopencl.array as cl_array

import clump

FOLDER = pathlib.Path(__file__).resolve().parent
ROUNDS, TOLERANCE, LISTS = 8, 5e-3, 4096
SCHEMA = """
class Cell {
    float4 pose;
    float len;
    uint name;
    ref Cell neighbour;             // the next one in the list of its square
    ref Contact contacts;           // the first one
    float4 step; float4 goal; float goal_len;
    float4 x; float4 res; float4 p; float4 ap;
}
class Contact {
    ref Cell cell[2];
    ref Contact next[2];            // in the list of each of them
    float4 row_a[2]; float4 row_b[2]; float distance[2]; float y[2];
}
"""


class Cells:
    def __init__(self, queue, bytes=64 << 20):
        self.heap = clump.Heap(queue, SCHEMA, bytes=bytes)
        source = (FOLDER / "physics.cl").read_text() + (FOLDER / "after.cl").read_text()
        program = clump.Program(self.heap, source, name="after.cl")
        names = ("first start predict update_contacts find_contacts residual by_rows by_columns squared_residual p_times_ap along "
                 "next_direction add_impulse integrate part")
        self.kernel = {name: program.kernel(name) for name in names.split()}
        self.heads = cl_array.zeros(queue, LISTS, np.uint32)
        self.heap.do_new(self.kernel["first"], "Cell", 1)

    def run(self, name, *args):
        self.heap.do_all(self.kernel[name], *args)

    def state(self):
        return tuple(self.heap.read_field("Cell", field) for field in ("name", "pose", "len"))

    def squared(self, name):
        return float(self.heap.reduce(self.kernel[name], np.float64))

    def solve(self):
        """Conjugate gradients. Returns the iterations."""
        n = self.heap.read_count("Cell")
        self.run("residual")
        before = self.squared("squared_residual")
        for iteration in range(4 * n):
            if math.sqrt(before / n) < TOLERANCE:
                return iteration
            self.run("by_rows")
            self.run("by_columns")
            self.run("along", np.float32(before / self.squared("p_times_ap")))
            now = self.squared("squared_residual")
            self.run("next_direction", np.float32(now / before))
            before = now
        return 4 * n

    def advance(self):
        self.heads.fill(0)
        self.run("start", self.heads, np.uint32(LISTS))
        found = 0
        for _ in range(ROUNDS):
            self.run("predict")
            self.run("update_contacts")
            self.run("find_contacts", self.heads, np.uint32(LISTS))
            before, found = found, self.heap.read_count("Contact")
            if found == before:
                break
            self.iterations = self.solve()
            self.run("add_impulse")
        self.contacts = found
        self.run("part")
        self.run("integrate")
        self.heap.take_errors()
