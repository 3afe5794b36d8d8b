# clump_compile(TARGET ARRAY <name> SCHEMA <file> KERNELS <file> HEAP <bytes> [ARGUMENTS <argument>...] [DEPENDS <file>...])
#
# Compiles kernels with the schema of their heap in the build, by clump-compile: the target can include <name>.h, which
# has them as the array <name> of <name>_bytes, for clump_context_desc.compiled. ARGUMENTS are further ones of clump-compile, such as
# --personality gpu; DEPENDS are files that the kernels include. Relative files are those of the current source folder.
include_guard(GLOBAL)

function(clump_compile target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARRAY;SCHEMA;KERNELS;HEAP" "ARGUMENTS;DEPENDS")
    foreach(word IN ITEMS ARRAY SCHEMA KERNELS HEAP)
        if(NOT arg_${word})
            message(FATAL_ERROR "clump_compile(${target}): ${word} is missing")
        endif()
    endforeach()
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "clump_compile(${target}): what is ${arg_UNPARSED_ARGUMENTS}?")
    endif()
    if(TARGET clump-compile)
        set(tool clump-compile)
    else()
        set(tool "${CLUMP_COMPILE_EXECUTABLE}")
    endif()
    if(NOT tool)
        message(FATAL_ERROR "clump_compile(${target}): there is no clump-compile; install the tools of Clump, or set CLUMP_COMPILE_EXECUTABLE")
    endif()
    foreach(word IN ITEMS SCHEMA KERNELS)
        get_filename_component(arg_${word} "${arg_${word}}" ABSOLUTE)
    endforeach()
    get_filename_component(name "${arg_KERNELS}" NAME)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}-compiled")
    file(MAKE_DIRECTORY "${folder}")
    set(output "${folder}/${arg_ARRAY}.h")
    add_custom_command(OUTPUT "${output}"
        COMMAND ${tool} --schema "${arg_SCHEMA}" --heap ${arg_HEAP} --name "${name}" --array ${arg_ARRAY} ${arg_ARGUMENTS}
            -o "${output}" "${arg_KERNELS}"
        DEPENDS ${tool} "${arg_SCHEMA}" "${arg_KERNELS}" ${arg_DEPENDS}
        WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
        COMMENT "Compiling ${name} to SPIR-V" VERBATIM)
    target_sources(${target} PRIVATE "${output}")
    target_include_directories(${target} PRIVATE "${folder}")
endfunction()
