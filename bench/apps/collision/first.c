/* See first.h. */
#include <stdlib.h>

#include "first.h"

int collision_first_bodies(bench_app *app, collision_body **bodies, uint32_t *count) {
    const char *path = bench_text(app->values, "input");
    if (path[0]) {
        if (collision_read_csv(path, bodies, count, app->error)) {
            return -1;
        }
        bench_note(app->results, "%u bodies from %.400s", *count, path);
        return 0;
    }
    *count = bench_u32(app->values, "bodies");
    *bodies = malloc(*count * sizeof **bodies);
    if (!*bodies) {
        return bench_error_set(app->error, "host memory ran out for the bodies");
    }
    collision_make_random(*bodies, *count, bench_u32(app->values, "seed"), 0);
    return 0;
}
