"""examples/adapters/clump_tinygrad.py against tinygrad: a network is trained as NumPy trains it; all memory comes from the pool and goes back."""
import gc
import os
import pathlib
import sys
import unittest

import numpy as np

os.environ["DEV"], os.environ["PARALLEL"] = "CL", "0"  # and no processes that compile
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "adapters"))
try:
    import tinygrad
except ImportError:
    tinygrad = None
else:
    import clump_tinygrad
    from tinygrad import Device, Tensor


def train(x, y, w, v, steps, rate):
    """Two layers by gradient descent."""
    for _ in range(steps):
        hidden = x @ w
        active = hidden * (hidden > 0)
        slope = (active @ v - y) * (2 / y.size)
        w_slope = x.T @ ((slope @ v.T) * (hidden > 0))
        v = v - (active.T @ slope) * rate
        w = w - w_slope * rate
    return w, v


@unittest.skipUnless(tinygrad, "there is no tinygrad")
class Adapter(unittest.TestCase):
    def test_training(self):
        pool = clump_tinygrad.use_pool(chunk_bytes=8 << 20, limit_bytes=64 << 20)
        numbers = np.random.default_rng(5)
        x, y = numbers.normal(size=(64, 20)).astype(np.float32), numbers.normal(size=(64, 3)).astype(np.float32)
        w, v = numbers.normal(size=(20, 30)).astype(np.float32) / 5, numbers.normal(size=(30, 3)).astype(np.float32) / 5
        expected = train(x, y, w, v, 8, 0.1)
        tx, ty, tw, tv = Tensor(x), Tensor(y), Tensor(w), Tensor(v)
        for _ in range(8):  # each step is carried out by itself: its temporary buffers go back while others run
            hidden = tx @ tw
            active = hidden.relu()
            slope = (active @ tv - ty) * (2 / y.size)
            w_slope = tx.T @ ((slope @ tv.T) * (hidden > 0))
            tv, tw = tv - (active.T @ slope) * 0.1, tw - w_slope * 0.1
            Tensor.realize(tv, tw)
        found = tw.numpy(), tv.numpy()
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
        self.assertGreater(np.abs(expected[0] - w).max(), 1e-3)  # there was something to learn
        stats = pool.stats
        self.assertGreater(stats["allocated"], 25)
        self.assertLess(stats["allocations"], 20)
        pool.check()
        with self.assertRaises(MemoryError):
            Device["CL"].allocator.alloc(100 << 20)
        del tx, ty, tw, tv, hidden, active, slope, w_slope
        gc.collect()
        Device["CL"].synchronize()
        pool.stats  # markers
        Device["CL"].synchronize()
        self.assertEqual(pool.stats["allocations"], 0)
        pool.trim()
        self.assertEqual(pool.stats["bytes"], 0)

    def test_sizes_share_memory(self):
        """Buffers of many sizes, one after the other: what tinygrad's own allocator keeps for each size, the pool gives out again."""
        pool = clump_tinygrad.use_pool(chunk_bytes=4 << 20, limit_bytes=8 << 20)
        for size in range(100000, 130000, 5000):
            tensor = (Tensor.full((size,), 1.0) + Tensor.full((size,), 2.0).contiguous().realize()).contiguous().realize()
            self.assertEqual(float(tensor.numpy()[-1]), 3.0)
        self.assertLessEqual(pool.stats["bytes"], 8 << 20)
        self.assertGreater(pool.stats["allocated"], 11)


if __name__ == "__main__":
    unittest.main()
