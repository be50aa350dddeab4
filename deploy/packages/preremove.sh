#!/bin/sh
# Stops the service that goes, not the one that is upgraded.
set -e
case "$1" in # deb: "remove" or "upgrade"; rpm: how many versions will be left
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now @NAME@.service || true
  fi
  ;;
esac
