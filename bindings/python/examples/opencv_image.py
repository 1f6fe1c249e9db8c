"""An image and a view of its red channel: OpenCV draws into the image in place, which changes the view.

Prints::

    (120, 160, 3) in place
    corner [0, 0, 255], red 255
    one channel: copies
"""

import cv2
import numpy as np

import crossdock

image = crossdock.zeros((120, 160, 3), "uint8")
red = image[:, :, 2]

picture = np.asarray(image)
verdict = {consumer.name: consumer for consumer in crossdock.explain(picture).consumers}["cv2 (inputs)"]
print(image.shape, verdict.outcome)

cv2.rectangle(picture, (10, 10), (50, 40), (0, 0, 255), thickness=2)
print(f"corner {image[10, 10].tolist()}, red {red[10, 10]}")

# What OpenCV would do with a separate channel, done in advance.
verdict = {consumer.name: consumer for consumer in crossdock.explain(picture[:, :, 0]).consumers}["cv2 (inputs)"]
print("one channel:", verdict.outcome)
