"""Where a source can be changed, and into what: the random mutants."""
import hashlib
import random
import re
from dataclasses import dataclass

import sources

# How often each kind is drawn, where a file has it.
WEIGHTS = {'compare': 4, 'sign': 3, 'literal': 3, 'logic': 2, 'negate': 2, 'drop': 5, 'fence': 1,
           'hint': 1, 'index': 2, 'continue': 1}

_COMPARE = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
_KEYWORDS = re.compile(r'(return|if|else|for|while|do|break|continue|goto|case|default|switch|'
                       r'typedef|static|const|volatile|struct|enum|extern|_Static_assert)\b')
_DECLARATION = re.compile(r'(?:__global\s+|__local\s+|CLUMPI_GLOBAL\s+|unsigned\s+)*'
                          r'[A-Za-z_]\w*(?:\s+\**|\s*\*+\s*)(?:const\s+)?[A-Za-z_]\w*\s*[=;,\[(]')


@dataclass(frozen=True)
class Mutant:
    path: str
    kind: str
    begin: int
    end: int
    new: str
    line: int
    ident: str
    note: str = ''

    def apply(self, text):
        return text[:self.begin] + self.new + text[self.end:]


def changed_lines(text, mutant):
    """The lines that a mutant changes, before and after."""
    begin = text.rfind('\n', 0, mutant.begin) + 1
    end = text.find('\n', mutant.end)
    end = len(text) if end < 0 else end
    return text[begin:end], text[begin:mutant.begin] + mutant.new + text[mutant.end:end]


def make(path, text, kind, begin, end, new, note=''):
    """A mutant. Its name depends on its line and not on where in the file that stands."""
    line = text.count('\n', 0, begin) + 1
    start = text.rfind('\n', 0, begin) + 1
    stop = text.find('\n', begin)
    same = text[:start].count(text[start:stop])
    words = f'{path}|{text[start:stop].strip()}|{same}|{begin - start}|{end - begin}|{new}'
    ident = 'r' + hashlib.sha256(words.encode()).hexdigest()[:8]
    return Mutant(path, kind, begin, end, new, line, ident, note)


def _statements(code, begin, end):
    """Expression statements of a body that are calls, assignments or steps."""
    at, parens = begin, 0
    start = begin
    while at < end:
        char = code[at]
        if char == '(':
            parens += 1
        elif char == ')':
            parens -= 1
            if parens == 0 and re.match(r'\s*(if|for|while|switch)\b', code[start:at]):
                start = at + 1
        elif char in '{}' and parens == 0:
            # A brace after "=" opens an initialiser, whose statement is a declaration anyway.
            start = at + 1
        elif char == ';' and parens == 0:
            text = code[start:at]
            while re.match(r'\s*else\b', text):
                start += re.match(r'\s*else\b', text).end()
                text = code[start:at]
            inner = re.match(r'\s*(if|for|while)\s*\(', text)
            if not inner and text.strip():
                lead = len(text) - len(text.lstrip())
                body = text.strip()
                if (not _KEYWORDS.match(body) and not _DECLARATION.match(body + ';')
                        and not body.startswith('(void)') and re.search(r'=|\+\+|--|\w\s*\(', body)):
                    yield start + lead, at
            start = at + 1
        at += 1


def _drop_kind(body):
    if re.match(r'CLUMPI?_FENCE\w*\s*\(', body):
        return 'fence'
    if re.match(r'clumpi_(hint_agree|hint_follow|room_appeared)\w*\s*\(', body):
        return 'hint'
    return 'drop'


def candidates(path, text):
    """All mutants of a file by kind, in the order of the text."""
    code = sources.code_of(text)
    found = {kind: [] for kind in WEIGHTS}

    def add(kind, begin, end, new):
        found[kind].append(make(path, text, kind, begin, end, new))

    for begin, end in sources.bodies_of(code):
        for m in re.compile(r'(?<![<>=!-])(<=|>=|==|!=|<|>)(?![<>=])').finditer(code, begin, end):
            add('compare', m.start(), m.end(), _COMPARE[m.group()])
        for m in re.compile(r'(?<= )([+-])(?= )|(?<= )([+-])(?==)').finditer(code, begin, end):
            add('sign', m.start(), m.end(), '-' if m.group() == '+' else '+')
        for m in re.compile(r'(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])').finditer(
                code, begin, end):
            value, start = int(m.group(1), 0), code.rfind('\n', 0, m.start()) + 1
            if re.match(r'\s*__local\b[^=]*$', code[start:m.start()]):
                continue  # sizes of local memory: what is beyond them is there anyway
            for other in (value + 1, value - 1):
                if other >= 0:
                    add('literal', m.start(), m.end(), f'{other}{m.group(2)}')
        for m in re.compile(r'&&|\|\|').finditer(code, begin, end):
            add('logic', m.start(), m.end(), '||' if m.group() == '&&' else '&&')
        for m in re.compile(r'\b(?:if|while) \(').finditer(code, begin, end):
            depth, at = 1, m.end()
            while depth and at < end:
                depth += {'(': 1, ')': -1}.get(code[at], 0)
                at += 1
            add('negate', m.end(), at - 1, f'!({text[m.end():at - 1]})')
        for m in re.compile(r'(?<=[\w\])])\[(\w+)\]').finditer(code, begin, end):
            if not m.group(1).isdigit():
                add('index', m.start(1), m.end(1), f'{m.group(1)} + 1')
        for m in re.compile(r'\bcontinue;').finditer(code, begin, end):
            add('continue', m.start(), m.end(), ';')
        for first, last in _statements(code, begin, end):
            add(_drop_kind(code[first:last]), first, last, '')
    return found


def sequence(path, text, seed):
    """All mutants of a file in the order in which they are drawn."""
    rng = random.Random(f'{seed}:{path}')
    found = candidates(path, text)
    for group in found.values():
        rng.shuffle(group)
    drawn = []
    while any(found.values()):
        kinds = [kind for kind in WEIGHTS if found[kind]]
        kind = rng.choices(kinds, [WEIGHTS[k] for k in kinds])[0]
        drawn.append(found[kind].pop())
    return drawn
