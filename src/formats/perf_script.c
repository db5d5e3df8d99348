/* SPDX-License-Identifier: MIT
 *
 * Reads the output of `perf script`: for each sample a header line, its stack, innermost frame
 * first, and an empty line:
 *
 *     lua5.4 4242 10.123456:     250000 cycles:u:
 *             55d0c0de1234 luaV_execute+0x12 (/usr/bin/lua5.4)
 *             7f00deadbeef [unknown] (/usr/lib/libc.so.6)
 *
 * The thread's name becomes the outermost frame, as in flame graph tools.
 */
#include <cairn/cairn.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"
#include "formats/stacks.h"

/* A word of a line. */
typedef struct token {
    const char *text;
    size_t length;
} token;

/* The parsed header of a sample. */
typedef struct header {
    token command;
    token event; /* empty if it is not printed */
    uint64_t period;
    bool has_period;
    bool timed;
    const char *rest; /* the text after the event */
} header;

typedef struct reader {
    crn_source *source;
    crn_stacks stacks;
    uint32_t *frames; /* the current sample's blocks, innermost first */
    size_t frame_count, frame_capacity;
    size_t inlined; /* number of inlined frames in `waiting`; the next frame that is not inlined has
                       their file */
    char **waiting; /* names of inlined frames */
    size_t waiting_capacity;
    bool open; /* within a sample */
    uint32_t metric, samples;
    uint64_t period, sum;
    uint64_t sample_count, strange_lines, lost_events;
} reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool next_token(const char **at, token *token)
{
    while (is_blank(**at))
        (*at)++;
    token->text = *at;
    while (**at && !is_blank(**at))
        (*at)++;
    token->length = (size_t)(*at - token->text);
    return token->length > 0;
}

static bool is_span(token token, const char *accepted)
{
    return token.length > 0 && strspn(token.text, accepted) >= token.length;
}

/* Returns true for a time in seconds: "10.123456:". */
static bool is_time(token token)
{
    if (token.length < 4 || token.text[token.length - 1] != ':')
        return false;
    token.length--;
    return is_span(token, "0123456789.") && memchr(token.text, '.', token.length) &&
           isdigit((unsigned char)*token.text);
}

/* Returns true for a process or process/thread: "4242", "4242/4243" or "-1". */
static bool is_process(token token)
{
    return is_span(token, "0123456789/-") && *token.text != '/';
}

/* Parses the part after the time: "250000 cycles:u:" and perhaps more. */
static void parse_event(const char *at, header *header)
{
    token token;
    header->rest = at;
    if (!next_token(&at, &token))
        return;
    if (is_span(token, "0123456789")) {
        errno = 0;
        header->period = strtoull(token.text, NULL, 10);
        header->has_period = errno == 0;
        if (!next_token(&at, &token))
            return;
    }
    if (token.length < 2 || token.text[token.length - 1] != ':') {
        header->has_period = false;
        return;
    }
    token.length--;
    header->rest = at;
    /* Modifiers such as :u and :ppp select what is counted and are not part of the name. */
    for (size_t i = token.length; i-- > 1;) {
        if (token.text[i] == ':') {
            token.length = i;
            break;
        }
        if (!strchr("ukhIGHpPSDWeb", token.text[i]))
            break;
    }
    header->event = token;
}

/* Parses a sample's first line. The command can contain spaces and digits: the process is the last
 * number before the time, or on the line if no time is printed. */
static bool parse_header(const char *line, header *header)
{
    *header = (struct header){.rest = ""};
    token token;
    const char *at = line, *process = NULL;
    while (!header->timed && next_token(&at, &token)) {
        if (token.text > line && is_process(token))
            process = token.text;
        header->timed = is_time(token);
    }
    if (!process)
        return false;
    while (process > line && is_blank(process[-1]))
        process--;
    header->command.text = line;
    header->command.length = (size_t)(process - line);
    if (header->timed)
        parse_event(at, header);
    return true;
}

/* Splits "symbol+0x12 (/path/file.so)" in place. The file name may contain brackets. */
static bool split_frame(char *text, const char **symbol, const char **file)
{
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    text[length] = 0;
    *file = "";
    if (length > 0 && text[length - 1] == ')') {
        size_t at = length - 1, open = 1;
        while (at > 0 && open > 0) {
            at--;
            open += (text[at] == ')');
            open -= (text[at] == '(');
        }
        if (open == 0 && (at == 0 || is_blank(text[at - 1]))) {
            text[length - 1] = 0;
            *file = text + at + 1;
            length = at;
            while (length > 0 && is_blank(text[length - 1]))
                length--;
            text[length] = 0;
        }
    }
    char *offset = strrchr(text, '+');
    if (offset && offset > text && strncmp(offset, "+0x", 3) == 0 && offset[3] &&
        offset[3 + strspn(offset + 3, "0123456789abcdef")] == 0)
        *offset = 0;
    *symbol = text;
    return *text || **file;
}

/* Returns the length of a frame's leading address; 0 without one. */
static size_t address_length(const char *line)
{
    token token;
    const char *at = line;
    if (!next_token(&at, &token) || !is_span(token, "0123456789abcdef"))
        return 0;
    /* "add" may be a function's name: then its file follows, or nothing. */
    while (is_blank(*at))
        at++;
    return *at && *at != '(' ? (size_t)(at - line) : 0;
}

static void push_frame(reader *reader, const char *symbol, const char *file)
{
    if (reader->frame_count == reader->frame_capacity) {
        reader->frame_capacity = reader->frame_capacity * 2 + 128;
        reader->frames =
            crn_realloc(reader->frames, reader->frame_capacity, sizeof *reader->frames);
    }
    crn_block_info info = {.name = *symbol ? symbol : "[unknown]",
                           .file = strcmp(file, "[unknown]") == 0 ? "" : file};
    reader->frames[reader->frame_count++] =
        crn_profile_builder_block(reader->stacks.builder, &info);
}

/* Pushes the waiting inlined frames, with the file of the frame that follows them. */
static void push_inlined(reader *reader, const char *file)
{
    for (size_t i = 0; i < reader->inlined; i++) {
        push_frame(reader, reader->waiting[i], file);
        crn_free(reader->waiting[i]);
    }
    reader->inlined = 0;
}

static void keep_inlined(reader *reader, const char *symbol)
{
    if (reader->inlined == reader->waiting_capacity) {
        reader->waiting_capacity = reader->waiting_capacity * 2 + 16;
        reader->waiting =
            crn_realloc(reader->waiting, reader->waiting_capacity, sizeof *reader->waiting);
    }
    reader->waiting[reader->inlined++] = crn_strdup(symbol);
}

static void read_frame(reader *reader, char *line)
{
    const char *symbol, *file;
    if (!reader->open || !split_frame(line + address_length(line), &symbol, &file)) {
        reader->strange_lines++;
    } else if (strcmp(file, "inlined") == 0) {
        keep_inlined(reader, symbol);
    } else {
        push_inlined(reader, file);
        push_frame(reader, symbol, file);
    }
}

static bool end_sample(reader *reader, crn_error *error)
{
    if (!reader->open)
        return true;
    push_inlined(reader, "");
    while (reader->frame_count > 0)
        crn_stacks_push(&reader->stacks, reader->frames[--reader->frame_count]);
    uint32_t context = crn_stacks_end(&reader->stacks, 0);
    reader->open = false;
    if (!crn_stacks_add_up(&reader->sum, reader->period))
        return crn_error_set(error, CAIRN_E_LIMIT, "%s:%llu: the periods add up to 2^62 or more",
                             crn_source_name(reader->source),
                             (unsigned long long)crn_source_line_number(reader->source));
    reader->lost_events += reader->metric == CRN_METRIC_MAX;
    crn_profile_builder_charge(reader->stacks.builder, context, reader->metric, reader->period);
    if (reader->samples)
        crn_profile_builder_charge(reader->stacks.builder, context, reader->samples, 1);
    reader->sample_count++;
    return true;
}

static void begin_sample(reader *reader, const header *header)
{
    crn_profile_builder *builder = reader->stacks.builder;
    char *command = strndup(header->command.text, header->command.length);
    char *event = header->event.length ? strndup(header->event.text, header->event.length) : NULL;
    if (!command)
        abort();
    crn_block_info info = {.name = command, .file = ""};
    crn_stacks_push(&reader->stacks, crn_profile_builder_block(builder, &info));
    reader->open = true;
    reader->samples = 0;
    reader->period = header->has_period ? header->period : 1;
    bool clock = event && header->has_period &&
                 (strcmp(event, "cpu-clock") == 0 || strcmp(event, "task-clock") == 0);
    reader->metric = crn_profile_builder_metric(builder, event ? event : "samples",
                                                clock ? "nanoseconds" : "count");
    if (header->has_period)
        reader->samples = crn_profile_builder_metric(builder, "samples", "count");
    free(event);
    free(command);
}

static bool read_line(void *data, char *line, size_t length, crn_error *error)
{
    reader *reader = data;
    if (*line == '#')
        return true;
    char *text = line;
    while (is_blank(*text))
        text++;
    if (length == 0 || *text == 0)
        return end_sample(reader, error);
    header header;
    bool is_header = parse_header(text, &header);
    /* Without call chains, commands are right-aligned and may begin with blanks. */
    if (is_blank(*line) && reader->open && !(is_header && header.timed)) {
        read_frame(reader, text);
        return true;
    }
    if (!is_header) {
        reader->strange_lines++;
        return true;
    }
    if (!end_sample(reader, error))
        return false;
    begin_sample(reader, &header);
    /* Without call chains, the only frame is on the header line. */
    if (address_length(header.rest))
        read_frame(reader, line + (header.rest - line));
    return true;
}

static void warn(const reader *reader)
{
    crn_profile_builder *builder = reader->stacks.builder;
    if (reader->strange_lines)
        crn_profile_builder_warn(builder, "%llu lines of the imported file were not understood",
                                 (unsigned long long)reader->strange_lines);
    if (reader->lost_events)
        crn_profile_builder_warn(builder,
                                 "%llu imported samples are of more kinds of event than "
                                 "there can be metrics: counted, their periods left out",
                                 (unsigned long long)reader->lost_events);
}

crn_profile *crn_perf_read(crn_source *source, const crn_import_options *options, crn_error *error)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    reader reader = {.source = source};
    crn_stacks_open(&reader.stacks, builder);
    crn_profile_builder_note(builder, "imported", "perf script");
    bool good =
        crn_import_lines(source, options, read_line, &reader, error) && end_sample(&reader, error);
    if (good && reader.sample_count == 0)
        good = crn_error_set(error, CAIRN_E_FORMAT,
                             "%s: contains no samples; is it the output of perf script?",
                             crn_source_name(source));
    warn(&reader);
    push_inlined(&reader, "");
    crn_free(reader.frames);
    crn_free(reader.waiting);
    crn_stacks_close(&reader.stacks);
    return crn_import_end(builder, good);
}

bool crn_perf_recognise(const char *head, size_t length)
{
    if (memchr(head, 0, length))
        return false;
    bool result = false;
    char *copy = crn_calloc(length + 1, 1), *save = NULL;
    memcpy(copy, head, length);
    for (char *line = strtok_r(copy, "\n", &save); line && !result;
         line = strtok_r(NULL, "\n", &save)) {
        token token;
        const char *at = line;
        if (*line == '#')
            continue;
        if (is_blank(*line) && address_length(line)) {
            size_t size = strcspn(line, "\r");
            result = size > 0 && line[size - 1] == ')';
        }
        while (!result && next_token(&at, &token))
            result = token.text > line && is_time(token);
    }
    crn_free(copy);
    return result;
}
