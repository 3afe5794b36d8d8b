/* The list of all benchmarks. A new one gets a line here and one in registry.h.
 *
 * Read first: bench.h.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "registry.h"

static const bench_descriptor *const benchmarks[] = {
    /* clang-format off */
    &bench_alloc_scalability,
    &bench_alloc_mixed,
    &bench_alloc_churn,
    &bench_alloc_exhaust,
    &bench_alloc_capacity,
    &bench_alloc_bulk,
    &bench_start_up,
    &bench_enumerate,
    &bench_field_bandwidth,
    &bench_dispatch,
    &bench_fuse,
    &bench_queues,
    &bench_host_access,
    &bench_save_load,
    &bench_extract,
    &bench_evict,
    &bench_convert,
    &bench_map,
    &bench_vector,
    &bench_grid,
    &bench_arrays,
    &bench_graph,
    &bench_survey_alloc,
    &bench_survey_oom,
    &bench_survey_work,
    &bench_survey_graph_init,
    &bench_survey_graph_update,
    &bench_compact_synthetic,
    &bench_compact_quality,
    &bench_compact_passes,
    &bench_capacity,
    &bench_app_wa_tor,
    &bench_app_nbody,
    &bench_app_collision,
    &bench_app_game_of_life,
    &bench_app_generation,
    &bench_app_structure,
    &bench_app_barnes_hut,
    &bench_app_sugarscape,
    &bench_app_traffic,
    &bench_mark_graph,
    &bench_mark_random,
    &bench_mark_list,
    &bench_mark_lists,
    &bench_mark_hourglass,
    &bench_mark_wide,
    &bench_mark_single,
    &bench_mark_vp_list,
    &bench_mark_vp_arrays,
    &bench_mark_synthetic,
    &bench_pool_alloc,
    &bench_pool_fit,
    &bench_pool_trace,
    &bench_pool_defrag,
    /* clang-format on */
};

size_t bench_registry_count(void) {
    return sizeof benchmarks / sizeof *benchmarks;
}

const bench_descriptor *bench_registry_get(size_t index) {
    return benchmarks[index];
}

const bench_descriptor *bench_registry_find(const char *name, bench_error *error) {
    char names[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < bench_registry_count(); i++) {
        if (strcmp(benchmarks[i]->name, name) == 0) {
            return benchmarks[i];
        }
        if (used < sizeof names) {
            int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                             benchmarks[i]->name);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    bench_error_set(error, "no benchmark is called '%.64s'; there are: %s", name, names);
    return NULL;
}
