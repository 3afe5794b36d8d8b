#!/usr/bin/env python3
"""What was tested where is written once, in docs/portability.md. The table of it in short, after <!-- short -->, is also in README.md
and docs/status.md, where this script writes it.

    tested.py            check; exit status 1: a page has another table
    tested.py --write    write the table into the pages
    tested.py --self     check that planted differences are found
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = 'docs/portability.md'
PAGES = ['README.md', 'docs/status.md']
HEAD = '| device | state |\n|---|---|\n'
ROWS = re.compile(re.escape(HEAD) + r'(?:\|.*\n)+')


def short(text):
    """The table of docs/portability.md."""
    found = re.findall(r'^<!-- short -->\n((?:\|.*\n)+)', text, re.M)
    if len(found) != 1 or not ROWS.fullmatch(found[0]):
        raise ValueError(f'{TABLE} needs one table after <!-- short -->, with the columns device and state')
    if '](' in found[0]:
        raise ValueError(f'{TABLE}: a link in that table would lead elsewhere from another page')
    return found[0]


def check(pages):
    """[complaint] about {path: text}."""
    try:
        table = short(pages[TABLE])
    except ValueError as error:
        return [str(error)]
    return [f'{path} does not have the table of {TABLE}: run tests/repo/tested.py --write'
            for path in PAGES if ROWS.findall(pages[path]) != [table]]


def self_test():
    rows = '| CPU | passed |\n| GPU | never run |\n'
    right = {TABLE: f'# P\n\n<!-- short -->\n{HEAD}{rows}\nMore.\n', 'README.md': f'# R\n\n{HEAD}{rows}\n', 'docs/status.md': f'{HEAD}{rows}'}
    if check(right):
        sys.exit(f'right pages are refused: {check(right)}')
    planted = [(TABLE, 'passed', 'failed'), ('README.md', 'never run', 'passed'), ('docs/status.md', '| GPU | never run |\n', ''),
               ('README.md', HEAD, ''), (TABLE, '<!-- short -->\n', ''), (TABLE, 'passed', '[passed](x.md)')]
    for path, old, new in planted:
        if not check({**right, path: right[path].replace(old, new)}):
            sys.exit(f'not found: {path} with {new!r} instead of {old!r}')
    print(f'{len(planted)} planted differences found')


def main():
    if sys.argv[1:] == ['--self']:
        return self_test()
    pages = {path: (ROOT / path).read_text(encoding='utf-8') for path in [TABLE] + PAGES}
    if sys.argv[1:] == ['--write']:
        table = short(pages[TABLE])
        for path in PAGES:
            (ROOT / path).write_text(ROWS.sub(lambda _: table, pages[path]), encoding='utf-8')
        return None
    bad = check(pages)
    print('\n'.join(bad) or f'{", ".join(PAGES)} have the table of {TABLE}')
    return sys.exit(1 if bad else 0)


main()
