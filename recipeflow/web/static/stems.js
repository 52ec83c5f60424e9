// What is left of a Japanese verb without its ending: recipes are divided into stems, people search for 切る.

const ENDS_OF_VOWEL_VERBS = ["る", "て", "た", "ます"];
const ENDS_OF_DOING = ["する", "して", "した", "します"];
const LAST_KANA = [..."るうくぐすつぬぶむりいきぎしちにびみ"];
const ENDS_AFTER_KANJI = [
  ...LAST_KANA,
  ...[..."りいきぎしちにびみ"].map((kana) => `${kana}ます`),
  ...["って", "った", "いて", "いた", "いで", "いだ", "して", "した", "んで", "んだ"],
];
const ENDS_AFTER_ANY = [
  ...ENDS_OF_VOWEL_VERBS,
  ...ENDS_OF_DOING,
  ...ENDS_OF_DOING.flatMap((end) => [`に${end}`, `と${end}`]),
];
const KANJI = /[\u3400-\u9fff々]/;

/**
 * The stems that a written word may have, the longest first; cut off kana alone, endings would make other words.
 *
 * @param {string} word
 */
export function stemsOf(word) {
  const stems = [];
  for (let start = word.length - 1; start > 0; start -= 1) {
    const [stem, ending] = [word.slice(0, start), word.slice(start)];
    const hasKanji = KANJI.test(stem);
    const isVerb = ENDS_AFTER_ANY.includes(ending) && (hasKanji || stem.length > 1);
    if (isVerb || (ENDS_AFTER_KANJI.includes(ending) && hasKanji)) stems.push(stem);
  }
  return stems;
}
