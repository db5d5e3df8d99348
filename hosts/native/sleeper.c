/* SPDX-License-Identifier: MIT */
#include "sleeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `text` is "NUMBER ARGUMENTS... STACK PC", "-1 STACK PC" outside of system calls, or "running". */
bool crn_sleeper_parse(char text[CRN_SLEEPER_TEXT], crn_sleeper *sleeper)
{
    char *pc = strrchr(text, ' '), *end;
    if (!pc)
        return false;
    *pc++ = '\0';
    char *stack = strrchr(text, ' ');
    if (!stack)
        return false;
    sleeper->call = strtol(text, &end, 10);
    sleeper->first = sleeper->call >= 0 ? strtoull(end, NULL, 16) : 0;
    sleeper->frame = (crn_unwind_frame){
        .pc = strtoull(pc, NULL, 16), .stack = strtoull(stack + 1, NULL, 16), .interrupted = true};
    return sleeper->frame.pc && sleeper->frame.stack;
}

bool crn_sleeper_find(pid_t process, pid_t thread, crn_sleeper *sleeper)
{
    char path[96], text[CRN_SLEEPER_TEXT];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)process, (int)thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    return crn_sleeper_parse(text, sleeper);
}
