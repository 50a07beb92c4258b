"""The command line: see how a derivative is computed, or have it computed.

main          from arguments to an exit code
options       the commands and their options
problem       what to differentiate, and where: a formula, a function in a file, a point
derivatives   which derivative is meant
commands      one function for each command
rendering     tables, graphs and words in each format
describe_error  an error as the text that a user reads
site          the playground: the library in a browser
write_output  text to terminals, files and pipes
json_answers  numbers and answers as JSON
progress      a bar for what takes long
loop_share    how far a function is that is being recorded
function_list what a formula can contain
completion    scripts for the Tab key
"""

from simpleautodiff.cli.main import main as main
