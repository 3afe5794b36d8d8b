#!/usr/bin/env python3
"""The shared library exports the public functions of include/clump, all of them and nothing else, under the version of its
SONAME. Each takes NULL, and 0, for all its parameters: it returns, and if a pointer, then one to something or NULL. Of OpenCL it links the functions of CLUMP_CL_FUNCTION_LIST and no others, so that a loader of OpenCL 1.2 is enough.

    exports.py LIBRARY
    exports.py DLL OBJDUMP        of Windows, where names have no version; OBJDUMP is binutils' for Windows

Exit status 1 names each function that differs.
"""
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from client_calls import ROOT, functions  # noqa: E402


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compare(exported):
    declared = functions()
    assert len(declared) >= 100
    return [f'{name}: declared in include/clump, not exported' for name in sorted(declared - exported)] + \
        [f'{name}: exported, not declared in include/clump' for name in sorted(exported - declared)]


def check_elf(library):
    header = (ROOT / 'include/clump/export.h').read_text()
    version = '.'.join(re.search(rf'CLUMP_VERSION_{part} (\d+)', header)[1] for part in ('MAJOR', 'MINOR'))
    node, exported = f'CLUMP_{version}', {}
    for line in output('nm', '-D', '--defined-only', '--with-symbol-versions', library).splitlines():
        words = line.split()
        if words[-2] != 'A':  # a version, not a name
            name, _, of = words[-1].partition('@@')
            exported[name] = of
    wrong = compare(set(exported))
    wrong += [f'{name}: exported with the version "{of}", not {node}' for name, of in sorted(exported.items()) if of != node]
    if f'[libclump_exported.so.{version}]' not in output('readelf', '-d', library):
        wrong.append(f'the SONAME does not end in .so.{version}')
    listed = (ROOT / 'include/clump/cl_functions.h').read_text().partition('CLUMP_CL_FUNCTION_LIST(X)')[2].partition('\n\n')[0]
    allowed = {f'cl{name}' for name in re.findall(r'X\((\w+),', listed)}
    assert len(allowed) >= 40
    linked = set(re.findall(r' U (cl[A-Z]\w*)', output('nm', '-D', '--undefined-only', library)))
    wrong += call_with_nothing(library, exported)
    wrong += [f'{name}: linked, not in CLUMP_CL_FUNCTION_LIST' for name in sorted(linked - allowed)]
    return exported, wrong


CALLS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in sys.argv[2:]:
    print(name, flush=True)
    function = getattr(library, name)
    function.restype = ctypes.c_uint64
    print(function(*[ctypes.c_void_p(0)] * 14), flush=True)
"""


def call_with_nothing(library, names):
    """Some with more arguments than they have, which does nothing where arguments are passed in registers and by the caller."""
    pointers = {name for header in (ROOT / 'include/clump').glob('*.h')
                for name in re.findall(r'^CLUMP_API [\w ]+\*(\w+)\(', header.read_text(), re.M)}
    rest, wrong = sorted(names), []
    while rest:
        child = subprocess.run([sys.executable, '-c', CALLS, library] + rest, capture_output=True, text=True)
        words = child.stdout.split()
        wrong += [f'{name}(NULL, ...) returns {result}' for name, result in zip(words[::2], words[1::2])
                  if name in pointers and 0 < int(result) < 65536]
        if child.returncode == 0:
            break
        wrong.append(f'{words[-1]}(NULL, ...) ends the process: {child.returncode}')
        rest = rest[rest.index(words[-1]) + 1:]
    return wrong


def check_dll(library, objdump):
    table = output(objdump, '-p', library).partition('[Ordinal/Name Pointer] Table')[2].partition('\n\n')[0]
    exported = set(re.findall(r'^\s*\[.*\](?: \+base\[.*\])?(?:\s+[0-9a-f]+)? +(\w+)$', table, re.M))
    return exported, compare(exported)


def main():
    exported, wrong = check_dll(*sys.argv[1:3]) if len(sys.argv) == 3 else check_elf(sys.argv[1])
    print('\n'.join(wrong) if wrong else f'{len(exported)} functions, as the headers declare them')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
