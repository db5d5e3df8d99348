/* SPDX-License-Identifier: MIT
 *
 * After a fork, the parent counts inlined functions before the child counts anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

static volatile int sum;

static inline int square(int n)
{
    sum += n * n;
    return n * n;
}

#define EACH(number)                                                                               \
    KEPT int each_##number(int n)                                                                  \
    {                                                                                              \
        return square(n) + number;                                                                 \
    }
#define EACH_4(number) EACH(number##0) EACH(number##1) EACH(number##2) EACH(number##3)
#define EACH_16(number) EACH_4(number##0) EACH_4(number##1) EACH_4(number##2) EACH_4(number##3)
EACH_16(1)
EACH_16(2)
EACH_16(3)
EACH_16(4)

#define NAME(number) each_##number,
#define NAME_4(number) NAME(number##0) NAME(number##1) NAME(number##2) NAME(number##3)
#define NAME_16(number) NAME_4(number##0) NAME_4(number##1) NAME_4(number##2) NAME_4(number##3)
static int (*const all[])(int) = {NAME_16(1) NAME_16(2) NAME_16(3) NAME_16(4)};
enum { ALL = sizeof all / sizeof *all };

#define FROM(number)                                                                               \
    KEPT void from_##number(void)                                                                  \
    {                                                                                              \
        for (int i = 0; i < ALL; i++)                                                              \
            sum += all[i](i + number);                                                             \
    }
FROM(1)
FROM(2)
FROM(3)
FROM(4)
FROM(5)
FROM(6)
FROM(7)
FROM(8)

KEPT void from_all(void)
{
    from_1();
    from_2();
    from_3();
    from_4();
    from_5();
    from_6();
    from_7();
    from_8();
}

int main(void)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0)
        return 1;
    sum += square(2);
    pid_t child = fork();
    if (child) {
        from_all();
        if (write(ends[1], &byte, 1) != 1)
            return 1;
    } else if (read(ends[0], &byte, 1) != 1) {
        return 1;
    }
    if (!child) {
        from_all();
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    printf("%d\n", status);
}
