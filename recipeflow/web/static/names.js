// The names of tags and labels in Japanese; the English ones come with the data.

export const japaneseNames = {
  tags: {
    F: "食材",
    T: "道具",
    D: "時間",
    Q: "分量",
    Ac: "人の動作",
    Af: "食材の変化",
    Sf: "食材の状態",
    St: "道具の状態",
  },
  labels: {
    Agent: "動作主",
    Targ: "対象",
    Dest: "行き先",
    "T-comp": "道具で",
    "F-comp": "食材で",
    "F-eq": "同じ食材",
    "F-part-of": "食材の一部",
    "F-set": "食材の集まり",
    "T-eq": "同じ道具",
    "T-part-of": "道具の一部",
    "A-eq": "同じ動作",
    "V-tm": "タイミング",
    "other-mod": "その他の修飾",
  },
};
