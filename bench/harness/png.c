/* Writing pictures as PNG files, with libpng's simplified interface. Read first: png.h. */
#include "png.h"

#include <png.h>
#include <string.h>

int bench_png_write(const char *path, uint32_t width, uint32_t height, const uint8_t *rgb,
                    bench_error *error) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&image, path, 0, rgb, 0, NULL)) {
        return bench_error_set(error, "cannot write the picture %s: %s", path, image.message);
    }
    return 0;
}
