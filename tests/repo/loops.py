#!/usr/bin/env python3
"""Every loop of the device code has a bound, and docs/internals/loops.md says which.

    loops.py            check; exit status 1 names each loop without a bound, and a document that is not up to date
    loops.py --write    write the document
    loops.py --self     check that loops without a bound are found

The bound of a loop that counts is read from its head: `for (i = a; i < b; i += c)`, where the body
changes neither i nor what b is made of; `for (i = a; i-- > 0;)`; a value that is halved, or loses a bit, each time. Any
other loop has a comment on its line or on the lines before: /* bound: ... */. A limit may be read from the
heap: then the bound is as good as the heap's metadata, which the heap check compares.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / 'docs/internals/loops.md'
HEAD = """# Loops

Every loop of the device code, with its bound. `tests/repo/loops.py --write` makes this page from
`cl/`, and the test `loops` compares them. No loop waits: each turn does work, or is counted.

- *Head*: the bound that the script reads from the loop's head.
- *Comment*: the bound that a comment in the code states.
- Names are names of the code. `items` is the number of work-items that share the loop.
- A bound that is read from the heap (`rows`, `class_count`, `block_end`) is as right as the heap's
  metadata. `clump_heap_check()` compares the metadata with the values that the host knows.

Some loops repeat because other work-items made progress. `protocol_bounds` tests their bounds, and
the report when a bound is reached.
"""


def blank(text):
    """The text without comments, strings and line ends of macros, each as long as it was."""
    def spaces(match):
        return re.sub(r'[^\n]', ' ', match.group(0))
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', spaces, text, flags=re.S)
    return re.sub(r'\\\n', ' \n', text)


def matching(text, at, opening, closing):
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] == opening:
            depth += 1
        elif text[i] == closing:
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)  # a macro with half of a pair: the rest of the file counts as its body


def statement(text, at):
    """The place after the statement that begins at `at`."""
    while text[at].isspace():
        at += 1
    if text[at] == '{':
        return matching(text, at, '{', '}')
    head = re.match(r'(for|while|if|switch)\s*\(', text[at:])
    if head:
        end = statement(text, matching(text, at + head.end() - 1, '(', ')'))
        other = re.match(r'\s*else\b', text[end:])
        return statement(text, end + other.end()) if other else end
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in '({[') - (text[i] in ')}]')
        if text[i] == ';' and depth == 0:
            return i + 1
    return len(text)


def parts(text, separator):
    """The text at separators that are in no brackets."""
    found, depth, begin, i = [], 0, 0, 0
    while i < len(text):
        depth += (text[i] in '([{') - (text[i] in ')]}')
        if depth == 0 and text.startswith(separator, i):
            found.append(text[begin:i])
            i += len(separator)
            begin = i
        else:
            i += 1
    return [' '.join(p.split()) for p in found + [text[begin:]]]


def changes(name, text):
    return re.search(rf'(?<![\w.>]){name}\s*(=(?!=)|[-+*/%&|^]=|<<=|>>=|\+\+|--)|(\+\+|--|(?<!&)&)\s*{name}\b', text)


def plain(text):
    """A number or name without casts and brackets around it."""
    text = re.sub(r'\((uint|ulong)\)', '', text).strip()
    while text.startswith('(') and matching(text, 0, '(', ')') == len(text):
        text = text[1:-1].strip()
    return text


# Where a work-item begins of those that share a loop.
OF_ITEM = r'(me|row|team\.|get_|part\b)'


def is_steady(name, limit, body):
    """Does a loop's body change neither the variable that counts nor a variable of what bounds it?"""
    names = re.findall(r'(?<![\w.>&])([A-Za-z_]\w*)(?!\w|\.|->|\()', limit)
    return not any(changes(n, body) for n in [name] + names)


def counted(head, body):
    """The bound that the head of a for has, or None."""
    fields = parts(head, ';')
    if len(fields) != 3:
        return None
    first, condition, step = fields
    for one in parts(step, ','):
        halved = re.match(r'(\w+) (>>|<<)= (\w+)$', one)
        if halved and halved[1] in condition and not changes(halved[1], body):
            return 'bits of a word'
        bit = re.match(r'(\w+) &= \1 - 1u?l?$', one)
        if bit and condition == bit[1] and not changes(bit[1], body):
            return 'bits of a word'
    for test in parts(condition, '&&'):
        down = re.match(r'(\w+)-- > (\w+)$', test)
        if down and not changes(down[1], body):
            start = re.search(rf'\b{down[1]} = ([^,]+)', first)
            return plain(start[1]) if start else down[1]
        falling = re.match(r'(\w+) > (.+)$', test)
        if falling and f'{falling[1]}--' in parts(step, ',') and is_steady(falling[1], falling[2], body):
            start = re.search(rf'\b{falling[1]} = ([^,]+)', first)
            return f'{plain(start[1]) if start else falling[1]} - {plain(falling[2])}'
        up = re.match(r'(.+?) (<|<=) (.+)$', test)
        if not up:
            continue
        for one in parts(step, ','):
            by = re.match(r'(\w+)\+\+$|\+\+(\w+)$|(\w+) \+= (.+)$', one)
            name = by and (by[1] or by[2] or by[3])
            if not by or not re.search(rf'\b{name}\b', up[1]) or not is_steady(name, up[1] + ' ' + up[3], body):
                continue
            if up[1] != name:
                return f'{test}, {one}'
            start = re.search(rf'\b{name} = ([^,]+(?:\([^)]*\)[^,]*)*)', first)
            start, limit = plain(start[1]) if start else name, plain(up[3])
            if start.count('(') != start.count(')'):
                start = '0'  # several things happen first: without them the bound is a larger one
            bound = limit if up[2] == '<' else f'{limit} + 1'
            shared = by[4] and plain(by[4])
            if not re.match(r'0u?l?$', start) and not (shared and re.match(OF_ITEM, start)):
                bound = f'{bound} - {start}' if re.match(r'[\w.>\-\[\]]+$', start) else f'{bound} - ({start})'
            return f'({bound}) / {shared}' if shared and ' ' in bound else f'{bound} / {shared}' if shared else bound
    return None


FUNCTION = re.compile(
    r'^#\s*define\s+(?P<macro>\w+)|^(?!\s|#|typedef|\}|struct\b|enum\b)[^\n;{}=]*?\b(?P<name>(?!__attribute__)\w+)\(', re.M)


def loops_of(path, source):
    """(line, function, bound or None, is in words) of each loop."""
    code = blank(source)
    starts = [(m.start(), m['macro'] or m['name']) for m in FUNCTION.finditer(code)]
    found = []
    for m in re.finditer(r'\b(for|while)\s*\(', code):
        end = matching(code, m.end() - 1, '(', ')')
        head = ' '.join(code[m.end():end - 1].split())
        if m[1] == 'while' and head == '0':
            continue  # do { } while (0)
        if m[1] == 'while' and re.search(r'\}\s*$', code[:m.start()]) and code[end:].lstrip().startswith(';'):
            body = code[code.rfind('do', 0, m.start()):m.start()]
        else:
            body = code[end:statement(code, end)]
        line = source.count('\n', 0, m.start())
        lines = source.split('\n')
        last = source.count('\n', 0, end)
        begin = line
        while begin > 0 and re.match(r'\s*(/\*|\* )', lines[begin - 1]):
            begin -= 1
        near = '\n'.join(lines[begin:last + 1])
        words = [w for w in re.finditer(r'/\*[^*]*?\bbound: (.*?)\s*\*/', near, re.S)]
        function = next((n for at, n in reversed(starts) if at <= m.start()), '?')
        if words:
            text = ' '.join(words[-1][1].replace('\\\n', ' ').split())
            found.append((line + 1, function, text, True))
        else:
            found.append((line + 1, function, counted(head, body) if m[1] == 'for' else None, False))
    return found


def page(all_loops):
    text = [HEAD]
    for path, loops in all_loops.items():
        text.append(f'## {path}\n\n| in | head | comment |\n|---|---|---|')
        rows = {}
        for _, function, bound, is_words in loops:
            rows.setdefault(function, ([], []))[is_words].append(bound)
        for function, (counts, words) in rows.items():
            counts = ', '.join(f'`{c}`' for c in counts)
            text.append(f'| `{function}` | {counts} | {" · ".join(words)} |')
        text.append('')
    return '\n'.join(text)


def self_test():
    samples = {
        'for (uint i = 0; i < n; i++) x += i;': 'n',
        'for (uint i = me; i <= n; i += items) { f(i); }': '(n + 1) / items',
        'for (uint k = count; k-- > 0;) f(k);': 'count',
        'for (uint i = 0; i < n; i++) { if (f()) i = 0; }': None,
        'for (uint i = 0; i < n; i++) { n = f(n); }': None,
        'for (;;) f();': None,
        'for (uint w = x; w; w = next(w)) f(w);': None,
        'while (f()) g();': None,
        '/* bound: two */\nwhile (f()) g();': 'two',
        'do f(); while (g());': None,
        'for (uint s = 1; s < items; s <<= 1) f();': 'bits of a word',
    }
    wrong = [s for s, bound in samples.items()
             if [b for _, _, b, _ in loops_of('x', 'void f(void) {\n' + s + '\n}\n')] != [bound]]
    for s in wrong:
        print(f'loops: {s!r} yields {loops_of("x", "void f(void) {" + s + "}")}', file=sys.stderr)
    return wrong


def main():
    failed = bool(self_test())
    if '--self' in sys.argv:
        return failed
    all_loops = {}
    for path in sorted((ROOT / 'cl').rglob('*.cl*')):
        name = str(path.relative_to(ROOT))
        loops = loops_of(name, path.read_text())
        for line, function, bound, _ in loops:
            if bound is None:
                print(f'{name}:{line}: this loop of {function} has no bound in its head: state it in a comment, '
                      '/* bound: ... */', file=sys.stderr)
                failed = True
        if loops:
            all_loops[name] = loops
    if failed:
        return 1
    text = page(all_loops)
    if '--write' in sys.argv:
        DOCUMENT.write_text(text)
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != text:
        print('docs/internals/loops.md is not what the code says: run tests/repo/loops.py --write', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
