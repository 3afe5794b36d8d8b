/* The baselines: the kernels of heap.cl by hand, on arrays that nothing is taken out of.
 *
 * LAYOUT_AOS is 1 for an array of structs and 0 for an array per field. A body's index is its id
 * less one; 0 stands for no body. As in Springer's thesis (5.6) a merged body stays in its place
 * with its active flag cleared, and every loop over bodies asks for the flag. Compiled after
 * rules.clh; MERGING as in heap.cl, GROUP and PARTS as in device.h.
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

/* The loops of all bodies with all. Where PARTS is 1, on CPUs, a work-item reads them one by one.
 * Otherwise a work-group has GROUP work-items for GROUP / PARTS bodies: PARTS of them stand side by
 * side for each body and go through every PARTS-th of the bodies that are staged in local memory,
 * GROUP at a time. So few bodies occupy many work-items. */
#define GROUP_BODIES (GROUP / PARTS)
#define OWN_BODY ((uint)get_group_id(0) * GROUP_BODIES + (uint)get_local_id(0) % GROUP_BODIES)
#define OWN_PART ((uint)get_local_id(0) / GROUP_BODIES)

/* What a body sees of another one; mass 0: there is none. */
typedef struct __attribute__((aligned(16))) body_copy {
    float x, y, mass;
} body_copy;

#define SEE(seen, i)                                                                               \
    body_copy seen = {0.0f, 0.0f, 0.0f};                                                           \
    if ((i) < count && IS_ACTIVE(i)) {                                                             \
        seen.x = AT(i, x);                                                                         \
        seen.y = AT(i, y);                                                                         \
        seen.mass = AT(i, mass);                                                                   \
    }

#if PARTS == 1
#define LOCAL(type, name)
#define TILE count
#define STAGE(first)
#define SEE_STAGED(seen, first, k) SEE(seen, k)
#else
#define LOCAL(type, name) __local type name[GROUP];
#define TILE GROUP
/* The bodies from `first` on, into `tile`. The first barrier lets all have read the tile before. */
#define STAGE(first)                                                                               \
    {                                                                                              \
        SEE(own, (first) + (uint)get_local_id(0))                                                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        tile[get_local_id(0)] = own;                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }
#define SEE_STAGED(seen, first, k) body_copy seen = tile[k];
#endif

/* Pulls, in quanta. */
typedef struct pulls {
    long x, y;
} pulls;

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void compute_force(BODIES,
                                                                               float softening2,
                                                                               float scale) {
    LOCAL(body_copy, tile)
    LOCAL(pulls, parts)
    uint i = OWN_BODY, part = OWN_PART;
    SEE(me, i)
    pulls sum = {0, 0};
    for (uint first = 0u; first < count; first += TILE) {
        STAGE(first)
        for (uint k = part; k < TILE; k += PARTS) {
            SEE_STAGED(it, first, k)
            if (!MERGING || it.mass > 0.0f) { /* a few behind the last body pull with 0 */
                float dx = it.x - me.x, dy = it.y - me.y;
                float f = pull(dx, dy, it.mass, softening2, scale);
                sum.x += quantise(f * dx);
                sum.y += quantise(f * dy);
            }
        }
    }
#if PARTS > 1
    parts[get_local_id(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint other = GROUP_BODIES; part == 0u && other < GROUP; other += GROUP_BODIES) {
        sum.x += parts[get_local_id(0) + other].x;
        sum.y += parts[get_local_id(0) + other].y;
    }
#endif
    if (part == 0u && me.mass > 0.0f) {
        AT(i, force_x) = convert_float_rte(sum.x);
        AT(i, force_y) = convert_float_rte(sum.y);
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

/* A body that may be taken in; index + 1, or 0: none of this rank. */
typedef struct neighbor {
    float rank;
    uint candidate;
} neighbor;

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void find_candidate(BODIES,
                                                                                float reach2) {
    LOCAL(body_copy, tile)
    LOCAL(neighbor, parts)
    uint i = OWN_BODY, part = OWN_PART;
    SEE(me, i)
    neighbor best = {reach2, 0u};
    for (uint first = 0u; first < count; first += TILE) {
        STAGE(first)
        for (uint k = part; k < TILE; k += PARTS) {
            SEE_STAGED(it, first, k)
            float d = distance2(it.x - me.x, it.y - me.y);
            if (it.mass > 0.0f && d < reach2 && rank_of(d) < best.rank &&
                may_take(me.mass, i, it.mass, first + k)) {
                best.rank = rank_of(d); /* of equal ranks the first stays: it has the lowest id */
                best.candidate = first + k + 1u;
            }
        }
    }
#if PARTS > 1
    parts[get_local_id(0)] = best;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint other = GROUP_BODIES; part == 0u && other < GROUP; other += GROUP_BODIES) {
        neighbor it = parts[get_local_id(0) + other];
        if (it.candidate != 0u &&
            (it.rank < best.rank || (it.rank == best.rank && it.candidate < best.candidate))) {
            best = it;
        }
    }
#endif
    if (part == 0u && me.mass > 0.0f) {
        AT(i, candidate) = best.candidate;
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
