"""The targets that programs are compiled for, and the languages they are exported to.

`interface.py` says what a target and an exporter are; `targets.py` and `exporters.py` name them.
"""
