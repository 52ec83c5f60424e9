"""A camera above the work surface: it draws what the kitchen's state looks like.

``shooting`` composes pictures, ``studio`` decides where they are taken, ``look`` varies kitchens, ``surfaces`` are
tables and dishes, ``produce`` and ``smalls`` whole foods, ``cuts`` and ``pieces`` cut ones, ``bodies`` their colours
by state, ``heaps`` where they lie, ``hands`` the cook, and ``drawing`` the pen.
"""

from recipeflow.kitchen.camera.look import Look
from recipeflow.kitchen.camera.shooting import Camera, encode
from recipeflow.kitchen.camera.studio import FILM, STUDIOS, TravellingCamera, check_studio, open_camera

__all__ = ["FILM", "STUDIOS", "Camera", "Look", "TravellingCamera", "check_studio", "encode", "open_camera"]
