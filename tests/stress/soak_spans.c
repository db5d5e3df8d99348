/* SPDX-License-Identifier: MIT
 *
 * soak_spans.c - the spans of an actor, and hand-offs between actors. Which token an actor adopts
 * depends on what the others did before, so its thread writes it down for the reference.
 */
#include "stress/soak.h"

static cairn_strand *strand_of(const soak_actor *actor)
{
    return actor->strands[actor->active];
}

/* Returns the innermost open span or adoption of the current strand; NULL if there is none. */
static soak_open *innermost(soak_actor *actor)
{
    unsigned count = actor->open_count[actor->active];
    return count ? &actor->open[actor->active][count - 1] : NULL;
}

static bool is_full(const soak_actor *actor)
{
    return actor->open_count[actor->active] == SOAK_OPEN_MOST;
}

static void push(soak_actor *actor, soak_open open)
{
    actor->open[actor->active][actor->open_count[actor->active]++] = open;
}

size_t soak_spans_height(const soak_actor *actor)
{
    unsigned count = actor->open_count[actor->active];
    return count ? actor->open[actor->active][count - 1].height + 1 : 0;
}

/* ---- spans ---- */

static uint64_t begin(soak_actor *actor, uint64_t span, uint64_t parent, bool recording)
{
    cairn_strand *strand = strand_of(actor);
    cairn_span_begin(strand, soak_block_of(span), (int64_t)span);
    bool recorded = cairn_span_current(strand) != 0;
    cairn_span_integer(strand, actor->shared->parent, (int64_t)parent);
    actor->did.calls += recording;
    actor->did.spans += recorded;
    actor->did.open_spans += recorded;
    actor->did.span_hash += recorded ? soak_span_hash(span) : 0;
    actor->did.spans_dropped += recording && !recorded;
    return recorded ? span : 0;
}

void soak_span_begin(soak_actor *actor, bool recording)
{
    if (is_full(actor))
        return;
    uint64_t span = (uint64_t)actor->number << SOAK_NUMBER_BITS | ++actor->begun;
    const soak_open *above = innermost(actor);
    soak_open open = {.height = actor->depth[actor->active]};
    if (actor->profile) {
        open.span = begin(actor, span, above ? above->span : 0, recording);
        actor->depth[actor->active]++;
    } else {
        soak_enter(actor, soak_block_of(span), recording);
    }
    push(actor, open);
}

void soak_span_end(soak_actor *actor)
{
    const soak_open *open = innermost(actor);
    if (!open)
        return;
    size_t height = open->height;
    if (!actor->profile) {
        soak_unwind(actor, height);
        return;
    }
    if (open->adoption)
        cairn_handoff_leave(strand_of(actor));
    else
        cairn_span_end(strand_of(actor));
    actor->depth[actor->active] = height;
    soak_spans_unwound(actor, actor->active, height);
}

void soak_spans_unwound(soak_actor *actor, unsigned which, size_t height)
{
    unsigned *count = &actor->open_count[which];
    for (; *count && actor->open[which][*count - 1].height >= height; --*count) {
        const soak_open *open = &actor->open[which][*count - 1];
        actor->did.open_spans -= !open->adoption && open->span;
    }
}

/* ---- hand-offs ---- */

static soak_journal *journal_of(const soak_actor *actor)
{
    return &actor->journals[actor->number];
}

void soak_token_take(soak_actor *actor, uint32_t choice)
{
    soak_journal *journal = journal_of(actor);
    if (!actor->profile) {
        journal->taken[journal->taken_count++] = actor->references[actor->active].current;
        return;
    }
    if (actor->in_child)
        return;
    const soak_open *above = innermost(actor);
    soak_token token = {.handoff = cairn_handoff_take(strand_of(actor)),
                        .span = above ? above->span : 0,
                        .taker = actor->number,
                        .number = actor->taken++};
    pthread_mutex_lock(&actor->shared->lock);
    actor->shared->tokens[choice % SOAK_PASSED] = token;
    pthread_mutex_unlock(&actor->shared->lock);
}

static void adopted(soak_actor *actor, uint64_t span)
{
    push(actor, (soak_open){.span = span, .height = actor->depth[actor->active], .adoption = true});
    actor->depth[actor->active]++;
}

static void adopt(soak_actor *actor, uint32_t choice)
{
    soak_journal *journal = journal_of(actor);
    pthread_mutex_lock(&actor->shared->lock);
    soak_token token = actor->shared->tokens[choice % SOAK_PASSED];
    pthread_mutex_unlock(&actor->shared->lock);
    bool none = !token.handoff.taken;
    journal->adopted[journal->adopted_count++] =
        (soak_adopted){token.taker, token.number, token.context, none};
    if (none)
        return;
    cairn_handoff_adopt(strand_of(actor), token.handoff);
    adopted(actor, token.span);
    actor->did.handoffs += token.taker != actor->number;
}

static bool adopt_in_reference(soak_actor *actor)
{
    soak_journal *journal = journal_of(actor);
    const soak_adopted *entry = &journal->adopted[journal->adopted_seen];
    const soak_journal *takers = &actor->journals[entry->taker];
    if (entry->taker && entry->number >= takers->taken_count)
        return false;
    journal->adopted_seen++;
    if (entry->none)
        return true;
    uint32_t context = entry->taker ? takers->taken[entry->number] : entry->context;
    reference_adopt(&actor->references[actor->active], context);
    adopted(actor, 0);
    return true;
}

bool soak_token_adopt(soak_actor *actor, uint32_t choice)
{
    if (is_full(actor) || actor->in_child)
        return true;
    if (!actor->profile)
        return adopt_in_reference(actor);
    adopt(actor, choice);
    return true;
}

void soak_tokens_settle(soak_shared *shared, soak_journal *journals, unsigned count)
{
    for (unsigned i = 0; i < SOAK_PASSED; i++) {
        soak_token *token = &shared->tokens[i];
        if (token->taker)
            token->context = journals[token->taker].taken[token->number];
        token->taker = 0;
    }
    for (unsigned i = 1; i <= count; i++) {
        soak_journal *journal = &journals[i];
        journal->adopted_count = journal->adopted_seen = journal->taken_count = 0;
    }
}
