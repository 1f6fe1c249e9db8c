"""All hand-overs with the standard library alone: for interpreters without other packages, and for valgrind, under which NumPy takes
longer to start than this program."""

import sys
import threading

import crossdock
import hand_overs
import hostile


def main():
    acts, holders = hand_overs.table(peers=False)
    for act in acts.values():
        for _ in range(5):
            act()
    assert all(holder.exports == 0 for holder in holders if isinstance(holder, crossdock.Array))

    refused = taken = 0
    for said, _ in hostile.LIES.values():
        hostile.lies.tell(**said)
        hand_overs.dies(lambda: crossdock.asarray(hostile.Exporter()))
        refused += 1
    for said, _, _ in hostile.TRUTHS.values():
        hostile.lies.tell(**said)
        crossdock.asarray(hostile.Exporter())[...].tobytes()
        taken += 1
    assert hostile.lies.given == hostile.lies.released == refused + taken
    for legacy in (False, True):
        for said, _ in hostile.MISBEHAVIOURS.values():
            if not (legacy and "version" in said):
                hand_overs.dies(lambda: crossdock.from_dlpack(hostile.Producer(legacy, **said)))
                refused += 1
        for said, values in hostile.TENSORS:
            producer = hostile.Producer(legacy, **said)
            assert crossdock.from_dlpack(producer)[...].tolist() == values and producer.deleted == 1
            taken += 1

    threads = [threading.Thread(target=lambda: [act() for act in acts.values()]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Exports that are active when the interpreter ends.
    crossdock.kept = [memoryview(crossdock.asarray(bytearray(3))), crossdock.zeros(3).__dlpack__(max_version=(1, 0)), acts]
    print(f"{sys.version.split()[0]}: {len(acts)} hand-overs, {refused} refusals, {taken} buffers and tensors taken")


main()
