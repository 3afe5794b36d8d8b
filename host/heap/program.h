/* Programs of users and their kernels, as other parts see them.
 *
 * Read first: access.h.
 */
#ifndef CLUMPI_PROGRAM_H
#define CLUMPI_PROGRAM_H

#include "clump/kernels.h"
#include "clump/program.h"
#include "heap/access.h"

/* What a program's text takes from the heap that it is made for, beside the schema: another heap
 * can run the program only if it has all of this alike. A member more needs a line in run.c,
 * which compares them, or the library does not build. */
typedef struct clumpi_made_for {
    uint32_t granule_bytes, block_granules;
    uint32_t segment_blocks, at_segments; /* 0: one buffer has all blocks */
    uint32_t has_raw;
    uint32_t checks;
} clumpi_made_for;

/* ---- uses.c ---- */

/* What a name that the schema makes stands for. */
typedef enum clumpi_member {
    CLUMPI_MEMBER_NONE,
    CLUMPI_MEMBER_FIELD,
    CLUMPI_MEMBER_LENGTH, /* of an array of run-time length; also its capacity */
    CLUMPI_MEMBER_APPEND,
    CLUMPI_MEMBER_CAST,
    CLUMPI_MEMBER_TEST,   /* class or liveness of an object, which no fused kernel changes */
    CLUMPI_MEMBER_MAKE,   /* makes an object; this and what follows changes the heap */
    CLUMPI_MEMBER_FREE,   /* frees one */
    CLUMPI_MEMBER_BECOME, /* changes the class of one: makes one and frees one */
    CLUMPI_MEMBER_CHANGE  /* makes or frees the memory of an array */
} clumpi_member;

/* `name` is a zero-terminated word, of the class *c; *f is the field, of the kinds that have
 * one. */
clumpi_member clumpi_member_find(const clump_schema *schema, const char *name,
                                 const clump_class_info **c, clump_field_info *f);

/* Some classes, by their ids. */
typedef struct clumpi_classes {
    uint32_t bits[8];
} clumpi_classes;
void clumpi_classes_add(clumpi_classes *set, const clumpi_classes *more);
int clumpi_classes_meet(const clumpi_classes *a, const clumpi_classes *b);
extern const clumpi_classes clumpi_classes_all;

/* What a kernel may do, as far as its text tells; more than it does where that is not sure. */
typedef struct clumpi_uses {
    int asks;               /* for slots */
    int frees;              /* objects or memory */
    int becomes;            /* it changes the class of objects */
    int is_ordered;         /* it needs rows in the order of the list, or their numbers */
    clumpi_classes loops;   /* it goes over their objects */
    clumpi_classes changes; /* it makes or frees some */
} clumpi_uses;
clump_status clumpi_uses_of(const clump_program *program, const char *kernel, clumpi_uses *uses);

/* Where the text has signs or words that are not what they look like; NULL: nowhere. */
const char *clumpi_odd_text(const char *text);

/* ---- reproducible.c ---- */

/* Refuses text and build options that give other bits on other devices. options may be NULL. */
clump_status clumpi_reproducible_read(clump_context *c, const char *name, const char *source,
                                      const char *options);
/* Refuses a device that cannot give the bits of others, and appends what its compiler must be
 * told. */
clump_status clumpi_reproducible_options(clump_context *c, clumpi_text *options);

/* ---- program.c ---- */

#define CLUMPI_FITS 16u

struct clump_program {
    clump_context *context;
    uint32_t users;       /* the caller, until it destroys it; kernels */
    clump_schema *schema; /* what the source was generated from */
    clumpi_made_for made_for;
    char *name;         /* of its source */
    cl_program program; /* NULL if the build failed */
    char *source, *options;
    size_t user_at;     /* where the user's source begins in it, */
    uint32_t user_line; /* on this line, counted from 1 */
    int erases_in_maps; /* its text has CLUMP_MAP_ERASE */
    clumpi_user_texts texts;
    clump_kernel *kept; /* those of clump_program_get_kernel(), by `next` */
    /* numbers of heaps that it can run on, each at its place modulo how many there is room for */
    uint64_t fits[CLUMPI_FITS];
    clump_program_info info; /* what the caller sees of it */
};

/* Of a kernel that another part made of several: how it gets its parameters, and its end. First
 * in what that part keeps with it. */
typedef struct clumpi_kernel_hooks {
    clump_status (*prepare)(clump_heap *heap, clump_kernel *k, const char *call);
    void (*release)(clump_kernel *k);
} clumpi_kernel_hooks;

/* A scalar type of OpenCL C: kind 'i' signed, 'u' unsigned, 'f' floating, 'h' half. */
typedef struct clumpi_scalar {
    const char *name;
    unsigned bytes;
    char kind;
} clumpi_scalar;

/* A parameter as it was set. */
typedef struct clumpi_kept_arg {
    size_t bytes; /* 0: never set */
    void *value;  /* NULL: local memory. `small`, or memory of its own if it is larger */
    /* of the parameter, once clump_kernel_with() asked and the device told it: NULL if it is no
     * number */
    const clumpi_scalar *number;
    int has_type, is_pointer;
    uint64_t small
        /* buffers, numbers and short vectors: setting these needs no memory, and cannot fail for
         * lack of it */
        [2];
} clumpi_kept_arg;

struct clump_kernel {
    clump_program *program;
    /* the caller, until it destroys it, or the program that keeps it; compactors; collectors */
    uint32_t users;
    int is_kept; /* of clump_program_get_kernel() */
    clump_kernel *next;
    cl_kernel kernel;
    char *name;
    size_t group_limit;   /* most work-items in a group */
    size_t required[3];   /* its reqd_work_group_size, or 0 */
    uint64_t local_bytes; /* of local memory, without those of its parameters */
    int fixed;            /* neither makes nor frees objects */
    int numbered;         /* has the parameter CLUMP_NUMBERS */
    /* number of the heap that it was last given, with all that it needs of it; 0: not known */
    uint64_t given;
    clumpi_uses uses;
    /* if it asked for slots: the heap that it did last, only to be compared; after which of the
     * heap's lists it did first on as many work-items as it ever did, and how many these were;
     * after which list it did last */
    const clump_heap *asked_of;
    uint64_t asked_list, asked_last;
    size_t asked_items;
    /* after which change of the heap's objects it last did without a list; how often in a row in
     * vain; for how many launches it will not (lists.c) */
    uint64_t live_change;
    uint32_t live_vain, live_pause;
    uint32_t reduces;   /* bytes of the type of its CLUMP_REDUCE; 0: not known yet */
    uint32_t arg_count; /* after these */
    clumpi_kept_arg *args;
    clumpi_kernel_hooks *hooks; /* NULL: it was not made of others */
};

/* Names of accessors for what is read, in programs that look for fields that were not written:
 * this, then the name. */
#define CLUMPI_READ_PREFIX "clumpi_read_"

clumpi_made_for clumpi_made_for_heap(const clump_heap *heap);

/* The program `from` with another text, which is taken: its own with a kernel more. */
clump_status clumpi_program_extend(const clump_program *from, clumpi_text *source,
                                   clump_program **program);

/* A kernel of a program that is built. */
clump_status clumpi_kernel_make(clump_program *program, const char *name, clump_kernel **kernel);
/* That of a type or vector as OpenCL names it, "uint4", with its width; NULL: a pointer, or another
 * type. */
const clumpi_scalar *clumpi_scalar_find(const char *type, unsigned *width);
/* Type and name of a parameter, counted as callers do; empty where the device does not tell. */
clumpi_parameter clumpi_kernel_parameter(const clump_kernel *k, uint32_t index);
/* One user less; NULL is allowed. */
void clumpi_kernel_release(clump_kernel *k);

/* ---- local.c ---- */

/* CLUMP_ERR_BUILD if a kernel of the program declares more local memory than there is. */
clump_status clumpi_local_check(clump_program *p);
/* What a kernel has, by its declarations and the parameters that are set. */
clump_status clumpi_local_of_kernel(clump_context *c, cl_kernel kernel, const char *name,
                                    uint64_t *bytes);
/* CLUMP_ERR_USAGE if there is not so much for this parameter beside the others. */
clump_status clumpi_local_fits(clump_kernel *k, uint32_t index, size_t bytes);

/* Was each parameter set? */
clump_status clumpi_args_check(const clump_kernel *k, const char *call);

#endif
