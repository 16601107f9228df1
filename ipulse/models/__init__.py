"""Base classes, field types and error messages of every pydantic model in the project.

A model accepts exactly what its fields say: nothing is coerced and unknown fields are refused.
`validate` reports all problems of a document at once, each with its JSON pointer.
"""

from pydantic import Field as Field

from .base import StrictModel as StrictModel
from .base import adapter_of as adapter_of
from .base import validate as validate
from .fields import MAX_INTEGER as MAX_INTEGER
from .fields import MAX_KEY as MAX_KEY
from .fields import MAX_TEXT as MAX_TEXT
from .fields import PRINTABLE as PRINTABLE
from .fields import ExactInteger as ExactInteger
from .fields import FromObject as FromObject
from .fields import Integer as Integer
from .fields import LabelSelector as LabelSelector
from .fields import ListOf as ListOf
from .fields import ScalarByKey as ScalarByKey
from .fields import Text as Text
from .fields import TextByKey as TextByKey
from .fields import few as few
from .fields import unit as unit
from .messages import error_of as error_of
from .messages import moved as moved
from .messages import problems_of as problems_of
from .unions import ByKind as ByKind
from .unions import ByShape as ByShape
