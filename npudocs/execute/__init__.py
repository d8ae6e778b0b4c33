"""Runs executable blocks, scripts and tests, and labels pages by the device."""
