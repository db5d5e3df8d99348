/* SPDX-License-Identifier: MIT */
#include "explain/f_test.h"

#include <float.h>
#include <math.h>

enum { MOST_TERMS = 100000 }; /* limit on the terms of the continued fraction */

static double not_zero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* Returns the continued fraction 1 / (1 + d1 / (1 + d2 / (1 + ...))) of the incomplete beta
 * function. It converges fast for small x. */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        value *= c * d;
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        value *= c * d;
        if (fabs(c * d - 1) < 1e-14)
            break;
    }
    return value;
}

double crn_incomplete_beta(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a
                                     : 1 - front * fraction(b, a, 1 - x) / b;
}

double crn_f_test(double explained, double between, double within)
{
    if (!(between >= 1) || !(within >= 1) || !(explained > 0))
        return 1;
    /* With F = (explained / between) / ((1 - explained) / within), the quotient within / (within +
     * between F) is 1 - explained. */
    return explained < 1 ? crn_incomplete_beta(within / 2, between / 2, 1 - explained) : 0;
}

double crn_explained_adjusted(double explained, double between, double within)
{
    if (!(within >= 1))
        return 0;
    double adjusted = 1 - (1 - explained) * (between + within) / within;
    return adjusted > 0 ? adjusted : 0;
}

double crn_t_test(double t, double freedom)
{
    return crn_incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* Finds the quantile by bisection. */
double crn_t_quantile(double freedom, double p)
{
    enum { STEPS = 100 };
    double low = 0, high = 1;
    while (high < 1e12 && crn_t_test(high, freedom) > p)
        high *= 2;
    for (int i = 0; i < STEPS; i++) {
        double middle = (low + high) / 2;
        if (crn_t_test(middle, freedom) > p)
            low = middle;
        else
            high = middle;
    }
    return high;
}
