/**
 * Places in a text, as the server counts them.
 *
 * The server counts characters (Unicode code points). A JavaScript string counts UTF-16 units, where
 * an emoji or a rare ideograph takes two. Slicing with the server's numbers directly would cut the
 * quote in the wrong place after the first such character.
 */

/** The index into `text` (UTF-16 units) of its character number `character`. */
export function unitAt(text: string, character: number): number {
  let unit = 0;
  for (let seen = 0; seen < character && unit < text.length; seen += 1) {
    unit += isPair(text, unit) ? 2 : 1;
  }
  return unit;
}

/** How many characters `text` has. */
export function characters(text: string): number {
  let count = 0;
  for (let unit = 0; unit < text.length; unit += isPair(text, unit) ? 2 : 1) count += 1;
  return count;
}

/** The characters from `start` to before `end`. */
export function sliceCharacters(text: string, start: number, end: number): string {
  const from = unitAt(text, Math.max(0, start));
  const rest = text.slice(from);
  return rest.slice(0, unitAt(rest, Math.max(0, end - Math.max(0, start))));
}

export interface Marked {
  before: string;
  marked: string;
  after: string;
}

/**
 * Splits a window of a document around what is to be marked.
 *
 * `windowStart`, `start` and `end` count characters of the whole document; `text` is its part from
 * `windowStart` on. What lies outside of the window is not marked.
 */
export function markSpan(text: string, windowStart: number, start: number, end: number): Marked {
  const from = unitAt(text, Math.max(0, start - windowStart));
  const rest = text.slice(from);
  const length = Math.max(0, end - Math.max(start, windowStart));
  const upTo = unitAt(rest, length);
  return { before: text.slice(0, from), marked: rest.slice(0, upTo), after: rest.slice(upTo) };
}

function isPair(text: string, unit: number): boolean {
  return (text.codePointAt(unit) ?? 0) > 0xffff;
}
