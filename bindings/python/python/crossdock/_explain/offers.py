"""An object's description of its memory by one protocol, and derived properties."""

from dataclasses import dataclass, field
from math import prod

from .._crossdock import _protocols
from .elements import Element


@dataclass
class Offer:
    """One protocol's answer. If it is a refusal, only `refusal` is set."""

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
    #: The owner of the memory, as the protocol reports it.
    owner: str = ""
    #: Further properties, in words, and oddities.
    notes: list[str] = field(default_factory=list)
    #: What the protocol does not say about the elements, so that consumers read wrong ones.
    lost: str | None = None
    #: Properties that only some protocols have: `version`, `byte_offset`, `lanes`, `deleter`,
    #: `nulls`, `offset`, ...
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def is_addressed(self) -> bool:
        """Whether the memory has an address, rather than the handle of a buffer object (OpenCL, Vulkan, Metal,
        WebGPU)."""
        return self.device[0] not in (4, 7, 8, 15)

    @property
    def dtype(self) -> str | None:
        """The name of the dtype."""
        return None if self.element is None else self.element.name

    @property
    def itemsize(self) -> int | None:
        """The size of one element in bytes."""
        return None if self.element is None else self.element.itemsize

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape or ())

    @property
    def alignment(self) -> int | None:
        """The largest power of two up to 4096 that the address is a multiple of."""
        return None if self.address is None else min(self.address & -self.address or 4096, 4096)

    def steps(self) -> list[tuple[int, int]]:
        """Length and stride of the axes with more than one element; none if the array is empty."""
        if self.size == 0 or self.shape is None or self.strides is None:
            return []
        return [(length, stride) for length, stride in zip(self.shape, self.strides) if length > 1]

    @property
    def is_indirect(self) -> bool:
        """Whether elements are behind pointers."""
        return any(suboffset >= 0 for suboffset in self.suboffsets or ())


#: Protocols by the library's names, in display order.
PROTOCOLS = tuple(_protocols())
(
    BUFFER, VERSIONED, LEGACY, EXCHANGE, COLUMN, DEVICE_COLUMN, STREAM, SCHEMA, INTERFACE, STRUCT, CUDA, METHOD,
) = PROTOCOLS  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """An object as consumers see it: its offers by protocol, and other properties that they check."""

    type_name: str
    offers: dict[str, Offer]
    #: The class, if consumers treat it specially: "numpy.ndarray", "bytes", "str", "memoryview",
    #: ..., or "".
    kind: str = ""
    #: Whether it has a length and items, so that consumers may copy it item by item.
    is_sequence: bool = False
    #: The memory of a column of pandas; empty for other objects.
    storage: str = ""
    #: The class of the items, or of the first one of a typed array; empty if there is none, None if it cannot be read.
    item: str | None = ""
    #: Whether `collections.abc.Sequence` knows its class.
    is_registered: bool = False
    #: The names of methods that some consumers look for.
    methods: frozenset[str] = frozenset()
