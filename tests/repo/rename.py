#!/usr/bin/env python3
"""scripts/rename_0.1.sh changes a source that was written against the old names as it says, and names the lines that it leaves.

    rename.py FOLDER
"""
import pathlib
import shutil
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'scripts/rename_0.1.sh'

BEFORE = r'''
"CLUMP_MAP_DEFINE(words, Words, Word, uint, uint);\n"
"__kernel void put(CLUMP_HEAP_FIXED, __global Words *w) { words_insert(clump_heap, w[0], hash(3, 4), 1, &e); }\n"
"__kernel void take(CLUMP_HEAP) { if (!A_list_resize(a, 3)) return; clump_free(clump_heap, p); }\n"
clump_refs_register(heap, &desc, &refs);
clump_do_new(heap, "A", f(1,
                          2), k, &made, NULL);
clump_heap_read_field(heap, "A", "x", 0, &x, 1);
clump_heap_read_object_field(heap, refs[clump_heap_fetch(heap, NULL, &r)], "A", "x", 0, q->values);
if (clump_heap_fetch_errors(heap, NULL) == CLUMP_ERR_CAPACITY) clump_heap_fetch_findings(heap, f, n, &n, NULL);
clump_refs_register(heap, 1);
clump_compact(heap, &(clump_compact_desc){.merge = &m}, NULL, NULL);
"CLUMP_VECTOR_DEFINE(trail, Trail, Page, uint); x = *trail_at(clump_heap, v, i) + trail_reserve(clump_heap, v, n);\n"
"CLUMP_GRID_DEFINE(cells, Cells, Body, place); cells_note(clump_heap, clump_numbers, grid);\n"
'''
AFTER = r'''
"CLUMP_MAP_DEFINE(Words, Word, uint, uint);\n"
"__kernel void put(CLUMP_HEAP_NO_ALLOC, __global Words *w) { CLUMP_MAP_INSERT(Words, w[0], hash(3, 4), 1, &e); }\n"
"__kernel void take(CLUMP_HEAP) { if (!A_list_resize(a, 3)) return; clump_free(p); }\n"
clump_refs_create(heap, &desc, &refs, NULL);
clump_heap_do_new(heap, k, "A", f(1,
                          2), &made, NULL);
clump_heap_read_field(heap, "A", "x", 0, sizeof(x), &x, 1, NULL);
clump_heap_read_object_field(heap, "A", "x", 0, refs[clump_heap_bring_back(heap, NULL, &r)], sizeof *q->values, q->values);
if (clump_heap_take_errors(heap, NULL) == CLUMP_ERR_DEVICE_MEMORY) clump_heap_take_findings(heap, f, n, &n, NULL);
clump_refs_create(heap, 1);
clump_heap_compact(heap, &(clump_compact_desc){.merge = &m}, NULL, NULL);
"CLUMP_VECTOR_DEFINE(Trail, Page, uint); x = CLUMP_VECTOR_AT(Trail, v, i) + CLUMP_VECTOR_RESERVE(Trail, v, n);\n"
"CLUMP_GRID_DEFINE(Cells, Body, place); CLUMP_GRID_NOTE(Cells, grid);\n"
'''
# A header that clump.h does not have.
NEEDS = '#include <clump/clump.h>\nclump_halo_create(world, &desc, &halo);\n'
HAS = '#include <clump/clump.h>\n#include <clump/mpi.h>\nclump_halo_create(world, &desc, &halo, NULL);\n'
# Line, and what is said of it.
REPORTS = ((4, 'its result is a status now'), (10, 'CLUMP_ERR_TOO_SMALL'), (10, 'uint64_t'), (11, 'has 2 arguments'), (12, 'clump_compact_desc.merge: not in the library: merging is'),
           (13, 'its result is a status now'))


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = folder / 'source.c'
    source.write_text(BEFORE)
    needs = folder / 'needs.c'
    needs.write_text(NEEDS)
    said = subprocess.run([SCRIPT, folder], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    wrong = [f'line {i}: {have}\n  expected: {want}' for i, (have, want) in
             enumerate(zip(source.read_text().splitlines(), AFTER.splitlines(), strict=True), 1) if have != want]
    texts = source.read_text(), needs.read_text()
    subprocess.run([SCRIPT, folder], stdout=subprocess.DEVNULL, check=True)
    if texts != (source.read_text(), needs.read_text()):
        wrong.append('the second time something is changed')
    wrong += [needs.read_text()] if needs.read_text() != HAS else []
    told = [line for line in said if 'look here' in line]
    wrong += [f'not told of line {line}: {words}' for line, words in REPORTS
              if not any(t.startswith(f'{source}:{line}:') and words in t for t in told)]
    if len(told) != len(REPORTS):
        wrong.append('told: ' + '\n'.join(told))
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
