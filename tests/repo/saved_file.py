"""Saved heaps made without a device, for tests of what reads them. The format is that of docs/internals/save.md.

    write(path, schema, classes, registered, handles, arrays)

`schema` is a text; `classes` a list, by id, of (objects, [column of bytes, ...]), the columns in the order of the file: own fields first,
then those of the base; a column is bytes, or a pair of the bytes of an element in raw memory and all elements of an array that grows,
which stands in place of a_memory, and `arrays` is a list of (elements, capacity) of these columns; `registered` a list of lists of references, `handles` a list of them; a reference is the number of its object plus 1.
"""
import array
import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def rotate(x, by):
    return (x << by | x >> (64 - by)) & MASK


def step(lane, word):
    return rotate((lane + word * P2) & MASK, 31) * P1 & MASK


def hash64(seed, data):
    """XXH64, by its published description."""
    words, end = array.array('Q', data[:len(data) // 8 * 8]), len(data) // 32 * 4
    if end:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        for lane in range(4):
            value = lanes[lane]
            for word in words[lane:end:4]:
                value = step(value, word)
            lanes[lane] = value
        h = sum(rotate(v, by) for v, by in zip(lanes, (1, 7, 12, 18))) & MASK
        for value in lanes:
            h = ((h ^ step(0, value)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + len(data)) & MASK
    for word in words[end:]:
        h = (rotate(h ^ step(0, word), 27) * P1 + P4) & MASK
    rest = data[len(words) * 8:]
    if len(rest) >= 4:
        h = (rotate(h ^ struct.unpack('<I', rest[:4])[0] * P1 & MASK, 23) * P2 + P3) & MASK
        rest = rest[4:]
    for byte in rest:
        h = rotate(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def content_sum(data):
    """Of the sums of its chunks of 1,024 bytes, 128 at a time, each run seeded with what came of the one before."""
    sums = b''.join(struct.pack('<Q', hash64(0, data[at:at + 1024])) for at in range(0, len(data), 1024))
    total = 0
    for at in range(0, len(sums), 1024):
        total = hash64(total, sums[at:at + 1024])
    return total


def refs(numbers):
    return array.array('I', numbers).tobytes()


def pieces(content, each, most):
    """As many things of `each` bytes to a piece as fit, at least one."""
    size = max(1, most // each) * each
    return [content[at:at + size] for at in range(0, len(content), size)]


def write(path, schema, classes, registered=(), handles=(), piece_bytes=4096, arrays=()):
    version = 3 if arrays else 2
    head = struct.pack('<6I', len(schema), len(classes), piece_bytes, len(registered), len(handles), len(arrays)) + schema.encode()
    head += b''.join(struct.pack('<QQ', count, 0) for count, _ in classes)
    head += struct.pack(f'<{len(registered)}Q', *map(len, registered))
    head += b''.join(struct.pack('<QQ', *array) for array in arrays)
    parts = [(b'HEAD', head)]
    for count, columns in classes:
        for column in columns if count else ():
            kind, (each, content) = (b'ELEM', column) if isinstance(column, tuple) else (b'VALS', (len(column) // count, column))
            parts += [(kind, piece) for piece in pieces(content, each, piece_bytes)]
    for buffer in registered:
        parts += [(b'REFS', piece) for piece in pieces(refs(buffer), 4, piece_bytes)]
    parts += [(b'HNDL', piece) for piece in pieces(refs(handles), 4, piece_bytes)]
    data = bytearray(b'\x89CLUMP\n\x1a' + struct.pack('<II', version, MASK >> 32 & ~version))
    chain = hash64(0, bytes(data))
    for number, (kind, content) in enumerate(parts + [(b'END ', None)]):
        if content is None:
            content = struct.pack('<Q', len(data))
        piece = kind + struct.pack('<IIIQ', number, len(content), len(content), content_sum(content))
        chain = hash64(chain, piece)
        data += piece + struct.pack('<Q', chain) + content
    path.write_bytes(data)
    return path
