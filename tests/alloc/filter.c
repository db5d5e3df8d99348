/* SPDX-License-Identifier: MIT
 *
 * Filter of hosts/alloc for frees in sampled runs: it never denies an allocation that is counted,
 * also where more allocations share an element than it can count. Prints TAP.
 */
#include <stdio.h>

#include "alloc/alloc.h"

enum { GRANULE = 1 << CRN_FILTER_GRANULE };

static int number, failures;

static void tell(bool good, const char *name)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++number, name);
    failures += !good;
}

/* Adds allocations to one element and removes them. Returns false if the element denied one. */
static bool keeps(uintptr_t element, int most)
{
    const void *block = (const void *)(element * GRANULE);
    bool kept = true;
    for (int i = 0; i < most; i++) {
        crn_filter_add(block);
        kept &= crn_filter_may(block);
    }
    for (int i = 0; i < most; i++) {
        kept &= crn_filter_may(block);
        crn_filter_remove(block);
    }
    return kept;
}

int main(void)
{
    const char *block = (const char *)(uintptr_t)(1000 * GRANULE);
    puts("1..6");
    tell(!crn_filter_may(block), "empty");
    crn_filter_add(block + GRANULE - 1);
    tell(crn_filter_may(block + GRANULE - 1), "an allocation that is counted");
    tell(!crn_filter_may(block - 1) && !crn_filter_may(block + GRANULE), "not its neighbours");
    crn_filter_remove(block + GRANULE - 1);
    tell(!crn_filter_may(block), "no more after its free");
    tell(keeps(1, 254) && !crn_filter_may((const void *)(uintptr_t)GRANULE), "254 in one element");
    tell(keeps(2, 255) && keeps(3, 256) && keeps(4, 600), "255 and more in one element");
    return failures != 0;
}
