/* The rule of a world, its beginning, and what can be counted in it. See model.h. */
#include "model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int refuse_rule(const char *text, bench_error *error) {
    return bench_error_set(error,
                           "'%.64s' is no rule; valid: survival/birth/states such as 23/3 or "
                           "0235678/3468/255 (2 .. 512 states), B3/S23 or S23/B3",
                           text);
}

/* Digits 0 .. 8, each at most once, as a mask. NULL, or what follows. */
static const char *parse_counts(const char *text, uint32_t *mask) {
    for (*mask = 0; isdigit((unsigned char)*text); text++) {
        uint32_t bit = 1u << (*text - '0');
        if (*text == '9' || *mask & bit) {
            return NULL;
        }
        *mask |= bit;
    }
    return text;
}

/* "B3/S23", in either order and without the stroke, too. NULL, or what follows. */
static const char *parse_named(const char *text, uint32_t *born, uint32_t *survive) {
    int seen[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int is_birth = tolower((unsigned char)*text) == 'b';
        if ((!is_birth && tolower((unsigned char)*text) != 's') || seen[is_birth]++) {
            return NULL;
        }
        text = parse_counts(text + 1, is_birth ? born : survive);
        if (!text) {
            return NULL;
        }
        text += i == 0 && *text == '/';
    }
    return text;
}

/* "23/3". NULL, or what follows. */
static const char *parse_bare(const char *text, uint32_t *born, uint32_t *survive) {
    text = parse_counts(text, survive);
    return text && *text == '/' ? parse_counts(text + 1, born) : NULL;
}

int life_rule_parse(const char *text, life_rules *rules, bench_error *error) {
    uint32_t born = 0, survive = 0;
    int is_named = isalpha((unsigned char)*text);
    const char *rest =
        is_named ? parse_named(text, &born, &survive) : parse_bare(text, &born, &survive);
    if (!rest) {
        return refuse_rule(text, error);
    }
    rules->states = 2;
    if (*rest == '/') {
        char *end = NULL;
        const char *number = rest + 1 + (is_named && tolower((unsigned char)rest[1]) == 'c');
        unsigned long states = isdigit((unsigned char)*number) ? strtoul(number, &end, 10) : 0;
        rules->states = states <= LIFE_STATES_MAX ? (uint32_t)states : 0;
        rest = end ? end : rest;
    }
    if (*rest == ':') {
        return bench_error_set(error,
                               "'%.64s' has a bounded grid; here a world has its own width and "
                               "height, and nothing lives around it",
                               text);
    }
    if (*rest || rules->states < 2) {
        return refuse_rule(text, error);
    }
    rules->born = born;
    rules->survive = survive;
    return 0;
}

int life_rules_check(const life_rules *rules, bench_error *error) {
    if (rules->width == 0 || rules->height == 0 ||
        (uint64_t)rules->width * rules->height > LIFE_CELLS_MAX) {
        return bench_error_set(error, "a world of %u x %u cells; it must have 1 .. %u",
                               rules->width, rules->height, LIFE_CELLS_MAX);
    }
    if (rules->born & 1) {
        return bench_error_set(error,
                               "a rule by which cells come alive without a living "
                               "neighbour needs all cells simulated; this has no birth "
                               "at 0");
    }
    if ((rules->born | rules->survive) >> 9 || rules->states < 2 ||
        rules->states > LIFE_STATES_MAX) {
        return bench_error_set(error, "a cell has 8 neighbours and 2 .. %u states",
                               LIFE_STATES_MAX);
    }
    return 0;
}

/* The finaliser of MurmurHash3. */
static uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}

void life_fill(const life_rules *rules, uint32_t seed, uint32_t permille, life_code *codes) {
    uint32_t cells = rules->width * rules->height;
    for (uint32_t i = 0; i < cells; i++) {
        codes[i] = mix(mix(seed + 0x9e3779b9u) ^ mix(i)) % 1000 < permille;
    }
}

uint64_t life_checksum(const life_code *codes, size_t cells) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < cells; i++) {
        hash = (hash ^ codes[i]) * 0x100000001b3u;
    }
    return hash;
}

int life_is_beside_life(const life_rules *rules, const life_code *codes, uint32_t x, uint32_t y) {
    uint32_t left = x > 0 ? x - 1 : 0, top = y > 0 ? y - 1 : 0;
    for (uint32_t v = top; v <= y + 1 && v < rules->height; v++) {
        for (uint32_t u = left; u <= x + 1 && u < rules->width; u++) {
            if ((u != x || v != y) && codes[(size_t)v * rules->width + u] == 1) {
                return 1;
            }
        }
    }
    return 0;
}

void life_mark_staying(const life_rules *rules, const life_code *before, life_code *codes) {
    for (uint32_t y = 0; y < rules->height; y++) {
        for (uint32_t x = 0; x < rules->width; x++) {
            size_t i = (size_t)y * rules->width + x;
            if (codes[i] == 0 && !life_is_beside_life(rules, codes, x, y) &&
                (before[i] != 0 || life_is_beside_life(rules, before, x, y))) {
                codes[i] = LIFE_STAYS;
            }
        }
    }
}

life_population life_count(const life_rules *rules, const life_code *codes) {
    life_population population = {0};
    for (uint32_t y = 0; y < rules->height; y++) {
        for (uint32_t x = 0; x < rules->width; x++) {
            life_code code = codes[(size_t)y * rules->width + x];
            population.alive += code == 1;
            population.dying += code > 1 && code != LIFE_STAYS;
            population.candidates +=
                code == LIFE_STAYS || (code == 0 && life_is_beside_life(rules, codes, x, y));
        }
    }
    return population;
}
