"""A first look at the dataset: run it in the folder that contains ``vrf`` (built) and ``kitchen`` (cooked).

It is what anyone would write in a notebook: load the three configs, print three rows, look at pairs.
"""

from datasets import load_dataset

from recipeflow.drawing.contact_sheet import contact_sheet, pick_varied
from recipeflow.images import save_picture
from recipeflow.release import read_info

recipes = load_dataset("vrf", "recipes", split="train")
flow_graphs = load_dataset("vrf", "flow_graphs", split="train")
image_pairs = load_dataset("vrf", "image_pairs", split="train")
for name, table in (("recipes", recipes), ("flow_graphs", flow_graphs), ("image_pairs", image_pairs)):
    print(f"{name}: {table.num_rows} rows of {', '.join(table.column_names)}")
for row in image_pairs.select(range(3)):
    print(f"\n{row}")

titles = dict(zip(recipes["recipe_id"], recipes["title"], strict=True))
picked = pick_varied(image_pairs.remove_columns(["pre_image", "post_image"]), 20)
rows = [row | {"title": titles[row["recipe_id"]]} for row in image_pairs.select(picked)]
save_picture(contact_sheet(rows, read_info("kitchen").glossary, columns=4), "pairs.png")
print("\nwrote pairs.png: look at it")
