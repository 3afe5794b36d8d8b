#!/usr/bin/env python3
"""OffsetAllocator beside clump-bench run pool-trace --set target=virtual.

  offset_allocator.py CHECKOUT --trace FILE... [--json FILE]

Read first: peer.py, offset_allocator.cpp.
"""
import os

import peer

given = peer.parse("OffsetAllocator", "offsetAllocator.hpp", peer.add_trace)
program = os.path.join(given.build, "offset-allocator")
peer.build(["c++", "-std=c++17", "-O3", "-DNDEBUG", "-w", "-I", given.checkout,
            os.path.join(peer.HERE, "offset_allocator.cpp"), os.path.join(given.checkout, "offsetAllocator.cpp"),
            "-o", program])
peer.run_traces(given, "OffsetAllocator", program)
