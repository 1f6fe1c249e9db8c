# frozen_string_literal: true

# Started by `test_numo.rb`, with one of the libraries that define `Numo::NArray` in the load path.

require "helper"
require "fiddle"
require "numo/narray"

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
    # No other code knows the copy, so it is lent as constant, too.
    Crossdock.view(narray[[0, 1], true], copy: true).to_arrow.release
    assert_raise(Crossdock::Refusal) { Crossdock.view(narray).to_arrow }
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
    assert_equal [2, 3], narray[1..].free.to_a, "it is ignored for views"
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

  def test_the_collector_may_run_at_every_allocation
    GC.stress = true
    narray = Numo::Int64.new(2, 3).seq
    array = in_place(narray[true, (0..2).step(2)].transpose)
    shown = array.to_numo
    copied = array.to_numo(copy: :always)
    GC.stress = false
    assert_equal [[[0, 3], [2, 5]]] * 3, [array, shown, copied].map(&:to_a)
  ensure
    GC.stress = false
  end

  def test_a_shape_that_changes_leaves_the_memory
    narray = Numo::Int32[1, 2, 3, 4]
    array = in_place(narray)
    narray.__send__(:initialize, 2)
    assert_equal [1, 2, 3, 4], array.to_a
  end

  def test_other_ractors_have_their_own
    experimental, Warning[:experimental] = Warning[:experimental], false
    ractor = Ractor.new do
      narray = Numo::Int32[1, 2]
      array = Crossdock.view(narray, writable: true)
      array[0] = 7
      freed = begin
        narray.free
      rescue Crossdock::Error
        "refused"
      end
      [narray.to_a, freed]
    end
    assert_equal [[7, 2], "refused"], value_of(ractor)
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
    assert_equal [true, false], [array == Numo::Int8[[5, 6], [5, 6]], array == Numo::Int8[5, 6]]
    assert_true Crossdock::Array.new([true, false]) == Numo::Bit[1, 0]
    # Numo's own `==` converts an array to its class first.
    assert_equal [true, true, false, false], [Numo::Int8[5, 6], Numo::DFloat[5, 6], Numo::Int8[5, 7], Numo::Int8[5, 6, 7]].map { |one| one == array[0] }
    assert_true Numo::Int8[1] == Crossdock::Array[1.5]
    assert_match(/Adapters::Numo\n  offers: float64 of shape \[2, 2\]/, Crossdock.explain(narray))
    assert_match(/refused: .*table of indices/, Crossdock.explain(narray[[1, 0], true]))
  end

  # ----- arrays in Numo

  # The NArray in place: nothing is copied.
  def in_numo(array)
    before = Crossdock.copied_bytes
    array.to_numo.tap { assert_equal before, Crossdock.copied_bytes }
  end

  def test_elements_of_every_type_are_shown_to_numo_in_place
    TYPES.each do |name, dtype|
      array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]], dtype: dtype)
      narray = in_numo(array)
      assert_instance_of Numo.const_get(name), narray
      assert_equal [[2, 3], array.to_a], [narray.shape, narray.to_a], name
      array[1, 2] = 9
      assert_equal [9, array.address], [narray[1, 2], in_place(narray).address], name
    end
  end

  def test_strides_become_views_of_numo
    array = Crossdock::Array.new((0...24).to_a).reshape(4, 6)
    views = {
      "steps" => array[(0..) % 2, (1..) % 3], "column" => array[true, 3], "reverse" => array[(3..0) % -1, (-1..0) % -2],
      "transpose" => array.transpose, "three axes" => array.reshape(2, 3, 4).transpose(1, 2, 0), "repeated" => array[0].broadcast_to(3, 6),
      "column-major" => array.copy(order: :column_major), "one element" => array[1..1, 2..2], "new axis" => array[true, :new, 1..],
      "complex" => array.cast(:complex128)[1.., true].transpose, "field" => Crossdock::Array.zeros(3, dtype: { a: :int32, b: :int32 }).field(:b)
    }
    views.each do |name, view|
      narray = in_numo(view)
      assert_equal [view.shape, view.to_a, view.address], [narray.shape, narray.to_a, in_place(narray).address], name
      # Numo's own methods follow the strides.
      assert_equal [view.to_a.flatten.sum, view.to_a], [narray.sum, (narray + 0).to_a], name
      assert_equal view.transpose.to_a, narray.transpose.to_a, name
    end
    assert_equal array.address, in_place(in_numo(array.transpose)[3, true]).address - 24
  end

  def test_arrays_without_axes_or_elements_are_shown_too
    assert_equal [[], [5]], in_numo(Crossdock::Array.new(5)).then { |narray| [narray.shape, narray.to_a] }
    [[0], [0, 3], [2, 0, 4]].each { |shape| assert_equal shape, in_numo(Crossdock::Array.zeros(*shape)).shape }
  end

  def test_numo_reads_and_never_writes
    array = Crossdock::Array.new([[1.5, 2.5], [3.5, 4.5]])
    [array, array.transpose].each do |one|
      narray = in_numo(one)
      [-> { narray[0, 0] = 1 }, -> { narray.fill(1) }, -> { narray.inplace + 1 }, -> { narray[1, true].fill(1) }, -> { narray.view.store(narray) },
       -> { narray.store_binary("\0".b * 32) }, -> { narray.store_binary(("\0".b * 32).freeze) }].each do |write|
        assert_match(/frozen/, message_of(RuntimeError, FrozenError, &write))
      end
      assert_raise(FrozenError) { narray.marshal_load(Numo::DFloat.zeros(100).marshal_dump) }
      assert_raise(FrozenError, Crossdock::Refusal) { Crossdock.view(narray, writable: true) }
      assert_false narray.dup.frozen?
      assert_equal one.to_a, Marshal.load(Marshal.dump(narray)).to_a
    end
    assert_match(/free would free memory that this Numo::DFloat does not own/, message_of(Crossdock::Error) { in_numo(array).free })
    assert_equal [[1.5, 3.5], [2.5, 4.5]], in_numo(array.transpose).free.to_a, "it is ignored for views"
    assert_equal [[1.5, 2.5], [3.5, 4.5]], array.to_a
  end

  def test_numo_keeps_the_elements_alive
    shown = Array.new(50) { |k| in_numo(Crossdock::Array.new((k...k + 100).to_a)[(0..) % 2]) }
    released = Crossdock::Array.new([1, 2, 3])
    last = in_numo(released)
    released.release
    4.times { GC.start }
    GC.compact if GC.respond_to?(:compact)
    200.times { Crossdock::Array.zeros(100, dtype: :int64) }
    shown.each_with_index { |narray, k| assert_equal (k...k + 100).step(2).sum, narray.sum }
    assert_equal [1, 2, 3], last.to_a
  end

  def test_the_lease_of_numo_is_one_to_read
    array = Crossdock::Array.new([1, 2, 3])
    narray = in_numo(array)
    # Numo only reads, so consumers of constant memory are not refused.
    array.to_arrow.release
    assert_match(/exported by .*a C lease/, message_of(Crossdock::Refusal) { array.to_ptr { array.to_arrow } })
    assert_equal [1, 2, 3], narray.to_a
  end

  def test_what_numo_cannot_have_in_place_is_copied_where_a_copy_may_be_made
    swapped, bools = Crossdock::Array.new([1, 2], dtype: :">int16"), Crossdock::Array.new([[true, false], [false, true]])
    unaligned = Crossdock::Array.zeros(17, dtype: :uint8)[1..].view_as("|V8").view_as(:float64)
    packed = Crossdock::Array.zeros(3, dtype: { a: :int8, b: :int16 }).field(:b)
    {
      swapped => [Numo::Int16, 4, /byte-swapped/], bools => [Numo::Bit, 1, /8 elements into a byte/],
      unaligned => [Numo::DFloat, 16, /not aligned/], packed => [Numo::Int16, 6, /aligned|multiple/]
    }.each do |array, (type, nbytes, reason)|
      refusal = assert_raise(Crossdock::Refusal) { array.to_numo }
      assert_match reason, refusal.message
      assert_equal nbytes, refusal.would_copy
      narray = array.to_numo(copy: true)
      assert_instance_of type, narray
      assert_equal array.to_a, array.dtype == :bool ? narray.to_a.map { |row| row.map { |bit| bit == 1 } } : narray.to_a
      assert_false narray.frozen?
    end
    [:float16, :bfloat16, "<U3", "<M8[s]"].each do |dtype|
      [false, true, :always].each { |copy| assert_match(/Numo has no elements of/, message_of(Crossdock::Refusal) { Crossdock::Array.zeros(2, dtype: dtype).to_numo(copy: copy) }) }
    end
    assert_raise(ArgumentError) { swapped.to_numo(copy: :never) }
  end

  def test_a_copy_is_one_pass_into_memory_of_numo
    array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]]).transpose
    before = Crossdock.copied_bytes
    narray = array.to_numo(copy: :always)
    assert_equal [48, [[1, 4], [2, 5], [3, 6]], false], [Crossdock.copied_bytes - before, narray.to_a, narray.frozen?]
    narray[0, 0] = 7
    assert_equal [7, 1], [narray[0, 0], array[0, 0]]
    assert_equal [[], [0, 3]], [Crossdock::Array.new(5).to_numo(copy: :always).shape, Crossdock::Array.zeros(0, 3).to_numo(copy: :always).shape]
  end

  # The table of docs/ruby.md.
  def test_methods_of_numo_take_an_array_or_its_narray
    array, numo = Crossdock::Array.new([[1.5, 2.5], [3.5, 4.5]]), Numo::DFloat.new(2, 2).seq
    shown = array.to_numo
    assert_equal [[1.5, 3.5], [5.5, 7.5]], (numo + shown).to_a
    assert_equal array.to_a, Numo::DFloat.zeros(2, 2).store(shown).to_a
    assert_equal array.to_a, Numo::SFloat.cast(shown).to_a
    assert_equal [array.to_a, array.to_a], Numo::DFloat[shown, shown].to_a
    assert_equal array.to_a * 2, Numo::NArray.concatenate([shown, shown]).to_a
    # These convert element by element, by `to_a`.
    assert_equal [array.to_a] * 2, [Numo::SFloat.cast(array), Numo::NArray.asarray(array)].map(&:to_a)
    [-> { numo + array }, -> { numo.store(array) }, -> { numo[0, true] = array[0] }, -> { Numo::DFloat[array] }].each do |call|
      assert_raise(NoMethodError, TypeError, Numo::NArray::CastError, &call)
    end
  end
end
