/* run: 1 1 16777217 */
/* expected: 0 */
/* Prints 16777217 as a double: what comes out is to be read, not what follows it. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void k(__global uint *out, uint n) { printf("%.1f ", (double)n); }
