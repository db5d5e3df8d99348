/* SPDX-License-Identifier: MIT
 *
 * Adds detected timers and doubts to the facts of a replay.
 */
#include "base/memory.h"
#include "replay/program.h"

void crn_replay_doubt(crn_replay *replay, crn_doubt_kind kind, uint32_t block, uint32_t other,
                      double period)
{
    crn_replay_facts *facts = &replay->facts;
    for (uint32_t i = 0; i < facts->doubt_count; i++) {
        crn_doubt *doubt = &facts->doubts[i];
        if (doubt->kind == kind && doubt->block == block)
            return;
    }
    CRN_GROW(facts->doubts, facts->doubt_count, replay->doubt_room);
    facts->doubts[facts->doubt_count++] = (crn_doubt){kind, block, other, (uint64_t)period};
}

void crn_replay_note_timer(crn_replay *replay, uint32_t block, double period)
{
    crn_replay_facts *facts = &replay->facts;
    CRN_GROW(facts->timers, facts->timer_count, replay->found_room);
    facts->timers[facts->timer_count++] = (crn_found_timer){block, (uint64_t)period};
}
