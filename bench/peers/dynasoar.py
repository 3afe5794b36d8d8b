#!/usr/bin/env python3
"""DynaSOAr beside clump-bench: alloc-scalability, and its own applications beside our presets of them.

  dynasoar.py CHECKOUT [--app NAME...] [--pattern FILE] [--bytes 16 64] [--items N] [--arch sm_90] [--json FILE]

Applications are its own programs with its own constants. Only the number of iterations is replaced, in a copy of
the sources below --build, by that of our preset `dynasoar`. They compare nothing with a reference, so
their check is "not checked". app-game-of-life needs --pattern, the same file as our preset.

Needs nvcc, and a GPU to run. A run that does not end is ended by --limit.
Read first: dynasoar_source.py, dynasoar.cu.
"""
import os
import re

import dynasoar_source
import peer

# Folder, source, further sources, what the number of iterations is called, steps of the preset.
APPS = {
    "app-nbody": ("nbody", "nbody.cu", [], "kNumIterations", 671),
    "app-collision": ("collision", "collision.cu", [], "kIterations", 243),
    "app-structure": ("structure", "structure.cu", ["dataset.cc"], "kNumSteps", 50),
    "app-generation": ("generation", "generation.cu", ["dataset_loader.cu"], "kNumIterations", 442),
    "app-traffic": ("traffic", "traffic.cu", [], "kNumIterations", 2000),
    "app-wa-tor": ("wa-tor", "wator.cu", [], "kNumIterations", 200),
    "app-sugarscape": ("sugarscape", "sugarscape.cu", [], "kNumIterations", 1000),
    "app-game-of-life": ("game-of-life", "gol.cu", ["dataset_loader.cu"], "kNumIterations", 300),
    "app-barnes-hut": ("barnes-hut-dynamic", "barnes_hut.cu", [], "kIterations", 4000),
}
TIMES = re.compile(r"^(\d+), \d+$")  # microseconds of all iterations, of enumerations


def add(parser):
    peer.add_sizes(parser)
    parser.add_argument("--app", nargs="+", choices=sorted(APPS), default=[], help="applications to run too")
    parser.add_argument("--pattern", help="of app-game-of-life")


def scalability_of(size):
    # Its heap has whole blocks of 64 objects, and is full well before.
    objects = 64 ** 3 * (2 * given.items * given.per_item // 64 ** 3 + 1)
    return dynasoar_source.build(given, dynasoar_source.copy(given, "dynasoar"),
                                 [os.path.join(peer.HERE, "dynasoar.cu")], os.path.join(given.build, f"dynasoar-{size}"),
                                 [f"-DBYTES={size}", f"-DOBJECTS={objects}"])


def build_app(app):
    """The program, with our number of iterations."""
    folder, source, others, constant, steps = APPS[app]
    copy = dynasoar_source.copy(given, app, [(f"example/{folder}/configuration.h", rf"(\b{constant} = )[^;]+;",
                                              rf"\g<1>{steps};")])
    example = os.path.join(copy, "example", folder)
    sources = [os.path.join(example, "dynasoar", source)] + [os.path.join(example, other) for other in others]
    return dynasoar_source.build(given, copy, sources, os.path.join(given.build, app))


def run_app(app, program):
    """One entry; a sample for each time that the program runs."""
    steps, lines = APPS[app][4], []
    command = [program] + ([given.pattern] if app == "app-game-of-life" else [])
    params = {"preset": "dynasoar", "steps": steps}
    for _ in range(given.repeat):
        printed, status = peer.output(command, given.limit)
        found = [TIMES.match(line) for line in printed]
        times = [float(match[1]) for match in found if match]
        if status or not times:
            return peer.entry(app, f"DynaSOAr/{app}", params, ["check failed the program prints no time"], status)
        lines.append(f"sample time_per_step_us us {times[-1] / steps}")
    return peer.entry(app, f"DynaSOAr/{app}", params, lines + ["check not-checked DynaSOAr's programs have no reference"])


given = peer.parse("DynaSOAr", "allocator/soa_allocator.h", add)
if "app-game-of-life" in given.app and not given.pattern and not given.only_build:
    peer.stop("app-game-of-life needs --pattern FILE, a file of its dataset")
programs = {app: build_app(app) for app in given.app}
sizes = peer.build_sizes(given, scalability_of)
if not given.only_build:
    entries = peer.run_sizes(given, "DynaSOAr", sizes)
    peer.finish(given, "DynaSOAr", "cuda", entries + [run_app(app, program) for app, program in programs.items()])
