#!/usr/bin/env python3
"""Counts patterns that make sentences hard to read, and fails where a file has more of them than english.txt allows.

  english.py              the test
  english.py --write      lowers what english.txt allows to what there is; a count is raised by hand, with a reason
  english.py --lines FILE...   each place, with the pattern and what is plainer
  english.py --sums [COMMIT]   the counts of pages, headers, internals and messages, today or in a commit
  english.py --self       plants each pattern and sees that it is counted

Pages are the files of Markdown, without their code, headers the comments of include/clump/ and cl/api/, messages the
strings of several words in host/, tools/ and python/clump/. docs/CONTRIBUTING.md has the rules in short.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = os.path.join(ROOT, "tests/repo/english.txt")

# name, what is plainer, expression
PATTERNS = [
    ("tell", "things report, people are told", r"\b(?:tells?|told|telling)\b(?! apart)"),
    ("what", "no clause with 'what' or 'who' as its subject: name the thing",
     r"(?:^|[.;:,(|] ?|\band |\bbut )(?:What|Who|Whoever|what|who)\b(?![^.;:?]*\?)(?!, (?:when|where))"),
    ("that-of", "repeat the noun", r"\b(?:that|those) of\b"),
    ("of-own", "'its own X', or 'a separate X'", r"\bof (?:its|one's|your|their|our) own\b"),
    ("too", "'also' before the verb, or nothing", r",? too(?=[.,;:)]|$)"),
    ("alone", "'only', or 'by itself'", r"\balone\b"),
    ("is-no", "'is not a', 'not valid', 'without'",
     r"\b(?:is|are|was|were) no(?= (?!longer|more\b|less|error|effect|way|room))|\b(?:is|are|was) none\b"),
    ("nobody", "name who or what acts", r"\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody)\b"),
    ("front-of", "the subject first", r"(?:^|[.;] )(?:Of|By)\b"),
    ("there-is", "'existing', 'that fit'", r"\b(?:that|as|than|what) there (?:is|are|was|were)\b"),
    ("semicolon", "a full stop, or a list", r";"),
    ("take", "need, cost, return, use", r"\b(?:takes?|took|taken)\b"),
    ("give", "return, pass, provide", r"\b(?:gives?|gave|given)\b"),
    ("lie", "are stored, are", r"\b(?:lies?|lay|lain)\b"),
    ("stand", "are written, are listed", r"\b(?:stands?|stood)\b"),
    ("so", "'in this way', 'therefore', or nothing", r"\b[Ss]o(?=[.,;)])|(?:^|[.;:] )So\b|\bso(?= ?$)"),
    ("words", "'error message', or name it", r"\bwords\b(?! of (?:32|64))"),
    ("cell", "a cell of a table is a sentence, or begins with a noun",
     r"\| *(?:[Tt]hose|[Tt]hat|[Ww]hat|[Ww]ho|[Oo]f|[Aa]s)\b"),
]
RELATIVES = re.compile(r"\b(?:that|which|who|what|where|whose)\b")


def tracked(commit=None):
    """{path: text} of what is checked."""
    if commit:
        names = subprocess.check_output(["git", "ls-tree", "-r", "--name-only", commit], cwd=ROOT, text=True)
    else:
        done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        names = done.stdout if not done.returncode else files_of_a_copy()
    texts = {}
    for path in names.splitlines():
        if kind(path) is None:
            continue
        if commit:
            texts[path] = subprocess.check_output(["git", "show", f"{commit}:{path}"], cwd=ROOT).decode()
        elif os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                texts[path] = file.read()
    return texts


def files_of_a_copy():
    """Without a repository: all files but those that are built."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) and f != "out"]
        found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return "\n".join(found)


def kind(path):
    if path.endswith(".md"):
        if path.startswith(("docs/internals/", "docs/measurements/", "docs/design.md")):
            return "internals"
        return "pages"
    if path.startswith(("include/clump/", "cl/api/")) and path.endswith((".h", ".hpp", ".cl", ".clh")):
        return "headers"
    if path.startswith(("host/", "tools/", "python/clump/")) and path.endswith((".c", ".h", ".py")):
        return "messages"
    return None


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def prose(path, text):
    """[(line, paragraph)]: a paragraph is one piece of text, without line breaks."""
    if path.endswith(".md"):
        text = re.sub(r"^ *(```+).*?^ *\1 *$", blank, text, flags=re.S | re.M)
        text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
        text = re.sub(r"`[^`\n]+`", lambda m: "`x`" + " " * (len(m.group()) - 3), text)
        text = re.sub(r"\]\([^)\n]*\)", "]", text)
        return paragraphs(text.split("\n"))
    if kind(path) == "messages":
        return strings(path, text)
    lines = []
    for comment in re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.S):
        first = text.count("\n", 0, comment.start()) + 1
        pieces = [re.sub(r"^\s*(?:/\*+|\*/|\*|//+<?)?\s?|\s*\*/$", "", piece) for piece in comment.group().split("\n")]
        lines += [(first + n, piece) for n, piece in enumerate(pieces)] + [(first + len(pieces), "")]
    found, last = [], []
    for number, piece in lines:
        piece = re.sub(r"`[^`\n]+`", "`x`", piece)
        if piece.strip() and not re.match(r"\s{4,}\S", piece):
            last.append((number, piece))
        elif last:
            found.append((last[0][0], " ".join(piece.strip() for _, piece in last)))
            last = []
    if last:
        found.append((last[0][0], " ".join(piece.strip() for _, piece in last)))
    return found


def paragraphs(lines):
    found, begun, last = [], 0, []
    for number, line in enumerate(lines + [""], 1):
        alone = re.match(r"\s*(?:\||#)", line)
        if last and (not line.strip() or alone or re.match(r"\s*(?:[-*]|\d+\.) ", line)):
            found.append((begun, " ".join(last)))
            last = []
        if alone:
            found.append((number, line.strip()))
        elif line.strip():
            begun = begun if last else number
            last.append(line.strip())
    return found


def strings(path, text):
    """Messages: neighbouring strings are one."""
    found = []
    if path.endswith(".py"):
        text = re.sub(r'""".*?"""', lambda m: '"' + " ".join(m.group()[3:-3].split()).replace('"', "'") + '"', text, flags=re.S)
    else:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
        text = re.sub(r"^#.*", blank, text, flags=re.M)
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:(?:\s|PRI\w+)*"(?:[^"\\\n]|\\.)*")*', text):
        words = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match.group()))
        words = words.replace("\\n", " ").replace('\\"', "'")
        # Not OpenCL C, nor JSON
        if re.search(r"[a-z]+ [a-z]+ [a-z]", words) and not re.search(r"[{}=]|__|\buint\b|->|\(\*|;\s*$", words):
            found.append((text.count("\n", 0, match.start()) + 1, words))
    return found


def places(path, text):
    """[(pattern, line, words around it)]"""
    found = []
    for number, paragraph in prose(path, text):
        for name, _, expression in PATTERNS:
            for match in re.finditer(expression, paragraph):
                found.append((name, number, paragraph[max(0, match.start() - 50):match.end() + 50]))
        if not paragraph.startswith("|"):
            for clause in re.split(r"[.;:]\s", paragraph):
                if len(RELATIVES.findall(clause)) >= 3:
                    found.append(("relatives", number, clause[:120]))
    return found


NAMES = [name for name, _, _ in PATTERNS] + ["relatives"]
HINTS = {name: hint for name, hint, _ in PATTERNS} | {"relatives": "three relative clauses in one sentence: split it"}


def counts(path, text):
    have = dict.fromkeys(NAMES, 0)
    for name, _, _ in places(path, text):
        have[name] += 1
    return have


def read_limits():
    limits = {}
    with open(LIMITS, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            path, rest = line.split(" | ")
            limits[path.strip()] = {name: int(n) for name, n in (item.split("=") for item in rest.split())}
    return limits


def write_limits(texts):
    try:
        before = read_limits()
    except FileNotFoundError:
        before = None
    with open(LIMITS, "w", encoding="utf-8") as file:
        file.write("# file | how often it may have each pattern of english.py, where that is not 0. Lowered by english.py --write.\n")
        for path in sorted(texts):
            have = counts(path, texts[path])
            if before is not None:
                have = {name: min(n, before.get(path, {}).get(name, 0)) for name, n in have.items()}
            if any(have.values()):
                file.write(f"{path} | {' '.join(f'{name}={n}' for name, n in have.items() if n)}\n")


def test(texts):
    limits, bad = read_limits(), 0
    for path in sorted(texts):
        have = counts(path, texts[path])
        for name, n in have.items():
            allowed = limits.get(path, {}).get(name, 0)
            if n > allowed:
                bad += 1
                print(f"{path}: '{name}' {n} times, {allowed} allowed. Plainer: {HINTS[name]}")
                for _, line, words in [place for place in places(path, texts[path]) if place[0] == name][:20]:
                    print(f"    {path}:{line}: ...{words}...")
    for path in limits:
        if path not in texts:
            bad += 1
            print(f"english.txt names {path}, which does not exist")
    return bad


PLANTED = {
    "tell": "It tells the host.", "what": "What is wrong is reported.", "that-of": "The error is that of the pool.",
    "of-own": "It has a queue of its own.", "too": "This works, too.", "alone": "It runs on CPUs alone.",
    "is-no": "A value that is no number.", "nobody": "Nobody waits.", "front-of": "Of these calls two wait.",
    "there-is": "All the memory that there is.", "semicolon": "One; two.", "take": "It takes a name.", "give": "It gives null.",
    "lie": "Fields lie in rows.", "stand": "The rules stand below.", "so": "A leak is found so.", "words": "It is refused in words.",
    "cell": "| age | those in which nothing was made |", "relatives": "An object that a kernel which runs frees where it was made.",
}


def self_test():
    clean = "The call reports an error.\n"
    for name in NAMES:
        for path, text in (("README.md", clean + "\n" + PLANTED[name] + "\n"),
                           ("include/clump/x.h", f"/* {clean}\n *\n * {PLANTED[name]} */\nint x;\n")):
            if counts(path, text)[name] != 1:
                sys.exit(f"{name} in {path}: {counts(path, text)[name]}, not 1")
    if any(counts("README.md", clean).values()):
        sys.exit("clean text has a pattern")
    if counts("README.md", "```c\nint alone;\n```\n`alone; too.`\n")["alone"]:
        sys.exit("code is counted")
    if counts("host/x.c", 'refuse("it takes a name " "that is no name");')["is-no"] != 1:
        sys.exit("a message is not counted")
    print("each pattern is counted")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self"]:
        return self_test()
    if arguments[:1] == ["--lines"]:
        for path in arguments[1:]:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                for name, line, words in sorted(places(path, file.read()), key=lambda place: place[1]):
                    print(f"{path}:{line}: {name}: {words}")
        return None
    if arguments[:1] == ["--sums"]:
        sums = {}
        for path, text in tracked(*arguments[1:]).items():
            column = sums.setdefault(kind(path), dict.fromkeys(NAMES, 0))
            for name, n in counts(path, text).items():
                column[name] += n
        order = ["pages", "headers", "messages", "internals"]
        print("pattern".ljust(12) + "".join(name.rjust(11) for name in order))
        for name in NAMES:
            print(name.ljust(12) + "".join(str(sums.get(column, {}).get(name, 0)).rjust(11) for column in order))
        return None
    texts = tracked()
    if arguments[:1] == ["--write"]:
        return write_limits(texts)
    bad = test(texts)
    print(f"english: {len(texts)} files, {bad} counts too many")
    sys.exit(1 if bad else 0)


main()
