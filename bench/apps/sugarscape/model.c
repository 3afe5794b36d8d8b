/* Rules, states and their comparison. See model.h. */
#include "model.h"

sugarscape_rules sugarscape_rules_default(void) {
    return (sugarscape_rules){.width = 512,
                              .height = 512,
                              .seed = 42,
                              .male_permille = 120,
                              .female_permille = 150,
                              .max_vision = 2,
                              .max_age = 100,
                              .max_endowment = 200,
                              .max_metabolism = 80,
                              .max_children = 8,
                              .mating_age = 22,
                              .capacity = 3500,
                              .source_permille = 400,
                              .max_growth = 50,
                              .diffusion = 6,
                              .max_diffusion = 7};
}

typedef struct limit {
    const char *name;
    uint32_t value, least, most;
} limit;

int sugarscape_rules_finish(sugarscape_rules *rules, bench_error *error) {
    const limit limits[] = {
        {"width", rules->width, 1, UINT16_MAX},
        {"height", rules->height, 1, UINT16_MAX},
        {"males and females together", rules->male_permille + rules->female_permille, 0, 1000},
        {"max_vision", rules->max_vision, 1, SUGARSCAPE_VISION_MAX},
        {"max_age", rules->max_age, 1, UINT16_MAX - 1},
        {"max_endowment", rules->max_endowment, 1, UINT16_MAX},
        {"max_metabolism", rules->max_metabolism, 1, UINT16_MAX},
        {"max_children", rules->max_children, 1, UINT8_MAX},
        {"mating_age", rules->mating_age, 0, UINT16_MAX},
        {"capacity", rules->capacity, 0, 1u << 20},
        {"sources", rules->source_permille, 0, 1000},
        {"max_growth", rules->max_growth, 1, UINT8_MAX},
        {"diffusion", rules->diffusion, 3, 31}, /* 8 neighbours: 3 gives all away */
        {"max_diffusion", rules->max_diffusion, 0, UINT8_MAX},
    };
    const limit others[] = {
        /* what a first agent has at least must not be 0 */
        {"max_vision under DynaSOAr's rules", rules->max_vision, 2, SUGARSCAPE_VISION_MAX},
        {"max_age under DynaSOAr's rules", rules->max_age, 3, UINT16_MAX - 1},
        {"max_endowment under DynaSOAr's rules", rules->max_endowment, 4, UINT16_MAX},
        {"max_metabolism under DynaSOAr's rules", rules->max_metabolism, 3, UINT16_MAX},
        {"max_children under DynaSOAr's rules", rules->max_children, 3, UINT8_MAX},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others && rules->is_dynasoar; i++) {
        if (others[i].value < others[i].least || others[i].value > others[i].most) {
            return bench_error_set(error, "%s must be %u to %u, not %u", others[i].name,
                                   others[i].least, others[i].most, others[i].value);
        }
    }
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].value < limits[i].least || limits[i].value > limits[i].most) {
            return bench_error_set(error, "%s must be %u to %u, not %u", limits[i].name,
                                   limits[i].least, limits[i].most, limits[i].value);
        }
    }
    uint32_t frame = 2 * rules->max_vision, row = SUGARSCAPE_ROW;
    rules->pitch = (rules->width + frame + row - 1) / row * row;
    if ((uint64_t)rules->pitch * (rules->height + frame) > SUGARSCAPE_CELLS_MAX) {
        return bench_error_set(error, "%u x %u cells are more than 2^27 with their frame",
                               rules->width, rules->height);
    }
    return 0;
}

size_t sugarscape_cells(const sugarscape_rules *rules) {
    return (size_t)rules->width * rules->height;
}

uint32_t sugarscape_grid_cells(const sugarscape_rules *rules) {
    return rules->pitch * (rules->height + 2 * rules->max_vision);
}

size_t sugarscape_list_first(const sugarscape_rules *rules, uint32_t kind, uint32_t *numbers) {
    size_t count = 0;
    for (uint32_t y = 0; y < rules->height; y++) {
        for (uint32_t x = 0; x < rules->width; x++) {
            numbers[count] = sugarscape_number(rules, x, y);
            count += sugarscape_first_kind(rules, numbers[count]) == kind;
        }
    }
    return count;
}

sugarscape_census sugarscape_count(const sugarscape_state *states, size_t cells) {
    sugarscape_census census = {0, 0, 0, 0};
    for (size_t i = 0; i < cells; i++) {
        census.males += sugarscape_kind(&states[i]) == SUGARSCAPE_MALE;
        census.females += sugarscape_kind(&states[i]) == SUGARSCAPE_FEMALE;
        census.cell_sugar += states[i].sugar;
        census.agent_sugar += states[i].agent_sugar;
    }
    return census;
}

uint64_t sugarscape_checksum(const sugarscape_state *states, size_t cells) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < cells; i++) {
        const sugarscape_state *s = &states[i];
        const uint32_t words[] = {s->sugar, s->agent_sugar, s->ages, s->needs, s->traits};
        for (unsigned bit = 0; bit < 5 * 32; bit += 8) {
            hash = (hash ^ (words[bit / 32] >> bit % 32 & 0xffu)) * 1099511628211u;
        }
    }
    return hash;
}

int sugarscape_compare(const sugarscape_rules *rules, const sugarscape_state *found,
                       const sugarscape_state *expected, uint32_t steps, bench_error *error) {
    size_t cells = sugarscape_cells(rules);
    for (size_t i = 0; i < cells; i++) {
        const sugarscape_state *f = &found[i], *e = &expected[i];
        if (f->sugar != e->sugar || f->agent_sugar != e->agent_sugar || f->ages != e->ages ||
            f->needs != e->needs || f->traits != e->traits) {
            bench_error_set(error,
                            "after %u steps cell (%zu, %zu) has sugar %u, agent sugar %u ages %08x "
                            "needs %08x traits %08x; in the reference %u, %u %08x %08x %08x",
                            steps, i % rules->width, i / rules->width, f->sugar, f->agent_sugar,
                            f->ages, f->needs, f->traits, e->sugar, e->agent_sugar, e->ages,
                            e->needs, e->traits);
            return 1;
        }
    }
    return 0;
}

static const char *find_fault(const sugarscape_rules *rules, const sugarscape_state *s) {
    uint32_t kind = sugarscape_kind(s), vision = s->traits >> 8 & 0xffu;
    if (kind == SUGARSCAPE_NOBODY) {
        return s->agent_sugar || s->ages || s->needs || s->traits ? "nobody with properties" : NULL;
    }
    return kind > SUGARSCAPE_FEMALE                      ? "an agent of no kind"
           : vision == 0 || vision > rules->max_vision   ? "an agent of wrong vision"
           : (s->ages & 0xffffu) > s->ages >> 16         ? "an agent that is too old"
           : s->ages >> 16 > rules->max_age              ? "an agent of too great an age"
           : (s->needs & 0xffffu) > rules->max_endowment ? "an agent of wrong endowment"
           : s->needs >> 16 > rules->max_metabolism      ? "an agent of wrong metabolism"
           : (s->traits >> 16 & 0xffu) > s->traits >> 24 ? "too large a family"
           : s->traits >> 24 > rules->max_children       ? "an agent of wrong fertility"
           : kind == SUGARSCAPE_MALE && s->traits >> 16  ? "a male with a female's fields"
                                                         : NULL;
}

int sugarscape_check(const sugarscape_rules *rules, const sugarscape_state *states,
                     bench_error *error) {
    size_t cells = sugarscape_cells(rules);
    for (size_t i = 0; i < cells; i++) {
        const char *fault = find_fault(rules, &states[i]);
        if (fault) {
            bench_error_set(error, "on cell (%zu, %zu) is %s", i % rules->width, i / rules->width,
                            fault);
            return 1;
        }
    }
    return 0;
}
