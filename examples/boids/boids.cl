/* Boids with births and deaths, and a grid that finds neighbours. All numbers are integers, so each
 * run gives the same bits: places and speeds in 256ths of the radius in which boids see each other.
 * boids.c and boids.py run these kernels and compute the same without a heap. */

static uint random_of(uint a, uint b) {
    uint x = a * 2654435761u ^ b * 2246822519u;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

float3 place_of(CLUMP_HEAP_NO_ALLOC, Boid boid) {
    return (float3)(Boid_x(boid), Boid_y(boid), 0.0f);
}

CLUMP_GRID_DEFINE(Cells, Boid, place_of);

__kernel void make_grid(CLUMP_HEAP, __global Cells *grid) {
    CLUMP_FOR_EACH_NEW(Cells, self, i) {
        grid[0] = self;
        if (CLUMP_GRID_MAKE(Cells, self, (float3)(0.0f), 256.0f, (uint3)(SIDE, SIDE, 1)) !=
            CLUMP_DONE)
            return; /* no room: the heap reports it */
    }
}

__kernel void make_boids(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Boid, self, i) {
        uint drawn = random_of(i, 0);
        Boid_id(self) = i;
        Boid_x(self) = drawn % (SIDE * 256);
        Boid_y(self) = drawn / 65536 % (SIDE * 256);
        Boid_vx(self) = (int)(drawn >> 8 & 63) - 32;
        Boid_vy(self) = (int)(drawn >> 24 & 63) - 32;
    }
}

/* ---- The grid: sort the boids by cell, make room, note the cells ---- */

__kernel void cell_keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys, __global const Cells *grid) {
    CLUMP_FOR_EACH_KEYED(Boid, self, i) keys[i] = CLUMP_GRID_KEY(Cells, grid[0], self);
}

__kernel void make_room(CLUMP_HEAP, __global const Cells *grid, uint boids) {
    if (get_global_id(0) == 0) Cells_sorted_resize(grid[0], boids);
}

__kernel void note_cells(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global const Cells *grid) {
    CLUMP_GRID_NOTE(Cells, grid[0]);
}

/* ---- A step: look at the neighbours, then fly ---- */

/* Boids match the speed of their neighbours, come together and keep a distance. */
__kernel void look(CLUMP_HEAP_NO_ALLOC, __global const Cells *grid) {
    CLUMP_FOR_EACH(Boid, self) {
        int near = 0, ax = 0, ay = 0;
        CLUMP_FOR_NEAR(Boid, other, grid[0], place_of(clump_heap, self), 256.0f) {
            int dx = Boid_x(other) - Boid_x(self), dy = Boid_y(other) - Boid_y(self);
            int square = dx * dx + dy * dy;
            if (other.id == self.id || square > 256 * 256) continue;
            int towards = square < 96 * 96 ? -16 : 1;
            near++;
            ax += 4 * (Boid_vx(other) - Boid_vx(self)) + towards * dx;
            ay += 4 * (Boid_vy(other) - Boid_vy(self)) + towards * dy;
        }
        Boid_near(self) = near;
        Boid_ax(self) = ax >> 6;
        Boid_ay(self) = ay >> 6;
    }
}

/* A boid with a few neighbours can have a child, and one in a crowd can die. */
__kernel void fly(CLUMP_HEAP, uint step) {
    CLUMP_FOR_EACH(Boid, self) {
        uint drawn = random_of(Boid_id(self), step), near = Boid_near(self);
        if (drawn % 256 < near) {
            Boid_free(self);
            continue;
        }
        int vx = clamp(Boid_vx(self) + Boid_ax(self), -48, 48);
        int vy = clamp(Boid_vy(self) + Boid_ay(self), -48, 48);
        int x = Boid_x(self) + vx, y = Boid_y(self) + vy;
        if (x < 0 || x >= SIDE * 256) x -= 2 * vx, vx = -vx; /* the wall */
        if (y < 0 || y >= SIDE * 256) y -= 2 * vy, vy = -vy;
        Boid_x(self) = x;
        Boid_y(self) = y;
        Boid_vx(self) = vx;
        Boid_vy(self) = vy;
        if (near < 2 || near > 8 || drawn / 256 % 32) continue;
        Boid child = Boid_new();
        if (Boid_is_null(child)) continue; /* no room: the heap reports it */
        Boid_id(child) = random_of(drawn, Boid_id(self));
        Boid_x(child) = x;
        Boid_y(child) = y;
        Boid_vx(child) = -vx;
        Boid_vy(child) = -vy;
    }
}
