# frozen_string_literal: true

require_relative "crossdock/version"

# Arrays that change hands without being copied. See Crossdock::Array.
module Crossdock
  # Whatever the library refuses, and no exception of Ruby's own says: `IndexError`, `ArgumentError`, `TypeError`, `FrozenError`,
  # `RangeError` and `NoMemoryError` mean what they mean elsewhere.
  class Error < StandardError
  end

  # A hand-over that did not happen: what was asked, what was on offer, and how many bytes a copy would take that would do.
  class Refusal < Error
    # @return [Hash{Symbol => Object}, nil] what was asked: `lease`, and where they were asked for `order` and `dtype`
    attr_reader :asked
    # @return [Hash{Symbol => Object}, nil] what was on offer: `dtype`, `shape`, `strides`, `readonly`
    attr_reader :offer
    # @return [Integer, nil] the bytes of a copy that would do; nil where none would
    attr_reader :would_copy

    # @api private
    def fill_in(asked, offer, would_copy)
      @asked, @offer, @would_copy = asked, offer, would_copy
    end
    private :fill_in
  end
end

require "crossdock/crossdock"
require_relative "crossdock/array"
