/* Maps from files. See network.h; README.md has the format.
 *
 * Streets may stand in front of the intersections that they join, so all lines are read first and
 * ids are looked up afterwards.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

#define LINE_BYTES 512
#define WORDS_MAX 6 /* one more than any line may have */
#define COORDINATE_MAX 1e6

typedef struct named_intersection {
    uint64_t id;
    uint32_t line;
    traffic_intersection intersection;
} named_intersection;

typedef struct named_street {
    uint64_t from, to;
    uint32_t line, cells, limit;
} named_street;

typedef struct reader {
    const char *path;
    uint32_t line;
    char *words[WORDS_MAX];
    int word_count;
    named_intersection *intersections;
    named_street *streets;
    uint32_t intersection_count, intersection_room, street_count, street_room;
    bench_error *error;
} reader;

/* Room for one more element; -1 if memory ran out. */
static int reserve(reader *r, void **array, uint32_t count, uint32_t *room, size_t bytes) {
    if (count < *room) {
        return 0;
    }
    uint32_t more = *room ? 2 * *room : 256;
    void *moved = realloc(*array, more * bytes);
    if (!moved) {
        return bench_error_set(r->error, "host memory ran out for %s", r->path);
    }
    *array = moved;
    *room = more;
    return 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static int fail(const reader *r, uint32_t line, const char *what) {
    return bench_error_set(r->error, "%s, line %u: %s", r->path, line, what);
}

/* Word `i` is not what it should be. */
static int fail_word(const reader *r, int i, const char *should) {
    return bench_error_set(r->error, "%s, line %u: '%.80s' is no %s", r->path, r->line, r->words[i],
                           should);
}

static void split(reader *r, char *line) {
    r->word_count = 0;
    line[strcspn(line, "#\r\n")] = '\0';
    for (char *at = line; *(at += strspn(at, " \t")) && r->word_count < WORDS_MAX;) {
        r->words[r->word_count++] = at;
        at += strcspn(at, " \t");
        if (*at) {
            *at++ = '\0';
        }
    }
}

static int get_whole(const reader *r, int i, uint64_t min, uint64_t max, const char *should,
                     uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(r->words[i], &end, 10);
    if (!isdigit((unsigned char)r->words[i][0]) || *end || errno || *value < min || *value > max) {
        return fail_word(r, i, should);
    }
    return 0;
}

static int get_coordinate(const reader *r, int i, float *value) {
    char *end;
    double number = strtod(r->words[i], &end);
    if (end == r->words[i] || *end || !(fabs(number) <= COORDINATE_MAX)) {
        return fail_word(r, i, "coordinate, a number from -1000000 to 1000000");
    }
    *value = (float)number;
    return 0;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int read_intersection(reader *r) {
    named_intersection found = {.line = r->line};
    const char *id = "id, a whole number from 0 to 18446744073709551615";
    if (r->word_count < 4 || r->word_count > 5) {
        return fail(r, r->line, "there must be: intersection ID X Y [light|yield]");
    }
    if (get_whole(r, 1, 0, UINT64_MAX, id, &found.id) ||
        get_coordinate(r, 2, &found.intersection.x) ||
        get_coordinate(r, 3, &found.intersection.y)) {
        return -1;
    }
    if (r->word_count == 5 && strcmp(r->words[4], "yield") == 0) {
        found.intersection.control = TRAFFIC_YIELD;
    } else if (r->word_count == 5 && strcmp(r->words[4], "light") != 0) {
        return fail_word(r, 4, "control; valid: light, yield");
    }
    if (r->intersection_count == TRAFFIC_INTERSECTIONS_MAX) {
        return fail(r, r->line, "there are more than 4000000 intersections");
    }
    void *array = r->intersections;
    if (reserve(r, &array, r->intersection_count, &r->intersection_room, sizeof found)) {
        return -1;
    }
    r->intersections = array;
    r->intersections[r->intersection_count++] = found;
    return 0;
}

static int read_street(reader *r) {
    named_street found = {.line = r->line};
    const char *id = "id of an intersection";
    uint64_t cells, limit;
    if (r->word_count != 5) {
        return fail(r, r->line, "there must be: street FROM TO CELLS LIMIT");
    }
    if (get_whole(r, 1, 0, UINT64_MAX, id, &found.from) ||
        get_whole(r, 2, 0, UINT64_MAX, id, &found.to) ||
        get_whole(r, 3, 1, TRAFFIC_STREET_CELLS_MAX, "length, 1 to 100000 cells", &cells) ||
        get_whole(r, 4, 1, TRAFFIC_VELOCITY_MAX, "speed limit, 1 to 10 cells a step", &limit)) {
        return -1;
    }
    if (found.from == found.to) {
        return fail(r, r->line, "a street must lead to another intersection");
    }
    found.cells = (uint32_t)cells;
    found.limit = (uint32_t)limit;
    void *array = r->streets;
    if (reserve(r, &array, r->street_count, &r->street_room, sizeof found)) {
        return -1;
    }
    r->streets = array;
    r->streets[r->street_count++] = found;
    return 0;
}

static int read_line(reader *r) {
    if (r->word_count == 0) {
        return 0;
    }
    if (strcmp(r->words[0], "intersection") == 0) {
        return read_intersection(r);
    }
    return strcmp(r->words[0], "street") == 0
               ? read_street(r)
               : fail_word(r, 0, "word to begin with; valid: intersection, street");
}

static int read_lines(reader *r, FILE *file) {
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        r->line++;
        if (!strchr(line, '\n') && !feof(file)) {
            return fail(r, r->line, "longer than 510 characters");
        }
        split(r, line);
        if (read_line(r)) {
            return -1;
        }
    }
    if (ferror(file)) {
        return bench_error_set(r->error, "%s: %s", r->path, strerror(errno));
    }
    return r->street_count ? 0 : bench_error_set(r->error, "%s has no streets", r->path);
}

/* ---- Ids ------------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b) {
    const named_intersection *x = a, *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The index of an intersection; TRAFFIC_NONE and an error if there is none. */
static uint32_t find(const reader *r, uint64_t id, uint32_t line) {
    named_intersection key = {.id = id};
    uint32_t low = 0, high = r->intersection_count; /* by id alone: the key's line is 0 */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_ids(&r->intersections[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < r->intersection_count && r->intersections[low].id == id) {
        return low;
    }
    bench_error_set(r->error, "%s, line %u: there is no intersection %llu", r->path, line,
                    (unsigned long long)id);
    return TRAFFIC_NONE;
}

static int fail_degree(const reader *r, const named_street *street, const char *verb, uint64_t id) {
    return bench_error_set(r->error, "%s, line %u: more than %d streets %s at intersection %llu",
                           r->path, street->line, TRAFFIC_DEGREE_MAX, verb, (unsigned long long)id);
}

/* Streets by index; `degrees` has two counters for each intersection, zero. */
static int resolve(const reader *r, traffic_map *map, uint8_t *degrees) {
    for (uint32_t i = 0; i < r->street_count; i++) {
        const named_street *named = &r->streets[i];
        uint32_t from = find(r, named->from, named->line);
        uint32_t to = from == TRAFFIC_NONE ? from : find(r, named->to, named->line);
        if (to == TRAFFIC_NONE) {
            return -1;
        }
        if (degrees[2 * (size_t)from]++ == TRAFFIC_DEGREE_MAX) {
            return fail_degree(r, named, "begin", named->from);
        }
        if (degrees[2 * (size_t)to + 1]++ == TRAFFIC_DEGREE_MAX) {
            return fail_degree(r, named, "end", named->to);
        }
        map->streets[i] = (traffic_street){from, to, named->cells, named->limit};
    }
    map->street_count = r->street_count;
    return 0;
}

static int make_map(reader *r, traffic_map *map) {
    uint32_t count = r->intersection_count;
    if (count) {
        qsort(r->intersections, count, sizeof *r->intersections, compare_ids);
    }
    for (uint32_t i = 1; i < count; i++) {
        if (r->intersections[i].id == r->intersections[i - 1].id) {
            return bench_error_set(r->error, "%s, line %u: intersection %llu is in line %u already",
                                   r->path, r->intersections[i].line,
                                   (unsigned long long)r->intersections[i].id,
                                   r->intersections[i - 1].line);
        }
    }
    map->intersections = calloc(count + (size_t)1, sizeof *map->intersections);
    map->streets = calloc(r->street_count + (size_t)1, sizeof *map->streets);
    uint8_t *degrees = calloc(count + (size_t)1, 2);
    int result = map->intersections && map->streets && degrees
                     ? resolve(r, map, degrees)
                     : bench_error_set(r->error, "host memory ran out for %s", r->path);
    free(degrees);
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        map->intersections[i] = r->intersections[i].intersection;
    }
    map->intersection_count = count;
    return result;
}

int traffic_map_read(const char *path, traffic_map *map, bench_error *error) {
    reader r = {.path = path, .error = error};
    FILE *file = fopen(path, "r");
    *map = (traffic_map){0};
    if (!file) {
        return bench_error_set(error, "%s: %s", path, strerror(errno));
    }
    int result = read_lines(&r, file);
    fclose(file);
    if (result == 0) {
        result = make_map(&r, map);
    }
    if (result) {
        traffic_map_release(map);
    }
    free(r.intersections);
    free(r.streets);
    return result;
}
