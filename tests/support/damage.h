/* SPDX-License-Identifier: MIT
 *
 * damage.h - damages captures with knowledge of the format: a field that is in use gets a value at
 * or just beyond the valid range. (Random bytes are mostly rejected by the first check.)
 */
#ifndef TESTS_SUPPORT_DAMAGE_H
#define TESTS_SUPPORT_DAMAGE_H

#include <stddef.h>

#include "support/random.h"

/* Changes `fields` fields of the capture. */
void damage_fields(random_source *random, unsigned char *bytes, size_t size, uint32_t fields);

#endif
