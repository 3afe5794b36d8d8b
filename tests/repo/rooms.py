#!/usr/bin/env python3
"""The parts of the library use each other only as they may: reads the #includes of host/, cl/ and
include/clump/, and compares them with PARTS; and headers that a part keeps to itself are included by no other.

    rooms.py             check; exit status 1 names each include that is not allowed
    rooms.py --graph     print the graph that docs/design.md shows

The graph in docs/design.md, between <!-- rooms --> and <!-- end -->, must be the one that is printed.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A part: what it may use besides itself. A part that may use another may use what that one uses.
PARTS = {
    'core': [],
    'schema': ['core'],
    'heap': ['schema'],
    'fuse': ['heap'],
    'sort': ['heap'],
    'compact': ['heap', 'sort'],
    'collect': ['compact'],
    'save': ['heap', 'compact'],
    'extract': ['collect', 'save'],
    'convert': ['heap'],
    'suballoc': ['core'],
    'pool': ['suballoc'],
    'mpi': ['extract'],
}
# The headers that users include, by the part that they are of. clump.h has those of a first program, all.h all.
PUBLIC = {
    'core': 'allocator cl_functions context devices experimental export status timeline write',
    'schema': 'schema schema_c',
    'heap': 'checked copy evict heap inspect interop kernels program refs run structs',
    'fuse': 'fuse',
    'compact': 'compact compactor',
    'collect': 'collect collector',
    'save': 'save',
    'extract': 'extract',
    'convert': 'convert',
    'suballoc': 'suballoc',
    'pool': 'pool defrag',
    'mpi': 'mpi',
    'quick': 'quick',
}
# Parts without a host side: what their headers may use.
HEADERS_ONLY = {'quick': ['heap', 'pool']}
# Kernels: cl/api is what programs of users get; it has no host side.
CL_PARTS = {
    'core': [], 'heap': ['core'], 'sort': ['core'], 'compact': ['core'],
    'collect': ['compact'], 'extract': ['collect'], 'convert': ['core'],
    'save': ['core'], 'api': ['core'], 'mpi': ['core'],
}
# Of the kernels' side the host knows what both share: the layout of each part that it may use, and checksums.
SHARED = re.compile(r'^cl/(\w+)/(?:layout|hash)\.h$')
# The scratch of compaction lies in the heap's buffer, so the file that lays this out knows how large it is.
LAYOUTS = {('host/heap/geometry.c', 'cl/compact/layout.h')}
# What a part keeps to itself: the struct of a heap. Others use what heap/access.h names.
PRIVATE = {'heap/heap.h': 'heap'}
# Tests of the part look into it, and these of others.
LOOKS_INSIDE = {
    'tests/diff/convert/diff_convert.c': 'the number of a buffer in its pool',
    'tests/diff/save/diff_save_schema.c': 'writes blocks',
    'tests/protocol/lanes/emit.c': 'a geometry without a heap',
    'tests/support/cl_fixture.c': 'a geometry without a heap, and writes blocks',
}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def closure(parts, part):
    found, todo = set(), [part]
    while todo:
        p = todo.pop()
        if p not in found:
            found.add(p)
            todo += parts[p]
    return found


def part_of(path):
    """The part that a path below host/ or cl/ is of, or None."""
    folders = path.split('/')[:-1]
    return folders[-1] if folders else None


def public_part(name):
    return next((p for p, names in PUBLIC.items() if name in names.split()), None)


def edges(folder):
    """(file, line's include, from part, to part) of all quoted includes."""
    for file in sorted((ROOT / folder).rglob('*')):
        if file.suffix not in ('.c', '.h', '.cl', '.clh'):
            continue
        name = file.relative_to(ROOT / folder).as_posix()
        for included in INCLUDE.findall(file.read_text()):
            if included.startswith('clump/'):
                to = public_part(included[6:-2])
            elif included.startswith('cl/'):
                shared = SHARED.match(included)
                to = part_of(included[3:]) if folder == 'cl' else shared and shared.group(1)
            else:
                to = part_of(included)
            if (f'{folder}/{name}', included) not in LAYOUTS:
                yield f'{folder}/{name}', included, part_of(name), to


def check(folder, parts):
    problems = []
    for file, included, of, to in edges(folder):
        if of not in parts:
            problems.append(f'{file}: is of no part; the parts are {", ".join(parts)}')
        elif to not in parts:
            problems.append(f'{file}: includes {included}, which is of no part that it may know')
        elif to not in closure(parts, of):
            problems.append(f'{file}: {of} includes {included}, which is of {to}; it may use '
                            f'{", ".join(sorted(closure(parts, of) - {of})) or "no other part"}')
    return problems


def check_private():
    problems, inside = [], set()
    for path in sorted(p for folder in ('host', 'tests', 'bench', 'tools') for p in (ROOT / folder).rglob('*.[ch]')):
        file = path.relative_to(ROOT).as_posix()
        for included in INCLUDE.findall(path.read_text()):
            if included in PRIVATE and PRIVATE[included] != part_of(file):
                inside.add(file)
                if file not in LOOKS_INSIDE:
                    problems.append(f'{file}: includes {included}, which is private to {PRIVATE[included]}')
    problems += [f'{file}: no longer looks inside; take it out of tests/repo/rooms.py'
                 for file in LOOKS_INSIDE if file not in inside]
    return problems


def check_public():
    problems = []
    for header in sorted((ROOT / 'include' / 'clump').glob('*.h')):
        of = public_part(header.stem)
        if header.stem in ('clump', 'all'):
            continue
        if not of:
            problems.append(f'include/clump/{header.name}: of no part; name it in tests/repo/rooms.py')
            continue
        for included in INCLUDE.findall(header.read_text()):
            to = public_part(included[6:-2])
            if to not in closure({**PARTS, **HEADERS_ONLY}, of):
                problems.append(f'include/clump/{header.name}: of {of}, includes {included}')
    return problems


def graph():
    used = {}
    for _, _, of, to in edges('host'):
        if of != to and to in PARTS:
            used.setdefault(of, set()).add(to)
    lines = ['```text']
    for part in PARTS:
        to = [p for p in PARTS if p in used.get(part, ())]
        lines.append(f'{part:<9}' + (f'uses {", ".join(to)}' if to else 'uses no other part'))
    return '\n'.join(lines + ['```'])


def main():
    if '--graph' in sys.argv[1:]:
        print(graph())
        return 0
    problems = check('host', PARTS) + check('cl', CL_PARTS) + check_private() + check_public()
    design = (ROOT / 'docs' / 'design.md').read_text()
    shown = re.search(r'<!-- rooms -->\n(.*?)\n<!-- end -->', design, re.S)
    if not shown or shown.group(1) != graph():
        problems.append('docs/design.md: the graph of the parts is not what `tests/repo/rooms.py --graph` prints')
    for problem in problems:
        print('FAILED:', problem)
    if not problems:
        print('all includes are allowed')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
