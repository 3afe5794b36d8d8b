#!/usr/bin/env python3
"""Ouroboros beside clump-bench run alloc-scalability.

  ouroboros.py CHECKOUT [--manager MultiOuroPQ] [--bytes 16 64] [--items N] [--arch sm_90] [--json FILE]

Needs nvcc, and a GPU to run. Read first: peer.py, ouroboros.cu.
"""
import os

import peer

MANAGERS = ["MultiOuroPQ", "MultiOuroVAPQ", "MultiOuroVLPQ", "MultiOuroCQ", "MultiOuroVACQ", "MultiOuroVLCQ"]


def add(parser):
    peer.add_sizes(parser)
    parser.add_argument("--manager", choices=MANAGERS, default="MultiOuroPQ")


given = peer.parse("Ouroboros", "include/InstanceDefinitions.cuh", add)
program = os.path.join(given.build, f"ouroboros-{given.manager}")
# CUDA 13 has no clock in cudaDeviceProp any more. Ouroboros writes it into a table that nobody asks for here.
OLD_CUDA = ["-include", "iostream", "-DclockRate=multiProcessorCount", "-DmemoryClockRate=multiProcessorCount"]
peer.build(["nvcc", "-std=c++17", "-O3", "-w", f"-arch={given.arch}", "--expt-relaxed-constexpr",
            "--expt-extended-lambda", "-D_FORCE_INLINES", *OLD_CUDA, f"-DMANAGER={given.manager}",
            "-I", os.path.join(given.checkout, "include"), os.path.join(peer.HERE, "ouroboros.cu"), "-o", program])
peer.run_scalability(given, f"Ouroboros, {given.manager}", program)
