"""Suites of tasks. Each is found through the entry point group ``matassay.suites``; none knows another."""
