# Warnings of all C code of the project. clump_set_warnings(<target> [NO_CONVERSION])
# Tests go without -Wconversion: they compare and truncate on purpose.
set(CLUMP_WARNINGS
    -Wall -Wextra -Wundef -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wno-format-nonliteral)

function(clump_set_warnings target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "NO_CONVERSION" "" "")
    target_compile_options(${target} PRIVATE ${CLUMP_WARNINGS})
    if(NOT arg_NO_CONVERSION)
        target_compile_options(${target} PRIVATE -Wconversion)
    endif()
    if(CLUMP_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()
