#!/usr/bin/env python3
"""The workflows of a hosted CI (.github/workflows): YAML with jobs whose commands bash accepts, and the scripts, presets and
files of this repository that these name exist.

    workflows.py       exit status 1 says what is wrong; 77: skipped, there is no PyYAML
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
try:
    import yaml
except ImportError:
    print('skipped: it needs PyYAML (Debian: python3-yaml)')
    sys.exit(77)


def presets():
    text = json.loads((ROOT / 'CMakePresets.json').read_text())
    return {(kind, p['name']) for kind in ('configure', 'build', 'test') for p in text[f'{kind}Presets']}


def values(job, text):
    """The text with each value of the job's matrix in place of its name, so far as a preset is named."""
    found = re.search(r'\$\{\{ matrix\.(\w+) \}\}', text)
    if not found:
        return [text]
    return [text.replace(found[0], str(value)) for value in job['strategy']['matrix'][found[1]]]


def check_command(command):
    done = subprocess.run(['bash', '-n'], input=command, capture_output=True, text=True)
    if done.returncode:
        yield f'bash does not accept it: {done.stderr}'
    for path in re.findall(r'(?<![\w/-])(?:scripts|tests|\.ci)/[\w./-]+', command):
        if not (ROOT / path).exists():
            yield f'there is no {path}'
        elif path.startswith(('scripts/', '.ci/')) and not os.access(ROOT / path, os.X_OK):
            yield f'{path} is no program'
    for program, build, name in re.findall(r'\b(cmake|ctest) (--build )?--preset (\S+)', command):
        kind = 'test' if program == 'ctest' else 'build' if build else 'configure'
        if (kind, name) not in presets():
            yield f'CMakePresets.json has no {kind} preset {name}'


def main():
    files = sorted((ROOT / '.github/workflows').glob('*.yml'))
    wrong, commands = [], 0
    for file in files:
        for name, job in yaml.safe_load(file.read_text())['jobs'].items():
            if 'runs-on' not in job or 'timeout-minutes' not in job:
                wrong.append(f'{file.name}: {name}: needs runs-on and timeout-minutes')
            for step in job['steps']:
                if ('run' in step) == ('uses' in step):
                    wrong.append(f'{file.name}: {name}: a step has either run or uses')
                for command in values(job, step.get('run', '')):
                    commands += bool(command)
                    wrong += [f'{file.name}: {name}: {command.strip()}: {words}' for words in check_command(command)]
    print('\n'.join(wrong) if wrong else f'{len(files)} workflows, {commands} commands')
    return 1 if wrong or not commands else 0


if __name__ == '__main__':
    sys.exit(main())
