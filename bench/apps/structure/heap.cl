/* Nodes and springs as objects: one kernel per phase of a step, and those that make and show them.
 *
 * Compiled after rules.clh and search.clh. All kernels of a step except the last promise to free
 * nothing: a spring that breaks gets stiffness 0, pulls no more, and is freed with all others at
 * the end of the step. So the 2 * iterations + 5 kernels of a step share one list of objects.
 *
 * `changed` is one word: whether a spring broke in this step. If none did, the search for parts
 * that have come off has nothing to find, and its kernels return at once; the host never looks.
 * With SEARCH_LEVELS it is always 1, and the host looks at `deepest`, one word too.
 *
 * Read first: objects.schema, rules.clh, search.clh.
 */

/* ---- Making the world ------------------------------------------------------------------------ */

/* A node of the network is ten words: x, y, vx, vy, inverse mass, five springs (number + 1; 0:
 * none). `refs` takes the reference of each node. */
static void base_init(CLUMP_HEAP, NodeBase self, uint id, __global const uint *nodes,
                      __global uint *refs) {
    NodeBase_pos(self) = (float2)(as_float(nodes[10u * id]), as_float(nodes[10u * id + 1u]));
    NodeBase_parent(self) = NodeBase_null;
    NodeBase_id(self) = id;
    refs[id] = self.id;
}

static float2 velocity_of(uint id, __global const uint *nodes) {
    return (float2)(as_float(nodes[10u * id + 2u]), as_float(nodes[10u * id + 3u]));
}

__kernel void node_init(CLUMP_HEAP, __global const uint *nodes, __global uint *refs, uint first) {
    CLUMP_FOR_EACH_NEW(Node, self, i) {
        base_init(clump_heap, Node_as_NodeBase(self), first + i, nodes, refs);
        Node_vel(self) = velocity_of(first + i, nodes);
        Node_inverse_mass(self) = as_float(nodes[10u * (first + i) + 4u]);
    }
}

__kernel void pull_node_init(CLUMP_HEAP, __global const uint *nodes, __global uint *refs,
                             uint first) {
    CLUMP_FOR_EACH_NEW(AnchorPullNode, self, i) {
        base_init(clump_heap, AnchorPullNode_as_NodeBase(self), first + i, nodes, refs);
        AnchorPullNode_vel(self) = velocity_of(first + i, nodes);
    }
}

__kernel void anchor_init(CLUMP_HEAP, __global const uint *nodes, __global uint *refs, uint first) {
    CLUMP_FOR_EACH_NEW(AnchorNode, self, i) {
        base_init(clump_heap, AnchorNode_as_NodeBase(self), first + i, nodes, refs);
    }
}

/* A spring of the network is six words: p1, p2, its places in them, stiffness, length, greatest
 * force. */
__kernel void spring_init(CLUMP_HEAP, __global const uint *springs, __global const uint *node_refs,
                          __global uint *refs) {
    CLUMP_FOR_EACH_NEW(Spring, self, i) {
        __global const uint *from = springs + 6u * i;
        Spring_p1(self).id = node_refs[from[0]];
        Spring_p2(self).id = node_refs[from[1]];
        Spring_stiffness(self) = as_float(from[3]);
        Spring_length(self) = as_float(from[4]);
        Spring_max_force(self) = as_float(from[5]);
        Spring_id(self) = i;
        refs[i] = self.id;
    }
}

__kernel void link_nodes(CLUMP_HEAP_NO_ALLOC, __global const uint *nodes,
                         __global const uint *spring_refs) {
    CLUMP_FOR_EACH(NodeBase, self) {
        __global const uint *slots = nodes + 10u * NodeBase_id(self) + 5u;
        uint ends = 0u;
        for (uint i = 0u; i < DEGREE; i++) {
            Spring spring = {slots[i] != 0u ? spring_refs[slots[i] - 1u] : 0u};
            NodeBase_springs(self, i) = spring;
            if (!Spring_is_null(spring)) {
                ends |= (uint)(Spring_p2(spring).id == self.id) << i;
            }
        }
        NodeBase_ends(self) = (uchar)ends;
    }
}

/* ---- The phases of a step: forces and motion ------------------------------------------------- */

/* Begins a step. The first is searched in any case: the network itself may have loose parts. */
__kernel void pull_nodes(CLUMP_HEAP_NO_ALLOC, __global uint *changed, float dt, uint is_searched) {
    if (get_global_id(0) == 0) {
        changed[0] = is_searched;
    }
    CLUMP_FOR_EACH(AnchorPullNode, self) {
        AnchorPullNode_pos(self) =
            fma(AnchorPullNode_vel(self), (float2)(dt), AnchorPullNode_pos(self));
    }
}

/* A spring keeps its pull, and `move` fetches it from there: reads in no order cost less than
 * writes in no order, and the pulls of all springs are few bytes. */
__kernel void compute_force(CLUMP_HEAP_NO_ALLOC, __global uint *changed) {
    CLUMP_FOR_EACH(Spring, self) {
        float size;
        NodeBase p1 = Spring_p1(self), p2 = Spring_p2(self);
        float2 pull = pull_of(NodeBase_pos(p2) - NodeBase_pos(p1), Spring_stiffness(self),
                              Spring_length(self), &size);
        if (size > Spring_max_force(self)) {
            Spring_stiffness(self) = 0.0f;
            pull = (float2)(0.0f);
            changed[0] = 1u;
        }
        Spring_pull(self) = pull;
    }
}

/* The order in which the pulls are added up is that of the node's springs, in every variant. */
__kernel void move(CLUMP_HEAP_NO_ALLOC, float dt, float keep) {
    CLUMP_FOR_EACH(Node, self) {
        uint ends = Node_ends(self);
        float2 pulls[DEGREE];
#pragma unroll
        for (uint i = 0u; i < DEGREE; i++) {
            Spring spring = Node_springs(self, i);
            pulls[i] = Spring_is_null(spring) ? (float2)(0.0f) : Spring_pull(spring);
        }
        float2 sum = pull_on(ends, 0u, pulls[0]);
#pragma unroll
        for (uint i = 1u; i < DEGREE; i++) {
            sum += pull_on(ends, i, pulls[i]);
        }
        float2 vel = fma(sum, (float2)(dt * Node_inverse_mass(self)), Node_vel(self)) * keep;
        Node_vel(self) = vel;
        Node_pos(self) = fma(vel, (float2)(dt), Node_pos(self));
    }
}

/* ---- The phases of a step: what has come off, by search.clh ---------------------------------- */

/* Forget broken springs. A node that is left without any is a part of its own, anchor or not. */
static void begin_node(CLUMP_HEAP_NO_ALLOC, NodeBase self, int holds) {
    int had = 0, left = 0;
    for (uint i = 0u; i < DEGREE; i++) {
        Spring spring = NodeBase_springs(self, i);
        if (Spring_is_null(spring)) {
            continue;
        }
        had = 1;
        if (Spring_stiffness(spring) == 0.0f) {
            NodeBase_springs(self, i) = Spring_null;
        } else {
            left = 1;
        }
    }
#if SEARCH_LEVELS
    NodeBase_level(self) = is_kept(had, left, holds) ? 0u : FAR;
#else
    NodeBase_parent(self) = is_kept(had, left, holds) ? NodeBase_null : self;
#endif
}

__kernel void begin_search(CLUMP_HEAP_NO_ALLOC, __global const uint *changed,
                           __global uint *deepest) {
    if (changed[0] == 0u) {
        return;
    }
    if (get_global_id(0) == 0) {
        deepest[0] = 0u;
    }
    CLUMP_FOR_EACH(AnchorNode, self) {
        begin_node(clump_heap, AnchorNode_as_NodeBase(self), 1);
    }
    CLUMP_FOR_EACH(AnchorPullNode, self) {
        begin_node(clump_heap, AnchorPullNode_as_NodeBase(self), PULLED_HOLD);
    }
    CLUMP_FOR_EACH(Node, self) {
        begin_node(clump_heap, Node_as_NodeBase(self), 0);
    }
}

/* A pass of the search by levels: from the nodes of one to those of the next, which several may
 * find at once. `deepest` is the last level that has nodes, so the host knows when it is done. */
__kernel void visit(CLUMP_HEAP_NO_ALLOC, __global uint *deepest, uint level) {
    CLUMP_FOR_EACH(NodeBase, self) {
        if (NodeBase_level(self) != level) {
            continue;
        }
        for (uint i = 0u; i < DEGREE; i++) {
            Spring spring = NodeBase_springs(self, i);
            if (Spring_is_null(spring)) {
                continue;
            }
            NodeBase p1 = Spring_p1(spring), p2 = Spring_p2(spring);
            NodeBase other = p1.id == self.id ? p2 : p1;
            if (NodeBase_level(other) == FAR) {
                NodeBase_level(other) = level + 1u;
                deepest[0] = level + 1u;
            }
        }
    }
}

__kernel void join(CLUMP_HEAP_NO_ALLOC, __global const uint *changed) {
    if (changed[0] == 0u) {
        return;
    }
    CLUMP_FOR_EACH(Spring, self) {
        if (Spring_stiffness(self) != 0.0f) {
            unite(clump_heap, root_of_shortened(clump_heap, Spring_p1(self).id),
                  root_of_shortened(clump_heap, Spring_p2(self).id));
        }
    }
}

/* Afterwards a node's parent is null or its level is known, and a spring has stiffness, exactly if
 * they stay. */
__kernel void mark(CLUMP_HEAP_NO_ALLOC, __global const uint *changed) {
    if (changed[0] == 0u) {
        return;
    }
#if SEARCH_LEVELS
    CLUMP_FOR_EACH(Spring, self) {
        if (NodeBase_level(Spring_p1(self)) == FAR) {
            Spring_stiffness(self) = 0.0f;
        }
    }
#else
    CLUMP_FOR_EACH(NodeBase, self) {
        PARENT(self.id) = root_of(clump_heap, self.id);
    }
    CLUMP_FOR_EACH(Spring, self) {
        if (root_of(clump_heap, Spring_p1(self).id) != 0u) {
            Spring_stiffness(self) = 0.0f;
        }
    }
#endif
}

__kernel void remove_loose(CLUMP_HEAP, __global const uint *changed) {
    if (changed[0] == 0u) {
        return;
    }
    CLUMP_FOR_EACH(Spring, self) {
        if (Spring_stiffness(self) == 0.0f) {
            Spring_free(self);
        }
    }
    CLUMP_FOR_EACH(NodeBase, self) {
#if SEARCH_LEVELS
        int is_loose = NodeBase_level(self) == FAR;
#else
        int is_loose = !NodeBase_is_null(NodeBase_parent(self));
#endif
        if (is_loose) {
            NodeBase_free(self);
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

/* The state is all zero before: six words a node (x, y, vx, vy, springs, 1), then a word a spring:
 * 1. What is gone stays zero. `springs` has bit i for springs[i]. */
static void show(CLUMP_HEAP_NO_ALLOC, NodeBase self, float2 vel, __global uint *state) {
    __global uint *to = state + 6u * NodeBase_id(self);
    uint springs = 0u;
    for (uint i = 0u; i < DEGREE; i++) {
        springs |= (Spring_is_null(NodeBase_springs(self, i)) ? 0u : 1u) << i;
    }
    to[0] = as_uint(NodeBase_pos(self).x);
    to[1] = as_uint(NodeBase_pos(self).y);
    to[2] = as_uint(vel.x);
    to[3] = as_uint(vel.y);
    to[4] = springs;
    to[5] = 1u;
}

__kernel void write_state(CLUMP_HEAP_NO_ALLOC, __global uint *state, uint nodes) {
    CLUMP_FOR_EACH(Node, self) {
        show(clump_heap, Node_as_NodeBase(self), Node_vel(self), state);
    }
    CLUMP_FOR_EACH(AnchorPullNode, self) {
        show(clump_heap, AnchorPullNode_as_NodeBase(self), AnchorPullNode_vel(self), state);
    }
    CLUMP_FOR_EACH(AnchorNode, self) {
        show(clump_heap, AnchorNode_as_NodeBase(self), (float2)(0.0f), state);
    }
    CLUMP_FOR_EACH(Spring, self) {
        state[6u * nodes + Spring_id(self)] = 1u;
    }
}
