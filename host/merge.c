#include "compact.h"
clump_status clumpi_merge_run(clumpi_compaction *r) {
    return clumpi_fail(&r->heap->context->error, CLUMP_ERR_UNSUPPORTED, "merge: not yet");
}
