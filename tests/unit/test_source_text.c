/* SPDX-License-Identifier: MIT
 *
 * test_source_text.c - the text of a source file, or why it is not shown. Linked with ld's
 * --wrap=read.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/source_text.h"
#include "support/cases.h"
#include "support/scratch.h"

ssize_t __real_read(int file, void *bytes, size_t size);
ssize_t __wrap_read(int file, void *bytes, size_t size);

static int problem; /* errno with which reads fail; 0: they do not */

ssize_t __wrap_read(int file, void *bytes, size_t size)
{
    if (!problem)
        return __real_read(file, bytes, size);
    errno = problem;
    return -1;
}

static void a_text_or_a_reason(void **state)
{
    (void)state;
    static const char source[] = "int main(void)\n{\n}\n";
    char path[SCRATCH_PATH];
    const char *reason = NULL;
    size_t size = 0;
    assert_true(scratch_write(scratch_path(path, "a.c"), source, sizeof source - 1));
    char *text = crn_source_text(path, &size, &reason);
    assert_int_equal(size, sizeof source - 1);
    assert_string_equal(text, source);
    crn_free(text);

    problem = EIO;
    assert_null(crn_source_text(path, &size, &reason));
    assert_string_equal(reason, "it cannot be read");
    problem = 0;
    assert_null(crn_source_text(scratch_path(path, "missing.c"), &size, &reason));
    assert_string_equal(reason, "it cannot be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_or_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
