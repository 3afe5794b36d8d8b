#!/usr/bin/env python3
"""The page of clump-inspect --html in headless Chromium, in the window of a desktop and in that of a phone: what is drawn, colours of classes
and of damage, zoom by wheel and buttons, hover, dragging, the slider, tables, nothing wider than the window. Screenshots are left to be looked at.

    inspect_page.py TOOL FOLDER      exit status 77: skipped, there is no Chromium
"""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
import browser  # noqa: E402
from sample_dumps import DUMP, colour_faults, later, many, write  # noqa: E402

failures = []
HOVERS = {0: 'block 4: Body, 128 of 128 slots, 100.0% full', 1: 'block 5: free',
          2: 'block 6: (raw memory) of 64 bytes, 16 of 64 slots, 25.0% full', 3: 'block 7: damaged',
          4: 'block 8: Body, 1 of 128 slots, 0.8% full'}
LATER = {2: 'block 6: Late, 4 of 64 slots, 6.3% full', 4: 'block 8: Body, 32 of 128 slots, 25.0% full'}
FREE, EDGE, DAMAGED = [244, 244, 244], [196, 196, 196], [224, 0, 0]


class Page:
    def __init__(self, b, name):
        self.b, self.name = b, name

    def expect(self, expression, value):
        found = self.b.value(expression)
        if found != value:
            failures.append(f'{self.name}: {expression} is {found!r}, expected {value!r}')

    def place(self, block):
        """Where the middle of a block is in the window."""
        return self.b.value(f'(() => {{ const g = grid(), r = canvas.getBoundingClientRect(); return ['
                            f'r.x + canvas.clientLeft + ({block} % g.columns + 0.5) * g.cell - left, '
                            f'r.y + canvas.clientTop + (Math.floor({block} / g.columns) + 0.5) * g.cell - top_]; }})()')

    def colour(self, block):
        return self.b.value('(() => { const g = grid(), s = window.devicePixelRatio || 1; return Array.from(canvas.getContext("2d").getImageData('
                            f's * (({block} % g.columns + 0.5) * g.cell - left), s * ((Math.floor({block} / g.columns) + 0.5) * g.cell - top_), '
                            '1, 1).data.slice(0, 3)); })()')

    def edge(self, block):
        """The darkest pixel of a line from the middle of a block to its left edge, by the sum of its colours."""
        return self.b.value('(() => { const g = grid(), s = window.devicePixelRatio || 1, x = s * (%d %% g.columns * g.cell - left); '
                            'const line = canvas.getContext("2d").getImageData(x, s * ((Math.floor(%d / g.columns) + 0.5) * g.cell - top_), '
                            's * g.cell / 2, 1).data; let least = 765; for (let i = 0; i < line.length; i += 4) '
                            'if (line[i + 3]) least = Math.min(least, line[i] + line[i + 1] + line[i + 2]); return least; })()' % (block, block))

    def hover(self, expected):
        for block, words in expected.items():
            self.b.mouse('mouseMoved', *self.place(block))
            self.expect('document.getElementById("hover").textContent', words)

    def wheel(self, block, delta):
        x, y = self.place(block)
        before = self.b.value('zoom')
        self.b.mouse('mouseWheel', x, y, deltaX=0, deltaY=delta)
        self.b.wait(f'zoom != {before}')
        return x, y


def check_colours(b, url):
    page = Page(b, 'many classes')
    b.open(url, 1200, 900)
    failures.extend(f'page: {fault}' for fault in colour_faults([page.colour(block) for block in range(12)]))


def check(b, name, url, width, height, phone, folder):
    page = Page(b, name)
    b.open(url, width, height, phone)
    page.expect('document.getElementById("name").textContent.split("/").pop()', 'a.json')
    page.expect('document.getElementById("step").textContent', '1 of 2')
    page.expect('canvas.dataset.drawn', '12')
    page.expect('[document.documentElement, ...document.querySelectorAll(".scroll")].every(e => e.scrollWidth <= e.clientWidth)', True)
    page.expect('document.documentElement.clientWidth', width)
    page.hover(HOVERS)
    full, free, raw, damaged, empty = (page.colour(block) for block in range(5))
    if free != FREE or damaged != DAMAGED or not sum(full) < sum(empty) < sum(FREE) or raw in (full, empty, free):
        failures.append(f'{name}: colours of blocks: {full} {free} {raw} {damaged} {empty}')
    if any(page.edge(block) != sum(EDGE) for block in (1, 5, 11)) or page.edge(4) != sum(empty):
        failures.append(f'{name}: edges of blocks: {[page.edge(block) for block in range(12)]}')
    b.screenshot(folder / f'{name}.png')
    # The wheel zooms where it is turned: the same block is below the pointer afterwards.
    x, y = page.wheel(4, -1200)
    page.hover({4: HOVERS[4]})
    there = page.place(4)
    if abs(there[0] - x) + abs(there[1] - y) > 60 or not b.value('zoom > 2'):
        failures.append(f'{name}: after the wheel block 4 is at {there}, not {x, y}')
    page.expect('Number(canvas.dataset.drawn) < 12', True)
    page.expect('canvas.style.touchAction', 'none')
    b.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=1)
    b.mouse('mouseMoved', x - 30, y - 20, button='left', buttons=1)
    b.mouse('mouseReleased', x - 30, y - 20, button='left', clickCount=1)
    moved = page.place(4)
    if abs(moved[0] - there[0] + 30) + abs(moved[1] - there[1] + 20) > 2:
        failures.append(f'{name}: dragging by -30, -20 moved block 4 from {there} to {moved}')
    b.screenshot(folder / f'{name}-zoomed.png')
    b.click('#all')
    page.expect('[zoom, left, top_, canvas.dataset.drawn, canvas.style.touchAction].join(" ")', '1 0 0 12 pan-y')
    b.click('#in')
    page.expect('zoom.toFixed(2)', '1.60')
    b.click('#out')
    page.expect('zoom.toFixed(2)', '1.00')
    # The slider, by the keyboard, and the buttons beside it.
    b.value('document.getElementById("time").focus()')
    for kind in ('keyDown', 'keyUp'):
        b.call('Input.dispatchKeyEvent', type=kind, key='ArrowRight', code='ArrowRight', windowsVirtualKeyCode=39)
    page.expect('document.getElementById("step").textContent', '2 of 2')
    page.expect('document.getElementById("name").textContent.split("/").pop()', 'b.json')
    page.hover(LATER)
    if page.colour(0) != full or page.colour(2) in (raw, full):
        failures.append(f'{name}: in the second dump Body is {page.colour(0)}, Late {page.colour(2)}')
    b.screenshot(folder / f'{name}-later.png')
    b.click('#before')
    page.expect('document.getElementById("step").textContent', '1 of 2')
    b.click('#after')
    page.expect('document.getElementById("step").textContent', '2 of 2')
    page.expect('document.getElementById("classes").rows.length', 5)
    page.expect('document.getElementById("live").rows[2].textContent', '4Latekernel split, a.cl:9')


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if not browser.find():
        print('skipped: it needs Chromium (Debian: chromium; scripts/setup.sh --browser)')
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / 'page.html'
    subprocess.run([tool, '--html', page, write(folder / 'a.json', DUMP), write(folder / 'b.json', later())], check=True)
    many_page = folder / 'many.html'
    subprocess.run([tool, '--html', many_page, write(folder / 'many.json', many())], check=True)
    with browser.Browser(folder) as b:
        check_colours(b, many_page.resolve().as_uri())
        check(b, 'desktop', page.resolve().as_uri(), 1200, 900, False, folder)
        check(b, 'phone', page.resolve().as_uri(), 390, 844, True, folder)
    for failure in failures:
        print('FAILED:', failure)
    if not failures:
        print(f'the page works at 1200 and at 390 pixels; screenshots are in {folder}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
