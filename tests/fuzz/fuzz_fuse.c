/* Fuzzing of what reads the source of kernels that are to be fused: tokens, macros, loops, touches.
 *
 * What must hold for all bytes, also for what no compiler would take: it ends, and either refuses
 * with words, or gives a loop over a class whose parts lie within the source, in order, and whose
 * fields are those of the schema. The kernel is called
 * `k`. The first byte says whether it is the last of those that are fused.
 * Read first: fuzz.h, host/fuse/fuse.h.
 */
#include "fuse/fuse.h"
#include "fuzz.h"

static const char schema_text[] =
    "class Base { uint a; float4 v; } class Body : Base { uint list[4]; ref Body next; uint "
    "some[*]; } class Other { uint a; }";

static clump_schema *schema(void) {
    static clump_schema *parsed;
    if (!parsed)
        REQUIRE(!clump_schema_parse(schema_text, strlen(schema_text), NULL, &parsed, NULL));
    return parsed;
}

static void check_range(clumpi_range part, size_t end) {
    REQUIRE(part.begin <= part.end && part.end <= end);
}

static void check_touch(const clumpi_reading *r, const clumpi_touch *t) {
    clump_field_info f = {.size = sizeof f};
    REQUIRE(!clump_schema_find_field(r->schema, t->class_id, t->field, &f) &&
            f.class_id == t->class_id);
    REQUIRE(t->ways && t->ways < 1u << CLUMPI_WAYS);
    for (uint32_t way = 0; way < CLUMPI_WAYS; way++)
        REQUIRE(!(t->ways >> way & 1u) || t->lines[way]);
}

static void check_loop(const clumpi_reading *r, const clumpi_loop *loop) {
    clump_class_info info = {.size = sizeof info};
    REQUIRE(!clump_schema_get_class(r->schema, loop->class_info.id, &info));
    REQUIRE(loop->self.kind == CLUMPI_TOKEN_WORD || loop->self.bytes);
    check_range(loop->before, r->code.count);
    check_range(loop->body, r->code.count);
    check_range(loop->reduce, r->code.count);
    REQUIRE(loop->before.end < loop->body.begin && loop->body.begin < loop->body.end);
    REQUIRE(loop->reduce.begin == loop->reduce.end || loop->body.end == loop->reduce.begin);
    for (size_t i = 0; i < loop->parameter_count; i++) {
        check_range(loop->parameters[i].all, loop->tokens.count);
        REQUIRE(loop->parameters[i].name + 1 == loop->parameters[i].all.end);
    }
    for (size_t i = 0; i < loop->touches.count; i++) check_touch(r, &loop->touches.all[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!bytes) return 0;
    static const clump_allocator none;
    static clump_context context;
    static char name[] = "input", options[] = "-DNUMBER=3 -D ONE";
    char *source = malloc(bytes);
    REQUIRE(source);
    memcpy(source, data + 1, bytes - 1);
    source[bytes - 1] = 0;
    context.allocator = clumpi_allocator_resolve(&none);
    context.error = (clump_error){0};
    clump_program program = {.context = &context,
                             .schema = schema(),
                             .name = name,
                             .source = source,
                             .options = options};
    clumpi_reading r = {.context = &context, .program = &program, .schema = program.schema};
    clumpi_loop loop = {0};
    clump_status status = clumpi_reading_open(&r);
    if (!status) status = clumpi_loop_open(&r, &loop, "k", data[0] & 1);
    REQUIRE(status == CLUMP_OK || status == CLUMP_ERR_USAGE);
    if (status)
        fuzz_check_words(context.error.message, sizeof context.error.message);
    else
        check_loop(&r, &loop);
    clumpi_loop_close(&r, &loop);
    clumpi_reading_close(&r);
    free(source);
    return 0;
}
