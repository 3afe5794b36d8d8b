__kernel void init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_id(self) = i; Body_x(self) = 0; }
}
__kernel void move(CLUMP_HEAP_FIXED) {
    CLUMP_FOR_EACH(Body, self) Body_x(self) += (float)Body_id(self);
}
__kernel void numbered(CLUMP_HEAP_FIXED, CLUMP_NUMBERS, __global uint *out) {
    CLUMP_FOR_EACH_NUMBERED(Body, self, i) out[i] = Body_id(self);
}
