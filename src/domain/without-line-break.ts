/** Many editors and `echo` add a line break. API keys and given passwords follow this one rule. */
export function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}
