/* SPDX-License-Identifier: MIT
 *
 * odd_spans.c - a capture of what spans can be and seldom are: two blocks of one name, numbers that
 * no floating point number holds, long keys and values, text that is read from right to left, and
 * durations that hardly differ. With "CAIRN_OUT" as in any program.
 */
#include <cairn/scope.h>

#include <math.h>
#include <string.h>

enum { SPANS = 12, INNER = 5, TURNS = 20000, LONG = 1000 };

static void work(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

static void describe(int i)
{
    static char text[LONG + 1];
    memset(text, 'z', LONG);
    CAIRN_SCOPE_INTEGER("request", 0x123456789abcdef1 + i);
    CAIRN_SCOPE_NUMBER("ratio", i % 2 ? (double)NAN : -(double)INFINITY);
    CAIRN_SCOPE_TEXT("http.request.header.content-type", "application/json; charset=utf-8");
    CAIRN_SCOPE_TEXT("arabic \xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7", "\xe2\x80\xae turned");
    CAIRN_SCOPE_TEXT("long", text);
}

int main(void)
{
    for (int i = 0; i < SPANS; i++) {
        CAIRN_SCOPE("twin", .iteration = INT64_C(9007199254740993) + 2 * (int64_t)i);
        describe(i);
        work(TURNS);
        for (int j = 0; j < INNER; j++) {
            CAIRN_SCOPE("inner", .iteration = j);
            work(TURNS / 2);
        }
    }
    for (int i = 0; i < 3; i++) {
        CAIRN_SCOPE("twin", .iteration = i);
        work(TURNS);
    }
    return 0;
}
