# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Sourced by ./demo and ./check: which Debian 12 packages a task needs, and a function
# that installs those that are missing.

# Build the tool, the Lua host and the plugin for gcc.
PACKAGES_BUILD="gcc g++ gcc-12-plugin-dev libc6-dev meson ninja-build python3 pkg-config
    liblua5.4-dev libjansson-dev libncurses-dev libprotobuf-c-dev protobuf-c-compiler
    zlib1g-dev libdw-dev libiberty-dev libsqlite3-dev libmicrohttpd-dev
    libcurl4-openssl-dev libxxhash-dev"

# Run the fast tests: a second compiler; C++ and CMake for programs that use the installed library;
# lua5.4 and go's pprof to compare with; libc6-dbg for names inside of libc; zstd for recorded
# streams; pyte as a terminal; graphviz to read dot files;
# clickhouse-server for the fleet.
PACKAGES_CHECK="$PACKAGES_BUILD g++ clang libclang-rt-14-dev cmake libcmocka-dev lua5.4
    golang-go libc6-dbg zstd libzstd-dev binutils python3-pyte protobuf-compiler
    chromium-headless-shell graphviz clickhouse-server"

# The slow tests: clang-tidy, a cross compiler and emulator for aarch64, whole browsers, a reader of
# coverage, OpenCL on the processor.
PACKAGES_ALL="$PACKAGES_CHECK clang-tidy clang-format gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross qemu-user chromium firefox-esr gcovr
    ocl-icd-opencl-dev pocl-opencl-icd"
# The page of cairn view is built by npm, and its test is an npm package, as speedscope's own reader
# is. Other distributions of nodejs bring npm along.
if ! command -v npm >/dev/null 2>&1; then
    PACKAGES_CHECK="$PACKAGES_CHECK nodejs npm"
    PACKAGES_ALL="$PACKAGES_ALL nodejs npm"
fi

# Other tools that bench/run puts beside Cairn, where they are installed.
# shellcheck disable=SC2034
PACKAGES_BENCH="$PACKAGES_CHECK chromium lttng-tools liblttng-ust-dev uftrace coz-profiler"

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "$*"
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        return 127
    fi
}

# Runs a command quietly; prints its output if it fails.
quietly() {
    quiet_log=$(mktemp)
    if "$@" >"$quiet_log" 2>&1; then
        rm -f "$quiet_log"
    else
        quiet_status=$?
        cat "$quiet_log" >&2
        rm -f "$quiet_log"
        return "$quiet_status"
    fi
}

packages_missing() {
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# Installs those of the named packages that are missing.
packages_need() {
    command -v dpkg-query >/dev/null 2>&1 ||
        die "This is not a Debian system. Install by other means: $*"
    missing=$(packages_missing "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
        die "These packages are missing, and without root or sudo they cannot be installed:
    $missing
As root, run:
    apt-get update && apt-get install --no-install-recommends $missing"
    fi
    say "Installing: $missing"
    # shellcheck disable=SC2086
    quietly as_root apt-get -q update &&
        quietly as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install $missing ||
        die "apt-get could not install these packages. Its own words are above."
}
