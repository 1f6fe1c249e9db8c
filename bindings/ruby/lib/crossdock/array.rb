# frozen_string_literal: true

module Crossdock
  # An n-dimensional array: memory, a dtype, a shape and strides.
  #
  # Indexing, {#transpose}, {#reshape} and {#field} return views: other arrays on the same memory.
  # Methods that copy have `copy` or `to_` in their names, and `dup` and `clone` copy as everywhere
  # in Ruby: both are new memory with the same elements, order, class and instance variables; `clone`
  # also keeps singleton methods and whether the array is frozen.
  #
  # `each`, `map`, `each_with_index`, `first`, `select` and the other methods of Enumerable visit
  # all elements in row-major order, and return Ruby's Arrays.
  #
  # A frozen array does not permit writes, and can be shared among Ractors. Other arrays on the same
  # memory that are not frozen can still be written.
  #
  # @example
  #   array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])
  #   array[1, -1]        #=> 6
  #   array[true, 0].to_a #=> [1, 4]
  #   array[0] = 0
  class Array
    include Enumerable

    class << self
      # An array with the elements of nested Arrays, or a copy of an array or of any object that
      # {Crossdock.view} accepts. A Range, a Set, an Enumerator or another Enumerable is a list like
      # an Array. A list of arrays, or of objects that {Crossdock.view} accepts, becomes an array with
      # one more axis.
      #
      # @param nested [::Array, Enumerable, Numeric, String, Object] nested to the depth of the axes
      # @param dtype [Symbol, String, Hash, ::Array, Class, nil] the dtype of the elements: a name
      #   (`:float32`, `:">int16"`), NumPy's spelling, a template of `Array#pack` (`"iqc"`), a Hash of
      #   the fields of a record, `[dtype, lengths]` for a sub-array, or a class
      #   ({Crossdock.record}). By default Integers become `:int64`, Floats (also with Integers),
      #   Rationals and BigDecimals `:float64`, booleans `:bool`, Complex numbers `:complex128`,
      #   Times `datetime64[ns]`, Dates `datetime64[D]`, Hashes, Structs and Data records, and
      #   Strings text of the greatest length, of which NUL characters at the end are padding, and lost. Rationals and BigDecimals are rounded once to the
      #   dtype. Strings of any encoding become their characters in text, and their bytes in byte
      #   types (`:S4`, `:V4`)
      # @param order [Symbol] `:row_major` or `:column_major`
      # @return [Array]
      # @raise [RangeError] if a number does not fit the type
      # @raise [EncodingError] if a String is invalid in its encoding, or has characters that
      #   Unicode lacks
      def new(nested, dtype: nil, order: nil)
        from_nested(nested, dtype, order)
      end

      # Like {new}, with the rows as arguments: `Crossdock::Array[[1, 2], [3, 4]]`.
      # @return [Array]
      def [](*rows, dtype: nil)
        from_nested(rows, dtype, nil)
      end

      # An array of zeros.
      # @param shape [::Array<Integer>] the lengths of the axes, in a list or one by one
      # @param shareable [Boolean] whether other processes can map the memory later, so that
      #   {#share_memory} copies nothing; such an array takes a descriptor
      # @return [Array]
      def zeros(*shape, dtype: :float64, order: nil, shareable: false)
        make_full(shape.flatten, nil, dtype, order, shareable)
      end

      # An array filled with one value.
      # @param shareable [Boolean] as for {zeros}
      # @return [Array]
      def full(shape, value, dtype: :float64, order: nil, shareable: false)
        make_full(Kernel.Array(shape), value, dtype, order, shareable)
      end

      # An array of ones: see {zeros}.
      # @return [Array]
      def ones(*shape, dtype: :float64, order: nil, shareable: false)
        make_full(shape.flatten, 1, dtype, order, shareable)
      end

      # The numbers from `start` in steps of `step` up to, but without, `stop`.
      # @overload arange(stop)
      # @overload arange(start, stop, step = 1)
      # @param dtype [Symbol, String, nil] by default `:int64` for Integers, otherwise `:float64`
      # @return [Array]
      # @example
      #   Crossdock::Array.arange(2, 8, 2).to_a #=> [2, 4, 6]
      def arange(start, stop = nil, step = 1, dtype: nil)
        start, stop = 0, start if stop.nil?
        make_arange(start, stop, step, dtype)
      end

      # Numbers with equal distances, from `start` to `stop`.
      # @param count [Integer]
      # @param endpoint [Boolean] whether `stop` is the last number
      # @return [Array]
      # @example
      #   Crossdock::Array.linspace(0, 1, 5).to_a #=> [0.0, 0.25, 0.5, 0.75, 1.0]
      def linspace(start, stop, count = 50, endpoint: true, dtype: nil)
        raise ArgumentError, "count: #{count} is negative" if count.negative?

        make_linspace(start, stop, count, endpoint, dtype)
      end

      # The bytes of a String as an array.
      #
      # The bytes of a frozen String are used in place. Any other String is locked while the array
      # or a view of it exists: a write raises a RuntimeError. In both cases the array is read-only.
      # With `copy: true`, the array has a copy of the bytes.
      #
      # @param string [String]
      # @param dtype [Symbol, String, Hash] the dtype of the elements
      # @param shape [::Array<Integer>, nil] by default one axis
      # @param order [Symbol] `:row_major` or `:column_major`
      # @yield [Array] the array, whose memory is released after the block, unless another object
      #   uses it: a String is then unlocked
      # @return [Array] without a block
      def from_string(string, dtype: :uint8, shape: nil, order: nil, copy: false)
        array = make_from_string(string, dtype, shape && Kernel.Array(shape), order, copy)
        return array unless block_given?

        begin
          yield array
        ensure
          array.release unless array.frozen?
        end
      end

      private :from_nested, :make_arange, :make_full, :make_from_string, :make_linspace, :own_string
    end

    # @!method shape
    #   @return [::Array<Integer>] the lengths of the axes
    # @!method strides
    #   @return [::Array<Integer>] the distance between neighbours along each axis, in bytes
    # @!method dtype
    #   @return [Symbol, String, Hash] the dtype of the elements: a Symbol for a scalar, otherwise
    #     NumPy's text, or a Hash of the fields if NumPy has no text; `dtype:` accepts each of them
    # @!method fields
    #   @return [::Array<Symbol>, nil] the names of the fields, if the elements are records
    # @!method ndim
    #   @return [Integer] the number of axes
    # @!method size
    #   @return [Integer] the number of elements
    # @!method nbytes
    #   @return [Integer] the bytes of all elements
    # @!method itemsize
    #   @return [Integer] the bytes of one element
    # @!method address
    #   @return [Integer] the address of the first element
    # @!method readonly?
    #   @return [Boolean] whether elements cannot be written through this object
    # @!method [](*indices)
    #   An element if every axis has an index, otherwise a view.
    #   @param indices [::Array<Integer, Range, Enumerator::ArithmeticSequence, true, false, :new>]
    #     Integers, which count from the end if negative; Ranges, with a step by `%`; `true` for a
    #     whole axis, `false` for all remaining axes, `:new` for a new axis. Axes without an index
    #     are whole
    #   @return [Object, Array]
    #   @raise [IndexError] if an index is out of bounds
    # @!method []=(*indices, value)
    #   Writes an element, or all elements of a part: from a value, or from an array, nested Arrays
    #   or any object that {Crossdock.view} accepts, broadcast to it.
    #   @raise [RangeError] if a value does not fit the dtype
    #   @raise [FrozenError] if the array is read-only
    # @!method fill(value)
    #   Writes all elements: see {#[]=}.
    #   @return [self]
    # @!method to_binary
    #   @return [String] the bytes of all elements, row-major; {Array.from_string} is the inverse
    # @!method field(name)
    #   One field of an array of records, as a view.
    #   @return [Array]
    #   @raise [IndexError] if there is no field of this name
    # @!method view_as(dtype)
    #   The same bytes as elements of another dtype of the same size.
    #   @return [Array]
    # @!method to_readonly
    #   The same memory; the result is read-only.
    #   @return [Array]
    # @!method released?
    #   @return [Boolean] whether the memory was released, so that no element can be read
    # @!method release
    #   Releases the memory, unless another array or a view uses it. No element can be read from
    #   this object afterwards.
    # @!method ==(other)
    #   @param other [Object] an array, or an object that {Crossdock.view} accepts
    #   @return [Boolean] whether the other object is an array of the same shape with equal
    #     elements; elements of different dtypes are equal if they are the same number

    # The axes in reverse, or in this order: a view.
    # @param axes [::Array<Integer>]
    # @return [Array]
    def transpose(*axes)
      transpose_to(axes.flatten)
    end

    # The same elements with another shape: a view if strides can express it, otherwise an error, or
    # with `copy: true` a copy.
    # @param shape [::Array<Integer>] one length may be -1 and follows from the others
    # @param copy [Boolean, Symbol] `true` permits a copy if necessary; `:always` always copies
    # @return [Array]
    def reshape(*shape, copy: false)
      return self.copy.reshape(*shape) if copy == :always

      reshape_to(shape.flatten, copy)
    end

    # All elements along one axis, in row-major order: see {#reshape}.
    # @return [Array]
    def flatten(copy: false)
      reshape(size, copy: copy)
    end

    # The array repeated along new axes and axes of length 1, as a read-only view.
    # @return [Array]
    def broadcast_to(*shape)
      broadcast(shape.flatten)
    end

    # The same elements in new memory.
    # @param order [Symbol] `:row_major` or `:column_major`
    # @return [Array]
    def copy(order: nil)
      copy_to(order)
    end

    # The elements converted to another dtype, in new memory.
    # @param saturating [Boolean] whether values that do not fit are converted anyway: fractions are
    #   truncated towards zero, dates are rounded down, values out of range become the nearer end of
    #   it; otherwise they raise a RangeError
    # @param round [Symbol, nil] how floats become Integers: `:even` (to the nearest, halves to the
    #   even one), `:floor`, `:ceil` or `:truncate`; otherwise fractions raise a RangeError
    # @return [Array]
    # @example
    #   Crossdock::Array[0.5, 1.5, 2.4].cast(:int32, round: :even).to_a #=> [0, 2, 2]
    def cast(dtype, saturating: false, round: nil)
      cast_to(dtype, saturating, round)
    end

    # A copy in memory that can be shared with other processes, also of an array in such memory.
    # @return [Array]
    def to_shared_memory(order: nil)
      copy_to_shared(order)
    end

    # The array for another process. It must be in shared memory ({#to_shared_memory}) or in a
    # mapped file, unless a copy is permitted.
    # @return [SharedMemory]
    def share_memory(writable: false, copy: false)
      lend_shared(writable, copy)
    end

    # Writes a file that {Crossdock.open} reads again: `.npy`, `.npz`, `.safetensors`, PNG or JPEG
    # (which is lossy), by the extension of its name. If the format names its arrays, this one gets
    # the name of the file. A pipe or a device is written through; while it keeps the writer waiting
    # (a named pipe for its first reader, too), other threads run, and a signal, `Thread#kill` or
    # `Timeout` ends it.
    # @param path [String, Pathname]
    # @param format [Symbol, nil] `:npy`, `:npz`, `:safetensors`, `:png` or `:jpg`, whatever the
    #   name
    # @return [self]
    # @raise [ArgumentError] if neither names a format
    # @raise [Error] if the format cannot store the array
    def save(path, format: nil)
      save_as(File.path(path), format)
    end

    # The elements in nested lists, like {#to_a}. JSON itself refuses values that it cannot
    # represent (NaN). The dtype is left out.
    # @return [String]
    def to_json(*state)
      require "json" unless [].respond_to?(:to_json)
      to_a.to_json(*state)
    end

    # For YAML: the bytes of an `.npy` file, which keep dtype, shape and order; for a dtype that
    # NumPy lacks, such as bfloat16, these three separately.
    # @param coder [Psych::Coder]
    def encode_with(coder)
      content.each { |name, value| coder[name] = value }
    end

    # For YAML, which loads objects of this class if it is permitted.
    # @param coder [Psych::Coder]
    def init_with(coder)
      fill_in(self.class.__send__(:from_content, coder.map))
    end

    # For Marshal, in the same form as for YAML.
    # @return [String]
    def _dump(_depth)
      to_npy || Marshal.dump(content)
    end

    # The serialised form of the array.
    def content
      npy = to_npy
      return { "npy" => npy } if npy

      dtype, order = portable
      { "dtype" => dtype, "shape" => shape, "order" => order, "bytes" => (order == "row_major" ? self : transpose).to_binary }
    end
    private :content

    class << self
      # For Marshal.
      # @return [Array]
      def _load(bytes)
        # Marshal's output begins with the version of its format.
        bytes.start_with?("\x04\x08".b) ? from_content(Marshal.load(bytes)) : from_npy(bytes)
      end

      private

      def from_content(content)
        npy, dtype, shape, order, bytes = content.values_at("npy", "dtype", "shape", "order", "bytes") if content.is_a?(Hash)
        return from_npy(npy) if npy.is_a?(String)
        return make_from_string(bytes, dtype, shape, order, true) if bytes.is_a?(String) && shape.is_a?(::Array)

        raise TypeError, "a written #{self} has the bytes of an .npy file under the key npy, or the keys dtype, shape, order and bytes"
      end
    end
    private_class_method :from_npy

    # The elements in nested Arrays; for an array without axes, the element.
    # @param as [Class, nil] a Struct or Data class for the records, which are Hashes otherwise
    # @return [::Array, Object]
    # @example
    #   Point = Struct.new(:x, :y)
    #   Crossdock::Array.new([Point.new(1, 2)]).to_a(as: Point) #=> [#<struct Point x=1, y=2>]
    def to_a(as: nil)
      return elements unless as

      Records.check(as)
      Records.nested(elements, ndim, as)
    end

    # Calls the block with every element, in row-major order.
    # @param as [Class, nil] as for {#to_a}
    # @yield [Object]
    # @return [self, Enumerator] an Enumerator without a block
    def each(as: nil, &block)
      Records.check(as) if as
      return to_enum(:each, as: as) { size } unless block
      return each_element(&block) unless as

      each_element { |record| yield Records.build(record, as) }
    end

    # For `dup`, `clone`, and arrays sent to a Ractor: new memory with the same elements.
    # @api private
    def initialize_copy(original)
      fill_in(original.copy)
    end
    private :initialize_copy

    # Whether another array has the same dtype, shape and bytes: both are then the same key of a
    # Hash.
    # @return [Boolean]
    def eql?(other)
      other.is_a?(Array) && dtype == other.dtype && shape == other.shape && to_binary == other.to_binary
    end

    # @return [Integer] equal for arrays that are {#eql?}
    def hash
      [Array, dtype, shape, to_binary].hash
    end

    # The elements as Ruby's literals, in the columns and lines of NumPy's print format. {#to_binary}
    # returns the bytes.
    # @return [String]
    def to_s
      released? ? "released" : text
    end

    # The class, the dtype and the shape, followed by the elements.
    # @return [String]
    def inspect
      released? ? "#<#{self.class} released>" : "#{self.class} #{dtype} #{shape}\n#{text}"
    end

    # @param printer [PP]
    def pretty_print(printer)
      inspect.each_line(chomp: true).with_index do |line, number|
        printer.breakable if number.positive?
        printer.text(line)
      end
    end

    # @return [Boolean] whether there are no elements
    def empty?
      size.zero?
    end

    alias byte_size nbytes
    alias length size
    alias entries to_a
    alias slice []
  end
end
