"""The grader: adversarial graphs for an engine somebody wrote, and the misconception behind it.

engine_shapes    the shapes engines are written in, found automatically
node_shapes      those with nodes: Value, Var, Node
tape_shapes      those that record: Tape, graph.mul(x, z)
feed_shapes      those whose numbers come later: Executor([y]).run({x: 2.0})
function_shapes  those with functions: grad(f), dual numbers
partials_shape   nodes with local derivatives, before there is a sweep
learner_engine   a learner's engine, used through one interface
learner_names    the usual names of its parts
learner_nodes    its classes and nodes: how they are constructed, what they hold
running          one case, built and swept by a learner's engine
learner_process  the process in which a learner's code runs, within limits
processes        how the grader talks to that process
bank, bank_runs  the graphs, each with the misconception it exposes; and what an engine finds
model            an engine that can be wrong in every known way, to see which explains the numbers
prediction       the numbers that such an engine finds
known_faults     rules and how they go wrong, and what else can be wrong
mistakes         the misconceptions: what is said about each, and where to read
answers          what is right: the library's own numbers
case_run         one case in one mode: what was asked, and what was answered
diagnosis        from numbers to misconceptions
shrinking        a failing graph made as small as it can be
grade_report     the diagnosis as text, JSON, JUnit's XML and HTML
report_page      the page of a report
grade            `grade`: all of it together
"""
