/* SPDX-License-Identifier: MIT
 *
 * writer.h - writes captures: the memory of a profile *is* its file.
 *
 * Threads: crn_capture_* and shared sections need the caller's lock, except crn_section_grow,
 * which locks the shared parts itself.
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
    crn_disk_header *header;       /* mapped permanently */
    crn_disk_directory *directory; /* the last one */
    uint64_t directory_offset;
    uint64_t limit;
    uint64_t end;          /* the header's size: that may become 0 (loss.h). Under lock */
    uint64_t refused_size; /* smallest size by which the file could not grow; 0: none. Under lock */
    bool detached;         /* the file belongs to the parent process: nothing may grow */
    bool lost;             /* the file cannot be written (loss.h); atomic */
    pthread_mutex_t lock;  /* protects the file's end and the directory */
} crn_capture;

/* A section of the capture: contiguous in memory, in chunks in the file. */
typedef struct crn_section {
    crn_capture *capture;
    crn_disk_chunk identity; /* kind, metric, lane */
    char *base;
    uint64_t mapped, reserved; /* bytes */
    crn_disk_chunk *chunks;    /* in order of their place */
    uint32_t chunk_count;
} crn_section;

/* Creates the file under a temporary name in the folder of `path`. The profile fills in the rest of
 * the header. crn_capture_close removes a file that was not published. */
cairn_error crn_capture_create(crn_capture *capture, const char *path, uint64_t limit);

/* Gives the file its final name, once readers can open it. */
cairn_error crn_capture_publish(crn_capture *capture);

/* Moves the struct. Only while no section is open. */
void crn_capture_move(crn_capture *to, const crn_capture *from);

/* Returns the file's descriptor, for immediate use because the program may close it. -1 if the file
 * is gone. */
int crn_capture_file(crn_capture *capture);

/* Allocates a separate chunk of `chunk->size` zeroed bytes, adds it to the directory, sets its
 * offset, and returns its mapping. Release it with crn_capture_release (loss.h). NULL without
 * space. */
char *crn_capture_chunk(crn_capture *capture, crn_disk_chunk *chunk);

/* Returns the number of used bytes of a chunk. */
typedef uint64_t crn_chunk_use(const void *data, const crn_disk_chunk *chunk);

/* When recording ends, releases the chunks' unused space. `shorten` also truncates the file: no
 * thread may write to it any more. */
void crn_capture_trim(crn_capture *capture, crn_chunk_use *use, const void *data, bool shorten);

/* Sets the state and closes the file. Close all sections before. */
void crn_capture_close(crn_capture *capture, crn_capture_state state);

/* In a child of fork: replaces mappings by private copies. */
void crn_capture_detach(crn_capture *capture);
void crn_section_detach(crn_section *section);

void crn_section_open(crn_section *section, crn_capture *capture, crn_section_kind kind,
                      uint16_t metric, uint32_t lane);

/* Makes at least `bytes` usable from the base, zeroed. The base may move. */
cairn_error crn_section_grow(crn_section *section, uint64_t bytes);

/* Unmaps the section; the file keeps it. */
void crn_section_close(crn_section *section);

/* Appends to a section that exists once, publishes, and sets `*place` to the offset. */
cairn_error crn_section_append(crn_section *section, const void *bytes, uint64_t size,
                               uint64_t *place);

#endif
