"""DynaSOAr's sources as compilers of today take them: edits of a copy, and how it is compiled.

They are compiled with -dlcm=cg: without it loads may be served by an L1 cache that does not see what other
multiprocessors wrote. Whether its searches then end on GPUs from Volta on was not tried.

Read first: peer.py.
"""
import os

import peer

EDITS = [
    # The address of a template that has an argument to be found out.
    ("bitmap/bitmap.h", r"template<int S = ScanType>\s+__device__ typename std::enable_if<S == k\w+Scan, void>::type\s+",
     "__device__ void "),
    ("allocator/allocator_handle.h", r"->parallel_defrag<", "->template parallel_defrag<"),
]


def copy(given, name, edits=()):
    return peer.copy(given, f"{name}-sources", EDITS + list(edits))


def build(given, folder, sources, program, defines=()):
    """`folder`: a copy."""
    peer.build(["nvcc", "-std=c++17", "-O3", "-DNDEBUG", "-w", f"-arch={given.arch}", "--expt-extended-lambda",
                "--expt-relaxed-constexpr", "-maxrregcount=64", "-Xptxas", "-dlcm=cg", *defines,
                "-I", os.path.join(folder, "example/configuration/dynasoar"), "-I", folder, *sources, "-o", program])
    return program
