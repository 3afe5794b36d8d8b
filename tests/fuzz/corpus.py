#!/usr/bin/env python3
"""Inputs of a fuzz target as lines of tests/fuzz/corpus/NAME.txt, and as files, which libFuzzer wants.

    corpus.py unpack NAME.txt FOLDER     a file of each line
    corpus.py add NAME.txt FILE...       a line of each file, if there is none yet

A line is an entry of a dictionary for libFuzzer, as in words.dict: "BYTES", or WORDS="BYTES" for an input that has a
name. Bytes that are not printable are \\xHH; a quote and a backslash have a backslash before them. Lines are sorted by
their bytes. The file of an input without a name has its SHA-1 as name, as libFuzzer does it.
"""
import hashlib
import pathlib
import re
import sys

LINE = re.compile(rb'(?:([a-z0-9-]+)=)?"((?:[ !#-\[\]-~]|\\["\\]|\\x[0-9a-f]{2})*)"')


def inputs(path):
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not (match := LINE.fullmatch(line)):
            sys.exit(f'{path}:{number}: this is not "BYTES" nor WORDS="BYTES"')
        data = re.sub(rb'\\(?:x(..)|(.))', lambda m: m[2] or bytes.fromhex(m[1].decode()), match[2])
        yield (match[1] or hashlib.sha1(data).hexdigest().encode()).decode(), data


def line_of(path):
    text = re.sub(rb'["\\]', rb'\\\g<0>', path.read_bytes())
    text = re.sub(rb'[^ -~]', lambda m: b'\\x%02x' % m[0][0], text)
    name = '' if re.fullmatch('[0-9a-f]{40}', path.name) else path.name + '='
    return name.encode() + b'"' + text + b'"'


def main(action, corpus, *others):
    corpus = pathlib.Path(corpus)
    if action == 'unpack':
        for name, data in inputs(corpus):
            (pathlib.Path(others[0]) / name).write_bytes(data)
    else:
        lines = {line_of(pathlib.Path(each)) for each in others}
        if corpus.exists():
            lines.update(corpus.read_bytes().splitlines())
        corpus.write_bytes(b''.join(each + b'\n' for each in sorted(lines)))


main(*sys.argv[1:])
