"""The program of boids.c in Python. NumPy computes the same with arrays, and each boid must be the same, in the run without a break
and in the run that resumes from the last checkpoint."""
import pathlib

import numpy as np
import pyopencl as cl
import pyopencl.array

import clump

BOIDS, SIDE, STEPS, EVERY = 2000, 32, 100, 40
SCHEMA = """
class Boid { uint id; int x; int y; int vx; int vy; int ax; int ay; uint near; }
class Cells { float origin[3]; float scale; uint count[3]; uint starts[*]; ref Boid sorted[*]; }
"""
KERNELS = (pathlib.Path(__file__).parent / "boids.cl").read_text()
FILE = "boids.clump"
FIELDS = ["id", "x", "y", "vx", "vy"]


# ---- With NumPy


def random_of(a, b):
    x = a * np.uint32(2654435761) ^ b * np.uint32(2246822519)
    x = (x ^ x >> 15) * np.uint32(2246822519)
    x = (x ^ x >> 13) * np.uint32(3266489917)
    return x ^ x >> 16


def first_boids():
    ids = np.arange(BOIDS, dtype=np.uint32)
    drawn = random_of(ids, np.zeros_like(ids))
    places = drawn % (SIDE * 256), drawn // 65536 % (SIDE * 256)
    speeds = (drawn >> 8 & 63).astype(np.int32) - 32, (drawn >> 24 & 63).astype(np.int32) - 32
    return [ids, *(place.astype(np.int32) for place in places), *speeds]


def step_of_boids(boids, step):
    """All pairs, where the heap has a grid."""
    ids, x, y, vx, vy = boids
    dx, dy = x - x[:, None], y - y[:, None]
    square = dx * dx + dy * dy
    sees = square <= 256 * 256
    np.fill_diagonal(sees, False)
    towards = np.where(square < 96 * 96, -16, 1)
    near = sees.sum(axis=1)
    ax = np.where(sees, 4 * (vx - vx[:, None]) + towards * dx, 0).sum(axis=1) >> 6
    ay = np.where(sees, 4 * (vy - vy[:, None]) + towards * dy, 0).sum(axis=1) >> 6
    vx, vy = np.clip(vx + ax, -48, 48).astype(np.int32), np.clip(vy + ay, -48, 48).astype(np.int32)
    x, y = x + vx, y + vy
    for place, speed in (x, vx), (y, vy):
        beyond = (place < 0) | (place >= SIDE * 256)  # the wall
        place[beyond] -= 2 * speed[beyond]
        speed[beyond] *= -1
    drawn = random_of(ids, np.full_like(ids, step))
    lives = drawn % 256 >= near
    bears = lives & (near >= 2) & (near <= 8) & (drawn // 256 % 32 == 0)
    children = random_of(drawn, ids), x, y, -vx, -vy
    return [np.concatenate([old[lives], new[bears]]) for old, new in zip((ids, x, y, vx, vy), children)]


# ---- With a heap


class Flock:
    def __init__(self, queue):
        self.heap = clump.Heap(queue, SCHEMA, bytes=8 << 20)
        program = clump.Program(self.heap, KERNELS, options=f"-DSIDE={SIDE}")
        names = "make_boids make_grid cell_keys make_room note_cells look fly"
        self.kernel = {name: program.kernel(name) for name in names.split()}
        self.grid = cl.array.zeros(queue, 1, np.uint32)  # a reference to the Cells
        self.registered = clump.Refs(self.heap, self.grid, 1)

    def begin(self):
        self.heap.do_new(self.kernel["make_boids"], "Boid", BOIDS)
        self.heap.do_new(self.kernel["make_grid"], "Cells", 1, self.grid)

    def update_grid(self):
        self.kernel["cell_keys"].set_arg(1, self.grid)
        self.heap.compact(["Boid"], order="key", key_kernel=self.kernel["cell_keys"])
        self.heap.launch(self.kernel["make_room"], 1, 1, self.grid, np.uint32(self.heap.read_count("Boid")))
        self.heap.do_all(self.kernel["note_cells"], self.grid)

    def run(self, first):
        for step in range(first, STEPS):
            if step % EVERY == 0:
                self.heap.save(FILE)
            self.update_grid()
            self.heap.do_all(self.kernel["look"], self.grid)
            self.heap.do_all(self.kernel["fly"], np.uint32(step))
        self.heap.take_errors()

    def differs(self, name, expected):
        boids = np.sort(self.heap.read_structs("Boid", FIELDS), order="id")
        same = len(boids) == len(expected) and (boids == expected).all()
        print(f"{name}: {len(boids)} boids, {'the same as' if same else 'others than'} with arrays")
        return not same


def main():
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    flock = Flock(queue)
    flock.begin()
    flock.run(0)
    boids = first_boids()
    for step in range(STEPS):
        boids = step_of_boids(boids, step)
    expected = np.sort(np.rec.fromarrays(boids, names=FIELDS), order="id")
    wrong = flock.differs("without a break", expected)

    flock = Flock(queue)
    flock.heap.load(FILE)
    flock.run((STEPS - 1) // EVERY * EVERY)
    wrong |= flock.differs("resumed", expected)
    raise SystemExit(int(wrong))


main()
