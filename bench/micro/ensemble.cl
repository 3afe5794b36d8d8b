/* Kernels of the benchmark ensemble. The classes World and Animal come from ensemble.c. Of each
 * loop there is one for many worlds, with the parameters and sums of a World, and one for a single
 * world, whose parameters are arguments and whose sum is a reduction.
 */
__kernel void make_animals(CLUMP_HEAP, __global const uint *worlds, uint each) {
    CLUMP_FOR_EACH_NEW(Animal, self, i) {
        World w = {worlds[i / each]};
        Animal_world(self) = w;
        Animal_id(self) = i % each;
        Animal_energy(self) = 10u;
        Animal_x(self) = i % each;
        Animal_v(self) = 1.0f;
    }
}

/* Moves an animal that has food, and returns how many it leaves: it may die, or have a child. */
uint live_here(CLUMP_HEAP, Animal self, uint4 drawn, uint deaths, uint births, uint food) {
    if (drawn.x % 1000u < deaths) {
        Animal_free(self);
        return 0u;
    }
    Animal_energy(self) += food;
    Animal_x(self) += Animal_v(self);
    if (drawn.y % 1000u >= births) return 1u;
    Animal child = Animal_new();
    if (Animal_is_null(child)) return 1u;
    Animal_world(child) = Animal_world(self);
    Animal_id(child) = as_ulong(drawn.zw);
    Animal_energy(child) = 10u;
    Animal_x(child) = Animal_x(self);
    Animal_v(child) = 1.0f;
    return 2u;
}

__kernel void live(CLUMP_HEAP) {
    CLUMP_FOR_EACH(Animal, self) {
        World w = Animal_world(self);
        uint4 drawn = clump_random(World_seed(w), Animal_id(self), World_step(w));
        uint left =
            live_here(clump_heap, self, drawn, World_deaths(w), World_births(w), World_food(w));
        if (left) CLUMP_ATOMIC_ADD_TOGETHER(World_counted(w), left);
    }
}
__kernel void tick(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(World, w) {
        World_alive(w) = World_counted(w);
        World_counted(w) = 0u;
        World_step(w)++;
    }
}
__kernel void live_one(CLUMP_HEAP, uint seed, uint step, uint deaths, uint births, uint food) {
    uint alive = 0u;
    CLUMP_FOR_EACH(Animal, self) {
        uint4 drawn = clump_random(seed, Animal_id(self), step);
        alive += live_here(clump_heap, self, drawn, deaths, births, food);
    }
    CLUMP_REDUCE(uint, alive, CLUMP_SUM);
}

__kernel void move_all(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Animal, self) {
        Animal_energy(self) += World_food(Animal_world(self));
        Animal_x(self) += Animal_v(self);
    }
}
__kernel void move_one(CLUMP_HEAP_NO_ALLOC, uint food) {
    CLUMP_FOR_EACH(Animal, self) {
        Animal_energy(self) += food;
        Animal_x(self) += Animal_v(self);
    }
}

__kernel void sum_all(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Animal, self)
    CLUMP_ATOMIC_ADD_TOGETHER(World_energy(Animal_world(self)), Animal_energy(self));
}
__kernel void sum_one(CLUMP_HEAP_NO_ALLOC) {
    uint sum = 0u;
    CLUMP_FOR_EACH(Animal, self) sum += Animal_energy(self);
    CLUMP_REDUCE(uint, sum, CLUMP_SUM);
}

/* Every animal is one of those that its world has counted; then none is left. */
__kernel void count_off(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Animal, self) CLUMP_ATOMIC_SUB(World_alive(Animal_world(self)), 1u);
}
__kernel void count_wrong(CLUMP_HEAP_NO_ALLOC) {
    uint wrong = 0u;
    CLUMP_FOR_EACH(World, w) wrong += World_alive(w) != 0u;
    CLUMP_REDUCE(uint, wrong, CLUMP_SUM);
}
