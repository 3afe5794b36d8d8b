/* Pictures of the world. See model.h. */
#include "model.h"

/* Sugar from which on a cell is drawn in full yellow: most cells have far less than the
 * capacity. */
#define SUGAR_SHOWN 100

void sugarscape_paint(const sugarscape_state *states, size_t cells, uint8_t *rgb) {
    static const uint8_t colors[][3] = {
        [SUGARSCAPE_MALE] = {31, 90, 200}, [SUGARSCAPE_FEMALE] = {215, 40, 60}};
    for (size_t i = 0; i < cells; i++) {
        uint32_t kind = sugarscape_kind(&states[i]), sugar = states[i].sugar;
        uint32_t shown = sugar < SUGAR_SHOWN ? sugar : SUGAR_SHOWN;
        const uint8_t ground[] = {255, (uint8_t)(255 - 50 * shown / SUGAR_SHOWN),
                                  (uint8_t)(255 - 255 * shown / SUGAR_SHOWN)};
        for (size_t c = 0; c < 3; c++) {
            rgb[3 * i + c] = kind ? colors[kind][c] : ground[c];
        }
    }
}
