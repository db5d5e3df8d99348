/* SPDX-License-Identifier: MIT
 *
 * writer.h - writes captures: the memory of a profile *is* its file.
 *
 * Threads: the caller serialises calls of crn_capture_* and calls on shared sections.
 * crn_section_grow itself locks what sections share.
 */
#ifndef CRN_CAPTURE_WRITER_H
#define CRN_CAPTURE_WRITER_H

#include <stdbool.h>

#include <cairn/cairn.h>

#include "capture/format.h"
#include "plat/file.h"
#include "plat/futex.h"

typedef struct crn_capture {
    crn_file file;                             /* under lock */
    crn_disk_header *header;                   /* mapped until crn_capture_close */
    crn_disk_directory *directory;             /* the last directory, mapped */
    uint64_t directory_offset, directory_size; /* bytes; 0: in the first page, as the header is */
    uint64_t limit;
    uint64_t end; /* end of the bytes in use. Not read from header->size, which a loss can set to 0
                     (loss.h). Under lock */
    uint64_t allocated;    /* the file's size. Under lock */
    uint64_t refused_size; /* least growth in bytes for which the disk lacked space; so much is not
                              tried again. 0: none. Under lock */
    bool detached;         /* in a child of fork: the file is the parent's and must not grow */
    bool lost;             /* the file cannot be written (loss.h); atomic */
    uint64_t packed_at;    /* offset of the page for crn_capture_pack; 0: none */
    char *spare;           /* address space for the first reservations (loss.h) */
    uint64_t spare_used;   /* bytes; atomic */
    crn_futex_lock lock;   /* protects the fields "under lock", the file's end and the directory */
} crn_capture;

/* A section of the capture: contiguous in memory, divided into chunks in the file. */
typedef struct crn_section {
    crn_capture *capture;
    crn_disk_chunk identity; /* kind, metric, lane */
    char *base;
    uint64_t mapped, reserved; /* bytes; reserved 0: in the first page of the file */
    crn_disk_chunk *chunks;    /* in the order of `place` */
    uint32_t chunk_count;
} crn_section;

/* Creates the file with a temporary name in the folder of `path`. The caller fills in the rest of
 * the header. crn_capture_close removes a file that was not published. */
cairn_error crn_capture_create(crn_capture *capture, const char *path, uint64_t limit);

/* Gives the file its final name. Call it when the file is readable. */
cairn_error crn_capture_publish(crn_capture *capture);

/* Moves the struct. Call it only while no section is open: sections point to the capture. */
void crn_capture_move(crn_capture *to, const crn_capture *from);

/* Returns the file's descriptor; -1 if the file is gone. Use it at once: the program may close
 * it. */
int crn_capture_file(crn_capture *capture);

/* Returns the descriptor of a capture in memory, which no path leads to; -1 for any other. */
int crn_capture_file_in_memory(crn_capture *capture);

/* Allocates a chunk of `chunk->size` zeroed bytes that is in no crn_section, adds it to the
 * directory and sets its offset. Returns its mapping, or NULL without space or memory. Release it
 * with crn_capture_release (loss.h). */
char *crn_capture_chunk(crn_capture *capture, crn_disk_chunk *chunk);

/* Returns the number of used bytes of a chunk. */
typedef uint64_t crn_chunk_use(const void *data, const crn_disk_chunk *chunk);

/* Releases the chunks' unused space, when recording ends. Returns the end of what the file still
 * needs; UINT64_MAX on an error. */
uint64_t crn_capture_trim(crn_capture *capture, crn_chunk_use *use, const void *data);

/* Truncates the file behind `end`, or behind the last chunk if that comes first. No thread may
 * write to chunks behind `end`. */
void crn_capture_shorten(crn_capture *capture, uint64_t end);

/* Takes a page of the new capture, before all chunks, for crn_capture_pack, unless the limit on the
 * file's size is a few pages. */
void crn_capture_expect_pack(crn_capture *capture);

/* Packs a small capture of one lane when recording ends: writes the counters of the first `count`
 * records, without the writer's caches, to the page that was taken for them, moves what must stay
 * to the file's begin, and truncates the file. Returns false if the file stays as it is, for lack
 * of anything to gain. The records are zero in memory then, and their section is over. Hold the
 * lock. */
bool crn_capture_pack(crn_capture *capture, crn_section *links, crn_section *records,
                      uint32_t count);

/* Truncates the file, whose descriptor is `file`, behind `end`. Hold the lock. */
void crn_capture_cut(crn_capture *capture, int file, uint64_t end);

/* Sets the state and closes the file. Close all sections first. */
void crn_capture_close(crn_capture *capture, crn_capture_state state);

/* Replace the mappings by private copies, so that a child of fork does not write to its parent's
 * file. Call them in the child. */
void crn_capture_detach(crn_capture *capture);
void crn_section_detach(crn_section *section);

void crn_section_open(crn_section *section, crn_capture *capture, crn_section_kind kind,
                      uint16_t metric, uint32_t lane);

/* Grows the section to at least `bytes`, zeroed. May move its base. */
cairn_error crn_section_grow(crn_section *section, uint64_t bytes);

/* Unmaps the section, which stays in the file. */
void crn_section_close(crn_section *section);

/* Appends bytes to a section that exists once and publishes them. Sets `*place` to their offset. */
cairn_error crn_section_append(crn_section *section, const void *bytes, uint64_t size,
                               uint64_t *place);

#endif
