/* SPDX-License-Identifier: MIT
 *
 * limits.h - likely branches, and first sizes of tables: small in test builds, so that tables grow
 * early and often.
 */
#ifndef CRN_NATIVE_LIMITS_H
#define CRN_NATIVE_LIMITS_H

#define CRN_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CRN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#ifdef CRN_TINY_LIMITS
#define CRN_FIRST_SIZE(usual, tiny) (tiny)
#else
#define CRN_FIRST_SIZE(usual, tiny) (usual)
#endif

#endif
