/* What the environment asks for. Read first: layer.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/layer/layer.h"

#define PREFIX "CLUMP_LAYER_"

int layer_write(int file, const char *text, size_t bytes) {
    while (bytes) {
        ssize_t written = write(file, text, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return 0;
        text += written;
        bytes -= (size_t)written;
    }
    return 1;
}

void layer_say(const char *format, ...) {
    char line[1024];
    va_list args;
    int bytes = snprintf(line, sizeof line, "clump-layer: ");
    va_start(args, format);
    bytes += vsnprintf(line + bytes, sizeof line - (size_t)bytes - 1, format, args);
    va_end(args);
    size_t end = (size_t)bytes < sizeof line - 1 ? (size_t)bytes : sizeof line - 2;
    line[end] = '\n';
    layer_write(STDERR_FILENO, line, end + 1);
}

/* "300000", "4M": a number of bytes above 0. */
static int read_bytes(const char *name, const char *text, uint64_t *bytes) {
    static const char units[] = "KMGT";
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    int is_number = *text >= '0' && *text <= '9' && !errno && number;
    unsigned shift = 0;
    if (is_number && *end) {
        const char *unit = strchr(units, *end);
        is_number = unit && !end[1];
        if (unit) shift = 10 * (unsigned)(unit - units + 1);
    }
    if (is_number && number <= UINT64_MAX >> shift) {
        *bytes = (uint64_t)number << shift;
        return 1;
    }
    layer_say(
        "%s=\"%.64s\" is not a number of bytes. Use digits, above 0, with or without K, M, G or T "
        "after them, such as 256M",
        name, text);
    return 0;
}

static int read_switch(const char *name, const char *text, int *value) {
    *value = strcmp(text, "1") == 0;
    if (*value || strcmp(text, "0") == 0) return 1;
    layer_say("%s=\"%.64s\" must be 0 or 1", name, text);
    return 0;
}

/* "stderr", or the name of a file; %p in it is the number of the process. */
static int open_file(const char *name, const char *text, int *file) {
    char path[4096], number[24];
    size_t at = 0;
    snprintf(number, sizeof number, "%ld", (long)getpid());
    if (strcmp(text, "stderr") == 0) {
        *file = STDERR_FILENO;
        return 1;
    }
    for (const char *c = text; *c; c++) {
        int is_number = c[0] == '%' && c[1] == 'p';
        size_t bytes = is_number ? strlen(number) : 1;
        if (at + bytes >= sizeof path) break;
        memcpy(path + at, is_number ? number : c, bytes);
        at += bytes;
        c += is_number;
    }
    path[at] = 0;
    *file = *text ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (*file >= 0) return 1;
    layer_say("%s=\"%.512s\": %s. Use the name of a file that can be written, or stderr", name,
              text, *text ? strerror(errno) : "the name is empty");
    return 0;
}

static const char *const names[] = {PREFIX "POOL", PREFIX "NO_IMAGES", PREFIX "LIMIT",
                                    PREFIX "TRACE", PREFIX "REPORT"};
enum { POOL, NO_IMAGES, LIMIT, TRACE, REPORT, NAMES };

/* A name that is misspelt would do nothing, and nobody would know. */
static int check_names(void) {
    int is_right = 1;
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0) continue;
        size_t bytes = strcspn(*entry, "="), i = 0;
        while (i < NAMES && (strlen(names[i]) != bytes || strncmp(*entry, names[i], bytes) != 0))
            i++;
        if (i < NAMES) continue;
        layer_say("unknown variable %.*s: the variables are %s, %s, %s, %s and %s", (int)bytes,
                  *entry, names[0], names[1], names[2], names[3], names[4]);
        is_right = 0;
    }
    return is_right;
}

int layer_settings_read(layer_settings *s) {
    /* Not of a program that has more rights than its user. */
    const char *values[NAMES];
    for (int i = 0; i < NAMES; i++) values[i] = secure_getenv(names[i]);
    *s = (layer_settings){.trace = -1, .report = -1};
    int is_right = check_names();
    if (values[POOL]) is_right &= read_bytes(names[POOL], values[POOL], &s->pool_bytes);
    if (values[NO_IMAGES])
        is_right &= read_switch(names[NO_IMAGES], values[NO_IMAGES], &s->no_images);
    if (values[LIMIT]) is_right &= read_bytes(names[LIMIT], values[LIMIT], &s->limit_bytes);
    if (values[NO_IMAGES] && !values[POOL]) {
        layer_say("%s applies to pooled buffers, but %s, which turns them on, is not set",
                  names[NO_IMAGES], names[POOL]);
        is_right = 0;
    }
    /* No file is made for nothing. */
    if (is_right && values[TRACE]) is_right &= open_file(names[TRACE], values[TRACE], &s->trace);
    if (is_right && values[REPORT])
        is_right &= open_file(names[REPORT], values[REPORT], &s->report);
    if (!is_right) layer_say("the layer is not loaded. The program runs without it");
    return is_right;
}

int layer_settings_any(const layer_settings *s) {
    return s->pool_bytes || s->limit_bytes || s->trace >= 0 || s->report >= 0;
}
