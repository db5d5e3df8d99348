/* SPDX-License-Identifier: MIT
 *
 * fuzz_capture.c - the reader of captures, given any bytes at all (libFuzzer). What it
 * loads must be sound; what it refuses, it must refuse with a line of words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/profile.h"
#include "support/soundness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reader takes a path; a file in memory has one. */
static const char *as_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("capture", MFD_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    crn_error error = {0};
    difference found;
    crn_profile *profile = crn_profile_load(as_file(data, size), &error);
    if (!profile) {
        if (error.code == 0 || !error.message[0] || strchr(error.message, '\n'))
            abort();
        return 0;
    }
    if (!profile_is_sound(profile, &found)) {
        fprintf(stderr, "%s\n", found.text);
        abort();
    }
    crn_profile_free(profile);
    return 0;
}
