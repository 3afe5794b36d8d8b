#!/usr/bin/env python3
"""docs/guide/limits.md has the tables of host/schema/refusals.h, and the one of tests/repo/works.txt.

    refusals.py            check; exit status 1: it has others, or the sources are wrong. Each cell of works.txt
                           has a test that exists, or is a refusal with its reason
    refusals.py --write    write them into the page
    refusals.py --self     check that planted faults are found
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / 'host/schema/refusals.h'
PAGE = ROOT / 'docs/guide/limits.md'
WORKS = ROOT / 'tests/repo/works.txt'
TESTS = ('tests', 'python/tests')
COLUMNS = {  # of works.txt: words and trait
    'objects': ('objects', None), 'bounded': ('arrays with `max`', 'BOUNDED'), 'growing': ('arrays that grow', 'GROWING'),
    'containers': ('map, vector, grid', 'GROWING'), 'raw': ('raw memory', 'RAW'), 'several': ('several buffers', 'SEVERAL'),
    'evictable': ('`evictable_bytes`', 'EVICTABLE'), 'checked': ('`checked`', 'CHECKED')}


class Wrong(Exception):
    pass


def rows(source, name):
    """The arguments of each X(...) of the list `name`, strings without quotes."""
    body = re.search(rf'#define {name}\(X\)((?:.*\\\n)*.*)\n', source)[1].replace('\\\n', ' ')
    found = []
    for match in re.finditer(r'X\(((?:"[^"]*"|[^")])*)\)', body):
        parts = re.findall(r'((?:\s*"[^"]*")+|[^",\s]+)', match[1])
        found.append([''.join(re.findall(r'"([^"]*)"', p)) if '"' in p else p for p in parts])
    return found


def joined(lines, head):
    """Rows of a table, those of equal first and last cell together: (first, middle, last)."""
    groups = {}
    for first, middle, last in lines:
        groups.setdefault((first, last), []).append(middle)
    return ''.join([head + '|---|---|---|\n'] + [f'| {f} | {", ".join(m)} | {w} |\n' for (f, w), m in groups.items()])


def refused(source):
    names = {trait: name for trait, name, _ in rows(source, 'CLUMPI_TRAITS')}
    calls = dict(rows(source, 'CLUMPI_OPERATIONS'))
    refusals = rows(source, 'CLUMPI_REFUSALS')
    exclusions = rows(source, 'CLUMPI_EXCLUSIONS')
    for what in ([tuple(r[:2]) for r in refusals], [tuple(sorted(e[:2])) for e in exclusions]):
        for cell in what:
            if what.count(cell) > 1:
                raise Wrong(f'{TABLE.name}: {" with ".join(cell)} is there more than once')
    ordered = sorted(refusals, key=lambda r: (list(names).index(r[1]), list(calls).index(r[0])))
    return (joined([(names[one], names[other], why) for one, other, why, _ in exclusions], '| a heap with | cannot have | why |\n') + '\n' +
            joined([(names[trait], calls[operation], why) for operation, trait, _, why, _ in ordered], '| with | refused | why |\n'))


def exists(test, texts):
    """PROGRAM:FUNCTION is in a file of that name, and called or listed there, if it is C."""
    program, _, function = test.partition(':')
    text = texts.get(program, '')
    return bool(function and re.search(rf'^(?:static void|    def) {re.escape(function)}\(', text, re.M) and
                (f'def {function}' in text or len(re.findall(rf'\b{re.escape(function)}\b', text)) > 1))


def works(source, text, texts):
    """The table of works.txt."""
    refusals = {(operation, trait): why for operation, trait, _, why, _ in rows(source, 'CLUMPI_REFUSALS')}
    exclusions = {frozenset((one, other)): why for one, other, why, _ in rows(source, 'CLUMPI_EXCLUSIONS')}
    operations, traits = dict(rows(source, 'CLUMPI_OPERATIONS')), {row[0] for row in rows(source, 'CLUMPI_TRAITS')}
    table, cells, parts = {}, {}, set()
    for line in text.splitlines():
        row = re.fullmatch(r'row (\w+): (.+?) = ([A-Z_ ]*)\|([A-Z_ ]*)', line)
        cell = re.fullmatch(r'(\w+) (\w+) (\S+)( part)?', line)
        if row:
            table[row[1]] = (row[2], row[3].split(), row[4].split())
            unknown = set(row[3].split()) - set(operations) | set(row[4].split()) - traits
        elif cell:
            unknown = {cell[1]} - set(table) | {cell[2]} - set(COLUMNS)
            if (cell[1], cell[2]) in cells:
                raise Wrong(f'{WORKS.name}: {cell[1]} {cell[2]} is there more than once')
            cells[cell[1], cell[2]] = cell[3]
            parts.update({(cell[1], cell[2])} if cell[4] else {})
        elif line and not line.startswith('#'):
            raise Wrong(f'{WORKS.name}: this line is neither a row nor a cell: {line}')
        else:
            continue
        if unknown:
            raise Wrong(f'{WORKS.name}: {", ".join(sorted(unknown))} is not known, in: {line}')
    lines = ['| operation | works with, shown by the test | does not work with |\n', '|---|---|---|\n']
    for key, (name, calls, kinds) in table.items():
        does, does_not = {}, {}
        for column, (words, trait) in COLUMNS.items():
            test = cells.get((key, column))
            whys = [refusals.get((operation, trait)) for operation in calls]
            whys += [exclusions.get(frozenset((kind, trait))) for kind in kinds]
            why = next((w for w in whys if w), None)
            if test == '-':
                continue
            if not test and not why:
                raise Wrong(f'{WORKS.name}: {key} {column} is not refused, and has no test: add the line "{key} {column} PROGRAM:FUNCTION"')
            if test and bool(why) != ((key, column) in parts):
                raise Wrong(f'{WORKS.name}: {key} {column} has a test, and {TABLE.name} ' +
                            ('refuses it: take the line out, or end it in " part"' if why else 'refuses none of it: take " part" out'))
            if test and not exists(test, texts):
                raise Wrong(f'{WORKS.name}: {key} {column} names the test {test}, which does not exist')
            if test:
                does.setdefault(test.partition(':')[0], []).append(words + (' (not all calls)' if (key, column) in parts else ''))
            else:
                does_not.setdefault(why, []).append(words)
        lines.append(f'| {name} | {", ".join(", ".join(w) + f" (`{t}`)" for t, w in does.items())} '
                     f'| {". ".join(", ".join(w) + f": {y}" for y, w in does_not.items())} |\n')
    return ''.join(lines)


def all_tests():
    return {path.stem: path.read_text(encoding='utf-8') for folder in TESTS for kind in ('*.c', '*.py')
            for path in sorted((ROOT / folder).rglob(kind))}


def self_test():
    source, text, texts = TABLE.read_text(encoding='utf-8'), WORKS.read_text(encoding='utf-8'), all_tests()
    works(source, text, texts)
    first = re.search(r'    X\(SAVE, RAW.*?\n(?=    X\()', source, re.S)[0]
    planted = [
        ('a test that does not exist', source, text.replace('diff_bounded:saved', 'diff_bounded:saves')),
        ('a program that does not exist', source, text.replace('diff_bounded:saved', 'diff_bound:saved')),
        ('a test that is not run', source, text.replace('diff_save:geometries', 'diff_save:never_run')),
        ('no test', source, text.replace('save bounded diff_bounded:saved\n', '')),
        ('no function', source, text.replace('diff_bounded:saved', 'diff_bounded')),
        ('a refusal that went', source.replace(first, ''), text),
        ('a test for a refusal', source, text + 'save raw diff_save:geometries\n'),
        ('a part that is all', source, text.replace('save bounded diff_bounded:saved', 'save bounded diff_bounded:saved part')),
        ('a cell twice', source, text + 'save bounded diff_bounded:saved\n'),
        ('an operation that is not known', source, text.replace('= SAVE LOAD', '= SAVE STORE')),
        ('a column that is not known', source, text.replace('save bounded', 'save bound')),
        ('a line that is neither', source, text + 'save bounded\n')]
    texts = {**texts, 'diff_save': texts['diff_save'] + '\nstatic void never_run(void **state) {}\n'}
    for name, of, cells in planted:
        if (of, cells) == (source, text):
            sys.exit(f'not planted: {name}')
        try:
            works(of, cells, texts)
        except Wrong:
            continue
        sys.exit(f'not found: {name}')
    print(f'{len(planted)} planted faults found')
    return 0


def main():
    if sys.argv[1:] == ['--self']:
        return self_test()
    source, text = TABLE.read_text(encoding='utf-8'), PAGE.read_text(encoding='utf-8')
    try:
        made = {'refusals': refused(source), 'works': works(source, WORKS.read_text(encoding='utf-8'), all_tests())}
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    written = text
    for name, table in made.items():
        place = re.compile(rf'(?<=<!-- {name} -->\n).*?(?=<!-- end -->)', re.S)
        if not place.search(text):
            print(f'docs/guide/limits.md has no place for the table <!-- {name} -->', file=sys.stderr)
            return 1
        written = place.sub(lambda _, table=table: table, written, count=1)
    if '--write' in sys.argv:
        PAGE.write_text(written, encoding='utf-8')
    elif written != text:
        print('docs/guide/limits.md is not what host/schema/refusals.h and tests/repo/works.txt say: '
              'run tests/repo/refusals.py --write', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
