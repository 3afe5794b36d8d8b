# Packages for Debian and Ubuntu, by `cpack -G DEB` in a build tree that was configured with -DCMAKE_INSTALL_PREFIX=/usr and
# -DBUILD_SHARED_LIBS=ON: libclumpX.Y, the library; libclump-dev; clump-tools; python3-clump, if the system's Python can build it.
# Without the shared library there is no package for it and none for Python, and the others have it inside. docs/guide/packages.md shows the commands. Lintian finds no error in them; there is no folder
# debian/, which would describe the same packages a second time.
#
# Read first: install.cmake.
set(abi "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_PACKAGE_NAME clump)
set(CPACK_PACKAGE_VENDOR "The Clump authors")
set(CPACK_PACKAGE_CONTACT "The Clump authors <clump@example.org>")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_FILE_NAME clump)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_STRIP_FILES ON)

set(CPACK_COMPONENTS_ALL dev tools)
if(BUILD_SHARED_LIBS)
    list(PREPEND CPACK_COMPONENTS_ALL lib)
    set(of_library "libclump${abi} (= ${PROJECT_VERSION}), ")
endif()
set(CPACK_DEBIAN_LIB_PACKAGE_NAME "libclump${abi}")
set(CPACK_DEBIAN_LIB_PACKAGE_SHLIBDEPS ON)
# CPack would write shlibs, too, and complain that the extension of Python has no SONAME.
file(WRITE "${PROJECT_BINARY_DIR}/generated/shlibs" "libclump ${abi} libclump${abi} (>= ${PROJECT_VERSION})\n")
file(WRITE "${PROJECT_BINARY_DIR}/generated/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/generated/shlibs" "${PROJECT_BINARY_DIR}/generated/triggers")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIB_DESCRIPTION "dynamic object heap for OpenCL programs
 Objects of declared classes are created and freed inside kernels, visited in
 parallel, compacted and collected on the device.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libclump-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${of_library}ocl-icd-opencl-dev | opencl-dev, opencl-c-headers")
set(CPACK_DEBIAN_DEV_DESCRIPTION "dynamic object heap for OpenCL programs (development files)
 Headers for C and C++, files for CMake and pkg-config, the sources of the
 kernels for reference, and examples.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME clump-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "dynamic object heap for OpenCL programs (tools)
 clump-info lists devices, clump-schema checks schemas, clump-inspect shows
 heaps.")
find_program(CLUMP_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
mark_as_advanced(CLUMP_SYSTEM_PYTHON)
set(python_misses 1) # no package for Python
if(BUILD_SHARED_LIBS AND CLUMP_SYSTEM_PYTHON AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    execute_process(COMMAND "${CLUMP_SYSTEM_PYTHON}" -c "import os, sysconfig, cffi
assert os.path.exists(os.path.join(sysconfig.get_paths()['include'], 'Python.h'))"
        RESULT_VARIABLE python_misses OUTPUT_QUIET ERROR_QUIET)
endif()
if(python_misses EQUAL 0)
    list(APPEND CPACK_COMPONENTS_ALL python)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-clump)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
        "libclump${abi} (= ${PROJECT_VERSION}), python3, python3-cffi-backend, python3-numpy, python3-pyopencl")
    set(CPACK_DEBIAN_PYTHON_DESCRIPTION "dynamic object heap for OpenCL programs (Python)
 Heaps, kernels, fields as NumPy arrays and as arrays of PyOpenCL, compaction,
 collection, files, and a pool as an allocator for PyOpenCL.")
    set(python_files "${PROJECT_BINARY_DIR}/python-package")
    install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DPYTHON=${CLUMP_SYSTEM_PYTHON}\"
        \"-DSOURCE=${PROJECT_SOURCE_DIR}/python\" \"-DBUILD=${PROJECT_BINARY_DIR}\" \"-DVERSION=${PROJECT_VERSION}\"
        \"-DOUTPUT=${python_files}\" -P \"${PROJECT_SOURCE_DIR}/cmake/python_package.cmake\" COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT python EXCLUDE_FROM_ALL)
    install(DIRECTORY "${python_files}/" DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL)
elseif(BUILD_SHARED_LIBS AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    message(STATUS "No package for Python: it needs /usr/bin/python3 with its headers and cffi")
endif()
if(BUILD_SHARED_LIBS)
    # The tools need the library that is built here, which dpkg-shlibdeps does not know yet.
    set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libclump${abi} (= ${PROJECT_VERSION})")
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
endif()
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr") # Debian's policy: each package has these two files
    file(READ LICENSE licence)
    string(REGEX REPLACE "^.*Copyright [^\n]*\n+" "" licence "${licence}")
    string(STRIP "${licence}" licence)
    string(REPLACE "\n" "\n " licence "${licence}")
    string(REPLACE "\n \n" "\n .\n" licence "${licence}")
    file(WRITE "${PROJECT_BINARY_DIR}/generated/copyright"
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Clump\n\n"
        "Files: *\nCopyright: The Clump authors\nLicense: MIT\n ${licence}\n")
    string(TIMESTAMP date "%a, %d %b %Y 00:00:00 +0000" UTC) # of SOURCE_DATE_EPOCH, if that is set
    file(WRITE "${PROJECT_BINARY_DIR}/generated/changelog"
        "clump (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * Version ${PROJECT_VERSION}: see CHANGELOG.md of the sources.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    clump_compressed("${PROJECT_BINARY_DIR}/generated/changelog" changelog)
    foreach(component IN LISTS CPACK_COMPONENTS_ALL)
        string(TOUPPER "${component}" upper)
        install(FILES "${PROJECT_BINARY_DIR}/generated/copyright" "${changelog}" COMPONENT ${component}
            DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    endforeach()
endif()
include(CPack)
