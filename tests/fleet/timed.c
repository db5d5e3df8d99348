/* SPDX-License-Identifier: MIT
 *
 * Spans that last as long as they are told to, however busy the machine is: their stamps are given.
 *
 * usage: CAIRN_OUT=OUT.cairn timed MILLISECONDS
 */
#include <cairn/track.h>
#include <stdlib.h>

enum { MS = 1000000, REQUESTS = 30 };

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    uint64_t length = strtoul(argv[1], NULL, 10) * MS, at = 1;
    cairn_track *track = cairn_track_open("requests", 1);
    cairn_track_sync(track, at, cairn_track_clock());
    for (uint64_t i = 0; i < REQUESTS; i++, at += 2 * length)
        if (!CAIRN_TRACK_SPAN(track, cairn_handoff_take(NULL), "request", at,
                              at + length + i % 5 * (MS / 10)))
            return 1;
    cairn_track_close(track);
    return 0;
}
