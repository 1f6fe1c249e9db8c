# frozen_string_literal: true

require_relative "helper"
require "fiddle"
require "socket"
require "tmpdir"

# The checks of the importers at their bounds: the last valid value is accepted, and the next is
# refused.
class TestImporters < Test::Unit::TestCase
  include Helper

  def setup
    @experimental, Warning[:experimental] = Warning[:experimental], false
  end

  def teardown
    Warning[:experimental] = @experimental
  end

  # ----- an address

  def at(address, **options)
    Crossdock.at_address(address, dtype: :float64, **options)
  end

  def test_memory_ends_where_the_address_space_does
    assert_match(/leave the address space/, message_of(ArgumentError) { at(2**64 - 8, shape: [2]) })
    assert_match(/leave the address space/, message_of(ArgumentError) { at(2**64 - 8, shape: [1]) })
    assert_match(/leave the address space/, message_of(ArgumentError) { at(16, shape: [4], strides: [-8]) })
    assert_match(/null pointer/, message_of(Crossdock::Error) { at(16, shape: [3], strides: [-8]) })
    assert_equal 16, at(16, shape: [2], strides: [-8]).address
    assert_match(/-1|negative/, message_of(ArgumentError, RangeError) { at(16, shape: [-1]) })
    assert_raise(ArgumentError) { at(16, shape: [2, 2], strides: [8]) }
    assert_raise(RangeError) { at(16, shape: [2**60, 2]) }
    assert_raise(TypeError) { at(Object.new, shape: [1]) }
    assert_raise(TypeError) { at(1.5, shape: [1]) }
  end

  def test_memory_at_an_address_is_read_only_unless_it_is_said_to_be_writable
    memory = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
    assert_equal [true, false], [at(memory, shape: 1), at(memory, shape: 1, writable: true)].map(&:readonly?)
    assert_raise(FrozenError) { at(memory, shape: 1).fill(1) }
    assert_equal 1.5, at(memory, shape: 1, writable: true).fill(1.5)[0]
    assert_match(/cannot be writable/, message_of(ArgumentError) { at(memory, shape: 1, writable: true, constant: true) })
  end

  # ----- strings

  def test_a_string_has_just_the_bytes_of_the_shape
    string = "abcdefgh".b.freeze
    shapes = [[:uint8, [8]], [:uint8, [2, 4]], [:int16, [4]], [:int64, [1]], [:int64, []], ["|S3", [2]], [:uint8, [0]], [:uint8, [9]], [:int16, [3]]]
    fitting = shapes.select do |dtype, shape|
      Crossdock::Array.from_string(string, dtype: dtype, shape: shape)
    rescue ArgumentError => error
      assert_match(/8 bytes is no array of shape/, error.message)
      nil
    end
    assert_equal shapes.first(5), fitting
    assert_match(/no whole number of S3/, message_of(ArgumentError) { Crossdock::Array.from_string(string, dtype: "|S3") })
    assert_equal 0, Crossdock::Array.from_string("".b.freeze, dtype: :int64).size
    # A refused String is not locked.
    mutable = +"abc"
    assert_raise(ArgumentError) { Crossdock::Array.from_string(mutable, dtype: :int16) }
    assert_raise(ArgumentError) { Crossdock::Array.from_string(mutable, shape: [4]) }
    assert_equal "abcd", mutable << "d"
  end

  # ----- IO::Buffer

  def test_slices_of_a_buffer_lie_in_it_from_the_first_byte_to_the_last
    buffer = IO::Buffer.new(8)
    buffer.set_string("abcdefgh")
    [[0, 8], [0, 1], [7, 1], [3, 2]].each do |from, length|
      array = Crossdock.view(buffer.slice(from, length), writable: true)
      assert_equal "abcdefgh"[from, length], array.to_binary
      assert_raise(IO::Buffer::LockedError) { buffer.free }
      array.release
    end
    nested = Crossdock.view(buffer.slice(2, 6).slice(1, 3).slice(1, 2))
    assert_equal "ef", nested.to_binary
    nested.release
    assert_nothing_raised { buffer.free }
  end

  def test_a_buffer_is_locked_until_the_last_array_of_it_has_gone
    buffer = IO::Buffer.new(4)
    arrays = [Crossdock.view(buffer), Crossdock.view(buffer.slice(1, 2)), Crossdock.view(buffer)]
    arrays.shuffle.each do |array|
      assert_raise(IO::Buffer::LockedError) { buffer.resize(8) }
      array.release
    end
    assert_equal 8, buffer.resize(8).size
    buffer.locked { assert_raise(IO::Buffer::LockedError) { Crossdock.view(buffer) } }
    # A refused buffer holds no share of the lock.
    assert_nothing_raised { buffer.free }
  end

  # ----- shared memory

  def test_a_description_reaches_no_byte_behind_its_file
    Dir.mktmpdir do |folder|
      path = File.join(folder, "bytes")
      File.binwrite(path, "abcdefgh")
      File.open(path) do |file|
        text = ->(offset, length) { "offset=#{offset}; access=read; shape=#{length}; strides=1; dtype=|u1" }
        [[0, 8], [7, 1], [8, 0]].each { |offset, length| assert_equal length, Crossdock::SharedMemory.import(file, text[offset, length]).size }
        [[0, 9], [7, 2], [8, 1], [9, 0], [2**63 - 1, 1], [2**64 - 1, 1]].each do |offset, length|
          assert_raise_kind_of(StandardError, "#{offset} #{length}") { Crossdock::SharedMemory.import(file, text[offset, length]) }
        end
        assert_raise_kind_of(StandardError) { Crossdock::SharedMemory.import(file, "offset=0; access=write; shape=8; strides=1; dtype=|u1") }
      end
    end
    text = Crossdock::Array[1].to_shared_memory.share_memory.description
    assert_match(/-1 is no descriptor/, message_of(ArgumentError) { Crossdock::SharedMemory.import(-1, text) })
    assert_raise(IOError) { Crossdock::SharedMemory.import(IO.pipe.each(&:close)[0], text) }
    assert_match(/duplicated/, message_of(Errno::EBADF) { Crossdock::SharedMemory.import(1_000_000, text) })
  end

  def test_what_was_closed_lends_nothing
    shared = Crossdock::Array[1].share_memory(copy: true)
    2.times { shared.close }
    [:fileno, :description, :copied_nbytes].each { |method| assert_match(/closed/, message_of(Crossdock::Error) { shared.public_send(method) }) }
    UNIXSocket.pair { |ours, _| assert_match(/closed/, message_of(Crossdock::Error) { shared.send_to(ours) }) }
    UNIXSocket.pair do |ours, theirs|
      ours.close
      assert_nil Crossdock::SharedMemory.receive(theirs)
    end
  end

  # ----- Arrow and DLPack

  def test_a_form_that_arrow_does_not_have_takes_nothing
    column = Crossdock::Array[1, 2].freeze.to_arrow
    assert_match(/:array, :masked, :columns or :records/, message_of(ArgumentError) { Crossdock.from_arrow(column, as: :table) })
    assert_equal [1, 2], Crossdock.from_arrow(column).to_a
    [[0, 0], [column.schema, 0], [0, column.array]].each { |pair| assert_match(/address 0/, message_of(ArgumentError) { Crossdock.from_arrow(*pair) }) }
    assert_match(/two addresses/, message_of(TypeError) { Crossdock.from_arrow([column.schema]) })
    assert_match(/released, or moved/, message_of(Crossdock::Error) { Crossdock::ArrowColumn.new(column.schema, column.array) })
    assert_match(/mask is a Crossdock::Array/, message_of(TypeError) { Crossdock::Array[1].freeze.to_arrow(mask: [true]) })
  end

  def test_a_tensor_of_another_major_version_stays_its_producers
    [[0, 0], [2, 0], [2**32 - 1, 0]].each do |major, minor|
      struct = Fiddle::Pointer.malloc(80, Fiddle::RUBY_FREE)
      struct[0, 80] = [major, minor].pack("LL") + "\xff".b * 72
      assert_match(/#{major}\.#{minor}.*stays the caller's/, message_of(ArgumentError) { Crossdock::DLPack.new(struct) })
    end
    assert_match(/address 0/, message_of(ArgumentError) { Crossdock::DLPack.new(0) })
    assert_match(/address 0/, message_of(ArgumentError) { Crossdock::DLPack.new(0, legacy: true) })
  end
end
