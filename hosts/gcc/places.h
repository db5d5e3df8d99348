/* SPDX-License-Identifier: MIT
 *
 * places.h - a data flow analysis that finds, for each point of a function, the innermost inlined
 * function to which the point belongs. The result is a node of the tree of inlined functions.
 */
#ifndef CRN_GCC_PLACES_H
#define CRN_GCC_PLACES_H

#include "plugin.h"

class crn_places {
  public:
    /* In place of a node. UNKNOWN: no known path leads to the point. OUTSIDE: the function's own
     * frame is not entered yet, or has been left. FAILED: markers contradict each other. */
    enum { UNKNOWN = -1, OUTSIDE = -2, FAILED = -3 };

    /* An inlined function; node 0 is the function itself. */
    struct node {
        tree site;
        int above, depth;
        int first, next; /* list of functions inlined into it; -1: none */
    };

    /* Prepares the analysis of the current function. `own`: the site of its own frame. */
    explicit crn_places(tree own);
    ~crn_places();

    /* Analyses the function. Returns true if something was inlined, and each point has the same
     * node on all paths that lead there. */
    bool find();
    /* Returns the node at the begin of a block. */
    int at(basic_block block) const
    {
        return before[block->index];
    }
    /* Returns the node after a statement, given the node before. */
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
    auto_vec<int> heights; /* by SSA name: the node whose height it is; -1: none */
    int *before;           /* by block: node at its begin */

    int child(int above, tree site);
    int of_height(tree height, int left);
    int meet(int one, int other);
    int enter(int now, gimple *marker);
    int leave(int now, gimple *marker);
    int pass(basic_block block);
    bool round(const int *order, int count);
    bool is_whole(const int *order, int count);
};

#endif
