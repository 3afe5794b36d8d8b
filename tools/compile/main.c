/* clump-compile: a schema and kernels to the OpenCL C that the library builds of them, or to
 * SPIR-V, for clump_compiled (clump/context.h).
 *
 *   clump-compile --schema FILE --heap BYTES [OPTION...] -o FILE KERNELS
 *   clump-compile --malloc [OPTION...] -o FILE
 *   clump-compile --help
 *
 * The second form makes the functions of cl/api/malloc.h: a module of SPIR-V to link, or OpenCL C.
 *
 * Exit status 0; 1 if the schema or the kernels are not valid, or a file or a tool fails, with
 * words that begin with
 * FILE:LINE:COLUMN; 2 for arguments that are none.
 *
 * Read next: device.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/all.h"
#include "tools/compile/device.h"

typedef struct arguments {
    compile_target target;
    const char *schema, *kernels, *name, *output, *options, *array;
    uint64_t heap_bytes;
    uint32_t block_rows;
    int raw, compact, strict, only_source, has_malloc;
} arguments;

static int usage(FILE *out) {
    fprintf(out,
            "usage: clump-compile --schema FILE --heap BYTES [OPTION...] -o FILE KERNELS\n"
            "       clump-compile --malloc [OPTION...] -o FILE\n"
            "Compiles kernels ahead of time, with the library's own, for clump_compiled.\n"
            "  --malloc            instead of kernels, the functions of cl/api/malloc.h, to link\n"
            "  --schema FILE       the schema of the heap (not needed with --raw or --malloc)\n"
            "  --heap BYTES        its size, with or without K, M or G (with --malloc 64M if left "
            "out)\n"
            "  --block-rows N      rows of a block, as in clump_heap_desc\n"
            "  --raw               the heap has raw memory\n"
            "  --compact           also compiles the library's kernels of compaction\n"
            "  --language NAME     CL1.2, CL2.0 or CL3.0 (default), as clump-info shows it\n"
            "  --features LIST     int64_atomics, fp64, subgroups or none\n"
            "                      (default int64_atomics,fp64)\n"
            "  --personality NAME  cpu (default) or gpu\n"
            "  --options TEXT      build options, as in clump_program_desc\n"
            "  --name NAME         the name of the kernels in messages (default KERNELS)\n"
            "  --strict            warnings are errors\n"
            "  --source            OpenCL C instead of SPIR-V, and the options to standard output\n"
            "  --bitcode           with --malloc, LLVM's bitcode instead of SPIR-V\n"
            "  --array NAME        a C header with an array NAME, and NAME_bytes\n"
            "  -o FILE             the file to write\n"
            "  --clang PROGRAM     the compiler (default clang-15)\n"
            "  --llvm-spirv PROGRAM  the translator (default llvm-spirv-15)\n"
            "Exit status: 0 for success, 1 if the schema or the kernels are not valid, or a file "
            "or tool fails, 2 for a wrong argument.\n");
    return out == stderr ? 2 : 0;
}

static int complain(const char *file, const clump_error *error) {
    if (error->line)
        fprintf(stderr, "%s:%u:%u: %s\n", file, error->line, error->column, error->message);
    else
        fprintf(stderr, "%s: %s\n", file, error->message);
    return 1;
}

/* Returns 0 if it is no size. */
static uint64_t take_bytes(const char *text) {
    static const char units[] = "KMG";
    char *end;
    if (*text < '0' || *text > '9') return 0;
    errno = 0;
    uint64_t bytes = strtoull(text, &end, 10);
    if (errno) return 0;
    const char *unit = *end ? strchr(units, *end) : NULL;
    uint32_t shift = unit ? 10 * (uint32_t)(unit - units + 1) : 0;
    if (*end && (!unit || end[1])) return 0;
    return bytes > UINT64_MAX >> shift ? 0 : bytes << shift;
}

static int take_features(const char *list, uint32_t *features) {
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {{"int64_atomics", CLUMP_FEATURE_INT64_ATOMICS},
                 {"fp64", CLUMP_FEATURE_FP64},
                 {"subgroups", CLUMP_FEATURE_SUBGROUPS},
                 {"none", 0}};
    *features = 0;
    for (const char *at = list; *at; at += *at == ',') {
        size_t bytes = strcspn(at, ","), i = 0;
        while (i < 4 && (strlen(known[i].name) != bytes || strncmp(at, known[i].name, bytes) != 0))
            i++;
        if (i == 4) return 0;
        *features |= known[i].bit;
        at += bytes;
    }
    return *list != 0;
}

/* An option with a value. Returns 0 if it is none, or the value is wrong. */
static int take_valued(arguments *a, const char *option, const char *value) {
    const struct {
        const char *option, **to;
    } texts[] = {{"--schema", &a->schema},
                 {"-o", &a->output},
                 {"--options", &a->options},
                 {"--name", &a->name},
                 {"--array", &a->array},
                 {"--clang", &a->target.clang},
                 {"--llvm-spirv", &a->target.llvm_spirv}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(option, texts[i].option) == 0) {
            *texts[i].to = value;
            return 1;
        }
    if (strcmp(option, "--heap") == 0) return (a->heap_bytes = take_bytes(value)) != 0;
    if (strcmp(option, "--block-rows") == 0) {
        const uint64_t rows = take_bytes(value);
        a->block_rows = rows <= 64 ? (uint32_t)rows : 0;
        return a->block_rows != 0;
    }
    if (strcmp(option, "--features") == 0) return take_features(value, &a->target.features);
    if (strcmp(option, "--language") == 0) {
        a->target.language = value;
        return !strcmp(value, "CL1.2") || !strcmp(value, "CL2.0") || !strcmp(value, "CL3.0");
    }
    if (strcmp(option, "--personality") == 0) {
        a->target.personality =
            strcmp(value, "gpu") == 0 ? CLUMP_PERSONALITY_GPU : CLUMP_PERSONALITY_CPU;
        return !strcmp(value, "gpu") || !strcmp(value, "cpu");
    }
    return 0;
}

/* Returns 0; else what usage() is to be told. */
static FILE *take_arguments(int argc, char **argv, arguments *a) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return stdout;
        if (strcmp(word, "--raw") == 0)
            a->raw = 1;
        else if (strcmp(word, "--malloc") == 0)
            a->raw = a->has_malloc = 1;
        else if (strcmp(word, "--compact") == 0)
            a->compact = 1;
        else if (strcmp(word, "--strict") == 0)
            a->strict = 1;
        else if (strcmp(word, "--source") == 0)
            a->only_source = 1;
        else if (strcmp(word, "--bitcode") == 0)
            a->target.only_bitcode = 1;
        else if (*word == '-' && i + 1 < argc && take_valued(a, word, argv[i + 1]))
            i++;
        else if (*word == '-' || a->kernels)
            return stderr;
        else
            a->kernels = word;
    }
    if (!a->name) a->name = a->kernels ? a->kernels : "malloc";
    if ((a->kernels == NULL) != a->has_malloc) return stderr;
    if (a->has_malloc && !a->heap_bytes) a->heap_bytes = 64u << 20; /* and more: geometry.c */
    if (!a->output || !a->heap_bytes || !(a->schema || a->raw)) return stderr;
    if (a->target.only_bitcode && (a->only_source || !a->has_malloc)) return stderr;
    a->target.only_source = a->only_source || a->has_malloc;
    return (a->array && a->only_source) || (a->has_malloc && a->compact) ? stderr : NULL;
}

static char *read_kernels(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t bytes = 0, room = 0, got = 1;
    while (file && got) {
        char *more = realloc(text, (room += 1u << 16) + 1);
        if (!more) break;
        text = more;
        got = fread(text + bytes, 1, room - bytes, file);
        bytes += got;
        text[bytes] = 0;
    }
    if (!file || got || ferror(file) || strlen(text) != bytes) {
        fprintf(stderr, "%s: cannot be read as text\n", path);
        free(text);
        text = NULL;
    }
    if (file) fclose(file);
    return text;
}

static int write_array(FILE *out, const char *name, const compile_file *file) {
    fprintf(out,
            "/* Made by clump-compile, for clump_context_desc.compiled. */\n"
            "static const unsigned char %s[] = {",
            name);
    for (size_t i = 0; i < file->bytes; i++)
        fprintf(out, "%s%u,", i % 24 ? "" : "\n", (unsigned)(unsigned char)file->data[i]);
    return fprintf(out, "\n};\nstatic const unsigned long %s_bytes = sizeof %s;\n", name, name) < 0;
}

static int write_output(const arguments *a, const compile_file *file) {
    FILE *out = fopen(a->output, "wb");
    int failed = !out;
    if (out && a->array)
        failed = write_array(out, a->array, file);
    else if (out)
        failed = fwrite(file->data, 1, file->bytes, out) != file->bytes;
    if (out) failed |= ferror(out) | (fclose(out) != 0);
    if (failed) fprintf(stderr, "%s: cannot be written\n", a->output);
    return failed != 0;
}

/* Build options, to be freed; NULL without memory. */
static char *options_of(const arguments *a) {
    static const char functions[] = "-DCLUMP_MALLOC_FUNCTIONS ";
    const char *given = a->options ? a->options : "";
    const size_t room = sizeof functions + strlen(given);
    char *options = malloc(room);
    if (options) snprintf(options, room, "%s%s", a->has_malloc ? functions : "", given);
    return options;
}

/* The text of a program, or a module of its functions. */
static void take_text(const arguments *a, const clump_program_info *info, compile_file *file) {
    compile_result result = {0};
    if (a->only_source) {
        file->bytes = strlen(info->source);
        file->data = malloc(file->bytes + 1);
        if (file->data) memcpy(file->data, info->source, file->bytes + 1);
        printf("%s\n", info->options);
    } else if (!compile_run(&a->target, info->source, info->options, &result)) {
        if (result.log) fputs(result.log, stderr);
        file->data = result.il;
        file->bytes = result.il_bytes;
        result.il = NULL;
    }
    compile_result_clear(&result);
    file->failed |= !file->data;
}

/* Has the library build all there is. */
static int compile(const arguments *a, clump_context *c, const clump_schema *schema,
                   const char *source, compile_file *file) {
    clump_heap *heap = NULL;
    clump_program *program = NULL;
    clump_compactor *compactor = NULL;
    char *options = options_of(a);
    if (!options) return complain(a->name, &(clump_error){.message = "no host memory"});
    clump_status status = clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                               .context = c,
                                                               .schema = schema,
                                                               .bytes = a->heap_bytes,
                                                               .block_rows = a->block_rows,
                                                               .raw = a->raw},
                                            &heap, NULL);
    if (!status && a->compact && !a->target.only_source)
        status = clump_compactor_create(
            &(clump_compactor_desc){.size = sizeof(clump_compactor_desc), .heap = heap, .every = 1},
            &compactor, NULL);
    if (!status)
        status = clump_program_create(&(clump_program_desc){.size = sizeof(clump_program_desc),
                                                            .heap = heap,
                                                            .source = source,
                                                            .name = a->name,
                                                            .options = options,
                                                            .strict = a->strict},
                                      &program, NULL);
    int result = 0;
    if (status && !file->failed) result = complain(a->name, clump_context_get_error(c));
    if (!status) {
        fputs(clump_program_get_info(program)->log, stderr);
        if (a->target.only_source) take_text(a, clump_program_get_info(program), file);
    }
    clump_compactor_destroy(compactor);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    free(options);
    return result || file->failed;
}

int main(int argc, char **argv) {
    arguments a = {.target = {.language = "CL3.0",
                              .features = CLUMP_FEATURE_INT64_ATOMICS | CLUMP_FEATURE_FP64,
                              .personality = CLUMP_PERSONALITY_CPU,
                              .clang = "clang-15",
                              .llvm_spirv = "llvm-spirv-15"}};
    FILE *out = take_arguments(argc, argv, &a);
    if (out) return usage(out);
    clump_schema *schema = NULL;
    clump_context *context = NULL;
    clump_error error;
    compile_file file = {0};
    if (a.schema && clump_schema_parse_file(a.schema, NULL, &schema, &error))
        return complain(a.schema, &error);
    char *source = a.has_malloc ? calloc(1, 1) : read_kernels(a.kernels);
    int result = !source;
    if (!result && compile_device_open(&a.target, &file, &context, &error))
        result = complain(a.name, &error);
    if (!result) result = compile(&a, context, schema, source, &file);
    if (!result) result = write_output(&a, &file);
    clump_context_destroy(context);
    clump_schema_destroy(schema);
    free(source);
    free(file.data);
    return result;
}
