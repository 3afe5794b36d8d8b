"""The lists kept by hand: mutants, survivors argued equivalent, and which tests see a file."""
import fnmatch
import re
from dataclasses import dataclass

import operators


@dataclass(frozen=True)
class Entry:
    ident: str
    path: str
    old: str
    new: str
    words: str


def read_entries(file):
    """Entries, with an empty line between them: "@ NAME FILE", then words "# ", the old text "- ", the
    new text "+ "."""
    entries = []
    for block in re.split(r'\n\s*\n', file.read_text()):
        lines = block.strip('\n').split('\n')
        if all(line.startswith('#') or not line for line in lines):
            continue  # words about the list
        head = lines[0].split()
        if len(head) != 3 or head[0] != '@':
            raise ValueError(f'{file}: not understood: {lines[0]}')
        old, new, words = ([line[2:] for line in lines[1:] if line[0] == mark] for mark in '-+#')
        if not old or len(old) + len(new) + len(words) != len(lines) - 1:
            raise ValueError(f'{file}: {head[1]}: not understood')
        entries.append(Entry(head[1], head[2], '\n'.join(old), '\n'.join(new), ' '.join(words)))
    return entries


def hand_mutants(root, file):
    """The hand-kept mutants, and words about those whose text is not in its file exactly once."""
    mutants, stale, names = [], [], set()
    for e in read_entries(file):
        if e.ident in names:
            stale.append(f'{e.ident}: there are two of this name')
        names.add(e.ident)
        path = root / e.path
        text = path.read_text() if path.exists() else ''
        times = text.count(e.old)
        if times != 1:
            stale.append(f'{e.ident}: its text is {times} times in {e.path}')
            continue
        begin = text.index(e.old)
        same = 0  # what both begin and end with is left out, so that the line is that of the change
        while same < min(len(e.old), len(e.new)) and e.old[same] == e.new[same]:
            same += 1
        tail = 0
        while (tail < min(len(e.old), len(e.new)) - same
               and e.old[-1 - tail] == e.new[-1 - tail]):
            tail += 1
        m = operators.make(e.path, text, 'hand', begin + same, begin + len(e.old) - tail,
                           e.new[same:len(e.new) - tail], e.words)
        mutants.append(operators.Mutant(m.path, m.kind, m.begin, m.end, m.new, m.line, e.ident,
                                        m.note))
    return mutants, stale


def _plain(text):
    return ' '.join(text.split())


class Equivalents:
    """Survivors that are argued to be equivalent, known by their lines before and after."""

    def __init__(self, file):
        self.entries = read_entries(file)
        self.known = {(e.path, _plain(e.old), _plain(e.new)): e for e in self.entries}

    def find(self, path, old, new):
        return self.known.get((path, _plain(old), _plain(new)))


class TestTable:
    """Lines "PATTERN [cpu|gpu|both|host]: TEST ...": the first that fits a file and side counts."""

    def __init__(self, file):
        self.rows = []
        text = re.sub(r'\\\n\s*', ' ', file.read_text())
        for number, line in enumerate(text.split('\n'), 1):
            line = line.split('#')[0].strip()
            if not line:
                continue
            head, colon, tests = line.partition(':')
            words = head.split()
            if not colon or len(words) not in (1, 2) or not tests.split():
                raise ValueError(f'{file}:{number}: not understood: {line}')
            self.rows.append((words[0], words[1] if len(words) > 1 else '', tests.split()))

    def tests(self, path, side):
        """Names, in order; one that begins with ~ is believed only when it fails twice."""
        for pattern, wanted, tests in self.rows:
            if fnmatch.fnmatch(path, pattern) and wanted in ('', side):
                return tests
        return []

    def names(self):
        return {t.lstrip('~') for _, _, tests in self.rows for t in tests}
