/* The variants behind one set of calls. See wa_tor.h. */
#include <stdlib.h>

#include "wa_tor.h"

int wa_tor_any_create(const wa_tor_desc *desc, wa_tor_any *any, bench_error *error) {
    *any = (wa_tor_any){NULL, NULL, NULL};
    const char *fault = wa_tor_rules_check(&desc->rules);
    if (fault) {
        return bench_error_set(error, "%s", fault);
    }
    switch (desc->variant) {
    case WA_TOR_CLUMP: return wa_tor_heap_create(desc, &any->heap, error);
    case WA_TOR_SOA:
    case WA_TOR_AOS: return wa_tor_plain_create(desc, &any->plain, error);
    default: any->sequential = wa_tor_world_create(&desc->rules, desc->shuffle);
    }
    return any->sequential ? 0
                           : bench_error_set(error, "host memory ran out for the sequential world");
}

void wa_tor_any_destroy(wa_tor_any *any) {
    wa_tor_heap_destroy(any->heap);
    wa_tor_plain_destroy(any->plain);
    wa_tor_world_destroy(any->sequential);
    *any = (wa_tor_any){NULL, NULL, NULL};
}

uint32_t wa_tor_any_phases(const wa_tor_any *any, const char *const **names) {
    static const char *const heap[] = {
#define PHASE_NAME(name, label, kernel, draw) #label,
        WA_TOR_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
    };
    static const char *const plain[] = {
#define PHASE_NAME(name) #name,
        WA_TOR_PLAIN_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
    };
    *names = any->heap ? heap : plain;
    return any->heap ? WA_TOR_PHASE_COUNT : any->plain ? WA_TOR_PLAIN_PHASES : 0;
}

int wa_tor_any_time_step(wa_tor_any *any, cl_event *events, bench_error *error) {
    return any->heap ? wa_tor_heap_step(any->heap, events, error)
                     : wa_tor_plain_step(any->plain, events, error);
}

int wa_tor_any_step(wa_tor_any *any, bench_error *error) {
    if (any->sequential) {
        wa_tor_world_step(any->sequential);
        return 0;
    }
    if (wa_tor_any_time_step(any, NULL, error)) {
        return -1;
    }
    return any->heap ? wa_tor_heap_compact(any->heap, error) : 0;
}

int wa_tor_any_finish(wa_tor_any *any, bench_error *error) {
    if (any->sequential) {
        return 0;
    }
    return any->heap ? wa_tor_heap_finish(any->heap, error)
                     : wa_tor_plain_finish(any->plain, error);
}

int wa_tor_any_encode(wa_tor_any *any, uint32_t *codes, bench_error *error) {
    if (any->sequential) {
        wa_tor_world_encode(any->sequential, codes);
        return 0;
    }
    return any->heap ? wa_tor_heap_encode(any->heap, codes, error)
                     : wa_tor_plain_encode(any->plain, codes, error);
}

const char *const wa_tor_rules_files[] = {"bench/apps/wa-tor/rules.clh", NULL};
