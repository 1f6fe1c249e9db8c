# frozen_string_literal: true

# Started by `test_numo.rb`, with one of the libraries that define `Numo::NArray` in the load path.

require "helper"
verbose, $VERBOSE = $VERBOSE, nil # numo-narray warns about itself
require "numo/narray"
$VERBOSE = verbose

class TestNumoArrays < Test::Unit::TestCase
  include Helper

  TYPES = {
    Int8: :int8, Int16: :int16, Int32: :int32, Int64: :int64, UInt8: :uint8, UInt16: :uint16, UInt32: :uint32, UInt64: :uint64,
    SFloat: :float32, DFloat: :float64, SComplex: :complex64, DComplex: :complex128
  }.freeze

  # The array in place: nothing is copied.
  def in_place(narray, **options)
    before = Crossdock.copied_bytes
    Crossdock.view(narray, **options).tap { assert_equal before, Crossdock.copied_bytes }
  end

  def refused(narray, **options)
    assert_raise(Crossdock::Refusal) { Crossdock.view(narray, **options) }
  end

  # The address that the library prints.
  def address_of(narray)
    reader, writer = IO.pipe
    child = fork do
      $stdout.reopen(writer)
      narray.debug_info
      $stdout.flush
      Fiddle::Function.new(Fiddle::Handle::DEFAULT["fflush"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT).call(nil)
      exit!(0)
    end
    writer.close
    Process.wait(child)
    reader.read[/ptr\s*= 0x(\h+)/, 1].hex
  end

  def test_the_library_is_the_one_to_test
    assert_equal ENV.fetch("NUMO") == "numo-narray-alt", Numo::NArray.respond_to?(:alternative?)
  end

  def test_elements_of_every_type_are_lent_in_place
    TYPES.each do |name, dtype|
      narray = Numo.const_get(name).new(2, 3).seq
      array = in_place(narray, writable: true)
      assert_equal [dtype, [2, 3], narray.to_a], [array.dtype, array.shape, array.to_a], name
      array[1, 2] = 9
      narray[0, 1] = 8
      assert_equal [9, 8], [narray[1, 2], array[0, 1]], name
    end
  end

  def test_the_address_is_that_of_the_library
    require "fiddle"
    narray = Numo::DFloat.new(2, 3).seq
    assert_equal address_of(narray), in_place(narray).address
    assert_equal address_of(narray) + 40, in_place(narray[1, 2..]).address
  end

  def test_views_have_strides
    narray = Numo::Int32.new(4, 6).seq
    views = {
      "steps" => narray[(0..3).step(2), (1..5).step(2)], "row" => narray[2, true], "column" => narray[true, 3],
      "reverse" => narray.reverse, "transpose" => narray.transpose, "one element" => narray.view[1..1, 2..2],
      "new axis" => narray.expand_dims(1), "diagonal" => narray.diagonal, "view of a view" => narray.transpose[(1..5).step(3), 1..].reverse(0),
      "inplace" => narray.inplace, "reshaped" => narray.reshape(2, 12)
    }
    views.each do |name, view|
      array = in_place(view)
      assert_equal [view.shape, view.to_a], [array.shape, array.to_a], name
    end
    in_place(views["transpose"], writable: true)[5, 3] = -1
    assert_equal(-1, narray[3, 5])
    views["steps"][0, 0] = -2
    assert_equal(-2, in_place(narray)[0, 1])
  end

  def test_arrays_without_axes_or_elements
    assert_equal [[], 5.0], in_place(Numo::DFloat.cast(5)).then { |array| [array.shape, array.to_a] }
    [[0], [0, 3], [2, 0, 4]].each { |shape| assert_equal shape, in_place(Numo::Int16.zeros(*shape), writable: true).shape }
  end

  def test_subclasses_are_lent_too
    subclass = Class.new(Numo::SFloat)
    assert_equal [:float32, [0.0, 1.0]], in_place(subclass.new(2).seq).then { |array| [array.dtype, array.to_a] }
  end

  def test_tables_of_indices_are_copied_where_a_copy_may_be_made
    narray = Numo::Int64.new(4, 3).seq
    [narray[[0, 3, 1], true], narray[true, [2, 0]], narray[[1, 2], true].transpose].each do |view|
      refusal = refused(view)
      assert_match(/table of indices/, refusal.message)
      assert_equal view.byte_size, refusal.would_copy
      before = Crossdock.copied_bytes
      array = Crossdock.view(view, copy: true)
      assert_equal [view.to_a, view.byte_size], [array.to_a, Crossdock.copied_bytes - before]
    end
    written = Crossdock.view(narray[[0, 1], true], copy: true, writable: true)
    written[0, 0] = 100
    assert_equal [0, 100], [narray[0, 0], written[0, 0]]
  end

  def test_bits_are_copied_as_truth_values
    bits = Numo::Bit[1, 0, 0, 1, 1, 1, 0, 1, 1]
    assert_equal 9, refused(bits).would_copy
    array = Crossdock.view(bits, copy: true)
    assert_equal [:bool, [true, false, false, true, true, true, false, true, true]], [array.dtype, array.to_a]
    assert_equal [1], Crossdock.view(bits[3..3], copy: true).cast(:int8).to_a
  end

  def test_objects_have_no_dtype
    [false, true, :always].each { |copy| assert_match(/Numo::RObject has .* no dtype/, refused(Numo::RObject["a", 2], copy: copy).message) }
  end

  def test_what_has_no_memory_yet_is_refused
    narray = Numo::DFloat.new(2, 3)
    [{}, { writable: true }, { copy: true }].each { |options| assert_match(/\[2, 3\] has no memory before its first write/, refused(narray, **options).message) }
    assert_match(/no memory/, refused(narray[0, true]).message)
    narray.fill(1)
    assert_equal 6.0, in_place(narray).sum
  end

  def test_byte_swapped_elements
    array = in_place(Numo::Int16[1, 2, -3].to_swapped, writable: true)
    assert_equal [:">int16", [1, 2, -3]], [array.dtype, array.to_a]
    assert_equal :uint8, in_place(Numo::UInt8[1].to_swapped).dtype
    # Numo reverses all bytes of a complex number, so that its parts change places.
    complex = Numo::DComplex[1 + 2i].to_swapped
    assert_match(/swapped as one/, refused(complex).message)
    assert_equal [1 + 2i], Crossdock.view(complex, copy: true).to_a
  end

  def test_frozen_arrays_are_lent_to_read
    narray = Numo::Int8[1, 2, 3].freeze
    assert_equal [1, 2, 3], in_place(narray).to_a
    [narray, narray.view, narray[1..].freeze].each do |frozen|
      assert_true in_place(frozen).readonly?
      assert_raise(FrozenError, Crossdock::Refusal) { Crossdock.view(frozen, writable: true) }
      Crossdock.view(frozen, writable: true, copy: true)[0] = 9
    end
    assert_equal [1, 2, 3], narray.to_a
  end

  # Numo does not own these bytes, and copies them before it writes.
  def test_elements_of_a_frozen_string_are_lent_to_read
    bytes = [1, 2, 3].pack("s*").freeze
    narray = Numo::Int16.from_binary(bytes)
    array = in_place(narray)
    assert_equal [1, 2, 3], array.to_a
    assert_match(/copies before it writes/, refused(narray, writable: true).message)
    assert_equal 6, refused(narray[1..], writable: true).would_copy + 2
    narray[0] = 9
    narray = bytes = nil
    4.times { GC.start }
    100.times { "x" * 100 }
    assert_equal [1, 2, 3], array.to_a
  end

  def test_memory_that_an_array_uses_is_not_freed
    narray = Numo::Int32[1, 2, 3]
    array = in_place(narray[1..])
    second = in_place(narray)
    assert_match(/2 instances of Crossdock::Array use the memory; release it first/, message_of(Crossdock::Error) { narray.free })
    second.release
    assert_match(/store_binary would free .* a Crossdock::Array uses/, message_of(Crossdock::Error) { narray.store_binary([4, 5, 6].pack("l*").freeze) })
    assert_raise(Crossdock::Error) { narray.view.store_binary([4, 5, 6].pack("l*").freeze) }
    assert_raise(Crossdock::Error) { narray.marshal_load(narray.marshal_dump) }
    # This is written into the same memory.
    narray.store_binary([4, 5, 6].pack("l*"))
    assert_equal [5, 6], array.to_a
    array.release
    narray.store_binary([7, 8, 9].pack("l*").freeze)
    assert_equal [7, 8, 9], narray.to_a
    other = Numo::Int32[1, 2]
    in_place(other).release
    assert_same other, other.free
    assert_equal [1, 2], Marshal.load(Marshal.dump(Numo::Int32[1, 2])).to_a
  end

  def test_arrays_that_were_dropped_let_go
    narray = Numo::Int32.new(1000).seq
    1.times { 20.times { in_place(narray).sum } }
    clear = ->(depth) { depth.zero? ? nil : clear.call(depth - 1) }
    clear.call(100)
    assert_same narray, narray.free
  end

  def test_the_elements_live_as_long_as_an_array_of_them
    arrays = Array.new(50) { |k| in_place(Numo::Int64.new(100).seq(k)[(0..).step(2)]) }
    4.times { GC.start }
    GC.compact if GC.respond_to?(:compact)
    200.times { Numo::Int64.zeros(100) }
    arrays.each_with_index { |array, k| assert_equal (k...k + 100).step(2).sum, array.sum }
  end

  def test_a_shape_that_changes_leaves_the_memory
    narray = Numo::Int32[1, 2, 3, 4]
    array = in_place(narray)
    narray.__send__(:initialize, 2)
    assert_equal [1, 2, 3, 4], array.to_a
  end

  def test_other_ractors_have_their_own
    experimental, Warning[:experimental] = Warning[:experimental], false
    values = Ractor.new do
      narray = Numo::Int32[1, 2]
      array = Crossdock.view(narray, writable: true)
      array[0] = 7
      freed = begin
        narray.free
      rescue Crossdock::Error
        "refused"
      end
      [narray.to_a, freed]
    end.take
    assert_equal [[7, 2], "refused"], values
  ensure
    Warning[:experimental] = experimental
  end

  def test_wherever_an_array_is_taken
    narray = Numo::DFloat[[1, 2], [3, 4]]
    array = Crossdock::Array.new(narray)
    assert_equal [:float64, [[1, 2], [3, 4]]], [array.dtype, array.to_a]
    array[0] = Numo::Int8[8, 9]
    array[true, 1] = Numo::Bit[1, 0]
    assert_equal [[8, 1], [3, 0]], array.to_a
    assert_equal [[5, 6], [5, 6]], array.fill(Numo::UInt8[5, 6][[0, 1]]).to_a
    assert_equal [[1, 2], [3, 4]], Crossdock.view(narray, copy: :always).tap { |copy| copy.address != Crossdock.view(narray).address }.to_a
    assert_match(/Adapters::Numo\n  offers: float64 of shape \[2, 2\]/, Crossdock.explain(narray))
    assert_match(/refused: .*table of indices/, Crossdock.explain(narray[[1, 0], true]))
  end
end
