"""Plants faults one at a time and runs the tests that should see them: see scripts/mutate.sh."""
import argparse
import concurrent.futures as futures
import fnmatch
import hashlib
import json
import os
import pathlib
import queue
import random
import shutil
import signal
import sys
import threading
import time

import lists
import operators
import report
import scratch
import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
FILES = ('cl/**/*.cl', 'cl/**/*.clh', 'host/compact/**/*.c', 'host/sort/*.c', 'host/heap/refs.c',
         'host/collect/*.c', 'host/heap/geometry.c', 'host/pool/*.c', 'host/save/*.c', 'host/suballoc/*')
LIMIT_LEAST, LIMIT_FACTOR = 30, 4  # seconds for a test; times what it takes without


def arguments():
    p = argparse.ArgumentParser(prog='mutate.sh', description=__doc__)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--count', type=int, default=300, help='mutants, those kept by hand included')
    p.add_argument('--files', default='*', metavar='GLOB', help='only of files that fit')
    p.add_argument('--kind', choices=('all', 'hand', 'random', 'endurance'), default='all')
    p.add_argument('--only', action='append', default=[], metavar='ID', help='may be repeated')
    p.add_argument('--list', action='store_true', help='print the mutants and run nothing')
    p.add_argument('--stale', action='store_true',
                   help='print the entries of the list that fit no more, and run nothing')
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('--time-left', type=float, metavar='SECONDS', help='begin no mutant too late')
    p.add_argument('--resume', action='store_true', help='keep the results that there are')
    p.add_argument('--tests', metavar='NAME,...', help='only these, where the table has them')
    p.add_argument('--matrix', action='store_true',
                   help='run all tests of a mutant, and say which find mutants that no other finds')
    p.add_argument('--folder', type=pathlib.Path, default=ROOT / 'build' / 'mutate',
                   help='for the copies and the results')
    p.add_argument('--results', type=pathlib.Path, help='default: FOLDER/results.jsonl')
    return p.parse_args()


class Draw:
    """The mutants of a run: hand-kept ones, then random ones spread over the files."""

    def __init__(self, options):
        self.lock, self.options, self.texts = threading.Lock(), options, {}
        self.skipped, self.sequences = 0, {}
        paths = sorted(str(p.relative_to(ROOT)) for pattern in FILES for p in ROOT.glob(pattern))
        self.paths = [p for p in paths if fnmatch.fnmatch(p, options.files)]
        self.list = 'mutants_endurance.txt' if options.kind == 'endurance' else 'mutants.txt'
        hand, self.stale = lists.hand_mutants(ROOT, ROOT / 'scripts' / self.list)
        self.hand = [m for m in hand if fnmatch.fnmatch(m.path, options.files)]

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = (ROOT / path).read_text()
        return self.texts[path]

    def programs(self, mutant):
        return sources.programs_of(mutant.path, self.text(mutant.path), mutant.line)

    def slots(self):
        """A mutant, or the file that one is to be drawn from, for each place of the run."""
        o = self.options
        if o.only:
            drawn = [m for path in self.paths
                     for m in operators.sequence(path, self.text(path), o.seed)]
            found = {m.ident: m for m in drawn + self.hand}
            missing = [i for i in o.only if i not in found]
            if missing:
                sys.exit(f"no mutant {', '.join(missing)}")
            return [found[i] for i in o.only]
        rng = random.Random(o.seed)
        slots = [m for m in self.hand if self.programs(m)] if o.kind != 'random' else []
        rng.shuffle(slots)
        kept_only = o.kind in ('hand', 'endurance')
        slots = slots[:o.count if kept_only else o.count // 2]
        rest = o.count - len(slots) if not kept_only else 0
        # A long file gets more, but not in proportion: its square root.
        share = {p: (sum(map(len, operators.candidates(p, self.text(p)).values()))) ** 0.5
                 for p in self.paths}
        total = sum(share.values())
        exact = {p: rest * s / total for p, s in share.items()} if total else {}
        quota = {p: int(e) for p, e in exact.items()}
        by_rest = sorted(exact, key=lambda p: exact[p] - quota[p], reverse=True)
        for p in by_rest[:rest - sum(quota.values())]:
            quota[p] += 1
        slots += [p for p in self.paths for _ in range(quota.get(p, 0))]
        rng.shuffle(slots)
        return slots

    def next(self, path):
        """The next mutant of a file that some program without a GPU of its own has."""
        with self.lock:
            if path not in self.sequences:
                self.sequences[path] = iter(operators.sequence(path, self.text(path),
                                                               self.options.seed))
            for mutant in self.sequences[path]:
                if self.programs(mutant):
                    return mutant
                self.skipped += 1
        return None


class Run:
    """What the threads of a run share."""

    def __init__(self, options, draw):
        self.o, self.draw, self.lock = options, draw, threading.Lock()
        endurance = options.kind == 'endurance'
        self.table = lists.TestTable(HERE / ('tests_endurance.txt' if endurance else 'tests.txt'))
        self.equivalents = lists.Equivalents(ROOT / 'scripts' / 'mutants_equivalent.txt')
        self.file = options.results or options.folder / 'results.jsonl'
        self.results, self.done, self.longest, self.left = [], {}, 0.0, 0
        self.begin, self.failed, self.limits, self.broken = time.monotonic(), None, {}, set()
        if options.resume and self.file.exists():
            for line in self.file.read_text().splitlines():
                r = json.loads(line)
                self.done[r['ident']] = r

    def side(self, mutant):
        return sources.side_of(mutant.path, self.draw.programs(mutant))

    def tests_of(self, mutant, copy):
        names = self.table.tests(mutant.path, self.side(mutant))
        if self.o.tests:
            names = [n for n in names if n.lstrip('~') in self.o.tests.split(',')]
        return [n for n in names if scratch.base_of(n.lstrip('~')) in copy.tests
                and n.lstrip('~') not in self.broken]

    # ---- Before ----

    def prepare(self, slots):
        """Copies, built and with their kernels compiled; how long each test takes as it is."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if not self.o.resume:
            self.file.write_text('')
        copies = [scratch.Scratch(ROOT, self.o.folder / f'job{j}') for j in range(self.o.jobs)]
        for copy in copies:
            copy.folder.mkdir(parents=True, exist_ok=True)
            copy.sync()
        paths = [s.path if isinstance(s, operators.Mutant) else s for s in slots]
        if not copies[0].clang and any(sources.is_device(p) for p in paths):
            print('mutate.sh needs clang, to tell kernels that do not compile', file=sys.stderr)
            sys.exit(77)
        if self.o.list:
            return copies
        with futures.ThreadPoolExecutor(self.o.jobs) as pool:
            list(pool.map(scratch.Scratch.configure, copies))
        wanted = {t.lstrip('~') for s in slots for t in self._tests_for(s, copies[0])}
        missing = {scratch.base_of(n) for n in self.table.names()} - set(copies[0].tests)
        if missing:
            print(f"no tests {' '.join(sorted(missing))}: left out")
        with futures.ThreadPoolExecutor(self.o.jobs) as pool:
            list(pool.map(lambda copy: copy.make(wanted), copies))
        self._baseline(copies, sorted(wanted))
        return copies

    def _tests_for(self, slot, copy):
        if isinstance(slot, operators.Mutant):
            return self.tests_of(slot, copy)
        sides = ('cpu', 'gpu', 'both') if sources.is_device(slot) else ('host',)
        names = [n for side in sides for n in self.table.tests(slot, side)]
        return [n for n in names if scratch.base_of(n.lstrip('~')) in copy.tests
                and (not self.o.tests or n.lstrip('~') in self.o.tests.split(','))]

    def _baseline(self, copies, names):
        digest = hashlib.sha256()
        for name in sorted(scratch.tree_files(ROOT)):
            if name.split('/')[0] in ('cl', 'host', 'include', 'tests', 'bench', 'cmake'):
                digest.update(name.encode() + (ROOT / name).read_bytes())
        file = self.o.folder / 'baseline.json'
        known = json.loads(file.read_text()) if file.exists() else {}
        if known.get('tree') != digest.hexdigest():
            known = {'tree': digest.hexdigest(), 'seconds': {}}
        idle = queue.SimpleQueue()
        for copy in copies:
            idle.put(copy)

        def run(name):
            copy = idle.get()
            try:
                return name, *copy.run_cold(name, 1200)
            finally:
                idle.put(copy)

        with futures.ThreadPoolExecutor(len(copies)) as pool:
            unknown = [name for name in names if name not in known['seconds']]
            for name, verdict, seconds in pool.map(run, unknown):
                print(f'without a mutant: {name} {verdict} in {seconds:.1f} s', flush=True)
                if verdict in ('failed', 'hung'):
                    sys.exit(f'{name} does not pass without a mutant')
                known['seconds'][name] = seconds if verdict == 'passed' else None
                file.write_text(json.dumps(known))
        for name, seconds in known['seconds'].items():
            if seconds is None:
                self.broken.add(name)
            else:
                self.limits[name] = max(LIMIT_LEAST, LIMIT_FACTOR * seconds)
        full = [copy for copy in copies if copy.cached()]
        for copy in copies:
            for other in full if not copy.cached() or unknown else []:
                if other is not copy:
                    shutil.copytree(other.cache, copy.cache, dirs_exist_ok=True)

    # ---- One mutant ----

    def judge(self, copy, mutant, kept):
        result = {'seconds': 0.0, 'ran': [], 'found_by': []}
        begin = time.monotonic()
        names = self.tests_of(mutant, copy)
        copy.plant(mutant)
        try:
            for name in names:
                plain = name.lstrip('~')
                copy.make([plain])
                verdict, seconds = copy.run(plain, self.limits[plain])
                if verdict == 'failed' and name.startswith('~'):
                    verdict, seconds = copy.run(plain, self.limits[plain])
                result['ran'].append(plain)
                if verdict not in ('failed', 'hung'):
                    continue
                if not result['found_by']:
                    result.update(verdict='found', by=plain, how=verdict)
                result['found_by'].append(plain)
                if not self.o.matrix:
                    break
            if not result['found_by']:
                result['verdict'] = 'survived'
        except scratch.BuildError as error:
            result.update(verdict='discarded', why='a test does not build', words=str(error)[-500:])
        finally:
            copy.restore()
            copy.forget(kept)
        result['seconds'] = round(time.monotonic() - begin, 2)
        return result

    def note(self, mutant, result):
        old, new = operators.changed_lines(self.draw.text(mutant.path), mutant)
        known = self.equivalents.find(mutant.path, old, new)
        if known and result['verdict'] == 'survived':
            result['verdict'] = 'equivalent'
        full = {'ident': mutant.ident, 'path': mutant.path, 'line': mutant.line,
                'kind': mutant.kind, 'note': mutant.note, 'old': old, 'new': new, **result}
        with self.lock:
            self.results.append(full)
            self.longest = max(self.longest, full['seconds'])
            with open(self.file, 'a', encoding='utf-8') as out:
                out.write(json.dumps(full) + '\n')
            print(report.line_of(full), flush=True)

    def known(self, mutant):
        """The result of an earlier run that goes on here; or nothing."""
        result = self.done.get(mutant.ident)
        if result:
            old, new = operators.changed_lines(self.draw.text(mutant.path), mutant)
            if result['verdict'] == 'survived' and self.equivalents.find(mutant.path, old, new):
                result['verdict'] = 'equivalent'
            with self.lock:
                self.results.append(result)
        return result

    def fill(self, copy, slot, kept):
        """Find the mutant for a slot, and judge it."""
        is_drawn = not isinstance(slot, operators.Mutant)
        while True:
            mutant = self.draw.next(slot) if is_drawn else slot
            if mutant is None:
                return  # the file has no more
            result = self.known(mutant)
            if result is None:
                programs = self.draw.programs(mutant)
                why = copy.reason_against(mutant, programs)
                if why:
                    result = {'verdict': 'discarded', 'why': why, 'seconds': 0.0}
                elif self.o.list:
                    result = {'verdict': 'listed', 'seconds': 0.0}
                    with self.lock:
                        print(report.listing(mutant, self.draw.text(mutant.path),
                                             self.side(mutant)), flush=True)
                else:
                    result = self.judge(copy, mutant, kept)
                if not self.o.list:
                    self.note(mutant, result)
            if not is_drawn or result['verdict'] != 'discarded':
                return

    def is_late(self):
        spent = time.monotonic() - self.begin
        return self.o.time_left is not None and spent + self.longest > self.o.time_left

    def work(self, copy, slots):
        kept = copy.cached()
        while True:
            with self.lock:
                if not slots or self.failed:
                    return
                if self.is_late():
                    self.left += len(slots)
                    slots.clear()
                    return
                slot = slots.pop(0)
            try:
                self.fill(copy, slot, kept)
            except BaseException as error:  # told by the main thread
                self.failed = error
                return

    def go(self, slots):
        copies = self.prepare(slots)
        threads = [threading.Thread(target=self.work, args=(copy, slots)) for copy in copies]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.failed:
            raise self.failed


def main():
    options = arguments()
    options.folder = options.folder.resolve()
    os.nice(10)

    def stop(*_):
        scratch.kill_all()
        os._exit(130)  # the next run puts the copies in order

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    draw = Draw(options)
    for words in draw.stale:
        print(f'{draw.list}: {words}', file=sys.stderr)
    if options.stale:
        print(f'{len(draw.hand)} entries fit')
        return 2 if draw.stale else 0
    run = Run(options, draw)
    run.go(draw.slots())
    if options.list:
        return 2 if draw.stale else 0
    text, survivors = report.summary(run.results, draw.skipped, run.left)
    print('\n' + text)
    if options.matrix:
        print('\n' + report.matrix(run.results))
    return 2 if draw.stale else 1 if survivors else 0


if __name__ == '__main__':
    sys.exit(main())
