/* States of a structure and their comparison. See model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

structure_rules structure_rules_default(void) {
    return (structure_rules){.iterations = 40, .dt = 0.2f, .keep = 1};
}

/* ---- States ---------------------------------------------------------------------------------- */

size_t structure_state_bytes(const structure_state *state) {
    return (state->node_count * STRUCTURE_NODE_WORDS + state->spring_count) * sizeof *state->words;
}

int structure_state_create(const structure_network *network, structure_state *state,
                           bench_error *error) {
    *state =
        (structure_state){.node_count = network->node_count, .spring_count = network->spring_count};
    state->words = calloc(1, structure_state_bytes(state));
    if (!state->words) {
        return bench_error_set(error, "host memory ran out for a state of %u nodes",
                               state->node_count);
    }
    state->nodes = (structure_node_state *)(void *)state->words;
    state->springs = state->words + state->node_count * STRUCTURE_NODE_WORDS;
    return 0;
}

void structure_state_destroy(structure_state *state) {
    free(state->words);
    memset(state, 0, sizeof *state);
}

structure_counts structure_count(const structure_network *network, const structure_state *state) {
    structure_counts counts = {0, 0, 0, 0};
    for (uint32_t i = 0; i < state->node_count; i++) {
        uint32_t *of = i < network->first_pull     ? &counts.nodes
                       : i < network->first_anchor ? &counts.pull_nodes
                                                   : &counts.anchors;
        *of += state->nodes[i].is_there;
    }
    for (uint32_t s = 0; s < state->spring_count; s++) {
        counts.springs += state->springs[s];
    }
    return counts;
}

uint64_t structure_checksum(const structure_state *state) {
    uint64_t hash = 14695981039346656037u;
    size_t bytes = structure_state_bytes(state);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (state->words[i / 4] >> i % 4 * 8 & 0xffu)) * 1099511628211u;
    }
    return hash;
}

int structure_compare(const structure_state *found, const structure_state *expected, uint32_t step,
                      bench_error *error) {
    for (uint32_t i = 0; i < found->node_count; i++) {
        const structure_node_state *f = &found->nodes[i], *e = &expected->nodes[i];
        if (memcmp(f, e, sizeof *f) != 0) {
            bench_error_set(
                error,
                "after %u steps node %u %s at (%a, %a) with velocity (%a, %a) and springs %#x; in "
                "the reference it %s at (%a, %a) with (%a, %a) and %#x",
                step, i, f->is_there ? "is" : "is gone from", (double)f->x, (double)f->y,
                (double)f->vx, (double)f->vy, f->springs, e->is_there ? "is" : "is gone from",
                (double)e->x, (double)e->y, (double)e->vx, (double)e->vy, e->springs);
            return 1;
        }
    }
    for (uint32_t s = 0; s < found->spring_count; s++) {
        if (found->springs[s] != expected->springs[s]) {
            bench_error_set(error, "after %u steps spring %u %s, other than in the reference", step,
                            s, found->springs[s] ? "holds" : "is gone");
            return 1;
        }
    }
    return 0;
}

/* ---- What must hold of any state ------------------------------------------------------------- */

/* Nodes that are held, as a list that grows while it is read. `first`: of those that hold. */
static void reach(const structure_network *network, const structure_state *state, uint32_t first,
                  uint8_t *is_reached, uint32_t *queue) {
    uint32_t count = 0;
    for (uint32_t i = first; i < network->node_count; i++) {
        if (state->nodes[i].is_there) {
            is_reached[i] = 1;
            queue[count++] = i;
        }
    }
    for (uint32_t at = 0; at < count; at++) {
        for (int k = 0; k < STRUCTURE_DEGREE; k++) {
            uint32_t s = network->nodes[queue[at]].springs[k];
            if (s == 0 || !state->springs[s - 1]) {
                continue;
            }
            const structure_spring *spring = &network->springs[s - 1];
            uint32_t other = spring->p1 == queue[at] ? spring->p2 : spring->p1;
            if (!is_reached[other]) {
                is_reached[other] = 1;
                queue[count++] = other;
            }
        }
    }
}

static int check_node(const structure_rules *rules, const structure_network *network,
                      const structure_state *state, uint32_t i, int is_reached,
                      bench_error *error) {
    const structure_node_state *node = &state->nodes[i];
    int may_be_bare = rules->bare_stay && network->nodes[i].springs[0] == 0;
    for (uint32_t k = 0; node->is_there && k < STRUCTURE_DEGREE; k++) {
        uint32_t s = network->nodes[i].springs[k];
        uint32_t holds = s ? state->springs[s - 1] : 0;
        if ((node->springs >> k & 1u) != holds) {
            bench_error_set(error, "node %u %s spring %u, which %s", i,
                            holds ? "does not know" : "knows", s - 1, holds ? "holds" : "is gone");
            return 1;
        }
    }
    if (node->is_there && !may_be_bare && (!is_reached || node->springs == 0)) {
        bench_error_set(error, "node %u is there, but hangs on %s", i,
                        node->springs ? "no anchor" : "no spring");
        return 1;
    }
    return 0;
}

static int check_spring(const structure_network *network, const structure_state *state, uint32_t s,
                        bench_error *error) {
    const structure_spring *spring = &network->springs[s];
    if (state->springs[s] &&
        !(state->nodes[spring->p1].is_there && state->nodes[spring->p2].is_there)) {
        bench_error_set(error, "spring %u holds, but not both of nodes %u and %u are there", s,
                        spring->p1, spring->p2);
        return 1;
    }
    return 0;
}

int structure_check(const structure_rules *rules, const structure_network *network,
                    const structure_state *state, bench_error *error) {
    uint8_t *is_reached = calloc(network->node_count, sizeof *is_reached);
    uint32_t *queue = malloc(network->node_count * sizeof *queue);
    int result = 0;
    if (!is_reached || !queue) {
        result = bench_error_set(error, "host memory ran out for the check");
    } else {
        reach(network, state, rules->pulled_hold ? network->first_pull : network->first_anchor,
              is_reached, queue);
    }
    for (uint32_t s = 0; result == 0 && s < network->spring_count; s++) {
        result = check_spring(network, state, s, error);
    }
    for (uint32_t i = 0; result == 0 && i < network->node_count; i++) {
        result = check_node(rules, network, state, i, is_reached[i], error);
    }
    free(is_reached);
    free(queue);
    return result;
}
