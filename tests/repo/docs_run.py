#!/usr/bin/env python3
"""Runs the shell blocks of what users read first, in their order, as a new user would, and calls the C and C++ fragments of the pages.

    docs_run.py FOLDER [PAGE...]      FOLDER is for all that is built; PAGEs: these alone, with what is installed there from before

The user has a home folder in FOLDER, a copy of the sources, and what docs/guide/install.md installs, which is done first; what it exports holds for all pages. Each page is a
shell session of its own in the sources, in which the page's C programs are run, too, before the blocks after them. The block of
an example is run in the example's folder, and prints its expected.txt. `sudo` only looks whether the packages exist.

The fragments of docs/guide/NAME.md are functions, fragment_1() and so on, with the parameters that their comments declare.
tests/repo/fragments/NAME.c has the main() that calls them and checks what they did; it includes fragments.h, which declares them.
The page's schema and kernels are there as page.schema and page.cl.

Exit status 77: no device. Read first: docs.py.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import docs  # noqa: E402

ROOT = pathlib.Path(docs.ROOT)
INSTALL = "docs/guide/install.md"
# Failures for which a block is left out.
LACKS = (("there is no network", re.compile("Could not find a version|Temporary failure|Network is unreachable|Connection (refused|timed out|broken)")),
         ("there is no MPI (scripts/setup.sh --mpi)", re.compile("mpicc: command not found")),
         ("there is no Oclgrind", re.compile("oclgrind: command not found")))
SUDO = """#!/bin/sh
# Instead of installing packages: do they exist? Those that are files, and the lists of packages, are left alone.
[ "$1" = apt-get ] || exit 1
[ "$2" = install ] || exit 0
shift 2
for name; do case $name in */*) ls $name ;; *) apt-cache show "$name" ;; esac >/dev/null || exit 1; done
"""
FLAGS = "-Wall -Wextra -Wno-unused $(pkg-config --cflags --libs clump) -lm -pthread"


def blocks_of(page):
    return docs.read_blocks(page, (ROOT / page).read_text(encoding="utf-8").splitlines())[0]


def schemas_of(page):
    blocks, unseen = docs.read_blocks(page, (ROOT / page).read_text(encoding="utf-8").splitlines())
    return [b.text for b in blocks if b.language == "schema"] + [text for text, _ in unseen]


class User:
    def __init__(self, folder, is_new):
        self.folder, self.tree, self.home = folder, folder / "tree", folder / "home"
        shutil.rmtree(self.tree, ignore_errors=True)
        if is_new:
            shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT, self.tree, ignore=lambda path, names: [
            n for n in names if n == "__pycache__" or (path == str(ROOT) and (n.startswith((".git", "build")) or n == "out"))])
        sudo = folder / "bin/sudo"
        sudo.parent.mkdir(exist_ok=True)
        sudo.write_text(SUDO)
        sudo.chmod(0o755)
        kept = {name: os.environ[name] for name in ("POCL_CACHE_DIR", "CLUMP_DEVICE", "OCL_ICD_VENDORS", "LD_LIBRARY_PATH") if name in os.environ}
        self.environment = {**kept, "HOME": str(self.home), "LANG": "C.UTF-8", "CC": "cc", "CXX": "c++",
                            "PATH": f"{sudo.parent}:/usr/local/bin:/usr/bin:/bin"}
        self.profile = "".join(re.findall(r"^export .*\n", "".join(b.text for b in blocks_of(INSTALL) if b.language == "sh"), re.M))

    def run(self, page, script, where):
        """What the script said; a failure is one of the block that was told last."""
        script = "set -e\n" + ("" if page == INSTALL else self.profile) + script
        done = subprocess.run(["bash", "-c", script], cwd=where, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            line = ([0] + re.findall(r"^@@ (\d+)$", done.stdout, re.M))[-1]
            lacks = [reason for reason, said in LACKS if said.search(done.stdout)]
            if lacks:
                print(f"{page}:{line}: left out, {lacks[0]}")
            else:
                docs.fail(page, line, f"status {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-25:]))
        return done.stdout, done.returncode


def run_page(user, page):
    script, count = "", 0
    for block in blocks_of(page):
        if block.language == "c" and "int main(" in block.text:
            source = user.folder / docs.name_of(page, block, ".c")
            source.write_text(block.text)
            script += f"echo @@ {block.line}\ncc '{source}' {FLAGS} -o '{source}.out'\n'{source}.out'\n"
        kind, before = block.comment or ("run" if page == "README.md" else "", "")
        if block.language == "sh" and kind == "run":
            script += f"echo @@ {block.line}\n{before}\n{block.text}"
            count += 1
    if count:
        user.run(page, script, user.tree)
    return count


def run_example(user, page):
    folder = user.tree / pathlib.Path(page).parent
    blocks = [b for b in blocks_of(page) if b.language == "sh"]
    for block in blocks:
        *first, last = block.text.splitlines()
        said, status = user.run(page, "\n".join([f"echo @@ {block.line}", "{", *first, "} >log 2>&1 || { cat log; exit 1; }", f"{last} 2>log"]), folder)
        if not status and said.partition("\n")[2] != (folder / "expected.txt").read_text():
            docs.fail(page, block.line, f"it does not print expected.txt\n{said}")
    return len(blocks)


def run_fragments(user, page):
    """One program of all fragments of a page in one language."""
    count = 0
    for language, ending, standard in ("c", ".c", "cc -std=c11"), ("cpp", ".cpp", "c++ -std=c++17"):
        blocks = [b for b in blocks_of(page) if b.language == language and b.comment and b.comment[0] == "fragment"]
        if not blocks:
            continue
        caller = ROOT / "tests/repo/fragments" / (pathlib.Path(page).stem + ending)
        if not caller.is_file():
            docs.fail(page, blocks[0].line, f"nothing calls the fragments: write {caller.relative_to(ROOT)}")
            continue
        place = user.folder / docs.name_of(page, blocks[0], "")
        place.mkdir(exist_ok=True)
        (place / "page.schema").write_text("\n".join(schemas_of(page)))
        (place / "page.cl").write_text("".join(b.text for b in blocks_of(page) if b.language == "opencl"))
        heads = [f"void fragment_{i}({b.comment[1] or 'void'})" for i, b in enumerate(blocks, 1)]
        include = "#define CL_HPP_TARGET_OPENCL_VERSION 120\n#define CL_HPP_MINIMUM_OPENCL_VERSION 120\n" \
            "#include <CL/opencl.hpp>\n#include <clump/clump.hpp>\n" if language == "cpp" else "#include <clump/all.h>\n#include <clump/quick.h>\n"
        (place / "fragments.h").write_text(include + "".join(head + ";\n" for head in heads))
        (place / f"fragments{ending}").write_text('#include "fragments.h"\n#include <stdlib.h>\n' + "".join(
            f'{head} {{\n#line {b.line} "{page}"\n{b.text}}}\n' for head, b in zip(heads, blocks)))
        user.run(page, f"echo @@ {blocks[0].line}\ncd '{place}'\n{standard} -I. fragments{ending} '{caller}' {FLAGS} -o calls\n./calls", user.tree)
        count += len(blocks)
    return count


def main():
    chosen = sys.argv[2:]
    user = User(pathlib.Path(sys.argv[1]).resolve(), not chosen)
    pages = [p for p in docs.all_pages() if docs.USERS.match(p) and p != INSTALL and (not chosen or p in chosen)]
    blocks, fragments = 0 if chosen else run_page(user, INSTALL), 0
    if not docs.failures and subprocess.run([user.home / ".local/bin/clump-info"], env=user.environment, stdout=subprocess.DEVNULL, check=False).returncode:
        print("skipped: there is no OpenCL device; Clump was built and installed as the guide says")
        return 77
    for page in pages if not docs.failures else []:
        blocks += run_example(user, page) if page.startswith("examples/") else run_page(user, page)
        fragments += run_fragments(user, page)
    for failure in docs.failures:
        print(f"FAILED: {failure}")
    print(f"{blocks} shell blocks and {fragments} fragments of {len(pages)} pages")
    return 1 if docs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
