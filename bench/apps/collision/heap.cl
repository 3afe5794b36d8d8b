/* Bodies as objects: one kernel per phase of a step, and those that make and show the bodies.
 *
 * Compiled after rules.clh and bodies.clh. MERGING is 1 for collision and 0 for nbody, whose class
 * Body has no fields for it. Every phase reads only what it does not write, except for a body's own
 * fields; suitors are the one exception, a maximum of ids. So the order of visits does not matter.
 *
 * Read first: objects.schema, rules.clh, bodies.clh.
 */

/* ---- Making the world ------------------------------------------------------------------------ */

/* Do-new over Body. `states` has x, y, vx, vy, mass of each. */
__kernel void body_init(CLUMP_HEAP, __global const float *states) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        body_read(clump_heap, self, states + 5u * i);
        Body_id(self) = i + 1u;
#if MERGING
        Body_candidate(self) = Body_null;
#endif
    }
}

/* ---- The phases of a step -------------------------------------------------------------------- */

/* What a body sees of another one; aligned, so that it comes from local memory in one access. */
typedef struct __attribute__((aligned(16))) body_copy {
    float x, y, mass;
    uint id;
} body_copy;

static inline body_copy see(CLUMP_HEAP_NO_ALLOC, Body body) {
    body_copy s = {Body_x(body), Body_y(body), Body_mass(body), Body_id(body)};
    return s;
}

/* Pulls, in quanta. */
typedef struct pulls {
    long x, y;
} pulls;

static inline pulls add(pulls a, pulls b) {
    pulls sum = {a.x + b.x, a.y + b.y};
    return sum;
}

__kernel void compute_force(CLUMP_HEAP_NO_ALLOC, float softening2, float scale) {
    CLUMP_STAGE(body_copy, staged);
    CLUMP_STAGE(pulls, parts);
    CLUMP_FOR_EACH_TOGETHER(Body, self) {
        body_copy me = {0.0f, 0.0f, 0.0f, 0u};
        if (CLUMP_TAKES_PART(self)) me = see(clump_heap, self);
        pulls sum = {0, 0};
        CLUMP_FOR_WHOLE_CLASS_STAGED(Body, other, body_copy, it, staged, see(clump_heap, other)) {
            float dx = it.x - me.x, dy = it.y - me.y; /* itself too, which pulls with 0 */
            float f = pull(dx, dy, it.mass, softening2, scale);
            sum.x += quantise(f * dx);
            sum.y += quantise(f * dy);
        }
        CLUMP_COMBINE(parts, sum, add);
        if (CLUMP_OWNS(self)) {
            Body_force_x(self) = convert_float_rte(sum.x);
            Body_force_y(self) = convert_float_rte(sum.y);
        }
    }
}

__kernel void update(CLUMP_HEAP_NO_ALLOC, float kick, float dt) {
    CLUMP_FOR_EACH(Body, self) {
        body_move(clump_heap, self, Body_force_x(self), Body_force_y(self), kick, dt);
    }
}

#if MERGING

/* A body that may be taken in; id 0: none of this rank. */
typedef struct neighbor {
    float rank;
    uint id;
    Body body;
} neighbor;

static inline neighbor preferred(neighbor a, neighbor b) {
    int is_b = b.rank < a.rank || (b.rank == a.rank && b.id < a.id);
    return is_b ? b : a;
}

typedef struct suitable {
    body_copy seen;
    Body body;
} suitable;

static inline suitable see_whole(CLUMP_HEAP_NO_ALLOC, Body body) {
    suitable s = {see(clump_heap, body), body};
    return s;
}

/* Each body looks for one in reach that it may take in: that of the least rank, of equal ranks that
 * with the lowest id. */
__kernel void find_candidate(CLUMP_HEAP_NO_ALLOC, float reach2) {
    CLUMP_STAGE(suitable, staged);
    CLUMP_STAGE(neighbor, parts);
    CLUMP_FOR_EACH_TOGETHER(Body, self) {
        body_copy me = {0.0f, 0.0f, 0.0f, 0u};
        if (CLUMP_TAKES_PART(self)) me = see(clump_heap, self);
        neighbor best = {reach2, 0u, Body_null};
        CLUMP_FOR_WHOLE_CLASS_STAGED(Body, other, suitable, it, staged,
                                     see_whole(clump_heap, other)) {
            float d = distance2(it.seen.x - me.x, it.seen.y - me.y);
            float rank = rank_of(d);
            if (d < reach2 && rank <= best.rank &&
                may_take(me.mass, me.id, it.seen.mass, it.seen.id) &&
                (rank < best.rank || it.seen.id < best.id)) {
                best.rank = rank;
                best.id = it.seen.id;
                best.body = it.body;
            }
        }
        CLUMP_COMBINE(parts, best, preferred);
        if (CLUMP_OWNS(self)) {
            Body_candidate(self) = best.body;
            Body_suitor(self) = 0u;
            Body_is_merged(self) = 0;
        }
    }
}

/* Several may want the same: the highest id gets it. */
__kernel void request(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) {
        Body candidate = Body_candidate(self);
        if (!Body_is_null(candidate)) {
            atomic_max(&Body_suitor(candidate), Body_id(self));
        }
    }
}

/* Who is wanted takes nobody in, so nobody reads a body that another one changes. */
__kernel void merge(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) {
        Body other = Body_candidate(self);
        if (Body_is_null(other) || Body_suitor(other) != Body_id(self) || Body_suitor(self) != 0u) {
            continue;
        }
        float m1 = Body_mass(self), m2 = Body_mass(other);
        float r = inverse(m1 + m2);
        Body_vx(self) = merged_velocity(Body_vx(self), m1, Body_vx(other), m2, r);
        Body_vy(self) = merged_velocity(Body_vy(self), m1, Body_vy(other), m2, r);
        Body_x(self) = (Body_x(self) + Body_x(other)) * 0.5f;
        Body_y(self) = (Body_y(self) + Body_y(other)) * 0.5f;
        Body_mass(self) = m1 + m2;
        Body_is_merged(other) = 1;
    }
}

/* References are cleared too: one to a deleted body must not outlive the step. */
__kernel void delete_merged(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Body, self) {
        if (Body_is_merged(self)) {
            Body_free(self);
        } else {
            Body_candidate(self) = Body_null;
        }
    }
}

#endif

/* ---- Showing the world ----------------------------------------------------------------------- */

/* Show: `states` is all zero before; a body that is gone keeps mass 0. */
__kernel void write_bodies(CLUMP_HEAP_NO_ALLOC, __global float *states) {
    CLUMP_FOR_EACH(Body, self) {
        body_write(clump_heap, self, states + 5u * (Body_id(self) - 1u));
    }
}
