/* SPDX-License-Identifier: MIT
 *
 * promises.h - adds the time that waiting contexts of a live capture have not been charged yet, so
 * that successive readings never decrease and count nothing twice.
 */
#ifndef CRN_SNAPSHOT_PROMISES_H
#define CRN_SNAPSHOT_PROMISES_H

#include <cairn/cairn.h>

#include "capture/reader.h"

/* Reads a lane's header while no write to its times is under way. Returns false without memory, or
 * if the file cannot be read. If the header is cut short, the rest is zeros and `whole` is
 * false. */
bool crn_promises_header(const crn_reader *reader, uint32_t lane, crn_disk_lane *header,
                         bool *whole, crn_error *error);

/* Returns the clock up to which wall time is charged, or will be by a promise. */
uint64_t crn_promises_clock(const crn_disk_lane *header);

/* Adds promised time to counters that were read after `before`. The metric is wall or cpu.
 * `counters[r * stride]` is the counter of record r; r < count. */
bool crn_promises_add(const crn_reader *reader, uint32_t lane, const crn_disk_lane *before,
                      cairn_metric metric, uint64_t *counters, size_t stride, uint64_t count,
                      crn_error *error);

#endif
