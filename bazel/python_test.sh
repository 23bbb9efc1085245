#!/bin/bash
# Runs the unittest cases of a Python file (aorta_python_test in aorta.bzl).
exec python3 bazel/python_test.py "$@"
