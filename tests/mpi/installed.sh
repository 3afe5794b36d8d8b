#!/usr/bin/env bash
# installed.sh CMAKE BUILD FOLDER SOURCE MPIEXEC OPENCL_FOLDER: clump-mpi, installed, is found by find_package(clump COMPONENTS mpi), and by pkg-config and mpicc.
set -euo pipefail
cmake=$1 build=$2 folder=$3 source=$4 mpiexec=$5 opencl=$6
rm -rf "$folder"
mkdir -p "$folder/project"
"$cmake" --install "$build" --prefix "$folder/prefix" >"$folder/install.log"
cp "$source/two-ranks.c" "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(two-ranks C)
find_package(clump 0.1 REQUIRED COMPONENTS mpi)
add_executable(two-ranks two-ranks.c)
target_link_libraries(two-ranks PRIVATE clump::clump-mpi)
END
"$cmake" -S "$folder/project" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/configure.log"
"$cmake" --build "$folder/build" >"$folder/build.log"
diff "$source/expected.txt" <("$mpiexec" -n 2 "$folder/build/two-ranks")

pc=$(find "$folder/prefix" -name clump-mpi.pc)
if command -v pkg-config >/dev/null && command -v mpicc >/dev/null; then
    read -ra flags <<<"$(PKG_CONFIG_PATH=${pc%/*} pkg-config --static --cflags --libs clump-mpi)"
    mpicc "$source/two-ranks.c" -o "$folder/by-pkg-config" "${flags[@]}" "-Wl,-rpath,${pc%/pkgconfig/*}:$opencl"
    diff "$source/expected.txt" <("$mpiexec" -n 2 "$folder/by-pkg-config")
else
    echo "without pkg-config or mpicc: half of it"
fi
