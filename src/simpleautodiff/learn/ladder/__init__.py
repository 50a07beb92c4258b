"""The ladder: small engines from the paper's program to the library's own, each a file to read.

rung_0  the paper's program, with its defects
rung_1  the same without its defects
rung_2  operators, constants, and more functions
rung_3  reverse mode
rung_4  a tape instead of a search
rung_5  values of any number type, so second derivatives
rung_6  arrays and linear maps
rung_7  a table of primitives
rung_8  source code of derivatives
"""
