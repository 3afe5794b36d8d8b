#!/usr/bin/env python3
"""What was tested where is written once, in docs/portability.md between <!-- devices --> and <!-- /devices -->. Pages that say it
in short have rows of that table between <!-- tested --> and <!-- /tested -->.

    tested.py            check; exit status 1: a page has other rows, or the table is not as it must be
    tested.py --write    write the rows into the pages
    tested.py --self     check that planted differences are found
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = 'docs/portability.md'
COLUMNS = ['device', 'driver', 'result', 'commit', 'date', 'not run']
SHORT = ['device', 'driver', 'result', 'date']


def between(text, name):
    """The pieces of text between the markers of that name."""
    begins, ends = (len(re.findall(rf'^<!-- {mark}{name} -->$', text, re.M)) for mark in ('', '/'))
    pieces = re.findall(rf'^<!-- {name} -->\n(.*?)^<!-- /{name} -->$', text, re.M | re.S)
    if not begins == ends == len(pieces):
        raise ValueError(f'{begins} markers <!-- {name} -->, {ends} markers <!-- /{name} -->')
    return pieces


def short_rows(text):
    """The rows for other pages, of the text of the page with the table."""
    tables = between(text, 'devices')
    if len(tables) != 1:
        raise ValueError(f'{len(tables)} tables of devices')
    rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in tables[0].splitlines()]
    if rows[0] != COLUMNS or len(rows) < 3:
        raise ValueError(f'the table of devices must have rows, and the columns {", ".join(COLUMNS)}')
    for row in rows[2:]:
        if len(row) != len(COLUMNS) or not all(row[:3]):
            raise ValueError(f'the row of {row[0]} must have {len(COLUMNS)} cells, the first three not empty')
        if '](' in ''.join(row[COLUMNS.index(name)] for name in SHORT):
            raise ValueError(f'the row of {row[0]} has a link: it would lead elsewhere from another page')
    rows[1] = ['---'] * len(COLUMNS)
    lines = ['| ' + ' | '.join(row[COLUMNS.index(name)] for name in SHORT) + ' |' for row in rows]
    lines[1] = '|' + '---|' * len(SHORT)
    return '\n'.join(lines) + '\n'


def renewed(text, rows):
    """The page with these rows in each of its places."""
    between(text, 'tested')
    return re.sub(r'(?<=^<!-- tested -->\n).*?(?=^<!-- /tested -->$)', lambda _: rows, text, flags=re.M | re.S)


def check(pages):
    """[complaint] about {path: text}."""
    bad = []
    try:
        rows = short_rows(pages[TABLE])
    except ValueError as error:
        return [f'{TABLE}: {error}']
    for path in sorted(pages):
        try:
            if renewed(pages[path], rows) != pages[path]:
                bad.append(f'{path} has other rows than {TABLE}: run tests/repo/tested.py --write')
        except ValueError as error:
            bad.append(f'{path}: {error}')
    return bad


def self_test():
    table = '\n'.join(['<!-- devices -->', '| ' + ' | '.join(COLUMNS) + ' |', '|' + '---|' * len(COLUMNS),
                       '| CPU | PoCL | passed | abc | today | |', '| GPU | none | never run | | | all |', '<!-- /devices -->', ''])
    page = ('# A page\n\n<!-- tested -->\n| device | driver | result | date |\n|---|---|---|---|\n| CPU | PoCL | passed | today |\n'
            '| GPU | none | never run |  |\n<!-- /tested -->\n\nMore.\n')
    if check({TABLE: table, 'README.md': page}):
        sys.exit(f'right pages are refused: {check({TABLE: table, "README.md": page})}')
    planted = {
        'another result': (table.replace('passed', 'failed'), page),
        'another row in the page': (table, page.replace('never run', 'passed')),
        'a row more in the page': (table, page.replace('<!-- /tested', '| NPU | x | passed | |\n<!-- /tested')),
        'a row less in the page': (table, page.replace('| CPU | PoCL | passed | today |\n', '')),
        'a device more': (table.replace('| GPU', '| NPU | x | passed | | | |\n| GPU'), page),
        'a place without an end': (table, page.replace('<!-- /tested -->', '')),
        'no table': ('', page),
        'a column less': (table.replace(' | date |', ' |'), page),
        'no result': (table.replace('passed', ''), page),
        'a cell more': (table.replace('abc', 'abc | def'), page),
        'a link in a short row': (table.replace('passed', '[passed](x.md)'), page.replace('passed', '[passed](x.md)')),
    }
    for name, (one, other) in planted.items():
        if not check({TABLE: one, 'README.md': other}):
            sys.exit(f'not found: {name}')
    rows = short_rows(planted['a device more'][0])
    if check({TABLE: planted['a device more'][0], 'README.md': renewed(page, rows)}):
        sys.exit('what --write writes is refused')
    print(f'{len(planted)} planted differences are found')
    return 0


def main():
    if '--self' in sys.argv:
        return self_test()
    pages = {path: (ROOT / path).read_text() for path in
             ['README.md', *(str(page.relative_to(ROOT)) for page in (ROOT / 'docs').rglob('*.md'))]}
    if '--write' in sys.argv:
        try:
            rows = short_rows(pages[TABLE])
            for path, text in pages.items():
                if renewed(text, rows) != text:
                    (ROOT / path).write_text(renewed(text, rows))
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    bad = check(pages)
    print('\n'.join(bad), end='\n' if bad else '', file=sys.stderr)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
