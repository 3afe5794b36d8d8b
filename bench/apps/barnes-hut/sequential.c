/* The quadtree in plain sequential C: the reference that every other variant must equal, bit by
 * bit.
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

#define STACK (6 * BARNES_HUT_LEVELS + 8) /* as in rules.clh */
#define NOTHING 0

/* Of a body, or of a cell with its centre of mass. NOTHING has only zeros; then come the bodies,
 * whose index is id + 1, and then the nodes, of which the first is the root. */
typedef struct summary {
    float x, y, mass, reach2;
} summary;

typedef struct node {
    uint32_t children[4];                 /* indices of summaries, or NOTHING */
    float x[4], y[4], mass[4], reach2[4]; /* copies of these summaries */
} node;

struct world {
    barnes_hut_constants constants;
    uint32_t count, root, node_count, node_capacity;
    summary *summaries;
    node *nodes;
    float *vx, *vy, *force_x, *force_y;
    uint8_t *levels;
};

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
    float reach = fmaf(ldexpf(2.0f, -(int)capped), world->constants.inverse_theta, 1e-6f);
    world->nodes[world->node_count++] = (node){.children = {NOTHING, NOTHING, NOTHING, NOTHING}};
    world->summaries[index] = (summary){.reach2 = reach * reach};
    return index;
}

static uint32_t *find_slot(struct world *world, uint32_t at, uint32_t body, uint32_t level) {
    const summary *s = &world->summaries[body];
    return &world->nodes[at - world->root]
                .children[barnes_hut_find_child(s->x, s->y, body - 1, level)];
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
        float x = 0, y = 0, mass = 0;
        for (int j = 0; j < 4; j++) {
            const summary *part = &world->summaries[of->children[j]];
            of->x[j] = part->x;
            of->y[j] = part->y;
            of->mass[j] = part->mass;
            of->reach2[j] = part->reach2;
            x = fmaf(part->mass, part->x, x);
            y = fmaf(part->mass, part->y, y);
            mass += part->mass;
        }
        float r = collision_inverse(mass);
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
    float x[4], y[4]; /* a sum for each child index */
} pulls;

/* The pulls of the children of a cell on a body at (x, y); those that must be opened are marked
 * instead. */
static BENCH_INLINE void look_into(const node *of, float x, float y, float softening2, pulls *all,
                                   int is_opened[4]) {
    for (int j = 0; j < 4; j++) {
        float dx = of->x[j] - x, dy = of->y[j] - y;
        float r = collision_inverse_sqrt(fmaf(dx, dx, fmaf(dy, dy, softening2)));
        is_opened[j] = fmaf(dx, dx, dy * dy) < of->reach2[j];
        float f = is_opened[j] ? 0.0f : of->mass[j] * (r * r * r);
        all->x[j] = fmaf(f, dx, all->x[j]);
        all->y[j] = fmaf(f, dy, all->y[j]);
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

/* Two cells at a time, as in heap.cl, so that sums have the same order. */
static BENCH_INLINE void compute_forces_with(struct world *world) {
    float softening2 = world->constants.softening2;
    uint32_t stack[STACK];
    for (uint32_t i = 1; i <= world->count; i++) {
        float x = world->summaries[i].x, y = world->summaries[i].y;
        pulls all = {{0, 0, 0, 0}, {0, 0, 0, 0}};
        int height = 1;
        stack[0] = world->root;
        while (height > 0) {
            const node *deeper = &world->nodes[stack[--height] - world->root];
            const node *other = height > 0 ? &world->nodes[stack[--height] - world->root] : NULL;
            int is_opened[4];
            look_into(deeper, x, y, softening2, &all, is_opened);
            if (other) {
                int other_opened[4];
                look_into(other, x, y, softening2, &all, other_opened);
                height = put(stack, height, other->children, other_opened);
            }
            height = put(stack, height, deeper->children, is_opened);
        }
        world->force_x[i - 1] = (all.x[0] + all.x[1]) + (all.x[2] + all.x[3]);
        world->force_y[i - 1] = (all.y[0] + all.y[1]) + (all.y[2] + all.y[3]);
    }
}

BENCH_TWO_LOOPS(compute_forces, struct world)

/* One coordinate. At a wall a body stops and turns round. */
static void move_body(float *x, float *v, float force, const barnes_hut_constants *constants) {
    float speed = fmaf(force, constants->kick, *v);
    float to = fmaf(speed, constants->dt, *x);
    to = to > 1.0f ? 1.0f : to < -1.0f ? -1.0f : to;
    *v = (to >= 1.0f && speed > 0.0f) || (to <= -1.0f && speed < 0.0f) ? -speed : speed;
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
    world->vx = calloc(count, 4 * sizeof(float));
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
        state->bodies[i] = (collision_body){
            .x = s->x, .y = s->y, .vx = world->vx[i], .vy = world->vy[i], .mass = s->mass};
    }
    state->nodes = world->node_count;
    if (state->levels) {
        memcpy(state->levels, world->levels, world->count);
    }
    return 0;
}

const barnes_hut_ops barnes_hut_sequential_ops = {
    .create = create, .world = {.destroy = destroy, .step = step, .read = read_state}};
