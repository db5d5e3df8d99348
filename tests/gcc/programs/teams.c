/* SPDX-License-Identifier: MIT
 *
 * C11 threads, which end by return and by thrd_exit.
 */
#include <stdio.h>
#include <threads.h>

#include "noipa.h"

KEPT int work(int n)
{
    return n + 1;
}

KEPT int leaves(int n)
{
    thrd_exit(work(n));
}

KEPT int run(void *data)
{
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += work(i);
    return data ? leaves(sum) : sum;
}

int main(void)
{
    thrd_t threads[4];
    int sum = 0;
    for (int i = 0; i < 4; i++)
        if (thrd_create(&threads[i], run, i % 2 ? threads : NULL) != thrd_success)
            return 1;
    for (int i = 0; i < 4; i++) {
        int result = 0;
        thrd_join(threads[i], &result);
        sum += result;
    }
    printf("%d\n", sum);
}
