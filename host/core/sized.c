/* Taking and giving structs of other sizes. The library of mpi.h has this file, too, so that it
 * uses nothing else of the library. Read first: sized.h.
 */
#include "core/sized.h"

#include <stdio.h>
#include <string.h>

/* Sizes above are what was never set. */
#define MOST 4096

static clump_status refuse(clump_error *error, const char *type, const char *why) {
    if (!error) return CLUMP_ERR_USAGE;
    *error = (clump_error){.status = CLUMP_ERR_USAGE};
    snprintf(error->message, sizeof error->message, "%s%s", type, why);
    return CLUMP_ERR_USAGE;
}

static size_t size_of(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

static clump_status check_size(const void *given, size_t least, const char *type,
                               clump_error *error) {
    const size_t size = size_of(given);
    char why[160];
    if (size >= least && size <= MOST) return CLUMP_OK;
    snprintf(why, sizeof why, ".size is %zu, which is not valid. Set .size = sizeof(%s) in it",
             size, type);
    return refuse(error, type, why);
}

clump_status clumpi_sized_take(void *own, size_t bytes, size_t least, const void *given,
                               const char *type, clump_error *error) {
    if (given && size_of(given) == bytes) { /* the usual case, on the way of an allocation */
        memcpy(own, given, bytes);
        return CLUMP_OK;
    }
    memset(own, 0, bytes);
    clump_status status = given ? check_size(given, least, type, error) : CLUMP_OK;
    if (status) return status;
    const size_t size = given ? size_of(given) : 0;
    const char *data = given;
    for (size_t i = bytes; i < size; i++)
        if (data[i])
            return refuse(error, type,
                          " has members that this library does not have: the program was built for "
                          "a newer version");
    if (given) memcpy(own, given, size < bytes ? size : bytes);
    memcpy(own, &bytes, sizeof bytes);
    return CLUMP_OK;
}

clump_status clumpi_sized_place(void *place, size_t least, const char *type, clump_error *error) {
    if (!place) return CLUMP_OK;
    clump_status status = check_size(place, least, type, error);
    if (!status) memset((char *)place + sizeof(size_t), 0, size_of(place) - sizeof(size_t));
    return status;
}

void clumpi_sized_give(void *place, const void *own, size_t bytes) {
    if (!place) return;
    const size_t size = size_of(place), at = sizeof size;
    memcpy((char *)place + at, (const char *)own + at, (size < bytes ? size : bytes) - at);
}

void *clumpi_sized_element(void *first, size_t index) {
    const size_t size = size_of(first);
    char *element = (char *)first + index * size;
    memset(element, 0, size);
    return memcpy(element, &size, sizeof size);
}
