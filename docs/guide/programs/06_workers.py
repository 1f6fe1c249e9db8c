"""Four workers read one copy of a model, which the command `crossdock hold` keeps."""

import multiprocessing
import os
import subprocess
import tempfile

import numpy as np

import crossdock


def work(layer):
    """Runs in a worker. Nothing is loaded or copied: the weights are mapped."""
    weights = crossdock.connect("demo")
    w = np.asarray(weights[f"layers.{layer}.w"])
    return weights.label, w.shape, w.mean(), w.flags.writeable, crossdock.copied_bytes()


def main():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "demo.safetensors")
        crossdock.save(model, {f"layers.{i}.w": np.full((512, 512), i, "f4") for i in range(4)})
        holder = subprocess.Popen(["crossdock", "hold", model], stdout=subprocess.PIPE, text=True)
        holder.stdout.readline()  # the line that says that demo@1 is ready

    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for label, shape, mean, writable, copied in pool.map(work, range(4)):
            print(f"{label}: {shape}, mean {mean}, writable {writable}, {copied} bytes copied")

        # A new version, for the next connections. Readers of demo@1 would keep it.
        label = crossdock.publish("demo", {f"layers.{i}.w": np.full((2, 2), 10 * i, "f4") for i in range(4)})
        print("published", label)
        print(*pool.apply(work, (3,))[:3])

    subprocess.run(["crossdock", "drop", "demo"], check=True)
    print("the holder ended with status", holder.wait())


if __name__ == "__main__":
    main()
