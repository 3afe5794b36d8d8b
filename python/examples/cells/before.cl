/* Kernels of before.py: cell i has element i of each array, and rows i * max_contacts and on of each table. Read first: physics.cl. */

__kernel void start(int n_cells, __global const float *len, __global float4 *step,
                    __global int *n_contacts) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    step[i] = (float4)(0, 0, 0, RATE * len[i]);
    n_contacts[i] = 0;
}

__kernel void predict(int n_cells, __global const float4 *pose, __global const float *len,
                      __global const float4 *step, __global float4 *goal,
                      __global float *goal_len) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    capsule c = moved(pose[i], len[i], step[i]);
    goal[i] = c.pose;
    goal_len[i] = c.len;
}

__kernel void find_squares(int n_cells, __global const float4 *pose, int2 low, int wide,
                           __global int *square) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    int2 at = convert_int2_rtn(pose[i].xy / SQUARE) - low;
    square[i] = at.y * wide + at.x;
}

/* A contact belongs to the cell with the smaller name. */
__kernel void find_contacts(int n_cells, int max_contacts, int2 size, __global const int *square,
                            __global const int *sorted, __global const int *starts,
                            __global const uint *name, __global const float4 *goal,
                            __global const float *goal_len, __global int *n_contacts,
                            __global int *to, __global float4 *rows_a, __global float4 *rows_b,
                            __global float *distances, __global int *overflow) {
    int i = get_global_id(0), base = i * max_contacts;
    if (i >= n_cells) return;
    int n = n_contacts[i];
    int2 at = {square[i] % size.x, square[i] / size.x};
    capsule own = {goal[i], goal_len[i]};
    for (int y = max(at.y - 1, 0); y <= min(at.y + 1, size.y - 1); y++)
        for (int x = max(at.x - 1, 0); x <= min(at.x + 1, size.x - 1); x++)
            for (int k = starts[y * size.x + x]; k < starts[y * size.x + x + 1]; k++) {
                int j = sorted[k], m = base;
                if (name[j] <= name[i]) continue;
                touch t = touch_of(own, (capsule){goal[j], goal_len[j]});
                while (m < base + n && to[m] != j) m++; /* found in an earlier round? */
                if (m == base + n) {
                    if (t.nearest >= MARGIN) continue;
                    if (n == max_contacts) {
                        *overflow = 1;
                        continue;
                    }
                    n++;
                }
                to[m] = j;
                for (int p = 0; p < 2; p++) {
                    rows_a[2 * m + p] = t.row_a[p];
                    rows_b[2 * m + p] = t.row_b[p];
                    distances[2 * m + p] = t.distance[p];
                }
            }
    n_contacts[i] = n;
}

/* The contacts of others that lead to a cell. */
__kernel void collect_contacts(int n_cells, int max_contacts, int2 size, __global const int *square,
                               __global const int *sorted, __global const int *starts,
                               __global const uint *name, __global const int *n_contacts,
                               __global const int *to, __global int *n_from, __global int *from,
                               __global int *overflow) {
    int i = get_global_id(0), n = 0;
    if (i >= n_cells) return;
    int2 at = {square[i] % size.x, square[i] / size.x};
    for (int y = max(at.y - 1, 0); y <= min(at.y + 1, size.y - 1); y++)
        for (int x = max(at.x - 1, 0); x <= min(at.x + 1, size.x - 1); x++)
            for (int k = starts[y * size.x + x]; k < starts[y * size.x + x + 1]; k++) {
                int j = sorted[k];
                if (name[j] >= name[i]) continue;
                for (int m = j * max_contacts; m < j * max_contacts + n_contacts[j]; m++) {
                    if (to[m] != i) continue;
                    if (n == max_contacts)
                        *overflow = 1;
                    else
                        from[i * max_contacts + n++] = m;
                }
            }
    n_from[i] = n;
}

/* y = B x */
__kernel void by_rows(int n_cells, int max_contacts, __global const int *n_contacts,
                      __global const int *to, __global const float4 *rows_a,
                      __global const float4 *rows_b, __global const float4 *x, __global float *y) {
    int i = get_global_id(0), k = get_global_id(1), m = i * max_contacts + k;
    if (i >= n_cells || k >= n_contacts[i]) return;
    for (int p = 2 * m; p < 2 * m + 2; p++)
        y[p] = (float)(product(rows_a[p], x[i]) - product(rows_b[p], x[to[m]]));
}

/* B^T y, and W x with `with_cost` */
__kernel void by_columns(int n_cells, int max_contacts, __global const int *n_contacts,
                         __global const int *n_from, __global const int *from,
                         __global const float4 *rows_a, __global const float4 *rows_b,
                         __global const float *y, __global const float *len,
                         __global const float4 *x, int with_cost, __global float4 *result) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    double4 sum = 0;
    for (int p = 2 * i * max_contacts; p < 2 * (i * max_contacts + n_contacts[i]); p++)
        sum += convert_double4(rows_a[p]) * y[p];
    for (int k = i * max_contacts; k < i * max_contacts + n_from[i]; k++)
        for (int p = 2 * from[k]; p < 2 * from[k] + 2; p++)
            sum -= convert_double4(rows_b[p]) * y[p];
    float4 own = with_cost ? cost(len[i], x[i]) : 0;
    result[i] = convert_float4(sum) + own;
}

__kernel void along(int n_cells, float alpha, __global float4 *x, __global float4 *res,
                    __global const float4 *p, __global const float4 *ap) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    x[i] += alpha * p[i];
    res[i] -= alpha * ap[i];
}

__kernel void next_direction(int n_cells, float beta, __global const float4 *res,
                             __global float4 *p) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    p[i] = res[i] + beta * p[i];
}

__kernel void add_impulse(int n_cells, __global const float4 *x, __global float4 *step) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    step[i] = with_impulse(step[i], x[i]);
}

__kernel void integrate(int n_cells, __global float4 *pose, __global float *len,
                        __global const float4 *step) {
    int i = get_global_id(0);
    if (i >= n_cells) return;
    capsule c = moved(pose[i], len[i], step[i]);
    pose[i] = c.pose;
    len[i] = c.len;
}
