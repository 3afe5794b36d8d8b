# Builds the Python package against Clump as it is installed from a build tree, for a package of Debian (packages.cmake):
#
#   cmake -DPYTHON=<python3> -DSOURCE=<python/> -DBUILD=<build tree> -DLIBDIR=<lib/...> -DOUTPUT=<folder> -P python_package.cmake
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
file(COPY "${SOURCE}/" DESTINATION "${work}/source")
set(ENV{PKG_CONFIG_PATH} "${work}/prefix/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
execute_process(COMMAND "${PYTHON}" setup.py -q build --build-base "${work}/build" --build-lib "${OUTPUT}"
        install_egg_info --install-dir "${OUTPUT}"
    WORKING_DIRECTORY "${work}/source" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB extension "${OUTPUT}/clump/_library*.so")
execute_process(COMMAND strip --strip-unneeded "${extension}" COMMAND_ERROR_IS_FATAL ANY)
