/* The baselines: the kernels of heap.cl by hand, on arrays that nothing is taken out of.
 *
 * LAYOUT_AOS is 1 for an array of structs and 0 for an array per field. A body's index is its id
 * less one; 0 stands for no body. As in Springer's thesis (5.6) a merged body stays in its place with its
 * active flag cleared, and every loop over bodies asks for the flag. Compiled behind
 * rules.clh; MERGING as in heap.cl.
 *
 * Read first: heap.cl.
 */

/* ---- The arrays ------------------------------------------------------------------------------ */

#if LAYOUT_AOS

typedef struct body {
    float x, y, vx, vy, mass, force_x, force_y;
#if MERGING
    uint candidate, suitor;
    uchar is_merged, active;
#endif
} body;

#define BODIES uint count, __global body *bodies
#define AT(i, field) bodies[i].field

#else

#if MERGING
#define BODIES                                                                                     \
    uint count, __global float *all_x, __global float *all_y, __global float *all_vx,              \
        __global float *all_vy, __global float *all_mass, __global float *all_force_x,             \
        __global float *all_force_y, __global uint *all_candidate, __global uint *all_suitor,      \
        __global uchar *all_is_merged, __global uchar *all_active
#else
#define BODIES                                                                                     \
    uint count, __global float *all_x, __global float *all_y, __global float *all_vx,              \
        __global float *all_vy, __global float *all_mass, __global float *all_force_x,             \
        __global float *all_force_y
#endif
#define AT(i, field) all_##field[i]

#endif

#if MERGING
#define IS_ACTIVE(i) AT(i, active)
#else
#define IS_ACTIVE(i) 1
#endif

/* A work-item per body; `continue` in the body skips it. */
#define FOR_ACTIVE(i)                                                                              \
    for (uint i = get_global_id(0), once = 1u; once && i < count; once = 0u)                       \
        if (IS_ACTIVE(i))

/* ---- Making the world ------------------------------------------------------------------------ */

__kernel void body_init(BODIES, __global const float *states) {
    uint i = get_global_id(0);
    if (i >= count) {
        return;
    }
    AT(i, x) = states[5u * i];
    AT(i, y) = states[5u * i + 1u];
    AT(i, vx) = states[5u * i + 2u];
    AT(i, vy) = states[5u * i + 3u];
    AT(i, mass) = states[5u * i + 4u];
#if MERGING
    AT(i, active) = 1;
#endif
}

/* ---- The phases of a step -------------------------------------------------------------------- */

__kernel void compute_force(BODIES, float softening2, float scale) {
    FOR_ACTIVE(i) {
        float x = AT(i, x), y = AT(i, y);
        long sum_x = 0, sum_y = 0;
        for (uint j = 0u; j < count; j++) {
            if (IS_ACTIVE(j)) {
                float dx = AT(j, x) - x, dy = AT(j, y) - y;
                float f = pull(dx, dy, AT(j, mass), softening2, scale);
                sum_x += quantise(f * dx);
                sum_y += quantise(f * dy);
            }
        }
        AT(i, force_x) = convert_float_rte(sum_x);
        AT(i, force_y) = convert_float_rte(sum_y);
    }
}

__kernel void update(BODIES, float kick, float dt) {
    FOR_ACTIVE(i) {
        float vx = fma(AT(i, force_x), kick, AT(i, vx));
        float vy = fma(AT(i, force_y), kick, AT(i, vy));
        float x = fma(vx, dt, AT(i, x)), y = fma(vy, dt, AT(i, y));
        AT(i, x) = x;
        AT(i, y) = y;
        AT(i, vx) = bounce(x, vx);
        AT(i, vy) = bounce(y, vy);
    }
}

#if MERGING

__kernel void find_candidate(BODIES, float reach2) {
    FOR_ACTIVE(i) {
        float x = AT(i, x), y = AT(i, y), mass = AT(i, mass);
        float best = reach2;
        uint candidate = 0u;
        for (uint j = 0u; j < count; j++) {
            if (IS_ACTIVE(j)) {
                float d = distance2(AT(j, x) - x, AT(j, y) - y);
                if (d < best && is_lighter(AT(j, mass), j, mass, i)) {
                    best = d; /* of equally near ones the first is kept: it has the lowest id */
                    candidate = j + 1u;
                }
            }
        }
        AT(i, candidate) = candidate;
        AT(i, suitor) = 0u;
        AT(i, is_merged) = 0;
    }
}

__kernel void request(BODIES) {
    FOR_ACTIVE(i) {
        if (AT(i, candidate)) {
            atomic_max(&AT(AT(i, candidate) - 1u, suitor), i + 1u);
        }
    }
}

__kernel void merge(BODIES) {
    FOR_ACTIVE(i) {
        uint j = AT(i, candidate) - 1u;
        if (AT(i, candidate) == 0u || AT(j, suitor) != i + 1u || AT(i, suitor) != 0u) {
            continue;
        }
        float m1 = AT(i, mass), m2 = AT(j, mass);
        float r = inverse(m1 + m2);
        AT(i, vx) = merged_velocity(AT(i, vx), m1, AT(j, vx), m2, r);
        AT(i, vy) = merged_velocity(AT(i, vy), m1, AT(j, vy), m2, r);
        AT(i, x) = (AT(i, x) + AT(j, x)) * 0.5f;
        AT(i, y) = (AT(i, y) + AT(j, y)) * 0.5f;
        AT(i, mass) = m1 + m2;
        AT(j, is_merged) = 1;
    }
}

__kernel void delete_merged(BODIES) {
    FOR_ACTIVE(i) {
        if (AT(i, is_merged)) {
            AT(i, active) = 0;
        }
    }
}

#endif

/* ---- Showing the world ----------------------------------------------------------------------- */

__kernel void write_bodies(BODIES, __global float *states) {
    FOR_ACTIVE(i) {
        states[5u * i] = AT(i, x);
        states[5u * i + 1u] = AT(i, y);
        states[5u * i + 2u] = AT(i, vx);
        states[5u * i + 3u] = AT(i, vy);
        states[5u * i + 4u] = AT(i, mass);
    }
}
