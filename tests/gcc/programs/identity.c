// SPDX-License-Identifier: MIT
// setuid asks each thread of the process by a signal of the C library's and waits for all of them:
// Cairn's own threads must answer, those too that begin at a child's first Enter.
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

static jmp_buf back; // who calls setjmp gets signals after what is due, not in its midst

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
