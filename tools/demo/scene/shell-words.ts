/** Characters that a shell takes as they are. */
const plain = /^[\w@%+=:,./-]+$/;

/** An option with its value in one word: only the value needs quotes. */
const optionWithValue = /^(--?[\w-]+=(?:[\w-]+=)?)(.+)$/s;

/** The words of a command, each quoted where a shell would need it. */
export function shellWords(words: readonly string[]): readonly string[] {
  return words.map((word) => {
    if (plain.test(word)) return word;
    const [, option = "", value = word] = optionWithValue.exec(word) ?? [];
    return `${option}'${value.replaceAll("'", String.raw`'\''`)}'`;
  });
}
