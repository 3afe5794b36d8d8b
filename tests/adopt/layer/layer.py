#!/usr/bin/env python3
"""libclump-layer.so under programs that know nothing of it.

    layer.py LAYER PROGRAM ENDING LATE LOADER HELLO BENCH FOLDER          the short part
    layer.py LAYER PROGRAM ENDING LATE LOADER HELLO BENCH FOLDER --all    other programs: clinfo, clpeak, a tuner of CLBlast, OpenCV; those that
                                                       are not installed are left out with words

PROGRAM is program.c, ENDING ending.c, LATE the layer late.c, LOADER loader.c, HELLO examples/hello, BENCH clump-bench or an empty word. Exit status 77: the loader has no layers, or there is no
device.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
TRACES = ROOT / 'bench/pool/traces'
POOL = {'CLUMP_LAYER_POOL': '4M', 'CLUMP_LAYER_NO_IMAGES': '1'}
NO_GPUS = 'buffers are pooled only on CPUs'
ENDS = re.compile(r'^not released: (\d+) objects, (\d+) bytes$', re.M)
failures = []


def expect(condition, words):
    if not condition:
        failures.append(words)
        print(f'FAILED: {words}')


class Layer:
    def __init__(self, library, folder):
        self.library, self.folder, self.number = library, folder, 0

    def run(self, command, variables=None, layers=True, timeout=280, below=None):
        """The finished process; `below`: a layer between this one and the driver. Its `report` and `trace` are the texts of the files that the layer wrote, or ''."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith('CLUMP_LAYER_') and name != 'OPENCL_LAYERS'}
        files = {}
        if layers:
            environment['OPENCL_LAYERS'] = f'{below}:{self.library}' if below else self.library
        if variables is not None:
            self.number += 1
            files = {name: self.folder / f'{self.number}.{name.lower()}' for name in ('REPORT', 'TRACE')}
            environment.update({f'CLUMP_LAYER_{name}': str(path) for name, path in files.items()})
            environment.update(variables)
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=timeout)
        for name in ('REPORT', 'TRACE'):
            path = files.get(name)
            setattr(done, name.lower(), path.read_text() if path and path.exists() else '')
        done.trace_file = files.get('TRACE')
        return done

    def same(self, name, command, variables, only_pooled=False, compare=True):
        """With the layer as without: status and output."""
        plain, under = self.run(command, layers=False), self.run(command, variables)
        expect(plain.returncode == 0, f'{name}: status {plain.returncode} without the layer: {plain.stdout[-300:]}{plain.stderr[-300:]}')
        expect(under.returncode == plain.returncode, f'{name}: status {under.returncode} with the layer: {under.stdout[-300:]}'
                                                     f'{under.stderr[-300:]}')
        if compare and plain.stdout != under.stdout:
            pairs = zip(plain.stdout.splitlines() + [''], under.stdout.splitlines() + [''])
            at, pair = next(((i, p) for i, p in enumerate(pairs) if p[0] != p[1]), (0, ('', '')))
            expect(False, f'{name}: line {at + 1} is "{pair[1]}" with the layer, and "{pair[0]}" without')
        expect('clump-layer: report' in under.report, f'{name}: no report')
        if only_pooled and NO_GPUS not in under.report:
            made, pooled = number(under.report, r'^made: (\d+)'), number(under.report, r'^pooled: (\d+)')
            expect(made == pooled and made > 0, f'{name}: {made} objects were made, and {pooled} pooled')
        return under


def number(text, pattern):
    found = re.search(pattern, text, re.M)
    return int(found[1]) if found else -1


def check_exports(library):
    names = {line.split()[-1] for line in subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True,
                                                         text=True).stdout.splitlines()}
    expect(names == {'clGetLayerInfo', 'clInitLayer', 'clInitLayerWithProperties', 'clDeinitLayer'}, f'the layer exports {sorted(names)}')
    needs = subprocess.run(['readelf', '-d', library], check=True, capture_output=True, text=True).stdout
    expect('libOpenCL' not in needs, f'the layer brings a loader into the process: {needs}')


def check_program(layer, program):
    plain = layer.run([program, 'same'], layers=False)
    if plain.returncode == 77:
        print(f'skipped: {plain.stdout}')
        sys.exit(77)
    loaded = layer.run([program, 'same'])  # without a variable
    expect((loaded.returncode, loaded.stdout, loaded.stderr) == (0, plain.stdout, ''), 'a layer without variables changes something')
    under = layer.same('same', [program, 'same'], POOL)
    expect(number(under.report, r'^pooled: (\d+)') > 150 or NO_GPUS in under.report, f'same: hardly anything was pooled: {under.report}')
    # 7 sets of flags that say where a buffer is to be, 5 sizes, with and without memory of the host.
    expect(number(under.report, r'not pooled, by their flags: (\d+)') == 70, f'same: reasons are missing: {under.report}')
    # A driver may make a buffer of 2^50 bytes, and a sub-buffer of none, of which this program does not know what to do.
    expect(ENDS.search(under.report) and (ENDS.search(under.report)[1] == '0' or NO_GPUS in under.report), f'same: {under.report}')
    # A device may make images of buffers and none of sub-buffers: nothing is pooled then, and the report says why.
    images = layer.same('same, images of buffers', [program, 'same', 'images'], {'CLUMP_LAYER_POOL': '4M'})
    expect(number(images.report, r'^pooled: (\d+)') > 0 or 'Set CLUMP_LAYER_NO_IMAGES=1' in images.report or NO_GPUS in images.report,
           f'neither pooled nor told why not: {images.report}')
    reuse = layer.same('reuse', [program, 'reuse'], POOL, only_pooled=True)
    expect(reuse.stdout.count('256 of 256 buffers are whole') == 2, f'reuse: {reuse.stdout}')
    layer.same('threads', [program, 'threads', '4'], POOL, only_pooled=True)


def check_leaks(layer, program):
    for variables in ({}, POOL):
        done = layer.run([program, 'leak'], variables)
        found = ENDS.search(done.report)
        expect(found and found.groups() == ('4', '3077'), f'leaks: {done.report}')
        groups = re.split(r'^  (?=\d+ x )', done.report, flags=re.M)[1:]
        of_three = [g for g in groups if g.startswith('3 x buffer, 3000 bytes')]
        of_one = [g for g in groups if g.startswith('1 x buffer, 77 bytes')]
        expect(len(groups) == 2 and len(of_three) == 1 and len(of_one) == 1, f'leaks by place: {done.report}')
        for group, names in ((of_three, ('leak_three', 'leak_one')), (of_one, ('leak_one', 'leak_three'))):
            expect(group and f'({names[0]}+' in group[0] and f'({names[1]}+' not in group[0] and '(main+' in group[0] and
                   'libclump-layer' not in group[0] and 'libOpenCL' not in group[0], f'the place of a leak: {group}')


def check_limit(layer, program):
    for variables in ({}, POOL):
        done = layer.run([program, 'limit'], {**variables, 'CLUMP_LAYER_LIMIT': '10M'})
        expect(done.returncode == 0 and done.stdout.count('10 buffers, then -4\n') == 2 and
               'not made, -4' in done.stdout, f'a limit of 10 MiB: {done.stdout}')
        expect('refused by the limit of 10485760 bytes: 3\n' in done.report and 'at most 10485760 bytes' in done.report,
               f'a limit of 10 MiB: {done.report}')
    free = layer.run([program, 'limit'], {})
    expect(free.stdout.count('100 buffers, then 0\n') == 2, f'without a limit: {free.stdout}')


def check_ends(layer, program):
    for how, leaked in (('fork', ('2', '444')), ('exit', None)):
        done = layer.run([program, how], POOL, timeout=60)
        expect(done.returncode == 0, f'{how}: status {done.returncode}')
        expect(done.report.count('clump-layer: report\n') == 1, f'{how}: {done.report}')
        if leaked:
            found = ENDS.search(done.report)
            expect(found and found.groups() == leaked, f'{how}: {done.report}')
    text = layer.run([program, 'leak'], {'CLUMP_LAYER_REPORT': 'stderr'})
    expect('not released: 4 objects' in text.stderr, f'a report to stderr: {text.stderr}')
    named = layer.run([program, 'leak'], {'CLUMP_LAYER_REPORT': str(layer.folder / 'of-%p.report')})
    expect(named.returncode == 0 and list(layer.folder.glob('of-[0-9]*.report')), 'no report with the number of the process')


def check_handlers(layer, ending):
    """exit() in a signal's handler: the process ends, with a report, or with words that there is none."""
    for variables in ({}, POOL):
        told = {'report': 0, 'no report: a thread was inside of the layer': 0}
        for number_of_request in range(1, 100):
            try:
                done = layer.run([ending, number_of_request], variables, timeout=30)
            except subprocess.TimeoutExpired:
                expect(False, f'exit() at request {number_of_request} for memory: the process hangs')
                continue
            if done.returncode == 3:
                break
            words = {9: ', as the layer asked for memory'}.get(done.returncode, '')
            expect(done.returncode == 0, f'exit() at request {number_of_request} for memory: status {done.returncode}{words}')
            found = [said for said in told if done.report.startswith(f'clump-layer: {said}\n')]
            expect(len(found) == 1, f'exit() at request {number_of_request} for memory: {done.report}')
            for said in found:
                told[said] += 1
        print(f'exit() in a handler: {told}')
        expect(min(told.values()) > 0, f'exit() in a handler, with the lock and without: {told}')


def check_late(layer, program, late):
    """Over a driver that tells late which objects are gone."""
    done = layer.run([program, 'late'], {}, below=late)
    expect((done.returncode, done.stdout) == (0, 'the same handle\n'), f'late: status {done.returncode}, {done.stdout}')
    found = ENDS.search(done.report)
    expect(found and found.groups() == ('1', '2000'), f'the end of an object that had the handle before: {done.report}')
    freed = re.findall(r'^f (\w+)$', done.trace, re.M)
    left = [size for name, size in re.findall(r'^a (\w+) (\d+)$', done.trace, re.M) if name not in freed]
    expect(left == ['2000'] and len(freed) == len(set(freed)), f'the trace of ends that come late, or never: {done.trace}')
    done = layer.run([program, 'limit'], {'CLUMP_LAYER_LIMIT': '10M'}, below=late)
    expect(done.returncode == 0 and done.stdout.count('10 buffers, then -4\n') == 2, f'a limit, and ends that come late: {done.stdout}')
    freed = re.findall(r'^f (\w+)$', done.trace, re.M)
    expect(len(freed) == len(set(freed)) == 20, f'a limit: {len(freed)} ends in the trace, of {len(set(freed))} buffers')


def check_refused(layer, program, late):
    """What the driver refuses is not recorded, also where it gives a handle; parts of a device are devices."""
    for below in (None, late):
        done = layer.run([program, 'refused'], POOL, below=below)
        expect((done.returncode, done.stdout) == (0, 'one buffer\n'), f'refused: status {done.returncode}, {done.stdout}')
        expect('made: 1 objects' in done.report and 'not released: 0 objects' in done.report, f'refused: {done.report}')
        expect('contexts without a pool' not in done.report or NO_GPUS in done.report, f'a context that was refused: {done.report}')
    done = layer.same('parts', [program, 'parts'], POOL)
    several = number(done.report, r'^  (\d+) contexts without a pool: it has several devices')
    pooled = number(done.report, r'^pooled: (\d+)')
    expect('no parts' in done.stdout or (several == 1 and (pooled == 3 or NO_GPUS in done.report)), f'parts: {done.report}')


def check_loaders(layer, library, loader):
    """A loader that begins and ends the layer as those of 2026 do; several loaders in one process."""
    for variables, made in (({}, 6), (POOL, 6)):
        done = layer.run([loader, 'ends', library], variables, layers=False)
        found = ENDS.search(done.report)
        expect((done.returncode, done.stdout) == (0, ''), f'a loader of 2026: status {done.returncode}, {done.stdout}{done.stderr}')
        expect(number(done.report, r'^made: (\d+)') == made and found and found.groups() == ('2', '3000'), f'a loader of 2026: {done.report}')
    needs = subprocess.run(['ldd', loader], check=True, capture_output=True, text=True).stdout
    linked = pathlib.Path(re.search(r'libOpenCL\.so\S* => (\S+)', needs)[1])
    other = layer.folder / 'libOpenCL-12345678.so.1'  # as in packages of Python
    shutil.copy(linked, other)
    for variables in ({}, POOL):
        done = layer.run([loader, 'two', other], {**variables, 'CLUMP_LAYER_LIMIT': '1M'})
        found = ENDS.search(done.report)
        expect((done.returncode, done.stdout) == (0, '1 MiB: -4\n'), f'two loaders: status {done.returncode}, {done.stdout}{done.stderr}')
        expect(number(done.report, r'^made: (\d+)') == 4 and found and found.groups() == ('1', '77'), f'two loaders: {done.report}')
        expect(re.search(f'^loaders, seen together:\n  .*/{linked.name}\n  {other}\n', done.report, re.M) and 'unseen' not in done.report,
               f'two loaders: {done.report}')
        if variables and NO_GPUS not in done.report:
            expect(number(done.report, r'^pooled: (\d+)') == 4, f'two loaders, pooled: {done.report}')
        done = layer.run([loader, 'unseen', other], {**variables, 'CLUMP_LAYER_LIMIT': '1M'})
        expect((done.returncode, done.stdout) == (0, '1 MiB: 0\n'), f'an unseen loader: status {done.returncode}, {done.stdout}{done.stderr}')
        expect(number(done.report, r'^made: (\d+)') == 2 and re.search(f'^unseen: .*: {other}$', done.report, re.M),
               f'an unseen loader: {done.report}')


def check_pointers(layer, program, late):
    """SVM of the device; USM of late.c, of the device if it has any, and of Intel's runtime where it was fetched."""
    at = pathlib.Path(os.environ.get('CLUMP_IMPLEMENTATIONS', pathlib.Path.home() / '.cache/clump/opencl')) / 'intel'
    intel = {'OCL_ICD_VENDORS': str(at / 'vendors'), 'LD_LIBRARY_PATH': f"{at / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    if not (at / 'vendors').exists():
        print("without Intel's runtime: no USM of a driver was tried")
    for below, of_driver in [(None, {}), (late, {})] + [(None, intel)] * (at / 'vendors').exists():
        for limit, svm, usm in ((None, 'made', '0 0 0'), ('100K', 'not made', '-5 -5 -5')):
            done = layer.run([program, 'pointers'], {**of_driver, **({'CLUMP_LAYER_LIMIT': limit} if limit else {})}, below=below)
            name = f'pointers, {"Intel" if of_driver else below}, limit {limit}'
            has_svm, has_usm = 'no SVM' not in done.stdout, 'no USM' not in done.stdout
            expect(has_usm or not (below or of_driver), f'{name}: {done.stdout}')
            words = f'1 MiB of SVM: {svm}\n' if has_svm else 'no SVM\n', f'1 MiB of USM: {usm}\n' if has_usm else 'no USM\n'
            expect((done.returncode, done.stdout) == (0, ''.join(words)), f'{name}: status {done.returncode}, {done.stdout}{done.stderr}')
            made = has_svm * (3 if limit else 4) + has_usm * (3 if limit else 6)
            found = ENDS.search(done.report)
            expect(number(done.report, r'^made: (\d+)') == made and found and
                   found.groups() == (str(has_svm + has_usm), str(1000 * has_svm + 400 * has_usm)), f'{name}: {done.report}')
            expect('shared virtual memory, 1000 bytes' in done.report or not has_svm, f'{name}: {done.report}')
            expect('unified shared memory, 400 bytes' in done.report or not has_usm, f'{name}: {done.report}')


def check_values(layer, program):
    wrong = [({'CLUMP_LAYER_POOL': '4Q'}, 'CLUMP_LAYER_POOL="4Q" is not a number of bytes'),
             ({'CLUMP_LAYER_POOL': ''}, 'CLUMP_LAYER_POOL="" is not a number'),
             ({'CLUMP_LAYER_POOL': '0'}, 'above 0'),
             ({'CLUMP_LAYER_POOL': '-1'}, '"-1" is not a number'),
             ({'CLUMP_LAYER_LIMIT': '20000000000000000000'}, 'CLUMP_LAYER_LIMIT'),
             ({'CLUMP_LAYER_LIMIT': '17179869184G'}, 'CLUMP_LAYER_LIMIT'),
             ({'CLUMP_LAYER_LIMIT': '256MB'}, 'as 256M'),
             ({'CLUMP_LAYER_NO_IMAGES': 'yes', 'CLUMP_LAYER_POOL': '1M'}, 'must be 0 or 1'),
             ({'CLUMP_LAYER_NO_IMAGES': '1'}, 'CLUMP_LAYER_POOL, which turns them on, is not set'),
             ({'CLUMP_LAYER_REPORT': ''}, 'the name is empty'),
             ({'CLUMP_LAYER_TRACE': str(layer.folder / 'none/trace')}, 'No such file'),
             ({'CLUMP_LAYER_LIMITS': '1M'}, 'unknown variable CLUMP_LAYER_LIMITS')]
    for variables, words in wrong:
        done = layer.run([program, 'leak'], variables)
        expect(words in done.stderr and 'The program runs without it' in done.stderr, f'{variables}: {done.stderr}')
        expect(done.returncode == 0 and not done.report, f'{variables}: status {done.returncode}, {done.report}')


def check_trace(layer, program, bench):
    done = layer.run([program, 'threads', '2'], POOL)
    lines = done.trace.splitlines()
    allocations = sum(line.startswith('a ') for line in lines)
    expect(lines[:1] == ['# clump pool trace 1'] and 'layer_program' in lines[1], f'the head of a trace: {lines[:2]}')
    expect(allocations == 600 == number(done.report, r'^made: (\d+)'), f'{allocations} allocations in the trace: {done.report}')
    expect(allocations == sum(line.startswith('f ') for line in lines), 'what was freed is missing in the trace')
    if not bench:
        print('without clump-bench: no trace is replayed')
        return
    for target in ('virtual', 'buffers', 'driver'):
        replayed = layer.run([bench, 'run', 'pool-trace', '--set', f'file={done.trace_file}', '--set', f'target={target}', '--repeat',
                              '1'], layers=False)
        expect(replayed.returncode == 0 and 'check: ok: 600 allocations' in replayed.stdout,
               f'the trace replayed, {target}: {replayed.stdout[-400:]}{replayed.stderr[-400:]}')


def has_python(module):
    """The Python of this script, or the system's, that has the module."""
    for python in (sys.executable, '/usr/bin/python3'):
        if subprocess.run([python, '-c', f'import {module}'], capture_output=True).returncode == 0:
            return python
    print(f'without {module}: no program of it was tried')
    return None


def check_pyopencl(layer, grids):
    python = has_python('pyopencl')
    if python:
        done = layer.same('PyOpenCL', [python, TRACES / 'pyopencl_solve.py', *grids], POOL, only_pooled=True)
        expect(done.stdout.count('right') == len(grids), f'PyOpenCL: {done.stdout}')


def check_others(layer):
    python = has_python('cv2')
    if python:
        os.environ['OPENCV_OPENCL_DEVICE'] = ':CPU:'
        layer.same('OpenCV', [python, TRACES / 'opencv_pipeline.py'], POOL, only_pooled=True)
    if shutil.which('clinfo'):  # with the trial whether images may be refused
        layer.same('clinfo, images of buffers', ['clinfo'], {'CLUMP_LAYER_POOL': '4M'})
    for name, words, compare in (('clinfo', [], True), ('clpeak', ['--kernel-latency', '--transfer-bandwidth'], False),
                                 ('clblast_tuner_invert', ['-precision', '32'], False)):
        if not shutil.which(name):
            print(f'without {name}: it was not tried')
            continue
        done = layer.same(name, [name, *words], POOL, compare=compare)
        found = ENDS.search(done.report)
        expect(found and found[1] == '0', f'{name}: {done.report}')


def main():
    library, program, ending, late, loader, hello, bench, folder = sys.argv[1:9]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)  # tuners leave files
    layer = Layer(library, folder)
    if 'clump-layer' not in layer.run([program, 'leak'], {'CLUMP_LAYER_POOL': 'no'}).stderr:
        print('skipped: the loader has no layers, which ocl-icd has since 2.3')
        return 77
    if sys.argv[9:] == ['--all']:
        check_pyopencl(layer, ['16', '64', '100'])
        check_others(layer)
        layer.same('threads', [program, 'threads', '32'], POOL, only_pooled=True)
    else:
        check_exports(library)
        check_program(layer, program)
        check_leaks(layer, program)
        check_limit(layer, program)
        check_ends(layer, program)
        check_handlers(layer, ending)
        check_late(layer, program, late)
        check_refused(layer, program, late)
        check_loaders(layer, library, loader)
        check_pointers(layer, program, late)
        check_values(layer, program)
        check_trace(layer, program, bench)
        layer.same('hello', [hello], {**POOL, 'CLUMP_LAYER_POOL': '64M'})
        check_pyopencl(layer, ['8'])
    print(f'{layer.number} runs under the layer, {len(failures)} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
