#!/bin/sh
# Makes the user that the service runs as. The files that follow belong to it.
set -e
getent group @NAME@ >/dev/null || groupadd --system @NAME@
getent passwd @NAME@ >/dev/null || useradd --system --gid @NAME@ --home-dir /var/lib/@NAME@ --no-create-home --shell /usr/sbin/nologin --comment Punctual @NAME@
