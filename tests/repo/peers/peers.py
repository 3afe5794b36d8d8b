#!/usr/bin/env python3
"""bench/peers without a GPU: what its scripts share runs a driver on a trace of clump-bench and writes JSON that
clump-bench reads; ranges that overlap, a driver that fails and one that says nothing of a check are failures. With
CLUMP_PEER_VMA and CLUMP_PEER_OFFSET_ALLOCATOR in the environment, folders of checkouts, these peers run too.

  peers.py CLUMP_BENCH FOLDER CXX
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PEERS = os.path.join(ROOT, "bench/peers")
sys.dont_write_bytecode = True
sys.path.insert(0, PEERS)
import peer  # noqa: E402

bench, folder, compiler = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
failures = []


def expect(is_right, words):
    if not is_right:
        failures.append(words)


def call(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def check_json(path, peer_name, metrics):
    """It has what report.c writes, and clump-bench puts it beside a file of its own."""
    with open(path, encoding="utf-8") as file:
        theirs = json.load(file)
    with open(ours, encoding="utf-8") as file:
        own = json.load(file)
    expect(set(theirs["context"]) == set(own["context"]), f"{path}: context has other keys than ours")
    expect(theirs["context"]["library_version"] == peer_name, f"{path} does not name {peer_name}")
    run, own_run = theirs["benchmarks"][0], own["benchmarks"][0]
    expect(set(own_run) - {"notes"} <= set(run), f"{path}: a run lacks {set(own_run) - set(run)}")
    expect(set(run["machine"]) == set(own_run["machine"]), f"{path}: machine has other keys than ours")
    for metric in metrics:
        expect(set(run["metrics"].get(metric, {})) >= {"unit", "median", "min", "max"}, f"{path} has no {metric}")
    compared = call(bench, "compare", ours, path)
    expect(compared.returncode == 0 and all(
        any(metric in line and line.rstrip().endswith(("overlap", "apart")) for line in compared.stdout.splitlines())
        for metric in metrics), f"clump-bench compare {path}: {compared.stdout}{compared.stderr}")


trace, ours = os.path.join(folder, "games"), os.path.join(folder, "ours.json")
made = call(bench, "run", "pool-trace", "--set", "target=virtual", "--set", "frames=40", "--set", "mb=8",
            "--set", f"write={trace}", "--repeat", "1", "--json", ours)
expect(made.returncode == 0, f"pool-trace writes no trace: {made.stderr}")

for overlap in (0, 1):
    program = os.path.join(folder, f"bump{overlap}")
    built = call(compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-DOVERLAP={overlap}", "-iquote", ROOT,
                 os.path.join(HERE, "bump.cpp"), "-o", program)
    expect(built.returncode == 0, f"bump.cpp: {built.stderr}")
    at = os.path.join(folder, f"bump{overlap}.json")
    ran = call(sys.executable, "-c", f"""
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {PEERS!r})
sys.argv = ["bump.py", {ROOT!r}, "--trace", {trace!r}, "--repeat", "3", "--json", {at!r}, "--build", {folder!r}]
import peer
peer.run_traces(peer.parse("Bump", "README.md", peer.add_trace), "Bump", {program!r})
""")
    expect(ran.returncode == overlap, f"bump, OVERLAP={overlap}: exit status {ran.returncode}: {ran.stdout}{ran.stderr}")
    if overlap:
        expect("are another's too" in ran.stdout, f"overlapping ranges are not told: {ran.stdout}")
    else:
        check_json(at, "Bump", ["alloc_ns", "free_ns"])

for lines, status, result in ((["sample a ns 1"], 0, "failed"), (["check ok all", "check failed not so"], 0, "failed"),
                              (["check failed no", "check ok yes"], 0, "failed"), (["check ok all"], 3, "failed"),
                              (["check not-checked nothing to compare"], 0, "not checked"),
                              (["check ok all"], 0, "ok")):
    found = peer.entry("x", "x", {}, lines, status)["check"]["result"]
    expect(found == result, f"{lines}, exit status {status}: {found}, not {result}")
metric = peer.entry("x", "x", {}, ["sample a ns 5", "sample a ns 1", "sample a ns 2", "check ok all"])["metrics"]["a"]
expect(metric == {"unit": "ns", "median": 2, "min": 1, "max": 5}, f"of 5, 1 and 2: {metric}")
broken = os.path.join(folder, "broken")
with open(broken, "w", encoding="utf-8") as file:
    file.write("a 1 256\nf 2\n")
refused = call(os.path.join(folder, "bump0"), broken, "1")
expect(refused.returncode == 2 and "line 2" in refused.stderr, f"a wrong trace is replayed: {refused.stderr}")

for script, name, variable in (("vma.py", "VMA", "CLUMP_PEER_VMA"),
                               ("offset_allocator.py", "OffsetAllocator", "CLUMP_PEER_OFFSET_ALLOCATOR")):
    checkout = os.environ.get(variable)
    if not checkout:
        print(f"{name} is skipped: {variable} names no checkout of it")
        continue
    at = os.path.join(folder, f"{name}.json")
    ran = call(sys.executable, os.path.join(PEERS, script), checkout, "--trace", trace, "--json", at, "--build", folder)
    expect(ran.returncode == 0, f"{script}: {ran.stdout}{ran.stderr}")
    if ran.returncode == 0:
        check_json(at, name, ["alloc_ns", "free_ns"])
    wrong = call(sys.executable, os.path.join(PEERS, script), HERE, "--trace", trace, "--build", folder)
    expect(wrong.returncode == 1 and "is no checkout" in wrong.stderr, f"{script} takes any folder: {wrong.stderr}")

for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
