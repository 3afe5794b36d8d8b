#!/usr/bin/env python3
"""clump-inspect: what it prints of dumps and saved heaps, what it refuses, and the page that it writes.

    inspect_tool.py TOOL DIFF_DUMP

DIFF_DUMP is the program of tests/diff/heap/diff_dump.c, which makes real dumps and a saved heap. Exit status 77: it found no device;
everything else was checked then. The page is checked as a text; inspect_page.py opens it in a browser.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
from sample_dumps import CLASS, DUMP, NOTHING, RAW, colour_faults, later, many, write  # noqa: E402

TOOL, DIFF_DUMP = sys.argv[1:3]
failures = []

TABLES = '''{path}: a dump
  65536 bytes, of these 16384 metadata
  12 blocks of 4096 bytes: 8 free, 1 of raw memory, 1 damaged
  129 objects in 256 slots, F 0.4961
  1024 bytes of raw memory

  id  class               bytes      objects        slots    blocks    active       F
   1  Body                    8          129          256         2         1  0.4961
   2  Nothing</script>        0            0            0         0         0  0.0000  (abstract)
   5  (raw memory)           64           16           64         1         1  0.7500

blocks by fill, up to
  id  class                10%     20%     30%     40%     50%     60%     70%     80%     90%    100%
   1  Body                   1       0       0       0       0       0       0       0       0       1
   5  (raw memory)           0       0       1       0       0       0       0       0       0       0

     objects          bytes  class             made by
         100            800  Body              kernel make, a.cl:7
          29            232  Body              kernel ?, ?
'''

DIFFERENCE = '''{a} -> {b}
  objects 129 -> 160 (+31)
  free blocks 8 -> 8 (+0), F 0.4961 -> 0.3750

class               bytes      objects         then       change    blocks      then    change       F    then
Body                    8          129          160          +31         2         2        +0  0.4961  0.3750
Nothing</script>        0            0            0           +0         0         0        +0  0.0000  0.0000
(raw memory)           64           16            0          -16         1         0        -1  0.7500  0.0000
Late                   16            0            4           +4         0         1        +1  0.0000  0.9375

Of 12 blocks 1 changed their class, 1 are fuller, 0 are emptier.

     objects         then       change          bytes  class             made by
         100          127          +27           +216  Body              kernel make, a.cl:7
           0            4           +4            +64  Late              kernel split, a.cl:9
          29            0          -29           -232  Body              kernel ?, ?
'''


def expect(status, words, *arguments, exact=False):
    """Run the tool; the status, and the words in what it says, or all that it says."""
    done = subprocess.run([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    good = done.returncode == status and (done.stdout == words if exact else words in done.stdout)
    if not good:
        failures.append(f'clump-inspect {" ".join(map(str, arguments))}: status {done.returncode}, expected {status} and\n{words}\n'
                        f'it says\n{done.stdout}')
    return done.stdout


def expect_any(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def check_refused(folder):
    """Files that are no dump: each with words, status 1, and nothing on standard output."""
    def with_class(**more):
        return {**DUMP, 'classes': [{**CLASS, **more}, NOTHING, RAW]}
    wrong = folder / 'wrong.json'
    for words, dump in [
            ('not valid JSON near line 2, column ', '{\n  x'),
            ('not valid JSON near line 1, column ', json.dumps(DUMP)[:-1]),
            ('not valid JSON near line 1, column ', json.dumps(DUMP) + ' {}'),
            ('not valid JSON near line 1, column ', json.dumps(DUMP) + '\0{}'),
            ('"format" is not a text', {}),
            ('its format is "clump pool 1", not "clump heap 1"', {**DUMP, 'format': 'clump pool 1'}),
            ('"blocks" is not a whole number', {**DUMP, 'blocks': 1.5}),
            ('"blocks" is not a whole number', {**DUMP, 'blocks': 1e300}),
            ('"objects" is not a whole number', {**DUMP, 'objects': -1}),
            ('"fragmentation" is not a number from 0 to 1', {**DUMP, 'fragmentation': 1.5}),
            ('"classes" is not an array', {**DUMP, 'classes': 3}),
            ('"id" is not a whole number from 0 to 254', with_class(id=255)),
            ('class "Body" has the id 0', with_class(id=0)),
            ('class "Nothing</script>" has the id 2, but the ids must rise', with_class(id=2)),
            ('"capacity" is not a whole number from 0 to 4096', with_class(capacity=4097)),
            ('"name" is not a text', with_class(name=None)),
            ('"fill" of class "Body" has 9 numbers, not 10', with_class(fill=[0] * 9)),
            ('"fill" of class "Body" is not a histogram', with_class(fill=[0] * 9 + ['x'])),
            ('"line" is not a whole number', {**DUMP, 'live': [{**DUMP['live'][0], 'line': 'x'}]}),
            ('it has 12 blocks, but classes of 11, and fills of 12', {**DUMP, 'block_class': DUMP['block_class'][1:]}),
            ('the numbers of block 5 are not possible', {**DUMP, 'block_class': [1, 9] + DUMP['block_class'][2:]}),
            ('the numbers of block 4 are not possible', {**DUMP, 'block_used': [129] + DUMP['block_used'][1:]}),
            ('the numbers of block 5 are not possible', {**DUMP, 'block_used': [128, 1] + DUMP['block_used'][2:]}),
            ('the numbers of block 7 are not possible', {**DUMP, 'block_used': [0, 0, 0, 1] + DUMP['block_used'][4:]}),
            ('neither a dump nor a saved heap', 'some text'),
            ('neither a dump nor a saved heap', '')]:
        expect(1, f'clump-inspect: {wrong}: ', write(wrong, dump))
        expect(1, words, wrong)
    expect(1, 'cannot be opened', folder / 'none')
    expect(1, 'cannot be written', '--html', folder / 'none' / 'page.html', write(folder / 'a.json', DUMP))
    for arguments in [[], ['diff'], ['diff', 'a'], ['diff', 'a', 'b', 'c'], ['--html'], ['--html', 'a'], ['--png', 'a'], ['--wrong'], ['a', '--html', 'b']]:
        expect(2, 'usage: clump-inspect FILE...', *arguments)


def check_text(folder):
    a, b = write(folder / 'a.json', DUMP), write(folder / 'b.json', later())
    expect(0, TABLES.replace('{path}', str(a)), a, exact=True)
    expect(0, f'\n\n{b}: a dump\n', a, b)
    expect(0, DIFFERENCE.replace('{a}', str(a)).replace('{b}', str(b)), 'diff', a, b, exact=True)
    empty = {**DUMP, 'objects': 0, 'live': []}  # of a checked heap before anything was made: all places are new
    expect(0, '           0          100         +100           +800  Body              kernel make, a.cl:7\n', 'diff', write(folder / 'e.json', empty), a)
    expect(0, '         100            0         -100           -800  Body              kernel make, a.cl:7\n', 'diff', a, folder / 'e.json')
    unchecked = {key: value for key, value in DUMP.items() if key != 'live'}  # it does not tell places: nothing is known of them
    if 'made by' in expect(0, 'objects 129 -> 129', 'diff', write(folder / 'u.json', unchecked), a):
        failures.append('places are compared with a heap that does not tell them')
    expect(0, 'single blocks are not compared', 'diff', a, write(folder / 'c.json', {**DUMP, 'first_block': 5}))
    expect(0, 'usage: clump-inspect FILE...', '--help')
    page = folder / 'page.html'
    expect(0, '', '--html', page, a, b, exact=True)
    text = page.read_text()
    script = re.search(r'<script type="application/json" id="dumps">(.*?)</script>', text, re.S)
    inside = json.loads(script[1])
    if inside != [{'name': str(a), 'dump': DUMP}, {'name': str(b), 'dump': later()}]:
        failures.append('the page does not have the dumps')
    if re.search(r'\b(src|href)=|https?:|@import', text):
        failures.append('the page needs something from outside')


def pixels(path, columns, lines):
    """The first lines, of so many columns, of (red, green, blue) of a PNG of 8 bits without interlace, read by its published description."""
    data, at, packed = path.read_bytes(), 8, b''
    assert data[:8] == b'\x89PNG\r\n\x1a\n'
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        content = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + content) == struct.unpack('>I', data[at + 8 + size:at + 12 + size])[0]
        if kind == b'IHDR':
            width, height, bits, colour, _, _, interlaced = struct.unpack('>IIBBBBB', content)
            assert (bits, colour, interlaced) == (8, 2, 0)
        packed += content if kind == b'IDAT' else b''
        at += 12 + size
    raw, stride, used, above, rows = zlib.decompress(packed), 3 * width, 3 * columns, bytes(3 * width), []
    assert len(raw) == height * (stride + 1) and columns <= width and lines <= height
    for y in range(lines):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:y * (stride + 1) + 1 + used])
        for x in range(used):
            left, up = line[x - 3] if x >= 3 else 0, above[x]
            corner = above[x - 3] if x >= 3 else 0
            nearest = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            line[x] = (line[x] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        above = bytes(line)
        rows.append([tuple(line[x:x + 3]) for x in range(0, used, 3)])
    return rows


def check_picture(folder):
    """Each block in its place with its colour, in both dumps; what the page draws has the same ones."""
    a, b = write(folder / 'a.json', DUMP), write(folder / 'b.json', later())
    path = folder / 'picture.png'
    if 'built without libgd' in expect_any('--png', path, a, b):
        print('without libgd: no pictures were drawn')
        return
    expect(0, '', '--png', path, a, b, exact=True)
    expect(1, 'cannot be written', '--png', folder / 'none' / 'picture.png', a)
    rows = pixels(path, 330, 240)
    left, top, cell = 12, 12 + 2 * 17, 24
    of_dump = 2 * 17 + cell + 12 + 5 * 17 + 24  # two lines, a row of blocks, five lines of legend, and what is between them
    free, edge, red, white = (244, 244, 244), (196, 196, 196), (224, 0, 0), (255, 255, 255)
    seen = []
    for which, dump in enumerate((DUMP, later())):
        line = rows[top + which * of_dump + 5]
        seen += [line[left + block * cell + 5] for block in range(13)]
        for block, id_ in enumerate(dump['block_class']):
            if (seen[13 * which + block] == red) != (id_ is None) or (seen[13 * which + block] == free) != (id_ == 0):
                failures.append(f'picture: dump {which}, block {block} is {seen[13 * which + block]}')
        edges = [rows[top + which * of_dump][left + block * cell + 5] == edge for block in range(12)]
        if edges != [id_ == 0 for id_ in dump['block_class']]:
            failures.append(f'picture: dump {which}: not each free block, and no other one, has an edge: {edges}')
        if line[left + 12 * cell + 5] != white:
            failures.append('picture: there is a block too many')
    full, almost_empty, raw, quarter, late = seen[0], seen[4], seen[2], seen[17], seen[15]
    if not sum(full) < sum(quarter) < sum(almost_empty):
        failures.append(f'picture: fuller blocks are not darker: {full} {quarter} {almost_empty}')
    if not max(full) == full[2] or len({full, raw, late}) != 3:
        failures.append(f'picture: colours of classes: {full} {raw} {late}')
    expect(0, '', '--png', path, write(folder / 'many.json', many()), exact=True)
    line = pixels(path, 330, top + 6)[top + 5]
    failures.extend(f'picture: {fault}' for fault in colour_faults([line[left + block * cell + 5] for block in range(12)]))


def check_real(folder):
    """Dumps of real heaps, and a saved one. True if there was a device."""
    done = subprocess.run([DIFF_DUMP, str(folder)], check=False)
    if done.returncode:
        if done.returncode != 77:
            failures.append(f'diff_dump ends with {done.returncode}')
        return False
    names = ['filled', 'compacted', 'again', 'checked', 'raw']
    for name in names:
        path = folder / f'{name}.json'
        dump = json.loads(path.read_text())
        said = expect(0, f'  {dump["objects"]} objects in {dump["slots"]} slots, F {dump["fragmentation"]:.4f}\n', path)
        for c in dump['classes']:
            line = rf'^ *{c["id"]}  {re.escape(c["name"])} +{c["object_bytes"]} +{c["objects"]} +{c["slots"]} +{c["blocks"]} '
            if not re.search(line, said, re.M):
                failures.append(f'{name}: no line for class {c["name"]} in\n{said}')
    again, saved = json.loads((folder / 'again.json').read_text()), folder / 'saved.clump'
    expect(0, f'{saved}: a saved heap, which has no blocks\n  {again["objects"]} objects\n', saved)
    expect(0, f'objects {again["objects"]} -> {again["objects"]} (+0)\n', 'diff', folder / 'again.json', saved)
    expect(1, 'a saved heap has no blocks to draw', '--html', folder / 'page.html', saved)
    write(folder / 'cut.clump', '').write_bytes(saved.read_bytes()[:100])
    expect(1, 'neither a dump nor a saved heap: ', folder / 'cut.clump')
    expect(1, 'a saved heap has no blocks to draw', '--png', folder / 'picture.png', saved)
    expect(0, '', '--html', folder / 'real.html', *(folder / f'{name}.json' for name in names), exact=True)
    return True


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_refused(folder)
        check_text(folder)
        check_picture(folder)
        had_device = check_real(folder)
    for failure in failures:
        print('FAILED:', failure)
    if not failures:
        print('clump-inspect: all as expected' + ('' if had_device else ', but there is no device for real dumps'))
    return 1 if failures else 0 if had_device else 77


if __name__ == '__main__':
    sys.exit(main())
