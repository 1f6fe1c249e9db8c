# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "rubygems/package"
require "shellwords"
require "tmpdir"

# The gem with a built extension in place of its sources, for this platform and version of Ruby: it
# is installed without Rust.
module NativeGem
  class << self
    # @param extension [String] the path of the built extension
    # @param folder [String] gets the gem
    # @return [String] the path of the gem
    def pack(extension, folder)
      library = "lib/crossdock/crossdock.#{RbConfig::CONFIG["DLEXT"]}"
      specification = specified(library)
      Dir.mktmpdir do |staged|
        specification.files.each do |name|
          from = name == library ? extension : File.join(__dir__, name)
          FileUtils.mkdir_p(File.dirname(File.join(staged, name)))
          FileUtils.cp(from, File.join(staged, name))
        end
        strip(File.join(staged, library))
        package = Dir.chdir(staged) { Gem::Package.build(specification) }
        FileUtils.mv(File.join(staged, package), folder)
        File.join(folder, package)
      end
    end

    private

    def specified(library)
      specification = Dir.chdir(__dir__) { Gem::Specification.load("crossdock.gemspec") }.dup
      major, minor = RUBY_VERSION.split(".").map(&:to_i)
      specification.platform = Gem::Platform.local
      # Other versions of Ruby load no extension of this one.
      specification.required_ruby_version = [">= #{major}.#{minor}", "< #{major}.#{minor + 1}.dev"]
      specification.extensions = []
      sources = ->(name) { name.start_with?("vendor/") && !File.basename(name).start_with?("LICENSE") }
      # The licences of the crates in the extension, if they were listed.
      licences = Dir.chdir(__dir__) { Dir["LICENSE-THIRD-PARTY"] }
      specification.files = specification.files.reject { |name| sources.(name) || name == "stage.rb" } + [library] + licences
      specification
    end

    def strip(library)
      command = RbConfig::CONFIG["STRIP"].to_s
      raise "#{command} failed for #{library}" unless command.empty? || system(*command.shellsplit, library)
    end
  end
end
