/* SPDX-License-Identifier: MIT
 *
 * from_trace OUT: reads output of trace.c from standard input and writes a capture of allocations
 * without names, like libcairn-alloc's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

typedef struct making {
    crn_profile_builder *builder;
    uint32_t bytes, objects, freed_bytes, freed_objects;
} making;

static uint32_t put_frames(crn_profile_builder *builder, char *frames)
{
    uint32_t context = crn_profile_builder_root(builder);
    for (char *frame = strtok(frames, " \n"); frame; frame = strtok(NULL, " \n")) {
        char *plus = strrchr(frame, '+');
        if (!plus)
            continue;
        *plus = '\0';
        crn_block_info info = {.name = plus + 1, .file = frame};
        context = crn_profile_builder_child(builder, context,
                                            crn_profile_builder_block(builder, &info), 0);
    }
    return context;
}

static void put_line(const making *making, char *line)
{
    char path[4096], build_id[256] = "", key[4200];
    if (sscanf(line, "module %4095s %255s", path, build_id) >= 1) {
        snprintf(key, sizeof key, "module %s", path);
        crn_profile_builder_note(making->builder, key, build_id);
        return;
    }
    char *end;
    unsigned long bytes = strtoul(line, &end, 10), freed = strtoul(end, &end, 10);
    uint32_t context = put_frames(making->builder, end);
    crn_profile_builder_charge(making->builder, context, making->bytes, bytes);
    crn_profile_builder_charge(making->builder, context, making->objects, 1);
    crn_profile_builder_charge(making->builder, context, making->freed_bytes, freed);
    crn_profile_builder_charge(making->builder, context, making->freed_objects,
                               freed != 0 && freed == bytes);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    making making = {.builder = crn_profile_builder_new()};
    making.bytes = crn_profile_builder_metric(making.builder, CRN_ALLOC_BYTES, "bytes");
    making.objects = crn_profile_builder_metric(making.builder, CRN_ALLOC_OBJECTS, "count");
    making.freed_bytes = crn_profile_builder_metric(making.builder, CRN_FREED_BYTES, "bytes");
    making.freed_objects = crn_profile_builder_metric(making.builder, CRN_FREED_OBJECTS, "count");
    crn_profile_builder_note(making.builder, "alloc", "exact");
    static char line[1 << 18];
    while (fgets(line, sizeof line, stdin))
        put_line(&making, line);
    crn_profile *profile = crn_profile_builder_end(making.builder);
    crn_error error = {0};
    bool good = crn_profile_save(profile, argv[1], &error);
    if (!good)
        fprintf(stderr, "from_trace: %s\n", error.message);
    crn_profile_free(profile);
    return !good;
}
