"""Parses expressions by recursive descent.

expression  = sum [comparison sum]
sum         = product {("+" | "-") product}
product     = factor {("*" | "/") factor}
factor      = "-" factor | number | name | function "(" expression {"," expression} ")"
| "(" expression ")"
comparison  = "<" | "<=" | ">" | ">=" | "==" | "!="
"""

from __future__ import annotations

import difflib
from typing import Callable, Collection, Dict, List, Optional

from ipulse_core.equations.tokens import ExpressionError, ExpressionToken, tokens_of
from ipulse_core.equations.tree import ARITIES, Constant, Expression, Operation, Variable, depth
from ipulse_core.limits import MAX_FLOAT32

MAX_DEPTH = 16
MAX_LENGTH = 4096  # characters
FUNCTIONS = ("abs", "detach", "exp", "log", "max", "min", "sqrt", "square", "tanh", "where")
NEW = "new"  # new(u) is the updated value of the state u
_COMPARISONS = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}
_SUMS = {"+": "add", "-": "subtract"}
_PRODUCTS = {"*": "multiply", "/": "divide"}

Misuse = Callable[[Operation], Optional[str]]

_ALIASES: Dict[str, str] = {
    "relu": "max(0, a)",
    "pow": "a * a",
    "heaviside": "a > 0",
    "step": "a > 0",
    "clip": "min(max(a, low), high)",
    "stop_gradient": "detach(a)",
    "if": "where(condition, a, b)",
    "ln": "log(a)",
    "pow2": "square(a)",
    "sigmoid": "1 / (1 + exp(-a))",
    "softplus": "max(a, 0) + log(1 + exp(-abs(a)))",
    "cross_entropy": "-sum(label * log_softmax(a))",
    "argmax": "where(a == largest(a), 1, 0)",
}
_OVER_CLASSES: Dict[str, str] = {
    "max": "; the largest of all classes is largest(a), of all steps max_over_time(a)",
    "min": "; the smallest of all classes is -largest(-a), of all steps -max_over_time(-a)",
}


def parse(
    text: str,
    names: Collection[str],
    updated: Collection[str] = (),
    functions: Collection[str] = FUNCTIONS,
    misuse: Misuse = lambda operation: None,
) -> Expression:
    """Returns the tree of an expression.

    Args:
        text: The expression.
        names: What it may name.
        updated: The states that it may name by new(...).
        functions: The functions that it may call.
        misuse: Returns what is wrong with an operation on its arguments, None if nothing is.

    Raises:
        ExpressionError: It is no expression, names something else, or is too long or too deep.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(MAX_LENGTH, f"an expression has at most {MAX_LENGTH:,} characters")
    return _Parser(tokens_of(text), names, updated, functions, misuse).whole()


def new(state: str) -> str:
    """Returns the name of a state's updated value in a tree."""
    return f"{NEW}({state})"


class _Parser:
    def __init__(
        self,
        tokens: List[ExpressionToken],
        names: Collection[str],
        updated: Collection[str],
        functions: Collection[str],
        misuse: Misuse,
    ) -> None:
        self._tokens, self._names, self._updated = tokens, names, updated
        self._functions, self._misuse = functions, misuse
        self._at = 0
        self._nesting = 0

    def whole(self) -> Expression:
        if self._next.kind == "end":
            raise ExpressionError(1, "the expression is empty")
        tree = self._expression()
        rest = self._next
        if rest.kind != "end":
            if rest.text in _COMPARISONS:
                detail = "one comparison cannot follow another: use min(a < b, b < c)"
            else:
                detail = f"an operator or the end is expected before {rest.text[:40]!a}"
            raise ExpressionError(rest.column, detail)
        return tree

    @property
    def _next(self) -> ExpressionToken:
        return self._tokens[self._at]

    def _take(self) -> ExpressionToken:
        token = self._next
        if token.kind != "end":
            self._at += 1
        return token

    def _take_sign(self, sign: str) -> None:
        token = self._take()
        if token.text != sign or token.kind != "sign":
            got = "the end" if token.kind == "end" else f"{token.text[:40]!a}"
            raise ExpressionError(token.column, f"{sign!a} is expected; got {got}")

    def _expression(self) -> Expression:
        left = self._sum()
        if self._next.text not in _COMPARISONS:
            return left
        sign = self._take()
        return self._made(_COMPARISONS[sign.text], [left, self._sum()], sign)

    def _sum(self) -> Expression:
        tree = self._product()
        while self._next.text in _SUMS:
            sign = self._take()
            tree = self._made(_SUMS[sign.text], [tree, self._product()], sign)
        return tree

    def _product(self) -> Expression:
        tree = self._factor()
        while self._next.text in _PRODUCTS:
            sign = self._take()
            tree = self._made(_PRODUCTS[sign.text], [tree, self._factor()], sign)
        return tree

    def _factor(self) -> Expression:
        token = self._take()
        if token.kind == "number":
            return self._constant(token)
        if token.kind == "name":
            return self._named(token)
        if token.text not in ("-", "("):
            got = "the end" if token.kind == "end" else f"{token.text!a}"
            detail = f"a number, a name or '(' is expected; got {got}"
            raise ExpressionError(token.column, detail)
        self._nesting += 1
        if self._nesting > MAX_DEPTH:
            raise ExpressionError(token.column, f"at most {MAX_DEPTH} levels are nested")
        if token.text == "-":
            tree = self._negated(token)
        else:
            tree = self._expression()
            self._take_sign(")")
        self._nesting -= 1
        return tree

    def _negated(self, sign: ExpressionToken) -> Expression:
        tree = self._factor()
        if isinstance(tree, Constant):
            return Constant(-tree.value)
        return self._made("negate", [tree], sign)

    def _constant(self, token: ExpressionToken) -> Expression:
        value = float(token.text)
        if not value <= MAX_FLOAT32:
            raise ExpressionError(token.column, "the number is too large for float32")
        return Constant(value)

    def _named(self, token: ExpressionToken) -> Expression:
        if self._next.text == "(":
            return self._called(token)
        if token.text in self._names:
            return Variable(token.text)
        if token.text in (*self._functions, NEW):
            raise ExpressionError(token.column, f"{token.text} needs arguments in parentheses")
        raise ExpressionError(token.column, unknown_name(token.text, self._names))

    def _called(self, token: ExpressionToken) -> Expression:
        if token.text == NEW and self._updated:
            return self._updated_state()
        if token.text not in self._functions:
            known = (*self._functions, NEW) if self._updated else self._functions
            detail = unknown_name(token.text, known, "function")
            if token.text == NEW:
                detail = "new(...) is for updates: here every state is updated already"
            elif token.text in self._names:
                detail = f"{token.text[:40]} is no function: write * to multiply"
            raise ExpressionError(token.column, detail)
        self._nesting += 1
        if self._nesting > MAX_DEPTH:
            raise ExpressionError(token.column, f"at most {MAX_DEPTH} levels are nested")
        self._take_sign("(")
        arguments = [self._expression()]
        while self._next.text == ",":
            self._take()
            arguments.append(self._expression())
        self._take_sign(")")
        self._nesting -= 1
        wanted = ARITIES[token.text]
        if len(arguments) != wanted:
            plural = "" if wanted == 1 else "s"
            detail = f"{token.text} has {wanted} argument{plural}; got {len(arguments)}"
            if len(arguments) == 1 and "largest" in self._functions:
                detail += hint_for_one_argument(token.text)
            raise ExpressionError(token.column, detail)
        return self._made(token.text, arguments, token)

    def _updated_state(self) -> Expression:
        self._take_sign("(")
        state = self._take()
        if state.kind != "name" or state.text not in self._updated:
            raise ExpressionError(state.column, unknown_name(state.text, self._updated, "state"))
        self._take_sign(")")
        return Variable(new(state.text))

    def _made(self, name: str, arguments: List[Expression], token: ExpressionToken) -> Expression:
        tree = Operation(name, tuple(arguments))
        if depth(tree) > MAX_DEPTH:
            raise ExpressionError(token.column, f"at most {MAX_DEPTH} operations are nested")
        wrong = self._misuse(tree)
        if wrong is not None:
            raise ExpressionError(token.column, wrong)
        return tree


def unknown_name(text: str, known: Collection[str], what: str = "name") -> str:
    """Returns the message for an unknown name."""
    shown = f"{text[:40]!a}" if text else "the end"
    listed = ", ".join(sorted(known))
    detail = f"there is no {what} {shown} here"
    near = difflib.get_close_matches(text[:40], list(known), n=1)
    if near:
        detail += f"; did you mean {near[0]}?"
    elif what == "function" and text in _ALIASES:
        detail += f"; write {_ALIASES[text]}"
    return f"{detail} Known: {listed}" if near else f"{detail}; known are {listed}"


def hint_for_one_argument(name: str) -> str:
    """Returns what to write in a loss instead of max or min of one argument, else nothing."""
    return _OVER_CLASSES.get(name, "")
