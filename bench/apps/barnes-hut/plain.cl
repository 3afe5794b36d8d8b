/* The baselines: the kernels of heap.cl by hand, on arrays of a fixed size.
 *
 * Bodies have the numbers 1 .. bodies, nodes those behind them, of which the first is the root; 0
 * is none. LAYOUT_AOS is 1 for an array of structs for each of the two and 0 for an array per
 * field. Nodes are given out from a counter, and those that were given back from a stack of their
 * numbers. That is enough here because no kernel gives and takes both. A node that is not in use is
 * never touched, nor a leaf in any pass, so it needs no flag.
 *
 * Compiled after collision/rules.clh and rules.clh. Read first: heap.cl.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

enum { NODES_MADE, NODES_BEFORE, STACK_HEIGHT, NODES_LACKING };

#if defined(__NV_CL_C_VERSION)
#define DEVICE_FENCE() __asm__ volatile("membar.gl;" ::: "memory") /* mem_fence: work-group only */
#else
#define DEVICE_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

#if LAYOUT_AOS

typedef struct body {
    real4 summary;
    real2 velocity, force;
    uint parent, next;
    uchar child_index, level;
} body;

typedef struct node {
    real16 below;
    real4 summary;
    uint children[4];
    uint parent, pending, leaf_pass;
    uchar child_index, level;
} node;

#define TREE                                                                                       \
    uint bodies, uint nodes, __global volatile int *counters, __global uint *unused,               \
        __global body *all_bodies, __global node *all_nodes
#define TREE_GIVEN bodies, nodes, counters, unused, all_bodies, all_nodes
#define BODY_AT(b, field) all_bodies[(b)-1u].field
#define NODE_AT(n, field) all_nodes[(n)-1u - bodies].field
#define CHILD_AT(n, i) NODE_AT(n, children)[i]

#else

#define TREE                                                                                       \
    uint bodies, uint nodes, __global volatile int *counters, __global uint *unused,               \
        __global real4 *body_summary, __global real2 *body_velocity, __global real2 *body_force,   \
        __global uint *body_parent, __global uint *body_next, __global uchar *body_child_index,    \
        __global uchar *body_level, __global real16 *node_below, __global real4 *node_summary,     \
        __global uint *node_children, __global uint *node_parent, __global uint *node_pending,     \
        __global uint *node_leaf_pass, __global uchar *node_child_index,                           \
        __global uchar *node_level
#define TREE_GIVEN                                                                                 \
    bodies, nodes, counters, unused, body_summary, body_velocity, body_force, body_parent,         \
        body_next, body_child_index, body_level, node_below, node_summary, node_children,          \
        node_parent, node_pending, node_leaf_pass, node_child_index, node_level
#define BODY_AT(b, field) body_##field[(b)-1u]
#define NODE_AT(n, field) node_##field[(n)-1u - bodies]
#define CHILD_AT(n, i) node_children[4u * ((n)-1u - bodies) + (i)]

#endif

#define ROOT (bodies + 1u)
#define CHILDREN_AT(n) (*(__global const uint4 *)&CHILD_AT(n, 0u))
#define IS_BODY(e) ((e)-1u < bodies)
#define IS_NODE(e) ((e) > bodies)

/* A work-item per body, or per node of those given out so far, or given out before `split`,
 * which gives out more; `continue` skips it. */
#define FOR_EACH_BODY(e)                                                                           \
    for (uint e = (uint)get_global_id(0) + 1u, once = 1u; once && e <= bodies; once = 0u)
#define FOR_EACH_NODE(e, counter)                                                                  \
    for (uint e = (uint)get_global_id(0) + ROOT, once = 1u;                                        \
         once && e - bodies <= (uint)counters[counter]; once = 0u)

/* ---- Making the world ------------------------------------------------------------------------ */

__kernel void body_init(TREE, __global const float *states) {
    FOR_EACH_BODY(self) {
        __global const float *state = states + 5u * (self - 1u);
        BODY_AT(self, parent) = 0u;
        BODY_AT(self, summary) = (real4)(state[0], state[1], state[4], 0.0f);
        BODY_AT(self, velocity) = (real2)(state[2], state[3]);
        BODY_AT(self, next) = 0u;
    }
}

static inline void clear_node(TREE, uint self, uint level, float2 reach, uint pass) {
    NODE_AT(self, level) = (uchar)level;
    NODE_AT(self, summary) = (real4)(0.0f, 0.0f, 0.0f, find_reach2(level, reach));
    for (uint i = 0u; i < 4u; i++) {
        CHILD_AT(self, i) = 0u;
    }
    NODE_AT(self, pending) = 0u;
    NODE_AT(self, leaf_pass) = pass;
}

/* The counters are all zero before. */
__kernel void root_init(TREE, float2 reach) {
    if (get_global_id(0) == 0u) {
        counters[NODES_MADE] = 1;
        NODE_AT(ROOT, parent) = 0u;
        clear_node(TREE_GIVEN, ROOT, 0u, reach, PASS_FIRST);
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

__kernel void compute_force(TREE, real softening2, uint path) {
    FOR_EACH_BODY(self) {
        real4 own = BODY_AT(self, summary);
        pulls all = {(real4)(0.0f), (real4)(0.0f)};
        uint stack[STACK], height = 0u, on_path = ROOT;
        for (uint level = 0u; level < path && on_path != 0u; level++) {
            uint i = find_child(own.x, own.y, self - 1u, level);
            mask4 next = mark_node(NODE_AT(on_path, below), i);
            uint4 children = CHILDREN_AT(on_path);
            mask4 opened =
                look_into(NODE_AT(on_path, below), -1, next, own.x, own.y, softening2, &all);
            height = put(stack, height, children, opened & ~next);
            on_path = any(next) ? CHILD_AT(on_path, i) : 0u;
        }
        stack[height] = on_path;
        height += on_path != 0u;
        while (height > 0u) {
            uint deeper = stack[--height];
            int is_other = height > 0u ? -1 : 0;
            height += (uint)is_other;
            uint other = is_other ? stack[height] : deeper;
            uint4 deeper_children = CHILDREN_AT(deeper), other_children = CHILDREN_AT(other);
            mask4 deeper_opened =
                look_into(NODE_AT(deeper, below), -1, (mask4)(0), own.x, own.y, softening2, &all);
            mask4 other_opened = look_into(NODE_AT(other, below), is_other, (mask4)(0), own.x,
                                           own.y, softening2, &all);
            height = put(stack, height, other_children, other_opened);
            height = put(stack, height, deeper_children, deeper_opened);
        }
        BODY_AT(self, force) = finish_pulls(&all);
    }
}

__kernel void move(TREE, real kick, real dt) {
    FOR_EACH_BODY(self) {
        real4 from = BODY_AT(self, summary), to = from;
        real2 force = BODY_AT(self, force), velocity = BODY_AT(self, velocity);
        velocity.x = fma(force.x, kick, velocity.x);
        velocity.y = fma(force.y, kick, velocity.y);
        to.x = move_to(from.x, velocity.x, dt);
        to.y = move_to(from.y, velocity.y, dt);
        BODY_AT(self, velocity) = (real2)(turn(to.x, velocity.x), turn(to.y, velocity.y));
        BODY_AT(self, summary) = to;
        uint parent = BODY_AT(self, parent);
        if (parent && leaves_cell(from.x, from.y, to.x, to.y, BODY_AT(self, level))) {
            CHILD_AT(parent, BODY_AT(self, child_index)) = 0u;
            BODY_AT(self, parent) = 0u;
        }
    }
}

__kernel void push(TREE) {
    if (get_global_id(0) == 0u) {
        counters[NODES_BEFORE] = counters[NODES_MADE];
    }
    FOR_EACH_BODY(self) {
        if (BODY_AT(self, parent)) {
            continue;
        }
        real4 own = BODY_AT(self, summary);
        uint node = ROOT;
        for (uint level = 0u; level < LEVELS; level++) {
            uint i = find_child(own.x, own.y, self - 1u, level);
            volatile __global uint *slot = &CHILD_AT(node, i);
            uint below = *slot;
            if (!IS_NODE(below)) {
                BODY_AT(self, next) = atomic_xchg(slot, self);
                NODE_AT(node, leaf_pass) = TOUCHED;
                break;
            }
            node = below;
        }
    }
}

static inline void settle(TREE, uint body, uint node, uint i) {
    CHILD_AT(node, i) = body;
    BODY_AT(body, parent) = node;
    BODY_AT(body, child_index) = (uchar)i;
    BODY_AT(body, level) = (uchar)(NODE_AT(node, level) + 1u);
    BODY_AT(body, next) = 0u;
}

/* The number of a node that is not in use, or 0, which is counted. */
static inline uint take_node(TREE) {
    int height = atomic_dec(&counters[STACK_HEIGHT]);
    if (height > 0) {
        return unused[height - 1];
    }
    atomic_inc(&counters[STACK_HEIGHT]);
    uint made = (uint)atomic_inc(&counters[NODES_MADE]);
    if (made < nodes) {
        return bodies + 1u + made;
    }
    atomic_dec(&counters[NODES_MADE]);
    atomic_inc(&counters[NODES_LACKING]);
    return 0u;
}

static inline uint make_child(TREE, uint node, uint i, float2 reach, uint pass) {
    uint child = take_node(TREE_GIVEN);
    if (child) {
        NODE_AT(child, parent) = node;
        NODE_AT(child, child_index) = (uchar)i;
        clear_node(TREE_GIVEN, child, NODE_AT(node, level) + 1u, reach, pass);
        CHILD_AT(node, i) = child;
    }
    return child;
}

static inline void insert(TREE, uint node, uint body, float2 reach, uint pass) {
    real4 own = BODY_AT(body, summary);
    for (uint level = NODE_AT(node, level); level < LEVELS; level++) {
        uint i = find_child(own.x, own.y, body - 1u, level);
        uint child = CHILD_AT(node, i);
        if (!child) {
            settle(TREE_GIVEN, body, node, i);
            return;
        }
        if (IS_BODY(child)) {
            uint other = child;
            child = make_child(TREE_GIVEN, node, i, reach, pass);
            if (!child) {
                break;
            }
            NODE_AT(node, pending) += 1u;
            NODE_AT(node, leaf_pass) = NOT_A_LEAF;
            real4 at = BODY_AT(other, summary);
            settle(TREE_GIVEN, other, child, find_child(at.x, at.y, other - 1u, level + 1u));
        }
        node = child;
    }
    BODY_AT(body, parent) = 0u; /* no node was left: it stays outside */
}

static inline int is_longer(TREE, uint chain, uint limit) {
    uint length = 0u;
    while (chain && length <= limit) {
        length++;
        chain = BODY_AT(chain, next);
    }
    return length > limit;
}

__kernel void split(TREE, uint longest, float2 reach, uint pass) {
    FOR_EACH_NODE(self, NODES_BEFORE) {
        if (NODE_AT(self, leaf_pass) != TOUCHED) {
            continue;
        }
        uint below_count = 0u;
        for (uint i = 0u; i < 4u; i++) {
            uint body = CHILD_AT(self, i);
            if (!IS_BODY(body)) {
                below_count += body != 0u;
                continue;
            }
            if (!BODY_AT(body, next)) {
                settle(TREE_GIVEN, body, self, i);
                continue;
            }
            uint below = make_child(TREE_GIVEN, self, i, reach, pass);
            below_count += below != 0u;
            if (!below) {
                CHILD_AT(self, i) = 0u;
            } else if (is_longer(TREE_GIVEN, body, longest)) {
                continue;
            }
            while (body) {
                uint next = BODY_AT(body, next);
                if (below) {
                    insert(TREE_GIVEN, below, body, reach, pass);
                } else {
                    BODY_AT(body, parent) = 0u;
                }
                body = next;
            }
        }
        NODE_AT(self, pending) = below_count;
        NODE_AT(self, leaf_pass) = below_count ? NOT_A_LEAF : pass;
    }
}

static inline void replace(TREE, uint node, uint parent, uint only) {
    uint i = NODE_AT(node, child_index);
    if (only) {
        BODY_AT(only, parent) = parent;
        BODY_AT(only, child_index) = (uchar)i;
        BODY_AT(only, level) = NODE_AT(node, level);
    }
    CHILD_AT(parent, i) = only;
    NODE_AT(node, leaf_pass) = NOT_A_LEAF;
    unused[atomic_inc(&counters[STACK_HEIGHT])] = node;
}

static inline void gather_node(TREE, uint node, uint parent, uint pass) {
    sum all = {0.0f, 0.0f, 0.0f};
    real4 parts[4];
    uint below_count = 0u, count = 0u, only = 0u;
    for (uint i = 0u; i < 4u; i++) {
        uint child = *(volatile __global uint *)&CHILD_AT(node, i);
        parts[i] = (real4)(0.0f);
        if (child) {
            parts[i] = *(IS_NODE(child) ? (volatile __global real4 *)&NODE_AT(child, summary)
                                        : (volatile __global real4 *)&BODY_AT(child, summary));
            add_to_sum(&all, parts[i]);
            below_count += IS_NODE(child);
            count++;
            only = child;
        }
    }
    if (parent && below_count == 0u && count <= 1u) {
        replace(TREE_GIVEN, node, parent, only);
        return;
    }
    NODE_AT(node, below) = collect(parts[0], parts[1], parts[2], parts[3]);
    NODE_AT(node, summary) = finish_sum(&all, NODE_AT(node, summary).w);
    NODE_AT(node, pending) = below_count;
    NODE_AT(node, leaf_pass) = below_count ? NOT_A_LEAF : pass + 1u;
}

__kernel void gather(TREE, uint pass) {
    FOR_EACH_NODE(self, NODES_MADE) {
        uint node = self, is_last = NODE_AT(node, leaf_pass) == pass;
        for (uint level = 0u; is_last && level <= LEVELS; level++) {
            uint parent = NODE_AT(node, parent);
            gather_node(TREE_GIVEN, node, parent, pass);
            is_last = 0u;
            if (parent) {
                DEVICE_FENCE();
                is_last = atomic_dec((volatile __global uint *)&NODE_AT(parent, pending)) == 1u;
                DEVICE_FENCE();
                node = parent;
            }
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_bodies(TREE, __global real *states, __global uchar *levels) {
    FOR_EACH_BODY(self) {
        real4 summary = BODY_AT(self, summary);
        real2 velocity = BODY_AT(self, velocity);
        __global real *state = states + 5u * (self - 1u);
        state[0] = summary.x;
        state[1] = summary.y;
        state[2] = velocity.x;
        state[3] = velocity.y;
        state[4] = summary.z;
        levels[self - 1u] = BODY_AT(self, parent) ? BODY_AT(self, level) : 0;
    }
}
