// SPDX-License-Identifier: MIT
// setuid signals each thread of the process and waits for its answer. Cairn's own threads must
// answer, also those that start at a child's first Enter.
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

static jmp_buf back; // main's setjmp delays signals until pending work is done

KEPT static int step(int number)
{
    return number + 1;
}

KEPT static int become(int number)
{
    alarm(20);
    return setuid(getuid()) ? -1 : step(number);
}

int main(void)
{
    if (setjmp(back) == 0)
        longjmp(back, 1);
    printf("%d\n", become(1));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(become(2));
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d\n", status == 3 << 8);
}
