#!/usr/bin/env bash
# NVIDIA's ptxas 13.5.37 (PyPI; 13.0.88 and 13.2.78 alike), for sm_90: min(want, c - had), with unsigned numbers and a constant c = 384 that reaches the
# function through its parameter, becomes the instruction VIADDMNMX.U32 R6, R0, 0xfffffe80, R5, which is min(want, had - 384). It needs
# no device: the machine code is read. Right would be a negation of R0 (had) and +384.
. "$(dirname "$0")/common.sh"
pypi nvidia-cuda-nvcc==13.5.37 nvidia-cuda-nvdisasm==13.2.78
chmod +x nvidia/cu13/bin/*
nvidia/cu13/bin/ptxas -arch=sm_90 "$here/ptxas_min.ptx" -o min.cubin
expect "VIADDMNMX.U32 R6, R0, 0xfffffe80, R5" "$(nvidia/cu13/bin/nvdisasm min.cubin | grep -o 'VIADDMNMX.U32 R[0-9]*, R[0-9]*, 0x[0-9a-f]*, R[0-9]*')"
