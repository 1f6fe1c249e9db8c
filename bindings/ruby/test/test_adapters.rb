# frozen_string_literal: true

require_relative "helper"
require "open3"
require "fiddle"

class TestAdapters < Test::Unit::TestCase
  include Helper

  # A class of a user that exports nothing.
  class Photo
    attr_reader :rows

    def initialize(rows)
      @rows = rows
    end
  end

  class Negative < Photo
  end

  def with_adapter(class_of_objects, adapter = nil, &block)
    Crossdock.register(class_of_objects, adapter, &block)
    yield_to = -> { Crossdock.unregister(class_of_objects) }
    @unregister << yield_to
  end

  def setup
    @unregister = []
    @experimental, Warning[:experimental] = Warning[:experimental], false
  end

  def teardown
    @unregister.each(&:call)
    Warning[:experimental] = @experimental
  end

  # ----- the table

  def test_a_class_has_an_adapter_that_those_below_inherit
    photo, negative = Photo.new([[1, 2], [3, 4]]), Negative.new([[5, 6]])
    assert_match(/TestAdapters::Photo/, message_of(TypeError) { Crossdock.view(photo) })
    with_adapter(Photo) { |one, _request| Crossdock::Array.new(one.rows) }
    assert_equal [[[1, 2], [3, 4]], [[5, 6]]], [Crossdock.view(photo).to_a, Crossdock.view(negative).to_a]
    with_adapter(Negative) { |one, _request| Crossdock::Array.new(one.rows.map { |row| row.map(&:-@) }) }
    assert_equal [[-5, -6]], Crossdock.view(negative).to_a
    Crossdock.unregister(Negative)
    assert_equal [[5, 6]], Crossdock.view(negative).to_a
  end

  def test_what_has_an_adapter_is_copied_from
    buffer = IO::Buffer.new(4)
    buffer.set_string("abcd")
    with_adapter(Photo) { |one, _request| Crossdock::Array.new(one.rows) }
    pair = Struct.new(:rows)
    with_adapter(pair) { |one, _request| Crossdock::Array.new(one.rows) }
    [[buffer, [97, 98, 99, 100]], [Photo.new([1, 2, 3, 4]), [1, 2, 3, 4]], [pair.new([1, 2, 3, 4]), [1, 2, 3, 4]]].each do |object, elements|
      assert_equal elements, Crossdock::Array.new(object).to_a
      assert_equal [:float32, elements], Crossdock::Array.new(object, dtype: :float32).then { |array| [array.dtype, array.to_a] }
      array = Crossdock::Array.zeros(2, 4, dtype: :int16)
      array[1] = object
      assert_equal [[0] * 4, elements], array.to_a
      assert_equal [elements] * 2, array.fill(object).to_a
    end
    # The memory borrowed for the copy was released.
    assert_nothing_raised { buffer.resize(8) }
    assert_raise(TypeError) { Crossdock::Array.new(Object.new) }
    assert_raise(TypeError) { Crossdock::Array.zeros(1)[0] = Object.new }
  end

  def test_lists_of_elements_are_never_asked_of_an_adapter
    list = Class.new(::Array)
    with_adapter(list) { |_one, _request| raise "asked" }
    assert_equal [1, 2], Crossdock::Array.new(list[1, 2]).to_a
    array = Crossdock::Array.zeros(2)
    array[true] = list[3, 4]
    assert_equal [3, 4], array.to_a
  end

  def test_a_class_has_one_adapter_at_most
    with_adapter(Photo) { |one, _| Crossdock::Array.new(one.rows) }
    assert_match(/test_adapters\.rb:\d+/, message_of(ArgumentError) { Crossdock.register(Photo) { nil } })
    assert_respond_to Crossdock.unregister(Photo), :call
    assert_nil Crossdock.unregister(Photo)
    assert_raise(TypeError) { Crossdock.view(Photo.new([])) }
    assert_equal Photo, Crossdock.register(Photo, ->(one, _) { Crossdock::Array.new(one.rows) })
  end

  def test_what_has_no_objects_has_no_adapter
    [Comparable, "Photo", nil, Photo.new([]).singleton_class].each do |other|
      assert_raise(TypeError) { Crossdock.register(other) { nil } }
    end
    assert_raise(ArgumentError) { Crossdock.register(Photo) }
  end

  def test_the_request_says_what_is_asked
    seen = []
    with_adapter(Photo) do |one, request|
      seen << [request.writable?, request.copy?]
      request.refuse("its rows are Ruby's", would_copy: 16) unless request.copy?
      Crossdock::Array.new(one.rows)
    end
    photo = Photo.new([[1, 2]])
    refusal = assert_raise(Crossdock::Refusal) { Crossdock.view(photo, writable: true) }
    assert_equal ["its rows are Ruby's; a copy of 16 bytes would do (copy: true)", 16, { lease: :share }],
                 [refusal.message, refusal.would_copy, refusal.asked]
    assert Crossdock.view(photo, copy: true).readonly?
    refute Crossdock.view(photo, copy: true, writable: true).readonly?
    assert_equal [[true, false], [false, true], [true, true]], seen
  end

  def test_what_an_adapter_answers_is_an_array_or_exports_one
    memory = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
    memory[0, 8] = "12345678"
    with_adapter(Photo) { |one, _| one.rows }
    array = Crossdock.view(Photo.new(memory))
    assert_equal [memory.to_i, [8]], [array.address, array.shape]
    # The adapter's result is read-only, and a copy is writable, if it is permitted.
    assert_raise(FrozenError) { Crossdock.view(Photo.new(memory), writable: true) }
    copied = Crossdock.view(Photo.new(memory), writable: true, copy: true)
    copied[0] = 0
    assert_equal "1".ord, array[0]
    [nil, "text", Object.new].each { |other| assert_match(/answered/, message_of(TypeError) { Crossdock.view(Photo.new(other)) }) }
  end

  def test_what_an_adapter_raises_is_raised
    with_adapter(Photo) { |_, _| raise IOError, "no film" }
    assert_equal "no film", message_of(IOError) { Crossdock.view(Photo.new([])) }
    assert_match(/no film/, Crossdock.explain(Photo.new([])))
  end

  def test_what_exports_a_memory_view_is_not_asked_of_an_adapter
    with_adapter(Fiddle::Pointer) { |_, _| raise "not asked" }
    memory = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
    assert_equal memory.to_i, Crossdock.view(memory).address
    assert_not_equal memory.to_i, Crossdock.view(memory, copy: :always).address
  end

  def test_objects_without_methods_have_no_adapter
    assert_raise(TypeError) { Crossdock.view(BasicObject.new) }
    assert_raise(TypeError) { Crossdock.view(Class.new(BasicObject).new) }
    blank = Class.new(BasicObject)
    with_adapter(blank) { |_, _| Crossdock::Array.new([1]) }
    assert_equal [1], Crossdock.view(blank.new).to_a
  end

  def test_other_ractors_use_what_can_be_shared
    shareable = Module.new { def self.call(photo, _) = Crossdock::Array.new(photo) }
    with_adapter(Photo, shareable)
    with_adapter(Negative) { |_, _| Crossdock::Array.new([9]) }
    ractor = Ractor.new do
      wrong = begin
        Crossdock.register(String) { nil }
      rescue Ractor::IsolationError => error
        error.class
      end
      [Crossdock::Adapters.find(Photo.new([])), Crossdock::Adapters.find(Negative.new([])), wrong,
       Crossdock.view(IO::Buffer.for("ab".freeze)).to_a]
    end
    assert_equal [shareable, shareable, Ractor::IsolationError, [97, 98]], value_of(ractor)
  end

  def test_explain_names_the_adapter_and_what_it_offers
    with_adapter(Photo) { |one, request| one.rows ? Crossdock::Array.new(one.rows) : request.refuse("none was taken") }
    assert_match(/adapter: the block at .*test_adapters\.rb:\d+\n  offers: int64 of shape \[1, 2\]/m, Crossdock.explain(Photo.new([[1, 2]])))
    assert_match(/refused: none was taken/, Crossdock.explain(Photo.new(nil)))
    assert_match(/Adapters::IOBuffer\n  offers: uint8 of shape \[4\]/, Crossdock.explain(IO::Buffer.new(4)))
    assert_no_match(/adapter/, Crossdock.explain(Object.new))
  end

  # ----- memory at an address

  def test_memory_at_an_address_is_kept_by_an_object_and_given_back_by_a_block
    memory = Fiddle::Pointer.malloc(48, Fiddle::RUBY_FREE)
    memory[0, 48] = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5].pack("d*")
    given_back = 0
    array = Crossdock.at_address(memory, dtype: :float64, shape: [2, 3], writable: true, owner: memory) { given_back += 1 }
    assert_equal [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]], array.to_a
    array[1, 2] = 7.5
    assert_equal 7.5, memory[40, 8].unpack1("d")
    backwards = Crossdock.at_address(memory.to_i + 40, dtype: :float64, shape: [6], strides: [-8])
    assert_equal [7.5, 5.5, 4.5, 3.5, 2.5, 1.5], backwards.to_a
    assert backwards.readonly?
    row = array[0]
    array.release
    assert_equal 0, given_back
    row.release
    assert_equal 1, given_back
    # Other code may write it, so Arrow does not get it, unless it is declared constant.
    assert_raise(Crossdock::Refusal) { backwards[(5..).step(-1)].to_arrow }
    assert_equal 6, Crossdock.at_address(memory, dtype: :float64, shape: 6, constant: true).to_arrow.length
  end

  def test_memory_at_an_address_that_cannot_be_is_refused
    assert_raise_kind_of(StandardError) { Crossdock.at_address(0, dtype: :uint8, shape: [1]) }
    assert_raise_kind_of(StandardError) { Crossdock.at_address(2**64 - 8, dtype: :float64, shape: [2]) }
    assert_raise_kind_of(StandardError) { Crossdock.at_address(64, dtype: :float64, shape: [2**61, 2**61]) }
    assert_raise(ArgumentError) { Crossdock.at_address(64, dtype: :float64, shape: [1], writable: true, constant: true) }
    assert_equal [], Crossdock.at_address(0, dtype: :uint8, shape: [0]).to_a
  end

  # ----- IO::Buffer

  def test_io_buffers_are_lent_in_place_and_locked
    { internal: IO::Buffer.new(64), mapped: IO::Buffer.new(1 << 17) }.each do |name, buffer|
      array = Crossdock.view(buffer, writable: true)
      array[3] = 7
      assert_equal [7, buffer.size], [buffer.get_value(:U8, 3), array.size], name
      assert buffer.locked?
      assert_raise(IO::Buffer::LockedError) { buffer.resize(4) }
      assert_raise(IO::Buffer::LockedError) { buffer.free }
      second = Crossdock.view(buffer)
      array.release
      assert buffer.locked?, "another array has it"
      second.release
      refute buffer.locked?
      buffer.free
    end
  end

  def test_of_a_slice_the_buffer_that_has_the_memory_is_locked
    buffer = IO::Buffer.new(64)
    buffer.set_value(:U8, 21, 5)
    slice = buffer.slice(20, 10).slice(1, 4)
    array = Crossdock.view(slice, writable: true)
    assert_equal [[5, 0, 0, 0], true], [array.to_a, buffer.locked?]
    array[1] = 6
    assert_equal 6, buffer.get_value(:U8, 22)
    slice.free
    slice = nil
    assert_equal 5, array[0]
    array.release
    refute buffer.locked?
  end

  def test_buffers_of_strings_are_constant
    buffer = IO::Buffer.for("The quick brown fox jumps over the lazy dog")
    array = Crossdock.view(buffer)
    assert_equal ["T".ord, true], [array[0], array.readonly?]
    assert_equal "C", array.to_arrow.format
    assert_match(/frozen String/, message_of(Crossdock::Refusal) { Crossdock.view(buffer, writable: true) })
    refute Crossdock.view(buffer, writable: true, copy: true).readonly?
  end

  # Some releases of Ruby 3.1 unlock a String for its buffer and again for each slice of that
  # buffer; the second time aborts the process.
  def test_slices_of_buffers_of_strings_are_constant
    slices = 'IO::Buffer.for("The quick brown fox".freeze).slice(4, 5); nil'
    program = "500.times { #{slices} }; GC.start"
    _, status = Open3.capture2e(RbConfig.ruby, "-W0", "-e", program)
    omit("this Ruby aborts when it collects slices of the buffer of a String") unless status.success?

    slice = IO::Buffer.for("The quick brown fox").slice(4, 5)
    assert_equal "quick", Crossdock.view(slice).to_binary
    # Ruby's own setters write the String through a slice of its buffer.
    assert_match(/frozen String/, message_of(Crossdock::Refusal) { Crossdock.view(slice, writable: true) })
    refute Crossdock.view(slice, writable: true, copy: true).readonly?
  end

  def test_a_string_that_a_slice_refers_to_makes_it_constant_only_if_it_owns_the_bytes
    slice = IO::Buffer.new(64).slice(4, 5)
    slice.instance_variable_set(:@label, "frozen")
    assert_raise(Crossdock::Refusal) { Crossdock.view(slice).to_arrow }
  end

  def test_a_buffer_of_a_string_that_is_not_frozen_is_only_copied
    omit("IO::Buffer.for takes a block from Ruby 3.2 on") if RUBY_VERSION < "3.2"
    text = +"The quick brown fox jumps over the lazy dog"
    IO::Buffer.for(text) do |buffer|
      assert_raise(Crossdock::Refusal) { Crossdock.view(buffer) }
      assert_equal text, Crossdock.view(buffer, copy: true).to_binary
    end
  end

  def test_the_bytes_of_a_buffer_have_any_type
    buffer = IO::Buffer.new(16)
    Crossdock.view(buffer, writable: true).view_as(:float64)[1] = 2.5
    assert_equal 2.5, buffer.get_value(:f64, 8)
  end

  def test_a_buffer_that_somebody_else_has_locked_is_not_lent
    buffer = IO::Buffer.new(16)
    buffer.locked { assert_raise(IO::Buffer::LockedError) { Crossdock.view(buffer) } }
    assert_equal 16, Crossdock.view(buffer).size
  end

  def test_collected_arrays_unlock_their_buffer
    buffer = IO::Buffer.new(16)
    30.times { Crossdock.view(buffer) }
    20.times do
      break unless buffer.locked?

      GC.start
      Crossdock::Array.new([0])
    end
    refute buffer.locked?
  end

  # ----- NArray

  def test_narrays_are_lent_in_place_with_their_own_indices
    library "narray"
    narray = NArray.float(4, 3).indgen!
    array = Crossdock.view(narray, writable: true)
    assert_equal [:float64, [4, 3], [8, 32]], [array.dtype, array.shape, array.strides]
    3.times { |j| 4.times { |i| assert_equal narray[i, j], array[i, j] } }
    array[1, 2] = 99.5
    assert_equal 99.5, narray[1, 2]
    assert_equal narray.to_a, array.transpose.to_a
    narray = nil
    GC.start
    GC.compact
    assert_equal 99.5, array[1, 2]
  end

  def test_narrays_of_every_type
    library "narray"
    { byte: :uint8, sint: :int16, int: :int32, sfloat: :float32, float: :float64, scomplex: :complex64, complex: :complex128 }.each do |type, dtype|
      narray = NArray.public_send(type, 3).indgen!
      array = Crossdock.view(narray)
      assert_equal [dtype, narray.to_a, true], [array.dtype, array.to_a, array.readonly?], type
    end
    assert_match(/Ruby objects/, message_of(Crossdock::Refusal) { Crossdock.view(NArray.object(2)) })
    assert_equal [0], Crossdock.view(NArray.float(0)).shape
    assert_raise(FrozenError) { Crossdock.view(NArray.int(2).freeze, writable: true) }
    assert_equal [0, 0], Crossdock.view(NArray.int(2).freeze).to_a
    assert_equal [3, 2], Crossdock.view(NMatrix.float(3, 2)).shape
    assert_match(/Adapters::NArray/, Crossdock.explain(NArray.int(2)))
  end

  def test_what_only_calls_itself_narray_is_found_out
    impostor = Class.new do
      def self.name = "NArray"
      def rank = 1
      def total = 4
      def element_size = 8
      def typecode = 5
    end
    assert_match(/narray\.h/, message_of(Crossdock::Error) { Crossdock.view(impostor.new) })
    library "narray"
    liar = Class.new(NArray) { def total = 1_000_000 }
    assert_match(/narray\.h/, message_of(Crossdock::Error) { Crossdock.view(liar.new(NArray::FLOAT, 4)) })
    other = Class.new(NArray) { def typecode = NArray::FLOAT }
    assert_match(/typecode/, message_of(Crossdock::Error) { Crossdock.view(other.new(NArray::BYTE, 4)) })
  end

  def test_adapters_of_this_gem_always_copy_when_asked
    library "narray"
    buffer, narray = IO::Buffer.new(4), NArray.int(4)
    { buffer => :uint8, narray => :int32 }.each do |object, dtype|
      before = Crossdock.copied_bytes
      copied = Crossdock.view(object, copy: :always)
      assert_equal [dtype, copied.nbytes], [copied.dtype, Crossdock.copied_bytes - before]
      copied[0] = 7
      assert_equal 0, Crossdock.view(object)[0]
    end
  end

  def test_narrays_of_a_ruby_that_is_not_known_are_copied
    library "narray"
    narray = NArray.int(2, 3).indgen!
    adapter = Crossdock::Adapters::NArray
    adapter.singleton_class.alias_method(:known?, :in_place?)
    adapter.singleton_class.define_method(:in_place?) { false }
    assert_equal 24, assert_raise(Crossdock::Refusal) { Crossdock.view(narray) }.would_copy
    assert_equal [[[0, 2, 4], [1, 3, 5]], [2, 3]], Crossdock.view(narray, copy: true).then { |array| [array.to_a, array.shape] }
    assert_equal [], Crossdock.view(NArray.int(0), copy: true).to_a
  ensure
    adapter&.singleton_class&.class_eval do
      remove_method(:in_place?)
      alias_method(:in_place?, :known?)
      remove_method(:known?)
    end
  end

  # ----- libraries that are not installed: their adapters, with stand-ins for their objects

  def stand_in(name, **methods)
    Class.new do
      define_singleton_method(:name) { name }
      methods.each { |method, answer| define_method(method) { answer } }
    end
  end

  def test_red_arrow_exports_the_structs_of_arrow_which_are_freed
    array, freed = Crossdock::Array.new([1.5, 2.5]), []
    glib = Module.new { define_singleton_method(:free) { |address| freed << address } }
    Object.const_set(:GLib, glib)
    column = array.to_arrow
    arrow = stand_in("Arrow::Array", export: [true, column.array, column.schema])
    back = Crossdock.view(arrow.new)
    assert_equal [array.address, true], [back.address, back.readonly?]
    assert_equal [[column.array, column.schema], true], [freed, column.released?]
    assert_match(/constant/, message_of(Crossdock::Refusal) { Crossdock.view(arrow.new, writable: true) })
    column = array.to_arrow
    copied = Crossdock.view(stand_in("Arrow::Array", export: [true, column.array, column.schema]).new, writable: true, copy: true)
    copied[0] = 9.5
    assert_equal [1.5, 9.5], [array[0], copied[0]]

    bytes = stand_in("GLib::Bytes", to_s: "bytes")
    buffer = stand_in("Arrow::Buffer", size: 5, data: bytes.new)
    assert_equal 5, assert_raise(Crossdock::Refusal) { Crossdock.view(buffer.new) }.would_copy
    assert_equal "bytes", Crossdock.view(buffer.new, copy: true).to_binary
  ensure
    Object.__send__(:remove_const, :GLib) if glib
  end

  def test_what_only_calls_itself_numo_is_refused
    impostor = Class.new { def self.name = "Numo::NArray" }
    assert_match(/not the Numo::NArray of Numo/, message_of(Crossdock::Refusal) { Crossdock.view(impostor.new) })
  end

  # ----- Matrix

  def test_matrices_of_ruby_are_converted_where_a_copy_may_be_made
    begin
      require "matrix"
    rescue LoadError
      omit("this Ruby has no Matrix")
    end
    matrix, vector = Matrix[[1, 2.5], [3, 4]], Vector[1i, 2]
    assert_match(/Ruby objects/, message_of(Crossdock::Refusal) { Crossdock.view(matrix) })
    before = Crossdock.copied_bytes
    array = Crossdock.view(matrix, copy: true)
    assert_equal [:float64, [[1, 2.5], [3, 4]], true, 32], [array.dtype, array.to_a, array.readonly?, Crossdock.copied_bytes - before]
    assert_equal [:complex128, [1i, 2]], Crossdock.view(vector, copy: true).then { |one| [one.dtype, one.to_a] }
    refute Crossdock.view(matrix, copy: true, writable: true).readonly?
    assert_equal [[1, 2], [3, 4]], Crossdock::Array.new(Matrix[[1, 2], [3, 4]]).to_a
    assert_equal [[9, 8], [0, 0]], Crossdock::Array.zeros(2, 2).tap { |zeros| zeros[0] = Vector[9, 8] }.to_a
    assert_equal [true, false], [array == matrix, array == matrix.transpose]
    other = Class.new { def self.name = "Vector" }
    assert_match(/not the one of Ruby's library/, message_of(Crossdock::Refusal) { Crossdock.view(other.new, copy: true) })
  end

  # ----- RMagick

  def test_images_of_rmagick_are_copied_where_a_copy_may_be_made
    library "rmagick"
    image = Magick::Image.new(4, 3) { |options| options.background_color = "red" }
    image.pixel_color(1, 2, "#0000ff")
    refusal = assert_raise(Crossdock::Refusal) { Crossdock.view(image) }
    assert_equal 36, refusal.would_copy
    before = Crossdock.copied_bytes
    array = Crossdock.view(image, copy: true)
    assert_equal 36, Crossdock.copied_bytes - before
    assert_equal [:uint8, [3, 4, 3], [255, 0, 0], [0, 0, 255], true],
                 [array.dtype, array.shape, array[0, 0].to_a, array[2, 1].to_a, array.readonly?]
    written = Crossdock.view(image, copy: true, writable: true)
    written[0, 0, 1] = 9
    assert_equal [0, 9], [array[0, 0, 1], written[0, 0, 1]]
    assert_match(/Adapters::RMagick\n  refused: .*36 bytes/m, Crossdock.explain(image))
  end

  def test_images_of_rmagick_with_alpha_and_deeper_ones
    library "rmagick"
    image = Magick::Image.new(2, 1) { |options| options.background_color = "#1234ffff0000" }
    image.alpha(Magick::OpaqueAlphaChannel)
    array = Crossdock.view(image, copy: true)
    assert_equal [:uint16, [1, 2, 4], [0x1234, 0xffff, 0, 0xffff]], [array.dtype, array.shape, array[0, 0].to_a]
    gray = Magick::Image.new(2, 1).quantize(256, Magick::GRAYColorspace)
    assert_equal 1, Crossdock.view(gray, copy: true).shape.last
  end

  def test_arrays_become_images_by_one_copy
    library "rmagick"
    { uint8: 10, uint16: 2500 }.each do |dtype, step|
      [[2, 3], [2, 3, 1], [2, 3, 2], [2, 3, 3], [2, 3, 4]].each do |shape|
        array = Crossdock::Array.new((0...shape.inject(:*)).map { |k| k * step }, dtype: dtype).reshape(*shape)
        before = Crossdock.copied_bytes
        image = array.to_magick
        assert_equal array.nbytes, Crossdock.copied_bytes - before, shape.inspect
        back = Crossdock.view(image, copy: true)
        assert_equal [dtype, array.to_a], [back.dtype, (shape.size == 2 ? back[true, true, 0] : back).to_a], shape.inspect
      end
    end
    assert_equal [0, 32_768, 65_535], Crossdock.view(Crossdock::Array.new([[0, 0.5, 1]]).to_magick, copy: true).to_a.flatten
    flipped = Crossdock::Array.new([[1, 2], [3, 4]], dtype: :uint8)[(1..0) % -1]
    assert_equal [3, 4, 1, 2], Crossdock.view(flipped.to_magick, copy: true).to_a.flatten
    red = Crossdock::Array.new([[[0, 0, 255]]], dtype: :uint8).to_magick(map: "BGR")
    assert_equal [255, 0, 0], Crossdock.view(red, copy: true)[0, 0].to_a
  end

  def test_what_is_no_image_is_said
    library "rmagick"
    [[3], [2, 2, 5], [0, 3], [1, 1, 1, 1]].each do |shape|
      assert_match(/no image.*: give rows, columns/, message_of(ArgumentError) { Crossdock::Array.zeros(*shape, dtype: :uint8).to_magick })
    end
    assert_match(/channels RGBA/, message_of(ArgumentError) { Crossdock::Array.zeros(2, 2, 3, dtype: :uint8).to_magick(map: "RGBA") })
    assert_match(/not of int16: convert/, message_of(ArgumentError) { Crossdock::Array.zeros(2, 2, dtype: :int16).to_magick })
  end

  # ----- comparisons

  def test_arrays_equal_objects_that_share_memory
    library "narray"
    library "rmagick"
    array = Crossdock::Array.new([[1, 2], [3, 4]])
    assert_equal [true, false], [array == NArray.to_na([[1, 3], [2, 4]]), array == NArray.to_na([[1, 2], [3, 4]])]
    with_adapter(Photo) { |one, request| one.rows ? Crossdock::Array.new(one.rows) : request.refuse("none was taken") }
    assert_equal [true, false, false], [[[1, 2], [3, 4]], [[1, 2]], nil].map { |rows| array == Photo.new(rows) }
    bytes = Crossdock::Array.new([97, 98], dtype: :uint8)
    assert_true bytes == IO::Buffer.for("ab".freeze)
    image = bytes.reshape(1, 2).to_magick
    assert_true bytes.reshape(1, 2, 1) == image
    [nil, 1, "ab", [97, 98], Object.new, :ab, BasicObject.new].each { |other| assert_false bytes == other }
    with_adapter(Negative) { |_, _| raise IOError, "no film" }
    assert_raise(IOError) { array == Negative.new([]) }
  end
end
