"""The grader: adversarial graphs for an engine somebody wrote, and the misconception behind it.

shapes      the shapes engines are written in, found automatically; built and swept by one interface
running     one case, built and swept by a learner's engine
worker      the process in which a learner's code runs, within limits
processes   how the grader talks to that process
bank        the graphs, each with the misconception it exposes
model       an engine that can be wrong in every known way, to see which way explains the numbers
mistakes    the misconceptions: what is said about each, and where to read
answers     what is right: the library's own numbers
diagnosis   from numbers to misconceptions
shrinking   a failing graph made as small as it can be
report      the diagnosis as text, JSON, JUnit's XML and HTML
grade       `grade`: all of it together
"""
