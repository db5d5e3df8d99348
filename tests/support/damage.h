/* SPDX-License-Identifier: MIT
 *
 * damage.h - what could become of a capture, in the hands of somebody who knows the format: what is
 * changed is a field of what is in use, and becomes something that could stand there, or just
 * not. Random bytes alone hardly ever get behind a reader's first look.
 */
#ifndef TESTS_SUPPORT_DAMAGE_H
#define TESTS_SUPPORT_DAMAGE_H

#include <stddef.h>

#include "support/random.h"

/* Changes so many fields of the capture. */
void damage_fields(random_source *random, unsigned char *bytes, size_t size, uint32_t fields);

#endif
