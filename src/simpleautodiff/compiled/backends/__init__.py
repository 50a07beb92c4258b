"""What programs are compiled for and exported to: LLVM, an interpreter, Python, C.

`interface.py` says what a target and an exporter are; `targets.py` and `exporters.py` name them.
"""
