/* SPDX-License-Identifier: MIT
 *
 * The work. A stage that is cut does so many units less, and its result is wrong; what the others
 * have to do does not depend on it.
 */
#include "stages.h"

int stage_rounds[STAGES] = {26, 2, 50};
double stage_cut[STAGES] = {1, 1, 1};

static unsigned char text[ITEM_SIZE];

static int units(int stage)
{
    return (int)(UNITS / stage_cut[stage] + 0.5);
}

/* Boundaries where a rolling sum says so, as content-defined chunking has them; and a hash. */
void chunk(item *item)
{
    item->hash = 0xcbf29ce484222325u;
    for (int unit = 0; unit < units(0); unit++) {
        const unsigned char *bytes = text + unit * UNIT_SIZE;
        for (int round = 0; round < stage_rounds[0]; round++) {
            uint32_t rolling = (uint32_t)item->number;
            for (int i = 0; i < UNIT_SIZE; i++) {
                rolling = rolling * 31 + bytes[i];
                item->boundaries += (rolling & 0x7ff) == 0;
                item->hash = (item->hash ^ bytes[i]) * 0x100000001b3u;
            }
        }
    }
}

void compress_item(item *item, z_stream *stream)
{
    unsigned char out[2 * UNIT_SIZE];
    for (int unit = 0; unit < units(1); unit++)
        for (int round = 0; round < stage_rounds[1]; round++) {
            deflateReset(stream);
            stream->next_in = text + unit * UNIT_SIZE;
            stream->avail_in = UNIT_SIZE;
            stream->next_out = out;
            stream->avail_out = sizeof out;
            deflate(stream, Z_FINISH);
            item->compressed += stream->total_out;
        }
}

void write_item(item *item)
{
    item->check = (uint32_t)item->number;
    for (int unit = 0; unit < units(2); unit++)
        for (int round = 0; round < stage_rounds[2]; round++)
            item->check = (uint32_t)crc32(adler32(item->check, text + unit * UNIT_SIZE, UNIT_SIZE),
                                          text + unit * UNIT_SIZE, UNIT_SIZE);
}

/* Words of a small vocabulary: compresses like prose. */
void write_text(void)
{
    uint32_t state = 1;
    for (int at = 0; at < ITEM_SIZE;) {
        state = state * 1664525 + 1013904223;
        uint32_t word = (state >> 16) % 1500;
        for (uint32_t letters = 2 + word % 7; letters-- && at < ITEM_SIZE; word = word * 7 + 3)
            text[at++] = (unsigned char)('a' + word % 26);
        if (at < ITEM_SIZE)
            text[at++] = ' ';
    }
}
