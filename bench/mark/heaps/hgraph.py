"""What the scripts of this folder share: writing HGRAPH1 (bench/mark/graph.h) and saying what was written.

A graph is three flat lists: `offset` of nodes + 1 numbers, `target` with the nodes that node i refers to at offset[i] ..
offset[i + 1] - 1, and `size`, the bytes of each node. Counts and bytes have 32 bits.

Read next: cpython.py, the simplest user.
"""
import array
import gzip
import os
import struct
import sys
from collections import Counter

KINDS_MOST = 256


def stop(words):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {words}")


def number_kinds(names):
    """A number below 256 for each name, the most frequent ones apart and the others together; and the names."""
    known = [name for name, _ in Counter(names).most_common(KINDS_MOST - 1)]
    number = {name: i for i, name in enumerate(known)}
    kinds = bytes(number.get(name, len(known)) for name in names)
    return kinds, known + ["others"] if max(kinds, default=0) == len(known) else known


def write(path, offset, target, size, root, kind_names):
    """`kind_names`: the kind of each node. A path that ends with .gz is compressed."""
    nodes = len(size)
    words = array.array("I")
    if words.itemsize != 4:
        stop("this Python's array has no elements of 4 bytes")
    if nodes == 0 or len(offset) != nodes + 1 or offset[-1] != len(target) or len(kind_names) != nodes:
        stop(f"{nodes} nodes, {len(offset)} offsets, {len(target)} references and {len(kind_names)} kinds do not fit")
    if len(target) >= 1 << 32:
        stop(f"{len(target)} references are more than HGRAPH1 has room for")
    kinds, names = number_kinds(kind_names)
    text = "\n".join(name.encode("ascii", "replace").decode() for name in names).encode()
    head = struct.pack("<8s5I", b"HGRAPH1", nodes, len(target), len(root), len(names), len(text))
    # No time in the header, so that one graph is always one file.
    opened = gzip.GzipFile(path, "wb", 6, mtime=0) if path.endswith(".gz") else open(path, "wb")
    with opened as file:
        file.write(head + text + bytes(-len(text) % 4))
        for part in (offset, target, (min(s, 0xffffffff) for s in size), root):
            words = array.array("I", part)
            if sys.byteorder == "big":
                words.byteswap()
            file.write(words.tobytes())
        file.write(kinds)


def read(path):
    """offset, target, size, root of a file that is not compressed."""
    with open(path, "rb") as file:
        data = file.read()
    nodes, edges, roots, _, text = struct.unpack_from("<5I", data, 8)
    at, parts = 28 + (text + 3) // 4 * 4, []
    for count in (nodes + 1, edges, nodes, roots):
        words = array.array("I", data[at:at + 4 * count])
        if sys.byteorder == "big":
            words.byteswap()
        parts.append(words)
        at += 4 * count
    if data[:8] != b"HGRAPH1\0" or len(data) != at + nodes:
        stop(f"{path} is no HGRAPH1")
    return parts


def find_levels(offset, target, root):
    """Objects at each depth of a breadth-first traversal."""
    seen = bytearray(len(offset) - 1)
    levels, at = [], []
    for node in root:
        if not seen[node]:
            seen[node] = 1
            at.append(node)
    while at:
        levels.append(len(at))
        following = []
        for node in at:
            for to in target[offset[node]:offset[node + 1]]:
                if not seen[to]:
                    seen[to] = 1
                    following.append(to)
        at = following
    return levels


def report(path, offset, target, size, root):
    levels = find_levels(offset, target, root)
    widest = max(b - a for a, b in zip(offset, offset[1:]))
    print(f"{path}: {len(size)} objects, {sum(levels)} of them live, {len(target)} references, {len(root)} roots, "
          f"{sum(size)} bytes; {len(levels)} levels, {sum(n < 80 for n in levels)} of them below 80 objects; "
          f"the widest object has {widest} references")
