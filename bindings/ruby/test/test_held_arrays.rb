# frozen_string_literal: true

require_relative "helper"
require "rbconfig"
require "tmpdir"

class TestHeldArrays < Test::Unit::TestCase
  include Helper

  COMMAND = ENV.fetch("CROSSDOCK_BIN", File.expand_path("../../../target/debug/crossdock", __dir__))

  # Sockets in a folder of the test's own, and the command that holds a name.
  def holding(name)
    omit("the command is not built: cargo build -p crossdock-cli, or CROSSDOCK_BIN") unless File.executable?(COMMAND)
    Dir.mktmpdir do |folder|
      former = ENV.to_h.slice("XDG_RUNTIME_DIR", "CROSSDOCK_SET")
      ENV.update("XDG_RUNTIME_DIR" => folder, "CROSSDOCK_SET" => nil)
      output, input = IO.pipe
      pid = spawn(COMMAND, "hold", "--name", name, out: input)
      input.close
      assert_match(/\Aholding #{name}/, output.gets)
      yield
    ensure
      if pid
        Process.kill(:TERM, pid)
        Process.wait(pid)
      end
      output&.close
      ENV.update("XDG_RUNTIME_DIR" => nil, "CROSSDOCK_SET" => nil)
      ENV.update(former)
    end
  end

  def child(code)
    lib = File.expand_path("../lib", __dir__)
    IO.popen([RbConfig.ruby, "-I#{lib}", "-rcrossdock", "-e", code], err: File::NULL, &:read)
  end

  def test_a_version_is_read_by_other_processes_in_place
    holding("v") do
      arrays = { "w" => Crossdock::Array.new([[1.5, 2.5], [3.5, 4.5]]), "größe" => Crossdock::Array.new([7, 8], dtype: :int16) }
      assert_equal "v@1", Crossdock.publish("v", arrays, metadata: { "step" => "7" })
      before = Crossdock.copied_bytes
      held = Crossdock.connect("v")
      assert_equal ["v@1", 2, %w[w größe]], [held.label, held.size, held.keys]
      assert_equal({ "step" => "7" }, held.metadata)
      assert_equal [true, false], [held.key?("w"), held.key?("x")]
      assert_predicate held["w"], :readonly?
      assert_equal before, Crossdock.copied_bytes
      assert_equal(arrays.transform_values(&:to_a), held.to_h { |name, array| [name, array.to_a] })
      assert_nil held["x"]
      assert_match(/v@1 has no array "x"/, message_of(KeyError) { held.fetch("x") })
      assert_equal "#<Crossdock::HeldArrays v@1 of 2 arrays>", held.inspect
      assert_operator held.nbytes, :>, 36
      assert_false held.mapped?

      assert_equal "v@2", Crossdock.publish("v", { "w" => Crossdock::Array.new([9]) })
      assert_equal "v@2 [9] v@1 [7, 8]",
                   child("a, b = %w[v v@1].map { Crossdock.connect(_1) }; print a.label, ' ', a['w'].to_a, ' ', b.label, ' ', b['größe'].to_a")
      ENV["CROSSDOCK_SET"] = "v@1"
      assert_equal "v@1", Crossdock.connect.label
      assert_match(/v@2/, message_of(IndexError) { Crossdock.connect("v@7") })
    end
  end

  def test_a_table_is_published_and_read_by_other_processes_in_place
    holding("t") do
      table = Crossdock.table({ "n" => Crossdock::Array.new([1, 2, 3]), "s" => Crossdock::Column.new(["a", nil, "größe"]) })
      assert_equal "t@1", Crossdock.publish("t", { "trades" => table, "w" => Crossdock::Array.new([7]) })
      before = Crossdock.copied_bytes
      held = Crossdock.connect("t")
      assert_equal "#<Crossdock::HeldArrays t@1 of 1 array and 1 table>", held.inspect
      found = held["trades"]
      assert_kind_of Crossdock::Table, found
      assert_equal [3, 2], found.shape
      assert_equal table.to_h, found.to_h
      assert_predicate found["n"].array, :readonly?
      assert_equal [7], held.fetch("w").to_a
      addresses = Array.new(2) { Crossdock.connect("t")["trades"]["n"].array.address % 64 }
      assert_equal [0, 0], addresses
      assert_equal before, Crossdock.copied_bytes
      assert_match(/t@1 has no array or table "x"/, message_of(KeyError) { held.fetch("x") })
      assert_equal "[1, 2, 3]", child("print Crossdock.connect('t')['trades']['n'].to_a")
    end
  end

  def test_arrays_outlive_the_set_and_the_holder
    held = nil
    holding("k") do
      Crossdock.publish("k", { "w" => Crossdock::Array.new([1, 2, 3]) })
      held = Crossdock.connect("k")["w"]
    end
    GC.start
    assert_equal [1, 2, 3], held.to_a
    assert_match(/read-only/, message_of(FrozenError) { held[0] = 1 })
  end

  def test_wrong_names_are_refused
    holding("r") do
      ["", "a/b", "r@0"].each { |name| assert_raise(ArgumentError, Crossdock::Error) { Crossdock.connect(name) } }
      assert_match(/no process holds none/, message_of(IOError) { Crossdock.connect("none") })
      assert_match(/no version yet/, message_of(IndexError) { Crossdock.connect("r") })
      assert_equal %w[a b], (Crossdock.publish("r", "a" => Crossdock::Array[1], b: Crossdock::Array[2]) && Crossdock.connect("r").keys)
      assert_equal %w[a], (Crossdock.publish("r", { a: Crossdock::Array[1] }, metadata: { "k" => "v" }) && Crossdock.connect("r").keys)
      assert_match(/give its arrays/, message_of(ArgumentError) { Crossdock.publish("r") })
      assert_match(/is no Crossdock::Array/, message_of(TypeError) { Crossdock.publish("r", { "w" => [1] }) })
      assert_match(/CROSSDOCK_SET/, message_of(ArgumentError) { Crossdock.connect })
      [[1], Crossdock::Array[1]].each do |arrays|
        assert_match(/arrays: an instance of #{arrays.class} is no Hash/, message_of(TypeError) { Crossdock.publish("r", arrays) })
      end
      assert_match(/Crossdock\.connect/, message_of(TypeError) { Marshal.dump(Crossdock.publish("r", {}).then { Crossdock.connect("r") }) })
    end
  end
end
