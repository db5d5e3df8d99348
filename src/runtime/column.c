/* SPDX-License-Identifier: MIT
 *
 * Columns of a lane: the figures of metrics that have no field in the records.
 */
#include <errno.h>

#include "base/memory.h"
#include "runtime/runtime.h"

static crn_section *column_of(cairn_lane *lane, cairn_metric metric)
{
    if (!lane->columns[metric]) {
        crn_section *column = crn_try_calloc(1, sizeof *column);
        if (!column)
            return NULL;
        crn_section_open(column, &lane->profile->capture, CRN_SECTION_COLUMN, (uint16_t)metric,
                         lane->number);
        lane->columns[metric] = column;
    }
    return lane->columns[metric];
}

static inline cairn_error grow(cairn_lane *lane, cairn_metric metric, uint64_t records)
{
    crn_section *column = column_of(lane, metric);
    return column ? crn_section_grow(column, records * sizeof(uint64_t)) : CAIRN_E_MEMORY;
}

cairn_error crn_column_grow(cairn_lane *lane, cairn_metric metric, uint64_t records)
{
    return grow(lane, metric, records);
}

void crn_columns_close(cairn_lane *lane)
{
    for (int i = 0; i < (int)CAIRN_METRIC_MAX; i++) {
        if (lane->columns[i])
            crn_section_close(lane->columns[i]);
        crn_free(lane->columns[i]);
        lane->columns[i] = NULL;
    }
}

/* Once the capture has run out of space or is lost, charges no metric of a host: metrics that
 * belong together, such as allocated and freed bytes, then end at the same moment. */
void crn_lane_charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount)
{
    cairn_error status = cairn_profile_status(lane->profile);
    if (metric >= CAIRN_METRIC_USER && (status == CAIRN_E_SPACE || status == CAIRN_E_LOST))
        return;
    int saved = errno;
    cairn_error error = grow(lane, metric, record + (uint64_t)1);
    errno = saved;
    if (error) {
        crn_profile_stop(lane->profile, error);
        lane->disk->dropped++;
        return;
    }
    CAIRN_PRIV_ADD(((uint64_t *)lane->columns[metric]->base)[record], amount);
}
