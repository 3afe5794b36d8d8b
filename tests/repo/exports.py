#!/usr/bin/env python3
"""The shared library exports the public functions of include/clump, all of them and nothing else, under the version of its
SONAME.

    exports.py LIBRARY

Exit status 1 names each function that differs.
"""
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from client_calls import ROOT, functions  # noqa: E402


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library = sys.argv[1]
    header = (ROOT / 'include/clump/export.h').read_text()
    version = '.'.join(re.search(rf'CLUMP_VERSION_{part} (\d+)', header)[1] for part in ('MAJOR', 'MINOR'))
    node = f'CLUMP_{version}'
    exported, wrong = {}, []
    for line in output('nm', '-D', '--defined-only', '--with-symbol-versions', library).splitlines():
        words = line.split()
        if words[-2] != 'A':  # a version, not a name
            name, _, of = words[-1].partition('@@')
            exported[name] = of
    declared = functions()
    wrong += [f'{name}: declared in include/clump, not exported' for name in sorted(declared - exported.keys())]
    wrong += [f'{name}: exported, not declared in include/clump' for name in sorted(exported.keys() - declared)]
    wrong += [f'{name}: exported with the version "{of}", not {node}' for name, of in sorted(exported.items())
              if name in declared and of != node]
    if f'[libclump_exported.so.{version}]' not in output('readelf', '-d', library):
        wrong.append(f'the SONAME does not end in .so.{version}')
    print('\n'.join(wrong) if wrong else f'{len(exported)} functions, of version {node}')
    return 1 if wrong or len(declared) < 100 else 0


if __name__ == '__main__':
    sys.exit(main())
