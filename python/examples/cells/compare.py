"""Both versions side by side: the same steps, the same cells at the end, and the time that each took.

    compare.py [steps [times]]      times: also print milliseconds a step
"""
import sys
import time

import numpy as np
import pyopencl as cl

import after
import before

OVERLAP_MOST = 0.2  # of a cell's width of 1


def nearest(place, direction, half, point):
    """The point of segments that is nearest to a point, each to each."""
    along = ((point - place) * direction).sum(axis=-1)
    return place + np.clip(along, -half, half)[..., None] * direction


def deepest_overlap(pose, length):
    """By how much two cells overlap at most, found without a grid, from the ends of each cell to each other one."""
    place, direction, half = pose[:, :2].astype(float), pose[:, 2:].astype(float), length.astype(float) / 2
    gap = np.inf
    for sign in 1, -1:
        end = (place + sign * half[:, None] * direction)[:, None]
        distance = np.linalg.norm(nearest(place[None], direction[None], half[None], end) - end, axis=-1)
        np.fill_diagonal(distance, np.inf)
        gap = min(gap, distance.min())
    return max(0.0, 1.0 - gap)


def run(cells, steps):
    seconds, work = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        cells.advance()
        name, pose, length = cells.state()  # waits
        seconds.append(time.perf_counter() - begin)
        work.append((len(name), cells.contacts))
    order = np.argsort(name)
    return name[order], pose[order], length[order], work, seconds


def main():
    steps, with_times = int(sys.argv[1]) if len(sys.argv) > 1 else 230, len(sys.argv) > 2
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    results = [run(before.Cells(queue, max_cells=4096), steps), run(after.Cells(queue), steps)]
    (name, pose, length, work, _), (name_b, pose_b, length_b, work_b, _) = results
    differs = next((i for i, (a, b) in enumerate(zip(work, work_b)) if a != b), None)
    if differs is not None:
        raise SystemExit(f"step {differs}: before has {work[differs]} cells and contacts, after {work_b[differs]}")
    np.testing.assert_array_equal(name, name_b)
    np.testing.assert_allclose(length, length_b, rtol=1e-4)
    np.testing.assert_allclose(pose, pose_b, atol=1e-3)
    overlap = max(deepest_overlap(p, l) for _, p, l, _, _ in results)
    if overlap > OVERLAP_MOST:
        raise SystemExit(f"cells overlap by {overlap:.3f}; at most {OVERLAP_MOST} is right")
    print(f"{steps} steps: {len(name)} cells, the same before and after, total length {length.sum():.0f}")
    if with_times:
        print(f"{work[-1][1]} contacts, overlap at most {overlap:.3f} of a cell's width")
        for what, (*_, seconds) in zip(("before", "after"), results):
            print(f"{what}: {1e3 * np.median(seconds[-20:]):.2f} ms a step, median of the last 20")


main()
