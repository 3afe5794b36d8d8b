__kernel void init(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) {
        Body_id(self) = i;
        Body_x(self) = 0;
    }
}
__kernel void move(CLUMP_HEAP_NO_ALLOC) {
    CLUMP_FOR_EACH(Body, self) Body_x(self) += (float)Body_id(self);
}
__kernel void numbered(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *out) {
    CLUMP_FOR_EACH_NUMBERED(Body, self, i) out[i] = Body_id(self);
}
/* Each body is made anew. Its sum and its product, which is too small for a normal number, go to
 * `bits`. */
__kernel void renew(CLUMP_HEAP, __global uint *bits) {
    CLUMP_FOR_EACH(Body, self) {
        uint id = Body_id(self);
        float x = Body_x(self), small = x * 1e-42f, half_of = x * 0.7f;
        Body next = Body_new();
        if (Body_is_null(next)) return;
        Body_id(next) = id;
        Body_x(next) = x;
        bits[3 * id] = as_uint(x * 0.3f + 0.1f);
        bits[3 * id + 1] = as_uint(half_of - 0.1f) ^ as_uint(x / 7.7f);
        bits[3 * id + 2] = as_uint(small);
        Body_free(self);
    }
}
