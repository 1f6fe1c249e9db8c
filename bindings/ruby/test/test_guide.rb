# frozen_string_literal: true

require_relative "helper"
require "open3"
require "rbconfig"

# The programs in Ruby of the guide: each chapter shows its file as it is, and what it prints.
class TestGuide < Test::Unit::TestCase
  ROOT = File.expand_path("../../..", __dir__)
  GUIDE = File.join(ROOT, "docs", "guide")
  LIBRARY = File.expand_path("../lib", __dir__)

  def test_the_chapter_on_leases_shows_its_program_and_what_it_prints
    assert_shown "04_leases.rb", "04-leases.md"
  end

  def test_the_chapter_on_copies_shows_its_program_and_what_it_prints
    assert_shown "05_copies.rb", "05-copies.md"
  end

  def test_the_chapter_on_producers_shows_its_program_and_what_it_prints
    assert_shown "08_producer.rb", "08-producer.md"
  end

  def test_the_chapter_on_opening_files_shows_its_program_and_what_it_prints
    assert_shown "01_open.rb", "01-open.md"
  end

  def test_the_chapter_on_slices_shows_its_program_and_what_it_prints
    assert_shown "03_slices.rb", "03-slices.md"
  end

  private

  # Runs a program in the checkout.
  def assert_shown(program, chapter)
    path = File.join(GUIDE, "programs", program)
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", LIBRARY, path, chdir: ROOT)
    assert_predicate status, :success?, output
    assert_include File.read(File.join(GUIDE, chapter)), "```ruby\n#{File.read(path)}```\n\n```text\n#{output}```\n"
  end
end
