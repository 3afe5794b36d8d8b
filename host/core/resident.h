/* The library's code stays in the process. Read first: nothing. */
#ifndef CLUMPI_RESIDENT_H
#define CLUMPI_RESIDENT_H

/* Call it before a callback is registered with OpenCL that may come when the library's user has
 * unloaded the library. Afterwards the object that this code is in, the shared library or one that
 * it is linked into, stays until the process ends. A program itself is never unloaded, and nothing
 * happens then. */
void clumpi_code_stays(void);

#endif
