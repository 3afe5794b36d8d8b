#!/usr/bin/env python3
"""VulkanMemoryAllocator's virtual block beside clump-bench run pool-trace --set target=virtual.

  vma.py CHECKOUT --trace FILE... [--strategy default|min-time] [--json FILE]

Needs the headers of Vulkan (Debian: libvulkan-dev), no driver and no device. Read first: peer.py, vma.cpp.
"""
import os

import peer


def add(parser):
    peer.add_trace(parser)
    parser.add_argument("--strategy", choices=["default", "min-time"], default="default")


given = peer.parse("VulkanMemoryAllocator", "include/vk_mem_alloc.h", add)
quick = given.strategy == "min-time"
program = os.path.join(given.build, f"vma-{given.strategy}")
peer.build(["c++", "-std=c++17", "-O3", "-DNDEBUG", "-w", f"-DMIN_TIME={int(quick)}",
            "-I", os.path.join(given.checkout, "include"), os.path.join(peer.HERE, "vma.cpp"), "-o", program])
peer.run_traces(given, "VMA, MIN_TIME" if quick else "VMA", program)
