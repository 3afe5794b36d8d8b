/* Bodies in plain sequential C: the reference that every other variant must equal, bit by bit.
 *
 * An array per field, without holes: the last body takes the place of one that is merged. The
 * arithmetic is that of rules.clh, written again on purpose. No sum here has a product as an
 * operand, so that no compiler can contract one.
 *
 * Read first: model.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "world.h"

#define PULL_MAX 1073741824.0f /* 2^30 quanta */
#define DISTANCE2_MIN 1e-20f   /* keeps the distance of a body to itself among the normal floats */
#define NOBODY UINT32_MAX

struct world {
    collision_constants constants;
    int is_merging, is_damped, takes_heavier, takes_first;
    uint32_t count, total; /* now, and at the start */
    uint32_t looked_at;    /* bodies in the last step before any merged */
    float *x, *y, *vx, *vy, *mass, *force_x, *force_y;
    uint32_t *id, *candidate, *suitor; /* candidates are indices, suitors ids */
    uint8_t *is_merged;
    void *memory;
};

static BENCH_INLINE int32_t quantise(float v) {
    v = v > PULL_MAX ? PULL_MAX : v;
    v = v < -PULL_MAX ? -PULL_MAX : v;
    return (int32_t)rintf(v);
}

/* ---- The phases ------------------------------------------------------------------------------ */

/* The pull, divided by the distance. */
static BENCH_INLINE float pull(float dx, float dy, float mass, float softening2, float scale,
                               int is_damped) {
    if (is_damped) {
        float d2 = fmaf(dx, dx, fmaf(dy, dy, DISTANCE2_MIN)), damped = d2 + softening2;
        return mass * scale * collision_inverse_sqrt(d2 * (damped * damped));
    }
    float r = collision_inverse_sqrt(fmaf(dx, dx, fmaf(dy, dy, softening2)));
    return mass * scale * (r * r * r);
}

/* Inlined once for each law, so that the inner loop asks for none. */
static BENCH_INLINE void compute_forces_by(struct world *world, int is_damped) {
    const float *restrict x = world->x, *restrict y = world->y, *restrict mass = world->mass;
    float softening2 = world->constants.softening2, scale = world->constants.scale;
    for (uint32_t i = 0; i < world->count; i++) {
        int64_t sum_x = 0, sum_y = 0;
        for (uint32_t j = 0; j < world->count; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float f = pull(dx, dy, mass[j], softening2, scale, is_damped);
            sum_x += quantise(f * dx);
            sum_y += quantise(f * dy);
        }
        world->force_x[i] = (float)sum_x;
        world->force_y[i] = (float)sum_y;
    }
}

static BENCH_INLINE void compute_forces_with(struct world *world) {
    if (world->is_damped) {
        compute_forces_by(world, 1);
    } else {
        compute_forces_by(world, 0);
    }
}

BENCH_TWO_LOOPS(compute_forces, struct world)

static float bounce(float x, float v) {
    return (x > 1.0f && v > 0.0f) || (x < -1.0f && v < 0.0f) ? -v : v;
}

static void update(struct world *world) {
    float kick = world->constants.kick, dt = world->constants.dt;
    for (uint32_t i = 0; i < world->count; i++) {
        float vx = fmaf(world->force_x[i], kick, world->vx[i]);
        float vy = fmaf(world->force_y[i], kick, world->vy[i]);
        world->x[i] = fmaf(vx, dt, world->x[i]);
        world->y[i] = fmaf(vy, dt, world->y[i]);
        world->vx[i] = bounce(world->x[i], vx);
        world->vy[i] = bounce(world->y[i], vy);
    }
}

/* Whether body j may be merged into body i. */
static BENCH_INLINE int may_take(const struct world *world, uint32_t i, uint32_t j,
                                 int takes_heavier) {
    float m1 = world->mass[i], m2 = world->mass[j];
    return takes_heavier ? m2 > m1 : m2 < m1 || (m2 == m1 && world->id[j] > world->id[i]);
}

static BENCH_INLINE void find_candidates_by(struct world *world, int takes_heavier,
                                            int takes_first) {
    const float *restrict x = world->x, *restrict y = world->y;
    for (uint32_t i = 0; i < world->count; i++) {
        float best = world->constants.reach2;
        uint32_t found = NOBODY;
        for (uint32_t j = 0; j < world->count; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float d = fmaf(dx, dx, dy * dy), rank = takes_first ? 0 : d;
            if (d < world->constants.reach2 && rank <= best &&
                may_take(world, i, j, takes_heavier) &&
                (rank < best || world->id[j] < world->id[found])) {
                best = rank;
                found = j;
            }
        }
        world->candidate[i] = found;
        world->suitor[i] = 0;
        world->is_merged[i] = 0;
    }
}

static BENCH_INLINE void find_candidates_with(struct world *world) {
    if (world->takes_heavier && world->takes_first) {
        find_candidates_by(world, 1, 1);
    } else if (world->takes_heavier || world->takes_first) {
        find_candidates_by(world, world->takes_heavier, world->takes_first);
    } else {
        find_candidates_by(world, 0, 0);
    }
}

BENCH_TWO_LOOPS(find_candidates, struct world)

static void request(struct world *world) {
    for (uint32_t i = 0; i < world->count; i++) {
        uint32_t j = world->candidate[i];
        if (j != NOBODY && world->suitor[j] < world->id[i]) {
            world->suitor[j] = world->id[i];
        }
    }
}

/* Body i takes in body j. */
static void merge_pair(struct world *world, uint32_t i, uint32_t j) {
    float m1 = world->mass[i], m2 = world->mass[j];
    float r = collision_inverse(m1 + m2);
    world->vx[i] = fmaf(world->vx[i], m1, world->vx[j] * m2) * r;
    world->vy[i] = fmaf(world->vy[i], m1, world->vy[j] * m2) * r;
    world->x[i] = (world->x[i] + world->x[j]) * 0.5f;
    world->y[i] = (world->y[i] + world->y[j]) * 0.5f;
    world->mass[i] = m1 + m2;
    world->is_merged[j] = 1;
}

static void merge(struct world *world) {
    for (uint32_t i = 0; i < world->count; i++) {
        uint32_t j = world->candidate[i];
        if (j != NOBODY && world->suitor[j] == world->id[i] && world->suitor[i] == 0) {
            merge_pair(world, i, j);
        }
    }
}

/* Backwards, so that the body that takes the place has been looked at. */
static void delete_merged(struct world *world) {
    for (uint32_t i = world->count; i-- > 0;) {
        if (!world->is_merged[i]) {
            continue;
        }
        uint32_t last = --world->count;
        world->x[i] = world->x[last];
        world->y[i] = world->y[last];
        world->vx[i] = world->vx[last];
        world->vy[i] = world->vy[last];
        world->mass[i] = world->mass[last];
        world->id[i] = world->id[last];
    }
}

/* ---- Lifetime and looking -------------------------------------------------------------------- */

static void destroy(void *self) {
    struct world *world = self;
    if (world) {
        free(world->memory);
        free(world);
    }
}

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    size_t count = desc->count;
    float *memory = calloc(count, 11 * sizeof(float)); /* ten words a body, and a byte */
    if (!world || !memory) {
        free(memory);
        free(world);
        return bench_error_set(error, "host memory ran out for the sequential bodies");
    }
    float **const fields[] = {&world->x,    &world->y,       &world->vx,     &world->vy,
                              &world->mass, &world->force_x, &world->force_y};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        *fields[i] = memory + i * count;
    }
    world->memory = memory;
    world->id = (uint32_t *)(void *)(memory + 7 * count);
    world->candidate = world->id + count;
    world->suitor = world->candidate + count;
    world->is_merged = (uint8_t *)(world->suitor + count);
    world->constants = *constants;
    world->is_merging = desc->rules.is_merging;
    world->is_damped = desc->rules.law == COLLISION_DAMPED;
    world->takes_heavier = desc->rules.takes_heavier;
    world->takes_first = desc->rules.takes_first;
    world->count = world->total = desc->count;
    for (uint32_t i = 0; i < desc->count; i++) {
        world->x[i] = desc->bodies[i].x;
        world->y[i] = desc->bodies[i].y;
        world->vx[i] = desc->bodies[i].vx;
        world->vy[i] = desc->bodies[i].vy;
        world->mass[i] = desc->bodies[i].mass;
        world->id[i] = i + 1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    (void)error;
    world->looked_at = world->count;
    compute_forces(world);
    update(world);
    if (world->is_merging) {
        find_candidates(world);
        request(world);
        merge(world);
        delete_merged(world);
    }
    return 0;
}

static int read_bodies(void *self, void *state, bench_error *error) {
    collision_body *bodies = state;
    const struct world *world = self;
    (void)error;
    memset(bodies, 0, world->total * sizeof *bodies);
    for (uint32_t i = 0; i < world->count; i++) {
        bodies[world->id[i] - 1] = (collision_body){.x = world->x[i],
                                                    .y = world->y[i],
                                                    .vx = world->vx[i],
                                                    .vy = world->vy[i],
                                                    .mass = world->mass[i]};
    }
    return 0;
}

/* In the order of collision_counted. */
static void count(void *self, bench_tally *tally) {
    const struct world *world = self;
    tally->present[0] += world->count;
    tally->present[1] += (double)world->looked_at * world->looked_at;
}

const collision_ops collision_sequential_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_bodies, .count = count}};
