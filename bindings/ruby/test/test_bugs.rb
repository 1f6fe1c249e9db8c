# frozen_string_literal: true

require_relative "helper"
require_relative "native"
require "fiddle"
require "open3"

Native.load("probe") unless defined?(Probe)

# The known bugs of Ruby's own MemoryView: the same input, with sound results. Each test has the id
# of its bug in its name.
class TestBugs < Test::Unit::TestCase
  include Helper

  IDS = %w[null-strides white-space no-class empty-axis one-axis-indirect overflow second-release uninitialised null-callbacks out-of-bounds
           owner-changes contiguity-rules exit char-sign flags-of-components].freeze

  def test_every_bug_has_a_test
    tested = self.class.public_instance_methods(false).grep(/\Atest_bug_/).map { |name| name.to_s.delete_prefix("test_bug_").tr("_", "-") }
    assert_equal IDS.sort, tested.sort
  end

  def lend(kind = Probe::Lender, **says)
    kind.new(says)
  end

  # Objects that earlier tests left to the collector do not count here.
  def undisturbed
    GC.start
    GC.disable
    Crossdock::Array[1]
    yield
  ensure
    GC.enable
  end

  # ----- the content of a format or a struct

  # Ruby's contiguity check dereferences null strides; this library's are never null, and those of
  # other producers are filled in.
  def test_bug_null_strides
    [[[1, 2], [3, 4]], [1, 2, 3], 5].each do |nested|
      view = Probe.get(Crossdock::Array.new(nested))
      assert_not_nil view.fields[:shape]
      assert_not_nil view.fields[:strides]
      assert_equal true, view.contiguity[0]
    end
    array = Crossdock.view(lend(bytes: "abcdef", shape: [2, 3], ndim: 2))
    assert_equal [[2, 3], [3, 1], [[97, 98, 99], [100, 101, 102]]], [array.shape, array.strides, array.to_a]
    assert_equal [true, false], Probe.get(array).contiguity
    assert_equal [6], Crossdock.view(lend(bytes: "abcdef")).shape
  end

  def test_bug_white_space
    item = [1.5, 2.0].pack("fx2d")
    ["f x2 d", " f\tx2\n d ", "\v\ff x2\rd"].each do |format|
      array = Crossdock.view(lend(bytes: item * 3, item_size: 14, format: format, shape: [3]))
      assert_equal [{ f0: 1.5, f1: 2.0 }] * 3, array.to_a
      # An export has no white space.
      assert_equal [["fx2d", [1.5, 2.0]]], [Probe.get(array)].map { |view| [view.fields[:format], view.item([2])] }
    end
  end

  def test_bug_overflow
    { "c9223372036854775808" => 0, "c18446744073709551615" => 0, "cc18446744073709551616" => 1, "cq2305843009213693952" => 1,
      "x9223372036854775807x" => 20, "|c9223372036854775807q" => 21 }.each do |format, place|
      message = message_of(Crossdock::Error, RangeError) { Crossdock.view(lend(bytes: "12345678", format: format)) }
      assert_match(/byte #{place}/, message)
    end
    assert_raise(RangeError) { Crossdock.view(lend(bytes: "1", ndim: 3, shape: [2**30, 2**30, 2**30], strides: [0, 2**40, 2**62])) }
    assert_match(/-1/, message_of(Crossdock::Error) { Crossdock.view(lend(bytes: "1", shape: [-1])) })
    assert_match(/byte_size is -5/, message_of(Crossdock::Error) { Crossdock.view(lend(bytes: "1", byte_size: -5)) })
    assert_match(/ndim is -1/, message_of(Crossdock::Error) { Crossdock.view(lend(bytes: "1", ndim: -1)) })
    assert_match(/item_size is 4.*'d'.*8/, message_of(Crossdock::Error) { Crossdock.view(lend(bytes: "12345678", item_size: 4, format: "d")) })
  end

  def test_bug_empty_axis
    array = Crossdock.view(lend(bytes: "", byte_size: 0, ndim: 3, shape: [2, 0, 3]))
    assert_equal [[2, 0, 3], [[], []]], [array.shape, array.to_a]
    assert_match(/axis 1 of length 0/, message_of(IndexError) { array[0, 0, 0] })
    ours = Probe.get(Crossdock::Array.zeros(2, 0, 3))
    assert_equal [[2, 0, 3], true], [ours.fields[:shape], !ours.fields[:strides].nil?]
  end

  def test_bug_one_axis_indirect
    lender = lend(bytes: "#{"." * 16}abcdefgh", shape: [2], strides: [8], sub_offsets: [3])
    lender.point(0, 16)
    lender.point(8, 20)
    array = Crossdock.view(lender)
    assert_equal %w[d h], array.to_a.map(&:chr)
    assert_nil Probe.get(array, 12), "who does not follow pointers gets none to follow"
    assert_not_nil Probe.get(array, 76).fields[:sub_offsets]
    assert_equal %w[d h], array.copy.to_a.map(&:chr)
    assert_match(/INDIRECT/, Crossdock.explain(array))
    lender = lend(bytes: "." * 16, shape: [2], strides: [8], sub_offsets: [0])
    lender.point(0, nil)
    assert_match(/null/, message_of(Crossdock::Error) { Crossdock.view(lender) })
  end

  def test_bug_char_sign
    assert_equal [[-1, 127], :int8], Crossdock.view(lend(bytes: "\xff\x7f", format: "c")).then { |array| [array.to_a, array.dtype] }
    assert_equal [255, 127], Crossdock.view(lend(bytes: "\xff\x7f", format: "C")).to_a
    assert_match(/128/, message_of(RangeError) { Crossdock::Array.zeros(1, dtype: :int8)[0] = 128 })
  end

  # Ruby 3.3 changed the struct of a component. This library never fills it in: it reads formats
  # itself, and Ruby reads those of exports. (The extension checks at compile time that Ruby's view
  # struct has the library's layout.)
  def test_bug_flags_of_components
    fields = Probe.get(Crossdock::Array.new([1.5])).fields
    assert_equal [false, 0], fields.values_at(:components, :length)
    packed = [1, 2].pack("s>l<")
    array = Crossdock.view(lend(bytes: packed, item_size: 6, format: "s>l<", shape: [1]))
    assert_equal [{ f0: 1, f1: 2 }], array.to_a
    assert_equal [1, 2], Probe.get(array).item([0])
  end

  # The original's rules for axes of length 1 and 0 are not NumPy's, and its product wraps around.
  def test_bug_contiguity_rules
    wrapping = lend(bytes: "\0" * 8, byte_size: 2**62, item_size: 8, format: "d", ndim: 3, shape: [2, 2**56, 8], strides: [0, 0, 0])
    assert_match(/more than/, message_of(RangeError) { Crossdock.view(wrapping) })
    single = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]])[0..0]
    assert_not_nil Probe.get(single, 28)
    assert_not_nil Probe.get(single, 60)
    assert_nil Probe.get(Crossdock::Array.new([[1, 2, 3], [4, 5, 6]]).transpose, 28)
    assert_not_nil Probe.get(Crossdock::Array.new([[1, 2, 3], [4, 5, 6]]).transpose, 44)
    assert_not_nil Probe.get(Crossdock::Array.zeros(3, 0), 28)
  end

  # ----- the addresses of items

  def test_bug_out_of_bounds
    [Crossdock.view(lend(bytes: "abc")), Crossdock::Array.zeros(3)].each do |array|
      [3, -4, 1 << 40, 1 << 62, -(1 << 62), 1 << 64].each do |index|
        assert_match(/axis 0 of length 3/, message_of(IndexError) { array[index] }, index.to_s)
      end
    end
    assert_match(/byte_size is 3/, message_of(Crossdock::Error) { Crossdock.view(lend(bytes: "abc", shape: [4])) })
    # From Ruby, Fiddle reads beyond the end of the same object; this test only sees the struct.
    assert_equal [3], Fiddle::MemoryView.new(Crossdock::Array.zeros(3)).shape
  end

  # ----- exports and releases

  def test_bug_no_class
    [BasicObject.new, Class.new(BasicObject).new].each do |object|
      assert_match(/exports no MemoryView/, message_of(TypeError) { Crossdock.view(object) })
      assert_match(/exports no MemoryView/, Crossdock.explain(object))
    end
    with_a_class = BasicObject.new
    class << with_a_class
      def something; end
    end
    assert_raise(TypeError) { Crossdock.view(with_a_class) }
    array = Crossdock::Array.zeros(1)
    assert_raise(TypeError) { array[0] = BasicObject.new }
    assert_raise(TypeError) { Crossdock::Array.new([BasicObject.new]) }
    assert_raise(TypeError, NoMethodError) { Crossdock::Array.zeros(1, dtype: BasicObject.new) }
    refute array == BasicObject.new
  end

  def test_bug_second_release
    array = Crossdock::Array.new([1, 2, 3])
    view = Probe.get(array)
    assert_equal 1, Probe.exports(array)
    assert_equal true, view.release_directly, "the producer takes it back"
    assert_equal [false, false], ::Array.new(2) { view.release_directly }, "once"
    assert_equal false, view.release, "Ruby's own counts nothing for a second one"
    assert_equal [1, 2, 3], array.to_a
    # By Ruby's own function, after which the struct dangles.
    view = Probe.get(array)
    assert_equal [true, false], [view.release, view.release_directly]
    # A borrowed view is released once, for any number of arrays.
    lender = lend(bytes: "abc")
    undisturbed do
      before = Probe.counts
      arrays = [Crossdock.view(lender)]
      arrays += [arrays[0][1..], arrays[0].transpose]
      assert_equal 1, Probe.exports(lender)
      6.times { |k| arrays[k % 3].release }
      assert_equal [0, [before[0] + 1, before[1] + 1]], [Probe.exports(lender), Probe.counts]
    end
  end

  def test_bug_uninitialised
    # Probe.get passes garbage: the producer wrote everything that it shows.
    fields = Probe.get(Crossdock::Array.new([[1, 2]])).fields
    assert_equal [nil, false, 0, true], fields.values_at(:sub_offsets, :components, :length, :private_data)
    # A producer that writes almost nothing.
    assert_equal [97, 98], Crossdock.view(lend(bytes: "ab", sparing: true)).to_a
    assert_match(/not filled in|item_size of 0/, message_of(Crossdock::Error) { Crossdock.view(lend(sparing: true, item_size: 0)) })
    # A producer that refuses after it has written.
    picky = lend(bytes: "ab", only_flags: 0)
    assert_equal [97, 98], Crossdock.view(picky).to_a
    assert_match(/gave no MemoryView/, message_of(Crossdock::Refusal) { Crossdock.view(lend(bytes: "ab", only_flags: 99)) })
  end

  def test_bug_null_callbacks
    assert_equal [97, 98], Crossdock.view(lend(Probe::Mute, bytes: "ab")).to_a
    shy = lend(Probe::Shy, bytes: "ab")
    undisturbed do
      before = Probe.counts
      array = Crossdock.view(shy)
      assert_equal [97, 98], array.to_a
      array.release
      assert_equal [before[0] + 1, before[1] + 1], Probe.counts
    end
    assert_match(/no function/, message_of(Crossdock::Refusal) { Crossdock.view(lend(Probe::Hollow, bytes: "ab")) })
    assert_match(/no function get/, Crossdock.explain(lend(Probe::Hollow, bytes: "ab")))
    assert_match(/no function available_p/, Crossdock.explain(shy))
    # An array's view has all three.
    assert Probe.available?(Crossdock::Array[1])
  end

  def test_bug_owner_changes
    # Flags are obeyed, although this producer ignores them.
    lender = lend(bytes: "abcd", readonly: true)
    assert_match(/WRITABLE/, message_of(FrozenError) { Crossdock.view(lender, writable: true) })
    assert_equal 0, Probe.exports(lender), "what was refused was given back"
    array = Crossdock::Array.new([[1, 2], [3, 4]])
    assert_equal [true, false], [Probe.get(array, 0), Probe.get(array, 1)].map { |view| view.fields[:readonly] }
    assert_nil Probe.get(array.copy.freeze, 1)
    assert_nil Probe.get(array[true, 0], 28)
    assert_nil Probe.get(array, 1 << 20)
    # The owner goes: a view keeps the memory.
    view = Probe.get(array)
    array.release
    assert_equal 4, view.item([1, 1])
    assert_equal nil, Probe.get(array)
    refute Probe.available?(array)
    # A later change by a producer does not affect the checked array.
    pointer = Fiddle::Pointer.malloc(4, Fiddle::RUBY_FREE)
    bytes = Crossdock.view(pointer)
    pointer.size = 1 << 30
    assert_raise(IndexError) { bytes[4] }
    # A String that is lent is locked.
    string = +"abcd"
    Crossdock::Array.from_string(string) { assert_raise(RuntimeError) { string << "e" * 100 } }
  end

  def test_bug_exit
    program = <<~RUBY
      require "crossdock"
      require "fiddle"
      Native.load("probe")
      $kept = Array.new(100) do |k|
        array = Crossdock::Array.new([k] * 100)
        lender = Probe::Lender.new({ bytes: "a" * 100 })
        string = +"bytes" * 20
        [Fiddle::MemoryView.new(array), Probe.get(array), Probe.leak(array), Fiddle::MemoryView.new(Crossdock.view(lender)), Crossdock.view(lender),
         Crossdock.view(Fiddle::Pointer["bytes"]), Crossdock::Array.from_string(string), array.to_shared_memory.share_memory, BasicObject.new]
      end
      at_exit { print $kept[7][4].size }
    RUBY
    libraries = [File.expand_path("../lib", __dir__), __dir__].map { |folder| "-I#{folder}" }
    output, status = Open3.capture2e(RbConfig.ruby, *libraries, "-rnative", "-e", program)
    assert_equal [true, "100"], [status.success?, output]
  end

  # ----- beyond the list

  def test_a_producer_that_raises_is_heard
    assert_match(/this lender raises/, message_of(ArgumentError) { Crossdock.view(lend(bytes: "a", raises: true)) })
    assert_match(/refused: .*this lender raises/, Crossdock.explain(lend(bytes: "a", raises: true)))
    assert_match(/gave no MemoryView/, message_of(Crossdock::Refusal) { Crossdock.view(lend(bytes: "a", unavailable: true)) })
  end

  def test_a_producer_that_lends_writable_memory_is_written
    lender = lend(bytes: "abcd", ndim: 2, shape: [2, 2], strides: [1, 2])
    array = Crossdock.view(lender, writable: true)
    array[0, 1] = 120
    assert_equal [[97, 120], [98, 100]], Crossdock.view(lender).to_a
    lender.poke(0, 121)
    assert_equal 121, array[0, 0]
    array[true, 1] = lend(bytes: "st")
    assert_equal [[121, 115], [98, 116]], array.to_a
  end
end
