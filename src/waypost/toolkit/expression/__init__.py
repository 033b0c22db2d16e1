"""The expressions of `view`: a subset of the language expr-lang, compiled to a function."""

from waypost.toolkit.expression.compile import Expression as Expression
from waypost.toolkit.expression.compile import compile_expression as compile_expression
from waypost.toolkit.expression.errors import EvaluationError as EvaluationError
from waypost.toolkit.expression.errors import ExpressionError as ExpressionError
from waypost.toolkit.expression.values import Function as Function
from waypost.toolkit.expression.values import Kind as Kind
