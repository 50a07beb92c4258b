"""Learning: a ladder of small engines, a grader that names misconceptions, broken engines, sheets.

ladder     small engines from the paper's program to the library's own
rungs      the rungs as things to load, to read and to compare
graphs     graphs as data, and random ones
grading    the grader
bugs       engines with one fault, to find and to mend
"""

from simpleautodiff.learn import bugs as bugs
from simpleautodiff.learn.grading.grade import grade as grade
from simpleautodiff.learn.grading.report import Report as Report
from simpleautodiff.learn.rungs import (
    RUNGS as RUNGS,
    Rung as Rung,
    diff as diff,
    rung as rung,
)
