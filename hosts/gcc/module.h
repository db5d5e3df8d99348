/* SPDX-License-Identifier: MIT
 *
 * module.h - the file that code is of, for blocks that are addresses until the capture is read.
 */
#ifndef CRN_HOSTS_GCC_MODULE_H
#define CRN_HOSTS_GCC_MODULE_H

#include <cairn/cairn.h>

#include "unwind/unwind.h"

/* The path of the module's file, whose build id is noted in the profile once. Good as long as the
 * module is loaded. Thread: any. */
const char *crn_module_path(cairn_profile *profile, const crn_unwind_module *module);

#endif
