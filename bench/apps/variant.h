/* The variants in which an application runs. Read first: nothing. Read next: app.h. */
#ifndef BENCH_VARIANT_H
#define BENCH_VARIANT_H

typedef enum bench_variant {
    BENCH_CLUMP,     /* objects on a heap */
    BENCH_SOA,       /* plain OpenCL: an array for each field */
    BENCH_AOS,       /* plain OpenCL: an array of structs */
    BENCH_SEQUENTIAL /* plain C: the reference */
} bench_variant;

#endif
