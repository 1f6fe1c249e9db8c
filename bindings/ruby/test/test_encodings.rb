# frozen_string_literal: true

require_relative "helper"

# Strings of every encoding as elements and names: text gets their characters, byte types get their
# bytes.
class TestEncodings < Test::Unit::TestCase
  include Helper

  SAME = %w[ISO-8859-1 ISO-8859-15 Windows-1252 UTF-8 UTF-16LE UTF-16BE UTF-32LE UTF-32BE UTF-16 UTF-32].freeze

  def utf8(*texts)
    texts.each { |text| assert_equal [Encoding::UTF_8, true], [text.encoding, text.valid_encoding?] }
  end

  def test_text_has_the_characters_of_a_string_of_any_encoding
    SAME.each do |name|
      texts = %w[é ab ç].map { |text| text.encode(name) }
      [Crossdock::Array.new(texts), Crossdock::Array.new(texts, dtype: "<U2"), Crossdock::Array.new(texts, dtype: ">U2")].each do |array|
        assert_equal %w[é ab ç], array.to_a, name
        utf8(*array.to_a)
      end
      array = Crossdock::Array.zeros(2, dtype: "U2")
      array[0] = texts[0]
      assert_equal ["é", ""], array.to_a
      assert_equal %w[ab ab], array.fill(texts[1]).to_a
      array[true] = texts[1..]
      assert_equal %w[ab ç], array.to_a
      assert_equal [{ n: "é" }], Crossdock::Array.new([{ n: texts[0] }], dtype: { n: "U1" }).to_a
    end
    assert_equal ["日本", "😀"], Crossdock::Array.new(["日本".encode("Shift_JIS"), "😀".encode("UTF-16LE")]).to_a
    assert_equal :U2, Crossdock::Array.new(["日本".encode("EUC-JP")]).dtype, "as long as its characters"
    assert_equal ["abc"], Crossdock::Array.new(["abc".b]).to_a
    assert_equal ["abc"], Crossdock::Array.new(["abc".encode("US-ASCII")]).to_a
  end

  def test_bytes_are_the_bytes_of_a_string_whatever_its_encoding
    texts = ["é".encode("ISO-8859-1"), "é", "é".encode("UTF-16BE"), "\xff", "\xff\xfe".b, "é".encode("UTF-32LE")]
    { S4: ->(text) { text.b.sub(/\0+\z/n, "") }, V4: ->(text) { text.b } }.each do |dtype, expected|
      texts.select { |text| dtype == :S4 || text.bytesize == 4 }.each do |text|
        array = Crossdock::Array.new([text], dtype: dtype)
        assert_equal [[expected[text]], Encoding::BINARY], [array.to_a, array[0].encoding]
      end
    end
    assert_match(/element \[1\].*4 bytes/, message_of(RangeError) { Crossdock::Array.new(["é", "é".encode("UTF-32LE")], dtype: :S2) })
  end

  def test_what_has_no_characters_is_refused_with_its_index
    latin = "\x81".dup.force_encoding("Windows-1252")
    broken = ["a\xff", "\xed\xa0\x80", "\x81".dup.force_encoding("Shift_JIS"), "\xd8\0".dup.force_encoding("UTF-16BE"), "a".dup.force_encoding("UTF-16LE"),
              "é".dup.force_encoding("US-ASCII")]
    (broken + [latin, "\xff".b]).each do |bad|
      expected = broken.include?(bad) ? EncodingError : Encoding::UndefinedConversionError
      [[{}, [["a", "b"], ["c", bad]]], [{ dtype: "U9" }, [["a", "b"], ["c", bad]]]].each do |options, nested|
        assert_match(/\Aelement \[1, 1\]: /, message_of(expected) { Crossdock::Array.new(nested, **options) }, bad.inspect)
      end
      array = Crossdock::Array.new(%w[ab cd])
      assert_raise(expected) { array[0] = bad }
      assert_raise(expected) { array.fill(bad) }
      assert_match(/element \[1\]/, message_of(expected) { array[true] = ["x", bad] })
      assert_equal %w[ab cd], array.to_a
      assert_match(/field "n"/, message_of(expected) { Crossdock::Array.zeros(1, dtype: { n: "U3" })[0] = { n: bad } })
    end
    assert_match(/2 bytes.*not valid UTF-8.*\\xFF/, message_of(EncodingError) { Crossdock::Array.new(["a\xff"]) })
  end

  def test_a_string_is_no_number
    [:int8, :float32, :bool, :complex64, "datetime64[s]"].each do |dtype|
      ["5", "\xff", "é".encode("UTF-16LE")].each do |text|
        assert_match(/element \[1\]: an instance of String.*#{Regexp.escape(dtype.to_s)}/, message_of(TypeError) { Crossdock::Array.new([1, text], dtype: dtype) })
      end
    end
  end

  def test_names_of_fields_are_characters
    latin = "é".encode("ISO-8859-1")
    [latin, latin.to_sym, "é".encode("UTF-16LE"), :é].each do |name|
      array = Crossdock::Array.new([{ name => 1 }], dtype: { name => :int8 })
      assert_equal [[:é], [{ é: 1 }]], [array.fields, array.to_a]
      assert_equal [1], array.field(name).to_a
    end
    assert_raise(EncodingError) { Crossdock::Array.zeros(1, dtype: { "\xff" => :int8 }) }
  end
end
