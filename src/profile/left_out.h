/* SPDX-License-Identifier: MIT
 *
 * left_out.h - why a profile lacks a block, as far as its notes tell.
 */
#ifndef CRN_PROFILE_LEFT_OUT_H
#define CRN_PROFILE_LEFT_OUT_H

#include <stdbool.h>

#include "profile/model.h"

typedef enum crn_absence {
    CRN_ABSENCE_GONE,         /* the program lacks the block or did not run it */
    CRN_ABSENCE_NOT_PROFILED, /* options of cairn cc leave the function out */
    CRN_ABSENCE_NOT_SAMPLED,  /* stacks were sampled; the block may have run between samples */
} crn_absence;

/* The options of cairn cc that left functions out of a profile. */
typedef struct crn_left_out crn_left_out;

crn_left_out *crn_left_out_of(const crn_profile *profile);
void crn_left_out_free(crn_left_out *left_out);

/* Returns why the profile lacks `block`. `calls_nothing`: the block has no callees in the profile
 * that has it. */
crn_absence crn_left_out_why(const crn_left_out *left_out, const crn_block_info *block,
                             bool calls_nothing);

#endif
