# frozen_string_literal: true

require_relative "helper"
require_relative "peers"
require "stringio"

# The transcript in the README, line by line.
class TestReadme < Test::Unit::TestCase
  README = File.expand_path("../README.md", __dir__)

  # The input, and the output below it.
  def transcript
    blocks = File.read(README).scan(/^```irb\n(.*?)^```$/m).flatten
    blocks.join.split(/^>> /).drop(1).map { |part| part.split("\n", 2) }
  end

  def answer(line, scope)
    printed = StringIO.new
    original, $stdout = $stdout, printed
    value = scope.eval(line)
    "#{printed.string}=> #{value.inspect}\n"
  rescue StandardError => error
    "#{error.class}: #{error.message.lines.first.chomp}\n"
  ensure
    $stdout = original
  end

  def test_every_line_of_the_transcript_is_answered_as_it_stands_there
    scope = Object.new.instance_eval { binding }
    lines = transcript
    assert_operator lines.size, :>=, 20
    lines.each do |line, expected|
      actual = answer(line, scope)
      # Whether a library was loaded before is not shown.
      actual = "=> true\n" if line.start_with?("require")
      assert_equal expected.to_s.sub(/\n*\z/, "\n"), actual, line
    end
  end

  # The gem has no README of the repository.
  def test_the_example_in_the_readme_of_the_repository_runs
    root = File.expand_path("../../..", __dir__)
    readme = File.join(root, "README.md")
    omit("not in the repository") unless File.exist?(readme)
    numo = Peers.library("numo-narray")
    omit("numo-narray: its sources are not beside the repository") unless numo
    example = File.read(readme)[/^```ruby\n(.*?)^```$/m, 1]
    library = File.expand_path("../lib", __dir__)
    told, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", library, "-I", numo, "-e", example, chdir: root)
    assert_equal [true, "255\n50.0\n0\n"], [status.success?, told]
  end

  def test_the_version_is_that_of_the_gem
    assert_include File.read(README), "crossdock-#{Crossdock::VERSION}.gem"
  end
end
