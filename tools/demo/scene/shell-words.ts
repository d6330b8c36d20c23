/** Quotes the words of a command for a shell. */

/** Words of these characters need no quotes. */
const plain = /^[\w@%+=:,./-]+$/;

/** An option with its value in one word. Only the value needs quotes. */
const optionWithValue = /^(--?[\w-]+=(?:[\w-]+=)?)(.+)$/s;

/** Returns the words of a command, with quotes if a shell needs them. */
export function shellWords(words: readonly string[]): readonly string[] {
  return words.map((word) => {
    if (plain.test(word)) return word;
    const [, option = "", value = word] = optionWithValue.exec(word) ?? [];
    return `${option}'${value.replaceAll("'", String.raw`'\''`)}'`;
  });
}
