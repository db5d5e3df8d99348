/* SPDX-License-Identifier: MIT
 *
 * replay_variant.h - the loops of replay.c, included once for each layout of the code.
 *
 * The address of a loop changes its time by up to 40 %, because the processor predicts branches
 * and store forwarding by addresses. So each loop exists with several paddings before its
 * instructions.
 *
 * Before: define PADDING (bytes) and VARIANT(name).
 */

#define REPLAY_EVENTS(ENTER, REPLACE, LEAVE, TICK, RESTART)                                        \
    __asm__ volatile(".skip %c0, 0x90" : : "i"(PADDING));                                          \
    for (const uint32_t *at = s->words, *end = at + s->count; at < end; at++) {                    \
        uint32_t kind = *at >> 30, value = *at & STREAM_VALUE;                                     \
        if (kind == STREAM_TICK) {                                                                 \
            if (value < STREAM_STRAND_END) {                                                       \
                TICK;                                                                              \
            } else if (value == STREAM_STRAND_START) {                                             \
                RESTART;                                                                           \
            }                                                                                      \
        } else if (kind == STREAM_LEAVE) {                                                         \
            LEAVE;                                                                                 \
        } else if (kind == STREAM_ENTER) {                                                         \
            ENTER;                                                                                 \
        } else {                                                                                   \
            REPLACE;                                                                               \
        }                                                                                          \
        __asm__ volatile("# next");                                                                \
    }

/* Subtracted from all others: the dispatch, with one instruction-free statement for each event. */
static void VARIANT(empty)(const stream *s, void *profile)
{
    (void)profile;
    REPLAY_EVENTS(NOTHING("enter"), NOTHING("replace"), NOTHING("leave"), NOTHING("tick"),
                  NOTHING("restart"))
}

static void VARIANT(proposal_inlined)(const stream *s, void *profile)
{
    tree_profile *tree = profile;
    REPLAY_EVENTS(tree_enter(tree, value), tree_replace(tree, value), tree_leave(tree),
                  tree_tick(tree, value), tree_restart(tree))
}

static void VARIANT(proposal_called)(const stream *s, void *profile)
{
    tree_profile *tree = profile;
    REPLAY_EVENTS(called_tree_enter(tree, value), called_tree_replace(tree, value),
                  called_tree_leave(tree), called_tree_tick(tree, value), tree_restart(tree))
}

static void VARIANT(plain_inlined)(const stream *s, void *profile)
{
    plain_profile *plain = profile;
    REPLAY_EVENTS(plain_enter(plain, value), plain_replace(plain, value), plain_leave(plain),
                  plain_tick(plain, value), plain_restart(plain))
}

static void VARIANT(plain_called)(const stream *s, void *profile)
{
    plain_profile *plain = profile;
    REPLAY_EVENTS(called_plain_enter(plain, value), called_plain_replace(plain, value),
                  called_plain_leave(plain), called_plain_tick(plain, value), plain_restart(plain))
}

static void VARIANT(cairn_inlined)(const stream *s, void *profile)
{
    cairn_lane *lane = profile;
    cairn_strand *strand = NULL;
    REPLAY_EVENTS(cairn_enter(strand, value), cairn_replace(strand, value), cairn_leave(strand),
                  cairn_tick(strand, value), strand = replay_restart(strand, lane))
    cairn_strand_close(strand);
}

static void VARIANT(cairn_called)(const stream *s, void *profile)
{
    cairn_lane *lane = profile;
    cairn_strand *strand = NULL;
    REPLAY_EVENTS(called_cairn_enter(strand, value), called_cairn_replace(strand, value),
                  called_cairn_leave(strand), called_cairn_tick(strand, value),
                  strand = replay_restart(strand, lane))
    cairn_strand_close(strand);
}

#undef REPLAY_EVENTS
#undef PADDING
#undef VARIANT
