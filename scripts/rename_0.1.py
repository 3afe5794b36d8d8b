"""Renames what the table "Renamed" of CHANGELOG.md names, in sources of a user: see scripts/rename_0.1.sh.

A row is old | new. A name alone is replaced wherever it stands as a word. A row with parameters, NAME(a, b), is about
calls of that many arguments: each parameter of the new text becomes the argument of that name, as it was written. Calls
of another number of arguments, and names of such rows that are not called, get the new name and are reported. So is each
use of a result of C_a_resize(), C_a_reserve() and C_a_adopt(): 0 was no room, and is CLUMP_DONE now.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENDINGS = ('.c', '.h', '.cl', '.clh', '.cpp', '.hpp', '.cc', '.cu', '.cuh', '.py', '.md', '.txt', '.sh', '.in')
STATUS = re.compile(r'(?:[!=&|?:(,]|\breturn)\s*([A-Z]\w*_\w+_(?:resize|reserve|adopt))\((?!.*CLUMP_DONE)')
WORD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def table():
    text = (ROOT / 'CHANGELOG.md').read_text()
    part = text[text.index('### Renamed'):]
    rows = re.findall(r'^\| `([^`]+)` \| `([^`]+)` \|$', part, re.M)
    names, calls = {}, {}
    for old, new in rows:
        if '(' not in old:
            names[old] = new
            continue
        name, parameters = re.fullmatch(r'(\w+)\((.*)\)', old).groups()
        parameters = [p.strip() for p in parameters.split(',')]
        calls[name, len(parameters)] = parameters, new
        names[name] = WORD.match(new).group()
    return names, calls


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


def rename(text, names, calls, report):
    out, at = [], 0
    for m in re.finditer(r'\b(?:' + '|'.join(sorted(names, key=len, reverse=True)) + r')\b', text):
        if m.start() < at:
            continue
        name = m.group()
        out.append(text[at:m.start()])
        at = m.end()
        if any(name == n for n, _ in calls) and text[at:at + 1] == '(':
            found = arguments(text, at)
            if found and (name, len(found[0])) in calls:
                parameters, new = calls[name, len(found[0])]
                inner = [rename(a, names, calls, report) for a in found[0]]
                by = dict(zip(parameters, inner))
                out.append(tidy(WORD.sub(lambda w: by.get(w.group(), w.group()), new)))
                at = found[1]
                continue
            if found and found[0] != ['']:
                report(m.start(), f'{name}() has {len(found[0])} arguments')
        out.append(names[name])
    out.append(text[at:])
    return ''.join(out)


def files_of(path):
    if path.is_file():
        return [path]
    return [p for p in sorted(path.rglob('*')) if p.suffix in ENDINGS and p.is_file() and '.git' not in p.parts]


def main(paths):
    names, calls = table()
    for path in paths:
        for file in files_of(pathlib.Path(path)):
            try:
                text = file.read_text()
            except UnicodeDecodeError:
                continue
            new = rename(text, names, calls,
                         lambda at, words, file=file, text=text:
                         print(f'{file}:{text.count(chr(10), 0, at) + 1}: look here: {words}'))
            for m in STATUS.finditer(text):
                print(f'{file}:{text.count(chr(10), 0, m.start(1)) + 1}: look here: 0 is done: {m.group(1)}()')
            if new != text:
                file.write_text(new)
                print(f'{file}: renamed')


if __name__ == '__main__':
    main(sys.argv[1:])
