/* clump-schema: checks a schema, and makes C declarations of it.
 *
 *   clump-schema FILE
 *   clump-schema --emit-c [--prefix PREFIX] FILE
 *   clump-schema --help
 *
 * The first prints the bytes of each class and field. The second writes a struct for each class, and
 * its description for clump/structs.h, to standard output. Exit status 0; 1 if the schema is not
 * valid or cannot be read, with words that begin with FILE:LINE:COLUMN; 2 for wrong arguments.
 */
#include <stdio.h>
#include <string.h>

#include "clump/all.h"

static int complain(const char *file, const clump_error *error) {
    if (error->line)
        fprintf(stderr, "%s:%u:%u: %s\n", file, error->line, error->column, error->message);
    else
        fprintf(stderr, "%s: %s\n", file, error->message);
    return 1;
}

static int to_stdout(void *user, const void *text, size_t bytes) {
    (void)user;
    fwrite(text, 1, bytes, stdout);
    return 0; /* ferror() tells at the end */
}

static void describe(const clump_schema *schema) {
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        clump_class_info c, base = {.name = ""};
        c = *clump_schema_get_info(schema)->classes[id];
        if (c.base) base = *clump_schema_get_info(schema)->classes[c.base];
        printf("%s%s%s%s: %u bytes an object, layout %s%s\n", c.name, c.base ? " : " : "",
               base.name, c.is_abstract ? " (abstract)" : "", c.object_bytes,
               c.layout == CLUMP_LAYOUT_AOS ? "aos" : "soa",
               c.field_count ? "" : ", no fields of its own");
        for (uint32_t i = 0; i < c.field_count; i++) {
            const clump_field_info *f = clump_schema_get_info(schema)->classes[id]->fields[i];
            const int is_one = !f->count && f->array == CLUMP_ARRAY_FIXED;
            printf("    %s %s", f->type_name, f->name);
            if (f->array == CLUMP_ARRAY_GROWING) printf("[*]");
            if (f->array == CLUMP_ARRAY_GROWING && f->count) printf(" inline %u", f->count);
            if (f->array == CLUMP_ARRAY_BOUNDED) printf("[*] max %u", f->count);
            if (f->array == CLUMP_ARRAY_FIXED && f->count) printf("[%u]", f->count);
            printf("%s: %u bytes\n", f->packed ? " packed" : "",
                   f->element_bytes * (is_one ? 1 : f->count));
        }
    }
}

static int usage(FILE *out) {
    fprintf(out,
            "usage: clump-schema FILE\n"
            "       clump-schema --emit-c [--prefix PREFIX] FILE\n"
            "Checks a schema, and shows the bytes of each class and field.\n"
            "  --emit-c         writes C structs of the classes instead, for clump/structs.h\n"
            "  --prefix PREFIX  begins their names with this\n"
            "Exit status: 0 for success, 1 if the schema is not valid or a file cannot be read or "
            "written, 2 for a wrong argument.\n");
    return out == stderr ? 2 : 0;
}

int main(int argc, char **argv) {
    const char *file = NULL, *prefix = NULL;
    int emits = 0, bad = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--emit-c") == 0)
            emits = 1;
        else if (strcmp(argv[i], "--prefix") == 0 && i + 1 < argc)
            prefix = argv[++i];
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return usage(stdout);
        else if (argv[i][0] == '-' || file)
            bad = 1;
        else
            file = argv[i];
    }
    if (bad || !file || (prefix && !emits)) return usage(stderr);
    clump_schema *schema = NULL;
    clump_error error;
    if (clump_schema_parse_file(file, NULL, &schema, &error)) return complain(file, &error);
    int result = 0;
    if (!emits)
        describe(schema);
    else if (clump_schema_emit_c(schema, prefix, to_stdout, NULL, &error))
        result = complain(file, &error);
    if (!result && (fflush(stdout) || ferror(stdout))) {
        fprintf(stderr, "clump-schema: cannot write to standard output\n");
        result = 1;
    }
    clump_schema_destroy(schema);
    return result;
}
