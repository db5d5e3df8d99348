/* SPDX-License-Identifier: MIT
 *
 * make_seeds.c - writes captures for the fuzzer to begin from: make_seeds FOLDER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/walker.h"

static void run(cairn_profile *profile, uint64_t seed, uint64_t steps)
{
    for (int i = 0; i < 5; i++) {
        cairn_block_info info = {.name = "name", .file = "file", .line = 1, .column = 2};
        info.parent = (cairn_block)i;
        cairn_block_add(profile, &info);
    }
    cairn_profile_note(profile, "key", "value");
    cairn_metric metric = cairn_metric_add(profile, "bytes", "byte");
    cairn_lane *lane = cairn_lane_open(profile, "main");
    walker walk = {.strand = cairn_strand_open(lane), .random = {seed}, .blocks = 5};
    walker_walk(&walk, steps);
    cairn_charge(walk.strand, metric, 100);
    walk.strand = cairn_strand_open(cairn_lane_open(profile, "second"));
    walker_walk(&walk, steps);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_seeds FOLDER\n");
        return 2;
    }
    static const uint64_t steps[] = {0, 10, 200, 3000};
    for (int i = 0; i < 8; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%d.cairn", argv[1], i);
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.path = path;
        options.command = "seed";
        options.labels = "key=value";
        options.path_limit = i % 2 ? 6 : 1024;
        options.wall = (cairn_wall)(i % 3);
        cairn_profile *profile;
        cairn_error error = cairn_profile_open(&profile, &options);
        if (error) {
            fprintf(stderr, "%s: %s\n", path, cairn_error_text(error));
            return 1;
        }
        run(profile, (uint64_t)i, steps[i / 2]);
        if (i == 7)
            _exit(0); /* one that nobody closed */
        cairn_profile_close(profile);
    }
    return 0;
}
