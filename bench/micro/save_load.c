/* The benchmark save-load: a heap saved and loaded, to memory of the host or to a file.
 *
 * Objects of 56 bytes, with four references each, and with `array` also an array that grows. On the
 * host's clock, from call to return:
 *
 *     save_us, load_us      clump_heap_save() and clump_heap_load(), a file with fsync() and
 *                           rename()
 *     save_rate, load_rate  the same as GB/s of the saved bytes
 *     check_us              clump_saved_read(): the saved bytes read and their checksums compared,
 *                           without the device
 *     bus_read_us, bus_write_us   as many bytes from and to a buffer of the device, through memory
 *                                 for transfers
 *     out_us, in_us         as many bytes written to and read from the same kind of place: a file
 *                           with fsync(), or memory
 *     pipe_out_us, pipe_in_us   as many bytes from a buffer of the device to such a place, and
 *                               back: both at the same time (pipe.h)
 *     save_of_pipe, load_of_pipe   how many times as long
 *
 * Memory is copied by `threads` threads, in out_us and in_us as in the functions that the library
 * calls. What goes to the place is stored past the caches, since nobody reads it soon and the
 * device's transfers need the host's memory at the same time; what comes from it is copied plainly,
 * since the library's transfer reads it next (copier.h).
 *
 * The floors are pipe_out_us and pipe_in_us. Before a file is read its
 * pages are dropped from memory, as far as the system does what it is asked for (posix_fadvise).
 *
 * The check: a kernel finds in the loaded heap every value and every reference of every object, in
 * the order of the saved heap. What the plain pipeline brought to the place and back is on the
 * device.
 *
 * Read first: bench.h, rig.h, save_load.cl.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "clump/save.h"
#include "copier.h"
#include "grown.clh"
#include "pipe.h"
#include "rig.h"

#define AT_ONCE (16u << 20) /* bytes of one read() or write(), as in a saved heap */
#define OBJECT_BYTES 56u

#define FIELDS "uint number; uint place; float4 at; float4 speed; ref Body next; ref Body near[3];"

enum { INIT, THIN, LINK, VERIFY, KERNEL_COUNT };

typedef struct saver {
    bench_rig rig;
    bench_heap_desc heap;
    uint32_t objects, live;
    uint32_t array;   /* mean length */
    const char *file; /* "": memory */
    char plain[BENCH_TEXT_BYTES + 8], options[32];
    int level;
    uint32_t piece; /* bytes; 0: the library's choice */
    uint64_t bytes; /* of the saved heap */
    uint8_t *memory, *other;
    copier *copier;  /* between these and the library */
    size_t room, at; /* of `memory`; written or read so far */
    cl_mem there;    /* as many bytes on the device; NULL before the first round */
} saver;

/* ---- Places ---------------------------------------------------------------------------------- */

static int keep(void *user, const void *data, size_t bytes) {
    saver *s = user;
    if (bytes > s->room - s->at) return ENOSPC;
    copier_store(s->copier, s->memory + s->at, data, bytes);
    s->at += bytes;
    return 0;
}

static size_t give(void *user, void *data, size_t bytes) {
    saver *s = user;
    if (bytes > s->bytes - s->at) bytes = s->bytes - s->at;
    copier_copy(s->copier, data, s->memory + s->at, bytes);
    s->at += bytes;
    return bytes;
}

static int is_file(const saver *s) {
    return s->file[0] != 0;
}

static int fail_file(saver *s, const char *what, const char *path) {
    return bench_error_set(s->rig.error, "cannot %s %s: %s", what, path, strerror(errno));
}

/* So that the next read comes from the disk. */
static int drop_pages(saver *s, const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0) return fail_file(s, "open", path);
    int result = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    return result ? fail_file(s, "drop pages of", path) : 0;
}

/* As many bytes as were saved, in pieces; `out` from memory to the file. */
static int plain_file(saver *s, int out, double *us) {
    if (!out && drop_pages(s, s->plain)) return -1;
    double begin = bench_now_us();
    int file = out ? open(s->plain, O_WRONLY | O_CREAT | O_TRUNC, 0666) : open(s->plain, O_RDONLY);
    if (file < 0) return fail_file(s, "open", s->plain);
    ssize_t n = 1;
    for (uint64_t at = 0; at < s->bytes && n > 0; at += (uint64_t)n) {
        size_t once = s->bytes - at < AT_ONCE ? (size_t)(s->bytes - at) : AT_ONCE;
        n = out ? write(file, s->memory, once) : read(file, s->memory, once);
    }
    if (n > 0 && out && fsync(file)) n = -1;
    close(file);
    *us = bench_now_us() - begin;
    return n > 0 ? 0 : fail_file(s, out ? "write" : "read", s->plain);
}

static int plain_place(saver *s, int out, double *us) {
    if (is_file(s)) return plain_file(s, out, us);
    double begin = bench_now_us();
    (out ? copier_store : copier_copy)(s->copier, s->other, s->memory, (size_t)s->bytes);
    *us = bench_now_us() - begin;
    return 0;
}

/* ---- The bus --------------------------------------------------------------------------------- */

/* Through memory that OpenCL has for transfers, which is the fastest way that there is. */
static int plain_bus(saver *s, double *read_us, double *write_us) {
    bench_env *env = s->rig.env;
    const size_t bytes = (size_t)s->bytes;
    cl_int code = CL_SUCCESS;
    cl_mem here = clCreateBuffer(env->context, CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    if (code) return bench_error_set(s->rig.error, "no memory for transfers: %d", (int)code);
    void *memory = clEnqueueMapBuffer(env->queue, here, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &code);
    int result = -1;
    if (code || (!s->there && bench_rig_buffer(&s->rig, bytes, &s->there))) goto release;
    memset(memory, 1, bytes);
    if (bench_rig_write(&s->rig, s->there, bytes, memory)) goto release; /* its pages are there */
    double begin = bench_now_us();
    if (bench_rig_write(&s->rig, s->there, bytes, memory)) goto release;
    *write_us = bench_now_us() - begin;
    begin = bench_now_us();
    if (bench_rig_read(&s->rig, s->there, bytes, memory)) goto release;
    *read_us = bench_now_us() - begin;
    result = 0;
release:
    if (memory) clEnqueueUnmapMemObject(env->queue, here, memory, 0, NULL, NULL);
    clFinish(env->queue);
    clReleaseMemObject(here);
    return result;
}

/* ---- Both at once ---------------------------------------------------------------------------- */

/* What pipe_out() and pipe_in() move to and from: a file, or `other`. */
typedef struct plain_end {
    saver *s;
    int file;
    size_t at;
} plain_end;

static int end_take(void *user, void *data, size_t bytes) {
    plain_end *end = user;
    if (is_file(end->s)) return write(end->file, data, bytes) != (ssize_t)bytes;
    copier_store(end->s->copier, end->s->other + end->at, data, bytes);
    end->at += bytes;
    return 0;
}

static int end_give(void *user, void *data, size_t bytes) {
    plain_end *end = user;
    if (is_file(end->s)) return read(end->file, data, bytes) != (ssize_t)bytes;
    copier_copy(end->s->copier, data, end->s->other + end->at, bytes);
    end->at += bytes;
    return 0;
}

/* The device's buffer has ones (plain_bus()). */
static int plain_pipe_out(saver *s, double *us) {
    plain_end end = {.s = s, .file = -1};
    double fsync_us = 0;
    if (is_file(s) && (end.file = open(s->plain, O_WRONLY | O_CREAT | O_TRUNC, 0666)) < 0)
        return fail_file(s, "open", s->plain);
    int result = pipe_out(&s->rig, s->there, s->bytes, end_take, &end, us);
    if (is_file(s)) {
        const double begin = bench_now_us();
        if (!result && fsync(end.file)) result = fail_file(s, "write", s->plain);
        fsync_us = bench_now_us() - begin;
        close(end.file);
    }
    *us += fsync_us;
    return result;
}

static int plain_pipe_in(saver *s, double *us) {
    plain_end end = {.s = s, .file = -1};
    if (is_file(s) && (drop_pages(s, s->plain) || (end.file = open(s->plain, O_RDONLY)) < 0))
        return fail_file(s, "open", s->plain);
    int result = pipe_in(&s->rig, s->there, s->bytes, end_give, &end, us);
    if (is_file(s)) close(end.file);
    return result;
}

/* A place that counts bytes that are not 1 and keeps none. */
static int end_compare(void *user, void *data, size_t bytes) {
    uint64_t *wrong = user;
    for (size_t i = 0; i < bytes; i++) *wrong += ((const uint8_t *)data)[i] != 1;
    return 0;
}

/* One that has others. */
static int end_others(void *user, void *data, size_t bytes) {
    (void)user;
    memset(data, 3, bytes);
    return 0;
}

/* The ones came to the place: plain_pipe_in() brings them back to the device, which has others
 * then, and they are looked at there. */
static int check_pipes(saver *s, double *in_us) {
    uint64_t wrong = 0;
    double us;
    if (pipe_in(&s->rig, s->there, s->bytes, end_others, NULL, &us)) return -1;
    if (plain_pipe_in(s, in_us) || pipe_out(&s->rig, s->there, s->bytes, end_compare, &wrong, &us))
        return -1;
    bench_check(s->rig.results, wrong == 0,
                "%" PRIu64 " bytes did not go to the place and back by the plain pipeline", wrong);
    return 0;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int save(saver *s, double *us) {
    clump_save_report report = {.size = sizeof report};
    clump_save_desc desc = {.size = sizeof desc,
                            .path = is_file(s) ? s->file : NULL,
                            .write = is_file(s) ? NULL : keep,
                            .user = s,
                            .piece_bytes = s->piece,
                            .zstd_level = s->level};
    s->at = 0;
    double begin = bench_now_us();
    clump_status status = clump_heap_save(s->rig.heap, &desc, &report);
    *us = bench_now_us() - begin;
    if (status) return bench_rig_fail(&s->rig, "the save", status);
    s->bytes = report.bytes;
    bench_check(s->rig.results, report.objects == s->live && report.dangling == 0,
                "%" PRIu64 " of %u objects are saved, %" PRIu64 " references dangle",
                report.objects, s->live, report.dangling);
    return 0;
}

static clump_load_desc source_of(saver *s) {
    s->at = 0;
    return (clump_load_desc){.size = sizeof(clump_load_desc),
                             .path = is_file(s) ? s->file : NULL,
                             .read = is_file(s) ? NULL : give,
                             .user = s};
}

static int verify(saver *s, clump_heap *heap) {
    cl_ulong bad = 1;
    uint64_t count = 0;
    clump_status status = clump_heap_read_count(heap, "Body", &count);
    if (!status) status = clump_heap_reduce(heap, s->rig.kernels[VERIFY], sizeof bad, &bad, NULL);
    bench_check(s->rig.results, bad == 0 && count == s->live,
                "%" PRIu64 " of %u objects are loaded, with %" PRIu64 " wrong values", count,
                s->live, (uint64_t)bad);
    return status ? bench_rig_fail(&s->rig, "the verification", status) : 0;
}

static int load(saver *s, double *us, double *check_us) {
    clump_heap *heap;
    clump_load_desc desc = source_of(s);
    if (bench_heap_create(&s->heap, &heap, s->rig.error)) return -1;
    if (is_file(s) && drop_pages(s, s->file)) return -1;
    double begin = bench_now_us();
    clump_status status = clump_heap_load(heap, &desc, NULL);
    *us = bench_now_us() - begin;
    int result = status ? bench_rig_fail(&s->rig, "the load", status) : verify(s, heap);
    clump_heap_destroy(heap);
    if (result) return result;
    clump_error error;
    desc = source_of(s);
    begin = bench_now_us();
    status = clump_saved_read(&desc, NULL, NULL, NULL, &error);
    *check_us = bench_now_us() - begin;
    return status ? bench_error_set(s->rig.error, "the check: %s", error.message) : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    saver *s = self;
    bench_results *results = s->rig.results;
    double save_us, load_us, check_us, read_us = 0, write_us = 0, out_us, in_us;
    double pipe_out_us, pipe_in_us;
    (void)number;
    if (save(s, &save_us) || load(s, &load_us, &check_us) || plain_place(s, 1, &out_us) ||
        plain_place(s, 0, &in_us) || plain_bus(s, &read_us, &write_us) ||
        plain_pipe_out(s, &pipe_out_us) || check_pipes(s, &pipe_in_us)) {
        return -1;
    }
    if (!is_measured) return 0;
    const double kilobytes = 1e-3 * (double)s->bytes;
    bench_sample(results, "save_us", "us", save_us);
    bench_sample(results, "load_us", "us", load_us);
    bench_sample(results, "save_rate", "GB/s", kilobytes / save_us);
    bench_sample(results, "load_rate", "GB/s", kilobytes / load_us);
    bench_sample(results, "check_us", "us", check_us);
    bench_sample(results, "bus_read_us", "us", read_us);
    bench_sample(results, "bus_write_us", "us", write_us);
    bench_sample(results, "out_us", "us", out_us);
    bench_sample(results, "in_us", "us", in_us);
    bench_sample(results, "pipe_out_us", "us", pipe_out_us);
    bench_sample(results, "pipe_in_us", "us", pipe_in_us);
    bench_sample(results, "save_of_pipe", "", save_us / pipe_out_us);
    bench_sample(results, "load_of_pipe", "", load_us / pipe_in_us);
    bench_sample(results, "saved_bytes", "B", (double)s->bytes);
    return 0;
}

static double median_of(const bench_results *results, const char *name) {
    for (size_t m = 0; m < results->metric_count; m++)
        if (strcmp(results->metrics[m].name, name) == 0)
            return bench_metric_median(&results->metrics[m]);
    return 0;
}

static int finish(void *self) {
    saver *s = self;
    bench_results *results = s->rig.results;
    bench_floor(results, "save_us", median_of(results, "pipe_out_us"));
    bench_floor(results, "load_us", median_of(results, "pipe_in_us"));
    bench_check(results, 1, "%u objects in %" PRIu64 " bytes: as they were saved", s->live,
                s->bytes);
    return bench_rig_verify(&s->rig, 0);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int make_objects(saver *s, double density) {
    bench_rig *rig = &s->rig;
    cl_uint seed = rig->env->seed, share = (cl_uint)(density * (double)UINT32_MAX);
    double us;
    if (bench_rig_do_new(rig, INIT, "Body", s->objects) ||
        bench_rig_arg(rig, THIN, 0, sizeof seed, &seed) ||
        bench_rig_arg(rig, THIN, 1, sizeof share, &share) || bench_rig_do_all(rig, THIN, &us)) {
        return -1;
    }
    for (uint32_t number = 0; number < s->objects; number++)
        s->live += bench_hash(number, seed) <= share;
    if (s->live == 0) return bench_error_set(rig->error, "no object is left to be saved");
    return bench_rig_arg(rig, LINK, 0, sizeof s->live, &s->live) ||
                   bench_rig_arg(rig, VERIFY, 0, sizeof s->live, &s->live) ||
                   bench_rig_do_all(rig, LINK, &us)
               ? -1
               : 0;
}

/* In the file, with its array, and a little more. */
static size_t object_bytes(const saver *s) {
    return OBJECT_BYTES + 1 + (s->array ? GROWN_WORDS + 5 * (size_t)s->array : 0);
}

static int make_memory(saver *s) {
    s->room = is_file(s) ? AT_ONCE : (size_t)s->live * object_bytes(s) + (1u << 20);
    s->memory = malloc(s->room);
    s->other = malloc(is_file(s) ? 1 : s->room);
    if (!s->copier) return bench_error_set(s->rig.error, "the threads for copies cannot be made");
    if (!s->memory || !s->other) return bench_error_set(s->rig.error, "out of memory");
    memset(s->memory, 1, s->room); /* its pages are there */
    if (!is_file(s)) memset(s->other, 1, s->room);
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"save_init", "save_thin", "save_link",
                                                    "save_verify"};
    saver *s = self;
    *s = (saver){.rig.error = &results->error,
                 .objects = (uint32_t)bench_int(values, "objects"),
                 .array = (uint32_t)bench_int(values, "array"),
                 .file = bench_text(values, "file"),
                 .level = (int)bench_int(values, "zstd"),
                 .piece = (uint32_t)bench_int(values, "piece_kb") << 10,
                 .copier = copier_create((uint32_t)bench_int(values, "threads"))};
    snprintf(s->plain, sizeof s->plain, "%s.plain", s->file);
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes = (uint64_t)s->objects * (object_bytes(s) + 8) * 5 / 4 + (16u << 20);
    if (s->array) heap_bytes += (uint64_t)s->objects * GROWN_ROOM * 5 / 4;
    snprintf(s->options, sizeof s->options, "-DARRAY=%u", s->array);
    s->heap = (bench_heap_desc){
        .clump = env->clump,
        .text = s->array ? "class Body { " FIELDS GROWN_FIELD " }" : "class Body { " FIELDS " }",
        .bytes = heap_bytes,
        .block_rows = (uint32_t)bench_int(values, "block_rows")};
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = s->heap,
        .options = s->options,
        .files = {"bench/harness/hash.clh", "bench/micro/grown.clh", "bench/micro/save_load.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&s->rig, &desc) || make_objects(s, bench_float(values, "density")) ||
                   make_memory(s)
               ? -1
               : 0;
}

static void end(void *self) {
    saver *s = self;
    if (s->file && is_file(s)) {
        unlink(s->file);
        unlink(s->plain);
    }
    bench_rig_release(&s->rig);
    free(s->memory);
    free(s->other);
    copier_destroy(s->copier);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    {"density", BENCH_FLOAT, "1", "share of them that is left alive", 0, 1, NULL},
    {"array", BENCH_INT, "0", "mean length of an array that grows; 0: there is none", 0, 4096,
     NULL},
    {"file", BENCH_STRING, "", "where to; without: memory of the host", 0, 0, NULL},
    {"threads", BENCH_INT, "1", "that copy to and from the memory of the host", 1, 64, NULL},
    {"piece_kb", BENCH_INT, "0", "of a piece; 0: the library's choice", 0, 65536, NULL},
    {"zstd", BENCH_INT, "0", "level of packing; 0: none", 0, 22, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_save_load = {
    .name = "save-load",
    .sentence = "A heap saved and loaded, to memory or to a file",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(saver),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
