/* Dumps as a picture: what page.html draws, with the same colours, and with the numbers of each
 * class beside its colour. libgd draws, and has the letters. Read first: inspect.h, page.html. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

#ifndef INSPECT_PICTURES

int write_picture(const char *path, const snapshot *dumps, size_t count) {
    (void)dumps;
    (void)count;
    return complain(path,
                    "this clump-inspect was built without libgd, so it cannot draw pictures. Use "
                    "--html PAGE to write a page");
}

#else

#include <gd.h>
#include <gdfonts.h>

enum {
    WIDTH = 1000, /* of the blocks, at most */
    HEIGHT = 500, /* that they take if the cells can be chosen so */
    CELL_MOST = 24,
    MARGIN = 12,
    LINE = 17,
    KEY = 60, /* width of the colours of a class in the legend */
    TEXT_BYTES = 300
};

typedef unsigned long long ull;

typedef struct picture {
    gdImagePtr image;
    const snapshot *dumps;
    size_t count;
    int y; /* the next dump begins here */
} picture;

typedef struct panel {
    int cell, columns, rows;
} panel;

/* ---- Colours --------------------------------------------------------------------------------- */

static int same_class(const class_entry *a, const class_entry *b) {
    return strcmp(a->name, b->name) == 0 && (!a->is_raw || a->object_bytes == b->object_bytes);
}

/* A class has the same colour in all dumps: its number is that of its name, in the order in which
 * names come. An abstract class has no blocks, and no number. */
static uint32_t number_of(const picture *p, const class_entry *c) {
    uint32_t number = 0;
    for (size_t d = 0; d < p->count; d++)
        for (uint32_t i = 0; i < p->dumps[d].class_count; i++) {
            const class_entry *other = &p->dumps[d].classes[i];
            int is_known = !other->capacity;
            for (size_t e = 0; e < d && !is_known; e++)
                for (uint32_t j = 0; j < p->dumps[e].class_count && !is_known; j++)
                    is_known = same_class(&p->dumps[e].classes[j], other);
            if (is_known) continue;
            if (same_class(other, c)) return number;
            number++;
        }
    return number;
}

static double part_of_hsl(double hue, double saturation, double light, double n) {
    const double k = fmod(n + hue / 30, 12), a = saturation * fmin(light, 1 - light);
    return light - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
}

static int colour_of(const class_entry *c, uint32_t number, double fill) {
    const double hue = fmod(floor(number * 103.131 + 170 + 0.5), 270) + 40,
                 light = 0.82 - 0.47 * fill, saturation = c->is_raw ? 0.25 : 0.65;
    return gdTrueColor((int)(255 * part_of_hsl(hue, saturation, light, 0) + 0.5),
                       (int)(255 * part_of_hsl(hue, saturation, light, 8) + 0.5),
                       (int)(255 * part_of_hsl(hue, saturation, light, 4) + 0.5));
}

static const int white = gdTrueColor(255, 255, 255), black = gdTrueColor(34, 34, 34),
                 no_class = gdTrueColor(244, 244, 244), edge = gdTrueColor(196, 196, 196),
                 damaged = gdTrueColor(224, 0, 0);

/* ---- Parts ----------------------------------------------------------------------------------- */

static panel panel_of(const snapshot *s) {
    panel p = {.cell = CELL_MOST};
    const int blocks = (int)s->blocks;
    for (; p.cell > 1; p.cell--)
        if ((WIDTH / p.cell) * (HEIGHT / p.cell) >= blocks) break;
    p.columns = WIDTH / p.cell;
    if (p.columns > blocks) p.columns = blocks ? blocks : 1;
    p.rows = (blocks + p.columns - 1) / p.columns;
    return p;
}

static int lines_of_legend(const snapshot *s) {
    int lines = 2 + (s->damaged_blocks != 0);
    for (uint32_t i = 0; i < s->class_count; i++) lines += s->classes[i].blocks != 0;
    return lines;
}

static int height_of(const snapshot *s) {
    const panel p = panel_of(s);
    return 2 * LINE + p.cell * p.rows + MARGIN + LINE * lines_of_legend(s) + 2 * MARGIN;
}

static void write_text(picture *p, int x, int y, const char *text) {
    char copy[TEXT_BYTES];
    snprintf(copy, sizeof copy, "%s", text);
    gdImageString(p->image, gdFontGetSmall(), x, y, (unsigned char *)copy, black);
}

static void box(picture *p, int x, int y, int width, int height, int colour) {
    if (width > 0 && height > 0)
        gdImageFilledRectangle(p->image, x, y, x + width - 1, y + height - 1, colour);
}

static void draw_block(picture *p, const panel *at, const class_entry *c, uint32_t number,
                       uint64_t b, const cJSON *id, double fill) {
    const int gap = at->cell >= 4, size = at->cell - gap;
    const int x = MARGIN + (int)(b % (uint64_t)at->columns) * at->cell,
              y = p->y + (int)(b / (uint64_t)at->columns) * at->cell;
    box(p, x, y, size, size,
        cJSON_IsNull(id) ? damaged
        : c              ? colour_of(c, number, fill)
                         : no_class);
    if (!c && !cJSON_IsNull(id) && at->cell >= 4)
        gdImageRectangle(p->image, x, y, x + size - 1, y + size - 1, edge);
    if (c && at->cell >= 10) /* a bar at the bottom has the length of the fill */
        box(p, x, y + size - 3, (int)(size * fill), 3, colour_of(c, number, 1));
}

static void draw_blocks(picture *p, const snapshot *s, const panel *at) {
    const class_entry *classes[IDS] = {NULL};
    uint32_t numbers[IDS] = {0};
    for (uint32_t i = 0; i < s->class_count; i++) {
        classes[s->classes[i].id] = &s->classes[i];
        numbers[s->classes[i].id] = number_of(p, &s->classes[i]);
    }
    const cJSON *id = s->block_class, *used = s->block_used;
    for (uint64_t b = 0; b < s->blocks; b++, id = id->next, used = used->next) {
        const class_entry *c = cJSON_IsNull(id) ? NULL : classes[id->valueint];
        draw_block(p, at, c, c ? numbers[c->id] : 0, b, id,
                   c ? (double)used->valueint / c->capacity : 0);
    }
}

static void legend_line(picture *p, const class_entry *c, int colour, const char *text) {
    for (int x = 0; x < KEY; x++)
        box(p, MARGIN + x, p->y + 2, 1, LINE - 5,
            c ? colour_of(c, number_of(p, c), (double)x / (KEY - 1)) : colour);
    if (!c && colour == no_class)
        gdImageRectangle(p->image, MARGIN, p->y + 2, MARGIN + KEY - 1, p->y + LINE - 4, edge);
    write_text(p, MARGIN + KEY + 8, p->y, text);
    p->y += LINE;
}

static void draw_legend(picture *p, const snapshot *s) {
    char text[TEXT_BYTES], bytes[40];
    write_text(p, MARGIN, p->y, "empty full");
    p->y += LINE;
    for (uint32_t i = 0; i < s->class_count; i++) {
        const class_entry *c = &s->classes[i];
        if (!c->blocks) continue;
        snprintf(bytes, sizeof bytes, c->is_raw ? " of %llu bytes" : "", (ull)c->object_bytes);
        snprintf(text, sizeof text, "%.60s%s: %llu blocks, %llu of %llu slots taken, F %.4f",
                 c->name, bytes, (ull)c->blocks, (ull)c->objects, (ull)c->slots, c->fragmentation);
        legend_line(p, c, 0, text);
    }
    snprintf(text, sizeof text, "free: %llu blocks", (ull)s->free_blocks);
    legend_line(p, NULL, no_class, text);
    if (!s->damaged_blocks) return;
    snprintf(text, sizeof text, "damaged: %llu blocks", (ull)s->damaged_blocks);
    legend_line(p, NULL, damaged, text);
}

static void draw_dump(picture *p, const snapshot *s) {
    const panel at = panel_of(s);
    const char *name = strrchr(s->path, '/');
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.150s", name ? name + 1 : s->path);
    write_text(p, MARGIN, p->y, text);
    snprintf(text, sizeof text, "%llu bytes, %llu blocks of %llu, %llu objects, F %.4f. ",
             (ull)s->bytes, (ull)s->blocks, (ull)s->block_granules * s->granule_bytes,
             (ull)s->objects, s->fragmentation);
    write_text(p, MARGIN, p->y + LINE, text);
    p->y += 2 * LINE;
    draw_blocks(p, s, &at);
    p->y += at.cell * at.rows + MARGIN;
    draw_legend(p, s);
    p->y += 2 * MARGIN;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int write_picture(const char *path, const snapshot *dumps, size_t count) {
    picture p = {.dumps = dumps, .count = count, .y = MARGIN};
    int64_t height = MARGIN;
    for (size_t i = 0; i < count; i++) height += height_of(&dumps[i]);
    if (height <= 1 << 20) p.image = gdImageCreateTrueColor(WIDTH + 2 * MARGIN, (int)height);
    if (!p.image)
        return complain(path, "no memory for a picture of %lld lines. Draw fewer dumps",
                        (long long)height);
    gdImageFilledRectangle(p.image, 0, 0, gdImageSX(p.image), gdImageSY(p.image), white);
    for (size_t i = 0; i < count; i++) draw_dump(&p, &dumps[i]);
    FILE *file = fopen(path, "wb");
    if (file) gdImagePng(p.image, file);
    int good = file && !ferror(file);
    if (file && fclose(file)) good = 0;
    gdImageDestroy(p.image);
    return good ? 1 : complain(path, "cannot be written");
}

#endif
