/* The baselines: the kernels of barnes_hut.cl by hand, on arrays of a fixed size.
 *
 * Bodies and nodes are entries 1 .. bodies and bodies + 1 .. bodies + nodes, 0 is none; the root is
 * entry bodies + 1. LAYOUT_AOS is 1 for one array of structs, which serve bodies and nodes both, and 0
 * for an array per field. Nodes are given out from a counter, and those that were given back from a
 * stack of their entries. That is enough here because no kernel gives and takes both. A node that is
 * not in use is never touched, nor a leaf in any pass, so it needs no flag.
 *
 * Compiled behind arithmetic.clh of collision and tree.clh. Read first: barnes_hut.cl.
 */
#define PASS_FIRST 1u
enum { NODES_MADE, NODES_BEFORE, STACK_HEIGHT, NODES_LACKING };

#if defined(__NV_CL_C_VERSION)
#define DEVICE_FENCE() __asm__ volatile("membar.gl;" ::: "memory") /* mem_fence: work-group only */
#else
#define DEVICE_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

#if LAYOUT_AOS

typedef struct entry {
    float4 summary;
    uint parent;
    uchar child_index, level, is_touched;
    union {
        struct {
            float2 velocity, force;
            uint next;
        } body;
        struct {
            uint children[4], pending, leaf_pass;
        } node;
    } of;
} entry;

#define TREE                                                                                       \
    uint bodies, uint nodes, __global volatile int *counters, __global uint *unused,               \
        __global entry *entries
#define TREE_GIVEN bodies, nodes, counters, unused, entries
#define AT(e, field) entries[e].field
#define BODY_AT(e, field) entries[e].of.body.field
#define NODE_AT(e, field) entries[e].of.node.field
#define CHILD_AT(e, i) entries[e].of.node.children[i]
#define CHILDREN_AT(e) vload4(0, entries[e].of.node.children)

#else

#define TREE                                                                                       \
    uint bodies, uint nodes, __global volatile int *counters, __global uint *unused,               \
        __global float4 *all_summary, __global uint *all_parent, __global uchar *all_child_index,  \
        __global uchar *all_level, __global float2 *all_velocity, __global float2 *all_force,      \
        __global uint *all_next, __global uint *all_children, __global uchar *all_is_touched,      \
        __global uint *all_pending, __global uint *all_leaf_pass
#define TREE_GIVEN                                                                                 \
    bodies, nodes, counters, unused, all_summary, all_parent, all_child_index, all_level,          \
        all_velocity, all_force, all_next, all_children, all_is_touched, all_pending, all_leaf_pass
#define AT(e, field) all_##field[e]
#define BODY_AT(e, field) all_##field[e]
#define NODE_AT(e, field) all_##field[e]
#define CHILD_AT(e, i) all_children[4u * (e) + (i)]
#define CHILDREN_AT(e) (((__global const uint4 *)all_children)[e])

#endif

#define IS_BODY(e) ((e) - 1u < bodies)
#define IS_NODE(e) ((e) > bodies)

/* A work-item per body, or per node of those given out so far, or given out before `split`, which gives
 * out more; `continue` skips it. */
#define FOR_EACH_BODY(e)                                                                           \
    for (uint e = (uint)get_global_id(0) + 1u, once = 1u; once && e <= bodies; once = 0u)
#define FOR_EACH_NODE(e, counter)                                                                  \
    for (uint e = (uint)get_global_id(0) + 1u + bodies, once = 1u;                                 \
         once && e - bodies <= (uint)counters[counter]; once = 0u)

__kernel void body_init(TREE, __global const float *states) {
    FOR_EACH_BODY(self) {
        __global const float *state = states + 5u * (self - 1u);
        AT(self, parent) = 0u;
        AT(self, summary) = (float4)(state[0], state[1], state[4], 0.0f);
        BODY_AT(self, velocity) = (float2)(state[2], state[3]);
        BODY_AT(self, next) = 0u;
    }
}

static inline void clear_node(TREE, uint self, uint level, float inverse_theta, uint pass) {
    AT(self, level) = (uchar)level;
    AT(self, summary) = (float4)(0.0f, 0.0f, 0.0f, find_reach2(level, inverse_theta));
    for (uint i = 0u; i < 4u; i++) {
        CHILD_AT(self, i) = 0u;
    }
    AT(self, is_touched) = 0;
    NODE_AT(self, pending) = 0u;
    NODE_AT(self, leaf_pass) = pass;
}

/* The counters are all zero before. */
__kernel void root_init(TREE, float inverse_theta) {
    if (get_global_id(0) == 0u) {
        counters[NODES_MADE] = 1;
        AT(0u, summary) = (float4)(0.0f); /* of children that are not there */
        AT(bodies + 1u, parent) = 0u;
        clear_node(TREE_GIVEN, bodies + 1u, 0u, inverse_theta, PASS_FIRST);
    }
}

/* ---- A step ---- */

__kernel void compute_force(TREE, float softening2) {
    FOR_EACH_BODY(self) {
        float4 own = AT(self, summary);
        pulls all = {(float4)(0.0f), (float4)(0.0f)};
        uint stack[STACK], height = 1u;
        stack[0] = bodies + 1u;
        while (height > 0u) {
            uint node = stack[--height];
            uint4 c = CHILDREN_AT(node);
            int4 is_opened =
                look_at(AT(c.s0, summary), AT(c.s1, summary), AT(c.s2, summary), AT(c.s3, summary),
                        own.x, own.y, softening2, &all);
            height = remember(stack, height, c.s0, is_opened.s0);
            height = remember(stack, height, c.s1, is_opened.s1);
            height = remember(stack, height, c.s2, is_opened.s2);
            height = remember(stack, height, c.s3, is_opened.s3);
        }
        BODY_AT(self, force) = finish_pulls(&all);
    }
}

__kernel void move(TREE, float kick, float dt) {
    FOR_EACH_BODY(self) {
        float4 from = AT(self, summary), to = from;
        float2 force = BODY_AT(self, force), velocity = BODY_AT(self, velocity);
        velocity.x = fma(force.x, kick, velocity.x);
        velocity.y = fma(force.y, kick, velocity.y);
        to.x = move_to(from.x, velocity.x, dt);
        to.y = move_to(from.y, velocity.y, dt);
        BODY_AT(self, velocity) = (float2)(turn(to.x, velocity.x), turn(to.y, velocity.y));
        AT(self, summary) = to;
        uint parent = AT(self, parent);
        if (parent && leaves_cell(from.x, from.y, to.x, to.y, AT(self, level))) {
            CHILD_AT(parent, AT(self, child_index)) = 0u;
            AT(self, parent) = 0u;
        }
    }
}

__kernel void push(TREE) {
    if (get_global_id(0) == 0u) {
        counters[NODES_BEFORE] = counters[NODES_MADE];
    }
    FOR_EACH_BODY(self) {
        if (AT(self, parent)) {
            continue;
        }
        float4 own = AT(self, summary);
        uint node = bodies + 1u;
        for (uint level = 0u; level < LEVELS; level++) {
            uint i = find_child(own.x, own.y, self - 1u, level);
            volatile __global uint *slot = &CHILD_AT(node, i);
            uint below = *slot;
            if (!IS_NODE(below)) {
                BODY_AT(self, next) = atomic_xchg(slot, self);
                AT(node, is_touched) = 1;
                break;
            }
            node = below;
        }
    }
}

static inline void settle(TREE, uint body, uint node, uint i) {
    CHILD_AT(node, i) = body;
    AT(body, parent) = node;
    AT(body, child_index) = (uchar)i;
    AT(body, level) = (uchar)(AT(node, level) + 1u);
    BODY_AT(body, next) = 0u;
}

/* An entry that is not in use, or 0, which is counted. */
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

static inline uint make_child(TREE, uint node, uint i, float inverse_theta, uint pass) {
    uint child = take_node(TREE_GIVEN);
    if (child) {
        AT(child, parent) = node;
        AT(child, child_index) = (uchar)i;
        clear_node(TREE_GIVEN, child, AT(node, level) + 1u, inverse_theta, pass);
        CHILD_AT(node, i) = child;
    }
    return child;
}

static inline void insert(TREE, uint node, uint body, float inverse_theta, uint pass) {
    float4 own = AT(body, summary);
    for (uint level = AT(node, level); level < LEVELS; level++) {
        uint i = find_child(own.x, own.y, body - 1u, level);
        uint child = CHILD_AT(node, i);
        if (!child) {
            settle(TREE_GIVEN, body, node, i);
            return;
        }
        if (IS_BODY(child)) {
            uint other = child;
            child = make_child(TREE_GIVEN, node, i, inverse_theta, pass);
            if (!child) {
                break;
            }
            NODE_AT(node, pending) += 1u;
            NODE_AT(node, leaf_pass) = 0u;
            float4 at = AT(other, summary);
            settle(TREE_GIVEN, other, child, find_child(at.x, at.y, other - 1u, level + 1u));
        }
        node = child;
    }
    AT(body, parent) = 0u; /* no node was left: it stays outside */
}

static inline int is_longer(TREE, uint chain, uint limit) {
    uint length = 0u;
    while (chain && length <= limit) {
        length++;
        chain = BODY_AT(chain, next);
    }
    return length > limit;
}

__kernel void split(TREE, uint longest, float inverse_theta, uint pass) {
    FOR_EACH_NODE(self, NODES_BEFORE) {
        if (!AT(self, is_touched)) {
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
            uint below = make_child(TREE_GIVEN, self, i, inverse_theta, pass);
            below_count += below != 0u;
            if (!below) {
                CHILD_AT(self, i) = 0u;
            } else if (is_longer(TREE_GIVEN, body, longest)) {
                continue;
            }
            while (body) {
                uint next = BODY_AT(body, next);
                if (below) {
                    insert(TREE_GIVEN, below, body, inverse_theta, pass);
                } else {
                    AT(body, parent) = 0u;
                }
                body = next;
            }
        }
        AT(self, is_touched) = 0;
        NODE_AT(self, pending) = below_count;
        NODE_AT(self, leaf_pass) = below_count ? 0u : pass;
    }
}

static inline void replace(TREE, uint node, uint parent, uint only) {
    uint i = AT(node, child_index);
    if (only) {
        AT(only, parent) = parent;
        AT(only, child_index) = (uchar)i;
        AT(only, level) = AT(node, level);
    }
    CHILD_AT(parent, i) = only;
    NODE_AT(node, leaf_pass) = 0u;
    unused[atomic_inc(&counters[STACK_HEIGHT])] = node;
}

static inline void gather_node(TREE, uint node, uint parent, uint pass) {
    sum all = {0.0f, 0.0f, 0.0f};
    uint below_count = 0u, count = 0u, only = 0u;
    for (uint i = 0u; i < 4u; i++) {
        uint child = *(volatile __global uint *)&CHILD_AT(node, i);
        if (child) {
            add_to_sum(&all, *(volatile __global float4 *)&AT(child, summary));
            below_count += IS_NODE(child);
            count++;
            only = child;
        }
    }
    if (parent && below_count == 0u && count <= 1u) {
        replace(TREE_GIVEN, node, parent, only);
        return;
    }
    if (count) {
        AT(node, summary) = finish_sum(&all, AT(node, summary).w);
    }
    NODE_AT(node, pending) = below_count;
    NODE_AT(node, leaf_pass) = below_count ? 0u : pass + 1u;
}

__kernel void gather(TREE, uint pass) {
    FOR_EACH_NODE(self, NODES_MADE) {
        uint node = self, is_last = NODE_AT(node, leaf_pass) == pass;
        for (uint level = 0u; is_last && level <= LEVELS; level++) {
            uint parent = AT(node, parent);
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

__kernel void write_bodies(TREE, __global float *states, __global uchar *levels) {
    FOR_EACH_BODY(self) {
        float4 summary = AT(self, summary);
        float2 velocity = BODY_AT(self, velocity);
        __global float *state = states + 5u * (self - 1u);
        state[0] = summary.x;
        state[1] = summary.y;
        state[2] = velocity.x;
        state[3] = velocity.y;
        state[4] = summary.z;
        levels[self - 1u] = AT(self, parent) ? AT(self, level) : 0;
    }
}
