/* The mechanics of cells that grow and push each other, as both versions compute them.
 *
 * A cell is a capsule in the plane: a segment `len` long with a radius of RADIUS. It has four degrees of freedom, and every
 * float4 of a step, of an impulse and of a row holds them in this order: along x, along y, turn, growth.
 *
 *   pose   place.x, place.y, direction.x, direction.y
 *
 * Two cells that touch are one contact, of one point or, where they lie side by side, two. A point gives a row of the matrix B:
 * row_a . x_a - row_b . x_b is by how much the impulses x bring the two surfaces nearer. The impulses solve
 * (B^T B + W) x = B^T distance, where W is what moving costs a cell.
 *
 * Sums whose order is up to chance are double, and are rounded to float once: so both versions get the same bits, where
 * built-in functions give the same bits in groups of any size (docs/portability.md).
 * After CellModeller (T. J. Rudge and others, ACS Synthetic Biology 1, 2012), without planes and spheres.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF /* the host computes some of it, too */

#define RADIUS 0.5f
#define RATE 0.025f   /* growth in a step, of the length */
#define MARGIN 0.01f  /* nearer surfaces are in contact */
#define PARALLEL 0.1f /* sine of the angle below which cells lie side by side */
#define SQUARE 6.0f   /* of the grid; at least as long as the longest cell */
#define TURN_MOST 0.0873f
#define DRAG 1.0f
#define STIFFNESS 10.0f /* against being kept from growing */

typedef struct capsule {
    float4 pose;
    float len;
} capsule;

typedef struct touch {
    float4 row_a[2], row_b[2]; /* one point: the second is 0 */
    float distance[2];
    float nearest;
} touch;

static uint mix_bits(uint x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* From 0 to 1, by the name of a cell: no generator's state is shared. */
static float chance(uint name) {
    return (float)(mix_bits(name) >> 8) * 5.9604645e-8f;
}
static float length_to_divide(uint name) {
    return 3.5f + 0.5f * chance(name);
}

/* A daughter's pose and length; `name` is hers, `side` 1 or -1. */
static float4 daughter_pose(float4 mother, float len, uint name, float side) {
    float off = side * (0.5f * len + RADIUS), turn = 0.001f * (2.0f * chance(~name) - 1.0f);
    float2 at = mother.xy + off * mother.zw;
    return (float4)(at, mother.z - turn * mother.w, mother.w + turn * mother.z);
}
static float daughter_length(float len) {
    return 0.5f * len - RADIUS;
}

static capsule moved(float4 pose, float len, float4 step) {
    float c = cos(step.z), s = sin(step.z);
    float2 dir = normalize((float2)(c * pose.z - s * pose.w, s * pose.z + c * pose.w));
    return (capsule){(float4)(pose.xy + step.xy, dir), len + step.w};
}

/* The point of a cell's segment that is nearest to p, from its middle. */
static float nearest_to(capsule c, float2 p) {
    return clamp(dot(p - c.pose.xy, c.pose.zw), -0.5f * c.len, 0.5f * c.len);
}

static float4 row_of(capsule c, float2 point, float2 normal) {
    float2 arm = point - c.pose.xy;
    return (float4)(normal, arm.x * normal.y - arm.y * normal.x,
                    dot(c.pose.zw, arm) * dot(c.pose.zw, normal) / (c.len + 2.0f * RADIUS));
}

static void add_point(touch *t, uint i, capsule a, capsule b, float along_a, float along_b,
                      float weight) {
    float2 from = a.pose.xy + along_a * a.pose.zw, to = b.pose.xy + along_b * b.pose.zw;
    float gap = distance(from, to);
    float2 normal = gap > 0.0f ? (to - from) / gap : (float2)(-a.pose.w, a.pose.z);
    float2 point = from + RADIUS * normal;
    t->distance[i] = weight * (gap - 2.0f * RADIUS);
    t->row_a[i] = weight * row_of(a, point, normal);
    t->row_b[i] = weight * row_of(b, point, normal);
    t->nearest = fmin(t->nearest, gap - 2.0f * RADIUS);
}

static touch touch_of(capsule a, capsule b) {
    touch t = {{0.0f, 0.0f}, {0.0f, 0.0f}, {0.0f, 0.0f}, INFINITY};
    float2 da = a.pose.zw, db = b.pose.zw;
    float middle = dot(b.pose.xy - a.pose.xy, da), reach = 0.5f * b.len * fabs(dot(da, db));
    float low = fmax(middle - reach, -0.5f * a.len), high = fmin(middle + reach, 0.5f * a.len);
    if (fabs(da.x * db.y - da.y * db.x) < PARALLEL && high > low) {
        add_point(&t, 0, a, b, low, nearest_to(b, a.pose.xy + low * da), M_SQRT1_2_F);
        add_point(&t, 1, a, b, high, nearest_to(b, a.pose.xy + high * da), M_SQRT1_2_F);
        return t;
    }
    float best = INFINITY, along_a = 0.0f, along_b = 0.0f;
    for (int end = 0; end < 4;
         end++) { /* one of the nearest points is an end, unless the segments cross */
        float side = end & 1 ? 0.5f : -0.5f, on_a, on_b;
        if (end & 2) {
            on_a = side * a.len;
            on_b = nearest_to(b, a.pose.xy + on_a * da);
        } else {
            on_b = side * b.len;
            on_a = nearest_to(a, b.pose.xy + on_b * db);
        }
        float gap = distance(a.pose.xy + on_a * da, b.pose.xy + on_b * db);
        if (gap >= best) continue;
        best = gap;
        along_a = on_a;
        along_b = on_b;
    }
    add_point(&t, 0, a, b, along_a, along_b, 1.0f);
    return t;
}

/* W x */
static float4 cost(float len, float4 x) {
    float l = len + 2.0f * RADIUS;
    return x * (float4)(DRAG * l, DRAG * l, DRAG * l * l * l / 12.0f, STIFFNESS) / STIFFNESS;
}

static float4 with_impulse(float4 step, float4 x) {
    return (float4)(step.xy + x.xy, step.z + clamp(x.z, -TURN_MOST, TURN_MOST),
                    fmax(0.0f, step.w + x.w));
}

static double product(float4 a, float4 b) {
    double4 c = convert_double4(a) * convert_double4(b);
    return c.x + c.y + c.z + c.w;
}
