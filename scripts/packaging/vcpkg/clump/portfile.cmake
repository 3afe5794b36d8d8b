# Port for vcpkg, which builds Clump from the tree that this file is in:
#
#   vcpkg install clump --overlay-ports=<Clump>/scripts/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DCLUMP_BUILD_TESTS=OFF
        -DCLUMP_BUILD_MPI=OFF
        -DCLUMP_BUILD_BENCH=OFF
        -DCLUMP_BUILD_TOOLS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/clump)
vcpkg_fixup_pkgconfig()
# The same for both configurations; and vcpkg has no place for examples.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
