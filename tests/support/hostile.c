/* SPDX-License-Identifier: MIT */
#include "support/hostile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/reader.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/span_readers.h"

static void record(const char *path, cairn_span_policy policy)
{
    cairn_options options = path_options(path);
    options.spans = options.span_histograms = true;
    options.span_policy = policy;
    setup s = setup_open(&options, 3);
    cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
    cairn_key key = cairn_key_add(s.profile, "key");
    cairn_span_begin(s.strand, 1, 0);
    cairn_handoff token = cairn_handoff_take(s.strand);
    for (int64_t i = 1; i <= 3; i++) {
        cairn_span_begin(s.strand, 2, i);
        cairn_span_end(s.strand);
    }
    cairn_span_end(s.strand);
    for (int64_t i = 4; i < SPANS; i++) {
        cairn_span_begin(s.strand, 1, i);
        cairn_span_integer(s.strand, key, i);
        cairn_span_end(s.strand);
    }
    cairn_handoff_adopt(other, token);
    cairn_span_begin(other, 3, 0);
    cairn_span_waits_for(other, token.span);
    cairn_span_end(other);
    cairn_handoff_leave(other);
    setup_close(&s);
}

uint64_t offset_of(const char *path, crn_section_kind kind, uint32_t lane)
{
    crn_reader reader;
    crn_error error;
    uint64_t offset = 0;
    assert_true(crn_reader_open(&reader, path, &error));
    for (size_t i = 0; i < reader.chunk_count && !offset; i++)
        if (reader.chunks[i].kind == kind && reader.chunks[i].lane == lane)
            offset = reader.chunks[i].offset;
    crn_reader_close(&reader);
    assert_true(offset != 0);
    return offset;
}

void transfer(const char *path, uint64_t offset, void *bytes, size_t size, bool write)
{
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    ssize_t done =
        write ? pwrite(file, bytes, size, (off_t)offset) : pread(file, bytes, size, (off_t)offset);
    assert_int_equal(done, size);
    close(file);
}

void change_begin(change *its, const char *path, crn_section_kind kind, uint32_t lane,
                  uint64_t number, size_t size)
{
    *its = (change){.path = path, .size = size};
    its->offset = offset_of(path, kind, lane) + number * size;
    transfer(path, its->offset, &its->item, size, false);
}

void change_end(change *its)
{
    transfer(its->path, its->offset, &its->item, its->size, true);
    its->over = true;
}

change changed;

/* Also checks that the store, which reads in place, has the same. */
crn_trace *trace_of(const char *path)
{
    crn_error error = {0};
    difference found;
    if (!span_readers_agree(path, NULL, &found))
        fail_msg("%s", found.text);
    crn_trace *trace = crn_trace_load(path, &error);
    if (!trace)
        print_error("%s\n", error.message);
    assert_non_null(trace);
    for (uint32_t s = 0; s < trace->span_count; s++)
        assert_true(trace->spans[s].start <= trace->spans[s].end &&
                    trace->spans[s].end <= trace->length);
    crn_spans *spans = crn_spans_make(trace, 4);
    for (uint32_t s = 0; s < trace->span_count; s++)
        assert_true(crn_span_self(spans, s) <= crn_span_duration(spans, s));
    crn_spans_free(spans);
    return trace;
}

const char *fresh(char path[SCRATCH_PATH], cairn_span_policy policy)
{
    record(scratch_path(path, "hostile.cairn"), policy);
    return path;
}
