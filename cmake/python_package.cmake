# Builds the Python package against Clump as it is installed from a build tree, for a package of Debian (packages.cmake):
#
#   cmake -DPYTHON=<python3> -DSOURCE=<python/> -DBUILD=<build tree> -DVERSION=<version> -DOUTPUT=<folder> -P python_package.cmake
#
# OUTPUT gets what belongs into dist-packages.
cmake_minimum_required(VERSION 3.22...3.31)
set(work "${OUTPUT}-work")
file(REMOVE_RECURSE "${work}" "${OUTPUT}")
unset(ENV{DESTDIR})
foreach(component lib dev)
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix" --component ${component}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${work}/build" "-DPython_EXECUTABLE=${PYTHON}" -DCMAKE_BUILD_TYPE=Release
        "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_INSTALL_PREFIX=${OUTPUT}"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${work}/build" --target install OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${OUTPUT}/clump-${VERSION}.dist-info/METADATA" "Metadata-Version: 2.1\nName: clump\nVersion: ${VERSION}\n")
file(GLOB extension "${OUTPUT}/clump/_library*.so")
execute_process(COMMAND strip --strip-unneeded "${extension}" COMMAND_ERROR_IS_FATAL ANY)
