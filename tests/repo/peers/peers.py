#!/usr/bin/env python3
"""The drivers of bench/peers without a GPU: one that is compiled with their header replays a trace of clump-bench, says that
all is right, and tells ranges that overlap and a trace that is wrong.

  peers.py CLUMP_BENCH FOLDER CXX
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
bench, folder, compiler = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
failures = []


def expect(is_right, words):
    if not is_right:
        failures.append(words)


def call(*command):
    return subprocess.run(command, capture_output=True, text=True)


trace, broken = os.path.join(folder, "games"), os.path.join(folder, "broken")
made = call(bench, "run", "pool-trace", "--set", "target=virtual", "--set", "frames=40", "--set", "mb=8",
            "--set", f"write={trace}", "--repeat", "1")
expect(made.returncode == 0, f"pool-trace writes no trace: {made.stderr}")
with open(broken, "w", encoding="utf-8") as file:
    file.write("a 1 256\nf 2\n")

for overlap in (0, 1):
    program = os.path.join(folder, f"bump{overlap}")
    built = call(compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-DOVERLAP={overlap}", "-iquote", ROOT,
                 os.path.join(HERE, "bump.cpp"), "-o", program)
    expect(built.returncode == 0, f"bump.cpp: {built.stderr}")
    ran = call(program, trace, "3")
    verdicts = re.findall(r"^check (\S+) (.*)$", ran.stdout, re.M)
    if overlap:
        expect(verdicts and verdicts[-1][0] == "failed" and "are another's too" in verdicts[-1][1],
               f"overlapping ranges are not told: {ran.stdout}{ran.stderr}")
    else:
        expect(ran.returncode == 0 and [v[0] for v in verdicts] == ["ok"], f"bump: {ran.stdout}{ran.stderr}")
        for metric in ("alloc_ns", "free_ns"):
            samples = re.findall(rf"^sample {metric} ns ([0-9.]+)$", ran.stdout, re.M)
            expect(len(samples) == 3 and all(float(s) > 0 for s in samples), f"bump, {metric}: {ran.stdout}")
        refused = call(program, broken, "1")
        expect(refused.returncode == 2 and "line 2" in refused.stderr, f"a wrong trace is replayed: {refused.stderr}")

for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
