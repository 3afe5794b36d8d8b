/* OpenCL C to SPIR-V: clang makes LLVM's language of it, llvm-spirv makes SPIR-V of that, spirv-val
 * looks at it. The first parameters of kernels are found in the text between.
 *
 * Read first: device.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/compile/device.h"

#define ARGUMENTS_MAX 256

void compile_result_clear(compile_result *r) {
    free(r->log);
    free(r->parameters);
    free(r->il);
    *r = (compile_result){0};
}

/* The file with a zero after it; NULL without a file or memory. */
static char *read_whole(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t room = 0, got = 1;
    *bytes = 0;
    while (file && got) {
        char *more = realloc(data, (room += 1u << 16) + 1);
        if (!more) break;
        data = more;
        got = fread(data + *bytes, 1, room - *bytes, file);
        *bytes += got;
        data[*bytes] = 0;
    }
    if (file && (got || ferror(file))) {
        free(data);
        data = NULL;
    }
    if (file) fclose(file);
    return data;
}

static int write_whole(const char *path, const char *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    int failed = !file || fwrite(data, 1, bytes, file) != bytes;
    if (file) failed |= fclose(file) != 0;
    return failed;
}

/* Runs a program with its words in a file. Returns its exit status; 127 if there is none, -1 if it
 * did not end by itself. */
static int run(const char *const *arguments, const char *said) {
    pid_t child = fork();
    if (child == 0) {
        int out = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
        execvp(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    int status = 0;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Says why a tool failed. Returns -1. */
static int complain(const char *tool, int status, const char *said) {
    size_t bytes;
    char *text = read_whole(said, &bytes);
    if (status == 127)
        fprintf(stderr,
                "clump-compile: the program %s is not installed (scripts/setup.sh --spirv)\n",
                tool);
    else
        fprintf(stderr, "clump-compile: %s failed (%d): %s\n", tool, status, text ? text : "");
    free(text);
    return -1;
}

/* ---- First parameters ---- */

typedef struct text {
    char *data;
    size_t bytes;
} text;

static int append(text *t, const char *data, size_t bytes) {
    char *more = realloc(t->data, t->bytes + bytes + 1);
    if (!more) return -1;
    t->data = more;
    memcpy(more + t->bytes, data, bytes);
    t->bytes += bytes;
    more[t->bytes] = 0;
    return 0;
}

/* Text number `index` of the metadata that a line of a kernel names: `!kernel_arg_name !9` and `!9
 * = !{!"a", !"b"}`. Returns its bytes; 0 if there is none. */
static size_t find_text(const char *all, const char *line, const char *name, unsigned index,
                        const char **found) {
    const char *end = line + strcspn(line, "\n"), *at = strstr(line, name);
    char mark[32];
    if (!at || at > end) return 0;
    snprintf(mark, sizeof mark, "\n!%lu = !{", strtoul(at + strlen(name) + 2, NULL, 10));
    at = strstr(all, mark);
    if (!at) return 0;
    at += strlen(mark);
    end = at + strcspn(at, "\n");
    for (unsigned i = 0; (at = strchr(at, '"')) != NULL && at < end; i++) {
        size_t bytes = strcspn(++at, "\"");
        *found = at;
        if (i == index) return bytes;
        at += bytes + 1;
    }
    return 0;
}

/* A line for each kernel. NULL without memory. */
static char *find_parameters(const char *all) {
    static const char define[] = "\ndefine ", kernel[] = " spir_kernel ";
    text t = {0};
    int failed = append(&t, "", 0);
    for (const char *at = all; !failed && (at = strstr(at, define)) != NULL;) {
        const char *line = ++at, *end = line + strcspn(line, "\n"), *is = strstr(line, kernel);
        const char *name = strchr(line, '@'), *word = NULL;
        if (!is || is > end || !name) continue;
        size_t bytes = strcspn(++name, "(");
        failed = append(&t, name, bytes);
        bytes = find_text(all, line, "!kernel_arg_type_qual", 0, &word);
        int is_const = bytes >= 5 && memcmp(word, "const", 5) == 0;
        failed |= append(&t, is_const ? " 1" : " 0", 2);
        for (unsigned i = 0; i < 2; i++) {
            bytes = find_text(all, line, "!kernel_arg_name", i, &word);
            if (i && !bytes) break;
            failed |= append(&t, " ", 1) | append(&t, bytes ? word : "", bytes);
        }
        failed |= append(&t, "\n", 1);
    }
    if (failed) free(t.data);
    return failed ? NULL : t.data;
}

/* ---- The tools ---- */

/* In one folder, which goes with them. */
typedef struct paths {
    char folder[64], source[96], text[96], il[96], copy[96], said[96];
} paths;

static int open_paths(paths *p) {
    const char *temporary = getenv("TMPDIR");
    snprintf(p->folder, sizeof p->folder, "%.40s/clump-XXXXXX",
             temporary && *temporary && strlen(temporary) <= 40 ? temporary : "/tmp");
    if (!mkdtemp(p->folder)) {
        fprintf(stderr, "clump-compile: cannot make a folder %s: %s\n", p->folder, strerror(errno));
        return -1;
    }
    snprintf(p->source, sizeof p->source, "%s/program.cl", p->folder);
    snprintf(p->text, sizeof p->text, "%s/program.ll", p->folder);
    snprintf(p->il, sizeof p->il, "%s/program.spv", p->folder);
    snprintf(p->copy, sizeof p->copy, "%s/copy.spv", p->folder);
    snprintf(p->said, sizeof p->said, "%s/said", p->folder);
    return 0;
}

static void close_paths(const paths *p) {
    unlink(p->source);
    unlink(p->text);
    unlink(p->il);
    unlink(p->copy);
    unlink(p->said);
    rmdir(p->folder);
}

/* Options are parted at blanks. Returns how many arguments there are; 0: too many. */
static unsigned part_options(char *options, const char **arguments, unsigned count) {
    for (char *word = strtok(options, " "); word; word = strtok(NULL, " ")) {
        if (count >= ARGUMENTS_MAX - 8) return 0;
        arguments[count++] = word;
    }
    return count;
}

/* "-cl-ext=-NAME,-NAME" of extensions that clang takes each device of SPIR-V to have, and this one
 * lacks: their macros would have kernels choose other code than from source. */
static void name_lacking(const compile_target *target, char *to, size_t room) {
    static const struct {
        uint32_t feature; /* 0: of other vendors */
        const char *names;
    } known[] = {
        {0,
         "-cl_amd_media_ops,-cl_amd_media_ops2,-cl_intel_device_side_avc_motion_estimation,"
         "-cl_arm_integer_dot_product_int8,-cl_arm_integer_dot_product_accumulate_int8,"
         "-cl_arm_integer_dot_product_accumulate_int16,"
         "-cl_arm_integer_dot_product_accumulate_saturate_int8"},
        {CLUMP_FEATURE_INT64_ATOMICS, ",-cl_khr_int64_base_atomics,-cl_khr_int64_extended_atomics"},
        {CLUMP_FEATURE_FP64, ",-cl_khr_fp64,-__opencl_c_fp64"},
        {CLUMP_FEATURE_SUBGROUPS, ",-cl_khr_subgroups,-cl_intel_subgroups,-__opencl_c_subgroups"}};
    size_t bytes = (size_t)snprintf(to, room, "-cl-ext=");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!(target->features & known[i].feature))
            bytes += (size_t)snprintf(to + bytes, room - bytes, "%s", known[i].names);
}

/* Returns the exit status, or -1 after words. */
static int run_clang(const compile_target *target, const paths *p, const char *options) {
    const char *arguments[ARGUMENTS_MAX] = {target->clang,
                                            "-x",
                                            "cl",
                                            "-target",
                                            "spir64-unknown-unknown",
                                            "-Xclang",
                                            "-finclude-default-header",
                                            "-Xclang",
                                            "-disable-llvm-passes",
                                            "-O2",
                                            "-S",
                                            "-emit-llvm",
                                            "-Wno-unused-command-line-argument",
                                            "-fno-color-diagnostics"};
    char extensions[512], *copy = strdup(options);
    unsigned count = 14;
    name_lacking(target, extensions, sizeof extensions);
    arguments[count++] = "-Xclang";
    arguments[count++] = extensions;
    arguments[count++] = "-D__OPENCL_VERSION__=300"; /* as CL_DEVICE_VERSION in device.c */
    if (target->features & CLUMP_FEATURE_SUBGROUPS && strcmp(target->language, "CL1.2") == 0)
        arguments[count++] = "-Dcl_khr_subgroup_ballot=1"; /* clang knows it from 2.0 on */
    if (strstr(options, "-cl-fast-relaxed-math"))
        arguments[count++] = "-ffp-contract=fast"; /* as devices do of source then */
    if (copy) count = part_options(copy, arguments, count);
    if (!copy || !count) {
        fprintf(stderr, "clump-compile: too many options\n");
        free(copy);
        return -1;
    }
    arguments[count++] = "-o";
    arguments[count++] = p->text;
    arguments[count++] = p->source;
    arguments[count] = NULL;
    int status = run(arguments, p->said);
    free(copy);
    return status == 0 || status == 1 ? status : complain(target->clang, status, p->said);
}

static int run_validator(const paths *p, const char *rules, const char *il) {
    const char *const check[] = {"spirv-val", "--target-env", rules, il, NULL};
    int status = run(check, p->said);
    return status == 0 || status == 127 ? 0 : complain("spirv-val", status, p->said);
}

/* By the rules of OpenCL. A module with something that these do not know (spirv.c) is looked at
 * twice: as it is, by the rules of its version of SPIR-V; and without that, by those of OpenCL. */
static int validate(const paths *p) {
    size_t bytes;
    char *il = read_whole(p->il, &bytes);
    if (!il || bytes < 8) {
        fprintf(stderr, "clump-compile: cannot read %s\n", p->il);
        free(il);
        return -1;
    }
    char rules[16];
    snprintf(rules, sizeof rules, "spv%d.%d", il[6], il[5]); /* little-endian: 0, minor, major, 0 */
    int differs = compile_spirv_leave_out((uint32_t *)(void *)il, bytes / 4);
    int failed = differs && write_whole(p->copy, il, bytes);
    free(il);
    if (failed) fprintf(stderr, "clump-compile: cannot write %s\n", p->copy);
    if (failed || (differs && run_validator(p, rules, p->il))) return -1;
    return run_validator(p, "opencl2.2", differs ? p->copy : p->il);
}

static int run_spirv(const compile_target *target, const paths *p) {
    char bitcode[112];
    if (target->only_bitcode)
        snprintf(bitcode, sizeof bitcode, "%s", p->il);
    else
        snprintf(bitcode, sizeof bitcode, "%s.bc", p->text);
    const char *const pack[] = {target->clang,
                                "-x",
                                "ir",
                                "-target",
                                "spir64-unknown-unknown",
                                "-Xclang",
                                "-disable-llvm-passes",
                                "-c",
                                "-emit-llvm",
                                "-o",
                                bitcode,
                                p->text,
                                NULL};
    const char *const translate[] = {target->llvm_spirv,
                                     target->features & CLUMP_FEATURE_SUBGROUPS
                                         ? "--spirv-max-version=1.3"
                                         : "--spirv-max-version=1.2",
                                     bitcode,
                                     "-o",
                                     p->il,
                                     NULL};
    int status = run(pack, p->said);
    if (status) return complain(target->clang, status, p->said);
    if (target->only_bitcode) return 0;
    status = run(translate, p->said);
    unlink(bitcode);
    if (status) return complain(target->llvm_spirv, status, p->said);
    return validate(p);
}

int compile_run(const compile_target *target, const char *source, const char *options,
                compile_result *r) {
    paths p;
    size_t bytes;
    compile_result_clear(r);
    if (open_paths(&p)) return -1;
    int status = -1;
    if (write_whole(p.source, source, strlen(source)))
        fprintf(stderr, "clump-compile: cannot write %s: %s\n", p.source, strerror(errno));
    else
        status = run_clang(target, &p, options);
    if (status >= 0) r->log = read_whole(p.said, &bytes);
    int failed = status < 0;
    if (status == 0) {
        char *all = read_whole(p.text, &bytes);
        r->parameters = all ? find_parameters(all) : NULL;
        free(all);
        failed = !r->parameters || run_spirv(target, &p);
        if (!failed) r->il = read_whole(p.il, &r->il_bytes);
        failed |= !r->il;
    }
    close_paths(&p);
    return failed ? -1 : 0;
}
