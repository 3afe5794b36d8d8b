#!/usr/bin/env python3
"""Checks that the presets of clump-bench have the constants of docs/measurements/presets.md, and no others.

  presets.py CLUMP_BENCH

The page has a section "## APPLICATION, preset=NAME" for each preset that `clump-bench list` shows, and in it
tables whose first column is what our program calls a constant and whose second is its value:

  | `width` | 2048 | ...             a parameter of the application, which the preset sets to it
  | `FOLDER/FILE:NAME` | 3 | ...     `#define NAME 3` in that file of bench/apps, with no suffix counted

All that the preset sets must be in the tables, and all that is in the tables must hold.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "docs/measurements/presets.md"
HEADING = re.compile(r"## (app-[a-z-]+), preset=([a-z0-9-]+)$")
ROW = re.compile(r"\| `([^`]+)` \| ([^|]+?) \|")
failures = []


def read_page():
    """{(application, preset): {constant: value}}"""
    presets, at = {}, None
    for line in open(os.path.join(ROOT, PAGE), encoding="utf-8"):
        heading, row = HEADING.match(line), ROW.match(line)
        if heading:
            at = presets.setdefault(heading.groups(), {})
        elif line.startswith("## "):
            at = None
        elif row and at is not None:
            at[row[1]] = row[2].replace(",", "")
    return presets


def read_program(program):
    """The same from `clump-bench list`: the line after "  preset=NAME: " has what the preset sets."""
    presets, name = {}, None
    lines = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.splitlines()
    for line, following in zip(lines, lines[1:]):
        benchmark, preset = re.match(r"([a-z-]+): ", line), re.match(r"  preset=([a-z0-9-]+): ", line)
        name = benchmark[1] if benchmark else name
        if preset:
            presets[name, preset[1]] = dict(pair.split("=", 1) for pair in following.split())
    return presets


def defined(place):
    path, name = place.split(":")
    text = open(os.path.join(ROOT, "bench/apps", path), encoding="utf-8").read()
    found = re.search(rf"^#define {name} (\S+?)[uf]?(?:\s|$)", text, re.M)
    return found[1] if found else "nothing"


def is_equal(a, b):
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def compare(key, page, program):
    where = f"{PAGE}, {key[0]}, preset={key[1]}"
    for name, value in page.items():
        ours = defined(name) if ":" in name else program.get(name, "nothing")
        if not is_equal(ours, value):
            failures.append(f"{where}: {name} is {value}, and in the program {ours}")
    failures.extend(f"{where}: {name} is missing" for name in program if name not in page)


pages, programs = read_page(), read_program(sys.argv[1])
if not pages or set(pages) != set(programs):
    failures.append(f"{PAGE} has {sorted(pages)}, and clump-bench {sorted(programs)}")
for both in sorted(set(pages) & set(programs)):
    compare(both, pages[both], programs[both])
for failure in failures:
    print("FAILED:", failure)
print(len(pages), "presets")
sys.exit(1 if failures else 0)
