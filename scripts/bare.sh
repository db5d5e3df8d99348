#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command of this repository in a fresh clone on a bare Debian 12: a chroot with a
# minimal base system and git, and nothing else. Needs root and debootstrap.
#
#   scripts/bare.sh [--keep] ./demo
#   scripts/bare.sh ./check --all
#
# The clone is of HEAD. The base system is kept in $CAIRN_BARE (/var/tmp/cairn-bare unless set)
# for the next time; what the command did is thrown away, unless --keep says otherwise.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

keep=
if [ "${1-}" = --keep ]; then
    keep=1
    shift
fi
[ $# -gt 0 ] || die "usage: scripts/bare.sh [--keep] COMMAND [ARGUMENT...]"
[ "$(id -u)" = 0 ] || die "scripts/bare.sh needs root: a chroot can be made by nobody else."

store=${CAIRN_BARE:-/var/tmp/cairn-bare}
base=$store/base
room=$store/room
mkdir -p "$store"
exec 9>"$store/lock"
flock -n 9 || die "Another scripts/bare.sh is at work in $store: wait for it, or set CAIRN_BARE."

if [ ! -e "$base/.complete" ]; then
    packages_need debootstrap
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
    [ -n "$mirror" ] || die "apt knows no mirror to make a base system from: apt-get update first."
    say "Making a base system ..."
    rm -rf "$base"
    mkdir -p "$base"
    quietly debootstrap --variant=minbase --include=git bookworm "$base" "$mirror"
    apt-config dump | grep -E '^Acquire::(http|https)::Proxy' >"$base/etc/apt/apt.conf.d/99proxy" ||
        true
    touch "$base/.complete"
fi

# Mounts and processes live in namespaces of their own, and end with them.
inside='
    set -e
    room=$1
    shift
    mount -t proc proc "$room/proc"
    mount --rbind /dev "$room/dev"
    exec chroot "$room" /usr/bin/env -i HOME=/root TERM="${TERM-dumb}" LANG=C.UTF-8 \
        NODE_EXTRA_CA_CERTS=/etc/npm-certificates.crt \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        sh -c "cd /root && git -c advice.detachedHead=false clone -q cairn.bundle cairn &&
            cd cairn && exec \"\$@\"" sh "$@"
'

! grep -q " $room/" /proc/mounts || die "Something is mounted below $room: unmount it first."
rm -rf --one-file-system "$room"
cp -a "$base" "$room"
cp -L /etc/resolv.conf "$room/etc/resolv.conf"
# npm inside trusts the certificates that it is told to trust here: a registry may be behind a proxy.
if [ -n "${NODE_EXTRA_CA_CERTS-}" ]; then
    cp -L "$NODE_EXTRA_CA_CERTS" "$room/etc/npm-certificates.crt"
fi
git bundle create -q "$room/root/cairn.bundle" HEAD

status=0
unshare --mount --propagation private --pid --fork --kill-child \
    sh -c "$inside" sh "$room" "$@" || status=$?
if [ -n "$keep" ]; then
    say "Left as it is: $room"
else
    rm -rf --one-file-system "$room"
fi
exit "$status"
