// What each tag and label means, with an example: the paper's terms, explained on the words of its recipes. An example
// of a label is start → end, as the release draws flows.

/** @type {Record<string, Record<string, Record<string, [meaning: string, example: string]>>>} */
const DEFINITIONS = {
  en: {
    tags: {
      F: ["A food: a raw ingredient, something in between, or the finished dish.", "キャベツ, 具材, サラダ"],
      T: ["A tool used for cooking, containers included.", "ボウル, フライパン, ラップ"],
      D: ["How long something takes.", "１０分"],
      Q: ["How much of a food.", "１／４個, 大さじ２"],
      Ac: ["An action by the person who cooks. Only the stem of the verb is tagged.", "切り: 切 · “leave” in “leave the salad to cool”"],
      Af: ["An action by the food itself.", "沸騰し: 沸騰 · “cool” in “leave the salad to cool”"],
      Sf: ["The state or shape of a food, before or after an action.", "薄く: 薄 · 千切り · 食べやすい大きさ"],
      St: ["The state of a tool.", "弱火, ６００Ｗ"],
    },
    labels: {
      Agent: ["What does an action by food.", "水 → 沸騰 (Af)"],
      Targ: ["What an action is done to. Its objects are traced through these flows.", "キャベツ → 切, or the action that made it: 切 → 茹で"],
      Dest: ["Where an action puts its target, or what it is added to.", "ボウル → 入れ"],
      "T-comp": ["The tool that an action is done with.", "包丁 → 切"],
      "F-comp": ["The food that an action is done with.", "塩 → もみ"],
      "F-eq": ["The same food, mentioned again.", "キャベツ (ingredients) → キャベツ (instructions)"],
      "F-part-of": ["A part of a food.", "きゅうり → ヘタ"],
      "F-set": ["A member of a group of foods.", "キャベツ → 具材, しょうゆ → Ａ"],
      "T-eq": ["The same tool, mentioned again.", "鍋 → 鍋"],
      "T-part-of": ["A part of a tool.", "鍋 → 蓋"],
      "A-eq": ["The same action, mentioned again.", "茹で → 茹で"],
      "V-tm": ["When an action is done: the head of a clause of time.", "沸騰 (“when it boils”) → 入れ"],
      "other-mod": ["Any other modification: of a food by its quantity, of an action by its manner or duration.", "１個 → トマト, 薄 → 切, １０分 → 茹で"],
    },
  },
  ja: {
    tags: {
      F: ["食材。生の材料、途中の状態、できあがった料理を含みます。", "キャベツ、具材、サラダ"],
      T: ["調理に使う道具。容器も含みます。", "ボウル、フライパン、ラップ"],
      D: ["時間の長さ。", "１０分"],
      Q: ["食材の分量。", "１／４個、大さじ２"],
      Ac: ["作る人の動作。動詞の語幹だけにタグを付けます。", "切り → 切"],
      Af: ["食材自身の変化。", "沸騰し → 沸騰"],
      Sf: ["食材の状態や形。動作の前後を問いません。", "薄く → 薄、千切り、食べやすい大きさ"],
      St: ["道具の状態。", "弱火、６００Ｗ"],
    },
    labels: {
      Agent: ["食材の変化の主体。", "水 → 沸騰(Af)"],
      Targ: ["動作の対象。このフローをたどって対象物が決まります。", "キャベツ → 切、切 → 茹で"],
      Dest: ["動作の行き先、加える先。", "ボウル → 入れ"],
      "T-comp": ["動作に使う道具。", "包丁 → 切"],
      "F-comp": ["動作に使う食材。", "塩 → もみ"],
      "F-eq": ["同じ食材の別の言及。", "キャベツ(材料) → キャベツ(手順)"],
      "F-part-of": ["食材の一部。", "きゅうり → ヘタ"],
      "F-set": ["食材の集まりの一つ。", "キャベツ → 具材、しょうゆ → Ａ"],
      "T-eq": ["同じ道具の別の言及。", "鍋 → 鍋"],
      "T-part-of": ["道具の一部。", "鍋 → 蓋"],
      "A-eq": ["同じ動作の別の言及。", "茹で → 茹で"],
      "V-tm": ["動作のタイミング。時を表す節の主辞。", "沸騰(「沸騰したら」) → 入れ"],
      "other-mod": ["その他の修飾。分量、様子、時間など。", "１個 → トマト、薄 → 切、１０分 → 茹で"],
    },
  },
};

/** Examples for recipes that are not in Japanese, which the words of the paper's recipes would not help with. */
const ENGLISH_EXAMPLES = {
  tags: {
    F: "tomatoes, dough, the mixture",
    T: "large bowl, oven, foil",
    D: "10 minutes, overnight",
    Q: "2, ½ cup, a pinch",
    Ac: "chop, preheat",
    Ac2: "“off” in “turn the hob off”",
    Af: "boils, “cool” in “leave to cool”",
    At: "beeps",
    Sf: "large, golden brown, in slices",
    St: "medium heat, 350 °F",
  },
  labels: {
    Agent: "water → boils",
    Targ: "tomatoes → chop, or the action that made it: chop → fry",
    Dest: "bowl → add",
    "T-comp": "knife → cut",
    "F-comp": "flour → dust",
    "F-eq": "tomatoes (ingredients) → tomatoes (instructions)",
    "F-part-of": "egg → white",
    "F-set": "carrots → vegetables",
    "T-eq": "pan → pan",
    "T-part-of": "pan → lid",
    "A-eq": "fry → frying",
    "V-tm": "boils (“when it boils”) → add",
    "other-mod": "½ cup → flour, finely → chop, 10 minutes → simmer",
  },
};

/**
 * The meaning of a tag or label in the language of the interface, and an example in that of the recipes; empty for one
 * that is not explained here.
 *
 * @param {string} language
 * @param {string} recipes
 * @param {"tags" | "labels"} kind
 * @param {string} id
 */
export function definitionOf(language, recipes, kind, id) {
  const [meaning = "", example = ""] = (DEFINITIONS[language] ?? DEFINITIONS.en)[kind][id] ?? [];
  return { meaning, example: recipes === "ja" ? example : (ENGLISH_EXAMPLES[kind][id] ?? "") };
}
