"""Renames what the table of docs/guide/upgrading.md names, in sources of a user: see scripts/rename_0.1.sh.

A row is old | new. A name alone is replaced wherever it stands as a word. A row with parameters, NAME(a, b), is about
calls of that many arguments: each parameter of the new text becomes the argument of that name, as it was written. Calls
of another number of arguments, and names of such rows that are not called, get the new name and are reported. A row
whose new side is words is about names that are gone: each use is reported.

clump.h has what a first program needs: a source that includes it gets the headers of what else it uses.

The calls on a map, a vector or a grid have the names that CLUMP_MAP_DEFINE() and the like gave them, in any of the files.

Reported are also uses that compile and may mean something else: LOOK, and results that are statuses now.
The lines of reports are those of the files as they are afterwards.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENDINGS = ('.c', '.h', '.cl', '.clh', '.cpp', '.hpp', '.cc', '.cu', '.cuh', '.py', '.md', '.txt', '.sh', '.in')
C = ('.c', '.h', '.cpp', '.hpp', '.cc')
# Before a call whose result is used.
USED = r'(?:[-+*!=&|?:(,]|\breturn)\s*'
TURNED = 'its result is a status now, and 0 is done'
LOOK = [(re.compile(pattern), words) for pattern, words in (
    (USED + r'(?=[A-Z]\w*_\w+_(?:resize|reserve|adopt)\((?!.*CLUMP_DONE))', TURNED),
    (r'(?=\bCLUMP_ERR_CAPACITY\b)', 'where an array or a buffer of yours is too small it is CLUMP_ERR_TOO_SMALL'),
    (r'(?=\bclump_heap_(?:fetch_findings|read_events|read_live)\()', 'capacities and counts are uint64_t'),
    (r'(?:\.|->)(?=fetch\()', 'of a heap it is bring_back()'),
    (r'(?:\.|->)(?=fetch_errors\()', 'of a heap it is take_errors()'))]
WORD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
# Arguments of the old ..._DEFINE(), and the calls that it made.
CONTAINERS = {'MAP': (5, 'insert find erase tidy'), 'VECTOR': (4, 'make append reserve length at clear trim'), 'GRID': (4, 'make key note')}


class Table:
    def __init__(self):
        text = (ROOT / 'docs/guide/upgrading.md').read_text()
        part = text[text.index('## To 0.1.0'):]
        part = part[:part.index('\n\n', part.index('|---|'))]
        self.names, self.calls, self.containers, self.gone, words = {}, {}, {}, {}, ''
        for old, new in re.findall(r'^\| (`.+`) \| (.+) \|$', part, re.M):
            if not re.fullmatch(r'`[^`]+`', new):
                words = words if new == 'likewise' else new.replace('`', '')
                self.gone.update(dict.fromkeys(re.findall('`([^`]+)`', old), words))
                continue
            self.add(old[1:-1], new[1:-1])

    def add(self, old, new):
        name, parameters = re.fullmatch(r'(\w+)(?:\((.*)\))?', old).groups()
        self.names[name] = WORD.match(new).group()
        if parameters:
            parameters = [p.strip() for p in parameters.split(',')]
            self.calls[name, len(parameters)] = parameters, new

    def define(self, text):
        """The calls on the containers that `text` defines."""
        for m in re.finditer(r'\bCLUMP_(MAP|VECTOR|GRID)_DEFINE(?=\()', text):
            found = arguments(text, m.end())
            count, verbs = CONTAINERS[m[1]]
            if found and len(found[0]) == count:
                for verb in verbs.split():
                    self.containers[f'{found[0][0]}_{verb}'] = m[1], verb, found[0][1]


def arguments(text, at):
    """The arguments of the call whose '(' is at `at`, and the place after its ')'; None where it does not end."""
    depth, begin, found = 0, at + 1, []
    i = at
    while i < len(text):
        c = text[i]
        if c in '"\'':
            end = i + 1
            while end < len(text) and text[end] != c:
                if text[end] == '\n':
                    return None  # an apostrophe of a comment
                end += 2 if text[end] == '\\' else 1
            i = end
        elif c in '([{':
            depth += 1
        elif c in ')]}':
            depth -= 1
            if depth == 0:
                found.append(text[begin:i].strip())
                return found, i + 1
        elif c == ',' and depth == 1:
            found.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return None


MEMBERS = r'(\w+(?:(?:\.|->)\w+|\[\w+\])*)'


def tidy(text):
    """sizeof *(&x) is sizeof(x); sizeof *(x) of a name or member is sizeof *x; NULL has no element."""
    text = re.sub(r'sizeof \*\(&' + MEMBERS + r'\)', r'sizeof(\1)', text)
    return re.sub(r'sizeof \*\(' + MEMBERS + r'\)', r'sizeof *\1', text).replace('sizeof *NULL', '0')


class File:
    """A text, and what is reported of it. A report is a mark in the text until the lines are known."""

    def __init__(self, table, text):
        self.table, self.words = table, []
        for pattern, words in LOOK:
            text = pattern.sub(lambda m, words=words: m.group() + self.mark(words), text)
        for name, words in table.gone.items():
            owner, _, member = name.rpartition('.')
            if not owner or owner in text:
                text = re.sub((r'(\.|->)' if owner else r'()\b') + member + r'\b',
                              lambda m, words=f'{name}: {words}': m[1] + self.mark(words) + m.group()[len(m[1]):], text)
        places = sorted([*table.names, *table.containers, *(f'CLUMP_{kind}_DEFINE' for kind in CONTAINERS)], key=len, reverse=True)
        self.pattern = re.compile(r'\b(?:' + '|'.join(places) + r')\b')
        self.text = self.rename(text)

    def mark(self, words):
        self.words.append(words)
        return f'\1{len(self.words) - 1}\2'

    def call(self, name, given, before):
        """The new text of a call; None where only its name changes."""
        inner = [self.rename(a) for a in given]
        container = re.fullmatch('CLUMP_(MAP|VECTOR|GRID)_DEFINE', name)
        if container:
            return f'{name}({", ".join(inner[1:])})' if len(given) == CONTAINERS[container[1]][0] else f'{name}({", ".join(inner)})'
        if name in self.table.containers:
            kind, verb, of = self.table.containers[name]
            if given == ['']:
                return f'CLUMP_{kind}_{verb.upper()}()'
            mark = ''
            if verb in ('make', 'reserve', 'tidy') and re.search(USED + r'\Z', before):
                mark = self.mark(TURNED)
            new = f'CLUMP_{kind}_{verb.upper()}({", ".join([of] + inner[2 if verb == "note" else 1:])})'
            return mark + ('&' if verb == 'at' else '') + new
        if (name, len(given)) not in self.table.calls:
            return None
        parameters, new = self.table.calls[name, len(given)]
        by = dict(zip(parameters, inner))
        return tidy(WORD.sub(lambda w: by.get(w.group(), w.group()), new))

    def rename(self, text):
        out, at = '', 0
        for m in self.pattern.finditer(text):
            if m.start() < at:
                continue
            name = m.group()
            out += text[at:m.start()]
            at = m.end()
            found = arguments(text, at) if text[at:at + 1] == '(' else None
            new = self.call(name, found[0], out) if found else None
            if new is not None:
                if new.startswith('&CLUMP_VECTOR_AT') and out.endswith('*'):
                    out, new = out[:-1], new[1:]
                out, at = out + new, found[1]
                continue
            arities = [len(parameters) for (n, _), (parameters, _) in self.table.calls.items() if n == name]
            if found and arities and found[0] != [''] and not self.is_new(name, len(found[0])):
                out += self.mark(f'{name}() has {len(found[0])} arguments')
            out += self.table.names.get(name, name)
        return out + text[at:]

    def is_new(self, name, count):
        """Whether a call of that name and that many arguments is one of the new kind."""
        news = [new for _, new in self.table.calls.values() if new.startswith(name + '(')]
        return any(len(arguments(new, len(name))[0]) == count for new in news)

    def finish(self):
        """The text without marks, and (line, words) of the reports in their order."""
        parts = re.split('\1([0-9]+)\2', self.text)
        line, reports = 1 + parts[0].count('\n'), []
        for number, part in zip(parts[1::2], parts[2::2]):
            reports.append((line, self.words[int(number)]))
            line += part.count('\n')
        return ''.join(parts[::2]), reports


class Headers:
    """Which header declares a name, and which headers each includes."""

    def __init__(self):
        self.of, self.included = {}, {}
        for path in sorted((ROOT / 'include/clump').glob('*.h')):
            text = re.sub(r'/\*.*?\*/', '', path.read_text(), flags=re.S)
            self.included[path.name] = re.findall(r'^#include "clump/(\w+\.h)"', text, re.M)
            for name in re.findall(r'\b(clump_\w+)\(|\b(clump_\w+);|^#define (CLUMP_\w+)|^ +(CLUMP_\w+)\b(?=,| =|$)', text, re.M):
                self.of.setdefault(next(filter(None, name)), path.name)

    def reached(self, header):
        found, todo = set(), [header]
        while todo:
            h = todo.pop()
            if h in self.included and h not in found:
                found.add(h)
                todo += self.included[h]
        return found

    def complete(self, text):
        """`text` with the headers that it needs after clump.h."""
        place = re.search(r'^([ \t]*#[ \t]*include[ \t]*)([<"])clump/clump\.h([>"]).*\n', text, re.M)
        if not place:
            return text
        there = set().union(*(self.reached(h) for h in re.findall(r'#[ \t]*include[ \t]*[<"]clump/(\w+\.h)', text)))
        needed = {self.of[w] for w in re.findall(r'\b(?:clump|CLUMP)_\w+', text) if w in self.of} - there
        needed -= set().union(*(self.reached(h) - {h} for h in needed))
        lines = ''.join(f'{place[1]}{place[2]}clump/{h}{place[3]}\n' for h in sorted(needed))
        return text[:place.end()] + lines + text[place.end():]


def files_of(path):
    if path.is_file():
        return [path]
    return [p for p in sorted(path.rglob('*')) if p.suffix in ENDINGS and p.is_file() and '.git' not in p.parts]


def main(paths):
    table, headers, texts = Table(), Headers(), {}
    for file in (f for path in paths for f in files_of(pathlib.Path(path))):
        try:
            texts[file] = file.read_bytes().decode()
        except UnicodeDecodeError:
            print(f'{file}: left alone, it is not UTF-8')
    for text in texts.values():
        table.define(text)
    for file, text in texts.items():
        renamed = File(table, text)
        if file.suffix in C:
            renamed.text = headers.complete(renamed.text)
        new, reports = renamed.finish()
        if new != text:
            file.write_bytes(new.encode())
            print(f'{file}: renamed')
        for line, words in reports:
            print(f'{file}:{line}: look here: {words}')


if __name__ == '__main__':
    main(sys.argv[1:])
