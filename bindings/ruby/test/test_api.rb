# frozen_string_literal: true

require_relative "helper"
require_relative "native"

Native.load("extension", includes: [Crossdock.include_dir, File.expand_path("../ext/crossdock/include", __dir__)]) unless defined?(Extension)

# A C extension that only uses the header.
class TestApi < Test::Unit::TestCase
  include Helper

  def test_memory_of_an_extension_is_an_array_in_place_and_given_back_once
    before = Extension.released
    array = Extension.make(6, "float32")
    assert_equal [[[2.0, 2.5], [1.0, 1.5], [0.0, 0.5]], [-8, 4], :float32], [array.to_a, array.strides, array.dtype]
    array[0, 0] = 9
    part = array[true, 0]
    array.release
    assert_equal [[9.0, 1.0, 0.0], before], [part.to_a, Extension.released]
    part.release
    assert_equal before + 1, Extension.released
  end

  def test_what_is_refused_is_given_back_before
    before = Extension.released
    assert_match(/flaot/, message_of(ArgumentError) { Extension.make(6, "flaot") })
    assert_match(/length -1/, message_of(ArgumentError) { Extension.make(-2, "float32") })
    assert_equal before + 2, Extension.released
  end

  def test_axes_without_a_shape_are_refused
    [[-1, true], [-1, false], [1, false], [2, false], [-(2**62), true]].each do |ndim, has_shape|
      assert_match(/#{ndim} axes without a shape/, message_of(ArgumentError) { Extension.make_badly(ndim, has_shape) })
    end
    assert_equal [[], [2], [2, 2]], [[0, false], [1, true], [2, true]].map { |ndim, has_shape| Extension.make_badly(ndim, has_shape).shape }
  end

  def test_an_owner_is_kept
    arrays = ::Array.new(300) { |number| Extension.wrap("#{number} is a String without another owner".dup) }
    GC.start
    ::Array.new(1000) { "x" * 40 }
    assert_equal(::Array.new(300) { |number| "#{number} is a String without another owner" }, arrays.map(&:to_binary))
    assert_predicate arrays[0], :readonly?
  end

  def test_an_extension_reads_whatever_exports_a_memory_view
    assert_equal 6.0, Extension.sum(Crossdock::Array.new([1.5, 2.0, 2.5]))
    assert_equal 9.0, Extension.sum(Crossdock::Array.new([2, 100, 3, 100, 4])[(0..) % 2])
    # Through an adapter.
    assert_equal 294.0, Extension.sum(IO::Buffer.for("abc"))
    assert_match(/String exports no MemoryView/, message_of(TypeError) { Extension.sum("text") })
  end

  def test_items_are_found_within_bounds
    array = Crossdock::Array.from_string("abc")
    assert_equal [97, 99], [Extension.byte_at(array, 0), Extension.byte_at(array, 2)]
    assert_match(/index 3.*length 3/, message_of(IndexError) { Extension.byte_at(array, 3) })
  end
end
