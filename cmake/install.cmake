# Install rules: headers, library, programs and their pages, examples, device sources for reference, CMake package, clump.pc. What belongs
# together is a component, and a package (packages.cmake): lib, dev, tools, mpilib, mpidev; python has its rule there.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

install(DIRECTORY include/clump DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h"
    PATTERN "*.hpp" PATTERN "mpi.h" EXCLUDE)
install(DIRECTORY cl DESTINATION "${CMAKE_INSTALL_DATADIR}/clump"
    FILES_MATCHING PATTERN "*.cl" PATTERN "*.clh" PATTERN "*.h")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN build EXCLUDE)
install(TARGETS clump EXPORT clumpTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT lib
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT lib NAMELINK_COMPONENT dev)

# clump_compressed(FILE VARIABLE): below /usr Debian's policy wants pages and changelogs packed by gzip; elsewhere, and without
# gzip, it is the file as it is.
find_program(GZIP_EXECUTABLE gzip)
mark_as_advanced(GZIP_EXECUTABLE)
function(clump_compressed file variable)
    set(${variable} "${file}" PARENT_SCOPE)
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND GZIP_EXECUTABLE)
        get_filename_component(name "${file}" NAME)
        set(packed "${PROJECT_BINARY_DIR}/generated/${name}.gz")
        execute_process(COMMAND "${GZIP_EXECUTABLE}" -9nc "${file}" OUTPUT_FILE "${packed}" COMMAND_ERROR_IS_FATAL ANY)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
        set(${variable} "${packed}" PARENT_SCOPE)
    endif()
endfunction()

file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
foreach(program IN ITEMS clump-info clump-schema clump-compile clump-inspect clump-bench)
    if(TARGET ${program})
        if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr") # where the loader looks anyway
            set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
        endif()
        install(TARGETS ${program} DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
        clump_compressed("${PROJECT_SOURCE_DIR}/docs/man/${program}.1" page)
        install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
    endif()
endforeach()

if(TARGET clump-layer) # which nobody links, so it is not where the linker looks
    install(TARGETS clump-layer LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/clump" COMPONENT tools)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/clump")
install(EXPORT clumpTargets NAMESPACE clump:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/clumpConfig.cmake.in generated/clumpConfig.cmake
    INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(generated/clumpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/clumpConfig.cmake"
    "${PROJECT_BINARY_DIR}/generated/clumpConfigVersion.cmake" cmake/clumpCompile.cmake DESTINATION "${package_dir}")

if(TARGET clump-mpi)
    set(clump_has_mpi ON)
    install(FILES include/clump/mpi.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/clump" COMPONENT mpidev)
    install(TARGETS clump-mpi EXPORT clumpMpiTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT mpidev
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT mpilib
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT mpilib NAMELINK_COMPONENT mpidev)
    install(EXPORT clumpMpiTargets NAMESPACE clump:: DESTINATION "${package_dir}" COMPONENT mpidev)
    if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
        set_target_properties(clump-mpi PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
endif()

# clump.pc finds itself, so that the tree can be installed or moved anywhere. OpenCL comes from its
# own .pc file where pkg-config has one by default, else from where CMake found it.
file(RELATIVE_PATH pc_to_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
set(pc_requires "")
set(pc_opencl_libs "")
set(pc_opencl_cflags "")
find_package(PkgConfig QUIET)
set(pc_missing 1)
if(PKG_CONFIG_EXECUTABLE)
    execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --exists OpenCL RESULT_VARIABLE pc_missing)
endif()
if(pc_missing EQUAL 0)
    set(pc_requires OpenCL)
else()
    get_filename_component(opencl_dir "${OpenCL_LIBRARY}" DIRECTORY)
    set(pc_opencl_libs "-L${opencl_dir} -lOpenCL")
    set(pc_opencl_cflags "-I${OpenCL_INCLUDE_DIR}")
endif()
set(pc_dl_libs "")
if(CMAKE_DL_LIBS)
    set(pc_dl_libs " -l${CMAKE_DL_LIBS}")
endif()
configure_file(cmake/clump.pc.in generated/clump.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/clump.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(TARGET clump-mpi) # MPI's own flags come from mpicc
    configure_file(cmake/clump-mpi.pc.in generated/clump-mpi.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/generated/clump-mpi.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT mpidev)
endif()

# Where only the sources of the library are, as in Conan's cache, there is nothing to make these packages from.
if(EXISTS "${PROJECT_SOURCE_DIR}/scripts/packaging/debian/control")
    include(cmake/packages.cmake)
endif()
