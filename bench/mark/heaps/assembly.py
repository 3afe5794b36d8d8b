#!/usr/bin/env python3
"""The heap of a C++ program with a large CAD assembly as HGRAPH1: compiles assembly.cpp, which says what is in it, and
runs it.

  assembly.py FILE.hgraph.gz [--cxx COMPILER] [--seed N] [--parts N] [--instances N]

Needs a compiler for C++17 (Debian, Ubuntu: apt-get install g++). The same seed gives the same graph on every machine whose
std::vector grows alike and whose pointers have 64 bits.

Read first: hgraph.py.
"""
import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import hgraph  # noqa: E402


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        hgraph.stop(f"{command[0]} failed with {done.returncode}: {done.stderr[-4000:]}")


def main():
    parser = argparse.ArgumentParser(description="A CAD assembly as HGRAPH1.")
    parser.add_argument("file", help="to write; .gz is compressed")
    parser.add_argument("--cxx", default=os.environ.get("CXX") or "c++", help="compiler (default: $CXX or c++)")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--parts", type=int, default=1500, help="different parts (default: 1500)")
    parser.add_argument("--instances", type=int, default=60000, help="uses of parts (default: 60000)")
    given = parser.parse_args()
    if not shutil.which(given.cxx):
        hgraph.stop(f"there is no {given.cxx} on the PATH (Debian, Ubuntu: apt-get install g++), or set --cxx")
    with tempfile.TemporaryDirectory() as folder:
        program, plain = os.path.join(folder, "assembly"), os.path.join(folder, "graph")
        call([given.cxx, "-std=c++17", "-O1", "-o", program, os.path.join(HERE, "assembly.cpp")])
        call([program, plain, str(given.seed), str(given.parts), str(given.instances)])
        graph = hgraph.read(plain)
        if given.file.endswith(".gz"):
            with open(plain, "rb") as made, gzip.GzipFile(given.file, "wb", 6, mtime=0) as file:
                shutil.copyfileobj(made, file)
        else:
            shutil.copyfile(plain, given.file)
    hgraph.report(given.file, *graph)


if __name__ == "__main__":
    main()
