/* SPDX-License-Identifier: MIT
 *
 * module.h - the ELF file of an address, for blocks that are addresses until the capture is read.
 */
#ifndef CRN_HOSTS_GCC_MODULE_H
#define CRN_HOSTS_GCC_MODULE_H

#include <cairn/cairn.h>

#include "unwind/unwind.h"

/* Returns the path of the module's file, and notes its build id in the profile once. Valid while
 * the module is loaded. Thread: any. */
const char *crn_module_path(cairn_profile *profile, const crn_unwind_module *module);

#endif
