#!/usr/bin/env python3
"""llvm-spirv-15, except that the module also asks for the capability Shader, which OpenCL has not."""
import struct
import subprocess
import sys

status = subprocess.call(['llvm-spirv-15'] + sys.argv[1:])
if status == 0:
    output = sys.argv[sys.argv.index('-o') + 1]
    data = open(output, 'rb').read()
    with open(output, 'wb') as file:
        file.write(data[:20] + struct.pack('<2I', 2 << 16 | 17, 1) + data[20:])
sys.exit(status)
