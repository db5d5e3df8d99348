/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the process's state as ps shows it: 'R', 'S', 'T', 'Z', ...; 0 if it does not exist, '?'
 * if unknown. */
static char process_state(long pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return kill((pid_t)pid, 0) == 0 || errno == EPERM ? '?' : 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    char *end = strrchr(text, ')'); /* the name in parentheses can contain anything */
    return end && end[1] == ' ' ? end[2] : '?';
}

static bool has_mapped(long pid, ino_t inode)
{
    char path[64], *line = NULL;
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return true;
    size_t size = 0;
    unsigned long long found = 0;
    bool any = false, mapped = false;
    while (!mapped && getline(&line, &size, maps) >= 0) {
        any = true;
        mapped = sscanf(line, "%*s %*s %*s %*s %llu", &found) == 1 && found == inode;
    }
    free(line);
    fclose(maps);
    return mapped || !any;
}

crn_writer crn_writer_of(long pid, ino_t inode)
{
    char state = process_state(pid);
    if (!state || state == 'Z' || state == 'X' || !has_mapped(pid, inode))
        return CRN_WRITER_GONE;
    return state == 'T' || state == 't' ? CRN_WRITER_SUSPENDED : CRN_WRITER_RUNS;
}
