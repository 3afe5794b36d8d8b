#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 alike): printf() in a kernel rounds a double to float before it prints it. 16777217.0 is printed as
# 16777216.0. The value in memory is right.
. "$(dirname "$0")/common.sh"
use_pocl
build run
expect 16777216.0 "$(./run "$here/print_double.cl" | grep -o '1677721[0-9].0')"
