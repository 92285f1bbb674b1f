"""Recipes; they run the binaries."""

from realm_tf import process

process.leave_if_interrupted()
