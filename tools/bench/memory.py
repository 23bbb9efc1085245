"""The memory of a tree of processes, for echo.py and peer_loader.py."""

import os


def pss(pid):
    """Of a process and its descendants, in MiB."""
    total, family = 0, [pid]
    while family:
        pid = family.pop()
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as children:
                    family += [int(child) for child in children.read().split()]
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024
