/* A fuzz target without libFuzzer: replays its corpus, and then some mutations of it.
 *
 *     fuzz_NAME [ROUNDS [SEED]]     every line of the corpus, then so many seeded mutations
 *                                   (FUZZ_ROUNDS, seed 1)
 *     fuzz_NAME FILE...             these inputs; corpus.py makes files of a corpus
 *
 * Each input lies in memory of exactly its size, so that a read beyond its end is seen. Coverage is
 * libFuzzer's business (scripts/fuzz.sh). Mutations are there because a corpus alone shows only
 * what was right when it was made.
 * Read first: fuzz.h.
 */
#include <ctype.h>
#include <fcntl.h>

#include "fuzz.h"

#define INPUTS_MAX 8192
#define INPUT_BYTES 4096 /* of mutations */

typedef struct input {
    uint8_t *data;
    size_t bytes;
} input;

static input inputs[INPUTS_MAX];
static size_t input_count;

static void run(const uint8_t *data, size_t bytes) {
    uint8_t *exact = malloc(bytes + !bytes);
    REQUIRE(exact);
    if (bytes) memcpy(exact, data, bytes);
    LLVMFuzzerTestOneInput(exact, bytes);
    free(exact);
}

/* Returns whether the file could be read. */
static int read_input(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || input_count == INPUTS_MAX) {
        perror(path);
        return 0;
    }
    input *i = &inputs[input_count++];
    i->data = malloc(1 << 20);
    REQUIRE(i->data);
    i->bytes = fread(i->data, 1, 1 << 20, file);
    i->data = realloc(i->data, i->bytes + 1);
    fclose(file);
    return 1;
}

/* A line of a corpus: "BYTES", or WORDS="BYTES"; corpus.py writes them. Returns whether it is
 * one. */
static int read_line(const char *line, input *i) {
    const char *c = line + strspn(line, "abcdefghijklmnopqrstuvwxyz-0123456789");
    if (c > line && *c++ != '=') return 0;
    if (*c++ != '"') return 0;
    i->data = malloc(strlen(c) + 1);
    REQUIRE(i->data);
    for (; *c != '"'; c++) {
        unsigned byte = (unsigned char)*c;
        if (byte < ' ' || byte > '~') return 0;
        if (byte == '\\') {
            byte = (unsigned char)*++c;
            if (byte == 'x' && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2])) {
                sscanf(c + 1, "%2x", &byte);
                c += 2;
            } else if (byte != '\\' && byte != '"')
                return 0;
        }
        i->data[i->bytes++] = (uint8_t)byte;
    }
    return strcmp(c, "\"\n") == 0;
}

/* Returns whether each line is an input. */
static int read_corpus(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 0;
    }
    char *line = NULL;
    size_t room = 0;
    int right = 1;
    while (right && getline(&line, &room, file) >= 0) {
        REQUIRE(input_count < INPUTS_MAX);
        right = read_line(line, &inputs[input_count++]);
    }
    if (!right)
        fprintf(stderr, "%s:%zu: this is not \"BYTES\" nor WORDS=\"BYTES\"\n", path, input_count);
    free(line);
    fclose(file);
    return right;
}

static uint32_t pick(uint64_t *state, size_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 11) % below);
}

/* Replace `removed` bytes at `at` by the `added` bytes of `with`. Returns the new length. */
static size_t replace(uint8_t *data, size_t bytes, size_t at, size_t removed, const uint8_t *with,
                      size_t added) {
    uint8_t copy[64];
    if (removed > bytes - at) removed = bytes - at;
    if (added > sizeof copy) added = sizeof copy;
    if (bytes - removed + added > INPUT_BYTES) return bytes;
    if (added) memcpy(copy, with, added); /* `with` may be a part of `data` */
    memmove(data + at + added, data + at + removed, bytes - at - removed);
    memcpy(data + at, copy, added);
    return bytes - removed + added;
}

static size_t mutate(uint8_t *data, size_t bytes, uint64_t *state) {
    size_t at = pick(state, bytes + 1);
    uint8_t byte = (uint8_t)pick(state, 256);
    const input *other = &inputs[pick(state, input_count)];
    size_t from = pick(state, other->bytes + 1), most = other->bytes - from;
    switch (pick(state, 6)) {
    case 0: return replace(data, bytes, at, pick(state, 2), &byte, 1);
    case 1: return replace(data, bytes, at, 1 + pick(state, 16), NULL, 0);
    case 2: /* a piece of another input */
        return replace(data, bytes, at, pick(state, 8), other->data + from,
                       pick(state, (most < 48 ? most : 48) + 1));
    case 3: { /* a piece of this one, elsewhere */
        size_t own = pick(state, bytes + 1), left = bytes - own;
        return replace(data, bytes, at, 0, data + own, pick(state, (left < 48 ? left : 48) + 1));
    }
    case 4:
        if (at < bytes) data[at] ^= (uint8_t)(1u << pick(state, 8));
        return bytes;
    default: return pick(state, 16) ? bytes : at; /* cut short, seldom */
    }
}

int main(int argc, char **argv) {
    char *end = NULL;
    unsigned long long rounds = argc > 1 ? (unsigned long long)strtod(argv[1], &end) : FUZZ_ROUNDS;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    if (end && *end) rounds = 0;
    for (int i = 1; end && *end && i < argc; i++)
        if (!read_input(argv[i])) return 1;
    if (!input_count && !read_corpus(FUZZ_CORPUS)) return 1;
    REQUIRE(input_count); /* a corpus without inputs tests nothing */
    /* What a target prints is of no interest, what it says of a failure is. */
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), out = dup(STDOUT_FILENO);
    REQUIRE(quiet >= 0 && out >= 0 && dup2(quiet, STDOUT_FILENO) >= 0);
    for (size_t i = 0; i < input_count; i++) run(inputs[i].data, inputs[i].bytes);
    uint64_t state = seed * 2 + 1;
    for (int i = 0; i < 16; i++) pick(&state, 2); /* small seeds begin with many zero bits */
    for (unsigned long long round = 0; round < rounds; round++) {
        static uint8_t data[INPUT_BYTES];
        const input *from = &inputs[pick(&state, input_count)];
        size_t bytes = from->bytes < INPUT_BYTES ? from->bytes : INPUT_BYTES;
        memcpy(data, from->data, bytes);
        for (uint32_t n = 1 + pick(&state, 6); n; n--) bytes = mutate(data, bytes, &state);
        run(data, bytes);
    }
    fflush(stdout);
    REQUIRE(dup2(out, STDOUT_FILENO) >= 0);
    printf("%zu inputs, %llu mutations, seed %llu\n", input_count, rounds, seed);
    for (size_t i = 0; i < input_count; i++) free(inputs[i].data);
    return 0;
}
