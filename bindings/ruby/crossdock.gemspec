# frozen_string_literal: true

require_relative "lib/crossdock/version"
require_relative "stage"

Stage.run

Gem::Specification.new do |spec|
  spec.name = "crossdock"
  spec.version = Crossdock::VERSION
  spec.summary = "N-dimensional arrays that change hands without being copied"
  spec.description = "An n-dimensional array for Ruby that lends its memory to whoever asks for a MemoryView, and borrows that of others."
  spec.authors = ["The Crossdock authors"]
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir.chdir(__dir__) do
    Dir["{lib,sig,examples,include,vendor}/**/*"].select { |file| File.file?(file) && !file.end_with?(".so") } + %w[.yardopts README.md stage.rb]
  end
  spec.extensions = ["vendor/bindings/ruby/ext/crossdock/extconf.rb"]
  spec.require_paths = ["lib"]
end
