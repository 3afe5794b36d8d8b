#!/usr/bin/env bash
# Builds the site of the documentation into build/docs/html: the guide, the reference from the headers, internals and measurements.
# What it needs and is missing is installed (scripts/setup.sh --docs). A warning of Doxygen or Sphinx is an error.
#
#   docs.sh [FOLDER]          another folder than build/docs
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/docs}

"$root/scripts/setup.sh" --docs
for tool in doxygen sphinx-build; do
    command -v "$tool" >/dev/null || { echo "docs: no $tool here (Debian: doxygen, python3-sphinx)" >&2; exit 2; }
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$root"
{ cat docs/site/Doxyfile; echo "OUTPUT_DIRECTORY = \"$folder\""; } | doxygen -
python3 docs/site/pages.py "$folder/source" "$folder/xml"
CLUMP_DOCS_XML=$folder/xml PYTHONDONTWRITEBYTECODE=1 \
    sphinx-build -q -W --keep-going -c docs/site -d "$folder/doctrees" "$folder/source" "$folder/html"
echo "$folder/html/index.html"
