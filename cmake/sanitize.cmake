# CLUMP_SANITIZE for a target, at compile and link time, and its assertions. clump_set_sanitizers(<target>)
function(clump_set_sanitizers target)
    if(CLUMP_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${CLUMP_SANITIZE} -UNDEBUG
            -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${CLUMP_SANITIZE})
    endif()
endfunction()
