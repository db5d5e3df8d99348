/* SPDX-License-Identifier: MIT
 *
 * make_seeds.c - writes captures that the fuzzer starts from: make_seeds FOLDER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/host.h>
#include <cairn/span.h>

#include "capture/format.h"
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

/* Calls counted in trees of inlined functions, below two contexts. */
static void run_trees(cairn_strand *strand)
{
    static const cairn_priv_node nodes[] = {{0, 0, 1}, {1, 0, 2}, {0, 1, 3}, {3, 0, 1}};
    uint32_t tree = cairn_priv_tree_add(cairn_lane_profile(cairn_strand_lane(strand)), nodes, 4);
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t *counters = cairn_priv_tree_counters(strand, tree);
        for (uint64_t n = 0; counters && n < 4; n++)
            counters[n] += n + i;
        cairn_enter(strand, 2);
    }
}

/* Spans on two lanes, with each kind of detail. */
static void run_spans(cairn_profile *profile)
{
    cairn_key key = cairn_key_add(profile, "key");
    cairn_key_split(profile, key, 2);
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    cairn_strand *other = cairn_strand_open(cairn_lane_open(profile, "second"));
    for (int64_t i = 0; i < 5; i++)
        cairn_block_add(profile, &(cairn_block_info){.name = "name"});
    for (int64_t i = 0; i < 4; i++) {
        cairn_span_begin(strand, 1, i);
        cairn_handoff_adopt(other, cairn_handoff_take(strand));
        cairn_span_begin(other, 2, CAIRN_ITERATION_NONE);
        cairn_span_text(other, key, "more than sixteen letters");
        cairn_span_integer(strand, key, i);
        cairn_span_number(strand, key, 0.5);
        cairn_span_waits_for(strand, cairn_span_current(other));
        cairn_span_follows(other, cairn_span_current(strand));
        cairn_span_end(other);
        cairn_handoff_leave(other);
        if (i < 3)
            cairn_span_end(strand);
    }
    run_trees(strand);
    static const cairn_block path[] = {1, 2, 1, 3};
    for (uint64_t i = 0; i < 4; i++)
        cairn_sample_at(i < 2 ? strand : other, path, 1 + i, 1 + i, 1000);
}

/* Space prepared for spans is large and mostly zeros, which makes a fuzzer slow. Returns the bytes
 * in use. */
static uint64_t kept_of(const crn_disk_chunk *chunk)
{
    switch (chunk->kind) {
    case CRN_SECTION_SPANS:
    case CRN_SECTION_DETAILS:
    case CRN_SECTION_SPAN_RING:
    case CRN_SECTION_DETAIL_RING:
    case CRN_SECTION_COUNTS:
    case CRN_SECTION_SAMPLES:
        return CRN_PAGE;
    case CRN_SECTION_HISTOGRAMS:
        return sizeof(crn_disk_histogram);
    default:
        return chunk->size;
    }
}

static void compact(const char *path)
{
    enum { ROOM = 1 << 24, HEAD = 2 * CRN_PAGE /* with its first directory */ };
    char *old = calloc(ROOM, 1), *new = calloc(ROOM, 1);
    FILE *file = fopen(path, "r+b");
    if (!old || !new || !file || fread(old, 1, ROOM, file) < HEAD)
        abort();
    memcpy(new, old, HEAD);
    crn_disk_header *header = (crn_disk_header *)(void *)new;
    crn_disk_directory *directory = (crn_disk_directory *)(void *)(new + header->directory);
    uint64_t end = HEAD;
    for (uint32_t i = 0; i < directory->count; i++) {
        crn_disk_chunk *chunk = &directory->chunks[i];
        if (kept_of(chunk) < chunk->size && chunk->place)
            abort(); /* a second chunk would leave a gap */
        chunk->size = kept_of(chunk) < chunk->size ? kept_of(chunk) : chunk->size;
        memcpy(new + end, old + chunk->offset, chunk->size);
        chunk->offset = end;
        end += chunk->size;
    }
    header->size = end;
    if (fseek(file, 0, SEEK_SET) != 0 || fwrite(new, 1, end, file) != end || fflush(file) != 0 ||
        ftruncate(fileno(file), (off_t)end) != 0 || fclose(file) != 0)
        abort();
    free(old);
    free(new);
}

static int make_spans(const char *folder, const char *name, cairn_options options)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.cairn", folder, name);
    options.path = path;
    options.spans = true;
    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error) {
        fprintf(stderr, "%s: %s\n", path, cairn_error_text(error));
        return 1;
    }
    run_spans(profile);
    cairn_profile_close(profile);
    compact(path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_seeds FOLDER\n");
        return 2;
    }
    cairn_options plain = CAIRN_OPTIONS_DEFAULT, ring = plain, counted = plain;
    ring.span_policy = CAIRN_SPANS_KEEP_LAST;
    counted.span_histograms = counted.span_cpu = true;
    counted.span_rate = 0.75;
    if (make_spans(argv[1], "spans", plain) != 0 || make_spans(argv[1], "ring", ring) != 0 ||
        make_spans(argv[1], "counted", counted) != 0)
        return 1;
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
            _exit(0); /* a capture that was not closed */
        cairn_profile_close(profile);
    }
    return 0;
}
