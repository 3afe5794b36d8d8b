/* The baselines: the kernels of heap.cl by hand, on arrays that nothing is taken out of.
 *
 * LAYOUT_AOS is 1 for an array of structs and 0 for an array per field. The three classes of nodes
 * are one, in the order of the network: ordinary ones, then those that pull, then anchors, so the
 * loops over a class are ranges. References are indices + 1, and 0 is none. As in Springer's thesis
 * (5.6) what is deleted stays in its place with its active flag cleared, and every loop asks for
 * the flag. Compiled after rules.clh and search.clh. With SEARCH_LEVELS `parent` is the level of a
 * node.
 *
 * Read first: heap.cl.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

#if LAYOUT_AOS

typedef struct node {
    float2 pos, vel;
    float inverse_mass;
    uint springs[5], parent;
    uchar ends, active;
} node;
typedef struct spring {
    uint p1, p2;
    float2 pull;
    float stiffness, length, max_force;
    uchar active;
} spring;

#define WORLD                                                                                      \
    uint first_pull, uint first_anchor, uint nodes, uint springs, __global node *all_nodes,        \
        __global spring *all_springs
#define N(i, field) all_nodes[i].field
#define S(i, field) all_springs[i].field
#define SLOT(i, k) all_nodes[i].springs[k]

#else

#define WORLD                                                                                      \
    uint first_pull, uint first_anchor, uint nodes, uint springs, __global float2 *node_pos,       \
        __global float2 *node_vel, __global uchar *node_ends, __global float *node_inverse_mass,   \
        __global uint *node_springs, __global uint *node_parent, __global uchar *node_active,      \
        __global uint *spring_p1, __global uint *spring_p2, __global float2 *spring_pull,          \
        __global float *spring_stiffness, __global float *spring_length,                           \
        __global float *spring_max_force, __global uchar *spring_active
#define N(i, field) node_##field[i]
#define S(i, field) spring_##field[i]
#define SLOT(i, k) node_springs[(k)*nodes + (i)]

#endif

/* The node or spring of this work-item, if there is one and it is active. */
#define FOR_NODE(i, begin, end)                                                                    \
    for (uint i = (begin) + (uint)get_global_id(0), once = 1u; once && i < (end); once = 0u)       \
        if (N(i, active))
#define FOR_SPRING(i)                                                                              \
    for (uint i = (uint)get_global_id(0), once = 1u; once && i < springs; once = 0u)               \
        if (S(i, active))

/* ---- Making the world ------------------------------------------------------------------------ */

/* `nodes_from` and `springs_from` as in heap.cl. */
__kernel void init(WORLD, __global const uint *nodes_from, __global const uint *springs_from) {
    uint i = (uint)get_global_id(0);
    if (i < nodes) {
        __global const uint *from = nodes_from + 10u * i;
        N(i, pos) = (float2)(as_float(from[0]), as_float(from[1]));
        N(i, vel) = (float2)(as_float(from[2]), as_float(from[3]));
        N(i, inverse_mass) = as_float(from[4]);
        N(i, parent) = 0u;
        N(i, active) = 1;
        uint ends = 0u;
        for (uint k = 0u; k < DEGREE; k++) {
            uint s = from[5u + k];
            SLOT(i, k) = s;
            ends |= (uint)(s != 0u && springs_from[6u * (s - 1u) + 1u] == i) << k;
        }
        N(i, ends) = (uchar)ends;
    }
    if (i < springs) {
        __global const uint *from = springs_from + 6u * i;
        S(i, p1) = from[0] + 1u;
        S(i, p2) = from[1] + 1u;
        S(i, stiffness) = as_float(from[3]);
        S(i, length) = as_float(from[4]);
        S(i, max_force) = as_float(from[5]);
        S(i, active) = 1;
    }
}

/* ---- The phases of a step: forces and motion ------------------------------------------------- */

__kernel void pull_nodes(WORLD, __global uint *changed, float dt, uint is_searched) {
    if (get_global_id(0) == 0) {
        changed[0] = is_searched;
    }
    FOR_NODE(i, first_pull, first_anchor) {
        N(i, pos) = fma(N(i, vel), (float2)(dt), N(i, pos));
    }
}

__kernel void compute_force(WORLD, __global uint *changed) {
    FOR_SPRING(i) {
        float size;
        uint p1 = S(i, p1) - 1u, p2 = S(i, p2) - 1u;
        float2 pull = pull_of(N(p2, pos) - N(p1, pos), S(i, stiffness), S(i, length), &size);
        if (size > S(i, max_force)) {
            S(i, stiffness) = 0.0f;
            pull = (float2)(0.0f);
            changed[0] = 1u;
        }
        S(i, pull) = pull;
    }
}

__kernel void move(WORLD, float dt, float keep) {
    FOR_NODE(i, 0u, first_pull) {
        uint ends = N(i, ends);
        float2 pulls[DEGREE];
#pragma unroll
        for (uint k = 0u; k < DEGREE; k++) {
            uint s = SLOT(i, k);
            pulls[k] = s == 0u ? (float2)(0.0f) : S(s - 1u, pull);
        }
        float2 sum = pull_on(ends, 0u, pulls[0]);
#pragma unroll
        for (uint k = 1u; k < DEGREE; k++) {
            sum += pull_on(ends, k, pulls[k]);
        }
        float2 vel = fma(sum, (float2)(dt * N(i, inverse_mass)), N(i, vel)) * keep;
        N(i, vel) = vel;
        N(i, pos) = fma(vel, (float2)(dt), N(i, pos));
    }
}

/* ---- The phases of a step: what has come off, by search.clh ---------------------------------- */

__kernel void begin_search(WORLD, __global const uint *changed, __global uint *deepest) {
    if (changed[0] == 0u) {
        return;
    }
    if (get_global_id(0) == 0) {
        deepest[0] = 0u;
    }
    FOR_NODE(i, 0u, nodes) {
        int had = 0, left = 0;
        for (uint k = 0u; k < DEGREE; k++) {
            uint s = SLOT(i, k);
            if (s == 0u) {
                continue;
            }
            had = 1;
            if (S(s - 1u, stiffness) == 0.0f) {
                SLOT(i, k) = 0u;
            } else {
                left = 1;
            }
        }
        int holds = i >= (PULLED_HOLD ? first_pull : first_anchor);
        N(i, parent) = is_kept(had, left, holds) ? 0u : SEARCH_LEVELS ? FAR : i + 1u;
    }
}

__kernel void visit(WORLD, __global uint *deepest, uint level) {
    FOR_NODE(i, 0u, nodes) {
        if (N(i, parent) != level) {
            continue;
        }
        for (uint k = 0u; k < DEGREE; k++) {
            uint s = SLOT(i, k);
            if (s == 0u) {
                continue;
            }
            uint p1 = S(s - 1u, p1) - 1u, p2 = S(s - 1u, p2) - 1u, other = p1 == i ? p2 : p1;
            if (N(other, parent) == FAR) {
                N(other, parent) = level + 1u;
                deepest[0] = level + 1u;
            }
        }
    }
}

__kernel void join(WORLD, __global const uint *changed) {
    if (changed[0] == 0u) {
        return;
    }
    FOR_SPRING(i) {
        if (S(i, stiffness) != 0.0f) {
            unite(FOREST_ARG, root_of_shortened(FOREST_ARG, S(i, p1)),
                  root_of_shortened(FOREST_ARG, S(i, p2)));
        }
    }
}

__kernel void mark(WORLD, __global const uint *changed) {
    if (changed[0] == 0u) {
        return;
    }
#if SEARCH_LEVELS
    FOR_SPRING(i) {
        if (N(S(i, p1) - 1u, parent) == FAR) {
            S(i, stiffness) = 0.0f;
        }
    }
#else
    FOR_NODE(i, 0u, nodes) {
        N(i, parent) = root_of(FOREST_ARG, i + 1u);
    }
    FOR_SPRING(i) {
        if (root_of(FOREST_ARG, S(i, p1)) != 0u) {
            S(i, stiffness) = 0.0f;
        }
    }
#endif
}

__kernel void remove_loose(WORLD, __global const uint *changed) {
    if (changed[0] == 0u) {
        return;
    }
    FOR_SPRING(i) {
        if (S(i, stiffness) == 0.0f) {
            S(i, active) = 0;
        }
    }
    FOR_NODE(i, 0u, nodes) {
        if (SEARCH_LEVELS ? N(i, parent) == FAR : N(i, parent) != 0u) {
            N(i, active) = 0;
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

/* As in heap.cl; the state is all zero before. */
__kernel void write_state(WORLD, __global uint *state) {
    FOR_NODE(i, 0u, nodes) {
        __global uint *to = state + 6u * i;
        uint left = 0u;
        for (uint k = 0u; k < DEGREE; k++) {
            left |= (SLOT(i, k) == 0u ? 0u : 1u) << k;
        }
        float2 vel = i < first_anchor ? N(i, vel) : (float2)(0.0f);
        to[0] = as_uint(N(i, pos).x);
        to[1] = as_uint(N(i, pos).y);
        to[2] = as_uint(vel.x);
        to[3] = as_uint(vel.y);
        to[4] = left;
        to[5] = 1u;
    }
    FOR_SPRING(i) {
        state[6u * nodes + i] = 1u;
    }
}
