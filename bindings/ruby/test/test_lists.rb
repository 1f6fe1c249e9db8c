# frozen_string_literal: true

require_relative "helper"
require "bigdecimal"
require "set"

# Arrays beside Ruby's own lists: what becomes an array, and what an array does as a list does.
class TestLists < Test::Unit::TestCase
  include Helper

  GRID = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])

  def dtype_and_elements(array)
    [array.dtype, array.to_a]
  end

  def test_every_list_of_ruby_becomes_an_array
    three = [:int64, [1, 2, 3]]
    { (1..3) => three, Set[1, 2, 3] => three, [1, 2, 3].each => three, (1..3).lazy => three, 1.step(3) => three, (1..6) % 2 => [:int64, [1, 3, 5]],
      ("a".."c") => [:U1, %w[a b c]], (0.0..1.0).step(0.5) => [:float64, [0.0, 0.5, 1.0]], [BigDecimal("0.5")].to_set => [:float64, [0.5]] }.each do |list, expected|
      assert_equal expected, dtype_and_elements(Crossdock::Array.new(list)), list.inspect
    end
    assert_equal [[1, 2, 3], [4, 5, 6], [7, 8, 9]], Crossdock::Array.new([1..3, Set[4, 5, 6], [7, 8, 9].each]).to_a
    assert_equal [[[1, 2]], [[3, 4]]], Crossdock::Array.new([[[1, 2]], [3..4]]).to_a
    assert_equal [:float32, [0, 1]], dtype_and_elements(Crossdock::Array.new(0..1, dtype: :float32))
  end

  def test_lists_are_written_into_parts
    array = Crossdock::Array.zeros(2, 3, dtype: :int8)
    array[0] = 1..3
    array[1] = Set[4, 5, 6]
    assert_equal GRID.to_a, array.to_a
    array[true] = [7..9, GRID[1]]
    assert_equal [[7, 8, 9], [4, 5, 6]], array.to_a
    assert_equal [[1, 2, 3]] * 2, array.fill(1.step(3)).to_a
  end

  def test_a_list_is_not_changed_and_not_endless
    nested = [1..2, 3..4].freeze
    Crossdock::Array.new(nested)
    assert_equal [1..2, 3..4], nested
    [(1..), [1].cycle, 1.step].each do |endless|
      assert_match(/infinitely many/, message_of(ArgumentError) { Crossdock::Array.new(endless) })
    end
    own = []
    own << own
    assert_raise(ArgumentError) { Crossdock::Array.new(own) }
    assert_raise(ArgumentError) { Crossdock::Array.new([1..2, 1..3]) }
  end

  def test_a_list_of_arrays_is_an_array_with_one_more_axis
    one, two = Crossdock::Array.new([1, 2], dtype: :int16), Crossdock::Array.new([3, 4], dtype: :int16)
    assert_equal [:int16, [[1, 2], [3, 4]]], dtype_and_elements(Crossdock::Array.new([one, two]))
    assert_equal [:int16, [[1, 2], [5, 6]]], dtype_and_elements(Crossdock::Array[one, 5..6])
    assert_equal [:int16, [[[1, 2], [3, 4]], [[3, 4], [1, 2]]]], dtype_and_elements(Crossdock::Array.new([[one, two], [two, one]]))
    column_major = Crossdock::Array.new([one, two], order: :column_major)
    assert_equal [[[1, 2], [3, 4]], [2, 4]], [column_major.to_a, column_major.strides]
    assert_equal [:float32, [[1.0, 2.0], [0.5, 1.5]]], dtype_and_elements(Crossdock::Array.new([one, Crossdock::Array[0.5, 1.5]], dtype: :float32))
    assert_match(/int16 and of float64.*dtype:/, message_of(TypeError) { Crossdock::Array.new([one, Crossdock::Array[0.5, 1.5]]) })
    assert_match(/shape \[1\] at \[1\].*shape \[2\]/, message_of(ArgumentError) { Crossdock::Array.new([one, one[0..0]]) })
    assert_match(/\Aelement \[1\]: /, message_of(RangeError) { Crossdock::Array.new([one, Crossdock::Array[0.5, 1.5]], dtype: :int8) })
    assert_equal [7, 8], Crossdock::Array.new([Crossdock::Array.new(7), 8]).to_a
  end

  def test_ones_and_ranges_of_numbers
    assert_equal [:float64, [[1.0, 1.0]]], dtype_and_elements(Crossdock::Array.ones(1, 2))
    assert_equal [[true], [1]], [Crossdock::Array.ones(1, dtype: :bool), Crossdock::Array.ones([1], dtype: :uint8)].map(&:to_a)
    assert_equal [:int64, [0, 1, 2]], dtype_and_elements(Crossdock::Array.arange(3))
    assert_equal [[5, 3, 1], [], [2, 5]], [[5, 0, -2], [5, 0], [2, 6, 3]].map { |range| Crossdock::Array.arange(*range).to_a }
    assert_equal [:float64, [1.0, 1.25, 1.5, 1.75]], dtype_and_elements(Crossdock::Array.arange(1, 2, 0.25))
    assert_equal [:uint8, [2, 3]], dtype_and_elements(Crossdock::Array.arange(2, 4, dtype: :uint8))
    assert_equal [0.0, 0.25, 0.5, 0.75, 1.0], Crossdock::Array.linspace(0, 1, 5).to_a
    assert_equal [:float32, [0.0, 0.5]], dtype_and_elements(Crossdock::Array.linspace(0, 1, 2, endpoint: false, dtype: :float32))
    assert_equal [[], [3.0], 50], [Crossdock::Array.linspace(0, 1, 0).to_a, Crossdock::Array.linspace(3, 4, 1).to_a, Crossdock::Array.linspace(0, 1).size]
    assert_equal 0.3, Crossdock::Array.linspace(0.1, 0.3, 7).last
    assert_raise(ArgumentError) { Crossdock::Array.arange(1, 2, 0) }
    assert_raise(ArgumentError) { Crossdock::Array.arange(1.0, 2, 0) }
    assert_raise(ArgumentError) { Crossdock::Array.linspace(0, 1, -1) }
    assert_raise(TypeError) { Crossdock::Array.arange("3") }
    assert_raise(RangeError) { Crossdock::Array.arange(300, dtype: :uint8) }
  end

  def test_the_ends_are_elements
    assert_equal [1, [1, 2], 6, [5, 6], [1, 2, 3, 4, 5, 6], []], [GRID.first, GRID.first(2), GRID.last, GRID.last(2), GRID.last(9), GRID.last(0)]
    empty = Crossdock::Array.zeros(0, 2)
    assert_equal [nil, nil, [], 7], [empty.first, empty.last, empty.last(3), Crossdock::Array.new(7).last]
    assert_raise(ArgumentError) { GRID.last(-1) }
  end

  def test_elements_are_visited_with_their_position
    assert_equal [[1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5]], GRID.each_with_index.to_a
    assert_equal [2, 4, 6, 8, 10, 12], GRID.map { |number| number * 2 }
    assert_equal [[6, 5], 3], [GRID.reverse_each.first(2), GRID.each_slice(2).size]
  end

  def test_reverse_is_a_view
    array = GRID.copy
    backwards = array.reverse
    assert_equal [[[6, 5, 4], [3, 2, 1]], [-24, -8]], [backwards.to_a, backwards.strides]
    backwards[0, 0] = 60
    assert_equal 60, array[1, 2]
    assert_equal [[[4, 5, 60], [1, 2, 3]], [[3, 2, 1], [60, 5, 4]]], [array.reverse(0).to_a, array.reverse(-1).to_a]
    assert_equal [[0, 3], [7]], [Crossdock::Array.zeros(0, 3).reverse.shape, [Crossdock::Array.new(7).reverse.to_a]]
    assert_match(/axis 2 .* 2 axes/, message_of(IndexError) { array.reverse(2) })
  end

  def test_slice_and_byte_size_have_the_names_of_ruby
    assert_equal [[4, 5], 6], [GRID.slice(1, 0..1).to_a, GRID.slice(1, 2)]
    assert_equal GRID.nbytes, GRID.byte_size
  end

  def test_dig_goes_through_axes_fields_and_what_is_in_an_element
    assert_equal [6, [4, 5, 6], nil, nil], [GRID.dig(1, 2), GRID.dig(1).to_a, GRID.dig(2), GRID.dig(0, 3)]
    trades = Crossdock::Array.new([{ price: 1.5, sizes: [3, 4] }], dtype: "[('price', '<f4'), ('sizes', '<i4', (2,))]")
    assert_equal [1.5, 1.5, 4, [1.5]], [trades.dig(0, :price), trades.dig(:price, 0), trades.dig(0, :sizes, 1), trades.dig("price").to_a]
    assert_raise(ArgumentError) { GRID.dig }
    assert_raise(TypeError) { GRID.dig(0, 0, 0) }
  end

  def test_patterns_match_elements_and_descriptions
    matched = case GRID
              in [[first, *], [*, last]] then [first, last]
              end
    assert_equal [1, 6], matched
    matched = case Crossdock::Array.zeros(2, 4, 3, dtype: :uint8)
              in { shape: [_, _, 4] } then :rgba
              in { dtype: :uint8, shape: [rows, columns, 3] } then [rows, columns]
              end
    assert_equal [2, 4], matched
    assert_equal [[5], [1, 2]], [Crossdock::Array.new(5).deconstruct, Crossdock::Array[1, 2].deconstruct]
    assert_equal({ ndim: 2, size: 6 }, GRID.deconstruct_keys(%i[ndim size other]))
    assert_equal 8, GRID.deconstruct_keys(nil).size
  end

  def test_any_view_is_flattened_where_a_copy_may_be_made
    turned = GRID.transpose
    assert_match(/copy: true/, message_of(Crossdock::Error) { turned.flatten })
    before = Crossdock.copied_bytes
    assert_equal [1, 4, 2, 5, 3, 6], turned.flatten(copy: true).to_a
    assert_equal turned.nbytes, Crossdock.copied_bytes - before
    assert_equal GRID.address, GRID.flatten(copy: true).address
    refute_equal GRID.address, GRID.flatten(copy: :always).address
    assert_equal [[1, 2, 3, 4, 5, 6], []], [GRID.flatten.to_a, Crossdock::Array.zeros(0, 2).flatten.to_a]
  end

  def test_floats_are_rounded_to_integers_as_asked
    floats = Crossdock::Array[0.5, 1.5, 2.5, -0.5, -1.5, 2.4]
    { even: [0, 2, 2, 0, -2, 2], floor: [0, 1, 2, -1, -2, 2], ceil: [1, 2, 3, 0, -1, 3], truncate: [0, 1, 2, 0, -1, 2] }.each do |round, expected|
      assert_equal [:int16, expected], dtype_and_elements(floats.cast(:int16, round: round)), round
    end
    assert_raise(RangeError) { floats.cast(:int16) }
    assert_raise(RangeError) { Crossdock::Array[300.5].cast(:int8, round: :floor) }
    assert_equal [127], Crossdock::Array[300.5].cast(:int8, round: :floor, saturating: true).to_a
    assert_match(/:even, :floor, :ceil or :truncate/, message_of(ArgumentError) { floats.cast(:int8, round: :up) })
    same = floats.cast(:float64, round: :even)
    assert_equal [floats.to_a, false], [same.to_a, same.address == floats.address]
    turned = Crossdock::Array.new([[0.5, 1.5], [2.5, 3.5]]).transpose
    assert_equal [[[0, 2], [2, 4]], [4, 8]], turned.cast(:int32, round: :even).then { |array| [array.to_a, array.strides] }
  end

  def test_the_ledger_names_the_holders_of_memory
    assert_raise(TypeError) { Crossdock.ledger(on: 1) }
    assert_predicate Crossdock.ledger(on: true), :on?
    array = Crossdock::Array.zeros(1003)
    capsule = array.to_dlpack
    ledger = Crossdock.ledger
    entry = ledger.find { |one| one.address == array.address }
    assert_equal [8024, "cpu", { share: 1 }, ["DLPack"], [%i[share]]],
                 [entry.nbytes, entry.place, entry.leases, entry.exported, entry.holders.map { |holder| [holder.kind] }]
    assert_operator entry.age, :>=, 0
    assert_include ledger.to_s, format("%#x", array.address)
    assert_operator ledger.nbytes, :>=, 8024
    assert_equal ledger.size, ledger.to_a.size
    assert_predicate ledger, :frozen?
    capsule.release
    assert_equal({}, Crossdock.ledger.find { |one| one.address == array.address }.leases)
  ensure
    refute_predicate Crossdock.ledger(on: false), :on?
  end
end
