/* SPDX-License-Identifier: MIT
 *
 * test_sql_live.c - queries of a capture that its program records meanwhile.
 */
#include <cairn/span.h>

#include "support/asking.h"
#include "support/cases.h"
#include "support/moments.h"
#include "support/profiles.h"
#include "support/scratch.h"

/* Adds a block and a span of it. */
static void add_span(void *data)
{
    setup *opened = data;
    cairn_block block = cairn_block_add(opened->profile, &(cairn_block_info){.name = "later"});
    cairn_span_begin(opened->strand, block, 0);
    cairn_span_end(opened->strand);
}

static void spans_of_new_blocks_have_names(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    bool acted = true;
    for (moments_now.at = 0; acted; moments_now.at++) {
        cairn_options options = span_options(scratch_path(path, "asked.cairn"));
        setup opened = setup_open(&options, 1);
        add_span(&opened);
        moments_now.passed = 0;
        moments_now.act = add_span;
        moments_now.data = &opened;
        crn_query *query = open_query(&(crn_query_file){.path = path}, 1);
        acted = !moments_now.act;
        moments_now.act = NULL;
        int64_t all = number_of(query, "select count(*) from spans");
        assert_in_range(all, 1, 2);
        assert_int_equal(number_of(query, "select count(*) from spans where name = 'later'"), all);
        crn_query_close(query);
        setup_close(&opened);
    }
    assert_true(moments_now.at > 2);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(spans_of_new_blocks_have_names),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
