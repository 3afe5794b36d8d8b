/* Reading patterns. See pattern.h. */
#include "pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)6 << 28) /* the largest world as text, up to 6 bytes a cell */

typedef struct reader {
    const char *name;
    const uint8_t *at, *end;
    uint32_t line;
    life_pattern *pattern;
    bench_error *error;
} reader;

static int fail(const reader *r, const char *what) {
    return bench_error_set(r->error, "%s, line %u: %s", r->name, r->line, what);
}

/* The next byte, or -1. */
static int peek(const reader *r) {
    return r->at < r->end ? *r->at : -1;
}

static int take(reader *r) {
    int c = peek(r);
    if (c >= 0) {
        r->at++;
        r->line += c == '\n';
    }
    return c;
}

static void skip_line(reader *r) {
    for (int c = take(r); c >= 0 && c != '\n'; c = take(r)) {
    }
}

/* Spaces, and comments of `#` up to the end of the line. */
static void skip_space(reader *r) {
    for (int c = peek(r); c >= 0 && (isspace(c) || c == '#'); c = peek(r)) {
        if (c == '#') {
            skip_line(r);
        } else {
            take(r);
        }
    }
}

/* An unsigned number up to `max`. */
static int take_number(reader *r, uint32_t max, const char *what, uint32_t *number) {
    uint64_t value = 0;
    if (!isdigit(peek(r))) {
        return bench_error_set(r->error, "%s, line %u: expected %s%s", r->name, r->line, what,
                               peek(r) < 0 ? ", but the file ends" : "");
    }
    while (isdigit(peek(r))) {
        value = 10 * value + (uint64_t)(take(r) - '0');
        if (value > max) {
            return bench_error_set(r->error, "%s, line %u: %s is above %u", r->name, r->line, what,
                                   max);
        }
    }
    *number = (uint32_t)value;
    return 0;
}

static int make_cells(reader *r) {
    life_pattern *pattern = r->pattern;
    uint64_t cells = (uint64_t)pattern->width * pattern->height;
    if (cells == 0 || cells > LIFE_CELLS_MAX) {
        return bench_error_set(r->error, "%s: %u x %u cells; there must be 1 .. %u", r->name,
                               pattern->width, pattern->height, LIFE_CELLS_MAX);
    }
    pattern->cells = calloc(cells, 1);
    return pattern->cells ? 0 : bench_error_set(r->error, "%s: host memory ran out", r->name);
}

/* ---- Bitmaps and graymaps -------------------------------------------------------------------- */

/* P1: the digits need no space between them. */
static int take_bits(reader *r, size_t cells) {
    for (size_t i = 0; i < cells; i++) {
        skip_space(r);
        int c = peek(r);
        if (c != '0' && c != '1') {
            return fail(r, c < 0 ? "the file ends before all pixels were there"
                                 : "a pixel of a P1 file is 0 or 1");
        }
        r->pattern->cells[i] = take(r) == '1';
    }
    return 0;
}

/* P2. */
static int take_grays(reader *r, size_t cells, uint32_t white) {
    for (size_t i = 0; i < cells; i++) {
        uint32_t gray = 0;
        skip_space(r);
        if (take_number(r, white, "a pixel", &gray)) {
            return -1;
        }
        r->pattern->cells[i] = gray <= white / 2;
    }
    return 0;
}

/* P4: rows of bits, each filled up to a byte. */
static int take_raw_bits(reader *r) {
    uint32_t width = r->pattern->width;
    size_t row_bytes = ((size_t)width + 7) / 8;
    for (uint32_t y = 0; y < r->pattern->height; y++) {
        if ((size_t)(r->end - r->at) < row_bytes) {
            return bench_error_set(r->error, "%s: the file ends in row %u of %u", r->name, y,
                                   r->pattern->height);
        }
        for (uint32_t x = 0; x < width; x++) {
            r->pattern->cells[(size_t)y * width + x] = r->at[x / 8] >> (7 - x % 8) & 1;
        }
        r->at += row_bytes;
    }
    return 0;
}

/* P5: a byte a pixel, or two, the higher first. */
static int take_raw_grays(reader *r, size_t cells, uint32_t white) {
    size_t size = white > 255 ? 2 : 1;
    if ((size_t)(r->end - r->at) < cells * size) {
        return bench_error_set(r->error, "%s: the file has %zu bytes of pixels, not %zu", r->name,
                               (size_t)(r->end - r->at), cells * size);
    }
    for (size_t i = 0; i < cells; i++, r->at += size) {
        uint32_t gray = size == 2 ? r->at[0] * 256u + r->at[1] : r->at[0];
        if (gray > white) {
            return bench_error_set(r->error, "%s: pixel %zu is %u, above the maximum %u", r->name,
                                   i, gray, white);
        }
        r->pattern->cells[i] = gray <= white / 2;
    }
    return 0;
}

static int take_pixels(reader *r, int format, uint32_t white) {
    size_t cells = (size_t)r->pattern->width * r->pattern->height;
    switch (format) {
    case '1': return take_bits(r, cells);
    case '2': return take_grays(r, cells, white);
    case '4': return take_raw_bits(r);
    default: return take_raw_grays(r, cells, white);
    }
}

static int parse_image(reader *r) {
    uint32_t white = 1;
    int format = r->at[1];
    r->at += 2;
    if (!isspace(peek(r)) && peek(r) != '#') {
        return fail(r, "expected a space behind P1, P2, P4, P5");
    }
    skip_space(r);
    if (take_number(r, LIFE_CELLS_MAX, "the width", &r->pattern->width)) {
        return -1;
    }
    skip_space(r);
    if (take_number(r, LIFE_CELLS_MAX, "the height", &r->pattern->height)) {
        return -1;
    }
    if (format == '2' || format == '5') {
        skip_space(r);
        if (take_number(r, 65535, "the maximum gray", &white)) {
            return -1;
        }
        if (white == 0) {
            return fail(r, "the maximum gray is 0");
        }
    }
    if (format >= '4' && !isspace(take(r))) { /* exactly one: the next byte is a pixel already */
        return fail(r, "expected a space before the pixels");
    }
    if (make_cells(r) || take_pixels(r, format, white)) {
        return -1;
    }
    while (isspace(peek(r))) {
        take(r);
    }
    return peek(r) < 0 ? 0 : fail(r, "something follows the pixels; a file has one image");
}

/* ---- RLE ------------------------------------------------------------------------------------- */

static void skip_blanks(reader *r) {
    while (peek(r) == ' ' || peek(r) == '\t') {
        take(r);
    }
}

/* "NAME = " */
static int take_assignment(reader *r, const char *name) {
    skip_blanks(r);
    for (const char *c = name; *c; c++) {
        if (tolower(take(r)) != *c) {
            return bench_error_set(r->error,
                                   "%s, line %u: expected '%s =', as in x = 3, y = 3, rule = "
                                   "B3/S23",
                                   r->name, r->line, name);
        }
    }
    skip_blanks(r);
    if (take(r) != '=') {
        return bench_error_set(r->error, "%s, line %u: expected = behind %s", r->name, r->line,
                               name);
    }
    skip_blanks(r);
    return 0;
}

/* The rest of the header: nothing, or ", rule = TEXT". */
static int take_rule(reader *r) {
    size_t length = 0;
    skip_blanks(r);
    if (peek(r) == ',') {
        take(r);
        if (take_assignment(r, "rule")) {
            return -1;
        }
        while (peek(r) > ' ') {
            if (length + 1 >= sizeof r->pattern->rule) {
                return fail(r, "the rule is too long");
            }
            r->pattern->rule[length++] = (char)take(r);
        }
    }
    skip_blanks(r);
    if (peek(r) == '\r') {
        take(r);
    }
    return peek(r) == '\n' ? 0 : fail(r, "expected the end of the header's line");
}

/* Put a run of cells at (*x, *y), or end rows. */
static int put_run(reader *r, int tag, uint32_t count, uint32_t *x, uint32_t *y) {
    life_pattern *pattern = r->pattern;
    int lives = tag == 'o' || tag == 'A';
    if (tag == '$') {
        *y = count < pattern->height - *y ? *y + count : pattern->height;
        *x = 0;
        return 0;
    }
    if (*y >= pattern->height) {
        return fail(r, "there are more rows than the header says");
    }
    if (count > pattern->width - *x) {
        return fail(r, "a row is longer than the header says");
    }
    memset(pattern->cells + (size_t)*y * pattern->width + *x, lives, count);
    *x += count;
    return 0;
}

/* Ends of lines, which may be anywhere, and lines that begin with `#`. */
static void skip_line_ends(reader *r) {
    while (peek(r) == '\n' || peek(r) == '\r') {
        int is_end = take(r) == '\n';
        while (is_end && peek(r) == '#') {
            skip_line(r);
        }
    }
}

/* The count of a run, whose digits may be in two lines. Returns 1; 0 if there is none, -1 with an
 * error. */
static int take_count(reader *r, uint32_t *count) {
    uint64_t value = 0;
    int digits = 0;
    for (; isdigit(peek(r)); digits = 1, skip_line_ends(r)) {
        value = 10 * value + (uint64_t)(take(r) - '0');
        if (value > LIFE_CELLS_MAX) {
            return bench_error_set(r->error, "%s, line %u: a run is above %u", r->name, r->line,
                                   LIFE_CELLS_MAX);
        }
    }
    *count = digits ? (uint32_t)value : 1;
    return digits;
}

static int take_runs(reader *r) {
    uint32_t x = 0, y = 0;
    for (;;) {
        uint32_t count = 1;
        skip_line_ends(r);
        if (isspace(peek(r))) {
            take(r);
            continue;
        }
        int is_counted = take_count(r, &count);
        if (is_counted < 0) {
            return -1;
        }
        int tag = peek(r);
        if (tag == '!' && !is_counted) {
            return 0;
        }
        if (tag < 0 && !is_counted && y + 1 >= r->pattern->height) {
            return 0; /* some leave it out */
        }
        if (tag < 0) {
            return fail(r, "the file ends without !, and not all rows were there");
        }
        if ((tag >= 'B' && tag <= 'X') || (tag >= 'p' && tag <= 'y')) {
            return fail(r, "a cell has a third state; patterns of two states are read");
        }
        if (!memchr("bo.A$", tag, 5) || count == 0) {
            return fail(r, "expected b, o, $, each with a count or without, or !");
        }
        if (put_run(r, tag, count, &x, &y)) {
            return -1;
        }
        take(r);
    }
}

static int parse_rle(reader *r) {
    while (isspace(peek(r)) || peek(r) == '#') {
        if (peek(r) == '#') {
            skip_line(r);
        } else {
            take(r);
        }
    }
    if (take_assignment(r, "x") ||
        take_number(r, LIFE_CELLS_MAX, "the width", &r->pattern->width)) {
        return -1;
    }
    skip_blanks(r);
    if (take(r) != ',') {
        return fail(r, "expected a comma behind the width");
    }
    if (take_assignment(r, "y") ||
        take_number(r, LIFE_CELLS_MAX, "the height", &r->pattern->height)) {
        return -1;
    }
    return take_rule(r) || make_cells(r) || take_runs(r) ? -1 : 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int begins(const reader *r, const char *with) {
    size_t bytes = strlen(with);
    return (size_t)(r->end - r->at) >= bytes && memcmp(r->at, with, bytes) == 0;
}

/* What others call a pattern, too, and is not read. NULL: it is none of these. */
static const char *find_other(const reader *r) {
    static const struct {
        const char *begin, *what;
    } known[] = {
        {"\x1f\x8b", "is compressed: gzip -dc FILE > OTHER makes a file that can be read"},
        {"PK\x3\x4", "is a zip archive; unpack it first"},
        {"[M2]", "is a macrocell file: bgolly -m 0 -o OTHER.rle FILE converts it"},
        {"#Life", "is a Life 1.05 or 1.06 file: bgolly -m 0 -o OTHER.rle FILE converts it"},
        {"#MCell", "is an MCell file: bgolly -m 0 -o OTHER.rle FILE converts it"},
        {"!", "is a plain text pattern: bgolly -m 0 -o OTHER.rle FILE converts it"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (begins(r, known[i].begin)) {
            return known[i].what;
        }
    }
    return NULL;
}

int life_pattern_parse(const char *name, const void *data, size_t bytes, life_pattern *pattern,
                       bench_error *error) {
    *pattern = (life_pattern){0};
    const uint8_t *text = data, *first = text;
    reader r = {name, text, text + bytes, 1, pattern, error};
    const char *other = find_other(&r);
    int result;
    while (first < r.end && isspace(*first)) {
        first++;
    }
    if (other) {
        result = bench_error_set(error, "%s %s", name, other);
    } else if (bytes >= 2 && text[0] == 'P' && strchr("1245", text[1]) && text[1]) {
        result = parse_image(&r);
    } else if (first < r.end && (*first == '#' || *first == 'x' || *first == 'X')) {
        result = parse_rle(&r);
    } else {
        result = bench_error_set(error,
                                 "%s is no pattern: it starts neither with P1, P2, P4 or P5 "
                                 "(bitmaps, graymaps) nor with # or x (RLE)",
                                 name);
    }
    if (result) {
        life_pattern_release(pattern);
    }
    return result;
}

static int read_all(const char *path, FILE *file, uint8_t **data, size_t *bytes,
                    bench_error *error) {
    size_t capacity = 1u << 16;
    *data = malloc(capacity);
    for (*bytes = 0; *data;) {
        *bytes += fread(*data + *bytes, 1, capacity - *bytes, file);
        if (*bytes < capacity) {
            return ferror(file) ? bench_error_set(error, "cannot read %s", path) : 0;
        }
        if (capacity >= FILE_BYTES_MAX) {
            return bench_error_set(error, "%s is too long for a pattern", path);
        }
        uint8_t *larger = realloc(*data, 2 * capacity);
        if (!larger) {
            break;
        }
        *data = larger;
        capacity *= 2;
    }
    return bench_error_set(error, "host memory ran out for %s", path);
}

int life_pattern_read(const char *path, life_pattern *pattern, bench_error *error) {
    uint8_t *data = NULL;
    size_t bytes = 0;
    *pattern = (life_pattern){0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        return bench_error_set(error, "cannot open %s", path);
    }
    int result = read_all(path, file, &data, &bytes, error);
    fclose(file);
    if (result == 0) {
        result = life_pattern_parse(path, data, bytes, pattern, error);
    }
    free(data);
    return result;
}

void life_pattern_release(life_pattern *pattern) {
    free(pattern->cells);
    *pattern = (life_pattern){0};
}

int life_pattern_place(const life_pattern *pattern, const life_rules *rules, life_code *codes,
                       bench_error *error) {
    life_rules own = *rules;
    if (pattern->width > rules->width || pattern->height > rules->height) {
        return bench_error_set(error, "the pattern has %u x %u cells, the world only %u x %u",
                               pattern->width, pattern->height, rules->width, rules->height);
    }
    if (pattern->rule[0]) {
        if (life_rule_parse(pattern->rule, &own, error)) {
            return -1;
        }
        if (own.born != rules->born || own.survive != rules->survive ||
            own.states != rules->states) {
            return bench_error_set(error, "the pattern is for the rule %s, which is not this one",
                                   pattern->rule);
        }
    }
    size_t left = (rules->width - pattern->width) / 2, top = (rules->height - pattern->height) / 2;
    memset(codes, 0, (size_t)rules->width * rules->height * sizeof *codes);
    for (size_t y = 0; y < pattern->height; y++) {
        for (size_t x = 0; x < pattern->width; x++) {
            codes[(top + y) * rules->width + left + x] = pattern->cells[y * pattern->width + x];
        }
    }
    return 0;
}

/* ---- Bursts ---------------------------------------------------------------------------------- */

/* How far the living cells of a row reach from its middle, by the distance from the middle row. */
static uint32_t burst_reach(uint32_t distance) {
    static const uint8_t reach[] = {LIFE_BURST_LENGTH, 5, 3, 3, 1, 1};
    return distance < sizeof reach ? reach[distance] : 0;
}

static void put_burst(const life_rules *rules, uint32_t x, uint32_t y, life_code *codes) {
    for (uint32_t v = y - LIFE_BURST_LENGTH; v <= y + LIFE_BURST_LENGTH; v++) {
        uint32_t reach = burst_reach(v > y ? v - y : y - v);
        for (uint32_t u = x - reach; u <= x + reach; u++) {
            codes[(size_t)v * rules->width + u] = 1;
        }
    }
}

void life_fill_bursts(const life_rules *rules, life_code *codes) {
    const uint32_t margin = LIFE_BURST_LENGTH + 10, apart = LIFE_BURST_LENGTH * 21 / 10;
    memset(codes, 0, (size_t)rules->width * rules->height * sizeof *codes);
    for (uint32_t first = margin; first <= margin + apart / 2; first += apart / 2) {
        for (uint32_t x = first; x + margin < rules->width; x += apart) {
            for (uint32_t y = first; y + margin < rules->height; y += apart) {
                put_burst(rules, x, y, codes);
            }
        }
    }
}
