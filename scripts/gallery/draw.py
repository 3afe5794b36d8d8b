#!/usr/bin/env python3
"""The pictures of docs/images, from what programs wrote (scripts/gallery.sh), in the colours of clump-inspect.

    draw.py MADE IMAGES

MADE has
    NAME.png    of each application: clump-bench run app-NAME --set image=
    frames/     of Wa-Tor, every second step (--set frames=). The last one is the world of the heap in
    heap/       dumps before a compaction and after each part of it (--set dumps=)

IMAGES gets the applications' pictures, hero.png, the films wa-tor-film.png and heap-film.png, and a drawing of each container.
It needs Pillow and the font DejaVu.
"""
import colorsys
import json
import pathlib
import random
import sys

from PIL import Image, ImageDraw, ImageFont

# Applications, and by what their pictures are enlarged: where a pixel is a cell.
SCALES = {'wa-tor': 1, 'sugarscape': 2, 'game-of-life': 4, 'generation': 2, 'nbody': 1, 'collision': 1, 'barnes-hut': 1, 'structure': 1, 'traffic': 1}
INK, GREY, EDGE, FREE, WATER, PAPER = '#1f2328', '#59636e', '#c4c4c4', '#f4f4f4', (244, 247, 250), '#ffffff'
CLASSES = ['Fish', 'Shark', 'Cell']
CELL, COLUMNS, ROWS = 11, 31, 29    # of a heap's blocks


def colour(number, fill):
    """Of a class, by its number: as in tools/inspect/page.html."""
    hue = (round(number * 103.131 + 170) % 270 + 40) / 360
    return tuple(round(255 * c) for c in colorsys.hls_to_rgb(hue, 0.82 - 0.47 * fill, 0.65))


def font(size, bold=False):
    return ImageFont.truetype(f'DejaVuSans{"-Bold" if bold else ""}.ttf', size)


def words(draw, x, y, text, size=13, fill=GREY, bold=False, anchor='ls'):
    draw.text((x, y), text, fill, font(size, bold), anchor=anchor)


def save(image, path):
    """With a palette if 256 colours are enough, which loses nothing."""
    if image.getcolors(256):
        image = image.convert('P', palette=Image.ADAPTIVE, colors=256)
    image.save(path, optimize=True)


def film(frames, path, milliseconds, first, last):
    """An animated PNG: frames that take so long each, over and over; the first and the last one longer."""
    strip = Image.new('RGB', (frames[0].width, frames[0].height * len(frames)))
    for i, frame in enumerate(frames):
        strip.paste(frame, (0, i * frame.height))
    palette = strip.quantize(256, dither=Image.Dither.NONE)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [first] + [milliseconds] * (len(frames) - 2) + [last]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


# ---- Wa-Tor and its heap ------------------------------------------------------------------------
def world(path):
    """A frame of Wa-Tor in the colours of its heap, and how many fish there are, which are green in the frame, and sharks, which are red."""
    small = Image.open(path).convert('RGB')
    colours, counts = {}, [0, 0]
    for count, (r, g, b) in small.getcolors(1 << 16):
        kind = 0 if g > max(r, b) else 1 if r > max(g, b) else None
        colours[r, g, b] = WATER if kind is None else colour(kind, 0.6 - 0.1 * kind)
        if kind is not None:
            counts[kind] += count
    small.putdata([colours[pixel] for pixel in small.getdata()])
    return small.resize((2 * small.width, 2 * small.height), Image.Resampling.NEAREST), counts


def heap(dump):
    """The blocks in memory order, row by row."""
    image = Image.new('RGB', (COLUMNS * CELL - 1, ROWS * CELL - 1), PAPER)
    draw = ImageDraw.Draw(image)
    classes = {c['id']: c for c in dump['classes']}
    for b, (id_, used) in enumerate(zip(dump['block_class'], dump['block_used'])):
        x, y = b % COLUMNS * CELL, b // COLUMNS * CELL
        box = (x, y, x + CELL - 2, y + CELL - 2)
        if id_:
            draw.rectangle(box, colour(CLASSES.index(classes[id_]['name']), used / classes[id_]['capacity']))
        else:
            draw.rectangle(box, FREE, EDGE)
    return image


def legend(draw, x, y):
    """A line: each class, from an empty to a full block, and a free block. Returns where it ends."""
    for number, name in enumerate(('fish', 'sharks', 'cells')):
        for i in range(32):
            draw.line((x + i, y, x + i, y + 12), colour(number, i / 31))
        words(draw, x + 39, y + 6, name, fill=INK, anchor='lm')
        x += 98
    draw.rectangle((x, y, x + 12, y + 12), FREE, EDGE)
    words(draw, x + 19, y + 6, 'free', fill=INK, anchor='lm')
    return x + 48


def told(dump):
    return f'{dump["blocks"] - dump["free_blocks"]} of {dump["blocks"]} blocks, {100 * dump["fragmentation"]:.2g}% of their slots empty'


def hero(frame, before, after):
    image = Image.new('RGB', (1200, 414), PAPER)
    draw = ImageDraw.Draw(image)
    picture, (fish, sharks) = world(frame)
    cells = next(c['objects'] for c in before['classes'] if c['name'] == 'Cell')
    for x, title, text, panel in ((28, 'Wa-Tor: fish and sharks', f'{fish:,} fish, {sharks:,} sharks, {cells:,} cells: objects', picture),
                                  (439, 'Its heap', told(before), heap(before)),
                                  (831, 'The heap after a compaction', told(after), heap(after))):
        words(draw, x, 23, title, 17, INK, True)
        words(draw, x, 43, text)
        image.paste(panel, (x, 54))
    draw.rectangle((27, 53, 28 + picture.width, 54 + picture.height), None, EDGE)
    end = legend(draw, 28, 388)
    words(draw, end + 20, 394, 'Each square is a block of memory: the fuller, the darker.', anchor='lm')
    return image


def world_film(paths):
    """The world above the course of fish and sharks."""
    frames, courses = [], []
    worlds = [world(path) for path in paths]
    width, height = worlds[0][0].size
    most = max(max(counts) for _, counts in worlds)
    for number, (picture, counts) in enumerate(worlds):
        courses.append(counts)
        image = Image.new('RGB', (width + 40, height + 130), PAPER)
        draw = ImageDraw.Draw(image)
        image.paste(picture, (20, 20))
        draw.rectangle((19, 19, 20 + width, 20 + height), None, EDGE)
        draw.line((20, height + 108, 20 + width, height + 108), EDGE)
        for kind in (0, 1):
            at = [(20 + i * width / (len(worlds) - 1), height + 108 - 70 * course[kind] / most) for i, course in enumerate(courses)]
            draw.line(at if len(at) > 1 else at * 2, colour(kind, 0.6), 2)
        words(draw, 20, height + 125, f'step {2 * number}', fill=INK)
        words(draw, 110, height + 125, f'{counts[0]:,} fish', fill=colour(0, 0.7))
        words(draw, 220, height + 125, f'{counts[1]:,} sharks', fill=colour(1, 0.8))
        frames.append(image)
    return frames


def heap_film(dumps):
    frames = []
    for number, dump in enumerate(dumps):
        panel = heap(dump)
        image = Image.new('RGB', (panel.width + 40, panel.height + 96), PAPER)
        draw = ImageDraw.Draw(image)
        title = 'Before' if number == 0 else 'After' if dump is dumps[-1] else 'Compacting'
        words(draw, 20, 24, title, 15, INK, True)
        words(draw, 20, 43, told(dump))
        image.paste(panel, (20, 54))
        legend(draw, 20, panel.height + 70)
        frames.append(image)
    return frames


# ---- Containers ---------------------------------------------------------------------------------
def canvas(height):
    image = Image.new('RGB', (560, height), PAPER)
    return image, ImageDraw.Draw(image)


def boxes(draw, x, y, texts, fill, size=(44, 24)):
    """Boxes in a row, each with a text."""
    for text in texts:
        draw.rectangle((x, y, x + size[0], y + size[1]), fill, EDGE)
        words(draw, x + size[0] / 2, y + size[1] / 2, text, 12, INK, anchor='mm')
        x += size[0]
    return x


def map_drawing():
    """Lists of keys, and one that is put in."""
    image, draw = canvas(216)
    words(draw, 16, 22, 'heads', 13, INK, True)
    words(draw, 130, 22, 'objects with key and value', 13, INK, True)
    lists = [['12 : 3', '44 : 1'], ['5 : 20'], [], ['27 : 2', '3 : 8', '91 : 1'], ['60 : 7']]
    for i, entries in enumerate(lists):
        y = 34 + 35 * i
        boxes(draw, 16, y, [str(i)], colour(0, 0), (40, 24))
        x = 56
        for j, entry in enumerate(entries):
            is_new = i == 3 and j == 2
            draw.line((x, y + 12, x + 74, y + 12), INK if not is_new else colour(1, 0.7), 1 + is_new)
            draw.polygon([(x + 74, y + 12), (x + 67, y + 8), (x + 67, y + 16)], INK if not is_new else colour(1, 0.7))
            x = boxes(draw, x + 74, y, [entry], colour(1, 0.1) if is_new else colour(2, 0), (66, 24))
    words(draw, 410, 178, 'a key that is put in', 12, colour(1, 0.8))
    return image


def vector_drawing():
    """Pages, each with twice as many elements as the one before."""
    image, draw = canvas(176)
    names = [('first page', 4), ('second', 8), ('third', 16)]
    used, at = 17, 0
    for row, (name, length) in enumerate(names):
        y = 16 + 44 * row
        words(draw, 16, y + 12, name, 13, INK, anchor='lm')
        for i in range(length):
            fill = colour(0, 0.35) if at < used else colour(1, 0.25) if at < used + 4 else FREE
            draw.rectangle((110 + 27 * i, y, 110 + 27 * i + 25, y + 24), fill, EDGE)
            words(draw, 110 + 27 * i + 13, y + 12, str(at), 11, PAPER if at < used else INK if at < used + 4 else GREY, anchor='mm')
            at += 1
    x = 110
    for fill, text in ((colour(0, 0.35), 'appended'), (colour(1, 0.25), 'by work-items at the same time'), (FREE, 'room')):
        draw.rectangle((x, 150, x + 12, 162), fill, EDGE)
        words(draw, x + 19, 156, text, 12, anchor='lm')
        x += 40 + 7 * len(text)
    return image


def grid_drawing():
    """Bodies in cells; a point, the radius, and the bodies that a loop visits."""
    image, draw = canvas(280)
    place, side, centre, radius = random.Random(3), 36, (191, 139), 40
    low = [int((c - 16 - radius) // side) for c in centre]
    high = [int((c - 16 + radius) // side) for c in centre]
    for column in range(14):
        for row in range(7):
            is_met = low[0] <= column <= high[0] and low[1] <= row <= high[1]
            draw.rectangle((16 + column * side, 16 + row * side, 16 + (column + 1) * side, 16 + (row + 1) * side),
                           colour(1, 0) if is_met else PAPER, EDGE)
    for _ in range(230):
        x, y = place.uniform(20, 16 + 14 * side - 4), place.uniform(20, 16 + 7 * side - 4)
        cell = int((x - 16) // side), int((y - 16) // side)
        is_met = all(low[i] <= cell[i] <= high[i] for i in (0, 1))
        is_near = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 <= radius ** 2
        draw.ellipse((x - 3, y - 3, x + 3, y + 3), colour(0, 0.9) if is_near else colour(1, 0.7) if is_met else '#b8bcc2')
    draw.ellipse((centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius), None, INK, 2)
    return image


def arrays_drawing():
    """Objects with arrays of different lengths: the first elements in the object, others outside of it."""
    image, draw = canvas(206)
    words(draw, 16, 22, 'in the object', 13, INK, True)
    words(draw, 250, 22, 'in raw memory of the same heap', 13, INK, True)
    for i, (length, room) in enumerate(((2, 0), (9, 12), (4, 0), (14, 14), (6, 6))):
        y = 34 + 34 * i
        boxes(draw, 16, y, [f'n = {length}'], colour(2, 0), (60, 24))
        for k in range(4):
            draw.rectangle((76 + 28 * k, y, 76 + 28 * k + 28, y + 24), colour(0, 0.35) if k < length else FREE, EDGE)
        if room:
            draw.line((188, y + 12, 250, y + 12), INK)
            draw.polygon([(250, y + 12), (243, y + 8), (243, y + 16)], INK)
            for k in range(4, room):
                draw.rectangle((250 + 28 * (k - 4), y, 250 + 28 * (k - 3), y + 24), colour(0, 0.35) if k < length else FREE, EDGE)
    return image


# ---- All ----------------------------------------------------------------------------------------
def main():
    made, images = map(pathlib.Path, sys.argv[1:3])
    frames = sorted((made / 'frames').glob('*.png'))
    dumps = [json.loads(path.read_text()) for path in sorted((made / 'heap').glob('*.json'))]
    for name, scale in SCALES.items():
        picture = Image.open(made / f'{name}.png').convert('RGB')
        save(picture.resize((scale * picture.width, scale * picture.height), Image.Resampling.NEAREST), images / f'{name}.png')
    save(hero(frames[-1], dumps[0], dumps[-1]), images / 'hero.png')
    film(world_film(frames), images / 'wa-tor-film.png', 150, 150, 1000)
    film(heap_film(dumps), images / 'heap-film.png', 90, 1200, 2000)
    for name, draw in (('map', map_drawing), ('vector', vector_drawing), ('grid', grid_drawing), ('arrays', arrays_drawing)):
        save(draw(), images / f'{name}.png')


if __name__ == '__main__':
    main()
