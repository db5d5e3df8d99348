/* SPDX-License-Identifier: MIT
 *
 * test_text.c - foreign text is made safe: held against the C library's decoder and a list.
 */
#include <locale.h>
#include <string.h>
#include <wchar.h>

#include "base/memory.h"
#include "base/text.h"
#include "support/cases.h"
#include "support/random.h"

static void sequences_are_decoded_as_by_the_library(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    random_source random = {1};
    for (int round = 0; round < 200000; round++) {
        char text[5] = {0};
        for (int i = 0; i < 4; i++) /* mostly bytes of sequences */
            text[i] = (char)(1 + random_below(&random, 255));
        uint32_t character;
        size_t length = crn_text_decode(text, &character);
        wchar_t wide;
        mbstate_t from = {0};
        size_t expected = mbrtowc(&wide, text, 4, &from);
        bool valid = expected != (size_t)-1 && expected != (size_t)-2 && wide <= 0x10ffff &&
                     !(wide >= 0xd800 && wide <= 0xdfff); /* not all libraries refuse these */
        if (!valid) {
            assert_int_equal(length, 0);
        } else {
            assert_int_equal(length, expected);
            assert_int_equal(character, wide);
        }
    }
}

static void unsafe_characters_are_replaced(void **state)
{
    (void)state;
    static const char *const texts[][3] = {
        {"plain, na\xc3\xafve \xe2\x86\xba", "plain, na\xc3\xafve \xe2\x86\xba",
         "plain, na\xc3\xafve \xe2\x86\xba"},
        {"\x1b[31m\x7f", "?[31m?", "?[31m?"},
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c\xe2\x80\x8b\xef\xbb\xbf",
         "a?b?c??", "a?b?c??"},
        {"\xc2\x9b"
         "31m\xd8\x9c",
         "?31m?", "?31m?"},
        {"bad\xff\xc3", "bad\xef\xbf\xbd\xef\xbf\xbd", "bad??"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *copy = crn_text_copy(texts[i][0], true), place[64];
        assert_string_equal(copy, texts[i][1]);
        crn_free(copy);
        strcpy(place, texts[i][0]);
        crn_text_make_safe(place);
        assert_string_equal(place, texts[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(sequences_are_decoded_as_by_the_library),
        cmocka_unit_test(unsafe_characters_are_replaced),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
