/* SPDX-License-Identifier: MIT
 *
 * speed.c - extra cost of a call under a profiler. Two time stamps, the plain program and the
 * profiled one take turns within one process, as in calls.c.
 *
 * Times are of the thread's processor clock, so they exclude other processes, those of the
 * profiler too.
 *
 * usage: speed MODE TURNS
 * Prints workload, ns of two rdtsc, ns of a plain call, ns of a profiled call: medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "peer.h"

enum { STAMPS = 20000, WARM_UP = 2 };

static const char *const MEASURED[] = {"leaf-inside", "fib", "tree"};

static double time_of(const workload *w, version kind)
{
    double start = measure_thread();
    w->run(kind, 0);
    return measure_thread() - start;
}

static void measure_workload(unsigned index, version kind, int turns)
{
    const workload *plain = &workloads[index], *profiled = &peer_workloads[index];
    double calls = (double)plain->calls(0);
    measure_series stamps = {0}, without = {0}, with = {0};
    for (int turn = -WARM_UP; turn < turns; turn++) {
        double stamps_took = measure_two_stamps(measure_thread, STAMPS);
        double before = time_of(plain, VERSION_PLAIN) / calls;
        double after = time_of(profiled, kind) / calls;
        if (turn < 0)
            continue;
        measure_add(&stamps, stamps_took);
        measure_add(&without, before);
        measure_add(&with, after);
    }
    printf("%s\t%f\t%f\t%f\n", plain->name, measure_quantile(&stamps, 0.5),
           measure_quantile(&without, 0.5), measure_quantile(&with, 0.5));
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: speed MODE TURNS\n");
        return 2;
    }
    version kind = peer_begin(argv[1]);
    for (size_t i = 0; i < sizeof(MEASURED) / sizeof(*MEASURED); i++)
        for (unsigned index = 0; index < workload_count; index++)
            if (strcmp(workloads[index].name, MEASURED[i]) == 0)
                measure_workload(index, kind, atoi(argv[2]));
    peer_end();
    return 0;
}
