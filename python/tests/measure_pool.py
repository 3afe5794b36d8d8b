"""Allocations per second of PyOpenCL arrays, and the memory behind them: a pool of Clump beside PyOpenCL's own allocators. Likewise for
buffers of tinygrad, if it is there. Medians of nine runs. docs/measurements/pool.md has figures."""
import os
import pathlib
import random
import statistics
import sys
import time

import numpy as np
import pyopencl as cl
import pyopencl.array
import pyopencl.tools

import clump

QUEUE = cl.CommandQueue(cl.create_some_context(interactive=False))


def rate(allocator, words, count=1000):
    rates = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(count):
            allocator(4 * words)  # and its end
        QUEUE.finish()
        rates.append(count / (time.perf_counter() - begin))
    return statistics.median(rates)


def arithmetic(allocator, words, count=200):
    rates = []
    for _ in range(9):
        a = cl.array.zeros(QUEUE, words, dtype=np.float32, allocator=allocator)
        begin = time.perf_counter()
        for _ in range(count):
            a = a * 0.5 + 1
        QUEUE.finish()
        rates.append(count / (time.perf_counter() - begin))
    return statistics.median(rates)


def main():
    pool, memory_pool = clump.Pool(QUEUE), cl.tools.MemoryPool(cl.tools.ImmediateAllocator(QUEUE))
    allocators = {"none": cl.tools.ImmediateAllocator(QUEUE), "pyopencl.tools.MemoryPool": memory_pool, "clump": clump.PoolAllocator(pool, QUEUE)}
    for words in 1000, 100000, 1000000:
        for name, allocator in allocators.items():
            print(f"{4 * words} bytes, {name}: {rate(allocator, words):.0f} buffers, {arithmetic(allocator, words):.0f} times a * 0.5 + 1 a second")
    pool.trim()
    memory_pool.free_held()
    numbers = random.Random(7)
    sizes = [numbers.randrange(1000, 400000) for _ in range(500)]
    kept = [[allocators["clump"](n) for n in sizes], [memory_pool.allocate(n) for n in sizes]]
    print(f"500 buffers of {sum(sizes)} bytes: clump takes {pool.stats['bytes']}, MemoryPool {memory_pool.managed_bytes}")
    del kept


def of_tinygrad():
    os.environ["DEV"] = "CL"
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "adapters"))
    try:
        import clump_tinygrad
        from tinygrad import Device
    except ImportError:
        print("without tinygrad")
        return
    device = Device["CL"]
    numbers = random.Random(7)
    sizes = [numbers.randrange(1000, 400000) for _ in range(500)]

    def rate(next_size):
        rates, allocator = [], device.allocator
        for _ in range(9):
            begin = time.perf_counter()
            for _ in range(500):
                size = next_size()
                allocator.free(allocator.alloc(size), size)
            device.synchronize()
            rates.append(500 / (time.perf_counter() - begin))
        return statistics.median(rates)

    def report(name):
        fixed = [rate(lambda: bytes_) for bytes_ in (4000, 400000, 4000000)]
        print(f"tinygrad, {name}: {', '.join(f'{r:.0f}' for r in fixed)} buffers of 4 KB, 400 KB, 4 MB a second; "
              f"{rate(lambda: numbers.choice(sizes)):.0f} of 500 sizes")

    report("its own")
    kept = sum(size * len(buffers) for (size, _), buffers in device.allocator.cache.items())
    pool = clump_tinygrad.use_pool()
    report("clump")
    print(f"afterwards tinygrad's own keeps {kept} bytes, clump {pool.stats['bytes']}")


main()
of_tinygrad()
