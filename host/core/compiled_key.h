/* The file of programs compiled ahead of time, which clump-compile writes and compiled.c reads.
 *
 * A file is a row of entries, so that files can be put one after the other. An entry is a header,
 * then the key, the build log, the first parameters of the kernels (as clumpi_parameters_find()
 * reads them) and the SPIR-V.
 *
 * The key is a text of lines, a word and a value each, of all that the compiled code depends on:
 *
 *     library SHA-256     the library's device code
 *     schema SHA-256      the code generated from the schema       } only of users' programs
 *     kernels SHA-256     the user's source                        }
 *     heap TEXT           the constants of the heap's geometry     }
 *     options TEXT        the build options: the language, the device's capabilities, the user's
 *                         own
 *
 * Invariant: the key is computed from the text that the library would hand to the compiler, so that
 * nothing can be forgotten in it. The name of the user's source is left out.
 *
 * Read first: build.c.
 */
#ifndef CLUMPI_COMPILED_KEY_H
#define CLUMPI_COMPILED_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "core/sha256.h"

#define CLUMPI_COMPILED_MAGIC "clumpil" /* with its zero: 8 bytes */

typedef struct clumpi_compiled_header {
    char magic[8];
    uint64_t key_bytes, log_bytes, parameter_bytes, il_bytes;
    uint8_t digest[CLUMPI_SHA256_BYTES]; /* of the whole entry, with zeros here */
} clumpi_compiled_header;

/* Room for a key with such options, and its terminating zero. */
size_t clumpi_compiled_key_room(const char *options);

/* Writes the key of a program's text and options. Returns its bytes, without the zero. */
size_t clumpi_compiled_key(const char *source, const char *options, char *key);

/* The value of the line that begins with `word`, and its bytes; NULL if there is none. */
const char *clumpi_compiled_value(const char *key, size_t key_bytes, const char *word,
                                  size_t *bytes);

#endif
