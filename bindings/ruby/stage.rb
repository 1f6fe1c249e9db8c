# frozen_string_literal: true

require "fileutils"

# The gem's content besides its own files: the sources of the extension, in a folder `vendor` with
# the repository's layout, so that all paths between them stay the same; and the headers. Recreated
# whenever the gem is built.
module Stage
  HERE = __dir__
  REPOSITORY = File.expand_path("../..", HERE)
  CRATES = %w[crossdock crossdock-derive].freeze
  HEADERS = "crates/crossdock-capi/include"

  # Whether this is the repository rather than an unpacked gem.
  def self.repository?
    File.directory?(File.join(REPOSITORY, "crates", "crossdock"))
  end

  def self.run
    return unless repository?

    %w[vendor include].each { |folder| FileUtils.rm_rf(File.join(HERE, folder)) }
    copy("Cargo.toml")
    CRATES.each do |crate|
      manifest = copy("crates/#{crate}/Cargo.toml")
      # The tests, the examples and their needs are left out.
      File.write(manifest, File.read(manifest).gsub(/^\[(?:\[(?:test|example)\]|dev-dependencies)\]\n(?:(?!\[).*\n)*/, ""))
      Dir.chdir(REPOSITORY) { Dir["crates/#{crate}/src/**/*.{rs,c,h}"] }.each { |file| copy(file) }
    end
    Dir.chdir(REPOSITORY) { Dir["bindings/ruby/ext/crossdock/{*.rb,*.rs,Cargo.*,src/**/*.rs}"] }.each { |file| copy(file) }
    copy("README.md")
    %w[LICENSE-APACHE LICENSE-MIT].each { |licence| copy(licence) }
    headers
  end

  def self.headers
    FileUtils.mkdir_p(File.join(HERE, "include", "crossdock"))
    FileUtils.cp(File.join(REPOSITORY, HEADERS, "crossdock.h"), File.join(HERE, "include"))
    Dir[File.join(REPOSITORY, HEADERS, "crossdock", "*.h"), File.join(HERE, "ext", "crossdock", "include", "crossdock", "*.h")].each do |header|
      FileUtils.cp(header, File.join(HERE, "include", "crossdock"))
    end
  end

  def self.copy(file)
    to = File.join(HERE, "vendor", file)
    FileUtils.mkdir_p(File.dirname(to))
    FileUtils.cp(File.join(REPOSITORY, file), to)
    to
  end
end
