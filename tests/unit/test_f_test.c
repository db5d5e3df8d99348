/* SPDX-License-Identifier: MIT
 *
 * test_f_test.c - the F-test, compared with a numerical integral and with published tables.
 */
#include <math.h>

#include "explain/f_test.h"
#include "support/cases.h"
#include "support/near.h"

/* By Simpson's rule, with the ends' poles taken out: x = sin^2 t. */
static double slow_beta(double a, double b, double x)
{
    enum { STEPS = 20000 };
    double upto = asin(sqrt(x)), whole = acos(0), sums[2] = {0};
    for (int part = 0; part < 2; part++) {
        double width = (part ? whole : upto) / STEPS;
        for (int i = 0; i <= STEPS; i++) {
            double t = i * width;
            double value = pow(sin(t), 2 * a - 1) * pow(cos(t), 2 * b - 1);
            sums[part] += value * width / 3 * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
        }
    }
    return sums[0] / sums[1];
}

static void the_f_test_is_right(void **state)
{
    (void)state;
    static const double parameters[] = {0.5, 1, 1.5, 4, 25, 300};
    for (size_t i = 0; i < COUNT(parameters); i++)
        for (size_t k = 0; k < COUNT(parameters); k++)
            for (double x = 0.05; x < 1; x += 0.1)
                assert_near(crn_incomplete_beta(parameters[i], parameters[k], x),
                            slow_beta(parameters[i], parameters[k], x), 1e-6);
    /* Tables of the F distribution: 4.9646 at 5 % with 1 and 10 degrees of freedom, 3.0984 with
     * 3 and 20, 6.6349 at 1 % with 1 and very many. */
    assert_near(crn_f_test(4.9646 / (4.9646 + 10), 1, 10), 0.05, 1e-5);
    assert_near(crn_f_test(3 * 3.0984 / (3 * 3.0984 + 20), 3, 20), 0.05, 1e-5);
    assert_near(crn_f_test(6.6349 / (6.6349 + 1e7), 1, 1e7), 0.01, 1e-5);
    assert_near(crn_f_test(1, 1, 10), 0, 0);
    assert_near(crn_f_test(0.5, 1, 0), 1, 0);
    assert_near(crn_explained_adjusted(0.1, 9, 90), 0.01, 1e-12);
    assert_near(crn_explained_adjusted(0.05, 9, 90), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_f_test_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
