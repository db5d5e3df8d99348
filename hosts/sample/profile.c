/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cairn/host.h"

#include "../native/variables.h"
#include "sample.h"

cairn_profile *crn_sample_profile_open(const char *path)
{
    char *out;
    if (asprintf(&out, "CAIRN_OUT=%s", path) < 0)
        return NULL;
    static char wall[] = "CAIRN_WALL=off", cpu[] = "CAIRN_CPU=off", spans[] = "CAIRN_SPANS=off",
                ticks[] = "CAIRN_TICKS", histograms[] = "CAIRN_SPAN_HISTOGRAMS";
    char **before =
        crn_variables_replace((char *[]){out, wall, cpu, spans, ticks, histograms, NULL});
    cairn_profile *profile = NULL;
    if (before) {
        char **own = environ;
        profile = cairn_process_profile();
        environ = before;
        free(own);
    }
    free(out);
    return profile;
}
