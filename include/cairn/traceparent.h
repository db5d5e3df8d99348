/* SPDX-License-Identifier: MIT
 *
 * traceparent.h - hand-offs from one process to another, in the form of W3C Trace Context.
 *
 *     char parent[CAIRN_TRACEPARENT_SIZE];                   who asks
 *     if (cairn_traceparent_write(strand, parent))
 *         send_header(request, "traceparent", parent);
 *
 *     cairn_handoff handoff;                                 who is asked
 *     cairn_traceparent_read(header, &handoff);
 *     cairn_handoff_adopt(strand, handoff);
 *     ...
 *     cairn_handoff_leave(strand);
 *
 * The spans of the one who is asked are recorded as children of a span elsewhere; `cairn merge`
 * brings the captures of both together. What else a request carries (tracestate) is the program's
 * own affair.
 */
#ifndef CAIRN_TRACEPARENT_H
#define CAIRN_TRACEPARENT_H

#include "span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "00-", a trace id of 32 hexadecimal digits, "-", a span id of 16, "-01" and a NUL. */
#define CAIRN_TRACEPARENT_SIZE 56

/* Names the span that asks: the innermost that is open on the strand, or what that is done for.
 * Its trace is the one that was adopted, if it came from elsewhere, else this process's own. In a
 * tree that is not recorded (span_rate in cairn_options) the last digit is 0, and whoever draws
 * trees, too, follows that. False, and an empty text, where no span is open or none is recorded.
 * Thread: the strand's. */
CAIRN_API bool cairn_traceparent_write(const cairn_strand *strand,
                                       char text[CAIRN_TRACEPARENT_SIZE]);

/* Makes a token of a header's value (NULL: there is none). It may be adopted by any strand of any
 * profile, any number of times, as those of cairn_handoff_take. False, and a token that changes
 * nothing, if the text is not what the standard says. Signal safe. */
CAIRN_API bool cairn_traceparent_read(const char *text, cairn_handoff *handoff);

#ifdef __cplusplus
}
#endif

#endif
