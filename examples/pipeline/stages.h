/* SPDX-License-Identifier: MIT */
#ifndef PIPELINE_STAGES_H
#define PIPELINE_STAGES_H

#include <stdint.h>
#include <zlib.h>

enum { STAGES = 3, UNITS = 60, UNIT_SIZE = 4096, ITEM_SIZE = UNITS * UNIT_SIZE };

typedef struct item {
    int number;
    uint64_t hash;
    uint32_t boundaries;
    uint32_t check;
    uLong compressed;
} item;

extern int stage_rounds[STAGES]; /* of each unit's work, so that stages weigh about the same */
extern double stage_cut[STAGES]; /* each does this part of its units: 1 is all, 2 is half */

void write_text(void);
void chunk(item *item);
void compress_item(item *item, z_stream *stream);
void write_item(item *item);

#endif
