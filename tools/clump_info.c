/* clump-info: what the library finds out about each OpenCL device, and which code paths it picks.
 *
 *   clump-info [--json] [--measure] [--device SUBSTRING]
 *   clump-info --version
 *
 * SUBSTRING, in any case, is looked for in "platform / device". Exit status 0; 1 if there is no
 * such device; 2 for an argument that is none. A device that the library cannot use is listed with
 * the reason. --measure also measures each of them, in at most half a minute.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clump/all.h"
#include "measure.h"

#define PLATFORMS_MAX 32
#define DEVICES_MAX 64

typedef struct options {
    int json, measure;
    const char *device; /* NULL: all */
} options;

/* One device: the names that are always there, and the capabilities or why there are none. */
typedef struct entry {
    char platform[256], device[256];
    clump_status status;
    clump_capabilities capabilities;
    clump_error error;
} entry;

static const struct {
    uint32_t bit;
    const char *name;
} features[] = {
    {CLUMP_FEATURE_INT64_ATOMICS, "int64_atomics"},
    {CLUMP_FEATURE_PTX, "ptx"},
    {CLUMP_FEATURE_SUBGROUPS, "subgroups"},
    {CLUMP_FEATURE_FP64, "fp64"},
};
#define FEATURES (sizeof features / sizeof *features)

static const struct {
    uint32_t bit;
    const char *name;
} pointers[] = {
    {CLUMP_POINTERS_SVM, "svm"},           {CLUMP_POINTERS_USM_DEVICE, "usm_device"},
    {CLUMP_POINTERS_USM_HOST, "usm_host"}, {CLUMP_POINTERS_USM_SHARED, "usm_shared"},
    {CLUMP_POINTERS_ADDRESS, "address"},
};
#define POINTERS (sizeof pointers / sizeof *pointers)

/* Is `part` in `text`, whatever the case? */
static int contains(const char *text, const char *part) {
    size_t length = strlen(part);
    for (;; text++) {
        size_t i = 0;
        while (i < length && text[i] &&
               tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length) return 1;
        if (!*text) return 0;
    }
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void print_bytes(const char *label, uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) value /= 1024;
    printf("  %-20s %.4g %s\n", label, value, units[unit]);
}

static void print_features(const clump_capabilities *c) {
    printf("  %-20s", "features");
    if (!c->features_found) printf(" none");
    for (size_t i = 0; i < FEATURES; i++)
        if (c->features_found & features[i].bit)
            printf(" %s%s", features[i].name, c->features & features[i].bit ? "" : " (off)");
    printf("\n");
}

static void print_pointers(const clump_capabilities *c) {
    printf("  %-20s", "memory with pointers");
    if (!c->pointers) printf(" none");
    for (size_t i = 0; i < POINTERS; i++)
        if (c->pointers & pointers[i].bit) printf(" %s", pointers[i].name);
    printf("\n");
}

/* The one that a context chooses, as clump-compile spells it. */
static const char *personality_of(const clump_capabilities *c) {
    return c->is_cpu ? "cpu" : "gpu";
}

static void print_text(const entry *e) {
    const clump_capabilities *c = &e->capabilities;
    printf("%s / %s\n", e->platform, e->device);
    if (e->status) {
        printf("  cannot be used: %s\n", e->error.message);
        return;
    }
    printf("  %-20s %s\n", "version", c->device_version);
    printf("  %-20s %s\n", "driver", c->driver_version);
    printf("  %-20s %s\n", "kind", c->is_cpu ? "CPU" : "GPU or accelerator");
    printf("  %-20s %u\n", "compute units", c->compute_units);
    print_bytes("memory", c->memory_bytes);
    print_bytes("largest buffer", c->allocation_bytes);
    print_bytes("local memory", c->local_bytes);
    printf("  %-20s %u bytes\n", "base alignment", c->base_align_bytes);
    printf("  %-20s %u\n", "largest work-group", c->work_group_max);
    print_features(c);
    printf("  %-20s %s\n", "language", c->language);
    printf("  %-20s %s\n", "personality", personality_of(c));
    print_pointers(c);
    printf("  code paths\n");
    printf("    %-18s %u bits\n", "bitmap words", c->word_bits);
    printf("    %-18s %s: %s\n", "coalescing", c->coalescing, c->coalescing_reason);
    printf("    %-18s %s\n", "mapping", c->mapping);
    if (c->sub_buffers_most)
        printf("    %-18s %u, then another chunk\n", "sub-buffers", c->sub_buffers_most);
    else
        printf("    %-18s any number of a chunk\n", "sub-buffers");
}

/* After the point, so that there are about four in all. */
static int digits_of(double value) {
    return value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 5;
}

static void print_measured(void *user, const char *name, double value) {
    (void)user;
    if (!isfinite(value))
        printf("    %-39s -\n", name);
    else
        printf("    %-39s %.*f\n", name, digits_of(value), value);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Bytes that are not ASCII pass as they are: OpenCL's names are taken for UTF-8. */
static void json_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

static void json_text(const char *name, const char *value) {
    printf(",\n    \"%s\": ", name);
    json_string(value);
}

static void json_number(const char *name, uint64_t value) {
    printf(",\n    \"%s\": %llu", name, (unsigned long long)value);
}

static void json_features(const char *name, uint32_t bits) {
    const char *separator = "";
    printf(",\n    \"%s\": [", name);
    for (size_t i = 0; i < FEATURES; i++) {
        if (!(bits & features[i].bit)) continue;
        printf("%s\"%s\"", separator, features[i].name);
        separator = ", ";
    }
    printf("]");
}

static void json_pointers(uint32_t bits) {
    const char *separator = "";
    printf(",\n    \"pointers\": [");
    for (size_t i = 0; i < POINTERS; i++) {
        if (!(bits & pointers[i].bit)) continue;
        printf("%s\"%s\"", separator, pointers[i].name);
        separator = ", ";
    }
    printf("]");
}

static void print_json(const entry *e) {
    const clump_capabilities *c = &e->capabilities;
    printf("{\n    \"platform\": ");
    json_string(e->platform);
    json_text("device", e->device);
    json_text("status", clump_status_name(e->status));
    if (e->status) {
        json_text("error", e->error.message);
        return;
    }
    json_text("version", c->device_version);
    json_text("driver", c->driver_version);
    printf(",\n    \"is_cpu\": %s", c->is_cpu ? "true" : "false");
    json_features("features", c->features);
    json_features("features_found", c->features_found);
    json_text("language", c->language);
    json_text("personality", personality_of(c));
    json_number("compute_units", c->compute_units);
    json_number("memory_bytes", c->memory_bytes);
    json_number("allocation_bytes", c->allocation_bytes);
    json_number("local_bytes", c->local_bytes);
    json_number("base_align_bytes", c->base_align_bytes);
    json_number("work_group_max", c->work_group_max);
    json_pointers(c->pointers);
    json_number("word_bits", c->word_bits);
    json_text("coalescing", c->coalescing);
    json_text("coalescing_reason", c->coalescing_reason);
    json_text("mapping", c->mapping);
    json_number("sub_buffers_most", c->sub_buffers_most);
}

/* `user`: what comes before it. */
static void json_measured(void *user, const char *name, double value) {
    const char **separator = user;
    printf("%s\n      \"%s\": ", *separator, name);
    *separator = ",";
    if (!isfinite(value))
        printf("null");
    else
        printf("%.*f", digits_of(value), value);
}

/* ---- Devices ------------------------------------------------------------------------------- */

static void measure(const options *o, cl_device_id device) {
    const char *separator = "";
    printf(o->json ? ",\n    \"measured\": {" : "  measured\n");
    fflush(stdout); /* before a device that ends the process */
    const char *failed =
        measure_device(device, o->json ? json_measured : print_measured, &separator);
    if (o->json) printf("}");
    if (failed) fprintf(stderr, "clump-info: %s failed, so nothing was measured\n", failed);
}

/* List the devices of one platform; returns how many. */
static unsigned list_platform(cl_platform_id platform, const options *o, unsigned listed) {
    cl_device_id devices[DEVICES_MAX];
    cl_uint count = 0;
    unsigned before = listed;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &count)) return 0;
    for (cl_uint i = 0; i < count && i < DEVICES_MAX; i++) {
        static entry e; /* a clump_error is large */
        char name[sizeof e.platform + sizeof e.device + 3];
        memset(&e, 0, sizeof e);
        if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof e.platform, e.platform, NULL))
            strcpy(e.platform, "?");
        if (clGetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof e.device, e.device, NULL))
            strcpy(e.device, "?");
        snprintf(name, sizeof name, "%s / %s", e.platform, e.device);
        if (o->device && !contains(name, o->device)) continue;
        e.capabilities.size = sizeof e.capabilities;
        e.status = clump_device_probe(devices[i], 0, &e.capabilities, &e.error);
        if (!o->json) {
            print_text(&e);
        } else {
            printf(listed ? ", " : "\n  ");
            print_json(&e);
        }
        if (o->measure && !e.status) measure(o, devices[i]);
        printf(o->json ? "\n  }" : "\n");
        listed++;
    }
    return listed - before;
}

static unsigned list_all(const options *o) {
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint count = 0;
    unsigned listed = 0;
    if (clGetPlatformIDs(PLATFORMS_MAX, platforms, &count)) count = 0; /* none is an error too */
    if (o->json) {
        printf("{\n  \"clump\": ");
        json_string(CLUMP_VERSION_TEXT);
        printf(",\n  \"devices\": [");
    } else {
        printf("Clump %s\n\n", CLUMP_VERSION_TEXT);
    }
    for (cl_uint i = 0; i < count && i < PLATFORMS_MAX; i++)
        listed += list_platform(platforms[i], o, listed);
    if (o->json) printf("]\n}\n");
    return listed;
}

static int usage(FILE *out) {
    fprintf(out,
            "usage: clump-info [--json] [--measure] [--device SUBSTRING]\n"
            "Lists OpenCL devices as the library sees them, and the code paths it picks.\n"
            "  --json              the same as JSON\n"
            "  --measure           also what launches, transfers and so on cost: half a minute\n"
            "                      for each device\n"
            "  --version           the version of the library, and nothing else\n"
            "  --device SUBSTRING  only devices with this in \"platform / device\"\n"
            "Exit status: 0 for success, 1 if there is no such device, 2 for a wrong argument.\n");
    return out == stderr ? 2 : 0;
}

int main(int argc, char **argv) {
    options o = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            o.json = 1;
        else if (strcmp(argv[i], "--measure") == 0)
            o.measure = 1;
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            o.device = argv[++i];
        else if (strcmp(argv[i], "--version") == 0)
            return printf("%s\n", CLUMP_VERSION_TEXT) < 0;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return usage(stdout);
        else
            return usage(stderr);
    }
    unsigned listed = list_all(&o);
    if (listed) return fflush(stdout) != 0;
    if (o.device)
        fprintf(stderr, "clump-info: no OpenCL device has \"%s\" in its name\n", o.device);
    else
        fprintf(stderr, "clump-info: no OpenCL device was found\n");
    return 1;
}
