/* SPDX-License-Identifier: MIT
 *
 * scratch.c - see scratch.h.
 */
#include "support/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128];
static pid_t owner;

static void remove_folder(void)
{
    if (getpid() != owner)
        return;
    DIR *listing = opendir(folder);
    if (!listing)
        return;
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(listing), entry->d_name, 0);
    }
    closedir(listing);
    rmdir(folder);
}

char *scratch_path(char path[SCRATCH_PATH], const char *name)
{
    if (!owner) {
        const char *above = getenv("TMPDIR");
        snprintf(folder, sizeof(folder), "%.80s/cairn-test-XXXXXX", above ? above : "/tmp");
        if (!mkdtemp(folder)) {
            perror(folder);
            exit(99);
        }
        owner = getpid();
        atexit(remove_folder);
    }
    snprintf(path, SCRATCH_PATH, "%s/%.100s", folder, name);
    return path;
}

bool scratch_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

uint64_t scratch_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : UINT64_MAX;
}

unsigned char *scratch_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, file) != *size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

bool scratch_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool whole = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && whole;
}

uint64_t scale(uint64_t often)
{
    const char *percent = getenv("CAIRN_TEST_SCALE");
    uint64_t scaled = percent ? often * strtoull(percent, NULL, 10) / 100 : often;
    return scaled ? scaled : 1;
}

bool scale_is_long(void)
{
    const char *wanted = getenv("CAIRN_TEST_LONG");
    return wanted && *wanted && *wanted != '0';
}
