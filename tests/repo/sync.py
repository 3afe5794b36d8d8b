#!/usr/bin/env python3
"""Whether a public call waits is written in its header, and one that may return without having waited takes a `sync`, last of
all. tests/diff/queues/diff_sync.c tries each such call on a device, and of those that take none and do not block that they
enqueue nothing.

    sync.py          check; exit status 1 names each function that is otherwise
    sync.py --self   check that planted faults are found
    sync.py --list   what each call is
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of these a call can have commands for the device, if it may change them.
OBJECTS = r'(?<!const )clump_(?:heap|context|pool|program|compactor|collector|refs|extract|world|halo|migration)(?:_desc)? \*'
# Tried by tests/mpi/mpi_world.c, with several ranks, and by tests/diff/save/diff_copy.c, with several contexts.
ELSEWHERE = {'clump_halo_end', 'clump_heap_copy'}


class Call:
    def __init__(self, name, declaration, comment):
        parameters = ' '.join(declaration.partition('(')[2].rpartition(')')[0].split()).split(', ')
        words = re.sub(r'\s*\n \* ?', ' ', comment)
        blocks = re.search(r'Blocks: ([^.;]*)', words)
        self.name, self.blocks = name, blocks and blocks[1]
        self.has_sync = 'clump_sync' in declaration
        self.is_last = parameters[-1] == 'const clump_sync *sync'
        self.is_told = re.search(r'^ \*   sync +\[in, optional\]', comment, re.M) or 'The same' in comment
        self.must_tell = 'clump_status' in declaration and re.search(OBJECTS, declaration)
        self.waits = bool(blocks) and re.match(r'yes|until', blocks[1]) is not None and not self.has_sync


def calls(texts):
    found = []
    for text in texts:
        for comment, declarations in re.findall(r'(/\*(?:[^*]|\*(?!/))*\*/)\s*((?:CLUMP_API[^;]*;\s*)+)', text):
            for declaration in re.findall(r'CLUMP_API[^;]*;', declarations):
                found.append(Call(re.search(r'(clump_\w+)\(', declaration)[1], declaration, comment))
    return found


def check(headers, tested):
    table = set(re.findall(r'\{"(clump_\w+)", \w+, (?:ENQUEUES|WAITS),', tested)) | ELSEWHERE
    quiet = set(re.findall(r'QUIET(?:_AS)?\(\s*(clump_\w+)\(', tested)) | set(re.findall(r'quiet\(.*?"(clump_\w+)"\);', tested, re.S)) | ELSEWHERE
    wrong = []
    for call in calls(headers):
        if call.must_tell and not call.blocks:
            wrong.append(f'{call.name}: its comment does not say whether it blocks ("Blocks: ")')
        if call.has_sync and not call.is_last:
            wrong.append(f'{call.name}: `const clump_sync *sync` is not its last parameter')
        if call.has_sync and not call.is_told:
            wrong.append(f'{call.name}: its comment does not have "sync  [in, optional]"')
        if call.has_sync and call.name not in table:
            wrong.append(f'{call.name}: has a sync, and diff_sync.c does not try it')
        if call.must_tell and call.blocks and not call.waits and not call.has_sync and call.name not in quiet:
            wrong.append(f'{call.name}: blocks: {call.blocks}; it needs a sync, or diff_sync.c shows that it enqueues nothing')
    return wrong


def main():
    headers = [path.read_text() for path in sorted(ROOT.glob('include/clump/*.h'))]
    tested = (ROOT / 'tests/diff/queues/diff_sync.c').read_text()
    if sys.argv[1:] == ['--list']:
        for call in sorted(calls(headers), key=lambda call: call.name):
            if call.blocks:
                print(f'{call.name}: {"sync" if call.has_sync else "waits" if call.waits else "enqueues nothing"} ({call.blocks})')
        return 0
    if sys.argv[1:] == ['--self']:
        faults = (('/* METHOD. It. Blocks: no. */\nCLUMP_API clump_status clump_heap_x(clump_heap *heap);', 'needs a sync'),
                  ('/* METHOD. It. */\nCLUMP_API clump_status clump_heap_x(clump_heap *heap);', 'does not say'),
                  ('/* METHOD.\n *   sync  [in, optional]\n * Blocks: no. */\nCLUMP_API clump_status clump_heap_x(clump_heap *heap, const clump_sync *sync,\n int);', 'last'),
                  ('/* METHOD. Blocks: no. */\nCLUMP_API clump_status clump_heap_x(clump_heap *heap, const clump_sync *sync);', 'does not have'),
                  ('/* METHOD.\n *   sync  [in, optional]\n * Blocks: no. */\nCLUMP_API clump_status clump_heap_x(clump_heap *heap, const clump_sync *sync);', 'does not try'))
        missed = [words for text, words in faults if not any(words in line and 'clump_heap_x' in line for line in check(headers + [text], tested))]
        print(f'not found: {missed}' if missed else f'{len(faults)} planted faults found')
        return 1 if missed else 0
    wrong, all_calls = check(headers, tested), calls(headers)
    print('\n'.join(wrong) if wrong else f'{sum(c.has_sync for c in all_calls)} calls with a sync, {sum(c.waits for c in all_calls)} that wait')
    return 1 if wrong else 0


sys.exit(main())
