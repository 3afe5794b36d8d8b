/* What kernels found in a checked heap, in words.
 *
 * Read first: include/clump/checked.h, heap.h.
 */
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"

clump_place clumpi_place_of_site(const clumpi_kernel_name *names, uint32_t count, clumpi_u32 site) {
    uint32_t kernel = site >> CLUMPI_SITE_LINE_BITS;
    clump_place place = {.line = site & CLUMPI_SITE_LINE_MASK};
    if (!kernel || kernel >= count) return place;
    place.kernel = names[kernel].kernel;
    place.program = names[kernel].program;
    return place;
}

const char *clumpi_place_words(clump_place p, char text[CLUMPI_PLACE_BYTES]) {
    const char *kernel = p.kernel ? p.kernel : "that was not launched with Clump, or the host";
    const char *program = p.program ? p.program : "line";
    if (p.line)
        snprintf(text, CLUMPI_PLACE_BYTES, "kernel %s, %s%s%u", kernel, program,
                 p.program ? ":" : " ", p.line);
    else
        snprintf(text, CLUMPI_PLACE_BYTES, p.kernel ? "kernel %s, %s" : "a kernel %s%.0s", kernel,
                 program);
    return text;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* Has the field an element at that byte of the row? */
static int has_byte(const clump_field_info *f, uint32_t at) {
    uint32_t elements = clumpi_elements(f);
    for (uint32_t e = 0; e < elements; e++) {
        uint32_t from = f->base_bytes + e * f->step_bytes;
        if (at >= from && at - from < CLUMP_ROW_SLOTS * f->stride_bytes &&
            (at - from) % f->stride_bytes < f->element_bytes)
            return 1;
    }
    return 0;
}

/* The field that has the byte, or else the last one before it, of the class and its bases. */
static const char *field_at(const clump_schema *schema, uint32_t class_id, uint32_t at) {
    const char *before = NULL;
    uint32_t base = 0;
    uint32_t id = class_id;
    for (const clump_class_info *c; (c = clumpi_class_info(schema, id)) != NULL; id = c->base) {
        for (uint32_t i = 0; i < c->field_count; i++) {
            const clump_field_info *f = c->fields[i];
            /* The words of an array follow it, at its place if it has no elements there. */
            if (has_byte(f, at) || (f->array && f->base_bytes == at)) return f->name;
            if (f->base_bytes > at || (before && f->base_bytes < base)) continue;
            before = f->name;
            base = f->base_bytes;
        }
    }
    return before;
}

/* ---- Raw memory ------------------------------------------------------------------------------ */

static int is_of_raw(const clump_heap *heap, const clumpi_finding *from) {
    return heap->has_raw && from->class_id >= heap->geometry.header.first_raw;
}

/* `raw memory there was freed by ...`. */
static void tell_raw_free(const clumpi_finding *from, const clump_finding *f, char *text,
                          size_t bytes) {
    char place[CLUMPI_PLACE_BYTES];
    *text = 0;
    if (from->by_site)
        snprintf(text, bytes, "raw memory there was freed by %s (work-item %u)",
                 clumpi_place_words(f->by, place), f->by_work_item);
    else
        snprintf(text, bytes, "none was freed there");
}

static void tell_raw(const clumpi_finding *from, const clump_finding *f, char *text, size_t bytes) {
    char freed[CLUMPI_PLACE_BYTES + 64], place[CLUMPI_PLACE_BYTES];
    const int32_t at = (int32_t)from->at;
    tell_raw_free(from, f, freed, sizeof freed);
    if (f->kind == CLUMP_FINDING_GAP && from->is_stale)
        snprintf(text, bytes,
                 "the library's head of raw memory was overwritten, at the handle 0x%08x", f->ref);
    else if (f->kind == CLUMP_FINDING_GAP)
        snprintf(text, bytes,
                 "memory %s raw memory was written to (0x%02x): byte %u %s that with the handle "
                 "0x%08x, allocated by %s",
                 at < 0 ? "before" : "behind", from->detail, at < 0 ? 0u - from->at : from->at,
                 at < 0 ? "before the begin of" : "behind the end of", f->ref,
                 clumpi_place_words(f->by, place));
    else if (f->kind == CLUMP_FINDING_FREED)
        snprintf(text, bytes,
                 "raw memory without an owner was written to (0x%08x), at the handle 0x%08x: %s",
                 from->detail, f->ref, freed);
    else
        snprintf(text, bytes, "raw memory with the handle 0x%08x was %s, but is not in use: %s",
                 f->ref,
                 f->kind == CLUMP_FINDING_ACCESS        ? "used"
                 : f->kind == CLUMP_FINDING_DOUBLE_FREE ? "freed again"
                                                        : "freed",
                 freed);
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *class_name(const clump_heap *heap, uint32_t id) {
    const clumpi_header *h = &heap->geometry.header;
    return id && id <= h->class_count ? clumpi_class_name(heap, id) : NULL;
}

/* What stands in the place of the object: `: it was freed by ...`. */
static void tell_state(const clump_heap *heap, const clumpi_finding *from, const clump_finding *f,
                       char *text, size_t bytes) {
    char place[CLUMPI_PLACE_BYTES], freed[CLUMPI_PLACE_BYTES + 64] = "it was freed",
                                                               again[128] = "";
    const char *found = from->kind == CLUMPI_FINDING_FREED ? NULL : class_name(heap, from->detail);
    if (from->by_site && from->by_item == CLUMPI_CHANGED)
        snprintf(freed, sizeof freed, "it changed its class in %s",
                 clumpi_place_words(f->by, place));
    else if (from->by_site)
        snprintf(freed, sizeof freed, "it was freed by %s (work-item %u)",
                 clumpi_place_words(f->by, place), f->by_work_item);
    if (from->is_stale && found)
        snprintf(again, sizeof again, ", and its slot has an object of class %s now", found);
    if (!f->ref)
        snprintf(text, bytes, ": it is null");
    else if (f->ref == CLUMPI_FRESH_REF)
        snprintf(text, bytes, ": it was read from a field that was never written");
    else if (f->ref == CLUMPI_STALE_REF)
        snprintf(text, bytes, ": its object was freed before others were moved or collected");
    else if (f->ref == CLUMPI_FREED_WORD)
        snprintf(text, bytes, ": it was read from an object that was freed");
    else if (from->is_stale || from->by_site)
        snprintf(text, bytes, ": %s%s", freed, again);
    else if (found)
        snprintf(text, bytes, ": the object there is of class %s", found);
    else
        snprintf(text, bytes, ": no object was freed there");
}

static void tell_what(const clump_heap *heap, const clumpi_finding *from, const clump_finding *f,
                      char *text, size_t bytes) {
    char state[CLUMPI_PLACE_BYTES + 64], place[CLUMPI_PLACE_BYTES];
    const char *class = f->class_name ? f->class_name : "(none)",
               *field = f->field ? f->field : "(none)";
    uint32_t block = (f->ref >> 6) / heap->geometry.header.block_granules;
    if (is_of_raw(heap, from)) {
        tell_raw(from, f, text, bytes);
        return;
    }
    tell_state(heap, from, f, state, sizeof state);
    switch (f->kind) {
    case CLUMP_FINDING_ACCESS:
        snprintf(
            text, bytes,
            "field %s of class %s was used through reference 0x%08x, which names no live object of "
            "the class%s",
            field, class, f->ref, state);
        break;
    case CLUMP_FINDING_CAST:
        snprintf(text, bytes,
                 "reference 0x%08x was tested or cast, but names no live object of class %s%s",
                 f->ref, class, state);
        break;
    case CLUMP_FINDING_FREE:
        snprintf(text, bytes, "reference 0x%08x was freed, but names no live object of class %s%s",
                 f->ref, class, state);
        break;
    case CLUMP_FINDING_DOUBLE_FREE:
        snprintf(text, bytes, "reference 0x%08x of class %s was freed again%s", f->ref, class,
                 state);
        break;
    case CLUMP_FINDING_BOUNDS:
        snprintf(text, bytes,
                 "element %u of field %s of class %s was used through reference 0x%08x, but the "
                 "field has fewer elements",
                 f->index, field, class, f->ref);
        break;
    case CLUMP_FINDING_READ:
        snprintf(
            text, bytes,
            "field %s of class %s was read before it was written, in object 0x%08x, made by %s%s",
            field, class, f->ref, f->by.line ? "" : "the do-new of ",
            clumpi_place_words(f->by, place));
        break;
    case CLUMP_FINDING_FREED:
        if (from->at == CLUMPI_NOWHERE)
            snprintf(text, bytes,
                     "a field of object 0x%08x of class %s was written to in the place that the "
                     "object had left%s",
                     f->ref, class, state);
        else
            snprintf(
                text, bytes,
                "field %s of object 0x%08x of class %s was written to (0x%08x) after the object "
                "was freed%s",
                field, f->ref, class, from->detail, state);
        break;
    default:
        if (f->class_name)
            snprintf(text, bytes,
                     "memory behind field %s of class %s was written to (0x%08x): byte %u of row "
                     "0x%08x in block %u",
                     field, class, from->detail, from->at, f->ref, block);
        else
            snprintf(text, bytes,
                     "memory without an object was written to (0x%08x): byte %u of block %u%s%s",
                     from->detail, from->at, block,
                     from->by_site ? ": raw memory there was freed by " : "",
                     from->by_site ? clumpi_place_words(f->by, place) : "");
    }
}

void clumpi_finding_describe(const clump_heap *heap, const clumpi_kernel_name *names,
                             uint32_t count, const clumpi_finding *from, clump_finding *f) {
    char place[CLUMPI_PLACE_BYTES], what[CLUMP_FINDING_TEXT_BYTES];
    memset(f, 0, sizeof *f);
    f->kind = (clump_finding_kind)from->kind;
    f->count = from->count;
    f->place = clumpi_place_of_site(names, count, from->site);
    f->class_name = class_name(heap, from->class_id);
    if (f->class_name && from->at != CLUMPI_NOWHERE)
        f->field = field_at(heap->schema, from->class_id, from->at);
    if (f->kind == CLUMP_FINDING_BOUNDS) f->index = from->detail;
    f->ref = from->ref;
    f->work_item = from->work_item;
    f->by = clumpi_place_of_site(names, count, from->by_site);
    f->by_work_item = from->by_item == CLUMPI_CHANGED ? 0 : from->by_item;
    tell_what(heap, from, f, what, sizeof what);
    int at_once = f->kind != CLUMP_FINDING_FREED && f->kind != CLUMP_FINDING_GAP;
    if (at_once)
        snprintf(f->text, sizeof f->text, "%.150s: %.300s (%u times, first in work-item %u)",
                 clumpi_place_words(f->place, place), what, f->count, f->work_item);
    else
        snprintf(f->text, sizeof f->text, "%s %.130s: %.360s",
                 f->place.line ? "seen at" : "seen after", clumpi_place_words(f->place, place),
                 what);
}
