# frozen_string_literal: true

# Writes a Makefile whose targets call cargo: C's rules compile nothing here.

require "rbconfig"

abort "crossdock needs Ruby 3.1 or newer, and this is #{RUBY_VERSION}" if RUBY_VERSION < "3.1"

def executable?(name)
  ENV["PATH"].split(File::PATH_SEPARATOR).any? { |folder| File.executable?(File.join(folder, name)) }
end

cargo = ENV.fetch("CARGO", "cargo")
unless File.executable?(cargo) || executable?(cargo)
  abort "crossdock is built by cargo (Rust 1.95 or newer), which is not in the PATH: install Rust, or name it by CARGO="
end
unless File.file?(File.join(RbConfig::CONFIG["rubyhdrdir"], "ruby.h"))
  abort "crossdock needs the headers of this Ruby: install them (Debian: apt-get install ruby-dev libclang-dev)"
end

source = __dir__
own_target = File.join(Dir.pwd, "target")
target = ENV.fetch("CARGO_TARGET_DIR", own_target)
suffix = RbConfig::CONFIG["SOEXT"]
built = File.join(target, "release", "libcrossdock_ruby.#{suffix}")
name = "crossdock.#{RbConfig::CONFIG["DLEXT"]}"

# Without symbols, if there is a program that removes them: they are most of the file.
strip = RbConfig::CONFIG["STRIP"].to_s

File.write("Makefile", <<~MAKE)
  sitearchdir = #{RbConfig::CONFIG["sitearchdir"]}
  DESTDIR =

  all: #{name}

  .PHONY: all install clean distclean #{name}

  #{name}:
  \tRUBY="#{RbConfig.ruby}" "#{cargo}" build --release --locked --manifest-path "#{source}/Cargo.toml" --target-dir "#{target}"
  \tcp "#{built}" #{name}
  \t-#{strip.empty? ? "true" : strip} #{name}

  install: #{name}
  \tmkdir -p "$(DESTDIR)$(sitearchdir)/crossdock"
  \tcp #{name} "$(DESTDIR)$(sitearchdir)/crossdock/#{name}"
  \trm -rf "#{own_target}" #{name}

  clean:
  \trm -rf "#{own_target}" #{name}

  distclean: clean
  \trm -f Makefile
MAKE
