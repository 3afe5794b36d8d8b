#!/usr/bin/env python3
"""docs/measurements/devices.md, between <!-- devices --> and <!-- end -->, has the tables of bench/results/devices, which
clump-info --measure --json made.

    devices.py                 check; exit status 1: it has others
    devices.py --write         write them into the page
    devices.py --run PROGRAM   measure the first device, or the one of CLUMP_DEVICE, by clump-info: it has the rows of the tables
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / 'bench/results/devices'
PAGE = ROOT / 'docs/measurements/devices.md'
PLACE = re.compile(r'(?<=<!-- devices -->\n).*?(?=<!-- end -->)', re.S)
SECONDS_MOST = 60  # half a minute, on a machine that does nothing else
GROUPS = {'Launches and round trips': r'launch_(in|out|event|prof|\d)|round_trip|read_4_bytes', 'Fills and first touch': 'fill|touch',
          'Transfers': '(read|write)_(pinned_)?[0-9]+_KiB|map', 'Atomics': 'atomic',
          'Sub-buffers': 'sub_buffer|launch_(parent|one)', 'Compiler': 'compile', 'Local memory': 'local',
          'Kernels at the same time': 'two_queues|one_queue', 'Arithmetic': '.*_share', 'All of it': 'measured'}


def device_of(text):
    devices = [d for d in json.loads(text)['devices'] if 'measured' in d]
    if not devices:
        sys.exit('devices.py: no device was measured')
    return devices[0]


def files():
    return {path.stem: device_of(path.read_text()) for path in sorted(FOLDER.glob('*.json'))}


def cell(value):
    if value is None:
        return '-'
    return f'{value:,.0f}' if value >= 1000 else f'{value:.3g}'


def table(head, rows):
    return ['| ' + ' | '.join(row) + ' |' for row in (head, ['---'] * len(head), *rows)] + ['']


def page(devices):
    first = next(iter(devices.values()))['measured']
    for stem, device in devices.items():
        if list(device['measured']) != list(first):
            sys.exit(f'{stem}.json has other names than the first file')
    lines = table(['column', 'platform', 'device', 'driver', 'compute units'],
                  [[stem, d['platform'], d['device'], d['driver'], str(d['compute_units'])] for stem, d in devices.items()])
    rest = list(first)
    for title, pattern in GROUPS.items():
        names = [name for name in rest if re.match(pattern, name)]
        rest = [name for name in rest if name not in names]
        lines += [f'### {title}', '']
        lines += table(['', *devices], [[f'`{name}`', *(cell(d['measured'][name]) for d in devices.values())] for name in names])
    if rest:
        sys.exit(f'devices.py: no group for {", ".join(rest)}')
    return '\n'.join(lines)


def run(program):
    wanted = ['--device', os.environ['CLUMP_DEVICE']] if os.environ.get('CLUMP_DEVICE') else []
    answer = subprocess.run([program, '--json', *wanted], capture_output=True, text=True, check=False)
    if answer.returncode == 1 or not any(d['status'] == 'CLUMP_OK' for d in json.loads(answer.stdout)['devices']):
        print('skipped: no device')
        return 77
    device = device_of(subprocess.run([program, '--measure', '--json', *wanted], stdout=subprocess.PIPE, text=True, check=True).stdout)
    names, rows = list(device['measured']), list(next(iter(files().values()))['measured'])
    faults = [f'{name} is not measured' for name in rows if name not in names]
    faults += [f'{name} is not in the tables' for name in names if name not in rows]
    # A device may refuse one thing, such as 64-bit atomics; zero is an answer of arithmetic only.
    faults += [f'{name} is {value}' for name, value in device['measured'].items()
               if value is not None and not (value > 0 or (value == 0 and name.endswith('_share')))]
    faults += [f'{name} is not told' for name in ('launch_in_order_us', 'round_trip_us', 'local_declared_bytes', 'compile_1_kernels_ms')
               if device['measured'].get(name) is None]
    if device['measured'].get('measured_in_s', 0) > SECONDS_MOST:
        faults.append(f'it took {device["measured"]["measured_in_s"]} s')
    for fault in faults:
        print(f'FAILED: {fault}')
    return 1 if faults else 0


def main():
    if sys.argv[1:2] == ['--run']:
        return run(sys.argv[2])
    made, text = page(files()), PAGE.read_text()
    there = PLACE.search(text)
    if not there:
        print('docs/measurements/devices.md has no place for the tables', file=sys.stderr)
        return 1
    if '--write' in sys.argv:
        PAGE.write_text(PLACE.sub(lambda _: made, text, count=1))
    elif there[0] != made:
        print('docs/measurements/devices.md is not what bench/results/devices says: run tests/repo/devices.py --write', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
