"""Learning: a ladder of small engines, a grader that names misconceptions, broken engines, sheets.

ladder         small engines from the paper's program to the library's own
rungs          the rungs as things to load, to read and to compare
graphs         graphs as data, and random ones
grading        the grader
bugs           engines with one fault, to find and to mend
faults         the lines of the rungs that each fault changes
class_report   every submission of a folder
exercises      tables with blanks, checked cell by cell
sheets         the same as text, as LaTeX, and as a page that checks itself
"""

from simpleautodiff.learn import bugs as bugs
from simpleautodiff.learn.class_report import (
    ClassReport as ClassReport,
    grade_class as grade_class,
)
from simpleautodiff.learn.exercises import (
    Exercise as Exercise,
    exercise as exercise,
)
from simpleautodiff.learn.grading.grade import grade as grade
from simpleautodiff.learn.grading.grade_report import Report as Report
from simpleautodiff.learn.rungs import (
    RUNGS as RUNGS,
    Rung as Rung,
    diff as diff,
    rung as rung,
)
