/* SPDX-License-Identifier: MIT
 *
 * mutate.c - how libFuzzer changes captures: its own changes seldom meet a field that is read; with
 * ours alone nothing would become longer, or be cut.
 */
#include <stddef.h>
#include <stdint.h>

#include "support/damage.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
    random_source random = {seed};
    if (random_chance(&random, 1, 4))
        return LLVMFuzzerMutate(data, size, room);
    damage_fields(&random, data, size, 1 + random_below(&random, 6));
    return size;
}
