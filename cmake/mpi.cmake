# The library clump-mpi: include/clump/mpi.h, host/mpi/. Target clump::clump-mpi. With CLUMP_BUILD_MPI=AUTO it is left out where CMake finds no MPI.
if(CLUMP_BUILD_MPI STREQUAL "AUTO")
    find_package(MPI QUIET COMPONENTS C)
else()
    find_package(MPI COMPONENTS C)
    if(NOT MPI_C_FOUND)
        message(FATAL_ERROR "CLUMP_BUILD_MPI needs MPI (Debian: libmpich-dev). Configure with -DCLUMP_BUILD_MPI=OFF to go without.")
    endif()
endif()
if(NOT MPI_C_FOUND)
    message(STATUS "No MPI: clump-mpi is left out")
    return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS host/mpi/*.c)
clump_embed("${PROJECT_BINARY_DIR}/generated/clumpi_mpi_cl_files.c"
    TABLE clumpi_mpi_cl_files HEADER host/mpi/cl_files.h FILES cl/core/layout.h cl/mpi/layout.h cl/mpi/halo.cl)
add_library(clump-mpi ${mpi_sources} "${PROJECT_BINARY_DIR}/generated/clumpi_mpi_cl_files.c"
    host/core/files.c host/core/sized.c) # which have no need of the rest of the library
add_library(clump::clump-mpi ALIAS clump-mpi)
set_target_properties(clump-mpi PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_options(clump-mpi PRIVATE "SHELL:-iquote ${PROJECT_SOURCE_DIR}"
    "SHELL:-iquote ${PROJECT_SOURCE_DIR}/host")
target_link_libraries(clump-mpi PUBLIC clump MPI::MPI_C)
clump_set_warnings(clump-mpi)
clump_set_sanitizers(clump-mpi)
get_target_property(type clump-mpi TYPE)
if(CLUMP_VERSION_SCRIPT_LINKS AND type STREQUAL "SHARED_LIBRARY")
    target_link_options(clump-mpi PRIVATE "LINKER:--version-script=${version_script}")
    set_target_properties(clump-mpi PROPERTIES LINK_DEPENDS "${version_script}")
endif()
