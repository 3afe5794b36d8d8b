/* Figure 4.17 of Springer's thesis, for thesis.c: traffic with each layout of the array `path` of
 * its cars.
 *
 * Read first: paper.h, bench/apps/traffic/paths.h.
 */
#ifndef BENCH_THESIS_PATHS_H
#define BENCH_THESIS_PATHS_H

/* Small set-ups are those of the test clump-bench-presets. */
#define PATH_SMALL "preset=dynasoar intersections=60 street_cells=30 steps=40 "
#define PATH_RUN(name, set)                                                                        \
    { "path-" name, "app-traffic", "preset=dynasoar check=0 " set, PATH_SMALL set }
#define PATH_RUN_FULL(name, set)                                                                   \
    { "path-" name, "app-traffic", "preset=dynasoar check=0 " set, NULL }

#define THESIS_PATH_RUNS                                                                           \
    PATH_RUN("fixed", "path=fixed"), PATH_RUN("max", "path=max"),                                  \
        PATH_RUN("packed", "path=packed"), PATH_RUN("outside", "path=outside"),                    \
        PATH_RUN_FULL("inline-2", "path=inline inside=2"),                                         \
        PATH_RUN_FULL("inline-4", "path=inline inside=4"),                                         \
        PATH_RUN("inline-6", "path=inline inside=6"),                                              \
        PATH_RUN_FULL("inline-8", "path=inline inside=8"),                                         \
        PATH_RUN("max-aos", "path=max car_fields=aos"),                                            \
        PATH_RUN("inline-6-aos", "path=inline inside=6 car_fields=aos"),                           \
        PATH_RUN("outside-aos", "path=outside car_fields=aos")

#define PATH_ROW(title, run, theirs)                                                               \
    {                                                                                              \
        {                                                                                          \
            title, theirs, "=path-" run ":phase_prepare_path_us",                                  \
                "=path-" run ":phase_prepare_path_us//path-max:phase_prepare_path_us",             \
                "=path-" run ":time_per_step_us", "#path-" run ":car_bytes",                       \
                "#path-" run ":car_outside_bytes"                                                  \
        }                                                                                          \
    }

#define THESIS_PATH_ITEM                                                                           \
    {                                                                                              \
        .name = "figure-4.17",                                                                     \
        .title = "traffic, the array `path` of cars in each layout: time and memory",              \
        .place =                                                                                   \
            "4.3.2, a plot with this text: SOA is always significantly faster than "               \
            "AOS, path in full is 15% faster than as object, and in part it is "                   \
            "slightly faster than as object from 6 elements on",                                   \
        .y_label = "prepare_path, us",                                                             \
        .head = {{"path", "thesis, relative to full", "+prepare_path, us", "relative to full",     \
                  "us a step", "bytes of a car", "outside, mean"}},                                \
        .rows = {PATH_ROW("SOA, 4.12: full", "max", "1"),                                          \
                 PATH_ROW("SOA, 4.14: as object", "packed", "full is 15% faster"),                 \
                 PATH_ROW("SOA, 4.13: 2 inside", "inline-2", ""),                                  \
                 PATH_ROW("SOA, 4.13: 4 inside", "inline-4", ""),                                  \
                 PATH_ROW("SOA, 4.13: 6 inside", "inline-6", "slightly below 1"),                  \
                 PATH_ROW("SOA, 4.13: 8 inside", "inline-8", "slightly below 1"),                  \
                 PATH_ROW("SOA, 4.11: none", "outside", ""),                                       \
                 PATH_ROW("AOS, 4.12: full", "max-aos", "significantly above"),                    \
                 PATH_ROW("AOS, 4.13: 6 inside", "inline-6-aos", "significantly above"),           \
                 PATH_ROW("AOS, 4.11: none", "outside-aos", "significantly above"),                \
                 PATH_ROW("SOA, fixed length", "fixed", "")},                                      \
        .difference =                                                                              \
            "The thesis measured its own traffic on a GeForce GTX 980, with "                      \
            "references of 8 bytes, and also varies `Cell::outgoing`. Ours is "                    \
            "DynaSOAr's program, whose kernel `prepare_path` fills and reads the "                 \
            "array. It varies only `path`, so cells, lights and their memory do not "              \
            "change. The last row is that program's array without a length."                       \
    }

#endif
