#!/usr/bin/env python3
"""Compares the figures in documents with the files in bench/results that they come from.

    check_figures.py [ROOT]
    check_figures.py --write [ROOT]

With --write, after a new sitting: writes the figures of the files into the documents. Words are for people to mend.

A table with numbers is followed by a comment that names the origin of each number, and a paragraph may be:

    <!-- figures of columns 2, 3
    h200/alloc.json alloc_rate alloc_rate.min free_rate
    h200/suite.json wa-tor/soa:time_per_step_us -
    -->

has a line for each row of the table: a file, then a word for each number in these columns, from left to
right. After a paragraph, `<!-- figures` and all lines are for its numbers together. The words:

    METRIC             the median; METRIC.min, .max, .floor
    KEY:METRIC         of the run with that key; of the n-th run, from 0, if KEY is a number
    FILE=...           of another file than that of the line
    WORD//WORD         their ratio;  WORD*NUMBER  a product, as for other units
    NUMBER//WORD       the same, of what was measured with another program
    -                  no result: a parameter, a number of something else
    other              measured with another program, which is not part of this repository

A number is as exact as it is printed. One with % is a share times 100. A table of which no row has a file
says so: <!-- figures of other programs -->, <!-- figures without a file: WHY -->, <!-- no figures -->.

README.md has no such comments: tests/repo/readme_figures.txt has them, without the arrows, for its tables and
paragraphs with numbers in their order.

Fails if a number differs from its file, if a file or metric does not exist, if words and numbers do not
match in count, or if a table says nothing.
"""

import json
import math
import pathlib
import re
import sys

DOCUMENTS = ["README.md", "docs/comparison.md", "docs/guide/choosing.md", "docs/benchmarks.md", "docs/measurements/graphs.md",
             "docs/measurements/peers.md"]
APART = {"README.md": "tests/repo/readme_figures.txt"} # their comments are in that file, so that readers do not meet them
NUMBER = re.compile(r"(?<![\w.^])(\d+\^\d+|\d+(?:,\d{3})*(?:\.\d+)?)(%?)")
WITH_UNIT = re.compile(r"(?<![\w.^])\d[\d,.]*(?:%| (?:us|ms|ns|s|[GM]/s|[GT]B/s|times|x)\b)")
STATEMENTS = ("figures of other programs", "figures without a file: ", "no figures")


class Wrong(Exception):
    pass


def plain(text):
    """Without code and the targets of links."""
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text))


def blocks(text):
    """(line number, kind, lines) for each block: table, code, comment, text."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        start = i
        line = lines[i]
        if not line.strip():
            i += 1
            continue
        if line.startswith("```"):
            i += 1
            while i < len(lines) and not lines[i].startswith("```"):
                i += 1
            kind = "code"
            i += 1
        elif line.startswith("<!--"):
            while i < len(lines) - 1 and "-->" not in lines[i]:
                i += 1
            kind = "comment"
            i += 1
        else:
            kind = "table" if line.startswith("|") else "code" if line.startswith("    ") else "text"
            i += 1
            while i < len(lines) and lines[i].strip() and not lines[i].startswith(("```", "<!--")):
                if kind == "table" and not lines[i].startswith("|"):
                    break
                i += 1
        yield start + 1, kind, lines[start:i]


class Results:
    def __init__(self, root):
        self.folder = root / "bench" / "results"
        self.files = {}

    def runs(self, file):
        if file not in self.files:
            try:
                self.files[file] = json.loads((self.folder / file).read_text())["benchmarks"]
            except (OSError, ValueError, KeyError) as error:
                raise Wrong(f"bench/results/{file}: {error}") from None
        return self.files[file]

    def run(self, file, key):
        runs = self.runs(file)
        if key is None:
            if len(runs) != 1:
                raise Wrong(f"{file} has {len(runs)} runs, so a key is needed")
            return runs[0]
        found = runs[int(key): int(key) + 1] if key.isdigit() else [r for r in runs if r.get("key") == key]
        if len(found) != 1:
            raise Wrong(f"{file} has no run {key}")
        return found[0]

    def value(self, file, word):
        if "//" in word:
            above, below = word.split("//", 1)
            return self.value(file, above) / self.value(file, below)
        if "*" in word:
            rest, factor = word.rsplit("*", 1)
            return self.value(file, rest) * float(factor)
        if re.fullmatch(r"\d+", word):
            return float(word)
        if "=" in word:
            file, word = word.split("=", 1)
        key, metric = word.rsplit(":", 1) if ":" in word else (None, word)
        metric, _, stat = metric.partition(".")
        run = self.run(file, key)
        if metric not in run["metrics"]:
            raise Wrong(f"{file} has no metric {metric}")
        entry = run["metrics"][metric]
        if run.get("check", {}).get("result") == "failed" or run.get("check", {}).get("ok") is False:
            raise Wrong(f"{file}: the check of {run.get('key', run['name'])} failed")
        if (stat or "median") not in entry:
            raise Wrong(f"{file}: {metric} has no {stat}")
        return entry[stat or "median"]


def compare(results, file, numbers, words):
    """Yields what is wrong; `numbers` are (text, percent)."""
    if len(numbers) != len(words):
        found = " ".join(text + percent for text, percent in numbers)
        yield f"{len(numbers)} numbers ({found}), {len(words)} words ({' '.join(words)})"
        return
    for (text, percent), word in zip(numbers, words):
        if word in ("-", "other"):
            continue
        try:
            value = results.value(file, word) * (100 if percent else 1)
        except (Wrong, ValueError, ZeroDivisionError) as error:
            yield str(error)
            continue
        if "^" in text:
            yield f"{text} is no figure, but has the word {word}"
            continue
        digits = len(text.partition(".")[2])
        if abs(float(text.replace(",", "")) - value) > 0.5 * 10**-digits * (1 + 1e-6):
            yield f"{text}{percent} is {value:.6g} in {file}: {word}"


RAW = re.compile(r"`[^`]*`|\]\([^)]*\)|" + NUMBER.pattern)


def printed(value, text):
    """As exact as the figure `text` that it replaces, with two digits at least, and none after three whole ones."""
    digits = len(text.partition(".")[2])
    if value:
        size = math.floor(math.log10(abs(value)))
        digits = max(min(digits, max(2 - size, 0)), min(1 - size, 4) if size < 1 else 0)
    return f"{value:,.{digits}f}"


def rewrite(results, file, line, words):
    """The line with its numbers replaced; takes their words off the list."""
    def replace(match):
        if not match.group(1):
            return match.group(0)
        word = words.pop(0) if words else "-"
        if word in ("-", "other"):
            return match.group(0)
        return printed(results.value(file, word) * (100 if match.group(2) else 1), match.group(1)) + match.group(2)
    return RAW.sub(replace, line)


def rewrite_table(results, table, comment):
    columns = [int(n) for n in re.findall(r"\d+", comment[0])]
    for row, line in zip(table[2:], comment[1:]):
        file, *words = line.split()
        parts = row.split("|")
        for c in columns:
            if c < len(parts):
                parts[c] = rewrite(results, file, parts[c], words)
        yield row, "|".join(parts)


def rewrite_text(results, lines, comment):
    file, *words = " ".join(comment).split()[1:]
    for line in lines:
        yield line, rewrite(results, file, line, words)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def check_table(results, table, comment):
    head = re.match(r"figures of columns? ([\d, ]+)$", comment[0])
    if not head:
        yield "a table's comment begins with: figures of columns"
        return
    columns = [int(n) - 1 for n in head.group(1).split(",")]
    rows = table[2:]
    if len(rows) != len(comment) - 1:
        yield f"{len(rows)} rows, {len(comment) - 1} lines of origins"
        return
    for row, line in zip(rows, comment[1:]):
        found = cells(row)
        numbers = [n for c in columns if c < len(found) for n in NUMBER.findall(plain(found[c]))]
        file, *words = line.split()
        for fault in compare(results, file, numbers, words):
            yield f"row '{found[0]}': {fault}"


def check_text(results, lines, comment):
    """The file is named once, in the first line; the words may go over several."""
    words = " ".join(comment).split()[1:]
    if not words:
        yield "the comment names nothing"
        return
    yield from compare(results, words[0], NUMBER.findall(plain(" ".join(lines))), words[1:])


def comment_after(found, i):
    """The lines of the comment that belongs to a block, or None."""
    if i + 1 == len(found) or found[i + 1][1] != "comment":
        return None
    text = "\n".join(found[i + 1][2]).replace("<!--", "").replace("-->", "")
    return [line.strip() for line in text.strip().split("\n")]


def is_named(kind, comment):
    return (comment is not None and comment[0].startswith("figures") and
            not comment[0].startswith(STATEMENTS) and kind in ("table", "text"))


def commented(root, name):
    """(line number, kind, lines, comment or None, whether it needs one) for each block."""
    found = list(blocks((root / name).read_text()))
    apart = None
    if name in APART:
        apart = [entry.split("\n") for entry in (root / APART[name]).read_text().strip().split("\n\n")]
    for i, (number, kind, lines) in enumerate(found):
        if kind == "table":
            needed = any(NUMBER.search(plain(line)) for line in lines[2:])
        else:
            needed = kind == "text" and apart is not None and bool(WITH_UNIT.search(plain(" ".join(lines))))
        if apart is None:
            yield number, kind, lines, comment_after(found, i), needed
        else:
            yield number, kind, lines, apart.pop(0) if needed and apart else None, needed
    if apart:
        yield 0, "table", ["", ""], ["figures of columns 1"] + apart[0], True


def check_document(results, root, name):
    count = 0
    for number, kind, lines, comment, needed in commented(root, name):
        faults = []
        if comment is not None and comment[0].startswith(STATEMENTS):
            pass
        elif is_named(kind, comment):
            count += 1
            check = check_table if kind == "table" else check_text
            faults = check(results, lines, comment)
        elif needed:
            faults = ["numbers without a comment that names their origin"]
        for fault in faults:
            yield count, f"{name}, line {number}: {fault}"
    yield count, None


def write_document(results, root, name):
    text = (root / name).read_text()
    lines = text.split("\n")
    for number, kind, block, comment, _ in commented(root, name):
        if not is_named(kind, comment):
            continue
        skipped = 2 if kind == "table" else 0
        new = rewrite_table if kind == "table" else rewrite_text
        for k, (_, line) in enumerate(new(results, block, comment)):
            lines[number - 1 + skipped + k] = line
    (root / name).write_text("\n".join(lines))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root = pathlib.Path(arguments[0] if arguments else __file__ + "/../../..").resolve()
    results = Results(root)
    if "--write" in sys.argv:
        for name in DOCUMENTS:
            write_document(results, root, name)
    failed = 0
    for name in DOCUMENTS:
        count = 0
        for count, fault in check_document(results, root, name):
            if fault:
                failed += 1
                print("FAILED:", fault)
        if count == 0:
            failed += 1
            print(f"FAILED: {name} names no origin at all")
        else:
            print(f"{name}: {count} tables and paragraphs compared")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
