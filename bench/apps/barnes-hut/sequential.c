/* The quadtree in plain sequential C: the reference that every other variant must equal, bit by
 * bit. sequential_precise.c is the same in double precision: it defines PRECISE and includes this
 * file.
 *
 * The obvious way: the tree is built anew in each step, body by body. The arithmetic is that of
 * rules.clh, written again on purpose. No sum here has a product as an operand, so that no compiler
 * can contract one.
 *
 * Read first: model.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/collision/rules.h"
#include "world.h"

#ifndef PRECISE
#define PRECISE 0
#endif

#if PRECISE
typedef double real;
#define OF(number) (number).precise
#define FMA fma
#define FIND_CHILD barnes_hut_find_child_precise
#else
typedef float real;
#define OF(number) (number).single
#define FMA fmaf
#define FIND_CHILD barnes_hut_find_child
#endif

#define STACK (6 * BARNES_HUT_LEVELS + 8) /* as in rules.clh */
#define NOTHING 0
#define DISTANCE2_MIN 1e-20f /* as in rules.clh of collision */

/* Of a body, or of a cell with its centre of mass. NOTHING has only zeros; then come the bodies,
 * whose index is id + 1, and then the nodes, of which the first is the root. */
typedef struct summary {
    real x, y, mass, reach2;
} summary;

typedef struct node {
    uint32_t children[4];                /* indices of summaries, or NOTHING */
    real x[4], y[4], mass[4], reach2[4]; /* copies of these summaries */
} node;

struct world {
    barnes_hut_constants constants;
    uint32_t count, root, node_count, node_capacity;
    uint64_t pairs; /* of a body and a body or cell that pulled it, in the last step */
    summary *summaries;
    node *nodes;
    real *vx, *vy, *force_x, *force_y;
    uint8_t *levels;
};

/* ---- Arithmetic ------------------------------------------------------------------------------ */

#if PRECISE

/* As in rules.clh: a guess from the bits, and four steps of Newton's method. */
static BENCH_INLINE double inverse_sqrt(double a) {
    double half_a = -0.5 * a, y;
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits = 0x5fe6eb50c7b537a9u - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    y = y * fma(half_a * y, y, 1.5);
    y = y * fma(half_a * y, y, 1.5);
    y = y * fma(half_a * y, y, 1.5);
    return y * fma(half_a * y, y, 1.5);
}

static double inverse(double a) {
    return 1 / a;
}

#else

#define inverse_sqrt collision_inverse_sqrt
#define inverse collision_inverse

#endif

/* What a body or cell at this distance pulls with, divided by the distance. */
static BENCH_INLINE real pull(real dx, real dy, real mass, real softening2, int is_damped) {
    if (is_damped) {
        real d2 = FMA(dx, dx, FMA(dy, dy, (real)DISTANCE2_MIN)), damped = d2 + softening2;
        return mass * inverse_sqrt(d2 * (damped * damped));
    }
    real r = inverse_sqrt(FMA(dx, dx, FMA(dy, dy, softening2)));
    return mass * (r * r * r);
}

/* ---- The tree -------------------------------------------------------------------------------- */

static int reserve_node(struct world *world) {
    if (world->node_count < world->node_capacity) {
        return 0;
    }
    uint32_t wanted = world->node_capacity ? 2 * world->node_capacity : world->count + 64;
    summary *summaries =
        realloc(world->summaries, ((size_t)world->root + wanted) * sizeof *summaries);
    if (summaries) {
        world->summaries = summaries;
    }
    node *nodes = realloc(world->nodes, wanted * sizeof *nodes);
    if (nodes) {
        world->nodes = nodes;
    }
    if (!summaries || !nodes) {
        return -1;
    }
    world->node_capacity = wanted;
    return 0;
}

/* A new node's index among the summaries, or NOTHING. */
static uint32_t make_node(struct world *world, uint32_t level) {
    if (reserve_node(world)) {
        return NOTHING;
    }
    uint32_t index = world->root + world->node_count;
    uint32_t capped = level < BARNES_HUT_GRID_LEVELS ? level : BARNES_HUT_GRID_LEVELS;
    const float *of = world->constants.reach;
    float reach = fmaf(ldexpf(2.0f, -(int)capped), of[0], of[1]);
    world->nodes[world->node_count++] = (node){.children = {NOTHING, NOTHING, NOTHING, NOTHING}};
    world->summaries[index] = (summary){.reach2 = reach * reach};
    return index;
}

static uint32_t *find_slot(struct world *world, uint32_t at, uint32_t body, uint32_t level) {
    const summary *s = &world->summaries[body];
    return &world->nodes[at - world->root].children[FIND_CHILD(s->x, s->y, body - 1, level)];
}

static int insert(struct world *world, uint32_t body) {
    uint32_t at = world->root;
    for (uint32_t level = 0;; level++) {
        uint32_t *slot = find_slot(world, at, body, level);
        uint32_t other = *slot;
        if (other == NOTHING) {
            *slot = body;
            world->levels[body - 1] = (uint8_t)(level + 1);
            return 0;
        }
        if (other < world->root) {
            uint32_t below = make_node(world, level + 1);
            if (below == NOTHING) {
                return -1;
            }
            *find_slot(world, at, body, level) = below; /* nodes may have moved */
            *find_slot(world, below, other, level + 1) = other;
            world->levels[other - 1]++;
            other = below;
        }
        at = other;
    }
}

/* Nodes are made from the root downwards, so backwards is from the bodies upwards. */
static void sum_up(struct world *world) {
    for (uint32_t i = world->node_count; i-- > 0;) {
        summary *all = &world->summaries[world->root + i];
        node *of = &world->nodes[i];
        real x = 0, y = 0, mass = 0;
        for (int j = 0; j < 4; j++) {
            const summary *part = &world->summaries[of->children[j]];
            of->x[j] = part->x;
            of->y[j] = part->y;
            of->mass[j] = part->mass;
            of->reach2[j] = part->reach2;
            x = FMA(part->mass, part->x, x);
            y = FMA(part->mass, part->y, y);
            mass += part->mass;
        }
        real r = inverse(mass);
        all->x = x * r;
        all->y = y * r;
        all->mass = mass;
    }
}

static int build(struct world *world) {
    world->node_count = 0;
    if (make_node(world, 0) == NOTHING) {
        return -1;
    }
    for (uint32_t i = 1; i <= world->count; i++) {
        if (insert(world, i)) {
            return -1;
        }
    }
    return 0;
}

/* ---- The phases ------------------------------------------------------------------------------ */

typedef struct pulls {
    real x[4], y[4]; /* a sum for each child index */
} pulls;

/* What a body looks for its forces with. */
typedef struct looker {
    real x, y, softening2;
    uint32_t pairs;
    pulls all;
} looker;

/* The pulls of the children of a cell; those that must be opened are marked instead, `forced` too
 * unless it is -1. */
static BENCH_INLINE void look_into(looker *me, const node *of, int forced, int is_damped,
                                   int is_opened[4]) {
    for (int j = 0; j < 4; j++) {
        real dx = of->x[j] - me->x, dy = of->y[j] - me->y;
        is_opened[j] = FMA(dx, dx, dy * dy) < of->reach2[j] || j == forced;
        real f = pull(dx, dy, of->mass[j], me->softening2, is_damped);
        f = is_opened[j] ? 0 : f;
        me->all.x[j] = FMA(f, dx, me->all.x[j]);
        me->all.y[j] = FMA(f, dy, me->all.y[j]);
        me->pairs += !is_opened[j] && of->mass[j] > 0;
    }
}

static BENCH_INLINE int put(uint32_t *stack, int height, const uint32_t children[4],
                            const int is_opened[4]) {
    for (int j = 0; j < 4; j++) {
        stack[height] = children[j];
        height += is_opened[j];
    }
    return height;
}

/* Open the cells that body i is in, down to level `path` of the tree. */
static BENCH_INLINE int follow_path(const struct world *world, looker *me, uint32_t i,
                                    int is_damped, uint32_t *stack) {
    uint32_t at = world->root;
    int height = 0;
    for (uint32_t level = 0; level < world->constants.path; level++) {
        const node *of = &world->nodes[at - world->root];
        uint32_t child = FIND_CHILD(me->x, me->y, i - 1, level);
        int is_node = of->children[child] >= world->root, is_opened[4];
        look_into(me, of, is_node ? (int)child : -1, is_damped, is_opened);
        is_opened[child] = 0;
        height = put(stack, height, of->children, is_opened);
        if (!is_node) {
            return height;
        }
        at = of->children[child];
    }
    stack[height] = at;
    return height + 1;
}

/* Two cells at a time, as in heap.cl, so that sums have the same order. */
static BENCH_INLINE void compute_forces_by(struct world *world, int is_damped) {
    uint32_t stack[STACK];
    world->pairs = 0;
    for (uint32_t i = 1; i <= world->count; i++) {
        looker me = {.x = world->summaries[i].x,
                     .y = world->summaries[i].y,
                     .softening2 = OF(world->constants.softening2)};
        int height = follow_path(world, &me, i, is_damped, stack);
        while (height > 0) {
            const node *deeper = &world->nodes[stack[--height] - world->root];
            const node *other = height > 0 ? &world->nodes[stack[--height] - world->root] : NULL;
            int is_opened[4];
            look_into(&me, deeper, -1, is_damped, is_opened);
            if (other) {
                int other_opened[4];
                look_into(&me, other, -1, is_damped, other_opened);
                height = put(stack, height, other->children, other_opened);
            }
            height = put(stack, height, deeper->children, is_opened);
        }
        const pulls *all = &me.all;
        world->force_x[i - 1] = (all->x[0] + all->x[1]) + (all->x[2] + all->x[3]);
        world->force_y[i - 1] = (all->y[0] + all->y[1]) + (all->y[2] + all->y[3]);
        world->pairs += me.pairs;
    }
}

static BENCH_INLINE void compute_forces_with(struct world *world) {
    if (world->constants.law == COLLISION_DAMPED) {
        compute_forces_by(world, 1);
    } else {
        compute_forces_by(world, 0);
    }
}

BENCH_TWO_LOOPS(compute_forces, struct world)

/* One coordinate. At a wall a body stops and turns round. */
static void move_body(real *x, real *v, real force, const barnes_hut_constants *constants) {
    real speed = FMA(force, OF(constants->kick), *v);
    real to = FMA(speed, OF(constants->dt), *x);
    to = to > 1 ? 1 : to < -1 ? -1 : to;
    *v = (to >= 1 && speed > 0) || (to <= -1 && speed < 0) ? -speed : speed;
    *x = to;
}

static void move_bodies(struct world *world) {
    for (uint32_t i = 0; i < world->count; i++) {
        summary *s = &world->summaries[i + 1];
        move_body(&s->x, &world->vx[i], world->force_x[i], &world->constants);
        move_body(&s->y, &world->vy[i], world->force_y[i], &world->constants);
    }
}

/* ---- Lifetime and looking -------------------------------------------------------------------- */

static void destroy(void *self) {
    struct world *world = self;
    if (world) {
        free(world->summaries);
        free(world->nodes);
        free(world->vx);
        free(world->levels);
        free(world);
    }
}

static int create(const barnes_hut_desc *desc, const barnes_hut_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out for the sequential bodies");
    }
    size_t count = desc->count;
    world->constants = *constants;
    world->count = desc->count;
    world->root = desc->count + 1;
    world->vx = calloc(count, 4 * sizeof(real));
    world->levels = calloc(count, 1);
    if (!world->vx || !world->levels || reserve_node(world)) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential bodies");
    }
    world->vy = world->vx + count;
    world->force_x = world->vy + count;
    world->force_y = world->force_x + count;
    world->summaries[NOTHING] = (summary){0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const collision_body *body = &desc->bodies[i];
        world->summaries[i + 1] = (summary){.x = body->x, .y = body->y, .mass = body->mass};
        world->vx[i] = body->vx;
        world->vy[i] = body->vy;
    }
    if (build(world)) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential tree");
    }
    sum_up(world);
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    compute_forces(world);
    move_bodies(world);
    if (build(world)) {
        return bench_error_set(error, "host memory ran out for the sequential tree");
    }
    sum_up(world);
    return 0;
}

static int read_state(void *self, void *out, bench_error *error) {
    barnes_hut_state *state = out;
    const struct world *world = self;
    (void)error;
    for (uint32_t i = 0; i < world->count; i++) {
        const summary *s = &world->summaries[i + 1];
        const real body[5] = {s->x, s->y, world->vx[i], world->vy[i], s->mass};
        state->bodies[i] = (collision_body){.x = (float)body[0],
                                            .y = (float)body[1],
                                            .vx = (float)body[2],
                                            .vy = (float)body[3],
                                            .mass = (float)body[4]};
        for (int j = 0; state->exact && j < 5; j++) {
            state->exact[5 * (size_t)i + (size_t)j] = (double)body[j];
        }
    }
    state->nodes = world->node_count;
    if (state->levels) {
        memcpy(state->levels, world->levels, world->count);
    }
    return 0;
}

/* In the order of barnes_hut_counted. */
static void count(void *self, bench_tally *tally) {
    const struct world *world = self;
    tally->present[0] += world->count;
    tally->present[1] += world->node_count;
    tally->present[2] += (double)world->pairs;
}

#if PRECISE
const barnes_hut_ops barnes_hut_precise_sequential_ops = {
#else
const barnes_hut_ops barnes_hut_sequential_ops = {
#endif
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_state, .count = count}};
