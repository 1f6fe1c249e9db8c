# frozen_string_literal: true

require "test/unit"
require "crossdock"

# What several tests use.
module Helper
  # What an error says, which has to be of one of these classes.
  def message_of(*errors, &block)
    assert_raise(*errors, &block).message
  end
end
