/* Nodes and springs in plain sequential C: the reference that every other variant must equal, bit
 * by bit.
 *
 * Objects are structs in arrays, because what is looked up of a node or spring is used together.
 * They stay in their places; lists of those that are left, in order, are what is gone through. The
 * search is a breadth-first one here, other than on devices, on purpose.
 *
 * Read first: model.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/collision/rules.h"
#include "world.h"

typedef struct node {
    float x, y, vx, vy, inverse_mass;
    float pulls[STRUCTURE_DEGREE][2];   /* of springs[i] on this node; 0 if there is none */
    uint32_t springs[STRUCTURE_DEGREE]; /* index + 1 */
    uint32_t search;                    /* the last search that came by */
} node;

typedef struct spring {
    float stiffness, length, max_force;
    uint32_t p1, p2, slots; /* as in network.h */
} spring;

struct world {
    structure_rules rules;
    int has_changed;
    uint32_t first_pull, first_anchor, node_count, spring_count; /* of the network */
    uint32_t searches;
    node *nodes;
    spring *springs;
    uint32_t *live_nodes, *live_springs; /* indices in order */
    uint32_t live_node_count, live_spring_count;
    uint32_t pull_at, anchor_at; /* where these begin in live_nodes */
    uint32_t *queue;
};

/* ---- Forces and motion ----------------------------------------------------------------------- */

static BENCH_INLINE void compute_forces_with(struct world *world) {
    for (uint32_t i = 0; i < world->live_spring_count; i++) {
        spring *s = &world->springs[world->live_springs[i]];
        node *a = &world->nodes[s->p1], *b = &world->nodes[s->p2];
        float *pull1 = a->pulls[s->slots & 15], *pull2 = b->pulls[s->slots >> 4];
        float dx = b->x - a->x, dy = b->y - a->y;
        float d2 = fmaf(dx, dx, dy * dy), r = collision_inverse_sqrt(d2);
        float stretch = fmaf(d2, r, -s->length);
        float size = s->stiffness * (stretch > 0 ? stretch : 0);
        pull1[0] = dx * (size * r);
        pull1[1] = dy * (size * r);
        if (size > s->max_force) {
            s->stiffness = pull1[0] = pull1[1] = 0;
            world->has_changed = 1;
        }
        pull2[0] = -pull1[0];
        pull2[1] = -pull1[1];
    }
}

static BENCH_INLINE void move_with(struct world *world) {
    float dt = world->rules.dt, keep = world->rules.keep;
    for (uint32_t i = 0; i < world->pull_at; i++) {
        node *n = &world->nodes[world->live_nodes[i]];
        float x = n->pulls[0][0], y = n->pulls[0][1], kick = dt * n->inverse_mass;
        for (int k = 1; k < STRUCTURE_DEGREE; k++) {
            x += n->pulls[k][0];
            y += n->pulls[k][1];
        }
        n->vx = fmaf(x, kick, n->vx) * keep;
        n->vy = fmaf(y, kick, n->vy) * keep;
        n->x = fmaf(n->vx, dt, n->x);
        n->y = fmaf(n->vy, dt, n->y);
    }
}

static BENCH_INLINE void iterate_with(struct world *world) {
    for (uint32_t i = 0; i < world->rules.iterations; i++) {
        compute_forces_with(world);
        move_with(world);
    }
}

BENCH_TWO_LOOPS(iterate, struct world)

static void pull(struct world *world) {
    float dt = world->rules.dt;
    for (uint32_t i = world->pull_at; i < world->anchor_at; i++) {
        node *n = &world->nodes[world->live_nodes[i]];
        n->x = fmaf(n->vx, dt, n->x);
        n->y = fmaf(n->vy, dt, n->y);
    }
}

/* ---- What has come off ----------------------------------------------------------------------- */

/* Forget broken springs; how many are left? A node that had none before never had one: otherwise it
 * would have gone. */
static int drop_broken(struct world *world, node *n, int *is_bare) {
    int left = 0;
    *is_bare = 1;
    for (int k = 0; k < STRUCTURE_DEGREE; k++) {
        *is_bare = *is_bare && n->springs[k] == 0;
        if (n->springs[k] && world->springs[n->springs[k] - 1].stiffness == 0) {
            n->springs[k] = 0;
        }
        left += n->springs[k] != 0;
    }
    return left;
}

/* Nodes that stay get the number of this search. */
static void search(struct world *world) {
    uint32_t count = 0, stamp = ++world->searches;
    uint32_t holding = world->rules.pulled_hold ? world->pull_at : world->anchor_at;
    for (uint32_t i = 0; i < world->live_node_count; i++) {
        uint32_t me = world->live_nodes[i];
        int is_bare, left = drop_broken(world, &world->nodes[me], &is_bare);
        if (is_bare ? world->rules.bare_stay : left > 0 && i >= holding) {
            world->nodes[me].search = stamp;
            world->queue[count++] = me;
        }
    }
    for (uint32_t at = 0; at < count; at++) {
        uint32_t me = world->queue[at];
        for (int k = 0; k < STRUCTURE_DEGREE; k++) {
            if (world->nodes[me].springs[k] == 0) {
                continue;
            }
            const spring *s = &world->springs[world->nodes[me].springs[k] - 1];
            uint32_t other = s->p1 == me ? s->p2 : s->p1;
            if (world->nodes[other].search != stamp) {
                world->nodes[other].search = stamp;
                world->queue[count++] = other;
            }
        }
    }
}

static void remove_loose(struct world *world) {
    uint32_t stamp = world->searches, left = 0, counts[2] = {0, 0};
    for (uint32_t i = 0; i < world->live_spring_count; i++) {
        const spring *s = &world->springs[world->live_springs[i]];
        if (s->stiffness != 0 && world->nodes[s->p1].search == stamp) {
            world->live_springs[left++] = world->live_springs[i];
        }
    }
    world->live_spring_count = left;
    left = 0;
    for (uint32_t i = 0; i < world->live_node_count; i++) {
        uint32_t me = world->live_nodes[i];
        if (world->nodes[me].search == stamp) {
            world->live_nodes[left++] = me;
            counts[0] += me < world->first_pull;
            counts[1] += me < world->first_anchor;
        }
    }
    world->live_node_count = left;
    world->pull_at = counts[0];
    world->anchor_at = counts[1];
}

/* ---- Lifetime and looking -------------------------------------------------------------------- */

static void destroy(void *self) {
    struct world *world = self;
    if (world) {
        free(world->nodes);
        free(world->springs);
        free(world->live_nodes);
        free(world->live_springs);
        free(world->queue);
        free(world);
    }
}

static int allocate(struct world *world) {
    world->nodes = calloc(world->node_count, sizeof *world->nodes);
    world->springs = calloc(world->spring_count + 1, sizeof *world->springs);
    world->live_nodes = malloc(world->node_count * sizeof *world->live_nodes);
    world->live_springs = malloc((world->spring_count + 1) * sizeof *world->live_springs);
    world->queue = malloc(world->node_count * sizeof *world->queue);
    return world->nodes && world->springs && world->live_nodes && world->live_springs &&
           world->queue;
}

static void fill(struct world *world, const structure_network *network) {
    for (uint32_t i = 0; i < world->node_count; i++) {
        const structure_node *from = &network->nodes[i];
        node *n = &world->nodes[i];
        *n = (node){.x = from->x,
                    .y = from->y,
                    .vx = from->vx,
                    .vy = from->vy,
                    .inverse_mass = from->inverse_mass};
        memcpy(n->springs, from->springs, sizeof n->springs);
        world->live_nodes[i] = i;
    }
    for (uint32_t i = 0; i < world->spring_count; i++) {
        const structure_spring *from = &network->springs[i];
        world->springs[i] = (spring){.p1 = from->p1,
                                     .p2 = from->p2,
                                     .slots = from->slots,
                                     .stiffness = from->stiffness,
                                     .length = from->length,
                                     .max_force = from->max_force};
        world->live_springs[i] = i;
    }
}

static int create(const structure_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    const structure_network *network = desc->network;
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->first_pull = world->pull_at = network->first_pull;
    world->first_anchor = world->anchor_at = network->first_anchor;
    world->node_count = world->live_node_count = network->node_count;
    world->spring_count = world->live_spring_count = network->spring_count;
    world->has_changed = 1; /* the network itself may have loose parts */
    if (!allocate(world)) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential structure");
    }
    fill(world, network);
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    (void)error;
    pull(world);
    iterate(world);
    if (world->has_changed) {
        search(world);
        remove_loose(world);
        world->has_changed = 0;
    }
    return 0;
}

static int read_state(void *self, void *out, bench_error *error) {
    structure_state *state = out;
    const struct world *world = self;
    (void)error;
    memset(state->words, 0, structure_state_bytes(state));
    for (uint32_t i = 0; i < world->live_node_count; i++) {
        const node *n = &world->nodes[world->live_nodes[i]];
        structure_node_state *to = &state->nodes[world->live_nodes[i]];
        *to = (structure_node_state){.x = n->x, .y = n->y, .vx = n->vx, .vy = n->vy, .is_there = 1};
        for (unsigned k = 0; k < STRUCTURE_DEGREE; k++) {
            to->springs |= (uint32_t)(n->springs[k] != 0) << k;
        }
    }
    for (uint32_t i = 0; i < world->live_spring_count; i++) {
        state->springs[world->live_springs[i]] = 1;
    }
    return 0;
}

/* In the order of the columns of benchmark.c. */
static void count(void *self, bench_tally *tally) {
    const struct world *world = self;
    tally->present[0] += world->pull_at;
    tally->present[1] += world->anchor_at - world->pull_at;
    tally->present[2] += world->live_node_count - world->anchor_at;
    tally->present[3] += world->live_spring_count;
}

const structure_ops structure_sequential_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_state, .count = count}};
