/* The long chain of diff_collect.c with 10^6 objects. */
#define CHAIN 1000000u
#define COLLECT_SLOW
#include "diff_collect.c"
