#!/usr/bin/env python3
"""The binary interface of include/clump is that of tests/repo/abi.xml: compares the types of all public functions, with the
structs and enumerations that they lead to, by abidiff of abigail-tools.

    abi.py COMPILER [ARGUMENT...]            check; exit status 1 says which functions and types differ, 77: skipped
    abi.py --write COMPILER [ARGUMENT...]    the present interface becomes the recorded one

A library is made of the headers alone: for each function a variable that points to one of its type. So the record has no
type that a user does not see, and depends neither on how the library is built nor on its debug information; exports.py
says whether the library has the functions. New functions and new enumerators at the end of others are no difference.

A record is of one kind of machine, x86-64 with Linux, where the test runs.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from client_calls import ROOT, functions  # noqa: E402

RECORD = ROOT / 'tests/repo/abi.xml'
PREFIX = 'type_of_'
# What is said about no path and no version of a system's library.
AS_TEXT = ('--no-corpus-path', '--no-comp-dir-path', '--no-show-locs', '--no-elf-needed', '--no-parameter-names',
           '--no-write-default-sizes', '--type-id-style', 'hash', '--exported-interfaces-only', '--drop-undefined-syms')


def skip(words):
    print(f'skipped: {words}')
    sys.exit(77)


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'failed ({done.returncode}): {" ".join(map(str, command))}\n{done.stdout}{done.stderr}')


def stable_functions():
    """What clump/experimental.h declares may change at any time."""
    experimental = (ROOT / 'include/clump/experimental.h').read_text()
    return {name for name in functions() if not re.search(rf'\b{name}\(', experimental)}


def write_interface(folder, compiler):
    """The interface of the present headers, as a file of abidw."""
    source = '#include "clump/all.h"\n'
    source += ''.join(f'extern __typeof__({name}) *{PREFIX}{name}; __typeof__({name}) *{PREFIX}{name} = 0;\n'
                      for name in sorted(stable_functions()))
    (folder / 'interface.c').write_text(source)
    run(*compiler, '-g', '-O0', '-fPIC', '-shared', f'-I{ROOT / "include"}', 'interface.c', '-o', 'interface.so', cwd=folder)
    run('abidw', *AS_TEXT, '--out-file', 'interface.xml', 'interface.so', cwd=folder)
    return folder / 'interface.xml'


def main():
    arguments = sys.argv[1:]
    writes = arguments[:1] == ['--write']
    compiler = arguments[writes:]
    if not compiler:
        sys.exit(__doc__)
    if not shutil.which('abidw') or not shutil.which('abidiff'):
        skip('it needs abidw and abidiff (Debian: abigail-tools)')
    if (platform.machine(), platform.system()) != ('x86_64', 'Linux'):
        skip(f'the record is of x86-64 with Linux, not of {platform.machine()} with {platform.system()}')
    with tempfile.TemporaryDirectory() as name:
        interface = write_interface(type(ROOT)(name), compiler)
        if writes:
            RECORD.write_text(re.sub(r'^ +', '', interface.read_text(), flags=re.M))
            print(f'{RECORD.relative_to(ROOT)}: {len(stable_functions())} functions, {os.path.getsize(RECORD)} bytes')
            return 0
        done = subprocess.run(['abidiff', '--no-added-syms', RECORD, interface], capture_output=True, text=True)
    said = (done.stdout + done.stderr).replace(PREFIX, '')
    if done.returncode & 3:
        sys.exit(f'abidiff failed ({done.returncode}): {said}')
    if done.returncode:
        print(f'FAILED: the headers differ from {RECORD.relative_to(ROOT)}. "Variable" below is a function of that name.\n'
              f'{said}\nIf that is meant: tests/repo/abi.py --write {" ".join(compiler)}\n'
              'See "The binary interface" in docs/guide/packages.md.')
        return 1
    print(f'{len(stable_functions())} functions: the binary interface is as recorded')
    return 0


if __name__ == '__main__':
    sys.exit(main())
