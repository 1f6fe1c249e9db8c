# frozen_string_literal: true

require_relative "helper"
require "fiddle"

# `to_ptr`: the address of an array for functions in C, under a lease.
class TestPointers < Test::Unit::TestCase
  include Helper

  C = Fiddle.dlopen(nil)
  MEMSET = Fiddle::Function.new(C["memset"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
  QSORT = Fiddle::Function.new(C["qsort"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)

  def numbers
    Crossdock::Array.new([3, 1, 2])
  end

  # A class of pointers whose `new` takes an address, like FFI's.
  class Address
    attr_reader :to_i

    def initialize(address)
      @to_i = address
    end
  end

  def test_a_function_writes_the_elements_in_place
    array = numbers
    compare = Class.new(Fiddle::Closure) do
      define_method(:call) { |one, other| [one, other].map { |pointer| pointer[0, 8].unpack1("q") }.then { |a, b| a <=> b } }
    end
    compare = compare.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP])
    before = Crossdock.copied_bytes
    answer = array.to_ptr do |pointer|
      assert_equal [Fiddle::Pointer, array.address, 24], [pointer.class, pointer.to_i, pointer.size]
      QSORT.call(pointer, array.size, array.itemsize, compare)
      "sorted"
    end
    assert_equal ["sorted", [1, 2, 3], before], [answer, array.to_a, Crossdock.copied_bytes]
  end

  def test_functions_of_fiddle_take_an_array_itself
    array = numbers
    MEMSET.call(array, 0, 16)
    assert_equal [0, 0, 2], array.to_a
    assert_equal array.address, Fiddle::Pointer[array].to_i
  end

  def test_the_lease_ends_with_the_block
    array = numbers
    array.to_ptr { assert_match(/1 share lease held; it was exported by .*a C lease/, message_of(Crossdock::Refusal) { array.to_arrow }) }
    array.to_arrow.release
    assert_raise(IOError) { array.to_ptr { raise IOError } }
    column = array.to_arrow
    assert_raise(Crossdock::Refusal) { array.to_ptr { flunk } }
    array.to_ptr(writable: false) { |pointer| assert_equal [3], pointer[0, 8].unpack("q") }
    column.release
  end

  def test_a_pointer_without_a_block_keeps_the_elements_and_the_lease
    pointer = numbers.to_ptr
    4.times { GC.start }
    100.times { numbers }
    assert_equal [3, 1, 2], pointer[0, 24].unpack("q3")
    array = numbers
    kept = array.to_ptr
    array.release
    assert_equal [3, 1, 2], kept[0, 24].unpack("q3")
    array = numbers
    # On a stack of its own, where the collector finds none of them later.
    Thread.new { 50.times { array.to_ptr } }.join
    20.times do
      GC.start
      array.to_arrow.release
      break
    rescue Crossdock::Refusal
      Crossdock::Array.new([0])
    end
    array.to_arrow.release
  end

  def test_what_is_read_only_is_not_lent_to_write
    [numbers.to_readonly, numbers.freeze].each do |array|
      assert_raise(FrozenError) { array.to_ptr(writable: true) }
      array.to_ptr { |pointer| assert_equal [3], pointer[0, 8].unpack("q") }
    end
  end

  def test_elements_with_gaps_need_a_function_that_knows_the_strides
    array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])
    [array.transpose, array[true, 1], array[true, (-1..0) % -1]].each do |part|
      assert_match(/not contiguous in row-major order/, message_of(Crossdock::Refusal) { part.to_ptr })
      part.to_ptr(strided: true) { |pointer| assert_equal part.address, pointer.to_i }
    end
    assert_equal 0, Crossdock::Array.zeros(0, 3).to_ptr.size
  end

  def test_pointers_of_other_classes
    array = numbers
    assert_equal [Address, array.address], array.to_ptr(Address) { |pointer| [pointer.class, pointer.to_i] }
    assert_equal array.address, array.to_ptr(Address).to_i
  end

  def test_what_is_no_class_of_pointers_is_a_type_error
    array = numbers
    [5, "x", String, Object, Integer, Struct.new(:other)].each do |kind|
      assert_match(/FFI::Pointer/, message_of(TypeError) { array.to_ptr(kind) { flunk } }, kind)
    end
    # No lease is left.
    array.to_arrow.release
  end

  def test_another_ractor_has_pointers_where_their_class_permits_it
    Warning[:experimental] = false
    ractor = Ractor.new do
      array = Crossdock::Array[7, 8]
      number = array.to_ptr(Address) { |pointer| pointer.to_i - array.address }
      [number, array.to_ptr { |pointer| pointer[0, 8].unpack1("q") }]
    rescue Crossdock::Error => error
      [number, error.message]
    end
    number, fiddle = value_of(ractor)
    # Fiddle's own code decides.
    assert_equal [0, true], [number, fiddle == 7 || fiddle.match?(/main Ractor only.*another class/)]
  ensure
    Warning[:experimental] = true
  end

  def test_pointers_of_ffi
    library "ffi"
    array = numbers
    assert_equal [3, 1, 2], array.to_ptr(FFI::Pointer) { |pointer| pointer.read_array_of_int64(3) }
  end
end
