#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies the GPU host that it runs on, as the roles verify theirs, and prints its GPUs and every finding. Reads only, and needs
# no network. Uses the checkout's own ansible-core and collection (make setup artefact). Where $OUT names a folder, the report is left
# there as text and as JSON.
# Ends with 0 when nothing was found, with 1 when something was, and with 2 when nothing could be checked.
set -eu

nothing() {
    echo "gpu_host_check: $1" >&2
    exit 2
}

root=$(cd "$(dirname "$0")/../.." && pwd)
playbook=$(find "$root/build/venv" -path '*/bin/ansible-playbook' 2>/dev/null | sort | head -n 1)
[ -n "$playbook" ] || nothing "no ansible-playbook in $root/build/venv: run make setup artefact"
[ -d "$root/build/collections/ansible_collections/kubegang/core" ] || nothing "no collection in $root/build/collections: run make artefact"
grep -qs 0x10de /sys/bus/pci/devices/*/vendor || nothing "$(hostname) has no NVIDIA GPU on its PCI bus"

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
export ANSIBLE_COLLECTIONS_PATH="$root/build/collections" ANSIBLE_HOME="$folder/ansible" ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false
timeout 110 "$playbook" --inventory localhost, --connection local --extra-vars "folder=$folder" \
    "$root/tests/device/gpu_host_check.yml" > "$folder/output" 2>&1 || {
    cat "$folder/output"
    nothing "the check itself failed, or took more than 110 seconds"
}
cat "$folder/report.txt"
[ -z "${OUT:-}" ] || cp "$folder/report.txt" "$folder/report.json" "$OUT"
! grep -q '^error' "$folder/report.txt"
