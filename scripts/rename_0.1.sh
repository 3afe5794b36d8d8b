#!/usr/bin/env bash
# Renames in a program's sources what was renamed before 0.1: the table of docs/guide/upgrading.md.
#
#   rename_0.1.sh PATH...    files, or folders with all that is below; they are changed in place
#
# Calls that it cannot change by itself are printed with their line.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/rename_0.1.py" "$@"
