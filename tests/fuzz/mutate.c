/* SPDX-License-Identifier: MIT
 *
 * mutate.c - mutates captures for libFuzzer. Its own mutations seldom change a field that is read;
 * these change no lengths. So both are used.
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
