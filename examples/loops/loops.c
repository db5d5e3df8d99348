/* SPDX-License-Identifier: MIT
 *
 * loops.c - f calls g n times. Some iterations of f take longer than others: is it g, or is it n?
 *
 *     cairn run -o loops.cairn ./loops n && cairn explain loops.cairn f
 *
 * `loops n`: n varies, each g takes the same. `loops g`: g varies from one f to the next, n is the
 * same. `loops both`: both do. `loops self`: neither, but what f does by itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cairn/scope.h>

enum { ITERATIONS = 60, USUAL = 6, MOST = 12, UNIT = 100000 };

static volatile uint32_t sink;

static void compute(int units)
{
    for (int i = 0; i < units * UNIT; i++)
        sink = sink * 1664525 + 1013904223;
}

/* From 1 to MOST, and USUAL in the mean or so. */
static int vary(uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    return (int)(*random >> 16) % MOST + 1;
}

static void g(int64_t i, int units)
{
    CAIRN_FUNCTION(.iteration = i);
    compute(units);
}

static void f(int64_t i, int n, int units, int own)
{
    CAIRN_FUNCTION(.iteration = i);
    CAIRN_SCOPE_INTEGER("n", n);
    compute(own);
    for (int64_t j = 0; j < n; j++)
        g(j, units);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "n";
    int both = strcmp(mode, "both") == 0, n = both || strcmp(mode, "n") == 0;
    int units = both || strcmp(mode, "g") == 0, own = strcmp(mode, "self") == 0;
    uint32_t random = 1;
    if (!n && !units && !own) {
        fprintf(stderr, "loops: n, g, both or self, not \"%s\"\n", mode);
        return 2;
    }
    CAIRN_FUNCTION();
    for (int64_t i = 0; i < ITERATIONS; i++) {
        int by_n = vary(&random), by_units = vary(&random), by_own = vary(&random);
        f(i, n ? by_n : USUAL, units ? by_units : 1, own ? 6 * by_own : 1);
    }
    return 0;
}
