# frozen_string_literal: true

require_relative "helper"
require "json"
require "pp"
require "stringio"
require "tmpdir"
require "yaml"

# Arrays in Ruby's own libraries: text, JSON, YAML, Marshal, copies, keys.
class TestPeople < Test::Unit::TestCase
  include Helper

  ARRAYS = [
    Crossdock::Array.new([[1, 2, 3], [4, 5, 6]]),
    Crossdock::Array.new([[1, 2, 3], [4, 5, 6]], order: :column_major),
    Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])[true, (-1..0) % -1],
    Crossdock::Array.new([1.5, -0.0, Float::INFINITY, 1e300]),
    Crossdock::Array.new([0.5, 1.5], dtype: :float16),
    Crossdock::Array.new([1, 2], dtype: :">int16"),
    Crossdock::Array.new([true, false]),
    Crossdock::Array.new([1i, 2.5 + 3i]),
    Crossdock::Array.new(5),
    Crossdock::Array.zeros(0, 3),
    Crossdock::Array.new([{ price: 1.5, size: 3 }], dtype: { price: :float32, size: :uint8 }),
    Crossdock::Array.new(["ä", "bc"], dtype: "<U2"),
    Crossdock::Array.new(["\xff\0a".b], dtype: "|S3")
  ].freeze

  def assert_same_array(expected, got)
    assert_equal [expected.class, expected.dtype, expected.shape, expected.to_binary], [got.class, got.dtype, got.shape, got.to_binary]
    assert got.eql?(expected)
  end

  def test_an_array_is_text_to_people
    array = Crossdock::Array.new([[1, 2], [3, 4]])
    assert_equal "[[1 2]\n [3 4]]", array.to_s
    assert_equal "it is [[1 2]\n [3 4]]", "it is #{array}"
    out = StringIO.new
    out.puts array
    out.print array
    assert_equal "#{array}\n#{array}", out.string
    assert_equal "[[1 2]\n [3 4]], 5", [array, Crossdock::Array.new(5)].join(", ")
    assert_operator Crossdock::Array.zeros(1000, 1000).to_s.size, :<, 5000, "the middle of what is large is left out"
    assert_equal [1, 2, 3, 4].pack("q*"), array.to_binary
    assert_raise(NoMethodError) { array.pack }
  end

  def test_an_array_that_was_released_says_so
    array = Crossdock::Array[1]
    array.release
    assert_predicate array, :released?
    assert_equal ["#<Crossdock::Array released>", "released"], [array.inspect, "#{array}"]
    assert_equal "#<Crossdock::Array released>", array.pretty_inspect.chomp
    [:to_binary, :to_a, :hash, :dup, :clone, :to_json, :to_yaml].each { |method| assert_match(/released/, message_of(Crossdock::Error) { array.public_send(method) }) }
    assert_raise(Crossdock::Error) { Marshal.dump(array) }
    refute_predicate Crossdock::Array[1], :released?
  end

  # A name from a file, whose text goes to a terminal.
  def test_names_of_fields_reach_no_terminal_as_they_are
    ["\e[31mred\e[0m", "a\u202Eb", "\u0085", "\u009b31m", "\u2028", "a\nb", "\x7f", "it's \"quoted\" \\"].each do |name|
      array = Crossdock::Array.new([{ name => 1 }], dtype: { name => :int64 })
      shown = [array.inspect, array.to_s, array.pretty_inspect, Crossdock.explain(array), message_of(IndexError) { array.field("#{name}?") },
               message_of(ArgumentError) { array[0] = { "#{name}?" => 1 } }, message_of(TypeError) { array.cast(:int8) }]
      shown.each { |text| refute_match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/, text, name.inspect) }
      assert_equal [name.to_sym], array.fields
      assert_equal [1], array.field(name).to_a
      assert_equal 1, array.inspect.lines.first.count("["), "one line has the type" if name == "a\nb" && array.inspect.lines.size > 2
      again = Crossdock::Array.zeros(1, dtype: array.dtype)
      assert_equal array.fields, again.fields
    end
  end

  def test_json_has_the_elements
    assert_equal "[[1,2,3],[4,5,6]]", ARRAYS[0].to_json
    assert_equal "[[1,2,3],[4,5,6]]", JSON.generate(ARRAYS[1])
    assert_equal({ "a" => [[1, 2, 3], [4, 5, 6]] }, JSON.parse({ a: ARRAYS[0] }.to_json))
    assert_equal [[1, 2, 3], [4, 5, 6]], JSON.parse(JSON.pretty_generate(ARRAYS[0]))
    assert_equal [[{ "price" => 1.5, "size" => 3 }], 5, []], JSON.parse(JSON.dump([ARRAYS[10], ARRAYS[8], ARRAYS[9]]))
    assert_raise(JSON::GeneratorError) { Crossdock::Array[Float::NAN].to_json }
  end

  def test_marshal_brings_back_the_same_array
    ARRAYS.each do |array|
      bytes = Marshal.dump(array)
      assert_same_array array, Marshal.load(bytes)
      assert_equal [array.to_a] * 2, Marshal.load(Marshal.dump([array, array])).map(&:to_a)
    end
    loaded = Marshal.load(Marshal.dump(ARRAYS[0].copy.freeze))
    loaded[0, 0] = 9
    assert_equal 9, loaded[0, 0]
    assert_raise(Crossdock::Error) { Marshal.load(Marshal.dump(ARRAYS[0]).sub("NUMPY", "NUMPI")) }
  end

  def test_yaml_brings_back_the_same_array
    ARRAYS.each do |array|
      assert_same_array array, YAML.unsafe_load(YAML.dump(array))
      assert_same_array array, YAML.unsafe_load({ "a" => array }.to_yaml)["a"]
    end
    assert_raise(Psych::DisallowedClass) { YAML.safe_load(YAML.dump(ARRAYS[0])) }
    assert_same_array ARRAYS[0], YAML.safe_load(YAML.dump(ARRAYS[0]), permitted_classes: [Crossdock::Array])
    assert_match(/npy/, message_of(TypeError) { YAML.unsafe_load("--- !ruby/object:Crossdock::Array {}") })
    assert_match(/npy/, message_of(TypeError) { YAML.unsafe_load("--- !ruby/object:Crossdock::Array\nnpy: 5\n") })
    assert_raise(Crossdock::Error) { YAML.unsafe_load("--- !ruby/object:Crossdock::Array\nnpy: rubbish\n") }
  end

  # NumPy has no name for them.
  def test_arrays_of_types_that_numpy_lacks_come_back_too
    small = [0.5, 1.0, 2.0, 4.0]
    arrays = %i[bfloat16 >bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3 float8_e3m4 float8_e4m3fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn complex32
                pointer].flat_map do |dtype|
      flat = Crossdock::Array.from_string(Random.new(5).bytes(12 * Crossdock::Array.zeros(1, dtype: dtype).itemsize).tr("^\0-\x07".b, "\x01"), dtype: dtype)
      [flat, flat.reshape(3, 4), flat.reshape(3, 4).transpose, flat.reshape(3, 4)[true, (-1..0) % -2], flat[0..0].reshape, flat[0...0].reshape(0, 3)]
    end
    arrays << Crossdock::Array.new(small, dtype: :bfloat16) << Crossdock::Array.new(small, dtype: :float8_e5m2).freeze
    nested = { a: :bfloat16, "ö b" => { c: :int8, d: ">float8_e5m2" }, e: "S3" }
    arrays << Crossdock::Array.new([{ a: 0.5, "ö b": { c: 1, d: 2.0 }, e: "x" }] * 2, dtype: nested)
    arrays += ["('<i4', (2,))", "('<i4', (0,))", "('>f4', (2, 3))"].map { |dtype| Crossdock::Array.zeros(3, 2, dtype: dtype) }
    arrays << Crossdock::Array.zeros(3, dtype: :S0)
    arrays.each do |array|
      others = [Marshal.load(Marshal.dump(array)), YAML.unsafe_load(YAML.dump(array)), YAML.safe_load(YAML.dump(array), permitted_classes: [Crossdock::Array])]
      others.each do |other|
        assert_same_array array, other
        assert_equal [array.to_a, false], [other.to_a, other.readonly?]
      end
      assert_equal array.transpose.strides, others[0].transpose.strides if array.strides == array.copy(order: :column_major).strides
    end
    record = arrays[-5]
    assert_equal({ a: :bfloat16, "ö b": { c: :int8, d: :float8_e5m2 }, e: :S3 }, record.dtype)
    assert_equal record, Crossdock::Array.zeros(2, dtype: record.dtype).fill({ a: 0.5, "ö b": { c: 1, d: 2.0 }, e: "x" })
    assert_match(/bfloat16/, record.inspect)
    refute record.eql?(Crossdock::Array.zeros(2, dtype: record.dtype))
    assert_match(/bytes/, message_of(TypeError) { YAML.unsafe_load("--- !ruby/object:Crossdock::Array\ndtype: bfloat16\n") })
    damaged = YAML.dump(arrays[0]).sub(/shape:\n- \d+/, "shape:\n- 13")
    assert_match(/24 bytes.*26/, message_of(ArgumentError) { YAML.unsafe_load(damaged) })
  end

  def test_a_class_below_stays_what_it_is
    below = Class.new(Crossdock::Array)
    self.class.const_set(:Below, below)
    array = below.new([1, 2])
    [array.dup, array.clone, array[0..], Marshal.load(Marshal.dump(array)), YAML.unsafe_load(YAML.dump(array))].each { |other| assert_same_array array, other }
  ensure
    self.class.__send__(:remove_const, :Below)
  end

  def test_copies_are_new_memory_and_keep_what_belongs_to_the_object
    array = Crossdock::Array.new([[1, 2], [3, 4]]).transpose
    array.instance_variable_set(:@unit, "m")
    def array.title = "lengths"
    { dup: array.dup, clone: array.clone }.each do |name, other|
      assert_same_array array, other
      assert_equal "m", other.instance_variable_get(:@unit)
      other[0, 0] = 9
      assert_equal [9, 1, name == :clone], [other[0, 0], array[0, 0], other.respond_to?(:title)]
    end
    frozen = array.copy.freeze
    assert_equal [true, false, true, false], [frozen.clone, frozen.dup, array.clone(freeze: true), frozen.clone(freeze: false)].map(&:frozen?)
    assert_equal [5, 1], frozen.dup.then { |other| other[0, 0] = 5; [other[0, 0], frozen[0, 0]] }
  end

  def test_what_is_sent_to_a_ractor_is_a_copy
    was, Warning[:experimental] = Warning[:experimental], false
    array = Crossdock::Array[1, 2]
    ractor = Ractor.new(array) { |sent| sent[0] = 9; sent.to_a }
    assert_equal [[9, 2], [1, 2]], [value_of(ractor), array.to_a]
  ensure
    Warning[:experimental] = was
  end

  def test_what_lends_is_written_nowhere
    array = Crossdock::Array[1]
    written = /write the array of which it was made/
    lent_with_remedy = { array.to_dlpack => written, array.freeze.copy.freeze.to_arrow(copy: true) => written, array.share_memory(copy: true) => /send_to/ }
    lent_with_remedy.each do |lent, remedy|
      assert_match(remedy, message_of(TypeError) { Marshal.dump(lent) })
      assert_match(/#{lent.class}/, message_of(TypeError) { YAML.dump(lent) })
      assert_raise(TypeError) { lent.dup }
      assert_raise(TypeError) { lent.clone }
    end
  end

  def test_an_array_that_was_only_allocated_has_nothing_to_read
    array = Crossdock::Array.allocate
    assert_predicate array, :released?
    assert_match(/released/, message_of(Crossdock::Error) { array.size })
    assert_nil array.release
    assert_raise(Crossdock::Error) { Crossdock::Array[1].__send__(:fill_in, Crossdock::Array[2]) }
    assert_raise(FrozenError) { array.freeze.__send__(:fill_in, Crossdock::Array[2]) }
  end

  def test_equal_arrays_are_one_key
    keys = ARRAYS.map(&:copy)
    table = keys.zip(ARRAYS).to_h
    ARRAYS.each { |array| assert_equal array.to_binary, table.fetch(array.copy).to_binary }
    assert_equal Crossdock::Array[1, 2], Crossdock::Array[1.0, 2.0]
    refute Crossdock::Array[1, 2].eql?(Crossdock::Array[1.0, 2.0])
    refute_equal Crossdock::Array[1, 2], [1, 2]
    assert_equal 1, [Crossdock::Array[1, 2], Crossdock::Array[1, 2]].uniq.size
  end
end
