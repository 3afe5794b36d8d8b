/* Boids with births and deaths: a grid finds neighbours, and checkpoints keep the flock. The host
 * computes the same with plain arrays, and compares each boid, in the run without a break and in the
 * run that resumes from the last checkpoint. */
#include <clump/all.h>
#include <clump/quick.h>

#include "kernels.h" /* boids.cl */

enum { BOIDS = 2000, SIDE = 32, STEPS = 100, EVERY = 40, LIMIT = 10000 };

static const char schema[] =
    "class Boid { uint id; int x; int y; int vx; int vy; int ax; int ay; uint near; }\n"
    "class Cells { float origin[3]; float scale; uint count[3]; uint starts[*]; ref Boid "
    "sorted[*]; }\n";

/* ---- With plain arrays ----------------------------------------------------------------------- */

typedef struct boid {
    uint32_t id;
    int32_t x, y, vx, vy;
} boid;

static boid model[LIMIT];
static uint32_t model_count;

static uint32_t random_of(uint32_t a, uint32_t b) {
    uint32_t x = a * 2654435761u ^ b * 2246822519u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

static void model_begin(void) {
    for (uint32_t i = 0; i < BOIDS; i++) {
        uint32_t drawn = random_of(i, 0);
        model[i] =
            (boid){i, (int32_t)(drawn % (SIDE * 256)), (int32_t)(drawn / 65536 % (SIDE * 256)),
                   (int32_t)(drawn >> 8 & 63) - 32, (int32_t)(drawn >> 24 & 63) - 32};
    }
    model_count = BOIDS;
}

static int32_t clamp(int32_t v) {
    return v < -48 ? -48 : v > 48 ? 48 : v;
}

/* All pairs, where the heap has a grid. */
static void model_step(uint32_t step) {
    static boid next[LIMIT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < model_count; i++) {
        boid me = model[i];
        int32_t ax = 0, ay = 0;
        uint32_t near = 0, drawn = random_of(me.id, step);
        for (uint32_t j = 0; j < model_count; j++) {
            int32_t dx = model[j].x - me.x, dy = model[j].y - me.y, square = dx * dx + dy * dy;
            if (j == i || square > 256 * 256) continue;
            int32_t towards = square < 96 * 96 ? -16 : 1;
            near++;
            ax += 4 * (model[j].vx - me.vx) + towards * dx;
            ay += 4 * (model[j].vy - me.vy) + towards * dy;
        }
        if (drawn % 256 < near) continue;
        me.vx = clamp(me.vx + (ax >> 6));
        me.vy = clamp(me.vy + (ay >> 6));
        me.x += me.vx;
        me.y += me.vy;
        if (me.x < 0 || me.x >= SIDE * 256) me.x -= 2 * me.vx, me.vx = -me.vx;
        if (me.y < 0 || me.y >= SIDE * 256) me.y -= 2 * me.vy, me.vy = -me.vy;
        if (count + 2 > LIMIT) fprintf(stderr, "too many boids for the model\n"), exit(1);
        next[count++] = me;
        if (near < 2 || near > 8 || drawn / 256 % 32) continue;
        next[count++] = (boid){random_of(drawn, me.id), me.x, me.y, -me.vx, -me.vy};
    }
    memcpy(model, next, count * sizeof *next);
    model_count = count;
}

/* ---- With a heap ----------------------------------------------------------------------------- */

typedef struct flock {
    clump_quick q;
    cl_mem grid; /* a reference to the Cells */
    clump_refs *registered;
} flock;

static clump_kernel *kernel(flock *f, const char *name) {
    return clump_program_get_kernel(f->q.program, name);
}

static void open_flock(flock *f) {
    char options[32];
    cl_int code;
    snprintf(options, sizeof options, "-DSIDE=%d", SIDE);
    clump_quick_desc desc = {.schema = schema,
                             .source = (const char *)kernels,
                             .heap = {.bytes = 8 << 20},
                             .program = {.options = options}};
    CLUMP_CHECK(&f->q, clump_quick_open(&f->q, &desc));
    f->grid = clCreateBuffer(f->q.cl, 0, sizeof(clump_ref), NULL, &code);
    CLUMP_CHECK(f->q.cl, code);
    clump_refs_desc refs = {.size = sizeof refs, .buffer = f->grid, .count = 1};
    CLUMP_CHECK(&f->q, clump_refs_create(f->q.heap, &refs, &f->registered, NULL));
}

static void close_flock(flock *f) {
    clReleaseMemObject(f->grid);
    clump_quick_close(&f->q);
}

static void do_all(flock *f, clump_kernel *what) {
    CLUMP_CHECK(&f->q, clump_heap_do_all(f->q.heap, what, NULL));
}

static void update_grid(flock *f) {
    const char *boids[] = {"Boid"};
    uint64_t count;
    CLUMP_CHECK(&f->q, clump_heap_read_count(f->q.heap, "Boid", &count));
    cl_uint room = (cl_uint)count;
    clump_compact_desc order = {.size = sizeof order,
                                .classes = boids,
                                .class_count = 1,
                                .order = CLUMP_ORDER_KEY,
                                .key_kernel = kernel(f, "cell_keys")};
    CLUMP_CHECK(&f->q, clump_kernel_set_arg(order.key_kernel, 1, sizeof f->grid, &f->grid));
    CLUMP_CHECK(&f->q, clump_heap_compact(f->q.heap, &order, NULL, NULL));
    CLUMP_CHECK(&f->q,
                clump_heap_launch(
                    f->q.heap, clump_kernel_with(kernel(f, "make_room"), CLUMP_ARGS(f->grid, room)),
                    1, 1, NULL));
    do_all(f, clump_kernel_with(kernel(f, "note_cells"), CLUMP_ARGS(f->grid)));
}

/* Saves to the same file each time: the last whole checkpoint stays until the next one is whole. */
static void run(flock *f, uint32_t from) {
    const clump_save_desc to = {.size = sizeof to, .path = "boids.clump"};
    for (cl_uint step = from; step < STEPS; step++) {
        if (step % EVERY == 0) CLUMP_CHECK(&f->q, clump_heap_save(f->q.heap, &to, NULL));
        update_grid(f);
        do_all(f, clump_kernel_with(kernel(f, "look"), CLUMP_ARGS(f->grid)));
        do_all(f, clump_kernel_with(kernel(f, "fly"), CLUMP_ARGS(step)));
    }
    CLUMP_CHECK(&f->q, clump_heap_take_errors(f->q.heap, NULL)); /* there was always room */
}

static int by_id(const void *a, const void *b) {
    uint32_t x = ((const boid *)a)->id, y = ((const boid *)b)->id;
    return (x > y) - (x < y);
}

static int compare(flock *f, const char *what) {
    static const clump_struct_field fields[] = {{"id", offsetof(boid, id)},
                                                {"x", offsetof(boid, x)},
                                                {"y", offsetof(boid, y)},
                                                {"vx", offsetof(boid, vx)},
                                                {"vy", offsetof(boid, vy)}};
    const clump_struct_desc desc = {sizeof desc, "Boid", sizeof(boid), 5, fields};
    static boid boids[LIMIT];
    uint64_t count;
    CLUMP_CHECK(&f->q, clump_heap_read_structs(f->q.heap, &desc, NULL, boids, LIMIT, &count));
    qsort(boids, count, sizeof *boids, by_id);
    int is_same = count == model_count && memcmp(boids, model, count * sizeof *boids) == 0;
    printf("%s: %d boids, %s\n", what, (int)count,
           is_same ? "the same as with arrays" : "others than with arrays");
    return !is_same;
}

int main(void) {
    const clump_load_desc from = {.size = sizeof from, .path = "boids.clump"};
    flock f;
    open_flock(&f);
    CLUMP_CHECK(&f.q,
                clump_heap_do_new(f.q.heap, kernel(&f, "make_boids"), "Boid", BOIDS, NULL, NULL));
    CLUMP_CHECK(&f.q, clump_heap_do_new(
                          f.q.heap, clump_kernel_with(kernel(&f, "make_grid"), CLUMP_ARGS(f.grid)),
                          "Cells", 1, NULL, NULL));
    run(&f, 0);
    model_begin();
    for (uint32_t step = 0; step < STEPS; step++) model_step(step);
    qsort(model, model_count, sizeof *model, by_id);
    int wrong = compare(&f, "without a break");
    close_flock(&f);

    open_flock(&f);
    CLUMP_CHECK(&f.q, clump_heap_load(f.q.heap, &from, NULL));
    run(&f, (STEPS - 1) / EVERY * EVERY);
    wrong += compare(&f, "resumed");
    close_flock(&f);
    return wrong != 0;
}
