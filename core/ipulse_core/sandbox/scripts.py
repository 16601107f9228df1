"""The shell scripts around a sandboxed command."""

from __future__ import annotations

# Runs a command in a folder that begins as a copy of another one, ends what it left running, and
# writes its exit status and the folder's files to the pipe that is standard input, which the
# command does not have. Links, pipes, and sockets as links are counted. Until all is ended, nothing
# may need a process: the command may have used up all that there may be.
RUN = r"""
exec 3>&0 0</dev/null
work=$1 initial=$2 is_alone=$3; shift 3
cd "$work" || exit 125
if [ -n "$initial" ]; then cp -r "$initial"/. . || exit 125; fi
"$@" 3>&-
status=$?
if [ -n "$is_alone" ]; then
    while kill -9 -1 2>/dev/null; set -- /proc/[0-9]*; [ $# -gt 2 ]; do :; done
fi
echo $status >&3
chmod -R u+rwX . 2>/dev/null; find . -xdev -type s -exec ln -sfn socket {} \;
find . -xdev ! -type d -print0 |
    tar --create --format=gnu --hard-dereference --no-recursion --null --files-from=- \
        >&3 2>/dev/null
exit $status
"""
# Joins control groups, so that nothing of the command is ever outside of them, and asks the kernel
# to end it before anything else of the machine. The arguments are files, `--` and the command.
JOIN = (
    'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; '
    'echo 1000 2> /dev/null > /proc/self/oom_score_adj; exec "$@"'
)
