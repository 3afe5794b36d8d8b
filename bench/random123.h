/* Where kernels that are built at run time find Random123. Read first: nothing. */
#ifndef BENCH_RANDOM123_H
#define BENCH_RANDOM123_H

#include <stdlib.h>

/* The folder for -I: of the build's machine, or what the environment says on others. NULL: none. */
static inline const char *bench_random123_folder(void) {
    const char *folder = getenv("RANDOM123_INCLUDE_DIR");
#ifdef CLUMP_RANDOM123_INCLUDE_DIR
    folder = folder ? folder : CLUMP_RANDOM123_INCLUDE_DIR;
#endif
    return folder;
}

#endif
