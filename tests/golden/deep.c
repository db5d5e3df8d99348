/* SPDX-License-Identifier: MIT
 *
 * deep.c - a capture whose one path is as long as is asked for, which libcairn itself
 * would not write.
 *
 * usage: deep OUT.cairn LENGTH
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/random_profile.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    crn_error error;
    crn_profile *profile = profile_chain((uint32_t)strtoul(argv[2], NULL, 10), 1000);
    bool saved = crn_profile_save(profile, argv[1], &error);
    if (!saved)
        fprintf(stderr, "deep: %s\n", error.message);
    crn_profile_free(profile);
    return saved ? 0 : 1;
}
