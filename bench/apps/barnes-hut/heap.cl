/* The quadtree of objects: one kernel per phase of a step, and those that make and show it.
 *
 * Compiled after collision/rules.clh and rules.clh. Nothing waits and no loop is longer
 * than the tree is deep, except for the walk over the tree and over the bodies that came into one
 * slot.
 *
 * A body without parent is not in the tree. `push` hangs each of these at the slot that it leads
 * to, several in a chain; `split` has one work-item per node, which alone changes its slots and
 * makes subtrees of chains. `gather` goes up from the nodes that have only bodies, takes away those
 * that are not needed any more, and sums up the others.
 *
 * Read first: README.md, objects.schema, rules.clh.
 */

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Body. `states` has x, y, vx, vy, mass of each. */
__kernel void body_init(CLUMP_HEAP, __global const float *states) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        __global const float *state = states + 5u * i;
        Body_parent(self) = TreeNode_null;
        Body_summary(self) = (real4)(state[0], state[1], state[4], 0.0f);
        Body_velocity(self) = (real2)(state[2], state[3]);
        Body_force(self) = (real2)(0.0f, 0.0f);
        Body_id(self) = i;
        Body_next(self) = Body_null;
    }
}

/* What a node keeps of its child's reach2. It is 0 unless the child is a node, which is cheaper to
 * ask than the child's class: the heap need not be asked where the child is. */
static inline __global real *reach2_below(CLUMP_HEAP_NO_ALLOC, TreeNode node, uint i) {
    return (__global real *)&TreeNode_below(node) + 12u + i;
}

static inline int holds_node(CLUMP_HEAP_NO_ALLOC, TreeNode node, uint i) {
    return *reach2_below(clump_heap, node, i) > 0.0f;
}

static inline void clear_node(CLUMP_HEAP, TreeNode self, uint level, float2 reach, uint pass) {
    TreeNode_level(self) = (ushort)level;
    TreeNode_summary(self) = (real4)(0.0f, 0.0f, 0.0f, find_reach2(level, reach));
    for (uint i = 0u; i < 4u; i++) {
        TreeNode_children(self, i) = NodeBase_null;
    }
    TreeNode_below(self) = (real16)(0.0f);
    TreeNode_pending(self) = 0u;
    TreeNode_leaf_pass(self) = pass;
}

/* Do-new over TreeNode. */
__kernel void root_init(CLUMP_HEAP, __global TreeNode *root, float2 reach) {
    CLUMP_FOR_EACH_NEW(TreeNode, self, i) {
        TreeNode_parent(self) = TreeNode_null;
        TreeNode_child_index(self) = 0;
        clear_node(clump_heap, self, 0u, reach, PASS_FIRST);
        root[i] = self;
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* All four. A packed array of 16 bytes lies at a multiple of 16. */
static inline uint4 get_children(CLUMP_HEAP_NO_ALLOC, TreeNode node) {
    return *(__global const uint4 *)&TreeNode_children(node, 0u);
}

/* The cells that a body is in are opened down to level `path`, by the way that leads to the body;
 * below it they are near enough. */
__kernel void compute_force(CLUMP_HEAP_NO_ALLOC, __global const TreeNode *root, real softening2,
                            uint path) {
    CLUMP_FOR_EACH(Body, self) {
        real4 own = Body_summary(self);
        pulls all = {(real4)(0.0f), (real4)(0.0f)};
        uint stack[STACK], height = 0u, on_path = root[0].id;
        for (uint level = 0u; level < path && on_path != 0u; level++) {
            TreeNode node = {on_path};
            uint i = find_child(own.x, own.y, Body_id(self), level);
            mask4 next = mark_node(TreeNode_below(node), i);
            uint4 children = get_children(clump_heap, node);
            mask4 opened =
                look_into(TreeNode_below(node), -1, next, own.x, own.y, softening2, &all);
            height = put(stack, height, children, opened & ~next);
            on_path = any(next) ? TreeNode_children(node, i).id : 0u;
        }
        stack[height] = on_path;
        height += on_path != 0u;
        while (height > 0u) {
            TreeNode deeper = {stack[--height]}, other = deeper;
            int is_other = height > 0u ? -1 : 0;
            height += (uint)is_other;
            other.id = is_other ? stack[height] : deeper.id;
            uint4 deeper_children = get_children(clump_heap, deeper);
            uint4 other_children = get_children(clump_heap, other);
            mask4 deeper_opened =
                look_into(TreeNode_below(deeper), -1, (mask4)(0), own.x, own.y, softening2, &all);
            mask4 other_opened = look_into(TreeNode_below(other), is_other, (mask4)(0), own.x,
                                           own.y, softening2, &all);
            height = put(stack, height, other_children, other_opened);
            height = put(stack, height, deeper_children, deeper_opened);
        }
        Body_force(self) = finish_pulls(&all);
    }
}

/* And out of the tree with those that leave the cell of their slot. */
__kernel void move(CLUMP_HEAP_NO_ALLOC, real kick, real dt) {
    CLUMP_FOR_EACH(Body, self) {
        real4 from = Body_summary(self), to = from;
        real2 force = Body_force(self), velocity = Body_velocity(self);
        velocity.x = fma(force.x, kick, velocity.x);
        velocity.y = fma(force.y, kick, velocity.y);
        to.x = move_to(from.x, velocity.x, dt);
        to.y = move_to(from.y, velocity.y, dt);
        Body_velocity(self) = (real2)(turn(to.x, velocity.x), turn(to.y, velocity.y));
        Body_summary(self) = to;
        TreeNode parent = Body_parent(self);
        if (!TreeNode_is_null(parent) &&
            leaves_cell(from.x, from.y, to.x, to.y, Body_level(self))) {
            TreeNode_children(parent, Body_child_index(self)) = NodeBase_null;
            Body_parent(self) = TreeNode_null;
        }
    }
}

/* Every body that is not in the tree goes down to a slot that holds no node, and is exchanged
 * for what is there: nothing or a body, which becomes the next one of its chain. This always
 * succeeds. */
__kernel void push(CLUMP_HEAP_NO_ALLOC, __global const TreeNode *root) {
    CLUMP_FOR_EACH(Body, self) {
        if (!TreeNode_is_null(Body_parent(self))) {
            continue;
        }
        real4 own = Body_summary(self);
        TreeNode node = root[0];
        for (uint level = 0u; level < LEVELS; level++) {
            uint i = find_child(own.x, own.y, Body_id(self), level);
            volatile __global uint *slot = &TreeNode_children(node, i).id;
            if (!holds_node(clump_heap, node, i)) {
                Body_next(self) = (Body){atomic_xchg(slot, self.id)};
                TreeNode_leaf_pass(node) = TOUCHED;
                break;
            }
            node.id = *slot;
        }
    }
}

static inline void settle(CLUMP_HEAP, Body body, TreeNode node, uint i) {
    TreeNode_children(node, i) = Body_as_NodeBase(body);
    Body_parent(body) = node;
    Body_child_index(body) = (ushort)i;
    Body_level(body) = (ushort)(TreeNode_level(node) + 1u);
    Body_next(body) = Body_null;
}

/* Null if memory is exhausted, which the heap counts. */
static inline TreeNode make_child(CLUMP_HEAP, TreeNode node, uint i, float2 reach, uint pass) {
    TreeNode child = TreeNode_new();
    if (!TreeNode_is_null(child)) {
        TreeNode_parent(child) = node;
        TreeNode_child_index(child) = (ushort)i;
        clear_node(clump_heap, child, TreeNode_level(node) + 1u, reach, pass);
        TreeNode_children(node, i) = TreeNode_as_NodeBase(child);
        *reach2_below(clump_heap, node, i) = TreeNode_summary(child).w;
    }
    return child;
}

/* Put a body into a subtree that only this work-item changes. The loop goes down a level each
 * time. */
static inline void insert(CLUMP_HEAP, TreeNode node, Body body, float2 reach, uint pass) {
    real4 own = Body_summary(body);
    for (uint level = TreeNode_level(node); level < LEVELS; level++) {
        uint i = find_child(own.x, own.y, Body_id(body), level);
        NodeBase child = TreeNode_children(node, i);
        if (NodeBase_is_null(child)) {
            settle(clump_heap, body, node, i);
            return;
        }
        TreeNode below = {child.id};
        if (!holds_node(clump_heap, node, i)) {
            Body other = {child.id};
            below = make_child(clump_heap, node, i, reach, pass);
            if (TreeNode_is_null(below)) {
                break;
            }
            TreeNode_pending(node) += 1u;
            TreeNode_leaf_pass(node) = NOT_A_LEAF;
            real4 at = Body_summary(other);
            settle(clump_heap, other, below, find_child(at.x, at.y, Body_id(other), level + 1u));
        }
        node = below;
    }
    Body_parent(body) = TreeNode_null; /* no memory: it stays outside */
}

static inline int is_longer(CLUMP_HEAP, Body chain, uint limit) {
    uint length = 0u;
    while (!Body_is_null(chain) && length <= limit) {
        length++;
        chain = Body_next(chain);
    }
    return length > limit;
}

/* Settle bodies where they were pushed to; where there are several, make a subtree of them. Of
 * more than `longest`, make only its root: these bodies, none of which was settled here before,
 * are pushed again in the next round, from where more work-items can take care of them. */
__kernel void split(CLUMP_HEAP, uint longest, float2 reach, uint pass) {
    CLUMP_FOR_EACH(TreeNode, self) {
        if (TreeNode_leaf_pass(self) != TOUCHED) {
            continue;
        }
        uint nodes = 0u;
        for (uint i = 0u; i < 4u; i++) {
            Body body = {TreeNode_children(self, i).id};
            if (Body_is_null(body)) {
                continue;
            }
            if (holds_node(clump_heap, self, i)) {
                nodes++;
                continue;
            }
            if (Body_is_null(Body_next(body))) {
                settle(clump_heap, body, self, i);
                continue;
            }
            TreeNode below = make_child(clump_heap, self, i, reach, pass);
            nodes += !TreeNode_is_null(below);
            if (TreeNode_is_null(below)) {
                TreeNode_children(self, i) = NodeBase_null;
            } else if (is_longer(clump_heap, body, longest)) {
                continue;
            }
            while (!Body_is_null(body)) {
                Body next = Body_next(body);
                if (TreeNode_is_null(below)) {
                    Body_parent(body) = TreeNode_null; /* no memory: all stay outside */
                } else {
                    insert(clump_heap, below, body, reach, pass);
                }
                body = next;
            }
        }
        TreeNode_pending(self) = nodes;
        TreeNode_leaf_pass(self) = nodes ? NOT_A_LEAF : pass;
    }
}

/* A body that is the only thing in a node takes the node's place; so does nothing at all. */
static inline void replace(CLUMP_HEAP, TreeNode node, TreeNode parent, NodeBase only) {
    uint i = TreeNode_child_index(node);
    if (!NodeBase_is_null(only)) {
        NodeBase_parent(only) = parent;
        NodeBase_child_index(only) = (ushort)i;
        NodeBase_level(only) = TreeNode_level(node);
    }
    TreeNode_children(parent, i) = only;
    TreeNode_free(node);
}

/* All below `node` is done: sum it up, or take it away. What other work-items wrote in this kernel
 * must be read as volatile. */
static inline void gather_node(CLUMP_HEAP, TreeNode node, TreeNode parent, uint pass) {
    sum all = {0.0f, 0.0f, 0.0f};
    real4 parts[4];
    uint nodes = 0u, count = 0u;
    NodeBase only = NodeBase_null;
    for (uint i = 0u; i < 4u; i++) {
        NodeBase child = {CLUMP_OBSERVED(uint, TreeNode_children(node, i).id)};
        parts[i] = (real4)(0.0f);
        if (!NodeBase_is_null(child)) {
            parts[i] = CLUMP_OBSERVED(real4, NodeBase_summary(child));
            add_to_sum(&all, parts[i]);
            nodes += parts[i].w > 0.0f; /* of a body it is 0 */
            count++;
            only = child;
        }
    }
    if (!TreeNode_is_null(parent) && nodes == 0u && count <= 1u) {
        replace(clump_heap, node, parent, only);
        return;
    }
    TreeNode_below(node) = collect(parts[0], parts[1], parts[2], parts[3]);
    TreeNode_summary(node) = finish_sum(&all, TreeNode_summary(node).w);
    TreeNode_pending(node) = nodes;
    TreeNode_leaf_pass(node) = nodes ? NOT_A_LEAF : pass + 1u;
}

/* From the nodes that have no nodes below them upwards; who finishes the last of a node's
 * children goes on with it, all others are done. A node that gets rid of all nodes below it
 * becomes a leaf for the next pass, not this one, so it is not taken up twice. */
__kernel void gather(CLUMP_HEAP, uint pass) {
    CLUMP_FOR_EACH(TreeNode, self) {
        TreeNode node = self;
        uint is_last = TreeNode_leaf_pass(node) == pass;
        for (uint level = 0u; is_last && level <= LEVELS; level++) {
            TreeNode parent = TreeNode_parent(node);
            gather_node(clump_heap, node, parent, pass);
            is_last = 0u;
            if (!TreeNode_is_null(parent)) {
                CLUMP_FENCE();
                is_last = CLUMP_ATOMIC_SUB(TreeNode_pending(parent), 1u) == 1u;
                CLUMP_FENCE();
                node = parent;
            }
        }
    }
}

/* ---- Showing the world ----------------------------------------------------------------------- */

/* Keys of a compaction that puts what is near in space together in memory. */
__kernel void find_codes(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {
    CLUMP_FOR_EACH_KEYED(NodeBase, self, i) {
        real4 summary = NodeBase_summary(self);
        keys[i] = find_morton_code(summary.x, summary.y);
    }
}

/* `levels` 0: not in the tree. */
__kernel void write_bodies(CLUMP_HEAP_NO_ALLOC, __global real *states, __global uchar *levels) {
    CLUMP_FOR_EACH(Body, self) {
        uint i = Body_id(self);
        real4 summary = Body_summary(self);
        real2 velocity = Body_velocity(self);
        __global real *state = states + 5u * i;
        state[0] = summary.x;
        state[1] = summary.y;
        state[2] = velocity.x;
        state[3] = velocity.y;
        state[4] = summary.z;
        levels[i] = TreeNode_is_null(Body_parent(self)) ? 0 : (uchar)Body_level(self);
    }
}

/* Between two steps: is referred to by the slot of its parent that it names, and a level below
 * it. */
static inline uint is_linked(CLUMP_HEAP_NO_ALLOC, NodeBase self) {
    TreeNode parent = NodeBase_parent(self);
    return TreeNode_is_live(parent) &&
           TreeNode_children(parent, NodeBase_child_index(self) & 3u).id == self.id &&
           NodeBase_level(self) == TreeNode_level(parent) + 1u;
}

/* Counts objects that do not hang in the tree as they must. */
__kernel void count_faults(CLUMP_HEAP_NO_ALLOC, __global const TreeNode *root) {
    uint faults = 0u;
    CLUMP_FOR_EACH(Body, self) {
        faults += !is_linked(clump_heap, Body_as_NodeBase(self)) || !Body_is_null(Body_next(self));
    }
    CLUMP_FOR_EACH(TreeNode, node) {
        uint bodies = 0u, nodes = 0u, is_root = node.id == root[0].id;
        for (uint i = 0u; i < 4u; i++) {
            NodeBase child = TreeNode_children(node, i);
            bodies += !NodeBase_is_null(child) && NodeBase_is_Body(child);
            nodes += !NodeBase_is_null(child) && NodeBase_is_TreeNode(child);
            faults += !NodeBase_is_null(child) && NodeBase_parent(child).id != node.id;
            faults += NodeBase_is_TreeNode(child) != holds_node(clump_heap, node, i);
        }
        faults += !is_root && (!is_linked(clump_heap, TreeNode_as_NodeBase(node)) ||
                               (nodes == 0u && bodies < 2u));
        faults += TreeNode_leaf_pass(node) == TOUCHED || TreeNode_pending(node) != nodes;
    }
    CLUMP_REDUCE(uint, faults, CLUMP_SUM)
}
