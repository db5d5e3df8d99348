/* SPDX-License-Identifier: MIT
 *
 * simulate.c - simulated fleets with a planted regression: how often is it found, and how often is
 * something else blamed?
 *
 * Hosts differ in speed, each run by 10 % besides; each function of a run by 1 %. After, one of 200
 * functions costs 3 % more, or, to see what is blamed without cause, none does. Noise is normal, or
 * skewed: most runs are a bit faster than the mean, few much slower.
 *
 * usage: bench-fleet FLEETS [SEED]
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

/* The same from an exponential distribution. */
static double skewed(double deviation)
{
    return 1 + deviation * (-log(uniform()) - 1);
}

typedef double (*noise)(double deviation);

static void make(noise noise, double *values, int slower, double growth)
{
    double hosts[HOSTS];
    for (int h = 0; h < HOSTS; h++)
        hosts[h] = noise(0.1);
    for (int r = 0; r < 2 * RUNS; r++) {
        double speed = hosts[(int)(uniform() * HOSTS)] * noise(0.1);
        for (int f = 0; f < FUNCTIONS; f++)
            values[r * FUNCTIONS + f] =
                1e9 / (1 + f % 40) * speed * noise(0.01) * (r >= RUNS && f == slower ? growth : 1);
    }
}

typedef struct tally {
    int found, wrong;
} tally;

static tally simulate(noise noise, int fleets, double growth)
{
    static double values[2 * RUNS * FUNCTIONS];
    tally tally = {0};
    for (int i = 0; i < fleets; i++) {
        int slower = growth > 1 ? (int)(uniform() * FUNCTIONS) : -1;
        bool wrong = false;
        make(noise, values, slower, growth);
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

static void table(const char *title, noise noise, int fleets)
{
    static const double growths[] = {1, 1.01, 1.02, 1.03, 1.1, 1.5};
    printf("\n%s noise\nplanted  found  another blamed\n", title);
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
        tally tally = simulate(noise, fleets, growths[i]);
        printf("%5.0f %%  %5.1f  %5.1f %%\n", 100 * growths[i] - 100,
               growths[i] > 1 ? 100.0 * tally.found / fleets : 0, 100.0 * tally.wrong / fleets);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int fleets = argc > 1 ? atoi(argv[1]) : 1000;
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    printf("%d fleets of 2 x %d runs, %d functions\n", fleets, RUNS, FUNCTIONS);
    table("normal", normal, fleets);
    table("skewed", skewed, fleets);
    return 0;
}
