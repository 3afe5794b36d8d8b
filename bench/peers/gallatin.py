#!/usr/bin/env python3
"""Gallatin beside clump-bench run alloc-scalability.

  gallatin.py CHECKOUT [--bytes 16 64] [--items N] [--arch sm_90] [--json FILE]

Needs nvcc, and a GPU to run. Read first: peer.py, gallatin.cu.
"""
import os

import peer

given = peer.parse("Gallatin", "include/gallatin/allocators/gallatin.cuh", peer.add_sizes)
program = os.path.join(given.build, "gallatin")
peer.build(["nvcc", "-std=c++17", "-O3", "-w", f"-arch={given.arch}", "--expt-relaxed-constexpr",
            "-I", os.path.join(given.checkout, "include"), os.path.join(peer.HERE, "gallatin.cu"), "-o", program])
peer.run_scalability(given, "Gallatin", program)
