/* The reference in double precision: sequential.c, compiled with another type.
 *
 * Read first: sequential.c.
 */
#define PRECISE 1
#include "sequential.c" /* one text for both: what is to be equal is not written twice */
