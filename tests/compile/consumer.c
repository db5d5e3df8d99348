/* SPDX-License-Identifier: MIT
 *
 * consumer.c - a program outside of this tree that uses the installed library. It is also
 * compiled as C++, and so keeps to what both languages know.
 */
#include <cairn/cairn.h>
#include <stdio.h>

#ifdef __cplusplus
#define NO_INFO cairn_block_info()
#else
#define NO_INFO                                                                                    \
    (cairn_block_info)                                                                             \
    {                                                                                              \
        0                                                                                          \
    }
#endif

static cairn_block block_named(cairn_profile *profile, const char *name)
{
    cairn_block_info info = NO_INFO;
    info.name = name;
    return cairn_block_add(profile, &info);
}

int main(void)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile = NULL;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error != CAIRN_OK) {
        fprintf(stderr, "%s\n", cairn_error_text(error));
        return 1;
    }

    cairn_block outer = block_named(profile, "outer");
    cairn_block inner = block_named(profile, "inner");
    cairn_block tail = block_named(profile, "tail");
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    for (int i = 0; i < 100; i++) {
        cairn_enter(strand, outer);
        cairn_enter(strand, inner);
        cairn_tick(strand, 3);
        cairn_leave(strand);
        cairn_replace(strand, tail);
        cairn_leave(strand);
    }

    cairn_view *view = NULL;
    if (cairn_view_open(&view, profile) != CAIRN_OK)
        return 1;
    cairn_block path[2];
    path[0] = outer;
    path[1] = inner;
    cairn_cost cost = {0, 0, 0, 0};
    bool found = cairn_view_find(view, path, 2, &cost);
    path[1] = tail;
    printf("%d %d %d %d\n", found, (int)cost.calls, (int)cost.ticks,
           (int)cairn_view_calls(view, path, 2));
    cairn_view_close(view);
    cairn_profile_close(profile);
    return 0;
}
