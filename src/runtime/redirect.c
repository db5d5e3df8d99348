/* SPDX-License-Identifier: MIT
 *
 * Redirects a strand to another profile for a while, as MLton's Profile.withData makes other data
 * current while a function runs. The stack is the same in the other profile's graph; on return,
 * the strand takes the stack as it is then.
 *
 * A lane and its stand-ins in other profiles share time: at most one strand of all of them is
 * current. A current strand that records nothing is remembered as silent.
 */
#include <errno.h>

#include "base/memory.h"
#include "runtime/siblings.h"
#include "runtime/translation.h"

/* Cache: where contexts of another lane are in this lane's graph. */
struct crn_crossing {
    uint64_t from; /* serial number of the other lane */
    crn_translation translation;
    crn_crossing *next;
};

cairn_strand *crn_strand_innermost(cairn_strand *strand)
{
    while (strand->away)
        strand = strand->away;
    return strand;
}

static cairn_lane *home_of(cairn_lane *lane)
{
    return lane->home ? lane->home : lane;
}

/* ---- the current strand ---- */

/* Returns the current strand of the lane and its stand-ins. */
static cairn_strand *running_of(cairn_lane *home)
{
    cairn_strand *running = home->silent;
    crn_siblings_lock();
    for (cairn_lane *lane = home; !running && lane;
         lane = lane == home ? home->stand_ins : lane->next_stand_in)
        running = lane->running;
    crn_siblings_unlock();
    return running;
}

bool crn_redirect_someone_runs(cairn_lane *lane)
{
    if (!lane->home && !lane->silent && !__atomic_load_n(&lane->stand_ins, __ATOMIC_RELAXED))
        return lane->running != NULL;
    return running_of(home_of(lane)) != NULL;
}

/* Charges the time of the current strand. Returns its lane, NULL if there was none. */
static cairn_lane *stop(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (strand->paused) {
        home_of(lane)->silent = NULL;
        return NULL;
    }
    crn_lane_charge_rest(lane);
    __atomic_store_n(&lane->running, NULL, __ATOMIC_RELEASE);
    return lane;
}

/* Continues at the time up to which `before` was charged, if both have the same clock. */
static void begin_time(cairn_lane *lane, const cairn_lane *before)
{
    const cairn_profile *profile = lane->profile, *other = before ? before->profile : NULL;
    bool charged = other && crn_profile_mode(other) != CRN_MODE_OFF;
    crn_lane_listen(lane);
    crn_lane_own(lane);
    crn_lane_begin_time(lane, crn_clock_now(profile->tsc));
    if (charged && other->wall != CAIRN_WALL_OFF && other->tsc == profile->tsc)
        __atomic_store_n(&lane->disk->stamp, before->disk->stamp, __ATOMIC_RELAXED);
    if (charged && other->cpu != CAIRN_CPU_OFF && profile->cpu != CAIRN_CPU_OFF)
        __atomic_store_n(&lane->disk->cpu_stamp, before->disk->cpu_stamp, __ATOMIC_RELAXED);
}

static void start(cairn_strand *strand, const cairn_lane *before)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (strand->paused) {
        home_of(lane)->silent = strand;
        return;
    }
    begin_time(lane, before);
    crn_lane_run(lane, strand);
    crn_strand_rest(strand);
}

void crn_redirect_switch(cairn_strand *strand)
{
    cairn_strand *running = running_of(home_of(crn_lane_of(strand)));
    strand = crn_strand_innermost(strand);
    if (running == strand)
        return;
    cairn_lane *before = running ? stop(running) : NULL;
    start(strand, before);
}

/* ---- stand-in lanes ---- */

/* Returns the lane of `to` that stands in for `home`, making it if needed. */
static cairn_lane *stand_in(cairn_lane *home, cairn_profile *to)
{
    if (home->profile == to)
        return home;
    crn_siblings_lock();
    cairn_lane *lane = home->stand_ins;
    while (lane && lane->profile != to)
        lane = lane->next_stand_in;
    const char *name = home->profile->strings.base + home->disk->name;
    if (!lane && (lane = cairn_lane_open(to, name))) {
        lane->home = home;
        lane->next_stand_in = home->stand_ins;
        __atomic_store_n(&home->stand_ins, lane, __ATOMIC_RELAXED);
    }
    crn_siblings_unlock();
    return lane;
}

static crn_translation *crossing(const cairn_lane *from, cairn_lane *to)
{
    crn_crossing *found = to->crossings;
    while (found && found->from != from->serial)
        found = found->next;
    if (!found) {
        found = crn_try_calloc(1, sizeof *found);
        if (!found)
            return NULL;
        found->from = from->serial;
        found->next = to->crossings;
        to->crossings = found;
    }
    return &found->translation;
}

/* ---- stacks ---- */

/* Returns the record that is current when the strand has `height` frames. */
static uint32_t record_at(cairn_strand *strand, size_t height, size_t held)
{
    if (height == held)
        return crn_strand_record(strand);
    if (strand->records)
        return height ? strand->records[height - 1] : CRN_RECORD_ROOT;
    return crn_record_at(strand->stack[height + 1]);
}

static size_t held_by(const cairn_strand *strand)
{
    return cairn_strand_depth(strand) - strand->lost;
}

/* Returns the corresponding record in the other graph; the root without memory. */
static uint32_t cross(const cairn_lane *from, cairn_lane *to, uint32_t record)
{
    crn_translation *translation = crossing(from, to);
    uint32_t there = 0;
    if (translation)
        there = crn_translate_record(translation, from->graph.links, from->graph.used, &to->graph,
                                     record);
    if (!there)
        crn_profile_stop(to->profile, CAIRN_E_MEMORY);
    return there ? there : CRN_RECORD_ROOT;
}

/* Makes space for frames; returns for how many there is memory. */
static size_t reserve(cairn_strand *strand, size_t held)
{
    while ((size_t)(strand->end - strand->stack) <= held)
        if (!crn_strand_grow(strand)) {
            crn_profile_stop(crn_lane_of(strand)->profile, CAIRN_E_MEMORY);
            return (size_t)(strand->end - strand->stack) - 1;
        }
    return held;
}

static void set_record(cairn_strand *strand, size_t height, size_t held, uint32_t record)
{
    if (height == held)
        CAIRN_PRIV_PUT(strand->hot.current, record * (uint64_t)CRN_RECORD_WORDS);
    else
        strand->stack[height + 1] = record * CRN_RECORD_WORDS;
}

/* Copies the stack of `from` to `to`. A common prefix stays, because the other graph may have
 * folded it. */
static void move_stack(cairn_strand *from, cairn_strand *to)
{
    cairn_lane *there = crn_lane_of(from), *here = crn_lane_of(to);
    size_t held = held_by(from), had = held_by(to);
    size_t fits = reserve(to, held);
    crn_strand_record(from); /* computes the records of a stack of blocks */
    bool same = true;
    for (size_t h = 0; h <= fits; h++) {
        uint32_t record = record_at(from, h, held);
        uint32_t own = same && h <= had ? record_at(to, h, had) : 0;
        same = own && cross(here, there, own) == crn_graph_target(&there->graph, record);
        if (!same)
            own = cross(there, here, record);
        set_record(to, h, fits, own);
    }
    to->hot.top = to->stack + 1 + fits;
    to->lost = from->lost + (held - fits);
}

/* ---- redirect and return ---- */

static bool is_sibling(const cairn_profile *profile, const cairn_profile *to)
{
    crn_siblings_lock();
    const cairn_profile *other = profile;
    do
        other = other->sibling;
    while (other != to && other != profile);
    crn_siblings_unlock();
    return other == to;
}

static cairn_strand *open_away(cairn_strand *from, cairn_profile *to)
{
    cairn_lane *home = home_of(crn_lane_of(from));
    if (!to)
        return NULL;
    if (!is_sibling(home->profile, to)) {
        crn_lane_of(from)->disk->misuses++;
        return NULL;
    }
    cairn_lane *lane = stand_in(home, to);
    cairn_strand *away = cairn_strand_open(lane);
    if (!away)
        return NULL;
    if (lane->running == away)
        __atomic_store_n(&lane->running, NULL, __ATOMIC_RELEASE);
    move_stack(from, away);
    crn_strand_rest(away);
    return away;
}

cairn_strand *cairn_strand_redirect(cairn_strand *from, cairn_profile *to)
{
    if (!from || crn_lane_is_buried(crn_lane_of(from)))
        return NULL;
    int saved = errno;
    cairn_strand *before = crn_strand_innermost(from);
    cairn_lane *lane = crn_lane_of(before), *charged = NULL;
    crn_lane_listen(lane);
    bool ran = running_of(home_of(lane)) == before;
    if (ran)
        charged = stop(before);
    cairn_strand *away = open_away(before, to);
    before->away = away;
    if (away)
        away->origin = before;
    else
        before->paused++;
    if (ran)
        start(away ? away : before, charged);
    errno = saved;
    return away;
}

/* Copies the stack back; of a stack of blocks, its height. */
static cairn_strand *come_back(cairn_strand *away)
{
    cairn_strand *back = away->origin;
    crn_lane_listen(crn_lane_of(away));
    crn_lane_listen(crn_lane_of(back));
    size_t depth = cairn_strand_depth(away);
    if (!back->records)
        move_stack(away, back);
    else if (depth < cairn_strand_depth(back))
        cairn_strand_unwind(back, depth);
    crn_strand_arm(back);
    back->away = away->origin = NULL;
    cairn_strand_close(away);
    return back;
}

void cairn_strand_return(cairn_strand *from)
{
    if (!from || crn_lane_is_buried(crn_lane_of(from)))
        return;
    int saved = errno;
    cairn_strand *before = crn_strand_innermost(from), *back = before;
    cairn_lane *lane = crn_lane_of(before), *charged = NULL;
    if (!before->paused && !before->origin) {
        lane->disk->misuses++;
        return;
    }
    crn_lane_listen(lane);
    bool ran = running_of(home_of(lane)) == before;
    if (ran)
        charged = stop(before);
    if (before->paused)
        before->paused--;
    else
        back = come_back(before);
    if (ran)
        start(back, charged);
    errno = saved;
}

/* ---- closing ---- */

void crn_redirect_close(cairn_strand *strand)
{
    cairn_lane *home = home_of(crn_lane_of(strand));
    while (strand->away)
        cairn_strand_close(crn_strand_innermost(strand));
    if (home->silent == strand)
        home->silent = NULL;
    if (strand->origin) { /* the original records nothing until it returns */
        if (crn_lane_of(strand)->running == strand)
            home->silent = strand->origin;
        strand->origin->away = NULL;
        strand->origin->paused++;
    }
    strand->origin = NULL;
    strand->paused = 0;
}

void crn_redirect_close_lane(cairn_lane *lane)
{
    if (!lane->home && !__atomic_load_n(&lane->stand_ins, __ATOMIC_RELAXED))
        return;
    crn_siblings_lock();
    cairn_lane *stand_ins = lane->stand_ins;
    __atomic_store_n(&lane->stand_ins, NULL, __ATOMIC_RELAXED);
    for (cairn_lane *each = stand_ins; each; each = each->next_stand_in)
        each->home = NULL;
    if (lane->home) {
        cairn_lane **place = &lane->home->stand_ins;
        while (*place && *place != lane)
            place = &(*place)->next_stand_in;
        if (*place)
            __atomic_store_n(place, lane->next_stand_in, __ATOMIC_RELAXED);
        lane->home = NULL;
    }
    crn_siblings_unlock();
    for (cairn_lane *next; stand_ins; stand_ins = next) {
        next = stand_ins->next_stand_in;
        cairn_lane_close(stand_ins);
    }
}

void crn_redirect_forget(cairn_lane *lane)
{
    static uint64_t serial;
    lane->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        strand->hot.graph_tag = crn_graph_tag(lane);
    for (crn_crossing *next; lane->crossings; lane->crossings = next) {
        next = lane->crossings->next;
        crn_translation_free(&lane->crossings->translation);
        crn_free(lane->crossings);
    }
}
