/* Kernels of the benchmark graph, on objects; plain.cl comes after it in the same program. The
 * class Vertex comes from benchmark.c; vertices[v] is vertex number v.
 *
 * The edges of a vertex are references to its neighbours, in an array of run-time length. What is
 * wrong adds to *faults.
 *
 * Those of search and labels store in *last the last launch that changed something.
 *
 * A batch is an array of edges; work-item 2i adds the second vertex of edge i to the first, and 2i
 * + 1 the first to the second.
 */
#define FAR 0xffffffffu

__kernel void graph_make(CLUMP_HEAP, __global Vertex *vertices, __global const uint *offset,
                         __global uint *faults) {
    CLUMP_FOR_EACH_NEW(Vertex, self, i) {
        vertices[i] = self;
        Vertex_number(self) = i;
        Vertex_touched(self) = 0u;
        if (Vertex_edges_resize(self, offset[i + 1u] - offset[i]) != CLUMP_DONE) atomic_inc(faults);
    }
}

__kernel void graph_link(CLUMP_HEAP_NO_ALLOC, __global const Vertex *vertices,
                         __global const uint *offset, __global const uint *target) {
    CLUMP_FOR_EACH(Vertex, self) {
        uint begin = offset[Vertex_number(self)], n = Vertex_edges_length(self);
        for (uint i = 0u; i < n; i++) Vertex_edges(self, i) = vertices[target[begin + i]];
    }
}

/* ---- Breadth-first search, as in listing 4.28 of the thesis: each launch visits all vertices and
 * takes those of one distance */

__kernel void search_begin(CLUMP_HEAP_NO_ALLOC, uint start) {
    CLUMP_FOR_EACH(Vertex, self) Vertex_distance(self) = Vertex_number(self) == start ? 0u : FAR;
}

__kernel void search_visit(CLUMP_HEAP_NO_ALLOC, uint level, __global uint *last) {
    uint found = 0u;
    CLUMP_FOR_EACH(Vertex, self) {
        if (Vertex_distance(self) != level) continue;
        uint n = Vertex_edges_length(self);
        for (uint i = 0u; i < n; i++) {
            Vertex next = Vertex_edges(self, i);
            if (Vertex_distance(next) <= level + 1u) continue;
            Vertex_distance(next) = level + 1u; /* whoever else finds it stores the same */
            found = 1u;
        }
    }
    if (found) *last = level + 1u;
}

/* ---- Connected components: the label of a vertex is a vertex of its component. Labels only become
 * less. A launch tells the label of each neighbour to the vertex that a label names, the next
 * shortens the way to the least one. Done when no edge has two labels. */

__kernel void label_begin(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Vertex, self) Vertex_label(self) = self;
}

__kernel void label_hook(CLUMP_HEAP_NO_ALLOC, uint round, __global uint *last) {
    uint found = 0u;
    CLUMP_FOR_EACH(Vertex, self) {
        uint n = Vertex_edges_length(self), mine = Vertex_label(self).id;
        for (uint i = 0u; i < n; i++) {
            Vertex theirs = Vertex_label(Vertex_edges(self, i));
            if (mine >= theirs.id) continue; /* their own work-item does that */
            CLUMP_ATOMIC_MIN(Vertex_label(theirs).id, mine);
            found = 1u;
        }
    }
    if (found) *last = round;
}

#define STEPS 32u

__kernel void label_jump(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Vertex, self) {
        Vertex label = Vertex_label(self);
        for (uint i = 0u; i < STEPS; i++) {
            Vertex next = Vertex_label(label);
            if (next.id == label.id) break;
            label = next;
        }
        Vertex_label(self) = label;
    }
}

/* ---- Edges that come: how many each vertex gets; room for them; then all at once ---- */

static inline Vertex edge_from(__global const Vertex *vertices, __global const uint *ends,
                               uint item) {
    return vertices[ends[item]];
}

__kernel void edges_count(CLUMP_HEAP_NO_ALLOC, __global const Vertex *vertices,
                          __global const uint *ends, uint count) {
    uint item = (uint)get_global_id(0);
    if (item < count) atomic_inc(&Vertex_touched(edge_from(vertices, ends, item)));
}

/* Half as much again where arrays can grow, so that an array is seldom copied. */
__kernel void edges_room(CLUMP_HEAP, uint most, __global uint *faults) {
    CLUMP_FOR_EACH(Vertex, self) {
        uint more = Vertex_touched(self);
        if (more == 0u) continue;
        Vertex_touched(self) = 0u;
        uint n = Vertex_edges_length(self) + more;
        if (n > Vertex_edges_capacity(self) &&
            Vertex_edges_reserve(self, min(n + n / 2u, most)) != CLUMP_DONE)
            atomic_inc(faults);
    }
}

__kernel void edges_insert(CLUMP_HEAP_NO_ALLOC, __global const Vertex *vertices,
                           __global const uint *ends, uint count, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= count) return;
    if (Vertex_edges_append(edge_from(vertices, ends, item),
                            edge_from(vertices, ends, item ^ 1u)) == CLUMP_NO_ROOM)
        atomic_inc(faults);
}

/* ---- Edges that leave: null where each was; then each array that has lost some closes its gaps
 * ---- */

__kernel void edges_delete(CLUMP_HEAP_NO_ALLOC, __global const Vertex *vertices,
                           __global const uint *ends, uint count, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= count) return;
    Vertex from = edge_from(vertices, ends, item), to = edge_from(vertices, ends, item ^ 1u);
    uint n = Vertex_edges_length(from), i = 0u;
    while (i < n && Vertex_edges(from, i).id != to.id) i++;
    if (i == n) {
        atomic_inc(faults);
        return;
    }
    Vertex_edges(from, i) = Vertex_null;
    atomic_inc(&Vertex_touched(from));
}

__kernel void edges_close(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Vertex, self) {
        if (Vertex_touched(self) == 0u) continue;
        Vertex_touched(self) = 0u;
        uint n = Vertex_edges_length(self), to = 0u;
        for (uint i = 0u; i < n; i++) {
            Vertex other = Vertex_edges(self, i);
            if (Vertex_is_null(other)) continue;
            Vertex_edges(self, to) = other;
            to++;
        }
        Vertex_edges_resize(self, to); /* less, so there is room */
        if (2u * to < Vertex_edges_capacity(self)) Vertex_edges_trim(self);
    }
}

/* lengths of all arrays, and the numbers of the neighbours of each vertex, from begin on as many as
 * are expected there. */
__kernel void graph_read(CLUMP_HEAP_NO_ALLOC, __global const uint *begin, __global uint *lengths,
                         __global uint *entries) {
    CLUMP_FOR_EACH(Vertex, self) {
        uint v = Vertex_number(self), at = begin[v], n = Vertex_edges_length(self);
        lengths[v] = n;
        for (uint i = 0u; i < min(n, begin[v + 1u] - at); i++) {
            Vertex other = Vertex_edges(self, i);
            entries[at + i] = Vertex_is_null(other) ? FAR : Vertex_number(other);
        }
    }
}

/* What each vertex has in the end, by number. */
__kernel void found_read(CLUMP_HEAP_NO_ALLOC, __global uint *distance, __global uint *label) {
    CLUMP_FOR_EACH(Vertex, self) {
        distance[Vertex_number(self)] = Vertex_distance(self);
        label[Vertex_number(self)] = Vertex_number(Vertex_label(self));
    }
}
