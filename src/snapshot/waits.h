/* SPDX-License-Identifier: MIT
 *
 * waits.h - what the contexts that wait in a live capture will be charged, added to what they
 * have been, so that what a reader sees never goes back and counts nothing twice.
 */
#ifndef CRN_SNAPSHOT_WAITS_H
#define CRN_SNAPSHOT_WAITS_H

#include <cairn/cairn.h>

#include "capture/reader.h"

/* Reads a lane's header when nobody is writing its time. False when there is no memory, or the
 * file cannot be read. A header that is cut short is zeros from there on, and not `whole`. */
bool crn_waits_header(const crn_reader *reader, uint32_t lane, crn_disk_lane *header, bool *whole,
                      crn_error *error);

/* The clock up to which wall time is charged or promised. */
uint64_t crn_waits_clock(const crn_disk_lane *header);

/* Corrects counters that were read after `before` was: of a metric, wall or cpu, `counters[r *
 * stride]` being that of record r, of which there are `count`. */
bool crn_waits_add(const crn_reader *reader, uint32_t lane, const crn_disk_lane *before,
                   cairn_metric metric, uint64_t *counters, size_t stride, uint64_t count,
                   crn_error *error);

#endif
