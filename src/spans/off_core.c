/* SPDX-License-Identifier: MIT */
#include "spans/off_core.h"

#include "base/memory.h"
#include "base/search.h"

crn_off_sums crn_off_sums_of(const crn_off_core *entries, uint32_t count, uint32_t lane)
{
    uint32_t first = CRN_BELOW(entries, count, lane, lane), end = first;
    while (end < count && entries[end].lane == lane)
        end++;
    crn_off_sums sums = {.entries = entries + first, .count = end - first};
    sums.before = crn_calloc(sums.count + (size_t)1, sizeof *sums.before);
    for (uint32_t i = 0; i < sums.count; i++)
        sums.before[i + 1] = (crn_off_times){sums.before[i].waiting + sums.entries[i].waiting,
                                             sums.before[i].ready + sums.entries[i].ready};
    return sums;
}

/* Returns the part of an entry's times that lies before `moment`. The entry must have begun by
 * then. */
static crn_off_times part_of(const crn_off_core *entry, uint64_t moment)
{
    uint64_t passed = moment - entry->begin, length = entry->end - entry->begin;
    if (passed >= length)
        return (crn_off_times){entry->waiting, entry->ready};
    if (entry->waiting + entry->ready == length) {
        uint64_t waiting = passed < entry->waiting ? passed : entry->waiting;
        return (crn_off_times){waiting, passed - waiting};
    }
    double share = (double)passed / (double)length;
    return (crn_off_times){(uint64_t)((double)entry->waiting * share),
                           (uint64_t)((double)entry->ready * share)};
}

/* Returns waiting and ready time up to a moment. */
static crn_off_times up_to(const crn_off_sums *sums, uint64_t moment)
{
    uint32_t low = (uint32_t)CRN_UP_TO(sums->entries, sums->count, begin, moment);
    if (!low)
        return (crn_off_times){0};
    crn_off_times part = part_of(&sums->entries[low - 1], moment);
    return (crn_off_times){sums->before[low - 1].waiting + part.waiting,
                           sums->before[low - 1].ready + part.ready};
}

crn_off_times crn_off_times_within(const crn_off_sums *sums, uint64_t from, uint64_t to)
{
    crn_off_times begin = up_to(sums, from), end = up_to(sums, to), times = {0};
    uint64_t length = to > from ? to - from : 0;
    times.ready = end.ready > begin.ready ? end.ready - begin.ready : 0;
    times.ready = times.ready < length ? times.ready : length;
    times.waiting = end.waiting > begin.waiting ? end.waiting - begin.waiting : 0;
    if (times.waiting > length - times.ready)
        times.waiting = length - times.ready;
    return times;
}
