/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/writer.h"
#include "profile/profile.h"
#include "report.h"

crn_report_state crn_report_state_of(const crn_report *report)
{
    struct stat file;
    if (strcmp(crn_profile_note(report->profile, "state", ""), "recording") != 0)
        return crn_profile_note(report->profile, "unaccounted_ns", NULL) ? CRN_REPORT_UNCLOSED
                                                                         : CRN_REPORT_ENDED;
    if (stat(report->path, &file) != 0)
        return CRN_REPORT_KILLED;
    long pid = strtol(crn_profile_note(report->profile, "process", "0"), NULL, 10);
    return crn_writer_of(pid, file.st_ino) == CRN_WRITER_GONE ? CRN_REPORT_KILLED
                                                              : CRN_REPORT_RUNNING;
}
