#!/usr/bin/env python3
"""bench/mark/heaps: each script makes a small heap, in which clump-bench finds as many live objects and levels as the script
does; a snapshot written by hand is converted reference by reference; a seed is a graph; what is missing is named. Needs no
device. A heap whose program is not on this machine is left out.

  heaps.py CLUMP_BENCH FOLDER [CXX]
"""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEAPS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench/mark/heaps")
sys.dont_write_bytecode = True
sys.path.insert(0, HEAPS)
import hgraph  # noqa: E402

bench, folder, compiler = sys.argv[1], sys.argv[2], (sys.argv[3:] or ["c++"])[0]
os.makedirs(folder, exist_ok=True)
failures = []


def expect(is_right, words):
    if not is_right:
        failures.append(words)


def call(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def make(script, name, *arguments):
    """Run a script; the path of its heap, or None with a failure."""
    path = os.path.join(folder, name)
    if os.path.exists(path):
        os.remove(path)
    made = call(sys.executable, os.path.join(HEAPS, script), path, *arguments)
    expect(made.returncode == 0, f"{script}: {made.stderr}")
    if made.returncode:
        return None
    said = re.search(r": (\d+) objects, (\d+) of them live, (\d+) references, (\d+) roots, .*; (\d+) levels,", made.stdout)
    marked = os.path.join(folder, name + ".json")
    run = call(bench, "run", "mark-graph", "--set", f"file={path}", "--set", "engine=threads", "--set",
               f"csv={path}.csv", "--repeat", "1", "--json", marked)
    expect(run.returncode == 0 and said, f"{name}: {made.stdout}{run.stdout}{run.stderr}")
    if run.returncode or not said:
        return None
    with open(marked, encoding="utf-8") as file:
        metrics = json.load(file)["benchmarks"][0]["metrics"]
    objects, live, _, roots, levels = map(int, said.groups())
    found = [metrics[name]["median"] for name in ("live", "garbage", "depth")]
    expect(found == [live, objects - live, levels], f"{name}: {found} live, dead, levels; it says {made.stdout}")
    # Other programs collected their garbage first; the assembly has little.
    expect(roots and live > 0.5 * objects, f"{name} is no heap: {made.stdout}")
    return path


# Nodes: 0 root, 1, 2, 3; of the references 0-1, 1-2, 1-3 (weak), 2-1, 0-2 (shortcut), 3-0 four are strong. 3 is garbage.
snapshot = os.path.join(folder, "by-hand.heapsnapshot")
by_hand = {"snapshot": {"meta": {"node_fields": ["type", "name", "id", "self_size", "edge_count"],
                                 "node_types": [["hidden", "object", "string"], "string", "number", "number", "number"],
                                 "edge_fields": ["type", "name_or_index", "to_node"],
                                 "edge_types": [["property", "weak", "shortcut"], "string_or_number", "node"]}},
           "nodes": [0, 0, 1, 0, 2, 1, 0, 3, 24, 2, 2, 0, 5, 40, 1, 1, 0, 7, 16, 1],
           "edges": [0, 0, 5, 2, 0, 10, 0, 0, 10, 1, 0, 15, 0, 0, 5, 0, 0, 0], "strings": [""]}
with open(snapshot, "w", encoding="utf-8") as file:
    json.dump(by_hand, file)
heap = make("node.py", "by-hand.hgraph", "--snapshot", snapshot)
if heap:
    found = [list(part) for part in hgraph.read(heap)]
    expect(found == [[0, 1, 2, 3, 4], [1, 2, 1, 0], [0, 24, 40, 16], [0]], f"the snapshot is {found}")
by_hand["edges"] = by_hand["edges"][:-3]
with open(snapshot, "w", encoding="utf-8") as file:
    json.dump(by_hand, file)
short = call(sys.executable, os.path.join(HEAPS, "node.py"), os.path.join(folder, "no"), "--snapshot", snapshot)
expect(short.returncode == 1, f"a snapshot without its last edge is taken: {short.stdout}{short.stderr}")

missing = call(sys.executable, os.path.join(HEAPS, "node.py"), os.path.join(folder, "no"), "--node", "no-such-node")
expect(missing.returncode == 1 and "apt-get install nodejs" in missing.stderr, f"no node: {missing.stderr}")
missing = call(sys.executable, os.path.join(HEAPS, "assembly.py"), os.path.join(folder, "no"), "--cxx", "no-such-c++")
expect(missing.returncode == 1 and "apt-get install g++" in missing.stderr, f"no compiler: {missing.stderr}")
unknown = call(os.path.join(HEAPS, "make.sh"), folder, "jvm")
expect(unknown.returncode == 2 and "cpython, node, assembly" in unknown.stderr, f"make.sh: {unknown.stderr}")

if sys.implementation.name == "cpython":
    heap = make("cpython.py", "cpython.hgraph.gz", "--trees", "1", "--documents", "20")
    expect(not heap or os.path.getsize(heap) > 100000, "the heap of a Python process is next to nothing")
if shutil.which("node"):
    script = os.path.join(folder, "list.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write("let list = null; for (let i = 0; i < 500; i++) list = {next: list, number: i}; globalThis.list = list;\n")
    heap = make("node.py", "node.hgraph", "--run", script)
    if heap:
        offset, target, _, root = hgraph.read(heap)
        expect(len(hgraph.find_levels(offset, target, root)) > 500, "the list of 500 objects is not in the heap of node")
if shutil.which(compiler):
    small = ("--cxx", compiler, "--parts", "5", "--instances", "60")
    paths = [make("assembly.py", f"assembly{i}.hgraph", *small, "--seed", seed) for i, seed in enumerate(("7", "7", "8"))]
    if all(paths):
        data = [open(path, "rb").read() for path in paths]
        expect(data[0] == data[1], "a seed is not always the same assembly")
        expect(data[0] != data[2], "all seeds are the same assembly")

for words in failures:
    print(f"FAILED: {words}")
sys.exit(1 if failures else 0)
