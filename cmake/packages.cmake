# Packages for Debian and Ubuntu, by `cpack -G DEB` in a build tree that was configured with -DCMAKE_INSTALL_PREFIX=/usr and
# -DBUILD_SHARED_LIBS=ON: libclumpX.Y, the library; libclump-dev; clump-tools. Without the shared library there is no package for
# it, and the others have it inside. docs/guide/packages.md shows the commands. Lintian finds no error in them; there is no folder
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
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(WRITE "${PROJECT_BINARY_DIR}/generated/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/generated/triggers")
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
