/* SPDX-License-Identifier: MIT
 *
 * simulate.c - simulated fleets with a planted regression: how often is it found, and how often is
 * something else blamed?
 *
 * Hosts differ in speed, each run by 10 % besides; each function of a run by 1 %. After, one of 200
 * functions costs 3 % more, or, to see what is blamed without cause, none does.
 *
 * usage: bench-fleet FLEETS
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/fleet.h"

enum { FUNCTIONS = 200, RUNS = 20, HOSTS = 6 };

static uint64_t seed = 20261125;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed >> 11) + 0.5) * 0x1p-53;
}

static double normal(double deviation)
{
    return 1 + deviation * sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979 * uniform());
}

static void make(double *values, int slower, double growth)
{
    double hosts[HOSTS];
    for (int h = 0; h < HOSTS; h++)
        hosts[h] = normal(0.1);
    for (int r = 0; r < 2 * RUNS; r++) {
        double speed = hosts[(int)(uniform() * HOSTS)] * normal(0.1);
        for (int f = 0; f < FUNCTIONS; f++)
            values[r * FUNCTIONS + f] = 1e9 / (1 + f % 40) * speed * normal(0.01) *
                                        (r >= RUNS && f == slower ? growth : 1);
    }
}

typedef struct tally {
    int found, wrong;
} tally;

static tally simulate(int fleets, double growth)
{
    static double values[2 * RUNS * FUNCTIONS];
    tally tally = {0};
    for (int i = 0; i < fleets; i++) {
        int slower = growth > 1 ? (int)(uniform() * FUNCTIONS) : -1;
        bool wrong = false;
        make(values, slower, growth);
        crn_fleet_costs costs = {{RUNS, RUNS}, FUNCTIONS, values};
        crn_fleet_compare compare = crn_fleet_compare_make(&costs, true, 0);
        for (size_t c = 0; c < compare.count; c++) {
            bool sure = compare.changes[c].p < 0.05;
            bool planted = (int)compare.changes[c].column == slower;
            tally.found += sure && planted;
            wrong |= sure && !planted;
        }
        tally.wrong += wrong;
        crn_fleet_compare_free(&compare);
    }
    return tally;
}

int main(int argc, char **argv)
{
    int fleets = argc > 1 ? atoi(argv[1]) : 1000;
    static const double growths[] = {1, 1.01, 1.02, 1.03, 1.1, 1.5};
    printf("%d fleets of 2 x %d runs, %d functions\n\nplanted  found  another blamed\n", fleets, RUNS,
           FUNCTIONS);
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
        tally tally = simulate(fleets, growths[i]);
        printf("%5.0f %%  %5.1f  %5.1f %%\n", 100 * growths[i] - 100,
               growths[i] > 1 ? 100.0 * tally.found / fleets : 0, 100.0 * tally.wrong / fleets);
    }
    return 0;
}
