# frozen_string_literal: true

require_relative "helper"

# The dtypes that Ruby programs write, and the objects that are elements of them.
class TestDtypes < Test::Unit::TestCase
  include Helper

  Point = Struct.new(:x, :y)
  Named = Struct.new(:x, :y, keyword_init: true)

  def dtype(spec, **options)
    Crossdock.dtype(spec, **options)
  end

  # Array#pack is the oracle.
  def test_a_template_of_pack_is_a_dtype
    { "iqc" => [1, -2, 3], "CSLQ" => [1, 2, 3, 4], "nNvV" => [1, 2, 3, 4], "fd" => [1.5, 2.5], "eEgG" => [1.5, 2.5, 3.5, 4.5], "s!l!q!" => [1, 2, 3], "s>l<" => [1, 2],
      "cx3l" => [1, 2] }.each do |template, values|
      array = Crossdock::Array.from_string(values.pack(template), dtype: template)
      assert_equal [1, values], [array.size, array[0].values], template
    end
    { "d" => :float64, "l" => :int32, "q" => :int64, "n" => :">uint16", "c" => :int8, "i4" => :int32, :iq => "[('f0', '<i4'), ('f1', '<i8')]" }.each do |template, expected|
      assert_equal expected, dtype(template), template
    end
    assert_equal [13, 24], ["iqc", "|iqc"].map { |template| Crossdock::Array.zeros(0, dtype: template).itemsize }
    assert_equal "('>u2', (3,))", dtype("n3")
    ["flaot", "iqz", "", " ", "|"].each { |text| assert_raise(ArgumentError) { dtype(text) } }
  end

  def test_a_template_is_what_a_memory_view_has_for_the_dtype
    require "fiddle"
    array = Crossdock::Array.from_string([1, 2, 3].pack("ix4qcx7"), dtype: "|iqc")
    assert_equal ["lx4qcx7", [1, 2, 3]], [Fiddle::MemoryView.new(array).format, Fiddle::MemoryView.new(array)[0]]
  end

  def test_fields_of_templates_have_names
    named = dtype("|iqc", names: %i[id count kind])
    array = Crossdock::Array.new([{ id: 1, count: 2, kind: 3 }], dtype: named)
    assert_equal [24, %i[id count kind], [2]], [array.itemsize, array.fields, array.field(:count).to_a]
    assert_equal "[('x', '<f8')]", dtype("d", names: :x)
    assert_equal "[('a', '|i1'), ('b', '|i1')]", dtype({ x: :int8, y: :int8 }, names: %w[a b])
    assert_match(/2 names for the 3 fields/, message_of(ArgumentError) { dtype("iqc", names: %i[a b]) })
  end

  # A C compiler puts them there, too: the templates with | are Ruby's own word for that.
  def test_records_are_aligned_as_in_c
    { { a: :int8, b: :float64, c: :int16 } => "|cds", { a: :int8, b: :int16, c: [:int32, 3], d: :int8 } => "|csl3c", { a: :float64, b: :int8 } => "|dc" }.each do |fields, template|
      assert_equal dtype(template, names: fields.keys), dtype(fields, align: true)
    end
    inner = Crossdock::Array.zeros(0, dtype: dtype({ a: :int8, b: { x: :int8, y: :int64 } }, align: true))
    assert_equal [24, 16], [inner.itemsize, inner.field(:b).itemsize]
    assert_equal 10, Crossdock::Array.zeros(0, dtype: { a: :int8, b: { x: :int8, y: :int64 } }).itemsize
  end

  def test_sub_arrays_are_fields
    array = Crossdock::Array.new([{ at: [1.5, 2.5, 3.5], grid: [[1, 2], [3, 4]] }], dtype: { at: [:float32, 3], grid: [:int16, [2, 2]] })
    assert_equal [20, { at: [1.5, 2.5, 3.5], grid: [[1, 2], [3, 4]] }], [array.itemsize, array[0]]
    assert_equal "('<i2', (2, 2))", dtype([:int16, [2, 2]])
    [[], [:int8], [:int8, 1, 2]].each { |pair| assert_match(/sub-array/, message_of(ArgumentError) { dtype(pair) }) }
    assert_raise(TypeError) { dtype([:int8, "x"]) }
    assert_match(/dtype: -2 is negative/, message_of(RangeError) { dtype([:int8, [2, -2]]) })
  end

  def test_a_wrong_text_is_explained_as_a_template_too
    assert_match(/no template of MemoryView either: byte 2.*'o'/, message_of(ArgumentError) { dtype("iqo") })
    assert_no_match(/template/, message_of(ArgumentError) { dtype(:flaot32) })
  end

  def test_sub_arrays_are_elements_of_nested_arrays
    pairs = [[1, 2], [3, 4], [5, 6]]
    array = Crossdock::Array.new(pairs, dtype: [:int16, 2])
    assert_equal [[3], "('<i2', (2,))", pairs, [3, 4]], [array.shape, array.dtype, array.to_a, array[1]]
    assert_equal array, Crossdock::Array.new(array.to_a, dtype: array.dtype)
    grids = [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]
    assert_equal [[1, 2], grids], Crossdock::Array.new(grids, dtype: [:int8, [2, 2]]).then { |one| [one.shape, one.to_a] }
    assert_equal [[], [1, 2]], Crossdock::Array.new([1, 2], dtype: [:int16, 2]).then { |one| [one.shape, one.to_a] }
    assert_equal [[0], [2, 0]], [[], [[], []]].map { |empty| Crossdock::Array.new(empty, dtype: [:int16, 2]).shape }
    [[[1, 2], [3]], [[1, 2, 3]], [[1, [2]]], [[1, 2], 3]].each do |ragged|
      assert_raise(RangeError, TypeError) { Crossdock::Array.new(ragged, dtype: [:int16, 2]) }
    end
    assert_raise(TypeError) { Crossdock::Array.new(5, dtype: [:int16, 2]) }
    array[0] = [7, 8]
    assert_equal [7, 8], array[0]
  end

  def test_hashes_structs_and_data_are_records
    points = Crossdock::Array.new([Point.new(1, 2.5), Point.new(3, 4)])
    assert_equal ["[('x', '<i8'), ('y', '<f8')]", [{ x: 1, y: 2.5 }, { x: 3, y: 4.0 }]], [points.dtype, points.to_a]
    points[1] = Named.new(x: 5, y: 6)
    assert_equal [Point.new(1, 2.5), Point.new(5, 6.0)], points.to_a(as: Point)
    assert_equal [Named.new(x: 1, y: 2.5)], points.each(as: Named).first(1)
    assert_equal [[Point.new(1, 2.5), Point.new(5, 6.0)]], points.reshape(1, 2).to_a(as: Point)
    [Struct.new(:y), Struct.new(:y, keyword_init: true)].each { |part| assert_equal [2.5, 6.0], points.to_a(as: part).map(&:y) }
    assert_equal "[('at', '<i8', (2,)), ('name', '<U2')]", Crossdock::Array.new([{ at: [1, 2], name: "ab" }]).dtype
    assert_match(/field "x"/, message_of(TypeError) { Crossdock::Array.new([Point.new(1, 2), Point.new("x", 2)]) })
    assert_match(/no value for the field "y"/, message_of(ArgumentError) { Crossdock::Array.new([{ x: 1 }], dtype: points.dtype) })
    [String, 5].each do |other|
      assert_match(/no class of Structs/, message_of(TypeError) { points.to_a(as: other) })
      assert_match(/no class of Structs/, message_of(TypeError) { points.each(as: other) {} })
      assert_match(/no class of Structs/, message_of(TypeError) { points.each(as: other) })
    end
    [Struct.new(:x, :z), Struct.new(:x, :y, :z, keyword_init: true)].each { |other| assert_raise(KeyError) { points.to_a(as: other) } }
    omit("this Ruby has no Data") if RUBY_VERSION < "3.2"

    place = Data.define(:x, :y)
    assert_equal [place.new(x: 1, y: 2)], Crossdock::Array.new([place.new(x: 1, y: 2)]).to_a(as: place)
    assert_equal "[('x', '|i1'), ('y', '<f4')]", Crossdock.record(place, { x: :int8, y: :float32 })
  end

  def test_a_class_is_the_name_of_a_record
    pixel = Struct.new(:r, :g, :b)
    assert_match(/Crossdock.record/, message_of(ArgumentError) { Crossdock::Array.zeros(1, dtype: pixel) })
    assert_equal "[('r', '|u1'), ('g', '|u1'), ('b', '|u1')]", Crossdock.record(pixel, "CCC")
    image = Crossdock::Array.from_string("RGBrgb".b.freeze, dtype: pixel)
    assert_equal [pixel.new(82, 71, 66), pixel.new(114, 103, 98)], image.to_a(as: pixel)
    assert_equal 4, Crossdock::Array.zeros(0, dtype: { alpha: :uint8, colour: pixel }).itemsize
    assert_equal "[('r', '|u1'), ('g', '|u1'), ('b', '|u1')]", Crossdock.record(pixel, { r: :uint8, g: :uint8, b: :uint8 })
    assert_match(/is the record/, message_of(ArgumentError) { Crossdock.record(pixel, "ccc") })
    padded = Struct.new(:a, :b)
    Crossdock.record(padded, { a: :int8, b: :int64 }, align: true)
    assert_equal 16, Crossdock::Array.zeros(0, dtype: padded).itemsize
    assert_match(/members/, message_of(ArgumentError) { Crossdock.record(Struct.new(:a), { b: :int8 }) })
    [String, Struct, 5].each { |other| assert_raise(TypeError) { Crossdock.record(other, "c") } }
  end

  def test_another_ractor_knows_the_names_of_records
    was, Warning[:experimental] = Warning[:experimental], false
    pair = Struct.new(:x, :y)
    self.class.const_set(:Pair, pair)
    Crossdock.record(pair, "dd")
    ractor = Ractor.new { Crossdock::Array.new([TestDtypes::Pair.new(1, 2)], dtype: TestDtypes::Pair).to_a }
    assert_equal [{ x: 1.0, y: 2.0 }], value_of(ractor)
  ensure
    Warning[:experimental] = was
  end
end
