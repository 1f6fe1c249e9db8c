//! What `help()` says of the methods of `crossdock.Array`: the signature in the first line, as the
//! interpreter reads it, and a text in NumPy's style.

use std::ffi::CStr;

pub(crate) const TOLIST: &CStr = cr#"tolist($self, /)
--

The elements as Python's own values, in lists as deep as there are axes.

Records are tuples, dates and durations objects of ``datetime`` as far as those go, and what is no time is None.

Returns
-------
list
    Or one value, of an array without axes.

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

One element as a value of Python's own.

Parameters
----------
*index : int
    One for each axis. May be left out where the array has one element.

Examples
--------
>>> import crossdock
>>> crossdock.array([[1, 2], [3, 4]]).item(1, 0)
3
"#;

pub(crate) const COPY: &CStr = cr#"copy($self, /, order='C')
--

A copy without gaps.

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

pub(crate) const ASTYPE: &CStr = cr#"astype($self, /, dtype)
--

A copy with the elements converted.

Parameters
----------
dtype : str or dtype
    What the elements shall be.

Returns
-------
Array

Raises
------
ValueError
    Where an element does not fit; it says which.

Examples
--------
>>> import crossdock
>>> crossdock.array([1.0, 2.0]).astype('int8').dtype
dtype('int8')
"#;

pub(crate) const FILL: &CStr = cr#"fill($self, value, /)
--

Writes one value to every element.

Parameters
----------
value : object
    What fits an element.

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
    Which axis stands where; in reverse, where none are named.

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

The same elements under another shape.

Parameters
----------
*shape : int
    The lengths of the axes, of which one may be -1: what is left.
order : {'C'}
    The order in which elements are counted: row-major.
copy : bool or None, default False
    False for a view or a ValueError, None for a copy where no view is possible, True for a copy.

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
    As it stands in the dtype.

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

The array for notebooks: what it is, and a drawing of its axes and strides.

Returns
-------
str
    HTML, without scripts and without anything from elsewhere.

Examples
--------
>>> import crossdock
>>> crossdock.zeros(3)._repr_html_().startswith('<div')
True
"#;

pub(crate) const COMPLEX: &CStr = cr#"__complex__($self, /)
--

The one element of an array, as a complex number.

Examples
--------
>>> import crossdock
>>> complex(crossdock.array([2]))
(2+0j)
"#;

pub(crate) const DLPACK: &CStr = cr#"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
--

A capsule with the array, for ``from_dlpack`` of another library, which calls this.

Parameters
----------
stream : int, optional
    The stream in which the consumer goes on, which comes after the work that is under way on the elements; -1 waits for nothing. On CUDA 1
    is the legacy default stream, which None stands for, 2 that of the thread, and more the driver's handle; on other devices it is the
    handle, and None waits on the processor. Memory of the processor has no streams. A handle of CUDA's is of a stream in the device's primary
    context, which PyTorch, CuPy, JAX and CUDA's runtime use; one of another context is refused.
max_version : tuple of int, optional
    The newest version that the consumer knows. Without it, the capsule is the one from before there were versions.
dl_device : tuple of int, optional
    Where the consumer wants the elements: ``(1, 0)`` is the processor. What is elsewhere is mapped there where that can be, and copied
    otherwise.
copy : bool, optional
    True for a copy. False forbids one, and so does None, unless another device is wanted.

Raises
------
BufferError
    What DLPack cannot say, or not of this array.

Examples
--------
>>> import crossdock
>>> type(crossdock.zeros(3).__dlpack__(max_version=(1, 0))).__name__
'PyCapsule'
"#;

pub(crate) const DLPACK_DEVICE: &CStr = cr#"__dlpack_device__($self, /)
--

The device, as DLPack numbers them.

Returns
-------
tuple of int
    Its kind, and its number.

Examples
--------
>>> import crossdock
>>> crossdock.zeros(3).__dlpack_device__()
(1, 0)
"#;

pub(crate) const REDUCE_EX: &CStr = cr#"__reduce_ex__($self, protocol, /)
--

What ``pickle`` writes: the bytes that the array covers, and a line of text that says where in them the elements lie.

From protocol 5 on the bytes are lent in place, and go beside the pickle where there is a ``buffer_callback``. A view whose gaps are
larger than its elements goes as a copy of the elements, as everything does by older protocols.
"#;

pub(crate) const SHALLOW_COPY: &CStr = cr#"__copy__($self, /)
--

A copy without gaps, for ``copy.copy``.
"#;

pub(crate) const DEEP_COPY: &CStr = cr#"__deepcopy__($self, memo=None, /)
--

A copy without gaps, for ``copy.deepcopy``.
"#;

pub(crate) const ARROW_SCHEMA: &CStr = cr#"__arrow_c_schema__($self, /)
--

A capsule with the type of the column that ``__arrow_c_array__`` gives.
"#;

pub(crate) const ARROW_ARRAY: &CStr = cr#"__arrow_c_array__($self, /, requested_schema=None)
--

Two capsules with the array as a column of Arrow's, whose rows are axis 0.

The memory is lent to be read: until the column is released, nobody writes it. Memory that others may write is refused unless :meth:`frozen`
gives your word that they do not. :func:`to_arrow` has the options.

Where ``requested_schema`` asks for numbers of another type, they are converted, by a copy, if all of them fit, and otherwise handed over as
they are. A request of other data (another number of columns, text for numbers) is a BufferError.
"#;

pub(crate) const ARROW_DEVICE_ARRAY: &CStr =
    c"__arrow_c_device_array__($self, /, requested_schema=None, **kwargs)
--

Two capsules with the array as a column of Arrow's, on its device. ``requested_schema`` as in ``__arrow_c_array__``.
";

pub(crate) const NUMPY_ARRAY: &CStr = cr#"__array__($self, /, dtype=None, *, copy=None)
--

The array as one of NumPy's, in place unless another dtype or a copy is asked for. ``numpy.asarray(x)`` calls it where it has to.
"#;

pub(crate) const FROZEN: &CStr = cr#"frozen($self, /)
--

The same memory, read-only, with your word that nobody writes it from now on.

Whoever relies on constancy, as Arrow's libraries do, can have it then, though another library owns the memory and could write it. If
somebody does write, they see it change, or worse.

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

The elements on another device: a copy, without gaps. Where they are on that device already, the same memory.

Parameters
----------
device : str
    Where to: a name from :func:`devices`, such as ``'cpu'``, ``'cuda:0'`` or ``'opencl:0'``.
stream : int, optional
    The stream of the device's driver in which the elements are copied, as ``__dlpack__`` numbers streams (of CUDA's, in the device's primary
    context). The call returns before that
    is done, and whoever touches either array waits for it. Without a stream it is done when the call returns.

Returns
-------
Array

Raises
------
BufferError
    Where there is no such device: with what is missing.

Examples
--------
>>> import crossdock
>>> x = crossdock.array([1, 2, 3])
>>> x.device
'cpu'
>>> x.to_device('cpu').tolist()
[1, 2, 3]
"#;
