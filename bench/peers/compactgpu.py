#!/usr/bin/env python3
"""CompactGpu, which is part of DynaSOAr's repository, beside clump-bench run compact-synthetic.

  compactgpu.py CHECKOUT [--objects 32768000] [--deleted 60] [--arch sm_90] [--json FILE]

Needs nvcc, and a GPU to run. Read first: dynasoar_source.py, compactgpu.cu.
"""
import os

import dynasoar_source
import peer


def add(parser):
    peer.add_cuda(parser)
    parser.add_argument("--objects", type=int, default=32768000, help="of the class that is compacted")
    parser.add_argument("--deleted", type=int, default=60, help="percent of them that die before")


given = peer.parse("DynaSOAr", "allocator/soa_defrag.inc", add)
program = os.path.join(given.build, "compactgpu")
capacity = 64 ** 3 * (4 * given.objects // 64 ** 3 + 1)  # of two classes, with room
dynasoar_source.build(given, dynasoar_source.copy(given, "compactgpu"), [os.path.join(peer.HERE, "compactgpu.cu")], program,
                      ["-DOPTION_DEFRAG", f"-DOBJECTS={given.objects}", f"-DDELETED={given.deleted}",
                       f"-DCAPACITY={capacity}"])
if not given.only_build:
    params = {"objects": given.objects, "deleted_percent": given.deleted}
    found = peer.run(given, "compact-synthetic", "CompactGpu", params, [program, str(given.repeat)])
    peer.finish(given, "CompactGpu", "cuda", [found])
