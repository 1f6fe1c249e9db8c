"""What an object says of its memory by one protocol, and what follows from that."""

from dataclasses import dataclass, field
from math import prod

from .elements import Element


@dataclass
class Offer:
    """One protocol's answer. Where it was refused, there is `refusal`, and the rest is empty."""

    protocol: str
    refusal: str | None = None
    address: int | None = None
    shape: tuple[int, ...] | None = None
    #: In bytes.
    strides: tuple[int, ...] | None = None
    element: Element | None = None
    #: The element in the protocol's own spelling.
    spelling: str = ""
    readonly: bool | None = None
    suboffsets: tuple[int, ...] | None = None
    #: DLPack's numbers of kind and device.
    device: tuple[int, int] = (1, 0)
    #: What the memory belongs to, as the protocol has it.
    owner: str = ""
    #: More of what it says, in words, and what is odd about it.
    notes: list[str] = field(default_factory=list)
    #: What only some protocols have: `version`, `byte_offset`, `lanes`, `deleter`, `nulls`, `offset`, ...
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def is_on_host(self) -> bool:
        """Whether the processor addresses the memory, as it does what CUDA and ROCm pin and what CUDA manages."""
        return self.device[0] in (1, 3, 11, 13)

    @property
    def is_addressed(self) -> bool:
        """Whether the memory has an address, and not the handle of a buffer object (OpenCL, Vulkan, Metal, WebGPU)."""
        return self.device[0] not in (4, 7, 8, 15)

    @property
    def dtype(self) -> str | None:
        """The element's name."""
        return None if self.element is None else self.element.name

    @property
    def itemsize(self) -> int | None:
        """The bytes of one element."""
        return None if self.element is None else self.element.itemsize

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape or ())

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape or ())

    @property
    def alignment(self) -> int | None:
        """The largest power of two up to 4096 that the address is a multiple of."""
        return None if self.address is None else min(self.address & -self.address or 4096, 4096)

    def steps(self) -> list[tuple[int, int]]:
        """Length and stride of the axes along which there is a step to take; none where there is no element."""
        if self.size == 0 or self.shape is None or self.strides is None:
            return []
        return [(length, stride) for length, stride in zip(self.shape, self.strides) if length > 1]

    def _is_dense(self, steps: list[tuple[int, int]]) -> bool:
        expected = self.itemsize or 0
        for length, stride in steps:
            if stride != expected:
                return False
            expected *= length
        return not self.is_indirect

    @property
    def is_c(self) -> bool:
        """Without gaps in row-major order, as NumPy counts it."""
        return self.strides is None or self._is_dense(self.steps()[::-1])

    @property
    def is_f(self) -> bool:
        """Without gaps in column-major order."""
        return self.strides is None and self.ndim < 2 or self._is_dense(self.steps())

    @property
    def is_dense(self) -> bool:
        """Without gaps in some order of the axes."""
        return self.is_c or self._is_dense(sorted(self.steps(), key=lambda step: step[1]))

    @property
    def is_indirect(self) -> bool:
        """Whether pointers have to be followed."""
        return any(suboffset >= 0 for suboffset in self.suboffsets or ())

    @property
    def is_negative(self) -> bool:
        """Whether a stride leads backwards."""
        return any(stride < 0 for _, stride in self.steps())

    @property
    def is_broadcast(self) -> bool:
        """Whether a stride is 0."""
        return any(stride == 0 for _, stride in self.steps())

    @property
    def is_whole(self) -> bool:
        """Whether strides are whole numbers of elements."""
        return all(stride % (self.itemsize or 1) == 0 for _, stride in self.steps())

    def is_aligned(self, boundary: int | None = None) -> bool:
        """Whether the address, and without a boundary the strides as well, are multiples of it, or of the element's alignment."""
        natural = min((self.itemsize or 1) // (2 if self.element and self.element.kind == "c" else 1), 16)
        if self.element is None or self.element.kind not in ("b", "i", "u", "f", "c", "M", "m"):
            natural = 1
        if boundary is not None:
            return (self.address or 0) % boundary == 0
        if "is_aligned" in self.extra:
            return bool(self.extra["is_aligned"])
        return (self.address or 0) % max(natural, 1) == 0 and all(
            stride % max(natural, 1) == 0 for _, stride in self.steps()
        )


#: Protocols, in the order in which they are told of.
BUFFER = "PEP 3118"
VERSIONED = "DLPack"
LEGACY = "DLPack before 1.0"
EXCHANGE = "DLPack C exchange API"
COLUMN = "Arrow array"
DEVICE_COLUMN = "Arrow device array"
STREAM = "Arrow stream"
SCHEMA = "Arrow schema"
INTERFACE = "__array_interface__"
STRUCT = "__array_struct__"
CUDA = "__cuda_array_interface__"
METHOD = "__array__"

PROTOCOLS = (
    BUFFER, VERSIONED, LEGACY, EXCHANGE, COLUMN, DEVICE_COLUMN, STREAM, SCHEMA, INTERFACE, STRUCT, CUDA, METHOD,
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """An object as consumers see it: its offers by protocol, and what else of it they look at."""

    type_name: str
    offers: dict[str, Offer]
    #: Which of the classes that consumers treat apart it is: "numpy.ndarray", "bytes", "str", "memoryview", ..., or "".
    kind: str = ""
    #: Whether it has a length and items, so that consumers may copy it item by item.
    is_sequence: bool = False
    #: The class of the first of them; empty where there is none, None where it cannot be had.
    item: str | None = ""
    #: Whether `collections.abc.Sequence` knows its class.
    is_registered: bool = False
    #: The names of methods that some consumers look for.
    methods: frozenset[str] = frozenset()

    @property
    def address(self) -> int | None:
        """Where the elements are by the first protocol that says it."""
        return next((offer.address for offer in self.offers.values() if offer.address), None)

    def given(self, protocol: str) -> Offer | None:
        """The offer, unless it was refused or there is none."""
        offer = self.offers.get(protocol)
        return offer if offer is not None and offer.refusal is None else None

    def refusal(self, protocol: str) -> str:
        """Why there is nothing by a protocol."""
        offer = self.offers.get(protocol)
        return f"it offers no {protocol}" if offer is None or offer.refusal is None else offer.refusal

    def refusal_of_bytes(self, request: str) -> str | None:
        """Why there is no buffer of bytes alone ("simple": row-major; "any": in either order); None where there is one."""
        offer = self.offers.get(BUFFER)
        if offer is None:
            return f"it offers no {BUFFER}"
        answer = offer.extra[request]
        return None if isinstance(answer, int) else f"the producer: {answer}"
