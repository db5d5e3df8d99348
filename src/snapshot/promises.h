/* SPDX-License-Identifier: MIT
 *
 * promises.h - adds promises of a live capture to its counters, so that times never decrease from
 * one reading to the next and count nothing twice.
 */
#ifndef CRN_SNAPSHOT_PROMISES_H
#define CRN_SNAPSHOT_PROMISES_H

#include <cairn/cairn.h>

#include "capture/reader.h"

/* Reads a lane's header with promises and times of one moment. Waits while the writer
 * changes them, up to a second, and up to five seconds for all lanes; then drops the promises.
 * Returns false if out of memory, or if the file cannot be read. If the header is truncated, sets
 * the rest to 0 and `*whole` to false. */
bool crn_promises_header(crn_reader *reader, uint32_t lane, crn_disk_lane *header, bool *whole,
                         crn_error *error);

/* Returns the clock up to which wall time is charged or promised. */
uint64_t crn_promises_clock(const crn_disk_lane *header);

/* Adds promised time to a lane's counters of `metric`, wall or cpu, which were read after `before`,
 * the header. `counters[r * stride]` is the counter of record r < count. Returns false if the file
 * cannot be read. */
bool crn_promises_add(crn_reader *reader, uint32_t lane, const crn_disk_lane *before,
                      cairn_metric metric, uint64_t *counters, size_t stride, uint64_t count,
                      crn_error *error);

#endif
