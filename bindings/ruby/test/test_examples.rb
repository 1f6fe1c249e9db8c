# frozen_string_literal: true

require_relative "helper"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "native"

class TestExamples < Test::Unit::TestCase
  EXAMPLES = File.expand_path("../examples", __dir__)

  # A Python with NumPy, in the variable that the Rust tests use.
  def python
    ENV.fetch("CROSSDOCK_PYTHON") do
      flunk("CROSSDOCK_PYTHON names no Python with NumPy") if ENV.key?("CROSSDOCK_REQUIRE_COUNTERPARTS")
      omit("CROSSDOCK_PYTHON names no Python with NumPy")
    end
  end

  def run_example(name, *arguments)
    library = File.expand_path("../lib", __dir__)
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", library, File.join(EXAMPLES, name), *arguments)
    assert status.success?, output
    output
  end

  def test_an_array_goes_to_a_neighbour_and_back_without_a_copy
    assert_equal <<~TEXT, run_example("neighbour.rb", python)
      the table, of which the neighbour has doubled a part:
      Crossdock::Array float64 [3, 4]
      [[ 2.0  2.0  6.0  4.0]
       [10.0  6.0 14.0  8.0]
       [18.0 10.0 22.0 12.0]]
      the neighbour's sums, in its memory, which outlives it:
      Crossdock::Array float64 [3]
      [40.0 24.0  8.0]
    TEXT
  end

  def test_an_extension_with_the_header_for_producers_lends_its_pixels
    root = File.expand_path("../../..", __dir__)
    folder = File.join(root, "examples", "producer")
    Dir.mktmpdir("crossdock-producer") do |target|
      Native.build("image_ruby", target, folder: folder, includes: [File.join(root, "crates", "crossdock-capi", "include")])
      library = File.expand_path("../lib", __dir__)
      output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", library, "-I", target, File.join(folder, "image_ruby.rb"))
      assert status.success?, output
      assert_equal <<~TEXT, output
        Fiddle    [480, 640, 3] [1920, 3, 1] C 0
        Crossdock [480, 640, 3] true [1, 2, 3]
      TEXT
    end
  end
end
