# frozen_string_literal: true

require_relative "crossdock/version"

# Zero-copy exchange of arrays.
#
# {Crossdock::Array} is an n-dimensional array that exports its memory as a MemoryView;
# {Crossdock.view} imports the memory of any object that exports one.
module Crossdock
  # An error of the library that no exception of Ruby's own describes: `IndexError`,
  # `ArgumentError`, `TypeError`, `FrozenError`, `RangeError` and `NoMemoryError` have their usual
  # meanings.
  class Error < StandardError
  end

  # A refused export or import: the request, the offer, and the size of a copy that would satisfy
  # the request.
  class Refusal < Error
    # @return [Hash{Symbol => Object}, nil] the request: `lease`, and `order` and `dtype` if they
    #   were requested
    attr_reader :asked
    # @return [Hash{Symbol => Object}, nil] the offer: `dtype`, `shape`, `strides`, `readonly`
    attr_reader :offer
    # @return [Integer, nil] the bytes of a copy that would satisfy the request; nil if none would
    attr_reader :would_copy

    # @api private
    def fill_in(asked, offer, would_copy)
      @asked, @offer, @would_copy = asked, offer, would_copy
    end
    private :fill_in
  end
end

require "crossdock/crossdock"
require_relative "crossdock/transient"
require_relative "crossdock/dtype"
require_relative "crossdock/array"
require_relative "crossdock/list_methods"
require_relative "crossdock/ledger"
require_relative "crossdock/shared_memory"
require_relative "crossdock/held_arrays"
require_relative "crossdock/channel"
require_relative "crossdock/dlpack"
require_relative "crossdock/arrow"
require_relative "crossdock/arrow_stream"
require_relative "crossdock/column"
require_relative "crossdock/table"
require_relative "crossdock/adapters"
require_relative "crossdock/exchange"

module Crossdock
  class << self
    # The only array of a file: `.npy`, `.npz`, `.safetensors`, `.gguf`, PNG, JPEG, TIFF or NIfTI,
    # identified by the first bytes; or the table of an Arrow IPC file (`.arrow`, `.feather`,
    # `.arrows`). It is mapped if the file stores plain elements.
    #
    # @param path [String, Pathname]
    # @param writable [Boolean] whether the array, and with it the file, may be written
    # @param guarded [Boolean] whether a file that shrinks while it is mapped causes an error rather
    #   than the end of the process
    # @param constant [Boolean] your promise that no process writes or truncates the mapped file, with
    #   which Arrow's libraries take its arrays and tables in place
    # @yield [Array, Table] the array, whose memory is released after the block, unless another object
    #   uses it; or the table, whose memory the collector releases
    # @return [Array, Table] without a block
    def open(path, writable: false, guarded: false, constant: false)
      opened = open_file(File.path(path), writable, guarded, constant)
      return opened unless block_given?

      begin
        yield opened
      ensure
        opened.release if Array === opened
      end
    end

    # All arrays of a file, by name.
    # @return [Hash{String => Array}]
    def open_all(path, writable: false, guarded: false, constant: false)
      open_all_in(File.path(path), writable, guarded, constant)
    end

    # The folder with the headers `crossdock.h` and `crossdock/ruby.h`, for an `extconf.rb`.
    # @return [String]
    # @example
    #   $INCFLAGS << " -I#{Crossdock.include_dir}"
    def include_dir
      File.expand_path("../include", __dir__)
    end

    private :borrow, :open_file, :open_all_in
  end
end
