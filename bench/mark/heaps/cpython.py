#!/usr/bin/env python3
"""The heap of a Python process as HGRAPH1: imports most of the standard library, uses it, and writes the objects that the
garbage collector of CPython sees, with the references that it follows (gc.get_referents).

  cpython.py FILE.hgraph.gz [--trees N] [--documents N]

Objects are those that gc.get_objects() lists and all that they lead to, so also numbers and strings. A size is
sys.getsizeof(), a kind the name of the type. Roots are what CPython's collector takes for roots: objects with more
references than the traversal finds, so somebody outside holds them, such as a frame or an extension. The lists of this
script are left out. Needs CPython 3.8 or later, nothing else.

Read first: hgraph.py.
"""
import argparse
import array
import ast
import gc
import importlib
import json
import os
import random
import sys
import sysconfig
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hgraph  # noqa: E402

IMMORTAL = 1 << 29  # counts of references from there on count nothing (PEP 683)
# These open a browser or a window, print, or replace the running program's parts when they are imported.
NOT_IMPORTED = {"antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "lib2to3", "test"}


def list_modules():
    """The standard library's modules, packages' submodules left out."""
    folder = sysconfig.get_paths()["stdlib"]
    found = {name[:-3] for name in os.listdir(folder) if name.endswith(".py")}
    found |= {name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name, "__init__.py"))}
    found |= set(sys.builtin_module_names)
    return sorted(name for name in found if name.isidentifier() and name[0] != "_" and name not in NOT_IMPORTED)


def import_all():
    modules = []
    for name in list_modules():
        try:
            modules.append(importlib.import_module(name))
        except Exception as reason:  # a module for another system, or an extension that was not built
            print(f"left out: {name}: {reason}", file=sys.stderr)
    return modules


def parse_sources(modules, count):
    """Syntax trees of the library's own sources, the largest first, and what the symbol table says of some."""
    import symtable
    paths = {getattr(module, "__file__", None) for module in modules}
    paths = sorted((p for p in paths if p and p.endswith(".py")), key=lambda p: (-os.path.getsize(p), p))
    trees = {}
    for path in paths[:count]:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        trees[path] = (ast.parse(text), compile(text, path, "exec"),
                       symtable.symtable(text, path, "exec") if len(trees) % 4 == 0 else None)
    return trees


def use_library(modules, documents, draw):
    """Objects of many parts of the library, in structures that programs keep."""
    import argparse as arguments
    import collections
    import dataclasses
    import datetime
    import email.message
    import fractions
    import logging
    import queue
    import re
    import xml.dom.minidom
    import xml.etree.ElementTree as tree
    kept = {"documents": [], "dom": [], "mails": [], "by_day": collections.OrderedDict(), "patterns": []}
    for i in range(documents):
        root = tree.Element("order", id=str(i))
        for k in range(draw.randrange(2, 12)):
            line = tree.SubElement(root, "line", item=f"item-{draw.randrange(500)}")
            tree.SubElement(line, "price").text = str(draw.randrange(100000) / 100)
        kept["documents"].append(root)
        if i % 8 == 0:
            kept["dom"].append(xml.dom.minidom.parseString(tree.tostring(root)))
        mail = email.message.EmailMessage()
        mail["Subject"], mail["To"] = f"order {i}", f"someone-{draw.randrange(200)}@example.org"
        mail.set_content(json.dumps({"lines": [line.attrib for line in root]}))
        kept["mails"].append(mail)
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=draw.randrange(365))
        kept["by_day"].setdefault(day, []).append((mail, fractions.Fraction(draw.randrange(1000), 7)))
    kept["deque"] = collections.deque(kept["documents"], maxlen=documents)
    kept["json"] = json.loads(json.dumps([{"id": i, "tags": [str(draw.randrange(99)) for _ in range(6)]}
                                          for i in range(documents)]))
    kept["waiting"] = queue.PriorityQueue()
    for i in range(documents):
        kept["waiting"].put((draw.random(), i, kept["json"][i]))
    for i in range(64):
        logging.getLogger(".".join(f"part{draw.randrange(9)}" for _ in range(1 + i % 5)))
        kept["patterns"].append(re.compile(rf"(?P<a>\w+)-{i}|(?P<b>[0-9]{{{i + 1}}})"))
    kept["classes"] = [dataclasses.make_dataclass(f"Record{i}", [("x", int), ("of", object)]) for i in range(40)]
    kept["records"] = [draw.choice(kept["classes"])(i, kept["json"][i]) for i in range(documents)]
    parser = kept["parser"] = arguments.ArgumentParser()
    commands = parser.add_subparsers()
    for name, module in sorted({module.__name__: module for module in modules}.items()):
        commands.add_parser(name).add_argument("--" + name, default=module)
    return kept


def take_graph():
    """offset, target, sizes, roots, kinds of all objects but those that this function makes."""
    gc.collect()
    objects = gc.get_objects()
    number = {id(o): i for i, o in enumerate(objects)}
    offset, target, size = array.array("I", [0]), array.array("I"), array.array("I")
    kinds, inward = [], array.array("I", bytes(4 * len(objects)))
    own = {id(objects), id(number), id(sys._getframe()), id(kinds)}
    counted = len(objects)  # those that the collector tracks come first
    at = 0
    while at < len(objects):
        o = objects[at]
        for to in gc.get_referents(o) if id(o) not in own else ():
            if id(to) in own:
                continue
            if id(to) not in number:
                number[id(to)] = len(objects)
                objects.append(to)
                inward.append(0)
            inward[number[id(to)]] += 1
            target.append(number[id(to)])
        offset.append(len(target))
        size.append(min(sys.getsizeof(o, 16), 0xffffffff))
        kinds.append(type(o).__name__)
        at += 1
    o = to = None
    # Held by `objects` and by the argument of getrefcount().
    roots = [i for i in range(counted) if id(objects[i]) not in own and
             inward[i] + 2 < sys.getrefcount(objects[i]) < IMMORTAL]
    return offset, target, size, roots, kinds


def main():
    if sys.implementation.name != "cpython" or sys.version_info < (3, 8):
        hgraph.stop(f"needs CPython 3.8 or later, and this is {sys.implementation.name} {sys.version.split()[0]}")
    parser = argparse.ArgumentParser(description="The heap of a Python process as HGRAPH1.")
    parser.add_argument("file", help="to write; .gz is compressed")
    parser.add_argument("--trees", type=int, default=16, help="sources whose syntax trees are kept (default: 16)")
    parser.add_argument("--documents", type=int, default=2000, help="small documents of other kinds (default: 2000)")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    modules = import_all()
    kept = (parse_sources(modules, given.trees), use_library(modules, given.documents, random.Random(42)))
    offset, target, size, roots, kinds = take_graph()
    del kept
    hgraph.write(given.file, offset, target, size, roots, kinds)
    hgraph.report(given.file, offset, target, size, roots)


if __name__ == "__main__":
    main()
