// The eight r-NE tags and thirteen r-FG labels, in the paper's order, with their names in both languages.

export const TAGS = [
  { id: "F", en: "Food", ja: "食材" },
  { id: "T", en: "Tool", ja: "道具" },
  { id: "D", en: "Duration", ja: "時間" },
  { id: "Q", en: "Quantity", ja: "分量" },
  { id: "Ac", en: "Action by chef", ja: "人の動作" },
  { id: "Af", en: "Action by food", ja: "食材の変化" },
  { id: "Sf", en: "State of food", ja: "食材の状態" },
  { id: "St", en: "State of tool", ja: "道具の状態" },
];

export const LABELS = [
  { id: "Agent", en: "Action agent", ja: "動作主" },
  { id: "Targ", en: "Action target", ja: "対象" },
  { id: "Dest", en: "Action destination", ja: "行き先" },
  { id: "T-comp", en: "Tool complement", ja: "道具で" },
  { id: "F-comp", en: "Food complement", ja: "食材で" },
  { id: "F-eq", en: "Food equality", ja: "同じ食材" },
  { id: "F-part-of", en: "Food part-of", ja: "食材の一部" },
  { id: "F-set", en: "Food set", ja: "食材の集まり" },
  { id: "T-eq", en: "Tool equality", ja: "同じ道具" },
  { id: "T-part-of", en: "Tool part-of", ja: "道具の一部" },
  { id: "A-eq", en: "Action equality", ja: "同じ動作" },
  { id: "V-tm", en: "Head of clause for timing", ja: "タイミング" },
  { id: "other-mod", en: "Other relationships", ja: "その他の修飾" },
];

/** The name of a tag or label in a language, `en` or `ja`. */
export function nameOf(list, id, language) {
  const found = list.find((item) => item.id === id);
  return found ? found[language] : id;
}
