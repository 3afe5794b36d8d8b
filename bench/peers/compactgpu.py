#!/usr/bin/env python3
"""CompactGpu, which is part of DynaSOAr's repository, beside clump-bench run compact-synthetic.

  compactgpu.py CHECKOUT [--objects 32768000] [--deleted 60] [--arch sm_90] [--json FILE]

Needs nvcc, and a GPU to run. Read first: peer.py, compactgpu.cu.
"""
import os

import peer


def add(parser):
    peer.add_cuda(parser)
    parser.add_argument("--objects", type=int, default=32768000, help="of the class that is compacted")
    parser.add_argument("--deleted", type=int, default=60, help="percent of them that die before")


given = peer.parse("DynaSOAr", "allocator/soa_defrag.inc", add)
program = os.path.join(given.build, "compactgpu")
capacity = 64 ** 3 * (4 * given.objects // 64 ** 3 + 1)  # of two classes, with room
# As it is published, no compiler takes the two calls of a template in it.
sources = peer.copy(given, "compactgpu-sources", "allocator/allocator_handle.h", r"->parallel_defrag<",
                    "->template parallel_defrag<")
peer.build(["nvcc", "-std=c++17", "-O3", "-DNDEBUG", "-w", f"-arch={given.arch}", "--expt-extended-lambda",
            "--expt-relaxed-constexpr", "-maxrregcount=64", "-DOPTION_DEFRAG", f"-DOBJECTS={given.objects}",
            f"-DDELETED={given.deleted}", f"-DCAPACITY={capacity}",
            "-I", os.path.join(sources, "example/configuration/dynasoar"), "-I", sources,
            os.path.join(peer.HERE, "compactgpu.cu"), "-o", program])
if not given.only_build:
    params = {"objects": given.objects, "deleted_percent": given.deleted}
    found = peer.run(given, "compact-synthetic", "CompactGpu", params, [program, str(given.repeat)])
    peer.finish(given, "CompactGpu", "cuda", [found])
