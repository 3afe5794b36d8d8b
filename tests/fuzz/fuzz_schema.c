/* Fuzzing of clump_schema_parse() and of the getters on what it accepts.
 *
 * Two programs from one source: a libFuzzer target
 *     clang -fsanitize=fuzzer,address,undefined -Iinclude -iquote host fuzz_schema.c host/...
 * and, with -DFUZZ_STANDALONE, one that needs no libFuzzer and runs under CTest:
 *     fuzz_schema [ROUNDS [SEED]]     seeded mutations of the sample texts below
 *     fuzz_schema FILE...             inputs that failed before
 *
 * What must hold for all bytes: an error has a line, a column and words, and leaves no schema; a
 * schema that was accepted answers all questions, consistently.
 * Read first: include/clump/schema.h.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Not assert(): it must also hold where NDEBUG is set. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void check_error(const uint8_t *data, size_t bytes, const clump_error *error) {
    uint32_t lines = 1;
    for (size_t i = 0; i < bytes; ++i) lines += data[i] == '\n';
    REQUIRE(error->status == CLUMP_ERR_SCHEMA);
    REQUIRE(error->line >= 1 && error->line <= lines);
    REQUIRE(error->column >= 1 && error->column <= bytes + 1);
    REQUIRE(error->message[0] && memchr(error->message, 0, sizeof error->message));
    for (const char *c = error->message; *c; ++c) REQUIRE(*c >= 0x20 && *c < 0x7f);
}

static void check_field(const clump_schema *schema, const clump_class_info *owner,
                        const clump_field_info *field) {
    clump_field_info found;
    REQUIRE(field->class_id == owner->id);
    REQUIRE(*clump_type_name(field->type, field->width) != '?');
    REQUIRE(field->base_bytes % field->element_bytes == 0);
    REQUIRE(field->stride_bytes % field->element_bytes == 0);
    REQUIRE(field->step_bytes % field->element_bytes == 0);
    uint64_t last = field->base_bytes + UINT64_C(63) * field->stride_bytes + field->element_bytes;
    if (field->count) last += (uint64_t)(field->count - 1) * field->step_bytes;
    REQUIRE(last <= UINT64_C(64) * owner->object_bytes);
    REQUIRE((field->type == CLUMP_TYPE_REF) == (field->ref_class != 0));
    REQUIRE(field->ref_class <= clump_schema_get_class_count(schema));
    REQUIRE(clump_schema_find_field(schema, owner->id, field->name, &found) == CLUMP_OK);
    REQUIRE(found.class_id == owner->id && found.base_bytes == field->base_bytes);
}

static void check_schema(const clump_schema *schema) {
    uint32_t count = clump_schema_get_class_count(schema), concrete = 0;
    REQUIRE(count >= 1 && count <= CLUMP_CLASSES_MAX);
    for (uint32_t id = 1; id <= count; ++id) {
        clump_class_info info, found;
        clump_field_info field;
        REQUIRE(clump_schema_get_class(schema, id, &info) == CLUMP_OK);
        REQUIRE(info.id == id && info.base < id && info.last >= id && info.last <= count);
        REQUIRE(clump_schema_find_class(schema, info.name, &found) == CLUMP_OK && found.id == id);
        REQUIRE(info.object_bytes <= CLUMP_OBJECT_BYTES_MAX);
        REQUIRE(info.is_abstract || info.object_bytes);
        concrete += !info.is_abstract;
        for (uint32_t i = 0; i < info.field_count; ++i) {
            REQUIRE(clump_schema_get_field(schema, id, i, &field) == CLUMP_OK);
            check_field(schema, &info, &field);
        }
        REQUIRE(clump_schema_get_field(schema, id, info.field_count, &field) ==
                CLUMP_ERR_NOT_FOUND);
    }
    REQUIRE(concrete);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    clump_schema *schema;
    clump_error error;
    clump_status status = clump_schema_parse((const char *)data, bytes, NULL, &schema, &error);
    if (status) {
        REQUIRE(!schema && status == error.status);
        check_error(data, bytes, &error);
        return 0;
    }
    REQUIRE(error.status == CLUMP_OK && !error.message[0]);
    check_schema(schema);
    clump_schema_destroy(schema);
    return 0;
}

#ifdef FUZZ_STANDALONE

static const char *const samples[] = {
    "// comments as in C\nabstract class Agent { ref Cell position; }\n"
    "class Fish : Agent { uint spawn_timer; }\nclass Cell { ref Cell neighbors[4];\n"
    " ref Agent agent; bool request[5] packed; float4 colour; }\n"
    "aos class Parcel { double weight; char tag; }\n",
    "class D : C { double16 w; } class C : B { long3 v[7]; } class B : A { uchar8 u; }"
    "class A { short s; ushort2 t[3] packed; }",
    "aos class P { int x; double16 y; char z[5]; } class Q : P { char c; long16 l[2]; }"
    "soa abstract class R : Q { } class S : R { bool b; }",
    "class A { int b_c; } class A_b { int d; } class A_bb : A { ref A_b f; }",
    "/* a */ class X { char big[65000]; } // b\nclass Y : X { char more[536]; }",
    "class A : B { int x; } class B : A { int y; } class C { int z; }",
};

/* Pieces that the grammar cares about; random bytes alone seldom get past the lexer. */
static const char *const pieces[] = {
    "class ",
    "abstract ",
    "aos ",
    "soa ",
    "ref ",
    "packed",
    "{",
    "}",
    "[",
    "]",
    ";",
    ":",
    "/*",
    "*/",
    "//",
    "\n",
    " A ",
    "A_b ",
    "_b",
    "_is_",
    "int ",
    "double16 ",
    "float3 ",
    "bool",
    "0",
    "1",
    "65536",
    "4294967296",
    "\0",
    "\xc3\xa4",
    "class Z : A { int q; } ",
    "is_null",
    "new",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INPUT_BYTES 4096

static uint32_t pick(uint64_t *state, size_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 11) % below);
}

/* Replace `removed` bytes at `at` by the `added` bytes of `with`. Returns the new length. */
static size_t splice(char *text, size_t bytes, size_t at, size_t removed, const char *with,
                     size_t added) {
    if (removed > bytes - at) removed = bytes - at;
    if (bytes - removed + added > INPUT_BYTES) return bytes;
    char copy[64];
    if (added > sizeof copy) added = sizeof copy;
    memcpy(copy, with, added); /* `with` may be a part of `text` */
    memmove(text + at + added, text + at + removed, bytes - at - removed);
    memcpy(text + at, copy, added);
    return bytes - removed + added;
}

static size_t mutate(char *text, size_t bytes, uint64_t *state) {
    size_t at = pick(state, bytes + 1);
    const char *piece = pieces[pick(state, COUNT(pieces))];
    char byte = (char)pick(state, 256);
    switch (pick(state, 6)) {
    case 0: return splice(text, bytes, at, 0, piece, *piece ? strlen(piece) : 1);
    case 1: return splice(text, bytes, at, 1 + pick(state, 8), piece, *piece ? strlen(piece) : 1);
    case 2: return splice(text, bytes, at, 1 + pick(state, 16), "", 0);
    case 3: return splice(text, bytes, at, pick(state, 2), &byte, 1);
    case 4: { /* a part of the text, elsewhere */
        size_t from = pick(state, bytes + 1), most = bytes - from < 48 ? bytes - from : 48;
        return splice(text, bytes, at, 0, text + from, pick(state, most + 1));
    }
    default: return pick(state, 16) ? bytes : at; /* cut short, seldom */
    }
}

static int run_file(const char *path) {
    static uint8_t data[CLUMP_SCHEMA_TEXT_BYTES_MAX + 16];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, bytes);
    printf("%s: %zu bytes\n", path, bytes);
    return 0;
}

int main(int argc, char **argv) {
    char *end = NULL;
    unsigned long long rounds = argc > 1 ? strtoull(argv[1], &end, 0) : 20000;
    if (end && *end) {
        for (int i = 1; i < argc; ++i)
            if (run_file(argv[i])) return 1;
        return 0;
    }
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    printf("%llu rounds, seed %llu\n", rounds, seed);
    uint64_t state = seed * 2 + 1;
    for (int i = 0; i < 16; ++i) pick(&state, 2); /* small seeds begin with many zero bits */
    unsigned long long accepted = 0;
    for (unsigned long long round = 0; round < rounds; ++round) {
        char text[INPUT_BYTES];
        const char *sample = samples[pick(&state, COUNT(samples))];
        size_t bytes = strlen(sample);
        memcpy(text, sample, bytes);
        for (uint32_t n = pick(&state, 6); n; --n) bytes = mutate(text, bytes, &state);
        uint8_t *exact = malloc(bytes + !bytes); /* so that a read behind the end is seen */
        REQUIRE(exact);
        memcpy(exact, text, bytes);
        LLVMFuzzerTestOneInput(exact, bytes);
        clump_schema *schema;
        accepted += clump_schema_parse(text, bytes, NULL, &schema, NULL) == CLUMP_OK;
        clump_schema_destroy(schema);
        free(exact);
    }
    printf("%llu accepted\n", accepted);
    /* Neither all nor nothing may be accepted, or the mutations are worth nothing. */
    return rounds >= 1000 && (accepted < rounds / 50 || accepted > rounds - rounds / 50);
}

#endif
