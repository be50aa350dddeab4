#!/bin/sh
# Data goes only when somebody purges a deb. An rpm leaves it behind always.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
  rm -rf /var/lib/@NAME@
  rmdir --ignore-fail-on-non-empty /etc/punctual 2>/dev/null || true
  # What the operator put there for the group, such as the secret key that opens backups, stays. Another group may get its number.
  if [ -d /etc/punctual ] && getent group @NAME@ >/dev/null; then find /etc/punctual -group @NAME@ -exec chgrp root {} + || true; fi
  if getent passwd @NAME@ >/dev/null; then userdel @NAME@ || true; fi
  if getent group @NAME@ >/dev/null; then groupdel @NAME@ || true; fi
fi
