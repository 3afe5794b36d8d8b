"""What the scripts of this folder share: their command line, how a driver is built and run, and the JSON.

A driver is a program of ours that includes the peer's headers. It prints lines:

  sample METRIC UNIT VALUE     one for each measured round; medians, least and most go into the JSON
  note WORDS                   kept as it is
  check ok|failed|not-checked WORDS        whether what came out is right; without such a line the run has failed

The JSON is that of clump-bench (bench/harness/report.c), so `clump-bench compare` reads it beside ours. A run has
the name and the parameters of the benchmark of ours that does the same work. `commit` and `tree` are those of the
peer's checkout, `library_version` is the peer's name.

Read next: vma.py, the simplest user.
"""
import argparse
import datetime
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VERDICTS = {"ok", "failed", "not checked"}


def stop(words):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {words}")


def parse(peer, needs, add=None):
    """The arguments that all peers have. `needs`: a file of the checkout without which it is none."""
    parser = argparse.ArgumentParser(description=f"Builds {peer} from a checkout, runs it, writes our JSON.")
    parser.add_argument("checkout", help="folder of the peer's repository")
    parser.add_argument("--build", default="build-peers", help="folder for programs (default: build-peers)")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--repeat", type=int, default=5, help="measured rounds (default: 5)")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a program may run (default: 600)")
    parser.add_argument("--only-build", action="store_true", help="compile, and run nothing")
    if add:
        add(parser)
    given = parser.parse_args()
    if not os.path.exists(os.path.join(given.checkout, needs)):
        stop(f"{given.checkout} is no checkout of {peer}: it has no {needs}")
    if given.repeat < 1:
        stop(f"--repeat {given.repeat}: at least 1")
    os.makedirs(given.build, exist_ok=True)
    return given


def add_cuda(parser):
    parser.add_argument("--arch", default="sm_90", help="of the GPU, for nvcc (default: sm_90)")


def build(command, folder=None):
    """Compile. The words of a compiler that fails are shown."""
    print(shlex.join(command), flush=True)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        stop(f"there is no {command[0]} on the PATH")
    if done.returncode:
        stop(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-6000:]}")


def copy(given, name, edits):
    """The checkout's sources below --build, with edits: (file, regular expression, replacement). The checkout stays as
    it is."""
    folder = os.path.join(given.build, name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(given.checkout, folder, ignore=shutil.ignore_patterns(".git"))
    for file, pattern, replacement in edits:
        path = os.path.join(folder, file)
        with open(path, encoding="utf-8") as opened:
            text, count = re.subn(pattern, replacement, opened.read())
        if not count:
            stop(f"{path} has nothing like {pattern}")
        with open(path, "w", encoding="utf-8") as opened:
            opened.write(text)
    return folder


def machine():
    clocks = []
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            clocks = [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]
    except OSError:
        pass
    return {"date": now(), "load": os.getloadavg()[0], "cpu_mhz_min": min(clocks, default=None),
            "cpu_mhz_max": max(clocks, default=None)}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def entry(name, key, params, lines, status=0):
    """A run of the JSON, from what the driver printed."""
    samples, units, notes, result, message = {}, {}, [], None, ""
    for line in lines:
        words = line.split(None, 3)
        if len(words) == 4 and words[0] == "sample":
            samples.setdefault(words[1], []).append(float(words[3]))
            units[words[1]] = words[2]
        elif line.startswith("note "):
            notes.append(line[5:])
        elif line.startswith("check "):
            word, words = line.split(None, 2)[1:]
            if result != "failed":
                result, message = word.replace("-", " "), words
    if result != "failed" and (status or result not in VERDICTS):
        result = "failed"
        message = f"the program ended with {status}" if status else "the program says nothing about a check"
    found = {"key": key, "name": name, "params": params, "check": {"result": result, "message": message},
             "machine": machine(), "metrics": {}}
    for metric, values in samples.items():
        found["metrics"][metric] = {"unit": units[metric], "median": statistics.median(values),
                                    "min": min(values), "max": max(values)}
    if notes:
        found["notes"] = notes
    return found


def output(command, limit):
    """The lines that a program prints, and its exit status; words if it does not end in time."""
    print(shlex.join(command), flush=True)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return [], f"no end after {limit:g} s"
    return done.stdout.splitlines(), done.returncode


def run(given, name, key, params, command):
    begun = machine()
    found = entry(name, key, params, *output(command, given.limit))
    found["machine"] = begun
    return found


def finish(given, peer, device, entries, seed=None):
    """Show the runs, write the JSON, and end with 1 if a check failed."""
    git = ["git", "-C", given.checkout]
    commit = output_of(git + ["rev-parse", "HEAD"]) or "unknown"
    tree = "unknown" if commit == "unknown" else "changed" if output_of(git + ["status", "--porcelain"]) else "clean"
    driver = ""
    if device == "cuda":
        query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader,nounits"]
        found = output_of(query).splitlines()
        device, driver, mhz = found[0].split(", ") if found else ("unknown", "", None)
        mhz = float(mhz) if mhz else None
    else:
        mhz = None
    context = {"device": device, "device_mhz": mhz, "driver": driver, "opencl_version": "",
               "library_version": peer, "commit": commit, "tree": tree, "processors": os.cpu_count(), "seed": seed,
               "date": now(), "command": shlex.join([os.path.basename(sys.argv[0])] + sys.argv[1:])}
    for one in entries:
        print(f"{one['key']}: {one['check']['result']}: {one['check']['message']}")
        for metric, values in one["metrics"].items():
            print(f"  {metric:20} {values['median']:12.6g} {values['unit']}  ({values['min']:.6g} to {values['max']:.6g})")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"context": context, "benchmarks": entries}, file, indent=1)
            file.write("\n")
    sys.exit(1 if any(one["check"]["result"] == "failed" for one in entries) else 0)


# ---- What several peers run ----

def add_trace(parser):
    parser.add_argument("--trace", nargs="+", required=True,
                        help="files of clump-bench run pool-trace --set write=FILE")


def run_traces(given, peer, program):
    """Each trace as a pool-trace with target=virtual."""
    if given.only_build:
        return
    entries = []
    for trace in given.trace:
        params = {"file": trace, "target": "virtual"}
        entries.append(run(given, "pool-trace", f"{peer}/{os.path.basename(trace)}", params,
                           [program, trace, str(given.repeat)]))
    finish(given, peer, "none", entries)


def add_sizes(parser):
    add_cuda(parser)
    parser.add_argument("--items", type=int, default=1 << 20, help="work-items (default: 2^20)")
    parser.add_argument("--per-item", type=int, default=1, help="objects of each (default: 1)")
    parser.add_argument("--bytes", type=int, nargs="+", default=[16, 64], help="of an object (default: 16 64)")


def build_sizes(given, program_of):
    """Programs for alloc-scalability: {bytes: program_of(bytes)}"""
    return {size: program_of(size) for size in given.bytes}


def run_sizes(given, peer, programs):
    entries = []
    for size, program in programs.items():
        params = {"items": given.items, "per_item": given.per_item, "bytes": size}
        entries.append(run(given, "alloc-scalability", f"{peer}/{size}-B", params,
                           [program, str(given.items), str(given.per_item), str(size), str(given.repeat)]))
    return entries


def run_scalability(given, peer, program):
    """The same program for all sizes."""
    if not given.only_build:
        finish(given, peer, "cuda", run_sizes(given, peer, build_sizes(given, lambda size: program)))
