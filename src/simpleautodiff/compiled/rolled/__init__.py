"""Long programs that repeat: each body is compiled once, and called as often as it occurs.

A program repeats where a loop was recorded step by step, which is found here (`repeats`), and where
`loops` has recorded a loop by one step. Both become words that call bodies.
"""
