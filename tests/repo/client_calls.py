#!/usr/bin/env python3
"""Every public function is called by the random client (tests/fuzz/client), or is listed here with a reason.

    client_calls.py          check; exit status 1 names each function that is neither, or both
    client_calls.py --self   check that a function nobody calls, and one listed without need, are found
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Of cl_fixture.c the client uses what opens and closes a context, makes programs and kernels.
CALLERS = ('tests/fuzz/client/*.c', 'tests/support/cl_fixture.c')

# Function or PREFIX*: why the client does not call it.
ELSEWHERE = {
    'clump_suballoc_*': 'takes no part in a heap; every sequence of calls is for fuzz_suballoc and diff_suballoc, and '
                        'pools have suballocators inside',
    'clump_heap_write_table': 'a table of what clump_heap_read_structs() reads: diff_structs, fault_host',
    'clump_write_to_path': 'writes a file: fault_input, fault_pool',
    'clump_schema_emit_c': 'a text: test_emit_c, clump-schema',
    'clump_schema_parse_file': 'reads a file and then parses it: test_schema',
    'clump_cl_code_name': 'a static text: fault_quick',
    'clump_heap_set_kernel': 'all launches of the client call it within the library; diff_buffers does by itself',
    'clump_kernel_create_fused': 'compiles a program: diff_fused makes random ones, fault_fused and fault_host the others',
    'clump_extract_load': 'what clump_heap_save() wrote and clump_heap_insert() takes, which the client calls: diff_extract, fault_extract, fault_extract_host',
    'clump_pool_set_queues': 'which queues are waited for is seen with user events: diff_pool_buffer; layer',
    'clump_context_add_to_timeline': 'commands of the program itself, of which the client has none: diff_timeline, mpi_world',
    'clump_version': 'a static text: fault_input',
}


def without_comments(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', ' ', text, flags=re.S)


def functions():
    found = set()
    for path in sorted(ROOT.glob('include/clump/*.h')):
        if path.name == 'mpi.h':  # of a library of its own: tests/mpi/
            continue
        text = without_comments(path.read_text())
        found.update(re.findall(r'CLUMP_API\b[^;(]*?\b(clump_\w+)\s*\(', text))
    return found


def calls():
    text = ' '.join(without_comments(p.read_text()) for pattern in CALLERS for p in sorted(ROOT.glob(pattern)))
    return set(re.findall(r'\b(clump_\w+)\s*\(', text))


def is_listed(name, listed):
    return any(name == entry or (entry.endswith('*') and name.startswith(entry[:-1])) for entry in listed)


def findings(declared, called, listed):
    for name in sorted(declared - called):
        if not is_listed(name, listed):
            yield f'{name}: no operation of tests/fuzz/client calls it; write one, or list it with a reason'
    for entry in sorted(listed):
        if not any(is_listed(name, [entry]) for name in declared):
            yield f'{entry}: listed, and no public function'
        if any(is_listed(name, [entry]) for name in declared & called):
            yield f'{entry}: listed, and called'


def check_itself():
    listed = {'clump_a': '', 'clump_b_*': ''}
    assert not list(findings({'clump_a', 'clump_b_x', 'clump_c'}, {'clump_c'}, listed))
    assert len(list(findings({'clump_a', 'clump_b_x', 'clump_c'}, set(), listed))) == 1
    assert len(list(findings({'clump_a', 'clump_b_x'}, {'clump_b_x'}, listed))) == 1
    assert len(list(findings({'clump_b_x'}, set(), listed))) == 1


def main():
    check_itself()
    if sys.argv[1:] == ['--self']:
        return 0
    declared = functions()
    wrong = list(findings(declared, calls(), ELSEWHERE))
    print('\n'.join(wrong))
    listed = sum(is_listed(name, ELSEWHERE) for name in declared)
    print(f'{len(declared)} public functions: {len(declared) - listed} called, {listed} listed')
    return 1 if wrong or len(declared) < 100 else 0


if __name__ == '__main__':
    sys.exit(main())
