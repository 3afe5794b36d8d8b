#!/usr/bin/env python3
"""Writes the SPIR-V of each entry of a file of clump-compile to FILE-0.spv and so on, and says their names.

    split.py COMPILED FILE
"""
import struct
import sys

data, at, number = open(sys.argv[1], 'rb').read(), 0, 0
while at < len(data):
    magic, key, log, parameters, il = struct.unpack_from('<8s4Q', data, at)
    assert magic == b'clumpil\0', magic
    end = at + 8 + 4 * 8 + 32 + key + log + parameters + il
    assert end <= len(data)
    name = f'{sys.argv[2]}-{number}.spv'
    with open(name, 'wb') as file:
        file.write(data[end - il:end])
    print(name)
    at, number = end, number + 1
