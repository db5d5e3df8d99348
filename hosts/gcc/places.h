/* SPDX-License-Identifier: MIT
 *
 * places.h - what was inlined where: of each place in a function it is known what the function is
 * in by then, a node of the tree of what was inlined into what.
 */
#ifndef CRN_GCC_PLACES_H
#define CRN_GCC_PLACES_H

#include "plugin.h"

class crn_places {
  public:
    enum { UNKNOWN = -1, OUTSIDE = -2, FAILED = -3 }; /* else a node; 0: the function itself */

    struct node {
        tree site;
        int above, depth;
        int first, next; /* what is inlined into it: a list; -1: none */
    };

    /* Of the current function, whose own frame has that site. */
    explicit crn_places(tree own);
    ~crn_places();

    /* Whether it is the same on all ways to each place, and something was inlined at all. */
    bool find();
    /* What the block begins in. */
    int at(basic_block block) const
    {
        return before[block->index];
    }
    /* What follows a statement that is in `now`. */
    int step(int now, gimple *statement);
    const node &operator[](int which) const
    {
        return nodes[which];
    }
    unsigned length() const
    {
        return nodes.length();
    }

  private:
    tree own;
    auto_vec<node> nodes;
    auto_vec<int> heights; /* by SSA name: whose; -1 */
    int *before;           /* by block */

    int child(int above, tree site);
    int of_height(tree height, int left);
    int meet(int one, int other);
    int enter(int now, gimple *mark);
    int leave(int now, gimple *mark);
    int pass(basic_block block);
    bool round(const int *order, int count);
    bool is_whole(const int *order, int count);
};

#endif
