"""A copy of the tree to plant mutants in: building and running tests there."""
import filecmp
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import sources

OUTPUT_MAX = 1 << 30  # bytes that a test may write to a file: mutants write without end
MEMORY_MAX = 8 << 30  # and take; not of ThreadSanitizer, which takes address space by the terabyte, as others do
# Tests whose kernels take longer to run as plain code than optimised ones to compile.
OPTIMISED = ('diff_sort', 'stress_alloc')
CLANGS = ('clang-14', 'clang', 'clang-15', 'clang-16', 'clang-17', 'clang-18', 'clang-19')
# What runs with sanitizers see too, as far as it costs next to nothing: indices beyond an array.
BOUNDS = '-fsanitize=bounds -fsanitize-undefined-trap-on-error'
SYNTAX = ['-x', 'cl', '-cl-std=CL1.2', '-Xclang', '-finclude-default-header', '-w',
          '-D__OPENCL_VERSION__=120', '-I', '.', '-I', 'cl', '-target', 'spir64-unknown-unknown']


class BuildError(Exception):
    pass


def base_of(name):
    """The ctest name in a name of the table: of TEST+ARGUMENT TEST, of TEST+ARGUMENT@gpu TEST@gpu."""
    return re.sub(r'\+[^@]*', '', name)


def arguments_of(name):
    return re.findall(r'\+([^+@]*)', name)


running = set()  # process groups of tests


def kill_all():
    for group in list(running):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _limit(memory):
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_MAX, OUTPUT_MAX))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def find_clang():
    wanted = os.environ.get('CLANG')
    return next((c for c in ([wanted] if wanted else []) + list(CLANGS) if shutil.which(c)), None)


def tree_files(root):
    """The files of the tree: what git tracks or would."""
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=root,
                         check=True, capture_output=True, text=True).stdout
    return [name for name in out.split('\0') if name and (root / name).is_file()]


class Scratch:
    """One copy; used by one thread at a time."""

    def __init__(self, root, folder):
        self.root, self.folder, self.build = root, folder, folder / 'build'
        self.cache = self.build / 'tests' / 'pocl-cache'
        self.tests, self.targets, self.clang, self.originals = {}, {}, find_clang(), {}

    def path(self, name):
        return self.folder / name

    # ---- The copy ----

    def sync(self):
        """Make the copy equal to the tree; files that are so already keep their times."""
        names = tree_files(self.root)
        for name in names:
            to = self.path(name)
            if to.exists() and filecmp.cmp(self.root / name, to, shallow=False):
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / name, to)
            shutil.copymode(self.root / name, to)
        known = set(names)
        for folder, folders, files in os.walk(self.folder):
            if folder == str(self.folder) and 'build' in folders:
                folders.remove('build')
            for file in files:
                full = os.path.join(folder, file)
                if os.path.relpath(full, self.folder) not in known:
                    os.remove(full)

    def configure(self):
        # Each time: the options below may not be those that a copy was kept with.
        self._do(['cmake', '-S', str(self.folder), '-B', str(self.build), '-G', 'Ninja',
                  '-DCMAKE_BUILD_TYPE=RelWithDebInfo',
                  f'-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG -w {BOUNDS}',
                  '-DCLUMP_WERROR=OFF', '-DCLUMP_FUZZ_SANITIZERS=OFF', # see MEMORY_MAX
                  '-DCLUMP_BUILD_TESTS=ON', '-DCLUMP_BUILD_BENCH=OFF', '-DCLUMP_INSTALL=OFF'])
        self._query()

    def _do(self, command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise BuildError((done.stdout + done.stderr)[-4000:])
        return done.stdout

    def _query(self):
        text = self._do(['ctest', '--test-dir', str(self.build), '--show-only=json-v1'])
        outputs = set(line.split(':')[0] for line in
                      self._do(['ninja', '-C', str(self.build), '-t', 'targets', 'all']).split('\n'))
        for test in json.loads(text)['tests']:
            name, command = test['name'], test.get('command', [])
            targets = [os.path.relpath(word, self.build) for word in command
                       if word.startswith(str(self.build) + os.sep)]
            targets = [t for t in targets if t in outputs]
            if not command:  # not built yet: a program of the test's name, or of its beginning
                base = name.split('@')[0]
                while base and f'tests/{base}' not in outputs:
                    base = base.rpartition('_')[0]
                targets = [f'tests/{base}'] if base else []
            self.tests[name], self.targets[name] = test, targets

    def make(self, names):
        """Build what tests need."""
        names = {base_of(name) for name in names}
        targets = sorted({t for name in names for t in self.targets[name]})
        if targets:
            self._do(['ninja', '-C', str(self.build), '--quiet'] + targets)
        if any('command' not in self.tests[name] for name in names):
            self._query()

    # ---- Mutants ----

    def plant(self, mutant):
        text = self.path(mutant.path).read_text()
        self.originals[mutant.path] = text
        self.path(mutant.path).write_text(mutant.apply(text))

    def restore(self):
        for name, text in self.originals.items():
            self.path(name).write_text(text)
        self.originals.clear()

    def _code(self, path, programs):
        """What a file compiles to, or None if it does not; '' of a .clh, which has no code alone."""
        if sources.is_device(path):
            emit = ['-O1', '-S', '-emit-llvm', '-o', '-'] if path.endswith('.cl') else [
                '-fsyntax-only']
            commands = [[self.clang, *SYNTAX, *emit, path] +
                        [f'-D{k}={v}' for k, v in sources.CONFIGURATIONS[name].items()]
                        for name in programs]
        else:
            files = [path] if path.endswith('.c') else [
                f'host/suballoc/{f.name}' for f in
                sorted((self.folder / 'host' / 'suballoc').glob('*.c'))]
            commands = [['cc', '-std=gnu11', '-O2', '-w', '-S', '-o', '-', '-iquote', '.',
                         '-iquote', 'host', '-I', 'include', file] for file in files]
        code = ''
        for command in commands:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
            if done.returncode:
                return None
            code += done.stdout
        return code

    def reason_against(self, mutant, programs):
        """Why a mutant is none: it does not compile, or to the same code as before; '' otherwise."""
        before = self._code(mutant.path, programs)
        self.plant(mutant)
        try:
            after = self._code(mutant.path, programs)
        finally:
            self.restore()
        if after is None:
            return 'does not compile'
        return 'same code' if after and after == before else ''

    # ---- Tests ----

    def cached(self):
        """The programs in the cache of compiled kernels, two levels deep."""
        return {p for pattern in ('*', '*/*') for p in self.cache.glob(pattern)}

    def forget(self, kept):
        """Take out of the cache what was not in it before. Its keys are the programs' sources, so a
        mutant never meets kernels of another; but they would fill the disk."""
        for p in self.cached() - kept:
            if p.is_dir():
                shutil.rmtree(p, ignore_errors=True)
            elif p.exists():
                p.unlink()

    def run_cold(self, name, limit):
        """The same with all kernels to be compiled, as those of a mutant are. They are kept."""
        cold = self.build / 'cold-cache'
        shutil.rmtree(cold, ignore_errors=True)
        cold.mkdir()
        result = self.run(name, limit, {'POCL_CACHE_DIR': str(cold)})
        shutil.copytree(cold, self.cache, dirs_exist_ok=True)
        shutil.rmtree(cold, ignore_errors=True)
        return result

    def run(self, name, limit, more=None):
        """Run a test: 'passed', 'failed', 'hung' or 'skipped', and the seconds it took."""
        test = self.tests[base_of(name)]
        command = test['command'] + arguments_of(name)
        properties = {p['name']: p['value'] for p in test.get('properties', [])}
        env = dict(os.environ)
        env.update(e.split('=', 1) for e in properties.get('ENVIRONMENT', []))
        # A mutant's kernels are compiled anew, and PoCL takes a third of the time for plain code.
        env.update(more or {})
        env.setdefault('POCL_EXTRA_BUILD_FLAGS', '-cl-opt-disable')
        env.setdefault('CLUMP_DEVICE', 'portable')  # else tests take a GPU where there is one
        memory = 0 if '_tsan' in name else MEMORY_MAX
        begin = time.monotonic()
        with open(self.folder / 'build' / 'output.txt', 'wb') as output:
            process = subprocess.Popen(
                command, cwd=properties.get('WORKING_DIRECTORY', self.build / 'tests'), env=env,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True, preexec_fn=lambda: _limit(memory))
            running.add(process.pid)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            try:  # the whole group: a test may have started programs of its own
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            running.discard(process.pid)
        seconds = time.monotonic() - begin
        if status is None:
            return 'hung', seconds
        return {0: 'passed', 77: 'skipped'}.get(status, 'failed'), seconds
