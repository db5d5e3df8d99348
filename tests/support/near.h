/* SPDX-License-Identifier: MIT
 *
 * near.h - asserts that a figure is about another one.
 */
#ifndef TESTS_SUPPORT_NEAR_H
#define TESTS_SUPPORT_NEAR_H

#include <math.h>

#include "support/cases.h"

static inline void assert_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("%.17g is not within %g of %.17g", value, within, expected);
}

#endif
