/* SPDX-License-Identifier: MIT
 *
 * traceparent.h - hand-offs between processes, as W3C Trace Context.
 *
 *     char parent[CAIRN_TRACEPARENT_SIZE];                   the requester
 *     if (cairn_traceparent_write(strand, parent))
 *         send_header(request, "traceparent", parent);
 *
 *     cairn_handoff handoff;                                 the server
 *     cairn_traceparent_read(header, &handoff);
 *     cairn_handoff_adopt(strand, handoff);
 *     ...
 *     cairn_handoff_leave(strand);
 *
 * The server's spans are recorded as children of a remote span; `cairn merge` joins the captures
 * of both. Other headers of a request (tracestate) are up to the program.
 */
#ifndef CAIRN_TRACEPARENT_H
#define CAIRN_TRACEPARENT_H

#include "span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "00-", a trace id of 32 hexadecimal digits, "-", a span id of 16, "-01" and a NUL. */
#define CAIRN_TRACEPARENT_SIZE 56

/* Writes the id of the strand's innermost open span, or of the span for which the strand works. The
 * trace id is the adopted one, otherwise the process's own. In a tree that is not recorded
 * (span_rate in cairn_options) the last digit is 0, and other processes that sample trees do not
 * record their parts either. Writes "" and returns false if no span is open, or none are recorded.
 * Thread: the strand's. */
CAIRN_API bool cairn_traceparent_write(const cairn_strand *strand,
                                       char text[CAIRN_TRACEPARENT_SIZE]);

/* Makes a token from a header's value (NULL: no header). The token may be adopted by any strand of
 * any profile, any number of times. If the text does not conform to the standard, makes a token
 * without effect and returns false. Signal safe. */
CAIRN_API bool cairn_traceparent_read(const char *text, cairn_handoff *handoff);

#ifdef __cplusplus
}
#endif

#endif
