/* SPDX-License-Identifier: MIT
 *
 * left_out.h - why a block is not in a profile, as far as its notes tell.
 */
#ifndef CRN_PROFILE_LEFT_OUT_H
#define CRN_PROFILE_LEFT_OUT_H

#include <stdbool.h>

#include "profile/model.h"

typedef enum crn_absence {
    CRN_ABSENCE_GONE,         /* the program has or runs no such block */
    CRN_ABSENCE_NOT_PROFILED, /* options of cairn cc leave such functions out */
    CRN_ABSENCE_NOT_SAMPLED,  /* stacks were sampled: it may have run between samples */
} crn_absence;

/* The options of cairn cc that left functions out of a profile. */
typedef struct crn_left_out crn_left_out;

crn_left_out *crn_left_out_of(const crn_profile *profile);
void crn_left_out_free(crn_left_out *left_out);

/* Returns why the profile has no such block. `calls_nothing`: it has no callees where it runs. */
crn_absence crn_left_out_why(const crn_left_out *left_out, const crn_block_info *block,
                             bool calls_nothing);

#endif
