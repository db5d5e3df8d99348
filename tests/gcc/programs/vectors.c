/* SPDX-License-Identifier: MIT
 *
 * Code that GCC adds itself: vector clones of functions, and its own counters.
 */
#include <stdio.h>

#pragma omp declare simd
__attribute__((noinline)) int square(int x)
{
    return x * x + 1;
}

static int limited(int x)
{
    return x > 50 ? 50 : square(x);
}

int main(void)
{
    int numbers[100], sum = 0;
    for (int i = 0; i < 100; i++)
        numbers[i] = limited(i);
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += square(numbers[i]);
    printf("%d\n", sum);
    return 0;
}
