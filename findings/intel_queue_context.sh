#!/usr/bin/env bash
# Intel's CPU runtime 2026.2.0 (PyPI): a command queue does not keep its context. A context whose last reference was released, although it
# has a queue, cannot be retained again. Seen: CL_INVALID_CONTEXT, -34. PoCL gives 0.
. "$(dirname "$0")/common.sh"
use_intel
build queue_context
expect -34 "$(./queue_context | sed 's/.*: //')"
