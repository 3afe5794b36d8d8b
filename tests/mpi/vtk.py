#!/usr/bin/env python3
"""Files of sampled agents: vtk.py MPIEXEC CLUMP_BENCH_MPI. VTK's own readers, which ParaView and PyVista use, open the
files of the epidemic: those of 1 and of 3 ranks have the same agents in the same places and states, all agents add up
to the totals that the program prints, and a sample is the same part of them in each step. Skips (77) without VTK."""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.append(os.environ.get('CLUMP_VTK') or os.path.expanduser('~/.cache/clump/vtk'))
try:
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader, vtkXMLPPolyDataReader
except ImportError:
    print('skipped: it needs VTK (scripts/setup.sh --vtk)')
    sys.exit(77)

MPIEXEC, PROGRAM = sys.argv[1:]
WIDTH, HEIGHT, STRIDE, STEPS, PART = 16, 24, 3, 9, 7


def start(ranks, prefix, *options):
    command = [MPIEXEC, '-n', str(ranks), PROGRAM, 'epidemic', f'width={WIDTH}', f'height={HEIGHT}', 'density=6',
               'infected=6000', 'warmup=0', f'steps={STEPS}', f'file={prefix}', *options]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run(ranks, prefix, part):
    """Its output."""
    done = start(ranks, prefix, f'vtk={STRIDE}', f'sample={part}')
    if done.returncode:
        sys.exit(f'FAILED: {ranks} ranks:\n{done.stdout}')
    return done.stdout


def check(is_right, words):
    if not is_right:
        sys.exit(f'FAILED: {words}')


def read(reader, path):
    """Agents as (identity, state, x, y), in order."""
    reader.SetFileName(path)
    reader.Update()
    check(not reader.GetErrorCode(), f'{path}: error {reader.GetErrorCode()}')
    data = reader.GetOutput()
    count = data.GetNumberOfPoints()
    shown = []
    for i in range(data.GetNumberOfCells()): # GetCell() returns the same object each time
        ids = data.GetCell(i).GetPointIds()
        shown += [ids.GetId(j) for j in range(ids.GetNumberOfIds())]
    check(shown == list(range(count)), f'{path}: points that are in no cell')
    values = data.GetPointData()
    identity, state = values.GetArray('identity'), values.GetArray('state')
    check(identity and state and identity.GetNumberOfTuples() == state.GetNumberOfTuples() == count, f'{path}: values')
    agents = []
    for i in range(count):
        x, y, z = data.GetPoint(i)
        check(x in range(WIDTH) and y in range(HEIGHT) and z == 0, f'{path}: an agent is at {x}, {y}, {z}')
        agents.append((identity.GetValue(i), state.GetValue(i), int(x), int(y)))
    return sorted(agents)


def read_steps(prefix, ranks):
    """The agents of each step that the collection names."""
    steps = {}
    for one in xml.etree.ElementTree.parse(prefix + '.pvd').getroot().iter('DataSet'):
        step, path = int(one.get('timestep')), os.path.join(os.path.dirname(prefix), one.get('file'))
        steps[step] = read(vtkXMLPPolyDataReader(), path)
        pieces = [read(vtkXMLPolyDataReader(), f'{prefix}-{step}-{rank}.vtp') for rank in range(ranks)]
        check(sorted(sum(pieces, [])) == steps[step], f'{path}: not the agents of its pieces')
        for rank, piece in enumerate(pieces):
            rows = {agent[3] for agent in piece}
            band = range(HEIGHT * rank // ranks, HEIGHT * (rank + 1) // ranks)
            check(piece and rows <= set(band), f'{path}: rank {rank} has rows {sorted(rows)}')
    check(list(steps) == list(range(STRIDE, STEPS + 1, STRIDE)), f'{prefix}: steps {list(steps)}')
    return steps


with tempfile.TemporaryDirectory() as work:
    found = {}
    for ranks in (1, 3):
        for part in (1, PART):
            prefix = f'{work}/{ranks}-{part}'
            said = run(ranks, prefix, part)
            found[ranks, part] = read_steps(prefix, ranks)
            if part == 1:
                last = [agent[1] for agent in found[ranks, 1][STEPS]]
                totals = re.search(r'(\d+) susceptible, (\d+) infected, (\d+) recovered', said)
                totals = [int(number) for number in totals.groups()]
                check([last.count(kind) for kind in range(3)] == totals and min(totals), f'{ranks} ranks: not {totals}')
    for part in (1, PART):
        for step, agents in found[1, part].items():
            check(agents == found[3, part][step], f'step {step}, sample={part}: 3 ranks have other agents')
    for step, agents in found[1, 1].items():
        sample = [agent for agent in agents if (agent[0] >> 32) % PART == 0]
        check(sample and sample == found[1, PART][step], f'step {step}: not the sample of all agents')
        check(STEPS == step or agents != found[1, 1][step + STRIDE], f'step {step} is the next one')
    check(not [name for name in os.listdir(work) if name.endswith('.part')], 'half a file')
    # A file that cannot be written ends all ranks, with its name; so does a name that cannot be in a file, or a missing one.
    for options, words in ((['vtk=1'], 'none/agents-1-2.vtp.part: No such file or directory'),
                           (['vtk=1', f'file={work}/a&b'], 'a&b-1-0.vtp: the path has one of'),
                           (['vtk=1', 'file='], 'vtk=N needs file=PREFIX')):
        done = start(3, f'{work}/none/agents', *options)
        check(done.returncode and words in done.stdout, f'no error has the words {words}:\n{done.stdout}')
    print(*(len(agents) for agents in found[1, PART].values()), 'of', *(len(a) for a in found[1, 1].values()), 'agents')
