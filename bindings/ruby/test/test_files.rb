# frozen_string_literal: true

require_relative "helper"
require "open3"
require "pathname"
require "stringio"
require "timeout"
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

  # A named pipe without a reader, and one whose reader does not read.
  def with_stalled_pipes
    in_folder do |folder|
      path = folder / "pipe.npy"
      File.mkfifo(path)
      yield path
      File.open(path, File::RDONLY | File::NONBLOCK) { yield path }
    end
  end

  # For each format, more than a pipe holds.
  LARGE = Crossdock::Array.zeros(700, 1000, dtype: :uint8).tap { |array| array[true, true] = Crossdock::Array.from_string(Random.new(3).bytes(700_000), shape: [700, 1000]) }

  def test_a_pipe_that_waits_is_interrupted
    with_stalled_pipes do |path|
      %i[npy npz safetensors png jpg].each do |format|
        error = Class.new(StandardError)
        ended = nil
        thread = Thread.new { LARGE.save(path, format: format) rescue $! }
        Thread.pass until thread.stop?
        thread.raise(error)
        assert_kind_of error, thread.value
        thread = Thread.new do
          LARGE.save(path, format: format)
        ensure
          ended = true
        end
        Thread.pass until thread.stop?
        assert_same thread, thread.kill.join(20)
        assert_equal true, ended
      end
      assert_raise(Timeout::Error) { Timeout.timeout(0.1) { LARGE.save(path) } }
    end
  end

  def test_a_signal_ends_a_program_that_waits_for_a_pipe
    libraries = "-I#{File.expand_path("../lib", __dir__)}"
    with_stalled_pipes do |path|
      [path.to_s, "/dev/stdout"].each do |target|
        program = "trap(:INT) { raise Interrupt }; begin; $stderr.puts :ready; Crossdock::Array.zeros(1 << 20).save(#{target.inspect}, format: :npy); rescue Interrupt; $stderr.puts :ended; end"
        Open3.popen3(RbConfig.ruby, libraries, "-rcrossdock", "-e", program) do |_, _, errors, waiter|
          assert_equal "ready\n", errors.gets
          sleep 0.05 until File.read("/proc/#{waiter.pid}/stat").split(") ").last.start_with?("S")
          Process.kill(:INT, waiter.pid)
          assert_equal "ended\n", errors.gets
          assert_predicate waiter.value, :success?
        end
      end
    end
  end

  # After a handler that raises nothing, the write continues.
  def test_a_pipe_gets_every_byte_whatever_interrupts
    in_folder do |folder|
      path = folder / "pipe.npy"
      expected = LARGE.save(folder / "x.npy") && (folder / "x.npy").binread
      File.mkfifo(path)
      signals = 0
      old = trap(:USR1) { signals += 1 }
      reader = Thread.new do
        File.open(path, "rb") do |pipe|
          bytes = +"".b
          while (more = pipe.read(50_000))
            Process.kill(:USR1, Process.pid)
            bytes << more
          end
          bytes
        end
      end
      LARGE.save(path)
      assert_equal expected, reader.value
      assert_operator signals, :>, 0
      %i[npz safetensors png jpg].each do |format|
        reader = Thread.new { path.binread }
        LARGE.save(path, format: format)
        LARGE.save(folder / "same", format: format)
        written = Crossdock.open(folder / "same")
        (folder / "same").binwrite(reader.value)
        assert_equal written, Crossdock.open(folder / "same"), format
      end
    ensure
      trap(:USR1, old)
    end
  end

  def test_a_pipe_without_a_reader_any_more_is_the_systems_error
    in_folder do |folder|
      path = folder / "pipe.npy"
      File.mkfifo(path)
      reader = Thread.new { File.open(path, "rb") { |pipe| pipe.read(10) } }
      assert_match(/pipe\.npy/, message_of(Errno::EPIPE) { 10.times { LARGE.save(path) } })
      reader.join
      File.open(path, File::RDONLY | File::NONBLOCK) do
        assert_match(/pipe\.npy.*bfloat16/, message_of(Crossdock::Error) { Crossdock::Array.zeros(1, dtype: :bfloat16).save(path) })
      end
    end
  end

  def test_a_pipe_is_not_opened_for_reading
    in_folder do |folder|
      path = folder / "pipe.npy"
      File.mkfifo(path)
      Timeout.timeout(20) do
        assert_match(/pipe\.npy: it is a pipe/, message_of(Crossdock::Error) { Crossdock.open(path) })
        assert_match(/a pipe/, message_of(Crossdock::Error) { Crossdock.open(path, writable: true) })
        assert_match(/a pipe/, message_of(Crossdock::Error) { Crossdock.open_all(path) })
      end
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

  # A NIfTI volume of three numbers, whose header scales them.
  def volume(slope)
    header = "\0".b * 352
    { 0 => [348].pack("l<"), 40 => [1, 3].pack("s<2"), 70 => [4].pack("s<"), 108 => [352, slope, -1].pack("e3"), 344 => "n+1" }.each do |at, field|
      header[at, field.bytesize] = field.b
    end
    header + [7, 8, 9].pack("s<3")
  end

  def warnings
    old, $stderr = $stderr, StringIO.new
    yield
    $stderr.string
  ensure
    $stderr = old
  end

  def test_a_volume_is_mapped_and_a_warning_says_that_its_values_are_scaled
    in_folder do |folder|
      path = folder / "scan.nii"
      path.binwrite(volume(1))
      assert_match(/scan\.nii: the elements are as they are stored; the values are element × 1 \+ -1/, warnings { Crossdock.open(path) })
      path.binwrite(volume(0))
      assert_equal("", warnings { assert_equal [7, 8, 9], Crossdock.open(path).to_a })
      Crossdock.open(path, writable: true) { |array| array[0] = 5 }
      assert_equal([5, 8, 9], path.binread.unpack("@352s<3"))
      assert_match(/can be opened, but not written/, message_of(ArgumentError) { Crossdock::Array[1].save(folder / "new.nii") })
    end
  end

  def test_tensors_of_a_gguf_file_have_names
    in_folder do |folder|
      path = folder / "model.gguf"
      head = ["GGUF", 3, 1, 0, 1, "a", 2, 2, 1, 26, 0].pack("a4L<Q<Q<Q<a1L<Q<Q<L<Q<")
      path.binwrite(head.ljust((head.bytesize + 31) / 32 * 32, "\0") + [1, 2].pack("l<2"))
      assert_equal({ "a" => [[1, 2]] }, Crossdock.open_all(path).transform_values(&:to_a))
    end
  end

  def test_a_file_of_another_format_is_named_with_advice
    in_folder do |folder|
      path = folder / "x.h5"
      path.binwrite("\x89HDF\r\n\x1a\n".b)
      assert_match(/it is an HDF5 file; save its datasets as \.npy/, message_of(Crossdock::Error, TypeError) { Crossdock.open(path) })
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
