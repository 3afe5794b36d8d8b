/* A run of Wa-Tor that began on another device goes on here: the checkpoint that
 * tests/diff/apps/wa-tor.clump has of it is the world that the sequential program has after as many
 * steps, and after more steps the worlds are equal, with the same checksum, in a heap of each size
 * and block width; so is a checkpoint of that.
 *
 *     diff_wa_tor_resume              the test
 *     diff_wa_tor_resume write PATH   run the world up to the checkpoint on the device that
 *                                     CLUMP_DEVICE names, and write it
 *
 * The second of these makes it. This one was made on an NVIDIA H100 (commit 831491d6), by
 *     CLUMP_DEVICE=NVIDIA build/tests/diff_wa_tor_resume write tests/diff/apps/wa-tor.clump
 * Where objects lay there is not in it, but their order is.
 *
 * Read first: bench/apps/wa-tor/world.h, include/clump/save.h.
 */
#include <inttypes.h>

#include "app_fixture.h"
#include "bench/apps/wa-tor/world.h"

#define FILE_OF_REPOSITORY CLUMP_SOURCE_DIR "/tests/diff/apps/wa-tor.clump"

enum { WIDTH = 72, HEIGHT = 50, CELLS = WIDTH * HEIGHT, AT = 100, END = 200 };
/* Of the sequential world after END steps: so that a change of rules is noticed, too. */
#define CHECKSUM_AT_END UINT64_C(0x9afc23caab474339)

static cl_fixture fixture;

static wa_tor_desc describe(bench_variant variant) {
    wa_tor_desc desc = {.world = app_fixture_world(&fixture, 10 << 20),
                        .rules = wa_tor_rules_default()};
    desc.world.variant = variant;
    desc.rules.width = WIDTH;
    desc.rules.height = HEIGHT;
    desc.rules.seed = 2026;
    return desc;
}

static void check(int failed, const bench_error *error) {
    if (failed) fail_msg("%s", error->text);
}

static bench_world create(const wa_tor_desc *desc) {
    bench_error error = {""};
    bench_world world;
    check(wa_tor_world_create(desc, &world, &error), &error);
    return world;
}

static void step(const bench_world *world, uint32_t steps) {
    bench_error error = {""};
    for (uint32_t i = 0; i < steps; i++) check(bench_world_step(world, &error), &error);
    check(bench_world_finish(world, &error), &error);
}

/* The world at a step, of the sequential program. */
static void expected(uint32_t steps, uint32_t *codes) {
    const wa_tor_desc desc = describe(BENCH_SEQUENTIAL);
    bench_error error = {""};
    bench_world world = create(&desc);
    step(&world, steps);
    check(bench_world_read(&world, codes, &error), &error);
    bench_world_destroy(&world);
}

static void compare(const bench_world *world, uint32_t steps) {
    const wa_tor_desc desc = describe(BENCH_CLUMP);
    static uint32_t found[CELLS], wanted[CELLS];
    bench_error error = {""};
    expected(steps, wanted);
    check(bench_world_read(world, found, &error), &error);
    check(wa_tor_compare(&desc.rules, found, wanted, steps, &error), &error);
    check(wa_tor_check_heap(world, &desc.rules, wanted, &error), &error);
    assert_true(wa_tor_checksum(found, CELLS) == wa_tor_checksum(wanted, CELLS));
    CHECK_HEAP(&fixture, bench_world_heap(world));
}

static bench_world resume(const wa_tor_desc *desc, const char *path, uint32_t steps) {
    bench_error error = {""};
    bench_world world;
    check(wa_tor_world_resume(desc, path, steps, &world, &error), &error);
    compare(&world, steps);
    return world;
}

/* The fish and sharks live on through the steps that are compared. */
static void test_reference(void **state) {
    static uint32_t codes[CELLS];
    (void)state;
    expected(END, codes);
    const wa_tor_population end = wa_tor_count(codes, CELLS);
    assert_true(end.fish > 50 && end.sharks > 10);
    if (wa_tor_checksum(codes, CELLS) != CHECKSUM_AT_END)
        fail_msg("the sequential program ends in the checksum 0x%016" PRIx64,
                 wa_tor_checksum(codes, CELLS));
}

static void test_file(void **state) {
    static const struct {
        uint32_t block_rows;
        uint64_t heap_bytes;
    } heaps[] = {{1, 10 << 20}, {7, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++) {
        wa_tor_desc desc = describe(BENCH_CLUMP);
        desc.world.block_rows = heaps[i].block_rows;
        desc.world.heap_bytes = heaps[i].heap_bytes;
        bench_world world = resume(&desc, FILE_OF_REPOSITORY, AT);
        step(&world, END - AT);
        compare(&world, END);
        bench_world_destroy(&world);
    }
}

/* A checkpoint of the world that came from one, and objects that moved. */
static void test_again(void **state) {
    clump_compactor_desc compaction = {.size = sizeof compaction, .every = 10};
    char path[] = "/tmp/clump-wa-tor-XXXXXX";
    wa_tor_desc desc = describe(BENCH_CLUMP);
    bench_error error = {""};
    (void)state;
    app_fixture_write_text(path, "");
    desc.world.compaction = &compaction;
    bench_world world = resume(&desc, FILE_OF_REPOSITORY, AT);
    step(&world, 37);
    check(wa_tor_world_save(&world, path, &error), &error);
    bench_world_destroy(&world);
    world = resume(&desc, path, AT + 37);
    step(&world, END - AT - 37);
    compare(&world, END);
    bench_world_destroy(&world);
    remove(path);
}

/* A world of other rules: the file does not fit, and says so. */
static void test_other_world(void **state) {
    wa_tor_desc desc = describe(BENCH_CLUMP);
    bench_error error = {""};
    bench_world world;
    (void)state;
    desc.rules.height += 8;
    assert_int_not_equal(wa_tor_world_resume(&desc, FILE_OF_REPOSITORY, AT, &world, &error), 0);
    if (!strstr(error.text, "rows of loaded cells")) fail_msg("%s", error.text);
}

static int write_file(const char *path) {
    const wa_tor_desc desc = describe(BENCH_CLUMP);
    bench_error error = {""};
    bench_world world = create(&desc);
    step(&world, AT);
    compare(&world, AT);
    if (wa_tor_world_save(&world, path, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%s: Wa-Tor, %d x %d cells, after %d steps on %s\n", path, WIDTH, HEIGHT, AT,
           fixture.capabilities->device_name);
    bench_world_destroy(&world);
    return 0;
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "write") == 0) {
        int code = cl_fixture_open(&fixture, NULL);
        if (code) return code;
        code = write_file(words[2]);
        cl_fixture_close(&fixture);
        return code;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_file), cmocka_unit_test(test_again),
                                       cmocka_unit_test(test_other_world)};
    return APP_FIXTURE_RUN("wa-tor from a checkpoint", &fixture, tests);
}
