/* SPDX-License-Identifier: MIT */
#include "profile/interval.h"

#include <math.h>

static double within(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

crn_interval crn_interval_share(double hits, double samples)
{
    const double z = CRN_INTERVAL_Z;
    if (!(samples > 0))
        return (crn_interval){0, 1};
    hits = within(hits, 0, samples);
    double middle = hits + z * z / 2;
    double reach = z * sqrt(hits * (samples - hits) / samples + z * z / 4);
    /* With no hits or only hits, one end is exactly 0 or 1: no rounding error. */
    double low = hits > 0 ? (middle - reach) / (samples + z * z) : 0;
    double high = hits < samples ? (middle + reach) / (samples + z * z) : 1;
    double share = hits / samples;
    return (crn_interval){within(low, 0, share), within(high, share, 1)};
}

crn_interval crn_interval_count(double value, double unit)
{
    const double z = CRN_INTERVAL_Z;
    if (!(unit > 0))
        return (crn_interval){value, value};
    double draws = value > 0 ? value / unit : 0, middle = draws + z * z / 2;
    double reach = z * sqrt(draws + z * z / 4);
    double low = draws > 0 ? middle - reach : 0;
    return (crn_interval){within(low, 0, draws) * unit, (middle + reach) * unit};
}

crn_interval crn_interval_difference(double share, crn_interval of_share, double other,
                                     crn_interval of_other)
{
    double difference = share - other;
    double below = hypot(share - of_share.low, of_other.high - other);
    double above = hypot(of_share.high - share, other - of_other.low);
    return (crn_interval){within(difference - below, -1, 1), within(difference + above, -1, 1)};
}

double crn_interval_z_of(unsigned count)
{
    if (count <= 1)
        return CRN_INTERVAL_Z;
    /* Bisects for the deviate beyond which both tails of the normal distribution hold 5 % / count:
     * below 8 for any 32-bit count. */
    double tails = 0.05 / count, low = CRN_INTERVAL_Z, high = 8;
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > tails)
            low = middle;
        else
            high = middle;
    }
    return high;
}
