/* SPDX-License-Identifier: MIT
 *
 * commands.h - the commands of the tool, one file each.
 *
 * A command gets argv[0] as "cairn VERB" and returns an exit status of cli/common/cli.h. It reads
 * its options with argp_parse(&argp, argc, argv, 0, 0, ...), which ends the process with 2 on an
 * error.
 */
#ifndef CRN_CLI_COMMANDS_COMMANDS_H
#define CRN_CLI_COMMANDS_COMMANDS_H

int crn_cmd_assert(int argc, char **argv);
int crn_cmd_cc(int argc, char **argv);
int crn_cmd_cxx(int argc, char **argv);
int crn_cmd_clang(int argc, char **argv);
int crn_cmd_clangxx(int argc, char **argv);
int crn_cmd_critical(int argc, char **argv);
int crn_cmd_diff(int argc, char **argv);
int crn_cmd_explain(int argc, char **argv);
int crn_cmd_export(int argc, char **argv);
int crn_cmd_import(int argc, char **argv);
int crn_cmd_merge(int argc, char **argv);
int crn_cmd_query(int argc, char **argv);
int crn_cmd_redact(int argc, char **argv);
int crn_cmd_report(int argc, char **argv);
int crn_cmd_run(int argc, char **argv);
int crn_cmd_spans(int argc, char **argv);
int crn_cmd_top(int argc, char **argv);
int crn_cmd_whatif(int argc, char **argv);
int crn_cmd_view(int argc, char **argv);

#endif
