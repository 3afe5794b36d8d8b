#!/usr/bin/env bash
# PoCL 3.0 (PyPI; 3.1 of Debian 12 alike): printf() in a kernel rounds a double to float before it prints it. 16777217.0 is printed as
# 16777216.0. The value in memory is right.
. "$(dirname "$0")/common.sh"
use_pocl
build run
cat >print_double.cl <<'END'
/* run: 1 1 16777217 */
/* expected: 0 */
/* Prints 16777217 as a double: what comes out is to be read, not what follows it. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void k(__global uint *out, uint n) { printf("%.1f ", (double)n); }
END
expect 16777216.0 "$(./run print_double.cl | grep -o '1677721[0-9].0')"
