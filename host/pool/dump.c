/* A pool as JSON and as a picture. docs/guide/pool.md documents both. Read first: pool.h. */
#include "pool/pool.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void append_range(clump_pool *p, clumpi_text *t, uint64_t offset, uint64_t bytes,
                         uint32_t record, int is_free) {
    clumpi_text_append(t, "        {\"offset\": %llu, \"bytes\": %llu, \"state\": \"%s\"",
                       (unsigned long long)offset, (unsigned long long)bytes,
                       is_free  ? "free"
                       : record ? "used"
                                : "reserved");
    if (record) {
        const clumpi_record *r = clumpi_record_at(p, record);
        clumpi_text_append(
            t,
            ", \"allocation\": \"0x%llx\", \"requested_bytes\": %llu, \"movable\": %s, "
            "\"moving\": %s, \"pins\": %u, \"maps\": %u",
            (unsigned long long)clumpi_record_handle(p, record), (unsigned long long)r->bytes,
            r->is_movable ? "true" : "false", r->op ? "true" : "false", r->pins,
            r->extra ? r->extra->maps : 0);
        if (r->extra && r->extra->name) {
            clumpi_text_append(t, ", \"name\": ");
            clumpi_text_append_json(t, r->extra->name);
        }
    }
    clumpi_text_append(t, "}");
}

static void append_chunk(clump_pool *p, clumpi_text *t, const clumpi_chunk *c, int is_first) {
    uint64_t used = c->is_unique ? c->bytes : c->ranges.used_units << p->unit_shift;
    clumpi_text_append(
        t,
        "%s    {\"serial\": %u, \"memory\": \"%s\", \"unique\": %s, \"bytes\": %llu, "
        "\"used_bytes\": %llu, \"ranges\": [\n",
        is_first ? "" : ",\n", c->serial, clumpi_memory_name(c->memory),
        c->is_unique ? "true" : "false", (unsigned long long)c->bytes, (unsigned long long)used);
    if (c->is_unique) append_range(p, t, 0, c->bytes, c->cursor, 0);
    for (uint32_t i = c->is_unique ? 0 : clumpi_suballoc_first(&c->ranges); i;) {
        const clumpi_node *n = clumpi_node_at(&c->ranges, i);
        int is_free = n->state == CLUMPI_NODE_FREE;
        append_range(p, t, (uint64_t)n->offset << p->unit_shift, (uint64_t)n->size << p->unit_shift,
                     is_free ? 0 : (uint32_t)(uintptr_t)n->user_data, is_free);
        i = n->next;
        if (i) clumpi_text_append(t, ",\n");
    }
    clumpi_text_append(t, "\n    ]}");
}

static void append_json(clump_pool *p, clumpi_text *t) {
    static const char *const fits[CLUMP_FIT_COUNT] = {"good", "first", "best", "worst"};
    const clump_pool_stats *s = &p->stats;
    clumpi_text_append(t, "{\n  \"format\": \"clump pool 1\",\n  \"name\": ");
    clumpi_text_append_json(t, p->name);
    clumpi_text_append(t, ",\n  \"fit\": \"%s\", \"alignment\": %u, \"chunk_bytes\": %llu, ",
                       fits[p->desc.fit], p->desc.alignment,
                       (unsigned long long)p->desc.chunk_bytes);
    clumpi_text_append(t, "\"limit_bytes\": %llu, \"margin_bytes\": %llu,\n  \"stats\": {",
                       (unsigned long long)p->desc.limit_bytes,
                       (unsigned long long)p->margin_units << p->unit_shift);
#define NUMBER(name) clumpi_text_append(t, "\"" #name "\": %llu, ", (unsigned long long)s->name);
    NUMBER(bytes)
    NUMBER(bytes_peak)
    NUMBER(used_bytes)
    NUMBER(used_peak)
    NUMBER(requested_bytes)
    NUMBER(chunks)
    NUMBER(chunks_peak)
    NUMBER(empty_chunks)
    NUMBER(unique)
    NUMBER(allocations)
    NUMBER(allocated)
    NUMBER(freed)
    NUMBER(refused)
    NUMBER(moves)
    NUMBER(moved_bytes)
#undef NUMBER
    clumpi_text_append(
        t, "\"waiting_bytes\": %llu, \"waste\": ", (unsigned long long)s->waiting_bytes);
    clumpi_text_append_share(t, clumpi_pool_waste(p));
    clumpi_text_append(t, "},\n  \"chunks\": [\n");
    int is_first = 1;
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++) {
        const clumpi_kind *k = &p->kinds[m];
        for (size_t i = 0; i < k->count; i++, is_first = 0)
            append_chunk(p, t, k->chunks[i], is_first);
        for (size_t i = 0; i < k->unique_count; i++, is_first = 0)
            append_chunk(p, t, k->uniques[i], is_first);
    }
    clumpi_text_append(t, "\n  ]\n}\n");
}

/* ---- The picture ----------------------------------------------------------------------------- */

#define BAR_LEFT 150.0
#define BAR_WIDTH 1000.0
#define BAR_HEIGHT 18
#define BAR_STEP 24

static void append_box(clumpi_text *t, double x, double width, int row, const char *color) {
    clumpi_text_append(t, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                       x, row * BAR_STEP + 30, width, BAR_HEIGHT, color);
}

static const char *color_of(const clump_pool *p, uint32_t record) {
    if (!record) return "#d0a000"; /* reserved */
    const clumpi_record *r = clumpi_record_at(p, record);
    if (r->op) return "#d07030";
    return clumpi_record_is_free_to_move(r) ? "#4c9a52" : "#3f6fb0";
}

static void append_bar(clump_pool *p, clumpi_text *t, const clumpi_chunk *c, int row,
                       double bytes_wide) {
    double scale = BAR_WIDTH / bytes_wide;
    const char *memory = c->memory == CLUMP_MEMORY_DEVICE ? "" : clumpi_memory_name(c->memory);
    clumpi_text_append(t, "<text x=\"4\" y=\"%d\">%s%s%s%s %u</text>\n", row * BAR_STEP + 43,
                       c->is_unique ? "unique" : "chunk", *memory ? " (" : "", memory,
                       *memory ? ")" : "", c->serial);
    append_box(t, BAR_LEFT, scale * (double)c->bytes, row,
               c->is_unique ? color_of(p, c->cursor) : "#e8e8e8");
    for (uint32_t i = c->is_unique ? 0 : clumpi_suballoc_first(&c->ranges); i;
         i = clumpi_node_at(&c->ranges, i)->next) {
        const clumpi_node *n = clumpi_node_at(&c->ranges, i);
        if (n->state == CLUMPI_NODE_USED)
            append_box(t, BAR_LEFT + scale * (double)((uint64_t)n->offset << p->unit_shift),
                       scale * (double)((uint64_t)n->size << p->unit_shift), row,
                       color_of(p, (uint32_t)(uintptr_t)n->user_data));
    }
}

static void append_svg(clump_pool *p, clumpi_text *t) {
    uint64_t widest = 1;
    int rows = 0;
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++) {
        const clumpi_kind *k = &p->kinds[m];
        for (size_t i = 0; i < k->count; i++, rows++)
            if (k->chunks[i]->bytes > widest) widest = k->chunks[i]->bytes;
        for (size_t i = 0; i < k->unique_count; i++, rows++)
            if (k->uniques[i]->bytes > widest) widest = k->uniques[i]->bytes;
    }
    clumpi_text_append(
        t,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1160\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<text x=\"4\" y=\"18\">%llu bytes in all, %llu used. Green: movable, blue: stays, "
        "orange: moving, yellow: reserved, grey: free</text>\n",
        rows * BAR_STEP + 40, (unsigned long long)p->stats.bytes,
        (unsigned long long)p->stats.used_bytes);
    int row = 0;
    for (int m = 0; m < CLUMP_MEMORY_COUNT; m++) {
        const clumpi_kind *k = &p->kinds[m];
        for (size_t i = 0; i < k->count; i++) append_bar(p, t, k->chunks[i], row++, (double)widest);
        for (size_t i = 0; i < k->unique_count; i++)
            append_bar(p, t, k->uniques[i], row++, (double)widest);
    }
    clumpi_text_append(t, "</svg>\n");
}

clump_status clump_pool_dump(clump_pool *pool, clump_pool_format format, clump_write_fn write,
                             void *user) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_allocator allocator = p->allocator;
    clumpi_text text = {.allocator = &allocator};
    clump_status status = CLUMP_OK;
    if (!write)
        status = clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                             "clump_pool_dump needs a function that receives the text");
    else if (format == CLUMP_POOL_JSON)
        append_json(p, &text);
    else if (format == CLUMP_POOL_SVG)
        append_svg(p, &text);
    else
        status = clumpi_fail(&p->error, CLUMP_ERR_USAGE, "clump_pool_dump: unknown format %d",
                             (int)format);
    clumpi_pool_leave(p);
    if (status) return status;
    /* Without the lock: the function may call the pool. */
    clump_error error;
    status = clumpi_text_write(&text, status, "clump_pool_dump", write, user, &error);
    if (status) {
        clumpi_pool_enter(p);
        p->error = error;
        clumpi_pool_leave(p);
    }
    return status;
}
