#!/usr/bin/env bash
# All heaps of this folder, made on this machine, as FOLDER/NAME.hgraph.gz, which
# `clump-bench paper maas --data FOLDER` takes.
#
#   make.sh FOLDER [NAME...]
#
# NAMES: cpython, node, assembly; none: all. A heap whose program is missing is left out with words, and the status is 1
# then. Half a minute, 0.5 GB of memory, 13 MB of files.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 1 ] || [[ "$1" == -* ]]; then
    echo "usage: make.sh FOLDER [cpython] [node] [assembly]" >&2
    exit 2
fi
folder=$1
shift
if [ $# -eq 0 ]; then set -- cpython node assembly; fi
if ! command -v python3 >/dev/null; then
    echo "make.sh: there is no python3 on the PATH (Debian, Ubuntu: apt-get install python3)" >&2
    exit 1
fi
mkdir -p "$folder"
status=0
for name in "$@"; do
    case "$name" in
    cpython | node | assembly) python3 "$here/$name.py" "$folder/$name.hgraph.gz" || status=1 ;;
    *)
        echo "make.sh: there is no heap $name; there are cpython, node, assembly" >&2
        exit 2
        ;;
    esac
done
exit "$status"
