// Words that are written differently but read alike.

/** Text to compare by: katakana as hiragana, wide letters as narrow ones, without capitals. */
export function foldText(text) {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u30a1-\u30f6]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x60));
}
