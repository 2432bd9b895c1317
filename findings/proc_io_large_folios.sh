#!/bin/bash
#
# Linux 6.18 with ext4: write_bytes of /proc/PID/io, "bytes sent to the storage layer", is
# 16 times what is written, or is right, by how the file was once written.
#
# Expected: a byte changed in each of 128 pages of a file is 128 pages of 4 kB, as the device
# counts.  What happens: a write of more than a page puts large folios into the page cache,
# and the first change of one counts the whole folio, whose changed blocks alone are then
# written.  So the counter compares neither programs that write files in other portions nor
# kernels: ext4 has large folios from 6.16 on.
#
# To avoid it: the counter of the device (/sys/dev/block/*/stat), or of a loop device.
#
# TMPDIR must be on ext4.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
uname -r
python3 - "$work/file" <<'PYTHON'
import os, sys

SIZE, STEP = 8 << 20, 1 << 16

def counters(file):
    device = os.fstat(file).st_dev
    with open("/proc/self/io") as io, open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat") as stat:
        return int(dict(line.split(": ") for line in io)["write_bytes"]), int(stat.read().split()[6]) * 512

def change(portion):
    """kB that the process and the device count, of pages that are changed in a file written in such portions."""
    file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for _ in range(0, SIZE, portion):
        os.write(file, b"x" * portion)
    os.fsync(file)
    before = counters(file)
    for offset in range(0, SIZE, STEP):
        os.pwrite(file, b"y", offset)
    os.fsync(file)
    after = counters(file)
    os.close(file)
    return [(b - a) >> 10 for a, b in zip(before, after)]

changed = SIZE // STEP * 4
for portion, expected in (4096, changed), (65536, SIZE >> 10):
    # others write to the device too
    process, device = (min(counts) for counts in zip(*(change(portion) for _ in range(5))))
    print(f"written by {portion} bytes, then {changed} kB of pages changed: write_bytes {process} kB, the device {device} kB")
    assert process == expected and changed <= device < 2 * changed, "the behaviour has changed"
PYTHON
