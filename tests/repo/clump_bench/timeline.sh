#!/usr/bin/env bash
# --timeline: the file is a trace with the kernels of one round, that round is in no figure, and the results say so; what cannot be
# recorded, and a file that cannot be written, are refused.
#
# Read first: common.sh, which says how it is called.
# shellcheck disable=SC1091,SC2154 # common.sh sets bench, folder and sets
source "$(dirname "$0")/common.sh"

rm -rf "$folder/no"
small=(--no-cache --repeat 1 --set width=64 --set height=48 --set steps=20)
"$bench" run app-generation "${small[@]}" --timeline "$folder/timeline.json" --json "$folder/results.json" >"$folder/out" 2>&1 ||
    fail "a run with --timeline: $(tail -3 "$folder/out")"
# The application keeps a sample of every round, so that a second one would show.
python3 - "$folder/timeline.json" "$folder/results.json" <<'END' || fail "the timeline, or the results, of app-generation"
import json
import sys

trace, results = (json.load(open(path, encoding='utf-8')) for path in sys.argv[1:])
events = [e for e in trace['traceEvents'] if e['ph'] == 'X']
threads = {e['tid']: e['args']['name'] for e in trace['traceEvents'] if e['name'] == 'thread_name'}
of_program = [e for e in events if threads[e['tid']] == 'kernels of the program']
assert len({e['name'] for e in of_program}) >= 3, of_program
assert max(sum(e['name'] == name for e in of_program) for name in {e['name'] for e in of_program}) in range(20, 40), 'not one round of 20 steps'
assert all(e['dur'] >= 0 and e['ts'] >= 0 for e in events) and trace['otherData']['dropped'] == 0
run = results['benchmarks'][0]
notes = [note for note in run['notes'] if 'is in no figure' in note]
assert len(notes) == 1 and f': {len(events)} events in ' in notes[0], run['notes']
assert run['check']['result'] == 'ok', run
step = run['metrics']['time_per_step_us']
assert step['min'] == step['max'], f'more than one round is in the figures: {step}'
END

refused 1 "cannot write the timeline $folder/no/where: No such file" run app-generation "${small[@]}" --timeline "$folder/no/where"
if grep -q time_per_step_us "$folder/out"; then fail "it was measured before the file was refused"; fi
[ ! -w /dev/full ] || refused 1 "all of the timeline /dev/full: No space left" run app-generation "${small[@]}" --timeline /dev/full
refused 2 "one benchmark, not 2" run app-generation app-wa-tor --timeline "$folder/no"
refused 2 "capacity is a single run" run capacity --timeline "$folder/no"
refused 2 "enumerate, which makes its own context" run enumerate --timeline "$folder/no"
refused 2 "pool-trace needs none" run pool-trace --set target=virtual --timeline "$folder/no"
refused 2 "--timeline belongs to the command run" list --timeline "$folder/no"
[ ! -e "$folder/no" ] || fail "a file was made for a run that was refused"
