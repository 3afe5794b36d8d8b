"""Dumps of heaps, made up, two of them of one heap: what tests of clump-inspect read. Format: docs/guide/seeing-the-heap.md."""
import colorsys
import copy
import json

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


def later():
    """What becomes of DUMP: a class for the raw memory, a block that is fuller, another place."""
    d = copy.deepcopy(DUMP)
    d.update(objects=160, fragmentation=0.375)
    d['classes'][0].update(objects=160, fragmentation=0.375)
    d['classes'][2] = {**RAW, 'id': 3, 'name': 'Late', 'raw': False, 'object_bytes': 16, 'objects': 4, 'fragmentation': 0.9375}
    d['live'] = [{**DUMP['live'][0], 'objects': 127}, {'class': 'Late', 'kernel': 'split', 'program': 'a.cl', 'line': 9, 'objects': 4}]
    d['block_class'][2], d['block_used'][2], d['block_used'][4] = 3, 4, 32
    return d


def many():
    """A block of each of eleven classes, full, and a damaged one."""
    classes = [{**CLASS, 'id': i + 1, 'name': f'C{i}', 'objects': 128, 'slots': 128, 'blocks': 1, 'active_blocks': 0, 'fragmentation': 0,
                'fill': [0] * 9 + [1]} for i in range(11)]
    return {**DUMP, 'free_blocks': 0, 'raw_blocks': 0, 'raw_bytes': 0, 'objects': 11 * 128, 'slots': 11 * 128, 'fragmentation': 0, 'classes': classes,
            'live': [], 'block_class': [c['id'] for c in classes] + [None], 'block_used': [128] * 11 + [0]}


def colour_faults(colours):
    """Of the blocks of many(), as (red, green, blue): a class near the colour of damage, and two classes near each other."""
    hues = [360 * colorsys.rgb_to_hls(*(value / 255 for value in colour))[0] for colour in colours]
    apart = [[min(abs(a - b), 360 - abs(a - b)) for b in hues] for a in hues]
    return [f'class {i} has nearly the colour of damage: {colours[i]}' for i in range(11) if apart[i][11] < 35] + \
        [f'classes {i} and {j} have nearly the same colour: {colours[i]} {colours[j]}' for i in range(11) for j in range(i) if apart[i][j] < 10]


def write(path, dump):
    path.write_text(dump if isinstance(dump, str) else json.dumps(dump))
    return path
