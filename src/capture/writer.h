/* SPDX-License-Identifier: MIT
 *
 * writer.h - a capture being written: the memory of a profile *is* its file.
 *
 * Threads: crn_capture_* and sections that are shared need the caller's lock, but for
 * crn_section_grow, which locks what it shares with other sections by itself.
 */
#ifndef CRN_CAPTURE_WRITER_H
#define CRN_CAPTURE_WRITER_H

#include <pthread.h>
#include <stdbool.h>

#include <cairn/cairn.h>

#include "capture/format.h"
#include "plat/file.h"

typedef struct crn_capture {
    crn_file file;                 /* under lock */
    crn_disk_header *header;       /* mapped for good */
    crn_disk_directory *directory; /* the last one */
    uint64_t directory_offset;
    uint64_t limit;
    uint64_t refused_size; /* the smallest that the file could not grow by; 0: none. Under lock */
    bool detached;         /* the file is another process's: nothing may grow */
    pthread_mutex_t lock;  /* of the file's end and the directory */
} crn_capture;

/* Bytes that are contiguous in memory and come in chunks in the file. */
typedef struct crn_section {
    crn_capture *capture;
    crn_disk_chunk identity; /* kind, metric, lane */
    char *base;
    uint64_t mapped, reserved; /* bytes */
    crn_disk_chunk *chunks;    /* in order of their place */
    uint32_t chunk_count;
} crn_section;

/* Creates the file under a temporary name in the folder of `path`. The header lacks what the
 * profile fills in. A file that is not published is removed by crn_capture_close. */
cairn_error crn_capture_create(crn_capture *capture, const char *path, uint64_t limit);

/* Gives the file its name, once readers can open it. */
cairn_error crn_capture_publish(crn_capture *capture);

/* The file's descriptor, good for the moment: the program may close it. -1 if it is gone. */
int crn_capture_file(crn_capture *capture);

/* A chunk of its own, `chunk->size` bytes of zeros, entered as `chunk` says; its offset is filled
 * in. Mapped, to be released with crn_address_release; NULL if there is no space. */
char *crn_capture_chunk(crn_capture *capture, crn_disk_chunk *chunk);

/* How many bytes of a chunk are used. */
typedef uint64_t crn_chunk_use(const void *data, const crn_disk_chunk *chunk);

/* Gives back to the system what is not used of chunks, at the very end: and makes the file
 * shorter, where no thread is left that might write to what has gone. */
void crn_capture_trim(crn_capture *capture, crn_chunk_use *use, const void *data, bool shorten);

/* Sets the state and forgets the file. Sections are closed before. */
void crn_capture_close(crn_capture *capture, crn_capture_state state);

/* In a child after fork: what is mapped becomes a private copy. */
void crn_capture_detach(crn_capture *capture);
void crn_section_detach(crn_section *section);

void crn_section_open(crn_section *section, crn_capture *capture, crn_section_kind kind,
                      uint16_t metric, uint32_t lane);

/* Makes at least `bytes` usable from the base, zeroed. The base may move. */
cairn_error crn_section_grow(crn_section *section, uint64_t bytes);

/* Unmaps; the file keeps it. */
void crn_section_close(crn_section *section);

/* Appends to a section that there is one of: `*place` is where. Publishes. */
cairn_error crn_section_append(crn_section *section, const void *bytes, uint64_t size,
                               uint64_t *place);

#endif
