#!/usr/bin/env python3
"""clump-inspect holders and clump-inspect path, on saved heaps that this test makes: small random ones against a search that leaves out
each object in turn, long ones that would overflow a stack or take the square of their length, and what is refused.

    inspect_graph.py TOOL
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import saved_file  # noqa: E402

TOOL = sys.argv[1]
failures = []
ROUNDS = 24

# Ids: Thing 1 (abstract), Node 2, Leaf 3, Box 4. Columns of Node: edges, kept, then id and next of Thing.
SCHEMA = '''abstract class Thing { int id; ref Thing next; }
class Node : Thing { ref Thing edges[3]; weak ref Node seen; }
class Leaf : Node { ulong big; }
class Box { ref Leaf leaf; short tag; }
'''
BYTES = {'Node': 4 + 4 + 12 + 4, 'Leaf': 24 + 8, 'Box': 4 + 2}


def run(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def expect(status, words, *arguments):
    code, said = run(*arguments)
    if code != status or words not in said:
        failures.append(f'clump-inspect {" ".join(map(str, arguments))}: status {code}, expected {status} and\n{words}\nit says\n{said}')
    return said


class Heap:
    """Random objects: fields by object, as numbers of objects or None."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.counts = {name: r.randrange(0, 9) for name in BYTES}
        self.names = [f'{name}:{i}' for name in BYTES for i in range(self.counts[name])]
        n = len(self.names)
        things = self.counts['Node'] + self.counts['Leaf']
        leaves = range(self.counts['Node'], things)
        few = r.choice([0.2, 0.5, 0.8])

        def pick(among):
            return r.choice(among) if among and r.random() > few else None
        self.fields = []
        for o in range(n):
            f = {}
            if o < things:
                f = {'next': pick(range(things)), **{f'edges[{e}]': pick(range(things)) for e in range(3)}}
            else:
                f = {'leaf': pick(leaves)}
            self.fields.append(f)
        self.seen = [pick(range(things)) for _ in range(things)]
        self.ids = [r.choice([-1, 1]) * (o + 1) for o in range(n)]
        self.registered = [[pick(range(n)) for _ in range(r.randrange(0, 4))] for _ in range(r.randrange(0, 3))]
        self.handles = [pick(range(n)) for _ in range(r.randrange(0, 3))]
        self.bytes = [BYTES[name.split(':')[0]] for name in self.names]

    def write(self, path):
        def number(values):
            return saved_file.refs([0 if v is None else v + 1 for v in values])
        nodes, leaves, boxes = (self.counts[name] for name in BYTES)

        def thing(at, count):
            objects = range(at, at + count)
            own = [number([self.fields[o][f'edges[{e}]'] for o in objects for e in range(3)]), number([self.seen[o] for o in objects])]
            base = [b''.join(self.ids[o].to_bytes(4, 'little', signed=True) for o in objects), number([self.fields[o]['next'] for o in objects])]
            return own, base
        node, leaf = thing(0, nodes), thing(nodes, leaves)
        things = nodes + leaves
        box = [number([self.fields[o]['leaf'] for o in range(things, things + boxes)]),
               b''.join(self.ids[o].to_bytes(2, 'little', signed=True) for o in range(things, things + boxes))]
        classes = [(0, []), (nodes, node[0] + node[1]), (leaves, [bytes(8 * leaves)] + leaf[0] + leaf[1]), (boxes, box)]
        handles = [0xffffffff if h is None and i % 2 else 0 if h is None else h + 1 for i, h in enumerate(self.handles)]
        saved_file.write(path, SCHEMA, classes, [[0 if v is None else v + 1 for v in b] for b in self.registered], handles)

    def holders(self, weak=None, root_class=None):
        """By name: the objects that its roots refer to."""
        roots = {f'registered buffer {i}': [v for v in b if v is not None] for i, b in enumerate(self.registered) if i != weak}
        roots['the handles'] = [v for v in self.handles if v is not None]
        if root_class:
            roots[f'root class {root_class}'] = [o for o, name in enumerate(self.names) if name.startswith(root_class + ':')]
        return roots

    def reach(self, roots, left_out=(), without=None):
        """Distance of each object that is found."""
        found = {}
        front = [v for name, b in roots.items() if name != without for v in b]
        steps = 1
        while front:
            new = {v for v in front if v not in found and v not in left_out}
            found.update(dict.fromkeys(new, steps))
            front = [t for v in new for t in self.fields[v].values() if t is not None]
            steps += 1
        return found


def rows(said, heading):
    """Lines of the table of that heading, cut at blanks."""
    found = re.search(rf'^.*{heading}\n((?:.+\n)*)', said, re.M)
    return [line.split(None, 3) for line in found[1].splitlines()] if found else []


def check_holders(heap, path, options, roots):
    said = expect(0, 'a saved heap', 'holders', *options, '--top', 1000, path)
    alive = heap.reach(roots)
    all_bytes, total = sum(heap.bytes), sum(heap.bytes[o] for o in alive)
    sums = (f'  {len(heap.names)} objects of {all_bytes} bytes\n  roots keep {len(alive)} objects of {total} bytes, and '
            f'nothing keeps {len(heap.names) - len(alive)} objects of {all_bytes - total} bytes\n')
    if sums not in said:
        failures.append(f'{path}: expected\n{sums}in\n{said}')

    def kept(left):
        lost = [o for o in alive if o not in left]
        return [str(sum(heap.bytes[o] for o in lost)), str(len(lost))]
    objects = {heap.names[o]: kept(heap.reach(roots, {o})) for o in alive}
    told = {row[3].split(',')[0]: row[:2] for row in rows(said, 'own bytes  object')}
    if told != objects:
        failures.append(f'{path} {options}: objects keep\n{objects}\ntold is\n{told}')
    if [int(row[0]) for row in rows(said, 'own bytes  object')] != sorted((int(k[0]) for k in objects.values()), reverse=True):
        failures.append(f'{path}: the objects are in no order:\n{said}')
    for row in rows(said, 'own bytes  object'):  # without its keeper, and not without another root, it dies
        name, keeper = row[3].split(', kept by ')
        o = heap.names.index(name)
        if keeper == 'several roots':
            good = all(o in heap.reach(roots, {p}) for p in alive if p != o) and all(o in heap.reach(roots, (), h) for h in roots)
        elif keeper in roots:
            good = o not in heap.reach(roots, (), keeper) and all(o in heap.reach(roots, {p}) for p in alive if p != o)
        else:
            good = o not in heap.reach(roots, {heap.names.index(keeper)})
        if not good:
            failures.append(f'{path} {options}: {name} is not kept by {keeper}')
    holders = {h: kept(heap.reach(roots, (), h)) for h in roots}
    told = {row[3]: row[:2] for row in rows(said, 'own bytes  roots')}
    if told != {h: k for h, k in holders.items() if k[0] != '0'}:
        failures.append(f'{path} {options}: roots keep\n{holders}\ntold is\n{told}')
    classes = {name: kept(heap.reach(roots, {o for o, n in enumerate(heap.names) if n.startswith(name + ':')}))
               for name, count in heap.counts.items() if count}
    told = {row[3]: row[:2] for row in rows(said, 'own objects  class')}
    if told != classes:
        failures.append(f'{path} {options}: classes keep\n{classes}\ntold is\n{told}')
    references = {}
    for targets in [list(f.values()) for f in heap.fields] + list(roots.values()):
        for t in targets:
            if t is not None:
                references[heap.names[t]] = references.get(heap.names[t], 0) + 1
    told = {row[1]: int(row[0]) for row in (r for r in rows(said, 'to object'))}
    if told != references:
        failures.append(f'{path} {options}: references\n{references}\ntold are\n{told}')


def check_way(heap, path, options, roots, alive, o):
    name = heap.names[o]
    text = name
    if o % 2:  # the same by a value, of a field of the base
        text = f'{name.split(":")[0]}.{"tag" if name.startswith("Box") else "id"}={heap.ids[o]}'
    said = expect(0, name, 'path', *options, path, text)
    lines = said.splitlines()
    if o not in alive:
        dead = [f for source, f in enumerate(heap.fields) if source not in alive and o in f.values()]
        count = sum(list(f.values()).count(o) for f in dead)
        weak = heap.seen.count(o) + (heap.registered[0].count(o) if options[:1] == ['--weak'] else 0)
        good = lines[0] == f'nothing keeps {name} alive: it cannot be reached from a root'
        good = good and (f'  references to it from objects that no root leads to: {count}, as ' in said) == bool(count)
        good = good and (f'  weak references to it: {weak}\n' in said) == bool(weak)
    else:
        good = lines[0] == f'{name} is kept alive by' and len(lines) - 1 == alive[o]
        at = None
        for line in lines[1:]:
            where, to = line.strip().split(' -> ')
            if at is None:
                buffer = re.fullmatch(r'registered buffer (\d+), reference (\d+)', where)
                handle = re.fullmatch(r'handle (\d+)', where)
                if buffer:
                    at = heap.registered[int(buffer[1])][int(buffer[2])]
                    good = good and f'registered buffer {buffer[1]}' in roots
                elif handle:
                    at = heap.handles[int(handle[1]) - 1]
                else:
                    good = good and where in roots
                    at = heap.names.index(to)
            else:
                source, field = where.split('.')
                good = good and source == heap.names[at]
                at = heap.fields[at].get(field)
            good = good and at is not None and heap.names[at] == to
        good = good and at == o
    if not good:
        failures.append(f'{path} {options} {text}: no right answer:\n{said}')


def check_random(folder):
    """How many objects were looked at, alive and dead."""
    seen = [0, 0]
    for seed in range(ROUNDS):
        heap, path = Heap(seed), folder / f'{seed}.clump'
        heap.write(path)
        options, roots = [], heap.holders()
        if heap.registered and seed % 3 == 1:
            options, roots = ['--weak', 0], heap.holders(weak=0)
        elif seed % 3 == 2 and heap.counts['Box']:
            options, roots = ['--root', 'Box'], heap.holders(root_class='Box')
        if not any(roots.values()):
            expect(1, 'no roots', 'holders', *options, path)
            expect(1, 'no roots', 'path', *options, path, 'Node:0')
            continue
        alive = heap.reach(roots)
        check_holders(heap, path, options, roots)
        for o in random.Random(seed).sample(range(len(heap.names)), min(4, len(heap.names))):
            check_way(heap, path, options, roots, alive, o)
            seen[o in alive] += 1
    return seen


def check_long(folder):
    """A list of 20,000, whose last object leads to 20,000 others, all of them registered, too: the worst for simpler algorithms."""
    n = 20000
    schema = 'class Link { ref Link next; ref Fan fan; } class Fan { ref Fan next; }'
    links = [(i + 2) % (n + 1) for i in range(n)]
    links[-1] = 0
    fans = [n + i + 2 for i in range(n)]
    fans[-1] = 0
    last = [0] * (n - 1) + [n + 1]
    path = saved_file.write(folder / 'long.clump', schema, [(n, [saved_file.refs(links), saved_file.refs(last)]), (n, [saved_file.refs(fans)])],
                            [[1]] + [list(range(n + 1, 2 * n + 1))], piece_bytes=1 << 20)
    expect(0, f'{8 * n:14} {n:12} {8:12}  Link:0, kept by registered buffer 0\n', 'holders', path)
    expect(0, f'{4 * n:14} {n:12} {n:12}  Fan\n', 'holders', path)
    said = expect(0, f'Link:{n - 1} is kept alive by\n  registered buffer 0, reference 0 -> Link:0\n  Link:0.next -> Link:1\n', 'path', path, f'Link:{n - 1}')
    if f'\n  ... {n + 1 - 40} references more ...\n' not in said or len(said.splitlines()) != 41:
        failures.append(f'a long way is not cut:\n{said}')


def check_arrays(folder):
    """Hubs with two references in the object and others in raw memory, in several pieces: object 0 has n, object 2 has one. The
    first ones lead to Any 1, 2 .. n - 1, 0."""
    n, refs = 3000, saved_file.refs
    schema = 'class Hub { ref Any to[*] inline 2; } class Any { uchar x[*]; }'
    hubs = [refs([0, 0, 4, 0, 0, 5]), refs([n + 2, 1, 3]), refs([n, 5, 1]), (4, refs([i % n + 4 for i in range(1, n + 1)] + [6]))]
    anys = [refs([i % 2 for i in range(n)]), refs([1] * n), (1, bytes(n // 2))]
    arrays = [(n + 1, n + 6), (n // 2, n)]
    path = saved_file.write(folder / 'arrays.clump', schema, [(3, hubs), (n, anys)], [[1]], arrays=arrays)
    expect(0, f'{n + 1:14} {4 * (n + 6):14}  Hub.to\n{n // 2:14} {n:14}  Any.x\n', path)
    expect(0, '  registered buffer 0, reference 0 -> Hub:0\n  Hub:0.to[2002] -> Any:2001\n', 'path', path, 'Any:2001')
    # Object 0 has two references and three words, and room for n references; all objects of Any have three words and a byte.
    expect(0, f'  {n + 3} objects of {3 * 20 + 4 * (n + 6) + 13 * n} bytes\n'
              f'  roots keep {n + 1} objects of {20 + 4 * n + 13 * n} bytes, ', 'holders', path)
    expect(0, f'{20 + 17 * n:14} {n + 1:12} {20 + 4 * n:12}  Hub:0, kept by registered buffer 0\n', 'holders', path)
    hubs[1] = refs([n + 2, 1, 4])
    saved_file.write(path, schema, [(3, hubs), (n, anys)], [[3]], arrays=arrays)
    expect(1, 'array to of class Hub has a length of 4, and room for 3 elements', 'holders', path)
    hubs[1] = refs([n + 1, 1, 3])
    saved_file.write(path, schema, [(3, hubs), (n, anys)], [[3]], arrays=arrays)
    expect(1, f'the arrays to of class Hub have {n} elements in raw memory', 'holders', path)
    hubs[1:3] = refs([1, 1, 3]), refs([0, 0, 1])
    saved_file.write(path, schema, [(3, hubs[:3] + [(4, refs([6]))]), (n, anys)], [[3]], arrays=[(1, 1), arrays[1]])
    expect(0, '  registered buffer 0, reference 0 -> Hub:2\n  Hub:2.to[2] -> Any:2\n', 'path', path, 'Any:2')


def check_refused(folder):
    heap = Heap(2)
    heap.registered, heap.handles = [[0]], []
    path = folder / 'one.clump'
    heap.write(path)
    for words, arguments in [
            ('class "Nobody" does not exist', ['holders', '--root', 'Nobody', path]),
            ('registered buffer 1 does not exist: the heap has 1', ['holders', '--weak', '1', path]),
            ('"Node" is not an object: write CLASS:NUMBER or CLASS.FIELD=VALUE', ['path', path, 'Node']),
            ('"Node.id" is not an object', ['path', path, 'Node.id']),
            ('Nobody:0: class "Nobody" does not exist', ['path', path, 'Nobody:0']),
            ('Node:x: "x" is not a whole number', ['path', path, 'Node:x']),
            (f'Node:{heap.counts["Node"]}: there are only {heap.counts["Node"]} objects of exactly class Node', ['path', path, f'Node:{heap.counts["Node"]}']),
            ('class Node has no field "none"', ['path', path, 'Node.none=1']),
            ('field edges is not a whole number', ['path', path, 'Node.edges=1']),
            ('"1.5" is not a whole number', ['path', path, 'Node.id=1.5']),
            ('no object has that value', ['path', path, 'Node.id=12345'])]:
        expect(1, f'clump-inspect: {path}: ', *arguments)
        expect(1, words, *arguments)
    (folder / 'dump.json').write_text('{}')
    expect(1, 'not a saved heap', 'holders', folder / 'dump.json')
    expect(1, 'cannot open', 'path', folder / 'none', 'Node:0')
    saved_file.write(folder / 'wrong.clump', 'class A { ref B b; } class B { ref B b; }',
                     [(2, [saved_file.refs([3, 1])]), (1, [saved_file.refs([3])])], [[1]])
    expect(1, 'A.b has a reference to object 1, but can only refer to objects 3 to 3', 'holders', folder / 'wrong.clump')
    saved_file.write(folder / 'beyond.clump', 'class A { ref A a; }', [(1, [saved_file.refs([0])])], [[2]])
    expect(1, 'a registered buffer has a reference to object 2', 'holders', folder / 'beyond.clump')
    saved_file.write(folder / 'handle.clump', 'class A { ref A a; }', [(1, [saved_file.refs([0])])], [], [7])
    expect(1, 'a handle has a reference to object 7', 'path', folder / 'handle.clump', 'A:0')
    for arguments in [['holders'], ['path', path], ['holders', path, path], ['holders', '--top', '0', path], ['holders', '--top', '1001', path],
                      ['holders', '--weak', 'x', path], ['holders', '--root'], ['path', '--top', '3', path, 'Node:0'], ['holders', '--wrong', 'x', path]]:
        expect(2, 'usage: clump-inspect FILE...', *arguments)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dead, alive = check_random(folder)
        check_long(folder)
        check_arrays(folder)
        check_refused(folder)
    for failure in failures:
        print('FAILED:', failure)
    if dead < 10 or alive < 10:
        failures.append(1)
        print(f'FAILED: only {alive} objects alive and {dead} dead were asked for')
    if not failures:
        print(f'clump-inspect: holders of {ROUNDS} heaps and ways to {alive} objects, none to {dead}, as expected')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
