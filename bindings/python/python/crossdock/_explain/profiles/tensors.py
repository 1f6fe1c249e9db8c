"""Libraries that take tensors by DLPack: what each of them makes of what a tensor may be."""

from dataclasses import dataclass, field

from ..offers import BUFFER, EXCHANGE, LEGACY, VERSIONED, Offer, Subject
from ..verdicts import Profile, Verdict, copies, in_place, misreads, refuses

INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})
WIDE = frozenset({"uint16", "uint32", "uint64"})
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
NUMBERS = INTEGERS | WIDE | FLOATS | COMPLEX | {"bool"}
CUDA = frozenset({2})
SMALL = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"})


@dataclass(frozen=True)
class Reader:
    """A consumer of tensors."""

    #: The protocols that it tries, one after the other.
    asks: tuple[str, ...] = (LEGACY,)
    #: The names of the elements that it has types for; None for all.
    elements: frozenset[str] | None = NUMBERS
    #: Those that it has none for, where it has for all others.
    unknown: frozenset[str] = frozenset()
    #: Elements that silently become others.
    narrowed: dict[str, str] = field(default_factory=dict)
    #: The kinds of devices whose memory it takes, in DLPack's numbers, beside the processor's; None for all.
    devices: frozenset[int] | None = frozenset()
    #: Whether a struct of the other kind than it asked for is taken.
    takes_either: bool = False
    #: Whether a version above 1 is noticed.
    looks_at_version: bool = True
    #: What becomes of layouts: "columns" (column-major), "permuted" (dense in another order of the axes),
    #: "gaps", "backwards", "broadcast".
    layouts: dict[str, Verdict] = field(default_factory=dict)
    #: The boundary at which the first element has to lie; else it copies.
    boundary: int | None = None
    #: What becomes of a byte offset, of several lanes, of read-only memory, of a tensor without a deleter.
    offset: Verdict | None = None
    lanes: Verdict | None = None
    readonly: Verdict | None = None
    no_deleter: Verdict | None = None
    #: What becomes of everything that it takes.
    always: Verdict | None = None

    def judge(self, subject: Subject) -> Verdict:
        """The verdict on an object."""
        refused = "it has no __dlpack__"
        for protocol in self.asks:
            offer = subject.offers.get(protocol)
            if offer is None:
                continue
            if offer.refusal is None:
                return self.read(offer, protocol)
            if not self.looks_at_version and (offer.extra.get("version") or (1,))[0] != 1:
                return misreads("the version is not looked at: a struct of another version is read as one of 1.x")
            refused = f"the producer refuses {protocol}"
            if protocol == EXCHANGE and not offer.refusal.startswith("BufferError"):
                break
        return refuses(refused)

    def read(self, offer: Offer, protocol: str) -> Verdict:
        """What becomes of one tensor, or of a buffer."""
        if protocol == LEGACY and offer.extra.get("version") is not None and not self.takes_either:
            return refuses("a versioned struct, which was not asked for")
        if protocol == BUFFER:
            return self.readonly if self.readonly and offer.readonly else read_buffer(offer)
        if offer.device[0] != 1:
            takes = self.devices is None or offer.device[0] in self.devices
            return in_place("on its device") if takes else refuses("the memory is on a device that it does not know")
        if offer.extra.get("lanes", 1) != 1:
            return self.lanes or refuses("several lanes")
        if offer.dtype in self.unknown or self.elements is not None and offer.dtype not in self.elements:
            return refuses(f"no type for elements of {offer.dtype}")
        if not offer.extra.get("deleter", True) and self.no_deleter:
            return self.no_deleter
        if offer.extra.get("byte_offset") and self.offset:
            return self.offset
        layout = self.layout(offer)
        if layout is not None:
            return layout
        if offer.dtype in self.narrowed:
            return misreads(f"{offer.dtype} becomes {self.narrowed[offer.dtype]} without a word")
        if self.boundary and not offer.is_aligned(self.boundary):
            return copies(f"the address is no multiple of {self.boundary}, which is said nowhere")
        if offer.readonly and self.readonly:
            return self.readonly
        if self.always:
            return self.always
        return in_place("read-only" if offer.readonly else "")

    def layout(self, offer: Offer) -> Verdict | None:
        """What becomes of the layout, where that is something else than usual."""
        is_so = {
            "backwards": offer.is_negative,
            "broadcast": offer.is_broadcast,
            "columns": offer.is_f and not offer.is_c,
            "permuted": offer.is_dense and not offer.is_c and not offer.is_f,
            "gaps": not offer.is_dense,
        }
        return next((verdict for name, verdict in self.layouts.items() if is_so[name]), None)


def read_buffer(offer: Offer) -> Verdict:
    """How nanobind reads a buffer where there is no tensor."""
    text = str(offer.extra["format"])
    letters = text.removeprefix("@").removeprefix("=").removeprefix("<").removeprefix("Z")
    if len(letters) != 1 or letters not in "?cbBhHiIlLqQnNefd":
        return refuses(f"no tensor of format '{text}'")
    if offer.strides is None and offer.ndim:
        return misreads("null strides of a buffer are followed: the process ends (SIGSEGV)")
    if offer.is_indirect:
        return refuses("suboffsets: pointers are not followed")
    if not offer.is_whole:
        return refuses(f"strides {offer.strides} are no whole numbers of elements")
    if offer.element is not None and offer.element.kind in ("V", "S"):
        return misreads("integers as wide as an item, whatever the format says")
    return in_place("by its buffer")


REFUSED = refuses("strides with gaps, or in another order")
ABORTS = "the process ends (SIGABRT)"

NANOBIND_READ = Reader(
    asks=(LEGACY, VERSIONED, BUFFER),
    elements=None,
    devices=None,
    takes_either=True,
    looks_at_version=False,
    lanes=in_place("as lanes"),
)
NANOBIND_WRITE = Reader(
    asks=(VERSIONED, LEGACY, BUFFER), elements=None, devices=None, takes_either=True, looks_at_version=False, lanes=in_place("as lanes"),
    readonly=refuses("the memory is read-only"),
)  # fmt: skip
TVM = Reader(
    asks=(EXCHANGE, LEGACY), elements=None, devices=None, unknown=COMPLEX, lanes=in_place("as lanes"),
    readonly=misreads("the flag is not looked at: it lends read-only memory on as writable"),
)  # fmt: skip
TORCH = Reader(
    asks=(VERSIONED, LEGACY),
    elements=NUMBERS | SMALL | {"bfloat16"},
    devices=CUDA,
    takes_either=True,
    layouts={"backwards": refuses("strides backwards (RuntimeError)")},
    readonly=misreads("the flag is not looked at: a tensor that writes read-only memory"),
)
OLD_TORCH = Reader(
    elements=INTEGERS | FLOATS | COMPLEX | {"bfloat16"},
    layouts={"backwards": misreads(f"strides backwards: {ABORTS}")},
    offset=misreads("the byte offset is not looked at: other elements"),
)
JAX = Reader(
    elements=NUMBERS | SMALL | {"bfloat16"},
    devices=CUDA,
    layouts={"backwards": REFUSED, "broadcast": REFUSED, "gaps": REFUSED},
    boundary=64,
    no_deleter=misreads(f"no deleter: {ABORTS}"),
)
TENSORFLOW = Reader(
    elements=NUMBERS | {"bfloat16"},
    layouts={"backwards": REFUSED, "broadcast": REFUSED, "gaps": REFUSED, "permuted": REFUSED, "columns": REFUSED},
    offset=refuses("a byte offset"),
    lanes=misreads("lanes are not looked at: other elements"),
)
MLX = Reader(
    elements=NUMBERS | {"bfloat16"},
    narrowed={"float64": "float32", "complex128": "complex64"},
    layouts={"backwards": refuses("strides backwards")},
    always=copies("MLX copies what others lend"),
)


def cupy(subject: Subject) -> Verdict:
    """`cupy.from_dlpack(x)`."""
    offer = subject.given(VERSIONED) or subject.given(LEGACY)
    if offer is None:
        return refuses(
            "it has no __dlpack__" if VERSIONED not in subject.offers else f"the producer refuses {VERSIONED}"
        )
    # By policy: `TypeError`, whatever the memory is.
    if offer.device[0] == 1:
        return refuses("memory of the processor")
    return in_place() if offer.device[0] in (2, 13) else refuses("the memory is on a device that it does not know")


PROFILES = [
    Profile("nanobind (nb::ro)", "nanobind", "3.1.0", NANOBIND_READ.judge),
    Profile("nanobind", "nanobind", "3.1.0", NANOBIND_WRITE.judge),
    Profile("tvm_ffi.from_dlpack", "apache-tvm-ffi", "0.1.15", TVM.judge),
    Profile("torch.from_dlpack", "torch", "2.15.0", TORCH.judge, is_verified=False),
    Profile("torch.from_dlpack (1.x)", "torch", "1.13.1", OLD_TORCH.judge, is_verified=False),
    Profile("jax.dlpack.from_dlpack", "jax", "0.10.2", JAX.judge, is_verified=False),
    Profile("tf.experimental.dlpack", "tensorflow", "2.21.0", TENSORFLOW.judge, is_verified=False),
    Profile("mlx.core.array", "mlx", "0.32.4", MLX.judge, is_verified=False),
    Profile("cupy.from_dlpack", "cupy", "14.2.0", cupy, is_verified=False),
]
