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

  def in_folder
    Dir.mktmpdir { |folder| yield Pathname(folder) }
  end

  MAGIC = { "npy" => "\x93NUMPY", "npz" => "PK", "png" => "\x89PNG", "PNG" => "\x89PNG", "jpg" => "\xff\xd8", "jpeg" => "\xff\xd8", "JPG" => "\xff\xd8" }.freeze

  # Each extension that `open` reads.
  def test_a_file_is_written_as_its_ending_says
    in_folder do |folder|
      pixels = Crossdock::Array.zeros(16, 16, 3, dtype: :uint8).fill(100)
      (MAGIC.keys + ["safetensors"]).each do |ending|
        path = folder / "x.#{ending}"
        pixels.save(path)
        assert_equal MAGIC[ending].b, path.binread(MAGIC[ending].bytesize), ending if MAGIC[ending]
        assert_equal pixels.shape, Crossdock.open(path).shape, ending
        assert_equal pixels, Crossdock.open(path) unless ending.downcase.start_with?("jp")
      end
      assert_equal ["x"], Crossdock.open_all(folder / "x.npz").keys
      assert_equal ["x"], Crossdock.open_all(folder / "x.safetensors").keys
    end
  end

  def test_an_ending_that_says_no_format_is_refused_and_nothing_is_written
    in_folder do |folder|
      ["x", "x.dat", "x.npy.gz", "x.", ".npy", "x.raw", "x.bin", "x.tiff"].each do |name|
        message = message_of(ArgumentError) { Crossdock::Array[1].save(folder / name) }
        assert_match(/\.npy, \.npz, \.safetensors, \.png, \.jpg/, message)
        assert_match(/to_binary/, message) if name.match?(/raw|bin/)
        assert_path_not_exist folder / name
      end
    end
  end

  def test_a_format_may_be_named_whatever_the_ending
    in_folder do |folder|
      path = folder / "anything"
      { npy: "\x93NUMPY", "npz" => "PK", png: "\x89PNG", JPG: "\xff\xd8", jpeg: "\xff\xd8" }.each do |format, magic|
        Crossdock::Array.zeros(4, 4, dtype: :uint8).save(path, format: format)
        assert_equal magic.b, path.binread(magic.bytesize)
      end
      [:raw, :bin, :tiff, "", "../x", "a/b", "npy/", "x.npy "].each do |format|
        assert_match(/:npy, :npz/, message_of(ArgumentError) { Crossdock::Array[1].save(path, format: format) }, format)
      end
      assert_raise(TypeError) { Crossdock::Array[1].save(path, format: 5) }
    end
  end

  def test_what_a_format_has_no_words_for_leaves_the_file_as_it_was
    in_folder do |folder|
      { "x.png" => Crossdock::Array[1.5], "x.jpg" => Crossdock::Array[1.5], "x.safetensors" => Crossdock::Array[1i] }.each do |name, array|
        (folder / name).write("what was there")
        assert_raise(Crossdock::Error, TypeError, ArgumentError) { array.save(folder / name) }
        assert_equal "what was there", (folder / name).read
        assert_equal [name], folder.children.map { |child| child.basename.to_s }
        (folder / name).unlink
      end
    end
  end

  def test_what_is_no_regular_file_is_written_through
    in_folder do |folder|
      array = Crossdock::Array.zeros(300, 300)
      expected = array.save(folder / "x.npy") && (folder / "x.npy").binread
      File.mkfifo(folder / "pipe.npy")
      reader = Thread.new { (folder / "pipe.npy").binread }
      array.save(folder / "pipe.npy")
      assert_equal [expected, "fifo"], [reader.value, (folder / "pipe.npy").ftype]
      assert_same array, array.save("/dev/null", format: :npy)
      assert_equal "characterSpecial", File.ftype("/dev/null")
      File.symlink("target.npy", folder / "link.npy")
      array.save(folder / "link.npy")
      assert_equal [expected, "link"], [(folder / "target.npy").binread, (folder / "link.npy").ftype]
      assert_equal %w[link.npy pipe.npy target.npy x.npy], folder.children.map { |child| child.basename.to_s }.sort
    end
  end

  def test_a_file_that_is_written_again_keeps_its_mode
    in_folder do |folder|
      path = folder / "x.npy"
      Crossdock::Array[1].save(path)
      path.chmod(0o600)
      Crossdock::Array[2, 3].save(path)
      assert_equal [0o600, [2, 3]], [path.stat.mode & 0o777, Crossdock.open(path).to_a]
    end
  end

  # An unreadable array in an archive does not keep the others from being read, and the Hash never
  # lacks it silently.
  def test_an_array_that_cannot_be_opened_is_named
    in_folder do |folder|
      path = folder / "x.npz"
      Crossdock::Array[1].save(path)
      path.binwrite(path.binread.sub("'<i8'", "'|O8'"))
      assert_match(/object/, message_of(Crossdock::Error, TypeError) { Crossdock.open_all(path) })
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
