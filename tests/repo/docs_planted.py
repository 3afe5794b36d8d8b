#!/usr/bin/env python3
"""docs.py finds faults in documents: a copy of it looks at a few pages with one fault each, and must name each of them, and nothing else.

    docs_planted.py FOLDER DOC_KERNELS COMPILER [ARGUMENT...]      as for docs.py
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = "docs/guide/{}.md"

# name of the page: (its text, what must be said of it); None: nothing is wrong
PAGES = {
    "right": ("# Right\n\n<!-- fragment: int n -->\n```c\nint m = n;\n```\n\n[here](#right)\n", None),
    "c": ("# C\n\n<!-- fragment: int n -->\n```c\nint m = n\n```\n", "does not compile"),
    "c-bare": ("# C\n\n```c\nint m = 1;\n```\n", "needs <!-- fragment"),
    "c-prints": ('# C\n\n```c\n#include <stdio.h>\nint main(void) { puts("one"); return 0; }\n```\n\nIt prints `two`.\n', 'prints "one"'),
    "cpp": ("# C++\n\n<!-- fragment: int n -->\n```cpp\nint m = n.size();\n```\n", "does not compile"),
    "opencl": ("# CL\n\n<!-- schema: class A { uint n; } -->\n<!-- run: new:A:5:init -->\n```opencl\n__kernel void init(CLUMP_HEAP) "
               "{ CLUMP_FOR_EACH_NEW(A, self, i) A_m(self) = i; }\n```\n", "A_m"),
    "opencl-result": ("# CL\n\n<!-- schema: class A { uint n; } -->\n<!-- run: new:A:5:init count:A:6 -->\n```opencl\n__kernel void init(CLUMP_HEAP) "
                      "{ CLUMP_FOR_EACH_NEW(A, self, i) A_n(self) = i; }\n```\n", "5 of A, expected 6"),
    "opencl-idle": ("# CL\n\n<!-- schema: class A { uint n; } -->\n```opencl\n__kernel void idle(CLUMP_HEAP) {}\n```\n", "no action runs the kernel idle"),
    "excerpt": ("# CL\n\n<!-- excerpt: README.md -->\n```opencl\n  # Planted\n\n# two\n```\n", None),
    "excerpt-gap": ("# CL\n\n<!-- excerpt: README.md -->\n```opencl\n# Planted\n# two\n```\n", "no such lines one after the other"),
    "excerpt-part": ("# CL\n\n<!-- excerpt: README.md -->\n```opencl\nPlanted\n```\n", "no such lines one after the other"),
    "excerpt-missing": ("# CL\n\n<!-- excerpt: none.cl -->\n```opencl\nint n;\n```\n", "there is no none.cl"),
    "sh": ("# Shell\n\n<!-- run: -->\n```sh\nif true; then\n```\n", "bash does not accept it"),
    "sh-missing": ("# Shell\n\n<!-- run: -->\n```sh\nscripts/none.sh\n```\n", "no program scripts/none.sh"),
    "sh-unmarked": ("# Shell\n\n```sh\ntrue\n```\n", "needs <!-- run"),
    "cmake": ("# CMake\n\n<!-- lines: README.md -->\n```cmake\nfind_package(none)\n```\n", "has no line find_package(none)"),
    "python": ("# Python\n\n```python\n>>> 1\n1\n```\n", "in python/README.md only"),
    "none": ("# None\n\n```\nint n;\n```\n", "no check for a block"),
    "text": ("# Text\n\n```text\n__kernel void k() {}\n```\n", "this is code"),
    "link": ("# Link\n\n[there](nowhere.md)\n", "leads nowhere"),
    "anchor": ("# Anchor\n\n[there](right.md#wrong)\n", "no such heading"),
    "name": ("# Name\n\n`clump_heap_planted()`\n", "nothing is called clump_heap_planted"),
}


def main():
    folder, *arguments = sys.argv[1:]
    tree = pathlib.Path(folder) / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "docs/guide").mkdir(parents=True)
    (tree / "tests/repo").mkdir(parents=True)
    shutil.copy(ROOT / "tests/repo/docs.py", tree / "tests/repo")
    (tree / "README.md").write_text("# Planted\n\n# two\n")
    for name, (text, _) in PAGES.items():
        (tree / GUIDE.format(name)).write_text(text)
    done = subprocess.run([tree / "tests/repo/docs.py", tree / "out", arguments[0], "", *arguments[1:]], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    told = {}
    for said in re.split(r"^FAILED: ", done.stdout, flags=re.M)[1:]:
        name = re.match(GUIDE.format(r"([\w-]+)"), said)
        told.setdefault(name[1] if name else said, []).append(said)
    # Without a device kernels and programs of OpenCL are not run.
    unseen = {"opencl", "opencl-result"} if subprocess.run([arguments[0], "/dev/null", "/dev/null"], stderr=subprocess.DEVNULL, check=False).returncode == 77 else set()
    wrong = []
    for name, (_, words) in PAGES.items():
        said = told.pop(name, [])
        if name not in unseen and (len(said) != (words is not None) or (words and words not in said[0])):
            wrong.append(f"{name}: expected {words!r}, told {said}")
    wrong += [f"told of no page: {said}" for said in told]
    print("\n".join(wrong) or f"{sum(words is not None for _, words in PAGES.values())} faults, each of them named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
