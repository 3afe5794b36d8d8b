#!/usr/bin/env bash
# Builds the site of the documentation into build/docs/html: the guide, the reference from the headers, internals and measurements.
# What it needs and is missing is installed (scripts/setup.sh --docs). A warning of Doxygen or Sphinx is an error.
# Exit status 2: something that it needs is not there.
#
#   docs.sh [FOLDER]          another folder than build/docs
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/docs}

"$root/scripts/setup.sh" --docs
sphinx=$(command -v sphinx-build || true)
# Its own Python: the first one of the PATH may be another.
if [ -z "$sphinx" ] || ! command -v doxygen >/dev/null ||
    ! $(sed -n '1s/^#! *//p' "$sphinx") -c "import breathe, furo, myst_parser" 2>/dev/null; then
    echo "docs: this needs Doxygen, Sphinx, MyST, Breathe and Furo (scripts/setup.sh --docs)" >&2
    exit 2
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$root"
{ cat docs/site/Doxyfile; echo "OUTPUT_DIRECTORY = \"$folder\""; } | doxygen -
python3 docs/site/pages.py "$folder/source" "$folder/xml"
CLUMP_DOCS_XML=$folder/xml PYTHONDONTWRITEBYTECODE=1 \
    sphinx-build -q -W --keep-going -c docs/site -d "$folder/doctrees" "$folder/source" "$folder/html"
echo "$folder/html/index.html"
