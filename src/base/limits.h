/* SPDX-License-Identifier: MIT
 *
 * limits.h - first sizes that are small in a test build, so that all growth happens early
 * and often.
 */
#ifndef CRN_BASE_LIMITS_H
#define CRN_BASE_LIMITS_H

#ifdef CRN_TINY_LIMITS
#define CRN_FIRST(usual, tiny) (tiny)
#else
#define CRN_FIRST(usual, tiny) (usual)
#endif

#endif
