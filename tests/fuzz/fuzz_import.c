/* SPDX-License-Identifier: MIT
 *
 * fuzz_import.c - one importer (FUZZ_READ names it), given any bytes (libFuzzer). A profile that
 * it reads must be consistent, and writable in each format; an error must have a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/formats.h"
#include "support/soundness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static crn_source *source_of(const uint8_t *data, size_t size)
{
    crn_error error;
    int descriptor = memfd_create("input", MFD_CLOEXEC);
    if (descriptor < 0 || pwrite(descriptor, data, size, 0) != (ssize_t)size)
        abort();
    crn_source *source = crn_source_from(descriptor, "input", &error);
    if (!source)
        abort();
    return source;
}

static void write_again(const crn_profile *profile)
{
    static FILE *out;
    static crn_format_write *const writers[] = {crn_pprof_write, crn_folded_write,
                                                crn_speedscope_write};
    if (!out)
        out = fopen("/dev/null", "wb");
    crn_export_options options = {.metric = crn_export_metric(profile, true), .times = true};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        crn_error error = {0};
        if (!writers[i](profile, &options, out, &error))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    crn_format_recognise *const recognisers[] = {crn_pprof_recognise,  crn_perf_recognise,
                                                 crn_folded_recognise, crn_cpuprofile_recognise,
                                                 crn_mlmon_recognise,  crn_callgrind_recognise};
    crn_error error = {0};
    crn_source *source = source_of(data, size);
    size_t length;
    const char *head = crn_source_head(source, &length, &error);
    for (size_t i = 0; head && i < sizeof recognisers / sizeof *recognisers; i++)
        recognisers[i](head, length);
    error = (crn_error){0};
    /* Input that begins like the names of an mlmon.out is read as those. */
    bool names = head && length > 2 && memcmp(head, "0x", 2) == 0;
    crn_source *other = crn_source_open(names ? FUZZ_FIGURES : FUZZ_SOURCES, &error);
    crn_import_options options = {.sources = names ? source : other, .split = size % 2 == 1};
    crn_profile *profile = FUZZ_READ(names ? other : source, &options, &error);
    crn_source_close(source);
    crn_source_close(other);
    if (!profile) {
        if (error.code == 0 || !error.message[0] || strchr(error.message, '\n'))
            abort();
        return 0;
    }
    difference found;
    if (!profile_is_sound(profile, &found)) {
        fprintf(stderr, "%s\n", found.text);
        abort();
    }
    /* Compression takes longer than all the rest, so it is not done each time. */
    if (size > 0 && data[size - 1] % 8 == 0)
        write_again(profile);
    crn_profile_free(profile);
    return 0;
}
