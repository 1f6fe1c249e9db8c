# frozen_string_literal: true

require "stringio"
require_relative "helper"

# The adapters of libraries that a machine may lack: with the libraries themselves.
class TestLibraries < Test::Unit::TestCase
  include Helper

  # What the block returns, and the bytes copied for it.
  def with_copied
    before = Crossdock.copied_bytes
    [yield, Crossdock.copied_bytes - before]
  end

  # What the block prints as warnings.
  def printed
    was, $stderr = $stderr, StringIO.new
    yield
    $stderr.string
  ensure
    $stderr = was
  end

  # ----- FFI

  def test_bytes_of_ffi_are_lent_in_place
    library "ffi"
    memory = FFI::MemoryPointer.new(:int32, 4)
    memory.write_array_of_int32([1, 2, 3, 4])
    bytes, copied = with_copied { Crossdock.view(memory, writable: true) }
    assert_equal [memory.address, 0, [16]], [bytes.address, copied, bytes.shape]
    numbers = bytes.view_as(:int32)
    numbers[1] = 20
    assert_equal [[1, 20, 3, 4], [1, 20, 3, 4]], [memory.read_array_of_int32(4), numbers.to_a]
    assert_predicate Crossdock.view(memory), :readonly?
    assert_raise(FrozenError) { Crossdock.view(memory.dup.freeze, writable: true) }
  end

  def test_bytes_of_ffi_are_not_freed_while_an_array_uses_them
    library "ffi"
    memory = FFI::MemoryPointer.new(:uint8, 3)
    array = Crossdock.view(memory)
    part = array[1..]
    array.release
    assert_match(/a Crossdock::Array uses them/, message_of(Crossdock::Error) { memory.free })
    part.release
    memory.free
    kept = nil
    FFI::MemoryPointer.new(:uint8, 3) do |inner|
      inner.write_array_of_uint8([7, 8, 9])
      kept = Crossdock.view(inner)
    end
    100.times { FFI::MemoryPointer.new(:uint8, 3) }
    GC.start
    assert_equal [7, 8, 9], kept.to_a
    unused = FFI::MemoryPointer.new(:uint8, 1) { |inner| inner.write_uint8(5) }
    # FFI warns of what is freed already.
    assert_match(/non allocated/, printed { unused.free })
  end

  def test_bytes_of_ffi_are_free_after_a_dropped_array_is_collected
    library "ffi"
    memory = FFI::MemoryPointer.new(:uint8, 3)
    Thread.new { Crossdock.view(memory).then { nil } }.join
    memory.free
    assert_match(/non allocated/, printed { memory.free })
  end

  def test_frozen_pointers_and_copies_of_pointers_have_uses_of_their_own
    library "ffi"
    memory = FFI::MemoryPointer.from_string("ab").freeze
    array = Crossdock.view(memory)
    assert_equal [97, 98, 0], array.to_a
    assert_match(/a Crossdock::Array uses them/, message_of(Crossdock::Error) { memory.free })
    copy = memory.dup
    copy.free
    array.release
    failed = FFI::MemoryPointer.new(:uint8, 3)
    failed.define_singleton_method(:address) { 0 }
    assert_raise(Crossdock::Error, ArgumentError) { Crossdock.view(failed) }
    failed.free
  end

  def test_memory_of_ffi_is_taken_wherever_an_array_is
    library "ffi"
    memory = FFI::MemoryPointer.from_string("ab")
    array = Crossdock::Array.zeros(2, 3, dtype: :uint8)
    array[1] = memory
    assert_equal [[0, 0, 0], [97, 98, 0]], array.to_a
    assert_equal [[97, 98, 0]] * 2, array.fill(memory).to_a
    assert_equal [[97, 98, 0]], [Crossdock::Array.new(memory).to_a]
    assert_equal [[97, 98, 0]] * 2, Crossdock::Array.new([memory, memory]).to_a
    assert_true Crossdock::Array.new([97, 98, 0]) == memory
    assert_match(/Adapters::FFIMemory\n  offers: uint8/, Crossdock.explain(memory))
  end

  # ----- GSL

  def test_vectors_and_matrices_of_gsl_are_lent_in_place
    library "gsl"
    vector, matrix = GSL::Vector.alloc([1.5, 2, 3]), GSL::Matrix.alloc([1.0, 2, 3], [4, 5, 6])
    (numbers, grid), copied = with_copied { [Crossdock.view(vector, writable: true), Crossdock.view(matrix, writable: true)] }
    assert_equal [[1.5, 2.0, 3.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 0], [numbers.to_a, grid.to_a, copied]
    numbers[2], grid[1, 0] = 30, 40
    vector[0] = 10
    assert_equal [[10.0, 2.0, 30.0], [40.0, 5.0, 6.0], 10.0], [vector.to_a, matrix.row(1).to_a, numbers[0]]
    assert_equal [:int32, [[0, 0], [0, 0]]], Crossdock.view(GSL::Matrix::Int.calloc(2, 2)).then { |array| [array.dtype, array.to_a] }
    complex = GSL::Vector::Complex.calloc(2)
    Crossdock.view(complex, writable: true)[1] = 1 + 2i
    assert_equal [1.0, 2.0], [complex[1].re, complex[1].im]
    vector.freeze
    assert_raise(FrozenError) { Crossdock.view(vector, writable: true) }
  end

  # GSL::Vector::View does not mark the matrix.
  def test_views_of_gsl_are_copied_since_they_keep_no_memory
    library "gsl"
    matrix = GSL::Matrix.alloc([1.0, 2, 3], [4, 5, 6])
    { matrix.row(1) => [4.0, 5.0, 6.0], matrix.col(1) => [2.0, 5.0], matrix.submatrix(0, 1, 2, 2) => [[2.0, 3.0], [5.0, 6.0]] }.each do |view, elements|
      assert_match(/View does not keep the memory/, message_of(Crossdock::Refusal) { Crossdock.view(view) })
      assert_equal elements, Crossdock.view(view, copy: true).to_a
      assert_equal elements, Crossdock::Array.new(view).to_a
    end
  end

  def test_the_elements_of_gsl_live_as_long_as_an_array_of_them
    library "gsl"
    arrays = ::Array.new(50) { |number| Crossdock.view(GSL::Vector.alloc(::Array.new(300, number))) }
    GC.start
    500.times { GSL::Vector.alloc(300) }
    assert_equal((0...50).map { |number| [number.to_f] }, arrays.map { |array| array.to_a.uniq })
    assert_equal [[0.0] * 2] * 2, Crossdock::Array.new([GSL::Vector.calloc(2)] * 2).to_a
    assert_true Crossdock::Array.new([1, 2]) == GSL::Vector.alloc([1, 2])
  end

  def test_a_vector_of_gsl_with_the_methods_of_a_matrix_is_a_vector
    library "gsl"
    sized = Class.new(GSL::Vector) do
      def size1 = 3
      def size2 = 1
    end
    assert_equal [1.5, 2.0, 3.0], Crossdock.view(sized.alloc(1.5, 2, 3)).to_a
  end

  def test_a_vector_of_gsl_with_another_size_than_its_struct_is_found_out
    library "gsl"
    other = Class.new(GSL::Vector) { def size = 5 }
    assert_match(/laid out/, message_of(Crossdock::Error) { Crossdock.view(other.alloc(1.5, 2, 3)) })
  end

  # ----- ruby-vips

  def test_pixels_of_vips_are_lent_in_place
    library "vips", optional: true
    array = Crossdock::Array.arange(36, dtype: :uint8).reshape(3, 4, 3)
    (image, back), copied = with_copied { array.to_vips.then { |shown| [shown, Crossdock.view(shown)] } }
    assert_equal [[4, 3, 3], [15.0, 16.0, 17.0], 0], [[image.width, image.height, image.bands], image.getpoint(1, 1), copied]
    assert_equal [array.address, array.to_a, true], [back.address, back.to_a, back.readonly?]
    computed = Crossdock.view(image + 1)
    assert_equal [:float32, 16.0], [computed.dtype, computed[1, 1, 0]]
    assert_match(/shares the pixels.*36 bytes/, message_of(Crossdock::Refusal) { Crossdock.view(image, writable: true) })
    written = Crossdock.view(image, writable: true, copy: true)
    written[0, 0, 0] = 99
    assert_equal [99, 0], [written[0, 0, 0], array[0, 0, 0]]
    assert_true array == image
  end

  def test_formats_of_vips_are_dtypes
    library "vips", optional: true
    Crossdock::Adapters::Vips::DTYPES.each do |format, dtype|
      array = Crossdock::Array.new([[[1], [2]]], dtype: dtype)
      assert_equal [format, dtype], [array.to_vips.format, Crossdock.view(array.to_vips).dtype]
    end
    assert_match(/int64: convert/, message_of(ArgumentError) { Crossdock::Array.zeros(2, 2, dtype: :int64).to_vips })
    assert_match(/no image/, message_of(ArgumentError) { Crossdock::Array.zeros(2, dtype: :uint8).to_vips })
  end

  def test_vips_reads_the_elements_when_it_computes_and_keeps_them_alive
    library "vips", optional: true
    image = Crossdock::Array.full([200, 300], 7, dtype: :uint8).to_vips
    GC.start
    ::Array.new(50) { Crossdock::Array.full([200, 300], 9, dtype: :uint8) }
    assert_equal 7.0, (image * 1).avg
    turned = Crossdock::Array.arange(6, dtype: :uint8).reshape(2, 3).transpose
    assert_match(/row-major/, message_of(Crossdock::Refusal) { turned.to_vips })
    assert_equal turned.to_a, Crossdock.view(turned.to_vips(copy: true)).reshape(3, 2).to_a
    array = Crossdock::Array.zeros(2, 2, dtype: :uint8)
    refute_equal array.address, Crossdock.view(array.to_vips(copy: :always)).address
  end
end
