/* SPDX-License-Identifier: MIT
 *
 * What a program compiled by MLton prints for @MLton show-sources --: a magic number, names,
 * sources (a name and the sequence of sources that it may call), and sequences of sources.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/mlmon.h"

bool crn_mlmon_fail(const crn_source *source, const char *what, crn_error *error)
{
    return crn_error_set(error, CAIRN_E_FORMAT, "%s, line %" PRIu64 ": %s", crn_source_name(source),
                         crn_source_line_number(source), what);
}

char *crn_mlmon_line(crn_source *source, crn_error *error)
{
    size_t length;
    char *line = crn_source_line(source, &length, error);
    if (!line && !error->code)
        crn_mlmon_fail(source, "the file ends too early", error);
    if (line && length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    return line;
}

/* Reads a number and moves `*line` behind it. Returns false at anything else. */
static bool next_number(const char **line, uint64_t *number)
{
    char *end;
    if (**line < '0' || **line > '9')
        return false;
    errno = 0;
    *number = strtoull(*line, &end, 10);
    if (errno || (*end && *end != ' ' && *end != '\t'))
        return false;
    *line = end + strspn(end, " \t");
    return true;
}

int crn_mlmon_numbers(const char *line, uint64_t *numbers, int most)
{
    int count = 0;
    line += strspn(line, " \t");
    while (*line)
        if (count == most || !next_number(&line, &numbers[count++]))
            return -1;
    return count;
}

bool crn_mlmon_count(crn_source *source, uint32_t *count, crn_error *error)
{
    uint64_t number = 0;
    char *line = crn_mlmon_line(source, error);
    if (!line)
        return false;
    if (crn_mlmon_numbers(line, &number, 1) != 1 || number > CRN_MLMON_ROWS_MAX)
        return crn_mlmon_fail(source, "a number of rows is expected here", error);
    *count = (uint32_t)number;
    return true;
}

static bool read_texts(crn_mlmon_names *names, crn_source *source, crn_error *error)
{
    uint32_t count;
    char *line;
    if (!crn_mlmon_count(source, &count, error))
        return false;
    names->texts = crn_calloc((size_t)count + 1, sizeof *names->texts);
    while (names->count < count && (line = crn_mlmon_line(source, error)))
        names->texts[names->count++] = crn_strdup(line);
    return names->count == count;
}

static bool read_sources(crn_mlmon_names *names, crn_source *source, crn_error *error)
{
    uint32_t count;
    if (!crn_mlmon_count(source, &count, error))
        return false;
    names->sources = crn_calloc((size_t)count + 1, sizeof *names->sources);
    for (; names->source_count < count; names->source_count++) {
        uint64_t numbers[2] = {0};
        char *line = crn_mlmon_line(source, error);
        if (!line)
            return false;
        if (crn_mlmon_numbers(line, numbers, 2) != 2 || numbers[0] >= names->count ||
            numbers[1] >= CRN_MLMON_ROWS_MAX)
            return crn_mlmon_fail(source, "a name and a sequence are expected here", error);
        names->sources[names->source_count] =
            (crn_mlmon_source){(uint32_t)numbers[0], (uint32_t)numbers[1]};
    }
    return true;
}

/* `*space` is the number of sources that all sequences may still have, against hostile files. */
static bool read_sequence(const crn_mlmon_names *names, crn_mlmon_sequence *sequence,
                          const char *line, uint32_t *space)
{
    uint64_t number = 0;
    const char *at = line + strspn(line, " \t");
    uint32_t most = (uint32_t)(strlen(at) / 2 + 1);
    sequence->sources = crn_calloc(most, sizeof *sequence->sources);
    while (*at) {
        if (!next_number(&at, &number) || number >= names->source_count || !*space)
            return false;
        sequence->sources[sequence->count++] = (uint32_t)number;
        --*space;
    }
    return true;
}

static bool read_sequences(crn_mlmon_names *names, crn_source *source, crn_error *error)
{
    uint32_t count, space = CRN_MLMON_ROWS_MAX;
    if (!crn_mlmon_count(source, &count, error))
        return false;
    names->sequences = crn_calloc((size_t)count + 1, sizeof *names->sequences);
    while (names->sequence_count < count) {
        char *line = crn_mlmon_line(source, error);
        if (!line)
            return false;
        if (!read_sequence(names, &names->sequences[names->sequence_count++], line, &space))
            return crn_mlmon_fail(source, "a sequence of sources is expected here", error);
    }
    for (uint32_t i = 0; i < names->source_count; i++)
        if (names->sources[i].successors >= count)
            return crn_mlmon_fail(source, "a source names a sequence that is not there", error);
    return true;
}

bool crn_mlmon_names_read(crn_mlmon_names *names, crn_source *source, crn_error *error)
{
    char *line = crn_source_rewind(source, error) ? crn_mlmon_line(source, error) : NULL;
    if (!line)
        return false;
    snprintf(names->magic, sizeof names->magic, "%s", line);
    if (strncmp(names->magic, "0x", 2) != 0)
        return crn_mlmon_fail(source, "is not what a program prints for @MLton show-sources --",
                              error);
    return read_texts(names, source, error) && read_sources(names, source, error) &&
           read_sequences(names, source, error);
}

void crn_mlmon_names_free(crn_mlmon_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        crn_free(names->texts[i]);
    for (uint32_t i = 0; i < names->sequence_count; i++)
        crn_free(names->sequences[i].sources);
    crn_free((void *)names->texts);
    crn_free(names->sources);
    crn_free(names->sequences);
}
