/* Rules, initial states and comparison of bodies. See model.h. */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASS_MIN 1e-18f /* between these no intermediate result leaves the normal floats */
#define MASS_MAX 1e18f
#define SPEED_MAX 1000.0f
#define LINE_BYTES 512
#define QUANTA_LOG2 14

collision_rules collision_rules_default(void) {
    collision_rules rules = {.dt = 0.01,
                             .gravity = 1,
                             .softening = 0.01,
                             .law = COLLISION_PLUMMER,
                             .merge_distance = 0.005,
                             .is_merging = 1};
    return rules;
}

collision_constants collision_find_constants(const collision_rules *rules,
                                             const collision_body *bodies, uint32_t count) {
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += (double)bodies[i].mass;
    }
    double scale = ldexp(1, QUANTA_LOG2 - ilogb(total / count));
    double g = rules->gravity_constant > 0 ? rules->gravity_constant : rules->gravity / total;
    collision_constants constants = {
        .dt = (float)rules->dt,
        .softening2 = (float)(rules->softening * rules->softening),
        .reach2 = (float)(rules->merge_distance * rules->merge_distance),
        .scale = (float)scale,
        .kick = (float)(g * rules->dt / scale)};
    return constants;
}

/* SplitMix64. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 <= number < 1, in steps of 2^-23, so that no arithmetic on it here is rounded. */
static float draw_unit(uint64_t *state) {
    return (float)(draw(state) >> 41) * 0x1p-23f;
}

collision_start collision_start_default(void) {
    return (collision_start){.extent = 1, .speed = 0.25, .mass_min = 0.5, .mass_max = 1};
}

void collision_make_random(collision_body *bodies, uint32_t count, uint32_t seed,
                           const collision_start *start) {
    uint64_t state = seed;
    float extent = (float)start->extent, speed = (float)start->speed;
    float mass_min = (float)start->mass_min;
    float mass_range = (float)(start->mass_max - start->mass_min);
    for (uint32_t i = 0; i < count; i++) {
        bodies[i].x = (draw_unit(&state) - 0.5f) * 2.0f * extent;
        bodies[i].y = (draw_unit(&state) - 0.5f) * 2.0f * extent;
        bodies[i].vx = (draw_unit(&state) - 0.5f) * 2.0f * speed;
        bodies[i].vy = (draw_unit(&state) - 0.5f) * 2.0f * speed;
        bodies[i].mass = fmaf(draw_unit(&state), mass_range, mass_min);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* NULL, or what is wrong with the body. */
static const char *find_fault(const collision_body *body) {
    if (!(fabsf(body->x) <= 1.0f && fabsf(body->y) <= 1.0f)) {
        return "x and y must lie between -1 and 1";
    }
    if (!(fabsf(body->vx) <= SPEED_MAX && fabsf(body->vy) <= SPEED_MAX)) {
        return "vx and vy must lie between -1000 and 1000";
    }
    if (!(body->mass >= MASS_MIN && body->mass <= MASS_MAX)) {
        return "the mass must lie between 1e-18 and 1e18";
    }
    return NULL;
}

/* NULL, or what is wrong with the line. */
static const char *parse_line(const char *line, collision_body *body) {
    float values[5];
    char *end;
    for (int i = 0; i < 5; i++) {
        values[i] = strtof(line, &end);
        end += strspn(end, " \t\r\n");
        if (end == line || *end != (i < 4 ? ',' : '\0')) {
            return "there must be five numbers x,y,vx,vy,mass";
        }
        line = end + 1;
    }
    *body = (collision_body){
        .x = values[0], .y = values[1], .vx = values[2], .vy = values[3], .mass = values[4]};
    return find_fault(body);
}

static int is_skipped(const char *line, uint32_t number) {
    line += strspn(line, " \t\r\n");
    return *line == '\0' || *line == '#' ||
           (number == 1 && strncmp(line, "x,y,vx,vy,mass", 14) == 0);
}

static int add_body(collision_body **bodies, uint32_t *count, uint32_t *capacity,
                    const collision_body *body) {
    if (*count == *capacity) {
        uint32_t wanted = *capacity ? 2 * *capacity : 1024;
        collision_body *more = realloc(*bodies, wanted * sizeof *more);
        if (!more) {
            return -1;
        }
        *bodies = more;
        *capacity = wanted;
    }
    (*bodies)[(*count)++] = *body;
    return 0;
}

static int read_lines(FILE *file, const char *path, collision_body **bodies, uint32_t *count,
                      bench_error *error) {
    char line[LINE_BYTES];
    uint32_t capacity = 0;
    for (uint32_t number = 1; fgets(line, sizeof line, file); number++) {
        collision_body body;
        if (!strchr(line, '\n') && !feof(file)) {
            return bench_error_set(error, "%s, line %u: longer than %d characters", path, number,
                                   LINE_BYTES - 2);
        }
        if (is_skipped(line, number)) {
            continue;
        }
        const char *fault = parse_line(line, &body);
        if (fault) {
            line[strcspn(line, "\r\n")] = '\0';
            return bench_error_set(error, "%s, line %u: %s; it says '%.80s'", path, number, fault,
                                   line);
        }
        if (*count == COLLISION_BODIES_MAX) {
            return bench_error_set(error, "%s has more than %u bodies", path, COLLISION_BODIES_MAX);
        }
        if (add_body(bodies, count, &capacity, &body)) {
            return bench_error_set(error, "host memory ran out for the bodies of %s", path);
        }
    }
    if (ferror(file)) {
        return bench_error_set(error, "%s: %s", path, strerror(errno));
    }
    return *count ? 0 : bench_error_set(error, "%s has no bodies", path);
}

int collision_read_csv(const char *path, collision_body **bodies, uint32_t *count,
                       bench_error *error) {
    FILE *file = fopen(path, "r");
    *bodies = NULL;
    *count = 0;
    if (!file) {
        return bench_error_set(error, "%s: %s", path, strerror(errno));
    }
    int result = read_lines(file, path, bodies, count, error);
    fclose(file);
    if (result) {
        free(*bodies);
        *bodies = NULL;
        *count = 0;
    }
    return result;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

uint32_t collision_count(const collision_body *bodies, uint32_t count) {
    uint32_t alive = 0;
    for (uint32_t i = 0; i < count; i++) {
        alive += bodies[i].mass > 0;
    }
    return alive;
}

static void get_bits(const collision_body *body, uint32_t bits[5]) {
    const float values[] = {body->x, body->y, body->vx, body->vy, body->mass};
    memcpy(bits, values, sizeof values);
}

uint64_t collision_checksum(const collision_body *bodies, uint32_t count) {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits[5];
        get_bits(&bodies[i], bits);
        for (unsigned j = 0; j < 20; j++) {
            hash = (hash ^ (bits[j / 4] >> j % 4 * 8 & 0xffu)) * 1099511628211u;
        }
    }
    return hash;
}

int collision_compare(const collision_body *found, const collision_body *expected, uint32_t count,
                      uint32_t step, bench_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a[5], b[5];
        get_bits(&found[i], a);
        get_bits(&expected[i], b);
        if (memcmp(a, b, sizeof a) != 0) {
            const collision_body *f = &found[i], *e = &expected[i];
            bench_error_set(error,
                            "after %u steps body %u is at (%a, %a) with velocity (%a, %a) and mass "
                            "%a; in the reference at (%a, %a) with (%a, %a) and %a; mass 0: gone",
                            step, i + 1, (double)f->x, (double)f->y, (double)f->vx, (double)f->vy,
                            (double)f->mass, (double)e->x, (double)e->y, (double)e->vx,
                            (double)e->vy, (double)e->mass);
            return 1;
        }
    }
    return 0;
}
