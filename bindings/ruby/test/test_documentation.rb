# frozen_string_literal: true

require_relative "helper"
require "open3"

# The comments are what YARD reads.
class TestDocumentation < Test::Unit::TestCase
  include Helper

  GEM = File.expand_path("..", __dir__)

  def test_yard_has_no_warning
    library "yard"
    # Without a page or a database.
    output, status = Open3.capture2e("yard", "doc", "--no-output", "--no-save", "--no-cache", "--fail-on-warning", "--no-stats", chdir: GEM)
    assert_equal [true, ""], [status.success?, output.lines.grep(/warn|error/i).join]
  end

  def test_every_public_method_has_a_comment
    library "yard"
    YARD::Logger.instance.level = YARD::Logger::ERROR
    YARD.parse(File.join(GEM, "lib", "**", "*.rb"))
    bare = YARD::Registry.all(:method).select do |method|
      method.visibility == :public && method.docstring.blank? && method.namespace.to_s.match?(/\ACrossdock(::(Array|Table|Column|Channel|Ledger|DLPack|Arrow\w+|SharedMemory|HeldArrays|Request))?\z/) && !method.is_alias?
    end
    assert_empty bare.map(&:path)
  ensure
    YARD::Registry.clear if defined?(YARD)
  end
end
