"""The consumers that are known, in the order in which they are told of."""

from ..verdicts import Profile
from . import arrow, compiled, images, numpy, standard, tensors

PROFILES: list[Profile] = [
    *numpy.PROFILES,
    *standard.PROFILES,
    *arrow.PROFILES,
    *images.PROFILES,
    *tensors.PROFILES,
    *compiled.PROFILES,
]
