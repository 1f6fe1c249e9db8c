# frozen_string_literal: true

require_relative "helper"
require "open3"
require "rbconfig"

# The program in Ruby of the guide: the chapter shows the file as it is, and what it prints.
class TestGuide < Test::Unit::TestCase
  GUIDE = File.expand_path("../../../docs/guide", __dir__)
  LIBRARY = File.expand_path("../lib", __dir__)

  def test_the_chapter_on_producers_shows_its_program_and_what_it_prints
    path = File.join(GUIDE, "programs", "08_producer.rb")
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", LIBRARY, path)
    assert_predicate status, :success?, output
    assert_include File.read(File.join(GUIDE, "08-producer.md")), "```ruby\n#{File.read(path)}```\n\n```text\n#{output}```\n"
  end
end
