/* SPDX-License-Identifier: MIT
 *
 * fold.h - folds cycles in the baselines, as Cairn does.
 */
#ifndef BENCH_BASELINE_FOLD_H
#define BENCH_BASELINE_FOLD_H

#include <stddef.h>
#include <stdint.h>

/* Defines fold(): if the path to `node`, followed by `block`, ends with two equal runs, returns the
 * node that ends the first of them. Otherwise NULL. */
#define DEFINE_FOLD(type)                                                                          \
    static type *fold(type *node, uint32_t block)                                                  \
    {                                                                                              \
        type *first = node;                                                                        \
        for (size_t length = 1; first; length++, first = first->parent) {                          \
            if (first->block != block)                                                             \
                continue;                                                                          \
            const type *late = node, *early = first->parent;                                       \
            size_t same = 1;                                                                       \
            while (same < length && early && late->block == early->block) {                        \
                same++;                                                                            \
                late = late->parent;                                                               \
                early = early->parent;                                                             \
            }                                                                                      \
            if (same == length)                                                                    \
                return first;                                                                      \
        }                                                                                          \
        return NULL;                                                                               \
    }

#endif
