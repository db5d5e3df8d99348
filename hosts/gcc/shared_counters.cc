/* SPDX-License-Identifier: MIT
 *
 * Finds nodes of a tree (tree.cc) that are always called together, so that one counter serves
 * them: functions inlined by an inlined function usually run whenever it does.
 */
#include "plugin.h"

namespace {

/* The stretches of a node in a vector sorted by node: `count` elements from the index `first` on.
 */
struct range {
    unsigned node, first, count;
};

int by_node(const void *one, const void *other)
{
    const crn_stretch *a = (const crn_stretch *)one, *b = (const crn_stretch *)other;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Returns 0 if both nodes are called equally often in each stretch. */
int compare(const range *one, const range *other, const vec<crn_stretch> &all)
{
    if (one->count != other->count)
        return one->count < other->count ? -1 : 1;
    for (unsigned i = 0; i < one->count; i++) {
        const crn_stretch &a = all[one->first + i], &b = all[other->first + i];
        if (a.number != b.number)
            return a.number < b.number ? -1 : 1;
        if (a.times != b.times)
            return a.times < b.times ? -1 : 1;
    }
    return 0;
}

/* Sorts equal nodes together, the first node first. */
int by_calls(const void *one, const void *other, void *data)
{
    const range *a = (const range *)one, *b = (const range *)other;
    int order = compare(a, b, *(const vec<crn_stretch> *)data);
    return order ? order : a->node < b->node ? -1 : a->node > b->node;
}

} // namespace

void crn_share_counters(const auto_vec<crn_stretch> &stretches, auto_vec<crn_tree_node> *nodes)
{
    auto_vec<crn_stretch> sorted;
    sorted.safe_splice(stretches);
    sorted.qsort(by_node);
    auto_vec<range> ranges;
    for (unsigned i = 0; i < sorted.length(); i++) {
        if (!i || sorted[i].node != sorted[i - 1].node)
            ranges.safe_push({sorted[i].node, i, 0});
        ranges.last().count++;
    }
    ranges.sort(by_calls, &sorted);
    for (unsigned i = 1, first = 0; i < ranges.length(); i++) {
        if (compare(&ranges[first], &ranges[i], sorted) == 0)
            (*nodes)[ranges[i].node - 1].same = ranges[first].node;
        else
            first = i;
    }
}
