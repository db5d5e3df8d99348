/* SPDX-License-Identifier: MIT
 *
 * newest.h - the capture that a command reads if none is given.
 */
#ifndef CRN_CLI_COMMON_NEWEST_H
#define CRN_CLI_COMMON_NEWEST_H

#include "command.h"

/* Makes the newest capture of the current folder the only one of `captures`, and names it on
 * stderr. That is the file ending in ".cairn" that was made last, without those of forked children
 * beside their parent's. Returns false if the folder has none. */
bool crn_newest_capture(crn_list *captures);

#endif
