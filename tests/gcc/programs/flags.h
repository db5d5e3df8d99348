/* SPDX-License-Identifier: MIT
 *
 * flags.h - the processor's flags, as __readeflags and __writeeflags of <x86intrin.h>, which takes
 * longer to compile than a whole program here.
 */
#define READ_FLAGS() __builtin_ia32_readeflags_u64()
#define WRITE_FLAGS(flags) __builtin_ia32_writeeflags_u64(flags)
