/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/common/terminal.h"
#include "report.h"

enum { LABEL_WIDTH = 10 };

void crn_report_label(FILE *out, crn_style style, const char *label)
{
    crn_terminal_style(out, style);
    fprintf(out, "%-*s", LABEL_WIDTH, label);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

void crn_report_line(FILE *out, const char *label, const char *text)
{
    const crn_terminal *terminal = crn_terminal_get();
    crn_report_label(out, CRN_STYLE_DIM, label);
    crn_terminal_text(out, text, terminal->width ? terminal->width - LABEL_WIDTH : 0, false);
    putc('\n', out);
}
