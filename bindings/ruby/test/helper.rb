# frozen_string_literal: true

require "test/unit"
require "crossdock"

# What several tests use.
module Helper
  # The lines of an error, which has to be of this class.
  def message_of(error, &block)
    assert_raise(error, &block).message
  end
end
