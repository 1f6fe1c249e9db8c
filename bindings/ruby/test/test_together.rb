# frozen_string_literal: true

require_relative "helper"
require "open3"
require "rbconfig"
require "tmpdir"

# One set and one channel, used by programs in Rust, C, Ruby and Python at the same time. Each member
#
# - reads the array and the table of the set that the command holds, and fails to write them
# - attaches a sender and a receiver to the channel, and waits until all members have
# - sends a number of messages with its own number in front, and receives those of all members, in
#   the order of each; it fails to write them
# - prints how many it sent and received
class TestTogether < Test::Unit::TestCase
  include Helper

  ROOT = File.expand_path("../../..", __dir__)
  # The folder of the command, the C library and the member in Rust.
  PROGRAMS = File.dirname(ENV.fetch("CROSSDOCK_BIN", File.join(ROOT, "target/debug/crossdock")))
  # The folder in which Python finds the package `crossdock`.
  PACKAGE = ENV.fetch("CROSSDOCK_PYTHON_PACKAGE", "")
  PYTHON = ENV.fetch("CROSSDOCK_PYTHON", "python3")
  COUNT = 100

  def built(name)
    path = [PROGRAMS, File.join(PROGRAMS, "deps")].map { |folder| File.join(folder, name) }.find { File.exist?(_1) }
    return path if path

    flunk("#{name} is not built") if ENV["CROSSDOCK_PYTHON_PACKAGE"]
    omit("#{name} is not built: cargo build -p crossdock-cli, and cargo build -p crossdock-capi --example member")
  end

  def member_in_c(folder)
    library, program = built("libcrossdock_capi.so"), File.join(folder, "member")
    capi = File.join(ROOT, "crates/crossdock-capi")
    # The name that is written in the library.
    File.symlink(library, File.join(folder, "libcrossdock.so.#{Crossdock::VERSION[/\A\d+\.\d+/]}"))
    output, status = Open3.capture2e(ENV.fetch("CC", "cc"), "-std=gnu11", "-Wall", "-Werror", "-I#{capi}/include", "-o", program,
                                     "#{capi}/tests/c/together/member.c", library, "-Wl,-rpath,#{folder}")
    assert_predicate status, :success?, output
    program
  end

  def members(folder)
    here = File.join(__dir__, "together")
    [
      [built("examples/member")],
      [member_in_c(folder)],
      [RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", File.join(here, "member.rb")],
      [{ "PYTHONPATH" => PACKAGE }, PYTHON, File.join(here, "member.py")]
    ]
  end

  def holding(folder)
    former = ENV.to_h.slice("XDG_RUNTIME_DIR")
    ENV["XDG_RUNTIME_DIR"] = folder
    files = %w[squares.npy rows.arrow].map { |name| File.join(folder, name) }
    Crossdock::Array.new(Array.new(100) { |k| k * k }).save(files[0])
    Crossdock.table({ "k" => Crossdock::Array.new(Array.new(10) { _1 }), "name" => Crossdock::Column.new(%w[zero eins größe] + [nil] * 7) })
             .save(files[1])
    output, input = IO.pipe
    pid = spawn(built("crossdock"), "hold", *files, "--name", "together", out: input)
    input.close
    assert_match(/\Aholding together@1/, output.gets)
    yield
  ensure
    if pid
      Process.kill(:TERM, pid)
      Process.wait(pid)
    end
    output&.close
    ENV["XDG_RUNTIME_DIR"] = nil
    ENV.update(former)
  end

  # Runs the commands at the same time. If one fails, the others would wait for it: they are killed.
  def outputs_of(commands, options)
    pipes = commands.map { |command| IO.popen(command, err: %i[child out], **options) }
    outputs = pipes.map { |pipe| Thread.new { pipe.read } }
    left = pipes.map(&:pid)
    until left.empty?
      pid, status = Process.wait2(-1, 0)
      next unless left.delete(pid)
      next if status.success?

      left.each { |other| Process.kill(:KILL, other) }
      told = outputs.map(&:value)
      flunk(told[pipes.index { |pipe| pipe.pid == pid }])
    end
    outputs.map(&:value)
  ensure
    pipes&.each(&:close)
  end

  def test_programs_in_every_language_share_a_set_and_a_channel
    omit("name the folder of the package crossdock for Python: CROSSDOCK_PYTHON_PACKAGE") if PACKAGE.empty?
    Dir.mktmpdir do |folder|
      members = members(folder)
      holding(folder) do
        channel = Crossdock::Channel.new(8, 64, name: "together")
        shared = channel.to_array.share_memory(writable: true)
        fd = shared.fileno
        arguments = ->(id) { ["together", fd, shared.description, id, COUNT].map(&:to_s) }
        told = outputs_of(members.each_with_index.map { |command, id| command + arguments.(id) }, fd => fd)
        each = [COUNT] * members.size
        assert_equal(%w[rust c ruby python].map { |name| "#{name} #{COUNT} #{each.inspect} 0\n" }, told)
        assert_equal COUNT * members.size, channel.sent
        assert_equal Array.new(100) { |k| k * k }, Crossdock.connect("together")["squares"].to_a
      end
    end
  end
end
