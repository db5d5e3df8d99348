/* SPDX-License-Identifier: MIT
 *
 * Perfetto packets, and the metadata: clocks; interned names, keys and source locations; tracks.
 */
#include "base/memory.h"
#include "base/text.h"
#include "formats/names.h"
#include "formats/perfetto.h"

enum {
    CLOCK_ID_REALTIME = 1,
    CLOCK_ID_MONOTONIC = 3,
    SEQUENCE = 1,
    FIELD_PACKET = 1 << 3 | 2 /* field 1, length-delimited */
};

/* ---- packets ---- */

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        to[length++] = (uint8_t)(value | 0x80);
    to[length++] = (uint8_t)value;
    return length;
}

void crn_perfetto_put(crn_perfetto *perfetto, Perfetto__Protos__TracePacket *packet)
{
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    size_t size = protobuf_c_message_get_packed_size(&packet->base);
    if (size > perfetto->capacity) {
        perfetto->capacity = size * 2;
        perfetto->packed = crn_realloc(perfetto->packed, perfetto->capacity, 1);
    }
    protobuf_c_message_pack(&packet->base, perfetto->packed);
    uint8_t head[12] = {FIELD_PACKET};
    size_t length = 1 + put_varint(head + 1, size);
    fwrite(head, 1, length, perfetto->out);
    fwrite(perfetto->packed, 1, size, perfetto->out);
}

void crn_perfetto_put_event(crn_perfetto *perfetto, Perfetto__Protos__TrackEvent *event,
                            uint64_t time)
{
    Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    event->has_type = event->has_track_uuid = true;
    packet.has_timestamp = true;
    packet.timestamp = perfetto->base + time;
    packet.track_event = event;
    packet.has_sequence_flags = true;
    packet.sequence_flags = CRN_PERFETTO_STATE_NEEDED;
    crn_perfetto_put(perfetto, &packet);
}

/* ---- metadata ---- */

/* Writes that CLOCK_MONOTONIC is the clock of times. Times count from 0 if the capture has no
 * reading of it. */
static void put_clocks(crn_perfetto *perfetto)
{
    const crn_trace *trace = perfetto->timeline->trace;
    uint64_t unix_ns = 0;
    if (trace->process_count) {
        const crn_trace_process *first = &trace->processes[0];
        if (first->monotonic_ns > first->start)
            perfetto->base = first->monotonic_ns - first->start;
        if (first->unix_ns > first->start)
            unix_ns = first->unix_ns - first->start;
    }
    Perfetto__Protos__ClockSnapshot__Clock clocks[2] = {
        PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT,
        PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT};
    Perfetto__Protos__ClockSnapshot__Clock *list[2] = {&clocks[0], &clocks[1]};
    Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
    Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    clocks[0].has_clock_id = clocks[0].has_timestamp = true;
    clocks[0].clock_id = CLOCK_ID_MONOTONIC;
    clocks[0].timestamp = perfetto->base;
    clocks[1].has_clock_id = clocks[1].has_timestamp = true;
    clocks[1].clock_id = CLOCK_ID_REALTIME;
    clocks[1].timestamp = unix_ns;
    snapshot.n_clocks = unix_ns ? 2 : 1;
    snapshot.clocks = list;
    snapshot.has_primary_trace_clock = true;
    snapshot.primary_trace_clock = CLOCK_ID_MONOTONIC;
    packet.clock_snapshot = &snapshot;
    crn_perfetto_put(perfetto, &packet);
}

void crn_perfetto_put_interned(crn_perfetto *perfetto, Perfetto__Protos__InternedData *data,
                               bool first)
{
    Perfetto__Protos__TracePacketDefaults defaults = PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
    Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    defaults.has_timestamp_clock_id = true;
    defaults.timestamp_clock_id = CLOCK_ID_MONOTONIC;
    packet.interned_data = data;
    packet.has_sequence_flags = true;
    packet.sequence_flags = first ? CRN_PERFETTO_STATE_CLEARED : CRN_PERFETTO_STATE_NEEDED;
    if (first)
        packet.trace_packet_defaults = &defaults;
    crn_perfetto_put(perfetto, &packet);
}

static void put_key(crn_perfetto *perfetto, uint64_t number, char *name, bool first)
{
    Perfetto__Protos__EventCategory category = PERFETTO__PROTOS__EVENT_CATEGORY__INIT;
    Perfetto__Protos__EventCategory *categories = &category;
    Perfetto__Protos__DebugAnnotationName key = PERFETTO__PROTOS__DEBUG_ANNOTATION_NAME__INIT;
    Perfetto__Protos__DebugAnnotationName *keys = &key;
    Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    category.has_iid = key.has_iid = true;
    category.iid = CRN_PERFETTO_SPAN;
    category.name = (char *)"span";
    key.iid = number;
    key.name = name;
    data.n_event_categories = first;
    data.event_categories = &categories;
    data.n_debug_annotation_names = 1;
    data.debug_annotation_names = &keys;
    crn_perfetto_put_interned(perfetto, &data, first);
}

/* Interns the name and source location of a block under its id. */
static void put_block(crn_perfetto *perfetto, uint32_t block)
{
    const crn_block_info *info = &perfetto->timeline->profile->blocks[block];
    Perfetto__Protos__EventName name = PERFETTO__PROTOS__EVENT_NAME__INIT;
    Perfetto__Protos__EventName *names = &name;
    Perfetto__Protos__SourceLocation place = PERFETTO__PROTOS__SOURCE_LOCATION__INIT;
    Perfetto__Protos__SourceLocation *places = &place;
    Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    char *file = crn_text_copy(info->file, false);
    name.has_iid = place.has_iid = true;
    name.iid = place.iid = block + (uint64_t)1;
    name.name = place.function_name = perfetto->timeline->names[block];
    place.file_name = file;
    place.has_line_number = info->line != 0;
    place.line_number = info->line;
    data.n_event_names = 1;
    data.event_names = &names;
    data.n_source_locations = *file != 0;
    data.source_locations = &places;
    crn_perfetto_put_interned(perfetto, &data, false);
    crn_free(file);
}

static void put_names(crn_perfetto *perfetto)
{
    const crn_timeline *timeline = perfetto->timeline;
    put_key(perfetto, CRN_PERFETTO_ITERATION, (char *)"iteration", true);
    put_key(perfetto, CRN_PERFETTO_OPEN, (char *)"open", false);
    if (perfetto->timeline->trace->cpu)
        put_key(perfetto, CRN_PERFETTO_CPU, (char *)"cpu_ns", false);
    if (perfetto->timeline->trace->ready)
        put_key(perfetto, CRN_PERFETTO_READY, (char *)"ready_ns", false);
    if (perfetto->timeline->trace->event_count)
        put_key(perfetto, CRN_PERFETTO_LEVEL, (char *)"level", false);
    if (perfetto->timeline->trace->off_core_count)
        put_key(perfetto, CRN_PERFETTO_WOKEN_BY, (char *)"woken by", false);
    for (uint32_t k = 0; k < perfetto->timeline->trace->key_count; k++)
        put_key(perfetto, CRN_PERFETTO_KEYS + k, timeline->keys[k], false);
    for (uint32_t b = 0; b < timeline->profile->block_count; b++)
        if (timeline->names[b])
            put_block(perfetto, b);
}

/* ---- tracks ---- */

static void put_track(crn_perfetto *perfetto, Perfetto__Protos__TrackDescriptor *track)
{
    Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    track->has_uuid = true;
    packet.track_descriptor = track;
    crn_perfetto_put(perfetto, &packet);
}

static void put_process(crn_perfetto *perfetto, uint32_t number)
{
    Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
    process.has_pid = true;
    process.pid = (int32_t)perfetto->timeline->process_numbers[number];
    process.process_name = perfetto->timeline->process_names[number];
    track.uuid = crn_perfetto_process(number);
    track.process = &process;
    put_track(perfetto, &track);

    Perfetto__Protos__TrackDescriptor counter = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__CounterDescriptor unit = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
    unit.unit_name = (char *)"lanes";
    counter.uuid = crn_perfetto_counter(number);
    counter.has_parent_uuid = true;
    counter.parent_uuid = crn_perfetto_process(number);
    counter.name = (char *)"lanes with an open span";
    counter.counter = &unit;
    put_track(perfetto, &counter);
}

/* Writes a track for each counter of each process. */
static void put_counters(crn_perfetto *perfetto)
{
    const crn_timeline *timeline = perfetto->timeline;
    const crn_trace *trace = timeline->trace;
    uint8_t *known = crn_calloc((size_t)timeline->process_count * trace->key_count + 1, 1);
    for (uint32_t c = 0; c < trace->counter_count; c++) {
        uint32_t process = timeline->process[trace->spans[trace->counters[c].span].lane];
        uint32_t key = trace->counters[c].key;
        uint8_t *its = &known[(size_t)process * trace->key_count + key];
        if (*its)
            continue;
        *its = 1;
        Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
        Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
        track.uuid = crn_perfetto_own_counter(process, key);
        track.has_parent_uuid = true;
        track.parent_uuid = crn_perfetto_process(process);
        track.name = timeline->keys[key];
        track.counter = &counter;
        put_track(perfetto, &track);
    }
    crn_free(known);
}

/* Writes the track of a row. The first row of a lane is its thread. */
static void put_row(crn_perfetto *perfetto, uint32_t number)
{
    const crn_timeline *timeline = perfetto->timeline;
    const crn_row *row = &timeline->rows[number];
    Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
    uint32_t process = timeline->process[row->lane];
    track.uuid = crn_perfetto_row(number);
    track.has_parent_uuid = true;
    if (row->number) {
        track.parent_uuid = crn_perfetto_row(number - row->number);
        track.name = timeline->row_names[number];
    } else {
        track.parent_uuid = crn_perfetto_process(process);
        thread.has_pid = thread.has_tid = true;
        thread.pid = (int32_t)timeline->process_numbers[process];
        thread.tid = (int32_t)timeline->threads[row->lane];
        thread.thread_name = timeline->row_names[number];
        track.thread = &thread;
    }
    put_track(perfetto, &track);
}

/* Writes a track for off-core times below the first row of each lane that has any. */
static void put_off_core(crn_perfetto *perfetto)
{
    const crn_timeline *timeline = perfetto->timeline;
    const crn_trace *trace = timeline->trace;
    for (uint32_t r = 0, o = 0; r < timeline->row_count; r++) {
        uint32_t lane = timeline->rows[r].lane;
        while (o < trace->off_core_count && trace->off_core[o].lane < lane)
            o++;
        if (timeline->rows[r].number || o == trace->off_core_count ||
            trace->off_core[o].lane != lane)
            continue;
        Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
        track.uuid = crn_perfetto_off_core(lane);
        track.has_parent_uuid = true;
        track.parent_uuid = crn_perfetto_row(r);
        track.name = (char *)"no core";
        put_track(perfetto, &track);
    }
}

void crn_perfetto_begin(crn_perfetto *perfetto)
{
    put_clocks(perfetto);
    put_names(perfetto);
    for (uint32_t p = 0; p < perfetto->timeline->process_count; p++)
        put_process(perfetto, p);
    for (uint32_t r = 0; r < perfetto->timeline->row_count; r++)
        put_row(perfetto, r);
    put_counters(perfetto);
    put_off_core(perfetto);
}
