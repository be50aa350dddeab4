#!/bin/sh
# A service that runs is started anew after an upgrade; nothing is started that nobody switched on.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  systemctl try-restart @NAME@.service || true
fi
case "$1:$2" in # deb: "configure" and the version before, none at first; rpm: how many versions are installed now
configure: | 1:)
  echo "@NAME@ is installed and not started: look into /etc/punctual, then systemctl enable --now @NAME@"
  ;;
esac
