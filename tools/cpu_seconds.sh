#!/bin/bash
# Runs a command, and says at its end how many seconds of the CPUs it took, in it and in the kernel: cpu_seconds.sh COMMAND...
TIMEFORMAT='CPU seconds: %U %S'
time "$@"
