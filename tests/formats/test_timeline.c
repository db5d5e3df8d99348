/* SPDX-License-Identifier: MIT
 *
 * test_timeline.c - time lines in each format: as many slices as spans, of the same lengths, and
 * each edge once. On each row slices nest.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "formats/formats.h"
#include "formats/timeline.h"
#include "perfetto.pb-c.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/random_profile.h"
#include "support/random_trace.h"
#include "support/scratch.h"

enum { SPANS = 80, ROUNDS = 100 };

static crn_trace *trace_new(random_source *random)
{
    crn_error error = {0};
    random_world world = random_world_make(random, 3, SPANS, 0);
    crn_trace *merged;
    assert_true(
        crn_trace_merge((const crn_trace *const *)world.traces, world.count, &merged, &error));
    random_world_free(&world);
    return merged;
}

/* Returns the output of the format, with a NUL after it. Free it. */
static char *written(crn_format_write_trace *write, const crn_profile *profile,
                     const crn_trace *trace, size_t *size)
{
    char *text = NULL;
    crn_error error = {0};
    crn_export_options options = {.times = true};
    FILE *out = open_memstream(&text, size);
    if (!write(profile, trace, &options, out, &error))
        fail_msg("%s", error.message);
    fclose(out);
    return text;
}

static uint32_t arrows_of(const crn_trace *trace)
{
    uint32_t count = trace->edge_count;
    for (uint32_t s = 0; s < trace->span_count; s++)
        count += trace->spans[s].handed_off && trace->spans[s].parent != CRN_SPAN_NONE;
    return count;
}

static uint64_t duration(const crn_trace *trace, uint32_t span)
{
    return trace->spans[span].end - trace->spans[span].start;
}

/* ---- rows ---- */

typedef struct walked {
    const crn_timeline *timeline;
    uint32_t **stacks, *heights; /* by row */
    uint64_t *now;               /* by row */
    uint32_t begun, ended;
} walked;

static void see_begin(void *data, uint32_t span)
{
    walked *walked = data;
    const crn_span *its = &walked->timeline->trace->spans[span];
    uint32_t row = walked->timeline->row[span], *height = &walked->heights[row];
    assert_int_equal(walked->timeline->rows[row].lane, its->lane);
    assert_true(its->start >= walked->now[row]);
    walked->now[row] = its->start;
    if (*height) {
        const crn_span *around = &walked->timeline->trace->spans[walked->stacks[row][*height - 1]];
        assert_true(around->start <= its->start && around->end >= its->end);
    }
    walked->stacks[row][(*height)++] = span;
    walked->begun++;
}

static void see_end(void *data, uint32_t span)
{
    walked *walked = data;
    uint32_t row = walked->timeline->row[span], *height = &walked->heights[row];
    const crn_span *spans = walked->timeline->trace->spans;
    assert_false(spans[span].open);
    assert_true(spans[span].end >= walked->now[row]);
    walked->now[row] = spans[span].end;
    /* An open span has no end, and is closed with the span around it. */
    while (*height && walked->stacks[row][*height - 1] != span) {
        assert_true(spans[walked->stacks[row][*height - 1]].open);
        --*height;
    }
    assert_true(*height);
    --*height;
    walked->ended++;
}

static void on_a_row_each_is_inside_of_what_is_around_it(void **state)
{
    (void)state;
    random_source random = {2};
    crn_profile *profile = random_trace_profile();
    uint32_t further = 0;
    for (uint64_t round = scale(ROUNDS); round; round--) {
        crn_trace *trace = trace_new(&random);
        crn_timeline timeline;
        crn_timeline_open(&timeline, profile, trace);
        walked walked = {.timeline = &timeline};
        walked.stacks = crn_calloc(timeline.row_count + 1, sizeof *walked.stacks);
        walked.heights = crn_calloc(timeline.row_count + 1, sizeof *walked.heights);
        walked.now = crn_calloc(timeline.row_count + 1, sizeof *walked.now);
        for (uint32_t r = 0; r < timeline.row_count; r++)
            walked.stacks[r] = crn_calloc(trace->span_count, sizeof **walked.stacks);
        crn_timeline_walk(&timeline, see_begin, see_end, &walked);
        uint32_t open = 0;
        for (uint32_t s = 0; s < trace->span_count; s++)
            open += trace->spans[s].open;
        assert_int_equal(walked.begun, trace->span_count);
        assert_int_equal(walked.ended, trace->span_count - open);
        for (uint32_t r = 0; r < timeline.row_count; r++) {
            further += timeline.rows[r].number > 0;
            crn_free(walked.stacks[r]);
        }
        crn_free(walked.stacks);
        crn_free(walked.heights);
        crn_free(walked.now);
        crn_timeline_close(&timeline);
        crn_trace_free(trace);
    }
    assert_true(further > 0);
    crn_profile_free(profile);
}

/* Nested spans need one row a lane. */
static void what_nests_is_on_one_row(void **state)
{
    (void)state;
    static const char *lanes[] = {"", "pool"};
    static crn_span spans[] = {
        {.start = 0, .end = 100, .parent = CRN_SPAN_NONE},
        {.start = 0, .end = 100, .parent = 0},
        {.start = 10, .end = 10, .parent = 1},
        {.start = 10, .end = 90, .parent = 1},
        {.start = 100, .end = 100, .parent = CRN_SPAN_NONE},
        {.start = 5, .end = 95, .parent = CRN_SPAN_NONE, .lane = 1},
        {.start = 10, .end = 20, .parent = 0, .lane = 1, .handed_off = true},
        {.start = 15, .end = 20, .parent = 6, .lane = 1},
        {.start = 30, .end = 99, .parent = 0, .lane = 1, .handed_off = true}, /* sticks out */
        {.start = 96, .end = 98, .parent = CRN_SPAN_NONE, .lane = 1},         /* a strand's own */
    };
    static const uint32_t rows[] = {0, 0, 0, 0, 0, 1, 1, 1, 2, 1};
    crn_trace trace = {.spans = spans, .span_count = COUNT(spans), .lanes = lanes, .lane_count = 2};
    crn_profile *profile = random_trace_profile();
    crn_timeline timeline;
    crn_timeline_open(&timeline, profile, &trace);
    assert_int_equal(timeline.row_count, 3);
    for (uint32_t s = 0; s < COUNT(spans); s++)
        assert_int_equal(timeline.row[s], rows[s]);
    assert_string_equal(timeline.row_names[0], "lane 0");
    assert_string_equal(timeline.row_names[1], "pool");
    assert_string_equal(timeline.row_names[2], "pool (2)");
    crn_timeline_close(&timeline);
    crn_profile_free(profile);
}

/* ---- levels: against counting at each nanosecond ---- */

enum { SHORT = 300 };

typedef struct levels {
    uint32_t at[SHORT + 1];
    uint64_t last;
    uint32_t level;
} levels;

static void see_level(void *data, uint32_t process, uint64_t time, uint32_t level)
{
    levels *levels = data;
    assert_int_equal(process, 0);
    assert_true(time >= levels->last);
    for (; levels->last < time; levels->last++)
        levels->at[levels->last] = levels->level;
    levels->level = level;
}

static void levels_are_how_many_lanes_are_in_a_span(void **state)
{
    (void)state;
    random_source random = {3};
    crn_profile *profile = random_trace_profile();
    static const char *lanes[] = {"", "", ""};
    for (uint64_t round = scale(ROUNDS); round; round--) {
        crn_span spans[12];
        uint32_t expected[SHORT] = {0};
        crn_trace trace = {.spans = spans, .lanes = lanes, .lane_count = 3};
        for (uint32_t lane = 0; lane < 3; lane++) {
            bool busy[SHORT] = {false};
            uint64_t start = 0;
            for (int i = 0; i < 4; i++) {
                start += random_below(&random, 60);
                uint64_t end = start + random_below(&random, 60);
                spans[trace.span_count++] =
                    (crn_span){.start = start, .end = end, .parent = CRN_SPAN_NONE, .lane = lane};
                for (uint64_t t = start; t < end; t++)
                    busy[t] = true;
            }
            for (int t = 0; t < SHORT; t++)
                expected[t] += busy[t];
        }
        crn_timeline timeline;
        levels levels = {.last = 0};
        crn_timeline_open(&timeline, profile, &trace);
        crn_timeline_levels(&timeline, see_level, &levels);
        see_level(&levels, 0, SHORT, 0);
        assert_memory_equal(levels.at, expected, sizeof expected);
        crn_timeline_close(&timeline);
    }
    crn_profile_free(profile);
}

/* ---- Perfetto ---- */

typedef struct slices {
    const crn_trace *trace;
    uint64_t total; /* ns; ends less begins, what is open to the end */
    uint32_t begins, ends, from, into;
    uint64_t *sources, *targets; /* uses of each flow, by number from 1; an end counts 1000 */
    uint64_t annotations;
} slices;

static void see_event(slices *slices, const Perfetto__Protos__TrackEvent *event, uint64_t time)
{
    if (event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER)
        return;
    bool begin = event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
    slices->begins += begin;
    slices->ends += !begin;
    slices->total += begin ? -time : time;
    slices->annotations += event->n_debug_annotations;
    for (size_t i = 0; i < event->n_flow_ids; i++)
        slices->sources[event->flow_ids[i]] += begin ? 1 : 1000;
    for (size_t i = 0; i < event->n_terminating_flow_ids; i++)
        slices->targets[event->terminating_flow_ids[i]] += begin ? 1 : 1000;
}

/* Each flow leaves once, at a begin, and arrives once; a wait arrives at the end of the waiting
 * span. */
static void assert_flows(const crn_profile *profile, const crn_trace *trace, const slices *slices)
{
    crn_timeline timeline;
    crn_timeline_open(&timeline, profile, trace);
    assert_int_equal(timeline.arrow_count, arrows_of(trace));
    for (uint32_t a = 0; a < timeline.arrow_count; a++) {
        const crn_arrow *arrow = &timeline.arrows[a];
        bool at_end = arrow->kind == CRN_ARROW_WAITS && !trace->spans[arrow->to].open;
        assert_int_equal(slices->sources[a + 1], 1);
        assert_int_equal(slices->targets[a + 1], at_end ? 1000 : 1);
    }
    crn_timeline_close(&timeline);
}

static uint64_t annotations_of(const crn_trace *trace)
{
    uint64_t count = trace->attribute_count;
    for (uint32_t s = 0; s < trace->span_count; s++)
        count += (trace->spans[s].iteration != CAIRN_ITERATION_NONE) + trace->spans[s].open +
                 (trace->cpu && trace->cpu[s] != UINT64_MAX);
    return count;
}

static void perfetto_has_a_slice_for_each_span(void **state)
{
    (void)state;
    random_source random = {4};
    crn_profile *profile = random_trace_profile();
    for (uint64_t round = scale(ROUNDS); round; round--) {
        crn_trace *trace = trace_new(&random);
        size_t size;
        char *bytes = written(crn_perfetto_write, profile, trace, &size);
        Perfetto__Protos__Trace *packets =
            perfetto__protos__trace__unpack(NULL, size, (const uint8_t *)bytes);
        assert_non_null(packets);
        uint32_t arrows = arrows_of(trace);
        slices slices = {.trace = trace};
        slices.sources = crn_calloc(arrows + 2, sizeof(uint64_t));
        slices.targets = crn_calloc(arrows + 2, sizeof(uint64_t));
        uint64_t base = 0;
        for (size_t i = 0; i < packets->n_packet; i++) {
            const Perfetto__Protos__TracePacket *packet = packets->packet[i];
            assert_int_equal(packet->trusted_packet_sequence_id, 1);
            if (packet->clock_snapshot)
                base = packet->clock_snapshot->clocks[0]->timestamp;
            if (packet->track_event)
                see_event(&slices, packet->track_event, packet->timestamp - base);
        }
        uint64_t total = 0;
        uint32_t open = 0;
        for (uint32_t s = 0; s < trace->span_count; s++) {
            open += trace->spans[s].open;
            total += trace->spans[s].open ? -trace->spans[s].start : duration(trace, s);
        }
        assert_int_equal(slices.begins, trace->span_count);
        assert_int_equal(slices.ends, trace->span_count - open);
        assert_true(slices.total == total);
        assert_true(slices.annotations == annotations_of(trace));
        assert_flows(profile, trace, &slices);
        crn_free(slices.sources);
        crn_free(slices.targets);
        perfetto__protos__trace__free_unpacked(packets, NULL);
        free(bytes);
        crn_trace_free(trace);
    }
    crn_profile_free(profile);
}

/* ---- Chrome ---- */

/* Chrome's unit is the microsecond, with three decimals. */
static uint64_t nanoseconds(const json_t *number)
{
    return (uint64_t)llround(json_number_value(number) * 1000);
}

static json_t *parse(const char *text, size_t size)
{
    json_error_t error;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("line %d: %s", error.line, error.text);
    return json;
}

static void chrome_has_an_event_for_each_span(void **state)
{
    (void)state;
    random_source random = {5};
    crn_profile *profile = random_trace_profile();
    for (uint64_t round = scale(ROUNDS); round; round--) {
        crn_trace *trace = trace_new(&random);
        size_t size, index;
        char *text = written(crn_chrome_write, profile, trace, &size);
        json_t *json = parse(text, size), *event;
        uint64_t total = 0, expected = 0, arguments = 0;
        uint32_t spans = 0, leave = 0, arrive = 0;
        json_array_foreach(json_object_get(json, "traceEvents"), index, event)
        {
            char phase = *json_string_value(json_object_get(event, "ph"));
            leave += phase == 's';
            arrive += phase == 'f';
            if (phase != 'X')
                continue;
            spans++;
            total += nanoseconds(json_object_get(event, "dur"));
            arguments += json_object_size(json_object_get(event, "args"));
        }
        for (uint32_t s = 0; s < trace->span_count; s++)
            expected += duration(trace, s);
        assert_int_equal(spans, trace->span_count);
        assert_true(total == expected);
        assert_true(arguments == annotations_of(trace));
        assert_int_equal(leave, arrows_of(trace));
        assert_int_equal(arrive, arrows_of(trace));
        json_decref(json);
        free(text);
        crn_trace_free(trace);
    }
    crn_profile_free(profile);
}

/* ---- OTLP ---- */

static uint64_t number_in(const json_t *json, const char *key)
{
    return strtoull(json_string_value(json_object_get(json, key)), NULL, 10);
}

/* One span, in the order of the trace. */
static void see_span(const crn_trace *trace, const crn_trace_ids *ids, uint32_t span,
                     const json_t *json, uint32_t *links)
{
    char id[40];
    uint64_t trace_id[2], base = trace->processes[0].unix_ns - trace->processes[0].start;
    const crn_span *its = &trace->spans[span];
    crn_trace_id_of(ids, span, trace_id);
    snprintf(id, sizeof id, "%016" PRIx64 "%016" PRIx64, trace_id[0], trace_id[1]);
    assert_string_equal(json_string_value(json_object_get(json, "traceId")), id);
    snprintf(id, sizeof id, "%016" PRIx64, crn_span_id_of(ids, span));
    assert_string_equal(json_string_value(json_object_get(json, "spanId")), id);
    assert_true(number_in(json, "startTimeUnixNano") == base + its->start);
    assert_true(number_in(json, "endTimeUnixNano") == base + its->end);
    uint64_t parent = crn_parent_id_of(ids, span);
    snprintf(id, sizeof id, "%016" PRIx64, parent);
    const char *found = json_string_value(json_object_get(json, "parentSpanId"));
    assert_true(parent ? found && strcmp(found, id) == 0 : !found);
    assert_true(parent != 0 || its->parent == CRN_SPAN_NONE);
    *links += (uint32_t)json_array_size(json_object_get(json, "links"));
}

static void otlp_has_a_span_for_each_span(void **state)
{
    (void)state;
    random_source random = {6};
    crn_profile *profile = random_trace_profile();
    for (uint64_t round = scale(ROUNDS); round; round--) {
        crn_trace *trace = trace_new(&random);
        size_t size, index, at;
        char *text = written(crn_otlp_write, profile, trace, &size);
        json_t *json = parse(text, size), *resource, *span;
        crn_trace_ids ids;
        crn_trace_ids_open(&ids, trace);
        uint32_t spans = 0, links = 0;
        json_array_foreach(json_object_get(json, "resourceSpans"), index, resource)
        {
            json_t *scope = json_array_get(json_object_get(resource, "scopeSpans"), 0);
            json_array_foreach(json_object_get(scope, "spans"), at, span)
                see_span(trace, &ids, spans++, span, &links);
        }
        assert_int_equal(index, trace->process_count);
        assert_int_equal(spans, trace->span_count);
        assert_int_equal(links, trace->edge_count);
        crn_trace_ids_close(&ids);
        json_decref(json);
        free(text);
        crn_trace_free(trace);
    }
    crn_profile_free(profile);
}

/* ---- unusual names and numbers ---- */

static void names_and_numbers_of_any_kind_are_written(void **state)
{
    (void)state;
    static const char *lanes[] = {"a\"b\\c\n\x01"}, *keys[] = {"k\xff", "iteration", "k\xff"};
    static crn_span spans[] = {{.end = 5, .iteration = INT64_MAX, .parent = CRN_SPAN_NONE},
                               {.start = 5,
                                .end = UINT64_C(9007199254740993),
                                .iteration = INT64_MIN + 1,
                                .block = 99,
                                .parent = CRN_SPAN_NONE}};
    static crn_attribute attributes[] = {
        {.span = 0, .kind = CRN_ATTRIBUTE_NUMBER, .key = 0, .value.number = NAN},
        {.span = 0, .kind = CRN_ATTRIBUTE_NUMBER, .key = 0, .value.number = -INFINITY},
        {.span = 0, .kind = CRN_ATTRIBUTE_NUMBER, .key = 2, .value.number = 1e300},
        {.span = 0, .kind = CRN_ATTRIBUTE_INTEGER, .key = 1, .value.integer = INT64_MIN},
        {.span = 0,
         .kind = CRN_ATTRIBUTE_TEXT,
         .key = 2,
         .value.text = "\xc3\x28 \"\t\x7f\xed\xa0\x80"},
        {.span = 1, .kind = CRN_ATTRIBUTE_NUMBER, .key = 0, .value.number = 5},
    };
    crn_trace trace = {.spans = spans,
                       .span_count = 2,
                       .lanes = lanes,
                       .lane_count = 1,
                       .keys = keys,
                       .key_count = 3,
                       .attributes = attributes,
                       .attribute_count = COUNT(attributes)};
    crn_profile *profile = random_trace_profile();
    size_t size;
    char *text = written(crn_chrome_write, profile, &trace, &size);
    json_t *json = parse(text, size);
    assert_non_null(strstr(text, "\"iteration\":9223372036854775807"));
    assert_non_null(strstr(text, "\"iteration (2)\":-9223372036854775808"));
    assert_non_null(strstr(text, "\"k\xef\xbf\xbd\":\"NaN\""));
    assert_non_null(strstr(text, "\"k\xef\xbf\xbd (2)\":\"-Infinity\""));
    assert_non_null(strstr(text, "\"k\xef\xbf\xbd (3)\":1.0000000000000001e300"));
    assert_non_null(strstr(text, "\"ts\":0.005,\"dur\":9007199254740.988"));
    assert_non_null(strstr(text, "\"k\xef\xbf\xbd\":5.0}"));
    json_decref(json);
    free(text);
    text = written(crn_otlp_write, profile, &trace, &size);
    json_decref(parse(text, size));
    assert_non_null(
        strstr(text, "{\"key\":\"iteration\",\"value\":{\"intValue\":\"-9223372036854775808\"}}"));
    assert_non_null(strstr(
        text, "{\"key\":\"cairn.iteration\",\"value\":{\"intValue\":\"9223372036854775807\"}}"));
    free(text);
    text = written(crn_perfetto_write, profile, &trace, &size);
    Perfetto__Protos__Trace *packets =
        perfetto__protos__trace__unpack(NULL, size, (const uint8_t *)text);
    assert_non_null(packets);
    perfetto__protos__trace__free_unpacked(packets, NULL);
    free(text);
    crn_profile_free(profile);
}

static void disks_that_are_full_are_told_of(void **state)
{
    (void)state;
    random_source random = {7};
    crn_profile *profile = random_trace_profile();
    crn_trace *trace = trace_new(&random);
    crn_format_write_trace *const writers[] = {crn_perfetto_write, crn_chrome_write,
                                               crn_otlp_write};
    for (size_t i = 0; i < COUNT(writers); i++) {
        FILE *out = fopen("/dev/full", "w");
        if (!out)
            break;
        setvbuf(out, NULL, _IONBF, 0);
        crn_error error = {0};
        crn_export_options options = {.times = true};
        assert_false(writers[i](profile, trace, &options, out, &error));
        assert_non_null(strstr(error.message, "space"));
        fclose(out);
    }
    crn_trace_free(trace);
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_row_each_is_inside_of_what_is_around_it),
        cmocka_unit_test(what_nests_is_on_one_row),
        cmocka_unit_test(levels_are_how_many_lanes_are_in_a_span),
        cmocka_unit_test(perfetto_has_a_slice_for_each_span),
        cmocka_unit_test(chrome_has_an_event_for_each_span),
        cmocka_unit_test(otlp_has_a_span_for_each_span),
        cmocka_unit_test(names_and_numbers_of_any_kind_are_written),
        cmocka_unit_test(disks_that_are_full_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
