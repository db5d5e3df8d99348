/* SPDX-License-Identifier: MIT
 *
 * nothing.c - see nothing.h.
 */
#include "baseline/nothing.h"

void nothing(void)
{
}
