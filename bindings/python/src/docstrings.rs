//! The docstrings of the methods of `crossdock.Array`: the signature in the first line, which the
//! interpreter parses, and a text in NumPy's style.

use std::ffi::CStr;

pub(crate) const TOLIST: &CStr = cr#"tolist($self, /)
--

The elements as Python values, in nested lists with one level for each axis.

Records become tuples. Dates and durations become ``datetime`` objects if those can represent them, and NaT becomes None.

Returns
-------
list
    One value instead, for an array without axes.

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]]).T.tolist()
[[1, 3], [2, 4]]
"#;

pub(crate) const TOBYTES: &CStr = cr#"tobytes($self, /)
--

A copy of the elements' bytes, in row-major order.

Returns
-------
bytes

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]], 'int8').T.tobytes()
b'\x01\x03\x02\x04'
"#;

pub(crate) const BYTES: &CStr = cr#"__bytes__($self, /)
--

A copy of the elements' bytes, in row-major order: :meth:`tobytes`, for ``bytes(x)``.

Returns
-------
bytes
"#;

pub(crate) const ITEM: &CStr = cr#"item($self, /, *index)
--

One element as a Python value.

Parameters
----------
*index : int
    One for each axis. Optional if the array has one element.

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]]).item(1, 0)
3
"#;

pub(crate) const COPY: &CStr = cr#"copy($self, /, order='C')
--

A contiguous copy.

Parameters
----------
order : {'C', 'F'}
    Row-major or column-major.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]]).copy('F').strides
(8, 16)
"#;

pub(crate) const ASTYPE: &CStr =
    cr#"astype($self, /, dtype, order='C', *, copy=True, casting='unsafe', subok=True)
--

A copy with converted elements.

Parameters
----------
dtype : str or dtype
    The dtype of the copy.
order : {'C', 'F', 'K', 'A'}
    Row-major, column-major, or as the array is.
copy : bool, default True
    False returns the array itself if it has the dtype already.
casting : str
    ``'saturating'`` truncates fractions and gives the nearest number in range; to bool it gives whether a number is not 0, and
    from complex to real it drops the imaginary part. NumPy's values are accepted; with them, as by default, an element that does
    not fit is an error. Rounding to the nearest float always fits.
subok : bool
    Accepted for NumPy's callers.

Returns
-------
Array

Raises
------
ValueError
    If an element does not fit. The message has its index.

Examples
--------
>>> import crossdock
>>> crossdock.array([1.0, 2.0]).astype('int8').dtype
dtype('int8')
>>> crossdock.array([1.7, -300.0]).astype('int8', casting='saturating').tolist()
[1, -128]
"#;

pub(crate) const FILL: &CStr = cr#"fill($self, value, /)
--

Write one value to every element.

Parameters
----------
value : object
    A value that fits the dtype.

Examples
--------
>>> import crossdock
>>> x = crossdock.zeros(3)
>>> x[1:].fill(2)
>>> x.tolist()
[0.0, 2.0, 2.0]
"#;

pub(crate) const TRANSPOSE: &CStr = cr#"transpose($self, /, *axes)
--

The axes in another order, as a view.

Parameters
----------
*axes : int
    The axes of the view, in order. By default the order is reversed.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.zeros((2, 3, 4)).transpose(1, 0, 2).shape
(3, 2, 4)
"#;

pub(crate) const RESHAPE: &CStr = cr#"reshape($self, /, *shape, order='C', copy=False)
--

The same elements with another shape.

Parameters
----------
*shape : int
    The lengths of the axes. One may be -1, and is then computed.
order : {'C'}
    The order in which elements are counted: row-major.
copy : bool or None, default False
    False returns a view or raises ValueError, None copies if no view is possible, True always copies.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.zeros((2, 6)).reshape(3, -1).shape
(3, 4)
"#;

pub(crate) const RAVEL: &CStr = cr#"ravel($self, /, *, copy=False)
--

The elements along one axis, in row-major order.

Parameters
----------
copy : bool or None, default False
    False for a view or a ValueError, None for a copy where no view is possible, True for a copy.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]]).ravel().tolist()
[1, 2, 3, 4]
"#;

pub(crate) const SQUEEZE: &CStr = cr#"squeeze($self, /, axis=None)
--

A view without the axes of length 1.

Parameters
----------
axis : int or tuple of int, optional
    The axes to drop, each of length 1. By default all such axes.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.zeros((1, 3, 1)).squeeze(0).shape
(3, 1)
"#;

pub(crate) const EXPAND_DIMS: &CStr = cr#"expand_dims($self, /, axis)
--

A view with new axes of length 1.

Parameters
----------
axis : int or tuple of int
    The positions of the new axes in the result.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.zeros((2, 3)).expand_dims(-1).shape
(2, 3, 1)
"#;

pub(crate) const SWAPAXES: &CStr = cr#"swapaxes($self, /, axis1, axis2)
--

A view with two axes exchanged.

Parameters
----------
axis1 : int
    One axis.
axis2 : int
    The other axis.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.zeros((2, 3, 4)).swapaxes(0, -1).shape
(4, 3, 2)
"#;

pub(crate) const MOVEAXIS: &CStr = cr#"moveaxis($self, /, source, destination)
--

A view with axes at other positions; the other axes keep their order.

Parameters
----------
source : int or tuple of int
    The axes to move.
destination : int or tuple of int
    Their positions in the result.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.zeros((2, 3, 4)).moveaxis(0, -1).shape
(3, 4, 2)
"#;

pub(crate) const FLIP: &CStr = cr#"flip($self, /, axis=None)
--

A view with the elements along axes in reverse order.

Parameters
----------
axis : int or tuple of int, optional
    The axes. By default all of them.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]]).flip(1).tolist()
[[2, 1], [4, 3]]
"#;

pub(crate) const BROADCAST_TO: &CStr = cr#"broadcast_to($self, /, shape)
--

A read-only view of a larger shape: axes of length 1, and new ones in front, repeat their elements.

Parameters
----------
shape : int or tuple of int
    The lengths of the axes.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.array([1, 2]).broadcast_to((3, 2)).strides
(0, 8)
"#;

pub(crate) const VIEW: &CStr = cr#"view($self, /, dtype=None)
--

The same bytes as elements of another dtype.

Parameters
----------
dtype : str or dtype, optional
    The dtype, whose size divides the bytes of the last axis. By default the array's own.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.array([1.0, -2.0], 'float32').view('uint32').tolist()
[1065353216, 3221225472]
"#;

pub(crate) const FORMAT: &CStr = cr#"__format__($self, format_spec, /)
--

The text of the array; with a specification, that of its one element.

Parameters
----------
format_spec : str
    As for the element's Python value.

Returns
-------
str
"#;

pub(crate) const FIELD: &CStr = cr#"field($self, name, /)
--

A field of every record, as a view: ``x[name]``.

Parameters
----------
name : str
    The name of the field in the dtype.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> x = crossdock.zeros(2, "[('a', '<i4'), ('b', '<f8')]")
>>> x.field('b').strides
(12,)
"#;

pub(crate) const REPR_HTML: &CStr = cr#"_repr_html_($self, /)
--

The array for notebooks: its text, a small picture of images and matrices, and its memory.

Images are arrays of ``uint8`` with two axes, or with a third one of 1, 3 or 4 channels. Other
matrices of numbers are drawn from black to white. A picture has at most 256 pixels a side: of
longer axes, every n-th element is read. Elements on a device are not read.

Returns
-------
str
    HTML without scripts or external resources.

Examples
--------
>>> import crossdock
>>> crossdock.zeros(3)._repr_html_().startswith('<div')
True
"#;

pub(crate) const COMPLEX: &CStr = cr#"__complex__($self, /)
--

The only element of an array, as a complex number.

Examples
--------
>>> import crossdock
>>> complex(crossdock.array([2]))
(2+0j)
"#;

pub(crate) const DLPACK: &CStr = cr#"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
--

A capsule with the array. ``from_dlpack`` of another library calls this method.

Parameters
----------
stream : int, optional
    The consumer's stream, which then waits for in-flight work on the elements; -1 skips the wait. On CUDA, 1 and None are the legacy
    default stream, 2 is the stream of the thread, and other values are handles of the driver. The stream of a handle must be in the
    device's primary context, which PyTorch, CuPy, JAX and the CUDA runtime use. On other devices the value is a handle, and None waits on
    the CPU. CPU memory has no streams.
max_version : tuple of int, optional
    The latest version that the consumer supports. By default the capsule has the unversioned struct.
dl_device : tuple of int, optional
    The requested device; ``(1, 0)`` is the CPU. Memory on another device is mapped if possible, and otherwise copied.
copy : bool, optional
    True makes a copy and False forbids it. None allows a copy to another device, and of an array that DLPack cannot describe in
    place: rows behind pointers, and strides that are no whole number of elements. ``copied_bytes`` counts it.

Raises
------
BufferError
    If DLPack cannot describe the array or fulfil the request.

Examples
--------
>>> import crossdock
>>> type(crossdock.zeros(3).__dlpack__(max_version=(1, 0))).__name__
'PyCapsule'
"#;

pub(crate) const DLPACK_DEVICE: &CStr = cr#"__dlpack_device__($self, /)
--

The device, as DLPack's pair of numbers.

Returns
-------
tuple of int
    The kind and the ordinal.

Examples
--------
>>> import crossdock
>>> crossdock.zeros(3).__dlpack_device__()
(1, 0)
"#;

pub(crate) const REDUCE_EX: &CStr = cr#"__reduce_ex__($self, protocol, /)
--

The state for ``pickle``: the bytes that the array covers, and a line of text that locates the elements in them.

Protocol 5 exports the bytes in place, and out of band if there is a ``buffer_callback``. Older protocols copy the elements; so does
protocol 5 for a view whose gaps are larger than its elements.
"#;

pub(crate) const SHALLOW_COPY: &CStr = cr#"__copy__($self, /)
--

A contiguous copy, for ``copy.copy``.
"#;

pub(crate) const DEEP_COPY: &CStr = cr#"__deepcopy__($self, memo=None, /)
--

A contiguous copy, for ``copy.deepcopy``.
"#;

pub(crate) const ARROW_SCHEMA: &CStr = cr#"__arrow_c_schema__($self, /)
--

A capsule with the type of the column that ``__arrow_c_array__`` exports.
"#;

pub(crate) const ARROW_ARRAY: &CStr = cr#"__arrow_c_array__($self, /, requested_schema=None)
--

Two capsules with the array as an Arrow column, whose rows are axis 0.

Until the column is released, the array cannot be written. Memory that another library may write is refused, unless you promise by
:meth:`frozen` that it stays constant. :func:`to_arrow` has options.

If ``requested_schema`` has another numeric type, a copy converts the numbers if all of them fit, and otherwise they are exported
unconverted. A request for other data (another number of columns, text for numbers) raises BufferError.
"#;

pub(crate) const ARROW_DEVICE_ARRAY: &CStr =
    c"__arrow_c_device_array__($self, /, requested_schema=None, **kwargs)
--

Two capsules with the array as an Arrow column on its device. ``requested_schema`` works as in ``__arrow_c_array__``.
";

pub(crate) const NUMPY_ARRAY: &CStr = cr#"__array__($self, /, dtype=None, *, copy=None)
--

A NumPy array on the same memory, unless another dtype or a copy is requested. ``numpy.asarray(x)`` calls it if necessary.
"#;

pub(crate) const FROZEN: &CStr = cr#"frozen($self, /)
--

The same memory, read-only, with your promise that no code writes it from now on.

Consumers that need constant memory, such as Arrow libraries, can then borrow it, although another library owns the memory and could
write it. If code does write it, those consumers read changed values and may crash.

Returns
-------
Array

Examples
--------
>>> import crossdock
>>> crossdock.asarray(bytearray(3)).frozen().readonly
True
"#;

pub(crate) const TO_DEVICE: &CStr = cr#"to_device($self, device, /, *, stream=None)
--

A contiguous copy on another device. An array that is on that device already is returned on the same memory.

Parameters
----------
device : str
    The target: a name from :func:`devices`, such as ``'cpu'``, ``'cuda:0'`` or ``'opencl:0'``.
stream : int, optional
    The stream for the copy, numbered as for ``__dlpack__``. The call then returns before the copy is done, and the next access to either
    array waits for it. By default the copy is done when the call returns.

Returns
-------
Array

Raises
------
BufferError
    If there is no such device. The message says what is missing.

Examples
--------
>>> import crossdock
>>> x = crossdock.array([1, 2, 3])
>>> x.device
'cpu'
>>> x.to_device('cpu').tolist()
[1, 2, 3]
"#;
