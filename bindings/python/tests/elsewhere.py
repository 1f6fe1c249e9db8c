"""Test suites of other projects, loaded from their installed packages. No copy is kept here."""

import ast
import importlib.util
import os
import types
import unittest
import warnings
from pathlib import Path


def require(name):
    """The path of an installed module."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    if spec is not None and spec.origin:
        return Path(spec.origin)
    missing(name)


def missing(name):
    """Skips a test or a module that lacks a counterpart; fails if all counterparts are required."""
    reason = f"{name} is not installed"
    raise AssertionError(reason) if os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") else unittest.SkipTest(reason)


class Through(ast.NodeTransformer):
    """Replaces `x.name` by `through("name", x)`, and `if x` and `if x and y` by `truth(x)`."""

    def __init__(self, attributes):
        self.attributes = attributes

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr not in self.attributes or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(call("through", ast.Constant(node.attr), node.value), node)

    def visit_If(self, node):
        self.generic_visit(node)
        node.test = self.truth(node.test)
        return node

    def truth(self, test):
        if isinstance(test, ast.BoolOp):
            test.values = [self.truth(value) for value in test.values]
            return test
        return ast.copy_location(call("truth", test), test)


def call(function, *arguments):
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def load(name, attributes, through, **given):
    """A module of a suite, with these attributes replaced by calls of `through`, and with these global names."""
    path = require(name)
    tree = ast.fix_missing_locations(Through(set(attributes)).visit(ast.parse(path.read_text())))
    module = types.ModuleType(name.rpartition(".")[2] + "_relayed")
    module.__file__ = str(path)
    vars(module).update({"truth": bool, "through": through} | given)
    with warnings.catch_warnings():
        # Marks that these tests define.
        warnings.simplefilter("ignore")
        exec(compile(tree, str(path), "exec"), vars(module))
    return module
