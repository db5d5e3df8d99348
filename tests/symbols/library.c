/* SPDX-License-Identifier: MIT
 *
 * A shared library that the program calls.
 */
#include "trace.h"

void library_call(int depth);

static APART void library_hidden(int depth)
{
    if (depth)
        library_call(depth - 1);
    else
        trace(7, 0, 0);
    KEEP();
}

void library_call(int depth)
{
    library_hidden(depth);
    KEEP();
}
