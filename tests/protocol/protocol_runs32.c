/* protocol_runs with bitmap words of 32 bits: a run that goes over both words of a row takes them
 * one after the other. */
#define HOSTED_WORD_BITS 32
#include "tests/protocol/protocol_runs.c"
