/* SPDX-License-Identifier: MIT
 *
 * nothing.h - an empty function, in a file of its own so that it is called.
 */
#ifndef BENCH_BASELINE_NOTHING_H
#define BENCH_BASELINE_NOTHING_H

void nothing(void);

#endif
