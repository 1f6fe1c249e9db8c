# frozen_string_literal: true

require_relative "helper"
require "fiddle"

class TestArrow < Test::Unit::TestCase
  include Helper

  # The offsets of the functions in `ArrowSchema` and `ArrowArray`, and the sizes of both.
  RELEASE = { schema: 56, array: 64 }.freeze
  SIZE = { schema: 72, array: 80 }.freeze

  # A foreign column of doubles, whose functions are written in Ruby.
  class Foreign
    # Its functions may be called late, and belong to it.
    ALL = []

    attr_reader :schema, :array, :released

    def initialize(numbers, format: "g", length: numbers.size, valid: nil)
      @released = []
      @kept = []
      data = pointer(numbers.pack("d*"))
      bitmap = valid && pointer([valid.each_with_index.sum { |yes, at| yes ? 1 << at : 0 }].pack("Q"))
      buffers = pointer([bitmap.to_i, data.to_i].pack("QQ"))
      @schema = pointer([pointer("#{format}\0").to_i, pointer("number\0").to_i, 0, 2, 0, 0, 0, function(:schema, 56), 0].pack("QQQqqQQQQ")).to_i
      nulls = valid ? valid.count(false) : 0
      @array = pointer([length, nulls, 0, 2, 0, buffers.to_i, 0, 0, function(:array, 64), 0].pack("q5Q5")).to_i
      ALL << self
    end

    def function(which, offset)
      released = @released
      closure = Class.new(Fiddle::Closure) do
        define_method(:call) do |struct|
          released << which
          Fiddle::Pointer.new(struct)[offset, 8] = "\0" * 8
        end
      end
      @kept << closure.new(Fiddle::TYPE_VOID, [Fiddle::TYPE_VOIDP])
      @kept.last.to_i
    end

    def pointer(bytes)
      @kept << Fiddle::Pointer.malloc(bytes.bytesize, Fiddle::RUBY_FREE)
      @kept.last[0, bytes.bytesize] = bytes
      @kept.last
    end
  end

  def release_of(address, which)
    Fiddle::Pointer.new(address)[RELEASE[which], 8].unpack1("Q")
  end

  def release(address, which)
    Fiddle::Function.new(release_of(address, which), [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID).call(address)
  end

  # A move as the interface defines it: the bytes, and the mark.
  def move(address, which)
    moved = Fiddle::Pointer.malloc(SIZE[which], Fiddle::RUBY_FREE)
    moved[0, SIZE[which]] = Fiddle::Pointer.new(address)[0, SIZE[which]]
    Fiddle::Pointer.new(address)[RELEASE[which], 8] = "\0" * 8
    moved
  end

  def test_a_consumer_reads_the_structs_moves_and_releases_them
    array = Crossdock::Array.new([1.5, 2.5, 3.5])
    column = array.to_arrow(name: :number)
    format, name = Fiddle::Pointer.new(column.schema)[0, 16].unpack("QQ")
    assert_equal %w[g number], [format, name].map { |text| Fiddle::Pointer.new(text).to_s }
    length, nulls, offset, buffers, children, pointers = Fiddle::Pointer.new(column.array)[0, 48].unpack("q5Q")
    assert_equal [3, 0, 0, 2, 0], [length, nulls, offset, buffers, children]
    assert_equal [0, array.address], Fiddle::Pointer.new(pointers)[0, 16].unpack("QQ")
    assert_equal ["g", "number", 3, 0, 0, false],
                 [column.format, column.name, column.length, column.null_count, column.copied_nbytes, column.released?]

    schema, moved = move(column.schema, :schema), move(column.array, :array)
    assert column.released?
    [:format, :name, :length, :null_count].each { |what| assert_match(/taken once/, message_of(Crossdock::Error) { column.public_send(what) }) }
    # The object has nothing to release any more, and the consumer holds the lease.
    column.release
    assert_match(/Read/i, message_of(Crossdock::Refusal) { array[0] = 7.5 })
    release(moved.to_i, :array)
    release(schema.to_i, :schema)
    array[0] = 7.5
    assert_equal [0, 0], [release_of(moved.to_i, :array), release_of(schema.to_i, :schema)]
  end

  def test_what_nobody_moves_is_released_by_the_collector_or_by_release
    array = Crossdock::Array.new([1, 2])
    column = array.to_arrow
    assert_raise(Crossdock::Refusal) { array[0] = 7 }
    column.release
    column.release
    array[0] = 7
    50.times { array.to_arrow }
    20.times { break if writable?(array) || !GC.start.nil? }
    assert writable?(array)
  end

  def writable?(array)
    array[0] = 1
    true
  rescue Crossdock::Refusal
    false
  end

  def test_it_comes_back_as_the_same_memory_and_read_only
    array = Crossdock::Array.new([[1, 2], [3, 4], [5, 6]], dtype: :int16)
    back = Crossdock.from_arrow(array) # which answers to to_arrow_c_array
    assert_equal [array.address, [3, 2], :int16, true], [back.address, back.shape, back.dtype, back.readonly?]
    column = array.to_arrow
    assert_equal array.address, Crossdock.from_arrow(column.schema, column.array).address
    assert column.released?
    pair = Struct.new(:to_arrow_c_array)
    column = array.to_arrow
    assert_equal array.address, Crossdock.from_arrow(pair.new([column.schema, Fiddle::Pointer.new(column.array)])).address
  end

  def test_memory_that_others_may_write_is_refused_unless_a_copy_may_be_made
    array = Crossdock::Array.new([1, 2, 3])
    capsule = array.to_dlpack
    assert_match(/Share/i, message_of(Crossdock::Refusal) { array.to_arrow })
    capsule.release
    shared = array.to_shared_memory
    refusal = assert_raise(Crossdock::Refusal) { shared.to_arrow }
    assert_equal [24, :read], [refusal.would_copy, refusal.asked[:lease]]
    assert_equal 24, shared.to_arrow(copy: true).copied_nbytes
    assert_equal 0, array.to_arrow(copy: true).copied_nbytes
    assert_equal 24, array.to_arrow(copy: :always).copied_nbytes
  end

  def test_what_arrow_cannot_say_is_refused
    assert_match(/strides/, message_of(Crossdock::Refusal) { Crossdock::Array.new([1, 2, 3])[(0..).step(2)].to_arrow })
    assert_match(/complex/, message_of(Crossdock::Refusal) { Crossdock::Array.new([1i]).to_arrow })
    assert_equal [1, "+w:6"], Crossdock::Array.new([[1, 2, 3], [4, 5, 6]]).transpose.to_arrow(whole: true).then { |c| [c.length, c.format] }
  end

  def test_nulls_are_a_mask
    array = Crossdock::Array.new([1.5, 2.5, 3.5])
    column = array.to_arrow(mask: Crossdock::Array.new([true, false, true]))
    assert_equal 1, column.null_count
    values, mask = Crossdock.from_arrow(column, as: :masked)
    assert_equal [[true, false, true], array.address], [mask.to_a, values.address]
    column = array.to_arrow(mask: Crossdock::Array.new([true, false, true]))
    assert_match(/1 .*null|null.* 1/, assert_raise_kind_of(StandardError) { Crossdock.from_arrow(column) }.message)
    assert_equal [[1.5, 2.5, 3.5], nil], Crossdock.from_arrow(array, as: :masked).then { |back, none| [back.to_a, none] }
    assert_raise(TypeError) { array.to_arrow(mask: [true]) }
  end

  def test_structs_are_columns_or_records
    records = Crossdock::Array.zeros(3, dtype: "[('price', '<f8'), ('count', '<i4')]")
    records.field(:price)[0..] = Crossdock::Array.new([1.5, 2.5, 3.5])
    columns = Crossdock.from_arrow(records.to_arrow(copy: true), as: :columns)
    assert_equal({ "price" => [1.5, 2.5, 3.5], "count" => [0, 0, 0] }, columns.transform_values(&:to_a))
    back = Crossdock.from_arrow(records.to_arrow(copy: true), as: :records)
    assert_equal [1.5, 2.5, 3.5], back.field(:price).to_a
    assert_match(/columns/, assert_raise_kind_of(StandardError) { Crossdock.from_arrow(records.to_arrow(copy: true)) }.message)
    column = records.to_arrow(copy: true)
    assert_match(/:array/, message_of(ArgumentError) { Crossdock.from_arrow(column, as: :frames) })
    refute column.released?
  end

  def test_columns_of_others_are_taken_in_place_and_released_once
    foreign = Foreign.new([1.5, 2.5, 3.5])
    array = Crossdock.from_arrow(foreign.schema, foreign.array)
    assert_equal [[1.5, 2.5, 3.5], [:schema]], [array.to_a, foreign.released]
    assert_equal [0, 0], [release_of(foreign.schema, :schema), release_of(foreign.array, :array)]
    part = array[1..]
    array.release
    assert_equal [2.5, 3.5], part.to_a
    assert_equal [:schema], foreign.released
    part.release
    assert_equal %i[schema array], foreign.released

    assert_match(/released, or moved/, message_of(Crossdock::Error) { Crossdock.from_arrow(foreign.schema, foreign.array) })
    nulls = Foreign.new([1.5, 2.5], valid: [false, true])
    assert_equal [false, true], Crossdock.from_arrow(nulls.schema, nulls.array, as: :masked).last.to_a
  end

  def test_columns_around_structs_of_others
    foreign = Foreign.new([1.5, 2.5])
    column = Crossdock::ArrowColumn.new(foreign.schema, foreign.array, owner: foreign)
    assert_equal ["g", "number", 2], [column.format, column.name, column.length]
    array = Crossdock.from_arrow(column)
    assert_equal [1.5, 2.5], array.to_a
    array.release
    assert_equal %i[schema array], foreign.released

    unused = Foreign.new([1.5])
    Crossdock::ArrowColumn.new(unused.schema, unused.array).release
    assert_equal %i[array schema], unused.released
    assert_raise(ArgumentError) { Crossdock::ArrowColumn.new(0, 0) }
    assert_raise(TypeError) { Crossdock.from_arrow(Object.new) }
  end

  def test_a_release_in_ruby_is_not_called_within_a_collection
    foreign = Array.new(20) { Foreign.new([1.5]) }
    foreign.each { |one| Crossdock.from_arrow(one.schema, one.array) }
    20.times do
      GC.start
      Crossdock::Array.new([0])
    end
    # A register may still refer to the last one or two.
    assert_operator foreign.count { |one| one.released == %i[schema array] }, :>=, 18
  end

  def test_structs_that_contradict_themselves_are_errors_and_released
    { { format: "?" } => /"?\?"?/, { length: -1 } => /-1/, { format: "+l" } => /\+l|list|child/ }.each do |wrong, why|
      foreign = Foreign.new([1.5], **wrong)
      assert_match(why, assert_raise_kind_of(StandardError) { Crossdock.from_arrow(foreign.schema, foreign.array) }.message)
      assert_equal %i[array schema], foreign.released.sort, wrong.inspect
    end
  end
end
