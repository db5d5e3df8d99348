/* SPDX-License-Identifier: MIT
 *
 * limits.h - initial table sizes, small in test builds so that tables grow early and often.
 */
#ifndef CRN_BASE_LIMITS_H
#define CRN_BASE_LIMITS_H

#ifdef CRN_TINY_LIMITS
#define CRN_FIRST(usual, tiny) (tiny)
#else
#define CRN_FIRST(usual, tiny) (usual)
#endif

#endif
