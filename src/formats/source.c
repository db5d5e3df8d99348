/* SPDX-License-Identifier: MIT */
#include "formats/source.h"

#include <cairn/cairn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

enum { HEAD_SIZE = 4096, READ_SIZE = CRN_SOURCE_READ_SIZE };

struct crn_source {
    gzFile file;
    char *name;
    uint64_t file_size;
    char *buffer; /* [begin, end) is read but not consumed */
    size_t begin, end, capacity;
    bool ended;
    uint64_t unpacked; /* bytes read since the begin, unpacked */
    uint64_t lines;
};

static crn_source *fail(crn_error *error, const char *name, const char *what)
{
    crn_error_set(error, CAIRN_E_READ, "%s: %s", name, what);
    return NULL;
}

crn_source *crn_source_from(int descriptor, const char *name, crn_error *error)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0) {
        close(descriptor);
        return fail(error, name, strerror(errno));
    }
    gzFile file = gzdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return fail(error, name, "no memory to read it");
    }
    gzbuffer(file, READ_SIZE);
    crn_source *source = crn_calloc(1, sizeof *source);
    source->file = file;
    source->name = crn_strdup(name);
    source->file_size = (uint64_t)status.st_size;
    source->capacity = READ_SIZE + 1;
    source->buffer = crn_realloc(NULL, source->capacity, 1);
    return source;
}

/* Waits for a writer of a non-blocking named pipe, makes the pipe block, and reads its first bytes.
 * Sets errno to ENXIO if no writer comes. */
static ssize_t read_first(int descriptor, void *block, size_t size)
{
    enum { STEP_MS = 20 };
    for (int waited = 0; waited < CRN_SOURCE_WRITER_MS; waited += STEP_MS) {
        ssize_t count = read(descriptor, block, size);
        struct pollfd pipe = {.fd = descriptor};
        if (count == 0) {
            if (poll(&pipe, 1, STEP_MS) <= 0)
                continue; /* no writer yet: after a writer, poll finds POLLHUP */
            count = read(descriptor, block, size); /* what it wrote meanwhile */
        }
        int reason = errno;
        fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
        if (count >= 0 || reason != EAGAIN)
            return count;
        return read(descriptor, block, size); /* there is a writer: waits for its bytes */
    }
    errno = ENXIO;
    return -1;
}

/* Copies a pipe to an unnamed temporary file and returns its descriptor; -1 with errno, which is
 * EFBIG above CRN_SOURCE_PIPE_MAX. */
static int spool(int descriptor, bool named)
{
    FILE *copy = tmpfile();
    if (!copy)
        return -1;
    static char block[READ_SIZE];
    ssize_t count;
    uint64_t total = 0;
    for (bool first = named;; first = false) {
        count = (first ? read_first : read)(descriptor, block, sizeof block);
        if (count < 0 && errno == EINTR)
            continue;
        if (!count)
            break;
        total += count > 0 ? (uint64_t)count : 0;
        if (total > CRN_SOURCE_PIPE_MAX)
            errno = EFBIG;
        if (count < 0 || total > CRN_SOURCE_PIPE_MAX ||
            fwrite(block, 1, (size_t)count, copy) != (size_t)count)
            break;
    }
    int result = -1;
    if (count == 0 && fflush(copy) == 0 && fseek(copy, 0, SEEK_SET) == 0)
        result = dup(fileno(copy));
    int saved = errno;
    fclose(copy);
    errno = saved;
    return result;
}

crn_source *crn_source_open(const char *path, crn_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int descriptor = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        crn_error_set(error, CAIRN_E_READ, "%s: %s; %s", name, strerror(errno),
                      errno == EACCES ? "ask its owner for read permission" : "check the path");
        return NULL;
    }
    struct stat status;
    if (fstat(descriptor, &status) < 0 || S_ISDIR(status.st_mode)) {
        close(descriptor);
        return fail(error, name, "is a directory; name a file in it");
    }
    if (!standard && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))) {
        close(descriptor);
        return fail(error, name, "is a device; name a file, or - for standard input");
    }
    if (!S_ISREG(status.st_mode)) {
        int copy = spool(descriptor, !standard && S_ISFIFO(status.st_mode));
        int saved = errno;
        close(descriptor);
        if (copy < 0 && saved == EFBIG) {
            crn_error_set(error, CAIRN_E_LIMIT,
                          "%s: does not end within %llu MiB; if it ends later, write it to a file "
                          "and import that",
                          name, (unsigned long long)(CRN_SOURCE_PIPE_MAX >> 20));
            return NULL;
        }
        if (copy < 0)
            return fail(error, name,
                        saved == ENXIO ? "is a pipe that nobody writes to" : strerror(saved));
        descriptor = copy;
    } else {
        /* Standard input may be positioned anywhere in its file. */
        lseek(descriptor, 0, SEEK_SET);
    }
    return crn_source_from(descriptor, name, error);
}

void crn_source_close(crn_source *source)
{
    if (!source)
        return;
    gzclose_r(source->file);
    crn_free(source->buffer);
    crn_free(source->name);
    crn_free(source);
}

const char *crn_source_name(const crn_source *source)
{
    return source->name;
}

/* Returns true at the end of the file; false with an error if reading failed. */
static bool is_at_end(const crn_source *source, crn_error *error)
{
    int status;
    const char *reason = gzerror(source->file, &status);
    if (status == Z_OK || status == Z_STREAM_END)
        return true;
    if (status == Z_ERRNO)
        reason = strerror(errno);
    else if (status == Z_BUF_ERROR)
        reason = "its compressed data is truncated; copy it again";
    else if (status == Z_DATA_ERROR)
        reason = "its compressed data is damaged; copy it again";
    return crn_error_set(error, CAIRN_E_READ, "%s: %s", source->name, reason);
}

/* Returns true if too much has been unpacked: a packed file of a few megabytes can stand for hours
 * of reading. */
static bool is_too_long(const crn_source *source, crn_error *error)
{
    if (source->unpacked > CRN_SOURCE_BYTES_MAX)
        return !crn_error_set(error, CAIRN_E_LIMIT,
                              "%s: unpacks to more than %llu GiB, which is the limit", source->name,
                              (unsigned long long)(CRN_SOURCE_BYTES_MAX >> 30));
    z_off_t packed = gzoffset(source->file);
    if (source->unpacked > CRN_SOURCE_RATIO_FROM && packed >= 0 &&
        source->unpacked / CRN_SOURCE_RATIO_MAX > (uint64_t)packed)
        return !crn_error_set(
            error, CAIRN_E_LIMIT,
            "%s: unpacks to more than %d times its size, as no profile does; if it "
            "is one, unpack it with gunzip first",
            source->name, CRN_SOURCE_RATIO_MAX);
    return false;
}

/* Reads until `wanted` bytes are buffered or the file ends. */
static bool fill(crn_source *source, size_t wanted, crn_error *error)
{
    if (source->end - source->begin >= wanted || source->ended)
        return true;
    if (source->begin > 0) {
        memmove(source->buffer, source->buffer + source->begin, source->end - source->begin);
        source->end -= source->begin;
        source->begin = 0;
    }
    while (source->end < wanted) {
        if (source->capacity - source->end < READ_SIZE + 1) {
            source->capacity = source->capacity * 2 + READ_SIZE + 1;
            source->buffer = crn_realloc(source->buffer, source->capacity, 1);
        }
        int count = gzread(source->file, source->buffer + source->end, READ_SIZE);
        if (count <= 0 && !is_at_end(source, error))
            return false;
        if (count < 0)
            count = 0;
        source->end += (size_t)count;
        source->unpacked += (uint64_t)count;
        if (is_too_long(source, error))
            return false;
        if (count == 0) {
            source->ended = true;
            break;
        }
    }
    return true;
}

const char *crn_source_head(crn_source *source, size_t *length, crn_error *error)
{
    error->code = CAIRN_OK;
    bool good = fill(source, HEAD_SIZE, error);
    *length = source->end - source->begin;
    if (*length > 0)
        return source->buffer + source->begin; /* an error behind the head is reported later */
    if (good)
        crn_error_set(error, CAIRN_E_READ, "%s: is empty; name a profiler's output", source->name);
    return NULL;
}

bool crn_source_rewind(crn_source *source, crn_error *error)
{
    if (gzrewind(source->file) < 0)
        return crn_error_set(error, CAIRN_E_READ, "%s: cannot be read twice", source->name);
    source->begin = source->end = 0;
    source->ended = false;
    source->unpacked = source->lines = 0;
    return true;
}

static const char *cut_short(crn_source *source, crn_error *error)
{
    crn_error_set(error, CAIRN_E_TRUNCATED, "%s: truncated after %llu bytes%s; copy it again",
                  source->name, (unsigned long long)source->unpacked, crn_source_of_what(source));
    return NULL;
}

const char *crn_source_bytes(crn_source *source, size_t length, crn_error *error)
{
    error->code = CAIRN_OK;
    if (!fill(source, length, error))
        return NULL;
    size_t there = source->end - source->begin;
    if (there < length)
        return there == 0 ? NULL : cut_short(source, error);
    const char *bytes = source->buffer + source->begin;
    source->begin += length;
    return bytes;
}

bool crn_source_skip(crn_source *source, uint64_t length, crn_error *error)
{
    while (length > 0) {
        size_t part = length < READ_SIZE ? (size_t)length : READ_SIZE;
        if (!crn_source_bytes(source, part, error)) {
            if (error->code == CAIRN_OK)
                cut_short(source, error);
            return false;
        }
        length -= part;
    }
    return true;
}

char *crn_source_line(crn_source *source, size_t *length, crn_error *error)
{
    error->code = CAIRN_OK;
    size_t searched = 0;
    for (;;) {
        size_t there = source->end - source->begin;
        char *line = source->buffer + source->begin;
        char *end = there > searched ? memchr(line + searched, '\n', there - searched) : NULL;
        if (!end && source->ended) {
            if (there == 0)
                return NULL;
            end = line + there;
        }
        if (end) {
            *length = (size_t)(end - line);
            source->begin += *length + (end < source->buffer + source->end);
            *end = '\0'; /* fill leaves space for this byte */
            if (*length > 0 && line[*length - 1] == '\r')
                line[--*length] = '\0';
            source->lines++;
            if (!memchr(line, 0, *length))
                return line;
            crn_error_set(error, CAIRN_E_FORMAT, "%s:%llu: is not text: it contains a NUL byte",
                          source->name, (unsigned long long)source->lines);
            return NULL;
        }
        if (there > CRN_SOURCE_LINE_MAX) {
            crn_error_set(error, CAIRN_E_LIMIT, "%s:%llu: the line is longer than %zu MiB",
                          source->name, (unsigned long long)source->lines + 1,
                          CRN_SOURCE_LINE_MAX >> 20);
            return NULL;
        }
        searched = there;
        if (!fill(source, there + 1, error))
            return NULL;
    }
}

void crn_source_position(const crn_source *source, uint64_t *done, uint64_t *total)
{
    z_off_t offset = gzoffset(source->file);
    *done = offset > 0 ? (uint64_t)offset : 0;
    *total = source->file_size;
}

uint64_t crn_source_offset(const crn_source *source)
{
    return source->unpacked - (source->end - source->begin);
}

const char *crn_source_of_what(const crn_source *source)
{
    return gzdirect(source->file) ? "" : " of the unpacked data";
}

uint64_t crn_source_line_number(const crn_source *source)
{
    return source->lines;
}
