"""Aorta's version, stated once. The shared library's SONAME ends in the first number."""

VERSION = "0.1.0"
