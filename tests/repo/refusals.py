#!/usr/bin/env python3
"""docs/guide/limits.md, between <!-- refusals --> and <!-- end -->, has the table of host/schema/refusals.h.

    refusals.py            check; exit status 1: it has another one, or the table in the code is wrong
    refusals.py --write    write it into the page
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / 'host/schema/refusals.h'
PAGE = ROOT / 'docs/guide/limits.md'
PLACE = re.compile(r'(?<=<!-- refusals -->\n).*?(?=<!-- end -->)', re.S)


def rows(source, name):
    """The arguments of each X(...) of the list `name`, strings without quotes."""
    body = re.search(rf'#define {name}\(X\)((?:.*\\\n)*.*)\n', source)[1].replace('\\\n', ' ')
    found = []
    for match in re.finditer(r'X\(((?:"[^"]*"|[^")])*)\)', body):
        parts = re.findall(r'((?:\s*"[^"]*")+|[^",\s]+)', match[1])
        found.append([''.join(re.findall(r'"([^"]*)"', p)) if '"' in p else p for p in parts])
    return found


def page(source):
    traits = rows(source, 'CLUMPI_TRAITS')
    names = {trait: name for trait, name, _ in traits}
    calls = dict(rows(source, 'CLUMPI_OPERATIONS'))
    refusals = [(operation, trait) for operation, trait, *_ in rows(source, 'CLUMPI_REFUSALS')]
    exclusions = [{one, other} for one, other, _ in rows(source, 'CLUMPI_EXCLUSIONS')]
    for what in (refusals, [tuple(sorted(pair)) for pair in exclusions]):
        for cell in what:
            if what.count(cell) > 1:
                sys.exit(f'{TABLE.name}: {" with ".join(cell)} is there more than once')
    lines = ['| with | cannot be made together with | refused |', '|---|---|---|']
    for trait, name, _ in traits:
        others = [names[o] for o in names if o != trait and {trait, o} in exclusions]
        refused = [calls[o] for o in calls if (o, trait) in refusals]
        if others or refused:
            lines.append(f'| {name} | {", ".join(others)} | {", ".join(refused)} |')
    return '\n'.join(lines + [''])


def main():
    made, text = page(TABLE.read_text()), PAGE.read_text()
    there = PLACE.search(text)
    if not there:
        print('docs/guide/limits.md has no place for the table of refusals', file=sys.stderr)
        return 1
    if '--write' in sys.argv:
        PAGE.write_text(PLACE.sub(lambda _: made, text, count=1))
    elif there[0] != made:
        print('docs/guide/limits.md is not what host/schema/refusals.h says: run tests/repo/refusals.py --write',
              file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
