#!/usr/bin/env python3
"""Checks every fenced code block of README.md, docs/, python/ and examples/, every link, every path and every name of the
project in backticks, and that the files named in a row of a table have the functions named there.

  docs.py FOLDER DOC_KERNELS CLUMP_BENCH COMPILER [ARGUMENT...]

FOLDER is for what is compiled here. DOC_KERNELS is the program of doc_kernels.c. CLUMP_BENCH may be
"" (names of benchmarks are not checked then). ARGUMENTs are for compiling and linking C.

The language of a block says what is done with it. A block without one, or with another, is a failure.

  c       a program (it has main) is compiled, run, and prints what the page says: "It prints `...`".
          After <!-- file: PATH --> it is the text of that file.
          Anything else is a fragment and is compiled as the body of a function; the comment
          <!-- fragment: PARAMETERS --> before it declares what it uses. docs_run.py calls the functions
          A program that includes clump/mpi.h is the text of a file, and prints what the expected.txt beside that says: the
          test mpi_two_ranks compiles and runs it
  cpp     a fragment likewise, after <!-- fragment: PARAMETERS -->, with clump.hpp and, if it is installed, opencl.hpp;
          left out without a C++ compiler, and if it uses cl:: without opencl.hpp
  schema  the schema of all OpenCL blocks of the page, with the other ones of the page. <!-- schema: TEXT --> does
          the same, unseen
  opencl  all blocks of a page are one program, which is built for the device. The comment
          <!-- run: ACTION... --> before a block runs kernels (doc_kernels.c has the actions, which are
          done in the order of the page); every kernel must be run by one of them. A block after
          <!-- fragment: PARAMETERS --> is the body of a function instead, and is only compiled: for code that is wrong.
          A block after <!-- excerpt: PATH --> has lines that follow each other in that file, which a test builds, indented otherwise
  sh      bash accepts it; programs of this repository that it names exist, and so do benchmarks. In what users read first (USERS)
          it is run by docs_run.py after <!-- run: COMMANDS -->, these COMMANDS before it, or not after <!-- shown: REASON -->
  python  the page has a test that runs it: only in python/README.md
  cmake   after <!-- lines: PATH -->, the lines stand in that file, which a test builds; meson likewise
  text    pictures and formats. Not for code

With CLUMP_SHORT in the environment what is not of README.md is built and not run.

Exit status 77: no device. Everything else was checked then.
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP = "include host cl tests bench docs examples python scripts cmake tools .ci".split()
FENCE = re.compile(r"^\s*(```+)\s*([A-Za-z0-9_-]*)\s*$")
COMMENT = re.compile(r"<!-- (\w+): ?(.*?) ?-->$", re.S)
USERS = re.compile(r"(README|docs/README|docs/guide/[\w-]+|python/README|examples/[\w-]+/README)\.md$")
CODE_IN_TEXT = re.compile(r"__kernel|#include|\bclump_\w+\([^)]")

failures = []


def fail(page, line, words):
    failures.append(f"{page}:{line}: {words}")


def comment_at(lines, end):
    """The comment whose last line is number `end`, as (key, value), or None."""
    begin = end
    while begin > 0 and lines[end].endswith("-->") and not lines[begin].startswith("<!--"):
        begin -= 1
    found = COMMENT.match("\n".join(lines[begin:end + 1])) if end >= 0 else None
    return (found[1], found[2]) if found else None


class Block:
    """language, text, the line of its first line, the comment before it (a pair or None), what follows."""

    def __init__(self, language, line, comment):
        self.language, self.line, self.comment = language, line, comment
        self.text, self.after = "", ""


def read_blocks(page, lines):
    """The fenced blocks, and (key, value, line) of <!-- schema: ... --> comments."""
    blocks, schemas, i = [], [], 0
    while i < len(lines):
        comment = comment_at(lines, i)
        if comment and comment[0] == "schema":
            schemas.append((comment[1], i + 1))
        fence = FENCE.match(lines[i])
        if not fence:
            i += 1
            continue
        block = Block(fence[2], i + 2, comment_at(lines, i - 1))
        end = next((j for j in range(i + 1, len(lines)) if lines[j].strip() == fence[1]), None)
        if end is None:
            fail(page, i + 1, "the block does not end")
            break
        block.text = "".join(line + "\n" for line in lines[i + 1:end])
        block.after = "\n".join(lines[end + 1:end + 4])
        blocks.append(block)
        i = end + 1
    return blocks, schemas


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return done.returncode, done.stdout.strip()


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def name_of(page, block, ending):
    return re.sub(r"\W", "_", page) + f"_{block.line}{ending}"


def includes(words):
    """Those for compiling, of the arguments for compiling and linking."""
    return [a for a in words if not a.endswith((".a", ".so")) and not a.startswith(("-l", "-Wl,"))]


MPI = "#include <clump/mpi.h>"


def check_mpi_program(page, block):
    """Its text is that of a file, and what it prints stands beside that."""
    if not block.comment or block.comment[0] != "file":
        fail(page, block.line, "a program of several ranks needs <!-- file: PATH -->")
        return
    path = os.path.join(ROOT, block.comment[1])
    with open(path, encoding="utf-8") as file:
        if file.read() != block.text:
            fail(page, block.line, f"this is not the text of {block.comment[1]}")
    with open(os.path.join(os.path.dirname(path), "expected.txt"), encoding="utf-8") as file:
        expected = file.read().strip()
    if f"prints `{expected}`" not in block.after:
        fail(page, block.line, f"no line after the program says that it prints `{expected}`")


def example_texts():
    return [open(path, encoding="utf-8").read() for path in glob.glob(os.path.join(ROOT, "examples/*/*.c"))]


def check_c(page, block):
    """True if there was a device to run it on, or it is not a program."""
    line_mark = f'#line {block.line} "{page}"\n'
    flags = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror"]
    if "int main(" not in block.text:
        if not block.comment or block.comment[0] != "fragment":
            fail(page, block.line, "a C block that is no program needs <!-- fragment: PARAMETERS -->")
            return True
        given = f"void fragment({block.comment[1] or 'void'})"
        source = write(name_of(page, block, ".c"), "#include <clump/all.h>\n#include <clump/quick.h>\n" +
                       f"{given};\n{given} {{\n{line_mark}{block.text}}}\n")
        status, output = run(flags + ["-Wno-unused", "-c", source, "-o", source + ".o"] +
                             includes(arguments))
        if status:
            fail(page, block.line, f"does not compile\n{output}")
        return True
    if MPI in block.text:
        check_mpi_program(page, block)
        return True
    if block.comment and block.comment[0] == "file":
        with open(os.path.join(ROOT, block.comment[1]), encoding="utf-8") as file:
            if file.read() != block.text:
                fail(page, block.line, f"this is not the text of {block.comment[1]}")
    elif page == "README.md" and block.text not in example_texts():
        fail(page, block.line, "this is not the text of a file in examples/")
    expected = re.search(r"It prints `([^`]*)`", block.after)
    if not expected:
        fail(page, block.line, "no line after the program says what it prints")
        return True
    source = write(name_of(page, block, ".c"), line_mark + block.text)
    program = source[:-2]
    status, output = run(flags + [source, "-o", program] + arguments)
    if status:
        fail(page, block.line, f"does not compile\n{output}")
        return True
    if os.environ.get("CLUMP_SHORT") and page != "README.md":
        return True
    # It may end without destroying anything, to be short.
    status, output = run([program], env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    if status == 77:
        return False
    if status or output != expected[1]:
        fail(page, block.line, f'status {status}, prints "{output}", the page says "{expected[1]}"')
    return True


def check_cpp(page, block):
    if not block.comment or block.comment[0] != "fragment":
        fail(page, block.line, "a C++ block needs <!-- fragment: PARAMETERS -->")
        return
    cxx = shutil.which(os.environ.get("CXX", "c++"))
    if not cxx:
        return
    needed = "__has_include(<CL/opencl.hpp>)" if "cl::" in block.text else "1"
    source = write(name_of(page, block, ".cpp"), f"""#if {needed}
#if __has_include(<CL/opencl.hpp>)
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#endif
#include <clump/clump.hpp>
void fragment({block.comment[1]});
void fragment({block.comment[1]}) {{
#line {block.line} "{page}"
{block.text}}}
#endif
""")
    status, output = run([cxx, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-c", source, "-o",
                          source + ".o"] + includes(arguments))
    if status:
        fail(page, block.line, f"does not compile\n{output}")


def check_kernels(page, blocks, schemas):
    """True if there was a device, or there are no kernels."""
    kernels = [b for b in blocks if b.language == "opencl" and not (b.comment and b.comment[0] == "excerpt")]
    texts = [(b.text, b.line) for b in blocks if b.language == "schema"] + schemas
    if not kernels:
        if texts:
            fail(page, texts[0][1], "a schema without kernels")
        return True
    if not texts:
        fail(page, kernels[0].line, "the page has no schema")
        return True
    source, actions, names = "", [], []
    for number, block in enumerate(kernels):
        mark = f'#line {block.line} "{page}"\n'
        kind, value = block.comment or (None, "")
        if kind == "fragment":
            given = ", ".join(["CLUMP_HEAP"] + ([value] if value else []))
            source += f"void fragment_{number}({given}) {{\n{mark}{block.text}}}\n"
            continue
        source += mark + block.text
        names += re.findall(r"__kernel\s+void\s+(\w+)", block.text)
        if kind == "run":
            actions += value.split()
    for name in names:
        if not any(re.search(rf"^(all|reduce):{name}(:|$)|^(new:\w+:\d+|order:\w+):{name}(:|$)", a) for a in actions):
            fail(page, kernels[0].line, f"no action runs the kernel {name}")
    first = kernels[0]
    status, output = run([doc_kernels, write(name_of(page, first, ".schema"), "\n".join(text for text, _ in texts) + "\n"),
                          write(name_of(page, first, ".cl"), source)] + ([] if os.environ.get("CLUMP_SHORT") else actions))
    if status == 77:
        return False
    if status:
        fail(page, first.line, f"the kernels of the page: status {status}\n{output}")
    return True


def check_lines(page, block):
    if not block.comment or block.comment[0] != "lines" or not os.path.isfile(os.path.join(ROOT, block.comment[1])):
        fail(page, block.line, f"a block of {block.language} needs <!-- lines: PATH -->, a file that a test builds")
        return
    with open(os.path.join(ROOT, block.comment[1]), encoding="utf-8") as file:
        text = file.read()
    for number, line in enumerate(block.text.splitlines()):
        if line.strip() not in text:
            fail(page, block.line + number, f"{block.comment[1]} has no line {line.strip()}")


def check_excerpt(page, block):
    path = os.path.join(ROOT, block.comment[1])
    if not os.path.isfile(path):
        fail(page, block.line, f"there is no {block.comment[1]}")
        return
    with open(path, encoding="utf-8") as file:
        text, wanted = ("\n" + "\n".join(line.strip() for line in lines) + "\n" for lines in (file, block.text.splitlines()))
    if wanted not in text:
        fail(page, block.line, f"{block.comment[1]} has no such lines one after the other")


def exists_as_test(name):
    """tests/ has a file NAME.c, or a folder of that name, for the program build/tests/NAME."""
    for path, folders, files in os.walk(os.path.join(ROOT, "tests")):
        if name in folders or name + ".c" in files:
            return True
    return False


EXAMPLE = """cmake -S . -B build      # -DCMAKE_PREFIX_PATH=FOLDER, if Clump is installed there
cmake --build build
build/{}
"""


def check_shell(page, block):
    example = re.match(r"examples/([\w-]+)/README\.md$", page)
    if example and os.path.exists(os.path.join(ROOT, "examples", example[1], "CMakeLists.txt")):
        if block.text != EXAMPLE.format(example[1]):
            fail(page, block.line, "the block of an example is not " + EXAMPLE.format(example[1]))
        return
    if USERS.match(page) and page != "README.md" and (not block.comment or block.comment[0] not in ("run", "shown")):
        fail(page, block.line, "a block of sh needs <!-- run: COMMANDS --> or <!-- shown: REASON --> here")
    status, output = run(["bash", "-n"], input=block.text)
    if status:
        fail(page, block.line, f"bash does not accept it: {output}")
    base = ROOT
    for number, text in enumerate(block.text.splitlines()):
        line = block.line + number
        words = re.split(r"[\s;&|]+", re.sub(r"(^|\s)#.*", "", text).strip())
        for i, word in enumerate(words):
            word = word.strip("'\"")
            path = os.path.join(base, word)
            if word == "cd" and i + 1 < len(words):
                base = os.path.join(base, words[i + 1])
                if not os.path.isdir(base):
                    fail(page, line, f"no folder {words[i + 1]}")
            elif word.startswith(("scripts/", ".ci/")):
                if not os.access(path, os.X_OK):
                    fail(page, line, f"no program {word}")
            elif re.match(r"build[\w-]*/tests/\w", word):
                if not exists_as_test(word.split("/")[2]):
                    fail(page, line, f"no test {word}")
            elif i and words[i - 1] == "cd":
                continue
            elif word.startswith(tuple(t + "/" for t in TOP)) and "*" not in word:
                if not os.path.exists(path):
                    fail(page, line, f"no {word}")
            elif word.endswith("clump-bench") and words[i + 1:i + 2] == ["run"]:
                name = words[i + 2]
                if benchmarks and not name.isupper() and name not in benchmarks:
                    fail(page, line, f"no benchmark {name}")


def anchor_of(heading):
    """As GitHub makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {anchor_of(m[1]) for m in re.finditer(r"^#+ +(.*)$", text, re.M)} | set(re.findall(r'<a id="([\w-]+)"></a>', text))


@functools.lru_cache(maxsize=None)
def known_words():
    """The words of the sources that begin as names of the project do."""
    words = set()
    for top in ["include", "host", "cl", "cmake", "scripts", "tests", "CMakeLists.txt"]:
        start = os.path.join(ROOT, top)
        files = [start] if os.path.isfile(start) else \
            [os.path.join(path, f) for path, _, names in os.walk(start) for f in names]
        for name in files:
            with open(name, encoding="utf-8", errors="replace") as file:
                words.update(re.findall(r"\b(?:clumpi?|CLUMPI?)_\w+", file.read()))
    return words


def check_names(page, line, text):
    """A row of a table that names files and functions: one of these files has the function."""
    paths = [os.path.join(ROOT, p) for p in re.findall(r"`([\w-]+/[\w./-]+\.\w+)`", text)]
    names = re.findall(r"`(\w+)\(\)`", text)
    if not text.startswith("|") or not paths or not all(map(os.path.isfile, paths)):
        return
    files = [open(p, encoding="utf-8", errors="replace").read() for p in paths]
    for name in names:
        if not any(re.search(rf"\b{name}\(", file) for file in files):
            fail(page, line, f"none of the files of this row has {name}()")


def check_prose(page, lines):
    """Links lead to something, and so do paths in backticks."""
    in_block = False
    for number, text in enumerate(lines):
        if FENCE.match(text):
            in_block = not in_block
        if in_block:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(ROOT, os.path.dirname(page), path)) if path else \
                os.path.join(ROOT, page)
            if not os.path.exists(full):
                fail(page, number + 1, f"the link {target} leads nowhere")
            elif anchor and anchor not in anchors(full):
                fail(page, number + 1, f"{target}: no such heading")
        if not page.startswith("docs/") and page != "README.md" or page.endswith("/upgrading.md"): # it has names of before
            continue
        check_names(page, number + 1, text)
        for name in re.findall(r"\bclumpi?_\w*\w|\bCLUMPI?_\w*\w", " ".join(re.findall(r"`[^`]+`", text))):
            if name not in known_words():
                fail(page, number + 1, f"nothing is called {name}")
        for word in re.findall(r"`([^`\s]+)`", text):
            if re.match(rf"({'|'.join(map(re.escape, TOP))})/[\w./-]+$", word) and \
                    not os.path.exists(os.path.join(ROOT, word)):
                fail(page, number + 1, f"there is no {word}")


def all_pages():
    found = []
    for path, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) and f != "out"]
        found += [os.path.relpath(os.path.join(path, f), ROOT) for f in files if f.endswith(".md")]
    return sorted(found)


def main():
    global folder, doc_kernels, compiler, arguments, benchmarks
    folder, doc_kernels, bench, compiler, *arguments = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    benchmarks = None
    if bench:
        benchmarks = set(re.findall(r"^([\w-]+)", run([bench, "list"])[1], re.M))
    had_device, count = True, 0
    for page in all_pages():
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            lines = file.read().splitlines()
        check_prose(page, lines)
        if not page.startswith("docs/") and not USERS.match(page):
            continue
        blocks, schemas = read_blocks(page, lines)
        count += len(blocks)
        for block in blocks:
            if block.language == "c":
                had_device &= check_c(page, block)
            elif block.language == "cpp":
                check_cpp(page, block)
            elif block.language == "sh":
                check_shell(page, block)
            elif block.language == "opencl" and block.comment and block.comment[0] == "excerpt":
                check_excerpt(page, block)
            elif block.language in ("cmake", "meson"):
                check_lines(page, block)
            elif block.language == "python":
                if page != "python/README.md":
                    fail(page, block.line, "Python is run in python/README.md only")
            elif block.language == "text":
                if CODE_IN_TEXT.search(block.text):
                    fail(page, block.line, "this is code: give its language")
            elif block.language not in ("opencl", "schema"):
                fail(page, block.line, f'no check for a block of the language "{block.language}"')
        had_device &= check_kernels(page, blocks, schemas)

    for failure in failures:
        print(f"FAILED: {failure}")
    if failures:
        sys.exit(1)
    print(f"{count} blocks" + ("" if had_device else "; skipped: no device to run programs and kernels on"))
    sys.exit(0 if had_device else 77)


if __name__ == "__main__":
    main()
