#!/usr/bin/env python3
"""The heap of a Node.js program as HGRAPH1: runs it, writes V8's heap snapshot when it ends, and converts that.

  node.py FILE.hgraph.gz [--node NODE] [--run SCRIPT ARGUMENT...]
  node.py FILE.hgraph.gz --snapshot FILE.heapsnapshot

Without a script npm lists the packages that it is made of (`npm ls --all`, without a network). Needs node 12 or later, and
for that npm: Debian and Ubuntu have both as packages (apt-get install nodejs npm). V8 collects garbage before it writes a
snapshot, so all objects are live. The one root is the snapshot's own. Weak edges are left out, and shortcuts, which
repeat others. A size is the object's own (self_size), a kind the type that V8 gives it.

Read first: hgraph.py.
"""
import argparse
import array
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hgraph  # noqa: E402

NODE_OLDEST = 12
LEFT_OUT = {"weak", "shortcut"}
# A program may end by process.exit(), and may change its folder; at 'exit' its modules and their data are still there.
WRITE_AT_EXIT = ("const v8 = require('v8'), file = process.env.CLUMP_SNAPSHOT, parent = process.env.CLUMP_SNAPSHOT_PID;\n"
                 "if (String(process.ppid) === parent) process.on('exit', () => v8.writeHeapSnapshot(file));\n")


def find_npm(node):
    """npm's program, and its folder."""
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(node))), "lib/node_modules/npm")
    for folder in (beside, "/usr/share/nodejs/npm", "/usr/lib/node_modules/npm", "/usr/local/lib/node_modules/npm"):
        if os.path.isfile(os.path.join(folder, "bin/npm-cli.js")):
            return os.path.join(folder, "bin/npm-cli.js"), folder
    hgraph.stop("there is no npm (Debian, Ubuntu: apt-get install npm); or name a script, which must end by itself")


def find_node(name):
    node = shutil.which(name)
    if not node:
        hgraph.stop(f"there is no {name} on the PATH (Debian, Ubuntu: apt-get install nodejs), or set --node")
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    if not version.startswith("v") or int(version[1:].split(".")[0]) < NODE_OLDEST:
        hgraph.stop(f"{node} is version {version or 'unknown'}, and {NODE_OLDEST} or later is needed")
    return node


def take_snapshot(node, command, folder):
    """Run the program; the path of its snapshot."""
    hook, snapshot = os.path.join(folder, "hook.js"), os.path.join(folder, "heap.heapsnapshot")
    with open(hook, "w", encoding="utf-8") as file:
        file.write(WRITE_AT_EXIT)
    if not command:
        npm, home = find_npm(node)
        command = [npm, "ls", "--all", "--omit=dev", "--prefix", home]
    # Only the program itself writes one, not what it starts.
    environment = dict(os.environ, CLUMP_SNAPSHOT=snapshot, CLUMP_SNAPSHOT_PID=str(os.getpid()),
                       npm_config_cache=os.path.join(folder, "cache"), npm_config_update_notifier="false")
    run = subprocess.run([node, "--require", hook, *command], env=environment, capture_output=True, text=True)
    if not os.path.isfile(snapshot):
        hgraph.stop(f"{' '.join(command)} wrote no snapshot; it ended with {run.returncode}: {run.stderr[-2000:]}")
    if run.returncode:
        print(f"note: the program ended with {run.returncode}: {run.stderr[-400:].strip()}", file=sys.stderr)
    return snapshot


def convert(path):
    """offset, target, sizes, roots, kinds."""
    with open(path, encoding="utf-8") as file:
        heap = json.load(file)
    try:
        meta = heap["snapshot"]["meta"]
        fields, edge_fields = meta["node_fields"], meta["edge_fields"]
        types, edge_types = meta["node_types"][fields.index("type")], meta["edge_types"][edge_fields.index("type")]
        nodes, edges, step, edge_step = heap["nodes"], heap["edges"], len(fields), len(edge_fields)
        kind_at, size_at, count_at = (fields.index(name) for name in ("type", "self_size", "edge_count"))
        type_at, to_at = edge_fields.index("type"), edge_fields.index("to_node")
    except (KeyError, ValueError, TypeError) as reason:
        hgraph.stop(f"{path} is no heap snapshot of V8: {reason!r}")
    offset, target, at = array.array("I", [0]), array.array("I"), 0
    for count in nodes[count_at::step]:
        for edge in range(at, at + count * edge_step, edge_step):
            if edge_types[edges[edge + type_at]] not in LEFT_OUT:
                target.append(edges[edge + to_at] // step)
        at += count * edge_step
        offset.append(len(target))
    if at != len(edges):
        hgraph.stop(f"{path}: its objects have {at // edge_step} references, and it has {len(edges) // edge_step}")
    kinds = [types[kind] for kind in nodes[kind_at::step]]
    return offset, target, nodes[size_at::step], [0], kinds


def main():
    parser = argparse.ArgumentParser(description="The heap of a Node.js program as HGRAPH1.")
    parser.add_argument("file", help="to write; .gz is compressed")
    parser.add_argument("--node", default="node", help="the program node (default: that of the PATH)")
    parser.add_argument("--snapshot", help="convert this, and run nothing")
    parser.add_argument("--run", nargs=argparse.REMAINDER, help="a script and its arguments (default: npm)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.snapshot or take_snapshot(find_node(given.node), given.run, folder)
        offset, target, size, roots, kinds = convert(path)
    hgraph.write(given.file, offset, target, size, roots, kinds)
    hgraph.report(given.file, offset, target, size, roots)


if __name__ == "__main__":
    main()
