/* Pictures of the world. See model.h. */
#include <stdlib.h>

#include "bench/png.h"
#include "model.h"

/* Sugar from which on a cell is drawn in full yellow: most cells have far less than the capacity. */
#define SUGAR_SHOWN 150

int sugarscape_write_image(const char *path, const sugarscape_rules *rules,
                           const sugarscape_state *states, bench_error *error) {
    static const uint8_t colors[][3] = {[SUGARSCAPE_MALE] = {31, 90, 200},
                                        [SUGARSCAPE_FEMALE] = {215, 40, 60}};
    size_t cells = sugarscape_cells(rules);
    uint8_t *rgb = malloc(3 * cells);
    if (!rgb) {
        return bench_error_set(error, "host memory ran out for the picture");
    }
    for (size_t i = 0; i < cells; i++) {
        uint32_t kind = sugarscape_kind(&states[i]), sugar = states[i].sugar;
        uint32_t shown = sugar < SUGAR_SHOWN ? sugar : SUGAR_SHOWN;
        const uint8_t ground[] = {255, (uint8_t)(255 - 40 * shown / SUGAR_SHOWN),
                                  (uint8_t)(255 - 255 * shown / SUGAR_SHOWN)};
        for (int c = 0; c < 3; c++) {
            rgb[3 * i + (size_t)c] = kind ? colors[kind][c] : ground[c];
        }
    }
    int result = bench_png_write(path, rules->width, rules->height, rgb, error);
    free(rgb);
    return result;
}
