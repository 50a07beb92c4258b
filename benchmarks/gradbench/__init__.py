"""GradBench: twelve problems for automatic differentiation, and a tool that answers its questions.

Each problem is a module with plain NumPy functions and these names:

- `FUNCTIONS`: what the suite asks for by name, first the function itself, then its derivative;
- `read`: the arguments of these functions, made of a message's input;
- `write`, where a result is more than an array: what the reply says of it;
- `workloads`: inputs of the suite's sizes, from its generators where these are known;
- `FORMS`, where a function can be written in several ways: all of them, the first is in use;
  `derivative` makes of each what is asked for.
"""
