/* SPDX-License-Identifier: MIT
 *
 * writer_limit.h - how long src/formats/source.c waits for the writer of a pipe: as long as a test
 * says. It is included before the source by the compiler's command line.
 */
#ifndef TESTS_FORMATS_WRITER_LIMIT_H
#define TESTS_FORMATS_WRITER_LIMIT_H

extern int limits_writer_ms;

#define CRN_SOURCE_WRITER_MS limits_writer_ms

#endif
