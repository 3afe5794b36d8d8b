/* Bodies as objects: one kernel per phase of a step, and those that make and show the bodies.
 *
 * Compiled behind arithmetic.clh. MERGING is 1 for collision and 0 for nbody, whose class Body has
 * no fields for it. Every phase reads only what it does not write, except for a body's own fields;
 * suitors are the one exception, a maximum of ids. So the order of visits does not matter.
 *
 * Read first: collision.schema, arithmetic.clh.
 */

/* Do-new over Body. `states` has x, y, vx, vy, mass of each. */
__kernel void body_init(CLUMP_HEAP, __global const float *states) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        Body_x(self) = states[5u * i];
        Body_y(self) = states[5u * i + 1u];
        Body_vx(self) = states[5u * i + 2u];
        Body_vy(self) = states[5u * i + 3u];
        Body_mass(self) = states[5u * i + 4u];
        Body_id(self) = i + 1u;
#if MERGING
        Body_candidate(self) = Body_null;
#endif
    }
}

__kernel void compute_force(CLUMP_HEAP_FIXED, float softening2, float scale) {
    CLUMP_FOR_EACH(Body, self) {
        float x = Body_x(self), y = Body_y(self);
        long sum_x = 0, sum_y = 0;
        CLUMP_FOR_ALL(Body, other) { /* itself too, which pulls with 0 */
            float dx = Body_x(other) - x, dy = Body_y(other) - y;
            float f = pull(dx, dy, Body_mass(other), softening2, scale);
            sum_x += quantise(f * dx);
            sum_y += quantise(f * dy);
        }
        Body_force_x(self) = convert_float_rte(sum_x);
        Body_force_y(self) = convert_float_rte(sum_y);
    }
}

__kernel void update(CLUMP_HEAP_FIXED, float kick, float dt) {
    CLUMP_FOR_EACH(Body, self) {
        float vx = fma(Body_force_x(self), kick, Body_vx(self));
        float vy = fma(Body_force_y(self), kick, Body_vy(self));
        float x = fma(vx, dt, Body_x(self)), y = fma(vy, dt, Body_y(self));
        Body_x(self) = x;
        Body_y(self) = y;
        Body_vx(self) = bounce(x, vx);
        Body_vy(self) = bounce(y, vy);
    }
}

#if MERGING

/* Each body looks for the nearest lighter one in reach; of equally near ones, for the lowest id. */
__kernel void find_candidate(CLUMP_HEAP_FIXED, float reach2) {
    CLUMP_FOR_EACH(Body, self) {
        float x = Body_x(self), y = Body_y(self), mass = Body_mass(self);
        uint id = Body_id(self), best_id = 0u;
        float best = reach2;
        Body candidate = Body_null;
        CLUMP_FOR_ALL(Body, other) {
            float d = distance2(Body_x(other) - x, Body_y(other) - y);
            if (d <= best && d < reach2 && is_lighter(Body_mass(other), Body_id(other), mass, id) &&
                (d < best || Body_id(other) < best_id)) {
                best = d;
                best_id = Body_id(other);
                candidate = other;
            }
        }
        Body_candidate(self) = candidate;
        Body_suitor(self) = 0u;
        Body_is_merged(self) = 0;
    }
}

/* Several may want the same: the highest id gets it. */
__kernel void request(CLUMP_HEAP_FIXED) {
    CLUMP_FOR_EACH(Body, self) {
        Body candidate = Body_candidate(self);
        if (!Body_is_null(candidate)) {
            atomic_max(&Body_suitor(candidate), Body_id(self));
        }
    }
}

/* Who is wanted takes nobody in, so nobody reads a body that another one changes. */
__kernel void merge(CLUMP_HEAP_FIXED) {
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

/* Show: `states` is all zero before; a body that is gone keeps mass 0. */
__kernel void write_bodies(CLUMP_HEAP_FIXED, __global float *states) {
    CLUMP_FOR_EACH(Body, self) {
        __global float *state = states + 5u * (Body_id(self) - 1u);
        state[0] = Body_x(self);
        state[1] = Body_y(self);
        state[2] = Body_vx(self);
        state[3] = Body_vy(self);
        state[4] = Body_mass(self);
    }
}
