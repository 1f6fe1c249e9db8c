# frozen_string_literal: true

require_relative "helper"
require "fiddle"

class TestDLPack < Test::Unit::TestCase
  include Helper

  # `DLManagedTensorVersioned`, and the offset of its `dl_tensor`.
  VERSION, DELETER, FLAGS, TENSOR, SIZE = 0, 16, 24, 32, 80
  READ_ONLY, IS_COPIED = 1, 2

  Tensor = Struct.new(:version, :flags, :data, :device, :ndim, :code, :bits, :lanes, :shape, :strides, :byte_offset)

  # What a C consumer would read there.
  def read(address, at: TENSOR)
    bytes = Fiddle::Pointer.new(address)[0, SIZE]
    data, device, _id, ndim, code, bits, lanes, shape, strides, byte_offset = bytes[at, 48].unpack("Ql2lCCSQQQ")
    numbers = ->(pointer) { ndim.zero? ? [] : Fiddle::Pointer.new(pointer)[0, 8 * ndim].unpack("q*") }
    Tensor.new(at.zero? ? nil : bytes.unpack("LL"), at.zero? ? nil : bytes[FLAGS, 8].unpack1("Q"), data, device, ndim, code, bits, lanes,
               numbers[shape], numbers[strides], byte_offset)
  end

  def delete(address, at: DELETER)
    deleter = Fiddle::Pointer.new(address)[at, 8].unpack1("Q")
    Fiddle::Function.new(deleter, [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID).call(address)
  end

  # A foreign tensor, whose deleter is a Ruby block.
  class Foreign
    attr_reader :address, :deleted

    # Its deleter may be called late, and belongs to it.
    ALL = []

    def initialize(numbers, shape, strides: nil, version: [1, 3], flags: 0, code: 2, bits: 64, legacy: false, raises: false)
      @deleted = 0
      @data = pointer(numbers)
      @shape = pointer(shape.pack("q*"))
      @strides = strides && pointer(strides.pack("q*"))
      @deleter = Class.new(Fiddle::Closure) do
        define_method(:call) { |_tensor| block.call }
        attr_accessor :block
      end.new(Fiddle::TYPE_VOID, [Fiddle::TYPE_VOIDP])
      @deleter.block = lambda do
        @deleted += 1
        raise "useless" if raises
      end
      tensor = [@data.to_i, 1, 0, shape.size, code, bits, 1, @shape.to_i, @strides.to_i, 0].pack("Ql2lCCSQQQ")
      function = [0, @deleter.to_i].pack("QQ")
      @struct = pointer(legacy ? tensor + function : version.pack("LL") + function + [flags].pack("Q") + tensor)
      @address = @struct.to_i
      ALL << self
    end

    def pointer(bytes)
      Fiddle::Pointer.malloc([bytes.bytesize, 1].max, Fiddle::RUBY_FREE).tap { |made| made[0, bytes.bytesize] = bytes unless bytes.empty? }
    end
  end

  def collect
    Array.new(50) { Object.new }
    GC.start
    # Loans that a collection queued are released when an array is made.
    Crossdock::Array.new([0])
  end

  def test_a_consumer_reads_the_struct_and_calls_the_deleter
    array = Crossdock::Array.new([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    capsule = array.transpose.to_dlpack
    tensor = read(capsule.address)
    assert_equal [[1, 3], 0, array.address, 1, 2, 2, 64, 1, [3, 2], [1, 3], 0], tensor.to_a
    assert_equal ["dltensor_versioned", true, false, 0], [capsule.name, capsule.versioned?, capsule.used?, capsule.copied_nbytes]
    assert_equal capsule.address, capsule.to_ptr.to_i

    # Until the deleter is called, the consumer may write: Arrow, which needs constant memory, is
    # refused.
    address = capsule.take
    assert_equal "used_dltensor_versioned", capsule.name
    assert_match(/Share/i, message_of(Crossdock::Refusal) { array.to_arrow })
    delete(address)
    assert_equal 2, array.to_arrow.length
  end

  def test_a_capsule_is_taken_once
    capsule = Crossdock::Array.new([1, 2]).to_dlpack
    address = capsule.take
    assert capsule.used?
    [-> { capsule.take }, -> { capsule.address }, -> { capsule.to_ptr }, -> { Crossdock.from_dlpack(capsule) }].each do |again|
      assert_match(/taken once/, message_of(Crossdock::Error, &again))
    end
    assert_match(/used_dltensor_versioned/, capsule.inspect)
    capsule.release
    delete(address)
  end

  def test_what_nobody_takes_is_given_back_by_the_collector_or_by_release
    array = Crossdock::Array.new([1, 2])
    100.times { array.to_dlpack }
    capsule = array.to_dlpack
    assert_raise(Crossdock::Refusal) { array.to_arrow }
    capsule.release
    assert capsule.used?
    # A register may still refer to a capsule or two.
    20.times { break if lendable?(array) || !collect }
    assert lendable?(array)
  end

  def lendable?(array)
    array.to_arrow.release
    true
  rescue Crossdock::Refusal
    false
  end

  def test_it_comes_back_as_the_same_memory
    array = Crossdock::Array.new([[1, 2], [3, 4]], dtype: :int32)
    same = Crossdock.from_dlpack(array) # which answers to to_dlpack
    assert_equal :int32, same.dtype
    assert_equal [array.address, [2, 2], array.strides], [same.address, same.shape, same.strides]
    same[1, 1] = 40
    assert_equal 40, array[1, 1]
    assert_equal array.address, Crossdock.from_dlpack(array.to_dlpack.take).address
    assert_equal array.address, Crossdock.from_dlpack(Fiddle::Pointer.new(array.to_dlpack.take)).address
  end

  def test_read_only_arrays_need_a_word_or_a_copy
    array = Crossdock::Array.new([1, 2, 3]).freeze
    assert_match(/read-only/, message_of(Crossdock::Refusal) { array.to_dlpack })
    assert_equal 24, assert_raise(Crossdock::Refusal) { array.to_dlpack }.would_copy

    copied = array.to_dlpack(copy: true)
    assert_equal [24, IS_COPIED], [copied.copied_nbytes, read(copied.address).flags]
    assert_not_equal array.address, read(copied.address).data

    trusted = array.to_dlpack(trust_readonly: true)
    assert_equal [array.address, READ_ONLY], [read(trusted.address).data, read(trusted.address).flags]
    assert Crossdock.from_dlpack(trusted).readonly?
    assert_equal 24, Crossdock::Array.new([1, 2, 3]).to_dlpack(copy: :always).copied_nbytes
    assert_match(/:maybe/, message_of(ArgumentError) { array.to_dlpack(copy: :maybe) })
  end

  def test_what_dlpack_cannot_say_is_refused
    { Crossdock::Array.new(["ab"]) => /U2|text/i, Crossdock::Array.zeros(2, dtype: ">i4") => /byte order|big/i }.each do |array, why|
      assert_match(why, message_of(Crossdock::Refusal) { array.to_dlpack })
    end
  end

  def test_the_struct_from_before_version_1
    array = Crossdock::Array.new([1, 2, 3])
    capsule = array.to_dlpack(legacy: true)
    assert_equal ["dltensor", false], [capsule.name, capsule.versioned?]
    assert_equal [array.address, [3]], read(capsule.address, at: 0).then { |tensor| [tensor.data, tensor.shape] }
    assert Crossdock.from_dlpack(capsule).readonly?
    address = array.to_dlpack(legacy: true).take
    refute Crossdock.from_dlpack(address, legacy: true, writable: true).readonly?
  end

  def test_tensors_of_others_are_taken_in_place_and_given_back_once
    foreign = Foreign.new([1.5, 2.5, 3.5, 4.5].pack("d*"), [2, 2], strides: [1, 2])
    array = Crossdock.from_dlpack(foreign.address)
    assert_equal [[1.5, 3.5], [2.5, 4.5]], array.to_a
    assert_equal [8, 16], array.strides
    part = array[0]
    array.release
    assert_equal 0, foreign.deleted
    part.release
    assert_equal 1, foreign.deleted
  end

  def test_a_deleter_in_ruby_is_not_called_within_a_collection
    foreign = Array.new(20) { Foreign.new([1.0].pack("d"), [1]) }
    foreign.each { |one| Crossdock.from_dlpack(one.address) }
    capsules = foreign.size
    # A register may still refer to the last one or two.
    20.times { break if foreign.sum(&:deleted) >= capsules - 2 || !collect }
    assert_operator foreign.sum(&:deleted), :>=, capsules - 2
    assert(foreign.all? { |one| one.deleted <= 1 })
  end

  def test_capsules_for_tensors_of_others
    foreign = Foreign.new([7.5].pack("d"), [1])
    capsule = Crossdock::DLPack.new(foreign.address)
    array = Crossdock.from_dlpack(capsule)
    assert_equal [7.5], array.to_a
    array.release
    assert_equal 1, foreign.deleted

    unused = Foreign.new([7.5].pack("d"), [1])
    Crossdock::DLPack.new(unused.address).release
    assert_equal 1, unused.deleted

    old = Foreign.new([7.5].pack("d"), [1], legacy: true)
    array = Crossdock.from_dlpack(Crossdock::DLPack.new(old.address, legacy: true))
    assert_equal [7.5], array.to_a
    array.release
    assert_equal 1, old.deleted

    later = Foreign.new([7.5].pack("d"), [1], version: [2, 0])
    assert_match(/2\.0/, message_of(ArgumentError) { Crossdock::DLPack.new(later.address) })
    assert_equal 0, later.deleted
    assert_raise(ArgumentError) { Crossdock::DLPack.new(0) }
    assert_raise(TypeError) { Crossdock.from_dlpack(Object.new) }
  end

  def test_the_owner_of_a_deleter_is_kept_until_it_was_called
    foreign = Foreign.new([7.5].pack("d"), [1])
    Foreign::ALL.delete(foreign)
    watched = ObjectSpace::WeakMap.new
    watched[foreign] = true
    array = Crossdock.from_dlpack(Crossdock::DLPack.new(foreign.address, owner: foreign))
    foreign = nil
    5.times { collect }
    assert_equal [1, [7.5]], [watched.size, array.to_a]
    array.release
  end

  def test_what_a_deleter_raises_goes_nowhere
    foreign = Foreign.new([1.0].pack("d"), [1], raises: true)
    array = Crossdock.from_dlpack(foreign.address)
    array.release
    assert_equal 1, foreign.deleted
  end

  def test_structs_that_contradict_themselves_are_errors_and_given_back
    {
      { shape: [-1] } => /-1/, { shape: [2**62] } => /address space|overflow|bytes/, { version: [2, 0] } => /2\.0/,
      { code: 99 } => /99/, { bits: 7 } => /7/
    }.each do |wrong, why|
      foreign = Foreign.new([1.0].pack("d"), wrong.fetch(:shape, [1]), **wrong.except(:shape))
      assert_match(why, assert_raise_kind_of(StandardError) { Crossdock.from_dlpack(foreign.address) }.message, wrong.inspect)
      assert_equal 1, foreign.deleted, wrong.inspect
    end
    assert_match(/null/, assert_raise_kind_of(StandardError) { Crossdock.from_dlpack(0) }.message)
  end
end
