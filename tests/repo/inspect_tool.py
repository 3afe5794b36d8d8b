#!/usr/bin/env python3
"""clump-inspect: what it prints of dumps and saved heaps, what it refuses, and the page that it writes.

    inspect_tool.py TOOL DIFF_DUMP

DIFF_DUMP is the program of tests/diff/heap/diff_dump.c, which makes real dumps and a saved heap. Exit status 77: it found no device;
everything else was checked then. The page is opened in headless Chromium if there is one (CHROMIUM names it; else the PATH is
searched), which clicks and moves on it. Without one it is checked as a text, and the test says so.
"""
import copy
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOOL, DIFF_DUMP = sys.argv[1:3]
failures = []

CLASS = {'id': 1, 'name': 'Body', 'raw': False, 'object_bytes': 8, 'capacity': 128, 'objects': 129, 'slots': 256, 'blocks': 2,
         'active_blocks': 1, 'fragmentation': 0.496094, 'fill': [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]}
NOTHING = {'id': 2, 'name': 'Nothing</script>', 'raw': False, 'object_bytes': 0, 'capacity': 0, 'objects': 0, 'slots': 0, 'blocks': 0,
           'active_blocks': 0, 'fragmentation': 0, 'fill': [0] * 10}
RAW = {'id': 5, 'name': '(raw memory)', 'raw': True, 'object_bytes': 64, 'capacity': 64, 'objects': 16, 'slots': 64, 'blocks': 1,
       'active_blocks': 1, 'fragmentation': 0.75, 'fill': [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]}
DUMP = {'format': 'clump heap 1', 'bytes': 65536, 'metadata_bytes': 16384, 'granule_bytes': 512, 'block_granules': 8, 'first_block': 4,
        'blocks': 12, 'free_blocks': 8, 'damaged_blocks': 1, 'raw_blocks': 1, 'raw_bytes': 1024, 'objects': 129, 'slots': 256,
        'fragmentation': 0.496094, 'classes': [CLASS, NOTHING, RAW],
        'live': [{'class': 'Body', 'kernel': 'make', 'program': 'a.cl', 'line': 7, 'objects': 100},
                 {'class': 'Body', 'kernel': None, 'program': None, 'line': 0, 'objects': 29}],
        'block_class': [1, 0, 5, None, 1] + [0] * 7, 'block_used': [128, 0, 16, 0, 1] + [0] * 7}

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

     objects  class             made by
         100  Body              kernel make, a.cl:7
          29  Body              kernel ?, ?
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

      change  class             made by
         +27  Body              kernel make, a.cl:7
         -29  Body              kernel ?, ?
          +4  Late              kernel split, a.cl:9
'''


def later():
    """What becomes of DUMP: a class for the raw memory, a block that is fuller, another place."""
    d = copy.deepcopy(DUMP)
    d.update(objects=160, fragmentation=0.375)
    d['classes'][0].update(objects=160, fragmentation=0.375)
    d['classes'][2] = {**RAW, 'id': 3, 'name': 'Late', 'raw': False, 'object_bytes': 16, 'objects': 4, 'fragmentation': 0.9375}
    d['live'] = [{**DUMP['live'][0], 'objects': 127}, {'class': 'Late', 'kernel': 'split', 'program': 'a.cl', 'line': 9, 'objects': 4}]
    d['block_class'][2], d['block_used'][2], d['block_used'][4] = 3, 4, 32
    return d


def expect(status, words, *arguments, exact=False):
    """Run the tool; the status, and the words in what it says, or all that it says."""
    done = subprocess.run([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    good = done.returncode == status and (done.stdout == words if exact else words in done.stdout)
    if not good:
        failures.append(f'clump-inspect {" ".join(map(str, arguments))}: status {done.returncode}, expected {status} and\n{words}\n'
                        f'it says\n{done.stdout}')
    return done.stdout


def write(path, dump):
    path.write_text(dump if isinstance(dump, str) else json.dumps(dump))
    return path


def check_refused(folder):
    """Files that are no dump: each with words, status 1, and nothing on standard output."""
    def with_class(**more):
        return {**DUMP, 'classes': [{**CLASS, **more}, NOTHING, RAW]}
    wrong = folder / 'wrong.json'
    for words, dump in [
            ('not JSON near line 2, column ', '{\n  x'),
            ('not JSON near line 1, column ', json.dumps(DUMP)[:-1]),
            ('not JSON near line 1, column ', json.dumps(DUMP) + ' {}'),
            ('"format" is no text', {}),
            ('its format is "clump pool 1", not "clump heap 1"', {**DUMP, 'format': 'clump pool 1'}),
            ('"blocks" is no whole number', {**DUMP, 'blocks': 1.5}),
            ('"blocks" is no whole number', {**DUMP, 'blocks': 1e300}),
            ('"objects" is no whole number', {**DUMP, 'objects': -1}),
            ('"fragmentation" is no number from 0 to 1', {**DUMP, 'fragmentation': 1.5}),
            ('"classes" is no array', {**DUMP, 'classes': 3}),
            ('"id" is no whole number from 0 to 254', with_class(id=255)),
            ('class "Body" has the id 0', with_class(id=0)),
            ('class "Nothing</script>" has the id 2, which does not rise', with_class(id=2)),
            ('"capacity" is no whole number from 0 to 4096', with_class(capacity=4097)),
            ('"name" is no text', with_class(name=None)),
            ('"fill" of class "Body" has 9 numbers, not 10', with_class(fill=[0] * 9)),
            ('"fill" of class "Body" is no histogram', with_class(fill=[0] * 9 + ['x'])),
            ('"line" is no whole number', {**DUMP, 'live': [{**DUMP['live'][0], 'line': 'x'}]}),
            ('it has 12 blocks, but classes of 11, and fills of 12', {**DUMP, 'block_class': DUMP['block_class'][1:]}),
            ('block 5 cannot be so', {**DUMP, 'block_class': [1, 9] + DUMP['block_class'][2:]}),
            ('block 4 cannot be so', {**DUMP, 'block_used': [129] + DUMP['block_used'][1:]}),
            ('block 5 cannot be so', {**DUMP, 'block_used': [128, 1] + DUMP['block_used'][2:]}),
            ('block 7 cannot be so', {**DUMP, 'block_used': [0, 0, 0, 1] + DUMP['block_used'][4:]}),
            ('neither a dump nor a saved heap', 'some text'),
            ('neither a dump nor a saved heap', '')]:
        expect(1, f'clump-inspect: {wrong}: ', write(wrong, dump))
        expect(1, words, wrong)
    expect(1, 'cannot be opened', folder / 'none')
    expect(1, 'cannot be written', '--html', folder / 'none' / 'page.html', write(folder / 'a.json', DUMP))
    for arguments in [[], ['diff'], ['diff', 'a'], ['diff', 'a', 'b', 'c'], ['--html'], ['--html', 'a'], ['--wrong'], ['a', '--html', 'b']]:
        expect(2, 'usage: clump-inspect FILE...', *arguments)


def check_text(folder):
    a, b = write(folder / 'a.json', DUMP), write(folder / 'b.json', later())
    expect(0, TABLES.replace('{path}', str(a)), a, exact=True)
    expect(0, f'\n\n{b}: a dump\n', a, b)
    expect(0, DIFFERENCE.replace('{a}', str(a)).replace('{b}', str(b)), 'diff', a, b, exact=True)
    expect(0, 'are not compared one by one', 'diff', a, write(folder / 'c.json', {**DUMP, 'first_block': 5}))
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
    return page


# What is done on the page, and what must come of it.
ACTIONS = '''<script>
const told = [], id = name => document.getElementById(name);
function point(block) {
    const g = grid(), x = (block % g.columns + 0.5) * g.cell - left, y = (Math.floor(block / g.columns) + 0.5) * g.cell - top_;
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + canvas.clientLeft + x, clientY: box.top + canvas.clientTop + y}));
    const ratio = window.devicePixelRatio || 1;
    const colour = canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3).join(" ");
    told.push(id("hover").textContent + " | " + colour);
}
told.push(id("name").textContent.replace(/.*\\//, "") + " " + id("step").textContent + " " + canvas.dataset.drawn);
[0, 1, 2, 3, 4].forEach(point);
for (let i = 0; i < 6; i++) id("in").click();
told.push("zoomed " + (Number(canvas.dataset.drawn) < 12));
id("all").click();
told.push("all " + canvas.dataset.drawn);
id("time").value = 1;
id("time").dispatchEvent(new Event("input"));
told.push(id("name").textContent.replace(/.*\\//, "") + " " + id("step").textContent);
point(2);
point(4);
id("before").click();
told.push(id("classes").rows.length + " " + id("live").rows[2].textContent);
document.body.append(Object.assign(document.createElement("pre"), {id: "told", textContent: told.join("\\n")}));
</script>
'''
TOLD = '''a.json 1 of 2 12
block 4: Body, 128 of 128 slots, 100.0% full | DARK
block 5: free | 238 238 238
block 6: (raw memory) of 64 bytes, 16 of 64 slots, 25.0% full | OTHER
block 7: damaged | 224 0 0
block 8: Body, 1 of 128 slots, 0.8% full | LIGHT
zoomed true
all 12
b.json 2 of 2
block 6: Late, 4 of 64 slots, 6.3% full | OTHER
block 8: Body, 32 of 128 slots, 25.0% full | LIGHT
5 29Bodykernel ?, ?'''


def check_browser(folder, page):
    browser = os.environ.get('CHROMIUM') or shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
    if not browser:
        print('no Chromium: the page was checked as a text, and not opened')
        return
    acted = folder / 'acted.html'
    acted.write_text(page.read_text().replace('</body>', ACTIONS + '</body>'))
    done = subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu', f'--user-data-dir={folder}/profile', '--dump-dom',
                           '--window-size=1100,900', acted.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          check=False)
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.S)
    if not found and '<canvas' not in done.stdout:
        print('Chromium does not run here: the page was not opened\n' + done.stderr[-500:])
        return
    told = html.unescape(found[1]).split('\n') if found else ['the script ended early']
    colours = [sum(map(int, line.split(' | ')[1].split())) for line in told if ' | ' in line]
    expected = [re.escape(line) for line in TOLD.split('\n')]
    expected = [re.sub(r'DARK|OTHER|LIGHT', r'\\d+ \\d+ \\d+', line) for line in expected]
    if len(told) != len(expected) or not all(re.fullmatch(e, t) for e, t in zip(expected, told)):
        failures.append('in the browser the page tells\n' + '\n'.join(told) + '\nexpected\n' + TOLD)
    elif not colours[0] < colours[6] < colours[4]:
        failures.append(f'fuller blocks are not darker: {colours}')
    print(f'the page was opened by {browser}')


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
    expect(0, '', '--html', folder / 'real.html', *(folder / f'{name}.json' for name in names), exact=True)
    return True


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_refused(folder)
        check_browser(folder, check_text(folder))
        had_device = check_real(folder)
    for failure in failures:
        print('FAILED:', failure)
    if not failures:
        print('clump-inspect: all as expected' + ('' if had_device else ', but there is no device for real dumps'))
    return 1 if failures else 0 if had_device else 77


if __name__ == '__main__':
    sys.exit(main())
