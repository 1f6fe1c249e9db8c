# frozen_string_literal: true

require_relative "helper"
require "tmpdir"

# Errors state in Ruby's words what to do, for every part of the library.
class TestWords < Test::Unit::TestCase
  include Helper

  # Rust names of the library: a path, a method in backticks, a type, a predicate of its errors.
  # `nb::ro` is C++.
  RUST = /`|(?<!\(nb)::(?!Array|Error|Refusal)|\b(?:into|to_byte|is|as|with)_[a-z_]+|\bDArray\b|\bKind\b|\b(?:Share|Pin|Read|Write) lease|this handle/

  def swapped
    Crossdock::Array.new([1, 2], dtype: :">int16")
  end

  def column_of_two
    Crossdock::Array.new([{ a: 1, b: 2.0 }], dtype: { a: :int8, b: :float32 }).freeze.to_arrow(copy: true)
  end

  CASES = {
    -> { swapped.to_arrow } => /cast/,
    -> { swapped.to_dlpack } => /byte order/,
    -> { Crossdock::Array[1].to_readonly.to_dlpack } => /trust_readonly: true/,
    -> { Crossdock::Array[1].to_readonly.to_dlpack(legacy: true) } => /trust_readonly: true/,
    -> { Crossdock.from_arrow(column_of_two) } => /as: :columns.*as: :records/,
    -> { Crossdock.from_arrow(Crossdock::Array[1, 2].freeze.to_arrow(copy: true, mask: Crossdock::Array[true, false])) } => /as: :masked/,
    -> { Crossdock::Array.new(5).freeze.to_arrow(copy: true) } => /index :new.*whole: true/,
    -> { Crossdock::Array[1].to_readonly.share_memory(writable: true) } => /copy/,
    -> { Crossdock::Array[1].share_memory } => /copy/,
    -> { array = Crossdock::Array[1].to_readonly; kept = array.to_arrow(copy: true); Crossdock.view(array, writable: true) && kept } => /copy/,
    -> { array = Crossdock::Array[1]; @kept = array.to_arrow; array[0..] = Crossdock::Array[2] } => /a share lease was refused: 1 read lease held/,
    -> { Crossdock::Array[1].broadcast_to(2).to_dlpack.to_dlpack.then { |lent| Crossdock.from_dlpack(lent)[0] = 1 } } => /copy/,
    -> { Crossdock::Array.zeros(1, dtype: :bfloat16).save(File.join(Dir.tmpdir, "crossdock-words.npy")) } => /bfloat16/,
    -> { Crossdock::SharedMemory.import(0, "rubbish") } => /rubbish/,
    -> { Crossdock::Array[1].view_as(:int32).reshape(5) } => /./,
    -> { Crossdock::Array[1.5].cast(:int8) } => /1\.5 does not fit int8/
  }.freeze

  def test_no_error_names_what_only_rust_has
    CASES.each do |attempt, expected|
      message = begin
        instance_exec(&attempt)
        flunk("#{attempt.source_location} raised nothing")
      rescue Crossdock::Error, ArgumentError, TypeError, RangeError, FrozenError, IndexError => error
        error.message
      end
      assert_match(expected, message)
      refute_match(RUST, message)
    end
  end

  def test_explain_uses_the_same_words
    [swapped, Crossdock::Array.zeros(1, dtype: :bfloat16), Crossdock::Array.new(5), Crossdock::Array[1].to_readonly, Crossdock::Array[1].tap { |array| @kept = array.to_arrow },
     Crossdock.view(Crossdock::Array[1, 2])].each do |array|
      refute_match(RUST, Crossdock.explain(array))
    end
  end
end
