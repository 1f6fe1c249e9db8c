# frozen_string_literal: true

require_relative "helper"
require "pathname"
require "tmpdir"

class TestFiles < Test::Unit::TestCase
  include Helper

  def test_an_array_is_saved_and_mapped
    Dir.mktmpdir do |folder|
      path = Pathname(folder) / "numbers.npy"
      array = Crossdock::Array.new([[1.5, 2.5], [3.5, 4.5]])
      assert_same array, array.transpose.save(path) && array
      opened = Crossdock.open(path)
      assert_equal [array.transpose.to_a, true], [opened.to_a, opened.readonly?]
      Crossdock.open(path.to_s, writable: true) { |writable| writable[0, 0] = 9 }
      assert_equal 9.0, opened[0, 0]
      kept = nil
      assert_equal 4, Crossdock.open(path) { |mapped| (kept = mapped).size }
      assert_raise(Crossdock::Error) { kept.size }
    end
  end

  def test_errors_of_the_system_are_the_systems
    assert_match(/nowhere\.npy/, message_of(Errno::ENOENT) { Crossdock.open("/nowhere.npy") })
    Dir.mktmpdir do |folder|
      path = File.join(folder, "text.npy")
      File.write(path, "no array at all")
      assert_match(/text\.npy/, message_of(Crossdock::Error) { Crossdock.open(path) })
    end
  end

  def test_files_of_several_arrays_have_names
    Dir.mktmpdir do |folder|
      path = File.join(folder, "one.npy")
      Crossdock::Array[1, 2].save(path)
      assert_equal({ "" => [1, 2] }, Crossdock.open_all(path).transform_values(&:to_a))
    end
  end
end
