/* SPDX-License-Identifier: MIT */
#include "analysis/matcher.h"

#include "base/memory.h"

static void matcher_fill(crn_matcher *matcher, const crn_sequence *sequence)
{
    uint32_t width = matcher->symbol_count;
    matcher->next = crn_calloc((size_t)(sequence->length + 1) * width, sizeof *matcher->next);
    uint16_t border = 0; /* the state of the sequence's part from its second block on */
    for (uint32_t state = 0; state <= sequence->length; state++) {
        uint16_t *row = matcher->next + (size_t)state * width;
        for (uint32_t symbol = 0; state && symbol < width; symbol++)
            row[symbol] = matcher->next[(size_t)border * width + symbol];
        if (state == sequence->length)
            break;
        uint32_t symbol = matcher->symbols[sequence->blocks[state]];
        if (state)
            border = row[symbol];
        row[symbol] = (uint16_t)(state + 1);
    }
}

crn_matcher crn_matcher_make(const crn_profile *profile, const crn_sequence *sequence)
{
    crn_matcher matcher = {.profile = profile, .length = sequence->length, .symbol_count = 1};
    matcher.symbols = crn_calloc(profile->block_count, sizeof *matcher.symbols);
    for (uint32_t i = 0; i < sequence->length; i++)
        if (!matcher.symbols[sequence->blocks[i]])
            matcher.symbols[sequence->blocks[i]] = matcher.symbol_count++;
    matcher_fill(&matcher, sequence);
    matcher.states = crn_calloc(profile->context_count, sizeof *matcher.states);
    matcher.states[0] = crn_matcher_step(&matcher, 0, profile->block[0]);
    for (uint32_t c = 1; c < profile->context_count; c++)
        matcher.states[c] =
            crn_matcher_step(&matcher, matcher.states[profile->parent[c]], profile->block[c]);
    return matcher;
}

void crn_matcher_free(crn_matcher *matcher)
{
    crn_free(matcher->symbols);
    crn_free(matcher->next);
    crn_free(matcher->states);
}
