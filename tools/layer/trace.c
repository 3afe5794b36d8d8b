/* The trace of all allocations, as docs/guide/pool.md describes it: each line is written at once,
 * so that a program which is killed leaves a trace up to there. Read first: layer.h. */
#include <errno.h>
#include <stdio.h>

#include "tools/layer/layer.h"

static void write_line(const char *line, int bytes) {
    if (layer.settings.trace < 0 || layer.is_child) return;
    if (layer_write(layer.settings.trace, line, (size_t)bytes)) return;
    layer_say("the trace could not be written to its end");
    layer.settings.trace = -1;
}

void layer_trace_begin(void) {
    char line[256];
    if (layer.settings.trace < 0) return;
    int bytes = snprintf(line, sizeof line, "# clump pool trace 1\n# memory objects of %.128s\n",
                         program_invocation_short_name);
    write_line(line, bytes);
}

void layer_trace_alloc(const layer_object *o) {
    char line[64];
    if (!o->bytes) return;
    layer.has_changed = 1;
    int bytes = snprintf(line, sizeof line, "a %llx %llu\n", (unsigned long long)o->number,
                         (unsigned long long)o->bytes);
    write_line(line, bytes);
}

void layer_trace_free(const layer_object *o) {
    char line[64];
    if (!o->bytes) return;
    layer.has_changed = 1;
    write_line(line, snprintf(line, sizeof line, "f %llx\n", (unsigned long long)o->number));
}

void layer_trace_frame(void) {
    if (!layer.has_changed) return;
    layer.has_changed = 0;
    write_line("e\n", 2);
}
