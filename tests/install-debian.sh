#!/bin/sh
# install-debian.sh COMMAND:PACKAGE ...: Debian packages for commands that the machine does not have yet.
set -eu
missing=
for pair in "$@"; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
[ -z "$missing" ] && exit 0
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing
