/* SPDX-License-Identifier: MIT
 *
 * xray.h - what is used here of compiler-rt's xray/xray_interface.h and xray_log_interface.h,
 * which are for C++ alone.
 */
#ifndef BENCH_PEERS_XRAY_H
#define BENCH_PEERS_XRAY_H

#include <stdbool.h>
#include <stdint.h>

int __xray_set_handler(void (*handler)(int32_t function, int kind));
int __xray_patch(void);
int __xray_unpatch(void);
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *configuration);
int __xray_log_finalize(void);
int __xray_log_flushLog(void);

enum { XRAY_MODE_OK = 0, XRAY_PATCHED = 1, XRAY_LOG_INITIALIZED = 2 };

static inline bool xray_profiling_begin(const char *configuration)
{
    return __xray_log_select_mode("xray-profiling") == XRAY_MODE_OK &&
           __xray_log_init_mode("xray-profiling", configuration) == XRAY_LOG_INITIALIZED &&
           __xray_patch() == XRAY_PATCHED;
}

#endif
