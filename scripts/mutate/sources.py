"""The text of a source: what is code, which function bodies there are, which lines a program has."""
import re

# The programs that tests without a GPU build, as macros of cl/core/prelude.clh.
CONFIGURATIONS = {
    'cpu': {'CLUMPI_ROW_PER_ITEM': 1, 'CLUMPI_HAVE_INT64_ATOMICS': 1},
    'cpu32': {'CLUMPI_ROW_PER_ITEM': 1},
    'cpu-checked': {'CLUMPI_ROW_PER_ITEM': 1, 'CLUMPI_HAVE_INT64_ATOMICS': 1, 'CLUMPI_CHECKED': 1},
    'gpu': {'CLUMPI_HAVE_INT64_ATOMICS': 1},
    'gpu32': {},
}
DEFAULTS = {'CLUMP_COALESCE': 1, 'CLUMP_ROTATE': 1}

_TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
_DIRECTIVES = re.compile(r'^[ \t]*#(?:[^\\\n]|\\.|\\\n)*', re.M)


def _blank(match):
    return re.sub(r'[^\n]', ' ', match.group(0))


def without_comments(text):
    """The text with comments, strings and characters blanked, each character in its place."""
    return _TOKENS.sub(_blank, text)


def code_of(text):
    """The same, and without preprocessor lines."""
    return _DIRECTIVES.sub(_blank, without_comments(text))


def bodies_of(code):
    """The ranges of function bodies, as pairs of offsets."""
    bodies, depth, begin, before = [], 0, None, ''
    for at, char in enumerate(code):
        if char == '{':
            if depth == 0 and before == ')':
                begin = at + 1
            depth += 1
        elif char == '}':
            depth -= 1
            if depth == 0 and begin is not None:
                bodies.append((begin, at))
                begin = None
        if not char.isspace():
            before = char
    return bodies


def _evaluate(expression, macros):
    """An #if expression over macros whose values are numbers; anything else counts as 0."""
    text = re.sub(r'defined\s*\(?\s*(\w+)\s*\)?', lambda m: str(int(m.group(1) in macros)), expression)
    text = re.sub(r'\b(\d+)[uUlL]+\b', r'\1', text)
    text = re.sub(r'\b[A-Za-z_]\w*', lambda m: str(macros.get(m.group(0), 0)), text)
    text = text.replace('&&', ' and ').replace('||', ' or ')
    text = re.sub(r'!(?!=)', ' not ', text)
    try:
        return bool(eval(text, {'__builtins__': {}}))  # numbers and operators, no names
    except (SyntaxError, TypeError):
        return False


def active_lines(text, configuration):
    """The numbers of the lines that a program of a configuration has."""
    macros = {**DEFAULTS, **CONFIGURATIONS[configuration]}
    active, stack, lines, number = set(), [], without_comments(text).split('\n'), 0
    while number < len(lines):
        line, first = lines[number], number
        while line.endswith('\\') and number + 1 < len(lines):
            number += 1
            line = line[:-1] + lines[number]
        number += 1
        directive = re.match(r'\s*#\s*(\w+)\s*(.*)', line)
        word, rest = directive.groups() if directive else ('', '')
        if word in ('if', 'ifdef', 'ifndef'):
            name = rest.split()[0] if rest.split() else ''
            holds = {'ifdef': name in macros, 'ifndef': name not in macros}.get(word)
            holds = _evaluate(rest, macros) if holds is None else holds
            stack.append([holds, holds])
        elif word == 'elif':
            holds = not stack[-1][1] and _evaluate(rest, macros)
            stack[-1] = [holds, stack[-1][1] or holds]
        elif word == 'else':
            stack[-1] = [not stack[-1][1], True]
        elif word == 'endif':
            stack.pop()
        elif all(level[0] for level in stack):
            active.update(range(first + 1, number + 1))
            if word == 'define':
                value = re.match(r'(\w+)(?:\s+(\d+)[uU]?)?\s*$', rest)
                if value:
                    macros[value.group(1)] = int(value.group(2) or 0)
    return active


def is_device(path):
    """Kernels and what they share with the host; some of bench/ are, too."""
    return path.startswith('cl/') or path.endswith(('.cl', '.clh'))


def programs_of(path, text, line):
    """The configurations whose programs have the line; host code is in all of them."""
    if not is_device(path):
        return list(CONFIGURATIONS)
    return [name for name in CONFIGURATIONS if line in active_lines(text, name)]


def side_of(path, programs):
    """'cpu' or 'gpu' if only the programs of one of them have it, else 'both'; '' if none has."""
    if not is_device(path):
        return 'host'
    sides = {name[:3] for name in programs}
    return 'both' if len(sides) == 2 else ''.join(sides)
