/* SPDX-License-Identifier: MIT
 *
 * commands.h - the tool's commands, in the order in which users meet them. The file NAME.c defines
 * crn_command_NAME.
 */
#ifndef CRN_CLI_COMMANDS_COMMANDS_H
#define CRN_CLI_COMMANDS_COMMANDS_H

#include "cli/common/command.h"

#define CRN_COMMANDS(X)                                                                            \
    X(run)                                                                                         \
    X(attach)                                                                                      \
    X(top)                                                                                         \
    X(view)                                                                                        \
    X(report)                                                                                      \
    X(spans)                                                                                       \
    X(explain)                                                                                     \
    X(critical)                                                                                    \
    X(latency)                                                                                     \
    X(query)                                                                                       \
    X(whatif)                                                                                      \
    X(cc)                                                                                          \
    X(cxx)                                                                                         \
    X(clang)                                                                                       \
    X(clangxx)                                                                                     \
    X(diff)                                                                                        \
    X(gate)                                                                                        \
    X(assert)                                                                                      \
    X(merge)                                                                                       \
    X(redact)                                                                                      \
    X(export)                                                                                      \
    X(import)                                                                                      \
    X(push)                                                                                        \
    X(fleet)                                                                                       \
    X(agent)

#define CRN_COMMAND_DECLARE(name) extern const crn_command crn_command_##name;
CRN_COMMANDS(CRN_COMMAND_DECLARE)
#undef CRN_COMMAND_DECLARE

#endif
