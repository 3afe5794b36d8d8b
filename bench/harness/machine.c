/* Load and clocks of the machine, from getloadavg() and from Linux's files. See machine.h. */
#include "machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_clock(bench_machine *machine, double mhz) {
    if (isnan(machine->cpu_mhz_min) || mhz < machine->cpu_mhz_min) machine->cpu_mhz_min = mhz;
    if (isnan(machine->cpu_mhz_max) || mhz > machine->cpu_mhz_max) machine->cpu_mhz_max = mhz;
}

/* x86: a line "cpu MHz : 2596.122" for each processor. */
static void read_cpuinfo(bench_machine *machine) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        double mhz = colon && strncmp(line, "cpu MHz", 7) == 0 ? strtod(colon + 1, NULL) : 0;
        if (mhz > 0) add_clock(machine, mhz);
    }
    if (file) fclose(file);
}

/* Other processors: a file with kHz for each. */
static void read_sysfs(bench_machine *machine) {
    for (long i = 0; i < bench_machine_processors(); i++) {
        char path[96];
        double khz = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cpufreq/scaling_cur_freq", i);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%lf", &khz) == 1 && khz > 0) add_clock(machine, khz * 1e-3);
        fclose(file);
    }
}

long bench_machine_processors(void) {
    return sysconf(_SC_NPROCESSORS_ONLN);
}

void bench_machine_read(bench_machine *machine) {
    double load = 0;
    *machine = (bench_machine){.time = time(NULL),
                               .load = getloadavg(&load, 1) == 1 ? load : NAN,
                               .cpu_mhz_min = NAN,
                               .cpu_mhz_max = NAN};
    read_cpuinfo(machine);
    if (isnan(machine->cpu_mhz_min)) read_sysfs(machine);
}
