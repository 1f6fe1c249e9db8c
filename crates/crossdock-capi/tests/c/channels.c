/* Channels: a child made by fork sends, in place and by copies; this process receives. */

#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static xd_dtype_t *int32;

static int64_t number_in(const xd_array_t *array, ssize_t at)
{
  xd_value value;
  CHECK(xd_array_get(array, &at, &value, &error) && value.kind == XD_VALUE_INT);
  return value.as.i;
}

static void send_number(const xd_sender_t *sender, int64_t number)
{
  ssize_t shape[] = {3};
  xd_loan_t *loan = xd_sender_loan(sender, int32, 1, shape, 20000, &error);
  CHECK(loan != NULL);
  xd_array_t *array = xd_loan_array(loan, &error);
  CHECK(array != NULL && !xd_array_is_readonly(array));
  xd_value value = {XD_VALUE_INT, {0, 0, 0}, 0, {0}};
  value.as.i = number;
  CHECK(xd_array_fill(array, &value, &error));
  /* A handle could write after the array was sent. */
  CHECK(!xd_loan_send(loan, &error));
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  xd_array_free(array);
  CHECK(xd_loan_send(loan, &error));
  CHECK(!xd_loan_send(loan, &error));
  CHECK_ERROR(XD_ERROR_CLOSED, "loan has ended");
  CHECK(xd_loan_array(loan, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "loan has ended");
  xd_loan_free(loan);
}

/* The child inherits the channel, opens it by its descriptor, and attaches a sender of its own. */
static void child(const xd_channel_t *inherited, const xd_sender_t *parents)
{
  int fd;
  CHECK(xd_channel_fd(inherited, &fd, &error) && fd > 2);
  xd_channel_t *channel = xd_channel_open(fd, &error);
  CHECK(channel != NULL && xd_channel_slots(channel) == 2 && xd_channel_slot_nbytes(channel) == 64);
  CHECK(xd_channel_delivery(channel) == XD_DELIVERY_EACH);
  ssize_t shape[] = {3};
  CHECK(xd_sender_loan(parents, int32, 1, shape, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "attach again");
  xd_sender_t *sender = xd_sender_new(channel, &error);
  CHECK(sender != NULL);
  for (int64_t number = 0; number < 50; number++)
    send_number(sender, number);
  xd_sender_free(sender);
  xd_channel_free(channel);
  _exit(0);
}

static void a_child_sends(void)
{
  xd_channel_t *channel = xd_channel_new("c-test", 2, 64, XD_DELIVERY_EACH, false, &error);
  CHECK(channel != NULL);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  CHECK(sender != NULL && receiver != NULL);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0)
    child(channel, sender);
  uint64_t before = xd_copied_bytes();
  for (int64_t number = 0; number < 50; number++) {
    xd_array_t *array = xd_receiver_receive(receiver, XD_FOREVER, &error);
    CHECK(array != NULL && xd_array_ndim(array) == 1 && xd_array_is_readonly(array));
    CHECK(number_in(array, 0) == number && number_in(array, 2) == number);
    xd_value value = {XD_VALUE_INT, {0, 0, 0}, 0, {0}};
    ssize_t index = 0;
    CHECK(!xd_array_set(array, &index, &value, &error));
    CHECK_ERROR(XD_ERROR_READ_ONLY, "read-only");
    xd_array_free(array);
  }
  CHECK(xd_copied_bytes() == before && xd_receiver_missed(receiver) == 0 && xd_channel_sent(channel) == 50);
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(xd_channel_senders(channel) == 1 && xd_channel_receivers(channel) == 1);

  /* No message, and then none any more. */
  CHECK(xd_receiver_receive(receiver, 0, &error) == NULL && error == NULL);
  CHECK(xd_receiver_receive(receiver, 1, &error) == NULL && error == NULL);
  xd_channel_close(channel);
  CHECK(xd_receiver_receive(receiver, XD_FOREVER, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "closed");
  ssize_t shape[] = {1};
  CHECK(xd_sender_loan(sender, int32, 1, shape, XD_FOREVER, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "closed");
  xd_channel_free(channel);
  xd_sender_free(sender);
  xd_receiver_free(receiver);
}

/* An array that was received keeps its slot, and stays when everything else is freed. */
static void an_array_keeps_its_slot(void)
{
  xd_channel_t *channel = xd_channel_new("", 1, 64, XD_DELIVERY_ONE, false, &error);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  CHECK(sender != NULL && receiver != NULL);
  send_number(sender, 7);
  xd_array_t *array = xd_receiver_receive(receiver, 0, &error);
  CHECK(array != NULL);
  CHECK(!xd_sender_send(sender, array, 0, &error));
  CHECK_ERROR(XD_ERROR_EXHAUSTED, "receivers have views of 1");
  xd_array_t *copy = xd_array_copy(array, XD_ROW_MAJOR, &error);
  CHECK(copy != NULL);
  xd_array_free(array);
  CHECK(xd_sender_send(sender, copy, 0, &error));
  array = xd_receiver_receive(receiver, 0, &error);
  CHECK(array != NULL);
  xd_channel_free(channel);
  xd_sender_free(sender);
  xd_receiver_free(receiver);
  CHECK(number_in(array, 1) == 7);
  xd_array_free(array);
  xd_array_free(copy);
}

static void wrong_arguments_are_refused(void)
{
  CHECK(xd_channel_new("", 0, 8, XD_DELIVERY_EACH, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "1 to 1024 slots");
  CHECK(xd_channel_new("a b", 2, 8, XD_DELIVERY_EACH, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "name of a channel");
  CHECK(xd_channel_new("", 2, 8, 4, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`delivery` is 4");
  CHECK(xd_channel_open(-1, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`fd` is -1");
  int ends[2];
  CHECK(pipe(ends) == 0 && xd_channel_open(ends[0], &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(xd_channel_open(ends[0], &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "duplicated");
}

int main(void)
{
  int32 = xd_dtype_parse("<i4", &error);
  CHECK(int32 != NULL);
  a_child_sends();
  an_array_keeps_its_slot();
  wrong_arguments_are_refused();
  xd_dtype_free(int32);
  return 0;
}
