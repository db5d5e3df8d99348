/* SPDX-License-Identifier: MIT
 *
 * newest.h - the capture that a command reads if none is given.
 */
#ifndef CRN_CLI_COMMON_NEWEST_H
#define CRN_CLI_COMMON_NEWEST_H

#include "command.h"

/* Makes the newest capture of the current folder, by name and time of change, the only one of
 * `captures`, and says so on stderr. Returns false if the folder has none. */
bool crn_newest_capture(crn_list *captures);

#endif
