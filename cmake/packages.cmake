# Packages for Debian and Ubuntu, by `cpack -G DEB` in a build tree that was configured with -DCMAKE_INSTALL_PREFIX=/usr and
# -DBUILD_SHARED_LIBS=ON: libclumpX.Y, the library; libclump-dev; clump-tools; python3-clump, if the system's Python can build it; libclump-mpiX.Y
# and libclump-mpi-dev, if there is MPI.
# Without the shared library there is no package for it and none for Python, and the others have it inside. docs/guide/packages.md shows the commands.
# Names, sections, descriptions, changelog and copyright are those of scripts/packaging/debian, by which Debian's own tools make the same packages.
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

# describe(COMPONENT PACKAGE): its package has the name, the section and the description that control has.
set(debian "${PROJECT_SOURCE_DIR}/scripts/packaging/debian")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${debian}/control" "${debian}/copyright")
file(READ "${debian}/control" control)
macro(describe component package)
    if(NOT control MATCHES "\nPackage: ${package}\n")
        message(FATAL_ERROR "scripts/packaging/debian/control has no package ${package}")
    endif()
    string(REGEX REPLACE "^.*\nPackage: ${package}\n" "" stanza "${control}")
    string(REGEX REPLACE "\n\n.*$" "" stanza "${stanza}\n\n")
    string(STRIP "${stanza}" stanza)
    set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${package})
    if(stanza MATCHES "(^|\n)Section: ([a-z]+)")
        set(CPACK_DEBIAN_${component}_PACKAGE_SECTION ${CMAKE_MATCH_2})
    endif()
    string(REGEX REPLACE "^.*\nDescription: " "" CPACK_DEBIAN_${component}_DESCRIPTION "${stanza}")
endmacro()
describe(LIB "libclump${abi}")
describe(DEV libclump-dev)
describe(TOOLS clump-tools)
describe(PYTHON python3-clump)
describe(MPILIB "libclump-mpi${abi}")
describe(MPIDEV libclump-mpi-dev)

set(CPACK_COMPONENTS_ALL dev tools)
if(BUILD_SHARED_LIBS)
    list(PREPEND CPACK_COMPONENTS_ALL lib)
    set(of_library "libclump${abi} (= ${PROJECT_VERSION}), ")
endif()
set(CPACK_DEBIAN_LIB_PACKAGE_SHLIBDEPS ON)
# CPack would write shlibs, too, and complain that the extension of Python has no SONAME.
file(WRITE "${PROJECT_BINARY_DIR}/generated/shlibs" "libclump ${abi} libclump${abi} (>= ${PROJECT_VERSION})\n")
file(WRITE "${PROJECT_BINARY_DIR}/generated/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/generated/shlibs" "${PROJECT_BINARY_DIR}/generated/triggers")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${of_library}ocl-icd-opencl-dev | opencl-dev, opencl-c-headers")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
if(BUILD_SHARED_LIBS AND TARGET clump-mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpilib mpidev)
    set(CPACK_DEBIAN_MPILIB_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_MPILIB_PACKAGE_DEPENDS "libclump${abi} (= ${PROJECT_VERSION})")
    file(WRITE "${PROJECT_BINARY_DIR}/generated/mpi/shlibs" "libclump-mpi ${abi} libclump-mpi${abi} (>= ${PROJECT_VERSION})\n")
    set(CPACK_DEBIAN_MPILIB_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/generated/mpi/shlibs"
        "${PROJECT_BINARY_DIR}/generated/triggers")
    set(CPACK_DEBIAN_MPIDEV_PACKAGE_DEPENDS
        "libclump-mpi${abi} (= ${PROJECT_VERSION}), libclump-dev (= ${PROJECT_VERSION}), libmpich-dev")
endif()
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
    set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
        "libclump${abi} (= ${PROJECT_VERSION}), python3, python3-cffi-backend, python3-numpy, python3-pyopencl")
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
    clump_compressed("${debian}/changelog" changelog)
    foreach(component IN LISTS CPACK_COMPONENTS_ALL)
        string(TOUPPER "${component}" upper)
        install(FILES "${debian}/copyright" "${changelog}" COMPONENT ${component}
            DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    endforeach()
endif()
include(CPack)
